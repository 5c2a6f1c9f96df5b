/* md_gpu (gpu.h): life, rebuild, downloads. */
#include "md/gpu/gpu_impl.h"

#include "md/gpu/renew.h"
#include "md/gpu/stretch.h"
#include "md/motion/constraints_internal.h"
#include "md/pairs/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ------------------------------------------------------------------------------------ */

/* A GPU takes work from so many streams at once (CUDA_DEVICE_MAX_CONNECTIONS; the program sets 32
 * if it is not set); those beyond wait behind others, for ever where a kernel of the one waits for
 * a peer's in the other. With a branch beside the exchange a domain has three without graphs, that
 * of its thread among them. Graphs have not been seen to wait for one another (bench_waits); two
 * more are counted all the same, for what other drivers do. */
static bool has_room_for_branches(int n_sharing)
{
    enum { UNLESS_SET = 8, STREAMS = 5 };
    const char *set = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    const int n_connections = set ? atoi(set) : UNLESS_SET;
    return n_sharing == 1 || n_sharing * STREAMS <= n_connections;
}

static sundog_status create_streams(md_gpu *gpu)
{
    int least, greatest;
    BASE_TRY(DEVICE_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest)));
    if (has_room_for_branches(gpu->options.n_sharing)) {
        BASE_TRY(DEVICE_CHECK(
            cudaStreamCreateWithPriority(&gpu->stream, cudaStreamNonBlocking, greatest)));
        BASE_TRY(
            DEVICE_CHECK(cudaStreamCreateWithPriority(&gpu->beside, cudaStreamNonBlocking, least)));
    } else {
        BASE_TRY(DEVICE_CHECK(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking)));
        gpu->beside = gpu->stream;
    }
    BASE_TRY(DEVICE_CHECK(cudaEventCreateWithFlags(&gpu->fork, cudaEventDisableTiming)));
    return DEVICE_CHECK(cudaEventCreateWithFlags(&gpu->join, cudaEventDisableTiming));
}

/* What has the same size for any number of rows. */
static sundog_status create_constants(md_gpu *gpu)
{
    double ones[MD_MAX_GROUPS];
    for (int g = 0; g < MD_MAX_GROUPS; g++) ones[g] = 1;
    const size_t bytes[GPU_N_MEMORY] = {
        [GPU_BOX] = sizeof(md_device_box),
        [GPU_LAMBDA] = sizeof ones,
        [GPU_ONES] = sizeof ones,
        [GPU_WORK] = sizeof ones,
        [GPU_NOISE] = (size_t)MD_GPU_PIECE * (size_t)gpu->options.n_temperature * sizeof(double[2]),
        [GPU_PAIR_SUMS] = MD_N_SUMS * sizeof(double),
        [GPU_BONDED_SUMS] = sizeof(md_bonded_sums),
        [GPU_MOVE_SUMS] = sizeof(md_move_sums),
        [GPU_KINETIC_OLD] = sizeof(md_kinetic_sums),
        [GPU_KINETIC_NEW] = sizeof(md_kinetic_sums),
        [GPU_MOMENTUM] = sizeof(md_momentum_sums),
        [GPU_COUNTS] = sizeof(gpu_counts)};
    for (int k = GPU_BOX; k < GPU_N_MEMORY; k++) {
        BASE_TRY(device_reserve(&gpu->memory[k], bytes[k]));
        BASE_TRY(DEVICE_CHECK(cudaMemsetAsync(gpu->memory[k].d, 0, bytes[k], gpu->stream)));
    }
    BASE_TRY(DEVICE_CHECK(cudaMemcpyAsync(gpu->memory[GPU_ONES].d, ones, sizeof ones,
                                          cudaMemcpyHostToDevice, gpu->stream)));
    return DEVICE_CHECK(cudaStreamSynchronize(gpu->stream));
}

static sundog_status create_parts(md_gpu *gpu)
{
    const md_gpu_options *o = &gpu->options;
    const md_device_box *d_box = GPU_D(gpu, const md_device_box *, GPU_BOX);
    md_unit_lists_options lists = {
        .rlist = o->rlist, .rinner = o->rinner, .tight = o->tight_lists, .d_box = d_box};
    md_units_create(o->topology, &gpu->units);
    BASE_TRY(md_unit_force_create(o->nonbonded, gpu->units, &gpu->force));
    if (o->scheme == MD_SCHEME_SHELL)
        BASE_TRY(md_unit_lists_create(gpu->units, o->topology, &lists, &gpu->lists));
    else
        BASE_TRY(
            md_return_force_create(gpu->force, gpu->units, o->topology, d_box, &gpu->returned));
    BASE_TRY(md_bonded_device_create(o->bonded, o->posres, o->topology, &gpu->bonded));
    BASE_TRY(md_move_create(&o->constrain, &gpu->move));
    BASE_TRY(md_kinetic_create(&gpu->kinetic));
    if (gpu->n_ranks == 1) return SUNDOG_OK;
    BASE_TRY(md_team_sum_create(o->team, sizeof(md_kinetic_sums) / sizeof(double), o->rung,
                                &gpu->kinetic_sum));
    BASE_TRY(md_team_sum_create(o->team, sizeof(md_momentum_sums) / sizeof(double), o->rung,
                                &gpu->momentum_sum));
    return gpu->lists ? md_team_sum_create(o->team, 1, o->rung, &gpu->overflow_sum) : SUNDOG_OK;
}

bool md_gpu_is_built(void)
{
    return true;
}

sundog_status md_gpu_create(const md_gpu_options *options, md_gpu **out)
{
    md_gpu *gpu = base_alloc_zero(sizeof *gpu);
    gpu->options = *options;
    gpu->n_ranks = sundog_team_size(options->team);
    sundog_status status = sundog_team_bind_gpu(options->team, options->gpu);
    if (status == SUNDOG_OK) status = create_streams(gpu);
    if (status == SUNDOG_OK) status = create_constants(gpu);
    if (status == SUNDOG_OK) status = gpu_pieces_create(gpu);
    if (status == SUNDOG_OK) status = create_parts(gpu);
    if (status != SUNDOG_OK) {
        /* Destroying exchanges is collective, and others may not have failed. */
        sundog_team_abort(options->team, sundog_last_error());
        md_gpu_destroy(&gpu);
        return status;
    }
    *out = gpu;
    return SUNDOG_OK;
}

void md_gpu_destroy(md_gpu **handle)
{
    md_gpu *gpu = *handle;
    if (!gpu) return;
    if (gpu->stream) (void)gpu_wait(gpu);
    gpu_pieces_destroy(gpu);
    sundog_exchange_destroy(&gpu->reverse);
    sundog_exchange_destroy(&gpu->forward);
    md_team_sum_destroy(&gpu->overflow_sum);
    md_team_sum_destroy(&gpu->momentum_sum);
    md_team_sum_destroy(&gpu->kinetic_sum);
    md_kinetic_destroy(&gpu->kinetic);
    md_move_jobs_free(&gpu->jobs);
    md_move_destroy(&gpu->move);
    md_bonded_device_destroy(&gpu->bonded);
    md_return_force_destroy(&gpu->returned);
    md_unit_force_destroy(&gpu->force);
    md_unit_lists_destroy(&gpu->lists);
    md_units_destroy(&gpu->units);
    for (int k = 0; k < GPU_N_MEMORY; k++) device_free(&gpu->memory[k]);
    if (gpu->fork) cudaEventDestroy(gpu->fork);
    if (gpu->join) cudaEventDestroy(gpu->join);
    if (gpu->beside && gpu->beside != gpu->stream) cudaStreamDestroy(gpu->beside);
    if (gpu->stream) cudaStreamDestroy(gpu->stream);
    base_free(gpu);
    *handle = NULL;
}

sundog_status gpu_check(md_gpu *gpu)
{
    if (gpu->forward) BASE_TRY(sundog_exchange_check(gpu->forward));
    if (gpu->reverse) BASE_TRY(sundog_exchange_check(gpu->reverse));
    if (gpu->kinetic_sum) BASE_TRY(md_team_sum_check(gpu->kinetic_sum));
    if (gpu->momentum_sum) BASE_TRY(md_team_sum_check(gpu->momentum_sum));
    return gpu->overflow_sum ? md_team_sum_check(gpu->overflow_sum) : SUNDOG_OK;
}

sundog_status gpu_wait(md_gpu *gpu)
{
    if (!gpu->forward) return DEVICE_CHECK(cudaStreamSynchronize(gpu->stream));
    BASE_TRY(sundog_exchange_wait(gpu->forward, gpu->stream));
    return gpu_check(gpu);
}

/* ---- rebuild --------------------------------------------------------------------------------- */

static sundog_status bind_exchanges(md_gpu *gpu, md_domain *domain)
{
    const md_gpu_options *o = &gpu->options;
    sundog_field x = {.rows = gpu->memory[GPU_ROW].d,
                      .type = SUNDOG_INT32,
                      .width = 3,
                      .stride = sizeof(md_device_row)};
    sundog_field f = {.rows = gpu->memory[GPU_F].d,
                      .type = SUNDOG_FLOAT32,
                      .width = 3,
                      .stride = sizeof(float[4])};
    gpu->captures = true;
    if (gpu->n_ranks == 1) return SUNDOG_OK;
    gpu->captures = !o->rung || (strcmp(o->rung, "mpi") != 0 && strcmp(o->rung, "stream") != 0);
    bool returns = o->scheme == MD_SCHEME_RETURN;
    if (gpu->forward) {
        BASE_TRY(sundog_exchange_rebind(gpu->forward, &x, 1));
        return returns ? sundog_exchange_rebind(gpu->reverse, &f, 1) : SUNDOG_OK;
    }
    sundog_exchange_options options = {.struct_size = sizeof options,
                                       .rung = o->rung,
                                       .route = o->route,
                                       .deterministic = o->deterministic,
                                       .memory = SUNDOG_MEMORY_DEVICE};
    sundog_plan *plan = md_domain_plan(domain);
    BASE_TRY(sundog_exchange_create(plan, &x, 1, &options, &gpu->forward));
    if (returns) BASE_TRY(sundog_exchange_create(plan, &f, 1, &options, &gpu->reverse));
    snprintf(gpu->description, sizeof gpu->description, "%s",
             sundog_exchange_describe(gpu->forward));
    return SUNDOG_OK;
}

sundog_status md_gpu_renew(md_gpu *gpu)
{
    md_device_row *row = GPU_D(gpu, md_device_row *, GPU_ROW);
    BASE_TRY(gpu_enqueue_hold(gpu));
    if (gpu->forward)
        BASE_TRY(sundog_forward_on(gpu->forward, gpu->stream));
    else
        BASE_TRY(gpu_renew_rows(gpu->n_groups, GPU_D(gpu, const int *, GPU_GROUPS),
                                GPU_D(gpu, const md_device_box *, GPU_BOX),
                                GPU_D(gpu, double(*)[3], GPU_X), row, gpu->stream));
    BASE_TRY(md_unit_lists_replan(gpu->lists, row, gpu->stream));
    return md_unit_lists_search(gpu->lists, row, gpu->stream);
}

/* While a kernel waits for a peer, no rank may allocate, free or copy from pageable memory: the
 * driver can hold what the peer needs to launch, or wait for the kernel itself. So all begin
 * together, and all have ended before any goes on. */
sundog_status gpu_fetch_ghosts(md_gpu *gpu)
{
    if (!gpu->forward) return SUNDOG_OK;
    BASE_TRY(sundog_team_barrier(gpu->options.team));
    BASE_TRY(sundog_forward_on(gpu->forward, gpu->stream));
    BASE_TRY(gpu_wait(gpu));
    return sundog_team_barrier(gpu->options.team);
}

sundog_status md_gpu_rebuild(md_gpu *gpu, const md_gpu_rows *from)
{
    const md_rows *rows = from->rows;
    const struct md_settle *settle = md_constrain_settle(from->constrain);
    md_unit_frame frame;
    gpu_graphs_drop(gpu);
    BASE_TRY(gpu_atoms_upload(gpu, from));
    BASE_TRY(bind_exchanges(gpu, from->domain));
    BASE_TRY(
        md_move_jobs_build(&gpu->jobs, settle, md_constrain_lincs(from->constrain), rows->n_owned));
    BASE_TRY(md_move_rebuild(gpu->move, &gpu->jobs, settle, gpu->stream));
    int n_wanted = gpu->options.scheme == MD_SCHEME_SHELL ? rows->n_owned : rows->n_rows;
    BASE_TRY(md_bonded_device_rebuild(gpu->bonded, rows, n_wanted, gpu->stream));
    gpu->has_bonded = false;
    for (int kind = 0; kind < MD_N_KINDS; kind++) gpu->has_bonded |= rows->list[kind].n > 0;
    /* Nobody writes them where there are none any more. */
    BASE_TRY(DEVICE_CHECK(cudaMemsetAsync(gpu->memory[GPU_BONDED_SUMS].d, 0, sizeof(md_bonded_sums),
                                          gpu->stream)));
    /* Lists are made from ghosts as their owners have them. */
    BASE_TRY(gpu_fetch_ghosts(gpu));
    md_unit_frame_of_box(from->box, &frame);
    if (gpu->returned) {
        BASE_TRY(md_return_force_rebuild(gpu->returned, rows, &frame, gpu->stream));
    } else {
        md_unit_lists_set_most_units(gpu->lists, from->most_units);
        BASE_TRY(md_unit_lists_rebuild(gpu->lists, rows, &frame,
                                       GPU_D(gpu, const md_device_row *, GPU_ROW), gpu->stream));
        BASE_TRY(md_unit_force_prepare(gpu->force, md_unit_lists_view(gpu->lists)));
    }
    /* As it will be renewed later, so that a restart goes on with the same bits. */
    if (gpu->n_ranks == 1 && gpu->lists) BASE_TRY(md_gpu_renew(gpu));
    BASE_TRY(gpu_wait(gpu));
    /* Nobody waits in a kernel before all have made room. */
    return sundog_team_barrier(gpu->options.team);
}

/* ---- state ----------------------------------------------------------------------------------- */

static sundog_status download_forces(md_gpu *gpu, float (*f)[3])
{
    size_t n = (size_t)gpu->n_owned;
    if (!gpu->forces_whole)
        BASE_TRY(md_bonded_device_gather(gpu->bonded, GPU_D(gpu, float(*)[4], GPU_F), gpu->stream));
    gpu->forces_whole = true;
    float(*whole)[4] = base_alloc((n + 1) * sizeof *whole);
    sundog_status status = DEVICE_CHECK(cudaMemcpyAsync(
        whole, gpu->memory[GPU_F].d, n * sizeof *whole, cudaMemcpyDeviceToHost, gpu->stream));
    if (status == SUNDOG_OK) status = DEVICE_CHECK(cudaStreamSynchronize(gpu->stream));
    for (size_t r = 0; r < n && status == SUNDOG_OK; r++)
        for (int k = 0; k < 3; k++) f[r][k] = whole[r][k];
    base_free(whole);
    return status;
}

sundog_status md_gpu_download(md_gpu *gpu, double (*x)[3], double (*v)[3], float (*f)[3])
{
    size_t n = (size_t)gpu->n_owned * sizeof(double[3]);
    if (x)
        BASE_TRY(DEVICE_CHECK(
            cudaMemcpyAsync(x, gpu->memory[GPU_X].d, n, cudaMemcpyDeviceToHost, gpu->stream)));
    if (v)
        BASE_TRY(DEVICE_CHECK(
            cudaMemcpyAsync(v, gpu->memory[GPU_V].d, n, cudaMemcpyDeviceToHost, gpu->stream)));
    if (f) return download_forces(gpu, f);
    return gpu_wait(gpu);
}

sundog_status md_gpu_thermostat_work(md_gpu *gpu, double *work)
{
    BASE_TRY(DEVICE_CHECK(cudaMemcpyAsync(work, gpu->memory[GPU_WORK].d,
                                          (size_t)gpu->options.n_temperature * sizeof *work,
                                          cudaMemcpyDeviceToHost, gpu->stream)));
    return gpu_wait(gpu);
}

int md_gpu_most_units(const md_gpu *gpu)
{
    return gpu->lists ? md_unit_lists_most_units(gpu->lists) : 0;
}

/* Rows, which are fractions, stay what they are but for the last rounding; they are made again so
 * that they are always those of x. */
sundog_status md_gpu_stretch(md_gpu *gpu, const md_box *box, const double factor[3])
{
    md_device_box device_box;
    double(*x)[3] = GPU_D(gpu, double(*)[3], GPU_X);
    const md_device_box *d_box = GPU_D(gpu, const md_device_box *, GPU_BOX);
    md_device_box_set(box, &device_box);
    BASE_TRY(gpu_stretch(gpu->n_owned, x, GPU_D(gpu, double(*)[3], GPU_V), factor, gpu->stream));
    BASE_TRY(DEVICE_CHECK(cudaMemcpyAsync(gpu->memory[GPU_BOX].d, &device_box, sizeof device_box,
                                          cudaMemcpyHostToDevice, gpu->stream)));
    BASE_TRY(gpu_rows_from_positions(gpu->n_owned, d_box, (const double(*)[3])x,
                                     GPU_D(gpu, md_device_row *, GPU_ROW), gpu->stream));
    return gpu_wait(gpu);
}

const char *md_gpu_describe(const md_gpu *gpu)
{
    return gpu->description;
}
