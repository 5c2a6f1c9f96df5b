#include "md/run/processes.h"

#include "base/alloc.h"
#include "md/core/parcel.h"
#include "md/run/setup.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 4096 };

typedef struct verdict {
    int64_t status, who;
} verdict;

sundog_status md_processes_agree(md_processes *processes, sundog_status mine, int *who)
{
    if (!processes) return mine;
    char text[TEXT_BYTES] = "";
    if (mine != SUNDOG_OK) snprintf(text, sizeof text, "%s", sundog_last_error());
    verdict own = {mine, who ? *who : 0};
    verdict *all = base_alloc((size_t)processes->n * sizeof *all);
    sundog_status status = sundog_team_allgather(processes->team, &own, sizeof own, all);
    int first = -1;
    for (int p = 0; p < processes->n && status == SUNDOG_OK; p++) {
        if (all[p].status == SUNDOG_OK) continue;
        if (first < 0 ||
            (all[first].status == SUNDOG_ERR_ABORTED && all[p].status != SUNDOG_ERR_ABORTED))
            first = p;
    }
    verdict found = {SUNDOG_OK, 0};
    if (first >= 0) found = all[first];
    base_free(all);
    if (status == SUNDOG_OK && first < 0) return SUNDOG_OK;
    char theirs[TEXT_BYTES];
    memcpy(theirs, text, sizeof theirs);
    if (status == SUNDOG_OK)
        status = sundog_team_broadcast(processes->team, first, theirs, sizeof theirs);
    if (status != SUNDOG_OK) {
        processes->split = true;
        return mine != SUNDOG_OK ? base_fail(mine, "%s", text) : status;
    }
    if (who) *who = (int)found.who;
    memcpy(text, theirs, sizeof text);
    return base_fail((sundog_status)found.status, "%s", text);
}

void md_processes_hurry(const md_run_options *options)
{
    enum { SHORT_S = 30 };
    double limit = options->peer_timeout_s;
    sundog_team_set_timeout(options->processes->team,
                            limit > 0 && limit < SHORT_S ? limit : SHORT_S);
}

/* ---- the system ------------------------------------------------------------------------------ */

static void walk_groups(md_parcel *parcel, md_groups *groups, int64_t n_atoms)
{
    MD_PARCEL_ARRAY(parcel, groups->temperature_of, n_atoms);
    MD_PARCEL_ARRAY(parcel, groups->com_of, n_atoms);
    MD_PARCEL_ARRAY(parcel, groups->frozen, n_atoms);
    if (!parcel->packing) groups->compressed = NULL;
}

static void walk_system(md_parcel *parcel, md_system *system)
{
    size_t n_bytes = sizeof *system;
    md_parcel_bytes(parcel, &n_bytes, sizeof n_bytes);
    if (n_bytes != sizeof *system) { /* another program */
        parcel->damaged = true;
        return;
    }
    md_parcel_bytes(parcel, system, sizeof *system);
    if (!parcel->packing) {
        system->state.x = system->state.v = NULL;
        system->averages = NULL;
        system->n_averages = 0;
        system->rung = NULL;
    }
    md_parcel_topology(parcel, &system->topology);
    walk_groups(parcel, &system->groups, system->topology->n_atoms);
    for (int k = 0; k < 3; k++)
        MD_PARCEL_ARRAY(parcel, system->grid.bound[k], system->grid.n[k] + 1);
}

static sundog_status broadcast(const md_processes *processes, md_parcel *parcel)
{
    size_t n = parcel->n;
    BASE_TRY(sundog_team_broadcast(processes->team, 0, &n, sizeof n));
    BASE_RESERVE(parcel->bytes, parcel->capacity, n + 1);
    parcel->n = n;
    return sundog_team_broadcast(processes->team, 0, parcel->bytes, n);
}

sundog_status md_processes_setup(const md_run_options *options, md_system *system)
{
    md_processes *processes = options->processes;
    if (!processes) return md_setup(options, system);
    const bool first = processes->rank == 0;
    memset(system, 0, sizeof *system);
    sundog_status status = first ? md_setup(options, system) : SUNDOG_OK;
    BASE_TRY(md_processes_agree(processes, status, NULL));
    md_parcel parcel = {.packing = first};
    if (first) walk_system(&parcel, system);
    status = broadcast(processes, &parcel);
    if (status == SUNDOG_OK && !first) {
        walk_system(&parcel, system);
        system->rung = options->rung;
        if (parcel.damaged || parcel.at != parcel.n)
            status = base_fail(SUNDOG_ERR_INPUT, "the processes run different versions of the "
                                                 "program");
    }
    md_parcel_clear(&parcel);
    status = md_processes_agree(processes, status, NULL);
    if (status != SUNDOG_OK) md_setup_destroy(system);
    return status;
}
