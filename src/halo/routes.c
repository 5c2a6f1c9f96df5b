/* The two routes of a plan, as messages (plan.h).
 *
 * Staged: a message is a pulse. Its rows are sorted into runs by the pulse that brings them, owned
 * rows first; inside a run the caller's order stays, and every row carries its place at the
 * receiver, so the receiver sees the order that the caller gave. A pulse that was given in order of
 * source, as domain decompositions do, needs no lists of places: its runs are contiguous there.
 *
 * Direct: a message is everything that one rank owns and another mirrors. The receiver lists its
 * ghosts by owner and writes to each owner which of its rows they are; the owner sorts them into
 * runs of equal shifts. In reverse the rows travel in the order of the ghosts, whatever the runs.
 */
#include "halo/plan.h"

#include <string.h>

/* Forget the old messages; room for n new ones and n_list rows in lists. */
static sundog_status route_start(halo_route *route, int n_messages, size_t n_list)
{
    BASE_TRY(HALO_RESERVE(route->send, route->capacity_send, n_messages));
    BASE_TRY(HALO_RESERVE(route->recv, route->capacity_recv, n_messages));
    BASE_TRY(HALO_RESERVE(route->list, route->capacity_list, n_list));
    route->n_messages = n_messages;
    route->n_runs = route->n_list = route->n_shift = 0;
    return SUNDOG_OK;
}

static sundog_status add_run(halo_route *route, halo_send *send, const halo_run *run)
{
    BASE_TRY(HALO_RESERVE(route->run, route->capacity_run, route->n_runs + 1));
    route->run[route->n_runs++] = *run;
    send->n_runs++;
    return SUNDOG_OK;
}

static bool is_contiguous(const sundog_idx *list, sundog_idx n)
{
    for (sundog_idx k = 1; k < n; k++)
        if (list[k] != list[0] + k) return false;
    return true;
}

/* A list, or a range if it is one. */
static halo_rows rows_of(const sundog_idx *list, sundog_idx n)
{
    if (n > 0 && is_contiguous(list, n)) return (halo_rows){NULL, list[0]};
    return (halo_rows){list, 0};
}

/* ---- staged ---------------------------------------------------------------------------------- */

/* Which earlier pulse brought this row; -1 for owned rows. */
static int source_of(const sundog_plan *plan, sundog_idx row, int before)
{
    if (row < plan->n_owned) return -1;
    int low = 0, high = before - 1;         /* first_ghost rises; empty pulses share a value */
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (plan->pulse[middle].first_ghost <= row) low = middle;
        else high = middle - 1;
    }
    return low;
}

/* Runs of pulse p. count: scratch; count[s + 1] rows come from source s. */
static sundog_status staged_runs(sundog_plan *plan, halo_route *route, int p, size_t *count)
{
    const halo_pulse *pulse = &plan->pulse[p];
    const sundog_idx *index = plan->index + pulse->index;
    halo_send *send = &route->send[p];
    for (int s = 0; s < p + 2; s++) count[s] = 0;
    for (sundog_idx k = 0; k < pulse->n_send; k++) count[1 + source_of(plan, index[k], p)]++;
    sundog_idx *src = route->list + route->n_list, *dst = src + pulse->n_send;
    sundog_idx *place = dst + pulse->n_send;
    route->n_list += 3 * (size_t)pulse->n_send;
    size_t next = 0;
    for (int s = 0; s < p + 1; s++) {       /* counts become places */
        size_t n = count[s];
        count[s] = next;
        next += n;
    }
    for (sundog_idx k = 0; k < pulse->n_send; k++) {
        int s = source_of(plan, index[k], p);
        src[count[s + 1]] = index[k];
        place[count[s + 1]] = k;
        dst[count[s + 1]++] = pulse->first_at_peer + k;
    }
    size_t first = 0;
    for (int s = 0; s < p + 1; s++) {       /* places have moved to the end of their source */
        sundog_idx n = (sundog_idx)(count[s] - first);
        halo_run run = {n, rows_of(src + first, n), rows_of(dst + first, n),
                        rows_of(place + first, n), s - 1, pulse->n_shifts, route->n_shift};
        if (n > 0) BASE_TRY(add_run(route, send, &run));
        if (n > 0 && s > 0) route->recv[s - 1].n_users++;
        first = count[s];
    }
    if (pulse->n_shifts > 0)
        memcpy(route->shift[route->n_shift++], pulse->shift[0], sizeof pulse->shift[0]);
    return SUNDOG_OK;
}

static sundog_status build_staged(sundog_plan *plan, halo_route *route)
{
    BASE_TRY(route_start(route, plan->n_pulses, 3 * plan->n_index));
    BASE_TRY(HALO_RESERVE(route->shift, route->capacity_shift, plan->n_pulses));
    BASE_TRY(HALO_RESERVE(plan->count, plan->capacity_count, plan->n_pulses + 2));
    for (int p = 0; p < plan->n_pulses; p++) {
        const halo_pulse *pulse = &plan->pulse[p];
        route->send[p] = (halo_send){
            .peer = pulse->to_rank, .peer_message = p, .n = pulse->n_send,
            .first_run = (int)route->n_runs,
            .rows = rows_of(plan->index + pulse->index, pulse->n_send)};
        route->recv[p] = (halo_recv){
            .peer = pulse->from_rank, .peer_message = p, .n = pulse->n_recv,
            .rows = {NULL, pulse->first_ghost}};
        BASE_TRY(staged_runs(plan, route, p, plan->count));
    }
    return SUNDOG_OK;
}

sundog_status halo_build_staged(sundog_plan *plan)
{
    halo_route *route = &plan->route[SUNDOG_ROUTE_STAGED];
    BASE_TRY(team_agree(plan->team, build_staged(plan, route)));
    route->built = true;
    return SUNDOG_OK;
}

/* ---- direct ---------------------------------------------------------------------------------- */

/* My ghosts, listed by owner. */
static sundog_status direct_receive(sundog_plan *plan, halo_route *route)
{
    int n_ranks = plan->team->shared->n_ranks, me = plan->team->rank;
    size_t n_ghost = (size_t)(plan->n_rows - plan->n_owned);
    BASE_TRY(route_start(route, n_ranks, n_ghost));
    BASE_TRY(HALO_RESERVE(plan->count, plan->capacity_count, n_ranks + 1));
    size_t *next = plan->count;
    for (int r = 0; r < n_ranks; r++)
        route->recv[r] = (halo_recv){.peer = r, .peer_message = me};
    for (sundog_idx g = plan->n_owned; g < plan->n_rows; g++)
        route->recv[plan->owner_rank[g]].n++;
    for (int r = 0; r < n_ranks; r++) {
        next[r] = route->n_list;
        route->n_list += (size_t)route->recv[r].n;
    }
    for (sundog_idx g = plan->n_owned; g < plan->n_rows; g++)
        route->list[next[plan->owner_rank[g]]++] = g;
    for (int r = 0; r < n_ranks; r++)
        route->recv[r].rows.list = route->list + (next[r] - (size_t)route->recv[r].n);
    return SUNDOG_OK;
}

/* What a receiver writes to an owner: how many rows, its paths, and then each row. */
typedef struct order_head {
    sundog_idx n;
    int n_paths;
} order_head;

typedef struct ordered_row {
    sundog_idx row, ghost;          /* at the owner, at the receiver */
    int path;
} ordered_row;

static sundog_status write_order(sundog_plan *plan, const halo_recv *recv)
{
    order_head head = {recv->n, plan->n_paths};
    char *room;
    if (recv->n == 0) return SUNDOG_OK;
    BASE_TRY(halo_mail_put(&plan->out, &head, sizeof head));
    BASE_TRY(halo_mail_put(&plan->out, plan->path_first,
                           ((size_t)plan->n_paths + 1) * sizeof *plan->path_first));
    BASE_TRY(halo_mail_put(&plan->out, plan->path_shift,
                           plan->path_first[plan->n_paths] * sizeof *plan->path_shift));
    BASE_TRY(halo_mail_room(&plan->out, (size_t)recv->n * sizeof(ordered_row), &room));
    ordered_row *ordered = (ordered_row *)room;
    for (sundog_idx k = 0; k < recv->n; k++) {
        sundog_idx ghost = recv->rows.list[k];
        ordered[k] = (ordered_row){plan->owner_row[ghost], ghost, plan->path[ghost]};
    }
    return SUNDOG_OK;
}

static sundog_status write_orders(sundog_plan *plan, const halo_route *route)
{
    plan->out.n = 0;
    for (int r = 0; r < route->n_messages; r++) {
        plan->offset[r] = plan->out.n;
        BASE_TRY(write_order(plan, &route->recv[r]));
    }
    plan->offset[route->n_messages] = plan->out.n;
    return SUNDOG_OK;
}

typedef struct order {
    order_head head;
    const size_t *first;            /* [n_paths + 1] */
    const double (*shift)[3];
    const ordered_row *row;         /* [n] */
} order;

static bool read_order(const sundog_plan *plan, size_t at, size_t end, order *out)
{
    const order_head *head;
    *out = (order){.head = {0, 0}};
    if (at == end) return true;
    if (!(head = halo_mail_take(&plan->in, &at, sizeof *head))) return false;
    out->head = *head;
    out->first = halo_mail_take(&plan->in, &at, ((size_t)head->n_paths + 1) * sizeof *out->first);
    if (!out->first) return false;
    out->shift = halo_mail_take(&plan->in, &at,
                                out->first[head->n_paths] * sizeof *out->shift);
    out->row = halo_mail_take(&plan->in, &at, (size_t)head->n * sizeof *out->row);
    return out->shift && out->row;
}

/* What rank r mirrors of mine: fill rows (order of ghosts) and runs (src, dst, place by equal
 * shifts). */
static sundog_status direct_send_to(sundog_plan *plan, halo_route *route, int r, const order *from,
                                    sundog_idx *rows)
{
    halo_send *send = &route->send[r];
    sundog_idx n = from->head.n, *src = rows + n, *dst = src + n, *nth = dst + n;
    int n_paths = from->head.n_paths;
    *send = (halo_send){.peer = r, .peer_message = plan->team->rank, .n = n,
                        .first_run = (int)route->n_runs};
    BASE_TRY(HALO_RESERVE(plan->count, plan->capacity_count, n_paths + 1));
    size_t *count = plan->count, first = 0;
    for (int i = 0; i <= n_paths; i++) count[i] = 0;
    for (sundog_idx k = 0; k < n; k++) {
        rows[k] = from->row[k].row;
        count[1 + from->row[k].path]++;
    }
    for (int i = 0; i < n_paths; i++) count[i + 1] += count[i];
    for (sundog_idx k = 0; k < n; k++) {
        size_t place = count[from->row[k].path]++;
        src[place] = rows[k];
        dst[place] = from->row[k].ghost;
        nth[place] = k;
    }
    send->rows = rows_of(rows, n);
    for (int i = 0; i < n_paths; i++) {
        sundog_idx n_run = (sundog_idx)(count[i] - first);
        size_t n_shifts = from->first[i + 1] - from->first[i];
        halo_run run = {n_run, rows_of(src + first, n_run), rows_of(dst + first, n_run),
                        rows_of(nth + first, n_run), -1, (int)n_shifts, route->n_shift};
        first = count[i];
        if (n_run == 0) continue;
        BASE_TRY(HALO_RESERVE(route->shift, route->capacity_shift, route->n_shift + n_shifts));
        if (n_shifts > 0)
            memcpy(route->shift + route->n_shift, from->shift + from->first[i],
                   n_shifts * sizeof *route->shift);
        route->n_shift += n_shifts;
        BASE_TRY(add_run(route, send, &run));
    }
    return SUNDOG_OK;
}

static sundog_status direct_send(sundog_plan *plan, halo_route *route, const size_t *come)
{
    size_t n = 0;
    order from;
    for (int r = 0; r < route->n_messages; r++) {
        if (!read_order(plan, come[r], come[r + 1], &from))
            return base_fail(SUNDOG_ERR_PLAN, "rank %d: what rank %d mirrors makes no sense",
                             plan->team->rank, r);
        n += (size_t)from.head.n;
    }
    BASE_TRY(HALO_RESERVE(route->send_list, route->capacity_send_list, 4 * n));
    sundog_idx *rows = route->send_list;
    for (int r = 0; r < route->n_messages; r++) {
        (void)read_order(plan, come[r], come[r + 1], &from);
        BASE_TRY(direct_send_to(plan, route, r, &from, rows));
        rows += 4 * (size_t)route->send[r].n;
    }
    return SUNDOG_OK;
}

sundog_status halo_build_direct(sundog_plan *plan)
{
    halo_route *route = &plan->route[SUNDOG_ROUTE_DIRECT];
    const size_t *come;
    if (route->built) return SUNDOG_OK;
    sundog_status status = direct_receive(plan, route);
    if (status == SUNDOG_OK) status = write_orders(plan, route);
    BASE_TRY(team_agree(plan->team, status));
    BASE_TRY(halo_mail_swap(plan, &come));
    BASE_TRY(team_agree(plan->team, direct_send(plan, route, come)));
    route->built = true;
    return SUNDOG_OK;
}
