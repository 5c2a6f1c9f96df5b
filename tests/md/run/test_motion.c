/* The Verlet buffer rests on how far atoms move while a list lives. Here atoms of water, ethanol
 * and a mixture do it: for each atom of each kind of molecule the variance of its displacement
 * along a line after 10, 20, 40 and 100 steps must not be above the estimate, nor so far below that
 * the estimate is of no use. Kinds of few molecules are left out: their sample is too small.
 *
 * What this cannot catch: tails that are not normal. The drift of a run (test_drift.c) contains
 * them.
 */
#include "runs.h"

#include "md/pairs/buffer.h"
#include "md/run/setup.h"

enum { EVERY = 10, FIRST = 200, LAST = 700, N_KEPT = LAST / EVERY + 1, N_AGES = 4, ENOUGH = 60 };
static const int ages[N_AGES] = {10, 20, 40, 100};

typedef struct track {
    int64_t n;
    double (*x)[3]; /* [N_KEPT][n] */
    md_box box;
} track;

static void keep(void *arg, const md_observation *what)
{
    track *t = arg;
    t->box = *what->box;
    memcpy(t->x + what->step / EVERY * t->n, what->x, (size_t)t->n * sizeof *t->x);
}

/* Of atom `first` and those every `stride` after it, one a molecule. */
static double measure(const track *t, int64_t first, int stride, int64_t count, int age)
{
    double sum = 0, n = 0;
    for (int then = FIRST / EVERY; then + age / EVERY < N_KEPT; then++)
        for (int64_t m = 0; m < count; m++) {
            int64_t atom = first + m * stride;
            double d[3];
            md_box_nearest(&t->box, t->x[(then + age / EVERY) * t->n + atom],
                           t->x[then * t->n + atom], d);
            sum += d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            n += 3;
        }
    return sum / n;
}

static void compare(const char *name, const md_system *system, const track *t)
{
    const md_topology *topology = system->topology;
    int64_t first = 0;
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_molblock *block = &topology->molblock[b];
        const md_moltype *mol = &topology->moltype[block->moltype];
        for (int a = 0; a < mol->n_atoms && block->count >= ENOUGH; a++) {
            printf("%s block %d atom %d (%.3f u):", name, b, a, mol->atom[a].mass);
            for (int k = 0; k < N_AGES; k++) {
                double is = measure(t, first + a, mol->n_atoms, block->count, ages[k]);
                double said = md_verlet_variance(topology, &t->box, system->temperature,
                                                 ages[k] * system->params.dt, block->moltype, a);
                printf("  %.3g of %.3g", is * 1e3, said * 1e3);
                CHECK(is <= said);
                CHECK(is > 0.1 * said);
            }
            printf(" 1e-3 nm^2\n");
        }
        first += block->count * mol->n_atoms;
    }
}

static void watch(const char *name)
{
    run_way way = {.grid = {1, 1, 1}, .scheme = MD_SCHEME_RETURN};
    md_run_options options = run_options(name, reference_path("grappa-like/rf.mdp"), &way);
    md_system system;
    CHECK_OK(md_setup(&options, &system));
    track t = {.n = system.topology->n_atoms};
    t.x = malloc((size_t)(N_KEPT * t.n) * sizeof *t.x);
    CHECK(t.x);
    options.observe = keep;
    options.observe_arg = &t;
    options.observe_every = EVERY;
    options.nsteps = LAST;
    options.nsteps_given = true;
    md_run_result result;
    CHECK(run_can(&options, &result));
    CHECK(result.n_steps == LAST);
    compare(name, &system, &t);
    free(t.x);
    md_setup_destroy(&system);
}

int main(void)
{
    watch("water/spce_3k");
    watch("grappa-like/0003");
    watch("ethanol/box_256");
    watch("water/tip3p_dodec");
    return 0;
}
