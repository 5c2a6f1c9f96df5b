/* Microseconds of a launch on a GPU: many in a graph, the graph replayed, the median taken. */
#ifndef GRAPH_MEDIAN_H
#define GRAPH_MEDIAN_H
#include "base/status.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                                                         \
    do {                                                                                  \
        if ((call) != 0) {                                                                \
            fprintf(stderr, "%s:%d: %s failed: %s %s\n", __FILE__, __LINE__, #call,       \
                    sundog_last_error(), cudaGetErrorString(cudaGetLastError()));         \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

enum { GRAPH_REPLAYS = 15 };

static inline int graph_by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* launch(arg, k) puts launch k of n on the stream. */
static inline double graph_median_us(cudaStream_t stream, int n, void (*launch)(void *arg, int k),
                                     void *arg)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t start, stop;
    float ms[GRAPH_REPLAYS];
    TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int k = 0; k < n; k++) launch(arg, k);
    TRY(cudaStreamEndCapture(stream, &graph));
    TRY(cudaGraphInstantiate(&exec, graph, 0));
    TRY(cudaEventCreate(&start));
    TRY(cudaEventCreate(&stop));
    for (int r = -3; r < GRAPH_REPLAYS; r++) {
        TRY(cudaEventRecord(start, stream));
        TRY(cudaGraphLaunch(exec, stream));
        TRY(cudaEventRecord(stop, stream));
        TRY(cudaEventSynchronize(stop));
        if (r >= 0) TRY(cudaEventElapsedTime(&ms[r], start, stop));
    }
    qsort(ms, GRAPH_REPLAYS, sizeof ms[0], graph_by_value);
    TRY(cudaEventDestroy(start));
    TRY(cudaEventDestroy(stop));
    TRY(cudaGraphExecDestroy(exec));
    TRY(cudaGraphDestroy(graph));
    return 1e3 * (double)ms[GRAPH_REPLAYS / 2] / n;
}
#endif
