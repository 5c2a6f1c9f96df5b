/* Replication of a state: order of the copies, their places, and the box. */
#include "base/alloc.h"
#include "check.h"
#include "md/core/params.h"
#include "md/core/state.h"
#include "md/core/topology.h"

#include <string.h>

/* Two blocks: 2 molecules of 2 atoms, 3 of 1; a triclinic box. */
static md_topology *topology_create(void)
{
    md_topology *t = base_alloc_zero(sizeof *t);
    t->n_atomtypes = 1;
    t->atomtype = base_alloc_zero(sizeof *t->atomtype);
    t->n_moltypes = t->n_molblocks = 2;
    t->moltype = base_alloc_zero(2 * sizeof *t->moltype);
    t->molblock = base_alloc_zero(2 * sizeof *t->molblock);
    for (int m = 0; m < 2; m++) {
        t->moltype[m].name = base_strdup(m ? "B" : "A");
        t->moltype[m].n_atoms = m ? 1 : 2;
        t->moltype[m].n_residues = 1;
        t->moltype[m].atom = base_alloc_zero(2 * sizeof(md_atom));
        t->moltype[m].residue = base_alloc_zero(sizeof(md_residue));
        t->molblock[m] = (md_molblock){.moltype = m, .count = m ? 3 : 2};
    }
    CHECK_OK(md_topology_finish(t));
    return t;
}

int main(void)
{
    md_topology *before = topology_create(), *after = topology_create();
    md_state state;
    md_state_create(7, &state);
    after->moltype[1].list[MD_POSRES].n = 1;    /* its reference positions are copied alike */
    state.box = (md_box){{{2.0, 0.0, 0.0}, {0.5, 3.0, 0.0}, {-0.25, 0.75, 4.0}}};
    for (int i = 0; i < 7; i++) {
        state.x[i][0] = i;
        state.v[i][1] = 10.0 + i;
    }
    const int copies[3] = {3, 2, 2};
    md_topology_set_posres(after, (const double (*)[3])state.x, &state.box);
    after->moltype[1].list[MD_POSRES].n = 0;    /* it has no atoms or parameters */
    CHECK(!after->molblock[0].posres_x && after->molblock[1].posres_x);
    CHECK_OK(md_state_replicate(&state, before, copies));
    CHECK_OK(md_topology_replicate(after, copies));
    const md_molblock *restrained = &after->molblock[1];
    CHECK(restrained->count == 36 && !after->molblock[0].posres_x);
    CHECK(memcmp(restrained->posres_x, state.x + restrained->first_atom,
                 (size_t)(after->n_atoms - restrained->first_atom) * sizeof *state.x) == 0);
    CHECK(memcmp(&after->posres_box, &state.box, sizeof state.box) == 0);
    CHECK(state.n_atoms == 84 && after->n_atoms == 84);
    CHECK_NEAR(state.box.m[0][0], 6.0, 0);
    CHECK_NEAR(state.box.m[1][0], 1.0, 0);
    CHECK_NEAR(state.box.m[2][1], 1.5, 0);
    for (int64_t i = 0; i < state.n_atoms; i++) {
        md_atom_place place;
        md_topology_find(after, i, &place);
        int per_copy = before->molblock[place.block].count;
        int64_t copy = place.molecule / per_copy;
        int64_t original = before->molblock[place.block].first_atom +
                           place.molecule % per_copy * after->moltype[place.moltype].n_atoms +
                           place.atom;
        double ix = (double)(copy % 3), iy = (double)(copy / 3 % 2), iz = (double)(copy / 6);
        CHECK_NEAR(state.x[i][0], (double)original + 2.0 * ix + 0.5 * iy - 0.25 * iz, 1e-13);
        CHECK_NEAR(state.x[i][1], 3.0 * iy + 0.75 * iz, 1e-13);
        CHECK_NEAR(state.x[i][2], 4.0 * iz, 1e-13);
        CHECK_NEAR(state.v[i][1], 10.0 + (double)original, 0);
    }
    const int none[3] = {1, 0, 1}, one[3] = {1, 1, 1};
    CHECK(md_state_replicate(&state, after, none) == SUNDOG_ERR_ARGUMENT);
    CHECK(md_state_replicate(&state, before, one) == SUNDOG_ERR_ARGUMENT);  /* 84 against 7 */
    CHECK_OK(md_state_replicate(&state, after, one));
    md_state_destroy(&state);
    CHECK(state.x == NULL && state.n_atoms == 0);
    md_topology_destroy(&before);
    md_topology_destroy(&after);
    return 0;
}
