/* Run parameters: the .mdp file, typed. Names are those of the mdp keys. */
#ifndef MD_PARAMS_H
#define MD_PARAMS_H
#include "base/status.h"

typedef enum md_integrator { MD_INTEGRATOR_MD, MD_INTEGRATOR_STEEP } md_integrator;
typedef enum md_coulomb { MD_COULOMB_CUTOFF, MD_COULOMB_REACTION_FIELD } md_coulomb;
typedef enum md_vdw_modifier {
    MD_VDW_NONE, MD_VDW_POTENTIAL_SHIFT, MD_VDW_FORCE_SWITCH, MD_VDW_POTENTIAL_SWITCH
} md_vdw_modifier;
typedef enum md_disp_corr {     /* All...: repulsion too; ...Pres: pressure too */
    MD_DISP_CORR_NO, MD_DISP_CORR_ENER, MD_DISP_CORR_ENER_PRES, MD_DISP_CORR_ALL_ENER,
    MD_DISP_CORR_ALL_ENER_PRES
} md_disp_corr;
typedef enum md_constraints {
    MD_CONSTRAINTS_NONE, MD_CONSTRAINTS_H_BONDS, MD_CONSTRAINTS_ALL_BONDS
} md_constraints;
typedef enum md_tcoupl { MD_TCOUPL_NO, MD_TCOUPL_V_RESCALE } md_tcoupl;
typedef enum md_pcoupl { MD_PCOUPL_NO, MD_PCOUPL_C_RESCALE } md_pcoupl;
typedef enum md_pcoupltype {
    MD_PCOUPLTYPE_ISOTROPIC, MD_PCOUPLTYPE_SEMIISOTROPIC
} md_pcoupltype;
typedef enum md_refcoord_scaling {
    MD_REFCOORD_NO, MD_REFCOORD_ALL, MD_REFCOORD_COM
} md_refcoord_scaling;
typedef enum md_comm_mode { MD_COMM_NONE, MD_COMM_LINEAR } md_comm_mode;

enum { MD_MAX_GROUPS = 32 };        /* of one use of groups, as temperature coupling */

/* A key of several numbers, one a group. */
typedef struct md_reals {
    int n;
    double value[MD_MAX_GROUPS];
} md_reals;

typedef struct md_params {
    char title[256];
    char define[1024], include[1024];   /* as given: "-DFLEXIBLE -DPOSRES", "-Ifolder" */
    md_integrator integrator;
    double dt;                      /* ps; 1 for a minimiser: its times are step numbers */
    int64_t nsteps;                 /* -1: no end */
    int64_t init_step;
    double tinit;                   /* ps */
    double emtol, emstep;           /* minimiser: kJ/mol/nm, nm */
    md_comm_mode comm_mode;
    int nstcomm;
    char comm_grps[2048];           /* names of groups, as given; empty: one of all atoms */
    int nstlog, nstcalcenergy, nstenergy;
    int nstxout, nstvout, nstfout, nstxout_compressed;      /* 0: never */
    double compressed_x_precision;
    char compressed_x_grps[2048];   /* empty: all atoms */
    int nstlist;
    double verlet_buffer_tolerance; /* kJ/mol/ps per atom; -1: rlist as given */
    double rlist;                   /* nm */
    md_coulomb coulombtype;
    md_vdw_modifier coulomb_modifier;   /* for plain cut-off: potential shift or none */
    double rcoulomb, epsilon_r, epsilon_rf;     /* epsilon_rf 0: infinite */
    md_vdw_modifier vdw_modifier;
    double rvdw, rvdw_switch;       /* rvdw_switch: for the switches alone */
    md_disp_corr disp_corr;
    md_tcoupl tcoupl;
    int nsttcouple;                 /* md_mdp_read sets it when there is coupling; else -1 */
    char tc_grps[2048];             /* names of groups, as given */
    md_reals tau_t, ref_t;          /* ps, K; a value each with coupling. tau_t < 0: not coupled */
    md_pcoupl pcoupl;
    md_pcoupltype pcoupltype;
    int nstpcouple;                 /* as nsttcouple */
    double tau_p;                   /* ps */
    md_reals compressibility;     /* bar-1; isotropic: one, semi-isotropic: xy and z */
    md_reals ref_p;               /* bar; the same */
    md_refcoord_scaling refcoord_scaling;
    char freezegrps[2048], freezedim[512];  /* groups; Y or N for each of three axes of each */
    bool gen_vel;
    double gen_temp;                /* K */
    int64_t gen_seed;               /* -1: pick one and say which */
    md_constraints constraints;
    bool continuation;
    int lincs_order, lincs_iter;
    double lincs_warnangle;         /* degrees */
    int64_t ld_seed;                /* -1: pick one and say which */
    char notes[1024];               /* what the reader of the .mdp changed or takes no account of,
                                       one line each, for the log */
} md_params;

void md_params_default(md_params *params);
/* Force-switch or potential-switch: rvdw_switch counts. */
bool md_vdw_is_switched(md_vdw_modifier modifier);
#endif
