#include "md/core/state.h"

#include "base/alloc.h"
#include "md/core/topology.h"

#include <string.h>

void md_state_create(int64_t n_atoms, md_state *state)
{
    memset(state, 0, sizeof *state);
    state->n_atoms = n_atoms;
    state->x = base_alloc_zero((size_t)n_atoms * sizeof *state->x);
    state->v = base_alloc_zero((size_t)n_atoms * sizeof *state->v);
}

void md_state_destroy(md_state *state)
{
    base_free(state->x);
    base_free(state->v);
    memset(state, 0, sizeof *state);
}

/* Append `n` atoms from `first` of `from`, moved by `shift`, behind row *n_done of `to`. */
static void append_shifted(const md_state *from, int64_t first, int64_t n, const double shift[3],
                           md_state *to, int64_t *n_done)
{
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) to->x[*n_done + i][k] = from->x[first + i][k] + shift[k];
    }
    memcpy(to->v[*n_done], from->v[first], (size_t)n * sizeof *to->v);
    *n_done += n;
}

void md_state_make_whole(md_state *state, md_topology *topology)
{
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_molblock *block = &topology->molblock[b];
        const int n = topology->moltype[block->moltype].n_atoms;
        for (int64_t i = 0; i < (int64_t)block->count * n; i++) {
            double *x = state->x[block->first_atom + i], d[3], apart2 = 0;
            if (i % n == 0) continue;
            const double *before = state->x[block->first_atom + i - 1];
            md_box_nearest(&state->box, x, before, d);
            for (int k = 0; k < 3; k++) {
                d[k] -= x[k] - before[k];       /* a sum of box vectors, but for rounding */
                apart2 += d[k] * d[k];
            }
            if (apart2 < 1e-12) continue;
            for (int k = 0; k < 3; k++) {
                x[k] += d[k];
                if (block->posres_x) block->posres_x[i][k] += d[k];
            }
        }
    }
}

sundog_status md_state_replicate(md_state *state, const md_topology *before, const int copies[3])
{
    int64_t total = 1;
    for (int k = 0; k < 3; k++) {
        if (copies[k] < 1)
            return base_fail(SUNDOG_ERR_ARGUMENT, "cannot replicate the box %d times", copies[k]);
        if (total > INT64_MAX / copies[k] / (state->n_atoms + 1))
            return base_fail(SUNDOG_ERR_ARGUMENT, "%d x %d x %d copies are too many", copies[0],
                             copies[1], copies[2]);
        total *= copies[k];
    }
    if (before->n_atoms != state->n_atoms)
        return base_fail(SUNDOG_ERR_ARGUMENT,
                         "cannot replicate: %lld atoms in the topology, %lld in the state",
                         (long long)before->n_atoms, (long long)state->n_atoms);

    md_state made;
    md_state_create(state->n_atoms * total, &made);
    int64_t n_done = 0;
    for (int b = 0; b < before->n_molblocks; b++) {
        const md_molblock *block = &before->molblock[b];
        int64_t n = (int64_t)block->count * before->moltype[block->moltype].n_atoms;
        for (int64_t copy = 0; copy < total; copy++) {
            const double at[3] = {(double)(copy % copies[0]),
                                  (double)(copy / copies[0] % copies[1]),
                                  (double)(copy / copies[0] / copies[1])};
            double shift[3];
            md_box_from_fractional(&state->box, at, shift);
            append_shifted(state, block->first_atom, n, shift, &made, &n_done);
        }
    }
    base_free(state->x);
    base_free(state->v);
    state->x = made.x;
    state->v = made.v;
    state->n_atoms = made.n_atoms;
    for (int row = 0; row < 3; row++) {
        for (int k = 0; k < 3; k++) state->box.m[row][k] *= copies[row];
    }
    return SUNDOG_OK;
}
