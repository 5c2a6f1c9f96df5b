/* Order of one evaluation (forward: coordinates out; reverse: forces home):
 *
 *      forward_begin | pair forces LOCAL | forward_end | pair forces BORDER | bonded | reverse
 *
 * Virial of the pair forces: ghosts are in place and every pair force acts with opposite signs on
 * two rows of this domain, so  sum over pairs r_ij (outer) f_ij = sum over rows x (outer) f,  for
 * any origin. It is taken before bonded forces join (those bring their own virial) and before
 * ghosts' forces leave. In scheme shell each border pair is computed on both sides and counts half
 * (md_nonbonded_force halves the energy): border forces go to an array of their own on such steps.
 */
#include "md/run/forces.h"

#include "base/alloc.h"

#include <string.h>

/* virial += weight * -1/2 sum over rows (x - origin) (outer) f */
static void add_virial(const md_rows *rows, const float (*f)[3], double weight, double virial[3][3])
{
    double sum[3][3] = {{0}};
    for (int row = 0; row < rows->n_rows; row++)
        for (int a = 0; a < 3; a++) {
            double r = rows->x[row][a] - rows->origin[a];
            for (int b = 0; b < 3; b++) sum[a][b] += r * (double)f[row][b];
        }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) virial[a][b] += -0.5 * weight * sum[a][b];
}

static void add_pair_energy(md_energy *energy, const md_pair_energy *part)
{
    energy->lj += part->lj;
    energy->coulomb += part->coulomb;
}

static void border_forces_half_counted(md_force_field *field, md_rows *rows, md_energy *energy)
{
    BASE_RESERVE(field->f_border, field->f_border_capacity, rows->capacity);
    memset(field->f_border, 0, (size_t)rows->n_rows * sizeof *field->f_border);
    md_pair_energy part;
    md_nonbonded_force(field->nonbonded, field->pairs, rows, MD_PART_BORDER, field->f_border,
                       &part);
    add_pair_energy(energy, &part);
    add_virial(rows, (const float(*)[3])field->f_border, 0.5, energy->virial);
    for (int row = 0; row < rows->n_owned; row++)
        for (int k = 0; k < 3; k++) rows->f[row][k] += field->f_border[row][k];
}

static void border_forces(md_force_field *field, md_rows *rows, md_energy *energy)
{
    md_pair_energy part;
    md_nonbonded_force(field->nonbonded, field->pairs, rows, MD_PART_BORDER, rows->f,
                       energy ? &part : NULL);
    if (!energy) return;
    add_pair_energy(energy, &part);
    add_virial(rows, (const float(*)[3])rows->f, 1, energy->virial);
}

sundog_status md_forces(md_force_field *field, bool prune, md_energy *energy)
{
    md_rows *rows = md_domain_rows(field->domain);
    md_timing *timing = field->timing;
    bool half_counted = rows->scheme == MD_SCHEME_SHELL && energy;

    md_timing_enter(timing, MD_PHASE_FORWARD);
    BASE_TRY(md_domain_forward_begin(field->domain));

    if (prune) {
        md_timing_enter(timing, MD_PHASE_PRUNE);
        md_pairs_prune(field->pairs, rows, MD_PART_LOCAL);
    }
    md_timing_enter(timing, MD_PHASE_FORCE_LOCAL);
    memset(rows->f, 0, (size_t)rows->n_rows * sizeof *rows->f);
    md_pair_energy part;
    md_nonbonded_force(field->nonbonded, field->pairs, rows, MD_PART_LOCAL, rows->f,
                       energy ? &part : NULL);
    if (energy) add_pair_energy(energy, &part);
    md_timing_enter(timing, MD_PHASE_FORWARD);
    BASE_TRY(md_domain_forward_end(field->domain));
    if (half_counted) add_virial(rows, (const float(*)[3])rows->f, 1, energy->virial);

    if (prune) {
        md_timing_enter(timing, MD_PHASE_PRUNE);
        md_pairs_prune(field->pairs, rows, MD_PART_BORDER);
    }
    md_timing_enter(timing, MD_PHASE_FORCE_BORDER);
    if (half_counted)
        border_forces_half_counted(field, rows, energy);
    else
        border_forces(field, rows, energy);

    md_timing_enter(timing, MD_PHASE_BONDED);
    md_bonded_force(field->bonded, rows, rows->f, energy);
    md_posres_force(field->posres, rows, field->box, rows->f, energy);

    md_timing_enter(timing, MD_PHASE_REVERSE);
    BASE_TRY(md_domain_reverse_begin(field->domain));
    BASE_TRY(md_domain_reverse_end(field->domain));
    md_timing_enter(timing, MD_PHASE_REST);
    return SUNDOG_OK;
}
