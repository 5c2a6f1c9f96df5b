/* LINCS for one connected network by one block: the equations of lincs_network.c, in double.
 *
 *      threads over atoms        kick; later: x += what the constraints of the atom ask for
 *      threads over constraints  directions, couplings, right-hand sides, expansion
 *
 * Displacements are gathered by atom, not scattered by constraint, so no atomics are needed and the
 * order of addition is fixed. Work arrays are in global memory: a network may be a whole protein,
 * and its block keeps them in its first cache.
 */
#ifndef MD_LINCS_NETWORK_CUH
#define MD_LINCS_NETWORK_CUH
#include "md/core/vec3.cuh"

typedef struct network_view {
    int n;
    const int *atom_start, *constraint_start;
    const bool *triangles;
    const int *row, *at_start, *at;
    const int (*atom)[2];
    const double *length, *scale;
    const int *start, *other;
    const double *factor;
    /* work */
    double (*x)[3];                     /* [n_atoms] new positions */
    double (*b)[3];                     /* [n_constraints] old directions */
    double *a;                          /* [n_couplings] */
    double *rhs, *rhs_next, *solution, *lambda;     /* [n_constraints] */
} network_view;

/* solution = (1 + A + ... + A^order) rhs, times scale; twice the order for triangles. */
static __device__ void network_solve(const network_view &w, int first, int last, int order)
{
    double *now = w.rhs, *next = w.rhs_next;
    for (int k = first + threadIdx.x; k < last; k += blockDim.x) w.solution[k] = now[k];
    __syncthreads();
    for (int n = 0; n < order; n++) {
        for (int k = first + threadIdx.x; k < last; k += blockDim.x) {
            double sum = 0;
            for (int c = w.start[k]; c < w.start[k + 1]; c++) sum += w.a[c] * now[w.other[c]];
            next[k] = sum;
            w.solution[k] += sum;
        }
        __syncthreads();
        double *swap = now;
        now = next;
        next = swap;
    }
    for (int k = first + threadIdx.x; k < last; k += blockDim.x) {
        w.solution[k] *= w.scale[k];
        w.lambda[k] += w.solution[k];
    }
    __syncthreads();
}

/* Sum over the constraints of atom a of -+ multiplier b; the mass is the caller's. */
static __device__ double3 network_pull(const network_view &w, int a, const double *multiplier)
{
    double3 sum = make_double3(0, 0, 0);
    for (int c = w.at_start[a]; c < w.at_start[a + 1]; c++) {
        const int k = w.at[c] >> 1;
        sum = vec3_axpy(sum, w.at[c] & 1 ? multiplier[k] : -multiplier[k], vec3_load(w.b, k));
    }
    return sum;
}

static __device__ double3 network_bond(const network_view &w, int k)
{
    return vec3_sub(vec3_load(w.x, w.atom[k][0]), vec3_load(w.x, w.atom[k][1]));
}
#endif
