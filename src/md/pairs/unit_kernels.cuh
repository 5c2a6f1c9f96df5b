/* Kernels of the unit lists and what they are given. The protocol of one build:
 *
 *      box_leaves   bounding box of every leaf; held?
 *      search       per block: leaves, then rows in reach -> outer slots; per unit -> outer list
 *      filter       per block: outer -> inner slots and lists
 *
 * No kernel uses an atomic to find a place, so equal rows give equal lists, bit for bit.
 */
#ifndef MD_UNIT_KERNELS_CUH
#define MD_UNIT_KERNELS_CUH
#include "md/pairs/unit_list.h"

enum {
    UNIT_BUILDERS = 1024,       /* threads of a block of search and filter */
    UNIT_LEAVES = 1024,         /* leaves in reach of a block, at most */
    UNIT_CHUNK = 64             /* band entries that a warp takes at a time */
};

/* An outer list has two parts. Its core is what was within the inner radius at the search; filters
 * take it as it is. The band is the rest, which they look at. What has left the inner radius since
 * costs a pair evaluated in vain until the next search, and no more. */

/* What a build needed, at most over all blocks. */
typedef struct unit_need {
    int leaves, outer_slots, candidates, unit_list, slots, list_words;
    int images;                 /* 1: a block reaches beyond half a period */
    int overflow;               /* 1: any of these was too much since room was made */
    int held;                   /* 1: that was so when a search or a replan began: blocks and outer
                                   lists stay as they are until room is made */
} unit_need;

/* What differs between rebuilds: in device memory, so that captured graphs stay valid. */
typedef struct unit_numbers {
    float scale[6];             /* of the frame */
    int n_leaves, n_owned, n_rows;
    int n_units, n_owned_leaves, leaves_a_block, origin[3];     /* the last: of the cell */
} unit_numbers;

/* How a replan cuts: of the rows as they are then. */
typedef struct unit_cut {
    int lo[3], hi[3];           /* fractions that the units fill, from the origin of the cell */
    int n_slabs;
    float y_to_z;               /* of the sides of what they fill */
} unit_cut;

/* Units and leaves as the plan has them, and as lists are made from; what a replan works with. */
typedef struct unit_replan {
    const int4 *unit;                   /* [n_units] of the plan */
    const int2 *tail;
    const uint2 *tail_gid;
    int4 *unit_now;                     /* the same in another order */
    int2 *tail_now;
    uint2 *tail_gid_now;
    int *leaf_row;
    unit_cut *cut;
    uint32_t *key, *sorted;             /* [capacity] */
    int *order[2];
    void *temp;                         /* CUB's */
    size_t temp_bytes;
    uint32_t *ghost_key, *ghost_sorted; /* [ghost_capacity] */
    int *ghost, *ghost_order;           /* rows */
    int capacity, ghost_capacity;
} unit_replan;

typedef struct unit_arrays {
    md_unit_view view;
    int leaf_capacity;
    int outer_capacity, unit_capacity;  /* slots of a block; entries of a unit, whole chunks */
    int candidates;                     /* of a warp's units, at most; a multiple of 32 */
    float rlist, rinner;
    const unit_numbers *numbers;
    const int *leaf_row;
    const uint32_t *row_word, *row_gid;
    const uint8_t *row_charge_only;
    const int2 *tail;                   /* [n_units] first and end in the arrays below */
    const int *tail_row;
    const uint8_t *tail_mask;
    const uint2 *tail_gid;              /* lowest number in the tail, highest - lowest */
    uint16_t *tail_slot;                /* [n_tail] outer slot, 65535: out of reach */
    int4 *leaf_at;                      /* middle of a leaf's box, fractions */
    float4 *leaf_half;
    uint16_t *candidate;                /* [n_blocks][warps][candidates] slots */
    int4 *centre;                       /* [n_blocks] */
    uint32_t *outer_slot;               /* [n_blocks][outer_capacity] words of rows */
    int *n_outer_slots;                 /* [n_blocks] */
    uint32_t *core_bits;                /* [n_blocks][outer_capacity / 32] slots in a unit's core */
    /* [n_units][unit_capacity] slots. From the beginning: the core of all others, room for as many
     * as their band has, the core of charge-only partners, room likewise; from the end backwards:
     * the band of all others, of charge-only ones, both padded to whole chunks with slot
     * outer_capacity. A filter puts what it finds in the bands into that room. */
    uint16_t *outer;
    int4 *n_outer;                      /* [n_units] core and band of all others, of charge-only */
    uint32_t *slot, *list, *lanes;
    int *n_slots;
    md_unit_warp *warp;
    uint2 *lane;
    unit_need *need;
} unit_arrays;

size_t unit_search_bytes(int outer_capacity);
size_t unit_filter_bytes(int outer_capacity);
cudaError_t unit_launch_search(const unit_arrays *p, const int4 *row, cudaStream_t stream);
cudaError_t unit_launch_filter(const unit_arrays *p, const int4 *row, cudaStream_t stream);
/* leaf_capacity: of owned rows. Lists must be searched anew afterwards. */
cudaError_t unit_launch_replan(const unit_arrays *p, const unit_replan *r, int leaf_capacity,
                               const int4 *row, cudaStream_t stream);
cudaError_t unit_replan_bytes(int capacity, size_t *bytes);
/* Allow a block all of shared_bytes; what of it is taken before the above. */
cudaError_t unit_prepare_search(int shared_bytes, int *static_bytes);
cudaError_t unit_prepare_filter(int shared_bytes, int *static_bytes);

#ifdef __CUDACC__
static __device__ __forceinline__ int unit_chunks_end(int n)
{
    return (n + UNIT_CHUNK - 1) / UNIT_CHUNK * UNIT_CHUNK;
}

/* Where the core of charge-only partners begins in a unit's outer list. */
static __device__ __forceinline__ int unit_charge_start(int n_core_all, int n_band_all)
{
    return n_core_all + n_band_all;
}

/* Sum of v over the threads before this one; *total over all of them. Uses shared[32]; a barrier
 * before and after is the caller's, one is inside. */
static __device__ __forceinline__ int unit_scan(int v, int *shared, int *total)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int sum = v;
    for (int d = 1; d < 32; d <<= 1) {
        int other = __shfl_up_sync(~0u, sum, d);
        if (lane >= d) sum += other;
    }
    if (lane == 31) shared[warp] = sum;
    __syncthreads();
    int before = shared[lane];
    for (int d = 1; d < 32; d <<= 1) {
        int other = __shfl_up_sync(~0u, before, d);
        if (lane >= d) before += other;
    }
    *total = __shfl_sync(~0u, before, 31);
    int base = __shfl_sync(~0u, before, warp == 0 ? 0 : warp - 1);
    return sum - v + (warp == 0 ? 0 : base);
}
#endif
#endif
