/* confout.gro: positions with 3 decimals (velocities 4). Replaced whole, or not touched. */
#ifndef MD_CONF_H
#define MD_CONF_H
#include "md/core/state.h"
#include "md/core/topology.h"
/* Molecules are written whole (each atom at the image nearest to its bonded predecessor). */
sundog_status md_conf_write(const char *path, const char *title, const md_topology *topology,
                            const md_state *state);
/* For a look at what went wrong: positions that do not fit the columns become nan. */
sundog_status md_conf_write_any(const char *path, const char *title, const md_topology *topology,
                                const md_state *state);
#endif
