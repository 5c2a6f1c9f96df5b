/* What a kernel that waits for a peer holds up on its GPU: the assumptions under which several
 * domains share one (docs/exchange-gpu.md). A program of its own; prints a line a case.
 *
 *      queues   kernel i waits for kernel i + 1, each in a stream of its own, launched in rising
 *               order, each with another kernel behind it. Streams that share a queue with an
 *               earlier one stop the chain. Also with copies around them, and as graphs
 *      calls    how long a call of the runtime takes while a kernel waits
 *      locks    whether another thread can launch, or get memory, while a call waits
 *
 * Every wait ends after a while, so nothing hangs: a case that took that long is "held up".
 */
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 64, LIMIT_MS = 300, SMALL = 4096, LARGE = 1 << 20 };

#define CHECK(call)                                                                               \
    do {                                                                                          \
        cudaError_t error_ = (call);                                                              \
        if (error_ != cudaSuccess) {                                                              \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));                       \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

/* Until *word is not 0, or time is up (counted in *late); then *next is set. */
__global__ void wait_then_set(const volatile int *word, volatile int *next, int *late)
{
    uint64_t begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    now = begin;
    while (word && *word == 0 && now - begin < (uint64_t)LIMIT_MS * 1000000)
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    if (word && *word == 0) atomicAdd(late, 1);
    __threadfence();
    if (next) *next = 1;
}

/* Asks for more local memory than any kernel before. */
template <int N> __global__ void use_local(int *out, int k)
{
    volatile int local[N];
    for (int i = 0; i < N; i++) local[(i * k) % N] = i;
    *out = local[k % N];
}

static int *words, *late;
static char *device_bytes, *pinned, *pageable;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void reset(void)
{
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemset(words, 0, (MOST + 1) * sizeof *words));
    CHECK(cudaMemset(late, 0, sizeof *late));
    CHECK(cudaDeviceSynchronize());
}

static int how_many_late(void)
{
    int n;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&n, late, sizeof n, cudaMemcpyDeviceToHost));
    return n;
}

/* ---- queues ---------------------------------------------------------------------------------- */

typedef enum chain_kind { PLAIN, GRAPH, FORKED, PINNED_COPIES, KINDS } chain_kind;

static void link_of(int i, int n, cudaStream_t stream)
{
    wait_then_set<<<1, 1, 0, stream>>>(i + 1 < n ? words + i + 1 : NULL, words + i, late);
    CHECK(cudaGetLastError());
}

static void copy(int i, cudaStream_t stream)
{
    CHECK(cudaMemcpyAsync(device_bytes + (size_t)i * SMALL, pinned + (size_t)i * SMALL, SMALL,
                          cudaMemcpyHostToDevice, stream));
}

static cudaGraphExec_t graph_of(int i, int n, cudaStream_t stream, cudaStream_t beside)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t fork, join;
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    if (beside) {
        CHECK(cudaEventRecord(fork, stream));
        CHECK(cudaStreamWaitEvent(beside, fork, 0));
        wait_then_set<<<1, 1, 0, beside>>>(NULL, NULL, late);
    }
    link_of(i, n, stream);
    if (beside) {
        CHECK(cudaEventRecord(join, beside));
        CHECK(cudaStreamWaitEvent(stream, join, 0));
    }
    wait_then_set<<<1, 1, 0, stream>>>(NULL, NULL, late);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphUpload(exec, stream));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaEventDestroy(fork));
    CHECK(cudaEventDestroy(join));
    return exec;
}

/* How many waits ran out of time in a chain of n. */
static int chain(int n, chain_kind kind, int priority, int beside_priority)
{
    cudaStream_t stream[MOST], beside[MOST];
    cudaGraphExec_t exec[MOST];
    for (int i = 0; i < n; i++) {
        CHECK(cudaStreamCreateWithPriority(&stream[i], cudaStreamNonBlocking, priority));
        CHECK(cudaStreamCreateWithPriority(&beside[i], cudaStreamNonBlocking, beside_priority));
        if (kind == GRAPH || kind == FORKED)
            exec[i] = graph_of(i, n, stream[i], kind == FORKED ? beside[i] : NULL);
    }
    reset();
    for (int i = 0; i < n; i++) {
        if (kind == GRAPH || kind == FORKED) {
            CHECK(cudaGraphLaunch(exec[i], stream[i]));
            continue;
        }
        if (kind == PINNED_COPIES) copy(i, stream[i]);
        link_of(i, n, stream[i]);
        if (kind == PINNED_COPIES) copy(i, stream[i]);
        wait_then_set<<<1, 1, 0, stream[i]>>>(NULL, NULL, late);
        CHECK(cudaGetLastError());
    }
    int n_late = how_many_late();
    for (int i = 0; i < n; i++) {
        if (kind == GRAPH || kind == FORKED) CHECK(cudaGraphExecDestroy(exec[i]));
        CHECK(cudaStreamDestroy(stream[i]));
        CHECK(cudaStreamDestroy(beside[i]));
    }
    return n_late;
}

static void queues(void)
{
    static const char *const name[KINDS] = {"kernels", "graphs", "graphs with a branch",
                                            "kernels between pinned copies"};
    static const int sizes[] = {2, 4, 6, 8, 9, 10, 12, 14, 16, 17, 20, 24, 28, 31, 32, 33, 40, 64};
    int least, greatest;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    for (int kind = 0; kind < KINDS; kind++)
        for (int high = 0; high < 2; high++) {
            printf("queues: %-30s priority %s:", name[kind], high ? "greatest" : "default ");
            for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
                int n_late = chain(sizes[k], (chain_kind)kind, high ? greatest : 0, least);
                printf(" %d %s", sizes[k], n_late ? "HELD UP," : "ok,");
                if (n_late) break;
            }
            printf("\n");
            fflush(stdout);
        }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static cudaStream_t waiting, idle;

typedef enum call_name {
    NOTHING, LAUNCH, LAUNCH_LOCAL, MALLOC, MALLOC_LARGE, FREE, HOST_ALLOC, FREE_HOST, STREAM_CREATE,
    STREAM_DESTROY, EVENT_CREATE, EVENT_DESTROY, INSTANTIATE, UPLOAD, EXEC_DESTROY, PAGEABLE_SMALL,
    PAGEABLE_LARGE, PAGEABLE_BACK, PAGEABLE_BEHIND, PAGEABLE_LARGE_BEHIND, MANY_BEHIND, MEMSET,
    SET_SHARED, N_CALLS
} call_name;

static const char *const call_text[N_CALLS] = {
    "nothing", "launch in another stream", "first launch with more local memory", "cudaMalloc 4 kB",
    "cudaMalloc 256 MB", "cudaFree", "cudaHostAlloc", "cudaFreeHost", "cudaStreamCreate",
    "cudaStreamDestroy", "cudaEventCreate", "cudaEventDestroy", "cudaGraphInstantiate",
    "cudaGraphUpload", "cudaGraphExecDestroy", "pageable copy of 4 kB, another stream",
    "pageable copy of 1 MB, another stream", "4 kB back, another stream",
    "pageable copy of 4 kB behind it", "pageable copy of 1 MB behind it",
    "1000 pageable copies of 16 kB behind it", "memset in another stream", "cudaFuncSetAttribute"};

/* What calls work on, made before. */
typedef struct things {
    void *memory, *host;
    cudaStream_t stream;
    cudaEvent_t event;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
} things;

static void make_things(things *t)
{
    CHECK(cudaMalloc(&t->memory, SMALL));
    CHECK(cudaHostAlloc(&t->host, SMALL, cudaHostAllocPortable));
    CHECK(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&t->event, cudaEventDisableTiming));
    CHECK(cudaStreamBeginCapture(idle, cudaStreamCaptureModeThreadLocal));
    wait_then_set<<<1, 1, 0, idle>>>(NULL, NULL, late);
    CHECK(cudaStreamEndCapture(idle, &t->graph));
    CHECK(cudaGraphInstantiate(&t->exec, t->graph, 0));
}

static void make_call(call_name call, things *t)
{
    cudaGraphExec_t exec;
    void *memory;
    switch (call) {
    case LAUNCH: wait_then_set<<<1, 1, 0, idle>>>(NULL, NULL, late); break;
    case LAUNCH_LOCAL: use_local<20000><<<1, 1, 0, idle>>>((int *)device_bytes, 3); break;
    case MALLOC: CHECK(cudaMalloc(&memory, SMALL)); break;
    case MALLOC_LARGE: CHECK(cudaMalloc(&memory, (size_t)256 * LARGE)); break;
    case FREE: CHECK(cudaFree(t->memory)); break;
    case HOST_ALLOC: CHECK(cudaHostAlloc(&memory, SMALL, cudaHostAllocPortable)); break;
    case FREE_HOST: CHECK(cudaFreeHost(t->host)); break;
    case STREAM_CREATE: CHECK(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking)); break;
    case STREAM_DESTROY: CHECK(cudaStreamDestroy(t->stream)); break;
    case EVENT_CREATE: CHECK(cudaEventCreate(&t->event)); break;
    case EVENT_DESTROY: CHECK(cudaEventDestroy(t->event)); break;
    case INSTANTIATE: CHECK(cudaGraphInstantiate(&exec, t->graph, 0)); break;
    case UPLOAD: CHECK(cudaGraphUpload(t->exec, idle)); break;
    case EXEC_DESTROY: CHECK(cudaGraphExecDestroy(t->exec)); break;
    case PAGEABLE_SMALL:
    case PAGEABLE_LARGE:
    case PAGEABLE_BEHIND:
    case PAGEABLE_LARGE_BEHIND: {
        bool behind = call == PAGEABLE_BEHIND || call == PAGEABLE_LARGE_BEHIND;
        size_t n = call == PAGEABLE_SMALL || call == PAGEABLE_BEHIND ? SMALL : LARGE;
        CHECK(cudaMemcpyAsync(device_bytes, pageable, n, cudaMemcpyHostToDevice,
                              behind ? waiting : idle));
        break;
    }
    case PAGEABLE_BACK:
        CHECK(cudaMemcpyAsync(pageable, device_bytes, SMALL, cudaMemcpyDeviceToHost, idle));
        break;
    case MANY_BEHIND:
        for (int k = 0; k < 1000; k++)
            CHECK(cudaMemcpyAsync(device_bytes, pageable, 16384, cudaMemcpyHostToDevice, waiting));
        break;
    case MEMSET: CHECK(cudaMemsetAsync(device_bytes, 0, SMALL, idle)); break;
    case SET_SHARED:
        CHECK(cudaFuncSetAttribute(wait_then_set, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   65536));
        break;
    default: break;
    }
    CHECK(cudaGetLastError());
}

static void calls(void)
{
    for (int c = 0; c < N_CALLS; c++) {
        things t;
        make_things(&t);
        reset();
        wait_then_set<<<1, 1, 0, waiting>>>(words, NULL, late);
        double begin = now_ms();
        make_call((call_name)c, &t);
        double ms = now_ms() - begin;
        printf("calls: %-42s %8.3f ms%s\n", call_text[c], ms, ms > LIMIT_MS / 2 ? " HELD UP" : "");
        fflush(stdout);
    }
    reset();
}

/* ---- locks ----------------------------------------------------------------------------------- */

typedef struct caller {
    call_name call;
    things t;
} caller;

static void *call_in_thread(void *arg)
{
    caller *c = (caller *)arg;
    make_call(c->call, &c->t);
    return NULL;
}

/* While one thread is in a call that waits: what another does, and whether that frees the first. */
static void locks(void)
{
    static const call_name first[] = {FREE, PAGEABLE_LARGE_BEHIND, MANY_BEHIND};
    static const call_name second[] = {LAUNCH, MALLOC, PAGEABLE_SMALL, PAGEABLE_LARGE,
                                       EVENT_CREATE};
    for (int f = 0; f < 3; f++)
        for (int s = 0; s < 5; s++) {
            caller c = {first[f], {}};
            things mine;
            pthread_t thread;
            make_things(&c.t);
            make_things(&mine);
            reset();
            wait_then_set<<<1, 1, 0, waiting>>>(words, NULL, late);
            if (pthread_create(&thread, NULL, call_in_thread, &c) != 0) exit(1);
            struct timespec pause = {0, 50 * 1000000};
            nanosleep(&pause, NULL);
            double begin = now_ms();
            make_call(second[s], &mine);
            double ms = now_ms() - begin;
            wait_then_set<<<1, 1, 0, idle>>>(NULL, words, late);    /* lets the first one go */
            pthread_join(thread, NULL);
            printf("locks: in %-40s %-40s %8.3f ms, the first %s\n", call_text[first[f]],
                   call_text[second[s]], ms, how_many_late() ? "HELD UP" : "ok");
            fflush(stdout);
        }
}

int main(void)
{
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    CHECK(cudaMalloc(&words, (MOST + 1) * sizeof *words));
    CHECK(cudaMalloc(&late, sizeof *late));
    CHECK(cudaMalloc(&device_bytes, LARGE));
    CHECK(cudaHostAlloc(&pinned, (size_t)MOST * SMALL, cudaHostAllocPortable));
    pageable = (char *)calloc(LARGE, 1);
    CHECK(cudaStreamCreateWithFlags(&waiting, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&idle, cudaStreamNonBlocking));
    printf("CUDA_DEVICE_MAX_CONNECTIONS=%s\n", getenv("CUDA_DEVICE_MAX_CONNECTIONS"));
    queues();
    calls();
    locks();
    return 0;
}
