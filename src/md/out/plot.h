/* A picture of energy.csv: energies, temperature and pressure against time, three panels. */
#ifndef MD_PLOT_H
#define MD_PLOT_H
#include "base/status.h"

#include <stdbool.h>
#include <stdio.h>

/* The format follows from the ending of image_path: .svg or .png. Needs the program gnuplot
 * (Debian, Ubuntu: gnuplot-nox) on the PATH. The image is replaced whole, or not touched. */
sundog_status md_plot_energy(const char *csv_path, const char *image_path);

/* For other pictures, in the same way: is it a name for one, and of which kind? */
sundog_status md_plot_image(const char *image_path, bool *svg);
/* gnuplot draws what `put` writes: a script that sets the terminal, and whose output is the
 * image. */
typedef void md_plot_put(FILE *script, bool svg, const void *arg);
sundog_status md_plot_draw(md_plot_put *put, const void *arg, const char *image_path, bool svg);
#endif
