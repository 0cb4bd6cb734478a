/*
 * Helpers that several kernels use: reductions, vector loops, tables, windows.
 */

#ifndef CODEGEN_CPU_KERNELS_COMMON_H
#define CODEGEN_CPU_KERNELS_COMMON_H

#include "codegen/cpu/emit/lane.h"
#include "codegen/cpu/emit/math.h"
#include "codegen/cpu/kernels/kernel.h"
#include "glow/ops.h"

#define CPU_LINE 64              /* bytes of a cache line */
#define CPU_MOST_AHEAD 12        /* prefetches in flight at once */
#define CPU_NEAR_BYTES (1 << 15) /* of the L1 cache, for data that is reused */

static inline int64_t
cg_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Value of a local variable from glow_cg_local, and an assignment to it. */
static inline cg_value
cg_get(cg *g, cg_value local)
{
    return LLVMBuildLoad2(g->builder, LLVMGetAllocatedType(local), local, "");
}

static inline void
cg_set(cg *g, cg_value local, cg_value v)
{
    LLVMBuildStore(g->builder, v, local);
}

/* All operands and the first result are tensors of `kind`. */
bool glow_cpu_all(const glow_node *n, glow_kind kind);
/* They are all of one kind that is computed as float. */
bool glow_cpu_all_float(const glow_node *n);

/* Combines two partial results into one. */
typedef cg_value (*cg_combine_fn)(cg *g, const glow_type *t, cg_value a,
                                  cg_value b);
cg_value glow_cpu_sum(cg *g, const glow_type *t, cg_value a, cg_value b);
cg_value glow_cpu_times(cg *g, const glow_type *t, cg_value a, cg_value b);
/* `lanes` lanes of `v`: lane `first`, and every `step`-th behind it. */
cg_value glow_cpu_every(cg *g, cg_value v, int first, int step, int lanes);
/* All lanes of `v` combined. */
cg_value glow_cpu_across(cg *g, const glow_type *t, cg_value v,
                         cg_combine_fn combine);

/*
 * Maps an element before it is combined; `user` is the argument of the caller.
 */
typedef cg_value (*cg_map_fn)(cg *g, cg_value v, const void *user);

/*
 * Combines map(x[at]), ..., map(x[at + count - 1]) with `init`, the neutral
 * element; a NULL map is x itself.
 */
cg_value glow_cpu_reduce_row(cg *g, cg_tensor x, cg_value at, int64_t count,
                             cg_value init, cg_combine_fn combine,
                             cg_map_fn map, const void *user);

/* The least number of the kind that is combined by max; the greatest. */
cg_value glow_cpu_lowest(cg *g, const glow_type *t);
cg_value glow_cpu_highest(cg *g, const glow_type *t);
/*
 * True if x replaces `best` as the maximum: NaN is greater than all numbers; of
 * equal elements the first stays.
 */
cg_value glow_cpu_beats(cg *g, const glow_type *t, cg_value x, cg_value best);

/*
 * For the last axis: `count` elements in vectors as long as they fit, and one
 * vector of which a part is live.  Called for both, with the index of the first
 * element; lanes is 1 for one element.
 */
typedef void (*cg_lanes_fn)(cpu_job *j, cg_value at, int lanes, void *user);
void glow_cpu_lanes_for(cpu_job *j, int64_t first, int64_t count,
                        cg_lanes_fn body, void *user);
/*
 * The same in vectors that elements of `bytes`, 4 or fewer, fill.  Of fewer than 4 the
 * rest is a vector for each power of two, where targets do not mask such lanes.
 */
void glow_cpu_lanes_of(cpu_job *j, int bytes, int64_t first, int64_t count,
                       cg_lanes_fn body, void *user);
/* Lanes of such a vector; true if the target loads and stores some of them. */
int glow_cpu_lanes(const cpu_target *t, int bytes);
bool glow_cpu_masks(const cpu_target *t, int bytes);

extern const glow_type glow_cpu_float; /* float, without a shape */
/* Converts `count` elements. */
void glow_cpu_convert(cpu_job *j, cg_tensor from, cg_tensor to, int64_t count);
/*
 * A whole operand as float in scratch: bytes of operand `i`, INT64_MAX beyond, and code
 * that converts it to `to`.
 */
int64_t glow_cpu_widened_bytes(const glow_node *n, int i);
cg_tensor glow_cpu_widen_operand(cpu_job *j, int i, cg_value to);

/* An array of constants; element `i` of it. */
cg_value glow_cpu_table(cg *g, const int64_t *values, int64_t count);
cg_value glow_cpu_table_real(cg *g, LLVMTypeRef t, const double *values,
                             int64_t count);
cg_value glow_cpu_table_at(cg *g, LLVMTypeRef t, cg_value table, cg_value i);

/* Windows of convolution and pooling, always with three spatial axes. */

typedef struct cpu_window_axis {
    int64_t in, out, kernel, stride, dilation;
    int64_t start, end; /* pads */
} cpu_window_axis;

typedef struct cpu_window {
    int64_t batch, channels;
    cpu_window_axis axis[3];
} cpu_window;

cpu_window glow_cpu_window(glow_dims in, glow_dims out, glow_dims kernels,
                           glow_dims strides, glow_dims pads,
                           glow_dims dilation);

/* The taps of window `out` within [low, high) of Input: first, past last. */
typedef struct cpu_taps {
    cg_value base; /* index of tap 0 in Input; may be out of range */
    cg_value first, last;
} cpu_taps;
cpu_taps glow_cpu_taps(cg *g, const cpu_window_axis *a, cg_value out,
                       int64_t low, int64_t high);

#endif
