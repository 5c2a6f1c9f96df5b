/* The owned rows of a domain as jobs for the device: what one thread moves (an atom without
 * constraints, a rigid water, a star of constraints) and what one block moves (a connected network
 * of constraints). Groups are whole on their domain, so a job needs nobody else.
 *
 *      segment   free | water, model by model | stars of 1, 2, 3, 4 arms | networks
 *
 * Within a segment arrays are [place][n]: neighbouring threads read neighbouring words.
 * Made on the host at each repartition from what md_constrain has sorted.
 */
#ifndef MD_MOVE_JOBS_H
#define MD_MOVE_JOBS_H
#include "md/motion/lincs.h"
#include "md/motion/settle.h"

typedef enum md_job_kind {
    MD_JOB_FREE,                /* 1 row */
    MD_JOB_WATER,               /* 3 rows O H H; `model` says which water */
    MD_JOB_STAR_1,              /* 2 rows, centre first */
    MD_JOB_STAR_2,
    MD_JOB_STAR_3,
    MD_JOB_STAR_4,
    MD_JOB_N_KINDS
} md_job_kind;

/* n jobs of one kind. rows at row[first_row], [n_rows_per_job][n]; stars: at
 * length[first_length], scale[first_length], [n_arms][n]. */
typedef struct md_job_segment {
    md_job_kind kind;
    int model;
    int n, first_row, first_length;
} md_job_segment;

/* One connected network: atoms [atom_start[c], atom_start[c+1]), constraints likewise. */
typedef struct md_job_networks {
    int n;                      /* networks */
    int n_atoms, n_constraints, n_couplings;
    int *atom_start, *constraint_start;         /* [n + 1] */
    bool *triangles;                            /* [n] expansion of twice the order */
    int *row;                                   /* [n_atoms] */
    int *at_start;                              /* [n_atoms + 1] constraints of an atom ... */
    int *at;                                    /* ... index, times 2, plus 1 when it is second */
    int (*atom)[2];                             /* [n_constraints] into row */
    double *length, *scale;                     /* [n_constraints] */
    int *start, *other;                         /* couplings as in lincs_network */
    double *factor;
    size_t capacity[12];
} md_job_networks;

enum { MD_JOB_MAX_MODELS = 8, MD_JOB_MAX_SEGMENTS = 1 + MD_JOB_MAX_MODELS + LINCS_MAX_STAR };

typedef struct md_move_jobs {
    int n_segments;
    md_job_segment segment[MD_JOB_MAX_SEGMENTS];
    int n_row, n_length;
    int *row;                   /* [n_row] */
    double *length, *scale;     /* [n_length] */
    md_job_networks networks;
    size_t capacity_row, capacity_length, capacity_scale;
    unsigned char *taken;       /* [n_owned] work */
    size_t capacity_taken;
} md_move_jobs;

int md_job_n_rows(md_job_kind kind);
int md_job_n_arms(md_job_kind kind);            /* 0 for what is no star */

/* settle and lincs after their own rebuild for the same rows. SUNDOG_ERR_UNSUPPORTED for more than
 * MD_JOB_MAX_MODELS kinds of rigid water. */
sundog_status md_move_jobs_build(md_move_jobs *jobs, const md_settle *settle,
                                 const md_lincs *lincs, int n_owned);
void md_move_jobs_free(md_move_jobs *jobs);     /* what it points to */
#endif
