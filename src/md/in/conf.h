/* Coordinate files of any kind that is read: .gro and .pdb. */
#ifndef MD_CONF_H
#define MD_CONF_H
#include "md/core/topology.h"
#include "md/in/gro.h"

/* The ending of the name says which it is; one without an ending is a .gro. Others are refused,
 * with what to do. */
sundog_status md_conf_read(const char *path, md_gro *out);
/* Compare with the topology as gmx does: the number of atoms must match (error), atom names should:
 * *n_mismatch counts, `text` [n_text] gets a line for each of the first, ending in a newline. */
sundog_status md_conf_match(const md_gro *conf, const char *conf_path, const md_topology *topology,
                            const char *top_path, int64_t *n_mismatch, char *text, size_t n_text);
#endif
