/* A domain that stops answering: the host of one domain sleeps in the middle of a list interval,
 * when the GPUs of the others go on into an exchange with it. They give up within the limit, say
 * who waited for whom, for which pulse and epoch, and the run ends with that as its error. With the
 * sums of a thermostat a step has exchanges of several kinds, and all of them must end. */
#define RUN_ON_GPU 1
#include "runs.h"

#include <time.h>
#include <unistd.h>

static const double limit_s = 2, sleep_s = 5, spare_s = 4;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Rank 0, after step 5. */
static void fall_silent(void *arg, const md_observation *what)
{
    bool *silent = arg;
    if (what->step != 5) return;
    *silent = true;
    const struct timespec pause = {(time_t)sleep_s, 0};
    nanosleep(&pause, NULL);
}

static void check(const int grid[3], const char *rung, const char *route)
{
    char mdp[] = "test_gpu_silent_XXXXXX.mdp";
    int fd = mkstemps(mdp, 4);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    CHECK(file);
    fputs("dt = 0.002\nnsteps = 100000000\nnstlist = 500\nnstcalcenergy = 500\nnstenergy = 0\n"
          "nstlog = 0\nnstcomm = 500\nverlet-buffer-tolerance = -1\nrlist = 1.2\nrcoulomb = 0.9\n"
          "rvdw = 0.9\ncoulombtype = reaction-field\nconstraints = h-bonds\ntcoupl = v-rescale\n"
          "nsttcouple = 1\ntc-grps = System\ntau-t = 1\nref-t = 300\n",
          file);
    CHECK(fclose(file) == 0);
    bool silent = false;
    run_way way = {.scheme = MD_SCHEME_SHELL, .rung = rung, .route = route};
    memcpy(way.grid, grid, sizeof way.grid);
    md_run_options options = run_options("grappa-like/0003", mdp, &way);
    options.nstlist = 500;
    options.peer_timeout_s = limit_s;
    options.observe = fall_silent;
    options.observe_arg = &silent;
    options.observe_every = 5;
    md_run_result result;
    double start = now();
    sundog_status status = md_run(&options, &result);
    double seconds = now() - start;
    unlink(mdp);
    const char *text = sundog_last_error();
    printf("exchange %s, route %s, %.1f s: %s\n", rung, route, seconds, text);
    CHECK(silent && status == SUNDOG_ERR_PEER_TIMEOUT);
    CHECK(seconds < fmax(limit_s, sleep_s) + spare_s);
    CHECK(strstr(text, "rank ") && strstr(text, "epoch"));
    CHECK(strstr(text, "pulse") || strstr(text, "message") || strstr(text, "peer"));
}

int main(void)
{
    run_need_device();
    check((const int[3]){2, 1, 1}, "fused", "staged");
    check((const int[3]){3, 1, 1}, "flit", "direct");
    check((const int[3]){2, 2, 1}, "fused", "direct");
    check((const int[3]){2, 1, 1}, "stream", "direct");
    return 0;
}
