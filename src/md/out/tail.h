/* Is this file the one that a checkpoint speaks of? Trajectories of one system have frames of
 * nearly one length, so a foreign file may well be long enough; its bytes differ. */
#ifndef MD_TAIL_H
#define MD_TAIL_H
#include "base/status.h"

/* CRC-64 of the last 64 KiB before byte `end`, or of all of them if there are fewer. */
sundog_status md_tail_sum(const char *path, int64_t end, uint64_t *sum);
#endif
