#include "md/run/outputs.h"

#include "base/alloc.h"
#include "md/out/conf.h"
#include "md/out/edr.h"
#include "md/out/energy_csv.h"
#include "md/out/tail.h"
#include "md/out/traj.h"
#include "md/run/processes.h"
#include "md/run/report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_ENERGY, FILE_XTC, FILE_TRR, FILE_LOG, FILE_EDR };
static const char *const file_name[MD_N_OUTPUTS] = {"energy.csv", "traj_comp.xtc", "traj.trr",
                                                    "md.log", "ener.edr"};

struct md_outputs {
    char dir[3072];
    int lock; /* the folder itself, locked; -1: none */
    FILE *log;
    md_energy_csv *csv;
    md_edr *edr;
    md_averages since_frame, whole_run;
    bool has_xtc, has_trr; /* the run writes them; in whichever process */
    md_xtc *xtc;
    md_trr *trr;
    const md_groups *groups;
    double (*compressed_x)[3]; /* of the group in the .xtc, when that is not all atoms */
    int64_t mark[MD_N_OUTPUTS];
    double *mark_averages;
};

static sundog_status path_of(const md_outputs *outputs, const char *name, char path[4096])
{
    int n = snprintf(path, 4096, "%s/%s", outputs->dir, name);
    if (n < 0 || n >= 4096)
        return base_fail(SUNDOG_ERR_IO, "the path %s/%s is too long", outputs->dir, name);
    return SUNDOG_OK;
}

/* Make the folder and its parents. */
static sundog_status make_dir(const char *dir)
{
    char path[3072];
    snprintf(path, sizeof path, "%s", dir);
    for (char *at = path + 1;; at++) {
        if (*at != '/' && *at != '\0') continue;
        char kept = *at;
        *at = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return base_fail(SUNDOG_ERR_IO, "cannot make the output folder %s: %s", path,
                             strerror(errno));
        if (kept == '\0') break;
        *at = kept;
    }
    struct stat what;
    if (stat(dir, &what) == 0 && !S_ISDIR(what.st_mode))
        return base_fail(SUNDOG_ERR_IO, "%s is no folder; -o names a folder for all results", dir);
    if (access(dir, W_OK | X_OK) != 0)
        return base_fail(SUNDOG_ERR_IO, "cannot write to the output folder %s: %s", dir,
                         strerror(errno));
    return SUNDOG_OK;
}

/* Two runs in one folder would take each other's files away. The lock ends with the process,
 * however it ends; file systems without locks are trusted. */
static sundog_status lock_dir(md_outputs *outputs)
{
    outputs->lock = open(outputs->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (outputs->lock >= 0 && flock(outputs->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return base_fail(SUNDOG_ERR_IO,
                         "another run is writing to the folder %s; wait for it, or give another "
                         "folder with -o",
                         outputs->dir);
    return SUNDOG_OK;
}

/* As gmx does: an old md.log becomes #md.log.1#, or the first free number. */
static sundog_status keep_old(const md_outputs *outputs, const char *name)
{
    char path[4096], kept[4096], kept_name[128];
    BASE_TRY(path_of(outputs, name, path));
    if (access(path, F_OK) != 0) return SUNDOG_OK;
    for (int i = 1; i < 100000; i++) {
        snprintf(kept_name, sizeof kept_name, "#%s.%d#", name, i);
        BASE_TRY(path_of(outputs, kept_name, kept));
        if (access(kept, F_OK) == 0) continue;
        if (rename(path, kept) != 0)
            return base_fail(SUNDOG_ERR_IO, "cannot rename %s to %s: %s", path, kept,
                             strerror(errno));
        return SUNDOG_OK;
    }
    return base_fail(SUNDOG_ERR_IO, "too many old copies of %s; clean up the folder", path);
}

static sundog_status check_tail(const md_system *system, int i, const char *path)
{
    uint64_t sum;
    if (!system->has_tails || i == FILE_LOG) return SUNDOG_OK;
    BASE_TRY(md_tail_sum(path, system->output_offset[i], &sum));
    if (sum == system->output_tail[i]) return SUNDOG_OK;
    return base_fail(SUNDOG_ERR_INPUT,
                     "%s is not the file that the checkpoint belongs to: the bytes before %lld, "
                     "where the restart would go on, are others than when the checkpoint was "
                     "written. Give the folder of that run with -o, or start anew without -cpi",
                     path, (long long)system->output_offset[i]);
}

static int64_t n_atoms_in_xtc(const md_system *system)
{
    const md_groups *groups = &system->groups;
    return groups->compressed ? groups->n_compressed : system->topology->n_atoms;
}

/* Frames of other atoms behind those that are there would make a file that nobody reads. */
static sundog_status check_xtc_atoms(const char *path, int64_t append_at, int64_t n_atoms)
{
    unsigned char head[8];
    if (append_at < (int64_t)sizeof head) return SUNDOG_OK;
    FILE *file = fopen(path, "rb");
    bool read = file && fread(head, 1, sizeof head, file) == sizeof head;
    if (file) fclose(file);
    int64_t found = (int64_t)head[4] << 24 | head[5] << 16 | head[6] << 8 | head[7];
    if (!read || found == n_atoms)
        return SUNDOG_OK; /* what cannot be read fails when it is opened */
    return base_fail(SUNDOG_ERR_INPUT,
                     "%s holds frames of %lld atoms, this run would append some of %lld; give the "
                     "compressed-x-grps with which it was begun, or another folder with -o",
                     path, (long long)found, (long long)n_atoms);
}

/* Before anything is cut: are all files there that the checkpoint speaks of, and the same? */
static sundog_status check_old(const md_outputs *outputs, const md_system *system)
{
    const int64_t *offset = system->output_offset;
    for (int i = 0; i < MD_N_OUTPUTS; i++) {
        char path[4096];
        struct stat info;
        if (offset[i] < 0) continue;
        BASE_TRY(path_of(outputs, file_name[i], path));
        if (stat(path, &info) != 0 || info.st_size < offset[i])
            return base_fail(SUNDOG_ERR_IO,
                             "%s is missing or shorter than when the checkpoint was written. A "
                             "restart appends to the files of its run: give that folder with -o, "
                             "or start anew without -cpi",
                             path);
        if (access(path, W_OK) != 0)
            return base_fail(SUNDOG_ERR_IO, "cannot write to %s: %s", path, strerror(errno));
        BASE_TRY(check_tail(system, i, path));
        if (i == FILE_XTC && system->params.nstxout_compressed > 0)
            BASE_TRY(check_xtc_atoms(path, offset[i], n_atoms_in_xtc(system)));
    }
    return SUNDOG_OK;
}

/* A restart cuts nothing from md.log: what an earlier part measured stays to be read. */
static sundog_status open_log(md_outputs *outputs, bool append)
{
    char path[4096];
    BASE_TRY(path_of(outputs, file_name[FILE_LOG], path));
    outputs->log = fopen(path, append ? "a" : "w");
    if (!outputs->log || fseeko(outputs->log, 0, SEEK_END) != 0)
        return base_fail(SUNDOG_ERR_IO, "cannot open %s: %s", path, strerror(errno));
    return SUNDOG_OK;
}

/* energy.csv and ener.edr: the same terms. */
static sundog_status open_energies(md_outputs *outputs, const md_system *system)
{
    char path[4096], columns[MD_MAX_TERMS][128];
    const char *names[MD_MAX_TERMS];
    md_edr_term named[MD_MAX_TERMS];
    md_energy_report empty = {0};
    md_term terms[MD_MAX_TERMS];
    int n = md_report_terms(system, &empty, terms);
    for (int i = 0; i < n; i++) {
        const char *unit = terms[i].unit;
        if (unit[0])
            snprintf(columns[i], sizeof columns[i], "%.71s (%.15s)", terms[i].name, unit);
        else
            snprintf(columns[i], sizeof columns[i], "%.71s", terms[i].name);
        names[i] = columns[i];
        named[i] = (md_edr_term){terms[i].name, unit};
    }
    const int64_t *offset = system->output_offset;
    BASE_TRY(path_of(outputs, file_name[FILE_EDR], path));
    BASE_TRY(md_edr_open(path, offset[FILE_EDR], named, n, system->params.dt, &outputs->edr));
    BASE_TRY(path_of(outputs, file_name[FILE_ENERGY], path));
    return md_energy_csv_open(path, offset[FILE_ENERGY], names, n, &outputs->csv);
}

static sundog_status open_xtc(md_outputs *outputs, const md_system *system)
{
    char path[4096];
    const md_groups *groups = &system->groups;
    BASE_TRY(path_of(outputs, file_name[FILE_XTC], path));
    outputs->groups = groups;
    if (groups->compressed)
        outputs->compressed_x =
            base_alloc((size_t)groups->n_compressed * sizeof *outputs->compressed_x);
    return md_xtc_open(path, system->output_offset[FILE_XTC], system->params.compressed_x_precision,
                       &outputs->xtc);
}

/* Both averages, one behind the other, are what a checkpoint keeps. */
static size_t n_averages(const md_outputs *outputs)
{
    return 2 * (1 + 2 * (size_t)outputs->since_frame.n_terms);
}

static void open_averages(md_outputs *outputs, const md_system *system)
{
    md_energy_report empty = {0};
    md_term terms[MD_MAX_TERMS];
    int n = md_report_terms(system, &empty, terms);
    md_averages_create(n, &outputs->since_frame);
    md_averages_create(n, &outputs->whole_run);
    outputs->mark_averages = base_alloc_zero(n_averages(outputs) * sizeof(double));
    size_t half = n_averages(outputs) / 2;
    if (system->n_averages != 2 * half) return; /* a checkpoint without them */
    memcpy(outputs->since_frame.value, system->averages, half * sizeof(double));
    memcpy(outputs->whole_run.value, system->averages + half, half * sizeof(double));
}

static sundog_status open_all(const md_system *system, md_outputs *outputs)
{
    const int64_t *offset = system->output_offset;
    char path[4096];
    BASE_TRY(open_energies(outputs, system)); /* first: refuses foreign files before it cuts */
    open_averages(outputs, system);
    BASE_TRY(open_log(outputs, offset[FILE_LOG] >= 0));
    if (outputs->has_xtc) BASE_TRY(open_xtc(outputs, system));
    if (outputs->has_trr) {
        BASE_TRY(path_of(outputs, file_name[FILE_TRR], path));
        BASE_TRY(md_trr_open(path, offset[FILE_TRR], &outputs->trr));
    }
    return SUNDOG_OK;
}

static bool is_same_file(const char *path, const char *dir, const char *name)
{
    char other[4096 + 32];
    struct stat a, b;
    snprintf(other, sizeof other, "%s/%s", dir, name);
    return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

sundog_status md_outputs_open(const md_run_options *options, const md_system *system,
                              md_outputs **out)
{
    md_outputs *outputs = base_alloc_zero(sizeof *outputs);
    outputs->lock = -1;
    *out = outputs;
    if (!options->out_dir) return SUNDOG_OK;
    const md_params *params = &system->params;
    outputs->has_xtc = params->nstxout_compressed > 0;
    outputs->has_trr = params->nstxout > 0 || params->nstvout > 0 || params->nstfout > 0;
    if (!md_processes_is_first(options->processes)) return SUNDOG_OK;
    if (options->out_dir[0] == '\0')
        return base_fail(SUNDOG_ERR_ARGUMENT, "the name of the output folder is empty; the current "
                                              "one is \".\"");
    if (strlen(options->out_dir) >= sizeof outputs->dir)
        return base_fail(SUNDOG_ERR_IO, "the name of the output folder is too long");
    snprintf(outputs->dir, sizeof outputs->dir, "%s", options->out_dir);
    BASE_TRY(make_dir(outputs->dir));
    BASE_TRY(lock_dir(outputs));
    BASE_TRY(check_old(outputs, system));
    for (int i = 0; i < MD_N_OUTPUTS; i++)
        if (system->output_offset[i] < 0) BASE_TRY(keep_old(outputs, file_name[i]));
    if (system->continued && !is_same_file(options->cpi, outputs->dir, "state.cpt"))
        BASE_TRY(keep_old(outputs, "state.cpt")); /* or it would push out a better one */
    if (!system->continued) {
        BASE_TRY(keep_old(outputs, "state.cpt"));
        BASE_TRY(keep_old(outputs, "state_prev.cpt"));
        BASE_TRY(keep_old(outputs, "confout.gro"));
    }
    return open_all(system, outputs);
}

FILE *md_outputs_log(md_outputs *outputs)
{
    return outputs->log;
}

md_frame_parts md_outputs_due(const md_outputs *outputs, const md_params *params, int64_t count)
{
    return (md_frame_parts){.xtc = outputs->has_xtc && md_due(params->nstxout_compressed, count),
                            .x = outputs->has_trr && md_due(params->nstxout, count),
                            .v = outputs->has_trr && md_due(params->nstvout, count),
                            .f = outputs->has_trr && md_due(params->nstfout, count)};
}

static sundog_status write_compressed(md_outputs *outputs, const md_state *state)
{
    const md_groups *groups = outputs->groups;
    int64_t n_atoms = groups->compressed ? groups->n_compressed : state->n_atoms;
    for (int64_t i = 0; i < n_atoms && groups->compressed; i++)
        memcpy(outputs->compressed_x[i], state->x[groups->compressed[i]], sizeof *state->x);
    double(*x)[3] = groups->compressed ? outputs->compressed_x : state->x;
    return md_xtc_write(outputs->xtc, state->step, state->time, &state->box, n_atoms,
                        (const double(*)[3])x);
}

sundog_status md_outputs_frame(md_outputs *outputs, const md_frame_parts *parts,
                               const md_state *state, const float (*f)[3])
{
    const double(*x)[3] = (const double(*)[3])state->x, (*v)[3] = (const double(*)[3])state->v;
    if (parts->xtc) BASE_TRY(write_compressed(outputs, state));
    if (parts->x || parts->v || parts->f)
        BASE_TRY(md_trr_write(outputs->trr, state->step, state->time, &state->box, state->n_atoms,
                              parts->x ? x : NULL, parts->v ? v : NULL, parts->f ? f : NULL));
    return SUNDOG_OK;
}

void md_outputs_sample(md_outputs *outputs, const md_system *system, const md_energy_report *report)
{
    if (!outputs->csv) return;
    md_term terms[MD_MAX_TERMS];
    double values[MD_MAX_TERMS];
    int n = md_report_terms(system, report, terms);
    for (int i = 0; i < n; i++) values[i] = terms[i].value;
    md_averages_add(&outputs->since_frame, values);
    md_averages_add(&outputs->whole_run, values);
}

void md_outputs_averages(const md_outputs *outputs, const md_system *system)
{
    if (outputs->log) md_report_averages(outputs->log, system, &outputs->whole_run);
}

sundog_status md_outputs_energy(md_outputs *outputs, const md_system *system,
                                const md_energy_report *report)
{
    if (!outputs->csv) return SUNDOG_OK;
    md_term terms[MD_MAX_TERMS];
    double values[MD_MAX_TERMS];
    int n = md_report_terms(system, report, terms);
    for (int i = 0; i < n; i++) values[i] = terms[i].value;
    BASE_TRY(md_energy_csv_write(outputs->csv, report->time, values));
    BASE_TRY(md_edr_write(outputs->edr, report->step, report->time, values, &outputs->since_frame));
    md_averages_clear(&outputs->since_frame);
    return SUNDOG_OK;
}

void md_outputs_mark(md_outputs *outputs)
{
    if (outputs->log) fflush(outputs->log);
    outputs->mark[FILE_LOG] = outputs->log ? (int64_t)ftello(outputs->log) : -1;
    outputs->mark[FILE_ENERGY] = outputs->csv ? md_energy_csv_offset(outputs->csv) : -1;
    outputs->mark[FILE_XTC] = outputs->xtc ? md_xtc_offset(outputs->xtc) : -1;
    outputs->mark[FILE_TRR] = outputs->trr ? md_trr_offset(outputs->trr) : -1;
    outputs->mark[FILE_EDR] = outputs->edr ? md_edr_offset(outputs->edr) : -1;
    if (!outputs->mark_averages) return;
    size_t half = n_averages(outputs) / 2;
    memcpy(outputs->mark_averages, outputs->since_frame.value, half * sizeof(double));
    memcpy(outputs->mark_averages + half, outputs->whole_run.value, half * sizeof(double));
}

/* The data of all outputs must be on the disk before a checkpoint may speak of it. */
static sundog_status sync_files(const md_outputs *outputs)
{
    for (int i = 0; i < MD_N_OUTPUTS; i++) {
        if (outputs->mark[i] < 0) continue;
        char path[4096];
        BASE_TRY(path_of(outputs, file_name[i], path));
        int fd = open(path, O_RDONLY);
        if (fd < 0 || fdatasync(fd) != 0) {
            int error = errno;
            if (fd >= 0) close(fd);
            return base_fail(SUNDOG_ERR_IO, "cannot sync %s: %s", path, strerror(error));
        }
        close(fd);
    }
    return SUNDOG_OK;
}

/* md.log is left out: people may write into it, and nothing is cut from it. */
static sundog_status sum_tails(const md_outputs *outputs, uint64_t tail[MD_N_OUTPUTS])
{
    for (int i = 0; i < MD_N_OUTPUTS; i++) {
        char path[4096];
        tail[i] = 0;
        if (outputs->mark[i] < 0 || i == FILE_LOG) continue;
        BASE_TRY(path_of(outputs, file_name[i], path));
        BASE_TRY(md_tail_sum(path, outputs->mark[i], &tail[i]));
    }
    return SUNDOG_OK;
}

sundog_status md_outputs_checkpoint(md_outputs *outputs, const md_system *system,
                                    const md_state *state)
{
    if (outputs->dir[0] == '\0') return SUNDOG_OK;
    BASE_TRY(sync_files(outputs));
    md_checkpoint checkpoint = {.state = *state,
                                .topology_hash = system->topology_hash,
                                .params_hash = system->params_hash,
                                .seed = system->params.ld_seed};
    for (int i = 0; i < MD_N_OUTPUTS; i++) checkpoint.output_offset[i] = outputs->mark[i];
    BASE_TRY(sum_tails(outputs, checkpoint.output_tail));
    checkpoint.averages = outputs->mark_averages;
    checkpoint.n_averages = n_averages(outputs);
    char path[4096];
    BASE_TRY(path_of(outputs, "state.cpt", path));
    return md_checkpoint_write(path, &checkpoint);
}

sundog_status md_outputs_confout(md_outputs *outputs, const md_system *system,
                                 const md_state *state)
{
    if (outputs->dir[0] == '\0') return SUNDOG_OK;
    char path[4096];
    BASE_TRY(path_of(outputs, "confout.gro", path));
    return md_conf_write(path, system->topology->title, system->topology, state);
}

sundog_status md_outputs_dump(md_outputs *outputs, const md_system *system, const md_state *state,
                              const char *name, const char *title, char *path, size_t size)
{
    char full[4096];
    path[0] = '\0';
    if (outputs->dir[0] == '\0') return SUNDOG_OK;
    BASE_TRY(path_of(outputs, name, full));
    BASE_TRY(keep_old(outputs, name));
    BASE_TRY(md_conf_write_any(full, title, system->topology, state));
    snprintf(path, size, "%s", full);
    return SUNDOG_OK;
}

sundog_status md_outputs_close(md_outputs **outputs_at)
{
    md_outputs *outputs = *outputs_at;
    if (!outputs) return SUNDOG_OK;
    *outputs_at = NULL;
    sundog_status first = md_xtc_close(&outputs->xtc), status = md_trr_close(&outputs->trr);
    if (first == SUNDOG_OK) first = status;
    status = md_energy_csv_close(&outputs->csv);
    if (first == SUNDOG_OK) first = status;
    status = md_edr_close(&outputs->edr);
    if (first == SUNDOG_OK) first = status;
    if (outputs->log && fclose(outputs->log) != 0 && first == SUNDOG_OK)
        first = base_fail(SUNDOG_ERR_IO, "%s/md.log: %s", outputs->dir, strerror(errno));
    base_free(outputs->compressed_x);
    md_averages_destroy(&outputs->since_frame);
    md_averages_destroy(&outputs->whole_run);
    base_free(outputs->mark_averages);
    if (outputs->lock >= 0) close(outputs->lock);
    base_free(outputs);
    return first;
}
