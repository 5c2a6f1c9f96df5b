#include "md/core/rows.h"

#include "base/alloc.h"

#include <string.h>

static void *regrow(void *old, size_t n_kept_bytes, size_t n_bytes)
{
    void *fresh = base_alloc(n_bytes);
    if (old) memcpy(fresh, old, n_kept_bytes);
    base_free(old);
    return fresh;
}

void md_rows_reserve(md_rows *rows, size_t n_rows)
{
    if (n_rows <= rows->capacity) return;
    size_t old = rows->capacity, n = old + old / 2;
    if (n < n_rows) n = n_rows;
    /* Kernels may read a few rows past the end. */
    n = (n + 15) / 16 * 16 + 16;
#define REGROW(array) \
    rows->array = regrow(rows->array, old * sizeof *rows->array, n * sizeof *rows->array)
    REGROW(gid);
    REGROW(x);
    REGROW(v);
    REGROW(f);
    REGROW(type);
    REGROW(charge);
    REGROW(mass);
    REGROW(zone);
#undef REGROW
    rows->capacity = n;
}

void md_rows_destroy(md_rows *rows)
{
    base_free(rows->gid);
    base_free(rows->x);
    base_free(rows->v);
    base_free(rows->f);
    base_free(rows->type);
    base_free(rows->charge);
    base_free(rows->mass);
    base_free(rows->zone);
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        base_free(rows->list[kind].rows);
        base_free(rows->list[kind].param);
        base_free(rows->list[kind].weight);
    }
    base_free(rows->exclusion_start);
    base_free(rows->exclusion);
    memset(rows, 0, sizeof *rows);
}
