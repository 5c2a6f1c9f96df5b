/* Grids: bounds, pulses of even and uneven cells, what is refused and how, and the choice. */
#include "world.h"

#include "md/domain/domain_impl.h"

static md_grid make(int nx, int ny, int nz, const double *rx)
{
    const int n[3] = {nx, ny, nz};
    const double *const relative[3] = {rx, NULL, NULL};
    md_grid grid;
    CHECK_OK(md_grid_create(n, relative, &grid));
    return grid;
}

static void pulses_by_hand(void)
{
    md_box box = box_cubic(4, 3, 2.4);
    /* needs 1.1 nm */
    md_reach reach = {.scheme = MD_SCHEME_RETURN, .rlist = 0.9, .group_radius = 0.1};
    int n[3];
    md_grid grid = make(3, 3, 3, NULL);                 /* 1.333, 1, 0.8 */
    md_grid_pulses(&grid, &box, &reach, n);
    CHECK(n[0] == 1 && n[1] == 2 && n[2] == 2);
    CHECK_OK(md_grid_check(&grid, &box, &reach));
    md_grid_destroy(&grid);
    grid = make(1, 1, 1, NULL);
    md_grid_pulses(&grid, &box, &reach, n);
    CHECK(n[0] == 1 && n[1] == 1 && n[2] == 1);
    md_grid_destroy(&grid);
    /* 0.5 0.5 3.0: from the thick cell on, two thin ones and itself again must be passed */
    const double relative[3] = {1, 1, 6};
    grid = make(3, 1, 1, relative);
    CHECK_NEAR(grid.bound[0][1] * 4, 0.5, 1e-12);
    CHECK_NEAR(grid.bound[0][2] * 4, 1.0, 1e-12);
    CHECK(grid.bound[0][3] == 1.0);
    md_grid_pulses(&grid, &box, &reach, n);
    CHECK(n[0] == 3);
    md_grid_destroy(&grid);
    /* thickness exactly what is needed: one pulse, whatever the rounding */
    box = box_cubic(3.3, 3.3, 3.3);
    grid = make(3, 3, 3, NULL);
    md_grid_pulses(&grid, &box, &reach, n);
    CHECK(n[0] == 1 && n[1] == 1 && n[2] == 1);
    md_grid_destroy(&grid);
}

static void finds_cells(void)
{
    const double relative[5] = {1, 7, 0.01, 3, 2};
    md_grid grid = make(5, 2, 1, relative);
    uint64_t seed = 1;
    for (int i = 0; i < 2000; i++) {
        double s = random_uniform(&seed);
        if (i < 6) s = grid.bound[0][i];
        int cell = md_grid_find(&grid, 0, s);
        if (s >= 1)
            CHECK(cell == 4);
        else
            CHECK(grid.bound[0][cell] <= s && s < grid.bound[0][cell + 1]);
    }
    CHECK(md_grid_find(&grid, 0, -1e-17) == 0);
    for (int rank = 0; rank < 10; rank++) {
        int cell[3];
        md_grid_cell(&grid, rank, cell);
        CHECK(md_grid_rank(&grid, cell) == rank);
    }
    md_grid_destroy(&grid);
}

static bool says(const char *text)
{
    return strstr(sundog_last_error(), text) != NULL;
}

static void refuses(void)
{
    md_reach reach = {.scheme = MD_SCHEME_RETURN, .rlist = 0.9, .group_radius = 0.1};
    md_box box = box_cubic(3, 3, 3);
    md_grid grid = make(22, 1, 1, NULL);        /* 0.136 nm: 8.07 cells in 1.1 nm */
    CHECK(md_grid_check(&grid, &box, &reach) == SUNDOG_ERR_INPUT);
    CHECK(says("22 along x") && says("21 x 21 x 21"));
    md_grid_destroy(&grid);
    grid = make(21, 21, 21, NULL);
    CHECK(md_grid_check(&grid, &box, &reach) == SUNDOG_ERR_INPUT);
    CHECK(says("at most 4096 work"));
    md_grid_destroy(&grid);
    grid = make(21, 21, 9, NULL);
    CHECK_OK(md_grid_check(&grid, &box, &reach));
    reach.rlist = 1.51;
    CHECK(md_grid_check(&grid, &box, &reach) == SUNDOG_ERR_INPUT);
    CHECK(says("too small for rlist") && says("1.5 nm"));
    md_grid_destroy(&grid);
    int n[3] = {0, 1, 1};
    const double *const none[3] = {NULL, NULL, NULL};
    CHECK(md_grid_create(n, none, &grid) == SUNDOG_ERR_ARGUMENT);
    const double bad[2] = {1, 0};
    const double *const wrong[3] = {bad, NULL, NULL};
    n[0] = 2;
    CHECK(md_grid_create(n, wrong, &grid) == SUNDOG_ERR_ARGUMENT);
}

/* Every answer can run; the largest number that an error names can run, the next ones cannot. */
static void chooses(void)
{
    md_reach reach = {.scheme = MD_SCHEME_RETURN, .rlist = 0.9, .group_radius = 0.1};
    md_box box = box_cubic(3, 3, 3);
    int n[3];
    CHECK_OK(md_grid_choose(8, &box, &reach, n));
    CHECK(n[0] == 2 && n[1] == 2 && n[2] == 2);
    CHECK_OK(md_grid_choose(2, &box, &reach, n));
    CHECK(n[0] == 2 && n[1] == 1 && n[2] == 1);
    md_box flat = box_cubic(12, 3, 3);
    CHECK_OK(md_grid_choose(4, &flat, &reach, n));
    CHECK(n[0] == 4 && n[1] == 1 && n[2] == 1);
    for (int scheme = 0; scheme < 2; scheme++)
        for (int n_domains = 1; n_domains < 200; n_domains++) {
            reach.scheme = (md_scheme)scheme;
            if (md_grid_choose(n_domains, &box, &reach, n) != SUNDOG_OK) {
                CHECK(says("no grid of"));
                continue;
            }
            CHECK(n[0] * n[1] * n[2] == n_domains);
            md_grid grid = make(n[0], n[1], n[2], NULL);
            CHECK_OK(md_grid_check(&grid, &box, &reach));
            md_grid_destroy(&grid);
        }
    CHECK(md_grid_choose(23, &box, &reach, n) == SUNDOG_ERR_INPUT);     /* prime, above 21 */
    CHECK(says("works is 22 ("));
    CHECK(md_grid_choose(100000, &box, &reach, n) == SUNDOG_ERR_INPUT);
    CHECK(says("works is 4096 (16 x 16 x 16)"));
    CHECK(md_grid_choose(0, &box, &reach, n) == SUNDOG_ERR_ARGUMENT);
}

/* Wrapped rows: pulses of cut axes alone, a range by thickness, and scheme return only where a pair
 * is in reach on one side. */
static void wraps(void)
{
    md_reach reach = {
        .scheme = MD_SCHEME_SHELL, .rlist = 0.9, .group_radius = 0.1, .wrapped = true};
    md_box box = box_cubic(3.9, 3.9, 3.9), dodecahedron = box_dodecahedron(2.5);
    int n[3];
    md_grid grid = make(5, 2, 1, NULL);                 /* 0.78, 1.95, 3.9 */
    md_grid_pulses(&grid, &box, &reach, n);
    CHECK(n[0] == 2 && n[1] == 1 && n[2] == 0);
    CHECK_OK(md_grid_check(&grid, &box, &reach));
    reach.rlist = 1.9;                                  /* 2.1: not beyond the only other cell */
    md_grid_pulses(&grid, &box, &reach, n);
    CHECK(n[0] == 3 && n[1] == 1 && n[2] == 0);
    CHECK_OK(md_grid_check(&grid, &box, &reach));
    reach.rlist = 0.9;
    reach.scheme = MD_SCHEME_RETURN;            /* beside a cell 3.12, 1.95: 2.0 is needed */
    CHECK(md_grid_check(&grid, &box, &reach) == SUNDOG_ERR_INPUT);
    CHECK(says("along y") && says("1.95 nm beside") && says("more than 2 nm"));
    CHECK(says("scheme shell"));
    reach.group_radius = 0.07;
    CHECK_OK(md_grid_check(&grid, &box, &reach));
    md_grid_destroy(&grid);
    reach.group_radius = 0.1;
    CHECK(md_grid_choose(2, &box, &reach, n) == SUNDOG_ERR_INPUT);
    CHECK(says("works is 1 ("));
    for (int n_domains = 3; n_domains < 60; n_domains++) {
        if (md_grid_choose(n_domains, &box, &reach, n) != SUNDOG_OK) continue;
        CHECK(n[0] != 2 && n[1] != 2 && n[2] != 2);
        grid = make(n[0], n[1], n[2], NULL);
        CHECK_OK(md_grid_check(&grid, &box, &reach));
        md_grid_destroy(&grid);
    }
    reach.scheme = MD_SCHEME_SHELL;
    CHECK_OK(md_grid_choose(2, &box, &reach, n));
    CHECK(n[0] == 2 && n[1] == 1 && n[2] == 1);
    /* the shortest period of the dodecahedron allows 1.25 nm, its thickness 2.5 sqrt(2) / 4 */
    grid = make(1, 1, 1, NULL);
    CHECK(md_grid_check(&grid, &dodecahedron, &reach) == SUNDOG_ERR_INPUT);
    CHECK(says("0.8839 nm (half its smallest thickness"));
    reach.wrapped = false;
    CHECK_OK(md_grid_check(&grid, &dodecahedron, &reach));
    md_grid_destroy(&grid);
}

/* Distance behind planes: never more than the true one (points sampled behind the planes), and
 * reached by some point (found by projecting onto the planes in turn, Dykstra). */
static void measures_wedges(const md_box *box)
{
    const double lo[3] = {0.25, 0.5, 0}, hi[3] = {0.5, 1, 0.4};
    md_planes planes;
    md_planes_create(box, lo, hi, &planes);
    uint64_t seed = 7;
    for (int trial = 0; trial < 4000; trial++) {
        double x[3], excess[3], sign[3], p[3], memory[3][3] = {{0}};
        unsigned axes = 1 + (unsigned)(random_bits(&seed) % 7);
        for (int k = 0; k < 3; k++) x[k] = 8 * random_uniform(&seed) - 4;
        for (int k = 0; k < 3; k++) {
            double height = vec_dot(planes.normal[k], x);
            sign[k] = random_bits(&seed) & 1 ? 1 : -1;
            excess[k] = sign[k] > 0 ? height - planes.hi[k] : planes.lo[k] - height;
            p[k] = x[k];
        }
        for (int round = 0; round < 400; round++)
            for (int i = 0; i < 3; i++) {
                if (!(axes >> i & 1)) continue;
                double y[3];
                for (int k = 0; k < 3; k++) y[k] = p[k] + memory[i][k];
                double height = vec_dot(planes.normal[i], y);
                double over = sign[i] > 0 ? height - planes.hi[i] : planes.lo[i] - height;
                if (over < 0) over = 0;
                for (int k = 0; k < 3; k++) {
                    p[k] = y[k] - sign[i] * over * planes.normal[i][k];
                    memory[i][k] = y[k] - p[k];
                }
            }
        double d[3];
        vec_sub(x, p, d);
        double computed = sqrt(md_planes_distance2(&planes, axes, excess, sign));
        CHECK_NEAR(computed, sqrt(vec_norm2(d)), 1e-6);
    }
}

int main(void)
{
    pulses_by_hand();
    finds_cells();
    refuses();
    chooses();
    wraps();
    md_box cubic = box_cubic(4, 5, 6), dodecahedron = box_dodecahedron(4);
    md_box skewed = {{{4, 0, 0}, {1.9, 3, 0}, {-1.8, 1.4, 3}}};
    measures_wedges(&cubic);
    measures_wedges(&dodecahedron);
    measures_wedges(&skewed);
    return 0;
}
