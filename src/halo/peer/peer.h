/* Fabric peer from inside: ranks are threads of one process, each bound to a GPU; a peer's rows are
 * memory of its GPU, mapped here. What an exchange holds for it, and the parts of which fabric
 * nvshmem (halo/nvshmem), where ranks are processes, is made as well.
 *
 * Waiting is done by kernels; the host waits for streams only. A wait that runs out of time leaves
 * a record in `watch` and sets `abort` of all ranks, so all kernels end; the host calls then
 * kill the team. A team that dies otherwise is passed on to the kernels by the same word, of all
 * exchanges that the team has: a stream may be in another one than the call that brings the news.
 */
#ifndef HALO_PEER_PEER_H
#define HALO_PEER_PEER_H
#include "device/cuda.h"
#include "halo/fabric/fabric.h"
#include "halo/peer/layout.h"

/* Held by all ranks of an exchange in this process; the last one frees it. */
typedef struct peer_shared {
    _Atomic int n_holders;
    sundog_watch *watch;            /* [n_ranks], pinned */
} peer_shared;

struct halo_peer {
    sundog_exchange *exchange;
    struct halo_peer *next;         /* of all in this process (wait.c) */
    peer_shared *shared;
    int gpu, n_multiprocessors, n_sharing;      /* ranks on this GPU */
    const halo_kernels *kernels;
    struct halo_far *far;           /* fabric nvshmem; NULL: fabric peer */
    bool host_watched;              /* rung stream: the host bounds the waits */
    bool counted_here;              /* mpi, stream: epochs are those of the host */
    halo_layout layout;
    sundog_view view;
    device_array tables, words, counts, done, sums, flits, sum_flits, outbox, inbox;
    sundog_view_put *put;           /* to far peers */
    int n_puts;
    void *staging;                  /* the tables, as they go to the GPU */
    size_t capacity_staging;
    char **peer_rows, **peer_sums;
    size_t capacity_peer_rows, capacity_peer_sums, capacity_put;
    halo_boxes outgoing, incoming;  /* rung mpi: [n_send_rows], [n_recv_rows] of each field */
    bool stream_words;              /* rung stream: the driver has stream operations */
    void *aside;                    /* rung stream: another one, to look at words of a stuck one */
    void *last;                     /* event behind the last launches that were not captured */
};

/* Words, in lines of 16: [n_messages] lines each of space and room, twice as many each of arrived
 * and sums, which have SUNDOG_MESSAGE_WORDS a message; then [n_groups] of added. */
enum { PEER_ARRIVED, PEER_SPACE, PEER_SUMS, PEER_ROOM, PEER_N_KINDS };  /* as SUNDOG_WORD_ */
enum { PEER_LINE_WORDS = sizeof(sundog_word) / sizeof(uint64_t),
       PEER_MESSAGE_LINES = SUNDOG_MESSAGE_WORDS / PEER_LINE_WORDS };

static inline size_t peer_line(int n_messages, int kind, int message)
{
    size_t n = (size_t)n_messages, m = (size_t)message;
    switch (kind) {
    case PEER_SPACE: return m;
    case PEER_ROOM: return n + m;
    case PEER_ARRIVED: return 2 * n + PEER_MESSAGE_LINES * m;
    case PEER_SUMS: return (2 + PEER_MESSAGE_LINES) * n + PEER_MESSAGE_LINES * m;
    default: return (2 + 2 * PEER_MESSAGE_LINES) * n + m;       /* added, by group */
    }
}

#define PEER_TRY(call) BASE_TRY(DEVICE_CHECK((cudaError_t)(call)))

/* Parts of creating: this rank's own, with room to be told by peer->kernels; what the ranks of the
 * process share; and the end of all. */
sundog_status peer_create_alone(sundog_exchange *exchange, const halo_kernels *kernels);
sundog_status peer_choose_blocks(sundog_exchange *exchange);
sundog_status peer_shared_create(int n_ranks, int n_holders, peer_shared **out);
void peer_release(sundog_exchange *exchange);
/* Parts of binding: rows and chunks; memory, unless an array has enough already; the tables, once
 * addresses at the peers are known. */
sundog_status peer_lay_out(sundog_exchange *exchange);
sundog_status peer_lay_memory(sundog_exchange *exchange);
sundog_status peer_upload_view(sundog_exchange *exchange);
/* Bytes of n_rows dense rows of the fields, one behind the other (sums: floating-point ones only),
 * and where each begins: field[f], NULL: none. */
size_t peer_boxes(const sundog_exchange *exchange, size_t n_rows, bool sums, char *at,
                  char **field);

/* The launches of the rungs that wait and signal in kernels (rungs.c). */
sundog_status peer_forward_whole(sundog_exchange *exchange);
sundog_status peer_forward_begin(sundog_exchange *exchange);
sundog_status peer_forward_end(sundog_exchange *exchange);
sundog_status peer_reverse_whole(sundog_exchange *exchange);
sundog_status peer_reverse_begin(sundog_exchange *exchange);
sundog_status peer_reverse_end(sundog_exchange *exchange);
/* Place i in the order of messages. */
int peer_nth_send(const sundog_exchange *exchange, int i);
int peer_nth_recv(const sundog_exchange *exchange, int i);
/* Reverse of the rungs whose stream waits: the order is that of the route, what is done with
 * message m, or to add group g, is the fabric's. */
typedef sundog_status (*peer_stream_part)(sundog_exchange *exchange, int i);
sundog_status peer_stream_reverse_begin(sundog_exchange *exchange);
sundog_status peer_stream_reverse(sundog_exchange *exchange, peer_stream_part give_back,
                                  peer_stream_part add);
/* Rows of a range of chunks, without waits and signals. */
sundog_status peer_move_rows(sundog_exchange *exchange, bool forward, halo_range chunks);

/* Number of blocks for n chunks (fused-tma: for a warp each). */
int peer_blocks(const sundog_exchange *exchange, int n_chunks);
/* The launches of one direction, in the order of the stream. */
sundog_status peer_launch(sundog_exchange *exchange, bool forward, int cut, void *stream);
/* What was launched since the last mark is on the stream: what peer_finish waits for. (Waiting for
 * the device instead would spoil every graph that some other rank is just capturing.) */
sundog_status peer_mark(sundog_exchange *exchange, void *stream);
/* Does the stream record a graph? */
sundog_status peer_is_captured(void *stream, bool *captured);
/* Refuses a stream that does. */
sundog_status peer_refuse_capture(const sundog_exchange *exchange, void *stream);
void *peer_stream(void *stream);    /* NULL: the thread's own default stream */

/* Stream operations of the driver (gpu.c); false: there are none on this GPU. */
bool peer_has_stream_words(int gpu);
sundog_status peer_stream_write(void *stream, uint64_t *word, uint64_t value);
sundog_status peer_stream_wait(void *stream, uint64_t *word, uint64_t value);

/* While it has `shared`: in reach of the end of its team (wait.c). */
void peer_enlist(struct halo_peer *peer);
void peer_delist(struct halo_peer *peer);
/* The hooks of that name (wait.c). */
sundog_status peer_wait(sundog_exchange *exchange, void *stream);
sundog_status peer_finish(sundog_exchange *exchange);
void peer_look(sundog_exchange *exchange);
void peer_quiesce(sundog_exchange *exchange);

extern const halo_hooks halo_peer_hooks;
#endif
