/* Position restraints whose references are in another box and in another image than the atoms,
 * against GROMACS in double precision: energy, potential, virial, forces on restrained atoms, on 1
 * to 12 domains. Together with pressure coupling the trajectory does not depend on the domains.
 * Cannot catch: a wrong reader of -r (test_reference_positions). */
#include "md/in/gro.h"
#include "restraints_moved.h"
#include "runs.h"

#include <unistd.h>

static const char *const system_name = "peptide/ala_dipeptide";
static char mdp_path[] = "test_restraints_XXXXXX.mdp", ref_path[] = "test_posres_XXXXXX.gro";

static void new_name(char *name)
{
    int fd = mkstemps(name, 4);
    CHECK(fd >= 0);
    close(fd);
}

/* Of the start structure, in a box that is larger by 1 %, displaced, and 3 nm off along y: more
 * than the box. */
static void write_references(void)
{
    md_gro gro;
    CHECK_OK(md_gro_read(reference_path("%s/conf.gro", system_name), &gro));
    FILE *file = fopen(ref_path, "w");
    CHECK(file && fprintf(file, "references\n%lld\n", (long long)gro.state.n_atoms) > 0);
    for (int64_t i = 0; i < gro.state.n_atoms; i++) {
        double x[3];
        for (int k = 0; k < 3; k++)
            x[k] = 1.01 * gro.state.x[i][k] + 0.03 * sin(1.7 * (double)i + 2.1 * k) +
                   (k == 1 ? 3.0 : 0.0);
        fprintf(file, "%5d%-5s%5s%5d%14.8f%14.8f%14.8f\n", 1, "ALA", "X", (int)(i + 1) % 100000,
                x[0], x[1], x[2]);
    }
    const double(*m)[3] = (const double(*)[3])gro.state.box.m;
    fprintf(file, "%.8f %.8f %.8f\n", 1.01 * m[0][0], 1.01 * m[1][1], 1.01 * m[2][2]);
    CHECK(fclose(file) == 0);
    md_gro_destroy(&gro);
}

#define SINGLE                                                                                     \
    "dt = 0.002\nnstlist = 10\nverlet-buffer-tolerance = -1\nrlist = 1.05\nnstcalcenergy = 1\n"    \
    "nstenergy = 1\ncoulombtype = reaction-field\nrcoulomb = 0.9\nrvdw = 0.9\n"                    \
    "constraints = h-bonds\ncontinuation = yes\ndefine = -DPOSRES\n"

static run_frames frames_of(const char *more, const run_way *way, int64_t nsteps)
{
    FILE *file = fopen(mdp_path, "w");
    CHECK(file && fprintf(file, "%s%s", SINGLE, more) > 0 && fclose(file) == 0);
    run_frames frames = {.want = {0, 10, 50, 100, -1}};
    md_run_options options = run_options(system_name, mdp_path, way);
    options.reference = ref_path;
    options.nsteps_given = true;
    options.nsteps = nsteps;
    options.observe = run_keep;
    options.observe_arg = &frames;
    options.observe_every = 10;
    md_run_result result;
    CHECK(run_can(&options, &result));
    return frames;
}

static void test_single_point(int c, const run_way *way)
{
    char more[64];
    snprintf(more, sizeof more, "refcoord-scaling = %s\n", posres_reference[c].scaling);
    run_frames frames = frames_of(more, way, 0);
    const md_energy_report *energy = &frames.frame[0].energy;
    double wanted = posres_reference[c].restraint;
    CHECK_NEAR(energy->terms.bonded[MD_POSRES], wanted, 1e-6 * wanted);
    CHECK_NEAR(energy->potential, posres_reference[c].potential, 5e-6 * 27200);
    for (int k = 0; k < 9; k++)
        CHECK_NEAR(energy->terms.virial[k / 3][k % 3], posres_reference[c].virial[k / 3][k % 3],
                   0.1);
    double off = 0, square = 0;
    for (int i = 0; i < N_RESTRAINED; i++)
        for (int k = 0; k < 3; k++) {
            double f = posres_reference[c].force[i][k];
            double d = (double)frames.frame[0].f[restrained[i] - 1][k] - f;
            off += d * d;
            square += f * f;
        }
    CHECK(sqrt(off / square) < 1e-5);
    run_frames_free(&frames);
}

/* Limits: those of trajectories at constant volume. */
static void test_coupled(const char *scaling)
{
    static const run_way ways[] = {
        {{1, 1, 1}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
        {{2, 2, 2}, RUN_SCHEME, NULL, NULL, {NULL, NULL, NULL}},
        {{1, 3, 1}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
    };
    char more[512];
    snprintf(more, sizeof more,
             "refcoord-scaling = %s\ntcoupl = v-rescale\ntc-grps = System\ntau-t = 0.5\n"
             "ref-t = 300\npcoupl = C-rescale\ntau-p = 0.5\nnstpcouple = 4\nref-p = 1\n"
             "compressibility = 4.5e-5\nld-seed = 3\n",
             scaling);
    run_frames first = frames_of(more, &ways[0], 100);
    CHECK(first.n == 4 && first.frame[3].energy.terms.bonded[MD_POSRES] > 0);
    CHECK(first.frame[3].box.m[0][0] != first.frame[0].box.m[0][0]);
    for (size_t w = 1; w < sizeof ways / sizeof ways[0]; w++) {
        run_frames other = frames_of(more, &ways[w], 100);
        for (int f = 0; f < 4; f++) {
            const run_frame *a = &first.frame[f], *b = &other.frame[f];
            double sum = 0;
            for (int64_t i = 0; i < a->n_atoms; i++) {
                double d[3];
                md_box_nearest(&a->box, a->x[i], b->x[i], d);
                sum += d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            }
            CHECK(sqrt(sum / (double)a->n_atoms) < (a->step <= 10 ? 2e-6 : 2e-5));
            CHECK_NEAR(b->energy.terms.bonded[MD_POSRES], a->energy.terms.bonded[MD_POSRES],
                       2e-4 * a->energy.terms.bonded[MD_POSRES]);
        }
        run_frames_free(&other);
    }
    run_frames_free(&first);
}

int main(void)
{
    run_need_device();
    static const run_way ways[] = {
        {{1, 1, 1}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
        {{1, 1, 1}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
        {{2, 1, 1}, RUN_SCHEME, NULL, NULL, {NULL, NULL, NULL}},
        {{1, 4, 1}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
        {{2, 3, 2}, RUN_SCHEME, NULL, NULL, {NULL, NULL, NULL}},
        {{2, 2, 3}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
    };
    new_name(mdp_path);
    new_name(ref_path);
    write_references();
    for (int c = 0; c < 3; c++)
        for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) test_single_point(c, &ways[w]);
    test_coupled("all");
    test_coupled("com");
    unlink(mdp_path);
    unlink(ref_path);
    return 0;
}
