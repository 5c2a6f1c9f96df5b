/* libsundog: halo exchange of irregular index maps.
 *
 * A *team* of ranks shares a decomposition. A *plan* says which rows each rank mirrors from which
 * other rank, as a chain of pulses; it is built once per repartition. An *exchange* binds the
 * caller's arrays to a plan; it runs forward (owners' rows are copied to ghosts) and reverse
 * (ghosts' rows are added into their owners), any number of times.
 *
 *      rows of every field:   [ owned | ghosts of pulse 0 | ghosts of pulse 1 | ... ]
 *                               n_owned   first_ghost(0)      first_ghost(1)
 *
 * The library never exits and never prints. Every call returns a status; sundog_last_error() has
 * the text of the last failure on the calling thread (what, values, rank, what to try).
 * "Collective" calls must be made by every rank of the team, in the same order.
 */
#ifndef SUNDOG_H
#define SUNDOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status --------------------------------------------------------------------------------- */

/* 0 is success, positive is "not yet", negative is failure; the name says the layer that failed. */
typedef enum sundog_status {
    SUNDOG_OK = 0,
    SUNDOG_NOT_READY = 1,           /* a begun operation is still under way */
    SUNDOG_ERR_ARGUMENT = -1,       /* the caller broke a documented rule */
    SUNDOG_ERR_MEMORY = -2,         /* an allocation failed */
    SUNDOG_ERR_PLAN = -3,           /* a plan is inconsistent; the text names rank, pulse and row */
    SUNDOG_ERR_PEER_TIMEOUT = -4,   /* a peer did not arrive within the time limit */
    SUNDOG_ERR_ABORTED = -5,        /* another rank of the team called sundog_team_abort() */
    SUNDOG_ERR_UNSUPPORTED = -6,    /* asked for something that this build or machine lacks */
    SUNDOG_ERR_IO = -7,             /* a file could not be read or written */
    SUNDOG_ERR_INPUT = -8,          /* input text is wrong; the text names file and line */
    SUNDOG_ERR_PHYSICS = -9,        /* the simulation itself failed (NaN, lost atom, constraints) */
    SUNDOG_ERR_GPU = -10,           /* a call to the GPU's driver failed; the text names it */
    SUNDOG_ERR_MPI = -11,           /* a call to MPI failed; the text names it */
} sundog_status;

/* Short English name of a status; static storage. */
const char *sundog_status_name(sundog_status status);
/* Text of the last failure on this thread; "" if there was none. Valid until the next failure. */
const char *sundog_last_error(void);

typedef int32_t sundog_idx;         /* row index within one rank */

/* ---- team ----------------------------------------------------------------------------------- */

typedef struct sundog_team sundog_team;

/* (A team of many processes: sundog/mpi.h.)
 * n handles of one team, for n threads of this process: hand teams[r] to the thread that is rank r.
 * Not collective: called once, by one thread. Each handle is destroyed by whoever holds it. */
sundog_status sundog_team_create_threads(int n_ranks, sundog_team **teams);
/* Accepts NULL, leaves NULL. The last handle to go frees what they share. */
void sundog_team_destroy(sundog_team **team);

int sundog_team_rank(const sundog_team *team);
int sundog_team_size(const sundog_team *team);

/* Collectives. All of them are deterministic: sums are taken in rank order, every rank gets the
 * same bits. All return SUNDOG_ERR_ABORTED once a rank has aborted, SUNDOG_ERR_PEER_TIMEOUT when a
 * rank does not arrive within the team's time limit. */
sundog_status sundog_team_barrier(sundog_team *team);
sundog_status sundog_team_sum_double(sundog_team *team, double *values, int n);
sundog_status sundog_team_sum_int64(sundog_team *team, int64_t *values, int n);
sundog_status sundog_team_max_double(sundog_team *team, double *values, int n);
sundog_status sundog_team_min_double(sundog_team *team, double *values, int n);
/* recv [n_ranks * n_bytes], block r from rank r. */
sundog_status sundog_team_allgather(sundog_team *team, const void *send, size_t n_bytes,
                                    void *recv);
/* Every rank's `bytes` become rank root's. */
sundog_status sundog_team_broadcast(sundog_team *team, int root, void *bytes, size_t n_bytes);
/* Personal messages. send is cut at send_offset [n_ranks + 1] (bytes); message r goes to rank r.
 * _sizes fills recv_offset [n_ranks + 1]; the second call, with the same send_offset and room for
 * recv_offset[n_ranks] bytes, moves the data. Both are collective. */
sundog_status sundog_team_alltoall_sizes(sundog_team *team, const size_t *send_offset,
                                         size_t *recv_offset);
sundog_status sundog_team_alltoall(sundog_team *team, const void *send, const size_t *send_offset,
                                   void *recv, const size_t *recv_offset);
/* Give up: every rank that is in, or later enters, a collective or an exchange of this team returns
 * SUNDOG_ERR_ABORTED with `reason` as its text. Not collective; the first caller wins. */
void sundog_team_abort(sundog_team *team, const char *reason);
/* Longest wait for a peer, in seconds (default 60; <= 0 means for ever), of all ranks. Not
 * collective. A rank that waits longer kills the team: all ranks return SUNDOG_ERR_PEER_TIMEOUT
 * with a text that says who waits for whom. A dead team, by time-out or abort, stays dead: every
 * call returns its error, and no rank touches another's arrays any more, so they may be freed. */
void sundog_team_set_timeout(sundog_team *team, double seconds);

/* ---- GPUs ----------------------------------------------------------------------------------- */

/* A rank works on one GPU; several ranks may share it. Rows of an exchange are then device memory
 * (sundog_exchange_options.memory). A build without GPU support, like a machine without GPUs, has
 * none: the count is 0 and the others return SUNDOG_ERR_UNSUPPORTED. */

int sundog_gpu_count(void);
/* "NVIDIA H200, 132 multiprocessors, 140 GiB, compute capability 9.0" */
sundog_status sundog_gpu_describe(int gpu, char *text, size_t n_bytes);
/* Can `from` store into memory of `to`? OK: the text says by what link; else why not. */
sundog_status sundog_gpu_link(int from, int to, char *text, size_t n_bytes);
/* The rungs for device memory, best first; *n of them; static storage. */
const char *const *sundog_gpu_rungs(int *n);
/* OK: this rung can serve ranks on these GPUs, `text` says how; else why not. */
sundog_status sundog_gpu_rung_check(const char *rung, const int *gpus, int n_gpus, char *text,
                                    size_t n_bytes);

/* Is fabric nvshmem there? OK: the text has its version and where its plug-in is; else why not. */
sundog_status sundog_nvshmem_describe(char *text, size_t n_bytes);

/* This rank works on `gpu`, which becomes the calling thread's current device. Opens peer access
 * between all GPUs of this process; fails on all ranks alike, naming the first pair of GPUs that
 * cannot reach each other, or the setting that would let ranks block each other; processes that
 * share a GPU need MPS. Collective. */
sundog_status sundog_team_bind_gpu(sundog_team *team, int gpu);

/* A stream of the GPU: a cudaStream_t. NULL is the calling thread's own default stream. */
typedef void *sundog_stream;

/* ---- plan ----------------------------------------------------------------------------------- */

typedef struct sundog_plan sundog_plan;

/* One hop of the exchange. Every rank adds its own end of every pulse, in the same order; a rank
 * with nothing to send passes n_send = 0. to_rank holds copies of my rows, from_rank sends my
 * ghosts. Either may be this rank itself. `index` names rows below first_ghost of this pulse, i.e.
 * owned rows and ghosts of earlier pulses, in any order, repetitions allowed. It is copied. */
typedef struct sundog_pulse {
    int to_rank, from_rank;
    sundog_idx n_send;
    const sundog_idx *index;        /* [n_send] */
    double shift[3];                /* added to fields with `shifted` set, by the sender */
} sundog_pulse;

/* n_owned rows on this rank. Collective. */
sundog_status sundog_plan_create(sundog_team *team, sundog_idx n_owned, sundog_plan **out);
/* Accepts NULL, leaves NULL. Collective (exchanges of the plan must be destroyed first). */
void sundog_plan_destroy(sundog_plan **plan);
/* Throw away all pulses and begin again with another n_owned, keeping memory. Collective. */
sundog_status sundog_plan_reset(sundog_plan *plan, sundog_idx n_owned);
/* Append a pulse. Collective. *first_ghost and *n_ghost: where this pulse's rows land here. */
sundog_status sundog_plan_add_pulse(sundog_plan *plan, const sundog_pulse *pulse,
                                    sundog_idx *first_ghost, sundog_idx *n_ghost);

/* ---- fields --------------------------------------------------------------------------------- */

typedef enum sundog_type {
    SUNDOG_INT8, SUNDOG_INT32, SUNDOG_INT64, SUNDOG_FLOAT32, SUNDOG_FLOAT64
} sundog_type;

/* An array of rows, each of `width` components of `type`:
 *
 *      rows   [ row 0 | gap ][ row 1 | gap ] ...          row i begins at (char *)rows + i * stride
 *
 * Gaps are never written, so they may hold what is the caller's own: what travels may be the first
 * 12 bytes of a row of 16. (A gap may be read, that behind the last row as well; what it holds does
 * not matter.) */
typedef struct sundog_field {
    void *rows;
    sundog_type type;
    int width;                      /* components a row */
    bool shifted;                   /* forward adds the pulse's shift to components 0..2 (floats) */
    size_t stride;                  /* bytes from one row to the next, the same on all ranks: at
                                       least a row's, a multiple of the type's size; 0: no gaps */
} sundog_field;

/* Run pulse `pulse` (the one just added, or an earlier one) of an uncommitted plan forward, now and
 * simply: for building the next pulse from the ghosts of this one. Collective. */
sundog_status sundog_plan_fetch(sundog_plan *plan, int pulse, const sundog_field *fields,
                                int n_fields);

/* Check the plan (sizes agree on both ends, indices in range; first fault is reported by rank,
 * pulse and row), work out the direct routes, freeze. Collective. */
sundog_status sundog_plan_commit(sundog_plan *plan);

/* The box of a committed plan has been stretched: multiply component k of every shift by factor[k]
 * (positive, the same on all ranks). Exchanges stay bound, but for those of device memory with
 * shifted fields, which must be bound anew. Not while one is under way. Collective. */
sundog_status sundog_plan_stretch(sundog_plan *plan, const double factor[3]);

int sundog_plan_n_pulses(const sundog_plan *plan);
sundog_idx sundog_plan_n_owned(const sundog_plan *plan);
sundog_idx sundog_plan_n_rows(const sundog_plan *plan);      /* owned and ghosts */
/* Owner of every row of a committed plan: rank[n_rows], row[n_rows]. */
sundog_status sundog_plan_owners(const sundog_plan *plan, int *rank, sundog_idx *row);

/* ---- exchange ------------------------------------------------------------------------------- */

typedef struct sundog_exchange sundog_exchange;

typedef enum sundog_route {
    SUNDOG_ROUTE_STAGED,            /* pulse by pulse, ghosts are forwarded */
    SUNDOG_ROUTE_DIRECT             /* one hop from the owner to every copy */
} sundog_route;

typedef enum sundog_memory {
    SUNDOG_MEMORY_HOST,
    SUNDOG_MEMORY_DEVICE            /* of the GPU that the rank is bound to */
} sundog_memory;

typedef enum sundog_transport {
    SUNDOG_TRANSPORT_AUTO,          /* stores where a peer's memory is mapped, else puts */
    SUNDOG_TRANSPORT_DIRECT,        /* stores; refused where some peer cannot be reached so */
    SUNDOG_TRANSPORT_PUT            /* puts to every peer, as over a network (fabric nvshmem) */
} sundog_transport;

typedef struct sundog_exchange_options {
    size_t struct_size;             /* sizeof(sundog_exchange_options), for later versions */
    const char *rung;               /* "reference", "mpi", "pulse", "fused", "direct" (needs route
                                       direct); on GPUs those of sundog_gpu_rungs(); NULL = best
                                       of the route */
    sundog_route route;
    bool deterministic;             /* reverse adds in a fixed order (bitwise repeatable). Staged:
                                       pulses last to first, rows in the order of index. Direct:
                                       peers by rank, their ghosts rising. All rungs alike; the
                                       two routes differ by rounding. */
    bool lockstep;                  /* caller promises forward, reverse, forward, reverse ...; saves
                                       the credit. Ghosts are then not touched after
                                       reverse_begin. Debug builds check the order. */
    sundog_memory memory;           /* where the rows of all fields are */
    int max_blocks;                 /* device: at most so many thread blocks; 0 = as suits */
    const char *fabric;             /* device: "peer" (ranks are threads), "nvshmem" (each rank is a
                                       process, and the plug-in is there); NULL = as the team is */
    sundog_transport transport;     /* device */
} sundog_exchange_options;

/* Bind arrays [n_rows] to a committed plan. Forward copies into ghosts of all fields in one
 * message; reverse adds ghosts of all (float) fields into their owners. options, the same on all
 * ranks, NULL: best rung, route staged, deterministic. The arrays stay in place until the exchange
 * is destroyed or bound anew. Collective. */
sundog_status sundog_exchange_create(sundog_plan *plan, const sundog_field *fields, int n_fields,
                                     const sundog_exchange_options *options, sundog_exchange **out);
/* Accepts NULL, leaves NULL. Collective. */
void sundog_exchange_destroy(sundog_exchange **exchange);
/* After the plan was reset and committed again, or arrays moved. Collective; keeps memory. (Graphs
 * that were captured before are void, see below.) */
sundog_status sundog_exchange_rebind(sundog_exchange *exchange, const sundog_field *fields,
                                     int n_fields);

/* Forward. Between begin and end: owned rows are not written, ghost rows neither read nor written
 * by the caller. Ghosts may be overwritten by the next forward_begin of this rank and not before:
 * the exchange keeps track of "consumed" by itself. */
sundog_status sundog_forward_begin(sundog_exchange *exchange);
sundog_status sundog_forward_end(sundog_exchange *exchange);
/* Reverse. Between begin and end: no row is read or written by the caller. Afterwards owned rows
 * hold the sums; ghost rows are undefined. */
sundog_status sundog_reverse_begin(sundog_exchange *exchange);
sundog_status sundog_reverse_end(sundog_exchange *exchange);

/* Device memory: the same, in the order of a stream, the host going on at once. What is on the
 * stream before begin is done before rows are read; what is put there after end finds the ghosts
 * (the sums) in place. begin and end may be on different streams, if the caller orders them; the
 * two functions without begin and end do both in as few launches as the rung can.
 * sundog_forward_begin() and the others above also take device memory: they use the default stream
 * of the calling thread, and end blocks.
 *
 * Graphs. Streams may be captured (in mode ThreadLocal or Relaxed, since other ranks go on calling
 * CUDA meanwhile), begin and end on different ones, any number of exchanges in a graph; rungs mpi
 * and stream, which count on the host, refuse. A captured call counts when its graph runs, not
 * before, so graphs may be launched any number of times and mixed with plain calls, as long as all
 * ranks come to the same exchanges in the same order. A graph holds the exchange as it was bound:
 * once that is bound anew, which a reset of its plan demands, or destroyed, the graph must not be
 * launched any more, and is to be captured again. Before that the caller waits until its graphs
 * have run (sundog_exchange_wait()); for plain calls sundog_exchange_rebind() and
 * sundog_exchange_destroy() wait themselves. A call that fails in a capture, since the team is
 * dead, cannot wait: end the capture and call sundog_exchange_wait() before memory is freed.
 *
 * Ranks that share a GPU wait for each other's kernels, so nothing may stand between a rank and
 * its launches: make streams, use them once, load kernels and allocate memory before the ranks
 * begin to exchange (a collective call in between will do); and let no host function and no copy
 * on one stream wait behind those of another rank's (kernels are safe). */
sundog_status sundog_forward_begin_on(sundog_exchange *exchange, sundog_stream stream);
sundog_status sundog_forward_end_on(sundog_exchange *exchange, sundog_stream stream);
sundog_status sundog_forward_on(sundog_exchange *exchange, sundog_stream stream);
sundog_status sundog_reverse_begin_on(sundog_exchange *exchange, sundog_stream stream);
sundog_status sundog_reverse_end_on(sundog_exchange *exchange, sundog_stream stream);
sundog_status sundog_reverse_on(sundog_exchange *exchange, sundog_stream stream);
/* Wait on the host until the stream has finished. A device wait that ran out of time, which kills
 * the team, or a team killed elsewhere, is returned here; device memory may be freed afterwards. */
sundog_status sundog_exchange_wait(sundog_exchange *exchange, sundog_stream stream);
/* Without waiting: has a wait of this exchange given up on some GPU of the team, or has the team
 * died otherwise? For callers who wait for events of their own, to know afterwards whether what
 * came is worth something. SUNDOG_OK says so of all that had run before the call. */
sundog_status sundog_exchange_check(sundog_exchange *exchange);
/* What a kernel of the caller needs to run parts of this exchange itself: sundog/view.h,
 * sundog/device.cuh. Valid until the exchange is bound anew or destroyed. */
struct sundog_view;
sundog_status sundog_exchange_view(const sundog_exchange *exchange, struct sundog_view *out);

/* What serves this exchange: "threads/fused staged deterministic", "mpi/..." when some ranks are in
 * other processes. Valid as long as it is. */
const char *sundog_exchange_describe(const sundog_exchange *exchange);
/* The rungs that this build and machine can run, best first; *n of them; static storage. */
const char *const *sundog_exchange_rungs(int *n);
/* Size of the last forward here, for reports: rows and bytes sent to others, messages. */
typedef struct sundog_exchange_volume {
    int64_t n_rows, n_bytes, n_messages;
} sundog_exchange_volume;
sundog_status sundog_exchange_volume_of(const sundog_exchange *exchange,
                                        sundog_exchange_volume *out);

#ifdef __cplusplus
}
#endif
#endif
