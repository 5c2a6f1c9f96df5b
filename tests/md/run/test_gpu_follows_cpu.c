/* A hundred steps on GPUs beside the same on the CPU, with everything that can act on a step:
 * groups of temperature and of centre-of-mass motion, pressure coupling, restraints, frozen atoms,
 * all modifiers. Limits are those of test_trajectories. Cannot catch: what both do wrong alike
 * (that is for the tests against references). Arguments: part of a case's name. */
#define RUN_ON_GPU 1
#include "runs.h"

#include <unistd.h>

/* A list radius that misses no pair, so that trajectories can be compared. */
#define COMMON                                                                                     \
    "dt = 0.002\nnsteps = 100\nnstlist = 10\nnstenergy = 10\nnstcalcenergy = 10\n"                 \
    "verlet-buffer-tolerance = -1\nrlist = 1.05\nrcoulomb = 0.9\nrvdw = 0.9\n"
#define RF      "coulombtype = reaction-field\nepsilon-rf = 0\n"
#define H_BONDS "constraints = h-bonds\n"
#define C_RESCALE                                                                                  \
    "tcoupl = v-rescale\ntc-grps = System\ntau-t = 0.5\nref-t = 300\nld-seed = 17\n"               \
    "pcoupl = C-rescale\ntau-p = 0.5\n"

static const struct {
    const char *name, *system, *mdp, *reference;
} cases[] = {
    {"flexible", "terms/many_terms", COMMON RF, NULL},
    {"switched", "lj/argon_4k", COMMON "vdw-modifier = force-switch\nrvdw-switch = 0.7\n", NULL},
    {"switched too", "grappa-like/0001.5",
     COMMON RF H_BONDS "vdw-modifier = potential-switch\nrvdw-switch = 0.7\n", NULL},
    {"finite epsilon-rf", "ions/nacl_3k",
     COMMON "coulombtype = reaction-field\nepsilon-rf = 78\nvdw-modifier = none\n", NULL},
    {"networks", "peptide/wkdpys_amber", COMMON RF "constraints = all-bonds\n", NULL},
    {"groups", "grappa-like/0003",
     COMMON RF H_BONDS "tcoupl = v-rescale\ntc-grps = ETH SOL\ntau-t = 0.1 0.05\nref-t = 310 290\n"
                       "nsttcouple = 5\nld-seed = 5\ncomm-grps = ETH SOL\nnstcomm = 10\n",
     NULL},
    {"uncoupled group", "peptide/fre_opls",
     COMMON RF H_BONDS "tcoupl = v-rescale\ntc-grps = Protein Water_and_ions\ntau-t = -1 0.1\n"
                       "ref-t = 300 300\nnsttcouple = 1\nld-seed = 9\ncomm-grps = Protein SOL\n",
     NULL},
    {"pressure, triclinic", "water/tip3p_dodec",
     COMMON RF H_BONDS C_RESCALE "compressibility = 4.5e-5\nref-p = 1\nnstpcouple = 10\n"
                                 "DispCorr = EnerPres\n",
     NULL},
    {"semi-isotropic pressure", "peptide/wkdpys_amber",
     COMMON RF H_BONDS C_RESCALE "pcoupltype = semiisotropic\ncompressibility = 1e-4 4.5e-5\n"
                                 "ref-p = 1 1\nnstpcouple = 7\n",
     NULL},
    {"restraints", "peptide/ala_dipeptide",
     COMMON RF H_BONDS "define = -DPOSRES\ncomm-mode = none\n", "peptide/ala_dipeptide/restraints"},
    {"restraints, pressure", "peptide/ala_dipeptide",
     COMMON RF H_BONDS C_RESCALE "define = -DPOSRES\nrefcoord-scaling = com\nnstpcouple = 4\n"
                                 "compressibility = 4.5e-5\nref-p = 1\n",
     "peptide/ala_dipeptide/restraints"},
    {"frozen", "peptide/fre_opls",
     COMMON RF H_BONDS "freezegrps = SideChain Ion\nfreezedim = Y Y Y N Y Y\nnstcomm = 5\n"
                       "tcoupl = v-rescale\ntc-grps = Protein Water_and_ions\ntau-t = 0.1 0.1\n"
                       "ref-t = 300 300\nld-seed = 9\n",
     NULL},
};

static const run_way ways[] = {
    {{1, 1, 1}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
    {{2, 1, 2}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
    {{1, 5, 1}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
};
static const run_way on_cpu = {{1, 1, 1}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}};

/* False: not possible in this way. */
static bool frames_of(size_t c, const run_way *way, md_device_choice device, run_frames *frames)
{
    char mdp[] = "test_gpu_follows_cpu_XXXXXX.mdp";
    int fd = mkstemps(mdp, 4);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    CHECK(file && fputs(cases[c].mdp, file) >= 0 && fclose(file) == 0);
    *frames = (run_frames){.want = {0, 10, 50, 100, -1}};
    md_run_options options = run_options(cases[c].system, mdp, way);
    options.device = device;
    if (cases[c].reference) options.reference = reference_path("%s.gro", cases[c].reference);
    options.observe = run_keep;
    options.observe_arg = frames;
    options.observe_every = 10;
    md_run_result result;
    bool can = true;
    if (device == MD_DEVICE_GPU)
        can = run_can(&options, &result);
    else
        CHECK_OK(md_run(&options, &result));
    unlink(mdp);
    CHECK(!can || frames->n == 4);
    return can;
}

static bool within(const char *what, const run_frame *frame, double value, double limit)
{
    if (value <= limit) return true;
    fprintf(stderr, "  step %d, %s: %.3g, limit %.3g\n", (int)frame->step, what, value, limit);
    return false;
}

static bool positions_agree(const run_frame *a, const run_frame *b)
{
    double sum_x = 0, sum_v = 0, largest = 0;
    for (int64_t i = 0; i < a->n_atoms; i++) {
        double d[3], d2 = 0;
        md_box_nearest(&a->box, a->x[i], b->x[i], d);
        for (int k = 0; k < 3; k++) {
            d2 += d[k] * d[k];
            sum_v += pow(b->v[i][k] - a->v[i][k], 2);
        }
        sum_x += d2;
        largest = fmax(largest, sqrt(d2));
    }
    bool late = a->step > 10;
    double n = (double)a->n_atoms;
    bool good = within("positions, RMS (nm)", a, sqrt(sum_x / n), late ? 2e-5 : 2e-6);
    good = within("positions, largest (nm)", a, largest, late ? 3e-4 : 1e-5) && good;
    return within("velocities, RMS (nm/ps)", a, sqrt(sum_v / n), late ? 1e-3 : 2e-4) && good;
}

static bool energies_agree(const run_frame *a, const run_frame *b)
{
    const md_energy_report *x = &a->energy, *y = &b->energy;
    double scale = fabs(x->potential) + x->kinetic, trace = 0, virial = 0, box = 0;
    double relative = a->step == 0 ? 5e-6 : 1e-4;
    for (int k = 0; k < 9; k++) {
        if (k % 4 == 0) trace += fabs(x->terms.virial[k / 3][k / 3]) + x->kinetic / 3;
        virial = fmax(virial, fabs(x->terms.virial[k / 3][k % 3] - y->terms.virial[k / 3][k % 3]));
        box = fmax(box, fabs(a->box.m[k / 3][k % 3] - b->box.m[k / 3][k % 3]));
    }
    bool good = within("potential", a, fabs(x->potential - y->potential) / scale, relative);
    good = within("kinetic energy", a, fabs(x->kinetic - y->kinetic) / scale, relative) && good;
    good = within("work of coupling", a,
                  fabs(x->conserved - x->total - y->conserved + y->total) / scale, relative) &&
           good;
    good = within("virial", a, virial / trace, a->step == 0 ? 2e-4 : 2e-3) && good;
    good = within("box (nm)", a, box, 1e-6) && good;
    good = within("restraints", a, fabs(x->terms.bonded[MD_POSRES] - y->terms.bonded[MD_POSRES]),
                  (a->step == 0 ? 1e-5 : 2e-4) * x->terms.bonded[MD_POSRES] + 1e-6) &&
           good;
    for (int g = 0; g < MD_MAX_GROUPS; g++)
        good = within("temperature of a group (K)", a,
                      fabs(x->group_temperature[g] - y->group_temperature[g]),
                      a->step == 0 ? 2e-3 : 0.2) &&
               good;
    return good;
}

int main(int argc, char **argv)
{
    int n_failed = 0, n_run = 0;
    run_need_device();
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        if (argc > 1 && !strstr(cases[c].name, argv[1])) continue;
        run_frames cpu, gpu;
        frames_of(c, &on_cpu, MD_DEVICE_CPU, &cpu);
        for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
            if (!run_all() && w == 1 + c % 2) continue;
            if (!frames_of(c, &ways[w], MD_DEVICE_GPU, &gpu)) continue;
            n_run++;
            bool good = true;
            for (int f = 0; f < 4; f++) {
                good = positions_agree(&cpu.frame[f], &gpu.frame[f]) && good;
                good = energies_agree(&cpu.frame[f], &gpu.frame[f]) && good;
            }
            if (!good)
                fprintf(stderr, "FAILED %s (%s) %s\n", cases[c].name, cases[c].system,
                        run_way_text(&ways[w]));
            n_failed += !good;
            run_frames_free(&gpu);
        }
        run_frames_free(&cpu);
    }
    printf("%d runs, %d failed\n", n_run, n_failed);
    return n_failed > 0;
}
