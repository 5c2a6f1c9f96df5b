/* What one step puts on the stream. */
#include "md/gpu/gpu_impl.h"

static md_move_arrays move_arrays(md_gpu *gpu, bool couple)
{
    return (md_move_arrays){
        .d_x = GPU_D(gpu, double(*)[3], GPU_X),
        .d_v = GPU_D(gpu, double(*)[3], GPU_V),
        .d_f = GPU_D(gpu, const float(*)[4], GPU_F),
        /* Scheme return has added them already, for they go home with the others. */
        .slots = gpu->options.scheme == MD_SCHEME_SHELL ? md_bonded_device_slots(gpu->bonded)
                                                        : (md_force_slots){0},
        .d_inv_mass = GPU_D(gpu, const double *, GPU_INV_MASS),
        .d_group = gpu->options.n_temperature > 1
                       ? GPU_D(gpu, const unsigned char *, GPU_TEMPERATURE_GROUP)
                       : NULL,
        .d_frozen = gpu->options.has_frozen ? GPU_D(gpu, const unsigned char *, GPU_FROZEN) : NULL,
        .d_lambda = GPU_D(gpu, const double *, couple ? GPU_LAMBDA : GPU_ONES),
        .d_box = GPU_D(gpu, const md_device_box *, GPU_BOX),
        .d_row = GPU_D(gpu, md_device_row *, GPU_ROW)};
}

/* Factors of this step from the kinetic energy of the whole team. */
static sundog_status thermostat(md_gpu *gpu, int event)
{
    const md_kinetic_sums *sums = GPU_D(gpu, const md_kinetic_sums *, GPU_KINETIC_OLD);
    const double(*noise)[2] = GPU_D(gpu, const double(*)[2], GPU_NOISE);
    if (gpu->n_ranks > 1)
        BASE_TRY(md_team_sum_on(gpu->kinetic_sum, (const double *)sums, (const double **)&sums,
                                gpu->stream));
    return md_thermostat_launch(
        &gpu->options.thermostat, sums, noise + event * gpu->options.n_temperature,
        GPU_D(gpu, double *, GPU_LAMBDA), GPU_D(gpu, double *, GPU_WORK), gpu->stream);
}

static sundog_status stand_still(md_gpu *gpu)
{
    md_velocities v = gpu_velocities(gpu);
    md_momentum_sums *mine = GPU_D(gpu, md_momentum_sums *, GPU_MOMENTUM);
    const md_momentum_sums *sums = mine;
    BASE_TRY(md_momentum_launch(gpu->kinetic, &v, mine, gpu->stream));
    if (gpu->n_ranks > 1)
        BASE_TRY(md_team_sum_on(gpu->momentum_sum, (const double *)sums, (const double **)&sums,
                                gpu->stream));
    return md_remove_drift_launch(&v, sums, gpu->stream);
}

static sundog_status report(md_gpu *gpu)
{
    gpu_report_from from = {.pair = GPU_D(gpu, const double *, GPU_PAIR_SUMS),
                            .bonded = GPU_D(gpu, const md_bonded_sums *, GPU_BONDED_SUMS),
                            .move = GPU_D(gpu, const md_move_sums *, GPU_MOVE_SUMS),
                            .kinetic_old = GPU_D(gpu, const md_kinetic_sums *, GPU_KINETIC_OLD),
                            .kinetic_new = GPU_D(gpu, const md_kinetic_sums *, GPU_KINETIC_NEW),
                            .work = GPU_D(gpu, const double *, GPU_WORK),
                            .n_temperature = gpu->options.n_temperature,
                            .counts = GPU_D(gpu, gpu_counts *, GPU_COUNTS),
                            .board = gpu->board};
    return gpu_report_sums(&from, gpu->stream);
}

sundog_status gpu_enqueue_move(md_gpu *gpu, bool couple, bool sums, bool early)
{
    md_move_arrays arrays = move_arrays(gpu, couple);
    arrays.early = early && !gpu->forward && gpu->lists;
    return md_move_launch(gpu->move, &arrays, gpu->options.params->dt,
                          sums ? GPU_D(gpu, md_move_sums *, GPU_MOVE_SUMS) : NULL, gpu->stream);
}

sundog_status gpu_enqueue_step(md_gpu *gpu, unsigned what, int *event)
{
    bool sums = what & MD_GPU_SUMS, couple = what & MD_GPU_THERMOSTAT;
    md_velocities v = gpu_velocities(gpu);
    bool lists = what & (MD_GPU_SEARCH | MD_GPU_FILTER);
    if (lists) BASE_TRY(gpu_enqueue_lists(gpu, what));
    BASE_TRY(gpu_enqueue_forces(gpu, sums, lists));
    if (sums || couple)
        BASE_TRY(md_kinetic_launch(gpu->kinetic, &v, GPU_D(gpu, md_kinetic_sums *, GPU_KINETIC_OLD),
                                   gpu->stream));
    if (couple) BASE_TRY(thermostat(gpu, (*event)++));
    BASE_TRY(gpu_enqueue_move(gpu, couple, sums, true));
    if (sums) {
        BASE_TRY(md_kinetic_launch(gpu->kinetic, &v, GPU_D(gpu, md_kinetic_sums *, GPU_KINETIC_NEW),
                                   gpu->stream));
        BASE_TRY(report(gpu));
    }
    if (what & MD_GPU_STILL) BASE_TRY(stand_still(gpu));
    return SUNDOG_OK;
}
