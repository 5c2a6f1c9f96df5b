/* The columns of an energy.csv that the plot shows, thinned out to what a picture can hold. */
#ifndef MD_PLOT_DATA_H
#define MD_PLOT_DATA_H
#include "base/status.h"

enum md_plot_curve {
    MD_PLOT_POTENTIAL,
    MD_PLOT_TOTAL,
    MD_PLOT_CONSERVED,
    MD_PLOT_TEMPERATURE,
    MD_PLOT_PRESSURE,
    MD_PLOT_N
};

typedef struct md_plot_line {
    int n;
    double (*point)[2]; /* [n] time (ps), value */
} md_plot_line;

typedef struct md_plot_series {
    md_plot_line line;   /* extremes kept; empty when the file has no such column */
    md_plot_line smooth; /* running mean of a fiftieth of the rows; empty when there are few */
    double min, max, mean, deviation;
} md_plot_series;

typedef struct md_plot_data {
    double first_time, last_time; /* ps */
    int64_t n_rows;
    md_plot_series series[MD_PLOT_N];
} md_plot_data;

sundog_status md_plot_data_read(const char *csv_path, md_plot_data *out);
void md_plot_data_destroy(md_plot_data *data);
#endif
