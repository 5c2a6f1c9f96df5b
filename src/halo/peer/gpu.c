/* What GPUs there are, how they reach each other, and binding a team's ranks to them. */
#include "halo/peer/peer.h"

#include "base/alloc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_COMPUTE_CAPABILITY = 80 };

int sundog_gpu_count(void)
{
    int n = 0;
    if (cudaGetDeviceCount(&n) == cudaSuccess) return n;
    (void)cudaGetLastError();       /* no driver: no GPUs */
    return 0;
}

static sundog_status check_gpu(int gpu)
{
    int n = sundog_gpu_count();
    if (gpu >= 0 && gpu < n) return SUNDOG_OK;
    if (n == 0)
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "GPU %d is asked for, but this process sees none "
                         "(no NVIDIA driver, or CUDA_VISIBLE_DEVICES hides them)", gpu);
    return base_fail(SUNDOG_ERR_ARGUMENT, "GPU %d is asked for; this process sees 0 to %d", gpu,
                     n - 1);
}

static int attribute(enum cudaDeviceAttr which, int gpu)
{
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, gpu) != cudaSuccess) (void)cudaGetLastError();
    return value;
}

static int compute_capability(int gpu)
{
    return 10 * attribute(cudaDevAttrComputeCapabilityMajor, gpu) +
           attribute(cudaDevAttrComputeCapabilityMinor, gpu);
}

sundog_status sundog_gpu_describe(int gpu, char *text, size_t n_bytes)
{
    struct cudaDeviceProp properties;
    BASE_TRY(check_gpu(gpu));
    PEER_TRY(cudaGetDeviceProperties(&properties, gpu));
    snprintf(text, n_bytes, "%s, %d multiprocessors, %.0f GiB, compute capability %d.%d",
             properties.name, properties.multiProcessorCount,
             (double)properties.totalGlobalMem / 1073741824.0, properties.major,
             properties.minor);
    return SUNDOG_OK;
}

sundog_status sundog_gpu_link(int from, int to, char *text, size_t n_bytes)
{
    int can = 0, atomics = 0, rank = 0;
    BASE_TRY(check_gpu(from));
    BASE_TRY(check_gpu(to));
    if (from == to) {
        snprintf(text, n_bytes, "the same GPU");
        return SUNDOG_OK;
    }
    PEER_TRY(cudaDeviceCanAccessPeer(&can, from, to));
    if (!can)
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "GPU %d cannot store into memory of GPU %d: the "
                         "driver gives no peer access between them", from, to);
    PEER_TRY(cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, from, to));
    PEER_TRY(cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrPerformanceRank, from, to));
    snprintf(text, n_bytes, "peer access by %s, performance rank %d",
             atomics ? "NVLink (native atomics)" : "PCIe (no native atomics)", rank);
    return SUNDOG_OK;
}

/* ---- rungs ----------------------------------------------------------------------------------- */

static bool is_rung(const char *name)
{
    int n;
    const char *const *known = sundog_gpu_rungs(&n);
    for (int i = 0; i < n; i++)
        if (name && strcmp(known[i], name) == 0) return true;
    return false;
}

sundog_status sundog_gpu_rung_check(const char *rung, const int *gpus, int n_gpus, char *text,
                                    size_t n_bytes)
{
    if (!is_rung(rung))
        return base_fail(SUNDOG_ERR_ARGUMENT, "no rung for device memory is called '%s'",
                         rung ? rung : "");
    for (int i = 0; i < n_gpus; i++) {
        BASE_TRY(check_gpu(gpus[i]));
        int cc = compute_capability(gpus[i]);
        if (cc < LEAST_COMPUTE_CAPABILITY)
            return base_fail(SUNDOG_ERR_UNSUPPORTED, "GPU %d has compute capability %d.%d, the "
                             "exchange needs 8.0", gpus[i], cc / 10, cc % 10);
        if (strcmp(rung, "fused-tma") == 0 && cc < 90)
            return base_fail(SUNDOG_ERR_UNSUPPORTED, "rung fused-tma needs bulk stores (compute "
                             "capability 9.0), GPU %d has %d.%d", gpus[i], cc / 10, cc % 10);
        for (int j = 0; j < i; j++) BASE_TRY(sundog_gpu_link(gpus[i], gpus[j], text, n_bytes));
    }
    const char *how = "stores into peers' rows, one signal a message";
    if (strcmp(rung, "mpi") == 0) how = "pack, copy between GPUs, unpack; the host waits";
    else if (strcmp(rung, "flit") == 0) how = "16-byte stores that carry their epoch, no signals";
    else if (strcmp(rung, "fused-tma") == 0) how = "bulk stores of a warp, one signal a message";
    else if (strcmp(rung, "stream") == 0)
        how = n_gpus > 0 && peer_has_stream_words(gpus[0])
                  ? "stores; the stream waits for words and sets them"
                  : "stores; kernels of one thread wait and signal (no stream operations here)";
    snprintf(text, n_bytes, "%s", how);
    return SUNDOG_OK;
}

/* ---- binding a team -------------------------------------------------------------------------- */

/* Where a rank sits. */
typedef struct gpu_seat {
    int gpu;
    char host[64];
    unsigned char uuid[16];         /* of the GPU; zeros: no such GPU */
} gpu_seat;

static gpu_seat seat_of(int gpu)
{
    gpu_seat seat = {.gpu = gpu};
    struct cudaDeviceProp properties;
    if (gethostname(seat.host, sizeof seat.host - 1) != 0) seat.host[0] = '\0';
    if (gpu < 0 || gpu >= sundog_gpu_count()) return seat;
    if (cudaGetDeviceProperties(&properties, gpu) == cudaSuccess)
        memcpy(seat.uuid, &properties.uuid, sizeof seat.uuid);
    else (void)cudaGetLastError();
    return seat;
}

static bool share_a_gpu(const gpu_seat *a, const gpu_seat *b)
{
    return strcmp(a->host, b->host) == 0 && memcmp(a->uuid, b->uuid, sizeof a->uuid) == 0;
}

/* Settings under which ranks that share a process or a GPU would wait for each other for ever. */
static sundog_status check_settings(const gpu_seat *seat, const sundog_team *team, int me)
{
    const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
    const char *connections = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    int n_connections = connections ? atoi(connections) : 8, n_sharing = 0;
    if (blocking && atoi(blocking) != 0)
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "CUDA_LAUNCH_BLOCKING is set: a kernel that waits "
                         "for a peer would hold up the launch of the peer's; unset it");
    for (int r = 0; r < team->shared->n_ranks; r++)
        n_sharing += team_is_here(team, r) && seat[r].gpu == seat[me].gpu;
    /* A rank's own stream and that of its thread: streams that share a connection wait for each
     * other. */
    if (2 * n_sharing > n_connections)
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "%d ranks share GPU %d, each with two streams or "
                         "more, but it takes work from %d at once only: set "
                         "CUDA_DEVICE_MAX_CONNECTIONS=32 in the environment before the program "
                         "starts", n_sharing, seat[me].gpu, n_connections);
    return SUNDOG_OK;
}

/* Is a control daemon of MPS there, of which this process will be a client? */
static bool has_mps(void)
{
    char control[512];
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
    snprintf(control, sizeof control, "%s/control", folder ? folder : "/tmp/nvidia-mps");
    return access(control, F_OK) == 0;
}

/* Processes on one GPU take turns, and a kernel that waits never ends its turn. */
static sundog_status check_processes(const gpu_seat *seat, const sundog_team *team, int me)
{
    struct cudaDeviceProp properties;
    if (!team->shared->wire) return SUNDOG_OK;
    PEER_TRY(cudaGetDeviceProperties(&properties, seat[me].gpu));
    if (strstr(properties.name, " MIG "))
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "rank %d: GPU %d is a part of one (%s), by MIG: "
                         "parts do not reach each other's memory; give each process a whole GPU",
                         me, seat[me].gpu, properties.name);
    for (int r = 0; r < team->shared->n_ranks; r++)
        if (!team_is_here(team, r) && share_a_gpu(&seat[r], &seat[me]) && !has_mps())
            return base_fail(SUNDOG_ERR_UNSUPPORTED, "ranks %d and %d are processes that share a "
                             "GPU (%d of host %s) without MPS: each would wait for the other, "
                             "which cannot run; give each process a GPU of its own, or start "
                             "nvidia-cuda-mps-control -d", me < r ? me : r, me < r ? r : me,
                             seat[me].gpu, seat[me].host);
    return SUNDOG_OK;
}

/* Between threads; processes map each other's memory by the fabric that serves them. */
static sundog_status open_peers(const gpu_seat *seat, const sundog_team *team, int me)
{
    for (int r = 0; r < team->shared->n_ranks; r++) {
        char text[128];
        if (!team_is_here(team, r) || seat[r].gpu == seat[me].gpu) continue;
        BASE_TRY(sundog_gpu_link(seat[me].gpu, seat[r].gpu, text, sizeof text));
        cudaError_t error = cudaDeviceEnablePeerAccess(seat[r].gpu, 0);
        if (error == cudaErrorPeerAccessAlreadyEnabled) (void)cudaGetLastError();
        else PEER_TRY(error);
    }
    return SUNDOG_OK;
}

static sundog_status bind_mine(const gpu_seat *seat, const sundog_team *team, int me)
{
    char text[256];
    BASE_TRY(sundog_gpu_rung_check("fused", &seat[me].gpu, 1, text, sizeof text));
    BASE_TRY(check_settings(seat, team, me));
    BASE_TRY(check_processes(seat, team, me));
    PEER_TRY(cudaSetDevice(seat[me].gpu));
    return open_peers(seat, team, me);
}

sundog_status sundog_team_bind_gpu(sundog_team *team, int gpu)
{
    if (!team) return base_fail(SUNDOG_ERR_ARGUMENT, "team_bind_gpu: team is NULL");
    int n_ranks = team->shared->n_ranks;
    gpu_seat mine = seat_of(gpu), *seat = base_try_alloc((size_t)n_ranks * sizeof *seat);
    sundog_status status = SUNDOG_OK;
    if (!seat) status = base_fail(SUNDOG_ERR_MEMORY, "no memory for a team of %d", n_ranks);
    status = team_agree(team, status);
    if (status == SUNDOG_OK)
        status = team_gather_small(team, "team_bind_gpu", &mine, sizeof mine, seat);
    if (status == SUNDOG_OK) status = team_agree(team, bind_mine(seat, team, team->rank));
    if (status == SUNDOG_OK) {
        team_member *member = &team->shared->member[team->rank];
        member->gpu = gpu + 1;
        member->n_on_gpu = 0;
        for (int r = 0; r < n_ranks; r++)
            member->n_on_gpu += share_a_gpu(&seat[r], &seat[team->rank]);
    }
    base_free(seat);
    if (status != SUNDOG_OK) return status;
    return sundog_team_barrier(team);           /* all see who is bound to what */
}

/* ---- stream operations of the driver --------------------------------------------------------- */

/* cuStreamWriteValue64 and cuStreamWaitValue64, looked up in the driver's library, to which nothing
 * here links, since a machine without GPUs lacks it. (The runtime's own ways of asking changed
 * between its versions.) */
typedef int stream_operation(void *stream, unsigned long long address, uint64_t value,
                             unsigned flags);

static stream_operation *driver_operation(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);  /* the runtime has loaded it */
    if (!driver) return NULL;
    void *function = dlsym(driver, name);
    stream_operation *operation;
    memcpy(&operation, &function, sizeof operation);
    (void)dlclose(driver);
    return operation;
}

bool peer_has_stream_words(int gpu)
{
    return attribute((enum cudaDeviceAttr)122, gpu) &&      /* 64-bit stream memory operations */
           driver_operation("cuStreamWriteValue64_v2") &&
           driver_operation("cuStreamWaitValue64_v2");
}

sundog_status peer_stream_write(void *stream, uint64_t *word, uint64_t value)
{
    stream_operation *write = driver_operation("cuStreamWriteValue64_v2");
    int error = write(stream, (uintptr_t)word, value, 0);
    if (error == 0) return SUNDOG_OK;
    return base_fail(SUNDOG_ERR_GPU, "GPU: cuStreamWriteValue64 returned %d", error);
}

sundog_status peer_stream_wait(void *stream, uint64_t *word, uint64_t value)
{
    stream_operation *wait = driver_operation("cuStreamWaitValue64_v2");
    int error = wait(stream, (uintptr_t)word, value, 0);    /* 0: until (word - value) >= 0 */
    if (error == 0) return SUNDOG_OK;
    return base_fail(SUNDOG_ERR_GPU, "GPU: cuStreamWaitValue64 returned %d", error);
}
