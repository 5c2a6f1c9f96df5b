/* Where a run computes: on the CPU, or on which GPUs; and what of a run GPUs cannot do, in words.
 *
 *      -device cpu    GPUs are not looked for
 *      -device gpu    an error that names what stands in the way
 *      -device auto   GPUs if they are there and can do all that is asked for; else the CPU, with
 *                     the reason as a note where there are GPUs
 */
#ifndef MD_DEVICE_CHOICE_H
#define MD_DEVICE_CHOICE_H
#include "md/run/setup.h"

/* Before lists are chosen: system->n_gpus and gpus. */
sundog_status md_device_choose(const md_run_options *options, md_system *system);
/* The scheme to use on the device chosen. */
md_scheme md_device_scheme(const md_run_options *options, const md_system *system);
/* Can rows of the device be used with lists of this radius? */
bool md_device_allows_lists(const md_system *system, double radius);
/* They cannot: to the CPU, or an error. */
sundog_status md_device_refuse_lists(const md_run_options *options, md_system *system);
/* The grid is known: GPUs without a domain are given back, the rung is chosen, and a note says it
 * all. system->route is set. */
sundog_status md_device_finish(const md_run_options *options, md_system *system);
/* GPU of a domain. */
int md_device_of_domain(const md_system *system, int domain);
/* Version of the kernel's driver, "" where it is unknown. */
void md_device_driver(char *text, size_t n_bytes);
/* "2 x NVIDIA H200", and the driver's version, "" where it is unknown. */
void md_device_names(const md_system *system, char *gpus, size_t n_gpus, char *driver,
                     size_t n_driver);
/* Why this program sees no GPU, where there is none. */
const char *md_device_why_none(void);
#endif
