/* The choice of nstlist, when it is free, and of the interval of filtering, by a model of what a
 * step costs. Time of one step and atom, in ns, with lists of n steps of radius R (nm) that are
 * filtered every p steps to radius Q, at d times the density of water:
 *
 *      force    185 d (Q + 0.19)^3
 *      filter    42 d (R + 0.43)^3   m / n          m = n / p, rounded up: once with each list
 *      list     (530 + 95 d R^3) / n               repartition included
 *      ghosts    20 ((1 + (R + 0.1) / L)^3 - 1)    L: edge of a cube of 10,000 atoms at most
 *
 * R and Q follow from n, p and the tolerance (md/pairs/buffer.h); the lengths added to them are
 * what clusters reach beyond their rows. The numbers are a fit to the 12,000 atoms of
 * grappa-like/0012 on one core with AVX2, n from 10 to 40 and p from 4 to 10 (docs/speed.md), and
 * only their ratios matter. The minimum is flat: a few per cent between n = 20 and 40. Therefore
 *
 *  - the model has constants instead of timings: a run chooses the same lists on every machine and
 *    every day, so it can be repeated bit for bit, and a restart has the lists of its first part;
 *  - a longer list must promise 5 % (on a GPU 2 %): the minimum is as flat as the model is wrong,
 *    and shorter ones can be stopped and continued at more places.
 *
 * On a GPU (H200, 45,000 atoms of water and ethanol, docs/pair-lists-on-gpus.md; ps an atom, of
 * which again only ratios matter):
 *
 *      force    356 d ((Q + 0.25) / 1.17)^3
 *      filter  (609 d ((R + 0.6) / 1.7)^3 + 333) m / n
 *      search  2730 d ((R + 1.05) / 2.15)^3 / n
 *
 * 333: what a filter costs a run beyond its kernel, since a graph ends there, some 15 us. Steps
 * with twelve pairs of intervals, 24 to 60 and 5 to 10, were 0.1 us from this at 45,000 atoms
 * (RMS), with 14.4 us for everything else.
 *
 * Where lists are filtered both radii lose pairs, so the tolerance is shared: half of it is for R,
 * a quarter for Q. The last quarter is kept back because the buffer is estimated with free flight,
 * which errs to the safe side less the shorter a list lives: with all of the tolerance for each
 * radius and filters of 5 steps the drift of water, far below the tolerance as it was, rose from 5
 * to 25e-4 kJ/mol/ps per atom.
 *
 * Rejected: trying lengths out in the first steps of the run, for the first reason.
 */
#include "md/run/lists.h"

#include "md/pairs/buffer.h"

#include <math.h>

static const double WATER_PER_NM3 = 99; /* atoms */
static const int lengths[] = {20, 25, 30, 40, 50, 60, 80, 100};
static const int cpu_filters[] = {7, 10, 14, 20, 28, 40}; /* more often does not pay there */
static const int gpu_filters[] = {4, 5, 6, 8, 10, 12, 16, 20, 30, 40};
/* Of the tolerance, on GPUs. Lists of clusters hold pairs from beyond their radius, so that the CPU
 * never comes near the tolerance; lists of single partners do: argon drifted by 5e-4 kJ/mol/ps per
 * atom, of 50e-4 allowed (4.5e-4 with a fifth of the tolerance), where GROMACS's mixed precision
 * has 2e-4. */
static const double GPU_SHARE = 0.05;
/* Blocks on a GPU are single units of three atoms at the least, and their surroundings must stay
 * within half of the box around them, also when pressure coupling makes it smaller. */
static const double UNIT_EXTENT = 0.16, SHRINKS = 0.01;
enum {
    N_LENGTHS = sizeof lengths / sizeof lengths[0],
    N_CPU_FILTERS = sizeof cpu_filters / sizeof cpu_filters[0],
    N_GPU_FILTERS = sizeof gpu_filters / sizeof gpu_filters[0]
};

static double cube(double x)
{
    return x * x * x;
}

static double cost_gpu(const md_lists *lists, double density)
{
    const double d = density / WATER_PER_NM3;
    const double q = lists->nstprune > 0 ? lists->rprune : lists->rlist;
    const double m = lists->nstprune > 0 ? ceil((double)lists->nstlist / lists->nstprune) : 1;
    return 356 * d * cube((q + 0.25) / 1.17) +
           (609 * d * cube((lists->rlist + 0.6) / 1.7) + 333) * m / lists->nstlist +
           2730 * d * cube((lists->rlist + 1.05) / 2.15) / lists->nstlist;
}

static double cost_cpu(const md_lists *lists, double density, double edge)
{
    const double d = density / WATER_PER_NM3, n = lists->nstlist;
    const double ghosts = cube(1 + (lists->rlist + 0.1) / edge) - 1;
    double m = 1, q = lists->rlist;
    if (lists->nstprune > 0) {
        m = ceil(n / lists->nstprune);
        q = lists->rprune;
    }
    return 185 * d * cube(q + 0.19) + 42 * d * cube(lists->rlist + 0.43) * m / n +
           (530 + 95 * d * cube(lists->rlist)) / n + 20 * ghosts;
}

/* What a choice is made for, and the radii of filters, made when asked for: they take time. */
typedef struct chooser {
    const md_topology *topology;
    const md_box *box;
    const md_params *params;
    double temperature, density, range, edge; /* K, 1/nm^3, nm, nm */
    md_lists_device device;
    const int *filters;
    int n_filters;
    double inner[N_GPU_FILTERS]; /* 0: not made yet */
} chooser;

static double cost(const md_lists *lists, const chooser *c)
{
    return c->device == MD_LISTS_GPU ? cost_gpu(lists, c->density)
                                     : cost_cpu(lists, c->density, c->edge);
}

static sundog_status radius_for(const chooser *c, int lifetime, double share, double *out)
{
    md_params params = *c->params;
    params.verlet_buffer_tolerance *= c->device == MD_LISTS_GPU ? GPU_SHARE * share : share;
    return md_verlet_buffer(c->topology, c->box, &params, c->temperature, lifetime, out);
}

/* Lists of n steps with their best interval of filtering. Costs rise and fall with how the
 * intervals divide n, on a GPU by more than from one to the next, so there the search goes on for
 * a while. */
static sundog_status make(chooser *c, int n, md_lists *out)
{
    const double much_worse = c->device == MD_LISTS_GPU ? 1.1 : 1;
    md_lists best = {.nstlist = n}, other = {.nstlist = n};
    BASE_TRY(radius_for(c, n, 1, &best.rlist));
    if (n > c->filters[0]) BASE_TRY(radius_for(c, n, MD_LISTS_SHARE, &other.rlist));
    for (int k = 0; k < c->n_filters && c->filters[k] < n; k++) {
        if (c->inner[k] == 0)
            BASE_TRY(radius_for(c, c->filters[k], MD_LISTS_INNER_SHARE, &c->inner[k]));
        other.nstprune = c->filters[k];
        other.rprune = c->inner[k];
        if (other.rprune >= other.rlist || other.rlist > c->range) break;
        if (cost(&other, c) < cost(&best, c))
            best = other;
        else if (best.nstprune > 0 && cost(&other, c) >= much_worse * cost(&best, c))
            break;
    }
    *out = best;
    return SUNDOG_OK;
}

double md_lists_range(const md_box *box, md_lists_device device)
{
    double range = md_box_max_range(box);
    if (device == MD_LISTS_CPU) return range;
    for (int k = 0; k < 3; k++)
        range = fmin(range, 0.5 * md_box_thickness(box, k) - UNIT_EXTENT - SHRINKS * range);
    return range;
}

sundog_status md_lists_choose(const md_topology *topology, const md_box *box,
                              const md_params *params, double temperature, int nstlist,
                              bool may_raise, md_lists_device device, md_lists *out)
{
    chooser c = {topology,         box,
                 params,           temperature,
                 .device = device, .density = (double)topology->n_atoms / md_box_volume(box)};
    c.filters = device == MD_LISTS_CPU ? cpu_filters : gpu_filters;
    c.n_filters = device == MD_LISTS_CPU ? N_CPU_FILTERS : N_GPU_FILTERS;
    c.range = md_lists_range(box, device);
    c.edge = cbrt(fmin((double)topology->n_atoms, 10000) / c.density);
    md_lists best, longer;
    BASE_TRY(make(&c, nstlist, &best));
    for (int k = 0; may_raise && k < N_LENGTHS; k++) {
        if (lengths[k] <= nstlist) continue;
        BASE_TRY(make(&c, lengths[k], &longer));
        double ratio = cost(&longer, &c) / cost(&best, &c);
        if (longer.rlist > c.range || ratio > 1.05) break;
        if (ratio < (device == MD_LISTS_CPU ? 0.95 : 0.98)) best = longer;
    }
    *out = best;
    return SUNDOG_OK;
}

sundog_status md_lists_ghost_radius(const md_topology *topology, const md_box *box,
                                    const md_params *params, double temperature, int lifetime,
                                    double *radius)
{
    const chooser c = {topology, box, params, temperature, .device = MD_LISTS_GPU};
    return radius_for(&c, lifetime, MD_LISTS_SHARE, radius);
}
