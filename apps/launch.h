/* Has a launcher (mpirun, srun) started this program as one of several processes? Known from the
 * environment, so that a program that was started alone never touches MPI.
 */
#ifndef LAUNCH_H
#define LAUNCH_H

typedef struct launch {
    const char *by; /* "mpirun of Open MPI"; NULL: by nobody that is known */
    int rank, n;    /* n 0: the launcher does not say */
} launch;

launch launch_find(void);

/* Several processes would say the same: let nothing but the first one's words through to stderr,
 * until unmuted. */
int launch_mute(void);
/* Before a process ends that has failed without telling the others: where it is not the first, that
 * one gets the time to say so. */
void launch_wait_for_first(void);
void launch_unmute(int muted);
#endif
