/* What people read: md.log and the progress line. */
#ifndef MD_REPORT_H
#define MD_REPORT_H
#include "md/out/averages.h"
#include "md/run/setup.h"
#include <stdio.h>

/* All of these accept log == NULL and do nothing then. */
void md_report_header(FILE *log, const md_run_options *options, const md_system *system);
void md_report_start(FILE *log, const md_system *system, const md_run_result *result);
void md_report_energy(FILE *log, const md_system *system, const md_energy_report *report);
/* Mean and fluctuation of each term of md_report_terms. */
void md_report_averages(FILE *log, const md_system *system, const md_averages *averages);
void md_report_performance(FILE *log, const md_system *system, const md_run_result *result);

/* One line on stderr, rewritten in place on a terminal, at most twice a second. */
typedef struct md_progress {
    bool on, terminal;
    int64_t start_ns, last_ns, first_step;
} md_progress;
void md_progress_start(md_progress *progress, bool verbose, int64_t step);
void md_progress_step(md_progress *progress, const md_system *system, int64_t step, bool last);

/* The energy terms of this system in gmx's order: name, unit, value. */
typedef struct md_term {
    char name[72];
    const char *unit; /* "" for plain numbers */
    double value;
    bool in_log; /* the others are in the energy files alone */
} md_term;
enum { MD_MAX_TERMS = 64 + MD_MAX_GROUPS };
int md_report_terms(const md_system *system, const md_energy_report *report,
                    md_term terms[MD_MAX_TERMS]);
#endif
