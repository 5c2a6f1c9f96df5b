#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char last_error[4096];

/* Messages quote files, which may hold anything: a message stays one line and moves no cursor. */
static void one_line(char *text)
{
    for (char *s = text; *s; s++) {
        if (*s == '\t' || *s == '\n') *s = ' ';
        if ((unsigned char)*s < ' ' || *s == 127) *s = '?';
    }
}

sundog_status base_fail(sundog_status status, const char *format, ...)
{
    char text[sizeof last_error];   /* an argument may be last_error itself */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    one_line(text);
    snprintf(last_error, sizeof last_error, "%s", text);
    return status;
}

const char *sundog_last_error(void)
{
    return last_error;
}

const char *sundog_status_name(sundog_status status)
{
    switch (status) {
    case SUNDOG_OK: return "ok";
    case SUNDOG_NOT_READY: return "not ready";
    case SUNDOG_ERR_ARGUMENT: return "bad argument";
    case SUNDOG_ERR_MEMORY: return "out of memory";
    case SUNDOG_ERR_PLAN: return "inconsistent plan";
    case SUNDOG_ERR_PEER_TIMEOUT: return "peer timeout";
    case SUNDOG_ERR_ABORTED: return "aborted by another rank";
    case SUNDOG_ERR_UNSUPPORTED: return "not supported";
    case SUNDOG_ERR_IO: return "input or output failed";
    case SUNDOG_ERR_INPUT: return "wrong input";
    case SUNDOG_ERR_PHYSICS: return "simulation failed";
    case SUNDOG_ERR_GPU: return "GPU call failed";
    case SUNDOG_ERR_MPI: return "MPI call failed";
    }
    return "unknown status";
}
