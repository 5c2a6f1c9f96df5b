/* Life of the unit lists: memory on the device, capacities, and the loop that makes room until the
 * lists of a rebuild fit.
 *
 * Nothing that is made of rows depends on how much room there was: capacities decide where an entry
 * is in memory and never in which order entries come. What does decide it, the number of blocks and
 * of lanes, follows from the rows and from how many units a block may have (most_units).
 *
 * Capacities are per block and per unit, equal for all: a place is found without asking anybody,
 * and the lists of a block are one stretch of memory. Two of them cannot grow: a block's outer
 * slots must fit its shared memory, and offsets of inner slots their 16 bits. Then blocks are made
 * smaller.
 */
#include <string.h>

#include "device/cuda.h"
#include "md/pairs/unit_kernels.cuh"

enum {
    MOST_SLOTS = 4095,          /* 16 bytes each, in a 16-bit offset */
    READ_AHEAD = 128            /* words that the force kernel may read beyond its lists */
};

enum list_memory {
    LEAF_ROW, ROW_WORD, ROW_GID, ROW_CHARGE_ONLY, UNIT, BLOCK_START, TAIL, TAIL_ROW, TAIL_MASK,
    TAIL_GID, UNIT_NOW, TAIL_NOW, TAIL_GID_NOW, TAIL_SLOT, LEAF_AT, LEAF_HALF, CANDIDATE, CENTRE,
    OUTER_SLOT, N_OUTER_SLOTS, CORE_BITS, OUTER, N_OUTER, SLOT, N_SLOTS, LIST, WARP, LANE, LANES,
    NEED, NUMBERS, CUT, KEY, SORTED, ORDER, OTHER_ORDER, SORT_TEMP, GHOST_KEY, GHOST_SORTED, GHOST,
    GHOST_ORDER, N_MEMORY
};

struct md_unit_lists {
    const md_units *units;
    const md_topology *topology;
    md_unit_lists_options options;
    md_unit_plan plan;
    int n_processors, most_outer;
    int most_units;             /* of a block, as found to fit */
    double spare;               /* room for what is needed times this */
    uint64_t generation;
    unit_numbers numbers;
    unit_arrays arrays;
    unit_replan replan;
    int owned_leaf_capacity;
    device_array memory[N_MEMORY];
};

static sundog_status check_options(const md_unit_lists_options *o)
{
    if (!(o->rinner > 0 && o->rinner <= o->rlist))
        return base_fail(SUNDOG_ERR_ARGUMENT,
                         "list radii are %g and %g nm; the inner must be positive and no larger",
                         o->rinner, o->rlist);
    bool fits = o->threads % 32 == 0 && o->threads >= MD_UNIT_MOST && o->threads <= MD_UNIT_THREADS;
    if (o->threads != 0 && !fits)
        return base_fail(SUNDOG_ERR_ARGUMENT, "%d threads a block; 0 or a multiple of 32, %d to %d",
                         o->threads, MD_UNIT_MOST, MD_UNIT_THREADS);
    if (o->most_units < 0 || o->most_units > MD_UNIT_MOST)
        return base_fail(SUNDOG_ERR_ARGUMENT, "%d units a block; 0 or up to %d", o->most_units,
                         MD_UNIT_MOST);
    return SUNDOG_OK;
}

static sundog_status attribute(enum cudaDeviceAttr name, int *value)
{
    int device;
    BASE_TRY(DEVICE_CHECK(cudaGetDevice(&device)));
    return DEVICE_CHECK(cudaDeviceGetAttribute(value, name, device));
}

extern "C" sundog_status md_unit_lists_create(const md_units *units, const md_topology *topology,
                                              const md_unit_lists_options *options,
                                              md_unit_lists **out)
{
    int search_static, filter_static, n_processors, shared_bytes;
    BASE_TRY(check_options(options));
    BASE_TRY(attribute(cudaDevAttrMultiProcessorCount, &n_processors));
    BASE_TRY(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &shared_bytes));
    BASE_TRY(DEVICE_CHECK(unit_prepare_search(shared_bytes, &search_static)));
    BASE_TRY(DEVICE_CHECK(unit_prepare_filter(shared_bytes, &filter_static)));
    md_unit_lists *lists = (md_unit_lists *)base_alloc_zero(sizeof *lists);
    lists->units = units;
    lists->topology = topology;
    lists->options = *options;
    lists->n_processors = n_processors;
    lists->most_outer = (shared_bytes - search_static) / (int)unit_search_bytes(32) * 32;
    while (unit_filter_bytes(lists->most_outer) > (size_t)(shared_bytes - filter_static))
        lists->most_outer -= 32;
    lists->most_units = options->most_units ? options->most_units : MD_UNIT_MOST;
    /* Blocks planned anew differ by some ten per cent; an overflow costs a rebuild on the host. */
    lists->spare = options->tight ? 1 : 1.35;
    lists->arrays.outer_capacity = options->tight ? 64 : 1024;
    lists->arrays.candidates = options->tight ? 32 : 1024;
    lists->arrays.unit_capacity = options->tight ? 64 : 512;
    lists->arrays.view.slot_capacity = options->tight ? 32 : 1024;
    lists->arrays.view.list_capacity = options->tight ? 128 : 16384;
    *out = lists;
    return SUNDOG_OK;
}

extern "C" void md_unit_lists_destroy(md_unit_lists **lists)
{
    md_unit_lists *l = *lists;
    if (!l) return;
    for (int k = 0; k < N_MEMORY; k++) device_free(&l->memory[k]);
    md_unit_plan_destroy(&l->plan);
    base_free(l);
    *lists = NULL;
}

static sundog_status upload(md_unit_lists *l, enum list_memory name, const void *from,
                            size_t n_bytes, cudaStream_t stream)
{
    BASE_TRY(device_reserve(&l->memory[name], n_bytes));
    void *to = l->memory[name].d;
    return DEVICE_CHECK(cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyHostToDevice, stream));
}

static sundog_status upload_plan(md_unit_lists *l, cudaStream_t stream)
{
    const md_unit_plan *p = &l->plan;
    size_t rows = (size_t)p->n_rows, units = (size_t)p->n_units, tail = (size_t)p->n_tail;
    BASE_TRY(upload(l, LEAF_ROW, p->leaf_row,
                    (size_t)p->n_leaves * MD_UNIT_LEAF * sizeof *p->leaf_row, stream));
    BASE_TRY(upload(l, ROW_WORD, p->row_word, rows * sizeof *p->row_word, stream));
    BASE_TRY(upload(l, ROW_GID, p->row_gid, rows * sizeof *p->row_gid, stream));
    BASE_TRY(upload(l, ROW_CHARGE_ONLY, p->row_charge_only, rows, stream));
    BASE_TRY(upload(l, UNIT, p->unit, units * sizeof *p->unit, stream));
    BASE_TRY(upload(l, BLOCK_START, p->block_start,
                    ((size_t)p->n_blocks + 1) * sizeof *p->block_start, stream));
    int2 *ranges = (int2 *)base_alloc((units + 1) * sizeof *ranges);
    for (size_t u = 0; u < units; u++)
        ranges[u] = make_int2(p->tail_start[u], p->tail_start[u + 1]);
    sundog_status status = upload(l, TAIL, ranges, units * sizeof *ranges, stream);
    if (status == SUNDOG_OK)
        status = upload(l, TAIL_NOW, ranges, units * sizeof *ranges, stream);
    base_free(ranges);
    BASE_TRY(status);
    BASE_TRY(upload(l, TAIL_ROW, p->tail_row, tail * sizeof *p->tail_row, stream));
    BASE_TRY(upload(l, TAIL_MASK, p->tail_mask, tail, stream));
    BASE_TRY(upload(l, UNIT_NOW, p->unit, units * sizeof *p->unit, stream));
    BASE_TRY(upload(l, TAIL_GID_NOW, p->tail_gid, units * sizeof *p->tail_gid, stream));
    return upload(l, TAIL_GID, p->tail_gid, units * sizeof *p->tail_gid, stream);
}

/* Lanes of a block of the force kernel: many blocks run best two to a multiprocessor. */
static int choose_threads(const md_unit_lists *l)
{
    const int many_units = 80, fewer_threads = 640;     /* of a block */
    if (l->options.threads) return l->options.threads;
    if (l->plan.n_blocks > l->n_processors) return MD_UNIT_THREADS / 2;
    return l->plan.n_units > many_units * l->plan.n_blocks ? MD_UNIT_THREADS : fewer_threads;
}

static sundog_status no_memory(const md_unit_lists *l, const size_t *bytes)
{
    size_t wanted = 0, here = 0, free_bytes = 0, all_bytes = 0;
    for (int k = 0; k < N_MEMORY; k++) here += l->memory[k].n_bytes;
    for (int k = TAIL_SLOT; k < N_MEMORY; k++) wanted += bytes[k - TAIL_SLOT];
    (void)cudaMemGetInfo(&free_bytes, &all_bytes);
    return base_fail(SUNDOG_ERR_MEMORY,
                     "the pair lists of %d atoms want %.3g GB on their GPU, of whose %.3g GB %.3g "
                     "are free and %.3g lists already: use more GPUs, or a shorter list radius "
                     "(rlist, or nstlist)",
                     l->plan.n_owned, 1e-9 * (double)wanted, 1e-9 * (double)all_bytes,
                     1e-9 * (double)free_bytes, 1e-9 * (double)here);
}

static sundog_status reserve(md_unit_lists *l)
{
    unit_arrays *a = &l->arrays;
    size_t blocks = (size_t)l->plan.n_blocks, units = (size_t)l->plan.n_units;
    size_t threads = (size_t)a->view.threads;
    const size_t bytes[N_MEMORY - TAIL_SLOT] = {
        (size_t)l->plan.n_tail * sizeof(uint16_t),
        (size_t)a->leaf_capacity * sizeof(int4),
        (size_t)a->leaf_capacity * sizeof(float4),
        blocks * (UNIT_BUILDERS / 32) * (size_t)a->candidates * sizeof(uint16_t),
        blocks * sizeof(int4),
        blocks * (size_t)a->outer_capacity * sizeof(uint32_t),
        blocks * sizeof(int),
        blocks * (size_t)(a->outer_capacity / 32) * sizeof(uint32_t),
        units * (size_t)a->unit_capacity * sizeof(uint16_t),
        units * sizeof(int4),
        blocks * (size_t)a->view.slot_capacity * sizeof(uint32_t),
        blocks * sizeof(int),
        (blocks * (size_t)a->view.list_capacity + READ_AHEAD) * sizeof(uint32_t),
        blocks * (threads / 32) * sizeof(md_unit_warp),
        blocks * threads * sizeof(uint2),
        blocks * MD_UNIT_MOST * sizeof(uint32_t),
        sizeof(unit_need),
        sizeof(unit_numbers),
        sizeof(unit_cut),
        (size_t)l->replan.capacity * sizeof(uint32_t),
        (size_t)l->replan.capacity * sizeof(uint32_t),
        (size_t)l->replan.capacity * sizeof(int),
        (size_t)l->replan.capacity * sizeof(int),
        l->replan.temp_bytes,
        (size_t)l->replan.ghost_capacity * sizeof(uint32_t),
        (size_t)l->replan.ghost_capacity * sizeof(uint32_t),
        (size_t)l->replan.ghost_capacity * sizeof(int),
        (size_t)l->replan.ghost_capacity * sizeof(int)};
    for (int k = TAIL_SLOT; k < N_MEMORY; k++) {
        const sundog_status status = device_reserve(&l->memory[k], bytes[k - TAIL_SLOT]);
        if (status == SUNDOG_ERR_MEMORY) return no_memory(l, bytes);
        BASE_TRY(status);
    }
    return SUNDOG_OK;
}

static void set_pointers(md_unit_lists *l)
{
    unit_arrays *a = &l->arrays;
    const device_array *m = l->memory;
    a->leaf_row = (const int *)m[LEAF_ROW].d;
    a->row_word = (const uint32_t *)m[ROW_WORD].d;
    a->row_gid = (const uint32_t *)m[ROW_GID].d;
    a->row_charge_only = (const uint8_t *)m[ROW_CHARGE_ONLY].d;
    a->tail = (const int2 *)m[TAIL_NOW].d;
    a->tail_row = (const int *)m[TAIL_ROW].d;
    a->tail_mask = (const uint8_t *)m[TAIL_MASK].d;
    a->tail_gid = (const uint2 *)m[TAIL_GID_NOW].d;
    a->tail_slot = (uint16_t *)m[TAIL_SLOT].d;
    a->leaf_at = (int4 *)m[LEAF_AT].d;
    a->leaf_half = (float4 *)m[LEAF_HALF].d;
    a->candidate = (uint16_t *)m[CANDIDATE].d;
    a->centre = (int4 *)m[CENTRE].d;
    a->outer_slot = (uint32_t *)m[OUTER_SLOT].d;
    a->n_outer_slots = (int *)m[N_OUTER_SLOTS].d;
    a->core_bits = (uint32_t *)m[CORE_BITS].d;
    a->outer = (uint16_t *)m[OUTER].d;
    a->n_outer = (int4 *)m[N_OUTER].d;
    a->slot = (uint32_t *)m[SLOT].d;
    a->n_slots = (int *)m[N_SLOTS].d;
    a->list = (uint32_t *)m[LIST].d;
    a->warp = (md_unit_warp *)m[WARP].d;
    a->lane = (uint2 *)m[LANE].d;
    a->lanes = (uint32_t *)m[LANES].d;
    a->need = (unit_need *)m[NEED].d;
    a->numbers = (const unit_numbers *)m[NUMBERS].d;
    md_unit_view *v = &a->view;
    v->scale = l->options.d_box ? l->options.d_box->unit : a->numbers->scale;
    v->centre = (const int(*)[4])a->centre;
    v->block_start = (const int *)m[BLOCK_START].d;
    v->unit = (const int(*)[4])m[UNIT_NOW].d;
    v->slot = a->slot;
    v->n_slots = a->n_slots;
    v->list = a->list;
    v->warp = a->warp;
    v->lane = (const uint32_t(*)[2])a->lane;
    v->lanes = a->lanes;
}

static void set_replan_pointers(md_unit_lists *l)
{
    unit_replan *r = &l->replan;
    const device_array *m = l->memory;
    r->unit = (const int4 *)m[UNIT].d;
    r->tail = (const int2 *)m[TAIL].d;
    r->tail_gid = (const uint2 *)m[TAIL_GID].d;
    r->unit_now = (int4 *)m[UNIT_NOW].d;
    r->tail_now = (int2 *)m[TAIL_NOW].d;
    r->tail_gid_now = (uint2 *)m[TAIL_GID_NOW].d;
    r->leaf_row = (int *)m[LEAF_ROW].d;
    r->cut = (unit_cut *)m[CUT].d;
    r->key = (uint32_t *)m[KEY].d;
    r->sorted = (uint32_t *)m[SORTED].d;
    r->order[0] = (int *)m[ORDER].d;
    r->order[1] = (int *)m[OTHER_ORDER].d;
    r->temp = m[SORT_TEMP].d;
    r->ghost_key = (uint32_t *)m[GHOST_KEY].d;
    r->ghost_sorted = (uint32_t *)m[GHOST_SORTED].d;
    r->ghost = (int *)m[GHOST].d;
    r->ghost_order = (int *)m[GHOST_ORDER].d;
}

static sundog_status set_replan_numbers(md_unit_lists *l, const md_rows *rows,
                                        const md_unit_frame *frame)
{
    const md_unit_plan *p = &l->plan;
    l->numbers.n_units = p->n_units;
    l->numbers.n_owned_leaves = p->n_owned_leaves;
    l->numbers.leaves_a_block = p->leaves_a_block;
    md_unit_frame_encode(frame, rows->origin, l->numbers.origin);
    if (p->n_owned_leaves > l->owned_leaf_capacity)
        l->owned_leaf_capacity = p->n_owned_leaves + p->n_owned_leaves / 8;
    const int n_ghosts = p->n_rows - p->n_owned;
    int *units = &l->replan.capacity, *ghosts = &l->replan.ghost_capacity;
    if (p->n_units <= *units && n_ghosts <= *ghosts) return SUNDOG_OK;
    if (p->n_units > *units) *units = p->n_units + p->n_units / 8;
    if (n_ghosts > *ghosts) *ghosts = n_ghosts + n_ghosts / 8;
    const int n_sorted = *units > *ghosts ? *units : *ghosts;
    return DEVICE_CHECK(unit_replan_bytes(n_sorted, &l->replan.temp_bytes));
}

static void set_numbers(md_unit_lists *l, const md_unit_frame *frame)
{
    unit_arrays *a = &l->arrays;
    const int n_leaves = l->plan.n_leaves;
    memcpy(l->numbers.scale, frame->scale, sizeof l->numbers.scale);
    l->numbers.n_leaves = n_leaves;
    l->numbers.n_owned = l->plan.n_owned;
    l->numbers.n_rows = l->plan.n_rows;
    if (n_leaves > a->leaf_capacity) a->leaf_capacity = n_leaves + n_leaves / 8;
    a->rlist = (float)l->options.rlist;
    a->rinner = (float)l->options.rinner;
    a->view.n_blocks = l->plan.n_blocks;
    a->view.threads = choose_threads(l);
    a->view.row_bits = l->plan.row_bits;
}

/* A capacity with something to spare for atoms that move on. */
static int room(int capacity, int need, double spare, int multiple)
{
    if (need * (0.5 + 0.5 * spare) <= capacity) return capacity;
    return ((int)(need * spare) + multiple - 1) / multiple * multiple;
}

/* Capacities for what was needed. *smaller: no capacity would do, blocks must be smaller. */
static bool make_room(md_unit_lists *l, const unit_need *need, bool *smaller)
{
    unit_arrays *a = &l->arrays;
    int outer = room(a->outer_capacity, need->outer_slots, l->spare, 64);
    int candidates = room(a->candidates, need->candidates, l->spare, 32);
    int unit = room(a->unit_capacity, need->unit_list, l->spare, 64);
    int slots = room(a->view.slot_capacity, need->slots, l->spare, 32);
    int words = room(a->view.list_capacity, need->list_words, l->spare, 128);
    if (outer > l->most_outer) outer = l->most_outer;
    if (slots > MOST_SLOTS) slots = MOST_SLOTS;
    *smaller = need->images || need->leaves > UNIT_LEAVES || need->outer_slots > outer ||
               need->slots > slots;
    if (*smaller) return true;
    bool changed = outer != a->outer_capacity || candidates != a->candidates ||
                   unit != a->unit_capacity || slots != a->view.slot_capacity ||
                   words != a->view.list_capacity;
    a->outer_capacity = outer;
    a->candidates = candidates;
    a->unit_capacity = unit;
    a->view.slot_capacity = slots;
    a->view.list_capacity = words;
    return changed;
}

static sundog_status read_need(const md_unit_lists *l, unit_need *need, cudaStream_t stream)
{
    const unit_need *from = l->arrays.need;
    BASE_TRY(DEVICE_CHECK(
        cudaMemcpyAsync(need, from, sizeof *need, cudaMemcpyDeviceToHost, stream)));
    return DEVICE_CHECK(cudaStreamSynchronize(stream));
}

static sundog_status build(md_unit_lists *l, const md_device_row *d_row, unit_need *need,
                           cudaStream_t stream)
{
    BASE_TRY(reserve(l));
    set_pointers(l);
    set_replan_pointers(l);
    BASE_TRY(upload(l, NUMBERS, &l->numbers, sizeof l->numbers, stream));
    BASE_TRY(DEVICE_CHECK(cudaMemsetAsync(l->arrays.need, 0, sizeof *need, stream)));
    if (!l->options.host_blocks) BASE_TRY(md_unit_lists_replan(l, d_row, stream));
    BASE_TRY(md_unit_lists_search(l, d_row, stream));
    return read_need(l, need, stream);
}

static bool changed_since(const md_unit_lists *l, const md_unit_lists *before)
{
    return memcmp(&before->arrays, &l->arrays, sizeof l->arrays) != 0 ||
           memcmp(&before->replan, &l->replan, sizeof l->replan) != 0 ||
           before->owned_leaf_capacity != l->owned_leaf_capacity;
}

/* Lists that overflowed since the last rebuild: room for what they needed, for they will again. */
static sundog_status remember_overflow(md_unit_lists *l, cudaStream_t stream)
{
    unit_need need;
    bool smaller;
    if (!l->arrays.need) return SUNDOG_OK;
    BASE_TRY(read_need(l, &need, stream));
    if (need.overflow && !need.images) (void)make_room(l, &need, &smaller);
    return SUNDOG_OK;
}

extern "C" sundog_status md_unit_lists_rebuild(md_unit_lists *lists, const md_rows *rows,
                                               const md_unit_frame *frame,
                                               const md_device_row *d_row, void *stream)
{
    md_unit_lists *l = lists;
    cudaStream_t s = (cudaStream_t)stream;
    const md_unit_lists before = *l;
    BASE_TRY(remember_overflow(l, s));
    for (;;) {
        md_unit_plan_options options = {l->n_processors, l->most_units, frame,
                                        !l->options.host_blocks};
        BASE_TRY(md_unit_plan_make(l->units, l->topology, rows, &options, &l->plan));
        BASE_TRY(upload_plan(l, s));
        set_numbers(l, frame);
        BASE_TRY(set_replan_numbers(l, rows, frame));
        unit_need need;
        bool smaller;
        do BASE_TRY(build(l, d_row, &need, s));
        while (make_room(l, &need, &smaller) && !smaller);
        if (!smaller) {
            if (changed_since(l, &before)) l->generation++;
            return SUNDOG_OK;
        }
        if (l->most_units <= 1)
            return base_fail(SUNDOG_ERR_UNSUPPORTED,
                             need.images
                                 ? "the box is too small for a pair list of %g nm on the GPU"
                                 : "the atoms within %g nm of one another are too many for the "
                                   "GPU's shared memory; use shorter cut-offs",
                             l->options.rlist);
        l->most_units = l->most_units > 2 ? l->most_units * 3 / 4 : 1;
    }
}

extern "C" sundog_status md_unit_lists_make_room(md_unit_lists *lists, md_unit_lists_made made,
                                                 const md_device_row *d_row, void *stream,
                                                 bool *enough)
{
    md_unit_lists *l = lists;
    cudaStream_t s = (cudaStream_t)stream;
    const md_unit_lists before = *l;
    bool smaller = false, overflow = true;
    while (overflow && !smaller) {
        unit_need need;
        BASE_TRY(reserve(l));
        set_pointers(l);
        set_replan_pointers(l);
        BASE_TRY(DEVICE_CHECK(cudaMemsetAsync(l->arrays.need, 0, sizeof need, s)));
        BASE_TRY(made == MD_UNIT_LISTS_FILTERED ? md_unit_lists_filter(l, d_row, stream)
                                                : md_unit_lists_search(l, d_row, stream));
        BASE_TRY(read_need(l, &need, s));
        overflow = need.overflow;
        if (overflow) (void)make_room(l, &need, &smaller);
    }
    if (changed_since(l, &before)) l->generation++;
    *enough = !smaller;
    return SUNDOG_OK;
}

extern "C" int md_unit_lists_most_units(const md_unit_lists *lists)
{
    return lists->most_units;
}

extern "C" void md_unit_lists_set_most_units(md_unit_lists *lists, int most_units)
{
    const int allowed = lists->options.most_units ? lists->options.most_units : MD_UNIT_MOST;
    lists->most_units = most_units > 0 && most_units < allowed ? most_units : allowed;
}

extern "C" sundog_status md_unit_lists_replan(md_unit_lists *lists, const md_device_row *d_row,
                                              void *stream)
{
    const int4 *row = (const int4 *)d_row;
    return DEVICE_CHECK(unit_launch_replan(&lists->arrays, &lists->replan,
                                           lists->owned_leaf_capacity, row,
                                           (cudaStream_t)stream));
}

extern "C" sundog_status md_unit_lists_search(md_unit_lists *lists, const md_device_row *d_row,
                                              void *stream)
{
    const int4 *row = (const int4 *)d_row;
    BASE_TRY(DEVICE_CHECK(unit_launch_search(&lists->arrays, row, (cudaStream_t)stream)));
    return md_unit_lists_filter(lists, d_row, stream);
}

extern "C" sundog_status md_unit_lists_filter(md_unit_lists *lists, const md_device_row *d_row,
                                              void *stream)
{
    const int4 *row = (const int4 *)d_row;
    return DEVICE_CHECK(unit_launch_filter(&lists->arrays, row, (cudaStream_t)stream));
}

extern "C" sundog_status md_unit_lists_check(md_unit_lists *lists, void *stream)
{
    unit_need need;
    BASE_TRY(read_need(lists, &need, (cudaStream_t)stream));
    if (!need.overflow) return SUNDOG_OK;
    return base_fail(SUNDOG_ERR_UNSUPPORTED,
                     need.images ? "pair lists on the GPU overflowed: a block of atoms reaches as "
                                   "far as its own image"
                                 : "pair lists on the GPU overflowed: a block of atoms has become "
                                   "much denser since room was made");
}

extern "C" int *md_unit_lists_overflow(const md_unit_lists *lists)
{
    return &lists->arrays.need->overflow;
}

extern "C" uint64_t md_unit_lists_generation(const md_unit_lists *lists)
{
    return lists->generation;
}

extern "C" const md_unit_view *md_unit_lists_view(const md_unit_lists *lists)
{
    return &lists->arrays.view;
}

extern "C" sundog_status md_unit_lists_stats_of(const md_unit_lists *lists,
                                                md_unit_lists_stats *out)
{
    const md_unit_view *v = &lists->arrays.view;
    size_t n = (size_t)v->n_blocks * (size_t)(v->threads / 32);
    unit_need need;
    md_unit_warp *warp = (md_unit_warp *)base_alloc((n + 1) * sizeof *warp);
    cudaError_t error = cudaMemcpy(warp, v->warp, n * sizeof *warp, cudaMemcpyDeviceToHost);
    if (error == cudaSuccess)
        error = cudaMemcpy(&need, lists->arrays.need, sizeof need, cudaMemcpyDeviceToHost);
    *out = (md_unit_lists_stats){};
    out->n_blocks = v->n_blocks;
    out->threads = v->threads;
    for (size_t w = 0; error == cudaSuccess && w < n; w++) {
        int n_tail = warp[w].n_tail & 65535;
        out->pairs_evaluated += 96. * (n_tail + warp[w].n_charge + warp[w].n_all);
        out->list_bytes +=
            128. * (n_tail + (warp[w].n_charge + 1) / 2 + (warp[w].n_all + 1) / 2);
    }
    base_free(warp);
    BASE_TRY(DEVICE_CHECK(error));
    out->most_slots = need.slots;
    out->most_outer_slots = need.outer_slots;
    return SUNDOG_OK;
}
