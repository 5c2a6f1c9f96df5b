/* Warnings, blame and wreckage (faults.h).
 *
 * A failing rank ends the team, so nothing can be sent any more: each rank leaves a copy of its own
 * atoms here on its way out, and whoever joined the threads puts the pieces together. Ranks may
 * then be a step apart. With S the step that the cause left (its x_old), every rank gives what it
 * has of S and S + 1:
 *
 *      rank has x_old(S), x(S + 1)     both
 *      rank has x(S)                   b, and the same in c
 *      rank is elsewhere               the nearest that it has; counted in the title
 *
 * Atoms that nobody has left stand where rank 0 saw them last: in the frame before, or at the
 * start.
 */
#include "md/run/faults.h"

#include "base/alloc.h"
#include "md/core/atom_text.h"
#include "md/core/parcel.h"
#include "md/core/vec.h"
#include "md/run/processes.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WARNINGS = 999, ON_TERMINAL = 10 };

/* What one rank had: x of `step`, and x of the step before if has_old. */
typedef struct wreck {
    bool left, has_old;
    int64_t step, step_old;
    int n, n_old;
    int64_t *gid, *gid_old;
    double (*x)[3], (*x_old)[3];
    md_box box;
} wreck;

struct md_faults {
    pthread_mutex_t lock; /* of the count and of the log's order */
    int64_t n_warnings, max_warnings;
    int n_domains;
    wreck *wreck;       /* [n_domains], each written by its rank */
    md_state whole;     /* as rank 0 saw it last */
    int n_here, n_left; /* domains of this process; those that launch nothing any more */
    pthread_cond_t all_left;
};

md_faults *md_faults_create(int n_domains, int n_here)
{
    md_faults *faults = base_alloc_zero(sizeof *faults);
    pthread_mutex_init(&faults->lock, NULL);
    pthread_cond_init(&faults->all_left, NULL);
    const char *max = getenv("GMX_MAXCONSTRWARN");
    faults->max_warnings = max ? strtoll(max, NULL, 10) : MAX_WARNINGS;
    faults->n_domains = n_domains;
    faults->n_here = n_here;
    faults->wreck = base_alloc_zero((size_t)n_domains * sizeof *faults->wreck);
    return faults;
}

void md_faults_destroy(md_faults **faults)
{
    if (!*faults) return;
    for (int r = 0; r < (*faults)->n_domains; r++) {
        wreck *part = &(*faults)->wreck[r];
        base_free(part->gid);
        base_free(part->gid_old);
        base_free(part->x);
        base_free(part->x_old);
    }
    md_state_destroy(&(*faults)->whole);
    pthread_cond_destroy(&(*faults)->all_left);
    pthread_mutex_destroy(&(*faults)->lock);
    base_free((*faults)->wreck);
    base_free(*faults);
    *faults = NULL;
}

/* ---- warnings -------------------------------------------------------------------------------- */

int64_t md_faults_n_warnings(const md_faults *faults)
{
    return faults->n_warnings;
}

sundog_status md_faults_warn(md_worker *w, int64_t step)
{
    const char *warning = md_constrain_take_warning(w->constrain);
    return warning ? md_faults_add_warning(w, step, 1, warning) : SUNDOG_OK;
}

sundog_status md_faults_add_warning(const md_worker *w, int64_t step, int n_steps,
                                    const char *warning)
{
    md_faults *faults = w->shared->faults;
    FILE *log = md_outputs_log(w->shared->outputs);
    char where[MD_GRID_TEXT];
    md_grid_text(&w->system->grid, sundog_team_rank(w->team), where);
    pthread_mutex_lock(&faults->lock);
    int64_t before = faults->n_warnings, n = faults->n_warnings += n_steps;
    if (log) fprintf(log, "\nStep %" PRId64 ", %s: %s", step, where, warning);
    if (w->shared->options->notes && before < ON_TERMINAL)
        fprintf(stderr, "\nStep %" PRId64 ", %s: %s%s", step, where, warning,
                n >= ON_TERMINAL && log ? "Further warnings of this kind go to md.log alone.\n"
                                        : "");
    pthread_mutex_unlock(&faults->lock);
    if (faults->max_warnings < 0 || n <= faults->max_warnings) return SUNDOG_OK;
    return base_fail(SUNDOG_ERR_PHYSICS,
                     "more than %" PRId64 " LINCS warnings: the start structure, the parameters or "
                     "the time step must be mended (the environment variable GMX_MAXCONSTRWARN "
                     "allows for more, -1 for any number)",
                     faults->max_warnings);
}

/* ---- leaving --------------------------------------------------------------------------------- */

void md_faults_leave(md_faults *faults, int n_domains)
{
    pthread_mutex_lock(&faults->lock);
    faults->n_left += n_domains;
    if (faults->n_left == faults->n_here) pthread_cond_broadcast(&faults->all_left);
    pthread_mutex_unlock(&faults->lock);
}

void md_faults_meet(md_faults *faults)
{
    pthread_mutex_lock(&faults->lock);
    while (faults->n_left < faults->n_here) pthread_cond_wait(&faults->all_left, &faults->lock);
    pthread_mutex_unlock(&faults->lock);
}

/* ---- blame ----------------------------------------------------------------------------------- */

sundog_status md_faults_here(const md_worker *w, sundog_status status)
{
    char where[MD_GRID_TEXT], text[1024];
    if (status != SUNDOG_ERR_PHYSICS) return status;
    snprintf(text, sizeof text, "%s", sundog_last_error());
    return base_fail(status, "%s: %s",
                     md_grid_text(&w->system->grid, sundog_team_rank(w->team), where), text);
}

sundog_status md_faults_blame(const md_worker *w, sundog_status status)
{
    char where[MD_GRID_TEXT], atom_text[MD_ATOM_TEXT], text[1024];
    if (status != SUNDOG_ERR_PHYSICS) return status;
    snprintf(text, sizeof text, "%s", sundog_last_error());
    const md_rows *rows = w->rows;
    double most = -1, rank = sundog_team_rank(w->team);
    int64_t atom = -1;
    for (int row = 0; row < rows->n_owned; row++) {
        double f2 = 0;
        for (int k = 0; k < 3; k++) f2 += (double)rows->f[row][k] * (double)rows->f[row][k];
        if (!isfinite(f2)) f2 = INFINITY;
        if (f2 <= most) continue;
        most = f2;
        atom = rows->gid[row];
    }
    double largest = most;
    BASE_TRY(sundog_team_max_double(w->team, &largest, 1));
    if (atom < 0 || most < largest) rank = INFINITY;
    BASE_TRY(sundog_team_min_double(w->team, &rank, 1));
    BASE_TRY(sundog_team_broadcast(w->team, (int)rank, &atom, sizeof atom));
    return base_fail(status, "%s. The largest force, %g kJ/mol/nm, is on %s in %s", text,
                     sqrt(largest), md_atom_text(w->system->topology, atom, atom_text),
                     md_grid_text(&w->system->grid, (int)rank, where));
}

/* ---- wreckage -------------------------------------------------------------------------------- */

static void *copy(const void *from, size_t n_bytes)
{
    void *to = base_alloc(n_bytes + 1);
    memcpy(to, from, n_bytes);
    return to;
}

void md_faults_keep(md_worker *w)
{
    const md_rows *rows = w->rows;
    wreck *part = &w->shared->faults->wreck[sundog_team_rank(w->team)];
    if (!rows) return;
    if (w->root) {
        w->shared->faults->whole = w->whole;
        w->shared->faults->whole.has_velocities = false;
        w->whole.x = w->whole.v = NULL;
    }
    size_t n = (size_t)rows->n_owned, n_old = (size_t)w->n_old;
    part->left = true;
    part->box = w->box;
    part->step = w->step;
    part->n = rows->n_owned;
    part->gid = copy(rows->gid, n * sizeof *rows->gid);
    part->x = copy(rows->x, n * sizeof *rows->x);
    part->has_old = w->has_old;
    if (!w->has_old) return;
    part->step_old = w->step_old;
    part->n_old = w->n_old;
    part->gid_old = copy(w->gid_old, n_old * sizeof *w->gid_old);
    part->x_old = copy(w->x_old, n_old * sizeof *w->x_old);
}

static void walk_wreck(md_parcel *parcel, wreck *part)
{
    md_parcel_bytes(parcel, part, sizeof *part);
    MD_PARCEL_ARRAY(parcel, part->gid, part->n);
    MD_PARCEL_ARRAY(parcel, part->x, part->n);
    MD_PARCEL_ARRAY(parcel, part->gid_old, part->n_old);
    MD_PARCEL_ARRAY(parcel, part->x_old, part->n_old);
}

sundog_status md_faults_gather(md_faults *faults, const md_processes *processes,
                               sundog_status status)
{
    char text[4096];
    snprintf(text, sizeof text, "%s", sundog_last_error());
    md_parcel out = {.packing = true}, in = {.packing = false};
    for (int r = 0; r < faults->n_domains && processes->rank > 0; r++) {
        if (!faults->wreck[r].left) continue;
        md_parcel_bytes(&out, &r, sizeof r);
        walk_wreck(&out, &faults->wreck[r]);
    }
    size_t n = (size_t)processes->n;
    size_t *offset = base_alloc(2 * (n + 1) * sizeof *offset), *received = offset + n + 1;
    offset[0] = 0;
    for (size_t p = 1; p <= n; p++) offset[p] = out.n;
    sundog_status sent = sundog_team_alltoall_sizes(processes->team, offset, received);
    if (sent == SUNDOG_OK) {
        in.n = received[n];
        in.bytes = base_alloc(in.n + 1);
        sent = sundog_team_alltoall(processes->team, out.bytes, offset, in.bytes, received);
    }
    while (sent == SUNDOG_OK && in.at < in.n && !in.damaged) {
        int r;
        md_parcel_bytes(&in, &r, sizeof r);
        walk_wreck(&in, &faults->wreck[r]);
    }
    base_free(offset);
    md_parcel_clear(&in);
    md_parcel_clear(&out);
    return base_fail(status, "%s", text);
}

/* The atoms of one rank at the step nearest to `step`; how many are not of that step. */
static int64_t lay_out(const wreck *part, int64_t step, int64_t n_atoms, double (*x)[3])
{
    if (!part->left) return 0;
    bool old = part->has_old && (part->step > step || part->step_old == step);
    int n = old ? part->n_old : part->n;
    const int64_t *gid = old ? part->gid_old : part->gid;
    const double(*from)[3] = (const double(*)[3])(old ? part->x_old : part->x);
    for (int i = 0; i < n; i++)
        if (gid[i] >= 0 && gid[i] < n_atoms) memcpy(x[gid[i]], from[i], sizeof *x);
    return (old ? part->step_old : part->step) == step ? 0 : n;
}

static sundog_status write_one(md_faults *faults, md_outputs *outputs, const md_system *system,
                               int64_t step, bool after, char *path, size_t size)
{
    char name[64], title[256];
    md_state *state = &faults->whole;
    int64_t n_atoms = system->topology->n_atoms, n_off = 0;
    for (int r = 0; r < faults->n_domains; r++)
        if (faults->wreck[r].left) state->box = faults->wreck[r].box;
    for (int r = 0; r < faults->n_domains; r++)
        n_off += lay_out(&faults->wreck[r], step + after, n_atoms, state->x);
    snprintf(name, sizeof name, "step%" PRId64 "%c.gro", step, after ? 'c' : 'b');
    snprintf(title, sizeof title, "positions %s step %" PRId64 " of a run that failed there",
             after ? "after" : "before", step);
    if (n_off > 0)
        snprintf(title + strlen(title), sizeof title - strlen(title),
                 "; %" PRId64 " atoms are a step or more apart", n_off);
    return md_outputs_dump(outputs, system, state, name, title, path, size);
}

sundog_status md_faults_write(md_faults *faults, md_outputs *outputs, const md_system *system,
                              int cause, sundog_status status)
{
    const wreck *part = &faults->wreck[cause];
    char text[4096], before[2048] = "", after[2048] = "";
    if (status != SUNDOG_ERR_PHYSICS || !part->left || !part->has_old || !faults->whole.x)
        return status;
    snprintf(text, sizeof text, "%s", sundog_last_error());
    int64_t step = part->step_old;
    if (write_one(faults, outputs, system, step, false, before, sizeof before) != SUNDOG_OK ||
        write_one(faults, outputs, system, step, true, after, sizeof after) != SUNDOG_OK)
        return base_fail(status, "%s\n(The positions could not be written: %s)", text,
                         sundog_last_error());
    if (!before[0]) return base_fail(status, "%s", text); /* a run without files */
    return base_fail(status, "%s\nWrote the positions before and after: %s, %s", text, before,
                     after);
}
