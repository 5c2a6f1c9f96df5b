/* Global number, name and residue of an atom, as gmx's files show them (atom_text.h). */
#include "md/core/atom_text.h"

#include <inttypes.h>
#include <stdio.h>

const char *md_atom_text(const md_topology *topology, int64_t global_atom, char text[MD_ATOM_TEXT])
{
    md_atom_place place;
    if (global_atom < 0 || global_atom >= topology->n_atoms) { /* not worth a second failure */
        snprintf(text, MD_ATOM_TEXT, "atom %" PRId64, global_atom + 1);
        return text;
    }
    md_topology_find(topology, global_atom, &place);
    const md_moltype *moltype = &topology->moltype[place.moltype];
    const md_atom *atom = &moltype->atom[place.atom];
    const char *residue = moltype->n_residues > 0 ? moltype->residue[atom->residue].name : "";
    snprintf(text, MD_ATOM_TEXT, "atom %" PRId64 " (%.15s of %.15s %d)", global_atom + 1,
             atom->name, residue, md_topology_residue_number(topology, &place));
    return text;
}
