/* Leap-frog:  v(t+dt/2) = lambda v(t-dt/2) + f(t)/m dt,   x(t+dt) = x(t) + v(t+dt/2) dt. */
#ifndef MD_LEAPFROG_H
#define MD_LEAPFROG_H
#include "md/core/rows.h"

/* Writes v in place and x_new [n_owned]; rows->x stays (the constraints need it), unless it is
 * x_new itself, which is allowed. */
void md_leapfrog_step(const md_rows *rows, double lambda, double dt, double (*x_new)[3]);
/* Kinetic energy tensor of the owned rows, 1/2 sum m v (outer) v, kJ/mol. */
void md_kinetic_tensor(const md_rows *rows, double ekin[3][3]);
/* sum m v and sum m of the owned rows; and v -= drift. */
void md_momentum(const md_rows *rows, double momentum[3], double *mass);
void md_remove_drift(const md_rows *rows, const double drift[3]);
#endif
