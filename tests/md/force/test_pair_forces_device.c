/* Pair forces of the device on every bundled system with reaction-field or Lennard-Jones
 * references, on one domain and on grids of several, all of them on one GPU.
 *
 *   fast kernel   against the plain kernel in double on the same rows: forces, energies, virial
 *   all           pair energies, and forces with the CPU's bonded forces added, against the
 *                 double-precision references, at the limits of the CPU run
 *   lists         equal bits when made and used again; complete after atoms moved by half the
 *                 buffer; the filter against lists made anew
 *   parts         inner and border blocks apart give the bits of all at once; inner ones read no
 *                 ghost (their coordinates are spoilt meanwhile)
 *   return_force  scheme return: ghosts' forces sent home
 *   wrapped rows  all of it again with each atom once in a periodic box
 *   graphs        a captured graph with lists made anew, in a box that has been scaled, and after
 *                 a rebuild; overflow noted, and mended by a rebuild; blocks made anew
 *
 * What this cannot catch: anything that needs a second step; ranks on different GPUs.
 */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "md/force/device_rows.h"
#include "md/core/vec.h"
#include "md/domain/domain.h"
#include "md/force/bonded.h"
#include "md/force/return_force.h"
#include "md/in/gro.h"
#include "md/in/mdp.h"
#include "md/in/top.h"
#include "reference.h"

typedef struct point {
    const char *system, *name;
    double force_limit;
    bool big;
} point;

static const point points[] = {
    {"ethanol/single", "rf", 1e-5, false},         {"ethanol/single", "rf_nocons", 2e-5, false},
    {"grappa-like/0001.5", "rf", 1e-5, false},     {"grappa-like/0001.5", "rf_none", 1e-5, false},
    {"grappa-like/0001.5", "rf_fsw", 1e-5, false}, {"grappa-like/0001.5", "rf_psw", 1e-5, false},
    {"grappa-like/0003", "rf", 1e-5, false},       {"grappa-like/0006", "rf", 1e-5, false},
    {"grappa-like/0012", "rf", 1e-5, true},        {"grappa-like/0024", "rf", 1e-5, true},
    {"grappa-like/0045", "rf", 1e-5, true},        {"water/spce_3k", "rf", 1e-5, false},
    {"water/spce_3k", "rf78", 1e-5, false},        {"water/spce_24k", "rf", 1e-5, true},
    {"water/tip3p_dodec", "rf", 1e-5, false},      {"lj/argon_4k", "lj", 1e-5, false},
    {"lj/argon_4k", "lj_none", 1e-5, false},       {"lj/argon_4k", "lj_fsw", 1e-5, false},
    {"lj/argon_4k", "lj_psw", 1e-5, false},        {"ethanol/box_256", "rf", 1e-5, false},
    {"ions/nacl_3k", "rf", 1e-5, false},           {"ions/nacl_3k", "rf78", 1e-5, false},
    {"peptide/ala_dipeptide", "rf", 1e-5, false},  {"peptide/wkdpys_amber", "rf", 1e-5, false},
    {"peptide/wkdpys_amber", "rf78", 1e-5, false}, {"peptide/fre_opls", "rf", 1e-5, false},
    {"terms/many_terms", "rf", 2e-5, false},       {"terms/many_terms", "rf_nocons", 2e-5, false},
    {"terms/urey_bradley", "rf", 2e-5, false},     {"terms/urey_bradley", "rf_nocons", 2e-5, false},
};
static const int grids[][3] = {{1, 1, 1}, {2, 2, 2}, {1, 1, 4}, {3, 2, 1}};
enum { N_POINTS = sizeof points / sizeof points[0], N_GRIDS = 4, N_BIG_GRIDS = 2, LONG = 64 };

typedef struct job {
    const point *point;
    md_params params;
    md_topology *topology;
    md_gro gro;
    md_units *units;
    md_nonbonded *nonbonded;
    md_bonded *bonded;
    md_domain_options options;
    bool wrapped;           /* rows: each atom once, images by the wrap of the fractions */
    int cut;                /* bits: axes with more than one domain */
    pthread_mutex_t lock;   /* one rank at a time on the GPU */
    double (*f)[3];         /* by atom, fast kernel and bonded */
    double sums[MD_N_SUMS]; /* of the system */
    double worst;           /* relative RMS of forces, fast against plain, over ranks */
} job;

/* ---- comparing ------------------------------------------------------------------------------ */

static double deviation(const double (*exact)[3], const float (*f)[4], int n)
{
    double off = 0, all = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            off += pow((double)f[i][k] - exact[i][k], 2);
            all += pow(exact[i][k], 2);
        }
    CHECK(off == off);
    return all > 0 ? sqrt(off / all) : 0;
}

/* A pair whose distance rounds to the other side of the cut-off moves two forces by what is left of
 * the force there (systems/README.md): such rows are left out, if they are few. */
static double deviation_but_border(const double (*exact)[3], float (*f)[4], int n)
{
    enum { FORCE_AT_CUTOFF = 4 };
    const int few = 4 + n / 4000;
    for (int left = 0; left < few && deviation(exact, (const float(*)[4])f, n) > 4e-6; left++) {
        double most = 0;
        int worst = 0;
        for (int i = 0; i < n; i++) {
            double d2 = 0;
            for (int k = 0; k < 3; k++) d2 += pow((double)f[i][k] - exact[i][k], 2);
            if (d2 > most) worst = i;
            most = fmax(most, d2);
        }
        if (sqrt(most) > FORCE_AT_CUTOFF) break;
        for (int k = 0; k < 3; k++) f[worst][k] = (float)exact[worst][k];
    }
    return deviation(exact, (const float(*)[4])f, n);
}

static void check_sums(const double *fast, const double *exact)
{
    double trace = 0;
    for (int k = 0; k < 3; k++) trace += fabs(exact[MD_SUM_XX + k]);
    CHECK_NEAR(fast[MD_SUM_LJ], exact[MD_SUM_LJ], 1e-5 * fabs(exact[MD_SUM_LJ]) + 0.005);
    CHECK_NEAR(fast[MD_SUM_COULOMB], exact[MD_SUM_COULOMB],
               1e-5 * fabs(exact[MD_SUM_COULOMB]) + 0.005);
    for (int k = MD_SUM_XX; k < MD_N_SUMS; k++) CHECK_NEAR(fast[k], exact[k], 2e-5 * trace + 0.01);
}

/* ---- one domain ----------------------------------------------------------------------------- */

typedef struct fast_pairs {
    md_unit_lists *lists;
    md_unit_force *force;
    float (*f)[4];
    double sums[MD_N_SUMS];
} fast_pairs;

/* Forces without and with energies must agree, and be made twice with the same bits. */
static void run_fast(fast_pairs *fast, device_rows *g)
{
    size_t n = (size_t)g->rows->n_owned * sizeof *fast->f;
    const md_unit_view *view = md_unit_lists_view(fast->lists);
    float(*again)[4] = base_alloc(n + 16);
    CHECK_OK(md_unit_force_prepare(fast->force, view));
    const md_unit_how plain = {MD_UNIT_ALL, false, NULL}, early = {MD_UNIT_ALL, true, NULL};
    CHECK_OK(md_unit_force_launch(fast->force, view, g->d_row, g->d_f, g->d_sums, &plain));
    download(again, g->d_f, n);
    download(fast->sums, g->d_sums, sizeof fast->sums);
    CHECK_OK(md_unit_force_launch(fast->force, view, g->d_row, g->d_f, NULL, &early));
    download(fast->f, g->d_f, n);
    double off = 0, all = 0;
    for (int i = 0; i < g->rows->n_owned; i++)
        for (int k = 0; k < 3; k++) {
            off += pow((double)again[i][k] - (double)fast->f[i][k], 2);
            all += pow((double)fast->f[i][k], 2);
        }
    if (!(sqrt(off) <= 5e-6 * sqrt(all) + 1e-4 * sqrt(g->rows->n_owned)))
        fprintf(stderr, "with energies %.2g off\n", sqrt(off / all));
    CHECK(sqrt(off) <= 5e-6 * sqrt(all) + 1e-4 * sqrt(g->rows->n_owned));
    base_free(again);
}

static void run_exact(const fast_pairs *fast, device_rows *g, double (*f)[3], double *sums)
{
    int n = g->rows->scheme == MD_SCHEME_RETURN ? g->rows->n_rows : g->rows->n_owned;
    CHECK_OK(md_row_force_exact(fast->force, &g->plain, g->d_f, g->d_sums, g->d_work, NULL));
    download(f, g->d_f, (size_t)n * sizeof *f);
    download(sums, g->d_sums, MD_N_SUMS * sizeof *sums);
}

static void check_repeats(fast_pairs *fast, device_rows *g)
{
    size_t n = (size_t)g->rows->n_owned * sizeof *fast->f;
    float(*before)[4] = base_alloc(n + 16);
    double sums[MD_N_SUMS];
    memcpy(before, fast->f, n);
    memcpy(sums, fast->sums, sizeof sums);
    CHECK_OK(md_unit_lists_rebuild(fast->lists, g->rows, &g->frame, g->d_row, NULL));
    run_fast(fast, g);
    for (int i = 0; i < g->rows->n_owned; i++)
        CHECK(memcmp(before[i], fast->f[i], 3 * sizeof(float)) == 0);
    CHECK(memcmp(sums, fast->sums, sizeof sums) == 0);
    base_free(before);
}

/* Inner blocks while ghosts are nowhere, border blocks when they are there, against all at once. */
static void check_parts(fast_pairs *fast, device_rows *g)
{
    const md_unit_how inner = {MD_UNIT_INNER, true, NULL}, border = {MD_UNIT_BORDER, true, NULL};
    const md_unit_view *view = md_unit_lists_view(fast->lists);
    size_t n_owned = (size_t)g->rows->n_owned, n_ghosts = (size_t)g->rows->n_rows - n_owned;
    double sums[MD_N_SUMS];
    float(*f)[4] = base_alloc(n_owned * sizeof *f + 16);
    for (int energy = 0; energy < 2; energy++) {
        double *d_sums = energy ? g->d_sums : NULL;
        CHECK_CUDA(cudaMemset(g->d_row + n_owned, 0x55, n_ghosts * sizeof *g->host));
        CHECK_CUDA(cudaMemset(g->d_f, 0xff, n_owned * sizeof *f));
        CHECK_OK(md_unit_force_launch(fast->force, view, g->d_row, g->d_f, d_sums, &inner));
        CHECK_CUDA(cudaMemcpy(g->d_row, g->host, (n_owned + n_ghosts) * sizeof *g->host,
                              cudaMemcpyHostToDevice));
        CHECK_OK(md_unit_force_launch(fast->force, view, g->d_row, g->d_f, d_sums, &border));
        if (energy) {
            CHECK_OK(md_unit_force_add_sums(fast->force, view, g->d_sums, NULL));
            download(sums, g->d_sums, sizeof sums);
            CHECK(memcmp(sums, fast->sums, sizeof sums) == 0);
            continue;
        }
        download(f, g->d_f, n_owned * sizeof *f);
        for (size_t i = 0; i < n_owned; i++)
            CHECK(memcmp(f[i], fast->f[i], 3 * sizeof(float)) == 0);
    }
    base_free(f);
}

/* Every row by `distance` in a direction that its number says: images alike. */
static void move_rows(md_rows *rows, double distance)
{
    for (int i = 0; i < rows->n_rows; i++) {
        double angle = (double)(rows->gid[i] * 7919 % 6283) * 1e-3;
        double z = (double)(rows->gid[i] * 104729 % 2001) * 1e-3 - 1, r = sqrt(1 - z * z);
        rows->x[i][0] += distance * r * cos(angle);
        rows->x[i][1] += distance * r * sin(angle);
        rows->x[i][2] += distance * z;
    }
}

/* Lists with buffers are still complete after atoms have moved by half of them, the inner ones
 * after another move and a filter. */
static void check_moves(const job *j, fast_pairs *fast, md_rows *rows, device_rows *g)
{
    const double inner = 0.06, outer = 0.14;
    double cutoff = fmax(j->params.rcoulomb, j->params.rvdw), sums[MD_N_SUMS];
    double(*exact)[3] = base_alloc((size_t)rows->n_rows * sizeof *exact);
    md_unit_lists_options options = {.rlist = cutoff + outer, .rinner = cutoff + inner};
    md_unit_lists *kept = fast->lists;
    CHECK_OK(md_unit_lists_create(j->units, j->topology, &options, &fast->lists));
    CHECK_OK(md_unit_lists_rebuild(fast->lists, rows, &g->frame, g->d_row, NULL));
    move_rows(rows, 0.5 * inner);
    for (int filtered = 0; filtered < 2; filtered++) {
        device_rows_move(g);
        if (filtered) CHECK_OK(md_unit_lists_filter(fast->lists, g->d_row, NULL));
        run_fast(fast, g);
        CHECK_OK(md_unit_lists_check(fast->lists, NULL));
        run_exact(fast, g, exact, sums);
        double off = deviation_but_border((const double(*)[3])exact, fast->f, rows->n_owned);
        if (off > 5e-6) fprintf(stderr, "moved, filtered %d: off by %.2g\n", filtered, off);
        CHECK(off <= 5e-6);
        check_sums(fast->sums, sums);
        move_rows(rows, 0.5 * (outer - inner));
    }
    md_unit_lists_destroy(&fast->lists);
    fast->lists = kept;
    base_free(exact);
}

/* Of the first n rows, on the CPU, into the forces by atom. */
static void add_bonded(job *j, const md_rows *rows, int n)
{
    memset(rows->f, 0, (size_t)rows->n_rows * sizeof *rows->f);
    md_bonded_force(j->bonded, rows, rows->f, NULL);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) j->f[rows->gid[i]][k] += (double)rows->f[i][k];
}

static void rank_on_gpu(job *j, md_rows *rows)
{
    double cutoff = fmax(j->params.rcoulomb, j->params.rvdw), sums[MD_N_SUMS];
    md_unit_lists_options options = {.rlist = cutoff + 0.01, .rinner = cutoff + 0.01};
    fast_pairs fast = {0};
    device_rows g;
    add_bonded(j, rows, rows->n_owned);
    if (j->wrapped) wrap_rows(rows, j->cut, j->topology->n_atoms);
    double(*exact)[3] = base_alloc((size_t)rows->n_rows * sizeof *exact);
    fast.f = base_alloc_zero(((size_t)rows->n_rows + 1) * sizeof *fast.f);
    device_rows_create(j->units, j->topology, rows, j->wrapped ? &j->gro.state.box : NULL, &g);
    CHECK_OK(md_unit_force_create(j->nonbonded, j->units, &fast.force));
    CHECK_OK(md_unit_lists_create(j->units, j->topology, &options, &fast.lists));
    CHECK_OK(md_unit_lists_rebuild(fast.lists, rows, &g.frame, g.d_row, NULL));
    run_fast(&fast, &g);
    check_repeats(&fast, &g);
    check_parts(&fast, &g);
    for (int i = 0; i < rows->n_owned; i++)
        for (int k = 0; k < 3; k++) j->f[rows->gid[i]][k] += (double)fast.f[i][k];
    for (int k = 0; k < MD_N_SUMS; k++) j->sums[k] += fast.sums[k];
    run_exact(&fast, &g, exact, sums);
    double off = deviation_but_border((const double(*)[3])exact, fast.f, rows->n_owned);
    j->worst = fmax(j->worst, off);
    if (off > 5e-6) fprintf(stderr, "%s %s: off by %.2g\n", j->point->system, j->point->name, off);
    CHECK(off <= 5e-6);
    check_sums(fast.sums, sums);
    check_moves(j, &fast, rows, &g);
    device_rows_destroy(&g);
    md_unit_lists_destroy(&fast.lists);
    md_unit_force_destroy(&fast.force);
    base_free(fast.f);
    base_free(exact);
}

/* Scheme return: the kernel in float against the plain one in double, rows of all zones; twice. */
static void rank_returns(job *j, md_rows *rows)
{
    fast_pairs fast = {0};
    device_rows g;
    double sums[MD_N_SUMS], fast_sums[MD_N_SUMS];
    md_return_force *returns;
    add_bonded(j, rows, rows->n_rows);
    if (j->wrapped) wrap_rows(rows, j->cut, j->topology->n_atoms);
    size_t n = (size_t)rows->n_rows;
    double(*exact)[3] = base_alloc((n + 1) * sizeof *exact);
    float(*f)[4] = base_alloc((n + 1) * sizeof *f);
    fast.f = base_alloc((n + 1) * sizeof *fast.f);
    device_rows_create(j->units, j->topology, rows, j->wrapped ? &j->gro.state.box : NULL, &g);
    CHECK_OK(md_unit_force_create(j->nonbonded, j->units, &fast.force));
    CHECK_OK(md_return_force_create(fast.force, j->units, j->topology, NULL, &returns));
    CHECK_OK(md_return_force_rebuild(returns, rows, &g.frame, NULL));
    CHECK_OK(md_return_force_launch(returns, g.d_row, g.d_f, g.d_sums, NULL));
    download(fast.f, g.d_f, n * sizeof *f);
    download(fast_sums, g.d_sums, sizeof fast_sums);
    CHECK_OK(md_return_force_rebuild(returns, rows, &g.frame, NULL));
    CHECK_OK(md_return_force_launch(returns, g.d_row, g.d_f, g.d_sums, NULL));
    download(f, g.d_f, n * sizeof *f);
    download(sums, g.d_sums, sizeof sums);
    CHECK(memcmp(f, fast.f, n * sizeof *f) == 0);
    CHECK(memcmp(sums, fast_sums, sizeof sums) == 0);
    run_exact(&fast, &g, exact, sums);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) j->f[rows->gid[i]][k] += (double)f[i][k];
    double off = deviation_but_border((const double(*)[3])exact, fast.f, rows->n_rows);
    j->worst = fmax(j->worst, off);
    CHECK(off <= 5e-6);
    check_sums(fast_sums, sums);
    for (int k = 0; k < MD_N_SUMS; k++) j->sums[k] += fast_sums[k];
    device_rows_destroy(&g);
    md_return_force_destroy(&returns);
    md_unit_force_destroy(&fast.force);
    base_free(exact);
    base_free(f);
    base_free(fast.f);
}

/* ---- all domains ---------------------------------------------------------------------------- */

typedef struct rank {
    sundog_team *team;
    job *job;
} rank;

static void *run_rank(void *argument)
{
    rank *r = argument;
    job *j = r->job;
    md_domain *domain;
    CHECK_OK(md_domain_create(r->team, j->topology, &j->gro.state.box, &j->options, &domain));
    CHECK_OK(md_domain_distribute(domain, &j->gro.state));
    CHECK(pthread_mutex_lock(&j->lock) == 0);
    md_rows *rows = md_domain_rows(domain);
    if (rows->scheme == MD_SCHEME_SHELL)
        rank_on_gpu(j, rows);
    else
        rank_returns(j, rows);
    CHECK(pthread_mutex_unlock(&j->lock) == 0);
    md_domain_destroy(&domain);
    sundog_team_destroy(&r->team);
    return NULL;
}

/* Against the references; see test_single_points.c for the rule on pairs at the cut-off. */
static void check_reference(job *j, const char *grid, const double *forces, size_t n)
{
    const point *p = j->point;
    const char *json = reference_path("reference/%s/sp_%s.energy.json", p->system, p->name);
    double lj, coulomb = 0;
    CHECK(reference_energy(json, "LJ (SR)", &lj));
    if (strncmp(p->system, "lj/", 3) != 0) CHECK(reference_energy(json, "Coulomb (SR)", &coulomb));
    double lj_off = j->sums[MD_SUM_LJ] - lj, coulomb_off = j->sums[MD_SUM_COULOMB] - coulomb;
    reference_deviation d = reference_compare(forces, 3, 0, n, (const double(*)[3])j->f);
    for (int left = 0; left < 2 && d.relative >= p->force_limit && d.largest < 4; left++) {
        for (int k = 0; k < 3; k++) j->f[d.worst][k] = forces[3 * d.worst + (size_t)k];
        d = reference_compare(forces, 3, 0, n, (const double(*)[3])j->f);
    }
    printf("%-22s %-9s %s %-6s%s lj %+.1e coulomb %+.1e, forces off by %.1e; from double %.1e\n",
           p->system, p->name, grid,
           j->options.reach.scheme == MD_SCHEME_SHELL ? "shell" : "return",
           j->wrapped ? " wrapped" : "", lj_off, coulomb_off, d.relative, j->worst);
    CHECK(d.relative < p->force_limit);
    CHECK_NEAR(lj_off, 0, 2e-5 * fabs(lj) + 0.01);
    CHECK_NEAR(coulomb_off, 0, 2e-5 * fabs(coulomb) + 0.01);
    CHECK_NEAR(lj_off + coulomb_off, 0, 5e-6 * fabs(lj + coulomb) + 0.01);
}

/* Rows can be wrapped if those of a domain leave part of each cut axis free, and each is in reach
 * once. */
static bool can_wrap(const job *j, const int *n)
{
    const md_box *box = &j->gro.state.box;
    const md_reach *reach = &j->options.reach;
    double longest = reach->rlist + 2 * reach->group_radius + 0.05;
    for (int k = 0; k < 3; k++) {
        double width = md_box_thickness(box, k), left = width - (n[k] > 1 ? width / n[k] : 0);
        if (longest > left || reach->rlist + 0.2 > 0.5 * width) return false;
    }
    return true;
}

static bool run_grid(job *j, const int *n, md_scheme scheme, const double *forces)
{
    const double *const even[3] = {NULL, NULL, NULL};
    int n_ranks = n[0] * n[1] * n[2];
    size_t n_atoms = (size_t)j->topology->n_atoms;
    rank ranks[LONG];
    sundog_team *teams[LONG];
    pthread_t threads[LONG];
    char text[LONG];
    double cutoff = fmax(j->params.rcoulomb, j->params.rvdw);
    j->options.reach = (md_reach){.scheme = scheme,
                                  .rlist = cutoff + 0.15,
                                  .group_radius = md_topology_group_radius(j->topology)};
    CHECK_OK(md_grid_create(n, even, &j->options.grid));
    if (md_grid_check(&j->options.grid, &j->gro.state.box, &j->options.reach) != SUNDOG_OK ||
        (j->wrapped && !can_wrap(j, n))) {
        md_grid_destroy(&j->options.grid);
        return false;
    }
    memset(j->f, 0, n_atoms * sizeof *j->f);
    memset(j->sums, 0, sizeof j->sums);
    j->worst = 0;
    j->cut = (n[0] > 1) | (n[1] > 1) << 1 | (n[2] > 1) << 2;
    CHECK_OK(sundog_team_create_threads(n_ranks, teams));
    for (int r = 0; r < n_ranks; r++) {
        sundog_team_set_timeout(teams[r], 600);
        ranks[r] = (rank){teams[r], j};
        CHECK(pthread_create(&threads[r], NULL, run_rank, &ranks[r]) == 0);
    }
    for (int r = 0; r < n_ranks; r++) CHECK(pthread_join(threads[r], NULL) == 0);
    md_grid_destroy(&j->options.grid);
    snprintf(text, sizeof text, "%dx%dx%d", n[0], n[1], n[2]);
    check_reference(j, text, forces, n_atoms);
    return true;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* A periodic box, its device box, lists that read it. */
typedef struct graph_test {
    job *job;
    md_rows *rows;
    fast_pairs fast;
    device_rows g;
    md_device_box *d_box;
    cudaStream_t stream;
    cudaGraphExec_t exec;
    double (*exact)[3];
} graph_test;

/* Lists anew, forces, energies. */
static void capture(graph_test *t)
{
    const md_unit_view *view = md_unit_lists_view(t->fast.lists);
    const md_unit_how how = {MD_UNIT_ALL, false, t->stream};
    cudaGraph_t graph;
    CHECK_OK(md_unit_force_prepare(t->fast.force, view));
    CHECK_CUDA(cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeThreadLocal));
    CHECK_OK(md_unit_lists_search(t->fast.lists, t->g.d_row, t->stream));
    CHECK_OK(md_unit_force_launch(t->fast.force, view, t->g.d_row, t->g.d_f, NULL, &how));
    CHECK_OK(md_unit_force_launch(t->fast.force, view, t->g.d_row, t->g.d_f, t->g.d_sums, &how));
    CHECK_CUDA(cudaStreamEndCapture(t->stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&t->exec, graph, 0));
    CHECK_CUDA(cudaGraphDestroy(graph));
}

static void set_box(graph_test *t, double scale)
{
    md_box box = t->job->gro.state.box;
    md_device_box device;
    md_unit_frame frame;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) box.m[i][k] *= scale;
    md_device_box_set(&box, &device);
    CHECK_CUDA(cudaMemcpy(t->d_box, &device, sizeof device, cudaMemcpyHostToDevice));
    md_unit_frame_of_box(&box, &frame);
    CHECK_CUDA(cudaMemcpy((void *)t->g.plain.d_scale, frame.scale, sizeof frame.scale,
                          cudaMemcpyHostToDevice));
}

static int overflowed(const graph_test *t)
{
    int word;
    download(&word, md_unit_lists_overflow(t->fast.lists), sizeof word);
    CHECK(word == 0 || word == 1);
    CHECK((md_unit_lists_check(t->fast.lists, NULL) == SUNDOG_OK) == !word);
    return word;
}

/* False: lists overflowed. */
static bool try_replay(graph_test *t)
{
    int n = t->rows->n_owned;
    double sums[MD_N_SUMS];
    CHECK_CUDA(cudaGraphLaunch(t->exec, t->stream));
    CHECK_CUDA(cudaStreamSynchronize(t->stream));
    if (overflowed(t)) return false;
    download(t->fast.f, t->g.d_f, (size_t)n * sizeof *t->fast.f);
    download(t->fast.sums, t->g.d_sums, sizeof t->fast.sums);
    run_exact(&t->fast, &t->g, t->exact, sums);
    double off = deviation_but_border((const double(*)[3])t->exact, t->fast.f, n);
    if (off > 5e-6) fprintf(stderr, "graph: off by %.2g\n", off);
    CHECK(off <= 5e-6);
    check_sums(t->fast.sums, sums);
    return true;
}

static void replay(graph_test *t)
{
    bool good = try_replay(t);
    if (!good) fprintf(stderr, "%s: %s\n", t->job->point->system, sundog_last_error());
    CHECK(good);
}

/* Atoms moved to and fro across blocks, and blocks made anew on the device: forces are right, and
 * the same when the rows are, whatever came between. In a box that is little larger than a block
 * and its surroundings new blocks can be too long; a rebuild makes smaller ones, with which all is
 * tried once more. */
static void check_replan(graph_test *t)
{
    const md_box *box = &t->job->gro.state.box;
    const int n = t->rows->n_owned;
    const double two_pi = 6.283185307179586;
    size_t n_bytes = (size_t)n * sizeof *t->fast.f;
    double(*kept)[3] = base_alloc((size_t)n * sizeof *kept);
    float(*f)[4] = base_alloc(n_bytes);
    memcpy(kept, t->rows->x, (size_t)n * sizeof *kept);
    int n_rebuilds = 0;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < n; i++) {
            double s[3];
            md_box_to_fractional(box, kept[i], s);
            for (int k = 0; k < 3; k++)
                t->rows->x[i][k] =
                    kept[i][k] + (round == 1 ? 0.1 * sin(two_pi * s[(k + 1) % 3]) : 0);
        }
        device_rows_move(&t->g);
        CHECK_OK(md_unit_lists_replan(t->fast.lists, t->g.d_row, t->stream));
        if (!try_replay(t)) {
            bool enough = true;
            CHECK_OK(md_unit_lists_make_room(t->fast.lists, MD_UNIT_LISTS_SEARCHED, t->g.d_row,
                                             t->stream, &enough));
            printf("%-22s round %d: %s\n", t->job->point->system, round,
                   enough ? "not enough room" : "blocks too long");
            CHECK(!enough && n_rebuilds++ < 3);
            CHECK_OK(md_unit_lists_rebuild(t->fast.lists, t->rows, &t->g.frame, t->g.d_row,
                                           t->stream));
            CHECK_CUDA(cudaGraphExecDestroy(t->exec));
            capture(t);
            round = -1;
            continue;
        }
        if (round == 0) memcpy(f, t->fast.f, n_bytes);
    }
    for (int i = 0; i < n; i++) CHECK(memcmp(f[i], t->fast.f[i], 3 * sizeof(float)) == 0);
    base_free(kept);
    base_free(f);
}

/* A dense box does not fit lists without spare room. With room the lists that overflowed come out,
 * and lists after a rebuild give the same bits, since rows are the same. */
static void check_overflow(graph_test *t)
{
    uint64_t before = md_unit_lists_generation(t->fast.lists);
    size_t n_bytes = (size_t)t->rows->n_owned * sizeof *t->fast.f;
    float(*f)[4] = base_alloc(n_bytes);
    bool enough;
    set_box(t, 0.9);
    CHECK_CUDA(cudaGraphLaunch(t->exec, t->stream));
    CHECK_CUDA(cudaStreamSynchronize(t->stream));
    CHECK(overflowed(t));
    CHECK_CUDA(cudaGraphLaunch(t->exec, t->stream));
    CHECK_CUDA(cudaStreamSynchronize(t->stream));
    CHECK(overflowed(t));
    CHECK_OK(md_unit_lists_make_room(t->fast.lists, MD_UNIT_LISTS_SEARCHED, t->g.d_row, t->stream,
                                     &enough));
    CHECK(enough && !overflowed(t));
    CHECK(md_unit_lists_generation(t->fast.lists) != before);
    CHECK_CUDA(cudaGraphExecDestroy(t->exec));
    capture(t);
    replay(t);
    memcpy(f, t->fast.f, n_bytes);
    CHECK_OK(md_unit_lists_make_room(t->fast.lists, MD_UNIT_LISTS_FILTERED, t->g.d_row, t->stream,
                                     &enough));
    CHECK(enough && !overflowed(t));
    CHECK_OK(md_unit_lists_rebuild(t->fast.lists, t->rows, &t->g.frame, t->g.d_row, t->stream));
    CHECK_CUDA(cudaGraphExecDestroy(t->exec));
    capture(t);
    replay(t);
    for (int i = 0; i < t->rows->n_owned; i++)
        CHECK(memcmp(f[i], t->fast.f[i], 3 * sizeof(float)) == 0);
    base_free(f);
}

static void graph_rank(job *j, md_rows *rows)
{
    double cutoff = fmax(j->params.rcoulomb, j->params.rvdw);
    graph_test t = {.job = j, .rows = rows};
    wrap_rows(rows, 0, j->topology->n_atoms);
    size_t n = (size_t)rows->n_owned;
    t.exact = base_alloc(n * sizeof *t.exact);
    t.fast.f = base_alloc(n * sizeof *t.fast.f);
    device_rows_create(j->units, j->topology, rows, &j->gro.state.box, &t.g);
    t.d_box = gpu_alloc(sizeof *t.d_box);
    CHECK_CUDA(cudaStreamCreate(&t.stream));
    CHECK_OK(md_unit_force_create(j->nonbonded, j->units, &t.fast.force));
    for (int tight = 0; tight < 2; tight++) {
        md_unit_lists_options options = {
            .rlist = cutoff + 0.1, .rinner = cutoff + 0.02, .tight = tight, .d_box = t.d_box};
        set_box(&t, 1);
        CHECK_OK(md_unit_lists_create(j->units, j->topology, &options, &t.fast.lists));
        CHECK_OK(md_unit_lists_rebuild(t.fast.lists, rows, &t.g.frame, t.g.d_row, t.stream));
        uint64_t before = md_unit_lists_generation(t.fast.lists);
        capture(&t);
        replay(&t);
        set_box(&t, 1.02);
        replay(&t);
        CHECK_OK(md_unit_lists_rebuild(t.fast.lists, rows, &t.g.frame, t.g.d_row, t.stream));
        CHECK(md_unit_lists_generation(t.fast.lists) == before);
        replay(&t);
        if (tight && n > 3000) check_overflow(&t);
        if (!tight) check_replan(&t);
        CHECK_CUDA(cudaGraphExecDestroy(t.exec));
        md_unit_lists_destroy(&t.fast.lists);
    }
    device_rows_destroy(&t.g);
    md_unit_force_destroy(&t.fast.force);
    CHECK_CUDA(cudaFree(t.d_box));
    CHECK_CUDA(cudaStreamDestroy(t.stream));
    base_free(t.fast.f);
    base_free(t.exact);
}

static void run_graphs(job *j)
{
    const double *const even[3] = {NULL, NULL, NULL};
    static const int one[3] = {1, 1, 1};
    sundog_team *team;
    md_domain *domain;
    double cutoff = fmax(j->params.rcoulomb, j->params.rvdw);
    j->options.reach = (md_reach){.scheme = MD_SCHEME_SHELL,
                                  .rlist = cutoff + 0.15,
                                  .group_radius = md_topology_group_radius(j->topology)};
    if (j->point->big || !can_wrap(j, one)) return;
    CHECK_OK(md_grid_create(one, even, &j->options.grid));
    CHECK_OK(sundog_team_create_threads(1, &team));
    CHECK_OK(md_domain_create(team, j->topology, &j->gro.state.box, &j->options, &domain));
    CHECK_OK(md_domain_distribute(domain, &j->gro.state));
    graph_rank(j, md_domain_rows(domain));
    md_domain_destroy(&domain);
    sundog_team_destroy(&team);
    md_grid_destroy(&j->options.grid);
}

static void run_point(const point *p)
{
    job j = {.point = p, .lock = PTHREAD_MUTEX_INITIALIZER};
    int j_cluster;
    double *forces;
    size_t n;
    CHECK_OK(md_mdp_read(reference_path("reference/%s/sp_%s.mdp", p->system, p->name), &j.params));
    md_top_options options = {.define = j.params.define, .constraints = j.params.constraints};
    CHECK_OK(md_top_read(reference_path("%s/topol.top", p->system), &options, &j.topology));
    CHECK_OK(md_gro_read(reference_path("%s/conf.gro", p->system), &j.gro));
    CHECK(reference_table(reference_path("reference/%s/sp_%s.forces.txt.xz", p->system, p->name), 3,
                          &forces, &n));
    CHECK(n == (size_t)j.topology->n_atoms);
    CHECK_OK(md_nonbonded_create(j.topology, &j.params, "reference", &j.nonbonded, &j_cluster));
    CHECK_OK(md_bonded_create(j.topology, &j.params, &j.bonded));
    md_units_create(j.topology, &j.units);
    j.f = base_alloc(n * sizeof *j.f);
    int done = 0;
    for (int wrapped = 0; wrapped < 2; wrapped++) {
        j.wrapped = wrapped;
        for (int g = 0; g < (p->big ? N_BIG_GRIDS : N_GRIDS); g++)
            done += run_grid(&j, grids[g], MD_SCHEME_SHELL, forces);
        CHECK(done > 0);
        for (int g = 0; g < N_BIG_GRIDS; g++) run_grid(&j, grids[g], MD_SCHEME_RETURN, forces);
    }
    run_graphs(&j);
    base_free(j.f);
    free(forces);
    md_units_destroy(&j.units);
    md_bonded_destroy(&j.bonded);
    md_nonbonded_destroy(&j.nonbonded);
    md_gro_destroy(&j.gro);
    md_topology_destroy(&j.topology);
}

/* Arguments: systems to run, for a sanitizer; all without. */
int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    device_required();
    for (int k = 0; k < N_POINTS; k++) {
        bool wanted = argc < 2;
        for (int a = 1; a < argc; a++) wanted |= strcmp(argv[a], points[k].system) == 0;
        if (wanted) run_point(&points[k]);
    }
    return 0;
}
