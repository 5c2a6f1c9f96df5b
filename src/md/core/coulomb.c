#include "md/core/coulomb.h"

#include "md/core/units.h"

md_coulomb_form md_coulomb_form_of(const md_params *params)
{
    double rc = params->rcoulomb, er = params->epsilon_r, erf = params->epsilon_rf;
    md_coulomb_form form = {.factor = er > 0 ? MD_ONE_4PI_EPS0 / er : 0};
    if (params->coulombtype == MD_COULOMB_REACTION_FIELD) {
        form.krf = erf == 0 ? 0.5 / (rc * rc * rc) : (erf - er) / ((2 * erf + er) * rc * rc * rc);
        form.crf = 1 / rc + form.krf * rc * rc;
    } else if (params->coulomb_modifier == MD_VDW_POTENTIAL_SHIFT) {
        form.crf = 1 / rc;
    }
    return form;
}
