/* Rows for tests of pair lists and pair forces, made by hand: a small periodic box of charged atoms
 * on a jittered lattice, cut into cells, each cell's rows with the ghosts that rows.h asks for.
 * Every third atom begins a molecule of three whose atoms exclude each other; in every tenth
 * molecule the first two atoms sit on the same spot.
 */
#ifndef CELLS_H
#define CELLS_H
#include "base/alloc.h"
#include "check.h"
#include "md/core/rows.h"

#include <math.h>
#include <string.h>

typedef struct cells_system {
    double box[3];
    int n_atoms, n_types;
    double (*x)[3];
    int *type;
    float *charge;
} cells_system;

/* xorshift: the same numbers everywhere */
static inline double cells_random(void)
{
    static uint64_t s = 88172645463325252u;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return (double)(s >> 11) / 9007199254740992.0;
}

static inline void cells_alloc(cells_system *sys, int n)
{
    sys->n_atoms = n;
    sys->x = base_alloc(((size_t)n + 1) * sizeof *sys->x);
    sys->type = base_alloc(((size_t)n + 1) * sizeof *sys->type);
    sys->charge = base_alloc(((size_t)n + 1) * sizeof *sys->charge);
}

/* spacing: of the lattice, nm; filled: part of the box, along x, that has atoms. */
static inline cells_system cells_make(double lx, double ly, double lz, double spacing, int n_types,
                                      double filled)
{
    cells_system sys = {.box = {lx, ly, lz}, .n_types = n_types};
    int n[3];
    for (int k = 0; k < 3; k++) n[k] = (int)(sys.box[k] * (k == 0 ? filled : 1) / spacing);
    cells_alloc(&sys, n[0] * n[1] * n[2]);
    int at = 0;
    for (int a = 0; a < n[0]; a++)
        for (int b = 0; b < n[1]; b++)
            for (int c = 0; c < n[2]; c++, at++) {
                int site[3] = {a, b, c};
                for (int k = 0; k < 3; k++) {
                    double step = sys.box[k] * (k == 0 ? filled : 1) / n[k];
                    sys.x[at][k] = (site[k] + 0.2 + 0.3 * cells_random()) * step;
                }
                sys.type[at] = (int)(cells_random() * n_types);
                sys.charge[at] = (float)(cells_random() - 0.5);
                if (at % 30 == 1) memcpy(sys.x[at], sys.x[at - 1], sizeof sys.x[at]);
            }
    return sys;
}

static inline void cells_free(cells_system *sys)
{
    base_free(sys->x);
    base_free(sys->type);
    base_free(sys->charge);
}

static inline bool cells_excluded(int64_t i, int64_t j)
{
    return i != j && i / 3 == j / 3;
}

/* Reserve by hand: md_rows_reserve of core is tested elsewhere. */
static inline void cells_reserve(md_rows *rows, size_t n)
{
    memset(rows, 0, sizeof *rows);
    rows->capacity = n;
    rows->gid = base_alloc_zero(n * sizeof *rows->gid);
    rows->x = base_alloc_zero(n * sizeof *rows->x);
    rows->f = base_alloc_zero(n * sizeof *rows->f);
    rows->type = base_alloc_zero(n * sizeof *rows->type);
    rows->charge = base_alloc_zero(n * sizeof *rows->charge);
    rows->zone = base_alloc_zero(n);
}

static inline void cells_free_rows(md_rows *rows)
{
    base_free(rows->gid);
    base_free(rows->x);
    base_free(rows->f);
    base_free(rows->type);
    base_free(rows->charge);
    base_free(rows->zone);
    base_free(rows->exclusion_start);
    base_free(rows->exclusion);
    memset(rows, 0, sizeof *rows);
}

static inline void cells_add(const cells_system *sys, md_rows *rows, int atom, const double x[3],
                             int zone)
{
    CHECK((size_t)rows->n_rows < rows->capacity);
    int row = rows->n_rows++;
    rows->gid[row] = atom;
    memcpy(rows->x[row], x, sizeof rows->x[row]);
    rows->type[row] = sys->type[atom];
    rows->charge[row] = sys->charge[atom];
    rows->zone[row] = (uint8_t)zone;
}

/* Zone of a place seen from the cell [lo, hi), -1: not needed. */
static inline int cells_zone(md_scheme scheme, const double x[3], const double lo[3],
                             const double hi[3], double reach)
{
    int zone = 0;
    for (int k = 0; k < 3; k++) {
        if (x[k] >= lo[k] && x[k] < hi[k]) continue;
        zone |= 1 << k;
        bool above = x[k] >= hi[k] && x[k] < hi[k] + reach;
        bool below = x[k] < lo[k] && x[k] > lo[k] - reach;
        if (!above && !(below && scheme == MD_SCHEME_SHELL)) return -1;
    }
    return zone;
}

/* Exclusions among rows: the image closest to row i, so within half a box. */
static inline void cells_exclusions(const cells_system *sys, md_rows *rows)
{
    rows->exclusion_start = base_alloc(((size_t)rows->n_rows + 1) * sizeof(int));
    rows->exclusion_start[0] = 0;
    int n = 0, *by_atom = base_alloc(((size_t)sys->n_atoms + 1) * sizeof(int));
    int *next = base_alloc(((size_t)rows->n_rows + 1) * sizeof(int));
    for (int a = 0; a < sys->n_atoms; a++) by_atom[a] = -1;
    for (int row = rows->n_rows - 1; row >= 0; row--) {
        next[row] = by_atom[rows->gid[row]];
        by_atom[rows->gid[row]] = row;
    }
    for (int i = 0; i < rows->n_rows; i++) {
        int64_t first = rows->gid[i] / 3 * 3;
        for (int64_t a = first; a < first + 3 && a < sys->n_atoms; a++) {
            if (a == rows->gid[i]) continue;
            for (int j = by_atom[a]; j >= 0; j = next[j]) {
                bool near = true;
                for (int k = 0; k < 3; k++)
                    near &= fabs(rows->x[i][k] - rows->x[j][k]) < 0.5 * sys->box[k];
                if (!near) continue;
                BASE_RESERVE(rows->exclusion, rows->capacity_exclusion, n + 1);
                rows->exclusion[n++] = j;
            }
        }
        rows->exclusion_start[i + 1] = n;
    }
    base_free(by_atom);
    base_free(next);
}

/* Rows of cell (cx, cy, cz) of an nx x ny x nz grid. */
static inline void cells_rows(const cells_system *sys, md_scheme scheme, const int grid[3],
                              const int cell[3], double reach, md_rows *rows)
{
    cells_reserve(rows, (size_t)(27 * sys->n_atoms + 1));
    rows->scheme = scheme;
    double lo[3], hi[3];
    for (int k = 0; k < 3; k++) {
        lo[k] = sys->box[k] * cell[k] / grid[k];
        hi[k] = sys->box[k] * (cell[k] + 1) / grid[k];
        rows->origin[k] = 0.5 * (lo[k] + hi[k]) + 0.01;
    }
    for (int ghost = 0; ghost < 2; ghost++) {
        for (int image = 0; image < 27; image++)
            for (int atom = 0; atom < sys->n_atoms; atom++) {
                double x[3] = {sys->x[atom][0] + (image % 3 - 1) * sys->box[0],
                               sys->x[atom][1] + (image / 3 % 3 - 1) * sys->box[1],
                               sys->x[atom][2] + (image / 9 - 1) * sys->box[2]};
                int zone = cells_zone(scheme, x, lo, hi, reach);
                if (zone >= 0 && (zone > 0) == ghost) cells_add(sys, rows, atom, x, zone);
            }
        if (!ghost) rows->n_owned = rows->n_rows;
    }
    cells_exclusions(sys, rows);
}
#endif
