/* Ghost zones: which rows travel, pulse by pulse, and the plan made of them. docs/decomposition.md
 * has the picture and the proofs.
 *
 * Axes in the order z, y, x; scheme `return` sends towards -1 (ghosts stand towards +), scheme
 * `shell` towards -1 and +1. The first pulse of an axis and direction offers the owned rows and the
 * ghosts of earlier axes, a later one what the pulse before it brought, so that each image of a row
 * has exactly one way to a domain: z hops, then y hops, then x hops.
 *
 * A row goes when it is within reach = rlist + group radius of the region that the receiver's
 * planes bound, counting only the planes that the row's group has crossed (its zone there). Of all
 * points behind those planes the nearest can be an edge or a corner, so zones come out rounded. The
 * region only grows from hop to hop back to the owner, hence no row is lost on its way.
 *
 * Only planes of crossed axes count. A pair is computed in the lower of its two cells along every
 * axis, so where one row has crossed a plane the other has not: their distance along that plane's
 * normal is at least the excess of the first (less one group radius, for an atom may stand outside
 * its group's cell). Planes of other axes say nothing about the pair.
 *
 * Wrapped rows: axes that are not cut are left out. In scheme shell two images of an atom could
 * meet in one domain, from both sides, along an axis whose pulses go round (n cells, 2 pulses >= n:
 * a *turning* axis). Only the image nearer to the receiver's cell may come. The owner alone decides
 * it, so that rounding cannot make two domains disagree: `turn` says how many hops towards -1 a row
 * may make, towards +1 it makes the other n - 1 - turn. On its way the row is nearer still, so it
 * is not lost. With two cells both kinds go in one pulse. Complete: every axis that is cut turns,
 * and all rows go all the way.
 */
#include "md/domain/domain_impl.h"

#include "base/alloc.h"
#include "md/core/vec.h"

#include <math.h>
#include <string.h>

/* Rounding of coordinates, generously (nm). */
static const double slack = 1e-9;

/* ---- planes --------------------------------------------------------------------------------- */

void md_planes_create(const md_box *box, const double cell_lo[3], const double cell_hi[3],
                      md_planes *out)
{
    out->orthogonal = md_box_is_orthogonal(box);
    for (int k = 0; k < 3; k++) {
        md_box_normal(box, k, out->normal[k]);
        out->thickness[k] = md_box_thickness(box, k);
        out->lo[k] = cell_lo[k] * out->thickness[k];
        out->hi[k] = cell_hi[k] * out->thickness[k];
    }
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            out->cosine[i][k] = i == k ? 1.0 : vec_dot(out->normal[i], out->normal[k]);
    const double(*c)[3] = (const double(*)[3])out->cosine;
    double minor[3], determinant;
    vec_cross(c[1], c[2], minor);
    determinant = vec_dot(c[0], minor);
    for (int i = 0; i < 3; i++) {       /* symmetric, so rows and columns are alike */
        vec_cross(c[(i + 1) % 3], c[(i + 2) % 3], minor);
        for (int k = 0; k < 3; k++) out->inverse[i][k] = minor[k] / determinant;
    }
}

/* Squared distance to the region behind two planes with excess a, b and cosine c of the normals:
 * perpendicular to one plane if that foot point satisfies the other, else to their common edge. */
static double wedge2(double a, double b, double c)
{
    if (a <= 0 && b <= 0) return 0;
    if (a > 0 && c * a >= b) return a * a;
    if (b > 0 && c * b >= a) return b * b;
    return (a * a + b * b - 2 * c * a * b) / (1 - c * c);
}

double md_planes_distance2(const md_planes *planes, unsigned axes, const double excess[3],
                           const double sign[3])
{
    if (planes->orthogonal) {
        double sum = 0;
        for (int k = 0; k < 3; k++)
            if (axes >> k & 1 && excess[k] > 0) sum += excess[k] * excess[k];
        return sum;
    }
    double most = 0;
    if (axes == 7) {
        /* All three planes touched: the nearest point is the corner if no plane pulls. */
        double pull[3], sum = 0;
        bool corner = true;
        for (int i = 0; i < 3; i++) {
            pull[i] = 0;
            for (int k = 0; k < 3; k++)
                pull[i] += sign[i] * sign[k] * planes->inverse[i][k] * excess[k];
            corner = corner && pull[i] >= 0;
            sum += pull[i] * excess[i];
        }
        if (corner) return sum;
    }
    for (int i = 0; i < 3; i++) {
        if (!(axes >> i & 1)) continue;
        if (excess[i] > 0) most = fmax(most, excess[i] * excess[i]);
        for (int k = i + 1; k < 3; k++)
            if (axes >> k & 1)
                most = fmax(most, wedge2(excess[i], excess[k],
                                         sign[i] * sign[k] * planes->cosine[i][k]));
    }
    return most;
}

/* ---- which rows a pulse takes --------------------------------------------------------------- */

typedef struct hop {
    int axis, direction;            /* the receiver is the neighbour at `direction` along `axis` */
    int n_cells;
    bool turning, both;             /* both: rows go either way, each the shorter one */
    unsigned loose;                 /* see distance2 */
    double reach2;
} hop;

static int turn_along(int32_t turn, int axis)
{
    return turn >> 8 * axis & 255;
}

/* Which way a row of this hop goes; 0 when it must not go. */
static int direction_of(const hop *h, const md_row_info *info)
{
    if (!h->turning) return h->direction;
    int turn = turn_along(info->turn, h->axis), done = md_hops_along(info->hops, h->axis);
    if (h->both) return turn > 0 ? -1 : 1;
    if (h->direction < 0) return done < turn ? -1 : 0;
    return -done < h->n_cells - 1 - turn ? 1 : 0;
}

/* Distance to the region behind the planes. Along axes in `loose` the nearer of two images in reach
 * was taken axis by axis. In a skewed box the other one could be nearer to an edge; so these axes
 * count alone, without edges. */
static double distance2(const md_planes *planes, unsigned axes, unsigned loose,
                        const double excess[3], const double sign[3])
{
    double most = md_planes_distance2(planes, axes & ~loose, excess, sign);
    for (int k = 0; k < 3; k++)
        if (axes & loose & 1u << k && excess[k] > 0) most = fmax(most, excess[k] * excess[k]);
    return most;
}

/* Within reach of the receiver? It has this domain's planes but along the hop's axis, where the
 * plane between the two is this domain's own on that side. */
static bool wanted(const md_domain *domain, const hop *h, int row)
{
    const md_planes *planes = &domain->planes;
    const double *x = domain->rows.x[row];
    int32_t hops = domain->info[row].hops;
    int direction = direction_of(h, &domain->info[row]);
    unsigned axes = 1u << h->axis;
    double excess[3] = {0, 0, 0}, sign[3] = {1, 1, 1};
    double height = vec_dot(planes->normal[h->axis], x);
    if (direction == 0) return false;
    if (domain->reach.complete) return true;
    excess[h->axis] = direction < 0 ? height - planes->lo[h->axis] : planes->hi[h->axis] - height;
    if (excess[h->axis] > 0 && excess[h->axis] * excess[h->axis] > h->reach2) return false;
    if (hops == MD_HOPS_HERE) return true;
    sign[h->axis] = -direction;
    for (int k = 0; k < 3; k++) {
        int along = k == h->axis ? 0 : md_hops_along(hops, k);
        if (!along) continue;
        axes |= 1u << k;
        sign[k] = along > 0 ? 1 : -1;
        height = vec_dot(planes->normal[k], x);
        excess[k] = along > 0 ? height - planes->hi[k] : planes->lo[k] - height;
    }
    return distance2(planes, axes, h->loose, excess, sign) <= h->reach2;
}

static int select_rows(md_domain *domain, const hop *h, int first, int end)
{
    BASE_RESERVE(domain->index, domain->capacity_index, end - first + 1);
    int n = 0;
    for (int row = first; row < end; row++) {
        domain->index[n] = row;
        n += wanted(domain, h, row);
    }
    return n;
}

/* ---- the plan ------------------------------------------------------------------------------- */

static int neighbour(const md_domain *domain, int axis, int direction)
{
    int cell[3] = {domain->cell[0], domain->cell[1], domain->cell[2]};
    int n = domain->grid.n[axis];
    cell[axis] = (cell[axis] + direction + n) % n;
    return md_grid_rank(&domain->grid, cell);
}

/* What has just arrived gets its hops and, wrapped, its place: over the edge of the box it is seen
 * on the other side. */
static void place(md_domain *domain, const hop *h, int first, int end)
{
    const double *vector = domain->box.m[h->axis];
    int cell = domain->cell[h->axis];
    for (int row = first; row < end; row++) {
        int direction = direction_of(h, &domain->info[row]);
        domain->info[row].hops -= direction * (1 << 8 * h->axis);
        if (!domain->reach.wrapped || cell != (direction < 0 ? h->n_cells - 1 : 0)) continue;
        for (int k = 0; k <= h->axis; k++) domain->rows.x[row][k] -= direction * vector[k];
    }
}

/* One pulse: choose among rows [first, end), extend the plan, fetch what the next one needs. */
static sundog_status add_pulse(md_domain *domain, const hop *h, int first, int end,
                               sundog_idx *first_ghost, sundog_idx *n_ghost)
{
    md_rows *rows = &domain->rows;
    int cell = domain->cell[h->axis];
    sundog_pulse pulse = {.to_rank = neighbour(domain, h->axis, h->direction),
                          .from_rank = neighbour(domain, h->axis, -h->direction)};
    pulse.n_send = select_rows(domain, h, first, end);
    pulse.index = domain->index;
    bool crosses = cell == (h->direction < 0 ? 0 : h->n_cells - 1) && !domain->reach.wrapped;
    for (int k = 0; k < 3; k++)
        pulse.shift[k] = crosses ? -h->direction * domain->box.m[h->axis][k] : 0.0;
    BASE_TRY(sundog_plan_add_pulse(domain->plan, &pulse, first_ghost, n_ghost));

    int n_rows = *first_ghost + *n_ghost;
    md_rows_reserve(rows, (size_t)n_rows);
    BASE_RESERVE(domain->info, domain->capacity_info, n_rows + 1);
    sundog_field fields[3] = {{rows->x, SUNDOG_FLOAT64, 3, true, 0},
                              {rows->gid, SUNDOG_INT64, 1, false, 0},
                              {domain->info, SUNDOG_INT32, 3, false, 0}};
    BASE_TRY(sundog_plan_fetch(domain->plan, sundog_plan_n_pulses(domain->plan) - 1, fields, 3));
    place(domain, h, *first_ghost, n_rows);
    rows->n_rows = n_rows;
    return SUNDOG_OK;
}

static sundog_status add_axis(md_domain *domain, int axis, int n_pulses, unsigned turning,
                              unsigned loose)
{
    int n_before = domain->rows.n_rows, n_cells = domain->grid.n[axis];
    double reach = domain->reach.rlist + domain->radius + slack;
    hop h = {axis, -1, n_cells, turning >> axis & 1, false, loose, reach * reach};
    h.both = h.turning && n_cells == 2;
    int n_directions = domain->reach.scheme == MD_SCHEME_SHELL && !h.both ? 2 : 1;
    for (int d = 0; d < n_directions; d++) {
        sundog_idx first = 0, n = n_before;
        h.direction = d == 0 ? -1 : 1;
        for (int p = 0; p < n_pulses; p++) {
            sundog_idx first_ghost, n_ghost;
            BASE_TRY(add_pulse(domain, &h, first, first + n, &first_ghost, &n_ghost));
            first = first_ghost;
            n = n_ghost;
        }
    }
    return SUNDOG_OK;
}

/* ---- wrapped rows: the shorter way round ---------------------------------------------------- */

/* turn of all owned rows along one axis. d hops towards -1 lead to a cell whose centre, seen from
 * this box, is at height[d - 1] less half a box; that is the shorter way while the row is not
 * above height[d - 1]. */
static void set_turns(md_domain *domain, int axis)
{
    double height[2 * MD_MAX_PULSES_PER_AXIS];
    const md_planes *planes = &domain->planes;
    const double *bound = domain->grid.bound[axis];
    int n = domain->grid.n[axis], cell = domain->cell[axis];
    for (int d = 1; d < n; d++) {
        int at = cell - d + (cell < d ? n : 0);
        double centre = 0.5 * (bound[at] + bound[at + 1]) - (cell < d ? 1 : 0);
        height[d - 1] = (centre + 0.5) * planes->thickness[axis];
    }
    for (int row = 0; row < domain->rows.n_owned; row++) {
        double mine = vec_dot(planes->normal[axis], domain->rows.x[row]);
        int turn = 0;
        while (turn < n - 1 && mine <= height[turn]) turn++;
        domain->info[row].turn |= turn << 8 * axis;
    }
}

/* Axes along which a row could come from both sides, and of those the ones where both may be in
 * reach (only in a skewed box does it matter). */
static void find_turning(md_domain *domain, const int n_pulses[3], unsigned *turning,
                         unsigned *loose)
{
    double reach = domain->reach.rlist + domain->radius + slack;
    *turning = *loose = 0;
    if (!domain->reach.wrapped || domain->reach.scheme != MD_SCHEME_SHELL) return;
    for (int row = 0; row < domain->rows.n_owned; row++) domain->info[row].turn = 0;
    for (int k = 0; k < 3; k++) {
        if (domain->grid.n[k] == 1 || 2 * n_pulses[k] < domain->grid.n[k]) continue;
        double beside = domain->planes.thickness[k] * (1 - md_grid_thickest(&domain->grid, k));
        *turning |= 1u << k;
        if (!domain->planes.orthogonal && beside <= 2 * reach) *loose |= 1u << k;
        set_turns(domain, k);
    }
}

static void fill_rows(md_domain *domain)
{
    md_rows *rows = &domain->rows;
    for (int row = 0; row < rows->n_rows; row++) {
        const md_site *site = &domain->sites.site[domain->info[row].site];
        rows->type[row] = site->type;
        rows->charge[row] = site->charge;
        rows->zone[row] = (uint8_t)md_hops_zone(domain->info[row].hops);
        if (row < rows->n_owned) rows->mass[row] = site->mass;
    }
}

sundog_status md_zones_build(md_domain *domain)
{
    md_rows *rows = &domain->rows;
    md_reach reach = domain->reach;
    reach.group_radius = domain->radius;
    int n_pulses[3];
    unsigned turning, loose;
    if (md_grid_check_sides(&domain->grid, &domain->box, &reach) != SUNDOG_OK)
        return base_fail(SUNDOG_ERR_PHYSICS, "constraint groups have grown to a radius of %.4g nm: "
                         "%s", domain->radius, sundog_last_error());
    md_grid_pulses(&domain->grid, &domain->box, &reach, n_pulses);
    find_turning(domain, n_pulses, &turning, &loose);
    BASE_TRY(sundog_plan_reset(domain->plan, rows->n_owned));
    rows->n_rows = rows->n_owned;
    for (int axis = 2; axis >= 0; axis--) {
        if (n_pulses[axis] > MD_MAX_PULSES_PER_AXIS)
            return base_fail(SUNDOG_ERR_PHYSICS,
                             "a constraint group has grown to a radius of %.4g nm, so that %d "
                             "pulses along %c would be needed",
                             domain->radius, n_pulses[axis], 'x' + axis);
        BASE_TRY(add_axis(domain, axis, n_pulses[axis], turning, loose));
    }
    BASE_TRY(sundog_plan_commit(domain->plan));
    fill_rows(domain);
    return SUNDOG_OK;
}
