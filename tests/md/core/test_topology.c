/* Topology: numbering of blocks and residues, look-up of atoms, constraint groups, replication.
 * Everything is compared with values worked out by hand. */
#include "base/alloc.h"
#include "check.h"
#include "md/core/topology.h"

#include <string.h>

static int add_param(md_topology *t, double p0, double p1)
{
    BASE_RESERVE(t->param, t->param_capacity, t->n_params + 1);
    t->param[t->n_params] = (md_param){.p = {p0, p1}};
    return t->n_params++;
}

/* A molecule of n atoms of type 0, all in one residue. */
static md_moltype *add_moltype(md_topology *t, const char *name, int n, int n_residues)
{
    md_moltype *m = &t->moltype[t->n_moltypes++];
    m->name = base_strdup(name);
    m->n_atoms = n;
    m->n_residues = n_residues;
    m->atom = base_alloc_zero((size_t)n * sizeof *m->atom);
    m->residue = base_alloc_zero((size_t)n_residues * sizeof *m->residue);
    for (int r = 0; r < n_residues; r++) m->residue[r].number = r + 1;
    for (int i = 0; i < n; i++) m->atom[i].residue = i * n_residues / n;
    m->exclusion_start = base_alloc_zero(((size_t)n + 1) * sizeof *m->exclusion_start);
    return m;
}

static void constrain(md_topology *t, md_moltype *m, int i, int j, double length)
{
    const int atoms[2] = {i, j};
    md_interactions_add(&m->list[MD_CONSTRAINT], MD_CONSTRAINT, atoms, add_param(t, length, 0.0));
}

static md_topology *topology_create(int max_moltypes, int n_blocks)
{
    md_topology *t = base_alloc_zero(sizeof *t);
    t->n_atomtypes = 1;
    t->atomtype = base_alloc_zero(sizeof *t->atomtype);
    t->moltype = base_alloc_zero((size_t)max_moltypes * sizeof *t->moltype);
    t->molblock = base_alloc_zero((size_t)n_blocks * sizeof *t->molblock);
    t->n_molblocks = n_blocks;
    return t;
}

/* Water, a CH3-CH2 with constrained hydrogens and an argon; an empty block in the middle. */
static md_topology *mixture(void)
{
    md_topology *t = topology_create(3, 4);
    md_moltype *water = add_moltype(t, "SOL", 3, 1);
    const int settle[3] = {0, 1, 2};
    md_interactions_add(&water->list[MD_SETTLE], MD_SETTLE, settle, add_param(t, 0.1, 0.1633));
    md_moltype *ethyl = add_moltype(t, "ETY", 7, 2);
    ethyl->atom[4].charge = -0.25;
    constrain(t, ethyl, 0, 1, 0.109);       /* H1 first, then the carbon */
    constrain(t, ethyl, 1, 2, 0.109);
    constrain(t, ethyl, 3, 1, 0.110);
    constrain(t, ethyl, 4, 5, 0.108);
    constrain(t, ethyl, 6, 4, 0.108);
    add_moltype(t, "AR", 1, 1);
    t->molblock[0] = (md_molblock){.moltype = 0, .count = 5};
    t->molblock[1] = (md_molblock){.moltype = 2, .count = 0};
    t->molblock[2] = (md_molblock){.moltype = 1, .count = 2};
    t->molblock[3] = (md_molblock){.moltype = 0, .count = 4};
    return t;
}

static void test_numbering(void)
{
    md_topology *t = mixture();
    CHECK_OK(md_topology_finish(t));
    CHECK(t->n_atoms == 15 + 14 + 12 && t->n_molecules == 11);
    CHECK(t->molblock[2].first_atom == 15 && t->molblock[3].first_atom == 29);
    CHECK(t->molblock[3].first_molecule == 7);
    CHECK(md_topology_count(t, MD_SETTLE) == 9 && md_topology_count(t, MD_CONSTRAINT) == 10);
    CHECK_NEAR(md_topology_total_charge(t), -0.5, 1e-15);
    md_atom_place place;
    int64_t seen = 0;
    for (int b = 0; b < t->n_molblocks; b++) {          /* every atom against counting up */
        for (int m = 0; m < t->molblock[b].count; m++) {
            for (int i = 0; i < t->moltype[t->molblock[b].moltype].n_atoms; i++, seen++) {
                md_topology_find(t, seen, &place);
                CHECK(place.block == b && place.molecule == m && place.atom == i);
                CHECK(place.moltype == t->molblock[b].moltype && place.first_atom == seen - i);
            }
        }
    }
    /* Multi-residue molecules keep 1 and 2; single-residue ones run on from 3. */
    md_topology_find(t, 0, &place);
    CHECK(md_topology_residue_number(t, &place) == 3);
    md_topology_find(t, 15, &place);
    CHECK(md_topology_residue_number(t, &place) == 1);
    md_topology_find(t, 28, &place);
    CHECK(md_topology_residue_number(t, &place) == 2);
    md_topology_find(t, 29, &place);
    CHECK(md_topology_residue_number(t, &place) == 8);
    md_topology_find(t, 40, &place);
    CHECK(md_topology_residue_number(t, &place) == 11);

    const int thrice[3] = {1, 3, 1}, none[3] = {1, 0, 1}, many[3] = {1 << 15, 1 << 15, 1};
    const int too_many[3] = {1 << 15, 1 << 15, 1 << 15};
    CHECK_OK(md_topology_replicate(t, thrice));
    CHECK(t->n_atoms == 3 * 41 && t->molblock[2].count == 6 && t->molblock[3].first_atom == 87);
    CHECK(md_topology_replicate(t, many) == SUNDOG_ERR_ARGUMENT);
    CHECK(md_topology_replicate(t, too_many) == SUNDOG_ERR_ARGUMENT);
    CHECK(md_topology_replicate(t, none) == SUNDOG_ERR_ARGUMENT);
    CHECK(t->n_atoms == 3 * 41);
    md_topology_destroy(&t);
    CHECK(t == NULL);
    md_topology_destroy(&t);
}

static void test_groups(void)
{
    md_topology *t = mixture();
    CHECK_OK(md_topology_finish(t));
    CHECK_OK(md_topology_finish(t));        /* may be repeated */
    const md_moltype *water = &t->moltype[0], *ethyl = &t->moltype[1], *argon = &t->moltype[2];
    CHECK(water->n_groups == 1 && water->group_atom[0] == 0);
    CHECK_NEAR(water->group_radius, 0.1, 1e-15);
    CHECK(ethyl->n_groups == 2);
    const int atoms[7] = {1, 0, 2, 3, 4, 5, 6}, of_atom[7] = {0, 0, 0, 0, 1, 1, 1};
    CHECK(memcmp(ethyl->group_atom, atoms, sizeof atoms) == 0);
    CHECK(memcmp(ethyl->group_of_atom, of_atom, sizeof of_atom) == 0);
    CHECK(ethyl->group_start[1] == 4 && ethyl->group_start[2] == 7);
    CHECK_NEAR(ethyl->group_radius, 0.110, 1e-15);
    CHECK(argon->n_groups == 1 && argon->group_radius == 0.0);
    CHECK_NEAR(md_topology_group_radius(t), 0.110, 1e-15);
    md_topology_destroy(&t);
}

/* A chain of n atoms with side atoms, and the same closed to a ring; both sides of EXACT_LIMIT. */
static void test_centre_of_chain(int n, bool ring)
{
    md_topology *t = topology_create(1, 1);
    md_moltype *m = add_moltype(t, "CHN", n + 1, 1);
    for (int i = 0; i + 1 < n; i++) constrain(t, m, i, i + 1, 0.15);
    if (ring) constrain(t, m, n - 1, 0, 0.15);
    constrain(t, m, n, n / 2, 0.1);
    t->molblock[0] = (md_molblock){.moltype = 0, .count = 1};
    CHECK_OK(md_topology_finish(t));
    CHECK(m->n_groups == 1);
    if (!ring) {
        CHECK(m->group_atom[0] == (n - 1) / 2 || m->group_atom[0] == n / 2);
        CHECK_NEAR(m->group_radius, 0.15 * (n / 2), 1e-9);
    } else {                                /* every ring atom is a centre, up to the side atom */
        CHECK(m->group_radius >= 0.15 * (n / 2) - 1e-9);
        CHECK(m->group_radius <= 0.15 * (n / 2) + 0.1 + 1e-9);
    }
    md_topology_destroy(&t);
}

static void test_refusals(void)
{
    md_topology *t = mixture();
    constrain(t, &t->moltype[0], 0, 1, 0.1);
    CHECK(md_topology_finish(t) == SUNDOG_ERR_INPUT);
    CHECK(strstr(sundog_last_error(), "molecule SOL: atom 2 is in a settle and in a constraint"));
    md_topology_destroy(&t);

    t = mixture();
    const int again[3] = {2, 1, 0};
    md_interactions_add(&t->moltype[0].list[MD_SETTLE], MD_SETTLE, again, 0);
    CHECK(md_topology_finish(t) == SUNDOG_ERR_INPUT);
    CHECK(strstr(sundog_last_error(), "is in two settles"));
    md_topology_destroy(&t);

    t = mixture();
    t->moltype[1].list[MD_CONSTRAINT].atoms[3] = 7;
    CHECK(md_topology_finish(t) == SUNDOG_ERR_ARGUMENT);
    CHECK(strstr(sundog_last_error(), "no atom 8"));
    md_topology_destroy(&t);
}

int main(void)
{
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        CHECK(md_kind_n_atoms((md_kind)kind) >= 1 && md_kind_name((md_kind)kind)[0]);
        CHECK(md_kind_n_atoms((md_kind)kind) <= MD_MAX_KIND_ATOMS);
    }
    test_numbering();
    test_groups();
    test_centre_of_chain(9, false);
    test_centre_of_chain(2001, false);
    test_centre_of_chain(2000, false);
    test_centre_of_chain(12, true);
    test_centre_of_chain(501, true);
    test_refusals();
    return 0;
}
