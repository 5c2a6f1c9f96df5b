/* How messages name an atom. */
#ifndef MD_ATOM_TEXT_H
#define MD_ATOM_TEXT_H
#include "md/core/topology.h"

enum { MD_ATOM_TEXT = 80 };
/* "atom 1234 (HW1 of SOL 405)": number from 1 through the system, atom, residue with its number.
 * Returns text. */
const char *md_atom_text(const md_topology *topology, int64_t global_atom, char text[MD_ATOM_TEXT]);
#endif
