/* Verlet buffer: the list radius found for argon is held against direct integration over distances
 * of the true potential; rigid molecules need less than free atoms, more in a gas than in a liquid;
 * limits and errors. How far atoms of real liquids move, and the drift of runs, are measured in
 * run/test_motion.c and run/test_drift.c.
 */
#include "base/alloc.h"
#include "check.h"
#include "md/core/units.h"
#include "md/core/vdw.h"
#include "md/pairs/buffer.h"

#include <math.h>
#include <string.h>

static const double KT = MD_BOLTZ * 300;

static md_params make_params(void)
{
    md_params p = {.dt = 0.002,
                   .verlet_buffer_tolerance = 0.005,
                   .rcoulomb = 0.9,
                   .rvdw = 0.9,
                   .coulombtype = MD_COULOMB_REACTION_FIELD,
                   .epsilon_r = 1,
                   .vdw_modifier = MD_VDW_POTENTIAL_SHIFT};
    return p;
}

/* Drift of n atoms per nm^3 of one kind, by summing over distances before and after. */
static double integrate(const md_params *params, double c6, double c12, double mass, double n,
                        double rlist, int lifetime)
{
    double dt = params->dt;
    md_vdw vdw = md_vdw_make(params);
    double age = (lifetime - 1) * dt, s = sqrt(2 * KT / mass) * age, sum = 0, h = s / 60;
    double rc = 0.9;
    for (double r0 = rlist + h / 2; r0 < rlist + 8 * s; r0 += h)
        for (double r = rc - h / 2; r > rc - 8 * s && r > 0.3; r -= h) {
            double v = c12 * md_vdw_potential(&vdw, 12, r) - c6 * md_vdw_potential(&vdw, 6, r);
            double g = exp(-0.5 * (r - r0) * (r - r0) / (s * s)) / (s * sqrt(2 * acos(-1)));
            sum += 4 * acos(-1) * r0 * r0 * v * g * h * h;
        }
    return fabs(0.5 * n * sum / (lifetime * dt));
}

/* Where the potential ends smoothly less is lost; the estimate, an expansion about the cut-off,
 * stays above what direct integration finds. */
static void check_switched(const md_topology *top, const md_box *box, double c6, double c12)
{
    static const double starts[3] = {0.85, 0.8, 0.7};
    double density = 4096 / pow(5.8263, 3), shifted;
    md_params params = make_params();
    params.verlet_buffer_tolerance = 1e-5;
    CHECK_OK(md_verlet_buffer(top, box, &params, 300, 100, &shifted));
    for (int k = 0; k < 6; k++) {
        double rlist;
        params.vdw_modifier = k < 3 ? MD_VDW_FORCE_SWITCH : MD_VDW_POTENTIAL_SWITCH;
        params.rvdw_switch = starts[k % 3];
        CHECK_OK(md_verlet_buffer(top, box, &params, 300, 100, &rlist));
        double drift = integrate(&params, c6, c12, 39.948, density, rlist, 100);
        printf("modifier %d from %g nm: rlist %.3f, shifted %.3f; drift %.2g of the tolerance\n",
               (int)params.vdw_modifier, params.rvdw_switch, rlist, shifted,
               drift / params.verlet_buffer_tolerance);
        CHECK(drift < 1.1 * params.verlet_buffer_tolerance);
        CHECK(params.rvdw_switch > 0.75 || rlist < shifted);
    }
}

static void check_argon(void)
{
    md_atom atom = {.mass = 39.948};
    double sigma6 = pow(0.3405, 6), c6 = 4 * 0.99607 * sigma6, c12 = c6 * sigma6;
    md_moltype mol = {.n_atoms = 1, .atom = &atom};
    md_molblock block = {.count = 4096};
    md_topology top = {.n_atomtypes = 1,
                       .c6 = &c6,
                       .c12 = &c12,
                       .n_moltypes = 1,
                       .moltype = &mol,
                       .n_molblocks = 1,
                       .molblock = &block,
                       .n_atoms = 4096};
    md_box box = {{{5.8263, 0, 0}, {0, 5.8263, 0}, {0, 0, 5.8263}}};
    double density = 4096 / pow(5.8263, 3), before = 0;
    md_params params = make_params();
    params.verlet_buffer_tolerance = 1e-5;
    static const int lifetimes[4] = {10, 20, 50, 100};
    for (int k = 0; k < 4; k++) {
        double rlist;
        CHECK_OK(md_verlet_buffer(&top, &box, &params, 300, lifetimes[k], &rlist));
        CHECK(rlist > before);
        before = rlist;
        double tol = params.verlet_buffer_tolerance;
        CHECK(integrate(&params, c6, c12, 39.948, density, rlist, lifetimes[k]) < 1.1 * tol);
        CHECK(integrate(&params, c6, c12, 39.948, density, rlist - 0.002, lifetimes[k]) >
              0.8 * tol);
    }
    double looser, hotter, now;
    CHECK_OK(md_verlet_buffer(&top, &box, &params, 300, 1, &now));
    CHECK_NEAR(now, 0.9, 1e-12); /* a list made every step needs no buffer */
    CHECK_OK(md_verlet_buffer(&top, &box, &params, 600, 100, &hotter));
    params.verlet_buffer_tolerance = 1e-3;
    CHECK_OK(md_verlet_buffer(&top, &box, &params, 300, 100, &looser));
    CHECK(looser < before && before < hotter);
    check_switched(&top, &box, c6, c12);
}

/* SPC/E water, rigid, with OH constraints only, and free: the list radius, and how far a hydrogen
 * gets in 0.2 ps. */
typedef struct reach {
    double rlist, hydrogen;
} reach;

static const double LIQUID = 6.2407, VAPOUR = 62.4; /* edge of the box, nm */

static reach water(int kind, double edge, double temperature, int lifetime)
{
    md_atom atom[3] = {{.type = 0, .charge = -0.8476, .mass = 15.9994},
                       {.type = 1, .charge = 0.4238, .mass = 1.008},
                       {.type = 1, .charge = 0.4238, .mass = 1.008}};
    double c6[4] = {2.6173456e-3, 0, 0, 0}, c12[4] = {2.634129e-6, 0, 0, 0};
    int settle[3] = {0, 1, 2}, bonds[4] = {0, 1, 0, 2}, zero[2] = {0, 0};
    md_param param = {{0.1, 0.16330}};
    md_moltype mol = {.n_atoms = 3, .atom = atom};
    if (kind == 0) mol.list[MD_SETTLE] = (md_interactions){.n = 1, .atoms = settle, .param = zero};
    if (kind == 1)
        mol.list[MD_CONSTRAINT] = (md_interactions){.n = 2, .atoms = bonds, .param = zero};
    md_molblock block = {.count = 8000};
    md_topology top = {.n_atomtypes = 2,
                       .c6 = c6,
                       .c12 = c12,
                       .n_params = 1,
                       .param = &param,
                       .n_moltypes = 1,
                       .moltype = &mol,
                       .n_molblocks = 1,
                       .molblock = &block,
                       .n_atoms = 24000};
    md_box box = {{{edge, 0, 0}, {0, edge, 0}, {0, 0, edge}}};
    md_params params = make_params();
    reach out = {.hydrogen = md_verlet_variance(&top, &box, temperature, 0.2, 0, 1)};
    CHECK_OK(md_verlet_buffer(&top, &box, &params, temperature, lifetime, &out.rlist));
    return out;
}

static void check_water(void)
{
    for (int lifetime = 10; lifetime <= 20; lifetime += 5) {
        double rigid = water(0, LIQUID, 300, lifetime).rlist;
        double bound = water(1, LIQUID, 300, lifetime).rlist;
        double free = water(2, LIQUID, 300, lifetime).rlist;
        printf("SPC/E, %d steps: rigid %.3f, OH fixed %.3f, free %.3f nm\n", lifetime, rigid, bound,
               free);
        CHECK(0.93 < rigid && rigid < free && bound < free && free < 1.3);
        CHECK(lifetime > 10 || rigid < bound); /* later all hydrogens that are held swing alike */
    }
    /* turning hydrogens come back: a list that lives ten times longer needs less than ten times
     * more */
    CHECK(water(0, LIQUID, 300, 100).rlist - 0.9 < 8 * (water(0, LIQUID, 300, 10).rlist - 0.9));
    CHECK(water(2, LIQUID, 300, 100).rlist > water(0, LIQUID, 300, 100).rlist + 0.5);
    CHECK(water(0, LIQUID, 300, 10).rlist < 1.05);
}

/* Neighbours hinder the turning of held hydrogens, less in a thin gas and less when it is hot. */
static void check_hindered(void)
{
    for (int kind = 0; kind < 2; kind++) {
        double shift = MD_BOLTZ * 300 * 0.2 * 0.2 / (kind ? 17.0074 : 18.0154);
        double liquid = water(kind, LIQUID, 300, 10).hydrogen - shift;
        double vapour = water(kind, VAPOUR, 300, 10).hydrogen - shift;
        double half = water(kind, LIQUID * cbrt(33.0 / 15), 300, 10).hydrogen - shift;
        double hot = water(kind, LIQUID, 600, 10).hydrogen - 2 * shift;
        CHECK_NEAR(liquid / vapour, 0.14, 1e-9);
        CHECK(liquid * 3 < half && half * 1.5 < vapour);
        CHECK_NEAR(hot / liquid, 2, 1e-9);
        CHECK(water(kind, LIQUID, 3000, 10).hydrogen > vapour);
    }
    CHECK_NEAR(water(2, LIQUID, 300, 10).hydrogen, MD_BOLTZ * 300 * 0.2 * 0.2 / 1.008, 1e-9);
}

static void check_given(void)
{
    md_topology top = {0};
    md_box box = {{{3, 0, 0}, {0, 3, 0}, {0, 0, 3}}};
    md_params params = make_params();
    double rlist = 7;
    params.verlet_buffer_tolerance = 0;
    CHECK(md_verlet_buffer(&top, &box, &params, 300, 10, &rlist) == SUNDOG_ERR_INPUT);
    params.verlet_buffer_tolerance = -1;
    params.rlist = 0.8;
    CHECK(md_verlet_buffer(&top, &box, &params, 300, 10, &rlist) == SUNDOG_ERR_INPUT);
    CHECK(rlist == 7);
    params.rlist = 1.05;
    CHECK_OK(md_verlet_buffer(&top, &box, &params, 300, 10, &rlist));
    CHECK(rlist == 1.05);
    params.verlet_buffer_tolerance = 0.005;
    CHECK(md_verlet_buffer(&top, &box, &params, 300, 0, &rlist) == SUNDOG_ERR_ARGUMENT);
    CHECK(md_verlet_buffer(&top, &box, &params, -1, 10, &rlist) == SUNDOG_ERR_ARGUMENT);
    params.dt = 0;
    CHECK(md_verlet_buffer(&top, &box, &params, 300, 10, &rlist) == SUNDOG_ERR_ARGUMENT);
}

int main(void)
{
    check_argon();
    check_water();
    check_hindered();
    check_given();
    return 0;
}
