/* A point of a minimisation, and what people read about it. */
#ifndef MD_MINIMUM_H
#define MD_MINIMUM_H
#include "md/run/report.h"

typedef struct md_minimum {
    int64_t step;
    md_energy_report report;
    double f_max;  /* kJ/mol/nm: largest force on an atom, constraints projected out */
    double f_norm; /* root of the mean square of all atoms' forces */
    int64_t atom;  /* with the largest force */
    bool finite;
} md_minimum;

typedef enum md_minimum_end {
    MD_MINIMUM_CONVERGED,
    MD_MINIMUM_PRECISION,
    MD_MINIMUM_OUT_OF_STEPS,
    MD_MINIMUM_STOPPED
} md_minimum_end;

/* SUNDOG_ERR_PHYSICS: the start cannot be minimised; names the atom. */
sundog_status md_minimum_not_finite(const md_system *system, const md_minimum *start);
/* md.log; log may be NULL. */
void md_minimum_log_start(FILE *log, const md_params *params);
void md_minimum_log_step(FILE *log, const md_system *system, const md_minimum *trial, double length,
                         bool better);
void md_minimum_progress(md_progress *progress, const md_system *system, const md_minimum *minimum,
                         int64_t step);
/* How it ended, a few lines. */
void md_minimum_summary(const md_system *system, const md_minimum *minimum, int64_t n_steps,
                        md_minimum_end how, char *text, size_t size);
#endif
