/* Sorts the constraints of a domain into stars and the network (lincs.h), at each repartition.
 *
 * With degree = number of constraints of a row: a row all of whose neighbours have degree 1 is the
 * centre of a star (of two rows of degree 1 the first is). A constraint between two rows of degree
 * above 1 spoils both, and whatever touches a spoilt row goes to the network: in a connected
 * component that is no star, every constraint does. One pass over the constraints for each of:
 * degrees, spoilt rows, stars.
 */
#include "md/motion/lincs.h"
#include "base/alloc.h"
#include <math.h>
#include <stdlib.h>

/* mark[] of a row */
enum { ROW_SPOILT = -1, ROW_FREE = -2 }; /* else: index of the star whose centre it is */

static int compare_pairs(const void *a, const void *b)
{
    const int *x = a, *y = b;
    if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
    return (x[1] > y[1]) - (x[1] < y[1]);
}

/* The same two atoms constrained twice make the coupling matrix singular. */
static sundog_status check_repeated(const md_moltype *moltype)
{
    const md_interactions *list = &moltype->list[MD_CONSTRAINT];
    sundog_status status = SUNDOG_OK;
    int(*pair)[2] = base_alloc(((size_t)list->n + 1) * sizeof *pair);
    for (int k = 0; k < list->n; k++) {
        const int i = list->atoms[2 * k], j = list->atoms[2 * k + 1];
        pair[k][0] = i < j ? i : j;
        pair[k][1] = i < j ? j : i;
    }
    qsort(pair, (size_t)list->n, sizeof *pair, compare_pairs);
    for (int k = 1; k < list->n && status == SUNDOG_OK; k++)
        if (compare_pairs(pair[k - 1], pair[k]) == 0)
            status = base_fail(SUNDOG_ERR_INPUT,
                               "molecule type %s: atoms %d and %d are constrained twice",
                               moltype->name, pair[k][0] + 1, pair[k][1] + 1);
    base_free(pair);
    return status;
}

sundog_status md_lincs_check(const md_topology *topology)
{
    for (int t = 0; t < topology->n_moltypes; t++) {
        const md_moltype *moltype = &topology->moltype[t];
        const md_interactions *list = &moltype->list[MD_CONSTRAINT];
        for (int k = 0; k < list->n; k++) {
            const int i = list->atoms[2 * k], j = list->atoms[2 * k + 1];
            const double length = topology->param[list->param[k]].p[0];
            if (i == j || !(length > 0 && isfinite(length)))
                return base_fail(SUNDOG_ERR_INPUT,
                                 "molecule type %s: constraint of atoms %d and %d needs two atoms "
                                 "and a length above zero, has %g nm",
                                 moltype->name, i + 1, j + 1, length);
            for (int e = 0; e < 2; e++) {
                const int atom = list->atoms[2 * k + e];
                if (!(moltype->atom[atom].mass > 0))
                    return base_fail(SUNDOG_ERR_INPUT,
                                     "molecule type %s: atom %d is constrained but has mass %g u",
                                     moltype->name, atom + 1, moltype->atom[atom].mass);
            }
        }
        BASE_TRY(check_repeated(moltype));
    }
    return SUNDOG_OK;
}

/* Degrees, and the rows that make their component a network. */
static sundog_status mark_rows(md_lincs *lincs, const md_rows *rows)
{
    const md_row_interactions *list = &rows->list[MD_CONSTRAINT];
    const int n_owned = rows->n_owned;
    BASE_RESERVE(lincs->degree, lincs->capacity_degree, n_owned);
    BASE_RESERVE(lincs->mark, lincs->capacity_mark, n_owned);
    BASE_RESERVE(lincs->n_found, lincs->capacity_n_found, n_owned);
    for (int r = 0; r < n_owned; r++) {
        lincs->degree[r] = lincs->n_found[r] = 0;
        lincs->mark[r] = ROW_FREE;
    }
    for (int k = 0; k < list->n; k++) {
        const int i = list->rows[2 * k], j = list->rows[2 * k + 1];
        if (i >= n_owned && j >= n_owned) continue;
        if (i >= n_owned || j >= n_owned)
            return base_fail(
                SUNDOG_ERR_PHYSICS,
                "the constraint between atoms %lld and %lld is not whole on its domain",
                (long long)rows->gid[i] + 1, (long long)rows->gid[j] + 1);
        lincs->degree[i]++;
        lincs->degree[j]++;
    }
    for (int k = 0; k < list->n; k++) {
        const int i = list->rows[2 * k], j = list->rows[2 * k + 1];
        if (i >= n_owned) continue;
        const int di = lincs->degree[i], dj = lincs->degree[j];
        if ((di > 1 && dj > 1) || di > LINCS_MAX_STAR || dj > LINCS_MAX_STAR)
            lincs->mark[i] = lincs->mark[j] = ROW_SPOILT;
    }
    return SUNDOG_OK;
}

static void network_add(lincs_network *network, int i, int j, double length, const double *mass)
{
    const int n = network->n++;
    BASE_RESERVE(network->row, network->capacity[11], n + 1);
    BASE_RESERVE(network->length, network->capacity[12], n + 1);
    BASE_RESERVE(network->inv_mass, network->capacity[13], n + 1);
    network->row[n][0] = i;
    network->row[n][1] = j;
    network->length[n] = length;
    network->inv_mass[n][0] = 1.0 / mass[i];
    network->inv_mass[n][1] = 1.0 / mass[j];
}

static int star_create(lincs_stars *stars, int n_arms, int centre)
{
    const int star = stars->n++, block = star / LINCS_LANES;
    const size_t first = (size_t)block * (size_t)(n_arms + 1);
    stars->n_arms = n_arms;
    BASE_RESERVE(stars->row, stars->capacity_row, first + (size_t)n_arms + 1);
    BASE_RESERVE(stars->length, stars->capacity_length, (size_t)(block + 1) * (size_t)n_arms);
    stars->row[first][star % LINCS_LANES] = centre;
    return star;
}

static void star_add(md_lincs *lincs, int centre, int arm_row, double length)
{
    const int n_arms = lincs->degree[centre];
    lincs_stars *stars = &lincs->stars[n_arms];
    if (lincs->mark[centre] == ROW_FREE) lincs->mark[centre] = star_create(stars, n_arms, centre);
    const int star = lincs->mark[centre], block = star / LINCS_LANES, lane = star % LINCS_LANES;
    const int arm = lincs->n_found[centre]++;
    stars->row[block * (n_arms + 1) + 1 + arm][lane] = arm_row;
    stars->length[block * n_arms + arm][lane] = length;
}

/* Masses, and copies of the last star in the lanes behind it. */
static void stars_finish(lincs_stars *stars, const double *mass)
{
    const int n_arms = stars->n_arms, n_blocks = (stars->n + LINCS_LANES - 1) / LINCS_LANES;
    BASE_RESERVE(stars->inv_mass, stars->capacity_inv_mass, n_blocks * (n_arms + 1));
    BASE_RESERVE(stars->scale, stars->capacity_scale, n_blocks * n_arms);
    for (int b = 0; b < n_blocks; b++) {
        int(*row)[LINCS_LANES] = stars->row + b * (n_arms + 1);
        double(*length)[LINCS_LANES] = stars->length + b * n_arms;
        double(*inv_mass)[LINCS_LANES] = stars->inv_mass + b * (n_arms + 1);
        double(*scale)[LINCS_LANES] = stars->scale + b * n_arms;
        const int n = stars->n - b * LINCS_LANES;
        for (int l = 0; l < LINCS_LANES; l++) {
            const int from = l < n ? l : n - 1;
            for (int a = 0; a <= n_arms; a++) {
                row[a][l] = row[a][from];
                inv_mass[a][l] = 1.0 / mass[row[a][l]];
            }
            for (int a = 0; a < n_arms; a++) {
                length[a][l] = length[a][from];
                scale[a][l] = 1.0 / sqrt(inv_mass[0][l] + inv_mass[1 + a][l]);
            }
        }
    }
}

sundog_status md_lincs_rebuild(md_lincs *lincs, const md_topology *topology, const md_rows *rows)
{
    const md_row_interactions *list = &rows->list[MD_CONSTRAINT];
    for (int a = 1; a <= LINCS_MAX_STAR; a++) lincs->stars[a].n = 0;
    lincs->network.n = 0;
    BASE_TRY(mark_rows(lincs, rows));
    for (int k = 0; k < list->n; k++) {
        const int i = list->rows[2 * k], j = list->rows[2 * k + 1];
        if (i >= rows->n_owned) continue;
        const double length = topology->param[list->param[k]].p[0];
        if (lincs->mark[i] == ROW_SPOILT || lincs->mark[j] == ROW_SPOILT) {
            network_add(&lincs->network, i, j, length, rows->mass);
            continue;
        }
        if (lincs->degree[j] > 1)
            star_add(lincs, j, i, length);
        else
            star_add(lincs, i, j, length);
    }
    for (int a = 1; a <= LINCS_MAX_STAR; a++) stars_finish(&lincs->stars[a], rows->mass);
    md_lincs_network_couple(&lincs->network, rows->n_owned);
    return SUNDOG_OK;
}

void md_lincs_free(md_lincs *lincs)
{
    for (int a = 1; a <= LINCS_MAX_STAR; a++) {
        base_free(lincs->stars[a].row);
        base_free(lincs->stars[a].inv_mass);
        base_free(lincs->stars[a].length);
        base_free(lincs->stars[a].scale);
    }
    md_lincs_network_free(&lincs->network);
    base_free(lincs->degree);
    base_free(lincs->mark);
    base_free(lincs->n_found);
    *lincs = (md_lincs){0};
}
