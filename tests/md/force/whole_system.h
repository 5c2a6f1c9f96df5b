/* A whole system as the rows of one domain, without ghosts: row = global atom, molecules made whole
 * by nearest images. For tests of bonded forces. */
#ifndef WHOLE_SYSTEM_H
#define WHOLE_SYSTEM_H
#include "base/alloc.h"
#include "md/core/rows.h"
#include "md/core/state.h"

static inline void add_interactions(const md_moltype *moltype, int first, md_rows *rows)
{
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        const md_interactions *from = &moltype->list[kind];
        md_row_interactions *to = &rows->list[kind];
        const int n_atoms = md_kind_n_atoms((md_kind)kind);
        BASE_RESERVE(to->rows, to->capacity_rows, (to->n + from->n) * n_atoms);
        BASE_RESERVE(to->param, to->capacity_param, to->n + from->n);
        BASE_RESERVE(to->weight, to->capacity_weight, to->n + from->n);
        for (int k = 0; k < from->n; k++) {
            for (int a = 0; a < n_atoms; a++)
                to->rows[to->n * n_atoms + a] = first + from->atoms[k * n_atoms + a];
            to->param[to->n] = from->param[k];
            to->weight[to->n++] = 1;
        }
    }
}

/* Row = global atom; every atom is the image closest to the one before it. */
static inline void fill_rows(const md_topology *topology, const md_state *state, md_rows *rows)
{
    md_rows_reserve(rows, (size_t)state->n_atoms);
    rows->n_owned = rows->n_rows = (int)state->n_atoms;
    int row = 0;
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_moltype *moltype = &topology->moltype[topology->molblock[b].moltype];
        for (int m = 0; m < topology->molblock[b].count; m++) {
            add_interactions(moltype, row, rows);
            for (int a = 0; a < moltype->n_atoms; a++, row++) {
                double d[3] = {0};
                if (a > 0) md_box_nearest(&state->box, state->x[row], rows->x[row - 1], d);
                for (int k = 0; k < 3; k++)
                    rows->x[row][k] = (a > 0 ? rows->x[row - 1][k] : state->x[row][k]) + d[k];
                rows->charge[row] = (float)moltype->atom[a].charge;
                rows->gid[row] = row;
            }
        }
    }
}
#endif
