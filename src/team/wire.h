/* The wire: how a team that spans processes reaches ranks of others. mpi/ has it over MPI.
 *
 * Collectives. All ranks of a process meet in memory; the last to come does the part below for all
 * of them, while they sleep, and what it brings is read by all after the barrier. It stays until
 * the next collective of the same kind, to which nobody comes before having read.
 *
 * Lines and channels. A line keeps the messages of one exchange apart from those of others. A
 * channel is one message, sent again and again from, or received into, the same bytes; it is used
 * by the rank that opened it alone.
 */
#ifndef TEAM_WIRE_H
#define TEAM_WIRE_H
#include "team/team.h"

typedef struct team_line team_line;
typedef struct team_channel team_channel;

/* What a slot's pointer leads to in alltoall: message r is bytes [offset[r], offset[r + 1]). */
typedef struct team_parcel {
    const char *bytes;
    const size_t *offset;           /* [n_ranks + 1] */
} team_parcel;

/* One message of a line, by its number among those that the receiver gets there; both ends must
 * mean the same n_bytes. */
typedef struct wire_message {
    int peer, number;
    bool sends;
    void *bytes;
    size_t n_bytes;
} wire_message;

/* What the last rank of a process does in a collective; slots are those of this parity. */
typedef sundog_status wire_part(sundog_team *team, int parity);

typedef struct team_wire {
    const char *name;
    /* ---- collectives ---- */
    /* Slots of ranks elsewhere become what they show. */
    wire_part *meet;
    /* n_bytes that each slot points to: afterwards gathered() has block r of rank r. */
    wire_part *gather;
    /* What the root's slot (named in all slots) points to: afterwards gathered() has it, but in the
     * root's own process. */
    wire_part *broadcast;
    /* Slots point to parcels: afterwards size() knows how many bytes come; and the bytes. */
    wire_part *swap_sizes, *swap;
    /* Afterwards opened() is a new line. */
    wire_part *open_line;

    const char *(*gathered)(const team_shared *shared);
    /* From rank `from` of another process to `to` of this one. */
    size_t (*size)(const team_shared *shared, int to, int from);
    const char *(*inbox)(const team_shared *shared, int to, int from);
    team_line *(*opened)(const team_shared *shared);

    /* ---- exchanges ---- */
    /* By every rank of the process; the last one ends it. Collective; accepts NULL. */
    void (*close_line)(team_line *line);
    sundog_status (*open_channel)(sundog_team *team, team_line *line, const wire_message *message,
                                  team_channel **out);
    /* Begin. Only when the last one is done. */
    void (*start)(team_channel *channel);
    /* Idle: what was begun has been received, or left the bytes. A failure kills the team. */
    bool (*done)(team_channel *channel);
    /* Accepts NULL. */
    void (*close_channel)(team_channel *channel);

    /* ---- life ---- */
    /* Append " rank r" for ranks of other processes that are not known to be in the collective
     * that the caller is in. */
    void (*missing)(const sundog_team *team, char *text, size_t n_bytes);
    /* Tell all other processes how the team died. */
    void (*tell_death)(team_shared *shared);
    /* Has another process told so? Cheap, to be called while waiting. */
    void (*listen)(team_shared *shared);
    /* By the last rank of the process. Collective over processes, unless the team is dead. */
    void (*release)(team_shared *shared);
} team_wire;
#endif
