/* The wire over MPI: collectives of processes, channels, and word of a death.
 *
 * Every call that could wait is a nonblocking one that is asked again and again, so that a wait
 * ends by the time limit or by a death elsewhere: MPI itself would wait for ever.
 *
 * Threads. Only one thread of a process is in a collective part; channels are used by all. Where
 * MPI gives MPI_THREAD_MULTIPLE they call it as they come, with MPI_THREAD_SERIALIZED one after the
 * other behind a lock, and with less a process has one rank.
 *
 * Three communicators, so that nothing is mistaken for something else: `all` for collectives, `word`
 * for deaths, and one for each line.
 */
#include "sundog/mpi.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "team/wire.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct death_note {
    int cause;
    char reason[1024];
} death_note;

/* What a rank shows in a barrier: small data as well, so that one message does. */
enum { PACKET_BYTES = 96 };
typedef struct packet {
    char call[24];
    uint64_t n_bytes;
    unsigned char bytes[PACKET_BYTES];
} packet;

typedef struct grown {
    char *bytes;
    size_t capacity;
} grown;

struct team_line {
    team_shared *shared;
    MPI_Comm comm;
    _Atomic int n_users;
};

struct team_channel {
    team_line *line;
    MPI_Request request;
    bool active;
};

typedef struct mpi_wire {
    MPI_Comm all, word;
    int process, n_processes, largest_tag;
    int *first_rank;                /* [n_processes + 1] */
    int *process_of;                /* [n_ranks] */
    bool locks;
    _Atomic int64_t listened_ns;
    death_note note;                /* told by this process */
    grown gathered, sizes, out, in, packets;
    size_t *inbox;                  /* [n_here][n_ranks] offsets in `in` */
    int *count, *place;             /* [n_processes], scratch */
    MPI_Request *request;           /* as many as there are parts of messages */
    size_t n_requests, capacity_requests;
    team_line *opened;
} mpi_wire;

static mpi_wire *wire_of(const team_shared *shared)
{
    return shared->wire_state;
}

/* Threads in MPI one after the other, where it must be so: those of all teams. */
static pthread_mutex_t mpi_lock = PTHREAD_MUTEX_INITIALIZER;

static void enter_mpi(mpi_wire *wire)
{
    if (wire->locks) pthread_mutex_lock(&mpi_lock);
}
static void leave_mpi(mpi_wire *wire)
{
    if (wire->locks) pthread_mutex_unlock(&mpi_lock);
}

static sundog_status mpi_failed(const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int n = 0;
    if (MPI_Error_string(code, text, &n) != MPI_SUCCESS) n = 0;
    return base_fail(SUNDOG_ERR_MPI, "%s failed: %.*s", call, n, text);
}

/* A call of MPI between enter_mpi() and leave_mpi(). */
#define MPI_TRY(wire, call) BASE_TRY(finish_call(wire, #call, (enter_mpi(wire), call)))
static sundog_status finish_call(mpi_wire *wire, const char *text, int code)
{
    leave_mpi(wire);
    if (code == MPI_SUCCESS) return SUNDOG_OK;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "("), text);
    return mpi_failed(name, code);
}

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

/* ---- waiting ----------------------------------------------------------------------------------- */

static void listen_to_others(team_shared *shared);

static sundog_status time_out(sundog_team *team, double seconds)
{
    char text[256];
    snprintf(text, sizeof text,
             "rank %d waits in collective %llu of the team for ranks of other processes; gave up "
             "after %.3g s", team->rank, (unsigned long long)team->n_barriers, seconds);
    return team_kill(team, SUNDOG_ERR_PEER_TIMEOUT, text);
}

/* Until all requests are done. Time during which the process did not run does not count. */
static sundog_status wait_all(sundog_team *team, MPI_Request *request, size_t n)
{
    static const int64_t NAP_NS = 20000, LONG_PAUSE_NS = 2000000000;
    mpi_wire *wire = wire_of(team->shared);
    int64_t waited = 0, last = base_clock_ns();
    size_t first = 0;               /* not done */
    for (int64_t look = 0;; look++) {
        int done = 1;
        while (first < n && done) {
            MPI_TRY(wire, MPI_Test(&request[first], &done, MPI_STATUS_IGNORE));
            first += done != 0;
        }
        if (first == n) return SUNDOG_OK;
        listen_to_others(team->shared);
        if (team_is_dead(team)) return team_fail_dead(team);
        if (look < team->shared->n_spins) continue;
        int64_t now = base_clock_ns(), timeout = atomic_load(&team->shared->timeout_ns);
        waited += now - last < LONG_PAUSE_NS ? now - last : LONG_PAUSE_NS;
        last = now;
        if (timeout > 0 && waited > timeout) return time_out(team, 1e-9 * (double)waited);
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
}

/* A part that failed here kills the team, for the others wait for this process. */
static sundog_status judge(sundog_team *team, sundog_status status)
{
    if (status == SUNDOG_OK) return SUNDOG_OK;
    if (team_is_dead(team)) return team_fail_dead(team);
    char text[512];
    snprintf(text, sizeof text, "%s", sundog_last_error());
    return team_kill(team, status, text);
}

/* ---- collectives of equal blocks --------------------------------------------------------------- */

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
    sundog_status status = wait_all(team, &request, 1);
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

static sundog_status part_meet(sundog_team *team, int parity)
{
    return judge(team, meet(team, parity));
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

static sundog_status part_gather(sundog_team *team, int parity)
{
    return judge(team, gather(team, parity));
}

static sundog_status broadcast(sundog_team *team, int parity)
{
    static const size_t STEP = (size_t)1 << 30;
    team_shared *shared = team->shared;
    mpi_wire *wire = wire_of(shared);
    int root = slot_of(shared, team->rank, parity)->root;
    size_t n_bytes = slot_of(shared, team->rank, parity)->n_bytes;
    bool here = team_is_here(team, root);
    if (!here) BASE_TRY(reserve(&wire->gathered, n_bytes));
    const void *shown = here ? slot_of(shared, root, parity)->pointer : wire->gathered.bytes;
    char *bytes;                    /* MPI's root only reads */
    memcpy(&bytes, &shown, sizeof bytes);
    for (size_t at = 0; at < n_bytes; at += STEP) {
        MPI_Request request;
        MPI_TRY(wire, MPI_Ibcast(bytes + at, (int)smaller(STEP, n_bytes - at), MPI_BYTE,
                                 wire->process_of[root], wire->all, &request));
        BASE_TRY(wait_all(team, &request, 1));
    }
    return SUNDOG_OK;
}

static sundog_status part_broadcast(sundog_team *team, int parity)
{
    return judge(team, broadcast(team, parity));
}

static const char *gathered(const team_shared *shared)
{
    return wire_of(shared)->gathered.bytes;
}

/* ---- personal messages -------------------------------------------------------------------------- */

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
    return wait_all(team, &request, 1);
}

static sundog_status part_swap_sizes(sundog_team *team, int parity)
{
    return judge(team, swap_sizes(team, parity));
}

static size_t size_from(const team_shared *shared, int to, int from)
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
            MPI_TRY(wire, MPI_Isend(bytes + at, n, MPI_BYTE, process, (int)tag, wire->all, request));
        else
            MPI_TRY(wire, MPI_Irecv(bytes + at, n, MPI_BYTE, process, (int)tag, wire->all, request));
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
    return wait_all(team, wire->request, wire->n_requests);
}

static sundog_status part_swap(sundog_team *team, int parity)
{
    return judge(team, swap(team, parity));
}

static const char *inbox(const team_shared *shared, int to, int from)
{
    size_t t = (size_t)(to - shared->first_here);
    return wire_of(shared)->in.bytes +
           wire_of(shared)->inbox[t * (size_t)shared->n_ranks + (size_t)from];
}

/* ---- death --------------------------------------------------------------------------------------- */

static void tell_death(team_shared *shared)
{
    mpi_wire *wire = wire_of(shared);
    wire->note.cause = (int)shared->cause;
    snprintf(wire->note.reason, sizeof wire->note.reason, "%s", shared->reason);
    for (int p = 0; p < wire->n_processes; p++) {
        MPI_Request request;
        if (p == wire->process) continue;
        enter_mpi(wire);
        if (MPI_Isend(&wire->note, (int)sizeof wire->note, MPI_BYTE, p, 0, wire->word, &request) ==
            MPI_SUCCESS)
            (void)MPI_Request_free(&request);   /* nobody waits for it; the note stays */
        leave_mpi(wire);
    }
}

static void listen_to_others(team_shared *shared)
{
    static const int64_t EVERY_NS = 200000;
    mpi_wire *wire = wire_of(shared);
    int64_t now = base_clock_ns();
    if (now - atomic_load_explicit(&wire->listened_ns, memory_order_relaxed) < EVERY_NS) return;
    atomic_store_explicit(&wire->listened_ns, now, memory_order_relaxed);
    if (atomic_load(&shared->state) != TEAM_ALIVE) return;
    int there = 0;
    death_note note;
    MPI_Message message;
    enter_mpi(wire);
    bool heard = MPI_Improbe(MPI_ANY_SOURCE, 0, wire->word, &there, &message, MPI_STATUS_IGNORE) ==
                     MPI_SUCCESS && there &&
                 MPI_Mrecv(&note, (int)sizeof note, MPI_BYTE, &message, MPI_STATUS_IGNORE) ==
                     MPI_SUCCESS;
    leave_mpi(wire);
    if (heard) team_learn_death(shared, (sundog_status)note.cause, note.reason);
}

/* ---- lines and channels ------------------------------------------------------------------------- */

static sundog_status line_open(sundog_team *team)
{
    mpi_wire *wire = wire_of(team->shared);
    team_line *line = base_try_alloc(sizeof *line);
    if (!line) return base_fail(SUNDOG_ERR_MEMORY, "no memory for a line");
    line->shared = team->shared;
    atomic_init(&line->n_users, team->shared->n_here);
    MPI_Request request;
    enter_mpi(wire);
    int code = MPI_Comm_idup(wire->all, &line->comm, &request);
    sundog_status status = finish_call(wire, "MPI_Comm_idup", code);
    if (status == SUNDOG_OK) status = wait_all(team, &request, 1);
    if (status != SUNDOG_OK) {
        base_free(line);
        return status;
    }
    wire->opened = line;
    return SUNDOG_OK;
}

static sundog_status part_open_line(sundog_team *team, int parity)
{
    (void)parity;
    return judge(team, line_open(team));
}

static team_line *opened(const team_shared *shared)
{
    return wire_of(shared)->opened;
}

static void close_line(team_line *line)
{
    if (!line || atomic_fetch_sub(&line->n_users, 1) > 1) return;
    mpi_wire *wire = wire_of(line->shared);
    if (atomic_load(&line->shared->state) == TEAM_ALIVE) {
        enter_mpi(wire);
        (void)MPI_Comm_free(&line->comm);
        leave_mpi(wire);
    }
    base_free(line);
}

/* The receiver's number of the message and its place among the ranks of its process. */
static sundog_status tag_of(const mpi_wire *wire, const wire_message *message, int receiver,
                            int *tag)
{
    int p = wire->process_of[receiver], n = wire->first_rank[p + 1] - wire->first_rank[p];
    int64_t t = (int64_t)message->number * n + (receiver - wire->first_rank[p]);
    *tag = (int)t;
    if (t <= wire->largest_tag) return SUNDOG_OK;
    return base_fail(SUNDOG_ERR_UNSUPPORTED, "an exchange with %d messages needs larger tags than "
                     "this MPI has (%d)", message->number + 1, wire->largest_tag);
}

static sundog_status open_channel(sundog_team *team, team_line *line, const wire_message *message,
                                team_channel **out)
{
    mpi_wire *wire = wire_of(team->shared);
    int tag, peer = wire->process_of[message->peer];
    BASE_TRY(tag_of(wire, message, message->sends ? message->peer : team->rank, &tag));
    if (message->n_bytes > INT_MAX)
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "a message of %zu bytes to rank %d is longer than "
                         "MPI counts", message->n_bytes, message->peer);
    team_channel *channel = base_try_alloc(sizeof *channel);
    if (!channel) return base_fail(SUNDOG_ERR_MEMORY, "no memory for a channel");
    *channel = (team_channel){.line = line};
    int n = (int)message->n_bytes;
    enter_mpi(wire);
    int code = message->sends ? MPI_Send_init(message->bytes, n, MPI_BYTE, peer, tag, line->comm,
                                              &channel->request)
                              : MPI_Recv_init(message->bytes, n, MPI_BYTE, peer, tag, line->comm,
                                              &channel->request);
    sundog_status status = finish_call(wire, "MPI_Send_init or MPI_Recv_init", code);
    if (status != SUNDOG_OK) {
        base_free(channel);
        return status;
    }
    *out = channel;
    return SUNDOG_OK;
}

static void kill_by(team_channel *channel, sundog_status status)
{
    if (status == SUNDOG_OK) return;
    team_learn_death(channel->line->shared, status, sundog_last_error());
    tell_death(channel->line->shared);
}

static void start_channel(team_channel *channel)
{
    mpi_wire *wire = wire_of(channel->line->shared);
    enter_mpi(wire);
    channel->active = true;
    kill_by(channel, finish_call(wire, "MPI_Start", MPI_Start(&channel->request)));
}

static bool channel_done(team_channel *channel)
{
    mpi_wire *wire = wire_of(channel->line->shared);
    int done = 0;
    if (!channel->active) return true;
    enter_mpi(wire);
    kill_by(channel, finish_call(wire, "MPI_Test",
                                 MPI_Test(&channel->request, &done, MPI_STATUS_IGNORE)));
    channel->active = !done;
    return done;
}

static void close_channel(team_channel *channel)
{
    if (!channel) return;
    mpi_wire *wire = wire_of(channel->line->shared);
    if (!channel->active) {         /* else the team is dead, and MPI with it */
        enter_mpi(wire);
        (void)MPI_Request_free(&channel->request);
        leave_mpi(wire);
    }
    base_free(channel);
}

/* ---- life ---------------------------------------------------------------------------------------- */

static void wire_drop(mpi_wire *wire)
{
    if (!wire) return;
    base_free(wire->request);
    base_free(wire->place);
    base_free(wire->count);
    base_free(wire->inbox);
    base_free(wire->packets.bytes);
    base_free(wire->in.bytes);
    base_free(wire->out.bytes);
    base_free(wire->sizes.bytes);
    base_free(wire->gathered.bytes);
    base_free(wire->process_of);
    base_free(wire->first_rank);
    base_free(wire);
}

static void release(team_shared *shared)
{
    mpi_wire *wire = wire_of(shared);
    listen_to_others(shared);
    if (atomic_load(&shared->state) != TEAM_ALIVE) return;  /* MPI may still send the note */
    int over = 0;
    if (MPI_Finalized(&over) == MPI_SUCCESS && !over) {
        (void)MPI_Comm_free(&wire->word);
        (void)MPI_Comm_free(&wire->all);
    }
    wire_drop(wire);
}

static sundog_status wire_alloc(const int *n_of, int n_processes, int process, mpi_wire **out)
{
    mpi_wire *wire = base_try_alloc(sizeof *wire);
    if (!wire) return base_fail(SUNDOG_ERR_MEMORY, "no memory for a team");
    *wire = (mpi_wire){.process = process, .n_processes = n_processes};
    size_t n_ranks = 0, n = (size_t)n_processes;
    for (int p = 0; p < n_processes; p++) n_ranks += (size_t)n_of[p];
    wire->first_rank = base_try_alloc((n + 1) * sizeof(int));
    wire->process_of = base_try_alloc(n_ranks * sizeof(int));
    wire->inbox = base_try_alloc(n_ranks * (size_t)n_of[process] * sizeof(size_t));
    wire->count = base_try_alloc(n * sizeof(int));
    wire->place = base_try_alloc(n * sizeof(int));
    if (!wire->first_rank || !wire->process_of || !wire->inbox || !wire->count || !wire->place) {
        wire_drop(wire);
        return base_fail(SUNDOG_ERR_MEMORY, "no memory for a team of %zu", n_ranks);
    }
    wire->first_rank[0] = 0;
    for (int p = 0; p < n_processes; p++) {
        wire->first_rank[p + 1] = wire->first_rank[p] + n_of[p];
        for (int r = wire->first_rank[p]; r < wire->first_rank[p + 1]; r++) wire->process_of[r] = p;
    }
    *out = wire;
    return SUNDOG_OK;
}

static sundog_status open_comms(mpi_wire *wire, MPI_Comm comm)
{
    MPI_TRY(wire, MPI_Comm_dup(comm, &wire->all));
    MPI_TRY(wire, MPI_Comm_dup(comm, &wire->word));
    MPI_TRY(wire, MPI_Comm_set_errhandler(wire->all, MPI_ERRORS_RETURN));
    MPI_TRY(wire, MPI_Comm_set_errhandler(wire->word, MPI_ERRORS_RETURN));
    int *upper = NULL, found = 0;
    MPI_TRY(wire, MPI_Comm_get_attr(wire->all, MPI_TAG_UB, &upper, &found));
    wire->largest_tag = found ? *upper : 32767;
    return SUNDOG_OK;
}

/* Ranks that share this machine's cores. */
static sundog_status count_neighbours(mpi_wire *wire, int n_here, int *n_near)
{
    MPI_Comm near;
    MPI_TRY(wire, MPI_Comm_split_type(wire->all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near));
    MPI_TRY(wire, MPI_Allreduce(&n_here, n_near, 1, MPI_INT, MPI_SUM, near));
    MPI_TRY(wire, MPI_Comm_free(&near));
    return SUNDOG_OK;
}

/* Process by process: how many ranks it brings; 0: it cannot. */
static sundog_status count_ranks(MPI_Comm comm, int n_here, int level, int *n_of)
{
    int n_processes, mine = n_here;
    if (n_here < 1 || (n_here > 1 && level < MPI_THREAD_SERIALIZED)) mine = 0;
    MPI_Comm_size(comm, &n_processes);
    int code = MPI_Allgather(&mine, 1, MPI_INT, n_of, 1, MPI_INT, comm);
    if (code != MPI_SUCCESS) return mpi_failed("MPI_Allgather", code);
    for (int p = 0; p < n_processes; p++)
        if (n_of[p] == 0)
            return base_fail(SUNDOG_ERR_ARGUMENT, "process %d cannot have its ranks: n_here must be "
                             "1 or more, and more than 1 only where MPI was started with "
                             "MPI_Init_thread() at MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE", p);
    return SUNDOG_OK;
}

static const team_wire over_mpi = {
    .name = "mpi",
    .meet = part_meet, .gather = part_gather, .broadcast = part_broadcast,
    .swap_sizes = part_swap_sizes, .swap = part_swap, .open_line = part_open_line,
    .gathered = gathered, .size = size_from, .inbox = inbox, .opened = opened,
    .close_line = close_line, .open_channel = open_channel, .start = start_channel,
    .done = channel_done, .close_channel = close_channel,
    .tell_death = tell_death, .listen = listen_to_others, .release = release};

sundog_status sundog_team_create_mpi(MPI_Comm comm, int n_here, sundog_team **teams)
{
    int begun = 0, over = 0, level, n_processes, process, n_near = 1;
    if (!teams) return base_fail(SUNDOG_ERR_ARGUMENT, "teams is NULL");
    MPI_Initialized(&begun);
    MPI_Finalized(&over);
    if (!begun || over) return base_fail(SUNDOG_ERR_ARGUMENT, "MPI is not running: call MPI_Init");
    MPI_Query_thread(&level);
    MPI_Comm_size(comm, &n_processes);
    MPI_Comm_rank(comm, &process);
    int *n_of = base_try_alloc((size_t)n_processes * sizeof *n_of);
    if (!n_of) return base_fail(SUNDOG_ERR_MEMORY, "no memory for a team");
    mpi_wire *wire = NULL;
    sundog_status status = count_ranks(comm, n_here, level, n_of);
    if (status != SUNDOG_OK || n_processes == 1) {
        base_free(n_of);
        return status != SUNDOG_OK ? status : sundog_team_create_threads(n_here, teams);
    }
    status = wire_alloc(n_of, n_processes, process, &wire);
    base_free(n_of);
    BASE_TRY(status);
    status = open_comms(wire, comm);
    if (status == SUNDOG_OK) status = count_neighbours(wire, n_here, &n_near);
    wire->locks = level == MPI_THREAD_SERIALIZED;
    if (status == SUNDOG_OK)
        status = team_make(wire->first_rank[n_processes], wire->first_rank[process], n_here,
                           team_spins(n_near), &over_mpi, wire, teams);
    if (status != SUNDOG_OK) wire_drop(wire);
    return status;
}
