/* Frozen atoms feel forces as all others; after the step they are put back to where they were and
 * at rest, once before constraints, so that these see them there, and once behind. In LINCS a
 * frozen atom is all but infinitely heavy (md/motion/constraints.c), so its partner gives way. All
 * that a frozen atom took from, or gave to, momentum and virial is lost with that: gmx, too, says
 * that pressure and virial have no meaning then.
 *
 * Rejected: masses that are infinite everywhere. The step, kinetic energy and momentum would each
 * need their own exception, for the sake of few rows.
 */
#include "md/run/freeze.h"

#include "base/alloc.h"

#include <inttypes.h>

static sundog_status check_molecule(const md_moltype *kind, int64_t first, const uint8_t *frozen,
                                    const char *mdp_path)
{
    const md_interactions *waters = &kind->list[MD_SETTLE];
    for (int k = 0; k < waters->n; k++) {
        const int *atom = &waters->atoms[3 * k];
        uint8_t bits = frozen[first + atom[0]];
        if ((bits == 0 || bits == MD_FROZEN_ALL) && frozen[first + atom[1]] == bits &&
            frozen[first + atom[2]] == bits)
            continue;
        return base_fail(SUNDOG_ERR_UNSUPPORTED,
                         "%s: freezegrps: the rigid water of atom %" PRId64 " is frozen in part; "
                         "freeze all of it along all axes, or nothing",
                         mdp_path, first + atom[0] + 1);
    }
    const md_interactions *bonds = &kind->list[MD_CONSTRAINT];
    for (int k = 0; k < 2 * bonds->n; k++) {
        uint8_t bits = frozen[first + bonds->atoms[k]];
        if (bits == 0 || bits == MD_FROZEN_ALL) continue;
        return base_fail(SUNDOG_ERR_UNSUPPORTED,
                         "%s: freezedim: atom %" PRId64 " has constraints and is frozen along some "
                         "axes only; freeze it along all, or use constraints = none",
                         mdp_path, first + bonds->atoms[k] + 1);
    }
    return SUNDOG_OK;
}

sundog_status md_freeze_check(const md_topology *topology, const uint8_t *frozen,
                              const char *mdp_path)
{
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_molblock *block = &topology->molblock[b];
        const md_moltype *kind = &topology->moltype[block->moltype];
        for (int64_t m = 0; m < block->count; m++)
            BASE_TRY(check_molecule(kind, block->first_atom + m * kind->n_atoms, frozen, mdp_path));
    }
    return SUNDOG_OK;
}

void md_freeze_rebuild(md_worker *w)
{
    const uint8_t *frozen = w->system->groups.frozen;
    w->n_frozen = 0;
    if (!frozen) return;
    for (int row = 0; row < w->rows->n_owned; row++) {
        if (!frozen[w->rows->gid[row]]) continue;
        BASE_RESERVE(w->frozen, w->frozen_capacity, w->n_frozen + 1);
        w->frozen[w->n_frozen++] = row;
    }
}

void md_freeze_vectors(const md_worker *w, double (*of_rows)[3])
{
    for (int i = 0; i < w->n_frozen; i++) {
        int row = w->frozen[i];
        unsigned bits = w->system->groups.frozen[w->rows->gid[row]];
        for (int k = 0; k < 3; k++)
            if (bits >> k & 1) of_rows[row][k] = 0;
    }
}

void md_freeze_velocities(md_worker *w)
{
    md_freeze_vectors(w, w->rows->v);
}

void md_freeze_positions(md_worker *w)
{
    for (int i = 0; i < w->n_frozen; i++) {
        int row = w->frozen[i];
        unsigned bits = w->system->groups.frozen[w->rows->gid[row]];
        for (int k = 0; k < 3; k++)
            if (bits >> k & 1) w->rows->x[row][k] = w->x_old[row][k];
    }
    md_freeze_velocities(w);
}
