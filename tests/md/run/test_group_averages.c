/* Several temperature groups sample the canonical ensemble, each: the mean of a group's kinetic
 * energy (of the half steps, which is what is coupled) is N kT / 2 with its degrees of freedom N,
 * its variance N (kT)^2 / 2, both within four standard errors from ten blocks. The conserved
 * energy, from which the work on all groups is taken, does not drift. Label long. Arguments: number
 * of steps; number of domains. Cannot catch: errors smaller than the statistical ones, about half a
 * per cent of a temperature. */
#include "md/core/units.h"
#include "md/in/top.h"
#include "runs.h"

#include <unistd.h>

enum { N_GROUPS = 2, N_BLOCKS = 10, MAX_POINTS = 20000 };
static const int64_t n_ethanol_atoms = 288;
static const double n_dof[N_GROUPS] = {671.349, 2421.65}, temperature = 300;

typedef struct series {
    double *mass;
    int n;
    double kinetic[N_GROUPS][MAX_POINTS], time[MAX_POINTS], conserved[MAX_POINTS];
} series;

static void add_point(void *arg, const md_observation *what)
{
    series *s = arg;
    if (!what->energy || what->energy->time < 5 || s->n == MAX_POINTS) return;
    for (int g = 0; g < N_GROUPS; g++) s->kinetic[g][s->n] = 0;
    for (int64_t i = 0; i < what->n_atoms; i++)
        for (int k = 0; k < 3; k++)
            s->kinetic[i >= n_ethanol_atoms][s->n] +=
                0.5 * s->mass[i] * what->v[i][k] * what->v[i][k];
    s->time[s->n] = what->energy->time;
    s->conserved[s->n++] = what->energy->conserved;
}

/* Mean over blocks and its standard error, of |x - about|^power. */
static void block_average(const double *x, int n, double about, int power, double *mean,
                          double *error)
{
    double sum = 0, square = 0;
    for (int b = 0; b < N_BLOCKS; b++) {
        double block = 0;
        int first = b * n / N_BLOCKS, end = (b + 1) * n / N_BLOCKS;
        for (int i = first; i < end; i++) block += pow(x[i] - about, power) / (end - first);
        sum += block;
        square += block * block;
    }
    *mean = sum / N_BLOCKS;
    *error = sqrt(fmax(0, square / N_BLOCKS - *mean * *mean) / (N_BLOCKS - 1));
}

static double slope(const double *x, const double *y, int n)
{
    double mx = 0, my = 0, xx = 0, xy = 0;
    for (int i = 0; i < n; i++) mx += x[i] / n, my += y[i] / n;
    for (int i = 0; i < n; i++) xx += (x[i] - mx) * (x[i] - mx), xy += (x[i] - mx) * (y[i] - my);
    return xy / xx;
}

static void get_masses(series *s, const char *top)
{
    md_topology *topology;
    CHECK_OK(md_top_read(top, &(md_top_options){.define = ""}, &topology));
    s->mass = malloc((size_t)topology->n_atoms * sizeof *s->mass);
    for (int64_t i = 0; i < topology->n_atoms; i++) {
        md_atom_place place;
        md_topology_find(topology, i, &place);
        s->mass[i] = topology->moltype[place.moltype].atom[place.atom].mass;
    }
    md_topology_destroy(&topology);
}

int main(int argc, char **argv)
{
    run_need_device();
    static series s;
    char mdp[] = "test_group_averages_XXXXXX.mdp";
    int fd = mkstemps(mdp, 4);
    CHECK(fd >= 0);
    FILE *file = fdopen(fd, "w");
    fputs("dt = 0.002\nnstlist = 10\nrcoulomb = 0.9\nrvdw = 0.9\ncoulombtype = reaction-field\n"
          "constraints = h-bonds\nnstcalcenergy = 10\ntcoupl = v-rescale\ntc-grps = ETH SOL\n"
          "tau-t = 0.1 0.05\nref-t = 300 300\nnsttcouple = 5\nld-seed = 101\n",
          file);
    CHECK(fclose(file) == 0);
    run_way way = {.scheme = RUN_SCHEME};
    md_run_options options = run_options("grappa-like/0001.5", mdp, &way);
    get_masses(&s, options.top);
    options.nsteps_given = true;
    options.nsteps = argc > 1 ? atoi(argv[1]) : 60000;
    options.n_domains = argc > 2 ? atoi(argv[2]) : RUN_ON_GPU ? 0 : 2;
    options.observe = add_point;
    options.observe_arg = &s;
    options.observe_every = 10;
    md_run_result result;
    sundog_status status = md_run(&options, &result);
    unlink(mdp);
    CHECK_OK(status);
    run_was_there(&result);
    CHECK(s.n > 50 * N_BLOCKS);

    int n_failed = 0;
    for (int g = 0; g < N_GROUPS; g++) {
        double kt = MD_BOLTZ * temperature, wanted[2] = {n_dof[g] * kt / 2, n_dof[g] * kt * kt / 2};
        for (int power = 1; power <= 2; power++) {
            double mean, error;
            block_average(s.kinetic[g], s.n, power == 2 ? wanted[0] : 0, power, &mean, &error);
            double off = (mean - wanted[power - 1]) / error;
            printf("group %d, moment %d of the kinetic energy: %.2f +- %.2f, canonical %.2f "
                   "(%+.1f errors)\n",
                   g, power, mean, error, wanted[power - 1], off);
            n_failed += !(fabs(off) < 4) || !(error < (power == 1 ? 0.01 : 0.3) * mean);
        }
    }
    double drift = slope(s.time, s.conserved, s.n) / (double)result.n_atoms;
    printf("drift of the conserved energy: %.2e kJ/mol/ps per atom\n", drift);
    CHECK(fabs(drift) < 2e-3);
    free(s.mass);
    CHECK(n_failed == 0);
    return 0;
}
