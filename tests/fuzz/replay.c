/* Runs a fuzz target on files, for builds without libFuzzer: seeds and found inputs as an ordinary
 * test.
 *
 *      fuzz_gro FILE|FOLDER ...        exit 0 when no input breaks a promise
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static int n_inputs;

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat info;
    FUZZ_CHECK(file && fstat(fileno(file), &info) == 0);
    size_t n = (size_t)info.st_size;
    unsigned char *bytes = malloc(n ? n : 1); /* no byte more: the sanitizers watch the end */
    FUZZ_CHECK(bytes && fread(bytes, 1, n, file) == n);
    fclose(file);
    printf("%s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(bytes, n);
    free(bytes);
    n_inputs++;
}

static void replay(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        fprintf(stderr, "%s: not found\n", path);
        exit(1);
    }
    if (!S_ISDIR(info.st_mode)) {
        replay_file(path);
        return;
    }
    DIR *dir = opendir(path);
    FUZZ_CHECK(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char inner[2048];
        if (entry->d_name[0] == '.') continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        replay(inner);
    }
    closedir(dir);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) replay(argv[i]);
    if (n_inputs == 0) {
        fprintf(stderr, "no inputs\n");
        return 1;
    }
    printf("%d inputs\n", n_inputs);
    return 0;
}
