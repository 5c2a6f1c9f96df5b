/* Where a run computes: what GPUs cannot do is an error that names it with -device gpu, and a note
 * with auto, which then computes on the CPU; which GPUs serve which domains. */
#define RUN_ON_GPU 1
#include "md/run/device_choice.h"
#include "runs.h"

#include <unistd.h>

static char mdp[] = "test_gpu_choice_XXXXXX.mdp";

static void write_mdp(const char *text)
{
    FILE *file = fopen(mdp, "w");
    CHECK(file);
    fprintf(file,
            "nstlist = 10\nrcoulomb = 0.9\nrvdw = 0.9\ncoulombtype = reaction-field\n"
            "constraints = h-bonds\n%s",
            text);
    CHECK(fclose(file) == 0);
}

static md_run_options options_for(const char *system, md_device_choice device)
{
    run_way way = {.scheme = MD_SCHEME_SHELL};
    md_run_options options = run_options(system, mdp, &way);
    options.scheme_given = false;
    options.scheme = MD_SCHEME_RETURN;
    options.device = device;
    return options;
}

static void has(const char *text, const char *wanted)
{
    if (strstr(text, wanted)) return;
    fprintf(stderr, "no '%s' in: %s\n", wanted, text);
    exit(1);
}

/* An error with -device gpu or -gpus, a note and the CPU with auto, nothing with cpu. */
static void check_obstacle(md_run_options options, const char *why)
{
    md_system system;
    options.device = MD_DEVICE_GPU;
    CHECK(md_setup(&options, &system) == SUNDOG_ERR_UNSUPPORTED);
    has(sundog_last_error(), "-device gpu: ");
    has(sundog_last_error(), why);
    options.device = MD_DEVICE_AUTO;
    options.n_gpus = 1;
    CHECK(md_setup(&options, &system) == SUNDOG_ERR_UNSUPPORTED);
    has(sundog_last_error(), "-gpus: ");
    has(sundog_last_error(), why);
    options.n_gpus = 0;
    CHECK_OK(md_setup(&options, &system));
    CHECK(system.n_gpus == 0 && system.reach.scheme == MD_SCHEME_RETURN);
    has(system.notes, "Note: computes on the CPU: ");
    has(system.notes, why);
    md_setup_destroy(&system);
    options.device = MD_DEVICE_CPU;
    CHECK_OK(md_setup(&options, &system));
    CHECK(system.n_gpus == 0 && !strstr(system.notes, "GPU"));
    md_setup_destroy(&system);
}

static void test_obstacles(void)
{
    write_mdp("integrator = steep\n");
    check_obstacle(options_for("grappa-like/0003", MD_DEVICE_GPU), "integrator = steep");
    write_mdp("");
    md_run_options options = options_for("grappa-like/0003", MD_DEVICE_GPU);
    options.kernel = "reference";
    check_obstacle(options, "-kernel reference");
    options = options_for("grappa-like/0003", MD_DEVICE_GPU);
    options.rung = "reference";
    check_obstacle(options, "-exchange reference");
    /* Half of the dodecahedron's smallest width is 1.3585 nm; half of its edge, 1.92. */
    write_mdp("verlet-buffer-tolerance = -1\nrlist = 1.4\n");
    check_obstacle(options_for("water/tip3p_dodec", MD_DEVICE_GPU), "perpendicular width");
}

static void expect_error(const md_run_options *options, sundog_status status, const char *wanted)
{
    md_system system;
    CHECK(md_setup(options, &system) == status);
    has(sundog_last_error(), wanted);
}

static void test_gpus(void)
{
    int n = sundog_gpu_count();
    write_mdp("");
    md_run_options options = options_for("grappa-like/0003", MD_DEVICE_AUTO);
    md_system system;
    CHECK_OK(md_setup(&options, &system));
    CHECK(system.n_gpus >= 1 && system.n_gpus <= n && system.reach.scheme == MD_SCHEME_SHELL);
    CHECK(system.rung && system.route == SUNDOG_ROUTE_DIRECT);
    CHECK(system.grid.n[0] * system.grid.n[1] * system.grid.n[2] == system.n_gpus);
    has(system.notes, "Computes on ");
    char gpus[256], driver[64];
    md_device_names(&system, gpus, sizeof gpus, driver, sizeof driver);
    printf("%s, driver %s\n%s", gpus, driver, system.notes);
    CHECK(strlen(gpus) > 4);
    md_setup_destroy(&system);

    /* The CPU's rung is refused where it is meant to go to GPUs, theirs on the CPU. */
    options.rung = "flit";
    options.device = MD_DEVICE_CPU;
    expect_error(&options, SUNDOG_ERR_UNSUPPORTED, "-exchange flit is for GPUs");
    options = options_for("grappa-like/0003", MD_DEVICE_GPU);
    options.n_gpus = 1;
    options.gpus[0] = n;
    expect_error(&options, SUNDOG_ERR_ARGUMENT, "there is no GPU");
    options.n_gpus = 2;
    options.gpus[0] = options.gpus[1] = n - 1;
    expect_error(&options, SUNDOG_ERR_ARGUMENT, "is given twice");
    options.n_gpus = 0;
    options.scheme_given = true; /* return */
    options.dd[0] = 2, options.dd[1] = options.dd[2] = 1;
    expect_error(&options, SUNDOG_ERR_INPUT, "scheme return on GPUs needs more than");
    options.scheme_given = false;
    options.n_gpus = 1;
    options.dd[0] = 2, options.dd[1] = 2, options.dd[2] = 1;
    CHECK_OK(md_setup(&options, &system));
    CHECK(system.n_gpus == 1);
    for (int r = 0; r < 4; r++) CHECK(md_device_of_domain(&system, r) == n - 1);
    has(system.notes, "4 domains each");
    md_setup_destroy(&system);
}

static void test_two_gpus(void)
{
    if (sundog_gpu_count() < 2) return;
    md_run_options options = options_for("grappa-like/0003", MD_DEVICE_GPU);
    md_system system;
    options.n_gpus = 2;
    options.gpus[0] = 1;
    options.dd[0] = 3, options.dd[1] = 1, options.dd[2] = 1;
    CHECK_OK(md_setup(&options, &system));
    CHECK(system.n_gpus == 2 && md_device_of_domain(&system, 0) == 1);
    CHECK(md_device_of_domain(&system, 1) == 1 && md_device_of_domain(&system, 2) == 0);
    has(system.notes, "1 or 2 domains each");
    md_setup_destroy(&system);
    options.dd[0] = 1;
    CHECK_OK(md_setup(&options, &system));
    CHECK(system.n_gpus == 1 && system.gpus[0] == 1);
    CHECK(system.nstpartition == system.nstrenew && !system.reach.complete);
    has(system.notes, "Note: 1 domain on 1 of 2 GPUs");
    md_setup_destroy(&system);
}

int main(void)
{
    run_need_device();
    int fd = mkstemps(mdp, 4);
    CHECK(fd >= 0 && close(fd) == 0);
    test_obstacles();
    test_gpus();
    test_two_gpus();
    unlink(mdp);
    return 0;
}
