/* Memory: 64-byte aligned, never NULL for n > 0. Running out of memory ends the process with one
 * line on stderr when `base_alloc` is used by the engine; the library uses the _try forms. */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
void *base_alloc(size_t n_bytes);                   /* contents undefined; free with base_free */
void *base_alloc_zero(size_t n_bytes);
void *base_try_alloc(size_t n_bytes);               /* NULL when there is none */
void base_free(void *p);                            /* accepts NULL */
char *base_strdup(const char *s);

/* Make *array (n_bytes_element each) hold at least `needed` elements; keeps the first *capacity
 * ones; grows by half. */
void base_grow(void *array_of_pointer, size_t *capacity, size_t needed, size_t n_bytes_element);
/* BASE_RESERVE(x, cap, n): x is any T*, cap a size_t. */
#define BASE_RESERVE(array, capacity, needed) \
    base_grow(&(array), &(capacity), (size_t)(needed), sizeof *(array))
#ifdef __cplusplus
}
#endif
#endif
