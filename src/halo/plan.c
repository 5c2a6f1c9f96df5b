/* Building a plan: create, reset, add pulses, fetch, commit.
 *
 * All steps are collective, and every rank sees what every rank brought; so a fault at one rank is
 * the same error with the same text at all of them, and nobody waits for a rank that has left.
 * Ranks may be in other processes: what one needs of another comes as mail.
 * Arrays only grow: a plan that is reset and rebuilt at the same size allocates nothing.
 */
#include "halo/plan.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

sundog_status halo_reserve(void *array_of_pointer, size_t *capacity, size_t needed,
                           size_t n_bytes_element)
{
    if (needed <= *capacity && *capacity > 0) return SUNDOG_OK;
    size_t grown = *capacity + *capacity / 2;
    if (grown < needed) grown = needed;
    if (grown < 16) grown = 16;
    void *old, *fresh = NULL;
    if (grown <= SIZE_MAX / n_bytes_element) fresh = base_try_alloc(grown * n_bytes_element);
    if (!fresh)
        return base_fail(SUNDOG_ERR_MEMORY, "no memory for %zu elements of %zu bytes", grown,
                         n_bytes_element);
    memcpy(&old, array_of_pointer, sizeof old);
    if (old) memcpy(fresh, old, *capacity * n_bytes_element);
    base_free(old);
    memcpy(array_of_pointer, &fresh, sizeof fresh);
    *capacity = grown;
    return SUNDOG_OK;
}

/* ---- mail ------------------------------------------------------------------------------------ */

sundog_status halo_mail_room(halo_mail *mail, size_t n_bytes, char **room)
{
    size_t n_whole = (n_bytes + 7) / 8 * 8;
    BASE_TRY(HALO_RESERVE(mail->bytes, mail->capacity, mail->n + n_whole + 8));
    *room = mail->bytes + mail->n;
    memset(*room + n_bytes, 0, n_whole - n_bytes);
    mail->n += n_whole;
    return SUNDOG_OK;
}

sundog_status halo_mail_put(halo_mail *mail, const void *bytes, size_t n_bytes)
{
    char *room;
    BASE_TRY(halo_mail_room(mail, n_bytes, &room));
    if (n_bytes > 0) memcpy(room, bytes, n_bytes);
    return SUNDOG_OK;
}

const void *halo_mail_take(const halo_mail *mail, size_t *at, size_t n_bytes)
{
    if (*at > mail->n || n_bytes > mail->n - *at) return NULL;
    const void *bytes = mail->bytes + *at;
    *at += (n_bytes + 7) / 8 * 8;
    return bytes;
}

sundog_status halo_mail_pass(sundog_plan *plan, int to, int from)
{
    return team_pass(plan->team, to, plan->out.bytes, plan->out.n, from, &plan->in.bytes,
                     &plan->in.n, &plan->in.capacity);
}

sundog_status halo_mail_swap(sundog_plan *plan, const size_t **come)
{
    size_t *offset = plan->offset, *in = offset + plan->team->shared->n_ranks + 1;
    BASE_TRY(sundog_team_alltoall_sizes(plan->team, offset, in));
    plan->in.n = in[plan->team->shared->n_ranks];
    sundog_status room = HALO_RESERVE(plan->in.bytes, plan->in.capacity, plan->in.n);
    BASE_TRY(team_agree(plan->team, room));
    *come = in;
    return sundog_team_alltoall(plan->team, plan->out.bytes, offset, plan->in.bytes, in);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void plan_free(sundog_plan *plan)
{
    if (!plan) return;
    for (int i = 0; i < 2; i++) {
        halo_route *route = &plan->route[i];
        base_free(route->send);
        base_free(route->recv);
        base_free(route->run);
        base_free(route->list);
        base_free(route->shift);
        base_free(route->send_list);
    }
    base_free(plan->count);
    base_free(plan->known);
    base_free(plan->out.bytes);
    base_free(plan->in.bytes);
    base_free(plan->offset);
    base_free(plan->path_shift);
    base_free(plan->path_first);
    base_free(plan->path);
    base_free(plan->owner_row);
    base_free(plan->owner_rank);
    base_free(plan->index);
    base_free(plan->pulse);
    base_free(plan->offer);
    base_free(plan);
}

static sundog_status plan_alloc(sundog_team *team, sundog_idx n_owned, sundog_plan **out)
{
    if (n_owned < 0)
        return base_fail(SUNDOG_ERR_ARGUMENT, "rank %d: n_owned is %d, must not be negative",
                         team->rank, n_owned);
    sundog_plan *plan = base_try_alloc(sizeof *plan);
    if (!plan) return base_fail(SUNDOG_ERR_MEMORY, "no memory for a plan");
    *plan = (sundog_plan){.team = team, .n_owned = n_owned, .n_rows = n_owned};
    size_t n_ranks = (size_t)team->shared->n_ranks;
    plan->offset = base_try_alloc(2 * (n_ranks + 1) * sizeof *plan->offset);
    plan->offer = base_try_alloc(n_ranks * sizeof *plan->offer);
    if (!plan->offset || !plan->offer) {
        plan_free(plan);
        return base_fail(SUNDOG_ERR_MEMORY, "no memory for a plan");
    }
    *out = plan;
    return SUNDOG_OK;
}

sundog_status sundog_plan_create(sundog_team *team, sundog_idx n_owned, sundog_plan **out)
{
    if (!team || !out) return base_fail(SUNDOG_ERR_ARGUMENT, "plan_create: a pointer is NULL");
    sundog_plan *plan = NULL;
    sundog_status status = team_agree(team, plan_alloc(team, n_owned, &plan));
    if (status != SUNDOG_OK) {
        plan_free(plan);
        return status;
    }
    *out = plan;
    return SUNDOG_OK;
}

void sundog_plan_destroy(sundog_plan **plan)
{
    if (!plan || !*plan) return;
    /* A rung may read shifts in a peer's plan until all are here. */
    (void)sundog_team_barrier((*plan)->team);
    plan_free(*plan);
    *plan = NULL;
}

sundog_status sundog_plan_reset(sundog_plan *plan, sundog_idx n_owned)
{
    if (!plan) return base_fail(SUNDOG_ERR_ARGUMENT, "plan_reset: plan is NULL");
    sundog_status mine = SUNDOG_OK;
    if (n_owned < 0)
        mine = base_fail(SUNDOG_ERR_ARGUMENT, "rank %d: n_owned is %d, must not be negative",
                         plan->team->rank, n_owned);
    BASE_TRY(team_agree(plan->team, mine));     /* and nobody reads the old pulses any more */
    plan->n_owned = plan->n_rows = n_owned;
    plan->n_pulses = 0;
    plan->n_index = 0;
    plan->committed = false;
    plan->route[0].built = plan->route[1].built = false;
    return SUNDOG_OK;
}

/* ---- adding a pulse -------------------------------------------------------------------------- */

/* Show my offer, with the text of my failure if I have one; all return the first failure. */
static sundog_status exchange_offers(sundog_plan *plan, const char *call, halo_offer *mine)
{
    if (mine->status != SUNDOG_OK)
        snprintf(mine->text, sizeof mine->text, "%s", sundog_last_error());
    BASE_TRY(team_gather_small(plan->team, call, mine, sizeof *mine, plan->offer));
    for (int r = 0; r < plan->team->shared->n_ranks; r++)
        if (plan->offer[r].status != SUNDOG_OK)
            return base_fail(plan->offer[r].status, "%s", plan->offer[r].text);
    return SUNDOG_OK;
}

static sundog_status check_own_end(const sundog_plan *plan, const sundog_pulse *pulse)
{
    int me = plan->team->rank, n_ranks = plan->team->shared->n_ranks, p = plan->n_pulses;
    if (plan->committed)
        return base_fail(SUNDOG_ERR_ARGUMENT, "rank %d: the plan is committed; reset it first", me);
    if (pulse->to_rank < 0 || pulse->to_rank >= n_ranks || pulse->from_rank < 0 ||
        pulse->from_rank >= n_ranks)
        return base_fail(SUNDOG_ERR_PLAN, "rank %d, pulse %d: to_rank %d, from_rank %d: the team "
                         "has ranks 0 to %d", me, p, pulse->to_rank, pulse->from_rank, n_ranks - 1);
    if (pulse->n_send < 0 || (pulse->n_send > 0 && !pulse->index))
        return base_fail(SUNDOG_ERR_PLAN, "rank %d, pulse %d: n_send is %d, index is %s", me, p,
                         pulse->n_send, pulse->index ? "given" : "NULL");
    for (int axis = 0; axis < 3; axis++)
        if (!isfinite(pulse->shift[axis]))
            return base_fail(SUNDOG_ERR_PLAN, "rank %d, pulse %d: shift[%d] is %g", me, p, axis,
                             pulse->shift[axis]);
    for (sundog_idx k = 0; k < pulse->n_send; k++) {
        sundog_idx row = pulse->index[k];
        if (row >= 0 && row < plan->n_rows) continue;
        return base_fail(SUNDOG_ERR_PLAN, "rank %d, pulse %d: index[%d] names row %d, which is %s; "
                         "rows 0 to %d exist before this pulse", me, p, k, row,
                         row < 0 ? "negative" : "its own ghost or none at all", plan->n_rows - 1);
    }
    return SUNDOG_OK;
}

/* All ranks look at all ends, so all find the same first fault. */
static sundog_status check_all_ends(const halo_offer *offer, int n_ranks)
{
    for (int r = 0; r < n_ranks; r++) {
        const halo_offer *o = &offer[r];
        int p = offer[0].n_pulses;
        if (o->n_pulses != p)
            return base_fail(SUNDOG_ERR_PLAN, "rank %d adds pulse %d while rank 0 adds pulse %d", r,
                             o->n_pulses, p);
        if (offer[o->to_rank].from_rank != r)
            return base_fail(SUNDOG_ERR_PLAN, "rank %d, pulse %d: sends to rank %d, which expects "
                             "rank %d", r, p, o->to_rank, offer[o->to_rank].from_rank);
        if (offer[o->from_rank].to_rank != r)
            return base_fail(SUNDOG_ERR_PLAN, "rank %d, pulse %d: expects rank %d, which sends to "
                             "rank %d", r, p, o->from_rank, offer[o->from_rank].to_rank);
        if (offer[o->from_rank].n_send > INT32_MAX - o->n_rows)
            return base_fail(SUNDOG_ERR_PLAN, "rank %d, pulse %d: %d rows and %d ghosts more are "
                             "too many for 32-bit rows", r, p, o->n_rows,
                             offer[o->from_rank].n_send);
    }
    return SUNDOG_OK;
}

static sundog_status make_room(sundog_plan *plan, const sundog_pulse *pulse)
{
    BASE_TRY(HALO_RESERVE(plan->pulse, plan->capacity_pulse, plan->n_pulses + 1));
    return HALO_RESERVE(plan->index, plan->capacity_index,
                        plan->n_index + (size_t)pulse->n_send);
}

static void append(sundog_plan *plan, const sundog_pulse *pulse, const halo_offer *offer)
{
    halo_pulse *mine = &plan->pulse[plan->n_pulses];
    *mine = (halo_pulse){
        .to_rank = pulse->to_rank,
        .from_rank = pulse->from_rank,
        .n_send = pulse->n_send,
        .n_recv = offer[pulse->from_rank].n_send,
        .first_ghost = plan->n_rows,
        .first_at_peer = offer[pulse->to_rank].n_rows,
        .index = plan->n_index,
    };
    for (int axis = 0; axis < 3; axis++) {
        bool shifts = pulse->shift[axis] != 0;
        mine->shift[0][axis] = shifts ? pulse->shift[axis] : -0.0;
        if (shifts) mine->n_shifts = 1;
    }
    if (pulse->n_send > 0)
        memcpy(plan->index + plan->n_index, pulse->index,
               (size_t)pulse->n_send * sizeof *plan->index);
    plan->n_index += (size_t)pulse->n_send;
    plan->n_rows += mine->n_recv;
    plan->n_pulses++;
}

sundog_status sundog_plan_add_pulse(sundog_plan *plan, const sundog_pulse *pulse,
                                    sundog_idx *first_ghost, sundog_idx *n_ghost)
{
    if (!plan || !pulse) return base_fail(SUNDOG_ERR_ARGUMENT, "plan_add_pulse: a pointer is NULL");
    halo_offer mine = {.to_rank = pulse->to_rank, .from_rank = pulse->from_rank,
                        .n_pulses = plan->n_pulses, .n_send = pulse->n_send,
                        .n_rows = plan->n_rows};
    mine.status = check_own_end(plan, pulse);
    if (mine.status == SUNDOG_OK) mine.status = make_room(plan, pulse);
    BASE_TRY(exchange_offers(plan, "plan_add_pulse", &mine));
    BASE_TRY(check_all_ends(plan->offer, plan->team->shared->n_ranks));
    append(plan, pulse, plan->offer);
    const halo_pulse *added = &plan->pulse[plan->n_pulses - 1];
    if (first_ghost) *first_ghost = added->first_ghost;
    if (n_ghost) *n_ghost = added->n_recv;
    return SUNDOG_OK;
}

/* ---- fetch ----------------------------------------------------------------------------------- */

static sundog_status fetch_check(const sundog_plan *plan, int pulse, const sundog_field *fields,
                                 int n_fields, halo_field *field)
{
    if (plan->committed)
        return base_fail(SUNDOG_ERR_ARGUMENT, "rank %d: fetch works on an uncommitted plan",
                         plan->team->rank);
    if (pulse < 0 || pulse >= plan->n_pulses)
        return base_fail(SUNDOG_ERR_ARGUMENT, "rank %d: fetch of pulse %d, the plan has %d",
                         plan->team->rank, pulse, plan->n_pulses);
    return halo_fields_set(fields, n_fields, field);
}

/* Rows of the pulse as its sender has them, shifted, behind what describes them. */
static sundog_status fetch_write(sundog_plan *plan, int p, const halo_field *field, int n_fields)
{
    const halo_pulse *mine = &plan->pulse[p];
    plan->out.n = 0;
    BASE_TRY(halo_mail_put(&plan->out, field, (size_t)n_fields * sizeof *field));
    for (int f = 0; f < n_fields; f++) {
        char *room;
        BASE_TRY(halo_mail_room(&plan->out, (size_t)mine->n_send * field[f].row_bytes, &room));
        halo_field packed = halo_packed(&field[f], room);
        halo_copy(&field[f], (halo_rows){plan->index + mine->index, 0}, &packed,
                  (halo_rows){NULL, 0}, mine->n_send, (const double (*)[3])mine->shift,
                  mine->n_shifts);
    }
    return SUNDOG_OK;
}

static sundog_status fetch_read(const sundog_plan *plan, int p, const halo_field *field,
                                int n_fields)
{
    const halo_pulse *mine = &plan->pulse[p];
    size_t at = 0;
    const halo_field *theirs =
        halo_mail_take(&plan->in, &at, (size_t)n_fields * sizeof *theirs);
    if (!theirs || !halo_fields_match(field, theirs, n_fields))
        return base_fail(SUNDOG_ERR_ARGUMENT, "fetch: rank %d and rank %d pass fields of different "
                         "types or strides", plan->team->rank, mine->from_rank);
    for (int f = 0; f < n_fields; f++) {
        const void *rows =
            halo_mail_take(&plan->in, &at, (size_t)mine->n_recv * field[f].row_bytes);
        char *from;                             /* read only */
        memcpy(&from, &rows, sizeof from);
        halo_field packed = halo_packed(&field[f], from);
        halo_copy(&packed, (halo_rows){NULL, 0}, &field[f], (halo_rows){NULL, mine->first_ghost},
                  mine->n_recv, NULL, 0);
    }
    return SUNDOG_OK;
}

static sundog_status fetch_compare(const sundog_plan *plan, int p)
{
    int me = plan->team->rank, from = plan->pulse[p].from_rank;
    const halo_offer *mine = &plan->offer[me], *offer = &plan->offer[from];
    if (offer->n_pulses == p && offer->n_fields == mine->n_fields) return SUNDOG_OK;
    return base_fail(SUNDOG_ERR_ARGUMENT, "fetch: rank %d moves %d fields of pulse %d, rank %d %d "
                     "fields of pulse %d", me, mine->n_fields, p, from, offer->n_fields,
                     offer->n_pulses);
}

sundog_status sundog_plan_fetch(sundog_plan *plan, int pulse, const sundog_field *fields,
                                int n_fields)
{
    if (!plan) return base_fail(SUNDOG_ERR_ARGUMENT, "plan_fetch: plan is NULL");
    halo_field field[HALO_MAX_FIELDS];
    halo_offer mine = {.n_pulses = pulse, .n_fields = n_fields};
    mine.status = fetch_check(plan, pulse, fields, n_fields, field);
    if (mine.status == SUNDOG_OK) mine.status = fetch_write(plan, pulse, field, n_fields);
    BASE_TRY(exchange_offers(plan, "plan_fetch", &mine));
    BASE_TRY(team_agree(plan->team, fetch_compare(plan, pulse)));
    BASE_TRY(halo_mail_pass(plan, plan->pulse[pulse].to_rank, plan->pulse[pulse].from_rank));
    return team_agree(plan->team, fetch_read(plan, pulse, field, n_fields));
}

/* ---- commit ---------------------------------------------------------------------------------- */

sundog_status sundog_plan_commit(sundog_plan *plan)
{
    if (!plan) return base_fail(SUNDOG_ERR_ARGUMENT, "plan_commit: plan is NULL");
    halo_offer mine = {.n_pulses = plan->n_pulses};
    if (plan->committed)
        mine.status = base_fail(SUNDOG_ERR_ARGUMENT, "rank %d: the plan is committed already",
                                plan->team->rank);
    BASE_TRY(exchange_offers(plan, "plan_commit", &mine));
    for (int r = 0; r < plan->team->shared->n_ranks; r++)
        if (plan->offer[r].n_pulses != plan->offer[0].n_pulses)
            return base_fail(SUNDOG_ERR_PLAN, "rank %d commits %d pulses, rank 0 %d", r,
                             plan->offer[r].n_pulses, plan->offer[0].n_pulses);
    BASE_TRY(halo_trace_owners(plan));
    BASE_TRY(halo_build_staged(plan));
    plan->committed = true;
    plan->n_commits++;
    return SUNDOG_OK;
}

/* ---- stretch --------------------------------------------------------------------------------- */

static void stretch_shifts(double (*shift)[3], size_t n, const double factor[3])
{
    for (size_t i = 0; i < n; i++)
        for (int axis = 0; axis < 3; axis++) shift[i][axis] *= factor[axis];
}

static sundog_status stretch_check(const sundog_plan *plan, const double factor[3])
{
    if (!plan->committed)
        return base_fail(SUNDOG_ERR_ARGUMENT, "rank %d: plan_stretch: the plan is not committed",
                         plan->team->rank);
    for (int axis = 0; axis < 3; axis++)
        if (!(factor[axis] > 0) || !isfinite(factor[axis]))
            return base_fail(SUNDOG_ERR_ARGUMENT, "rank %d: plan_stretch: factor[%d] is %g, must "
                             "be positive", plan->team->rank, axis, factor[axis]);
    return SUNDOG_OK;
}

sundog_status sundog_plan_stretch(sundog_plan *plan, const double factor[3])
{
    if (!plan || !factor)
        return base_fail(SUNDOG_ERR_ARGUMENT, "plan_stretch: a pointer is NULL");
    /* A rung may read shifts in its peer's plan: all must be out of the exchange before they
     * change, and all changed before the next one. */
    BASE_TRY(team_agree(plan->team, stretch_check(plan, factor)));
    for (int p = 0; p < plan->n_pulses; p++) stretch_shifts(plan->pulse[p].shift, 1, factor);
    stretch_shifts(plan->path_shift, plan->path_first[plan->n_paths], factor);
    for (int i = 0; i < 2; i++)
        if (plan->route[i].built)
            stretch_shifts(plan->route[i].shift, plan->route[i].n_shift, factor);
    plan->n_stretches++;
    return team_agree(plan->team, SUNDOG_OK);
}

int sundog_plan_n_pulses(const sundog_plan *plan)
{
    return plan->n_pulses;
}
sundog_idx sundog_plan_n_owned(const sundog_plan *plan)
{
    return plan->n_owned;
}
sundog_idx sundog_plan_n_rows(const sundog_plan *plan)
{
    return plan->n_rows;
}

sundog_status sundog_plan_owners(const sundog_plan *plan, int *rank, sundog_idx *row)
{
    if (!plan->committed) return base_fail(SUNDOG_ERR_ARGUMENT, "owners of an uncommitted plan");
    if (plan->n_rows > 0) {
        memcpy(rank, plan->owner_rank, (size_t)plan->n_rows * sizeof *rank);
        memcpy(row, plan->owner_row, (size_t)plan->n_rows * sizeof *row);
    }
    return SUNDOG_OK;
}
