/* The wire over MPI: waiting, notes, lines and channels, life. wire_mpi.h tells how. */
#include "team/mpi/wire_mpi.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

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

pthread_mutex_t mpi_lock = PTHREAD_MUTEX_INITIALIZER;

static sundog_status mpi_failed(const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int n = 0;
    if (MPI_Error_string(code, text, &n) != MPI_SUCCESS) n = 0;
    return base_fail(SUNDOG_ERR_MPI, "%s failed: %.*s", call, n, text);
}

sundog_status mpi_finish(mpi_wire *wire, const char *text, int code)
{
    leave_mpi(wire);
    if (code == MPI_SUCCESS) return SUNDOG_OK;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "("), text);
    return mpi_failed(name, code);
}

/* ---- waiting --------------------------------------------------------------------------------- */

void mpi_missing(const sundog_team *team, char *text, size_t n_bytes)
{
    const mpi_wire *wire = wire_of(team->shared);
    for (int p = 0; p < wire->n_processes; p++) {
        if (p == wire->process || atomic_load(&wire->heard[p]) == team->n_barriers) continue;
        for (int r = wire->first_rank[p]; r < wire->first_rank[p + 1]; r++) {
            size_t at = strlen(text);
            snprintf(text + at, n_bytes - at, " rank %d", r);
        }
    }
}

static sundog_status time_out(sundog_team *team, double seconds)
{
    char what[512], text[640];
    snprintf(what, sizeof what, "rank %d waits in collective %llu of the team; not there:",
             team->rank, (unsigned long long)team->n_barriers);
    mpi_missing(team, what, sizeof what);
    snprintf(text, sizeof text, "%s; gave up after %.3g s", what, seconds);
    return team_kill(team, SUNDOG_ERR_PEER_TIMEOUT, text);
}

/* Half the limit is over, or another process has told that it waits in the same collective. */
static bool should_tell(const sundog_team *team, int64_t waited, int64_t timeout)
{
    const mpi_wire *wire = wire_of(team->shared);
    if (wire->waits_in == team->n_barriers) return false;
    if (timeout > 0 && waited > timeout / 2) return true;
    for (int p = 0; p < wire->n_processes; p++)
        if (atomic_load(&wire->heard[p]) == team->n_barriers) return true;
    return false;
}

/* Time during which the process did not run does not count. */
sundog_status mpi_wait_all(sundog_team *team, MPI_Request *request, size_t n)
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
        mpi_listen(team->shared);
        if (team_is_dead(team)) return team_fail_dead(team);
        if (look < team->shared->n_spins) continue;
        int64_t now = base_clock_ns(), timeout = atomic_load(&team->shared->timeout_ns);
        waited += now - last < LONG_PAUSE_NS ? now - last : LONG_PAUSE_NS;
        last = now;
        if (should_tell(team, waited, timeout)) mpi_tell_waiting(team->shared, team->n_barriers);
        if (timeout > 0 && waited > timeout) return time_out(team, 1e-9 * (double)waited);
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
}

sundog_status mpi_judge(sundog_team *team, sundog_status status)
{
    if (status == SUNDOG_OK) return SUNDOG_OK;
    if (team_is_dead(team)) return team_fail_dead(team);
    char text[512];
    snprintf(text, sizeof text, "%s", sundog_last_error());
    return team_kill(team, status, text);
}

/* ---- notes ----------------------------------------------------------------------------------- */

enum { TAG_DEATH, TAG_WAITS };

void mpi_tell_death(team_shared *shared)
{
    mpi_wire *wire = wire_of(shared);
    wire->note.cause = (int)shared->cause;
    snprintf(wire->note.reason, sizeof wire->note.reason, "%s", shared->reason);
    for (int p = 0; p < wire->n_processes; p++) {
        MPI_Request request;
        if (p == wire->process) continue;
        enter_mpi(wire);
        if (MPI_Isend(&wire->note, (int)sizeof wire->note, MPI_BYTE, p, TAG_DEATH, wire->word,
                      &request) == MPI_SUCCESS)
            (void)MPI_Request_free(&request);   /* nobody waits for it; the note stays */
        leave_mpi(wire);
    }
}

/* The last such note has left long ago, or else this one is not sent. */
void mpi_tell_waiting(team_shared *shared, uint64_t collective)
{
    mpi_wire *wire = wire_of(shared);
    int left = 1;
    enter_mpi(wire);
    for (int p = 0; p < wire->n_processes && left; p++)
        if (MPI_Test(&wire->telling[p], &left, MPI_STATUS_IGNORE) != MPI_SUCCESS) left = 0;
    if (left) wire->waits_in = collective;
    for (int p = 0; p < wire->n_processes && left; p++)
        if (p != wire->process &&
            MPI_Isend(&wire->waits_in, 1, MPI_UINT64_T, p, TAG_WAITS, wire->word,
                      &wire->telling[p]) != MPI_SUCCESS)
            wire->telling[p] = MPI_REQUEST_NULL;
    leave_mpi(wire);
}

/* One note, if there is any. A death that was heard is in *note. */
static bool take_note(mpi_wire *wire, death_note *note, bool *death)
{
    int there = 0;
    uint64_t collective;
    MPI_Message message;
    MPI_Status status;
    *death = false;
    if (MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, wire->word, &there, &message, &status) !=
            MPI_SUCCESS ||
        !there)
        return false;
    if (status.MPI_TAG == TAG_DEATH) {
        *death = MPI_Mrecv(note, (int)sizeof *note, MPI_BYTE, &message, MPI_STATUS_IGNORE) ==
                 MPI_SUCCESS;
        return *death;
    }
    if (MPI_Mrecv(&collective, 1, MPI_UINT64_T, &message, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return false;
    atomic_store(&wire->heard[status.MPI_SOURCE], collective);
    return true;
}

void mpi_listen(team_shared *shared)
{
    static const int64_t EVERY_NS = 200000;
    mpi_wire *wire = wire_of(shared);
    int64_t now = base_clock_ns();
    if (now - atomic_load_explicit(&wire->listened_ns, memory_order_relaxed) < EVERY_NS) return;
    atomic_store_explicit(&wire->listened_ns, now, memory_order_relaxed);
    if (atomic_load(&shared->state) != TEAM_ALIVE) return;
    death_note note;
    bool death = false;
    enter_mpi(wire);
    while (!death && take_note(wire, &note, &death)) {}
    leave_mpi(wire);
    if (death) team_learn_death(shared, (sundog_status)note.cause, note.reason);
}

/* ---- lines and channels ---------------------------------------------------------------------- */

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
    sundog_status status = mpi_finish(wire, "MPI_Comm_idup", code);
    if (status != SUNDOG_OK) {
        base_free(line);
        return status;
    }
    BASE_TRY(mpi_wait_all(team, &request, 1));  /* dead: the line stays, MPI may still write it */
    wire->opened = line;
    return SUNDOG_OK;
}

static sundog_status part_open_line(sundog_team *team, int parity)
{
    (void)parity;
    return mpi_judge(team, line_open(team));
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
    sundog_status status = mpi_finish(wire, "MPI_Send_init or MPI_Recv_init", code);
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
    mpi_tell_death(channel->line->shared);
}

static void start_channel(team_channel *channel)
{
    mpi_wire *wire = wire_of(channel->line->shared);
    enter_mpi(wire);
    channel->active = true;
    kill_by(channel, mpi_finish(wire, "MPI_Start", MPI_Start(&channel->request)));
}

static bool channel_done(team_channel *channel)
{
    mpi_wire *wire = wire_of(channel->line->shared);
    int done = 0;
    if (!channel->active) return true;
    enter_mpi(wire);
    kill_by(channel, mpi_finish(wire, "MPI_Test",
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

/* ---- life ------------------------------------------------------------------------------------ */

static void wire_drop(mpi_wire *wire)
{
    if (!wire) return;
    base_free(wire->heard);
    base_free(wire->telling);
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
    mpi_listen(shared);
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
    wire->telling = base_try_alloc(n * sizeof *wire->telling);
    wire->heard = base_try_alloc(n * sizeof *wire->heard);
    if (!wire->first_rank || !wire->process_of || !wire->inbox || !wire->count || !wire->place ||
        !wire->telling || !wire->heard) {
        wire_drop(wire);
        return base_fail(SUNDOG_ERR_MEMORY, "no memory for a team of %zu", n_ranks);
    }
    wire->first_rank[0] = 0;
    for (int p = 0; p < n_processes; p++) {
        wire->telling[p] = MPI_REQUEST_NULL;
        atomic_init(&wire->heard[p], 0);
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
            return base_fail(SUNDOG_ERR_ARGUMENT, "process %d cannot have its ranks: n_here must "
                             "be 1 or more, and more than 1 only where MPI was started with "
                             "MPI_Init_thread() at MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE",
                             p);
    return SUNDOG_OK;
}

static const team_wire over_mpi = {
    .name = "mpi",
    .meet = mpi_meet, .gather = mpi_gather, .broadcast = mpi_broadcast,
    .swap_sizes = mpi_swap_sizes, .swap = mpi_swap, .open_line = part_open_line,
    .gathered = mpi_gathered, .size = mpi_size_from, .inbox = mpi_inbox, .opened = opened,
    .close_line = close_line, .open_channel = open_channel, .start = start_channel,
    .done = channel_done, .close_channel = close_channel,
    .missing = mpi_missing, .tell_death = mpi_tell_death, .listen = mpi_listen, .release = release};

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
