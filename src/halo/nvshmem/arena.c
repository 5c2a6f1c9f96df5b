/* Symmetric memory of an exchange; see far.h. */
#include "halo/nvshmem/far.h"

#include "base/alloc.h"

#include <string.h>

static const size_t PART_ALIGNMENT = 512, LEAST_BYTES = 1 << 20;

/* Of all exchanges of this process: what NVSHMEM must have room for. */
static size_t n_bytes_in_use;

static size_t up(size_t n_bytes, size_t unit)
{
    return (n_bytes + unit - 1) / unit * unit;
}

static sundog_status fail_full(size_t n_bytes)
{
    const size_t unit = (size_t)64 << 20, all = n_bytes_in_use + n_bytes;
    size_t wanted = up(all + all / 4, unit);
    return base_fail(SUNDOG_ERR_MEMORY, "the exchange needs %.0f MB of symmetric memory on every "
                     "GPU, which NVSHMEM does not have: set NVSHMEM_SYMMETRIC_SIZE=%zu (and where "
                     "GPUs have that much, NVSHMEM_MAX_MEMORY_PER_GPU as well) in the environment "
                     "of all ranks", 1e-6 * (double)n_bytes, wanted);
}

/* Collective: where the arena of each rank is mapped here. */
static void map_arenas(const sundog_team *team, struct halo_far *far)
{
    for (int r = 0; r < team->shared->n_ranks; r++)
        far->arena_of[r] = far->nvshmem->pointer(far->arena, r);
}

sundog_status far_reserve(sundog_team *team, struct halo_far *far, size_t n_bytes)
{
    double most = (double)n_bytes;          /* exact below 2^53 */
    BASE_TRY(sundog_team_max_double(team, &most, 1));
    if (far->arena && (size_t)most <= far->n_bytes) return SUNDOG_OK;
    size_t wanted = up((size_t)most + (size_t)most / 2, PART_ALIGNMENT);
    if (wanted < LEAST_BYTES) wanted = LEAST_BYTES;
    if (far->n_retired == FAR_MAX_RETIRED)
        return base_fail(SUNDOG_ERR_MEMORY, "the exchange has grown %d times", FAR_MAX_RETIRED);
    char *fresh = far->nvshmem->allocate(wanted);
    if (!fresh) return team_agree(team, fail_full(wanted));
    if (far->arena) far->retired[far->n_retired++] = far->arena;
    far->arena = fresh;
    far->n_bytes = wanted;
    n_bytes_in_use += wanted;
    map_arenas(team, far);
    sundog_status status =
        DEVICE_CHECK(cudaMemsetAsync(fresh, 0, wanted, cudaStreamPerThread));
    if (status == SUNDOG_OK) status = DEVICE_CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    return team_agree(team, status);
}

void far_give_back(const sundog_team *team, struct halo_far *far)
{
    if (far->nvshmem && !team_is_dead(team)) {
        for (int i = 0; i < far->n_retired; i++) far->nvshmem->release(far->retired[i]);
        if (far->arena) far->nvshmem->release(far->arena);
    }
    base_free(far->is_far);
    base_free(far->arena_of);
    base_free(far->parts);
    base_free(far);
}

/* ---- cutting --------------------------------------------------------------------------------- */

/* Place for a part; *end is where the next may begin. */
static int64_t place(int64_t *end, size_t n_bytes)
{
    int64_t begin = *end;
    *end += (int64_t)up(n_bytes, PART_ALIGNMENT);
    return begin;
}

/* Flits of n rows, two copies. */
static size_t flit_bytes(int n_rows, int n_flits)
{
    return 2 * sizeof(sundog_flit) * ((size_t)n_rows + 1) * ((size_t)n_flits + 1);
}

far_parts far_cut(const sundog_exchange *exchange)
{
    const halo_layout *l = &exchange->device->layout;
    const bool flits = l->transport == HALO_FLIT;
    size_t n_send = (size_t)l->n_send_rows, n_recv = (size_t)l->n_recv_rows;
    int n_messages = halo_route_of(exchange)->n_messages;
    char *field[HALO_MAX_FIELDS];
    int64_t end = 0;
    far_parts parts;
    memset(&parts, 0, sizeof parts);
    parts.n_send_rows = l->n_send_rows;
    parts.n_recv_rows = l->n_recv_rows;
    parts.words = place(&end, (peer_line(n_messages, PEER_N_KINDS, l->n_groups) + 1) *
                                  sizeof(sundog_word));
    parts.sums = place(&end, peer_boxes(exchange, n_send, true, NULL, field));
    if (flits) {
        parts.flits = place(&end, flit_bytes(l->n_recv_rows, l->n_flits));
        parts.sum_flits = place(&end, flit_bytes(l->n_send_rows, l->n_sum_flits));
        parts.outbox = place(&end, flit_bytes(l->n_send_rows, l->n_flits));
        parts.sum_outbox = place(&end, flit_bytes(l->n_recv_rows, l->n_sum_flits));
    } else {
        parts.inbox = place(&end, peer_boxes(exchange, n_recv, false, NULL, field));
        parts.outbox = place(&end, peer_boxes(exchange, n_send, false, NULL, field));
        parts.sum_outbox = place(&end, peer_boxes(exchange, n_recv, true, NULL, field));
    }
    parts.end = end;
    return parts;
}

static device_array piece(const struct halo_far *far, int64_t from, int64_t to)
{
    return (device_array){far->arena + from, (size_t)(to - from)};
}

/* (Arrays of a peer that have enough room are left as they are: peer_lay_memory().) */
void far_set_arrays(sundog_exchange *exchange)
{
    struct halo_peer *peer = exchange->device;
    struct halo_far *far = peer->far;
    const far_parts *p = &far->parts[exchange->team->rank];
    halo_layout *l = &peer->layout;
    const bool flits = l->transport == HALO_FLIT;
    peer->words = piece(far, p->words, p->sums);
    peer->sums = piece(far, p->sums, flits ? p->flits : p->inbox);
    memset(&far->inbox, 0, sizeof far->inbox);
    if (flits) {
        peer->flits = piece(far, p->flits, p->sum_flits);
        peer->sum_flits = piece(far, p->sum_flits, p->outbox);
        far->flit_outbox = (sundog_flit *)(void *)(far->arena + p->outbox);
        far->sum_flit_outbox = (sundog_flit *)(void *)(far->arena + p->sum_outbox);
        return;
    }
    size_t n_send = (size_t)l->n_send_rows, n_recv = (size_t)l->n_recv_rows;
    (void)peer_boxes(exchange, n_recv, false, far->arena + p->inbox, far->inbox.field);
    (void)peer_boxes(exchange, n_send, false, far->arena + p->outbox, far->outbox.field);
    (void)peer_boxes(exchange, n_recv, true, far->arena + p->sum_outbox, far->sum_outbox.field);
    for (int f = 0; f < exchange->n_fields; f++) l->field[f].inbox = far->inbox.field[f];
}
