#include "md/run/timing.h"

#include "base/clock.h"
#include "md/run/trace.h"

#include <string.h>

const char *md_phase_name(md_phase phase)
{
    static const char *const name[MD_N_PHASES] = {
        "Repartition",
        "Pair list",
        "Pair list pruning",
        "Forward exchange (x)",
        "Pair forces, local",
        "Pair forces, border",
        "Bonded forces",
        "Reverse exchange (f)",
        "Update",
        "Constraints",
        "Global sums",
        "Steps on the GPU",
        "Output",
        "Rest",
    };
    return name[phase];
}

void md_timing_start(md_timing *timing)
{
    struct md_trace *trace = timing->trace;
    memset(timing, 0, sizeof *timing);
    timing->trace = trace;
    timing->phase = MD_PHASE_REST;
    timing->since_ns = base_clock_ns();
}

void md_timing_enter(md_timing *timing, md_phase phase)
{
    int64_t now = base_clock_ns();
    timing->seconds[timing->phase] += 1e-9 * (double)(now - timing->since_ns);
    if (timing->trace) md_trace_add(timing->trace, timing->phase, timing->since_ns, now);
    timing->count[phase]++;
    timing->phase = phase;
    timing->since_ns = now;
}

double md_timing_total(const md_timing *timing)
{
    double sum = 0;
    for (int phase = 0; phase < MD_N_PHASES; phase++) sum += timing->seconds[phase];
    return sum;
}
