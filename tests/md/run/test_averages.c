/* Averages of constant-temperature runs against GROMACS's, within three combined standard errors,
 * the error of ours from ten blocks. Label long. Arguments: part of a system's name; number of
 * steps; number of domains. Cannot catch: errors smaller than the statistical ones. */
#include "runs.h"

enum { N_TERMS = 4, MAX_POINTS = 20000 };
static const char *const term_name[N_TERMS] = {"Potential", "Temperature", "Pressure", "LJ (SR)"};

typedef struct series {
    int n;
    double value[N_TERMS][MAX_POINTS];
} series;

static void add_point(void *arg, const md_observation *what)
{
    series *s = arg;
    if (!what->energy || what->energy->time < 10 || s->n == MAX_POINTS) return;
    s->value[0][s->n] = what->energy->potential;
    s->value[1][s->n] = what->energy->temperature;
    s->value[2][s->n] = what->energy->pressure;
    s->value[3][s->n] = what->energy->terms.lj;
    s->n++;
}

static void block_average(const double *value, int n, double *mean, double *error)
{
    enum { N_BLOCKS = 10 };
    double sum = 0, square = 0;
    for (int b = 0; b < N_BLOCKS; b++) {
        double block = 0;
        for (int i = b * n / N_BLOCKS; i < (b + 1) * n / N_BLOCKS; i++) block += value[i];
        block /= (b + 1) * n / N_BLOCKS - b * n / N_BLOCKS;
        sum += block;
        square += block * block;
    }
    *mean = sum / N_BLOCKS;
    *error = sqrt(fmax(0, square / N_BLOCKS - *mean * *mean) / (N_BLOCKS - 1));
}

static const struct {
    const char *system, *name;
} cases[] = {
    {"grappa-like/0001.5", "rf"},
    {"water/spce_3k", "rf"},
    {"lj/argon_4k", "lj"},
    {"grappa-like/0003", "rf"},
};

int main(int argc, char **argv)
{
    static series s;
    int n_failed = 0;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const char *system = cases[c].system;
        if (argc > 1 && !strstr(system, argv[1])) continue;
        s.n = 0;
        run_way way = {.scheme = RUN_SCHEME};
        md_run_options options = run_options(
            system, reference_path("reference/%s/nvt_%s.mdp", system, cases[c].name), &way);
        options.nsteps_given = true;
        options.nsteps = argc > 2 ? atoll(argv[2]) : 50000;
        options.n_domains = argc > 3 ? atoi(argv[3]) : RUN_ON_GPU ? 0 : 2;
        options.observe = add_point;
        options.observe_arg = &s;
        options.observe_every = 50;
        md_run_result result;
        CHECK(run_can(&options, &result));
        const char *json = reference_path("reference/%s/averages.json", system);
        printf("%s, %d points, %.3f ms/step\n", system, s.n, result.ms_per_step);
        for (int t = 0; t < N_TERMS; t++) {
            double mean, error, wanted, wanted_error;
            CHECK(reference_average(json, cases[c].name, term_name[t], &wanted, &wanted_error));
            block_average(s.value[t], s.n, &mean, &error);
            double off = fabs(mean - wanted) / hypot(error, wanted_error);
            printf("  %-12s %12.5g +- %.2g, GROMACS %12.5g +- %.2g: %.1f combined errors%s\n",
                   term_name[t], mean, error, wanted, wanted_error, off, off > 3 ? "  FAILED" : "");
            fflush(stdout);
            if (!(off <= 3)) n_failed++;
        }
    }
    return n_failed ? 1 : 0;
}
