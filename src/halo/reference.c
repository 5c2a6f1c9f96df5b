/* The reference rung: slow, obvious, the oracle of all others.
 *
 * Straight from the plan as the caller gave it, without messages, runs or signals; all ranks move
 * together through barriers, and the rank that gains the rows does the work.
 *
 * Forward staged, for p = 0, 1, ...:         ghost(p)[k] = x at from_rank (p) of row index(p)[k]
 * Forward direct, for all ghosts:            ghost = x of its owner, shift after shift
 * Reverse staged, for p = last, ..., 0:      x[index(p)[k]] += ghost(p)[k] of to_rank, k rising
 * Reverse direct, for rank 0, 1, ...:        x[row] += the rank's ghosts of it, ghosts rising
 *
 * These are the serial orders that deterministic reverses of the other rungs repeat bit by bit. The
 * two routes sum in different orders, so they differ by rounding.
 */
#include "halo/fabric/fabric.h"

static sundog_status do_nothing(sundog_exchange *exchange)
{
    (void)exchange;
    return SUNDOG_OK;
}

static void forward_pulse(sundog_exchange *exchange, int p)
{
    const halo_pulse *mine = &exchange->plan->pulse[p];
    const sundog_exchange *from = exchange->peer[mine->from_rank];
    const halo_pulse *theirs = &from->plan->pulse[p];
    halo_rows src = {from->plan->index + theirs->index, 0}, dst = {NULL, mine->first_ghost};
    for (int f = 0; f < exchange->n_fields; f++)
        halo_copy(&from->field[f], src, &exchange->field[f], dst, mine->n_recv,
                  (const double (*)[3])theirs->shift, theirs->n_shifts);
}

static void forward_all_direct(sundog_exchange *exchange)
{
    const sundog_plan *plan = exchange->plan;
    for (sundog_idx g = plan->n_owned; g < plan->n_rows; g++) {
        const sundog_exchange *owner = exchange->peer[plan->owner_rank[g]];
        size_t first = plan->path_first[plan->path[g]];
        int n_shifts = (int)(plan->path_first[plan->path[g] + 1] - first);
        for (int f = 0; f < exchange->n_fields; f++)
            halo_copy(&owner->field[f], (halo_rows){NULL, plan->owner_row[g]},
                      &exchange->field[f], (halo_rows){NULL, g}, 1,
                      (const double (*)[3])plan->path_shift + first, n_shifts);
    }
}

static void reverse_pulse(sundog_exchange *exchange, int p)
{
    const halo_pulse *mine = &exchange->plan->pulse[p];
    const sundog_exchange *to = exchange->peer[mine->to_rank];
    halo_rows dst = {exchange->plan->index + mine->index, 0}, src = {NULL, mine->first_at_peer};
    for (int f = 0; f < exchange->n_fields; f++)
        if (halo_is_float(&exchange->field[f]))
            halo_add(&exchange->field[f], dst, &to->field[f], src, mine->n_send);
}

static void reverse_all_direct(sundog_exchange *exchange)
{
    for (int r = 0; r < exchange->team->shared->n_ranks; r++) {
        const sundog_exchange *from = exchange->peer[r];
        const sundog_plan *plan = from->plan;
        for (sundog_idx g = plan->n_owned; g < plan->n_rows; g++) {
            if (plan->owner_rank[g] != exchange->team->rank) continue;
            for (int f = 0; f < exchange->n_fields; f++)
                if (halo_is_float(&exchange->field[f]))
                    halo_add(&exchange->field[f], (halo_rows){NULL, plan->owner_row[g]},
                             &from->field[f], (halo_rows){NULL, g}, 1);
        }
    }
}

/* All ranks ready; one step; no barrier after it. */
static sundog_status step_pulse(sundog_exchange *exchange,
                                void (*step)(sundog_exchange *, int), int p)
{
    BASE_TRY(sundog_team_barrier(exchange->team));
    BASE_TRY(team_enter(exchange->team));
    step(exchange, p);
    team_leave(exchange->team);
    return SUNDOG_OK;
}

static sundog_status step_all(sundog_exchange *exchange, void (*step)(sundog_exchange *))
{
    BASE_TRY(sundog_team_barrier(exchange->team));
    BASE_TRY(team_enter(exchange->team));
    step(exchange);
    team_leave(exchange->team);
    return SUNDOG_OK;
}

static sundog_status forward_end(sundog_exchange *exchange)
{
    if (exchange->route == SUNDOG_ROUTE_DIRECT)
        BASE_TRY(step_all(exchange, forward_all_direct));
    else
        for (int p = 0; p < exchange->plan->n_pulses; p++)
            BASE_TRY(step_pulse(exchange, forward_pulse, p));
    return sundog_team_barrier(exchange->team);
}

static sundog_status reverse_end(sundog_exchange *exchange)
{
    if (exchange->route == SUNDOG_ROUTE_DIRECT)
        BASE_TRY(step_all(exchange, reverse_all_direct));
    else
        for (int p = exchange->plan->n_pulses - 1; p >= 0; p--)
            BASE_TRY(step_pulse(exchange, reverse_pulse, p));
    return sundog_team_barrier(exchange->team);
}

const halo_rung halo_reference = {
    "reference", "threads", HALO_CAP_STAGED | HALO_CAP_DIRECT,
    do_nothing, forward_end, do_nothing, reverse_end, NULL, NULL, NULL};
