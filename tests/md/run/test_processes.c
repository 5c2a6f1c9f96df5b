/* Runs in several processes, without any: each "process" is a thread that calls md_run by itself,
 * with no memory of another's in its hands but through teams. Same grid, same bits as one process;
 * failures of the input and of the physics have one text everywhere. And a system of more atoms
 * than one round of the start, or of a frame, holds. */
#include "runs.h"

#include "md/in/conf.h"
#include "md/run/processes.h"

#include <pthread.h>

enum { MOST = 4, MOST_DOMAINS = 16 };

/* One run's processes. */
typedef struct world {
    int n;
    sundog_team *domain_team[MOST_DOMAINS]; /* made by the first, taken by all */
    int n_taken[MOST];
    run_frames frames;
    md_run_options options;
} world;

typedef struct process {
    md_processes self;
    world *world;
    pthread_t thread;
    sundog_status status;
    char error[4096];
    md_run_result result;
} process;

static sundog_status make_team(void *arg, int n_here, sundog_team **teams)
{
    process *p = arg;
    world *w = p->world;
    int64_t n_all = n_here, first = 0;
    int *counts = calloc((size_t)w->n, sizeof *counts);
    CHECK(counts);
    CHECK_OK(sundog_team_sum_int64(p->self.team, &n_all, 1));
    CHECK_OK(sundog_team_allgather(p->self.team, &n_here, sizeof n_here, counts));
    CHECK(n_all <= MOST_DOMAINS);
    if (p->self.rank == 0) CHECK_OK(sundog_team_create_threads((int)n_all, w->domain_team));
    CHECK_OK(sundog_team_barrier(p->self.team));
    for (int r = 0; r < p->self.rank; r++) first += counts[r];
    for (int t = 0; t < n_here; t++) teams[t] = w->domain_team[first + t];
    free(counts);
    return SUNDOG_OK;
}

static void *process_main(void *arg)
{
    process *p = arg;
    md_run_options options = p->world->options;
    options.processes = &p->self;
    p->status = md_run(&options, &p->result);
    snprintf(p->error, sizeof p->error, "%s", sundog_last_error());
    sundog_team_destroy(&p->self.team);
    return NULL;
}

/* The first process's result; all must end alike. */
static sundog_status run_processes(int n, const md_run_options *options, run_frames *frames,
                                   md_run_result *result, char error[4096])
{
    world w = {.n = n, .options = *options};
    process p[MOST];
    sundog_team *team[MOST];
    memset(p, 0, sizeof p);
    CHECK(n <= MOST);
    CHECK_OK(sundog_team_create_threads(n, team));
    w.options.observe = run_keep;
    w.options.observe_arg = frames;
    for (int r = 0; r < n; r++) {
        p[r].world = &w;
        p[r].self = (md_processes){.rank = r,
                                   .n = n,
                                   .n_on_machine = n,
                                   .team = team[r],
                                   .make_team = make_team,
                                   .arg = &p[r]};
        CHECK(pthread_create(&p[r].thread, NULL, process_main, &p[r]) == 0);
    }
    for (int r = 0; r < n; r++) CHECK(pthread_join(p[r].thread, NULL) == 0);
    for (int r = 1; r < n; r++) {
        CHECK(p[r].status == p[0].status && !p[r].self.split);
        /* the first adds which files it has written */
        if (p[0].status != SUNDOG_OK)
            CHECK(strncmp(p[r].error, p[0].error, strlen(p[r].error)) == 0);
    }
    *result = p[0].result;
    snprintf(error, 4096, "%s", p[0].error);
    return p[0].status;
}

static md_run_options options_of(const char *system, const char *mdp, const int grid[3])
{
    run_way way = {.scheme = MD_SCHEME_RETURN};
    memcpy(way.grid, grid, sizeof way.grid);
    md_run_options options =
        run_options(system, reference_path("reference/%s/%s", system, mdp), &way);
    options.nsteps_given = true;
    options.nsteps = 20;
    options.observe_every = 20;
    return options;
}

static void same_as_threads(const char *system, const char *mdp, int n, const int grid[3])
{
    char error[4096];
    md_run_result a, b;
    run_frames threads = {.want = {0, 20, -1}}, processes = {.want = {0, 20, -1}};
    md_run_options options = options_of(system, mdp, grid);
    options.observe = run_keep;
    options.observe_arg = &threads;
    CHECK_OK(md_run(&options, &a));
    if (run_processes(n, &options, &processes, &b, error) != SUNDOG_OK) {
        fprintf(stderr, "%s, %d processes: %s\n", system, n, error);
        exit(1);
    }
    CHECK(a.n_processes == 1 && b.n_processes == n && a.n_domains == b.n_domains);
    CHECK(threads.n == 2 && processes.n == 2);
    for (int i = 0; i < 2; i++) {
        const run_frame *one = &threads.frame[i], *other = &processes.frame[i];
        size_t n_atoms = (size_t)one->n_atoms;
        CHECK(one->n_atoms == other->n_atoms);
        CHECK(memcmp(one->x, other->x, n_atoms * sizeof *one->x) == 0);
        CHECK(memcmp(one->v, other->v, n_atoms * sizeof *one->v) == 0);
        CHECK(memcmp(one->f, other->f, n_atoms * sizeof *one->f) == 0);
        CHECK(one->energy.potential == other->energy.potential);
        CHECK(one->energy.conserved == other->energy.conserved);
    }
    run_frames_free(&threads);
    run_frames_free(&processes);
}

static void one_text(void)
{
    char error[4096];
    md_run_result result;
    run_frames none = {.want = {-1}};
    md_run_options options =
        options_of("grappa-like/0001.5", "traj_rf.mdp", (const int[]){2, 1, 1});
    options.top = "nowhere.top";
    CHECK(run_processes(3, &options, &none, &result, error) == SUNDOG_ERR_IO);
    CHECK(strstr(error, "nowhere.top"));
    options = options_of("grappa-like/0001.5", "traj_rf.mdp", (const int[]){3, 1, 1});
    CHECK(run_processes(2, &options, &none, &result, error) == SUNDOG_ERR_ARGUMENT);
    CHECK(strstr(error, "cannot be shared evenly by 2 processes"));
}

/* More atoms than a round: is every one where it was? */
static void many_atoms(void)
{
    enum { NX = 4, NY = 3, NZ = 3, IN_ROUND = 131072 };
    char error[4096];
    md_run_result result;
    md_gro gro;
    run_frames frames = {.want = {0, -1}};
    md_run_options options = options_of("lj/argon_4k", "sp_lj.mdp", (const int[]){2, 2, 1});
    const int copies[3] = {NX, NY, NZ};
    memcpy(options.replicate, copies, sizeof copies);
    options.nsteps = 0;
    if (run_processes(2, &options, &frames, &result, error) != SUNDOG_OK) {
        fprintf(stderr, "argon: %s\n", error);
        exit(1);
    }
    CHECK_OK(md_conf_read(options.conf, &gro));
    const run_frame *frame = &frames.frame[0];
    int64_t n = gro.state.n_atoms;
    CHECK(frames.n == 1 && frame->n_atoms == n * NX * NY * NZ && frame->n_atoms > IN_ROUND);
    for (int64_t i = 0; i < frame->n_atoms; i++) {
        int64_t copy = i / n;
        const double cell[3] = {(double)(copy % NX), (double)(copy / NX % NY),
                                (double)(copy / NX / NY)};
        for (int k = 0; k < 3; k++) {
            double edge = gro.state.box.m[k][k];
            double turns =
                (frame->x[i][k] - gro.state.x[i % n][k] - cell[k] * edge) / (edge * copies[k]);
            CHECK_NEAR(turns, rint(turns), 1e-9);
        }
    }
    md_gro_destroy(&gro);
    run_frames_free(&frames);
}

int main(void)
{
    same_as_threads("grappa-like/0001.5", "traj_rf.mdp", 2, (const int[]){2, 1, 1});
    same_as_threads("grappa-like/0001.5", "traj_rf.mdp", 2, (const int[]){2, 2, 1});
    same_as_threads("peptide/wkdpys_amber", "traj_rf.mdp", 3, (const int[]){1, 3, 1});
    same_as_threads("water/tip3p_dodec", "traj_rf.mdp", 4, (const int[]){2, 2, 2});
    one_text();
    many_atoms();
    return 0;
}
