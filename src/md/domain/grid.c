/* The grid of cells: creating it, the pulses it needs, whether it can run, which one is best.
 *
 * Pulses along an axis: a domain needs rows whose group lies up to  need = rlist + 2 group_radius
 * beyond its plane (one radius because its own atoms may stand outside by that much, one because
 * the other group's reference atom may be that much farther away than its atom). The number of
 * pulses is the smallest n such that any n cells in a row are at least `need` thick. An axis that
 * is not cut is one cell whose neighbour is its own periodic image, so the same rule serves it.
 *
 * Wrapped rows (domain.h) have no pulses along such an axis, and at most one less than it has cells
 * along the others, since every other domain has then been met.
 *
 * Wrapped rows in scheme return. The zones of two rows say which domain computes their pair as long
 * as the pair is in reach on one side only: a row that the domain owns along an axis is at most g
 * below its cell, so its image is not less than T - cell - g above it, and one of the rows it meets
 * is up to rlist below that; ghosts end at rlist + g. Hence  T - cell > 2 (rlist + g).
 *
 * The best grid for N domains, by estimate: volume of the halo times the cost of a row, plus the
 * pulses along cut axes times the cost of a pulse.
 */
#include "md/domain/domain_impl.h"

#include "base/alloc.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char axis_name[3] = {'x', 'y', 'z'};

sundog_status md_grid_create(const int n[3], const double *const relative[3], md_grid *out)
{
    for (int k = 0; k < 3; k++) {
        if (n[k] < 1)
            return base_fail(SUNDOG_ERR_ARGUMENT, "the grid has %d cells along %c; 1 is the least",
                             n[k], axis_name[k]);
        if (n[k] > MD_MAX_DOMAINS)      /* before anything of that size is taken */
            return base_fail(SUNDOG_ERR_ARGUMENT,
                             "the grid has %d cells along %c; %d domains in all are the most",
                             n[k], axis_name[k], MD_MAX_DOMAINS);
        for (int i = 0; relative[k] && i < n[k]; i++)
            if (!(relative[k][i] > 0) || !isfinite(relative[k][i]))
                return base_fail(SUNDOG_ERR_ARGUMENT,
                                 "relative size of cell %d along %c is %g, must be positive", i + 1,
                                 axis_name[k], relative[k][i]);
    }
    for (int k = 0; k < 3; k++) {
        double total = 0, sum = 0;
        out->n[k] = n[k];
        out->bound[k] = base_alloc(((size_t)n[k] + 1) * sizeof(double));
        for (int i = 0; i < n[k]; i++) total += relative[k] ? relative[k][i] : 1.0;
        for (int i = 0; i < n[k]; i++) {
            out->bound[k][i] = sum / total;
            sum += relative[k] ? relative[k][i] : 1.0;
        }
        out->bound[k][n[k]] = 1.0;
    }
    return SUNDOG_OK;
}

void md_grid_copy(const md_grid *grid, md_grid *out)
{
    for (int k = 0; k < 3; k++) {
        size_t n_bytes = ((size_t)grid->n[k] + 1) * sizeof(double);
        out->n[k] = grid->n[k];
        out->bound[k] = base_alloc(n_bytes);
        memcpy(out->bound[k], grid->bound[k], n_bytes);
    }
}

void md_grid_destroy(md_grid *grid)
{
    for (int k = 0; k < 3; k++) base_free(grid->bound[k]);
    memset(grid, 0, sizeof *grid);
}

const char *md_grid_text(const md_grid *grid, int rank, char text[MD_GRID_TEXT])
{
    int nz = grid->n[2], ny = grid->n[1];
    snprintf(text, MD_GRID_TEXT, "domain (%d %d %d)", rank / (ny * nz), rank / nz % ny, rank % nz);
    return text;
}

int md_grid_find(const md_grid *grid, int axis, double fraction)
{
    const double *bound = grid->bound[axis];
    int n = grid->n[axis], cell = (int)(fraction * n);
    if (cell > n - 1) cell = n - 1;
    if (cell < 0) cell = 0;
    while (cell > 0 && fraction < bound[cell]) cell--;
    while (cell < n - 1 && fraction >= bound[cell + 1]) cell++;
    return cell;
}

/* Thickness that the cells passed along an axis must cover. */
static double needed(const md_reach *reach)
{
    return reach->rlist + 2 * reach->group_radius;
}

void md_grid_pulses(const md_grid *grid, const md_box *box, const md_reach *reach, int n_pulses[3])
{
    for (int axis = 0; axis < 3; axis++) {
        int n = grid->n[axis];
        /* The planes are rounded; do not ask for a pulse for the sake of the last bit. */
        double need = needed(reach) / md_box_thickness(box, axis) * (1 - 1e-12);
        const double *bound = grid->bound[axis];
        n_pulses[axis] = 1;
        for (int cell = 0; cell < n; cell++) {
            double sum = 0;
            int pulses = 0;
            /* Whole turns at once; a box far too thin must not take for ever. */
            if (need > MD_MAX_PULSES_PER_AXIS + 1) pulses = MD_MAX_PULSES_PER_AXIS + 1;
            while (sum < need && pulses <= MD_MAX_PULSES_PER_AXIS) {
                int c = (cell + pulses) % n;
                sum += bound[c + 1] - bound[c];
                pulses++;
            }
            if (pulses > n_pulses[axis]) n_pulses[axis] = pulses;
        }
        if (reach->complete || (reach->wrapped && n_pulses[axis] > n - 1)) n_pulses[axis] = n - 1;
    }
}

/* Largest even number of cells along an axis that at most MD_MAX_PULSES_PER_AXIS pulses serve. */
static int most_cells(const md_box *box, const md_reach *reach, int axis)
{
    double most = MD_MAX_PULSES_PER_AXIS * md_box_thickness(box, axis) / needed(reach);
    most *= 1 + 1e-12;
    if (reach->wrapped) most = fmax(most, MD_MAX_PULSES_PER_AXIS + 1);
    return most > 1e6 ? 1000000 : (int)most;
}

double md_grid_thickest(const md_grid *grid, int axis)
{
    double most = 0;
    for (int i = 0; i < grid->n[axis]; i++)
        most = fmax(most, grid->bound[axis][i + 1] - grid->bound[axis][i]);
    return most;
}

/* A difference wraps to the nearest image when no component reaches half of the box's thickness. */
double md_grid_range(const md_box *box, const md_reach *reach)
{
    double range = md_box_max_range(box);
    for (int k = 0; reach->wrapped && k < 3; k++)
        range = fmin(range, 0.5 * md_box_thickness(box, k));
    return range;
}

static bool sides_apart(double thickness, double thickest_cell, const md_reach *reach)
{
    return thickness - thickest_cell > 2 * (reach->rlist + reach->group_radius);
}

sundog_status md_grid_check_sides(const md_grid *grid, const md_box *box, const md_reach *reach)
{
    if (!reach->wrapped || reach->scheme != MD_SCHEME_RETURN) return SUNDOG_OK;
    for (int k = 0; k < 3; k++) {
        double thickness = md_box_thickness(box, k), cell = thickness * md_grid_thickest(grid, k);
        if (grid->n[k] == 1 || sides_apart(thickness, cell, reach)) continue;
        return base_fail(
            SUNDOG_ERR_INPUT,
            "%d x %d x %d domains: along %c the box of %.4g nm leaves %.4g nm beside a cell, but "
            "scheme return on GPUs needs more than %.4g nm (twice rlist and the radius of "
            "constraint groups); use scheme shell, or do not cut the box along %c",
            grid->n[0], grid->n[1], grid->n[2], axis_name[k], thickness, thickness - cell,
            2 * (reach->rlist + reach->group_radius), axis_name[k]);
    }
    return SUNDOG_OK;
}

static sundog_status check_range(const md_box *box, const md_reach *reach)
{
    double range = md_grid_range(box, reach);
    if (!(reach->rlist > 0) || !(reach->group_radius >= 0))
        return base_fail(SUNDOG_ERR_ARGUMENT, "rlist %g, group radius %g: must be positive",
                         reach->rlist, reach->group_radius);
    if (reach->rlist > range)
        return base_fail(SUNDOG_ERR_INPUT,
                         "the box is too small for rlist = %.4g nm: with periodic boundaries this "
                         "box allows at most %.4g nm (half its %s)",
                         reach->rlist, range,
                         range < md_box_max_range(box) ? "smallest thickness, on GPUs"
                                                       : "shortest period");
    for (int k = 0; k < 3; k++)
        if (most_cells(box, reach, k) < 1)
            return base_fail(SUNDOG_ERR_INPUT,
                             "the box is %.4g nm thick along %c, far too small for constraint "
                             "groups that reach %.4g nm from their centre and rlist = %.4g nm",
                             md_box_thickness(box, k), axis_name[k], reach->group_radius,
                             reach->rlist);
    return SUNDOG_OK;
}

sundog_status md_grid_check(const md_grid *grid, const md_box *box, const md_reach *reach)
{
    BASE_TRY(check_range(box, reach));
    int n_pulses[3], most[3];
    md_grid_pulses(grid, box, reach, n_pulses);
    for (int k = 0; k < 3; k++) most[k] = most_cells(box, reach, k);
    for (int k = 0; k < 3; k++) {
        if (n_pulses[k] <= MD_MAX_PULSES_PER_AXIS) continue;
        double thinnest = DBL_MAX;
        for (int i = 0; i < grid->n[k]; i++)
            thinnest = fmin(thinnest, grid->bound[k][i + 1] - grid->bound[k][i]);
        return base_fail(
            SUNDOG_ERR_INPUT,
            "%d x %d x %d domains: %d along %c make cells of %.4g nm, too thin to cover %.4g nm "
            "(rlist and twice the radius of constraint groups) with %d pulses; the largest grid of "
            "even cells that works is %d x %d x %d (and %d domains in all)",
            grid->n[0], grid->n[1], grid->n[2], grid->n[k], axis_name[k],
            thinnest * md_box_thickness(box, k), needed(reach), MD_MAX_PULSES_PER_AXIS, most[0],
            most[1], most[2], MD_MAX_DOMAINS);
    }
    if ((int64_t)grid->n[0] * grid->n[1] * grid->n[2] > MD_MAX_DOMAINS)
        return base_fail(SUNDOG_ERR_INPUT, "%d x %d x %d domains: at most %d work, in a grid of at "
                         "most %d x %d x %d", grid->n[0], grid->n[1], grid->n[2], MD_MAX_DOMAINS,
                         most[0], most[1], most[2]);
    return md_grid_check_sides(grid, box, reach);
}

/* ---- choice --------------------------------------------------------------------------------- */

/* Rows per nm3 of dense matter, and a pulse in units of a row (a signal and a wait, some
 * microseconds, against some ten nanoseconds to carry and use a row). */
static const double rows_per_volume = 100.0;
static const double pulse_cost = 200.0;

static double estimate(const int n[3], const md_box *box, const md_reach *reach)
{
    int sides = reach->scheme == MD_SCHEME_SHELL ? 2 : 1;
    double per_volume = rows_per_volume * md_box_volume(box), inner = 1, outer = 1, pulses = 0;
    for (int k = 0; k < 3; k++) {
        double thickness = md_box_thickness(box, k), cell = thickness / n[k];
        double halo = sides * (reach->rlist + reach->group_radius);
        double hops = n[k] > 1 ? sides * ceil(needed(reach) / cell * (1 - 1e-12)) : 0;
        if (reach->wrapped) {
            halo = fmin(halo, thickness - cell);
            hops = fmin(hops, n[k] == 2 ? 1 : sides * (n[k] - 1));
        }
        per_volume /= thickness;        /* rows_per_volume for a rectangular box */
        inner *= cell;
        outer *= cell + halo;
        pulses += hops;
    }
    return (outer - inner) * per_volume + pulses * pulse_cost;
}

/* md_grid_check_sides for even cells. */
static bool all_sides_apart(const int n[3], const md_box *box, const md_reach *reach)
{
    if (!reach->wrapped || reach->scheme != MD_SCHEME_RETURN) return true;
    for (int k = 0; k < 3; k++) {
        double thickness = md_box_thickness(box, k);
        if (n[k] > 1 && !sides_apart(thickness, thickness / n[k] * (1 + 1e-12), reach))
            return false;
    }
    return true;
}

/* Best grid of exactly n_domains; false if there is none. */
static bool choose(int n_domains, const int most[3], const md_box *box, const md_reach *reach,
                   int best[3])
{
    double least = DBL_MAX;
    for (int nx = 1; nx <= n_domains && nx <= most[0]; nx++) {
        if (n_domains % nx) continue;
        int n_yz = n_domains / nx;
        for (int ny = 1; ny <= n_yz && ny <= most[1]; ny++) {
            if (n_yz % ny || n_yz / ny > most[2]) continue;
            int n[3] = {nx, ny, n_yz / ny};
            double cost = estimate(n, box, reach);
            /* Equal by symmetry: cut x first, then y. */
            if (cost > least * (1 + 1e-9) || !all_sides_apart(n, box, reach)) continue;
            least = cost;
            memcpy(best, n, sizeof n);
        }
    }
    return least < DBL_MAX;
}

sundog_status md_grid_choose(int n_domains, const md_box *box, const md_reach *reach, int n[3])
{
    if (n_domains < 1)
        return base_fail(SUNDOG_ERR_ARGUMENT, "%d domains asked for; 1 is the least", n_domains);
    BASE_TRY(check_range(box, reach));
    int most[3], best[3];
    for (int k = 0; k < 3; k++) most[k] = most_cells(box, reach, k);
    if (n_domains <= MD_MAX_DOMAINS && choose(n_domains, most, box, reach, best)) {
        memcpy(n, best, sizeof best);
        return SUNDOG_OK;
    }
    int64_t product = (int64_t)most[0] * most[1] * most[2];
    if (product > MD_MAX_DOMAINS) product = MD_MAX_DOMAINS;
    int fewer = product < n_domains ? (int)product : n_domains - 1;
    while (!choose(fewer, most, box, reach, best)) fewer--;     /* 1 works: check_range */
    if (n_domains > MD_MAX_DOMAINS)
        return base_fail(SUNDOG_ERR_INPUT,
                         "%d domains asked for, %d is the most of any run; in this box at most %d "
                         "x %d x %d fit, and the largest number that works is %d (%d x %d x %d)",
                         n_domains, MD_MAX_DOMAINS, most[0], most[1], most[2], fewer, best[0],
                         best[1], best[2]);
    return base_fail(SUNDOG_ERR_INPUT,
                     "no grid of %d domains fits this box with rlist = %.4g nm and constraint "
                     "groups of radius %.4g nm (at most %d x %d x %d); the largest number up to "
                     "that which works is %d (%d x %d x %d)",
                     n_domains, reach->rlist, reach->group_radius, most[0], most[1], most[2],
                     fewer, best[0], best[1], best[2]);
}
