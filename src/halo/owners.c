/* Where every row comes from: the pulses of a plan, composed.
 *
 *   owner(row) = (this rank, row)                               owned rows
 *   owner(first_ghost(p) + k) = owner at from_rank(p) of index(p)[k]
 *
 * taken pulse by pulse, since a pulse may send what an earlier one brought: the sender writes down
 * where the rows that it sends come from. The shifts on the way are kept as a sequence, not as a
 * sum: the staged route rounds after every hop, and the direct route must give the same bits.
 * Sequences are few (one for every way over the box's borders), so rows hold a number and the
 * sequences a table.
 */
#include "halo/plan.h"

#include <stdio.h>
#include <string.h>

/* What a sender writes: its table of paths, its shift, where each row comes from. */
typedef struct table_head {
    int n_paths, n_shifts;
    sundog_idx n_rows;
    double shift[3];
} table_head;

typedef struct origin {
    int rank, path;
    sundog_idx row;
} origin;

typedef struct table {
    table_head head;
    const size_t *first;            /* [n_paths + 1] */
    const double (*shift)[3];       /* [first[n_paths]] */
    const origin *from;             /* [n_rows] */
} table;

static sundog_status write_table(sundog_plan *plan, int p)
{
    const halo_pulse *mine = &plan->pulse[p];
    table_head head = {plan->n_paths, mine->n_shifts, mine->n_send, {0, 0, 0}};
    char *room;
    memcpy(head.shift, mine->shift[0], sizeof head.shift);
    plan->out.n = 0;
    BASE_TRY(halo_mail_put(&plan->out, &head, sizeof head));
    BASE_TRY(halo_mail_put(&plan->out, plan->path_first,
                           ((size_t)plan->n_paths + 1) * sizeof *plan->path_first));
    BASE_TRY(halo_mail_put(&plan->out, plan->path_shift,
                           plan->path_first[plan->n_paths] * sizeof *plan->path_shift));
    BASE_TRY(halo_mail_room(&plan->out, (size_t)mine->n_send * sizeof(origin), &room));
    origin *from = (origin *)room;
    const sundog_idx *index = plan->index + mine->index;
    for (sundog_idx k = 0; k < mine->n_send; k++)
        from[k] = (origin){plan->owner_rank[index[k]], plan->path[index[k]],
                           plan->owner_row[index[k]]};
    return SUNDOG_OK;
}

static bool read_table(const halo_mail *mail, sundog_idx n_rows, table *out)
{
    size_t at = 0;
    const table_head *head = halo_mail_take(mail, &at, sizeof *head);
    if (!head || head->n_rows != n_rows) return false;
    out->head = *head;
    out->first = halo_mail_take(mail, &at, ((size_t)head->n_paths + 1) * sizeof *out->first);
    if (!out->first) return false;
    out->shift = halo_mail_take(mail, &at, out->first[head->n_paths] * sizeof *out->shift);
    out->from = halo_mail_take(mail, &at, (size_t)n_rows * sizeof *out->from);
    return out->shift && out->from;
}

/* Number of the sequence `path` of the sender's table, with the pulse's own shift behind it, in
 * this plan's table; appended if it is new. */
static sundog_status path_intern(sundog_plan *plan, int path, const table *theirs, int *out)
{
    size_t n_before = theirs->first[path + 1] - theirs->first[path];
    size_t n = n_before + (size_t)theirs->head.n_shifts, first = plan->path_first[plan->n_paths];
    BASE_TRY(HALO_RESERVE(plan->path_shift, plan->capacity_path_shift, first + n + 1));
    double (*fresh)[3] = plan->path_shift + first;
    if (n_before > 0)
        memcpy(fresh, theirs->shift + theirs->first[path], n_before * sizeof *fresh);
    if (theirs->head.n_shifts > 0) memcpy(fresh + n_before, theirs->head.shift, sizeof *fresh);
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

static sundog_status trace_pulse(sundog_plan *plan, int p)
{
    const halo_pulse *mine = &plan->pulse[p];
    table theirs;
    if (!read_table(&plan->in, mine->n_recv, &theirs))
        return base_fail(SUNDOG_ERR_PLAN, "rank %d: what rank %d says of pulse %d makes no sense",
                         plan->team->rank, mine->from_rank, p);
    BASE_TRY(HALO_RESERVE(plan->known, plan->capacity_known, theirs.head.n_paths));
    for (int i = 0; i < theirs.head.n_paths; i++) plan->known[i] = -1;
    for (sundog_idx k = 0; k < mine->n_recv; k++) {
        const origin *from = &theirs.from[k];
        sundog_idx here = mine->first_ghost + k;
        if (plan->known[from->path] < 0)
            BASE_TRY(path_intern(plan, from->path, &theirs, &plan->known[from->path]));
        plan->owner_rank[here] = from->rank;
        plan->owner_row[here] = from->row;
        plan->path[here] = plan->known[from->path];
    }
    return SUNDOG_OK;
}

/* A rank that has failed goes on with empty mail, so that all come to the agreement at the end. */
sundog_status halo_trace_owners(sundog_plan *plan)
{
    BASE_TRY(team_agree(plan->team, start_table(plan)));
    char error[256] = "";
    sundog_status mine = SUNDOG_OK;
    for (int p = 0; p < plan->n_pulses; p++) {
        sundog_status status = mine;
        if (status == SUNDOG_OK) status = write_table(plan, p);
        if (status != SUNDOG_OK) plan->out.n = 0;
        BASE_TRY(halo_mail_pass(plan, plan->pulse[p].to_rank, plan->pulse[p].from_rank));
        if (status == SUNDOG_OK) status = trace_pulse(plan, p);
        if (mine == SUNDOG_OK && status != SUNDOG_OK) {
            mine = status;
            snprintf(error, sizeof error, "%s", sundog_last_error());
        }
    }
    return team_agree(plan->team, mine == SUNDOG_OK ? mine : base_fail(mine, "%s", error));
}
