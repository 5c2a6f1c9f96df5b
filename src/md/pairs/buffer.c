/* Verlet buffer. The derivation is in docs/verlet-buffer.md; in short, for two classes of atoms
 *
 *   s2    variance of the change of their distance while a list lives, both atoms' added
 *   b     rlist - rc,  Q = upper tail of the normal distribution at b/s, g = its density there
 *   E     = -V'/2   ((b^2 + s2) Q - b s g)
 *           +V''/6  (s (b^2 + 2 s2) g - b (b^2 + 3 s2) Q)
 *           -V'''/24((b^4 + 6 b^2 s2 + 3 s2^2) Q - b s (b^2 + 5 s2) g)
 *
 * is the mean energy, per nm of list radius' shell thickness, of pairs that were beyond rlist and
 * are now unseen within rc. 4 pi rlist^2 times the density of partners times |E|, per life of a
 * list, is the drift; rlist is the smallest that keeps its sum over classes below the tolerance.
 *
 * s2 is free flight, but for turns of hydrogens in dense matter, which their neighbours hinder.
 *
 * Rejected: letting contributions of opposite sign cancel. They do for average charges, but the sum
 * is then a small difference of guesses. Not done: credit for what a list of clusters holds beyond
 * rlist. So the result errs to the safe side.
 */
#include "md/pairs/buffer.h"

#include "base/alloc.h"
#include "md/core/coulomb.h"
#include "md/core/units.h"
#include "md/core/vdw.h"

#include <math.h>
#include <string.h>

/* Atoms that move alike and interact alike. Variance of one coordinate after time t:
 * kT t^2 shift + min(kT t^2 turn, turn_limit). */
typedef struct atom_class {
    int type;
    double charge;
    double shift, turn;         /* 1/u: translation; rotation about the constrained partner */
    double turn_limit;          /* nm^2 */
    bool held;                  /* a hydrogen that turns about a heavier atom */
    double count;
} atom_class;

typedef struct derivatives {
    double rc, v1, v2, v3;      /* of the potential at its cut-off rc */
} derivatives;

/* Derivatives of r^-6 and r^-12 as the modifier has them at its cut-off rc. */
typedef struct lj_slopes {
    double rc, p6[3], p12[3];
} lj_slopes;

/* In dense matter the neighbours let a hydrogen swing only. Measured in water and ethanol at 300 K,
 * it has gone a variance of 0.03 to 0.07 of the squared radius about its heavy atom when that
 * atom's free flight begins to overestimate by more than all further turning. DENSE_TURN, in parts
 * of largest_turn, is 1.7 times the most; a swing's variance is proportional to T. DENSE_FROM to
 * DENSE_ALL: atoms other than hydrogens per nm^3 over which this comes in; water has 33. */
static const double DENSE_TURN = 0.14, DENSE_KELVIN = 300, DENSE_FROM = 10, DENSE_ALL = 20;
static const double HEAVIEST_HYDROGEN = 4.5; /* u; masses may have been shifted to hydrogens */

/* 1 - <cos> of a free rotor's angle never exceeds 1.29; a third of the mean square chord
 * 2 (1 - cos) */
static double largest_turn(double radius)
{
    return 2.0 / 3 * 1.29 * radius * radius;
}

/* Rigid water: exact for one molecule, averaged over directions. Atom 0 is O, 1 and 2 are H. */
static void settle_motion(const double mass[3], double d_oh, double d_hh, int atom, atom_class *out)
{
    double total = mass[0] + mass[1] + mass[2];
    double height = sqrt(d_oh * d_oh - 0.25 * d_hh * d_hh);
    double com = height * (mass[1] + mass[2]) / total;
    double y[3] = {-com, height - com, height - com}, x[3] = {0, -0.5 * d_hh, 0.5 * d_hh};
    double inertia[3] = {0, 0, 0};      /* about x, y, z; the molecule lies in z = 0 */
    for (int k = 0; k < 3; k++) {
        inertia[0] += mass[k] * y[k] * y[k];
        inertia[1] += mass[k] * x[k] * x[k];
    }
    inertia[2] = inertia[0] + inertia[1];
    double xx = x[atom] * x[atom], yy = y[atom] * y[atom];
    out->shift = 1 / total;
    out->turn = (yy / inertia[0] + xx / inertia[1] + (xx + yy) / inertia[2]) / 3;
    out->turn_limit = largest_turn(sqrt(xx + yy));
    out->held = atom > 0;
}

/* An atom held at `length` from a heavier one turns about their common centre. */
static void bound_motion(double mass, double partner, double length, atom_class *out)
{
    double both = mass + partner;
    out->shift = 1 / both;
    out->turn = 2.0 / 3 * (1 / mass - 1 / both);
    out->turn_limit = largest_turn(length * partner / both);
    out->held = mass < HEAVIEST_HYDROGEN;
}

/* How atom `a` of a molecule moves. Further constraints would only slow it down. */
static void motion_of(const md_topology *topology, const md_moltype *mol, int a, atom_class *out)
{
    double mass = mol->atom[a].mass;
    out->shift = mass > 0 ? 1 / mass : 0;
    out->turn = out->turn_limit = 0;
    out->held = false;
    const md_interactions *settle = &mol->list[MD_SETTLE], *bound = &mol->list[MD_CONSTRAINT];
    for (int n = 0; n < settle->n; n++)
        for (int k = 0; k < 3; k++) {
            if (settle->atoms[3 * n + k] != a) continue;
            double m[3];
            for (int l = 0; l < 3; l++) m[l] = mol->atom[settle->atoms[3 * n + l]].mass;
            const double *p = topology->param[settle->param[n]].p;
            settle_motion(m, p[0], p[1], k, out);
            return;
        }
    double heaviest = mass;
    for (int n = 0; n < bound->n; n++)
        for (int k = 0; k < 2; k++) {
            if (bound->atoms[2 * n + k] != a) continue;
            double partner = mol->atom[bound->atoms[2 * n + 1 - k]].mass;
            if (partner <= heaviest) continue;
            heaviest = partner;
            bound_motion(mass, partner, topology->param[bound->param[n]].p[0], out);
        }
}

static bool same_class(const atom_class *a, const atom_class *b)
{
    return a->type == b->type && a->charge == b->charge && a->shift == b->shift &&
           a->turn == b->turn && a->turn_limit == b->turn_limit && a->held == b->held;
}

/* All classes of the system; returns how many. */
static int find_classes(const md_topology *topology, atom_class **out)
{
    int n = 0;
    size_t capacity = 0;
    *out = NULL;
    for (int block = 0; block < topology->n_molblocks; block++) {
        const md_moltype *mol = &topology->moltype[topology->molblock[block].moltype];
        for (int a = 0; a < mol->n_atoms; a++) {
            atom_class this = {.type = mol->atom[a].type, .charge = mol->atom[a].charge};
            motion_of(topology, mol, a, &this);
            int k = 0;
            while (k < n && !same_class(&(*out)[k], &this)) k++;
            if (k == n) {
                BASE_RESERVE(*out, capacity, n + 1);
                (*out)[n++] = this;
            }
            (*out)[k].count += topology->molblock[block].count;
        }
    }
    return n;
}

/* What neighbours leave of the limit of a free rotor, in a box of these classes. */
static double room_to_turn(const atom_class *class, int n, double volume, double temperature)
{
    double heavy = 0;
    for (int k = 0; k < n; k++)
        if (!class[k].held && class[k].shift > 0) heavy += class[k].count;
    double dense = (heavy / volume - DENSE_FROM) / (DENSE_ALL - DENSE_FROM);
    double hindered = fmin(1, DENSE_TURN * temperature / DENSE_KELVIN);
    return 1 - fmax(0, fmin(1, dense)) * (1 - hindered);
}

/* All classes, as they move in this box. */
static int find_hindered(const md_topology *topology, double volume, double temperature,
                         atom_class **out)
{
    int n = find_classes(topology, out);
    double room = room_to_turn(*out, n, volume, temperature);
    for (int k = 0; k < n; k++)
        if ((*out)[k].held) (*out)[k].turn_limit *= room;
    return n;
}

static double variance(const atom_class *c, double kt_t2)
{
    return kt_t2 * c->shift + fmin(kt_t2 * c->turn, c->turn_limit);
}

/* E of the file's head. */
static double unseen_energy(const derivatives *v, double rlist, double s2)
{
    double b = rlist - v->rc, s = sqrt(s2);
    double tail = 0.5 * erfc(b / (s * sqrt(2)));
    double g = exp(-0.5 * b * b / s2) / sqrt(2 * acos(-1));
    double second = (b * b + s2) * tail - b * s * g;
    double third = s * (b * b + 2 * s2) * g - b * (b * b + 3 * s2) * tail;
    double fourth = (b * b * b * b + 6 * b * b * s2 + 3 * s2 * s2) * tail -
                    b * s * (b * b + 5 * s2) * g;
    return -v->v1 / 2 * second + v->v2 / 6 * third - v->v3 / 24 * fourth;
}

static derivatives lj_at(const lj_slopes *slopes, double c6, double c12)
{
    double v[3];
    for (int k = 0; k < 3; k++) v[k] = c12 * slopes->p12[k] - c6 * slopes->p6[k];
    return (derivatives){slopes->rc, v[0], v[1], v[2]};
}

static derivatives coulomb_at(const md_params *params, double qq)
{
    md_coulomb_form form = md_coulomb_form_of(params);
    double rc = params->rcoulomb;
    qq *= form.factor;
    return (derivatives){rc, qq * (2 * form.krf * rc - 1 / (rc * rc)),
                         qq * (2 * form.krf + 2 / (rc * rc * rc)), -6 * qq / (rc * rc * rc * rc)};
}

/* Drift per atom and ps over all pairs of classes. */
static double drift(const md_topology *topology, const md_params *params, const atom_class *class,
                    int n, double volume, double kt, int lifetime, double rlist)
{
    double age = (lifetime - 1) * params->dt, sum = 0, n_atoms = 0;
    md_vdw vdw = md_vdw_make(params);
    lj_slopes slopes = {.rc = params->rvdw};
    md_vdw_slopes(&vdw, 6, slopes.p6);
    md_vdw_slopes(&vdw, 12, slopes.p12);
    for (int a = 0; a < n; a++) {
        n_atoms += class[a].count;
        for (int b = a; b < n; b++) {
            double s2 = variance(&class[a], kt * age * age) + variance(&class[b], kt * age * age);
            if (s2 <= 0) continue;
            size_t types = (size_t)class[a].type * (size_t)topology->n_atomtypes +
                           (size_t)class[b].type;
            derivatives lj = lj_at(&slopes, topology->c6[types], topology->c12[types]);
            derivatives coulomb = coulomb_at(params, class[a].charge * class[b].charge);
            double e = unseen_energy(&lj, rlist, s2) + unseen_energy(&coulomb, rlist, s2);
            sum += class[a].count * class[b].count * (a == b ? 0.5 : 1) * fabs(e);
        }
    }
    double shell = 4 * acos(-1) * rlist * rlist;
    return n_atoms > 0 ? sum * shell / volume / (n_atoms * lifetime * params->dt) : 0;
}

/* Whatever the tolerance, the list reaches 1.5 standard deviations of the distance between two of
 * the slowest atoms beyond the cut-off. Where forces at the cut-off are weak (liquid argon) the
 * tolerance alone would ask for no buffer at all, and half of the pairs that come in would be
 * missed: cheap to avoid, and what users expect of a buffered list. */
static double smallest_buffer(const atom_class *class, int n, double kt, double age)
{
    double slowest = 0;
    for (int a = 0; a < n; a++) {
        double s2 = 2 * variance(&class[a], kt * age * age);
        if (a == 0 || s2 < slowest) slowest = s2;
    }
    return 1.5 * sqrt(slowest);
}

static sundog_status check(const md_params *params, double temperature, int lifetime)
{
    if (lifetime < 1)
        return base_fail(SUNDOG_ERR_ARGUMENT, "a pair list cannot live %d steps", lifetime);
    if (!(params->dt > 0))
        return base_fail(SUNDOG_ERR_ARGUMENT, "dt is %g ps; a Verlet buffer needs a time step",
                         params->dt);
    if (!(temperature >= 0))
        return base_fail(SUNDOG_ERR_ARGUMENT, "cannot find a Verlet buffer for %g K", temperature);
    return SUNDOG_OK;
}

double md_verlet_variance(const md_topology *topology, const md_box *box, double temperature,
                          double age, int moltype, int atom)
{
    atom_class *class, this = {0};
    int n = find_classes(topology, &class);
    double room = room_to_turn(class, n, md_box_volume(box), temperature);
    base_free(class);
    motion_of(topology, &topology->moltype[moltype], atom, &this);
    if (this.held) this.turn_limit *= room;
    return variance(&this, MD_BOLTZ * temperature * age * age);
}

sundog_status md_verlet_buffer(const md_topology *topology, const md_box *box,
                               const md_params *params, double temperature, int lifetime,
                               double *rlist)
{
    const double longest = fmax(params->rcoulomb, params->rvdw), step = 0.001;
    if (params->verlet_buffer_tolerance < 0) {
        if (params->rlist < longest)
            return base_fail(SUNDOG_ERR_INPUT,
                             "rlist is %g nm, less than the longest cut-off %g nm",
                             params->rlist, longest);
        *rlist = params->rlist;
        return SUNDOG_OK;
    }
    BASE_TRY(check(params, temperature, lifetime));
    if (!(params->verlet_buffer_tolerance > 0))
        return base_fail(SUNDOG_ERR_INPUT,
                         "verlet-buffer-tolerance is %g; it must be above 0, or -1 "
                         "to use rlist as given",
                         params->verlet_buffer_tolerance);
    atom_class *class;
    double volume = md_box_volume(box), kt = MD_BOLTZ * temperature;
    int n = find_hindered(topology, volume, temperature, &class), low = 0, high = 1;
    /* in whole steps: bracket by doubling, then halve; the drift falls with rlist */
#define DRIFT(k) drift(topology, params, class, n, volume, kt, lifetime, longest + (k) * step)
    if (DRIFT(0) <= params->verlet_buffer_tolerance) {
        high = 0;
    } else {
        while (DRIFT(high) > params->verlet_buffer_tolerance && high < 1 << 16) high *= 2;
        low = high / 2;
        while (high - low > 1) {
            int middle = (low + high) / 2;
            if (DRIFT(middle) > params->verlet_buffer_tolerance) low = middle;
            else high = middle;
        }
    }
#undef DRIFT
    double least = smallest_buffer(class, n, kt, (lifetime - 1) * params->dt);
    base_free(class);
    *rlist = longest + step * fmax(high, ceil(least / step));
    return SUNDOG_OK;
}
