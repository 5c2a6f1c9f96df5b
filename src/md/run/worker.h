/* One domain's side of a run: what the step loop (step.c) and the minimiser (steep.c) share. */
#ifndef MD_WORKER_H
#define MD_WORKER_H
#include "md/motion/constraints.h"
#include "md/run/forces.h"
#include "md/run/report.h"
#include "md/run/step.h"

typedef struct md_worker {
    const md_shared *shared;
    const md_system *system;
    const md_params *params;
    sundog_team *team;
    bool root;
    md_domain *domain;
    md_rows *rows;
    md_force_field field;
    md_constrain *constrain;
    double n_constraints; /* that LINCS holds here; on GPUs */
    struct md_gpu *gpu;   /* NULL: this domain is computed on the CPU */
    md_timing timing;
    struct md_trace *trace; /* or NULL */
    double (*x_old)[3];     /* owned positions of the step before, or of a start */
    size_t x_old_capacity;
    double lambda[MD_MAX_GROUPS]; /* velocity factors of this step */
    double thermostat_work[MD_MAX_GROUPS];
    uint8_t *temperature_group, *com_group; /* [n_owned], only where there are several */
    uint8_t *frozen_axes;                   /* the same, for GPUs */
    size_t temperature_capacity, com_capacity, frozen_axes_capacity;
    int n_frozen, *frozen; /* [n_frozen] rows that are frozen along some axis */
    size_t frozen_capacity;
    int64_t step; /* of the positions in rows */
    /* x_old as a failure leaves it: rows may have been ordered anew since */
    bool has_old;
    int64_t step_old;
    int n_old;
    int64_t *gid_old;
    size_t gid_old_capacity;
    md_box box;        /* of x as it is now */
    double stretch[3]; /* of the box since lists were made, pressure.c */
    double barostat_work;
    int most_units; /* of a block of lists on GPUs when these were last begun; 0: not known */
    md_state whole; /* rank 0: the whole system as last collected, for output */
    float (*whole_f)[3];
    md_progress progress;
    int64_t start_ns, timed_start_ns, timed_from, last_checkpoint_ns, list_step;
    bool stop; /* end at this step although more were asked for */
    md_energy_report report;
    bool reported_first;
} md_worker;

/* A worker with its rows distributed does `work`; a failure ends the whole team. Collective. */
sundog_status md_worker_run(sundog_team *team, const md_shared *shared,
                            sundog_status (*work)(md_worker *w));
/* Rows may have moved: everything made for them is made anew. */
sundog_status md_worker_rebuild(md_worker *w);
void md_worker_copy_x(md_worker *w); /* owned positions to x_old */
/* Bring the whole system to rank 0. Collective. */
sundog_status md_worker_collect(md_worker *w, int64_t step, const bool want[3]);
bool md_worker_out_of_time(const md_worker *w); /* a signal, or -maxh */
/* Timings of all ranks into the result. Collective. */
sundog_status md_worker_finish(md_worker *w, int64_t step);
#endif
