#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

void *base_try_alloc(size_t n_bytes)
{
    size_t rounded = (n_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (rounded < n_bytes) return NULL;
    return aligned_alloc(ALIGNMENT, rounded ? rounded : ALIGNMENT);
}

void *base_alloc(size_t n_bytes)
{
    void *p = base_try_alloc(n_bytes);
    if (!p) {
        fprintf(stderr, "sundog: out of memory (%zu bytes asked for)\n", n_bytes);
        exit(1);
    }
    return p;
}

void *base_alloc_zero(size_t n_bytes)
{
    void *p = base_alloc(n_bytes);
    memset(p, 0, n_bytes);
    return p;
}

void base_free(void *p)
{
    free(p);
}

char *base_strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = base_alloc(n);
    memcpy(copy, s, n);
    return copy;
}

void base_grow(void *array_of_pointer, size_t *capacity, size_t needed, size_t n_bytes_element)
{
    if (needed <= *capacity) return;
    size_t grown = *capacity + *capacity / 2;
    if (grown < needed) grown = needed;
    if (grown < 16) grown = 16;
    void *old;
    memcpy(&old, array_of_pointer, sizeof old);
    void *fresh = base_alloc(grown * n_bytes_element);
    if (old) memcpy(fresh, old, *capacity * n_bytes_element);
    base_free(old);
    memcpy(array_of_pointer, &fresh, sizeof fresh);
    *capacity = grown;
}
