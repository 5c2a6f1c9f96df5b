/* The reference rung: slow, obvious, the oracle of all others.
 *
 * Straight from the plan as the caller gave it, without messages, runs or signals; all ranks move
 * together through collectives of the team, and rows travel as mail.
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

#include <string.h>

static sundog_status do_nothing(sundog_exchange *exchange)
{
    (void)exchange;
    return SUNDOG_OK;
}

/* ---- rows as mail ---------------------------------------------------------------------------- */

typedef void block_action(const sundog_exchange *exchange, int f, const halo_field *block,
                          const void *arg);

/* Write n rows of all fields (or of the float ones); they may be shifted. */
static sundog_status write_rows(sundog_exchange *exchange, halo_rows rows, sundog_idx n,
                                const double (*shift)[3], int n_shifts, bool floats)
{
    for (int f = 0; f < exchange->n_fields; f++) {
        const halo_field *field = &exchange->field[f];
        char *room;
        if (floats && !halo_is_float(field)) continue;
        BASE_TRY(halo_mail_room(&exchange->plan->out, (size_t)n * field->row_bytes, &room));
        halo_field packed = halo_packed(field, room);
        halo_copy(field, rows, &packed, (halo_rows){NULL, 0}, n, shift, n_shifts);
    }
    return SUNDOG_OK;
}

/* Field by field what was written for this rank from `at` on, n rows each. */
static void read_rows(const sundog_exchange *exchange, size_t *at, sundog_idx n, bool floats,
                      block_action *action, const void *arg)
{
    for (int f = 0; f < exchange->n_fields; f++) {
        const halo_field *field = &exchange->field[f];
        if (floats && !halo_is_float(field)) continue;
        const void *rows =
            halo_mail_take(&exchange->plan->in, at, (size_t)n * field->row_bytes);
        char *from;                             /* read only */
        memcpy(&from, &rows, sizeof from);
        halo_field packed = halo_packed(field, from);
        action(exchange, f, &packed, arg);
    }
}

/* ---- staged ---------------------------------------------------------------------------------- */

static void take_ghosts(const sundog_exchange *exchange, int f, const halo_field *block,
                        const void *arg)
{
    const halo_pulse *mine = arg;
    halo_copy(block, (halo_rows){NULL, 0}, &exchange->field[f],
              (halo_rows){NULL, mine->first_ghost}, mine->n_recv, NULL, 0);
}

static sundog_status forward_pulse(sundog_exchange *exchange, int p)
{
    sundog_plan *plan = exchange->plan;
    const halo_pulse *mine = &plan->pulse[p];
    size_t at = 0;
    plan->out.n = 0;
    BASE_TRY(team_agree(plan->team,
                        write_rows(exchange, (halo_rows){plan->index + mine->index, 0},
                                   mine->n_send, (const double (*)[3])mine->shift,
                                   mine->n_shifts, false)));
    BASE_TRY(halo_mail_pass(plan, mine->to_rank, mine->from_rank));
    read_rows(exchange, &at, mine->n_recv, false, take_ghosts, mine);
    return SUNDOG_OK;
}

static void add_sums(const sundog_exchange *exchange, int f, const halo_field *block,
                     const void *arg)
{
    const halo_pulse *mine = arg;
    halo_add(&exchange->field[f], (halo_rows){exchange->plan->index + mine->index, 0}, block,
             (halo_rows){NULL, 0}, mine->n_send);
}

static sundog_status reverse_pulse(sundog_exchange *exchange, int p)
{
    sundog_plan *plan = exchange->plan;
    const halo_pulse *mine = &plan->pulse[p];
    size_t at = 0;
    plan->out.n = 0;
    BASE_TRY(team_agree(plan->team, write_rows(exchange, (halo_rows){NULL, mine->first_ghost},
                                               mine->n_recv, NULL, 0, true)));
    BASE_TRY(halo_mail_pass(plan, mine->from_rank, mine->to_rank));
    read_rows(exchange, &at, mine->n_send, true, add_sums, mine);
    return SUNDOG_OK;
}

/* ---- direct ---------------------------------------------------------------------------------- */

/* Which ghosts are rank r's, from ghost *g on; false when there are no more. */
static bool next_of(const sundog_plan *plan, int r, sundog_idx *g)
{
    while (*g < plan->n_rows && plan->owner_rank[*g] != r) ++*g;
    return *g < plan->n_rows;
}

static sundog_idx count_of(const sundog_plan *plan, int r)
{
    sundog_idx n = 0;
    for (sundog_idx g = plan->n_owned; next_of(plan, r, &g); g++) n++;
    return n;
}

/* Names of rank r's rows that are ghosts here, behind their number. */
static sundog_status write_names(sundog_plan *plan, int r, sundog_idx n)
{
    char *room;
    BASE_TRY(halo_mail_put(&plan->out, &n, sizeof n));
    BASE_TRY(halo_mail_room(&plan->out, (size_t)n * sizeof n, &room));
    sundog_idx *name = (sundog_idx *)room;
    for (sundog_idx g = plan->n_owned; next_of(plan, r, &g); g++) *name++ = plan->owner_row[g];
    return SUNDOG_OK;
}

static const sundog_idx *read_names(const sundog_plan *plan, size_t *at, sundog_idx *n)
{
    const sundog_idx *count = halo_mail_take(&plan->in, at, sizeof *n);
    *n = *count;
    return halo_mail_take(&plan->in, at, (size_t)*n * sizeof *n);
}

typedef sundog_status letter(sundog_exchange *exchange, int r, const size_t *come);

/* A letter to every rank. *come: where theirs begin. */
static sundog_status write_to_all(sundog_exchange *exchange, letter *write, const size_t **come)
{
    sundog_plan *plan = exchange->plan;
    const size_t *before = *come;
    sundog_status status = SUNDOG_OK;
    plan->out.n = 0;
    for (int r = 0; r < plan->team->shared->n_ranks; r++) {
        plan->offset[r] = plan->out.n;
        if (status == SUNDOG_OK) status = write(exchange, r, before);
    }
    plan->offset[plan->team->shared->n_ranks] = plan->out.n;
    BASE_TRY(team_agree(plan->team, status));
    return halo_mail_swap(plan, come);
}

static sundog_status ask(sundog_exchange *exchange, int r, const size_t *come)
{
    (void)come;
    return write_names(exchange->plan, r, count_of(exchange->plan, r));
}

static sundog_status answer(sundog_exchange *exchange, int r, const size_t *come)
{
    sundog_idx n;
    size_t at = come[r];
    const sundog_idx *name = read_names(exchange->plan, &at, &n);
    return write_rows(exchange, (halo_rows){name, 0}, n, NULL, 0, false);
}

/* Rows of rank *arg, each with the shifts of its own way. */
static void take_shifted(const sundog_exchange *exchange, int f, const halo_field *block,
                         const void *arg)
{
    const sundog_plan *plan = exchange->plan;
    sundog_idx k = 0;
    for (sundog_idx g = plan->n_owned; next_of(plan, *(const int *)arg, &g); g++) {
        size_t first = plan->path_first[plan->path[g]];
        int n_shifts = (int)(plan->path_first[plan->path[g] + 1] - first);
        halo_copy(block, (halo_rows){NULL, k++}, &exchange->field[f], (halo_rows){NULL, g}, 1,
                  (const double (*)[3])plan->path_shift + first, n_shifts);
    }
}

static sundog_status forward_direct(sundog_exchange *exchange)
{
    const size_t *come = NULL;
    BASE_TRY(write_to_all(exchange, ask, &come));
    BASE_TRY(write_to_all(exchange, answer, &come));
    for (int r = 0; r < exchange->team->shared->n_ranks; r++) {
        size_t at = come[r];
        read_rows(exchange, &at, count_of(exchange->plan, r), false, take_shifted, &r);
    }
    return SUNDOG_OK;
}

/* Ghosts, rising, behind the names of their rows. */
static sundog_status send_home(sundog_exchange *exchange, int r, const size_t *come)
{
    sundog_plan *plan = exchange->plan;
    sundog_idx n = count_of(plan, r), k;
    (void)come;
    BASE_TRY(write_names(plan, r, n));
    for (int f = 0; f < exchange->n_fields; f++) {
        const halo_field *field = &exchange->field[f];
        char *room;
        if (!halo_is_float(field)) continue;
        BASE_TRY(halo_mail_room(&plan->out, (size_t)n * field->row_bytes, &room));
        halo_field packed = halo_packed(field, room);
        k = 0;
        for (sundog_idx g = plan->n_owned; next_of(plan, r, &g); g++)
            halo_copy(field, (halo_rows){NULL, g}, &packed, (halo_rows){NULL, k++}, 1, NULL, 0);
    }
    return SUNDOG_OK;
}

typedef struct named_rows {
    const sundog_idx *name;
    sundog_idx n;
} named_rows;

static void add_named(const sundog_exchange *exchange, int f, const halo_field *block,
                      const void *arg)
{
    const named_rows *rows = arg;
    halo_add(&exchange->field[f], (halo_rows){rows->name, 0}, block, (halo_rows){NULL, 0}, rows->n);
}

static sundog_status reverse_direct(sundog_exchange *exchange)
{
    const size_t *come = NULL;
    BASE_TRY(write_to_all(exchange, send_home, &come));
    for (int r = 0; r < exchange->team->shared->n_ranks; r++) {
        size_t at = come[r];
        named_rows rows;
        rows.name = read_names(exchange->plan, &at, &rows.n);
        read_rows(exchange, &at, rows.n, true, add_named, &rows);
    }
    return SUNDOG_OK;
}

/* ---- the rung -------------------------------------------------------------------------------- */

static sundog_status forward_end(sundog_exchange *exchange)
{
    if (exchange->route == SUNDOG_ROUTE_DIRECT) return forward_direct(exchange);
    for (int p = 0; p < exchange->plan->n_pulses; p++) BASE_TRY(forward_pulse(exchange, p));
    return SUNDOG_OK;
}

static sundog_status reverse_end(sundog_exchange *exchange)
{
    if (exchange->route == SUNDOG_ROUTE_DIRECT) return reverse_direct(exchange);
    for (int p = exchange->plan->n_pulses - 1; p >= 0; p--) BASE_TRY(reverse_pulse(exchange, p));
    return SUNDOG_OK;
}

const halo_rung halo_reference = {
    "reference", "threads", HALO_CAP_STAGED | HALO_CAP_DIRECT,
    do_nothing, forward_end, do_nothing, reverse_end, NULL, NULL, NULL};
