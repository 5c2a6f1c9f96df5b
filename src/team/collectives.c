/* Collectives of a team, all made of one barrier and the slots of team.h.
 *
 * Small data is copied into the rank's slot, and one barrier later read by all. Large data stays
 * where it is: the slot holds a pointer, and a second barrier tells the owner that all have read.
 * Sums are taken in rank order by every rank, so all get the same bits.
 *
 * With ranks in other processes the last of this process to reach a barrier fetches what they show
 * (wire.h) before it lets the others go.
 */
#include "team/team.h"

#include "base/alloc.h"
#include "team/wire.h"

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
    const team_shared *shared = team->shared;
    bool all_here = true;
    for (int r = shared->first_here; r < shared->first_here + shared->n_here; r++) {
        uint64_t seen = base_acquire(&team->shared->member[r].at_barrier);
        if (base_reached(seen, team->n_barriers) || n < 0 || (size_t)n >= n_bytes) continue;
        n += snprintf(text + n, n_bytes - (size_t)n, " rank %d (at %llu)", r,
                      (unsigned long long)seen);
        all_here = false;
    }
    if (shared->wire && all_here) shared->wire->missing(team, text, n_bytes);
}

/* part: what the last rank of this process does for all of them, if there are others. */
static sundog_status meet(sundog_team *team, wire_part *part, int parity)
{
    team_shared *shared = team->shared;
    if (team_is_dead(team)) return team_fail_dead(team);
    uint64_t epoch = ++team->n_barriers;
    base_release(&shared->member[team->rank].at_barrier, epoch);
    uint64_t arrivals = 1 + atomic_fetch_add(&shared->barrier_arrivals.value, 1);
    if (arrivals == epoch * (uint64_t)shared->n_here) {
        if (part) BASE_TRY(part(team, parity));
        base_release_seen(&shared->barrier_done, epoch);
        if (atomic_load(&shared->barrier_bell.sleepers) > 0) team_ring(&shared->barrier_bell);
        return SUNDOG_OK;
    }
    team_condition condition = {barrier_ready, barrier_describe, team, false};
    return team_wait(team, &shared->barrier_bell, &condition);
}

/* ---- slots ----------------------------------------------------------------------------------- */

static struct team_slot *slot_of(const sundog_team *team, int rank, int parity)
{
    return &team->shared->member[rank].slot[parity];
}

/* All ranks are in the same call. */
static sundog_status check_calls(sundog_team *team, bool any_size, int parity)
{
    for (int r = 1; r < team->shared->n_ranks; r++) {
        const struct team_slot *a = slot_of(team, 0, parity), *b = slot_of(team, r, parity);
        if (strcmp(a->call, b->call) == 0 && (any_size || a->n_bytes == b->n_bytes)) continue;
        char text[256];
        snprintf(text, sizeof text,
                 "collective calls do not match: rank 0 is in %s with %zu bytes, rank %d in %s "
                 "with %zu bytes", a->call, a->n_bytes, r, b->call, b->n_bytes);
        return team_kill(team, SUNDOG_ERR_ARGUMENT, text);
    }
    return SUNDOG_OK;
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
    const team_wire *wire = team->shared->wire;
    BASE_TRY(meet(team, wire ? wire->meet : NULL, *parity));
    return check_calls(team, any_size, *parity);
}

/* A second meeting, at which the last of each process brings more. */
#define BRING(team, part, parity) \
    ((team)->shared->wire ? meet(team, (team)->shared->wire->part, parity) : SUNDOG_OK)

/* Threads that show nothing need no slots. */
sundog_status sundog_team_barrier(sundog_team *team)
{
    int parity;
    if (team->shared->wire) return show(team, "barrier", NULL, 0, false, &parity);
    return meet(team, NULL, 0);
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
    int parity, n = team->shared->n_ranks;
    BASE_TRY(show(team, "allgather", send, n_bytes, false, &parity));
    if (n_bytes > TEAM_SLOT_BYTES) BASE_TRY(BRING(team, gather, parity));
    BASE_TRY(team_enter(team));
    for (int r = 0; n_bytes > 0 && r < n; r++) {
        const char *from = slot_of(team, r, parity)->pointer;
        if (!from) from = team->shared->wire->gathered(team->shared) + (size_t)r * n_bytes;
        memcpy((char *)recv + (size_t)r * n_bytes, from, n_bytes);
    }
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
    slot_of(team, team->rank, parity)->root = root;
    if (n_bytes > TEAM_SLOT_BYTES) BASE_TRY(BRING(team, broadcast, parity));
    BASE_TRY(team_enter(team));
    const char *from = slot_of(team, root, parity)->pointer;
    if (!from && n_bytes > 0) from = team->shared->wire->gathered(team->shared);
    if (team->rank != root && n_bytes > 0) memcpy(bytes, from, n_bytes);
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

/* Bytes from rank r to me; *bytes where they are. */
static size_t parcel_from(const sundog_team *team, int r, int parity, bool with_bytes,
                          const char **bytes)
{
    int me = team->rank;
    if (!team_is_here(team, r)) {
        if (with_bytes) *bytes = team->shared->wire->inbox(team->shared, me, r);
        return team->shared->wire->size(team->shared, me, r);
    }
    const team_parcel *theirs = slot_of(team, r, parity)->pointer;
    if (with_bytes) *bytes = theirs->bytes + theirs->offset[me];
    return theirs->offset[me + 1] - theirs->offset[me];
}

sundog_status sundog_team_alltoall_sizes(sundog_team *team, const size_t *send_offset,
                                         size_t *recv_offset)
{
    team_parcel mine = {NULL, send_offset};
    int parity;
    BASE_TRY(show(team, "alltoall_sizes", &mine, 0, true, &parity));
    BASE_TRY(BRING(team, swap_sizes, parity));
    BASE_TRY(team_enter(team));
    recv_offset[0] = 0;
    for (int r = 0; r < team->shared->n_ranks; r++)
        recv_offset[r + 1] = recv_offset[r] + parcel_from(team, r, parity, false, NULL);
    team_leave(team);
    return sundog_team_barrier(team);
}

sundog_status sundog_team_alltoall(sundog_team *team, const void *send, const size_t *send_offset,
                                   void *recv, const size_t *recv_offset)
{
    team_parcel mine = {send, send_offset};
    int parity;
    sundog_status status = SUNDOG_OK;
    BASE_TRY(show(team, "alltoall", &mine, 0, true, &parity));
    BASE_TRY(BRING(team, swap, parity));
    BASE_TRY(team_enter(team));
    for (int r = 0; r < team->shared->n_ranks; r++) {
        const char *bytes = NULL;
        size_t n_bytes = parcel_from(team, r, parity, true, &bytes);
        if (n_bytes != recv_offset[r + 1] - recv_offset[r]) {
            status = base_fail(SUNDOG_ERR_ARGUMENT,
                               "alltoall: rank %d sends %zu bytes to rank %d, which has room for "
                               "%zu", r, n_bytes, team->rank, recv_offset[r + 1] - recv_offset[r]);
            break;
        }
        if (n_bytes > 0) memcpy((char *)recv + recv_offset[r], bytes, n_bytes);
    }
    team_leave(team);
    return team_agree(team, status);
}

static sundog_status keep_bytes(const char *bytes, size_t n, char **recv, size_t *capacity)
{
    if (n > *capacity) {
        char *grown = base_try_alloc(n + n / 4);
        if (!grown) return base_fail(SUNDOG_ERR_MEMORY, "no memory for %zu bytes of a peer", n);
        base_free(*recv);
        *recv = grown;
        *capacity = n + n / 4;
    }
    if (n > 0) memcpy(*recv, bytes, n);
    return SUNDOG_OK;
}

sundog_status team_pass(sundog_team *team, int to, const void *send, size_t n_send, int from,
                        char **recv, size_t *n_recv, size_t *capacity)
{
    int n_ranks = team->shared->n_ranks, parity;
    size_t *offset = team->offset;
    for (int r = 0; r <= n_ranks; r++) offset[r] = r > to ? n_send : 0;
    team_parcel mine = {send, offset};
    BASE_TRY(show(team, "pass", &mine, 0, true, &parity));
    BASE_TRY(BRING(team, swap, parity));
    BASE_TRY(team_enter(team));
    const char *bytes = NULL;
    *n_recv = parcel_from(team, from, parity, true, &bytes);
    sundog_status status = keep_bytes(bytes, *n_recv, recv, capacity);
    team_leave(team);
    return team_agree(team, status);
}

/* The line stays what opened() says until the next meeting, to which nobody comes before having
 * looked. */
sundog_status team_open_line(sundog_team *team, team_line **out)
{
    BASE_TRY(BRING(team, open_line, 0));
    *out = team->shared->wire->opened(team->shared);
    return SUNDOG_OK;
}
