/* Sums over velocities on the device against the host's: kinetic energy and momentum by group,
 * removal of drift, frozen axes; no rows, one, many; the same bits in every run and in a replayed
 * graph. */
#include "device.h"
#include "base/alloc.h"
#include "md/motion/groups.h"
#include "md/motion/kinetic.h"
#include "md/motion/leapfrog.h"

#include <math.h>
#include <string.h>

typedef struct host_rows {
    md_rows rows;
    uint8_t *temperature, *com, *frozen;
} host_rows;

static double uniform(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) * 0x1p-53;
}

/* Masses from 1 to 40, a common drift, every ninth row of no com group, every fifth frozen along
 * some axes. */
static host_rows rows_make(int n, int n_temperature, int n_com)
{
    uint64_t state = 12345 + (uint64_t)n;
    const size_t size = (size_t)n + 1;
    host_rows h = {.rows = {.n_owned = n, .n_rows = n}};
    h.rows.v = base_alloc(size * sizeof *h.rows.v);
    h.rows.mass = base_alloc(size * sizeof *h.rows.mass);
    h.temperature = base_alloc(size), h.com = base_alloc(size), h.frozen = base_alloc(size);
    for (int r = 0; r < n; r++) {
        h.rows.mass[r] = 1 + 39 * uniform(&state);
        h.temperature[r] = (uint8_t)(r / 7 % n_temperature);
        h.com[r] = (uint8_t)(r % 9 == 4 ? n_com : r / 3 % n_com);
        h.frozen[r] = (uint8_t)(r % 5 == 2 ? r / 5 % 8 : 0);
        for (int k = 0; k < 3; k++) {
            h.rows.v[r][k] = 0.3 * (k + 1) + 2 * uniform(&state) - 1;
            if (h.frozen[r] >> k & 1) h.rows.v[r][k] = 0;
        }
    }
    return h;
}

static void rows_free(host_rows *h)
{
    base_free(h->rows.v), base_free(h->rows.mass);
    base_free(h->temperature), base_free(h->com), base_free(h->frozen);
}

static void check_kinetic(const host_rows *h, const md_velocities *d, const md_kinetic_sums *got)
{
    double tensor[3][3], group[MD_MAX_GROUPS] = {0};
    md_kinetic_tensor(&h->rows, tensor);
    const double trace = tensor[0][0] + tensor[1][1] + tensor[2][2];
    if (d->d_temperature_group)
        md_kinetic_groups(&h->rows, h->temperature, d->n_temperature, group);
    else
        group[0] = trace;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) CHECK_NEAR(got->tensor[a][b], tensor[a][b], 1e-12 * trace);
    for (int g = 0; g < MD_MAX_GROUPS; g++)
        CHECK_NEAR(got->group[g], group[g], 1e-12 * fabs(group[g]));
}

static void check_momentum(const host_rows *h, const md_velocities *d, const md_momentum_sums *got)
{
    double sum[MD_MAX_GROUPS][4] = {{0}}, mass = 0;
    if (d->d_com_group)
        md_momentum_groups(&h->rows, h->com, d->n_com, sum);
    else
        md_momentum(&h->rows, sum[0], &sum[0][3]);
    for (int g = 0; g < MD_MAX_GROUPS; g++) mass += sum[g][3];
    for (int g = 0; g < MD_MAX_GROUPS; g++)
        for (int k = 0; k < 4; k++) CHECK_NEAR(got->sum[g][k], sum[g][k], 1e-12 * mass);
}

/* Host and device with the same drift, so that every velocity is the same to rounding. */
static void check_removed(const host_rows *h, const md_velocities *d, const md_momentum_sums *sums)
{
    const size_t n_bytes = (size_t)d->n_owned * sizeof *h->rows.v;
    double drift[MD_MAX_GROUPS][3] = {{0}}, (*v)[3] = base_alloc(n_bytes + 1);
    for (int g = 0; g < d->n_com; g++)
        for (int k = 0; k < 3 && sums->sum[g][3] > 0; k++)
            drift[g][k] = sums->sum[g][k] / sums->sum[g][3];
    if (d->d_com_group)
        md_remove_drift_groups(&h->rows, h->com, d->n_com, (const double(*)[3])drift);
    else
        md_remove_drift(&h->rows, drift[0]);
    download(v, d->d_v, n_bytes);
    for (int r = 0; r < d->n_owned; r++)
        for (int k = 0; k < 3; k++) {
            const bool still = d->d_frozen && h->frozen[r] >> k & 1;
            CHECK_NEAR(v[r][k], still ? 0.0 : h->rows.v[r][k], 1e-15);
            if (still) CHECK(v[r][k] == 0);
        }
    base_free(v);
}

/* Captured, run twice: counters are left as they were found. */
static void check_graph(md_kinetic *kinetic, const md_velocities *d, md_kinetic_sums *d_sums,
                        const md_kinetic_sums *wanted)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK_CUDA(cudaStreamCreate(&stream));
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK_OK(md_kinetic_launch(kinetic, d, d_sums, stream));
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int replay = 0; replay < 2; replay++) {
        md_kinetic_sums got;
        CHECK_CUDA(cudaMemset(d_sums, 0xff, sizeof got));
        CHECK_CUDA(cudaGraphLaunch(exec, stream));
        CHECK_CUDA(cudaStreamSynchronize(stream));
        download(&got, d_sums, sizeof got);
        CHECK(memcmp(&got, wanted, sizeof got) == 0);
    }
    CHECK_CUDA(cudaGraphExecDestroy(exec));
    CHECK_CUDA(cudaGraphDestroy(graph));
    CHECK_CUDA(cudaStreamDestroy(stream));
}

static void compare(int n, int n_temperature, int n_com, bool frozen)
{
    host_rows h = rows_make(n, n_temperature, n_com);
    const size_t size = (size_t)n;
    md_velocities d = {.n_owned = n, .n_temperature = n_temperature, .n_com = n_com};
    md_kinetic *kinetic;
    md_kinetic_sums first, second;
    md_momentum_sums momentum, again;
    d.d_v = upload(h.rows.v, size * sizeof *h.rows.v);
    d.d_mass = upload(h.rows.mass, size * sizeof *h.rows.mass);
    void *d_temperature = upload(h.temperature, size), *d_com = upload(h.com, size);
    void *d_frozen = upload(h.frozen, size);
    void *d_kinetic = upload(&first, sizeof first), *d_sums = upload(&momentum, sizeof momentum);
    if (n_temperature > 1) d.d_temperature_group = d_temperature;
    if (n_com > 1) d.d_com_group = d_com;
    if (frozen) d.d_frozen = d_frozen;

    CHECK_OK(md_kinetic_create(&kinetic));
    CHECK_OK(md_kinetic_launch(kinetic, &d, d_kinetic, NULL));
    download(&first, d_kinetic, sizeof first);
    CHECK_OK(md_momentum_launch(kinetic, &d, d_sums, NULL));
    download(&momentum, d_sums, sizeof momentum);
    CHECK_OK(md_kinetic_launch(kinetic, &d, d_kinetic, NULL));
    download(&second, d_kinetic, sizeof second);
    CHECK_OK(md_momentum_launch(kinetic, &d, d_sums, NULL));
    download(&again, d_sums, sizeof again);
    check_kinetic(&h, &d, &first);
    check_momentum(&h, &d, &momentum);
    CHECK(memcmp(&first, &second, sizeof first) == 0);
    CHECK(memcmp(&momentum, &again, sizeof momentum) == 0);
    check_graph(kinetic, &d, d_kinetic, &first);
    CHECK_OK(md_remove_drift_launch(&d, d_sums, NULL));
    check_removed(&h, &d, &momentum);

    md_kinetic_destroy(&kinetic);
    cudaFree(d.d_v), cudaFree((void *)d.d_mass), cudaFree(d_temperature), cudaFree(d_com);
    cudaFree(d_frozen), cudaFree(d_kinetic), cudaFree(d_sums);
    rows_free(&h);
}

int main(void)
{
    device_required();
    compare(0, 1, 1, false);
    compare(1, 1, 1, false);
    compare(257, 1, 1, true);
    compare(45000, 1, 1, false);
    compare(45000, 2, 3, true);
    compare(1000, MD_MAX_GROUPS, MD_MAX_GROUPS, true);
    compare(300000, 3, 2, false);
    return 0;
}
