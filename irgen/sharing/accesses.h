/*
 * Access table of buffers: the instructions in order, and the bytes that each
 * reads and writes.
 *
 * A value is a name that instructions use: a buffer, an offset in it, and a
 * layout.  At first each buffer is an alloc, a placeholder or a constant.
 * The passes that share memory (propagate-copy, update-in-place, view-slice,
 * share-buffers, join-parts, eliminate-dead-store) decide by this table alone, and
 * change it by moving all values of one buffer into another.
 *
 * The table is filled from a program (program.h), which is then rewritten with
 * each change, or from a graph and an order of its nodes (graph.h), to measure
 * the memory of the order before there is a program.  Compare One-Shot Bufferize
 * of MLIR: one analysis, and a mechanical rewrite.
 *
 * Instructions are called steps here; their rank is their position.  Offsets are
 * in elements.
 */

#ifndef IRGEN_SHARING_ACCESSES_H
#define IRGEN_SHARING_ACCESSES_H

#include "glow/heights.h"
#include "glow/layout.h"
#include "glow/ops.h"
#include "glow/pass.h"

/* No value, no step, no rank. */
#define GLOW_NONE UINT32_MAX

/* Queries on a buffer with more accesses give up, because one query for each
   access takes quadratic time. */
#define GLOW_MOST_ACCESSES 1000

/* Live range: the ranks of the first access, the last, and the last write;
   GLOW_NONE: there is none. */
typedef struct glow_live_range {
    uint32_t first, last, last_write;
} glow_live_range;

typedef struct glow_shared_buffer {
    const glow_type *type;
    const glow_storage *storage; /* NULL: an alloc */
    bool is_fixed;               /* an alloc with a given offset or space */
    bool is_moved;               /* its values are in another buffer */
    bool is_part;                /* a Concat reads all of it */
    uint32_t values;             /* head of the list of its values */
    uint32_t own;                /* its tail: the value added first */
    uint32_t n_accesses;
    glow_live_range life;
    glow_node *alloc, *dealloc; /* of a program */
} glow_shared_buffer;

typedef struct glow_shared_value {
    uint32_t buffer;
    int64_t first;
    const glow_type *type; /* with its layout; NULL: not expressible any more */
    uint32_t next;         /* of the same buffer */
    uint32_t accesses;     /* head of their list: the last one added */
    uint32_t was; /* the buffer that it covered at glow_accesses_measure, or
                     GLOW_NONE */
} glow_shared_value;

typedef struct glow_step {
    glow_node *node;
    const glow_op *op; /* Copy for a Save, and for a part of a Concat */
    uint32_t *in, *out;
    int n_in, n_out;
    uint32_t pred, scratch;
    uint32_t rank;
    int part; /* operand of the Concat that is copied to its part; -1: no part */
    bool gone; /* removed, or never an instruction */
} glow_step;

typedef struct glow_access {
    uint32_t step, next;
    bool writes;
} glow_access;

/* A part of a buffer: an offset and a layout. */
typedef struct glow_part {
    uint32_t buffer;
    int64_t first;
    glow_type type;
} glow_part;

struct glow_program_edit;

typedef struct glow_accesses {
    glow_pass_run *run;
    glow_arena *arena;
    struct glow_program_edit *edit; /* NULL: there is no program to rewrite */
    glow_shared_buffer *buffers;
    glow_shared_value *values;
    glow_step *steps;
    uint32_t *order; /* steps by rank; glow_accesses_measure leaves out removed
                        steps */
    glow_access *accesses;
    glow_heights *bytes; /* live bytes by rank; NULL: not computed yet */
    int64_t peak;        /* the most of `bytes` when it was computed */
    size_t n_buffers, n_values, n_steps, n_order, n_accesses;
    size_t cap_buffers, cap_values, cap_steps, cap_order, cap_accesses;
    bool changed;
} glow_accesses;

/* Filling. */

/* Initial capacities of a table. */
typedef struct glow_table_sizes {
    size_t buffers, values, steps, accesses;
} glow_table_sizes;

glow_accesses *glow_accesses_new(glow_pass_run *run,
                                 const glow_table_sizes *room);
uint32_t glow_add_buffer(glow_accesses *x, const glow_type *type,
                         const glow_storage *storage);
uint32_t glow_add_value(glow_accesses *x, uint32_t buffer, int64_t first,
                        const glow_type *type);
/* Adds a step, whose operands and results are GLOW_NONE at first. */
uint32_t glow_add_step(glow_accesses *x, glow_node *node, const glow_op *op,
                       int n_in, int n_out);
/* Adds the accesses of a step that is complete. */
void glow_add_accesses(glow_accesses *x, uint32_t step);

/* Ranks the steps that are left, and computes the live ranges of buffers. */
void glow_accesses_measure(glow_accesses *x);

/* Queries. */

/* Sets *out to the part of a value; false if it is not expressible, its buffer is
   not dense, or `value` is GLOW_NONE. */
bool glow_part_of(const glow_accesses *x, uint32_t value, glow_part *out);
/* The elements start, start + steps, ...; see glow_type_box. */
glow_part glow_part_box(const glow_part *p, glow_dims start, glow_dims steps,
                        glow_dims shape);
/* True if both values have the same bytes in the same layout. */
bool glow_same_place(const glow_accesses *x, uint32_t a, uint32_t b);
/* True if the buffer is an alloc that is not fixed. */
bool glow_is_loose(const glow_accesses *x, uint32_t buffer);
/* True if the value is its whole buffer, in the type of the buffer. */
bool glow_is_whole(const glow_accesses *x, uint32_t value);
/* The same, in the type of the buffer or any dense type. */
bool glow_covers(const glow_accesses *x, uint32_t value);

/*
 * Calls `fn` for each access of the buffer until it returns false; true if it
 * never did.  False too if there are more than GLOW_MOST_ACCESSES.
 */
typedef bool (*glow_access_fn)(void *user, const glow_step *s,
                               const glow_shared_value *v, bool writes);
bool glow_each_access(const glow_accesses *x, uint32_t buffer,
                      glow_access_fn fn, void *user);

/* The same for one value. */
bool glow_each_access_of(const glow_accesses *x, uint32_t value,
                         glow_access_fn fn, void *user);

/* True if no step of rank `first` to `last` accesses (or, if `writes`, writes) a
   byte of `part`.  False too if there are more than GLOW_MOST_ACCESSES. */
bool glow_is_untouched(const glow_accesses *x, const glow_part *part,
                       uint32_t first, uint32_t last, bool writes);

/* May-alias: true if the value and the part may have a byte in common. */
bool glow_may_meet(const glow_shared_value *v, const glow_part *part);

/*
 * True if all steps that access `buffer` could access part `to` instead, which has
 * as many elements.  The backend decides about layouts with strides; without a
 * backend no step takes them.  Step `but` is not checked.  If false, *why is the
 * reason.
 */
bool glow_can_use(glow_accesses *x, uint32_t buffer, const glow_part *to,
                  const glow_step *but, const char **why);
/* The same, but steps that only move elements are not checked. */
bool glow_could_use(glow_accesses *x, uint32_t buffer, const glow_part *to);

/*
 * True if `buffer` could be computed in part `to`, where step `at` reads all of
 * `buffer` and writes its content, or a result, to `to`.  `reads_on`: `at` is a
 * copy, so later steps may read `buffer` as long as `to` is not written.  Sets
 * *last to the last step that accesses `buffer`.
 */
bool glow_can_live_in(const glow_accesses *x, uint32_t buffer,
                      const glow_part *to, const glow_step *at, bool reads_on,
                      const glow_step **last);

/* Sets *as to the instruction of the step, with the layouts of the table. */
void glow_step_as_node(const glow_accesses *x, const glow_step *s,
                       glow_node *as);

/* Live ranges. */

/* Sets the live range of the buffer to the ranks `first` to `last`. */
void glow_set_life(glow_accesses *x, uint32_t buffer, uint32_t first,
                   uint32_t last);
/* Adds (sign 1) or subtracts (-1) the bytes of an alloc in a live range. */
void glow_add_life(glow_accesses *x, uint32_t buffer, uint32_t first,
                   uint32_t last, int sign);
/* True if the live bytes from rank `first` to `last` are at most the peak. */
bool glow_lives_fit(glow_accesses *x, uint32_t first, uint32_t last);
/* Extends the live range of `to` over that of `from`, whose bytes no longer count;
   false, and nothing changed, if the peak would rise. */
bool glow_join_lives(glow_accesses *x, uint32_t from, uint32_t to);

/* Extends the live range of `buffer` over that of `moved`, which moves into it. */
void glow_cover_life(glow_accesses *x, uint32_t buffer, uint32_t moved);

/* Sets *out to the part of a value once its buffer is moved to `to`; false if it
   is not expressible. */
bool glow_value_moved(const glow_shared_value *v, const glow_part *to,
                      glow_part *out);

/* Changing: the table alone. */

/* Moves all values of the buffer to the part `to` of another one. */
void glow_move_values(glow_accesses *x, uint32_t buffer, const glow_part *to);

/* Counts a rewrite of a program; false if no more are allowed. */
bool glow_may_change(const glow_accesses *x);
/* Counts for -stats, where there is a program. */
void glow_count_change(glow_accesses *x, const char *counter, int by);
/* False; emits a remark why the step stays, where there is a program. */
#define GLOW_REFUSE(x, s, ...)                                            \
    ((x)->edit ? glow_run_remark((x)->run, (s)->node, false, __VA_ARGS__) \
               : (void)0,                                                 \
     false)

/* The passes, on the table. */

void glow_propagate_copies(glow_accesses *x);
void glow_update_in_place(glow_accesses *x);
void glow_view_slices(glow_accesses *x, bool early);
void glow_share_buffers(glow_accesses *x, bool early);
void glow_join_parts(glow_accesses *x);
void glow_eliminate_dead_stores(glow_accesses *x);

#endif
