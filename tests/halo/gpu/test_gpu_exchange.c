/* Every rung and route for device memory against the host's reference: random plans (unequal
 * sizes, empty pulses and ranks, repeated indices, self edges, the same peer on several edges) and
 * periodic grids in one, two and three axes with one and two pulses, on 1, 2, 3, 5, 8 and 12 ranks
 * that share one or two GPUs. Five fields of different type and width go in one exchange; others
 * move rows of 12 and of 16 bytes alone, or rows with gaps. The same source makes
 * test_gpu_nvshmem, where each rank is a process with a GPU, and every case is run by stores where
 * those reach the peer, and by puts.
 *
 * Forward must give the reference's bits; ghosts are poisoned first, and so are the gaps, which
 * must stay as they are. Deterministic reverse must
 * give the bits of the reference of its route; atomic reverse stays within the rounding bound. */
#include "gpus.h"

#include <float.h>
#include <math.h>

enum { MAX_FIELDS = 5, REPEATS = 3, N_SETS = 5 };

typedef struct variant {
    int n_gpus;
    const random_plan *random;      /* or */
    const grid_spec *grid;
    int fields;                     /* of field_sets */
} variant;

static const sundog_field field_sets[N_SETS][MAX_FIELDS] = {
    {{NULL, SUNDOG_FLOAT64, 3, true, 0}, {NULL, SUNDOG_FLOAT32, 3, true, 0},
     {NULL, SUNDOG_INT64, 2, false, 0}, {NULL, SUNDOG_INT8, 13, false, 0},
     {NULL, SUNDOG_FLOAT32, 5, false, 0}},
    {{NULL, SUNDOG_FLOAT32, 3, true, 0}},
    {{NULL, SUNDOG_FLOAT32, 4, true, 0}},
    {{NULL, SUNDOG_INT32, 3, false, 16}, {NULL, SUNDOG_FLOAT32, 3, true, 16}},
    {{NULL, SUNDOG_FLOAT32, 4, true, 32}, {NULL, SUNDOG_FLOAT64, 3, true, 40},
     {NULL, SUNDOG_INT8, 5, false, 7}},
};
static const int field_counts[N_SETS] = {5, 1, 1, 2, 3};

static size_t row_bytes_of(const sundog_field *field)
{
    static const size_t type_bytes[] = {1, 4, 8, 4, 8};
    return type_bytes[field->type] * (size_t)field->width;
}

static size_t stride_of(const sundog_field *field)
{
    return field->stride ? field->stride : row_bytes_of(field);
}

static void *component(const sundog_field *field, int64_t e)
{
    return (char *)field->rows + (size_t)(e / field->width) * stride_of(field) +
           (size_t)(e % field->width) * (row_bytes_of(field) / (size_t)field->width);
}

/* Something of either sign that tells rank, row and component; all bits of integers. */
static void fill(const sundog_field *field, sundog_idx n_rows, int salt)
{
    for (int64_t e = 0; e < (int64_t)n_rows * field->width; e++) {
        double value = sin(1.0 + 0.37 * (double)e + 17.0 * salt) * 100;
        void *at = component(field, e);
        switch (field->type) {
        case SUNDOG_FLOAT64: *(double *)at = value; break;
        case SUNDOG_FLOAT32: *(float *)at = (float)value; break;
        case SUNDOG_INT64: *(int64_t *)at = (int64_t)(value * 1e15) + e; break;
        case SUNDOG_INT32: *(int32_t *)at = (int32_t)(value * 1e6) + (int32_t)e; break;
        case SUNDOG_INT8: *(int8_t *)at = (int8_t)(e * 7 + salt); break;
        }
    }
}

/* Gaps of rank r hold 0x40 + r. */
static void gaps_fill(const sundog_field *field, sundog_idx n_rows, int rank)
{
    size_t n = row_bytes_of(field), stride = stride_of(field);
    for (sundog_idx i = 0; i < n_rows && stride > n; i++)
        memset((char *)field->rows + (size_t)i * stride + n, 0x40 + rank, stride - n);
}
static void gaps_check(const sundog_field *field, sundog_idx n_rows, int rank)
{
    size_t n = row_bytes_of(field), stride = stride_of(field);
    for (sundog_idx i = 0; i < n_rows; i++)
        for (size_t at = n; at < stride; at++)
            CHECK(((char *)field->rows)[(size_t)i * stride + at] == 0x40 + rank);
}

typedef struct arrays {
    int n_fields;
    sundog_field host[MAX_FIELDS], device[MAX_FIELDS], expected[MAX_FIELDS];
    size_t n_bytes[MAX_FIELDS], owned_bytes[MAX_FIELDS];
} arrays;

static void arrays_create(arrays *a, int which, const sundog_plan *plan)
{
    a->n_fields = field_counts[which];
    for (int f = 0; f < a->n_fields; f++) {
        a->host[f] = a->device[f] = a->expected[f] = field_sets[which][f];
        a->n_bytes[f] = (size_t)sundog_plan_n_rows(plan) * stride_of(&a->host[f]);
        a->owned_bytes[f] = (size_t)sundog_plan_n_owned(plan) * stride_of(&a->host[f]);
        a->host[f].rows = malloc(a->n_bytes[f] + 1);
        a->expected[f].rows = malloc(a->n_bytes[f] + 1);
        a->device[f].rows = gpu_alloc(a->n_bytes[f]);
        CHECK(a->host[f].rows && a->expected[f].rows);
    }
}

static void arrays_destroy(arrays *a)
{
    for (int f = 0; f < a->n_fields; f++) {
        free(a->host[f].rows);
        free(a->expected[f].rows);
        CHECK_CUDA(cudaFree(a->device[f].rows));
    }
}

/* Owned rows hold the payload, ghosts (forward) 0xff: NaN, or -1. */
static void arrays_fill(arrays *a, sundog_field *to, const sundog_plan *plan, int rank,
                        bool ghosts_too)
{
    sundog_idx n_owned = sundog_plan_n_owned(plan), n_rows = sundog_plan_n_rows(plan);
    for (int f = 0; f < a->n_fields; f++) {
        memset(to[f].rows, 0xff, a->n_bytes[f]);
        fill(&to[f], ghosts_too ? n_rows : n_owned, rank);
        gaps_fill(&to[f], n_rows, rank);
    }
}

static void arrays_upload(arrays *a)
{
    for (int f = 0; f < a->n_fields; f++)
        to_gpu(a->device[f].rows, a->host[f].rows, a->n_bytes[f]);
}

static void check_bits(const arrays *a, const served *how, bool forward)
{
    for (int f = 0; f < a->n_fields; f++) {
        size_t n = forward ? a->n_bytes[f] : a->owned_bytes[f];
        const char *seen = a->host[f].rows, *wanted = a->expected[f].rows;
        if (memcmp(seen, wanted, n) == 0) continue;
        size_t at = 0;
        while (seen[at] == wanted[at]) at++;
        fprintf(stderr, "%s %s: field %d, row %zu of %zu differs (%s)\n", how->rung,
                how->route == SUNDOG_ROUTE_STAGED ? "staged" : "direct", f,
                at / stride_of(&a->host[f]), n / stride_of(&a->host[f]),
                forward ? "forward" : "reverse");
        exit(1);
    }
}

/* Both sum the same terms, at most n of them, below 100: each is within n eps sum of the exact. */
static void check_near(const arrays *a, const rank_args *args, const sundog_plan *plan)
{
    double n = sundog_plan_n_rows(plan);
    CHECK_OK(sundog_team_sum_double(args->team, &n, 1));
    for (int f = 0; f < a->n_fields; f++) {
        bool is_double = a->host[f].type == SUNDOG_FLOAT64;
        if (!is_double && a->host[f].type != SUNDOG_FLOAT32) continue;
        for (int64_t e = 0; e < (int64_t)sundog_plan_n_owned(plan) * a->host[f].width; e++) {
            void *seen = component(&a->host[f], e), *wanted = component(&a->expected[f], e);
            if (is_double)
                CHECK_NEAR(*(double *)seen, *(double *)wanted, 2 * n * n * 100 * DBL_EPSILON);
            else CHECK_NEAR(*(float *)seen, *(float *)wanted, 2 * n * n * 100 * FLT_EPSILON);
        }
    }
}

/* What the host's reference makes of it. */
static void expect(arrays *a, sundog_plan *plan, const rank_args *args, sundog_route route,
                   bool is_forward)
{
    served reference = {"reference", route, true};
    arrays_fill(a, a->expected, plan, args->rank, !is_forward);
    sundog_exchange *exchange = exchange_of(&reference, plan, a->expected, a->n_fields);
    if (is_forward) forward(exchange);
    else reverse(exchange);
    sundog_exchange_destroy(&exchange);
}

/* Between processes: by what kernels reach peers, which depends on the machine. */
static void tell_once(const sundog_exchange *exchange, const served *how, const rank_args *args)
{
    static bool told[2];
    bool *mine = &told[gpu_transport == SUNDOG_TRANSPORT_PUT];
    if (!GPU_PROCESSES || args->rank > 0 || *mine || strcmp(how->rung, "stream") == 0) return;
    printf("%s\n", sundog_exchange_describe(exchange));
    *mine = true;
}

static void try_rung(arrays *a, sundog_plan *plan, const rank_args *args, const served *how,
                     bool is_forward)
{
    sundog_exchange *exchange = gpu_exchange_of(how, plan, a->device, a->n_fields);
    tell_once(exchange, how, args);
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        arrays_fill(a, a->host, plan, args->rank, !is_forward);
        arrays_upload(a);
        if (repeat == 1) {          /* at once, on a stream */
            CHECK_OK(is_forward ? sundog_forward_on(exchange, NULL)
                                : sundog_reverse_on(exchange, NULL));
            CHECK_OK(sundog_exchange_wait(exchange, NULL));
        } else if (is_forward) {
            forward(exchange);
        } else {
            reverse(exchange);
        }
        for (int f = 0; f < a->n_fields; f++) {
            from_gpu(a->host[f].rows, a->device[f].rows, a->n_bytes[f]);
            gaps_check(&a->host[f], sundog_plan_n_rows(plan), args->rank);
        }
        if (is_forward || how->deterministic) check_bits(a, how, is_forward);
        else check_near(a, args, plan);
    }
    sundog_exchange_destroy(&exchange);
}

/* Every rung of this machine; between processes by stores and by puts. */
static void try_rungs(arrays *a, sundog_plan *plan, const rank_args *args, sundog_route route,
                      bool is_forward)
{
    const sundog_transport transport[] = {SUNDOG_TRANSPORT_AUTO, SUNDOG_TRANSPORT_PUT};
    for (int t = 0; t < (GPU_PROCESSES ? 2 : 1); t++) {
        gpu_transport = transport[t];
        for (int s = 0; s < N_GPU_SERVED; s++)
            if (gpu_served[s].route == route && gpu_has(&gpu_served[s]))
                try_rung(a, plan, args, &gpu_served[s], is_forward);
    }
}

static void one_plan(rank_args *args)
{
    const variant *v = args->shared;
    bind_gpu(args, v->n_gpus);
    sundog_plan *plan = v->random ? random_plan_create(v->random, args)
                                  : grid_plan_create(v->grid, args);
    arrays a;
    arrays_create(&a, v->fields, plan);
    for (int is_forward = 0; is_forward < 2; is_forward++)
        for (int route = 0; route < 2; route++) {
            expect(&a, plan, args, (sundog_route)route, is_forward);
            try_rungs(&a, plan, args, (sundog_route)route, is_forward);
        }
    arrays_destroy(&a);
    sundog_plan_destroy(&plan);
}

static int everything(void)
{
    gpus_start();
    const int n_ranks[] = {1, 2, 3, 5, 8, 12};
    bool any = false;
    for (int n_gpus = gpus_to_try_first(); n_gpus <= gpus_to_try(); n_gpus++)
        for (int i = 0; i < 6; i++) {
            if (!ranks_can(n_ranks[i])) continue;
            any = true;
            for (uint64_t seed = 1; seed <= 3; seed++) {
                random_plan spec = {seed * 31 + (uint64_t)i, (int)(seed % 5) + 2, 40,
                                    seed % 2 == 0, {0}};
                variant v = {n_gpus, &spec, NULL, seed < 3 ? 0 : 3};
                run_ranks(n_ranks[i], one_plan, &v);
            }
            for (int axes = 1; axes <= 3; axes++)
                for (int pulses = 1; pulses <= 2; pulses++) {
                    grid_spec grid = {axes, pulses, i % 2 ? 700 : 150};
                    variant v = {n_gpus, NULL, &grid, (axes + pulses + i) % N_SETS};
                    run_ranks(n_ranks[i], one_plan, &v);
                }
            printf("%d ranks on %d GPU%s: passed\n", n_ranks[i], n_gpus, n_gpus > 1 ? "s" : "");
            fflush(stdout);
        }
    CHECK(any);
    return 0;
}

#ifdef RANKS_FORKED
int main(void)
{
    return everything();
}
#else
/* One rank, for tools that run kernels one after the other (compute-sanitizer). */
static int small(void)
{
    for (int fields = 0; fields < N_SETS; fields++) {
        grid_spec grid = {2, 2, 100};
        variant v = {1, NULL, &grid, fields};
        run_ranks(1, one_plan, &v);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "small") != 0) return everything();
    gpus_start();
    return small();
}
#endif
