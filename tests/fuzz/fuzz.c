/* Sandbox and checks of the fuzz targets (fuzz.h). The sandbox is a folder under TMPDIR, or under
 * the current folder; one in memory makes fuzzing several times faster. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[512], path[1024];

void fuzz_broken(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: broken promise: %s\nlast error: %s\n", file, line, condition,
            sundog_last_error());
    abort();
}

static void remove_folder(void)
{
    snprintf(path, sizeof path, "%s/inc", folder);
    rmdir(path);
    rmdir(folder);
}

const char *fuzz_folder(void)
{
    if (folder[0]) return folder;
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/fuzz_XXXXXX", parent && parent[0] ? parent : ".");
    FUZZ_CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/inc", folder);
    FUZZ_CHECK(mkdir(path, 0777) == 0);
    FUZZ_CHECK(atexit(remove_folder) == 0);
    return folder;
}

const char *fuzz_write(const char *name, const void *bytes, size_t n_bytes)
{
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file);
    FUZZ_CHECK(n_bytes == 0 || fwrite(bytes, 1, n_bytes, file) == n_bytes);
    FUZZ_CHECK(fclose(file) == 0);
    return path;
}

void fuzz_remove(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    unlink(path);
}

void fuzz_expect_text(sundog_status status)
{
    if (status == SUNDOG_OK) return;
    FUZZ_CHECK(status == SUNDOG_ERR_INPUT || status == SUNDOG_ERR_UNSUPPORTED ||
               status == SUNDOG_ERR_IO);
    const char *text = sundog_last_error();
    FUZZ_CHECK(strlen(text) > 10);
    FUZZ_CHECK(strstr(text, folder) || strncmp(text, "define ", 7) == 0 ||
               strncmp(text, "include ", 8) == 0);
    for (const char *s = text; *s; s++) FUZZ_CHECK((unsigned char)*s >= ' ' && *s != 127);
}
