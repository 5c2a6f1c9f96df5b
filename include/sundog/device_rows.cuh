/* Moving rows on a device, see sundog/device.cuh: by components, by bulk stores of a warp, and as
 * the payload of flits. Groups are those of cooperative_groups: a block, or a tile of a warp.
 */
#ifndef SUNDOG_DEVICE_ROWS_CUH
#define SUNDOG_DEVICE_ROWS_CUH
#include "sundog/device_order.cuh"

/* ---- rows by components ---------------------------------------------------------------------- */

/* A shift, hop by hop, each sum formed in double and rounded; components that no hop shifts keep
 * their bits, NaNs too. */
template <class T>
SUNDOG_DEVICE T sundog_shifted(T value, int component, const double (*shift)[3], int n_shifts)
{
    if (component > 2) return value;
    for (int hop = 0; hop < n_shifts; hop++) {
        double by = shift[hop][component];
        if (by != 0) value = (T)((double)value + by);
    }
    return value;
}
SUNDOG_DEVICE uint32_t sundog_shifted(uint32_t value, int, const double (*)[3], int)
{
    return value;
}
SUNDOG_DEVICE uint64_t sundog_shifted(uint64_t value, int, const double (*)[3], int)
{
    return value;
}
SUNDOG_DEVICE uint8_t sundog_shifted(uint8_t value, int, const double (*)[3], int)
{
    return value;
}

/* Loads that a thread has under way before it stores: a block takes a chunk of 256 rows of three
 * components in one go, as a warp does with one of 128. */
enum { SUNDOG_BATCH = 4, SUNDOG_BULK_BATCH = 12 };

/* Which rows: list[k], or (list NULL) first + k. */
typedef struct sundog_rows {
    const int32_t *list;
    int32_t first;
} sundog_rows;

/* Rows of one field in memory, `stride` bytes apart. */
typedef struct sundog_place {
    char *rows;
    int32_t stride;
    sundog_rows which;
} sundog_place;

SUNDOG_DEVICE char *sundog_at(const sundog_place &place, uint32_t k)
{
    const int32_t row = place.which.list ? place.which.list[k] : place.which.first + (int32_t)k;
    return place.rows + (int64_t)row * place.stride;
}

template <class T, class Group>
SUNDOG_DEVICE void sundog_copy_components(const Group &group, const sundog_place &from,
                                          const sundog_place &to, int n, int width,
                                          const double (*shift)[3], int n_shifts)
{
    const uint32_t n_components = (uint32_t)(n * width), step = group.size();
    for (uint32_t begin = group.thread_rank(); begin < n_components;
         begin += SUNDOG_BATCH * step) {
        T value[SUNDOG_BATCH];
#pragma unroll
        for (uint32_t u = 0; u < SUNDOG_BATCH; u++) {
            const uint32_t e = begin + u * step, k = e / (uint32_t)width;
            if (e < n_components)
                value[u] = __ldcg((const T *)sundog_at(from, k) + (e - k * (uint32_t)width));
        }
#pragma unroll
        for (uint32_t u = 0; u < SUNDOG_BATCH; u++) {
            const uint32_t e = begin + u * step, k = e / (uint32_t)width;
            const uint32_t c = e - k * (uint32_t)width;
            if (e < n_components)
                ((T *)sundog_at(to, k))[c] =
                    sundog_shifted(value[u], (int)c, shift, n_shifts);
        }
    }
}

/* Rows of whole 16-byte units; a shift touches the first one (float). */
template <class Group>
SUNDOG_DEVICE void sundog_copy_quads(const Group &group, const sundog_place &from,
                                     const sundog_place &to, int n, int width,
                                     const double (*shift)[3], int n_shifts)
{
    for (uint32_t e = group.thread_rank(); e < (uint32_t)(n * width); e += group.size()) {
        const uint32_t k = e / (uint32_t)width, c = e - k * (uint32_t)width;
        float4 value = __ldcg((const float4 *)sundog_at(from, k) + c);
        if (n_shifts > 0 && c == 0) {
            value.x = sundog_shifted(value.x, 0, shift, n_shifts);
            value.y = sundog_shifted(value.y, 1, shift, n_shifts);
            value.z = sundog_shifted(value.z, 2, shift, n_shifts);
        }
        ((float4 *)sundog_at(to, k))[c] = value;
    }
}

template <class Group>
SUNDOG_DEVICE void sundog_copy_rows(const Group &group, const sundog_view_field &field,
                                    const sundog_place &from, const sundog_place &to, int n,
                                    const double (*shift)[3], int n_shifts)
{
    const int shifts = field.shifted ? n_shifts : 0;
    if (field.quads && !(shifts && field.type == SUNDOG_FLOAT64))
        sundog_copy_quads(group, from, to, n, field.row_bytes / 16, shift, shifts);
    else if (shifts && field.type == SUNDOG_FLOAT32)
        sundog_copy_components<float>(group, from, to, n, field.width, shift, shifts);
    else if (shifts)
        sundog_copy_components<double>(group, from, to, n, field.width, shift, shifts);
    else if (field.type == SUNDOG_INT8)
        sundog_copy_components<uint8_t>(group, from, to, n, field.width, NULL, 0);
    else if (field.type == SUNDOG_INT64 || field.type == SUNDOG_FLOAT64)
        sundog_copy_components<uint64_t>(group, from, to, n, field.width, NULL, 0);
    else
        sundog_copy_components<uint32_t>(group, from, to, n, field.width, NULL, 0);
}

/* ---- rows by bulk stores --------------------------------------------------------------------- */

enum { SUNDOG_BULK_BYTES = 4096, SUNDOG_BULK_BUFFER = SUNDOG_BULK_BYTES + 32 };

/* Rows land one behind the other, without gaps, at `to`. What lies before the first and behind the
 * last multiple of 16 is stored by the threads; the rest goes through `buffer` (shared, aligned to
 * 16), laid there with the same remainder. Free again after sundog_bulk_wait_read() by the first
 * thread. */
template <class T, class Group>
SUNDOG_DEVICE void sundog_bulk_components(const Group &warp, char *buffer,
                                          const sundog_place &from, char *to, int n, int width,
                                          const double (*shift)[3], int n_shifts)
{
    const uint32_t n_bytes = (uint32_t)(n * width) * (uint32_t)sizeof(T);
    const uint32_t skew = (uint32_t)((uintptr_t)to & 15);
    const uint32_t head = min((16 - skew) & 15, n_bytes), body = (n_bytes - head) & ~15u;
    const uint32_t n_components = (uint32_t)(n * width), step = warp.size();
    for (uint32_t begin = warp.thread_rank(); begin < n_components;
         begin += SUNDOG_BULK_BATCH * step) {
        T value[SUNDOG_BULK_BATCH];
#pragma unroll
        for (uint32_t u = 0; u < SUNDOG_BULK_BATCH; u++) {
            const uint32_t e = begin + u * step, k = e / (uint32_t)width;
            if (e < n_components)
                value[u] = __ldcg((const T *)sundog_at(from, k) + (e - k * (uint32_t)width));
        }
#pragma unroll
        for (uint32_t u = 0; u < SUNDOG_BULK_BATCH; u++) {
            const uint32_t e = begin + u * step, at = e * (uint32_t)sizeof(T);
            if (e >= n_components) continue;
            value[u] = sundog_shifted(value[u], (int)(e % (uint32_t)width), shift, n_shifts);
            if (at < head || at >= head + body) ((T *)to)[e] = value[u];
            else *(T *)(buffer + skew + at) = value[u];
        }
    }
    sundog_fence_bulk();
    warp.sync();
    if (warp.thread_rank() == 0 && body > 0)
        sundog_bulk_store(to + head, buffer + skew + head, body);
}

template <class Group>
SUNDOG_DEVICE void sundog_bulk_rows(const Group &warp, char *buffer,
                                    const sundog_view_field &field, const sundog_place &from,
                                    char *to, int n, const double (*shift)[3], int n_shifts)
{
    const int shifts = field.shifted ? n_shifts : 0;
    if (shifts && field.type == SUNDOG_FLOAT32)
        sundog_bulk_components<float>(warp, buffer, from, to, n, field.width, shift, shifts);
    else if (shifts)
        sundog_bulk_components<double>(warp, buffer, from, to, n, field.width, shift, shifts);
    else if (field.type == SUNDOG_INT8)
        sundog_bulk_components<uint8_t>(warp, buffer, from, to, n, field.width, NULL, 0);
    else if (field.type == SUNDOG_INT64 || field.type == SUNDOG_FLOAT64)
        sundog_bulk_components<uint64_t>(warp, buffer, from, to, n, field.width, NULL, 0);
    else
        sundog_bulk_components<uint32_t>(warp, buffer, from, to, n, field.width, NULL, 0);
}

/* ---- rows by flits --------------------------------------------------------------------------- */

/* Where the payload of a flit lies in a row: n components of `unit` bytes; wide: three of 4, with
 * 16 bytes that can be loaded at once. */
typedef struct sundog_payload {
    char *at;
    int32_t unit, n, wide;
} sundog_payload;

/* Of flit j of the row. */
SUNDOG_DEVICE sundog_payload sundog_payload_of(const sundog_view_field &field, int64_t row, int j)
{
    const int unit = field.type == SUNDOG_INT8 ? 1
                     : field.type == SUNDOG_INT64 || field.type == SUNDOG_FLOAT64 ? 8 : 4;
    const int most = unit == 8 ? 1 : 12 / unit, n = min(most, field.width - j * most);
    return {field.rows + row * field.stride + j * most * unit, unit, n,
            field.wide && unit == 4 && n == 3 && j == 0};
}

SUNDOG_DEVICE sundog_flit sundog_payload_load(const sundog_payload &from)
{
    sundog_flit flit = {{0, 0, 0}, 0};
    if (from.wide) {
        const uint4 all = __ldcg((const uint4 *)from.at);
        flit.payload[0] = all.x, flit.payload[1] = all.y, flit.payload[2] = all.z;
    } else if (from.unit == 4) {
#pragma unroll
        for (int c = 0; c < 3; c++)
            if (c < from.n) flit.payload[c] = __ldcg((const uint32_t *)from.at + c);
    } else if (from.unit == 8) {
        const uint64_t value = __ldcg((const uint64_t *)from.at);
        flit.payload[0] = (uint32_t)value;
        flit.payload[1] = (uint32_t)(value >> 32);
    } else {
        for (int b = 0; b < from.n; b++)
            flit.payload[b / 4] |= (uint32_t)__ldcg((const uint8_t *)from.at + b) << 8 * (b % 4);
    }
    return flit;
}

SUNDOG_DEVICE void sundog_payload_store(const sundog_payload &to, sundog_flit flit)
{
    if (to.wide) {
        *(uint2 *)to.at = make_uint2(flit.payload[0], flit.payload[1]);
        ((uint32_t *)to.at)[2] = flit.payload[2];
    } else if (to.unit == 4) {
#pragma unroll
        for (int c = 0; c < 3; c++)
            if (c < to.n) ((uint32_t *)to.at)[c] = flit.payload[c];
    } else if (to.unit == 8) {
        *(uint64_t *)to.at = (uint64_t)flit.payload[1] << 32 | flit.payload[0];
    } else {
        for (int b = 0; b < to.n; b++) to.at[b] = (char)(flit.payload[b / 4] >> 8 * (b % 4));
    }
}

SUNDOG_DEVICE void sundog_flit_shift(const sundog_view_field &field, sundog_flit *flit, int j,
                                     const double (*shift)[3], int n_shifts)
{
    if (!field.shifted || n_shifts == 0) return;
    if (field.type == SUNDOG_FLOAT32 && j == 0) {
        for (int c = 0; c < 3; c++)
            flit->payload[c] = __float_as_uint(
                sundog_shifted(__uint_as_float(flit->payload[c]), c, shift, n_shifts));
    } else if (field.type == SUNDOG_FLOAT64) {
        double value = __hiloint2double((int)flit->payload[1], (int)flit->payload[0]);
        value = sundog_shifted(value, j, shift, n_shifts);
        flit->payload[0] = (uint32_t)__double2loint(value);
        flit->payload[1] = (uint32_t)__double2hiint(value);
    }
}

/* The flits of a row, over all fields: number q is flit j of field f. */
typedef struct sundog_flit_number {
    int32_t f, j;
} sundog_flit_number;

SUNDOG_DEVICE sundog_flit_number sundog_flit_of_row(const sundog_view *view, int q)
{
    int f = 0;
    while (q >= view->field[f].n_flits) q -= view->field[f++].n_flits;
    return {f, q};
}

/* The same over the fields that are added in reverse. */
SUNDOG_DEVICE sundog_flit_number sundog_flit_of_sums(const sundog_view *view, int q)
{
    int f = 0;
    for (; !view->field[f].sums || q >= view->field[f].n_flits; f++)
        if (view->field[f].sums) q -= view->field[f].n_flits;
    return {f, q};
}
#endif
