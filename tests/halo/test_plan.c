/* Plans: what they refuse, with the first fault named by rank, pulse and row and the same text on
 * all ranks; fetch; owners; reset and rebind, growing and shrinking, without allocating when
 * nothing grew. */
#include "ranks.h"

#include "halo/exchange.h"

/* A ring: everybody sends `n` rows to the next rank. */
static sundog_pulse ring(const rank_args *args, sundog_idx n, const sundog_idx *index)
{
    return (sundog_pulse){(args->rank + 1) % args->n_ranks,
                          (args->rank + args->n_ranks - 1) % args->n_ranks, n, index, {0, 0, 0}};
}

static void refused(const rank_args *args, sundog_plan *plan, const sundog_pulse *pulse,
                    const char *text)
{
    int n_pulses = sundog_plan_n_pulses(plan);
    sundog_idx n_rows = sundog_plan_n_rows(plan), first = -7, n_ghost = -7;
    CHECK(sundog_plan_add_pulse(plan, pulse, &first, &n_ghost) == SUNDOG_ERR_PLAN);
    if (!strstr(sundog_last_error(), text))
        fprintf(stderr, "rank %d: '%s' lacks '%s'\n", args->rank, sundog_last_error(), text);
    CHECK(strstr(sundog_last_error(), text));
    CHECK(first == -7 && n_ghost == -7);    /* nothing has changed */
    CHECK(sundog_plan_n_pulses(plan) == n_pulses && sundog_plan_n_rows(plan) == n_rows);
}

static void faults(rank_args *args)
{
    int last = args->n_ranks - 1;
    sundog_idx rows[3] = {0, 1, 2};
    sundog_plan *plan;
    CHECK(sundog_plan_create(args->team, args->rank == last ? -1 : 5, &plan) ==
          SUNDOG_ERR_ARGUMENT);
    CHECK_OK(sundog_plan_create(args->team, 5, &plan));
    sundog_pulse good = ring(args, 3, rows), bad = good;
    CHECK_OK(sundog_plan_add_pulse(plan, &good, NULL, NULL));

    char text[128];
    sundog_idx own_ghost[3] = {0, 8, 1}, negative[3] = {0, 1, -2};
    snprintf(text, sizeof text, "rank %d, pulse 1: index[1] names row 8", last);
    if (args->rank == last) bad.index = own_ghost;
    refused(args, plan, &bad, text);                    /* would wait for itself */
    snprintf(text, sizeof text, "rank %d, pulse 1: index[2] names row -2", last);
    if (args->rank == last) bad.index = negative;
    refused(args, plan, &bad, text);
    bad = good;
    if (args->rank == last) bad.n_send = -1;
    snprintf(text, sizeof text, "rank %d, pulse 1: n_send is -1", last);
    refused(args, plan, &bad, text);
    bad = good;
    if (args->rank == last) bad.to_rank = args->n_ranks;
    snprintf(text, sizeof text, "rank %d, pulse 1: to_rank %d", last, args->n_ranks);
    refused(args, plan, &bad, text);
    bad = good;
    if (args->rank == last) bad.shift[1] = 1.0 / 0.0;
    snprintf(text, sizeof text, "rank %d, pulse 1: shift[1]", last);
    refused(args, plan, &bad, text);
    bad = good;
    if (args->n_ranks > 2) {                            /* the two ends disagree */
        if (args->rank == last) bad.from_rank = last;
        snprintf(text, sizeof text, "rank %d, pulse 1: sends to rank %d", last - 1, last);
        refused(args, plan, &bad, text);
    }
    CHECK_OK(sundog_plan_add_pulse(plan, &good, NULL, NULL));
    CHECK_OK(sundog_plan_commit(plan));
    CHECK(sundog_plan_commit(plan) == SUNDOG_ERR_ARGUMENT);
    CHECK(sundog_plan_add_pulse(plan, &good, NULL, NULL) == SUNDOG_ERR_ARGUMENT);
    sundog_plan_destroy(&plan);
    CHECK(plan == NULL);
    sundog_plan_destroy(&plan);
}

static void options(rank_args *args)
{
    sundog_idx rows[3] = {0, 1, 2};
    sundog_plan *plan;
    double x[8] = {0};
    int32_t number[24] = {0};
    sundog_field field = {x, SUNDOG_FLOAT64, 1, false, 0};
    sundog_field wrong = {number, SUNDOG_INT32, 3, true, 0};
    sundog_exchange *exchange = NULL;
    sundog_pulse pulse = ring(args, 3, rows);
    CHECK_OK(sundog_plan_create(args->team, 5, &plan));
    CHECK_OK(sundog_plan_add_pulse(plan, &pulse, NULL, NULL));
    CHECK(sundog_exchange_create(plan, &field, 1, NULL, &exchange) == SUNDOG_ERR_ARGUMENT);
    CHECK_OK(sundog_plan_commit(plan));
    sundog_exchange_options o = {.struct_size = sizeof o, .rung = "direct"};
    CHECK(sundog_exchange_create(plan, &field, 1, &o, &exchange) == SUNDOG_ERR_UNSUPPORTED);
    CHECK(strstr(sundog_last_error(), "route direct"));
    o.rung = "pigeon";
    CHECK(sundog_exchange_create(plan, &field, 1, &o, &exchange) == SUNDOG_ERR_UNSUPPORTED);
    o.rung = args->rank == 0 ? "pulse" : "fused";
    sundog_status expected = args->n_ranks > 1 ? SUNDOG_ERR_ARGUMENT : SUNDOG_OK;
    CHECK(sundog_exchange_create(plan, &field, 1, &o, &exchange) == expected);
    sundog_exchange_destroy(&exchange);
    o.rung = NULL;
    o.struct_size = 0;
    CHECK(sundog_exchange_create(plan, &field, 1, &o, &exchange) == SUNDOG_ERR_ARGUMENT);
    CHECK(sundog_exchange_create(plan, &wrong, 1, NULL, &exchange) == SUNDOG_ERR_ARGUMENT);
    for (int i = 0; i < 3; i++) {
        const size_t stride[3] = {8, 14, (size_t)1 << 31};      /* short, unaligned, too long */
        wrong = (sundog_field){number, SUNDOG_INT32, 3, false, stride[i]};
        CHECK(sundog_exchange_create(plan, &wrong, 1, NULL, &exchange) == SUNDOG_ERR_ARGUMENT);
        CHECK(strstr(sundog_last_error(), "stride"));
    }
    wrong.stride = args->rank == 0 ? 12 : 16;
    if (args->n_ranks > 1)
        CHECK(sundog_exchange_create(plan, &wrong, 1, NULL, &exchange) == SUNDOG_ERR_ARGUMENT);
    CHECK(sundog_exchange_create(plan, &field, 0, NULL, &exchange) == SUNDOG_ERR_ARGUMENT);
    CHECK(sundog_exchange_create(plan, &field, 17, NULL, &exchange) == SUNDOG_ERR_ARGUMENT);
    CHECK(exchange == NULL);

    o = (sundog_exchange_options){.struct_size = sizeof o, .route = SUNDOG_ROUTE_DIRECT};
    CHECK_OK(sundog_exchange_create(plan, &field, 1, &o, &exchange));
    CHECK(strncmp(sundog_exchange_describe(exchange), ranks_fabric, strlen(ranks_fabric)) == 0);
    CHECK(strstr(sundog_exchange_describe(exchange), "/direct direct"));
    CHECK(sundog_forward_end(exchange) == SUNDOG_ERR_ARGUMENT);
    CHECK_OK(sundog_forward_begin(exchange));
    CHECK(sundog_forward_begin(exchange) == SUNDOG_ERR_ARGUMENT);
    CHECK(sundog_reverse_end(exchange) == SUNDOG_ERR_ARGUMENT);
    CHECK_OK(sundog_forward_end(exchange));
    sundog_exchange_volume volume;
    CHECK_OK(sundog_exchange_volume_of(exchange, &volume));
    bool alone = args->n_ranks == 1;
    CHECK(volume.n_rows == (alone ? 0 : 3) && volume.n_bytes == (alone ? 0 : 24) &&
          volume.n_messages == (alone ? 0 : 1));
    CHECK_OK(sundog_plan_reset(plan, 5));
    CHECK(sundog_forward_begin(exchange) == SUNDOG_ERR_ARGUMENT);   /* stale */
    sundog_exchange_destroy(&exchange);
    sundog_plan_destroy(&plan);
}

/* Each pulse is built from what fetch brought of the one before; owners must agree with it. */
static void fetch(rank_args *args)
{
    enum { OWNED = 4, PULSES = 3, MAX_ROWS = 64 };
    int64_t id[MAX_ROWS][3];
    double x[MAX_ROWS][3];
    sundog_idx n_rows = OWNED + args->rank, first, n_ghost;
    sundog_plan *plan;
    CHECK_OK(sundog_plan_create(args->team, n_rows, &plan));
    for (sundog_idx i = 0; i < n_rows; i++) {
        id[i][0] = args->rank, id[i][1] = i;
        for (int c = 0; c < 3; c++) x[i][c] = args->rank + 0.25 * i;
    }
    for (sundog_idx i = 0; i < MAX_ROWS; i++) id[i][2] = 100 + i;       /* stays as it is */
    sundog_field field[2] = {{id, SUNDOG_INT64, 2, false, sizeof id[0]},
                             {x, SUNDOG_FLOAT64, 3, true, 0}};
    for (int p = 0; p < PULSES; p++) {
        sundog_idx index[MAX_ROWS];
        int n = 0;
        for (sundog_idx i = n_rows - 1; i >= 0 && n < 8; i -= 2) index[n++] = i;
        sundog_pulse pulse = ring(args, n, index);
        pulse.shift[0] = 0.5;
        CHECK_OK(sundog_plan_add_pulse(plan, &pulse, &first, &n_ghost));
        CHECK_OK(sundog_plan_fetch(plan, p, field, 2));
        n_rows = first + n_ghost;
    }
    CHECK(sundog_plan_fetch(plan, PULSES, field, 2) == SUNDOG_ERR_ARGUMENT);
    field[1].shifted = args->rank > 0;
    CHECK(sundog_plan_fetch(plan, 0, field, 2) ==
          (args->n_ranks > 1 ? SUNDOG_ERR_ARGUMENT : SUNDOG_OK));
    CHECK_OK(sundog_plan_commit(plan));
    int rank[MAX_ROWS];
    sundog_idx row[MAX_ROWS];
    CHECK_OK(sundog_plan_owners(plan, rank, row));
    for (sundog_idx i = 0; i < n_rows; i++) CHECK(rank[i] == id[i][0] && row[i] == id[i][1]);
    for (sundog_idx i = 0; i < MAX_ROWS; i++) CHECK(id[i][2] == 100 + i);
    /* hops are told by the shifts: pulse p's ghosts have come over 1 .. p + 1 of them */
    for (sundog_idx i = OWNED + args->rank; args->n_ranks > 1 && i < n_rows; i++) {
        double hops = (x[i][0] - (rank[i] + 0.25 * row[i])) / 0.5;
        CHECK(hops == 1 || hops == 2 || hops == 3);
        CHECK(x[i][1] == rank[i] + 0.25 * row[i]);
    }
    sundog_plan_destroy(&plan);
}

/* Sizes that shrink, grow and go to zero; pulses 2 -> 1 -> 2; one exchange for all. */
static void rebuild(rank_args *args)
{
    const random_plan spec[] = {{11, 2, 30, true, {0}},  {12, 1, 10, false, {0}},
                                {13, 2, 60, true, {0}},  {14, 0, 20, false, {0}},
                                {15, 3, 0, true, {0}},   {16, 5, 80, true, {0}},
                                {16, 5, 80, true, {0}},  {11, 2, 30, true, {0}}};
    enum { N_SPECS = sizeof spec / sizeof spec[0], MAX_ROWS = 20000 };
    int64_t (*id)[2] = malloc(MAX_ROWS * sizeof *id);
    float (*f)[3] = malloc(MAX_ROWS * sizeof *f);
    sundog_field field[2] = {{id, SUNDOG_INT64, 2, false, 0}, {f, SUNDOG_FLOAT32, 3, false, 0}};
    const served *how = args->shared;
    sundog_plan *plan = random_plan_create(&spec[0], args);
    sundog_exchange *exchange = exchange_of(how, plan, field, 2);
    const void *words = NULL, *slots = NULL, *index = NULL, *run = NULL;
    for (int s = 0; s < N_SPECS; s++) {
        if (s > 0) {
            random_plan_build(&spec[s], args, plan, false);
            CHECK_OK(sundog_exchange_rebind(exchange, field, 2));
        }
        if (s == 6) {               /* the same again: nothing was allocated */
            CHECK(words == exchange->words && slots == exchange->slots);
            CHECK(index == plan->index && run == plan->route[how->route].run);
        }
        words = exchange->words, slots = exchange->slots;
        index = plan->index, run = plan->route[how->route].run;
        sundog_idx n_rows = sundog_plan_n_rows(plan), n_owned = sundog_plan_n_owned(plan);
        CHECK(n_rows <= MAX_ROWS);
        int *rank = malloc(((size_t)n_rows + 1) * sizeof *rank);
        sundog_idx *row = malloc(((size_t)n_rows + 1) * sizeof *row);
        CHECK_OK(sundog_plan_owners(plan, rank, row));
        for (int repeat = 0; repeat < 2; repeat++) {
            for (sundog_idx i = 0; i < n_rows; i++) {
                id[i][0] = i < n_owned ? args->rank : -1, id[i][1] = i < n_owned ? i : -1;
                f[i][0] = f[i][1] = f[i][2] = 1;
            }
            forward(exchange);
            for (sundog_idx i = 0; i < n_rows; i++)
                CHECK(id[i][0] == rank[i] && id[i][1] == row[i]);
            reverse(exchange);
            double sum = 0, all = n_rows;
            for (sundog_idx i = 0; i < n_owned; i++) sum += f[i][0];
            CHECK_OK(sundog_team_sum_double(args->team, &sum, 1));
            CHECK_OK(sundog_team_sum_double(args->team, &all, 1));
            CHECK(sum == all);
        }
        free(rank);
        free(row);
    }
    sundog_exchange_destroy(&exchange);
    sundog_plan_destroy(&plan);
    free(id);
    free(f);
}

int main(void)
{
    const int n_ranks[] = {1, 2, 3, 5, 8};
    for (int i = 0; i < 5; i++) {
        run_ranks(n_ranks[i], faults, NULL);
        run_ranks(n_ranks[i], options, NULL);
        run_ranks(n_ranks[i], fetch, NULL);
        for (int s = 0; s < N_SERVED; s++) run_ranks(n_ranks[i], rebuild, (void *)&all_served[s]);
    }
    return 0;
}
