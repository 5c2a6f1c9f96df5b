/* md_checkpoint_read: what it accepts is written again bit by bit. The sums in a checkpoint would
 * turn nearly every change away at the door, so the first byte of an input says which of them are
 * set right beforehand:
 *
 *      byte 0      bit 0: length and sum of the prefix; bit 1: sum of the whole file
 *      the rest    the file
 */
#include "fuzz.h"

#include "md/out/checkpoint.h"
#include "md/out/crc64.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_AT = 16, PREFIX_SUM_AT = 32, PREFIX = 40 };

static void set_sums(unsigned char *bytes, size_t n, unsigned which)
{
    if ((which & 1) && n >= PREFIX) {
        uint64_t length = n;
        memcpy(bytes + LENGTH_AT, &length, sizeof length);
        uint64_t sum = md_crc64(0, bytes, PREFIX_SUM_AT);
        memcpy(bytes + PREFIX_SUM_AT, &sum, sizeof sum);
    }
    if ((which & 2) && n >= PREFIX + sizeof(uint64_t)) {
        uint64_t sum = md_crc64(0, bytes, n - sizeof sum);
        memcpy(bytes + n - sizeof sum, &sum, sizeof sum);
    }
}

static void check_written(const md_checkpoint *read)
{
    md_checkpoint again;
    fuzz_write("b.cpt", "", 0);
    char path[1024];
    snprintf(path, sizeof path, "%s/b.cpt", fuzz_folder());
    FUZZ_CHECK(md_checkpoint_write(path, read) == SUNDOG_OK);
    FUZZ_CHECK(md_checkpoint_read(path, &again) == SUNDOG_OK);
    const md_state *a = &read->state, *b = &again.state;
    size_t n_bytes = (size_t)a->n_atoms * sizeof *a->x;
    FUZZ_CHECK(a->n_atoms == b->n_atoms && a->step == b->step);
    FUZZ_CHECK(memcmp(&a->box, &b->box, sizeof a->box) == 0);
    FUZZ_CHECK(n_bytes == 0 || memcmp(a->x, b->x, n_bytes) == 0);
    FUZZ_CHECK(n_bytes == 0 || memcmp(a->v, b->v, n_bytes) == 0);
    FUZZ_CHECK(memcmp(read->output_offset, again.output_offset, sizeof again.output_offset) == 0);
    FUZZ_CHECK(read->n_averages == again.n_averages);
    FUZZ_CHECK(read->n_averages == 0 || memcmp(read->averages, again.averages,
                                               read->n_averages * sizeof *read->averages) == 0);
    md_checkpoint_destroy(&again);
    fuzz_remove("b.cpt");
    fuzz_remove("b_prev.cpt");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    unsigned char *bytes = malloc(size);
    FUZZ_CHECK(bytes);
    memcpy(bytes, data + 1, size - 1);
    set_sums(bytes, size - 1, data[0]);
    md_checkpoint checkpoint;
    sundog_status status = md_checkpoint_read(fuzz_write("a.cpt", bytes, size - 1), &checkpoint);
    free(bytes);
    fuzz_expect_text(status);
    fuzz_remove("a.cpt");
    if (status != SUNDOG_OK) return 0;
    FUZZ_CHECK((size_t)checkpoint.state.n_atoms <= size && checkpoint.n_averages <= size);
    if (size % 16 == 0) check_written(&checkpoint); /* syncs to disk: slow */
    md_checkpoint_destroy(&checkpoint);
    return 0;
}
