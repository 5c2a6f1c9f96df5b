/* Ranks that are threads of this process: life, bells, waiting, death. The protocol is told in
 * team.h.
 *
 * Waiting was chosen by measuring (docs/exchange.md): spin for about as long as a sleep and a
 * wake-up cost, hardly at all when ranks outnumber cores, then sleep in the kernel. Rejected:
 * yielding. It saves wake-ups, but a thread that yields goes behind every other program on the
 * machine, while one that is woken runs soon: on a busy machine steps took up to three times as
 * long.
 */
#include "team/team.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "team/wire.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SPINS_WITH_CORES = 500,         /* some 15 us: every rank can have a core */
    SPINS_CROWDED = 30,             /* 1 us: the peer is likely waiting for this core */
    MAX_RANKS = 4096,
};
static const int64_t DEFAULT_TIMEOUT_NS = 60 * INT64_C(1000000000);
static const int64_t LONGEST_SLEEP_NS = INT64_C(1000000000);

static int cores_here(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

int team_spins(int n_ranks)
{
    return n_ranks <= cores_here() ? SPINS_WITH_CORES : SPINS_CROWDED;
}

static team_shared *shared_create(int n_ranks)
{
    team_shared *shared = base_try_alloc(sizeof *shared);
    if (!shared) return NULL;
    memset(shared, 0, sizeof *shared);
    shared->member = base_try_alloc((size_t)n_ranks * sizeof *shared->member);
    if (!shared->member) {
        base_free(shared);
        return NULL;
    }
    memset(shared->member, 0, (size_t)n_ranks * sizeof *shared->member);
    shared->n_ranks = n_ranks;
    atomic_init(&shared->timeout_ns, DEFAULT_TIMEOUT_NS);
    return shared;
}

static sundog_team *handle_create(team_shared *shared, int rank)
{
    sundog_team *team = base_try_alloc(sizeof *team);
    size_t *offset = base_try_alloc(((size_t)shared->n_ranks + 1) * sizeof *offset);
    if (!team || !offset) {
        base_free(offset);
        base_free(team);
        return NULL;
    }
    *team = (sundog_team){.rank = rank, .shared = shared, .offset = offset};
    return team;
}

static void handle_free(sundog_team **team)
{
    base_free((*team)->offset);
    base_free(*team);
    *team = NULL;
}

sundog_status team_make(int n_ranks, int first_here, int n_here, int n_spins,
                        const struct team_wire *wire, void *wire_state, sundog_team **teams)
{
    team_shared *shared = shared_create(n_ranks);
    if (!shared) return base_fail(SUNDOG_ERR_MEMORY, "no memory for a team of %d", n_ranks);
    for (int t = 0; t < n_here; t++) {
        teams[t] = handle_create(shared, first_here + t);
        if (!teams[t]) {
            while (t > 0) handle_free(&teams[--t]);
            base_free(shared->member);
            base_free(shared);
            return base_fail(SUNDOG_ERR_MEMORY, "no memory for a team of %d", n_ranks);
        }
    }
    shared->first_here = first_here;
    shared->n_here = n_here;
    shared->n_spins = n_spins;
    shared->wire = wire;
    shared->wire_state = wire_state;
    atomic_init(&shared->n_handles, n_here);
    return SUNDOG_OK;
}

sundog_status sundog_team_create_threads(int n_ranks, sundog_team **teams)
{
    if (!teams) return base_fail(SUNDOG_ERR_ARGUMENT, "teams is NULL");
    if (n_ranks < 1 || n_ranks > MAX_RANKS)
        return base_fail(SUNDOG_ERR_ARGUMENT, "n_ranks is %d, must be 1 to %d", n_ranks, MAX_RANKS);
    return team_make(n_ranks, 0, n_ranks, team_spins(n_ranks), NULL, NULL, teams);
}

void sundog_team_destroy(sundog_team **team)
{
    if (!team || !*team) return;
    team_shared *shared = (*team)->shared;
    handle_free(team);
    if (atomic_fetch_sub(&shared->n_handles, 1) > 1) return;
    if (shared->wire) shared->wire->release(shared);
    base_free(shared->member);
    base_free(shared);
}

int sundog_team_rank(const sundog_team *team)
{
    return team->rank;
}

int sundog_team_size(const sundog_team *team)
{
    return team->shared->n_ranks;
}

void sundog_team_set_timeout(sundog_team *team, double seconds)
{
    int64_t ns = 0;
    if (seconds > 0) ns = seconds < 9e9 ? (int64_t)(seconds * 1e9) + 1 : INT64_MAX / 2;
    atomic_store(&team->shared->timeout_ns, ns);
}

/* ---- bells ----------------------------------------------------------------------------------- */

static void bell_sleep(team_bell *bell, uint32_t sequence, int64_t ns)
{
    struct timespec limit = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    syscall(SYS_futex, &bell->sequence, FUTEX_WAIT_PRIVATE, sequence, &limit, NULL, 0);
}

void team_ring(team_bell *bell)
{
    atomic_fetch_add(&bell->sequence, 1);
    syscall(SYS_futex, &bell->sequence, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* ---- death ----------------------------------------------------------------------------------- */

static bool others_inside(const sundog_team *team)
{
    const team_shared *shared = team->shared;
    for (int r = shared->first_here; r < shared->first_here + shared->n_here; r++)
        if (r != team->rank && base_acquire_seen(&shared->member[r].inside)) return true;
    return false;
}

sundog_status team_fail_dead(sundog_team *team)
{
    team_shared *shared = team->shared;
    while (atomic_load(&shared->state) != TEAM_DEAD) sched_yield();
    while (others_inside(team)) sched_yield();  /* a copy, never a wait: short */
    return base_fail(shared->cause, "%s", shared->reason);
}

/* True for the first to do so. */
static bool kill_shared(team_shared *shared, sundog_status cause, const char *reason)
{
    int alive = TEAM_ALIVE;
    if (!atomic_compare_exchange_strong(&shared->state, &alive, TEAM_DYING)) return false;
    shared->cause = cause;
    snprintf(shared->reason, sizeof shared->reason, "%s", reason);
    atomic_store(&shared->state, TEAM_DEAD);
    team_ring(&shared->barrier_bell);
    for (int t = 0; t < shared->n_here; t++)
        team_ring(&shared->member[shared->first_here + t].bell);
    return true;
}

void team_learn_death(team_shared *shared, sundog_status cause, const char *reason)
{
    (void)kill_shared(shared, cause, reason);
}

sundog_status team_kill(sundog_team *team, sundog_status cause, const char *reason)
{
    team_shared *shared = team->shared;
    if (kill_shared(shared, cause, reason) && shared->wire) shared->wire->tell_death(shared);
    return team_fail_dead(team);
}

void sundog_team_abort(sundog_team *team, const char *reason)
{
    team_shared *shared = team->shared;
    if (!reason) reason = "aborted without a reason";
    if (kill_shared(shared, SUNDOG_ERR_ABORTED, reason) && shared->wire)
        shared->wire->tell_death(shared);
}

sundog_status team_enter(sundog_team *team)
{
    base_word *inside = &team->shared->member[team->rank].inside;
    base_release_seen(inside, 1);
    if (!team_is_dead(team)) return SUNDOG_OK;
    base_release_seen(inside, 0);
    return team_fail_dead(team);
}

void team_leave(sundog_team *team)
{
    base_release(&team->shared->member[team->rank].inside, 0);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static sundog_status time_out(sundog_team *team, const team_condition *condition, int64_t waited_ns)
{
    char what[512], text[768];
    condition->describe(condition->arg, what, sizeof what);
    snprintf(text, sizeof text, "%s; gave up after %.3g s", what, 1e-9 * (double)waited_ns);
    return team_kill(team, SUNDOG_ERR_PEER_TIMEOUT, text);
}

/* Longest sleep between two looks. */
static int64_t longest_sleep(const sundog_team *team, const team_condition *condition)
{
    enum { NAP_NS = 20000, LISTEN_NS = 10000000 };
    if (condition->looks) return NAP_NS;
    return team->shared->wire ? LISTEN_NS : LONGEST_SLEEP_NS;
}

sundog_status team_wait(sundog_team *team, team_bell *bell, const team_condition *condition)
{
    for (int i = 0; i < team->shared->n_spins; i++) {
        if (condition->ready(condition->arg)) return SUNDOG_OK;
        if (team_is_dead(team)) return team_fail_dead(team);
        base_pause();
    }
    /* A look that comes very late (the process was stopped, the machine slept) counts as two
     * sleeps: the peers were held up as well. */
    const int64_t longest = longest_sleep(team, condition);
    int64_t waited = 0, last_look = base_clock_ns();
    for (;;) {
        if (team->shared->wire) team->shared->wire->listen(team->shared);
        int64_t now = base_clock_ns(), pause = now - last_look;
        waited += pause < 2 * LONGEST_SLEEP_NS ? pause : 2 * LONGEST_SLEEP_NS;
        last_look = now;
        uint32_t sequence = atomic_load(&bell->sequence);
        atomic_fetch_add(&bell->sleepers, 1);
        bool ready = condition->ready(condition->arg);
        bool dead = team_is_dead(team);
        int64_t timeout = atomic_load(&team->shared->timeout_ns);
        int64_t left = timeout > 0 ? timeout - waited : LONGEST_SLEEP_NS;
        if (!ready && !dead && left > 0)
            bell_sleep(bell, sequence, left < longest ? left : longest);
        atomic_fetch_sub(&bell->sleepers, 1);
        if (ready) return SUNDOG_OK;
        if (dead) return team_fail_dead(team);
        if (left <= 0) return time_out(team, condition, waited);
    }
}
