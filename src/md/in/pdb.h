/* .pdb: names, positions and box of the first model. */
#ifndef MD_PDB_H
#define MD_PDB_H
#include "md/in/gro.h"

/* Fills what a .pdb can say; there are no velocities. Errors name file and line. */
sundog_status md_pdb_read(const char *path, md_gro *out);
#endif
