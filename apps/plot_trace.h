/* A picture of a timeline (md/run/trace.h): a bar a domain, a colour a kind of event. */
#ifndef PLOT_TRACE_H
#define PLOT_TRACE_H
#include "base/status.h"

/* Reads complete events ("ph": "X") of any trace in this format, thread by thread. */
sundog_status plot_trace(const char *path, const char *image_path);
#endif
