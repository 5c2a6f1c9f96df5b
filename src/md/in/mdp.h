/* .mdp: key = value lines into md_params. Unknown and unsupported keys and values are errors with
 * file, line and what is supported; unknown keys name the nearest known one. */
#ifndef MD_MDP_H
#define MD_MDP_H
#include "md/core/params.h"
#include <stdio.h>

sundog_status md_mdp_read(const char *path, md_params *out);
/* Every parameter as `key = value`, as used: for the log, and readable by md_mdp_read. */
void md_mdp_write(const md_params *params, FILE *file);
#endif
