/* Sources: MemAvailable of /proc/meminfo; for each control group from ours up to the root, limit
 * less usage, where page cache that can be given back does not count as used; RLIMIT_AS less
 * what is mapped. Both versions of control groups, at their usual place. */
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The number behind `key` at the start of a line, or of the file when key is ""; NAN: none. */
static double number_in(const char *path, const char *key)
{
    char line[256];
    double found = NAN;
    size_t n = strlen(key);
    FILE *file = fopen(path, "r");
    if (!file) return NAN;
    while (isnan(found) && fgets(line, sizeof line, file)) {
        char *end;
        if (strncmp(line, key, n) != 0) continue;
        double value = strtod(line + n, &end);
        if (end != line + n) found = value;
        if (n == 0) break;
    }
    fclose(file);
    return found;
}

typedef struct group_files {
    const char *root, *limit, *usage, *cache;
} group_files;

/* NAN when this group has no limit. */
static double left_in_group(const group_files *files, const char *group)
{
    char path[4200];
    snprintf(path, sizeof path, "%s%s/%s", files->root, group, files->limit);
    double limit = number_in(path, "");
    snprintf(path, sizeof path, "%s%s/%s", files->root, group, files->usage);
    double usage = number_in(path, "");
    snprintf(path, sizeof path, "%s%s/memory.stat", files->root, group);
    double cache = number_in(path, files->cache);
    if (isnan(limit) || isnan(usage) || limit > 1e18) return NAN; /* version 1: about 2^63 */
    if (!isnan(cache)) usage -= cache;
    return usage < limit ? limit - usage : 0;
}

static void apply(base_memory *memory, double available, const char *set_by)
{
    if (isnan(available) || available >= memory->available) return;
    memory->available = available;
    memory->set_by = set_by;
}

/* One line of /proc/self/cgroup: "0::/path", or "4:memory:/path" of version 1. */
static void apply_groups(base_memory *memory, char *line)
{
    static const group_files version2 = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                         "inactive_file "};
    static const group_files version1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                         "memory.usage_in_bytes", "total_inactive_file "};
    line[strcspn(line, "\n")] = '\0';
    char *kinds = strchr(line, ':'), *group = kinds ? strchr(kinds + 1, ':') : NULL;
    if (!group) return;
    *group++ = '\0';
    const group_files *files = kinds[1] == '\0'                   ? &version2
                               : strcmp(kinds + 1, "memory") == 0 ? &version1
                                                                  : NULL;
    if (!files || group[0] != '/') return;
    for (;;) {
        if (strcmp(group, "/") == 0) group[0] = '\0';
        apply(memory, left_in_group(files, group), "the control group of this process");
        char *slash = strrchr(group, '/');
        if (!slash) break;
        *slash = '\0';
    }
}

base_memory base_memory_available(void)
{
    base_memory memory = {INFINITY, "nothing"};
    apply(&memory, 1024 * number_in("/proc/meminfo", "MemAvailable:"), "this machine");
    char line[4096];
    FILE *file = fopen("/proc/self/cgroup", "r");
    while (file && fgets(line, sizeof line, file)) apply_groups(&memory, line);
    if (file) fclose(file);
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        double mapped = (double)sysconf(_SC_PAGESIZE) * number_in("/proc/self/statm", "");
        double left = (double)limit.rlim_cur - mapped;
        apply(&memory, left > 0 ? left : 0, "ulimit -v");
    }
    return memory;
}
