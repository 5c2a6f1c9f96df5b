/* Heat on a torus: a 9-point stencil on a square grid, cut into 2 x 2 blocks, against the same sum
 * done in one piece.
 *
 *   a rank's cells:   [ owned, line by line | left | right | below | above ]
 *
 * Four pulses. The first two bring the columns beside the block; the last two bring the lines below
 * and above it, from end to end, i.e. they send on ghosts of the first two: so the corners arrive
 * without messages of their own.
 */
#include <sundog/sundog.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CUTS = 2, N_RANKS = CUTS * CUTS, GRID = 48, SIDE = GRID / CUTS, N_STEPS = 200 };

#define CHECK(call)                                                                     \
    do {                                                                                \
        sundog_status status_ = (call);                                                 \
        if (status_ != SUNDOG_OK) {                                                     \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__,                      \
                    sundog_status_name(status_), sundog_last_error());                  \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

static double serial[GRID][GRID];

static double start_value(int x, int y)
{
    return (x - 20) * (x - 20) + (y - 9) * (y - 9) < 40 ? 1.0 : 0.0;
}

/* One new value from 3 x 3 old ones, summed in this order everywhere. */
static double relax(const double *around)
{
    double sides = around[1] + around[3] + around[5] + around[7];
    double corners = around[0] + around[2] + around[6] + around[8];
    return 0.5 * around[4] + 0.1 * sides + 0.025 * corners;
}

static void serial_run(void)
{
    static double next[GRID][GRID];
    for (int y = 0; y < GRID; y++)
        for (int x = 0; x < GRID; x++) serial[y][x] = start_value(x, y);
    for (int step = 0; step < N_STEPS; step++) {
        for (int y = 0; y < GRID; y++)
            for (int x = 0; x < GRID; x++) {
                double around[9];
                for (int k = 0; k < 9; k++)
                    around[k] =
                        serial[(y + k / 3 - 1 + GRID) % GRID][(x + k % 3 - 1 + GRID) % GRID];
                next[y][x] = relax(around);
            }
        memcpy(serial, next, sizeof serial);
    }
}

static int rank_at(int x, int y)
{
    return (y + CUTS) % CUTS * CUTS + (x + CUTS) % CUTS;
}

/* cell[y + 1][x + 1]: row of the cell at (x, y) of this block; -1 and SIDE are ghosts. */
static void build_plan(sundog_team *team, sundog_plan **plan, sundog_idx cell[SIDE + 2][SIDE + 2])
{
    int rank = sundog_team_rank(team), bx = rank % CUTS, by = rank / CUTS;
    CHECK(sundog_plan_create(team, SIDE * SIDE, plan));
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) cell[y + 1][x + 1] = y * SIDE + x;
    for (int p = 0; p < 4; p++) {
        sundog_idx index[SIDE + 2], first;
        bool columns = p < 2;
        int step = p % 2 ? -1 : +1;             /* p even: my far edge becomes their near ghosts */
        int edge = step > 0 ? SIDE : 1, ghost = step > 0 ? 0 : SIDE + 1, n = 0;
        int from = columns ? 1 : 0, to = columns ? SIDE : SIDE + 1;
        for (int i = from; i <= to; i++) index[n++] = columns ? cell[i][edge] : cell[edge][i];
        sundog_pulse pulse = {
            .to_rank = columns ? rank_at(bx + step, by) : rank_at(bx, by + step),
            .from_rank = columns ? rank_at(bx - step, by) : rank_at(bx, by - step),
            .n_send = n, .index = index};
        CHECK(sundog_plan_add_pulse(*plan, &pulse, &first, NULL));
        for (int i = from; i <= to; i++) {
            if (columns) cell[i][ghost] = first++;
            else cell[ghost][i] = first++;
        }
    }
    CHECK(sundog_plan_commit(*plan));
}

static void *rank_main(void *handle)
{
    sundog_team *team = handle;
    int rank = sundog_team_rank(team), x0 = rank % CUTS * SIDE, y0 = rank / CUTS * SIDE;
    sundog_idx cell[SIDE + 2][SIDE + 2];
    double value[SIDE * SIDE + 4 * SIDE + 4], next[SIDE * SIDE];
    sundog_plan *plan;
    sundog_exchange *exchange;
    sundog_field field = {value, SUNDOG_FLOAT64, 1, false, 0};
    build_plan(team, &plan, cell);
    CHECK(sundog_exchange_create(plan, &field, 1, NULL, &exchange));

    for (int i = 0; i < SIDE * SIDE; i++) value[i] = start_value(x0 + i % SIDE, y0 + i / SIDE);
    for (int step = 0; step < N_STEPS; step++) {
        CHECK(sundog_forward_begin(exchange));
        CHECK(sundog_forward_end(exchange));
        for (int i = 0; i < SIDE * SIDE; i++) {
            double around[9];
            for (int k = 0; k < 9; k++) around[k] = value[cell[i / SIDE + k / 3][i % SIDE + k % 3]];
            next[i] = relax(around);
        }
        memcpy(value, next, sizeof next);
    }

    double n_wrong = 0, heat = 0;
    for (int i = 0; i < SIDE * SIDE; i++) {
        n_wrong += value[i] != serial[y0 + i / SIDE][x0 + i % SIDE];
        heat += value[i];
    }
    CHECK(sundog_team_sum_double(team, &n_wrong, 1));
    CHECK(sundog_team_sum_double(team, &heat, 1));
    if (rank == 0)
        printf("%d x %d cells on %d ranks, %d steps: heat %.6f, %g cells differ from serial\n",
               GRID, GRID, N_RANKS, N_STEPS, heat, n_wrong);

    sundog_exchange_destroy(&exchange);
    sundog_plan_destroy(&plan);
    sundog_team_destroy(&team);
    return n_wrong == 0 ? NULL : handle;
}

int main(void)
{
    sundog_team *team[N_RANKS];
    pthread_t thread[N_RANKS];
    int failed = 0;
    serial_run();
    CHECK(sundog_team_create_threads(N_RANKS, team));
    for (int r = 0; r < N_RANKS; r++)
        if (pthread_create(&thread[r], NULL, rank_main, team[r]) != 0) return 1;
    for (int r = 0; r < N_RANKS; r++) {
        void *result;
        pthread_join(thread[r], &result);
        failed |= result != NULL;
    }
    return failed;
}
