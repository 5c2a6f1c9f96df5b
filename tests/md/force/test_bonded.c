/* Bonded kernels against slow double-precision energies written here from the manual's formulas:
 * energies, forces (finite differences), virial, invariances, extreme geometry, equal bits of all
 * variants. Wrong parameters or wrong conventions of a reader are not seen here; that is
 * test_bonded_reference. */
#include "base/alloc.h"
#include "check.h"
#include "md/core/units.h"
#include "md/force/bonded.h"
#include "md/force/bonded_internal.h"
#include <math.h>
#include <string.h>

enum { N_TERMS = 37, MAX_ROWS = 4 * N_TERMS };

static const double pi = 3.14159265358979323846;
static uint64_t random_state = 12345;

static double uniform(double low, double high)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(random_state >> 11) * 0x1p-53;
}

/* ---- the reference -------------------------------------------------------------------------- */

static double distance(const double *a, const double *b)
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

static void minus(const double *a, const double *b, double *d)
{
    for (int k = 0; k < 3; k++) d[k] = a[k] - b[k];
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double bend_angle(const double (*x)[3])
{
    double a[3], b[3];
    minus(x[0], x[1], a);
    minus(x[2], x[1], b);
    return acos(dot(a, b) / sqrt(dot(a, a) * dot(b, b)));
}

/* Torsion angle from a frame that looks along the middle bond: 0 cis, positive when the far bond
 * is turned clockwise. */
static double torsion(const double (*x)[3])
{
    double axis[3], near[3], far[3], up[3], side[3];
    minus(x[2], x[1], axis);
    minus(x[0], x[1], near);
    minus(x[3], x[2], far);
    const double length = sqrt(dot(axis, axis));
    for (int k = 0; k < 3; k++) axis[k] /= length;
    for (int k = 0; k < 3; k++) up[k] = near[k] - dot(near, axis) * axis[k];
    side[0] = axis[1] * up[2] - axis[2] * up[1];
    side[1] = axis[2] * up[0] - axis[0] * up[2];
    side[2] = axis[0] * up[1] - axis[1] * up[0];
    return atan2(dot(far, side), dot(far, up));
}

typedef struct setting {
    md_kind kind;
    double p[MD_MAX_PARAM];
    double qq; /* f fudge qi qj / epsilon_r */
} setting;

static double slow_energy(const setting *s, const double (*x)[3], double *coulomb)
{
    const double *p = s->p;
    double v = 0;
    *coulomb = 0;
    switch (s->kind) {
    case MD_BOND: return 0.5 * p[1] * pow(distance(x[0], x[1]) - p[0], 2);
    case MD_BOND_G96: return 0.25 * p[1] * pow(pow(distance(x[0], x[1]), 2) - p[0] * p[0], 2);
    case MD_ANGLE: return 0.5 * p[1] * pow(bend_angle(x) - p[0], 2);
    case MD_ANGLE_G96: return 0.5 * p[1] * pow(cos(bend_angle(x)) - cos(p[0]), 2);
    case MD_UREY_BRADLEY:
        return 0.5 * p[1] * pow(bend_angle(x) - p[0], 2) +
               0.5 * p[3] * pow(distance(x[0], x[2]) - p[2], 2);
    case MD_DIH_PROPER:
    case MD_DIH_PER_IMPROPER: return p[1] * (1 + cos(p[2] * torsion(x) - p[0]));
    case MD_DIH_RB:
    case MD_DIH_FOURIER:
        for (int n = 0; n < 6; n++) v += p[n] * pow(cos(torsion(x) - pi), n);
        return v;
    case MD_DIH_IMPROPER: {
        double d = torsion(x) - p[0];
        while (d > pi) d -= 2 * pi;
        while (d <= -pi) d += 2 * pi;
        return 0.5 * p[1] * d * d;
    }
    case MD_PAIR14: {
        const double r = distance(x[0], x[1]);
        *coulomb = s->qq / r;
        return p[1] / pow(r, 12) - p[0] / pow(r, 6);
    }
    default: abort();
    }
}

static void slow_force(const setting *s, const double (*x_in)[3], double (*f)[3])
{
    double x[4][3], c;
    const int n_atoms = md_kind_n_atoms(s->kind);
    const double h = 2e-6;
    memcpy(x, x_in, (size_t)n_atoms * sizeof x[0]);
    for (int a = 0; a < n_atoms; a++)
        for (int k = 0; k < 3; k++) {
            double v[4];
            for (int i = 0; i < 4; i++) { /* fourth order */
                const double step[4] = {-2 * h, -h, h, 2 * h};
                x[a][k] = x_in[a][k] + step[i];
                v[i] = slow_energy(s, (const double(*)[3])x, &c);
                v[i] += c;
            }
            x[a][k] = x_in[a][k];
            f[a][k] = -(v[0] - 8 * v[1] + 8 * v[2] - v[3]) / (12 * h);
        }
}

/* ---- systems by hand ------------------------------------------------------------------------ */

typedef struct system {
    md_topology topology;
    md_moltype moltype;
    md_param param[N_TERMS];
    md_rows rows;
    double x[MAX_ROWS][3];
    float f[MAX_ROWS][3], charge[MAX_ROWS];
    int atoms[MAX_ROWS], index[N_TERMS];
    float weight[N_TERMS];
    setting setting[N_TERMS];
    int n_terms, n_rows;
    md_kind kind;
    md_bonded *bonded;
} system_t;

static const md_params *with_epsilon_r(double epsilon_r)
{
    static md_params params;
    md_params_default(&params);
    params.epsilon_r = epsilon_r;
    return &params;
}

static void random_parameters(md_kind kind, int term, double *p)
{
    for (int k = 0; k < MD_MAX_PARAM; k++) p[k] = 0;
    switch (kind) {
    case MD_BOND: p[0] = uniform(0.1, 0.16), p[1] = uniform(1e5, 5e5); break;
    case MD_BOND_G96: p[0] = uniform(0.1, 0.16), p[1] = uniform(5e6, 2e7); break;
    case MD_ANGLE: p[0] = uniform(1.7, 2.2), p[1] = uniform(200, 600); break;
    case MD_ANGLE_G96: p[0] = uniform(1.7, 2.2), p[1] = uniform(400, 800); break;
    case MD_UREY_BRADLEY:
        p[0] = uniform(1.7, 2.2), p[1] = uniform(200, 600);
        p[2] = uniform(0.2, 0.26), p[3] = uniform(2e3, 2e4);
        break;
    case MD_DIH_PROPER:
    case MD_DIH_PER_IMPROPER:
        p[0] = uniform(-pi, pi), p[1] = uniform(-8, 30), p[2] = term % 8 == 7 ? -3 : term % 8;
        break;
    case MD_DIH_RB:
    case MD_DIH_FOURIER:
        for (int k = 0; k < 6; k++) p[k] = uniform(-20, 20);
        break;
    case MD_DIH_IMPROPER: p[0] = uniform(-1.5 * pi, 1.5 * pi), p[1] = uniform(50, 200); break;
    case MD_PAIR14: p[0] = uniform(1e-3, 3e-3), p[1] = uniform(1e-6, 4e-6); break;
    default: abort();
    }
}

/* Terms of one kind, term t on rows of its own, written backwards so that rows are not in order. */
static system_t *system_create(md_kind kind, int n_terms, double epsilon_r)
{
    system_t *s = base_alloc_zero(sizeof *s);
    const int n_atoms = md_kind_n_atoms(kind);
    s->kind = kind;
    s->n_terms = n_terms;
    s->n_rows = n_terms * n_atoms;
    for (int t = 0; t < n_terms; t++) {
        const int first = (n_terms - 1 - t) * n_atoms;
        double bond[3][3];
        for (int b = 0; b < 3; b++)
            for (int k = 0; k < 3; k++) bond[b][k] = uniform(-0.04, 0.04);
        bond[0][0] += 0.1, bond[1][1] += 0.12, bond[2][t % 2 ? 0 : 2] += t % 3 ? 0.11 : -0.11;
        if (kind == MD_PAIR14) bond[0][0] += 0.2;
        for (int k = 0; k < 3; k++) s->x[first][k] = uniform(-20, 20);
        for (int a = 1; a < n_atoms; a++)
            for (int k = 0; k < 3; k++)
                s->x[first + a][k] = s->x[first + a - 1][k] + bond[a - 1][k];
        random_parameters(kind, t, s->param[t].p);
        s->setting[t].kind = kind;
        memcpy(s->setting[t].p, s->param[t].p, sizeof s->param[t].p);
        for (int a = 0; a < n_atoms; a++) {
            s->atoms[t * n_atoms + a] = first + a;
            s->charge[first + a] = (float)uniform(-1, 1);
        }
        s->setting[t].qq = MD_ONE_4PI_EPS0 * 0.5 / epsilon_r * (double)s->charge[first] *
                           (double)s->charge[first + 1];
        s->index[t] = t;
        s->weight[t] = 1;
    }
    s->moltype.name = "TEST";
    s->moltype.list[kind] = (md_interactions){.n = n_terms, .atoms = s->atoms, .param = s->index};
    s->topology = (md_topology){.n_params = n_terms,
                                .param = s->param,
                                .n_moltypes = 1,
                                .moltype = &s->moltype,
                                .fudge_qq = 0.5,
                                .fudge_lj = 0.5};
    s->rows = (md_rows){
        .n_owned = s->n_rows, .n_rows = s->n_rows, .x = s->x, .f = s->f, .charge = s->charge};
    s->rows.list[kind] = (md_row_interactions){
        .n = n_terms, .rows = s->atoms, .param = s->index, .weight = s->weight};
    CHECK_OK(md_bonded_create(&s->topology, with_epsilon_r(epsilon_r), &s->bonded));
    return s;
}

static void system_destroy(system_t *s)
{
    md_bonded_destroy(&s->bonded);
    base_free(s);
}

static void compute(system_t *s, md_energy *energy)
{
    memset(s->f, 0, sizeof s->f);
    if (energy) memset(energy, 0, sizeof *energy);
    md_bonded_force(s->bonded, &s->rows, s->f, energy);
}

static void term_positions(const system_t *s, int t, double (*x)[3])
{
    const int n_atoms = md_kind_n_atoms(s->kind);
    for (int a = 0; a < n_atoms; a++) memcpy(x[a], s->x[s->atoms[t * n_atoms + a]], sizeof x[0]);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static const md_kind kinds[] = {MD_BOND,         MD_BOND_G96,         MD_ANGLE,  MD_ANGLE_G96,
                                MD_UREY_BRADLEY, MD_DIH_PROPER,       MD_DIH_RB, MD_DIH_FOURIER,
                                MD_DIH_IMPROPER, MD_DIH_PER_IMPROPER, MD_PAIR14};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static void test_against_reference(md_kind kind, int n_terms)
{
    system_t *s = system_create(kind, n_terms, kind == MD_PAIR14 ? 2.0 : 1.0);
    md_energy energy;
    double e = 0, e14 = 0, e_scale = 0, virial[3][3] = {{0}}, virial_scale = 0;
    const int n_atoms = md_kind_n_atoms(kind);
    for (int t = 0; t < n_terms; t++) s->weight[t] = t % 2 ? 0.5f : 1.0f;
    compute(s, &energy);
    for (int t = 0; t < n_terms; t++) {
        double x[4][3], f[4][3], c, largest = 0, sum[3] = {0};
        term_positions(s, t, x);
        const double v = slow_energy(&s->setting[t], (const double(*)[3])x, &c);
        slow_force(&s->setting[t], (const double(*)[3])x, f);
        e += (double)s->weight[t] * v;
        e14 += (double)s->weight[t] * c;
        e_scale += fabs(v) + fabs(c);
        for (int a = 0; a < n_atoms; a++) largest = fmax(largest, sqrt(dot(f[a], f[a])));
        for (int a = 0; a < n_atoms; a++)
            for (int k = 0; k < 3; k++) {
                CHECK_NEAR((double)s->f[s->atoms[t * n_atoms + a]][k], f[a][k],
                           4e-6 * largest + 1e-3);
                sum[k] += (double)s->f[s->atoms[t * n_atoms + a]][k];
                for (int j = 0; j < 3; j++) {
                    virial[k][j] -= 0.5 * (double)s->weight[t] * (x[a][k] - x[0][k]) * f[a][j];
                    virial_scale += fabs((x[a][k] - x[0][k]) * f[a][j]);
                }
            }
        for (int k = 0; k < 3; k++) CHECK_NEAR(sum[k], 0, 1e-6 * largest);
    }
    CHECK_NEAR(energy.bonded[kind], e, 2e-6 * e_scale + 1e-4);
    CHECK_NEAR(energy.coulomb14, e14, 2e-6 * e_scale + 1e-4);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            CHECK_NEAR(energy.virial[i][j], virial[i][j], 2e-6 * virial_scale + 1e-5);
    system_destroy(s);
}

/* Trace of the virial = 1/2 dV / d ln(scale). */
static void test_box_scaling(md_kind kind)
{
    system_t *s = system_create(kind, N_TERMS, 1.0);
    md_energy energy;
    double v[2] = {0}, scale = 0;
    const double h = 1e-6;
    compute(s, &energy);
    for (int t = 0; t < N_TERMS; t++) {
        double x[4][3], y[4][3], c;
        term_positions(s, t, x);
        for (int side = 0; side < 2; side++) {
            for (int a = 0; a < 4; a++)
                for (int k = 0; k < 3; k++) y[a][k] = x[a][k] * (side ? 1 + h : 1 - h);
            v[side] += slow_energy(&s->setting[t], (const double(*)[3])y, &c);
            v[side] += c;
        }
        scale += fabs(slow_energy(&s->setting[t], (const double(*)[3])x, &c)) + fabs(c);
    }
    const double trace = energy.virial[0][0] + energy.virial[1][1] + energy.virial[2][2];
    CHECK_NEAR(trace, 0.5 * (v[1] - v[0]) / (2 * h), 2e-4 * scale);
    system_destroy(s);
}

/* All variants, with and without energies: the same bits. */
static void test_variants(md_kind kind)
{
    system_t *s = system_create(kind, N_TERMS, 1.0);
    float f[MAX_ROWS][3];
    md_energy energy, other;
    md_bonded_use_variant(s->bonded, MD_BONDED_PLAIN);
    compute(s, &energy);
    memcpy(f, s->f, sizeof f);
    compute(s, NULL);
    CHECK(memcmp(f, s->f, sizeof f) == 0);
    if (md_bonded_variant_runs(MD_BONDED_AVX2)) {
        md_bonded_use_variant(s->bonded, MD_BONDED_AVX2);
        compute(s, &other);
        CHECK(memcmp(f, s->f, sizeof f) == 0);
        CHECK(memcmp(&energy, &other, sizeof energy) == 0);
    }
    system_destroy(s);
}

/* Added to what is there; a shift of everything by whole lattice steps of the double grid changes
 * no bit; a list of no entries does nothing. */
static void test_invariance(md_kind kind)
{
    system_t *s = system_create(kind, N_TERMS, 1.0);
    float f[MAX_ROWS][3];
    md_energy energy, other;
    for (int i = 0; i < s->n_rows; i++)
        for (int k = 0; k < 3; k++) s->x[i][k] = round(s->x[i][k] * 0x1p40) * 0x1p-40;
    compute(s, &energy);
    memcpy(f, s->f, sizeof f);
    for (int i = 0; i < s->n_rows; i++)
        for (int k = 0; k < 3; k++) s->x[i][k] += 32.0 * (k + 1);
    compute(s, &other);
    CHECK(memcmp(f, s->f, sizeof f) == 0 && memcmp(&energy, &other, sizeof energy) == 0);
    md_bonded_force(s->bonded, &s->rows, s->f, &other);
    for (int i = 0; i < s->n_rows; i++)
        for (int k = 0; k < 3; k++) /* Urey-Bradley adds twice, so it rounds */
            CHECK_NEAR((double)s->f[i][k], 2 * (double)f[i][k], kind == MD_UREY_BRADLEY ? 1e-2 : 0);
    CHECK(other.bonded[kind] == 2 * energy.bonded[kind]);
    s->rows.list[kind].n = 0;
    compute(s, &other);
    CHECK(other.bonded[kind] == 0 && s->f[0][0] == 0);
    system_destroy(s);
}

static void set_term(system_t *s, const double (*x)[3])
{
    const int n_atoms = md_kind_n_atoms(s->kind);
    for (int a = 0; a < n_atoms; a++) memcpy(s->x[s->atoms[a]], x[a], sizeof x[a]);
}

static void check_finite(system_t *s)
{
    md_energy energy;
    compute(s, &energy);
    CHECK(isfinite(energy.bonded[s->kind]));
    for (int i = 0; i < s->n_rows; i++)
        for (int k = 0; k < 3; k++) CHECK(isfinite(s->f[i][k]));
}

/* Atoms in line or nearly so: finite, and right where the direction of the force is defined. */
static void test_straight(void)
{
    for (int i = 0; i < N_KINDS; i++) {
        const int n_atoms = md_kind_n_atoms(kinds[i]);
        if (n_atoms < 3) continue;
        system_t *s = system_create(kinds[i], 1, 1.0);
        const double straight[4][3] = {{0, 0, 0}, {0.1, 0, 0}, {0.2, 0, 0}, {0.3, 0, 0}};
        const double folded[4][3] = {{0, 0, 0}, {0.1, 0, 0}, {0, 0, 0}, {0.1, 0, 0}};
        double nearly[4][3];
        set_term(s, straight);
        check_finite(s);
        set_term(s, folded);
        check_finite(s);
        for (double off = 1e-3; off > 1e-12; off *= 0.1) {
            memcpy(nearly, straight, sizeof nearly);
            nearly[1][1] += off;
            nearly[3][2] += 0.5 * off;
            set_term(s, (const double(*)[3])nearly);
            check_finite(s);
        }
        system_destroy(s);
    }
    /* a linear angle (theta0 = 180 degrees) works as any other */
    for (double off = 1e-2; off > 1e-6; off *= 0.1) {
        system_t *s = system_create(MD_ANGLE, 1, 1.0);
        const double bent[3][3] = {{-0.1, 0, 0}, {0, off, 0}, {0.12, 0, 0}};
        md_energy energy;
        s->param[0].p[0] = pi;
        md_bonded_destroy(&s->bonded);
        CHECK_OK(md_bonded_create(&s->topology, with_epsilon_r(1), &s->bonded));
        set_term(s, bent);
        compute(s, &energy);
        const double k = s->param[0].p[1], bend = atan2(off, 0.1) + atan2(off, 0.12);
        CHECK_NEAR(energy.bonded[MD_ANGLE], 0.5 * k * bend * bend, 1e-5 * k * bend + 1e-9);
        CHECK_NEAR((double)s->f[s->atoms[0]][1], k * bend * 0.1 / (0.01 + off * off),
                   1e-4 * k * bend / 0.1 + 3e-6 * k);
        system_destroy(s);
    }
}

/* Known torsions: cis 0, trans 180, and the sign. RB counts from trans, so that its sum of C_n at
 * trans and the alternating sum at cis come out. */
static void test_conventions(void)
{
    const double cis[4][3] = {{0, 0.1, 0}, {0, 0, 0}, {0.15, 0, 0}, {0.15, 0.1, 0}};
    const double trans[4][3] = {{0, 0.1, 0}, {0, 0, 0}, {0.15, 0, 0}, {0.15, -0.1, 0}};
    const double plus90[4][3] = {{0, 0.1, 0}, {0, 0, 0}, {0.15, 0, 0}, {0.15, 0, 0.1}};
    md_energy energy;
    double even = 0, odd = 0;
    system_t *s = system_create(MD_DIH_RB, 1, 1.0);
    for (int n = 0; n < 6; n++) *(n % 2 ? &odd : &even) += s->param[0].p[n];
    set_term(s, trans);
    compute(s, &energy);
    CHECK_NEAR(energy.bonded[MD_DIH_RB], even + odd, 1e-4);
    set_term(s, cis);
    compute(s, &energy);
    CHECK_NEAR(energy.bonded[MD_DIH_RB], even - odd, 1e-4);
    system_destroy(s);

    s = system_create(MD_DIH_IMPROPER, 1, 1.0);
    s->param[0].p[0] = 0.25 * pi;
    s->param[0].p[1] = 100;
    md_bonded_destroy(&s->bonded);
    CHECK_OK(md_bonded_create(&s->topology, with_epsilon_r(1), &s->bonded));
    set_term(s, plus90);
    compute(s, &energy);
    CHECK_NEAR(energy.bonded[MD_DIH_IMPROPER], 50 * pi * pi / 16, 1e-4);
    system_destroy(s);
}

/* The difference xi - xi0 jumps at 180 degrees, not the energy. */
static void test_improper_wraps(void)
{
    system_t *s = system_create(MD_DIH_IMPROPER, 1, 1.0);
    for (int side = -1; side <= 1; side += 2) {
        const double phi = side * 0.99 * pi;
        const double x[4][3] = {
            {0, 0.1, 0}, {0, 0, 0}, {0.15, 0, 0}, {0.15, 0.1 * cos(phi), 0.1 * sin(phi)}};
        md_energy energy;
        s->param[0].p[0] = -side * 0.98 * pi;
        s->param[0].p[1] = 80;
        md_bonded_destroy(&s->bonded);
        CHECK_OK(md_bonded_create(&s->topology, with_epsilon_r(1), &s->bonded));
        set_term(s, x);
        compute(s, &energy);
        CHECK_NEAR(energy.bonded[MD_DIH_IMPROPER], 40 * pow(0.03 * pi, 2), 1e-4);
    }
    system_destroy(s);
}

int main(void)
{
    for (int i = 0; i < N_KINDS; i++) {
        for (int n = 1; n <= N_TERMS; n += 4) test_against_reference(kinds[i], n);
        test_box_scaling(kinds[i]);
        test_variants(kinds[i]);
        test_invariance(kinds[i]);
    }
    test_straight();
    test_conventions();
    test_improper_wraps();
    return 0;
}
