/* Messages to and from ranks of other processes, behind the words that rungs wait for.
 *
 * A rung stores rows into a peer's memory and sets a word there. Where the peer is elsewhere, rows
 * are packed and sent instead, and this side sets its own words when it sees what has come:
 *
 *   word        of a peer here, set by it        of one elsewhere, set here when
 *   arrived     ghosts are in place              the message has come and was unpacked
 *   space       ghosts may be overwritten        the last message has left the packed bytes
 *   sums        sums are in the slot             the message has come into the slot
 *   room        the slot may be overwritten      the last sums have left the packed bytes
 *
 * So a rung waits for the same words either way, but has to look while it does. Receives are posted
 * when the exchange begins, so nothing comes before ghosts may be overwritten.
 */
#ifndef HALO_FABRIC_REMOTE_H
#define HALO_FABRIC_REMOTE_H
#include "halo/exchange.h"

/* Ends of an exchange of a team with ranks elsewhere, whose ends here have met. Collective. */
sundog_status halo_remote_bind(sundog_exchange *exchange);
/* Until all that was sent has left. */
sundog_status halo_remote_finish(sundog_exchange *exchange);
/* Accepts an exchange without. Collective, unless the team is dead: then exchange->remote and the
 * slots stay for ever, since messages that are under way may still come there. */
void halo_remote_release(sundog_exchange *exchange);

/* Post what is to come: ghosts, or sums. */
void halo_remote_expect(sundog_exchange *exchange, bool forward);
/* Set the words of what has come or left since. */
void halo_remote_look(sundog_exchange *exchange);

/* Pack a run of message m; send the message; pack and send the ghosts of message m. */
void halo_remote_store_run(sundog_exchange *exchange, int m, const halo_run *run);
void halo_remote_send(sundog_exchange *exchange, int m);
void halo_remote_send_sums(sundog_exchange *exchange, int m);
#endif
