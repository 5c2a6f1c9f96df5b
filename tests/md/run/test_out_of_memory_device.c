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

    enum { MOST = 64 };
    void *taken[MOST];
    int n = 0;
    for (size_t n_bytes = (size_t)1 << 40; n_bytes >= (size_t)1 << 20 && n < MOST;)
        if (cudaMalloc(&taken[n], n_bytes) == cudaSuccess)
            n++;
        else
            n_bytes /= 2;
    (void)cudaGetLastError();
    sundog_status status = md_run(&options, &result);
    printf("%d domain%s: %s\n", n_domains, n_domains > 1 ? "s" : "", sundog_last_error());
    CHECK(status == SUNDOG_ERR_MEMORY);
    CHECK(strstr(sundog_last_error(), "GPU 0 is out of memory"));
    for (int i = 0; i < n; i++) CHECK_CUDA(cudaFree(taken[i]));
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
