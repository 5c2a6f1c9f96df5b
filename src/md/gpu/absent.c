/* A build without CUDA: nobody gets here, for no GPU is ever chosen. */
#include "md/gpu/gpu.h"

static sundog_status refuse(void)
{
    return base_fail(SUNDOG_ERR_UNSUPPORTED, "this build has no support for GPUs");
}

bool md_gpu_is_built(void)
{
    return false;
}

sundog_status md_gpu_create(const md_gpu_options *options, md_gpu **out)
{
    (void)options, (void)out;
    return refuse();
}

void md_gpu_destroy(md_gpu **gpu)
{
    (void)gpu;
}

sundog_status md_gpu_rebuild(md_gpu *gpu, const md_gpu_rows *rows)
{
    (void)gpu, (void)rows;
    return refuse();
}

sundog_status md_gpu_renew(md_gpu *gpu)
{
    (void)gpu;
    return refuse();
}

sundog_status md_gpu_enqueue(md_gpu *gpu, int64_t step, int n_steps, const uint8_t *what)
{
    (void)gpu, (void)step, (void)n_steps, (void)what;
    return refuse();
}

int md_gpu_n_under_way(const md_gpu *gpu)
{
    (void)gpu;
    return 0;
}

sundog_status md_gpu_finish(md_gpu *gpu, md_gpu_result *result)
{
    (void)gpu, (void)result;
    return refuse();
}

sundog_status md_gpu_rewind(md_gpu *gpu)
{
    (void)gpu;
    return refuse();
}

double md_gpu_memory_estimate(const md_gpu_size *size)
{
    (void)size;
    return 0;
}

double md_gpu_memory_fixed(void)
{
    return 0;
}

sundog_status md_gpu_memory_free(int gpu, double *free_bytes, double *all_bytes)
{
    (void)gpu, (void)free_bytes, (void)all_bytes;
    return refuse();
}

sundog_status md_gpu_make_room(md_gpu *gpu, unsigned what, bool *enough)
{
    (void)gpu, (void)what, (void)enough;
    return refuse();
}

int md_gpu_most_units(const md_gpu *gpu)
{
    (void)gpu;
    return 0;
}

sundog_status md_gpu_thermostat_work(md_gpu *gpu, double *work)
{
    (void)gpu, (void)work;
    return refuse();
}

sundog_status md_gpu_download(md_gpu *gpu, double (*x)[3], double (*v)[3], float (*f)[3])
{
    (void)gpu, (void)x, (void)v, (void)f;
    return refuse();
}

sundog_status md_gpu_stretch(md_gpu *gpu, const md_box *box, const double factor[3])
{
    (void)gpu, (void)box, (void)factor;
    return refuse();
}

const char *md_gpu_part_name(md_gpu_part part)
{
    (void)part;
    return "";
}

sundog_status md_gpu_measure(md_gpu *gpu, double us[MD_GPU_N_PARTS])
{
    (void)gpu, (void)us;
    return refuse();
}

const char *md_gpu_describe(const md_gpu *gpu)
{
    (void)gpu;
    return "";
}
