#include "md/core/vdw.h"

#include <math.h>
#include <string.h>

/* F = n r^-(n+1) + a t^2 + b t^3 and its slope are 0 at rc. */
static md_vdw_power force_switch(int n, double r1, double rc)
{
    double width = rc - r1, scale = n * pow(rc, -(n + 2)) / (width * width);
    md_vdw_power p;
    p.a = -scale * ((n + 4) * rc - (n + 1) * r1);
    p.b = scale * ((n + 3) * rc - (n + 1) * r1) / width;
    p.k = pow(rc, -n) - width * width * width * (p.a / 3 + p.b / 4 * width);
    return p;
}

md_vdw md_vdw_make(const md_params *params)
{
    md_vdw vdw;
    memset(&vdw, 0, sizeof vdw);
    double rc = params->rvdw, width = rc - params->rvdw_switch;
    vdw.rvdw = rc;
    vdw.switched = md_vdw_is_switched(params->vdw_modifier);
    vdw.r_switch = vdw.switched ? params->rvdw_switch : rc;
    switch (params->vdw_modifier) {
    case MD_VDW_NONE: break;
    case MD_VDW_POTENTIAL_SHIFT:
        vdw.p6.k = pow(rc, -6);
        vdw.p12.k = pow(rc, -12);
        break;
    case MD_VDW_FORCE_SWITCH:
        vdw.p6 = force_switch(6, vdw.r_switch, rc);
        vdw.p12 = force_switch(12, vdw.r_switch, rc);
        break;
    case MD_VDW_POTENTIAL_SWITCH:
        vdw.s3 = -10 * pow(width, -3);
        vdw.s4 = 15 * pow(width, -4);
        vdw.s5 = -6 * pow(width, -5);
        break;
    }
    return vdw;
}

double md_vdw_potential(const md_vdw *vdw, int n, double r)
{
    const md_vdw_power *p = n == 6 ? &vdw->p6 : &vdw->p12;
    double t = fmax(r - vdw->r_switch, 0), t3 = t * t * t;
    double s = 1 + t3 * (vdw->s3 + t * (vdw->s4 + t * vdw->s5));
    return pow(r, -n) * s - t3 * (p->a / 3 + p->b / 4 * t) - p->k;
}

void md_vdw_slopes(const md_vdw *vdw, int n, double slope[3])
{
    const md_vdw_power *p = n == 6 ? &vdw->p6 : &vdw->p12;
    double r = vdw->rvdw, t = r - vdw->r_switch, t2 = t * t;
    double u0 = pow(r, -n), u1 = -n * u0 / r, u2 = -(n + 1) * u1 / r, u3 = -(n + 2) * u2 / r;
    double s0 = 1 + t2 * t * (vdw->s3 + t * (vdw->s4 + t * vdw->s5));
    double s1 = t2 * (3 * vdw->s3 + t * (4 * vdw->s4 + 5 * t * vdw->s5));
    double s2 = t * (6 * vdw->s3 + t * (12 * vdw->s4 + 20 * t * vdw->s5));
    double s3 = 6 * vdw->s3 + t * (24 * vdw->s4 + 60 * t * vdw->s5);
    slope[0] = u1 * s0 + u0 * s1 - t2 * (p->a + p->b * t);
    slope[1] = u2 * s0 + 2 * u1 * s1 + u0 * s2 - t * (2 * p->a + 3 * p->b * t);
    slope[2] = u3 * s0 + 3 * u2 * s1 + 3 * u1 * s2 + u0 * s3 - (2 * p->a + 6 * p->b * t);
}
