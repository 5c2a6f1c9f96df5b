/* Damaged files: real inputs cut off or with bytes changed must be read or refused with a message,
 * never crash. What this cannot catch: wrong numbers that still make sense. Most useful with the
 * preset asan. */
#include "md/in/gro.h"
#include "md/in/mdp.h"
#include "md/in/pdb.h"
#include "md/in/top.h"
#include "reference.h"
#include "scratch.h"

static uint64_t state = 88172645463325252u;
static size_t draw(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state % n);
}

/* Change some bytes, move a piece, or cut the end off; the new length. */
static size_t damage(char *bytes, size_t n)
{
    static const char likely[] = "0123456789.-+eE[]#;\\=\" \t\n\r\0X";
    switch (draw(4)) {
    case 0: return draw(n);
    case 1: {                       /* repeat a piece elsewhere */
        size_t length = draw(200) % n, from = draw(n - length), to = draw(n - length);
        memmove(bytes + to, bytes + from, length);
        return n;
    }
    default:
        for (size_t k = 1 + draw(4); k > 0; k--)
            bytes[draw(n)] = draw(4) ? likely[draw(sizeof likely)] : (char)draw(256);
        return n;
    }
}

static void expect_text(sundog_status status)
{
    if (status == SUNDOG_OK) return;
    CHECK(status == SUNDOG_ERR_INPUT || status == SUNDOG_ERR_UNSUPPORTED ||
          status == SUNDOG_ERR_IO);
    CHECK(strlen(sundog_last_error()) > 10);
}

static void read_gro(const char *path)
{
    md_gro gro;
    sundog_status status = md_gro_read(path, &gro);
    expect_text(status);
    if (status == SUNDOG_OK) md_gro_destroy(&gro);
}

static void read_pdb(const char *path)
{
    md_gro pdb;
    sundog_status status = md_pdb_read(path, &pdb);
    expect_text(status);
    if (status == SUNDOG_OK) md_gro_destroy(&pdb);
}

static void read_top(const char *path)
{
    md_topology *topology = NULL;
    bool has_water = strstr(path, "topol.top");
    md_top_options options = {.define = has_water && draw(2) ? "-DFLEXIBLE" : NULL,
                              .constraints = (md_constraints)draw(3)};
    sundog_status status = md_top_read(path, &options, &topology);
    expect_text(status);
    CHECK((status == SUNDOG_OK) == (topology != NULL));
    md_topology_destroy(&topology);
}

static void read_mdp(const char *path)
{
    md_params params;
    expect_text(md_mdp_read(path, &params));
}

/* Damage `source`, write it as `name`, read `entry`. */
static void torture(const char *source, const char *name, const char *entry,
                    void (*reader)(const char *), int n_times)
{
    size_t n;
    char path[192], *bytes = scratch_slurp(source, &n), *copy = malloc(n + 1);
    for (int k = 0; k < n_times; k++) {
        memcpy(copy, bytes, n + 1);
        scratch_write_bytes(name, copy, damage(copy, n));
        snprintf(path, sizeof path, "%s/%s", scratch_folder, entry);
        reader(path);
    }
    scratch_write_bytes(name, bytes, n);        /* whole again, for the next */
    free(bytes);
    free(copy);
}

int main(void)
{
    enum { N = 300 };
    torture(reference_path("ethanol/single/conf.gro"), "a.gro", "a.gro", read_gro, 4 * N);
    torture(reference_path("water/tip3p_dodec/conf.gro"), "b.gro", "b.gro", read_gro, N / 6);
    torture(SUNDOG_SOURCE_DIR "/tests/fuzz/seeds/pdb/dodecahedron.pdb", "a.pdb", "a.pdb", read_pdb,
            N);
    torture(SUNDOG_SOURCE_DIR "/tests/fuzz/seeds/pdb/numbers.pdb", "a.pdb", "a.pdb", read_pdb,
            N);
    torture(reference_path("grappa-like/rf.mdp"), "a.mdp", "a.mdp", read_mdp, 4 * N);
    torture(reference_path("terms/many_terms/topol.top"), "a.top", "a.top", read_top, 2 * N);
    torture(reference_path("terms/urey_bradley/topol.top"), "b.top", "b.top", read_top, N);
    torture(reference_path("peptide/fre_opls/forcefield.itp"), "forcefield.itp", "topol.top",
            read_top, 1);
    torture(reference_path("peptide/fre_opls/topol.top"), "topol.top", "topol.top", read_top, N);
    torture(reference_path("peptide/fre_opls/forcefield.itp"), "forcefield.itp", "topol.top",
            read_top, N);
    return 0;
}
