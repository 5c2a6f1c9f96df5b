/* Units: what one lane of the device's pair kernel computes the forces of.
 *
 * A molecule is cut into units of three atoms that are bonded or nearly so: they stand within some
 * 0.1 nm, so the three cut-off spheres are nearly one, and one list of partners serves all three.
 * Three spatial neighbours that are not bonded would stand farther apart and waste a tenth more.
 *
 *      water   O H H            ethanol   H C H | C O H | H H H  (for example)
 *      ion     NA - -           -: no atom
 *
 * A molecule (or each bonded part of it) has as few units as its atoms allow; at most one of them
 * is not full.
 *
 * Kinds: pairs of atom type and charge, of the atoms that the system's molecules have. All that
 * a kernel must know of a row is its kind and its position.
 */
#ifndef MD_UNITS_OF_THREE_H
#define MD_UNITS_OF_THREE_H
#include <stdbool.h>
#include "md/core/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MD_UNIT = 3 };

typedef struct md_unit_kind {
    int type;                   /* of the topology */
    float charge;               /* e */
    bool has_lj;                /* with any type */
} md_unit_kind;

typedef struct md_moltype_units {
    int n_units;
    int (*atom)[MD_UNIT];       /* [n_units] atoms of the molecule, those with Lennard-Jones first;
                                   -1: none */
    int *unit_of_atom;          /* [n_atoms] */
    int *kind_of_atom;          /* [n_atoms] */
} md_moltype_units;

typedef struct md_units {
    int n_moltypes, n_kinds;
    md_moltype_units *moltype;
    md_unit_kind *kind;
    int charge_only;            /* the kind without Lennard-Jones of most atoms; -1: none */
} md_units;

/* Read only from then on; depends on the topology alone. */
void md_units_create(const md_topology *topology, md_units **out);
void md_units_destroy(md_units **units);

#ifdef __cplusplus
}
#endif
#endif
