/* Collectives of a team of threads, all made of one barrier and the slots of team.h.
 *
 * Small data is copied into the rank's slot, and one barrier later read by all. Large data stays
 * where it is: the slot holds a pointer, and a second barrier tells the owner that all have read.
 * Sums are taken in rank order by every rank, so all get the same bits.
 */
#include "team/team.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- barrier --------------------------------------------------------------------------------- */

static bool barrier_ready(const void *arg)
{
    const sundog_team *team = arg;
    return base_reached(base_acquire_seen(&team->shared->barrier_done), team->n_barriers);
}

static void barrier_describe(const void *arg, char *text, size_t n_bytes)
{
    const sundog_team *team = arg;
    int n = snprintf(text, n_bytes, "rank %d waits in collective %llu of the team; not there:",
                     team->rank, (unsigned long long)team->n_barriers);
    for (int r = 0; r < team->shared->n_ranks; r++) {
        uint64_t seen = base_acquire(&team->shared->member[r].at_barrier);
        if (base_reached(seen, team->n_barriers) || n < 0 || (size_t)n >= n_bytes) continue;
        n += snprintf(text + n, n_bytes - (size_t)n, " rank %d (at %llu)", r,
                      (unsigned long long)seen);
    }
}

sundog_status sundog_team_barrier(sundog_team *team)
{
    team_shared *shared = team->shared;
    if (team_is_dead(team)) return team_fail_dead(team);
    uint64_t epoch = ++team->n_barriers;
    base_release(&shared->member[team->rank].at_barrier, epoch);
    uint64_t arrivals = 1 + atomic_fetch_add(&shared->barrier_arrivals.value, 1);
    if (arrivals == epoch * (uint64_t)shared->n_ranks) {
        base_release_seen(&shared->barrier_done, epoch);
        if (atomic_load(&shared->barrier_bell.sleepers) > 0) team_ring(&shared->barrier_bell);
        return SUNDOG_OK;
    }
    team_condition condition = {barrier_ready, barrier_describe, team};
    return team_wait(team, &shared->barrier_bell, &condition);
}

/* ---- slots ----------------------------------------------------------------------------------- */

static struct team_slot *slot_of(const sundog_team *team, int rank, int parity)
{
    return &team->shared->member[rank].slot[parity];
}

/* Show my bytes (copied when small) and meet the others; *parity names the slots to read. Sizes
 * must agree unless `any_size`. */
static sundog_status show(sundog_team *team, const char *call, const void *bytes, size_t n_bytes,
                          bool any_size, int *parity)
{
    if (team_is_dead(team)) return team_fail_dead(team);
    *parity = team->parity;
    team->parity = 1 - team->parity;
    struct team_slot *mine = slot_of(team, team->rank, *parity);
    mine->call = call;
    mine->pointer = bytes;
    mine->n_bytes = n_bytes;
    if (!any_size && n_bytes <= TEAM_SLOT_BYTES && n_bytes > 0) {
        memcpy(mine->bytes, bytes, n_bytes);
        mine->pointer = mine->bytes;
    }
    BASE_TRY(sundog_team_barrier(team));
    for (int r = 1; r < team->shared->n_ranks; r++) {
        const struct team_slot *a = slot_of(team, 0, *parity), *b = slot_of(team, r, *parity);
        if (strcmp(a->call, b->call) == 0 && (any_size || a->n_bytes == b->n_bytes)) continue;
        char text[256];
        snprintf(text, sizeof text,
                 "collective calls do not match: rank 0 is in %s with %zu bytes, rank %d in %s "
                 "with %zu bytes", a->call, a->n_bytes, r, b->call, b->n_bytes);
        return team_kill(team, SUNDOG_ERR_ARGUMENT, text);
    }
    return SUNDOG_OK;
}

sundog_status team_gather_small(sundog_team *team, const char *call, const void *send,
                                size_t n_bytes, void *recv)
{
    int parity;
    BASE_TRY(show(team, call, send, n_bytes, false, &parity));
    for (int r = 0; r < team->shared->n_ranks; r++)
        memcpy((char *)recv + (size_t)r * n_bytes, slot_of(team, r, parity)->bytes, n_bytes);
    return SUNDOG_OK;
}

typedef struct verdict {
    sundog_status status;
    char text[TEAM_SLOT_BYTES - sizeof(sundog_status)];
} verdict;

sundog_status team_agree(sundog_team *team, sundog_status mine)
{
    verdict v = {.status = mine};
    if (mine < 0) snprintf(v.text, sizeof v.text, "%s", sundog_last_error());
    int parity;
    BASE_TRY(show(team, "agree", &v, sizeof v, false, &parity));
    for (int r = 0; r < team->shared->n_ranks; r++) {
        memcpy(&v, slot_of(team, r, parity)->bytes, sizeof v);
        if (v.status < 0) return base_fail(v.status, "%s", v.text);
    }
    return SUNDOG_OK;
}

sundog_status sundog_team_allgather(sundog_team *team, const void *send, size_t n_bytes, void *recv)
{
    int parity;
    BASE_TRY(show(team, "allgather", send, n_bytes, false, &parity));
    BASE_TRY(team_enter(team));
    for (int r = 0; n_bytes > 0 && r < team->shared->n_ranks; r++)
        memcpy((char *)recv + (size_t)r * n_bytes, slot_of(team, r, parity)->pointer, n_bytes);
    team_leave(team);
    return n_bytes > TEAM_SLOT_BYTES ? sundog_team_barrier(team) : SUNDOG_OK;
}

sundog_status sundog_team_broadcast(sundog_team *team, int root, void *bytes, size_t n_bytes)
{
    if (root < 0 || root >= team->shared->n_ranks)
        return base_fail(SUNDOG_ERR_ARGUMENT, "root is %d, the team has %d ranks", root,
                         team->shared->n_ranks);
    int parity;
    BASE_TRY(show(team, "broadcast", bytes, n_bytes, false, &parity));
    BASE_TRY(team_enter(team));
    if (team->rank != root && n_bytes > 0)
        memcpy(bytes, slot_of(team, root, parity)->pointer, n_bytes);
    team_leave(team);
    return n_bytes > TEAM_SLOT_BYTES ? sundog_team_barrier(team) : SUNDOG_OK;
}

/* ---- reductions ------------------------------------------------------------------------------ */

typedef void reduction(void *into, const void *from, int n);

static void sum_double(void *into, const void *from, int n)
{
    for (int i = 0; i < n; i++) ((double *)into)[i] += ((const double *)from)[i];
}
static void sum_int64(void *into, const void *from, int n)
{
    for (int i = 0; i < n; i++) {   /* unsigned: wraps without undefined behaviour */
        uint64_t a = (uint64_t)((int64_t *)into)[i], b = (uint64_t)((const int64_t *)from)[i];
        ((int64_t *)into)[i] = (int64_t)(a + b);
    }
}
/* A NaN of any rank is the result: a broken rank must not hide behind the others. */
static void max_double(void *into, const void *from, int n)
{
    for (int i = 0; i < n; i++) {
        double b = ((const double *)from)[i];
        if (!(b <= ((double *)into)[i]) && !isnan(((double *)into)[i])) ((double *)into)[i] = b;
    }
}
static void min_double(void *into, const void *from, int n)
{
    for (int i = 0; i < n; i++) {
        double b = ((const double *)from)[i];
        if (!(b >= ((double *)into)[i]) && !isnan(((double *)into)[i])) ((double *)into)[i] = b;
    }
}

/* In pieces that fit a slot: one barrier each, no second one, and nobody reads the caller's array
 * while it is overwritten by the result. */
static sundog_status reduce(sundog_team *team, const char *call, void *values, int n,
                            reduction *combine)
{
    enum { PIECE = TEAM_SLOT_BYTES / 8 };   /* all reduced types have 8 bytes */
    if (n < 0) return base_fail(SUNDOG_ERR_ARGUMENT, "%s: n is %d, must not be negative", call, n);
    for (int first = 0; first < n; first += PIECE) {
        int n_piece = n - first < PIECE ? n - first : PIECE;
        char *piece = (char *)values + 8 * (size_t)first;
        int parity;
        BASE_TRY(show(team, call, piece, 8 * (size_t)n_piece, false, &parity));
        memcpy(piece, slot_of(team, 0, parity)->bytes, 8 * (size_t)n_piece);
        for (int r = 1; r < team->shared->n_ranks; r++)
            combine(piece, slot_of(team, r, parity)->bytes, n_piece);
    }
    return SUNDOG_OK;
}

sundog_status sundog_team_sum_double(sundog_team *team, double *values, int n)
{
    return reduce(team, "sum_double", values, n, sum_double);
}
sundog_status sundog_team_sum_int64(sundog_team *team, int64_t *values, int n)
{
    return reduce(team, "sum_int64", values, n, sum_int64);
}
sundog_status sundog_team_max_double(sundog_team *team, double *values, int n)
{
    return reduce(team, "max_double", values, n, max_double);
}
sundog_status sundog_team_min_double(sundog_team *team, double *values, int n)
{
    return reduce(team, "min_double", values, n, min_double);
}

/* ---- personal messages ----------------------------------------------------------------------- */

sundog_status sundog_team_alltoall_sizes(sundog_team *team, const size_t *send_offset,
                                         size_t *recv_offset)
{
    int n = team->shared->n_ranks, me = team->rank, parity;
    BASE_TRY(show(team, "alltoall_sizes", send_offset, 0, true, &parity));
    BASE_TRY(team_enter(team));
    recv_offset[0] = 0;
    for (int r = 0; r < n; r++) {
        const size_t *theirs = slot_of(team, r, parity)->pointer;
        recv_offset[r + 1] = recv_offset[r] + theirs[me + 1] - theirs[me];
    }
    team_leave(team);
    return sundog_team_barrier(team);
}

typedef struct parcel {
    const char *bytes;
    const size_t *offset;
} parcel;

sundog_status sundog_team_alltoall(sundog_team *team, const void *send, const size_t *send_offset,
                                   void *recv, const size_t *recv_offset)
{
    parcel mine = {send, send_offset};
    int n = team->shared->n_ranks, me = team->rank, parity;
    sundog_status status = SUNDOG_OK;
    BASE_TRY(show(team, "alltoall", &mine, 0, true, &parity));
    BASE_TRY(team_enter(team));
    for (int r = 0; r < n; r++) {
        const parcel *theirs = slot_of(team, r, parity)->pointer;
        size_t n_bytes = theirs->offset[me + 1] - theirs->offset[me];
        if (n_bytes != recv_offset[r + 1] - recv_offset[r]) {
            status = base_fail(SUNDOG_ERR_ARGUMENT,
                               "alltoall: rank %d sends %zu bytes to rank %d, which has room for "
                               "%zu", r, n_bytes, me, recv_offset[r + 1] - recv_offset[r]);
            break;
        }
        if (n_bytes > 0)
            memcpy((char *)recv + recv_offset[r], theirs->bytes + theirs->offset[me], n_bytes);
    }
    team_leave(team);
    return team_agree(team, status);
}
