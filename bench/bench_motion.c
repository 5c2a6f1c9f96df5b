/* What a step does on a GPU besides pair forces: microseconds of bonded forces, of the move, and of
 * the sums over velocities, as medians of graph replays.
 *
 *      bench_motion SYSTEMS [SYSTEM ...] > results.jsonl       SYSTEMS: the folder systems/
 *
 * One domain, a periodic box without ghosts, rows in the order of the file. Forty launches a graph;
 * one launch slot (about 0.7 us on H200) is in every figure. Atoms hardly move: the time step is
 * 1e-6 ps, so that forces which are never computed anew do no harm. The results are those of the
 * device tests of md/motion and md/force; here only faults of the move are looked for.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "graph_median.h"
#include "md/force/bonded_device.h"
#include "md/in/gro.h"
#include "md/in/mdp.h"
#include "md/in/top.h"
#include "md/motion/constraints_internal.h"
#include "md/motion/kinetic.h"
#include "md/motion/move.h"
#include "md/motion/thermostat_device.h"

enum { LAUNCHES = 40 };

typedef struct bench {
    md_params params;
    md_topology *topology;
    md_gro gro;
    md_rows rows;
    md_bonded *bonded;
    md_bonded_device *bonded_device;
    md_constrain *constrain;
    md_move_jobs jobs;
    md_move *move;
    md_kinetic *kinetic;
    md_move_arrays arrays;
    md_velocities velocities;
    md_thermostat_groups thermostat;
    md_bonded_sums *d_bonded;
    md_move_sums *d_move;
    md_kinetic_sums *d_kinetic;
    md_momentum_sums *d_momentum;
    double (*d_noise)[2], *d_work;
    cudaStream_t stream;
} bench;

typedef enum what {
    BONDED, BONDED_SUMS, MOVE, MOVE_SUMS, KINETIC, MOMENTUM, DRIFT, THERMOSTAT, N_WHAT
} what;
static const char *const names[N_WHAT] = {"bonded", "bonded_sums", "move",  "move_sums",
                                          "kinetic", "momentum",   "drift", "thermostat"};

static void launch(bench *b, what w)
{
    const double dt = 1e-6;
    switch (w) {
    case BONDED:
    case BONDED_SUMS:
        TRY(md_bonded_device_launch(b->bonded_device, b->arrays.d_row, b->arrays.d_box,
                                    w == BONDED_SUMS ? b->d_bonded : NULL, b->stream));
        return;
    case MOVE:
    case MOVE_SUMS:
        TRY(md_move_launch(b->move, &b->arrays, dt, w == MOVE_SUMS ? b->d_move : NULL,
                           b->stream));
        return;
    case KINETIC:
        TRY(md_kinetic_launch(b->kinetic, &b->velocities, b->d_kinetic, b->stream));
        return;
    case MOMENTUM:
        TRY(md_momentum_launch(b->kinetic, &b->velocities, b->d_momentum, b->stream));
        return;
    case DRIFT: TRY(md_remove_drift_launch(&b->velocities, b->d_momentum, b->stream)); return;
    default:
        TRY(md_thermostat_launch(&b->thermostat, b->d_kinetic, (const double(*)[2])b->d_noise,
                                 (double *)b->arrays.d_lambda, b->d_work, b->stream));
    }
}

typedef struct timed {
    bench *b;
    what w;
} timed;

static void launch_timed(void *arg, int k)
{
    const timed *t = arg;
    (void)k;
    launch(t->b, t->w);
}

static double time_graph(bench *b, what w)
{
    return graph_median_us(b->stream, LAUNCHES, launch_timed, &(timed){b, w});
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void add_interactions(const md_moltype *moltype, int first, md_rows *rows)
{
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        const md_interactions *from = &moltype->list[kind];
        md_row_interactions *to = &rows->list[kind];
        const int n_atoms = md_kind_n_atoms((md_kind)kind);
        BASE_RESERVE(to->rows, to->capacity_rows, (to->n + from->n) * n_atoms);
        BASE_RESERVE(to->param, to->capacity_param, to->n + from->n);
        BASE_RESERVE(to->weight, to->capacity_weight, to->n + from->n);
        for (int k = 0; k < from->n; k++, to->n++) {
            for (int a = 0; a < n_atoms; a++)
                to->rows[to->n * n_atoms + a] = first + from->atoms[k * n_atoms + a];
            to->param[to->n] = from->param[k];
            to->weight[to->n] = 1;
        }
    }
}

/* Row = global atom; molecules are whole in the files used here. */
static void fill_rows(bench *b)
{
    const md_state *state = &b->gro.state;
    md_rows *rows = &b->rows;
    int row = 0;
    md_rows_reserve(rows, (size_t)state->n_atoms);
    rows->n_owned = rows->n_rows = (int)state->n_atoms;
    for (int m = 0; m < b->topology->n_molblocks; m++) {
        const md_moltype *moltype = &b->topology->moltype[b->topology->molblock[m].moltype];
        for (int c = 0; c < b->topology->molblock[m].count; c++) {
            add_interactions(moltype, row, rows);
            for (int a = 0; a < moltype->n_atoms; a++, row++) {
                rows->gid[row] = row;
                rows->mass[row] = moltype->atom[a].mass;
                rows->charge[row] = (float)moltype->atom[a].charge;
                for (int k = 0; k < 3; k++) {
                    rows->x[row][k] = state->x[row][k];
                    rows->v[row][k] = state->v ? state->v[row][k] : 0.1 * k;
                }
            }
        }
    }
}

static void *dev(const void *from, size_t n_bytes)
{
    void *d;
    TRY(cudaMalloc(&d, n_bytes + 16));
    TRY(cudaMemset(d, 0, n_bytes + 16));
    if (from) TRY(cudaMemcpy(d, from, n_bytes, cudaMemcpyHostToDevice));
    return d;
}

static void upload_rows(bench *b)
{
    const size_t n = (size_t)b->rows.n_owned;
    md_device_row *row = base_alloc(n * sizeof *row);
    double *inv_mass = base_alloc(n * sizeof *inv_mass), one = 1;
    md_device_box box;
    md_device_box_set(&b->gro.state.box, &box);
    for (size_t r = 0; r < n; r++) {
        double s[3];
        md_box_to_fractional(&b->gro.state.box, b->rows.x[r], s);
        for (int k = 0; k < 3; k++) row[r].s[k] = (int)(int64_t)rint(s[k] * 0x1p32);
        row[r].charge = b->rows.charge[r];
        inv_mass[r] = 1 / b->rows.mass[r];
    }
    b->arrays.d_x = dev(b->rows.x, n * sizeof *b->rows.x);
    b->arrays.d_v = dev(b->rows.v, n * sizeof *b->rows.v);
    b->arrays.d_f = dev(NULL, n * sizeof *b->arrays.d_f);
    b->arrays.d_inv_mass = dev(inv_mass, n * sizeof *inv_mass);
    b->arrays.d_lambda = dev(&one, sizeof one);
    b->arrays.d_box = dev(&box, sizeof box);
    b->arrays.d_row = dev(row, n * sizeof *row);
    b->velocities = (md_velocities){.n_owned = (int)n,
                                    .d_v = b->arrays.d_v,
                                    .d_mass = dev(b->rows.mass, n * sizeof *b->rows.mass),
                                    .n_temperature = 1,
                                    .n_com = 1};
    b->d_bonded = dev(NULL, sizeof *b->d_bonded);
    b->d_move = dev(NULL, sizeof *b->d_move);
    b->d_kinetic = dev(NULL, sizeof *b->d_kinetic);
    b->d_momentum = dev(NULL, sizeof *b->d_momentum);
    b->d_noise = dev(NULL, sizeof *b->d_noise);
    b->d_work = dev(NULL, sizeof *b->d_work);
    base_free(row), base_free(inv_mass);
}

/* ---- one system ----------------------------------------------------------------------------- */

static void open_system(bench *b, const char *systems, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/reference/%s/sp_rf.mdp", systems, name);
    TRY(md_mdp_read(path, &b->params));
    md_top_options top = {.define = b->params.define, .constraints = b->params.constraints};
    snprintf(path, sizeof path, "%s/%s/topol.top", systems, name);
    TRY(md_top_read(path, &top, &b->topology));
    snprintf(path, sizeof path, "%s/%s/conf.gro", systems, name);
    TRY(md_gro_read(path, &b->gro));
    TRY(cudaStreamCreate(&b->stream));
    fill_rows(b);
    upload_rows(b);
    TRY(md_bonded_create(b->topology, &b->params, &b->bonded));
    TRY(md_bonded_device_create(b->bonded, NULL, b->topology, &b->bonded_device));
    TRY(md_bonded_device_rebuild(b->bonded_device, &b->rows, b->rows.n_rows, b->stream));
    b->arrays.slots = md_bonded_device_slots(b->bonded_device);
    md_constrain_options options = {b->params.lincs_order, b->params.lincs_iter, 90, false, NULL};
    TRY(md_constrain_create(b->topology, &options, &b->constrain));
    TRY(md_constrain_rebuild(b->constrain, &b->rows));
    TRY(md_move_jobs_build(&b->jobs, md_constrain_settle(b->constrain),
                           md_constrain_lincs(b->constrain), b->rows.n_owned));
    TRY(md_move_create(&options, &b->move));
    TRY(md_move_rebuild(b->move, &b->jobs, md_constrain_settle(b->constrain), b->stream));
    TRY(md_kinetic_create(&b->kinetic));
    b->thermostat.n = 1;
    b->thermostat.coupling[0] = md_vrescale_couple(1e5, 9e4, 0.02, 0.1);
    launch(b, BONDED);
    TRY(cudaStreamSynchronize(b->stream));
}

static void close_system(bench *b)
{
    void *const gone[] = {b->arrays.d_x, b->arrays.d_v, (void *)b->arrays.d_f,
                          (void *)b->arrays.d_inv_mass, (void *)b->arrays.d_lambda,
                          (void *)b->arrays.d_box, b->arrays.d_row,
                          (void *)b->velocities.d_mass, b->d_bonded, b->d_move, b->d_kinetic,
                          b->d_momentum, b->d_noise, b->d_work};
    for (size_t k = 0; k < sizeof gone / sizeof gone[0]; k++) TRY(cudaFree(gone[k]));
    md_kinetic_destroy(&b->kinetic);
    md_move_destroy(&b->move);
    md_move_jobs_free(&b->jobs);
    md_constrain_destroy(&b->constrain);
    md_bonded_device_destroy(&b->bonded_device);
    md_bonded_destroy(&b->bonded);
    TRY(cudaStreamDestroy(b->stream));
    md_rows_destroy(&b->rows);
    md_gro_destroy(&b->gro);
    md_topology_destroy(&b->topology);
}

static void run_system(const char *systems, const char *name)
{
    bench b = {.stream = NULL};
    md_move_fault fault;
    char date[32];
    time_t now = time(NULL);
    const char *commit = getenv("SUNDOG_COMMIT");
    struct cudaDeviceProp device;
    int driver;
    open_system(&b, systems, name);
    TRY(cudaGetDeviceProperties(&device, 0));
    TRY(cudaDriverGetVersion(&driver));
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    printf("{\"bench\":\"motion\",\"system\":\"%s\",\"atoms\":%d,\"gpus\":1,\"domains\":1,", name,
           b.rows.n_owned);
    for (what w = 0; w < N_WHAT; w++) printf("\"us_%s\":%.2f,", names[w], time_graph(&b, w));
    printf("\"gpu\":\"%s\",\"cuda_driver\":%d,\"commit\":\"%s\",\"date\":\"%s\"}\n", device.name,
           driver, commit ? commit : "", date);
    fflush(stdout);
    TRY(md_move_fault_read(b.move, &fault, b.stream));
    if (fault.n_turned + fault.n_failed > 0) {
        fprintf(stderr, "%s: %u jobs of the move failed\n", name,
                fault.n_turned + fault.n_failed);
        exit(1);
    }
    close_system(&b);
}

int main(int argc, char **argv)
{
    static const char *const systems[] = {"water/spce_3k", "water/spce_24k", "grappa-like/0045",
                                          "peptide/wkdpys_amber"};
    int n = 0;
    if (argc < 2 || cudaGetDeviceCount(&n) != cudaSuccess || n == 0) {
        fprintf(stderr, argc < 2 ? "usage: bench_motion SYSTEMS [SYSTEM ...]\n"
                                 : "bench_motion: no GPU\n");
        return argc < 2 ? 2 : 77;
    }
    for (int a = 2; a < argc; a++) run_system(argv[1], argv[a]);
    for (size_t k = 0; argc == 2 && k < sizeof systems / sizeof systems[0]; k++)
        run_system(argv[1], systems[k]);
    return 0;
}
