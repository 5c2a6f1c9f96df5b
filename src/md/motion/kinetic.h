/* Sums over the velocities of a domain on its GPU, and what is done with the momentum: the twins of
 * leapfrog.h and groups.h. In double, in a fixed order, each in one launch.
 *
 *      tensor   1/2 sum m v (outer) v        group[g]   1/2 sum m v^2 of temperature group g
 *      sum[g]   sum m v (three), sum m       v -= sum[g][0..2] / sum[g][3]
 *
 * Over domains they are added by whoever launches these (md/gpu/team_sum.h): a struct of sums is an
 * array of doubles.
 */
#ifndef MD_KINETIC_H
#define MD_KINETIC_H
#include "base/status.h"
#include "md/core/params.h"

/* Owned rows on the current device. */
typedef struct md_velocities {
    int n_owned;
    double (*d_v)[3];                       /* nm/ps */
    const double *d_mass;                   /* u */
    const unsigned char *d_temperature_group, *d_com_group; /* NULL: all in group 0 */
    const unsigned char *d_frozen;          /* bit k: at rest along axis k; NULL: none is */
    int n_temperature, n_com;               /* groups; rows of com groups >= n_com are left out */
} md_velocities;

/* kJ/mol. Groups >= n are 0. */
typedef struct md_kinetic_sums {
    double tensor[3][3], group[MD_MAX_GROUPS];
} md_kinetic_sums;

/* u nm/ps; u */
typedef struct md_momentum_sums {
    double sum[MD_MAX_GROUPS][4];
} md_momentum_sums;

/* Work space of the sums. Those of one object are launched one after the other. */
typedef struct md_kinetic md_kinetic;

/* On the current device. */
sundog_status md_kinetic_create(md_kinetic **out);
void md_kinetic_destroy(md_kinetic **kinetic);          /* accepts NULL */

sundog_status md_kinetic_launch(md_kinetic *kinetic, const md_velocities *rows,
                                md_kinetic_sums *d_out, void *stream);
sundog_status md_momentum_launch(md_kinetic *kinetic, const md_velocities *rows,
                                 md_momentum_sums *d_out, void *stream);
/* v -= drift of the row's group, with d_sums that of the whole team; frozen axes stay at rest. */
sundog_status md_remove_drift_launch(const md_velocities *rows, const md_momentum_sums *d_sums,
                                     void *stream);
#endif
