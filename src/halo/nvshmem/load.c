/* Finding and loading the plug-in. It is looked for beside the program or library that this code is
 * part of, in ../lib from there, and where the system looks for libraries;
 * SUNDOG_NVSHMEM_PLUGIN names another file. */
#include "halo/nvshmem/far.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLUGIN "libsundog-nvshmem.so"

enum { N_PLACES = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const halo_nvshmem *loaded;
static char loaded_from[600];

/* Candidates in the order in which they are tried; the last is a plain name. */
static int list_places(char place[N_PLACES][600])
{
    const char *named = getenv("SUNDOG_NVSHMEM_PLUGIN");
    Dl_info info;
    int n = 0;
    if (named && named[0]) {
        snprintf(place[0], sizeof place[0], "%s", named);
        return 1;
    }
    if (dladdr(&loaded, &info) && info.dli_fname) {
        const char *slash = strrchr(info.dli_fname, '/');
        int length = slash ? (int)(slash - info.dli_fname) : 0;
        const char *folder = slash ? info.dli_fname : ".";
        if (!slash) length = 1;
        snprintf(place[n++], sizeof place[0], "%.*s/%s", length, folder, PLUGIN);
        snprintf(place[n++], sizeof place[0], "%.*s/../lib/%s", length, folder, PLUGIN);
        snprintf(place[n++], sizeof place[0], "%.*s/../%s/%s", length, folder, SUNDOG_LIBDIR,
                 PLUGIN);
    }
    snprintf(place[n++], sizeof place[0], "%s", PLUGIN);
    return n;
}

/* NVSHMEM's rule: a program runs with the version it was built with, or a newer one of the same
 * major number. */
static sundog_status check_versions(const halo_nvshmem *plugin, const char *from)
{
    const int *built = plugin->built, *found = plugin->found;
    if (plugin->interface != HALO_NVSHMEM_INTERFACE)
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "%s belongs to another version of Sundog "
                         "(interface %d, this one has %d): install both from one build", from,
                         plugin->interface, HALO_NVSHMEM_INTERFACE);
    if (built[0] != found[0] || found[1] < built[1])
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "%s was built with NVSHMEM %d.%d.%d, but the "
                         "library found is %d.%d.%d: let LD_LIBRARY_PATH lead to the former, or "
                         "build again", from, built[0], built[1], built[2], found[0], found[1],
                         found[2]);
    return SUNDOG_OK;
}

static sundog_status try_place(const char *place)
{
    void *library = dlopen(place, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "fabric nvshmem: the plug-in cannot be loaded: %s",
                         why ? why : place);
    }
    void *symbol = dlsym(library, "sundog_nvshmem_plugin");
    const halo_nvshmem *(*table)(void);
    memcpy(&table, &symbol, sizeof table);
    sundog_status status =
        symbol ? check_versions(table(), place)
               : base_fail(SUNDOG_ERR_UNSUPPORTED, "%s is no plug-in of Sundog", place);
    if (status != SUNDOG_OK) {
        (void)dlclose(library);
        return status;
    }
    loaded = table();
    snprintf(loaded_from, sizeof loaded_from, "%.599s", place);
    return SUNDOG_OK;
}

/* A file that is there and does not work is an error worth telling; absent ones are passed over. */
static sundog_status load(void)
{
    char place[N_PLACES][600];
    int n = list_places(place);
    for (int i = 0; i < n; i++) {
        FILE *file = i < n - 1 ? fopen(place[i], "rb") : NULL;
        if (file) (void)fclose(file);
        if (file || i == n - 1) return try_place(place[i]);
    }
    return SUNDOG_OK;
}

sundog_status halo_nvshmem_load(const halo_nvshmem **out)
{
    pthread_mutex_lock(&lock);
    sundog_status status = loaded ? SUNDOG_OK : load();
    pthread_mutex_unlock(&lock);
    *out = loaded;
    return status;
}

sundog_status sundog_nvshmem_describe(char *text, size_t n_bytes)
{
    const halo_nvshmem *plugin;
    BASE_TRY(halo_nvshmem_load(&plugin));
    snprintf(text, n_bytes, "NVSHMEM %d.%d.%d, %s", plugin->found[0], plugin->found[1],
             plugin->found[2], loaded_from);
    return SUNDOG_OK;
}
