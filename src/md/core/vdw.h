/* What vdw-modifier makes of the powers of Lennard-Jones, V = c12 phi_12 - c6 phi_6, up to rvdw:
 *
 *      phi_n(r) = r^-n S(t) - a_n/3 t^3 - b_n/4 t^4 - k_n          t = max(r - r_switch, 0)
 *      S(t)     = 1 + s3 t^3 + s4 t^4 + s5 t^5
 *
 *      none               S = 1, a = b = k = 0
 *      potential-shift    S = 1, a = b = 0, k_n = rvdw^-n
 *      force-switch       S = 1; a and b make force and its slope 0 at rvdw, k the potential
 *      potential-switch   a = b = k = 0; S, S', S'' go from 1, 0, 0 at r_switch to 0, 0, 0 at rvdw
 *
 * Manual, section "Modified non-bonded interactions". One form for all, so that a kernel for both
 * switches, the pair-list buffer and the dispersion correction cannot disagree.
 */
#ifndef MD_VDW_H
#define MD_VDW_H
#include "md/core/params.h"

typedef struct md_vdw_power {
    double a, b, k;
} md_vdw_power;

typedef struct md_vdw {
    double rvdw, r_switch;          /* nm; equal when nothing is switched */
    bool switched;
    double s3, s4, s5;
    md_vdw_power p6, p12;
} md_vdw;

/* params->rvdw must be positive, and above rvdw_switch for the switches. */
md_vdw md_vdw_make(const md_params *params);
/* phi_n; n is 6 or 12, r up to rvdw. */
double md_vdw_potential(const md_vdw *vdw, int n, double r);
/* First to third derivative of phi_n at rvdw, from inside. */
void md_vdw_slopes(const md_vdw *vdw, int n, double slope[3]);
#endif
