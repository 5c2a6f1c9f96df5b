/* Jobs from what SETTLE and LINCS have sorted (move_jobs.h). Networks are the connected components
 * of lincs_network; md_lincs_network_couple keeps components with triangles behind all others. */
#include "md/motion/move_jobs.h"
#include "base/alloc.h"

int md_job_n_arms(md_job_kind kind)
{
    return kind >= MD_JOB_STAR_1 && kind <= MD_JOB_STAR_4 ? 1 + (int)(kind - MD_JOB_STAR_1) : 0;
}

int md_job_n_rows(md_job_kind kind)
{
    return kind == MD_JOB_WATER ? 3 : 1 + md_job_n_arms(kind);
}

/* A segment of n jobs behind the others, its arrays reserved. */
static md_job_segment *segment_add(md_move_jobs *jobs, md_job_kind kind, int n)
{
    md_job_segment *segment = &jobs->segment[jobs->n_segments++];
    *segment = (md_job_segment){
        .kind = kind, .n = n, .first_row = jobs->n_row, .first_length = jobs->n_length};
    jobs->n_row += n * md_job_n_rows(kind);
    jobs->n_length += n * md_job_n_arms(kind);
    BASE_RESERVE(jobs->row, jobs->capacity_row, jobs->n_row);
    BASE_RESERVE(jobs->length, jobs->capacity_length, jobs->n_length);
    BASE_RESERVE(jobs->scale, jobs->capacity_scale, jobs->n_length);
    return segment;
}

static void take_waters(md_move_jobs *jobs, const md_settle *settle)
{
    for (int model = 0; model < settle->n_models; model++) {
        const int first = settle->start[model], n = settle->start[model + 1] - first;
        if (n == 0) continue;
        md_job_segment *segment = segment_add(jobs, MD_JOB_WATER, n);
        segment->model = model;
        for (int k = 0; k < n; k++)
            for (int a = 0; a < 3; a++) {
                const int row = settle->row[first + k][a];
                jobs->row[segment->first_row + a * n + k] = row;
                jobs->taken[row] = 1;
            }
    }
}

static void take_stars(md_move_jobs *jobs, const lincs_stars *stars)
{
    const int n_arms = stars->n_arms, n = stars->n;
    if (n == 0) return;
    const md_job_segment *segment =
        segment_add(jobs, (md_job_kind)((int)MD_JOB_STAR_1 + n_arms - 1), n);
    for (int k = 0; k < n; k++) {
        const int block = k / LINCS_LANES, lane = k % LINCS_LANES;
        for (int a = 0; a <= n_arms; a++) {
            const int row = stars->row[block * (n_arms + 1) + a][lane];
            jobs->row[segment->first_row + a * n + k] = row;
            jobs->taken[row] = 1;
        }
        for (int a = 0; a < n_arms; a++) {
            const int at = segment->first_length + a * n + k;
            jobs->length[at] = stars->length[block * n_arms + a][lane];
            jobs->scale[at] = stars->scale[block * n_arms + a][lane];
        }
    }
}

/* ---- networks ------------------------------------------------------------------------------- */

/* component[k] of each constraint, numbered by lowest constraint; how many there are. */
static int find_components(const lincs_network *network, int *component, int *stack)
{
    int n_components = 0;
    for (int k = 0; k < network->n; k++) component[k] = -1;
    for (int k = 0; k < network->n; k++) {
        if (component[k] >= 0) continue;
        int n_stack = 0;
        stack[n_stack++] = k;
        component[k] = n_components;
        while (n_stack > 0) {
            const int from = stack[--n_stack];
            for (int c = network->start[from]; c < network->start[from + 1]; c++) {
                const int other = network->other[c];
                if (component[other] >= 0) continue;
                component[other] = n_components;
                stack[n_stack++] = other;
            }
        }
        n_components++;
    }
    return n_components;
}

static void networks_reserve(md_job_networks *out, const lincs_network *network, int n_components)
{
    const int n = network->n, n_couplings = n > 0 ? network->start[n] : 0;
    BASE_RESERVE(out->atom_start, out->capacity[0], n_components + 1);
    BASE_RESERVE(out->constraint_start, out->capacity[1], n_components + 1);
    BASE_RESERVE(out->triangles, out->capacity[2], n_components);
    BASE_RESERVE(out->row, out->capacity[3], 2 * n);
    BASE_RESERVE(out->at_start, out->capacity[4], 2 * n + 1);
    BASE_RESERVE(out->at, out->capacity[5], 2 * n);
    BASE_RESERVE(out->atom, out->capacity[6], n);
    BASE_RESERVE(out->length, out->capacity[7], n);
    BASE_RESERVE(out->scale, out->capacity[8], n);
    BASE_RESERVE(out->start, out->capacity[9], n + 1);
    BASE_RESERVE(out->other, out->capacity[10], n_couplings);
    BASE_RESERVE(out->factor, out->capacity[11], n_couplings);
}

/* Constraints in the order of their components: place[old] = new. */
static void place_constraints(md_job_networks *out, const lincs_network *network,
                              const int *component, int n_components, int *place)
{
    for (int c = 0; c <= n_components; c++) out->constraint_start[c] = 0;
    for (int c = 0; c < n_components; c++) out->triangles[c] = false;
    for (int k = 0; k < network->n; k++) {
        out->constraint_start[component[k] + 1]++;
        if (k >= network->n_plain) out->triangles[component[k]] = true;
    }
    for (int c = 0; c < n_components; c++)
        out->constraint_start[c + 1] += out->constraint_start[c];
    int *next = base_alloc(((size_t)n_components + 1) * sizeof *next);
    for (int c = 0; c < n_components; c++) next[c] = out->constraint_start[c];
    for (int k = 0; k < network->n; k++) place[k] = next[component[k]]++;
    base_free(next);
}

static void copy_constraints(md_job_networks *out, const lincs_network *network, const int *place)
{
    for (int k = 0; k < network->n; k++) {
        out->length[place[k]] = network->length[k];
        out->scale[place[k]] = network->scale[k];
        out->start[place[k] + 1] = network->start[k + 1] - network->start[k];
    }
    out->start[0] = 0;
    for (int k = 0; k < network->n; k++) out->start[k + 1] += out->start[k];
    for (int k = 0; k < network->n; k++)
        for (int c = 0; c < network->start[k + 1] - network->start[k]; c++) {
            out->other[out->start[place[k]] + c] = place[network->other[network->start[k] + c]];
            out->factor[out->start[place[k]] + c] = network->factor[network->start[k] + c];
        }
}

/* Atoms of each network in order of first use, and the constraints of each atom. */
static void place_atoms(md_job_networks *out, const lincs_network *network, const int *from,
                        int *atom_of_row)
{
    int n_atoms = 0;
    for (int c = 0; c < out->n; c++) {
        out->atom_start[c] = n_atoms;
        for (int k = out->constraint_start[c]; k < out->constraint_start[c + 1]; k++)
            for (int e = 0; e < 2; e++) {
                const int row = network->row[from[k]][e];
                if (atom_of_row[row] < 0) {
                    atom_of_row[row] = n_atoms;
                    out->row[n_atoms++] = row;
                }
                out->atom[k][e] = atom_of_row[row];
            }
    }
    out->atom_start[out->n] = out->n_atoms = n_atoms;
    int *count = base_alloc_zero(((size_t)n_atoms + 2) * sizeof *count);
    for (int k = 0; k < out->n_constraints; k++)
        for (int e = 0; e < 2; e++) count[out->atom[k][e] + 2]++;
    for (int a = 0; a < n_atoms; a++) count[a + 2] += count[a + 1];
    for (int k = 0; k < out->n_constraints; k++)
        for (int e = 0; e < 2; e++) out->at[count[out->atom[k][e] + 1]++] = 2 * k + e;
    for (int a = 0; a <= n_atoms; a++) out->at_start[a] = count[a];
    base_free(count);
}

static void take_networks(md_move_jobs *jobs, const lincs_network *network, int n_owned)
{
    md_job_networks *out = &jobs->networks;
    const size_t n = (size_t)network->n;
    out->n = out->n_atoms = out->n_constraints = out->n_couplings = 0;
    if (n == 0) return;
    int *work = base_alloc((4 * n + (size_t)n_owned) * sizeof *work);
    int *component = work, *place = work + n, *from = work + 2 * n, *stack = work + 3 * n;
    int *atom_of_row = work + 4 * n;
    for (int r = 0; r < n_owned; r++) atom_of_row[r] = -1;
    const int n_components = find_components(network, component, stack);
    networks_reserve(out, network, n_components);
    out->n = n_components;
    out->n_constraints = network->n;
    out->n_couplings = network->start[network->n];
    place_constraints(out, network, component, n_components, place);
    for (int k = 0; k < network->n; k++) from[place[k]] = k;
    copy_constraints(out, network, place);
    place_atoms(out, network, from, atom_of_row);
    for (int a = 0; a < out->n_atoms; a++) jobs->taken[out->row[a]] = 1;
    base_free(work);
}

/* ---- all ------------------------------------------------------------------------------------ */

static void take_free(md_move_jobs *jobs, int n_owned)
{
    int n = 0;
    for (int r = 0; r < n_owned; r++) n += !jobs->taken[r];
    if (n == 0) return;
    const md_job_segment *segment = segment_add(jobs, MD_JOB_FREE, n);
    int next = segment->first_row;
    for (int r = 0; r < n_owned; r++)
        if (!jobs->taken[r]) jobs->row[next++] = r;
}

sundog_status md_move_jobs_build(md_move_jobs *jobs, const md_settle *settle,
                                 const md_lincs *lincs, int n_owned)
{
    if (settle->n_models > MD_JOB_MAX_MODELS)
        return base_fail(SUNDOG_ERR_UNSUPPORTED,
                         "%d kinds of rigid water; on a GPU at most %d are supported",
                         settle->n_models, MD_JOB_MAX_MODELS);
    BASE_RESERVE(jobs->taken, jobs->capacity_taken, n_owned);
    for (int r = 0; r < n_owned; r++) jobs->taken[r] = 0;
    jobs->n_segments = jobs->n_row = jobs->n_length = 0;
    take_waters(jobs, settle);
    for (int a = 1; a <= LINCS_MAX_STAR; a++) take_stars(jobs, &lincs->stars[a]);
    take_networks(jobs, &lincs->network, n_owned);
    take_free(jobs, n_owned);
    return SUNDOG_OK;
}

void md_move_jobs_free(md_move_jobs *jobs)
{
    md_job_networks *n = &jobs->networks;
    base_free(jobs->row), base_free(jobs->length), base_free(jobs->scale), base_free(jobs->taken);
    base_free(n->atom_start), base_free(n->constraint_start), base_free(n->triangles);
    base_free(n->row), base_free(n->at_start), base_free(n->at), base_free(n->atom);
    base_free(n->length), base_free(n->scale), base_free(n->start), base_free(n->other);
    base_free(n->factor);
    *jobs = (md_move_jobs){0};
}
