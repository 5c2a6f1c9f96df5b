/* Wrapped rows of random systems (wrapped.h says what is looked at): boxes of several shapes
 * down to the smallest that rlist allows, even and uneven grids of 1 to 12 domains, pulses that go
 * round from both sides; before and after migration.
 */
#include "wrapped.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static const int grids[][3] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {2, 2, 1}, {2, 2, 2},
                               {3, 2, 1}, {1, 1, 5}, {3, 1, 1}, {3, 2, 2}, {1, 4, 3},
                               {1, 1, 9}, {2, 1, 6}, {1, 3, 3}};

/* rlist as a share of the most that wrapped rows allow */
static int run_box(md_box box, double share, int n_waters, int n_moves)
{
    static const double uneven[12] = {1, 1.7, 0.6, 1.2, 0.8, 1, 0.5, 1.5, 1, 0.9, 1.1, 1};
    md_topology *topology = world_topology(n_waters, 12, 12);
    md_state state;
    wrapped s;
    double range = md_box_max_range(&box);
    int n_returns = 0;
    for (int k = 0; k < 3; k++) range = fmin(range, 0.5 * md_box_thickness(&box, k));
    world_state(topology, &box, (uint64_t)n_waters, &state);
    wrapped_create(topology, &state, n_moves, share * range, &s);
    for (int g = 0; g < COUNT(grids); g++) {
        const double *relative[3];
        for (int k = 0; k < 3; k++) relative[k] = (g + n_moves) % 2 ? uneven : NULL;
        CHECK(wrapped_run(&s, grids[g], relative, MD_SCHEME_SHELL));
        s.w.options.reach.complete = true;
        CHECK(wrapped_run(&s, grids[g], relative, MD_SCHEME_SHELL));
        s.w.options.reach.complete = false;
        n_returns += wrapped_run(&s, grids[g], relative, MD_SCHEME_RETURN);
    }
    wrapped_destroy(&s);
    md_state_destroy(&state);
    md_topology_destroy(&topology);
    return n_returns;
}

int main(void)
{
    md_box cubic = box_cubic(2.0, 2.1, 2.2), flat = box_cubic(2.0, 1.5, 3.4);
    md_box dodecahedron = box_dodecahedron(2.6);
    md_box skewed = {{{2.4, 0, 0}, {1.1, 2.3, 0}, {-1.0, 0.9, 2.2}}};
    for (int moved = 0; moved < 2; moved++) {
        int n_moves = 3 * moved;
        run_box(cubic, 0.99, 150, n_moves);
        run_box(flat, 0.95, 200, n_moves);
        run_box(dodecahedron, 0.99, 200, n_moves);
        run_box(skewed, 0.99, 200, n_moves);
        run_box(box_cubic(1.21, 1.21, 1.21), 0.99, 60, n_moves);
        /* large enough for scheme return on most grids */
        CHECK(run_box(box_cubic(2.6, 2.7, 2.5), 0.36, 700, n_moves) >= 7);
        CHECK(run_box(box_dodecahedron(3.4), 0.4, 700, n_moves) >= 7);
        CHECK(run_box((md_box){{{3.2, 0, 0}, {1.5, 3.3, 0}, {-1.4, 1.3, 3.2}}}, 0.38, 700,
                      n_moves) >= 7);
    }
    return 0;
}
