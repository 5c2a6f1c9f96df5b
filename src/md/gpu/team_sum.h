/* Sums over all domains of a team, on the device: every domain gets the same bits, added in rank
 * order, in the order of a stream and without the host.
 *
 *      rank r   in[n]  ->  row 0 of r, a ghost of all others  ->  out[n] = row of rank 0 + 1 + ...
 *
 * An exchange of its own, by the public library: a plan in which each rank owns one row and mirrors
 * those of all others in one hop. What is captured into a graph may be replayed and mixed with
 * plain calls, in the same order on all ranks.
 *
 * Rejected: sums in the exchange's reverse direction, which would leave the total with its owner
 * alone and need a second hop. */
#ifndef MD_TEAM_SUM_H
#define MD_TEAM_SUM_H
#include "base/status.h"

typedef struct md_team_sum md_team_sum;

#ifdef __cplusplus
extern "C" {
#endif

/* n doubles at a time. The team's ranks are bound to GPUs. rung: of the exchange, NULL: the best.
 * Collective. */
sundog_status md_team_sum_create(sundog_team *team, int n, const char *rung, md_team_sum **out);
/* Accepts NULL. Nothing is under way. Collective. */
void md_team_sum_destroy(md_team_sum **sum);
/* Where a kernel may put what this rank adds, in the place of a d_in elsewhere: saves a copy. */
double *md_team_sum_row(const md_team_sum *sum);
/* d_in [n]. *d_out: where the sum is once `stream` has come here, until the next call; a team of
 * one has it in d_in. Enqueued by all ranks. */
sundog_status md_team_sum_on(md_team_sum *sum, const double *d_in, const double **d_out,
                             void *stream);

/* As sundog_exchange_check. */
sundog_status md_team_sum_check(md_team_sum *sum);

#ifdef __cplusplus
}
#endif
#endif
