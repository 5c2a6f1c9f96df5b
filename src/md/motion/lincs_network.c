/* LINCS for constraints of any shape: chains, rings, triangles (docs/constraints.md).
 *
 * With B_k the direction from j to i of constraint k and S_k = 1 / sqrt(1/m_i + 1/m_j), constraints
 * k and l that share an atom c are coupled by
 *
 *      A_kl = -+ S_k S_l / m_c  B_k . B_l      - when c is the first or the second atom of both
 *
 * stored row by row (start, other, factor = everything but the cosine). In a triangle A has an
 * eigenvalue near 1 in size, so components with triangles get twice the order, as Hess (J. Chem.
 * Theory Comput. 4, 116, 2008) advises; they stand behind all others.
 */
#include "base/alloc.h"
#include "md/core/vec.h"
#include "md/motion/lincs.h"

void md_lincs_network_free(lincs_network *network)
{
    base_free(network->row), base_free(network->length), base_free(network->scale);
    base_free(network->inv_mass), base_free(network->start), base_free(network->other);
    base_free(network->factor), base_free(network->a), base_free(network->b);
    base_free(network->d), base_free(network->rhs), base_free(network->rhs_next);
    base_free(network->solution), base_free(network->lambda);
    *network = (lincs_network){0};
}

/* Constraints of each row: CSR, in order of constraints. */
typedef struct incidence {
    int *start, *constraint;
} incidence;

static incidence incidence_create(const lincs_network *network, int n_rows)
{
    incidence at = {base_alloc_zero(((size_t)n_rows + 2) * sizeof(int)),
                    base_alloc((size_t)(2 * network->n + 1) * sizeof(int))};
    for (int k = 0; k < network->n; k++)
        for (int e = 0; e < 2; e++) at.start[network->row[k][e] + 2]++;
    for (int r = 0; r < n_rows; r++) at.start[r + 2] += at.start[r + 1];
    for (int k = 0; k < network->n; k++)
        for (int e = 0; e < 2; e++) at.constraint[at.start[network->row[k][e] + 1]++] = k;
    return at;
}

static void incidence_free(incidence *at)
{
    base_free(at->start);
    base_free(at->constraint);
}

static bool joined(const lincs_network *network, const incidence *at, int r, int s)
{
    for (int c = at->start[r]; c < at->start[r + 1]; c++) {
        const int *row = network->row[at->constraint[c]];
        if (row[0] == s || row[1] == s) return true;
    }
    return false;
}

/* Is k a side of a triangle? */
static bool in_triangle(const lincs_network *network, const incidence *at, int k)
{
    const int i = network->row[k][0], j = network->row[k][1];
    for (int c = at->start[i]; c < at->start[i + 1]; c++) {
        const int *row = network->row[at->constraint[c]];
        const int far = row[0] == i ? row[1] : row[0];
        if (far != j && joined(network, at, j, far)) return true;
    }
    return false;
}

/* mark[k] = 1 for constraints of components with a triangle. */
static void mark_triangles(const lincs_network *network, const incidence *at, char *mark,
                           int *stack)
{
    int n_stack = 0;
    for (int k = 0; k < network->n; k++) {
        mark[k] = in_triangle(network, at, k);
        if (mark[k]) stack[n_stack++] = k;
    }
    while (n_stack > 0) {
        const int k = stack[--n_stack];
        for (int e = 0; e < 2; e++) {
            const int r = network->row[k][e];
            for (int c = at->start[r]; c < at->start[r + 1]; c++) {
                const int other = at->constraint[c];
                if (mark[other]) continue;
                mark[other] = 1;
                stack[n_stack++] = other;
            }
        }
    }
}

/* Stable: plain components first. */
static void triangles_last(lincs_network *network, int n_rows)
{
    const size_t n = (size_t)network->n;
    incidence at = incidence_create(network, n_rows);
    char *mark = base_alloc(n + 1);
    int *stack = base_alloc((n + 1) * sizeof *stack);
    lincs_network old = *network;
    mark_triangles(network, &at, mark, stack);
    old.row = base_alloc((n + 1) * sizeof *old.row);
    old.length = base_alloc((n + 1) * sizeof *old.length);
    old.inv_mass = base_alloc((n + 1) * sizeof *old.inv_mass);
    for (size_t k = 0; k < n; k++) {
        for (int e = 0; e < 2; e++) {
            old.row[k][e] = network->row[k][e];
            old.inv_mass[k][e] = network->inv_mass[k][e];
        }
        old.length[k] = network->length[k];
    }
    int to = 0;
    for (int want = 0; want < 2; want++) {
        for (size_t k = 0; k < n; k++) {
            if (mark[k] != want) continue;
            for (int e = 0; e < 2; e++) {
                network->row[to][e] = old.row[k][e];
                network->inv_mass[to][e] = old.inv_mass[k][e];
            }
            network->length[to++] = old.length[k];
        }
        if (want == 0) network->n_plain = to;
    }
    base_free(old.row), base_free(old.length), base_free(old.inv_mass);
    base_free(mark), base_free(stack);
    incidence_free(&at);
}

static void couple(lincs_network *network, const incidence *at)
{
    int n_couplings = 0;
    for (int k = 0; k < network->n; k++) {
        network->start[k] = n_couplings;
        for (int e = 0; e < 2; e++) {
            const int r = network->row[k][e];
            const int n = n_couplings + at->start[r + 1] - at->start[r];
            BASE_RESERVE(network->other, network->capacity[0], n);
            BASE_RESERVE(network->factor, network->capacity[1], n);
            for (int c = at->start[r]; c < at->start[r + 1]; c++) {
                const int other = at->constraint[c];
                if (other == k) continue;
                const double sign = network->row[other][e] == r ? -1.0 : 1.0;
                network->other[n_couplings] = other;
                network->factor[n_couplings++] =
                    sign * network->scale[k] * network->scale[other] * network->inv_mass[k][e];
            }
        }
    }
    network->start[network->n] = n_couplings;
    BASE_RESERVE(network->a, network->capacity[2], n_couplings);
}

void md_lincs_network_couple(lincs_network *network, int n_rows)
{
    const int n = network->n;
    network->n_plain = n;
    if (n == 0) return;
    triangles_last(network, n_rows);
    BASE_RESERVE(network->scale, network->capacity[3], n);
    BASE_RESERVE(network->start, network->capacity[4], n + 1);
    BASE_RESERVE(network->b, network->capacity[5], n);
    BASE_RESERVE(network->d, network->capacity[6], n);
    BASE_RESERVE(network->rhs, network->capacity[7], n);
    BASE_RESERVE(network->rhs_next, network->capacity[8], n);
    BASE_RESERVE(network->solution, network->capacity[9], n);
    BASE_RESERVE(network->lambda, network->capacity[10], n);
    for (int k = 0; k < n; k++)
        network->scale[k] = 1.0 / sqrt(network->inv_mass[k][0] + network->inv_mass[k][1]);
    incidence at = incidence_create(network, n_rows);
    couple(network, &at);
    incidence_free(&at);
}

static void set_up(lincs_network *network, const double (*x)[3])
{
    for (int k = 0; k < network->n; k++) {
        double *d = network->d[k];
        vec_sub(x[network->row[k][0]], x[network->row[k][1]], d);
        const double inv = 1.0 / sqrt(vec_norm2(d));
        for (int i = 0; i < 3; i++) network->b[k][i] = inv * d[i];
        network->lambda[k] = 0;
    }
    for (int k = 0; k < network->n; k++)
        for (int c = network->start[k]; c < network->start[k + 1]; c++)
            network->a[c] =
                network->factor[c] * vec_dot(network->b[k], network->b[network->other[c]]);
}

/* solution += A^n rhs for n = 1 ... order over constraints [first, n). The two right-hand sides
 * change places; they are reserved together, so their capacities are the same. */
static void multiply(lincs_network *network, int first, int order)
{
    for (int n = 0; n < order; n++) {
        for (int k = first; k < network->n; k++) {
            double sum = 0;
            for (int c = network->start[k]; c < network->start[k + 1]; c++)
                sum += network->a[c] * network->rhs[network->other[c]];
            network->rhs_next[k] = sum;
            network->solution[k] += sum;
        }
        double *swap = network->rhs;
        network->rhs = network->rhs_next;
        network->rhs_next = swap;
    }
}

/* Moves x (positions or velocities) by the multipliers that rhs asks for. */
static void expand(lincs_network *network, int order, double (*x)[3])
{
    for (int k = 0; k < network->n; k++) network->solution[k] = network->rhs[k];
    multiply(network, 0, order);
    if (network->n_plain < network->n) multiply(network, network->n_plain, order);
    for (int k = 0; k < network->n; k++) {
        const double lambda = network->scale[k] * network->solution[k];
        network->lambda[k] += lambda;
        for (int i = 0; i < 3; i++) {
            x[network->row[k][0]][i] -= network->inv_mass[k][0] * lambda * network->b[k][i];
            x[network->row[k][1]][i] += network->inv_mass[k][1] * lambda * network->b[k][i];
        }
    }
}

/* As in lincs_lanes.h: for positions minus the length, NaN for a bond that points backwards. */
static void project(lincs_network *network, const double (*x)[3], bool positions)
{
    for (int k = 0; k < network->n; k++) {
        double d[3];
        vec_sub(x[network->row[k][0]], x[network->row[k][1]], d);
        double p = vec_dot(network->b[k], d);
        if (positions) p = p > 0 ? p - network->length[k] : (double)NAN;
        network->rhs[k] = network->scale[k] * p;
    }
}

static void lengthen(lincs_network *network, const double (*x)[3])
{
    for (int k = 0; k < network->n; k++) {
        double d[3];
        vec_sub(x[network->row[k][0]], x[network->row[k][1]], d);
        const double length = network->length[k], p2 = 2.0 * length * length - vec_norm2(d);
        network->rhs[k] = network->scale[k] * (length - sqrt(p2 > 0 ? p2 : 0));
    }
}

static bool judge(const lincs_network *network, const double (*x)[3], double cos_warn)
{
    for (int k = 0; k < network->n; k++) {
        double d[3];
        vec_sub(x[network->row[k][0]], x[network->row[k][1]], d);
        const double r = sqrt(vec_norm2(d));
        if (!(isfinite(r) && vec_dot(network->b[k], d) >= cos_warn * r)) return false;
    }
    return true;
}

bool md_lincs_network_positions(lincs_network *network, lincs_call *call)
{
    const double(*x)[3] = (const double(*)[3])call->x_new;
    if (network->n == 0) return true;
    set_up(network, call->x_old);
    project(network, x, true);
    expand(network, call->order, call->x_new);
    for (int i = 0; i < call->iter; i++) {
        lengthen(network, x);
        expand(network, call->order, call->x_new);
    }
    for (int k = 0; k < network->n; k++) {
        const double *b = network->b[k], *d = network->d[k], lambda = network->lambda[k];
        for (int i = 0; i < 3 && call->v; i++) {
            const double push = call->inv_dt * lambda * b[i];
            call->v[network->row[k][0]][i] -= network->inv_mass[k][0] * push;
            call->v[network->row[k][1]][i] += network->inv_mass[k][1] * push;
        }
        for (int i = 0; i < 3 && call->want_virial; i++)
            for (int j = 0; j < 3; j++)
                call->virial[i][j] += 0.5 * call->inv_dt * call->inv_dt * lambda * d[i] * b[j];
    }
    return judge(network, x, call->cos_warn);
}

bool md_lincs_network_velocities(lincs_network *network, lincs_call *call)
{
    double sum = 0;
    if (network->n == 0) return true;
    set_up(network, call->x_old);
    for (int i = 0; i <= call->iter; i++) {
        project(network, (const double(*)[3])call->v, false);
        expand(network, call->order, call->v);
    }
    for (int k = 0; k < network->n; k++) sum += 0.0 * network->lambda[k];
    return sum == 0.0;
}
