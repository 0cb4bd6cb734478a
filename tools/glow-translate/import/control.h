/* Import of control flow. */

#ifndef GLOW_TRANSLATE_IMPORT_CONTROL_H
#define GLOW_TRANSLATE_IMPORT_CONTROL_H

#include "tools/glow-translate/import/state.h"

/* Builds the node that calls, whose results are those of `n`. */
bool import_call_node(import_node *n, const glow_op *op, glow_value *const *in,
                      int n_in, const void *attrs);

/* Computes both branches and chooses between their results, which may be bounded. */
bool import_merge_branches(import_node *n, const Onnx__GraphProto *then_branch,
                           const Onnx__GraphProto *else_branch);
bool import_loop(import_node *n);

/*
 * A carried value of a Loop that each iteration appends to; see grow.c.  `state` is its
 * number; its rows are scan output `row` of the body, along `axis` of the value.
 */
typedef struct import_grown {
    int state, row;
    int64_t axis;
} import_grown;

/*
 * `body` with such carried values as scan outputs, or `body` itself.  Sets `grown`, of
 * `n_state` entries, and `*count`.
 */
const Onnx__GraphProto *import_grow(import_node *n,
                                    const Onnx__GraphProto *body, int n_state,
                                    import_grown *grown, int *count);
bool import_scan_batches(import_node *n);
bool import_scan(import_node *n);

#endif
