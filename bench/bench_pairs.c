/* Pair forces on one GPU: microseconds of the force kernel, of the list filter and of the search,
 * as medians of graph replays, with rows as the engine has them.
 *
 *      bench_pairs SYSTEMS [ATOMS ...] > results.jsonl       SYSTEMS: the folder systems/
 *
 * One domain, a periodic box without ghosts. Each case is first held against the plain kernel in
 * double. SUNDOG_BENCH_THREADS set: several sizes of the force kernel's blocks.
 * Forty launches a graph; rows rotate between four buffers; lists stay, as they do in a run, so
 * they sit in the second cache while it is large enough. One launch slot (about 0.7 us on H200) is
 * in every figure.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "graph_median.h"
#include "md/domain/domain.h"
#include "md/force/unit_force.h"
#include "md/in/gro.h"
#include "md/in/mdp.h"
#include "md/in/top.h"

enum { BUFFERS = 4, LAUNCHES = 40 };

typedef struct bench {
    md_params params;
    md_topology *topology;
    md_gro gro;
    md_units *units;
    md_nonbonded *nonbonded;
    md_unit_force *force;
    md_unit_lists *lists;
    md_rows *rows;
    md_unit_frame frame;
    md_device_row *d_row[BUFFERS];
    float (*d_f[BUFFERS])[4];
    double *d_sums;
    cudaStream_t stream;
    int64_t n_atoms;
    int n_domains;
    double useful;              /* pairs within the cut-off, both directions, owned rows */
    double us_plan;             /* of the host's plan */
} bench;

typedef enum what { FORCE, FORCE_EARLY, FORCE_ENERGY, FILTER, SEARCH, REPLAN } what;

static void launch(bench *b, what w, int k)
{
    const md_unit_view *view = md_unit_lists_view(b->lists);
    const md_device_row *d_row = b->d_row[k];
    switch (w) {
    case FILTER: TRY(md_unit_lists_filter(b->lists, d_row, b->stream)); return;
    case REPLAN: TRY(md_unit_lists_replan(b->lists, d_row, b->stream)); return;
    case SEARCH: TRY(md_unit_lists_search(b->lists, d_row, b->stream)); return;
    default: {
        const md_unit_how how = {MD_UNIT_ALL, w == FORCE_EARLY, b->stream};
        TRY(md_unit_force_launch(b->force, view, d_row, b->d_f[k],
                                 w == FORCE_ENERGY ? b->d_sums : NULL, &how));
    }
    }
}

typedef struct timed {
    bench *b;
    what w;
} timed;

static void launch_timed(void *arg, int k)
{
    const timed *t = arg;
    launch(t->b, t->w, k % BUFFERS);
}

static double time_graph(bench *b, what w)
{
    return graph_median_us(b->stream, w >= FILTER ? 10 : LAUNCHES, launch_timed, &(timed){b, w});
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* From the neighbours of every 50th owned row. */
static double count_useful(const bench *b, const md_device_row *row)
{
    const float *s = b->frame.scale;
    double rc2 = b->params.rcoulomb * b->params.rcoulomb;
    int64_t n = 0, rows = 0;
    for (int i = 0; i < b->rows->n_owned; i += 50, rows++)
        for (int j = 0; j < b->rows->n_rows; j++) {
            float d[3];
            for (int k = 0; k < 3; k++)
                d[k] = (float)(int32_t)((uint32_t)row[i].s[k] - (uint32_t)row[j].s[k]);
            double x = (double)(d[0] * s[0] + d[1] * s[1] + d[2] * s[3]);
            double y = (double)(d[1] * s[2] + d[2] * s[4]), z = (double)(d[2] * s[5]);
            n += i != j && x * x + y * y + z * z < rc2;
        }
    return (double)n / (double)rows * b->rows->n_owned;
}

static void cut_ghosts(md_rows *rows)
{
    int n = rows->n_owned, *row_of = base_alloc(((size_t)n + 1) * sizeof *row_of);
    for (int i = 0; i < n; i++) row_of[rows->gid[i]] = i;
    for (int e = 0; e < rows->exclusion_start[n]; e++)
        rows->exclusion[e] = row_of[rows->gid[rows->exclusion[e]]];
    rows->n_rows = n;
    base_free(row_of);
}

/* Four copies of the rows, moved by up to half a thousandth of a nm, so that no distance is exactly
 * the cut-off, as rounded input has it. */
static void upload_rows(bench *b)
{
    size_t n = (size_t)b->rows->n_rows;
    md_device_row *row = base_alloc((n + 1) * sizeof *row);
    for (int k = 0; k < BUFFERS; k++) {
        md_unit_frame_encode_rows(&b->frame, b->rows, row);
        for (size_t i = 0; i < n; i++)
            for (int a = 0; a < 3; a++) {
                uint64_t h = ((uint64_t)b->rows->gid[i] * 3 + (uint64_t)a + 1) *
                             (0x9E3779B97F4A7C15u + 2 * (uint64_t)k);
                double move = ((double)(h >> 40) * 0x1p-24 - 0.5) * 1e-3;
                row[i].s[a] = (int32_t)((uint32_t)row[i].s[a] +
                                        (uint32_t)(int32_t)(move / b->frame.m[a][a] * 0x1p32));
            }
        TRY(cudaMalloc((void **)&b->d_row[k], n * sizeof *row));
        TRY(cudaMemcpy(b->d_row[k], row, n * sizeof *row, cudaMemcpyHostToDevice));
        TRY(cudaMalloc((void **)&b->d_f[k], n * sizeof *b->d_f[k]));
        if (k == 0) b->useful = count_useful(b, row);
    }
    base_free(row);
}

/* ---- one size ------------------------------------------------------------------------------- */

static void *dev(const void *from, size_t n_bytes)
{
    void *d;
    TRY(cudaMalloc(&d, n_bytes + 16));
    TRY(cudaMemcpy(d, from, n_bytes, cudaMemcpyHostToDevice));
    return d;
}

/* The second of two, which has its memory. */
static void time_plan(bench *b)
{
    struct timespec begin, end;
    md_unit_plan_options options = {132, MD_UNIT_MOST, &b->frame, true};
    md_unit_plan plan = {0};
    for (int k = 0; k < 2; k++) {
        clock_gettime(CLOCK_MONOTONIC, &begin);
        TRY(md_unit_plan_make(b->units, b->topology, b->rows, &options, &plan));
        clock_gettime(CLOCK_MONOTONIC, &end);
    }
    b->us_plan = 1e6 * (double)(end.tv_sec - begin.tv_sec) +
                 1e-3 * (double)(end.tv_nsec - begin.tv_nsec);
    md_unit_plan_destroy(&plan);
}

/* Relative RMS deviation of the forces from the plain kernel in double. */
static double verify(bench *b)
{
    size_t n = (size_t)b->rows->n_rows, n_owned = (size_t)b->rows->n_owned;
    md_unit_plan_options options = {1, MD_UNIT_MOST, &b->frame, false};
    md_unit_plan plan = {0};
    TRY(md_unit_plan_make(b->units, b->topology, b->rows, &options, &plan));
    md_row_force_rows plain = {.n_rows = (int)n, .n_owned = (int)n_owned,
                               .scheme = MD_SCHEME_SHELL, .d_row = b->d_row[0],
                               .row_bits = plan.row_bits};
    plain.d_row_word = dev(plan.row_word, n * sizeof(uint32_t));
    plain.d_zone = dev(b->rows->zone, n);
    plain.d_exclusion_start = dev(b->rows->exclusion_start, (n_owned + 1) * sizeof(int));
    plain.d_exclusion =
        dev(b->rows->exclusion, (size_t)b->rows->exclusion_start[n_owned] * sizeof(int));
    plain.d_scale = dev(b->frame.scale, sizeof b->frame.scale);
    double(*d_exact)[3], *d_work, (*exact)[3] = base_alloc(n_owned * sizeof *exact);
    float(*f)[4] = base_alloc(n_owned * sizeof *f);
    TRY(cudaMalloc((void **)&d_exact, n * sizeof *d_exact));
    TRY(cudaMalloc((void **)&d_work, (n / 32 + 8) * MD_N_SUMS * sizeof *d_work));
    TRY(md_row_force_exact(b->force, &plain, d_exact, b->d_sums, d_work, b->stream));
    launch(b, FORCE, 0);
    TRY(cudaStreamSynchronize(b->stream));
    TRY(cudaMemcpy(exact, d_exact, n_owned * sizeof *exact, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(f, b->d_f[0], n_owned * sizeof *f, cudaMemcpyDeviceToHost));
    double off = 0, all = 0;
    for (size_t i = 0; i < n_owned; i++)
        for (int k = 0; k < 3; k++) {
            off += pow((double)f[i][k] - exact[i][k], 2);
            all += pow(exact[i][k], 2);
        }
    void *const gone[] = {(void *)plain.d_row_word, (void *)plain.d_zone,
                          (void *)plain.d_scale,
                          (void *)plain.d_exclusion_start, (void *)plain.d_exclusion, d_exact,
                          d_work};
    for (size_t k = 0; k < sizeof gone / sizeof gone[0]; k++) TRY(cudaFree(gone[k]));
    base_free(exact);
    base_free(f);
    md_unit_plan_destroy(&plan);
    return sqrt(off / all);
}

static void print_case(bench *b, const md_unit_lists_options *o, double off, const double *us)
{
    md_unit_lists_stats stats;
    char date[32];
    time_t now = time(NULL);
    const char *commit = getenv("SUNDOG_COMMIT");
    struct cudaDeviceProp device;
    int driver;
    TRY(md_unit_lists_stats_of(b->lists, &stats));
    TRY(cudaGetDeviceProperties(&device, 0));
    TRY(cudaDriverGetVersion(&driver));
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    printf("{\"bench\":\"pairs\",\"atoms\":%lld,\"gpus\":1,\"domains\":%d,\"owned\":%d,"
           "\"rows\":%d,\"rinner\":%g,\"rlist\":%g,\"threads\":%d,\"blocks\":%d,",
           (long long)b->n_atoms, b->n_domains, b->rows->n_owned, b->rows->n_rows, o->rinner,
           o->rlist, stats.threads, stats.n_blocks);
    printf("\"us_force\":%.2f,\"us_force_early\":%.2f,\"us_energy\":%.2f,\"us_filter\":%.2f,"
           "\"us_search\":%.2f,\"us_replan\":%.2f,\"us_plan_host\":%.0f,\"plan\":\"%s\","
           "\"pairs_useful\":%.4g,\"pairs_evaluated\":%.4g,\"useful\":%.3f,",
           us[FORCE], us[FORCE_EARLY], us[FORCE_ENERGY], us[FILTER], us[SEARCH], us[REPLAN],
           b->us_plan, o->host_blocks ? "host" : "device", b->useful, stats.pairs_evaluated,
           b->useful / stats.pairs_evaluated);
    printf("\"list_mb\":%.1f,\"slots\":%d,\"outer_slots\":%d,\"force_error\":%.1e,"
           "\"gpu\":\"%s\",\"cuda_driver\":%d,\"commit\":\"%s\",\"date\":\"%s\"}\n",
           stats.list_bytes * 1e-6, stats.most_slots, stats.most_outer_slots, off, device.name,
           driver, commit ? commit : "", date);
    fflush(stdout);
}

static void run_lists(bench *b, double rinner, double rlist, int threads, bool host_blocks)
{
    md_unit_lists_options options = {.rlist = rlist,
                                     .rinner = rinner,
                                     .threads = threads,
                                     .host_blocks = host_blocks};
    double us[REPLAN + 1];
    TRY(md_unit_lists_create(b->units, b->topology, &options, &b->lists));
    TRY(md_unit_lists_rebuild(b->lists, b->rows, &b->frame, b->d_row[0], b->stream));
    TRY(md_unit_force_prepare(b->force, md_unit_lists_view(b->lists)));
    double off = verify(b);
    for (what w = FORCE; w <= REPLAN; w++) us[w] = time_graph(b, w);
    TRY(md_unit_lists_check(b->lists, b->stream));
    print_case(b, &options, off, us);
    if (!(off < 1e-5)) {
        fprintf(stderr, "forces are off by %.2g relative RMS\n", off);
        exit(1);
    }
    md_unit_lists_destroy(&b->lists);
}

static void run_size(const char *systems, const char *name, const int copies[3], bool all_threads)
{
    bench b = {.n_domains = 1};
    char path[1024];
    int j_cluster;
    static const int one[3] = {1, 1, 1};
    const double *const even[3] = {NULL, NULL, NULL};
    snprintf(path, sizeof path, "%s/reference/grappa-like/0045/sp_rf.mdp", systems);
    TRY(md_mdp_read(path, &b.params));
    md_top_options top = {.define = b.params.define, .constraints = b.params.constraints};
    snprintf(path, sizeof path, "%s/grappa-like/%s/topol.top", systems, name);
    TRY(md_top_read(path, &top, &b.topology));
    snprintf(path, sizeof path, "%s/grappa-like/%s/conf.gro", systems, name);
    TRY(md_gro_read(path, &b.gro));
    TRY(md_state_replicate(&b.gro.state, b.topology, copies));
    TRY(md_topology_replicate(b.topology, copies));
    b.n_atoms = b.topology->n_atoms;
    md_units_create(b.topology, &b.units);
    TRY(md_nonbonded_create(b.topology, &b.params, "reference", &b.nonbonded, &j_cluster));
    TRY(md_unit_force_create(b.nonbonded, b.units, &b.force));
    TRY(cudaStreamCreate(&b.stream));
    TRY(cudaMalloc((void **)&b.d_sums, MD_N_SUMS * sizeof(double)));
    sundog_team *team;
    md_domain *domain;
    md_domain_options options = {
        .reach = {.scheme = MD_SCHEME_SHELL,
                  .rlist = 1.2,
                  .group_radius = md_topology_group_radius(b.topology)}};
    TRY(md_grid_create(one, even, &options.grid));
    TRY(sundog_team_create_threads(1, &team));
    TRY(md_domain_create(team, b.topology, &b.gro.state.box, &options, &domain));
    TRY(md_domain_distribute(domain, &b.gro.state));
    b.rows = md_domain_rows(domain);
    cut_ghosts(b.rows);
    md_unit_frame_of_box(&b.gro.state.box, &b.frame);
    upload_rows(&b);
    time_plan(&b);
    static const int threads[] = {0, 384, 512, 640, 704, 768};
    for (int k = 0; k < (all_threads ? 6 : 1); k++) run_lists(&b, 0.92, 1.1, threads[k], false);
    run_lists(&b, 0.92, 1.1, 0, true);
    run_lists(&b, 0.95, 1.1, 0, false);
    run_lists(&b, 0.98, 1.132, 0, false);
    run_lists(&b, 1.0, 1.15, 0, false);
    for (int k = 0; k < BUFFERS; k++) {
        TRY(cudaFree(b.d_row[k]));
        TRY(cudaFree(b.d_f[k]));
    }
    TRY(cudaFree(b.d_sums));
    TRY(cudaStreamDestroy(b.stream));
    md_domain_destroy(&domain);
    sundog_team_destroy(&team);
    md_grid_destroy(&options.grid);
    md_unit_force_destroy(&b.force);
    md_nonbonded_destroy(&b.nonbonded);
    md_units_destroy(&b.units);
    md_gro_destroy(&b.gro);
    md_topology_destroy(&b.topology);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *atoms, *system;
        int copies[3];
    } sizes[] = {{"12k", "0012", {1, 1, 1}},  {"24k", "0024", {1, 1, 1}},
                 {"45k", "0045", {1, 1, 1}},  {"90k", "0045", {2, 1, 1}},
                 {"180k", "0045", {2, 2, 1}}, {"360k", "0045", {2, 2, 2}}};
    int n = 0;
    if (argc < 2 || cudaGetDeviceCount(&n) != cudaSuccess || n == 0) {
        fprintf(stderr, argc < 2 ? "usage: bench_pairs SYSTEMS [12k|24k|45k|90k|180k|360k ...]\n"
                                 : "bench_pairs: no GPU\n");
        return argc < 2 ? 2 : 77;
    }
    bool all_threads = getenv("SUNDOG_BENCH_THREADS") != NULL;
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        bool wanted = argc == 2;
        for (int a = 2; a < argc; a++) wanted |= strcmp(argv[a], sizes[k].atoms) == 0;
        if (wanted) run_size(argv[1], sizes[k].system, sizes[k].copies, all_threads);
    }
    return 0;
}
