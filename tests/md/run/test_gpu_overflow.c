/* Lists on a GPU that run out of room: the piece is repeated with more, and what comes of it is,
 * bit for bit, the run of one whose lists had room: positions, velocities, forces, energies, the
 * work of the thermostat. Through searches, filters and renewals, frames between lists, several
 * domains of which some overflow and some do not, ghosts near and all, and a box that is scaled. */
#define RUN_ON_GPU 1
#include "runs.h"

#include <unistd.h>

enum { N_STEPS = 420, EVERY = 70 };

typedef struct overflow_case {
    const char *name, *more; /* lines of the mdp */
    int grid[3];
    int nstlist;
    md_ghosts ghosts;
} overflow_case;

static const char common[] =
    "dt = 0.002\nnsteps = 420\nnstcalcenergy = 50\nnstenergy = 50\nrcoulomb = 0.9\nrvdw = 0.9\n"
    "coulombtype = reaction-field\nepsilon-rf = 0\nconstraints = h-bonds\n"
    "tcoupl = v-rescale\ntc-grps = System\ntau-t = 0.1\nref-t = 350\nnsttcouple = 5\n"
    "ld-seed = 11\n";
#define FIXED    "verlet-buffer-tolerance = -1\nrlist = 1.05\nnstlist = 10\n"
#define FILTERED "verlet-buffer-tolerance = 0.01\nnstlist = 40\n"
#define SCALED                                                                                     \
    "pcoupl = C-rescale\npcoupltype = isotropic\ntau-p = 0.5\nref-p = 400\n"                       \
    "compressibility = 4.5e-5\nnstpcouple = 10\n"

static run_frames frames_of(const char *mdp, const overflow_case *c, bool tight,
                            int64_t *n_overflows)
{
    run_frames frames = {.want = {0, 70, 140, 210, 280, 350, 420, -1}};
    run_way way = {.scheme = MD_SCHEME_SHELL};
    memcpy(way.grid, c->grid, sizeof way.grid);
    md_run_options options = run_options("grappa-like/0006", mdp, &way);
    options.tight_lists = tight;
    options.nstlist = c->nstlist;
    options.ghosts = c->ghosts;
    options.observe = run_keep;
    options.observe_arg = &frames;
    options.observe_every = EVERY;
    md_run_result result;
    CHECK(run_can(&options, &result));
    CHECK(frames.n == N_STEPS / EVERY + 1);
    *n_overflows = result.n_overflows;
    return frames;
}

static bool same_energies(const md_energy_report *a, const md_energy_report *b)
{
    return memcmp(&a->terms, &b->terms, sizeof a->terms) == 0 && a->potential == b->potential &&
           a->kinetic == b->kinetic && a->total == b->total && a->conserved == b->conserved &&
           memcmp(a->pressure_tensor, b->pressure_tensor, sizeof a->pressure_tensor) == 0;
}

/* Says at which of the frames what differs first. */
static bool same_frames(const run_frames *a, const run_frames *b)
{
    for (int k = 0; k < a->n; k++) {
        const run_frame *p = &a->frame[k], *q = &b->frame[k];
        size_t n = (size_t)p->n_atoms;
        const char *differs = memcmp(&p->box, &q->box, sizeof p->box) != 0 ? "boxes"
                              : memcmp(p->x, q->x, n * sizeof *p->x) != 0  ? "positions"
                              : memcmp(p->v, q->v, n * sizeof *p->v) != 0  ? "velocities"
                              : memcmp(p->f, q->f, n * sizeof *p->f) != 0  ? "forces"
                              : p->has_energy && !same_energies(&p->energy, &q->energy) ? "energies"
                                                                                        : NULL;
        if (!differs) continue;
        fprintf(stderr, "step %lld: %s differ\n", (long long)p->step, differs);
        return false;
    }
    return true;
}

static bool check(const overflow_case *c)
{
    char mdp[] = "test_gpu_overflow_XXXXXX.mdp";
    int64_t n_tight, n_roomy;
    int fd = mkstemps(mdp, 4);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    CHECK(file && fputs(common, file) >= 0 && fputs(c->more, file) >= 0 && fclose(file) == 0);
    run_frames roomy = frames_of(mdp, c, false, &n_roomy);
    run_frames tight = frames_of(mdp, c, true, &n_tight);
    bool same = same_frames(&roomy, &tight);
    const run_frame *last = &roomy.frame[roomy.n - 1];
    double work = last->energy.conserved - last->energy.total;
    printf("%s, %d x %d x %d: %lld overflows, %lld with room; work %.6g kJ/mol; bits are%s equal\n",
           c->name, c->grid[0], c->grid[1], c->grid[2], (long long)n_tight, (long long)n_roomy,
           work, same ? "" : " not");
    CHECK(n_tight > 0 && n_tight > n_roomy);
    CHECK(last->has_energy && fabs(work) > 1e-4 * last->energy.kinetic);
    run_frames_free(&tight);
    run_frames_free(&roomy);
    unlink(mdp);
    return same;
}

int main(void)
{
    static const overflow_case cases[] = {
        {"searches", FIXED, {1, 1, 1}, 10, MD_GHOSTS_AUTO},
        {"searches", FIXED, {2, 1, 1}, 10, MD_GHOSTS_AUTO},
        {"filters", FILTERED, {1, 1, 1}, 40, MD_GHOSTS_AUTO},
        {"filters", FILTERED, {2, 1, 1}, 40, MD_GHOSTS_AUTO},
        {"filters", FILTERED, {2, 2, 1}, 40, MD_GHOSTS_AUTO},
        {"filters, near ghosts", FILTERED, {2, 1, 1}, 20, MD_GHOSTS_NEAR},
        {"filters, box scaled", FILTERED SCALED, {1, 1, 1}, 40, MD_GHOSTS_AUTO},
        {"filters, box scaled", FILTERED SCALED, {2, 1, 1}, 40, MD_GHOSTS_AUTO},
    };
    bool good = true;
    run_need_device();
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) good = check(&cases[k]) && good;
    CHECK(good);
    return 0;
}
