/* Collectives of processes over MPI: what each process's last rank does for all that are there.
 *
 * A barrier is an allgather of packets, so that calls that do not match are seen, and small data
 * comes with it. Personal messages of two processes are one, whatever number of ranks they have.
 */
#include "team/mpi/wire_mpi.h"

#include "base/alloc.h"

#include <limits.h>
#include <stdio.h>

/* What a rank shows in a barrier: small data as well, so that one message does. */
enum { PACKET_BYTES = 96 };
typedef struct packet {
    char call[24];
    uint64_t n_bytes;
    unsigned char bytes[PACKET_BYTES];
} packet;

static sundog_status reserve(grown *g, size_t n_bytes)
{
    if (n_bytes <= g->capacity) return SUNDOG_OK;
    base_free(g->bytes);
    g->capacity = 0;
    g->bytes = base_try_alloc(n_bytes + n_bytes / 4);
    if (!g->bytes) return base_fail(SUNDOG_ERR_MEMORY, "no memory for %zu bytes", n_bytes);
    g->capacity = n_bytes + n_bytes / 4;
    return SUNDOG_OK;
}

/* ---- collectives of equal blocks ------------------------------------------------------------- */

/* mine: n_block bytes of each rank here; all: of each rank. In steps that MPI's int can count. */
static sundog_status gather_blocks(sundog_team *team, const char *mine, size_t n_block, char *all)
{
    mpi_wire *wire = wire_of(team->shared);
    for (int p = 0; p < wire->n_processes; p++) {
        wire->count[p] = wire->first_rank[p + 1] - wire->first_rank[p];
        wire->place[p] = wire->first_rank[p];
    }
    if (n_block > INT_MAX)
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "allgather: %zu bytes a rank are too many over "
                         "MPI, which counts to %d", n_block, INT_MAX);
    MPI_Datatype block;
    MPI_Request request;
    MPI_TRY(wire, MPI_Type_contiguous((int)n_block, MPI_BYTE, &block));
    MPI_TRY(wire, MPI_Type_commit(&block));
    MPI_TRY(wire, MPI_Iallgatherv(mine, team->shared->n_here, block, all, wire->count, wire->place,
                                  block, wire->all, &request));
    sundog_status status = mpi_wait_all(team, &request, 1);
    MPI_TRY(wire, MPI_Type_free(&block));
    return status;
}

static struct team_slot *slot_of(const team_shared *shared, int rank, int parity)
{
    return &shared->member[rank].slot[parity];
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Packets of all ranks; what does not fit a packet but a slot follows, if all mean the same. */
static sundog_status meet(sundog_team *team, int parity)
{
    team_shared *shared = team->shared;
    mpi_wire *wire = wire_of(shared);
    int n_ranks = shared->n_ranks, first = shared->first_here, n_here = shared->n_here;
    BASE_TRY(reserve(&wire->packets, (size_t)(n_ranks + n_here) * sizeof(packet)));
    packet *all = (packet *)wire->packets.bytes, *mine = all + n_ranks;
    for (int t = 0; t < n_here; t++) {
        const struct team_slot *slot = slot_of(shared, first + t, parity);
        memset(&mine[t], 0, sizeof mine[t]);
        snprintf(mine[t].call, sizeof mine[t].call, "%s", slot->call);
        mine[t].n_bytes = slot->n_bytes;
        size_t n = slot->n_bytes <= TEAM_SLOT_BYTES ? smaller(slot->n_bytes, PACKET_BYTES) : 0;
        memcpy(mine[t].bytes, slot->bytes, n);
    }
    BASE_TRY(gather_blocks(team, (char *)mine, sizeof *mine, (char *)all));
    bool same = true;
    for (int r = 0; r < n_ranks; r++)
        same = same && all[r].n_bytes == all[0].n_bytes && strcmp(all[r].call, all[0].call) == 0;
    size_t n_bytes = (size_t)all[0].n_bytes;
    bool more = same && n_bytes > PACKET_BYTES && n_bytes <= TEAM_SLOT_BYTES;
    if (more) {
        BASE_TRY(reserve(&wire->gathered, (size_t)(n_ranks + n_here) * n_bytes));
        char *out = wire->gathered.bytes + (size_t)n_ranks * n_bytes;
        for (int t = 0; t < n_here; t++)
            memcpy(out + (size_t)t * n_bytes, slot_of(shared, first + t, parity)->bytes, n_bytes);
        BASE_TRY(gather_blocks(team, out, n_bytes, wire->gathered.bytes));
    }
    for (int r = 0; r < n_ranks; r++) {
        struct team_slot *slot = slot_of(shared, r, parity);
        if (team_is_here(team, r)) continue;
        memcpy(slot->call_there, all[r].call, sizeof slot->call_there);
        slot->call = slot->call_there;
        slot->n_bytes = (size_t)all[r].n_bytes;
        slot->pointer = slot->n_bytes <= TEAM_SLOT_BYTES ? slot->bytes : NULL;
        if (more)
            memcpy(slot->bytes, wire->gathered.bytes + (size_t)r * n_bytes, n_bytes);
        else
            memcpy(slot->bytes, all[r].bytes, smaller(slot->n_bytes, PACKET_BYTES));
    }
    return SUNDOG_OK;
}

sundog_status mpi_meet(sundog_team *team, int parity)
{
    return mpi_judge(team, meet(team, parity));
}

static sundog_status gather(sundog_team *team, int parity)
{
    team_shared *shared = team->shared;
    mpi_wire *wire = wire_of(shared);
    size_t n_bytes = slot_of(shared, team->rank, parity)->n_bytes;
    size_t n_ranks = (size_t)shared->n_ranks, n_here = (size_t)shared->n_here;
    BASE_TRY(reserve(&wire->gathered, n_ranks * n_bytes));
    BASE_TRY(reserve(&wire->out, n_here * n_bytes));
    for (size_t t = 0; t < n_here; t++)
        memcpy(wire->out.bytes + t * n_bytes,
               slot_of(shared, shared->first_here + (int)t, parity)->pointer, n_bytes);
    return gather_blocks(team, wire->out.bytes, n_bytes, wire->gathered.bytes);
}

sundog_status mpi_gather(sundog_team *team, int parity)
{
    return mpi_judge(team, gather(team, parity));
}

static sundog_status broadcast(sundog_team *team, int parity)
{
    static const size_t STEP = (size_t)1 << 30;
    team_shared *shared = team->shared;
    mpi_wire *wire = wire_of(shared);
    int root = slot_of(shared, team->rank, parity)->root;
    size_t n_bytes = slot_of(shared, team->rank, parity)->n_bytes;
    BASE_TRY(reserve(&wire->gathered, n_bytes));
    char *bytes = wire->gathered.bytes;
    /* A copy: should the team die, MPI may read it when the caller's is no more. */
    if (team_is_here(team, root) && n_bytes > 0)
        memcpy(bytes, slot_of(shared, root, parity)->pointer, n_bytes);
    for (size_t at = 0; at < n_bytes; at += STEP) {
        MPI_Request request;
        MPI_TRY(wire, MPI_Ibcast(bytes + at, (int)smaller(STEP, n_bytes - at), MPI_BYTE,
                                 wire->process_of[root], wire->all, &request));
        BASE_TRY(mpi_wait_all(team, &request, 1));
    }
    return SUNDOG_OK;
}

sundog_status mpi_broadcast(sundog_team *team, int parity)
{
    return mpi_judge(team, broadcast(team, parity));
}

const char *mpi_gathered(const team_shared *shared)
{
    return wire_of(shared)->gathered.bytes;
}

/* ---- personal messages ----------------------------------------------------------------------- */

static const team_parcel *parcel_of(const team_shared *shared, int t, int parity)
{
    return slot_of(shared, shared->first_here + t, parity)->pointer;
}

static uint64_t parcel_bytes(const team_parcel *parcel, int to)
{
    return parcel->offset[to + 1] - parcel->offset[to];
}

/* sizes [n_ranks][n_here]: bytes from rank r to rank t of this process. */
static sundog_status swap_sizes(sundog_team *team, int parity)
{
    team_shared *shared = team->shared;
    mpi_wire *wire = wire_of(shared);
    int n_ranks = shared->n_ranks, n_here = shared->n_here;
    size_t n = (size_t)n_ranks * (size_t)n_here;
    if (n > INT_MAX / sizeof(uint64_t))
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "alltoall: too many ranks for MPI's counts");
    BASE_TRY(reserve(&wire->sizes, 2 * n * sizeof(uint64_t)));
    uint64_t *in = (uint64_t *)wire->sizes.bytes, *out = in + n, *next = out;
    for (int p = 0; p < wire->n_processes; p++) {
        int first = wire->first_rank[p], end = wire->first_rank[p + 1];
        wire->count[p] = (end - first) * n_here;
        wire->place[p] = first * n_here;
        for (int t = 0; t < n_here; t++)
            for (int r = first; r < end; r++)
                *next++ = parcel_bytes(parcel_of(shared, t, parity), r);
    }
    MPI_Request request;    /* blocks are of the same size both ways: [there][here] */
    MPI_TRY(wire, MPI_Ialltoallv(out, wire->count, wire->place, MPI_UINT64_T, in, wire->count,
                                 wire->place, MPI_UINT64_T, wire->all, &request));
    return mpi_wait_all(team, &request, 1);
}

sundog_status mpi_swap_sizes(sundog_team *team, int parity)
{
    return mpi_judge(team, swap_sizes(team, parity));
}

size_t mpi_size_from(const team_shared *shared, int to, int from)
{
    const uint64_t *in = (const uint64_t *)wire_of(shared)->sizes.bytes;
    return (size_t)in[(size_t)from * (size_t)shared->n_here + (size_t)(to - shared->first_here)];
}

/* All messages between two processes are one, cut where it is longer than MPI counts. */
static sundog_status post(mpi_wire *wire, bool sends, char *bytes, size_t n_bytes, int process)
{
    static const size_t STEP = (size_t)1 << 30;
    for (size_t at = 0, tag = 0; at < n_bytes; at += STEP, tag++) {
        if (wire->n_requests == wire->capacity_requests) {
            size_t more = 2 * wire->capacity_requests + 16;
            MPI_Request *request = base_try_alloc(more * sizeof *request);
            if (!request) return base_fail(SUNDOG_ERR_MEMORY, "no memory for %zu messages", more);
            if (wire->n_requests > 0)
                memcpy(request, wire->request, wire->n_requests * sizeof *request);
            base_free(wire->request);
            wire->request = request;
            wire->capacity_requests = more;
        }
        MPI_Request *request = &wire->request[wire->n_requests];
        int n = (int)smaller(STEP, n_bytes - at);
        if (sends)
            MPI_TRY(wire,
                    MPI_Isend(bytes + at, n, MPI_BYTE, process, (int)tag, wire->all, request));
        else
            MPI_TRY(wire,
                    MPI_Irecv(bytes + at, n, MPI_BYTE, process, (int)tag, wire->all, request));
        wire->n_requests++;
    }
    return SUNDOG_OK;
}

/* What comes, laid out process by process, rank by rank, by the rank it is for. */
static sundog_status post_receives(sundog_team *team)
{
    team_shared *shared = team->shared;
    mpi_wire *wire = wire_of(shared);
    const uint64_t *size = (const uint64_t *)wire->sizes.bytes;
    size_t n_here = (size_t)shared->n_here, total = 0;
    for (int r = 0; r < shared->n_ranks; r++)
        for (size_t t = 0; t < n_here; t++) {
            wire->inbox[t * (size_t)shared->n_ranks + (size_t)r] = total;
            if (!team_is_here(team, r)) total += size[(size_t)r * n_here + t];
        }
    BASE_TRY(reserve(&wire->in, total));
    for (int p = 0; p < wire->n_processes; p++) {
        if (p == wire->process) continue;
        size_t first = wire->inbox[wire->first_rank[p]], n = 0;
        for (int r = wire->first_rank[p]; r < wire->first_rank[p + 1]; r++)
            for (size_t t = 0; t < n_here; t++) n += size[(size_t)r * n_here + t];
        BASE_TRY(post(wire, false, wire->in.bytes + first, n, p));
    }
    return SUNDOG_OK;
}

static sundog_status post_sends(sundog_team *team, int parity)
{
    team_shared *shared = team->shared;
    mpi_wire *wire = wire_of(shared);
    size_t total = 0;
    for (int t = 0; t < shared->n_here; t++)
        for (int r = 0; r < shared->n_ranks; r++)
            if (!team_is_here(team, r)) total += parcel_bytes(parcel_of(shared, t, parity), r);
    BASE_TRY(reserve(&wire->out, total));
    char *at = wire->out.bytes;
    for (int p = 0; p < wire->n_processes; p++) {
        char *first = at;
        if (p == wire->process) continue;
        for (int t = 0; t < shared->n_here; t++)
            for (int r = wire->first_rank[p]; r < wire->first_rank[p + 1]; r++) {
                const team_parcel *parcel = parcel_of(shared, t, parity);
                size_t n = parcel_bytes(parcel, r);
                if (n > 0) memcpy(at, parcel->bytes + parcel->offset[r], n);
                at += n;
            }
        BASE_TRY(post(wire, true, first, (size_t)(at - first), p));
    }
    return SUNDOG_OK;
}

static sundog_status swap(sundog_team *team, int parity)
{
    mpi_wire *wire = wire_of(team->shared);
    BASE_TRY(swap_sizes(team, parity));
    wire->n_requests = 0;
    BASE_TRY(post_receives(team));
    BASE_TRY(post_sends(team, parity));
    return mpi_wait_all(team, wire->request, wire->n_requests);
}

sundog_status mpi_swap(sundog_team *team, int parity)
{
    return mpi_judge(team, swap(team, parity));
}

const char *mpi_inbox(const team_shared *shared, int to, int from)
{
    size_t t = (size_t)(to - shared->first_here);
    return wire_of(shared)->in.bytes +
           wire_of(shared)->inbox[t * (size_t)shared->n_ranks + (size_t)from];
}
