/* Modified Lennard-Jones powers: values at the ends of the switch, that potential, force and its
 * slope are continuous there, and that slopes at the cut-off are those of finite differences.
 * Cannot catch: one wrong formula in potential and slopes (tests/md/force has the manual's). */
#include "check.h"
#include "md/core/vdw.h"

#include <math.h>

static const double RC = 0.9, R1 = 0.7;

static md_vdw make(md_vdw_modifier modifier)
{
    md_params params;
    md_params_default(&params);
    params.rvdw = RC;
    params.rvdw_switch = R1;
    params.vdw_modifier = modifier;
    return md_vdw_make(&params);
}

/* Derivatives 1 and 2 by central differences. */
static void differences(const md_vdw *vdw, int n, double r, double out[2])
{
    const double h = 1e-4;
    double low = md_vdw_potential(vdw, n, r - h), high = md_vdw_potential(vdw, n, r + h);
    out[0] = (high - low) / (2 * h);
    out[1] = (high - 2 * md_vdw_potential(vdw, n, r) + low) / (h * h);
}

static void check_power(md_vdw_modifier modifier, int n)
{
    md_vdw vdw = make(modifier);
    double slope[3], at[2], below[2], above[2], scale = n * pow(RC, -n - 1), step = 1e-3;
    bool switched = md_vdw_is_switched(modifier);
    CHECK(vdw.switched == switched);
    md_vdw_slopes(&vdw, n, slope);
    differences(&vdw, n, RC - step, at);
    /* one step inside the cut-off, by the expansion about it */
    CHECK_NEAR(at[0], slope[0] - slope[1] * step + slope[2] * step * step / 2, 1e-3 * scale);
    CHECK_NEAR(at[1], slope[1] - slope[2] * step, 0.02 * scale * n / RC);
    double end = md_vdw_potential(&vdw, n, RC), start = md_vdw_potential(&vdw, n, R1);
    CHECK_NEAR(end, modifier == MD_VDW_NONE ? pow(RC, -n) : 0, 1e-12 * pow(R1, -n));
    if (!switched) {
        CHECK_NEAR(slope[0], -scale, 1e-12 * scale);
        return;
    }
    CHECK_NEAR(slope[0], 0, 1e-11 * scale);
    if (modifier == MD_VDW_POTENTIAL_SWITCH) {
        CHECK_NEAR(slope[1], 0, 1e-10 * scale);
        CHECK_NEAR(start, pow(R1, -n), 1e-12 * start);
    }
    if (modifier == MD_VDW_FORCE_SWITCH) CHECK_NEAR(slope[1], 0, 1e-10 * scale);
    differences(&vdw, n, R1 - 2e-4, below);
    differences(&vdw, n, R1 + 2e-4, above);
    CHECK_NEAR(below[0], above[0], 5e-4 * (n + 1) / R1 * fabs(below[0]));
    CHECK_NEAR(below[1], above[1], 0.03 * fabs(below[1]));
    /* nothing but a constant is changed before the switch begins */
    CHECK_NEAR(md_vdw_potential(&vdw, n, 0.5) - pow(0.5, -n), start - pow(R1, -n),
               1e-12 * pow(0.5, -n));
}

int main(void)
{
    for (int n = 6; n <= 12; n += 6) {
        check_power(MD_VDW_NONE, n);
        check_power(MD_VDW_POTENTIAL_SHIFT, n);
        check_power(MD_VDW_FORCE_SWITCH, n);
        check_power(MD_VDW_POTENTIAL_SWITCH, n);
    }
    return 0;
}
