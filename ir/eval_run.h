/* State of one run of the evaluator, shared by graphs and programs. */

#ifndef GLOW_IR_EVAL_RUN_H
#define GLOW_IR_EVAL_RUN_H

#include "glow/eval.h"

/* A tensor and the number of its uses that have not run yet. */
typedef struct glow_item {
    glow_tensor tensor; /* no data: not computed yet */
    int64_t uses;
    uint64_t hash; /* of the contents, if `hashed` */
    bool hashed;
    bool lasts; /* the bytes stay unchanged after the run */
} glow_item;

typedef struct glow_eval_run {
    glow_func *f;
    glow_context *ctx;
    const glow_eval_options *options;
    glow_arena *arena;   /* of the whole run */
    glow_arena *scratch; /* of the current node */
    glow_arena *work;    /* of its eval, which may reset it */
    glow_map *bound;     /* name of placeholder -> glow_tensor */
    glow_map *storage;   /* name of storage -> glow_item */
    uint64_t drawn;      /* random numbers drawn, for noise */
} glow_eval_run;

/*
 * The type of `t` in the run: dense, and in a shadow run with float64 for
 * float.
 */
const glow_type *glow_eval_type(const glow_eval_run *r, const glow_type *t);

/*
 * The item of a constant or placeholder, NULL after a report. glow_eval_item
 * leaves out the tensor of a constant, since a memo needs its hash alone.
 */
glow_item *glow_eval_item(glow_eval_run *r, glow_storage *s);
glow_item *glow_eval_storage(glow_eval_run *r, glow_storage *s);

/*
 * True if the results of `n` depend on its operands alone, and there is a memo.
 */
bool glow_eval_remembers(const glow_eval_run *r, const glow_node *n);

/*
 * Computes `n`, or finds its results in the memo. out[i] receives a tensor that
 * is not modified any more.  False after a report.
 */
bool glow_eval_compute(glow_eval_run *r, const glow_node *n,
                       glow_item *const in[], glow_item out[]);

/* Frees the tensor of an item. */
void glow_item_end(glow_item *item);

bool glow_eval_graph(glow_eval_run *r);
bool glow_eval_program(glow_eval_run *r);

/* The memo. */

/* The hash of type and contents. */
uint64_t glow_item_hash(glow_memo *m, glow_item *item);
/* The hash of operator, attributes, types and contents of operands of `n`. */
uint64_t glow_memo_key(const glow_eval_run *r, const glow_node *n,
                       glow_item *const in[]);
/* The hash of constant `t`, which the run holds as `type`. */
uint64_t glow_constant_hash(glow_memo *m, const glow_tensor *t,
                            const glow_type *type);
/* Sets `out` to the results kept under `key`; false if there are none. */
bool glow_memo_find(glow_memo *m, uint64_t key, glow_item out[]);
/*
 * Sets only the hashes in `out`, which are kept for evicted results too; false
 * if unknown.
 */
bool glow_memo_knows(glow_memo *m, uint64_t key, glow_item out[], int count);
/* Keeps the results of `n`. */
void glow_memo_keep(glow_memo *m, uint64_t key, const glow_node *n,
                    glow_item out[]);

/* True if operand `i` of `n` is a placeholder that it writes (Save). */
bool glow_operand_is_written(const glow_node *n, int i);

/*
 * The elements of an extent in row-major order, as runs of contiguous elements:
 * run `k` of `count` begins at element glow_strip_at(..., k) of the base and
 * has `length` elements.
 */
typedef struct glow_strips {
    glow_extent extent;
    int outer; /* axes whose steps begin a new run */
    int64_t count;
    int64_t length;
} glow_strips;

glow_strips glow_extent_strips(glow_extent w);
int64_t glow_strip_at(const glow_strips *r, int64_t k);

#endif
