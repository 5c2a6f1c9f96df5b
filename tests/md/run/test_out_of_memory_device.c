/* A GPU whose memory is taken (here by this program itself): the run ends with a message that says
 * so and what to do, and with nothing left behind: with the memory free again the same run works.
 * Of several domains one runs out before the others. */
#include "device.h"

#define RUN_ON_GPU 1
#include "runs.h"

static void check(int n_domains)
{
    const run_way way = {.scheme = MD_SCHEME_SHELL};
    md_run_options options =
        run_options("grappa-like/0006", reference_path("grappa-like/nve_rf.mdp"), &way);
    options.conf = reference_path("grappa-like/0006/conf.gro");
    options.n_gpus = 1;
    options.n_domains = n_domains;
    options.nsteps_given = true;
    options.nsteps = 20;
    md_run_result result;
    CHECK_OK(md_run(&options, &result)); /* kernels are loaded */

    enum { MOST = 1024 };
    static void *taken[MOST];
    static size_t n_bytes_of[MOST];
    const size_t largest = (size_t)1 << 29;
    int n = 0;
    for (size_t n_bytes = largest; n_bytes >= (size_t)1 << 20 && n < MOST;)
        if (cudaMalloc(&taken[n], n_bytes) == cudaSuccess)
            n_bytes_of[n++] = n_bytes;
        else
            n_bytes /= 2;
    (void)cudaGetLastError();
    sundog_status status = md_run(&options, &result);
    printf("%d domain%s: %s\n", n_domains, n_domains > 1 ? "s" : "", sundog_last_error());
    CHECK(status == SUNDOG_ERR_MEMORY);
    CHECK(strstr(sundog_last_error(), "GB of GPU 0, where"));
    /* Half a gigabyte, or a little more, for one that wants two: how many atoms would fit. */
    for (size_t freed = 0; n > 0 && freed < largest; freed += n_bytes_of[n])
        CHECK_CUDA(cudaFree(taken[--n]));
    for (int k = 0; k < 3; k++) options.replicate[k] = 4;
    status = md_run(&options, &result);
    printf("%s\n", sundog_last_error());
    CHECK(status == SUNDOG_ERR_MEMORY);
    CHECK(strstr(sundog_last_error(), " atoms fit, or "));
    for (int k = 0; k < 3; k++) options.replicate[k] = 1;

    while (n > 0) CHECK_CUDA(cudaFree(taken[--n]));
    CHECK_OK(md_run(&options, &result));
    run_was_there(&result);
}

int main(void)
{
    run_need_device();
    check(1);
    check(3);
    return 0;
}
