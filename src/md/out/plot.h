/* A picture of energy.csv: energies, temperature and pressure against time, three panels. */
#ifndef MD_PLOT_H
#define MD_PLOT_H
#include "base/status.h"

/* The format follows from the ending of image_path: .svg or .png. Needs the program gnuplot
 * (Debian, Ubuntu: gnuplot-nox) on the PATH. The image is replaced whole, or not touched. */
sundog_status md_plot_energy(const char *csv_path, const char *image_path);
#endif
