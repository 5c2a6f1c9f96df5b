/* See device_choice.h. A build without CUDA has no GPUs (sundog_gpu_count() is 0), so nothing here
 * depends on how the program was built. */
#include "md/run/device_choice.h"

#include "md/gpu/gpu.h"
#include "md/motion/move_jobs.h"
#include "md/run/lists.h"
#include "md/run/processes.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void note(md_system *system, const char *format, ...)
{
    size_t used = strlen(system->notes);
    va_list args;
    va_start(args, format);
    vsnprintf(system->notes + used, sizeof system->notes - used, format, args);
    va_end(args);
}

/* ---- what GPUs cannot do ------------------------------------------------------------------ */

static bool is_gpu_rung(const char *rung)
{
    int n;
    const char *const *known = sundog_gpu_rungs(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(known[i], rung) == 0) return true;
    return false;
}

static int n_kinds_of_water(const md_topology *topology)
{
    md_settle *settle;
    if (md_settle_create(topology, false, &settle) != SUNDOG_OK) return 0; /* told elsewhere */
    int n = settle->n_models;
    md_settle_destroy(&settle);
    return n;
}

/* Writes what stands in the way, or nothing. */
static void find_obstacle(const md_run_options *options, const md_system *system, char *text,
                          size_t n_bytes)
{
    int n_waters = n_kinds_of_water(system->topology);
    text[0] = '\0';
    if (md_processes_count(options->processes) > 1)
        snprintf(text, n_bytes,
                 "several processes compute on the CPU alone; one process takes all "
                 "GPUs of a machine");
    else if (system->params.integrator == MD_INTEGRATOR_STEEP)
        snprintf(text, n_bytes, "integrator = steep runs on the CPU alone");
    else if (n_waters > MD_JOB_MAX_MODELS)
        snprintf(text, n_bytes, "%d kinds of rigid water, on GPUs %d at most", n_waters,
                 MD_JOB_MAX_MODELS);
    else if (system->groups.frozen && system->params.pcoupl != MD_PCOUPL_NO)
        snprintf(text, n_bytes, "frozen atoms (freezegrps) with pressure coupling");
    else if (options->kernel)
        snprintf(text, n_bytes, "-kernel %s is a pair kernel of the CPU", options->kernel);
    else if (options->rung && !is_gpu_rung(options->rung))
        snprintf(text, n_bytes, "-exchange %s is an exchange of the CPU", options->rung);
}

/* ---- which GPUs --------------------------------------------------------------------------- */

static sundog_status check_given(const md_run_options *options)
{
    int n = sundog_gpu_count();
    for (int i = 0; i < options->n_gpus; i++) {
        if (options->gpus[i] < 0 || options->gpus[i] >= n)
            return base_fail(SUNDOG_ERR_ARGUMENT,
                             "-gpus: there is no GPU %d, this process sees 0 to %d",
                             options->gpus[i], n - 1);
        for (int j = 0; j < i; j++)
            if (options->gpus[i] == options->gpus[j])
                return base_fail(SUNDOG_ERR_ARGUMENT,
                                 "-gpus: GPU %d is given twice; several domains share a GPU "
                                 "with -nd or -dd",
                                 options->gpus[i]);
    }
    return SUNDOG_OK;
}

/* Do these GPUs serve the exchange, also with one another? */
static sundog_status check_together(const md_run_options *options, const int *gpus, int n)
{
    char text[512];
    return sundog_gpu_rung_check(options->rung ? options->rung : "fused", gpus, n, text,
                                 sizeof text);
}

/* Those given; else all that can be used, each with all before it. */
static sundog_status take_gpus(const md_run_options *options, md_system *system)
{
    if (options->n_gpus > 0) {
        BASE_TRY(check_given(options));
        BASE_TRY(check_together(options, options->gpus, options->n_gpus));
        memcpy(system->gpus, options->gpus, sizeof system->gpus);
        system->n_gpus = options->n_gpus;
        return SUNDOG_OK;
    }
    int n = sundog_gpu_count();
    char why[512] = "";
    for (int gpu = 0; gpu < n && system->n_gpus < MD_MAX_GPUS; gpu++) {
        system->gpus[system->n_gpus] = gpu;
        if (check_together(options, system->gpus, system->n_gpus + 1) == SUNDOG_OK) {
            system->n_gpus++;
            continue;
        }
        snprintf(why, sizeof why, "%s", sundog_last_error());
        if (system->n_gpus > 0) note(system, "Note: GPU %d is not used: %s.\n", gpu, why);
    }
    if (system->n_gpus > 0) return SUNDOG_OK;
    return base_fail(SUNDOG_ERR_UNSUPPORTED, "%s", why);
}

/* GPUs that were asked for, by either option, and cannot do it are an error. */
static sundog_status refuse(const md_run_options *options, md_system *system, const char *why)
{
    system->n_gpus = 0;
    if (options->device == MD_DEVICE_GPU || options->n_gpus > 0)
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "%s: %s; -device cpu computes on the processor",
                         options->n_gpus > 0 ? "-gpus" : "-device gpu", why);
    note(system, "Note: computes on the CPU: %s.\n", why);
    return SUNDOG_OK;
}

const char *md_device_why_none(void)
{
    return md_gpu_is_built() ? "this process sees no GPU (no NVIDIA driver, or "
                               "CUDA_VISIBLE_DEVICES hides them)"
                             : "this program was built without support for GPUs (it needs CUDA "
                               "12.4 or newer; cmake -DSUNDOG_CUDA=ON says what is missing)";
}

sundog_status md_device_choose(const md_run_options *options, md_system *system)
{
    char why[512];
    system->n_gpus = 0;
    if (options->device == MD_DEVICE_CPU) return SUNDOG_OK;
    bool asked = options->device == MD_DEVICE_GPU || options->n_gpus > 0;
    if (sundog_gpu_count() == 0) {
        if (!asked) return SUNDOG_OK;
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "%s: %s",
                         options->n_gpus > 0 ? "-gpus" : "-device gpu", md_device_why_none());
    }
    find_obstacle(options, system, why, sizeof why);
    if (why[0] != '\0') return refuse(options, system, why);
    sundog_status status = take_gpus(options, system);
    if (status == SUNDOG_OK || options->n_gpus > 0) return status;
    snprintf(why, sizeof why, "%s", sundog_last_error());
    return refuse(options, system, why);
}

/* ---- what follows from it ----------------------------------------------------------------- */

md_scheme md_device_scheme(const md_run_options *options, const md_system *system)
{
    return system->n_gpus > 0 && !options->scheme_given ? MD_SCHEME_SHELL : options->scheme;
}

/* Differences of rows wrap to the nearest image axis by axis (core/device_row.h). */
bool md_device_allows_lists(const md_system *system, double radius)
{
    return system->n_gpus == 0 || radius <= md_lists_range(&system->start_box, MD_LISTS_GPU);
}

sundog_status md_device_refuse_lists(const md_run_options *options, md_system *system)
{
    char why[256];
    snprintf(why, sizeof why,
             "the pair-list radius, %.4g nm, is more than %.4g nm, half of the box's smallest "
             "perpendicular width less what three bonded atoms take up",
             system->rlist, md_lists_range(&system->start_box, MD_LISTS_GPU));
    return refuse(options, system, why);
}

int md_device_of_domain(const md_system *system, int domain)
{
    const int *n = system->grid.n;
    return system->gpus[domain * system->n_gpus / (n[0] * n[1] * n[2])];
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue ...": the first word that begins
 * with a digit. */
void md_device_driver(char *text, size_t n_bytes)
{
    char line[256] = "";
    text[0] = '\0';
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (!file) return;
    if (fgets(line, sizeof line, file))
        for (char *rest = line, *word; (word = strtok_r(rest, " \t\n", &rest)) != NULL;)
            if (isdigit((unsigned char)word[0])) {
                snprintf(text, n_bytes, "%s", word);
                break;
            }
    fclose(file);
}

void md_device_names(const md_system *system, char *gpus, size_t n_gpus, char *driver,
                     size_t n_driver)
{
    gpus[0] = '\0';
    driver[0] = '\0';
    if (system->n_gpus == 0) return;
    md_device_driver(driver, n_driver);
    size_t used = 0;
    for (int i = 0, same; i < system->n_gpus; i += same) {
        char name[256], next[256];
        for (same = 0; i + same < system->n_gpus; same++) {
            if (sundog_gpu_describe(system->gpus[i + same], next, sizeof next) != SUNDOG_OK)
                snprintf(next, sizeof next, "unknown");
            next[strcspn(next, ",")] = '\0';
            if (same > 0 && strcmp(name, next) != 0) break;
            memcpy(name, next, sizeof name);
        }
        if (used >= n_gpus) return;
        used +=
            (size_t)snprintf(gpus + used, n_gpus - used, "%s%d x %s", i ? ", " : "", same, name);
    }
}

/* The first that these GPUs can serve and that goes with the route; they are sorted. */
static sundog_status choose_rung(const md_run_options *options, md_system *system)
{
    int n;
    char text[512];
    const char *const *rungs = sundog_gpu_rungs(&n);
    system->rung = options->rung;
    for (int i = 0; i < n && !system->rung; i++) {
        if (strcmp(rungs[i], "direct") == 0 && system->route == SUNDOG_ROUTE_STAGED) continue;
        if (sundog_gpu_rung_check(rungs[i], system->gpus, system->n_gpus, text, sizeof text) ==
            SUNDOG_OK)
            system->rung = rungs[i];
    }
    if (system->rung) return SUNDOG_OK;
    return base_fail(SUNDOG_ERR_UNSUPPORTED, "no exchange serves these GPUs: %s",
                     sundog_last_error());
}

sundog_status md_device_finish(const md_run_options *options, md_system *system)
{
    if (system->n_gpus == 0) {
        if (options->ghosts != MD_GHOSTS_AUTO)
            return base_fail(SUNDOG_ERR_UNSUPPORTED,
                             "-ghosts is for GPUs, and this run computes on the CPU");
        if (!options->rung || !is_gpu_rung(options->rung)) return SUNDOG_OK;
        int n;
        const char *const *rungs = sundog_exchange_rungs(&n);
        for (int i = 0; i < n; i++)
            if (strcmp(rungs[i], options->rung) == 0) return SUNDOG_OK;
        return base_fail(SUNDOG_ERR_UNSUPPORTED,
                         "-exchange %s is for GPUs, and this run computes on the CPU",
                         options->rung);
    }
    const int *n = system->grid.n, n_domains = n[0] * n[1] * n[2];
    if (n_domains < system->n_gpus) {
        note(system, "Note: %d domain%s on %d of %d GPUs.\n", n_domains, n_domains > 1 ? "s" : "",
             n_domains, system->n_gpus);
        system->n_gpus = n_domains;
    }
    BASE_TRY(choose_rung(options, system));
    char names[512], driver[64], most[32] = "";
    md_device_names(system, names, sizeof names, driver, sizeof driver);
    if (n_domains % system->n_gpus)
        snprintf(most, sizeof most, " or %d", n_domains / system->n_gpus + 1);
    note(system, "Computes on %d GPU%s: %s", system->n_gpus, system->n_gpus > 1 ? "s" : "", names);
    if (driver[0] != '\0') note(system, ", driver %s", driver);
    note(system, "; %d%s domain%s each; scheme %s", n_domains / system->n_gpus, most,
         n_domains > system->n_gpus ? "s" : "",
         system->reach.scheme == MD_SCHEME_SHELL ? "shell" : "return");
    if (n_domains > 1)
        note(system, ", exchange %s, route %s", system->rung,
             system->route == SUNDOG_ROUTE_DIRECT ? "direct" : "staged");
    note(system, ".\n");
    return SUNDOG_OK;
}
