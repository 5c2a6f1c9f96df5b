/* Two ranks that answer each other from inside one kernel each: the latency of an exchange without
 * launches. The kernels are made of the pieces of sundog/device.cuh, as any user's would be. */
#ifndef BENCH_PINGPONG_H
#define BENCH_PINGPONG_H
#include "sundog/sundog.h"
#include "sundog/view.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pingpong_kind { PINGPONG_STORE, PINGPONG_BULK, PINGPONG_FLIT } pingpong_kind;

/* n_epochs forwards of a bound exchange in lockstep with one pulse, both ways; the rank that is
 * `first` speaks first. *d_ns, 0 before, gets the time from its first answer to its last, of the
 * slowest block. Returns a cudaError_t. */
int pingpong_launch(const sundog_view *view, pingpong_kind kind, int first, int n_epochs,
                    int n_blocks, unsigned long long *d_ns, sundog_stream stream);
/* As many blocks as can be resident at once, with `n_sharing` such kernels on the GPU. */
int pingpong_max_blocks(pingpong_kind kind, int n_sharing, int *n_blocks);

#ifdef __cplusplus
}
#endif
#endif
