#include "md/core/params.h"

#include <string.h>

void md_params_default(md_params *params)
{
    memset(params, 0, sizeof *params);
    params->integrator = MD_INTEGRATOR_MD;
    params->dt = 0.001;
    params->emtol = 10;
    params->emstep = 0.01;
    params->comm_mode = MD_COMM_LINEAR;
    params->nstcomm = 100;
    params->nstlog = 1000;
    params->nstcalcenergy = 100;
    params->nstenergy = 1000;
    params->compressed_x_precision = 1000.0;
    params->nstlist = 10;
    params->verlet_buffer_tolerance = 0.005;
    params->rlist = 1.0;
    params->coulombtype = MD_COULOMB_CUTOFF;
    params->coulomb_modifier = MD_VDW_POTENTIAL_SHIFT;
    params->rcoulomb = 1.0;
    params->epsilon_r = 1.0;
    params->epsilon_rf = 0.0;
    params->vdw_modifier = MD_VDW_POTENTIAL_SHIFT;
    params->rvdw = 1.0;
    params->tcoupl = MD_TCOUPL_NO;
    params->nsttcouple = -1;
    params->nstpcouple = -1;
    params->tau_p = 5.0;
    params->gen_temp = 300.0;
    params->gen_seed = -1;
    params->constraints = MD_CONSTRAINTS_NONE;
    params->lincs_order = 4;
    params->lincs_iter = 1;
    params->lincs_warnangle = 30.0;
    params->ld_seed = -1;
}

bool md_vdw_is_switched(md_vdw_modifier modifier)
{
    return modifier == MD_VDW_FORCE_SWITCH || modifier == MD_VDW_POTENTIAL_SWITCH;
}
