/* Every rung and route on random plans: unequal sizes, empty pulses and ranks, repeated indices,
 * self edges, the same peer on several edges, several fields of different type and width, two of
 * them rows of 16 bytes of which 12 travel; the rest of a row must stay as it was.
 *
 * Forward must equal the reference bit for bit, on both routes, with shifts; the payload tells
 * owner, row and component; ghosts are poisoned first. Deterministic reverse must equal the
 * reference of its route bit for bit; adding as sums arrive stays within the rounding bound.
 */
#include "ranks.h"

#include <float.h>
#include <math.h>

enum { N_FIELDS = 7, REPEATS = 3 };

typedef struct arrays {
    double *x;                      /* [n_rows][3], shifted */
    float *f;                       /* [n_rows][3], shifted */
    int64_t *id;                    /* [n_rows][2]: owner, row */
    int8_t *tag;                    /* [n_rows] */
    float *q;                       /* [n_rows][5] */
    int32_t *s;                     /* [n_rows][3], and 4 bytes that stay */
    float *g;                       /* [n_rows][3], shifted, and 4 bytes that stay */
} arrays;

static const size_t row_bytes[N_FIELDS] = {24, 12, 16, 1, 20, 16, 16};

static void arrays_alloc(arrays *a, sundog_idx n_rows)
{
    size_t n = (size_t)n_rows + 1;
    *a = (arrays){malloc(n * 24), malloc(n * 12), malloc(n * 16), malloc(n),
                  malloc(n * 20), malloc(n * 16), malloc(n * 16)};
    CHECK(a->x && a->f && a->id && a->tag && a->q && a->s && a->g);
}

static void arrays_free(arrays *a)
{
    free(a->x), free(a->f), free(a->id), free(a->tag), free(a->q), free(a->s), free(a->g);
}

static void arrays_fields(const arrays *a, sundog_field *field)
{
    field[0] = (sundog_field){a->x, SUNDOG_FLOAT64, 3, true, 0};
    field[1] = (sundog_field){a->f, SUNDOG_FLOAT32, 3, true, 0};
    field[2] = (sundog_field){a->id, SUNDOG_INT64, 2, false, 0};
    field[3] = (sundog_field){a->tag, SUNDOG_INT8, 1, false, 0};
    field[4] = (sundog_field){a->q, SUNDOG_FLOAT32, 5, false, 0};
    field[5] = (sundog_field){a->s, SUNDOG_INT32, 3, false, 16};
    field[6] = (sundog_field){a->g, SUNDOG_FLOAT32, 3, true, 16};
}

/* What lies between rows is each rank's own. */
static int32_t gap_of(int rank, sundog_idx row)
{
    return 0x5a000000 + 100000 * rank + row;
}

static void gaps_fill(arrays *a, int rank, sundog_idx n_rows)
{
    for (sundog_idx i = 0; i < n_rows; i++) {
        int32_t gap = gap_of(rank, i);
        memcpy(&a->s[4 * i + 3], &gap, sizeof gap);
        memcpy(&a->g[4 * i + 3], &gap, sizeof gap);
    }
}

static void gaps_check(const arrays *a, int rank, sundog_idx n_rows)
{
    for (sundog_idx i = 0; i < n_rows; i++) {
        int32_t gap = gap_of(rank, i);
        CHECK(memcmp(&a->s[4 * i + 3], &gap, sizeof gap) == 0);
        CHECK(memcmp(&a->g[4 * i + 3], &gap, sizeof gap) == 0);
    }
}

/* Payload of owned rows by rank, row and component; ghosts NaN or -1. */
static void arrays_fill(arrays *a, int rank, sundog_idx n_owned, sundog_idx n_rows, int salt)
{
    for (sundog_idx i = 0; i < n_rows; i++) {
        bool owned = i < n_owned;
        for (int c = 0; c < 3; c++) {
            double value = rank * 1e6 + i * 10.0 + c + salt * 0.1;
            a->x[3 * i + c] = owned ? value / 7 : (double)NAN;
            a->f[3 * i + c] = owned ? (float)(value / 3e5) : NAN;
            a->s[4 * i + c] = owned ? 7919 * (rank + 1) * (i + 1) + c + salt : -1;
            a->g[4 * i + c] = owned ? (float)(value / 2e5) : NAN;
        }
        a->id[2 * i] = owned ? rank : -1;
        a->id[2 * i + 1] = owned ? i + 1000000 * (int64_t)salt : -1;
        a->tag[i] = owned ? (int8_t)(rank * 7 + i + salt) : -1;
        for (int c = 0; c < 5; c++)
            a->q[5 * i + c] = owned ? (float)sin(rank + 0.1 * i + c + salt) : NAN;
    }
    gaps_fill(a, rank, n_rows);
}

static void check_same(const arrays *a, const arrays *b, sundog_idx n, const bool which[N_FIELDS])
{
    const void *left[N_FIELDS] = {a->x, a->f, a->id, a->tag, a->q, a->s, a->g};
    const void *right[N_FIELDS] = {b->x, b->f, b->id, b->tag, b->q, b->s, b->g};
    for (int f = 0; f < N_FIELDS; f++)
        if (which[f]) CHECK(memcmp(left[f], right[f], (size_t)n * row_bytes[f]) == 0);
}

static void check_payload(const arrays *a, const sundog_plan *plan, int salt)
{
    sundog_idx n_rows = sundog_plan_n_rows(plan);
    int *rank = malloc(((size_t)n_rows + 1) * sizeof *rank);
    sundog_idx *row = malloc(((size_t)n_rows + 1) * sizeof *row);
    CHECK_OK(sundog_plan_owners(plan, rank, row));
    for (sundog_idx i = 0; i < n_rows; i++) {
        CHECK(a->id[2 * i] == rank[i] && a->id[2 * i + 1] == row[i] + 1000000 * (int64_t)salt);
        CHECK(a->tag[i] == (int8_t)(rank[i] * 7 + row[i] + salt));
        for (int c = 0; c < 5; c++)
            CHECK(a->q[5 * i + c] == (float)sin(rank[i] + 0.1 * row[i] + c + salt));
        for (int c = 0; c < 3; c++)
            CHECK(a->s[4 * i + c] == 7919 * (rank[i] + 1) * (row[i] + 1) + c + salt);
    }
    free(rank);
    free(row);
}

/* What reverse starts from: every row, ghosts too, holds something of either sign. */
static void arrays_fill_sums(arrays *a, int rank, sundog_idx n_rows, int salt)
{
    for (sundog_idx i = 0; i < n_rows; i++) {
        for (int c = 0; c < 3; c++) {
            a->x[3 * i + c] = sin(1.0 + rank * 17 + i * 3 + c + salt) * 1e3;
            a->f[3 * i + c] = (float)cos(2.0 + rank * 13 + i * 3 + c + salt);
            a->s[4 * i + c] = 5;
            a->g[4 * i + c] = (float)cos(1.5 + rank * 11 + i * 3 + c + salt);
        }
        a->id[2 * i] = a->id[2 * i + 1] = 7;
        a->tag[i] = 3;
        for (int c = 0; c < 5; c++) a->q[5 * i + c] = (float)sin(3.0 + rank + i * 5 + c + salt);
    }
    gaps_fill(a, rank, n_rows);
}

static void reverse_all(rank_args *args, sundog_plan *plan, int salt)
{
    const bool bits[N_FIELDS] = {true, true, true, true, true, true, true};
    sundog_idx n_rows = sundog_plan_n_rows(plan), n_owned = sundog_plan_n_owned(plan);
    arrays oracle[2], tried;        /* one a route */
    sundog_field field[N_FIELDS];
    arrays_alloc(&tried, n_rows);
    for (int s = 0; s < N_SERVED; s++) {
        const served *how = &all_served[s];
        bool is_oracle = strcmp(how->rung, "reference") == 0;
        arrays *a = is_oracle ? &oracle[how->route] : &tried;
        if (is_oracle) arrays_alloc(a, n_rows);
        arrays_fields(a, field);
        sundog_exchange *exchange = exchange_of(how, plan, field, N_FIELDS);
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            arrays_fill_sums(a, args->rank, n_rows, salt);
            reverse(exchange);
            gaps_check(a, args->rank, n_rows);
            if (how->deterministic) {
                check_same(a, &oracle[how->route], n_owned, bits);
            } else {
                /* Both sum the same terms, at most n of them, in different orders: each is within
                 * n eps sum|terms| of the exact sum. Terms are below 1e3; n is the team's rows. */
                double n = n_rows;
                CHECK_OK(sundog_team_sum_double(args->team, &n, 1));
                for (sundog_idx i = 0; i < 3 * n_owned; i++) {
                    sundog_idx g = i / 3 * 4 + i % 3;
                    CHECK_NEAR(a->x[i], oracle[how->route].x[i], 2 * n * n * 1e3 * DBL_EPSILON);
                    CHECK_NEAR(a->g[g], oracle[how->route].g[g], 2 * n * n * FLT_EPSILON);
                }
            }
        }
        sundog_exchange_destroy(&exchange);
    }
    arrays_free(&tried);
    arrays_free(&oracle[0]);
    arrays_free(&oracle[1]);
}

static void forward_all(rank_args *args, sundog_plan *plan, int salt)
{
    const bool bits[N_FIELDS] = {true, true, true, true, true, true, true};
    sundog_idx n_rows = sundog_plan_n_rows(plan), n_owned = sundog_plan_n_owned(plan);
    arrays oracle, tried;
    sundog_field field[N_FIELDS];
    arrays_alloc(&oracle, n_rows);
    arrays_alloc(&tried, n_rows);
    for (int s = 0; s < N_SERVED; s++) {
        arrays *a = s == 0 ? &oracle : &tried;
        arrays_fields(a, field);
        sundog_exchange *exchange = exchange_of(&all_served[s], plan, field, N_FIELDS);
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            arrays_fill(a, args->rank, n_owned, n_rows, salt);
            forward(exchange);
            check_payload(a, plan, salt);
            gaps_check(a, args->rank, n_rows);
            check_same(a, &oracle, n_rows, bits);
        }
        sundog_exchange_destroy(&exchange);
    }
    arrays_free(&oracle);
    arrays_free(&tried);
}

/* Stretched under bound exchanges, twice, a plan must do as one that was built with such shifts. */
static void stretched(rank_args *args, int salt)
{
    const double once[3] = {1.01, 0.98, 1.5}, back[3] = {0.5, 1.25, 1};
    random_plan spec = *(const random_plan *)args->shared;
    sundog_plan *plan = random_plan_create(&spec, args), *wanted;
    for (int axis = 0; axis < 3; axis++) spec.stretch[axis] = once[axis] * back[axis];
    wanted = random_plan_create(&spec, args);
    sundog_idx n_rows = sundog_plan_n_rows(plan), n_owned = sundog_plan_n_owned(plan);
    arrays oracle, tried[N_SERVED];
    sundog_field field[N_FIELDS];
    sundog_exchange *exchange[N_SERVED], *reference;
    arrays_alloc(&oracle, n_rows);
    arrays_fields(&oracle, field);
    reference = exchange_of(&all_served[0], wanted, field, N_FIELDS);
    for (int s = 0; s < N_SERVED; s++) {
        arrays_alloc(&tried[s], n_rows);
        arrays_fields(&tried[s], field);
        exchange[s] = exchange_of(&all_served[s], plan, field, N_FIELDS);
        arrays_fill(&tried[s], args->rank, n_owned, n_rows, salt);
        forward(exchange[s]);
    }
    CHECK_OK(sundog_plan_stretch(plan, once));
    CHECK_OK(sundog_plan_stretch(plan, back));
    arrays_fill(&oracle, args->rank, n_owned, n_rows, salt);
    forward(reference);
    for (int s = 0; s < N_SERVED; s++) {
        forward(exchange[s]);
        for (sundog_idx i = 0; i < 3 * n_rows; i++) {
            CHECK_NEAR(tried[s].x[i], oracle.x[i], 4 * DBL_EPSILON * (fabs(oracle.x[i]) + 10));
            CHECK_NEAR(tried[s].f[i], oracle.f[i], 4 * FLT_EPSILON * (fabsf(oracle.f[i]) + 10));
        }
        sundog_exchange_destroy(&exchange[s]);
        arrays_free(&tried[s]);
    }
    const double zero[3] = {1, 0, 1};
    CHECK(sundog_plan_stretch(plan, zero) == SUNDOG_ERR_ARGUMENT);
    CHECK_OK(sundog_plan_reset(plan, 0));
    CHECK(sundog_plan_stretch(plan, once) == SUNDOG_ERR_ARGUMENT);
    sundog_exchange_destroy(&reference);
    sundog_plan_destroy(&wanted);
    sundog_plan_destroy(&plan);
    arrays_free(&oracle);
}

static void one_plan(rank_args *args)
{
    const random_plan *spec = args->shared;
    sundog_plan *plan = random_plan_create(spec, args);
    forward_all(args, plan, (int)(spec->seed % 10));
    reverse_all(args, plan, (int)(spec->seed % 10));
    sundog_plan_destroy(&plan);
    if (spec->shifts) stretched(args, (int)(spec->seed % 10));
}

int main(void)
{
    const int n_ranks[] = {1, 2, 3, 5, 8};
    for (int i = 0; i < 5; i++)
        for (uint64_t seed = 1; seed <= 6; seed++) {
            random_plan spec = {.seed = seed * 31 + (uint64_t)i,
                                .n_pulses = (int)(seed % 5) + 1,
                                .max_owned = 40,
                                .shifts = seed % 2 == 0};
            run_ranks(n_ranks[i], one_plan, &spec);
        }
    return 0;
}
