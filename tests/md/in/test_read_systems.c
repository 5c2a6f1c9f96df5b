/* All shared systems: what is read from their .gro and .top. The numbers of interactions,
 * exclusions and constraints are those of gmx grompp 2022.5 (dihedrals without a barrier are left
 * out by both). Bonded energies, added up here in double precision straight from the formulas, must
 * be the reference ones, so every parameter of every bonded term is checked. */
#include "check.h"
#include "md/core/units.h"
#include "md/core/vec.h"
#include "md/in/conf.h"
#include "md/in/mdp.h"
#include "md/in/top.h"
#include "reference.h"

#include <string.h>

typedef struct expected {
    const char *path;
    int64_t n_atoms, n_molecules;
    int64_t n[MD_N_KINDS];          /* with constraints = h-bonds, in the order of md_kind */
    int64_t n_all_bonds;            /* constraints with constraints = all-bonds */
    int n_excluded, n_groups;       /* of the first kind of molecule */
    double group_radius;
    int decimals;
    const char *cases;              /* letters: r sp_rf, n sp_rf_nocons, - none */
} expected;

static const expected systems[] = {
    {"grappa-like/0001.5", 1500, 436, {64, 0, 416, 0, 0, 0, 384, 0, 0, 0, 384, 0, 192, 404}, 256,
     66, 3, 0.109, 3, "r"},
    {"grappa-like/0003", 3000, 872, {128, 0, 832, 0, 0, 0, 768, 0, 0, 0, 768, 0, 384, 808}, 512, 66,
     3, 0.109, 3, "r"},
    {"grappa-like/0006", 6000, 1744, {256, 0, 1664, 0, 0, 0, 1536, 0, 0, 0, 1536, 0, 768, 1616},
     1024, 66, 3, 0.109, 3, "r"},
    {"grappa-like/0012", 12000, 3488, {512, 0, 3328, 0, 0, 0, 3072, 0, 0, 0, 3072, 0, 1536, 3232},
     2048, 66, 3, 0.109, 3, "r"},
    {"grappa-like/0024", 24000, 6976, {1024, 0, 6656, 0, 0, 0, 6144, 0, 0, 0, 6144, 0, 3072, 6464},
     4096, 66, 3, 0.109, 3, "r"},
    {"grappa-like/0045", 45000, 13080, {1920, 0, 12480, 0, 0, 0, 11520, 0, 0, 0, 11520, 0, 5760,
                                        12120}, 7680, 66, 3, 0.109, 3, "r"},
    {"water/spce_3k", 3000, 1000, {[MD_SETTLE] = 1000}, 0, 6, 1, 0.1, 8, "-"},
    {"water/spce_24k", 24000, 8000, {[MD_SETTLE] = 8000}, 0, 6, 1, 0.1, 3, "-"},
    {"water/tip3p_dodec", 3900, 1300, {[MD_SETTLE] = 1300}, 0, 6, 1, 0.09572, 8, "-"},
    {"lj/argon_4k", 4096, 4096, {0}, 0, 0, 1, 0.0, 8, "-"},
    {"ethanol/single", 9, 1, {2, 0, 13, 0, 0, 0, 12, 0, 0, 0, 12, 0, 6, 0}, 8, 66, 3, 0.109, 8,
     "rn"},
    {"ethanol/box_256", 2304, 256, {512, 0, 3328, 0, 0, 0, 3072, 0, 0, 0, 3072, 0, 1536, 0}, 2048,
     66, 3, 0.109, 8, "r"},
    {"ions/nacl_3k", 2920, 1000, {[MD_SETTLE] = 960}, 0, 6, 1, 0.1, 8, "-"},
    {"peptide/ala_dipeptide", 2119, 700, {9, 0, 36, 0, 0, 38, 0, 0, 0, 4, 41, 0, 12, 699}, 21, 196,
     10, 0.109, 8, "r"},
    {"peptide/wkdpys_amber", 3820, 1241, {64, 0, 212, 0, 0, 316, 0, 0, 0, 28, 297, 0, 55, 1232},
     119, 1256, 61, 0.109, 8, "r"},
    {"peptide/fre_opls", 2630, 861, {32, 0, 108, 0, 0, 16, 125, 0, 0, 0, 152, 0, 30, 854}, 62, 644,
     32, 0.109, 8, "r"},
    {"terms/many_terms", 400, 40, {240, 0, 440, 0, 0, 200, 80, 40, 40, 40, 440, 0, 120, 0}, 360, 64,
     7, 0.109, 8, "rn"},
    {"terms/urey_bradley", 400, 40, {240, 0, 0, 0, 440, 200, 80, 40, 40, 40, 440, 0, 120, 0}, 360,
     64, 7, 0.109, 8, "rn"},
};

static md_topology *read_topology(const expected *s, md_constraints constraints, const char *define)
{
    md_top_options options = {.define = define, .constraints = constraints};
    md_topology *topology;
    CHECK_OK(md_top_read(reference_path("%s/topol.top", s->path), &options, &topology));
    return topology;
}

/* ---- energies in double --------------------------------------------------------------------- */

typedef struct molecule {
    const md_box *box;
    double (*x)[3];                 /* of its first atom */
    const md_moltype *type;
    const md_topology *topology;
} molecule;

static void difference(const molecule *m, int i, int j, double d[3])
{
    md_box_nearest(m->box, m->x[i], m->x[j], d);
}

static double angle_of(const double a[3], const double b[3])
{
    double c[3];
    vec_cross(a, b, c);
    return atan2(sqrt(vec_norm2(c)), vec_dot(a, b));
}

static double dihedral_of(const molecule *m, const int *a)
{
    double ij[3], kj[3], kl[3], n1[3], n2[3];
    difference(m, a[0], a[1], ij);
    difference(m, a[2], a[1], kj);
    difference(m, a[2], a[3], kl);
    vec_cross(ij, kj, n1);
    vec_cross(kj, kl, n2);
    double phi = angle_of(n1, n2);
    return vec_dot(ij, n2) < 0.0 ? -phi : phi;
}

static double energy_of(const molecule *m, md_kind kind, const int *a, const double *p)
{
    double r[3], s[3], t, value = 0.0;
    difference(m, a[0], a[1], r);
    double r2 = vec_norm2(r), distance = sqrt(r2);
    switch (kind) {
    case MD_BOND: return 0.5 * p[1] * (distance - p[0]) * (distance - p[0]);
    case MD_UREY_BRADLEY:
        difference(m, a[0], a[2], s);
        t = sqrt(vec_norm2(s)) - p[2];
        value = 0.5 * p[3] * t * t;     /* and the angle: */
        /* fall through */
    case MD_ANGLE:
        difference(m, a[2], a[1], s);
        t = angle_of(r, s) - p[0];
        return value + 0.5 * p[1] * t * t;
    case MD_DIH_PROPER:
    case MD_DIH_PER_IMPROPER: return p[1] * (1.0 + cos(p[2] * dihedral_of(m, a) - p[0]));
    case MD_DIH_RB:
    case MD_DIH_FOURIER:
        t = -cos(dihedral_of(m, a));
        for (int k = 5; k >= 0; k--) value = value * t + p[k];
        return value;
    case MD_DIH_IMPROPER:
        t = remainder(dihedral_of(m, a) - p[0], 360.0 * MD_DEG_TO_RAD);
        return 0.5 * p[1] * t * t;
    case MD_PAIR14: return p[1] / (r2 * r2 * r2 * r2 * r2 * r2) - p[0] / (r2 * r2 * r2);
    default: return 0.0;
    }
}

static double coulomb14(const molecule *m, const int *a)
{
    double r[3];
    difference(m, a[0], a[1], r);
    return MD_ONE_4PI_EPS0 * m->topology->fudge_qq * m->type->atom[a[0]].charge *
           m->type->atom[a[1]].charge / sqrt(vec_norm2(r));
}

static void check_energies(const expected *s, const md_gro *gro, const md_topology *t,
                           const char *json)
{
    double energy[MD_N_KINDS] = {0}, coulomb = 0.0, wanted;
    for (int b = 0; b < t->n_molblocks; b++) {
        const md_moltype *type = &t->moltype[t->molblock[b].moltype];
        for (int64_t n = 0; n < t->molblock[b].count; n++) {
            molecule m = {&gro->state.box, gro->state.x + t->molblock[b].first_atom +
                          n * type->n_atoms, type, t};
            for (int kind = 0; kind < MD_CONSTRAINT; kind++) {
                const md_interactions *list = &type->list[kind];
                for (int i = 0; i < list->n; i++) {
                    const int *a = list->atoms + i * md_kind_n_atoms((md_kind)kind);
                    energy[kind] += energy_of(&m, (md_kind)kind, a, t->param[list->param[i]].p);
                    if (kind == MD_PAIR14) coulomb += coulomb14(&m, a);
                }
            }
        }
    }
    for (int kind = 0; kind < MD_CONSTRAINT; kind++) {
        if (md_topology_count(t, (md_kind)kind) == 0) continue;
        CHECK(reference_energy(json, md_kind_name((md_kind)kind), &wanted));
        if (!(fabs(energy[kind] - wanted) <= 2e-8 * fabs(wanted) + 1e-6)) {
            fprintf(stderr, "%s: %s = %.10g, expected %.10g\n", s->path,
                    md_kind_name((md_kind)kind), energy[kind], wanted);
            exit(1);
        }
    }
    CHECK(reference_energy(json, "Coulomb-14", &wanted));
    CHECK_NEAR(coulomb, wanted, 2e-8 * fabs(wanted) + 1e-6);
}

/* ---- counts --------------------------------------------------------------------------------- */

static void check_counts(const expected *s, const md_topology *t)
{
    CHECK(t->n_atoms == s->n_atoms && t->n_molecules == s->n_molecules);
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        if (md_topology_count(t, (md_kind)kind) == s->n[kind]) continue;
        fprintf(stderr, "%s: %lld of %s, expected %lld\n", s->path,
                (long long)md_topology_count(t, (md_kind)kind), md_kind_name((md_kind)kind),
                (long long)s->n[kind]);
        exit(1);
    }
    const md_moltype *first = &t->moltype[t->molblock[0].moltype];
    CHECK(first->exclusion_start[first->n_atoms] == s->n_excluded);
    CHECK(first->n_groups == s->n_groups);
    CHECK_NEAR(md_topology_group_radius(t), s->group_radius, 1e-12);
    CHECK_NEAR(md_topology_total_charge(t), 0.0, 1e-6);
    for (int m = 0; m < t->n_moltypes; m++) {       /* symmetric, sorted, without the atom itself */
        const md_moltype *type = &t->moltype[m];
        for (int i = 0; i < type->n_atoms; i++) {
            for (int e = type->exclusion_start[i]; e < type->exclusion_start[i + 1]; e++) {
                int j = type->exclusion[e], back = type->exclusion_start[j];
                CHECK(j != i && (e == type->exclusion_start[i] || type->exclusion[e - 1] < j));
                while (back < type->exclusion_start[j + 1] && type->exclusion[back] != i) back++;
                CHECK(back < type->exclusion_start[j + 1]);
            }
        }
    }
}

static void check_system(const expected *s)
{
    md_gro gro;
    char text[512];
    int64_t n_mismatch = -1;
    const char *conf = reference_path("%s/conf.gro", s->path);
    CHECK_OK(md_gro_read(conf, &gro));
    CHECK(gro.decimals == s->decimals && gro.state.has_velocities);
    md_topology *t = read_topology(s, MD_CONSTRAINTS_H_BONDS, NULL);
    check_counts(s, t);
    CHECK_OK(md_conf_match(&gro, conf, t, "topol.top", &n_mismatch, text, sizeof text));
    CHECK(n_mismatch == 0);
    if (strchr(s->cases, 'r'))
        check_energies(s, &gro, t, reference_path("reference/%s/sp_rf.energy.json", s->path));
    md_topology_destroy(&t);

    t = read_topology(s, MD_CONSTRAINTS_ALL_BONDS, NULL);
    CHECK(md_topology_count(t, MD_CONSTRAINT) == s->n_all_bonds);
    CHECK(md_topology_count(t, MD_BOND) == 0 && md_topology_count(t, MD_SETTLE) == s->n[MD_SETTLE]);
    md_topology_destroy(&t);

    t = read_topology(s, MD_CONSTRAINTS_NONE, s->n[MD_SETTLE] > 0 ? "-DFLEXIBLE" : NULL);
    CHECK(md_topology_count(t, MD_SETTLE) == 0);
    if (strchr(s->cases, 'n'))
        check_energies(s, &gro, t, reference_path("reference/%s/sp_rf_nocons.energy.json",
                                                  s->path));
    md_topology_destroy(&t);
    md_gro_destroy(&gro);
}

/* The .mdp files that go with the systems; those with something missing here say what. */
static void check_mdp(void)
{
    md_params p;
    CHECK_OK(md_mdp_read(reference_path("grappa-like/rf.mdp"), &p));
    CHECK(p.nsteps == 10000 && p.dt == 0.002 && p.nstlist == 10 && p.rvdw == 0.9);
    CHECK(p.coulombtype == MD_COULOMB_REACTION_FIELD && p.epsilon_rf == 0.0);
    CHECK(p.tcoupl == MD_TCOUPL_V_RESCALE && p.tau_t.value[0] == 0.5 && p.ref_t.value[0] == 300.0);
    CHECK(p.constraints == MD_CONSTRAINTS_H_BONDS && !p.continuation && p.notes[0] == '\0');
    CHECK_OK(md_mdp_read(reference_path("reference/grappa-like/0045/sp_rf.mdp"), &p));
    CHECK(p.nsteps == 0 && p.continuation && p.rlist == 1.05 && p.verlet_buffer_tolerance == -1.0);
    CHECK(p.nstcalcenergy == 1 && p.nstfout == 1 && p.tcoupl == MD_TCOUPL_NO);
    CHECK_OK(md_mdp_read(reference_path("reference/grappa-like/0001.5/sp_rf_none.mdp"), &p));
    CHECK(p.vdw_modifier == MD_VDW_NONE);
    CHECK_OK(md_mdp_read(reference_path("reference/ions/nacl_3k/sp_rf78.mdp"), &p));
    CHECK(p.epsilon_rf == 78.0);
    CHECK_OK(md_mdp_read(reference_path("reference/terms/many_terms/traj_rf_nocons.mdp"), &p));
    CHECK(p.comm_mode == MD_COMM_NONE && p.dt == 0.0005);
    CHECK(md_mdp_read(reference_path("grappa-like/pme.mdp"), &p) == SUNDOG_ERR_UNSUPPORTED);
    CHECK(strstr(sundog_last_error(), "pme.mdp:20: coulombtype = PME is not supported"));
}

/* The peptides have restraints of all heavy atoms behind #ifdef POSRES. */
static void check_restraints(void)
{
    static const struct {
        const char *path;
        int n;
    } cases[] = {{"peptide/ala_dipeptide", 10}, {"peptide/wkdpys_amber", 61},
                 {"peptide/fre_opls", 32}};
    const md_top_options options = {.define = "-DPOSRES"};
    for (int k = 0; k < 3; k++) {
        md_topology *t = NULL;
        CHECK_OK(md_top_read(reference_path("%s/topol.top", cases[k].path), &options, &t));
        const md_interactions *list = &t->moltype[0].list[MD_POSRES];
        CHECK(list->n == cases[k].n && md_topology_count(t, MD_POSRES) == cases[k].n);
        for (int n = 0; n < list->n; n++) {
            const double *p = t->param[list->param[n]].p;
            CHECK(t->moltype[0].atom[list->atoms[n]].name[0] != 'H');
            CHECK(p[0] == 1000.0 && p[1] == 1000.0 && p[2] == 1000.0);
        }
        CHECK(!t->molblock[0].posres_x);
        md_topology_destroy(&t);
    }
}

int main(void)
{
    for (size_t k = 0; k < sizeof systems / sizeof systems[0]; k++) check_system(&systems[k]);
    check_restraints();
    check_mdp();
    return 0;
}
