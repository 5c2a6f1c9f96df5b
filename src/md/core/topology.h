/* Topology: what the molecules are made of. Read-only after set-up, shared by all threads.
 *
 * Memory does not grow with the number of molecules: each kind of molecule is stored once, and the
 * system is a list of blocks (kind, count). Global atom numbers are 0-based, in file order:
 *
 *      block 0: mol 0 atoms, mol 1 atoms, ... | block 1: ...
 */
#ifndef MD_TOPOLOGY_H
#define MD_TOPOLOGY_H
#include "md/core/box.h"

/* Kinds of interaction between named atoms. Parameters p[] of each (GROMACS manual, chapter
 * "Interaction function and force fields"); angles are stored in radians. */
typedef enum md_kind {
    /*                     directive and function type: potential               p[]               */
    MD_BOND,            /* bonds 1:     1/2 k (r - b0)^2                        b0, k             */
    MD_BOND_G96,        /* bonds 2:     1/4 k (r^2 - b0^2)^2                    b0, k             */
    MD_ANGLE,           /* angles 1:    1/2 k (t - t0)^2                        t0, k             */
    MD_ANGLE_G96,       /* angles 2:    1/2 k (cos t - cos t0)^2                t0, k             */
    MD_UREY_BRADLEY,    /* angles 5:    angle + 1/2 kUB (r13 - rUB)^2           t0, k, rUB, kUB   */
    MD_DIH_PROPER,      /* dihedrals 1, 9: k (1 + cos(n phi - phi0))            phi0, k, n        */
    MD_DIH_RB,          /* dihedrals 3: sum C_n cos^n(phi - 180 deg)            C0 .. C5          */
    MD_DIH_FOURIER,     /* dihedrals 5: 1/2 (F1 (1 + cos phi) + ...), as RB     C0 .. C5          */
    MD_DIH_IMPROPER,    /* dihedrals 2: 1/2 k (xi - xi0)^2                      xi0, k            */
    MD_DIH_PER_IMPROPER,/* dihedrals 4: as MD_DIH_PROPER, reported apart        phi0, k, n        */
    MD_PAIR14,          /* pairs 1:     c12/r^12 - c6/r^6, and Coulomb of the   c6, c12           */
                        /*              charges times fudge_qq; no cut-off                        */
    MD_POSRES,          /* position_restraints 1: 1/2 sum k_d (x_d - x0_d)^2    kx, ky, kz        */
                        /*              x0: md_molblock.posres_x                                  */
    MD_CONSTRAINT,      /* constraints: distance, for LINCS                     length            */
    MD_SETTLE,          /* settles: rigid water, atoms O H H                    dOH, dHH          */
    MD_N_KINDS
} md_kind;

enum { MD_MAX_PARAM = 6, MD_MAX_KIND_ATOMS = 4 };
/* Atoms in one interaction: bond 2, angle 3, dihedral 4, posres 1, constraint 2, settle 3. */
int md_kind_n_atoms(md_kind kind);
/* Name of the energy term as GROMACS prints it ("Bond", "Proper Dih.", ...). */
const char *md_kind_name(md_kind kind);

typedef struct md_param {
    double p[MD_MAX_PARAM];
} md_param;

/* n interactions of one kind: atoms [n][md_kind_n_atoms], param [n] into topology->param. */
typedef struct md_interactions {
    int n;
    size_t capacity_atoms, capacity_param;
    int *atoms;
    int *param;
} md_interactions;
void md_interactions_add(md_interactions *list, md_kind kind, const int *atoms, int param);

typedef struct md_atom {
    int type;                   /* into topology->atomtype */
    int residue;                /* into moltype->residue */
    double charge, mass;        /* e, u */
    char name[16];
} md_atom;

typedef struct md_residue {
    int number;
    char name[16];
} md_residue;

typedef struct md_moltype {
    char *name;
    int n_atoms, n_residues;
    md_atom *atom;
    md_residue *residue;
    md_interactions list[MD_N_KINDS];   /* atoms are 0-based within the molecule */
    int *exclusion_start;               /* [n_atoms + 1] */
    int *exclusion;                     /* atoms excluded from pair interactions with atom i,
                                           sorted, symmetric, i itself not among them */
    /* Constraint groups: connected by constraints or settles; kept on one domain. Every atom is in
     * exactly one group (of one atom, if unconstrained). Filled by md_topology_finish. */
    int n_groups;
    int *group_of_atom;                 /* [n_atoms] */
    int *group_start;                   /* [n_groups + 1], into group_atom */
    int *group_atom;                    /* [n_atoms], first atom of a group is its reference atom */
    double group_radius;                /* nm, largest possible distance of any atom to its
                                           reference atom (sum of constraint lengths on the way) */
} md_moltype;

typedef struct md_molblock {
    int moltype, count;
    int64_t first_atom;                 /* global number of its first atom */
    int64_t first_molecule;
    int first_residue;                  /* residues of molecules with one residue are numbered on
                                           through the system, as gmx does; this many come before */
    double (*posres_x)[3];              /* nm; [count * atoms of the molecule], reference position
                                           of atom first_atom + i as in the file of -r; NULL when
                                           the molecule has no MD_POSRES (and before
                                           md_topology_set_posres) */
} md_molblock;

typedef struct md_atomtype {
    char name[32];
    char bonded_name[32];
    int atomic_number;                  /* 0 when not given */
    double mass, charge;                /* defaults; 0 when not given */
    char particle;                      /* 'A', 'V', ... */
    double lj[2];                       /* as in the file: (c6, c12) for rule 1, else
                                           (sigma, epsilon) */
} md_atomtype;

typedef struct md_topology {
    char *title;                        /* [ system ] */
    int comb_rule;                      /* 1, 2, 3 */
    double fudge_lj, fudge_qq;
    int n_atomtypes;
    md_atomtype *atomtype;
    double *c6, *c12;                   /* [n_atomtypes][n_atomtypes], kJ/mol nm^6, nm^12;
                                           V = c12/r^12 - c6/r^6 */
    int n_params;
    size_t param_capacity;
    md_param *param;
    int n_moltypes;
    md_moltype *moltype;
    int n_molblocks;
    md_molblock *molblock;
    int64_t n_atoms, n_molecules;
    md_box posres_box;                  /* of the file that posres_x is from, for
                                           refcoord-scaling */
} md_topology;

/* Check, number blocks, work out constraint groups and radii. Called once by the reader, at the
 * end; md_topology_replicate calls it again itself. May be repeated. */
sundog_status md_topology_finish(md_topology *topology);
void md_topology_destroy(md_topology **topology);
void md_moltype_clear(md_moltype *moltype);     /* frees what it points to */
/* Give restrained molecules their reference positions: x [n_atoms], in the box of their own file.
 * The reader of topologies knows only force constants. */
void md_topology_set_posres(md_topology *topology, const double (*x)[3], const md_box *box);
/* Multiply the system along the box vectors: every block's count by their product (molecules stay
 * grouped by kind). Reference positions are copied within their own box, in the order of
 * md_state_replicate. */
sundog_status md_topology_replicate(md_topology *topology, const int copies[3]);

/* Where a global atom is. */
typedef struct md_atom_place {
    int block, moltype, atom;           /* atom within the molecule */
    int64_t molecule;                   /* within the block */
    int64_t first_atom;                 /* global number of the molecule's first atom */
} md_atom_place;
void md_topology_find(const md_topology *topology, int64_t global_atom, md_atom_place *out);

/* Residue number that gmx would print (1-based, not wrapped): running for molecules of one
 * residue, the molecule's own numbers for those of several and for a system of one molecule. */
int md_topology_residue_number(const md_topology *topology, const md_atom_place *place);

/* Interactions of one kind in the whole system. */
int64_t md_topology_count(const md_topology *topology, md_kind kind);
/* Sum of all charges, e. An integer within 1e-4 for a sound topology. */
double md_topology_total_charge(const md_topology *topology);
/* Largest group_radius of all molecules that are present, nm. */
double md_topology_group_radius(const md_topology *topology);
#endif
