/* sundog info: GPUs, how they reach each other, and what each rung of the exchange would do. Says
 * why there is none. */
#include "commands.h"
#include "md/run/device_choice.h"
#include "sundog/sundog.h"

#include <stdio.h>

enum { MAX_GPUS = 16 };

static void print_links(int n)
{
    char text[512];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            if (i == j) continue;
            bool can = sundog_gpu_link(i, j, text, sizeof text) == SUNDOG_OK;
            printf("  %d -> %-11d %s\n", i, j, can ? text : sundog_last_error());
        }
}

void info_print_gpus(void)
{
    int n = sundog_gpu_count(), n_rungs, gpus[MAX_GPUS];
    if (n > MAX_GPUS) n = MAX_GPUS;
    char text[512];
    printf("GPUs\n");
    if (n == 0) {
        printf("  none: %s\n", md_device_why_none());
        return;
    }
    md_device_driver(text, sizeof text);
    printf("  driver           %s\n", text[0] ? text : "version unknown");
    for (int i = 0; i < n; i++) {
        gpus[i] = i;
        bool is = sundog_gpu_describe(i, text, sizeof text) == SUNDOG_OK;
        printf("  %-16d %s\n", i, is ? text : sundog_last_error());
    }
    print_links(n);
    printf("Halo exchange between GPUs (fabric peer: domains are threads, each on a GPU)\n");
    const char *const *rungs = sundog_gpu_rungs(&n_rungs);
    bool chosen = false;
    for (int i = 0; i < n_rungs; i++) {
        bool can = sundog_gpu_rung_check(rungs[i], gpus, n, text, sizeof text) == SUNDOG_OK;
        printf("  %-16s %s%s%s\n", rungs[i],
               can ? "" : "not available: ", can ? text : sundog_last_error(),
               can && !chosen ? "; chosen, the first that is available" : "");
        chosen = chosen || can;
    }
}
