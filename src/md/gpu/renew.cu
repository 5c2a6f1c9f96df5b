/* The same bits as the host: box vectors are added one by one, without fused operations, so a run
 * that starts from a checkpoint, whose groups the host has put into the box, goes on as this one.
 */
#include "device/cuda.h"
#include "md/core/device_row.cuh"
#include "md/core/vec3.cuh"
#include "md/gpu/renew.h"

enum { BLOCK = 128 };

static __device__ double moved(double x, double times, double length)
{
    return times == 0 ? x : __dadd_rn(x, __dmul_rn(times, length));
}

/* Boxes to subtract, axis by axis from the last: as md_group_owner on the host. */
static __device__ double3 boxes(const md_device_box &box, double3 x)
{
    const double c = x.z * box.inv_zz;
    const double b = (x.y - c * box.zy) * box.inv_yy;
    const double a = (x.x - b * box.yx - c * box.zx) * box.inv_xx;
    return make_double3(-floor(a), -floor(b), -floor(c));
}

static __device__ void put_row(const md_device_box &box, double3 at, md_device_row *row)
{
    const int3 s = row_position(box, at);
    row->s[0] = s.x;
    row->s[1] = s.y;
    row->s[2] = s.z;
}

static __global__ void rows_from_positions(int n, const md_device_box *box_of, const double (*x)[3],
                                           md_device_row *row)
{
    int r = (int)(blockIdx.x * BLOCK + threadIdx.x);
    if (r < n) put_row(*box_of, vec3_load(x, r), &row[r]);
}

static __global__ void renew(int n_groups, const int *first, const md_device_box *box_of,
                             double (*x)[3], md_device_row *row)
{
    int g = (int)(blockIdx.x * BLOCK + threadIdx.x);
    if (g >= n_groups) return;
    const md_device_box box = *box_of;
    const double3 n = boxes(box, vec3_load(x, first[g]));
    for (int r = first[g]; r < first[g + 1]; r++) {
        double3 at = vec3_load(x, r);
        at.x = moved(at.x, n.z, box.zx);
        at.y = moved(at.y, n.z, box.zy);
        at.z = moved(at.z, n.z, box.zz);
        at.x = moved(at.x, n.y, box.yx);
        at.y = moved(at.y, n.y, box.yy);
        at.x = moved(at.x, n.x, box.xx);
        vec3_store(x, r, at);
        put_row(box, at, &row[r]);
    }
}

extern "C" sundog_status gpu_renew_rows(int n_groups, const int *d_first,
                                        const md_device_box *d_box, double (*d_x)[3],
                                        md_device_row *d_row, void *stream)
{
    if (n_groups == 0) return SUNDOG_OK;
    renew<<<(n_groups + BLOCK - 1) / BLOCK, BLOCK, 0, (cudaStream_t)stream>>>(n_groups, d_first,
                                                                             d_box, d_x, d_row);
    return DEVICE_CHECK(cudaGetLastError());
}

extern "C" sundog_status gpu_rows_from_positions(int n, const md_device_box *d_box,
                                                 const double (*d_x)[3], md_device_row *d_row,
                                                 void *stream)
{
    if (n == 0) return SUNDOG_OK;
    rows_from_positions<<<(n + BLOCK - 1) / BLOCK, BLOCK, 0, (cudaStream_t)stream>>>(n, d_box, d_x,
                                                                                    d_row);
    return DEVICE_CHECK(cudaGetLastError());
}
