/* A picture of energy.csv: energies, temperature and pressure against time, three panels. */
#ifndef MD_PLOT_H
#define MD_PLOT_H
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The format follows from the ending of image_path: .svg or .png. Needs the program gnuplot
 * (Debian, Ubuntu: gnuplot-nox) on the PATH. The image is replaced whole, or not touched. */
sundog_status md_plot_energy(const char *csv_path, const char *image_path);

/* For other pictures, in the same way: is it a name for one, and of which kind? */
sundog_status md_plot_image(const char *image_path, bool *svg);
/* gnuplot draws what its standard output is to hold; the script sets the terminal. */
sundog_status md_plot_script(const char *script, size_t n_bytes, const char *image_path);
#endif
