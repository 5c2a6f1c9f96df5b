/* md_index_read and md_index_find: groups hold atoms in whole ranges, and one that is found has
 * none beyond the system. */
#include "fuzz.h"

#include "md/in/index.h"

#include <string.h>

static void check_group(const md_index *index, const md_index_group *group)
{
    int64_t n_atoms = 0, largest = 0;
    FUZZ_CHECK(group->name);
    for (size_t r = 0; r < group->n_ranges; r++) {
        FUZZ_CHECK(0 <= group->range[r].first && group->range[r].first < group->range[r].end);
        n_atoms += group->range[r].end - group->range[r].first;
        if (group->range[r].end > largest) largest = group->range[r].end;
    }
    FUZZ_CHECK(n_atoms == group->n_atoms);
    const md_index_group *found = NULL;
    sundog_status status = md_index_find(index, group->name, largest, &found);
    fuzz_expect_text(status); /* an earlier group may have this name and more atoms */
    FUZZ_CHECK(status != SUNDOG_OK || strcasecmp(found->name, group->name) == 0);
    if (largest > 0 && found == group)
        FUZZ_CHECK(md_index_find(index, group->name, largest - 1, &found) == SUNDOG_ERR_INPUT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    md_index index;
    memset(&index, 0, sizeof index);
    sundog_status status = md_index_read(fuzz_write("a.ndx", data, size), &index);
    fuzz_expect_text(status);
    if (status == SUNDOG_OK) {
        for (int g = 0; g < index.n && g < 64; g++) check_group(&index, &index.group[g]);
        md_index_destroy(&index);
    }
    fuzz_remove("a.ndx");
    return 0;
}
