/* An exchange over MPI in which one process is lost: for run_killed, which starts it and looks at
 * what is left.
 *
 *   killed_mpi RUNG staged|direct kill|stop EPOCH
 *
 * All ranks run forward and reverse. The process in the middle kills (or stops) itself in the
 * forward (EPOCH odd) or reverse (even) EPOCH, between begin and end. Whoever gets an error says
 * so in one line and leaves with 3, without MPI_Finalize, which would wait for the dead.
 */
#include "ranks.h"

#include <signal.h>
#include <unistd.h>

enum { OWNED = 50, N_ROWS = 3 * OWNED, N_EPOCHS = 200, N_RANKS = 4 };

typedef struct loss {
    const char *rung;
    sundog_route route;
    int signal, epoch;
} loss;

static loss how;

static void must(const rank_args *args, sundog_status status)
{
    if (status == SUNDOG_OK) return;
    fprintf(stderr, "lost: rank %d: %s\n", args->rank, sundog_last_error());
    fflush(NULL);
    _exit(3);
}

static sundog_plan *two_pulses(const rank_args *args)
{
    sundog_idx index[OWNED];
    sundog_plan *plan;
    must(args, sundog_plan_create(args->team, OWNED, &plan));
    for (int p = 0; p < 2; p++) {
        for (int k = 0; k < OWNED; k++) index[k] = OWNED * p + k;   /* the second sends ghosts on */
        sundog_pulse pulse = {(args->rank + 1) % args->n_ranks,
                              (args->rank + args->n_ranks - 1) % args->n_ranks, OWNED, index,
                              {0, 0, 0}};
        must(args, sundog_plan_add_pulse(plan, &pulse, NULL, NULL));
    }
    must(args, sundog_plan_commit(plan));
    return plan;
}

static void exchanges(rank_args *args)
{
    double x[N_ROWS] = {0};
    sundog_field field = {x, SUNDOG_FLOAT64, 1, false, 0};
    sundog_exchange_options options = {.struct_size = sizeof options, .rung = how.rung,
                                       .route = how.route, .deterministic = true};
    sundog_exchange *exchange;
    sundog_team_set_timeout(args->team, 2);
    sundog_plan *plan = two_pulses(args);
    must(args, sundog_exchange_create(plan, &field, 1, &options, &exchange));
    for (int epoch = 1; epoch <= N_EPOCHS; epoch++) {
        bool forward = epoch % 2 == 1;
        must(args, forward ? sundog_forward_begin(exchange) : sundog_reverse_begin(exchange));
        if (args->rank == args->n_ranks / 2 && epoch == how.epoch) raise(how.signal);
        must(args, forward ? sundog_forward_end(exchange) : sundog_reverse_end(exchange));
        for (int i = 0; i < N_ROWS; i++) x[i] = 1;
    }
    sundog_exchange_destroy(&exchange);
    sundog_plan_destroy(&plan);
}

int main(void)
{
    char **argv = ranks_argv;
    CHECK(argv[1] && argv[2] && argv[3] && argv[4]);
    how = (loss){argv[1],
                 strcmp(argv[2], "direct") == 0 ? SUNDOG_ROUTE_DIRECT : SUNDOG_ROUTE_STAGED,
                 strcmp(argv[3], "stop") == 0 ? SIGSTOP : SIGKILL, atoi(argv[4])};
    run_ranks(N_RANKS, exchanges, NULL);
    return 0;
}
