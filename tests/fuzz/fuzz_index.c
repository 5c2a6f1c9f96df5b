/* md_index_read: whatever it accepts is a list of named groups whose ranges are in order and add
 * up, and each group is found by its name. */
#include "fuzz.h"

#include "md/in/index.h"

#include <string.h>

static void check_group(const md_index *index, const md_index_group *group)
{
    int64_t n_atoms = 0, largest = 0;
    FUZZ_CHECK(group->name[0] && strcspn(group->name, " \t\n]") == strlen(group->name));
    for (size_t r = 0; r < group->n_ranges; r++) {
        FUZZ_CHECK(group->range[r].first >= 0 && group->range[r].first < group->range[r].end);
        n_atoms += group->range[r].end - group->range[r].first;
        if (group->range[r].end > largest) largest = group->range[r].end;
    }
    FUZZ_CHECK(n_atoms == group->n_atoms);
    const md_index_group *found;
    FUZZ_CHECK(md_index_find(index, group->name, INT64_MAX, &found) == SUNDOG_OK);
    if (found == group && largest > 0) {
        sundog_status status = md_index_find(index, group->name, largest - 1, &found);
        FUZZ_CHECK(status == SUNDOG_ERR_INPUT);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    md_index index;
    sundog_status status = md_index_read(fuzz_write("a.ndx", data, size), &index);
    fuzz_expect_text(status);
    if (status == SUNDOG_OK) {
        FUZZ_CHECK(index.n >= 1 && (size_t)index.n <= size);
        for (int g = 0; g < index.n && g < 256; g++) check_group(&index, &index.group[g]);
        md_index_destroy(&index);
    }
    fuzz_remove("a.ndx");
    return 0;
}
