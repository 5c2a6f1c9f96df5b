/* Rigid three-point water. The interface inside the room; equations in settle_lanes.h. */
#ifndef MD_SETTLE_H
#define MD_SETTLE_H
#include "md/core/rows.h"

/* One kind of rigid water: atoms O, H, H. */
typedef struct md_settle_model {
    int param;                      /* into topology->param */
    double mass_o, mass_h;          /* u */
    double d_oh, d_hh;              /* nm */
    double ra, rb, rc;              /* nm; seen from the centre of mass O is ra up, H rb down */
} md_settle_model;

typedef struct md_settle {
    int n_models;
    md_settle_model *model;
    int *start;                     /* [n_models + 1], waters of each model in row */
    int (*row)[3];                  /* O, H, H */
    size_t capacity;
} md_settle;

/* One call of a kernel: n waters of one model. */
typedef struct settle_job {
    const md_settle_model *model;
    int n;
    const int (*row)[3];
    const double (*x_old)[3];       /* velocities: x */
    double (*x_new)[3];             /* velocities: not used */
    double (*v)[3];                 /* positions: may be NULL */
    double inv_dt;
    bool want_virial;
    double virial[3][3];            /* added to */
} settle_job;

/* Kernels return false when a result is not finite. */
typedef struct settle_kernels {
    bool (*positions)(settle_job *job);
    bool (*velocities)(settle_job *job);
} settle_kernels;
extern const settle_kernels md_settle_kernels_plain, md_settle_kernels_avx2;

/* unit_masses: take all masses as 1. */
sundog_status md_settle_create(const md_topology *topology, bool unit_masses, md_settle **out);
void md_settle_destroy(md_settle **settle);
sundog_status md_settle_rebuild(md_settle *settle, const md_rows *rows);
#endif
