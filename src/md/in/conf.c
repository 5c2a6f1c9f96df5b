/* Coordinate files: which reader, and does the file belong to the topology. */
#include "md/in/conf.h"

#include "md/in/pdb.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { N_DESCRIBED = 20, N_BLOCKS = 8 };

static bool is_one_of(const char *ending, const char *const *list)
{
    for (; *list; list++) {
        if (strcasecmp(*list, ending) == 0) return true;
    }
    return false;
}

sundog_status md_conf_read(const char *path, md_gro *out)
{
    static const char *const pdb[] = {"pdb", "ent", NULL};
    static const char *const of_gmx[] = {"g96", "tpr", "cpt", "xtc", "trr", "tng", "esp", "brk",
                                         NULL};
    static const char *const packed[] = {"gz", "Z", "xz", "bz2", "zst", NULL};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.'), *ending = dot && dot > name ? dot + 1 : "";
    if (!ending[0] || strcasecmp(ending, "gro") == 0) return md_gro_read(path, out);
    if (is_one_of(ending, pdb)) return md_pdb_read(path, out);
    if (is_one_of(ending, packed))
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "%s is compressed; unpack it first", path);
    if (is_one_of(ending, of_gmx))
        return base_fail(SUNDOG_ERR_UNSUPPORTED,
                         "%s: coordinates are read from .gro and .pdb files, not from .%s; gmx "
                         "%s makes a .gro of it", path, ending,
                         strcasecmp(ending, "tpr") == 0 || strcasecmp(ending, "g96") == 0
                             ? "editconf -f FILE -o conf.gro"
                             : "trjconv -f FILE -s topol.tpr -dump TIME -o conf.gro");
    return base_fail(SUNDOG_ERR_UNSUPPORTED,
                     "%s: coordinates are read from .gro and .pdb files, .%s is not known", path,
                     ending);
}

/* "3 SOL of 3 atoms, ..." */
static void describe_molecules(const md_topology *topology, char *text, size_t n_text)
{
    size_t used = 0;
    text[0] = '\0';
    for (int b = 0; b < topology->n_molblocks && used < n_text; b++) {
        const md_moltype *moltype = &topology->moltype[topology->molblock[b].moltype];
        int n = b < N_BLOCKS ? snprintf(text + used, n_text - used, "%s%d %s of %d",
                                        b ? ", " : "", topology->molblock[b].count, moltype->name,
                                        moltype->n_atoms)
                             : snprintf(text + used, n_text - used, ", ...");
        used += n > 0 ? (size_t)n : 0;
        if (b == N_BLOCKS) return;
    }
}

sundog_status md_conf_match(const md_gro *conf, const char *conf_path, const md_topology *topology,
                            const char *top_path, int64_t *n_mismatch, char *text, size_t n_text)
{
    if (conf->state.n_atoms != topology->n_atoms) {
        char molecules[512];
        describe_molecules(topology, molecules, sizeof molecules);
        return base_fail(SUNDOG_ERR_INPUT,
                         "%s has %lld atoms, %s has %lld (%s): they do not belong together",
                         conf_path, (long long)conf->state.n_atoms, top_path,
                         (long long)topology->n_atoms, molecules);
    }
    int64_t n = 0, i = 0;
    size_t used = 0;
    if (n_text > 0) text[0] = '\0';
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_moltype *moltype = &topology->moltype[topology->molblock[b].moltype];
        for (int m = 0; m < topology->molblock[b].count; m++) {
            for (int a = 0; a < moltype->n_atoms; a++, i++) {
                if (strcmp(conf->atom[i].name, moltype->atom[a].name) == 0) continue;
                if (++n > N_DESCRIBED || used >= n_text) continue;
                int written = snprintf(text + used, n_text - used,
                                       "  atom %lld: %s in the topology, %s in the coordinates\n",
                                       (long long)i + 1, moltype->atom[a].name,
                                       conf->atom[i].name);
                used += written > 0 ? (size_t)written : 0;
            }
        }
    }
    if (n > N_DESCRIBED && used < n_text)
        snprintf(text + used, n_text - used, "  and %lld more\n", (long long)(n - N_DESCRIBED));
    *n_mismatch = n;
    return SUNDOG_OK;
}
