/* Moving rows; see rows.h. The size of a row is a constant in the loops of the common sizes, which
 * the compiler then turns into plain loads and stores. */
#include "halo/rows.h"

#include <string.h>

static size_t type_bytes(sundog_type type)
{
    switch (type) {
    case SUNDOG_INT8: return 1;
    case SUNDOG_INT32: case SUNDOG_FLOAT32: return 4;
    case SUNDOG_INT64: case SUNDOG_FLOAT64: return 8;
    }
    return 0;
}

sundog_status halo_fields_set(const sundog_field *fields, int n_fields, halo_field *out)
{
    if (n_fields < 1 || n_fields > HALO_MAX_FIELDS || !fields)
        return base_fail(SUNDOG_ERR_ARGUMENT, "%d fields are given, must be 1 to %d", n_fields,
                         HALO_MAX_FIELDS);
    for (int f = 0; f < n_fields; f++) {
        const sundog_field *in = &fields[f];
        size_t n_bytes = type_bytes(in->type);
        if (n_bytes == 0)
            return base_fail(SUNDOG_ERR_ARGUMENT, "field %d: unknown type %d", f, (int)in->type);
        if (in->width < 1 || in->width > 4096)
            return base_fail(SUNDOG_ERR_ARGUMENT, "field %d: width is %d, must be 1 to 4096", f,
                             in->width);
        size_t row_bytes = n_bytes * (size_t)in->width;
        size_t stride = in->stride ? in->stride : row_bytes;
        if (stride < row_bytes || stride % n_bytes != 0 || stride > INT32_MAX)
            return base_fail(SUNDOG_ERR_ARGUMENT, "field %d: stride is %zu bytes, must be at least "
                             "the %zu of a row, a multiple of %zu and below 2^31 (or 0: packed)",
                             f, stride, row_bytes, n_bytes);
        out[f] = (halo_field){in->rows, row_bytes, stride, in->type, in->width, in->shifted};
        if (in->shifted && (!halo_is_float(&out[f]) || in->width < 3))
            return base_fail(SUNDOG_ERR_ARGUMENT, "field %d: only floating-point rows of 3 or more "
                             "components can be shifted", f);
    }
    return SUNDOG_OK;
}

bool halo_fields_match(const halo_field *a, const halo_field *b, int n_fields)
{
    for (int f = 0; f < n_fields; f++)
        if (a[f].type != b[f].type || a[f].width != b[f].width || a[f].shifted != b[f].shifted ||
            a[f].stride != b[f].stride)
            return false;
    return true;
}

/* ---- copy ------------------------------------------------------------------------------------ */

static inline char *row_at(const halo_field *field, halo_rows rows, sundog_idx k)
{
    return field->rows + (size_t)halo_row(rows, k) * field->stride;
}

/* Rows without gaps on both sides. */
static inline __attribute__((always_inline)) void copy_sized(const char *from, halo_rows src,
                                                             char *to, halo_rows dst, sundog_idx n,
                                                             size_t n_bytes)
{
    if (!dst.list && !src.list) {
        memcpy(to + (size_t)dst.first * n_bytes, from + (size_t)src.first * n_bytes,
               (size_t)n * n_bytes);
    } else if (!dst.list) {
        to += (size_t)dst.first * n_bytes;
        for (sundog_idx k = 0; k < n; k++)
            memcpy(to + (size_t)k * n_bytes, from + (size_t)src.list[k] * n_bytes, n_bytes);
    } else {
        for (sundog_idx k = 0; k < n; k++)
            memcpy(to + (size_t)dst.list[k] * n_bytes,
                   from + (size_t)halo_row(src, k) * n_bytes, n_bytes);
    }
}

static inline __attribute__((always_inline)) void copy_spaced(const halo_field *from, halo_rows src,
                                                              const halo_field *to, halo_rows dst,
                                                              sundog_idx n, size_t n_bytes)
{
    for (sundog_idx k = 0; k < n; k++) memcpy(row_at(to, dst, k), row_at(from, src, k), n_bytes);
}

static void copy_plain(const halo_field *from, halo_rows src, const halo_field *to, halo_rows dst,
                       sundog_idx n)
{
    const char *a = from->rows;
    char *b = to->rows;
    size_t n_bytes = from->row_bytes;
    if (from->stride != n_bytes || to->stride != n_bytes) {
        if (n_bytes == 12) copy_spaced(from, src, to, dst, n, 12);
        else copy_spaced(from, src, to, dst, n, n_bytes);
        return;
    }
    switch (n_bytes) {
    case 1: copy_sized(a, src, b, dst, n, 1); break;
    case 4: copy_sized(a, src, b, dst, n, 4); break;
    case 8: copy_sized(a, src, b, dst, n, 8); break;
    case 12: copy_sized(a, src, b, dst, n, 12); break;
    case 16: copy_sized(a, src, b, dst, n, 16); break;
    case 24: copy_sized(a, src, b, dst, n, 24); break;
    case 32: copy_sized(a, src, b, dst, n, 32); break;
    default: copy_sized(a, src, b, dst, n, n_bytes); break;
    }
}

/* The sum is formed in double and rounded once a hop. */
#define COPY_SHIFTED(NAME, T)                                                                     \
    static void NAME(const halo_field *from, halo_rows src, const halo_field *to, halo_rows dst,  \
                     sundog_idx n, const double (*shift)[3], int n_shifts)                        \
    {                                                                                             \
        int width = from->width;                                                                  \
        for (sundog_idx k = 0; k < n; k++) {                                                      \
            const T *a = (const T *)row_at(from, src, k);                                         \
            T *b = (T *)row_at(to, dst, k);                                                       \
            T x = a[0], y = a[1], z = a[2];                                                       \
            for (int hop = 0; hop < n_shifts; hop++) {                                            \
                x = (T)((double)x + shift[hop][0]);                                               \
                y = (T)((double)y + shift[hop][1]);                                               \
                z = (T)((double)z + shift[hop][2]);                                               \
            }                                                                                     \
            b[0] = x, b[1] = y, b[2] = z;                                                         \
            for (int c = 3; c < width; c++) b[c] = a[c];                                          \
        }                                                                                         \
    }
COPY_SHIFTED(copy_shifted_float, float)
COPY_SHIFTED(copy_shifted_double, double)

void halo_copy(const halo_field *from, halo_rows src, const halo_field *to, halo_rows dst,
               sundog_idx n, const double (*shift)[3], int n_shifts)
{
    if (n == 0) return;
    if (!from->shifted || n_shifts == 0) copy_plain(from, src, to, dst, n);
    else if (from->type == SUNDOG_FLOAT32)
        copy_shifted_float(from, src, to, dst, n, shift, n_shifts);
    else copy_shifted_double(from, src, to, dst, n, shift, n_shifts);
}

/* ---- add ------------------------------------------------------------------------------------- */

#define ADD(NAME, T)                                                                              \
    static inline __attribute__((always_inline)) void NAME(                                       \
        const halo_field *to, halo_rows dst, const halo_field *from, halo_rows src,               \
        sundog_idx n, int width)                                                                  \
    {                                                                                             \
        for (sundog_idx k = 0; k < n; k++) {                                                      \
            T *a = (T *)row_at(to, dst, k);                                                       \
            const T *b = (const T *)row_at(from, src, k);                                         \
            for (int c = 0; c < width; c++) a[c] += b[c];                                         \
        }                                                                                         \
    }
ADD(add_float, float)
ADD(add_double, double)

void halo_add(const halo_field *to, halo_rows dst, const halo_field *from, halo_rows src,
              sundog_idx n)
{
    if (to->type == SUNDOG_FLOAT32 && to->width == 3) add_float(to, dst, from, src, n, 3);
    else if (to->type == SUNDOG_FLOAT32) add_float(to, dst, from, src, n, to->width);
    else if (to->type == SUNDOG_FLOAT64 && to->width == 3) add_double(to, dst, from, src, n, 3);
    else if (to->type == SUNDOG_FLOAT64) add_double(to, dst, from, src, n, to->width);
}
