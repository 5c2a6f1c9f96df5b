/* The step and the sums of leapfrog.h where atoms belong to several groups. group [n_owned] is the
 * group of each owned row. */
#ifndef MD_MOTION_GROUPS_H
#define MD_MOTION_GROUPS_H
#include "md/core/rows.h"

/* As md_leapfrog_step, with a factor a group. */
void md_leapfrog_step_groups(const md_rows *rows, const uint8_t *group, const double *lambda,
                             double dt, double (*x_new)[3]);
/* 1/2 sum m v^2 of each of n groups, kJ/mol. */
void md_kinetic_groups(const md_rows *rows, const uint8_t *group, int n, double *ekin);
/* sum m v (three) and sum m of each of n groups; rows of groups >= n are left out. */
void md_momentum_groups(const md_rows *rows, const uint8_t *group, int n, double (*sum)[4]);
/* v -= drift of the row's group; rows of groups >= n are left as they are. */
void md_remove_drift_groups(const md_rows *rows, const uint8_t *group, int n,
                            const double (*drift)[3]);
#endif
