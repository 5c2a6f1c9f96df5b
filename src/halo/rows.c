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
        out[f] = (halo_field){in->rows, n_bytes * (size_t)in->width, in->type, in->width,
                              in->shifted};
        if (in->shifted && (!halo_is_float(&out[f]) || in->width < 3))
            return base_fail(SUNDOG_ERR_ARGUMENT, "field %d: only floating-point rows of 3 or more "
                             "components can be shifted", f);
    }
    return SUNDOG_OK;
}

bool halo_fields_match(const halo_field *a, const halo_field *b, int n_fields)
{
    for (int f = 0; f < n_fields; f++)
        if (a[f].type != b[f].type || a[f].width != b[f].width || a[f].shifted != b[f].shifted)
            return false;
    return true;
}

/* ---- copy ------------------------------------------------------------------------------------ */

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

static void copy_plain(const char *from, halo_rows src, char *to, halo_rows dst, sundog_idx n,
                       size_t n_bytes)
{
    switch (n_bytes) {
    case 1: copy_sized(from, src, to, dst, n, 1); break;
    case 4: copy_sized(from, src, to, dst, n, 4); break;
    case 8: copy_sized(from, src, to, dst, n, 8); break;
    case 12: copy_sized(from, src, to, dst, n, 12); break;
    case 16: copy_sized(from, src, to, dst, n, 16); break;
    case 24: copy_sized(from, src, to, dst, n, 24); break;
    case 32: copy_sized(from, src, to, dst, n, 32); break;
    default: copy_sized(from, src, to, dst, n, n_bytes); break;
    }
}

/* The sum is formed in double and rounded once a hop. */
#define COPY_SHIFTED(NAME, T)                                                                     \
    static void NAME(const T *from, halo_rows src, T *to, halo_rows dst, sundog_idx n,            \
                     const double (*shift)[3], int n_shifts, int width)                           \
    {                                                                                             \
        for (sundog_idx k = 0; k < n; k++) {                                                      \
            const T *a = from + (size_t)halo_row(src, k) * (size_t)width;                         \
            T *b = to + (size_t)halo_row(dst, k) * (size_t)width;                                 \
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

void halo_copy(const halo_field *from, halo_rows src, char *to, halo_rows dst, sundog_idx n,
               const double (*shift)[3], int n_shifts)
{
    if (n == 0) return;
    if (!from->shifted || n_shifts == 0)
        copy_plain(from->rows, src, to, dst, n, from->row_bytes);
    else if (from->type == SUNDOG_FLOAT32)
        copy_shifted_float((const float *)from->rows, src, (float *)to, dst, n, shift, n_shifts,
                           from->width);
    else
        copy_shifted_double((const double *)from->rows, src, (double *)to, dst, n, shift, n_shifts,
                            from->width);
}

/* ---- add ------------------------------------------------------------------------------------- */

#define ADD(NAME, T)                                                                              \
    static inline __attribute__((always_inline)) void NAME(                                       \
        T *to, halo_rows dst, const T *from, halo_rows src, sundog_idx n, int width)              \
    {                                                                                             \
        for (sundog_idx k = 0; k < n; k++) {                                                      \
            T *a = to + (size_t)halo_row(dst, k) * (size_t)width;                                 \
            const T *b = from + (size_t)halo_row(src, k) * (size_t)width;                         \
            for (int c = 0; c < width; c++) a[c] += b[c];                                         \
        }                                                                                         \
    }
ADD(add_float, float)
ADD(add_double, double)

void halo_add(const halo_field *to, halo_rows dst, const char *from, halo_rows src, sundog_idx n)
{
    if (to->type == SUNDOG_FLOAT32 && to->width == 3)
        add_float((float *)to->rows, dst, (const float *)from, src, n, 3);
    else if (to->type == SUNDOG_FLOAT32)
        add_float((float *)to->rows, dst, (const float *)from, src, n, to->width);
    else if (to->type == SUNDOG_FLOAT64 && to->width == 3)
        add_double((double *)to->rows, dst, (const double *)from, src, n, 3);
    else if (to->type == SUNDOG_FLOAT64)
        add_double((double *)to->rows, dst, (const double *)from, src, n, to->width);
}
