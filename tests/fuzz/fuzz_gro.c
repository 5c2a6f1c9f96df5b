/* md_gro_read: whatever it accepts is a sound state. */
#include "fuzz.h"

#include "md/in/gro.h"

#include <math.h>
#include <string.h>

static void check_names(const md_gro_atom *atom)
{
    FUZZ_CHECK(memchr(atom->name, '\0', sizeof atom->name) && atom->name[0]);
    FUZZ_CHECK(memchr(atom->residue, '\0', sizeof atom->residue));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    md_gro gro;
    sundog_status status = md_gro_read(fuzz_write("a.gro", data, size), &gro);
    fuzz_expect_text(status);
    if (status == SUNDOG_OK) {
        FUZZ_CHECK(gro.state.n_atoms >= 1 && (size_t)gro.state.n_atoms <= size);
        FUZZ_CHECK(md_box_check(&gro.state.box) == SUNDOG_OK);
        for (int64_t i = 0; i < gro.state.n_atoms; i++) {
            check_names(&gro.atom[i]);
            for (int k = 0; k < 3; k++)
                FUZZ_CHECK(isfinite(gro.state.x[i][k]) && isfinite(gro.state.v[i][k]));
        }
        md_gro_destroy(&gro);
    }
    fuzz_remove("a.gro");
    return 0;
}
