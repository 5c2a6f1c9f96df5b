/* The ranks of ranks.h as processes with a GPU each, started by fork: no MPI is needed. Teams of
 * other sizes than the number of processes are passed over.
 *
 *   PROGRAM [-processes N] ...     default: one for each GPU; more need MPS
 *
 * The wire between them (team/wire.h) is a star of sockets: every collective is one round in which
 * all send what they show to process 0, which sends everything to all. A process that ends takes
 * the others with it: their sockets close.
 */
#include "halo/ranks.h"
#undef main

#include "team/wire.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_PROCESSES = 16 };

char **ranks_argv;
static int process, n_processes, hub[MAX_PROCESSES];    /* of process 0: to each; else hub[0] */

/* ---- rounds ---------------------------------------------------------------------------------- */

static char *round_bytes[MAX_PROCESSES];        /* what each process sent in the last round */
static size_t round_size[MAX_PROCESSES];

static void move(int fd, void *bytes, size_t n_bytes, bool out)
{
    for (size_t done = 0; done < n_bytes;) {
        ssize_t n = out ? send(fd, (char *)bytes + done, n_bytes - done, MSG_NOSIGNAL)
                        : recv(fd, (char *)bytes + done, n_bytes - done, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(3);       /* a peer has failed, and said why */
        done += (size_t)n;
    }
}

static void take(int fd, int from)
{
    move(fd, &round_size[from], sizeof round_size[from], false);
    round_bytes[from] = realloc(round_bytes[from], round_size[from] + 1);
    CHECK(round_bytes[from]);
    move(fd, round_bytes[from], round_size[from], false);
}

static void give(int fd, int from)
{
    move(fd, &round_size[from], sizeof round_size[from], true);
    move(fd, round_bytes[from], round_size[from], true);
}

static void run_round(const void *mine, size_t n_bytes)
{
    round_size[process] = n_bytes;
    round_bytes[process] = realloc(round_bytes[process], n_bytes + 1);
    CHECK(round_bytes[process]);
    memcpy(round_bytes[process], mine, n_bytes);
    if (process > 0) {
        give(hub[0], process);
        for (int p = 0; p < n_processes; p++)
            if (p != process) take(hub[0], p);
        return;
    }
    for (int p = 1; p < n_processes; p++) take(hub[p], p);
    for (int to = 1; to < n_processes; to++)
        for (int p = 0; p < n_processes; p++)
            if (p != to) give(hub[to], p);
}

/* ---- wire ------------------------------------------------------------------------------------ */

static char *blocks;
static size_t inbox_offset[MAX_PROCESSES], inbox_size[MAX_PROCESSES];

static struct team_slot *slot_of(const team_shared *shared, int rank, int parity)
{
    return &shared->member[rank].slot[parity];
}

static sundog_status meet(sundog_team *team, int parity)
{
    struct shown {
        char call[24];
        size_t n_bytes;
        unsigned char bytes[TEAM_SLOT_BYTES];
    } mine = {{0}, 0, {0}}, theirs;
    const struct team_slot *slot = slot_of(team->shared, process, parity);
    snprintf(mine.call, sizeof mine.call, "%s", slot->call);
    mine.n_bytes = slot->n_bytes;
    memcpy(mine.bytes, slot->bytes, sizeof mine.bytes);
    run_round(&mine, sizeof mine);
    for (int r = 0; r < n_processes; r++) {
        struct team_slot *other = slot_of(team->shared, r, parity);
        if (r == process) continue;
        memcpy(&theirs, round_bytes[r], sizeof theirs);
        memcpy(other->call_there, theirs.call, sizeof other->call_there);
        memcpy(other->bytes, theirs.bytes, sizeof other->bytes);
        other->call = other->call_there;
        other->n_bytes = theirs.n_bytes;
        other->pointer = theirs.n_bytes <= TEAM_SLOT_BYTES ? other->bytes : NULL;
    }
    return SUNDOG_OK;
}

/* All blocks, or the root's alone, to where gathered() has them. */
static sundog_status gather(sundog_team *team, int parity)
{
    const struct team_slot *slot = slot_of(team->shared, process, parity);
    run_round(slot->pointer, slot->n_bytes);
    blocks = realloc(blocks, (size_t)n_processes * slot->n_bytes + 1);
    CHECK(blocks);
    for (int r = 0; r < n_processes; r++)
        memcpy(blocks + (size_t)r * slot->n_bytes, round_bytes[r], slot->n_bytes);
    return SUNDOG_OK;
}

static sundog_status broadcast(sundog_team *team, int parity)
{
    const struct team_slot *slot = slot_of(team->shared, process, parity);
    run_round(slot->pointer, slot->root == process ? slot->n_bytes : 0);
    blocks = realloc(blocks, slot->n_bytes + 1);
    CHECK(blocks);
    memcpy(blocks, round_bytes[slot->root], slot->n_bytes);
    return SUNDOG_OK;
}

/* Everybody gets everything, and keeps what is for him. */
static sundog_status swap(sundog_team *team, int parity, bool with_bytes)
{
    const team_parcel *parcel = slot_of(team->shared, process, parity)->pointer;
    size_t n = (size_t)n_processes + 1, head = n * sizeof(size_t);
    size_t n_bytes = with_bytes ? parcel->offset[n_processes] : 0;
    char *mine = malloc(head + n_bytes + 1);
    CHECK(mine);
    memcpy(mine, parcel->offset, head);
    if (n_bytes > 0) memcpy(mine + head, parcel->bytes, n_bytes);
    run_round(mine, head + n_bytes);
    free(mine);
    for (int r = 0; r < n_processes; r++) {
        size_t offset[MAX_PROCESSES + 1];
        memcpy(offset, round_bytes[r], head);
        inbox_offset[r] = head + offset[process];
        inbox_size[r] = offset[process + 1] - offset[process];
    }
    return SUNDOG_OK;
}

static sundog_status swap_sizes(sundog_team *team, int parity)
{
    return swap(team, parity, false);
}
static sundog_status swap_bytes(sundog_team *team, int parity)
{
    return swap(team, parity, true);
}

static const char *gathered(const team_shared *shared)
{
    (void)shared;
    return blocks;
}

static size_t size_from(const team_shared *shared, int to, int from)
{
    (void)shared, (void)to;
    return inbox_size[from];
}

static const char *inbox(const team_shared *shared, int to, int from)
{
    (void)shared, (void)to;
    return round_bytes[from] + inbox_offset[from];
}

static void nothing(team_shared *shared)
{
    (void)shared;
}

/* (No lines: exchanges of host memory here are those of the reference, which needs none.) */
static const team_wire sockets = {
    .name = "forked", .meet = meet, .gather = gather, .broadcast = broadcast,
    .swap_sizes = swap_sizes, .swap = swap_bytes, .gathered = gathered, .size = size_from,
    .inbox = inbox, .tell_death = nothing, .listen = nothing, .release = nothing};

/* ---- ranks ----------------------------------------------------------------------------------- */

int ranks_a_process(int n_ranks)
{
    (void)n_ranks;
    return 0;                       /* there is a wire even when there is one process */
}

bool ranks_can(int n_ranks)
{
    return n_ranks == n_processes;
}

int ranks_create(int n_ranks, sundog_team **team)
{
    if (n_ranks != n_processes) return 0;
    CHECK_OK(team_make(n_processes, process, 1, team_spins(n_processes), &sockets, NULL, team));
    return 1;
}

void ranks_meet(void)
{
}

/* In a process of its own: CUDA does not survive a fork. */
static int count_gpus(void)
{
    int status = 0;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(sundog_gpu_count());
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void start(pid_t *child)
{
    int pair[MAX_PROCESSES][2];
    for (int p = 1; p < n_processes; p++)
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair[p]) == 0);
    for (int p = 0; p < n_processes; p++) {
        child[p] = fork();
        CHECK(child[p] >= 0);
        if (child[p] > 0) continue;
        process = p;
        for (int q = 1; q < n_processes; q++) {
            int mine = p == 0 ? 0 : 1;
            bool keep = p == 0 || p == q;
            if (keep) hub[p == 0 ? q : 0] = pair[q][mine];
            CHECK(close(pair[q][keep ? 1 - mine : 0]) == 0);
            if (!keep) CHECK(close(pair[q][1]) == 0);
        }
        exit(ranks_main());
    }
    for (int p = 1; p < n_processes; p++) CHECK(close(pair[p][0]) == 0 && close(pair[p][1]) == 0);
}

/* Of the processes' exit codes: the first that is neither 0 nor 3. */
int main(int argc, char **argv)
{
    pid_t child[MAX_PROCESSES];
    char text[512];
    ranks_argv = argv;
    if (sundog_nvshmem_describe(text, sizeof text) != SUNDOG_OK) {
        printf("skipped: %s\n", sundog_last_error());
        return 77;
    }
    n_processes = count_gpus();
    if (n_processes == 0) {
        printf("skipped: no GPU here\n");
        return 77;
    }
    if (argc > 2 && strcmp(argv[1], "-processes") == 0) n_processes = atoi(argv[2]);
    CHECK(n_processes >= 1 && n_processes <= MAX_PROCESSES);
    printf("%s: %d process%s\n", text, n_processes, n_processes > 1 ? "es" : "");
    fflush(stdout);
    start(child);
    int result = 0;
    for (int p = 0; p < n_processes; p++) {
        int status;
        CHECK(waitpid(child[p], &status, 0) == child[p]);
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        if (result == 0 || result == 3) result = code ? code : result;
    }
    return result;
}
