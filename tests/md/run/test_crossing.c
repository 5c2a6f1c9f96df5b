/* One molecule that flies through two domains, out of the one, into the other, and round the box
 * again: each of them is empty for a while. The energy is the same all the time, and no term of it
 * stays behind. Cannot catch: what several molecules do to one another at a boundary
 * (test_trajectories). */
#include "md/in/gro.h"
#include "runs.h"

#include <unistd.h>

enum { N_STEPS = 1500, EVERY = 50 };
static const double speed = -4; /* nm/ps, along x; the box is 5 nm */

/* name: "...XXXXXX" and an ending of 4 characters; becomes that of a new file. */
static FILE *open_new(char *name)
{
    int fd = mkstemps(name, 4);
    CHECK(fd >= 0);
    FILE *file = fdopen(fd, "w");
    CHECK(file);
    return file;
}

static void write_conf(FILE *file)
{
    md_gro gro;
    CHECK_OK(md_gro_read(reference_path("ethanol/single/conf.gro"), &gro));
    CHECK(gro.state.has_velocities);
    const char *const name[] = {"C1", "H11", "H12", "H13", "C2", "H21", "H22", "O", "HO"};
    fprintf(file, "ethanol\n%lld\n", (long long)gro.state.n_atoms);
    for (int64_t i = 0; i < gro.state.n_atoms; i++) {
        const double *x = gro.state.x[i], *v = gro.state.v[i];
        fprintf(file, "%5d%-5s%5s%5d%14.9f%14.9f%14.9f%14.9f%14.9f%14.9f\n", 1, "ETH", name[i],
                (int)i + 1, x[0], x[1], x[2], v[0] + speed, v[1], v[2]);
    }
    fprintf(file, "5 5 5\n");
    CHECK(fclose(file) == 0);
    md_gro_destroy(&gro);
}

typedef struct watch {
    int n;
    double first, largest; /* total energy; deviation */
    double lowest_x, highest_x, bonded;
} watch;

static double bonded_of(const md_energy_report *energy)
{
    double sum = 0;
    for (int kind = 0; kind < MD_N_KINDS; kind++) sum += energy->terms.bonded[kind];
    return sum;
}

static void look(void *arg, const md_observation *what)
{
    watch *w = arg;
    double x = what->x[0][0] - 5 * floor(what->x[0][0] / 5);
    CHECK(what->energy);
    if (w->n++ == 0) {
        w->first = what->energy->total;
        w->bonded = bonded_of(what->energy);
        w->lowest_x = w->highest_x = x;
    }
    w->largest = fmax(w->largest, fabs(what->energy->total - w->first));
    w->lowest_x = fmin(w->lowest_x, x);
    w->highest_x = fmax(w->highest_x, x);
}

static void check(md_scheme scheme, md_ghosts ghosts)
{
    char mdp[] = "test_crossing_XXXXXX.mdp", conf[] = "test_crossing_XXXXXX.gro";
    FILE *file = open_new(mdp);
    write_conf(open_new(conf));
    fprintf(file,
            "dt = 0.001\nnsteps = %d\nnstlist = 10\nnstcalcenergy = %d\nrcoulomb = 0.9\n"
            "rvdw = 0.9\nrlist = 1.1\nverlet-buffer-tolerance = -1\n"
            "coulombtype = reaction-field\nepsilon-rf = 0\nconstraints = h-bonds\n"
            "comm-mode = none\ncontinuation = yes\n",
            N_STEPS, EVERY);
    CHECK(fclose(file) == 0);
    run_way way = {.grid = {2, 1, 1}, .scheme = scheme};
    md_run_options options = run_options("ethanol/single", mdp, &way);
    watch w = {0};
    options.conf = conf;
    options.ghosts = RUN_ON_GPU ? ghosts : MD_GHOSTS_AUTO;
    options.observe = look;
    options.observe_arg = &w;
    options.observe_every = EVERY;
    md_run_result result;
    bool can = run_can(&options, &result);
    unlink(mdp);
    unlink(conf);
    if (!can) return;
    printf("%s: total energy %.3f kJ/mol, off by %.3f at most; bonded terms %.3f at the start\n",
           run_way_text(&way), w.first, w.largest, w.bonded);
    CHECK(w.n == N_STEPS / EVERY + 1);
    CHECK(w.lowest_x < 1 && w.highest_x > 4); /* round the box */
    CHECK(w.bonded > 10);                     /* kJ/mol: what would stay behind is seen */
    CHECK(w.largest < 2);
}

int main(void)
{
    run_need_device(); /* before any file is made */
    check(MD_SCHEME_SHELL, MD_GHOSTS_NEAR);
    check(MD_SCHEME_RETURN, MD_GHOSTS_AUTO);
    return 0;
}
