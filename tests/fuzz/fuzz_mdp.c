/* md_mdp_read: what it accepts can be written, and what was written reads back the same. */
#include "fuzz.h"

#include "md/in/mdp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_written(const md_params *params)
{
    char *text = NULL;
    size_t n = 0;
    md_params again;
    FILE *file = open_memstream(&text, &n);
    FUZZ_CHECK(file);
    md_mdp_write(params, file);
    FUZZ_CHECK(fclose(file) == 0);
    FUZZ_CHECK(md_mdp_read(fuzz_write("b.mdp", text, n), &again) == SUNDOG_OK);
    free(text);
    fuzz_remove("b.mdp");
    /* notes tell what was changed while reading: the second time there is less to change */
    memcpy(again.notes, params->notes, sizeof again.notes);
    FUZZ_CHECK(memcmp(&again, params, sizeof again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    md_params params;
    memset(&params, 0, sizeof params);
    sundog_status status = md_mdp_read(fuzz_write("a.mdp", data, size), &params);
    fuzz_expect_text(status);
    fuzz_remove("a.mdp");
    if (status == SUNDOG_OK) check_written(&params);
    return 0;
}
