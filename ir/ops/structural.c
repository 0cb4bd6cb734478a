/*
 * Structural operators of the IR: Save, by which results leave a graph, and the
 * definition and end of buffers in programs. irgen and the verifier refer to
 * their definitions; no other operator is special to them.
 */

#include "glow/graph.h"

#include <inttypes.h>

static bool
save_infer(const glow_node *n, glow_type out[])
{
    const glow_type *x = n->in[0]->type, *y = n->in[1]->type;

    (void)out;
    if (!glow_type_equal(x, y)) {
        glow_arena *a = n->func->module->arena;

        return glow_reject(n, "Input is %s, but Output is %s",
                           glow_type_text(a, x), glow_type_text(a, y));
    }
    if (x->elem == GLOW_TOKEN)
        return glow_reject(n, "a graph has no tokens");
    return true;
}

const glow_op glow_op_save = {
    .name = "Save",
    .summary = "write a value to a placeholder",
    .in = {{"Input", GLOW_TENSOR, "the value"},
           {"Output", GLOW_WRITTEN, "the placeholder, of the same type"}},
    .traits = GLOW_STRUCTURAL | GLOW_GRAPH_ONLY,
    .infer = save_infer,
    .doc = "The only way for a value to leave a graph.  Reads of Output by\n"
           "other nodes see what it held before the graph ran.",
    .source = "Glow",
};

/* infer of definitions of buffers: the stated type. */
static bool
stated_infer(const glow_node *n, glow_type out[])
{
    (void)n;
    (void)out;
    return true;
}

static bool
dealloc_infer(const glow_node *n, glow_type out[])
{
    (void)n;
    (void)out;
    return true;
}

static const glow_in_space in_any_space = {.space = ""};

#define IN_SPACE                           \
    {GLOW_FIELD_DEFAULT(                   \
        glow_in_space, space, GLOW_STRING, \
        "the memory space to place it in; \"\": any of its class")}

const glow_op glow_op_weight = {
    .name = "Weight",
    .summary = "name the buffer of a placeholder or constant",
    .out = {{"Result", GLOW_TENSOR, "the buffer"}},
    .attrs = IN_SPACE,
    .defaults = &in_any_space,
    .traits = GLOW_STRUCTURAL | GLOW_PROGRAM_ONLY | GLOW_STATED,
    .infer = stated_infer,
    .source = "Glow",
};

const glow_op glow_op_alloc = {
    .name = "Alloc",
    .summary = "begin the life of a buffer",
    .out = {{"Result", GLOW_TENSOR, "the buffer, its bytes unset"}},
    .attrs = IN_SPACE,
    .defaults = &in_any_space,
    .traits = GLOW_STRUCTURAL | GLOW_PROGRAM_ONLY | GLOW_STATED,
    .infer = stated_infer,
    .source = "Glow AllocActivation",
};

const glow_op glow_op_dealloc = {
    .name = "Dealloc",
    .summary = "end the life of a buffer",
    .out = {{"Buffer", GLOW_TENSOR, "what an alloc defined"}},
    .traits = GLOW_STRUCTURAL | GLOW_PROGRAM_ONLY | GLOW_STATED,
    .infer = dealloc_infer,
    .source = "Glow DeallocActivation",
};

/*
 * A dense view is a range of bytes of its base; a view with strides is a box in
 * a dense base.  Both are within the base.
 */
static bool
tensorview_infer(const glow_node *n, glow_type out[])
{
    const glow_tensorview *v = n->attrs;
    const glow_type *x = n->in[0]->type;
    int64_t elements;

    if (out[0].elem == GLOW_NO_KIND)
        return glow_reject(n, "the type of the view is not stated");
    if (glow_kind_get(out[0].elem)->bytes != glow_kind_get(x->elem)->bytes)
        return glow_reject(n,
                           "the view has elements of %d bytes, but those of "
                           "the base have %d",
                           glow_kind_get(out[0].elem)->bytes,
                           glow_kind_get(x->elem)->bytes);
    if (v->offsets.rank != x->shape.rank)
        return glow_reject(n,
                           "Offsets has %d entries, but the rank of the base "
                           "is %d",
                           v->offsets.rank, x->shape.rank);
    for (int i = 0; i < v->offsets.rank; i++)
        if (v->offsets.at[i] < 0 ||
            (v->offsets.at[i] > 0 && v->offsets.at[i] >= x->shape.at[i]))
            return glow_reject(n,
                               "Offsets names %" PRId64
                               " on axis %d, but the base has %" PRId64,
                               v->offsets.at[i], i, x->shape.at[i]);

    int bytes = glow_kind_get(x->elem)->bytes;

    elements =
        glow_type_index(x, v->offsets) + glow_type_bytes(&out[0]) / bytes;
    if (elements > glow_type_bytes(x) / bytes)
        return glow_reject(n,
                           "the view ends at element %" PRId64
                           ", but the base has %" PRId64,
                           elements, glow_type_bytes(x) / bytes);
    return true;
}

const glow_op glow_op_tensorview = {
    .name = "TensorView",
    .summary = "name a part of a buffer, or all of it by another type",
    .in = {{"Src", GLOW_TENSOR, "the base"}},
    .out = {{"Result", GLOW_TENSOR, "the view"}},
    .attrs = {GLOW_FIELD(glow_tensorview, offsets, GLOW_DIMS,
                         "where in the base its first element lies")},
    .traits = GLOW_STRUCTURAL | GLOW_PROGRAM_ONLY | GLOW_STATED,
    .infer = tensorview_infer,
    .source = "Glow",
};
