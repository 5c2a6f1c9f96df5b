/* What every reader of coordinates promises of what it accepts. */
#ifndef COORDINATES_H
#define COORDINATES_H
#include "fuzz.h"
#include "md/in/gro.h"

#include <math.h>
#include <string.h>

static inline void check_coordinates(const md_gro *gro, size_t size)
{
    FUZZ_CHECK(gro->state.n_atoms >= 1 && (size_t)gro->state.n_atoms <= size);
    FUZZ_CHECK(md_box_check(&gro->state.box) == SUNDOG_OK);
    FUZZ_CHECK(memchr(gro->title, '\0', sizeof gro->title));
    for (int64_t i = 0; i < gro->state.n_atoms; i++) {
        const md_gro_atom *atom = &gro->atom[i];
        FUZZ_CHECK(memchr(atom->name, '\0', sizeof atom->name) && atom->name[0]);
        FUZZ_CHECK(memchr(atom->residue, '\0', sizeof atom->residue));
        for (int k = 0; k < 3; k++) FUZZ_CHECK(isfinite(gro->state.x[i][k]));
        for (int k = 0; k < 3 && gro->state.has_velocities; k++)
            FUZZ_CHECK(isfinite(gro->state.v[i][k]));
    }
}

static inline int try_coordinates(const char *name, const uint8_t *data, size_t size,
                                  sundog_status (*reader)(const char *, md_gro *))
{
    md_gro gro;
    sundog_status status = reader(fuzz_write(name, data, size), &gro);
    fuzz_expect_text(status);
    if (status == SUNDOG_OK) {
        check_coordinates(&gro, size);
        md_gro_destroy(&gro);
    }
    fuzz_remove(name);
    return 0;
}
#endif
