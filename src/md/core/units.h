/* Units of the engine, everywhere: nm, ps, u, e, kJ/mol, K, bar. Converted only in in/ and out/. */
#ifndef MD_UNITS_H
#define MD_UNITS_H
#define MD_ONE_4PI_EPS0 138.935457644   /* Coulomb constant, kJ mol-1 nm e-2; 2018 CODATA values */
#define MD_BOLTZ 0.00831446261815324    /* Boltzmann constant, kJ mol-1 K-1 */
#define MD_BAR_PER_KJ_MOL_NM3 16.6053906717384685 /* pressure: kJ mol-1 nm-3 to bar */
#define MD_KG_M3_PER_U_NM3 1.66053906717384685 /* density: u nm-3 to kg m-3 */
#define MD_DEG_TO_RAD 0.017453292519943295
#endif
