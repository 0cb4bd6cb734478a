/*
 * Sequences and optionals: lists of values, known in length at import.
 */

#ifndef GLOW_TRANSLATE_IMPORT_LIST_H
#define GLOW_TRANSLATE_IMPORT_LIST_H

#include "tools/glow-translate/import/import.h"

/* The meaning of a name of the model: a tensor or a list; or nothing. */
typedef struct import_item {
    glow_value *value;
    const import_list *list;
} import_item;

struct import_list {
    bool is_optional; /* an optional: no item or one; else a sequence */
    glow_kind kind;   /* of the tensors of an empty one; may be unknown */
    int count;
    import_item *items;
};

/* "a sequence", "an optional" */
const char *import_list_noun(const import_list *l);
bool import_is_given(import_item item);

/* Operand i, a tensor or a list. */
import_item import_item_in(const import_node *n, int i);
/* As import_operands, for operators that take lists. */
bool import_items(import_node *n, int least, int most);
/* Operand i where it must be a sequence; NULL after a report. */
const import_list *import_sequence_in(import_node *n, int i);
/* Operand i where it must be a tensor, if it is given. */
glow_value *import_tensor_in(import_node *n, int i);

/* A list whose items are to be set. */
import_list *import_new_list(import_node *n, bool is_optional, glow_kind kind,
                             int count);
/* Sets result i; true unless the node failed. */
bool import_item_done(import_node *n, int i, import_item item);

/* Concat; `adds`: along a new axis of size 1 of each part. */
glow_value *import_join(import_node *n, glow_value *const *parts, int count,
                        int axis, bool adds);

/* As import_subgraph, for operands and results that may be lists. */
bool import_inline(import_node *n, const Onnx__GraphProto *g,
                   const import_item *in, int n_in, import_item *out,
                   int n_out);

/* Bodies over lists: see unroll.c. */
bool import_sequence_map(import_node *n);
/* True if a loop carries or reads a list, so that it must be unrolled. */
bool import_has_lists(import_node *n, const Onnx__GraphProto *body);
bool import_unroll_loop(import_node *n, const Onnx__GraphProto *body);

#endif
