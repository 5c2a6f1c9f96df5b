/* Coulomb interaction inside the cut-off (manual, "Coulomb interaction with reaction field"):
 *
 *      V(r) = factor qi qj (1/r + krf r^2 - crf)
 *
 * Plain cut-off is krf = 0, with crf = 0 or, shifted, 1/rc.
 */
#ifndef MD_COULOMB_H
#define MD_COULOMB_H
#include "md/core/params.h"

typedef struct md_coulomb_form {
    double factor;                  /* kJ mol-1 nm e-2; 0 when epsilon_r is 0 (infinite) */
    double krf;                     /* nm-3 */
    double crf;                     /* nm-1 */
} md_coulomb_form;

md_coulomb_form md_coulomb_form_of(const md_params *params);
#endif
