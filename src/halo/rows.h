/* Moving rows: gather-scatter with optional shift (forward), gather-add (reverse).
 *
 *   copy   to[dst(k)] = from[src(k)] (+ shift + shift ...)      k = 0 .. n-1
 *   add    to[row(k)] += from[k]                                in the order of k
 *
 * Every rung moves rows by these functions, so all give the same bits. A shift is added hop by hop
 * as the staged route does, each sum rounded to the field's type. Components without shift carry
 * -0.0, which added changes no value, -0.0 included (a signalling NaN becomes a quiet one).
 */
#ifndef HALO_ROWS_H
#define HALO_ROWS_H
#include "base/status.h"

enum { HALO_MAX_FIELDS = 16 };

typedef struct halo_field {
    char *rows;
    size_t row_bytes, stride;       /* of a row's components; to the next row */
    sundog_type type;
    int width;
    bool shifted;
} halo_field;

/* Which rows: a list, or (list NULL) all from `first` on. */
typedef struct halo_rows {
    const sundog_idx *list;
    sundog_idx first;
} halo_rows;

static inline sundog_idx halo_row(halo_rows rows, sundog_idx k)
{
    return rows.list ? rows.list[k] : rows.first + k;
}

/* Check the caller's fields and translate them. */
sundog_status halo_fields_set(const sundog_field *fields, int n_fields, halo_field *out);
/* Do two ranks mean the same message? */
bool halo_fields_match(const halo_field *a, const halo_field *b, int n_fields);

static inline bool halo_is_float(const halo_field *field)
{
    return field->type == SUNDOG_FLOAT32 || field->type == SUNDOG_FLOAT64;
}

/* The same field in rows without gaps. */
static inline halo_field halo_packed(const halo_field *field, char *rows)
{
    halo_field packed = *field;
    packed.rows = rows;
    packed.stride = field->row_bytes;
    return packed;
}

/* Fields that match; shift [n_shifts][3], used if from->shifted. */
void halo_copy(const halo_field *from, halo_rows src, const halo_field *to, halo_rows dst,
               sundog_idx n, const double (*shift)[3], int n_shifts);
/* Float fields that match. */
void halo_add(const halo_field *to, halo_rows dst, const halo_field *from, halo_rows src,
              sundog_idx n);
#endif
