/* What a domain takes of its GPU, before it takes it. An estimate from the sizes of the arrays:
 *
 *      lists     for every unit the partners within rlist, twice, and those within rinner, once,
 *                with room to spare; for every block what its warps look at. Nine tenths of all
 *      atoms     positions, velocities, masses, two snapshots; forces and rows of ghosts, too
 *      bonded    interactions and what they write
 *
 * Device arrays are made half as large again as they are asked to be, and lists a third larger than
 * they are at first. Measured: 4.5 kB an atom of water and ethanol with lists of 1.13 nm; this says
 * 4.7. Since then only partners beyond rinner have two places, a fifth less by count, which has not
 * been measured: this errs to the safe side. Atoms count as spread evenly: where there is vacuum
 * the lists of the dense part are longer than that, and a run may still end for want of memory
 * later, in one line too.
 */
#include "device/cuda.h"
#include "md/gpu/gpu.h"

#include <math.h>

/* Partners of a unit within `radius` of any of its atoms, which stand 0.1 nm apart. */
static double partners(double radius, double density)
{
    return 4.18879 * pow(radius + 0.08, 3) * density;
}

double md_gpu_memory_estimate(const md_gpu_size *size)
{
    static const double SPARE = 1.35, GROWN = 1.5, UNEVEN = 1.15; /* the largest over the mean */
    static const double PER_DOMAIN = 100e6;                       /* graphs, few atoms a block */
    static const double PER_ATOM = 170, PER_ROW = 100, PER_INTERACTION = 100, PER_UNIT = 150;
    static const double PER_CANDIDATE = 32 * 2 / 128.; /* warps, bytes, units of a block */
    double bytes =
        PER_ATOM * size->n_owned + PER_ROW * size->n_rows + PER_INTERACTION * size->n_interactions;
    if (size->scheme == MD_SCHEME_SHELL) {
        double outer = partners(size->rlist, size->density) + 64; /* whole chunks */
        double inner = partners(size->rinner, size->density);
        double slots = partners(size->rlist + 0.8, size->density) / 128; /* a block's, a unit */
        double unit = 4 * outer + 2 * 1.1 * inner + 4 * slots + PER_CANDIDATE * 2 * outer;
        bytes += size->n_units * (PER_UNIT + SPARE * UNEVEN * unit);
    }
    return PER_DOMAIN + GROWN * bytes;
}

double md_gpu_memory_fixed(void)
{
    const md_gpu_size nobody = {.scheme = MD_SCHEME_RETURN};
    return md_gpu_memory_estimate(&nobody);
}

sundog_status md_gpu_memory_free(int gpu, double *free_bytes, double *all_bytes)
{
    size_t left = 0, all = 0;
    int now;
    BASE_TRY(DEVICE_CHECK(cudaGetDevice(&now)));
    sundog_status status = DEVICE_CHECK(cudaSetDevice(gpu));
    if (status == SUNDOG_OK) status = DEVICE_CHECK(cudaMemGetInfo(&left, &all));
    BASE_TRY(status);
    *free_bytes = (double)left;
    *all_bytes = (double)all;
    return DEVICE_CHECK(cudaSetDevice(now));
}
