/* Files for tests: a folder of their own under the current one, removed at the end. */
#ifndef SCRATCH_H
#define SCRATCH_H
#include "check.h"

#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch_folder[64];
static char scratch_file[64][192];
static int n_scratch_files;

static void scratch_remove(void)
{
    for (int k = 0; k < n_scratch_files; k++) unlink(scratch_file[k]);
    rmdir(scratch_folder);
}

/* Write `n` bytes to `name` in the folder; returns its path. Names may be used again. */
static const char *scratch_write_bytes(const char *name, const char *bytes, size_t n)
{
    if (!scratch_folder[0]) {
        snprintf(scratch_folder, sizeof scratch_folder, "scratch_XXXXXX");
        CHECK(mkdtemp(scratch_folder));
        CHECK(atexit(scratch_remove) == 0);
    }
    char path[192];
    snprintf(path, sizeof path, "%s/%s", scratch_folder, name);
    int k = 0;
    while (k < n_scratch_files && strcmp(scratch_file[k], path) != 0) k++;
    if (k == n_scratch_files) {
        CHECK(n_scratch_files < 64);
        strcpy(scratch_file[n_scratch_files++], path);
    }
    FILE *file = fopen(path, "w");
    CHECK(file && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
    return scratch_file[k];
}

static inline const char *scratch_write(const char *name, const char *text)
{
    return scratch_write_bytes(name, text, strlen(text));
}

/* The whole of a file; to be freed. */
static inline char *scratch_slurp(const char *path, size_t *n)
{
    FILE *file = fopen(path, "r");
    struct stat info;
    CHECK(file && fstat(fileno(file), &info) == 0);
    char *bytes = malloc((size_t)info.st_size + 1);
    CHECK(bytes && fread(bytes, 1, (size_t)info.st_size, file) == (size_t)info.st_size);
    fclose(file);
    bytes[info.st_size] = '\0';
    *n = (size_t)info.st_size;
    return bytes;
}

/* The last error must hold `wanted`. */
static inline void scratch_expect(sundog_status status, const char *wanted, const char *input)
{
    if (status != SUNDOG_OK && strstr(sundog_last_error(), wanted)) return;
    fprintf(stderr, "input:\n%s\nexpected an error with: %s\ngot: %s\n", input, wanted,
            status == SUNDOG_OK ? "no error" : sundog_last_error());
    exit(1);
}
#endif
