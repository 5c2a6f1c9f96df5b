/* Processes over MPI, started only when there are several, or when asked for.
 *
 * The end of a run that failed: its team is dead, and messages of it may be under way, so MPI
 * cannot be finalized. All meet once more, for the first one's last words to come through, and
 * abort.
 */
#include "processes.h"

#include "sundog/mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool made_domains; /* a team of which messages may be under way */
static md_processes here;

static sundog_status make_team(void *arg, int n_here, sundog_team **teams)
{
    (void)arg;
    made_domains = true;
    return sundog_team_create_mpi(MPI_COMM_WORLD, n_here, teams);
}

static int count_on_machine(void)
{
    MPI_Comm machine;
    int n, most;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &n);
    MPI_Comm_free(&machine);
    MPI_Allreduce(&n, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static int refuse(const launch *by, const char *text)
{
    if (by->rank == 0) fprintf(stderr, "sundog run: error: %s\n", text);
    launch_wait_for_first();
    MPI_Finalize();
    return 1;
}

/* This may be asked before MPI is started. */
static const char *library_version(void)
{
    static char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int n;
    MPI_Get_library_version(version, &n);
    version[strcspn(version, ",\n")] = '\0';
    for (char *at = version; *at; at++)
        if (*at == '\t') *at = ' ';
    return version;
}

static int check(const launch *by, int n, int provided)
{
    char text[512];
    const char *version = library_version();
    if (by->n > 1 && n == 1) {
        snprintf(text, sizeof text,
                 "%s has started %d processes, but each finds itself alone: this program was built "
                 "with %.200s and needs the mpirun of that; -mpi no runs unconnected copies",
                 by->by, by->n, version);
        return refuse(by, text);
    }
    if (provided >= MPI_THREAD_SERIALIZED) return 0;
    snprintf(text, sizeof text, "%.200s does not serve several threads (MPI_THREAD_SERIALIZED)",
             version);
    return refuse(by, text);
}

const char *processes_built_with(void)
{
    return library_version();
}

int processes_begin(const char *how, md_processes **out)
{
    launch by = launch_find();
    *out = NULL;
    if (how && strcmp(how, "no") == 0) return 0;
    if (by.n == 1 && !(how && strcmp(how, "yes") == 0)) return 0;
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &here.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &here.n);
    int code = check(&by, here.n, provided);
    if (code != 0) return code;
    here.n_on_machine = count_on_machine();
    here.make_team = make_team;
    if (sundog_team_create_mpi(MPI_COMM_WORLD, 1, &here.team) != SUNDOG_OK)
        return refuse(&by, sundog_last_error());
    *out = &here;
    return 0;
}

void processes_end(md_processes **processes, int code)
{
    if (!*processes) return;
    fflush(NULL);
    if (code != 0 && made_domains) {
        if (!here.split) (void)sundog_team_barrier(here.team); /* whatever comes of it */
        MPI_Abort(MPI_COMM_WORLD, code);
    }
    sundog_team_destroy(&here.team);
    MPI_Finalize();
    *processes = NULL;
}
