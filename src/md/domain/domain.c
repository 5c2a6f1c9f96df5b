/* md_domain (domain.h): its life, the repartition, and the exchange of every step.
 *
 * Two exchanges on one plan: x goes forward in double with the periodic shift, forces come back in
 * float and are added. In scheme shell there is no second one, with wrapped rows there is none:
 * whoever wraps them has rows of its own to move.
 */
#include "md/domain/domain_impl.h"

#include "base/alloc.h"

#include <string.h>

static sundog_status check_options(sundog_team *team, const md_topology *topology,
                                   const md_box *box, const md_domain_options *options)
{
    const int *n = options->grid.n;
    if ((int64_t)n[0] * n[1] * n[2] != sundog_team_size(team))
        return base_fail(SUNDOG_ERR_ARGUMENT,
                         "a grid of %d x %d x %d needs %lld ranks, there are %d", n[0], n[1], n[2],
                         (long long)n[0] * n[1] * n[2], sundog_team_size(team));
    if (topology->n_atoms >= (int64_t)1 << 34)
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "%lld atoms; %lld are the most",
                         (long long)topology->n_atoms, (long long)1 << 34);
    BASE_TRY(md_box_check(box));
    return md_grid_check(&options->grid, box, &options->reach);
}

/* All that follows from the box. */
static void set_cell(md_domain *domain)
{
    md_rows *rows = &domain->rows;
    double centre[3], range = md_grid_range(&domain->box, &domain->reach);
    domain->limit2 = range * range;
    domain->stretched = false;
    domain->folded = 0;
    md_grid_cell(&domain->grid, domain->rank, domain->cell);
    for (int k = 0; k < 3; k++) {
        if (domain->reach.wrapped &&
            (domain->reach.scheme == MD_SCHEME_SHELL || domain->grid.n[k] == 1))
            domain->folded |= 1u << k;
        rows->cell_lo[k] = domain->grid.bound[k][domain->cell[k]];
        rows->cell_hi[k] = domain->grid.bound[k][domain->cell[k] + 1];
        centre[k] = 0.5 * (rows->cell_lo[k] + rows->cell_hi[k]);
    }
    md_box_from_fractional(&domain->box, centre, rows->origin);
    md_planes_create(&domain->box, rows->cell_lo, rows->cell_hi, &domain->planes);
    md_order_prepare(domain);
}

sundog_status md_domain_create(sundog_team *team, const md_topology *topology, const md_box *box,
                               const md_domain_options *options, md_domain **out)
{
    BASE_TRY(check_options(team, topology, box, options));
    md_domain *domain = base_alloc_zero(sizeof *domain);
    domain->team = team;
    domain->rank = sundog_team_rank(team);
    domain->n_ranks = sundog_team_size(team);
    domain->topology = topology;
    domain->box = *box;
    domain->reach = options->reach;
    domain->rung = options->rung ? base_strdup(options->rung) : NULL;
    domain->route = options->route;
    domain->deterministic = options->deterministic;
    domain->record.kind = -1;
    domain->rows.scheme = options->reach.scheme;
    md_grid_copy(&options->grid, &domain->grid);
    md_sites_create(topology, &domain->sites);
    for (int kind = 0; kind < MD_N_KINDS; kind++)
        domain->expected[kind] = md_topology_count(topology, (md_kind)kind);
    set_cell(domain);
    sundog_status status = sundog_plan_create(team, 0, &domain->plan);
    if (status != SUNDOG_OK) {
        md_domain_destroy(&domain);
        return status;
    }
    *out = domain;
    return SUNDOG_OK;
}

void md_domain_destroy(md_domain **handle)
{
    md_domain *domain = *handle;
    if (!domain) return;
    sundog_exchange_destroy(&domain->reverse);
    sundog_exchange_destroy(&domain->forward);
    sundog_plan_destroy(&domain->plan);
    md_rows_destroy(&domain->rows);
    md_sites_destroy(&domain->sites);
    md_grid_destroy(&domain->grid);
    base_free(domain->info);
    base_free(domain->rung);
    base_free(domain->map.table);
    base_free(domain->map.slot);
    base_free(domain->map.next);
    base_free(domain->record.seen);
    base_free(domain->destination);
    base_free(domain->leaving);
    base_free(domain->arrived);
    base_free(domain->key);
    base_free(domain->key2);
    base_free(domain->index);
    base_free(domain->partner_row);
    base_free(domain->spare_x);
    base_free(domain->spare_v);
    base_free(domain->spare_gid);
    base_free(domain->spare_info);
    base_free(domain);
    *handle = NULL;
}

/* Bind the arrays as they are now to the committed plan. */
static sundog_status bind(md_domain *domain)
{
    sundog_field x = {domain->rows.x, SUNDOG_FLOAT64, 3, true, 0};
    sundog_field f = {domain->rows.f, SUNDOG_FLOAT32, 3, false, 0};
    bool returns = domain->reach.scheme == MD_SCHEME_RETURN;
    if (domain->reach.wrapped) return SUNDOG_OK;
    if (domain->forward) {
        BASE_TRY(sundog_exchange_rebind(domain->forward, &x, 1));
        return returns ? sundog_exchange_rebind(domain->reverse, &f, 1) : SUNDOG_OK;
    }
    sundog_exchange_options options = {.struct_size = sizeof options,
                                       .rung = domain->rung,
                                       .route = domain->route,
                                       .deterministic = domain->deterministic};
    BASE_TRY(sundog_exchange_create(domain->plan, &x, 1, &options, &domain->forward));
    if (!returns) return SUNDOG_OK;
    return sundog_exchange_create(domain->plan, &f, 1, &options, &domain->reverse);
}

sundog_status md_domain_stretch(md_domain *domain, const md_box *box, const double factor[3])
{
    domain->box = *box;
    domain->stretched = true;
    if (domain->reach.wrapped) return SUNDOG_OK;        /* fractions stay, there are no shifts */
    return sundog_plan_stretch(domain->plan, factor);
}

/* The box has changed by a little; can its grid still run? The same answer on every rank. */
static sundog_status follow_box(md_domain *domain)
{
    if (!domain->stretched) return SUNDOG_OK;
    if (md_grid_check(&domain->grid, &domain->box, &domain->reach) == SUNDOG_OK) {
        set_cell(domain);
        return SUNDOG_OK;
    }
    const double(*m)[3] = (const double(*)[3])domain->box.m;
    return base_fail(SUNDOG_ERR_PHYSICS,
                     "pressure coupling has made the box %.4g x %.4g x %.4g nm: %s. Use fewer "
                     "domains if it still equilibrates; else check ref-p, compressibility and "
                     "whether the system holds together",
                     m[0][0], m[1][1], m[2][2], sundog_last_error());
}

sundog_status md_domain_repartition(md_domain *domain)
{
    size_t n_groups;
    BASE_TRY(follow_box(domain));
    BASE_TRY(md_migrate(domain, &n_groups));
    md_order_rows(domain, n_groups);
    BASE_TRY(md_zones_build(domain));
    BASE_TRY(bind(domain));
    md_interactions_build(domain);
    return md_verify(domain);
}

md_rows *md_domain_rows(md_domain *domain)
{
    return &domain->rows;
}

const md_grid *md_domain_grid(const md_domain *domain)
{
    return &domain->grid;
}

sundog_plan *md_domain_plan(md_domain *domain)
{
    return domain->plan;
}

static sundog_status check_unwrapped(const md_domain *domain)
{
    if (!domain->reach.wrapped) return SUNDOG_OK;
    return base_fail(SUNDOG_ERR_ARGUMENT, "a domain of wrapped rows has no exchange of its own: "
                     "create one on md_domain_plan()");
}

int md_domain_groups(const md_domain *domain, int *first)
{
    int n = 0, row = 0;
    for (; row < domain->rows.n_owned; n++) {
        first[n] = row;
        row += domain->sites.site[domain->info[row].site].group_size;
    }
    first[n] = row;
    return n;
}

sundog_status md_domain_forward_begin(md_domain *domain)
{
    BASE_TRY(check_unwrapped(domain));
    return sundog_forward_begin(domain->forward);
}

sundog_status md_domain_forward_end(md_domain *domain)
{
    BASE_TRY(check_unwrapped(domain));
    return sundog_forward_end(domain->forward);
}

sundog_status md_domain_reverse_begin(md_domain *domain)
{
    BASE_TRY(check_unwrapped(domain));
    return domain->reverse ? sundog_reverse_begin(domain->reverse) : SUNDOG_OK;
}

sundog_status md_domain_reverse_end(md_domain *domain)
{
    BASE_TRY(check_unwrapped(domain));
    return domain->reverse ? sundog_reverse_end(domain->reverse) : SUNDOG_OK;
}

void md_domain_stats_of(const md_domain *domain, md_domain_stats *out)
{
    const md_rows *rows = &domain->rows;
    sundog_exchange_volume volume = {0, 0, 0};
    if (domain->forward && sundog_exchange_volume_of(domain->forward, &volume) != SUNDOG_OK)
        volume.n_bytes = 0;
    *out = (md_domain_stats){rows->n_owned, rows->n_rows - rows->n_owned,
                             sundog_plan_n_pulses(domain->plan), volume.n_bytes};
}

const char *md_domain_describe(const md_domain *domain)
{
    if (domain->reach.wrapped) return "that of the caller";
    return domain->forward ? sundog_exchange_describe(domain->forward) : "not distributed";
}
