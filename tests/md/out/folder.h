/* A folder of its own for each test program, removed when the program ends well. Also: whole files
 * into memory, and back. */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H
#include "check.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static inline const char *in_folder(const char *name)
{
    static char paths[8][512]; /* the last eight answers stay valid */
    static int turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static inline void folder_create(const char *subject)
{
    snprintf(folder, sizeof folder, "%s.XXXXXX", subject);
    CHECK(mkdtemp(folder) != NULL);
}

/* How many names are in it. */
static inline int folder_count(void)
{
    DIR *dir = opendir(folder);
    CHECK(dir != NULL);
    int n = -2; /* . and .. */
    while (readdir(dir)) n++;
    closedir(dir);
    return n;
}

static inline void folder_remove(void)
{
    DIR *dir = opendir(folder);
    CHECK(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.') remove(in_folder(entry->d_name));
    closedir(dir);
    CHECK(rmdir(folder) == 0);
}

static inline unsigned char *file_read(const char *path, size_t *n_bytes)
{
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    *n_bytes = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*n_bytes + 1);
    CHECK(bytes != NULL);
    CHECK(fread(bytes, 1, *n_bytes, file) == *n_bytes);
    fclose(file);
    bytes[*n_bytes] = 0;
    return bytes;
}

static inline void file_write(const char *path, const void *bytes, size_t n_bytes)
{
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(fwrite(bytes, 1, n_bytes, file) == n_bytes);
    CHECK(fclose(file) == 0);
}

static inline bool error_says(const char *words)
{
    if (strstr(sundog_last_error(), words)) return true;
    fprintf(stderr, "the error text is: %s\n", sundog_last_error());
    return false;
}
#endif
