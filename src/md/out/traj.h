/* Trajectory writers: .trr (x, v, f; single precision) and .xtc (compressed x).
 * Frames are appended; all bytes of a frame are with the system when the call returns. A failed
 * write says so at once and leaves the file ending with its last whole frame.
 * Whoever records an offset in a checkpoint syncs the file first (fdatasync). */
#ifndef MD_TRAJ_H
#define MD_TRAJ_H
#include "md/core/box.h"
#include <stdint.h>

typedef struct md_trr md_trr;
typedef struct md_xtc md_xtc;

/* append_at < 0: create anew (the old file is replaced). Otherwise cut the existing file to that
 * many bytes and go on writing there; it is an error if the file is shorter. */
sundog_status md_trr_open(const char *path, int64_t append_at, md_trr **out);
/* Any of x, v, f may be NULL. */
sundog_status md_trr_write(md_trr *trr, int64_t step, double time, const md_box *box,
                           int64_t n_atoms, const double (*x)[3], const double (*v)[3],
                           const float (*f)[3]);
int64_t md_trr_offset(const md_trr *trr); /* bytes so far */
sundog_status md_trr_close(md_trr **trr); /* accepts NULL; reports a failed last write */

sundog_status md_xtc_open(const char *path, int64_t append_at, double precision, md_xtc **out);
sundog_status md_xtc_write(md_xtc *xtc, int64_t step, double time, const md_box *box,
                           int64_t n_atoms, const double (*x)[3]);
int64_t md_xtc_offset(const md_xtc *xtc);
sundog_status md_xtc_close(md_xtc **xtc);
#endif
