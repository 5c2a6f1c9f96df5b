/* Where every row comes from: the pulses of a plan, composed.
 *
 *   owner(row) = (this rank, row)                               owned rows
 *   owner(first_ghost(p) + k) = owner at from_rank(p) of index(p)[k]
 *
 * taken pulse by pulse, a barrier between, since a pulse may send what an earlier one brought. The
 * shifts on the way are kept as a sequence, not as a sum: the staged route rounds after every hop,
 * and the direct route must give the same bits. Sequences are few (one for every way over the
 * box's borders), so rows hold a number and the sequences a table.
 */
#include "halo/plan.h"

#include <string.h>

/* Number of the sequence `path` of the sender's table (copied to from_first, from_shift), with the
 * pulse's own shift behind it, in this plan's table; appended if it is new. */
static sundog_status path_intern(sundog_plan *plan, int path, const halo_pulse *pulse, int *out)
{
    size_t n_before = plan->from_first[path + 1] - plan->from_first[path];
    size_t n = n_before + (size_t)pulse->n_shifts, first = plan->path_first[plan->n_paths];
    BASE_TRY(HALO_RESERVE(plan->path_shift, plan->capacity_path_shift, first + n + 1));
    double (*fresh)[3] = plan->path_shift + first;
    if (n_before > 0)
        memcpy(fresh, plan->from_shift + plan->from_first[path], n_before * sizeof *fresh);
    if (pulse->n_shifts > 0) memcpy(fresh + n_before, pulse->shift, sizeof *fresh);
    for (int i = 0; i < plan->n_paths; i++) {
        if (plan->path_first[i + 1] - plan->path_first[i] != n) continue;
        if (n > 0 && memcmp(plan->path_shift + plan->path_first[i], fresh, n * sizeof *fresh) != 0)
            continue;
        *out = i;
        return SUNDOG_OK;
    }
    BASE_TRY(HALO_RESERVE(plan->path_first, plan->capacity_path_first, plan->n_paths + 2));
    *out = plan->n_paths++;
    plan->path_first[plan->n_paths] = first + n;
    return SUNDOG_OK;
}

static sundog_status start_table(sundog_plan *plan)
{
    BASE_TRY(HALO_RESERVE(plan->owner_rank, plan->capacity_owner_rank, plan->n_rows));
    BASE_TRY(HALO_RESERVE(plan->owner_row, plan->capacity_owner_row, plan->n_rows));
    BASE_TRY(HALO_RESERVE(plan->path, plan->capacity_path, plan->n_rows));
    BASE_TRY(HALO_RESERVE(plan->path_first, plan->capacity_path_first, 2));
    for (sundog_idx row = 0; row < plan->n_owned; row++) {
        plan->owner_rank[row] = plan->team->rank;
        plan->owner_row[row] = row;
        plan->path[row] = 0;
    }
    plan->n_paths = 1;
    plan->path_first[0] = plan->path_first[1] = 0;
    return SUNDOG_OK;
}

/* The sender's table as it is before this pulse; afterwards all tables may grow. */
static sundog_status copy_table(sundog_plan *plan, int p)
{
    const sundog_plan *from = plan->peer[plan->pulse[p].from_rank];
    size_t n_first = (size_t)from->n_paths + 1, n_shift = from->path_first[from->n_paths];
    plan->n_from = from->n_paths;
    BASE_TRY(HALO_RESERVE(plan->from_first, plan->capacity_from_first, n_first));
    BASE_TRY(HALO_RESERVE(plan->from_shift, plan->capacity_from_shift, n_shift));
    BASE_TRY(HALO_RESERVE(plan->known, plan->capacity_known, plan->n_from));
    memcpy(plan->from_first, from->path_first, n_first * sizeof *plan->from_first);
    if (n_shift > 0) memcpy(plan->from_shift, from->path_shift, n_shift * sizeof *plan->from_shift);
    for (int i = 0; i < plan->n_from; i++) plan->known[i] = -1;
    return SUNDOG_OK;
}

static sundog_status trace_pulse(sundog_plan *plan, int p)
{
    const halo_pulse *mine = &plan->pulse[p];
    const sundog_plan *from = plan->peer[mine->from_rank];
    const halo_pulse *theirs = &from->pulse[p];
    for (sundog_idx k = 0; k < mine->n_recv; k++) {
        sundog_idx there = from->index[theirs->index + (size_t)k], here = mine->first_ghost + k;
        int path = from->path[there];
        if (plan->known[path] < 0) BASE_TRY(path_intern(plan, path, theirs, &plan->known[path]));
        plan->owner_rank[here] = from->owner_rank[there];
        plan->owner_row[here] = from->owner_row[there];
        plan->path[here] = plan->known[path];
    }
    return SUNDOG_OK;
}

/* Run one step in peers' memory and agree on how it went. */
static sundog_status together(sundog_plan *plan, sundog_status (*step)(sundog_plan *, int), int p)
{
    BASE_TRY(team_enter(plan->team));
    sundog_status status = step(plan, p);
    team_leave(plan->team);
    return team_agree(plan->team, status);
}

sundog_status halo_trace_owners(sundog_plan *plan)
{
    BASE_TRY(team_agree(plan->team, start_table(plan)));
    for (int p = 0; p < plan->n_pulses; p++) {
        BASE_TRY(together(plan, copy_table, p));
        BASE_TRY(together(plan, trace_pulse, p));
    }
    return SUNDOG_OK;
}
