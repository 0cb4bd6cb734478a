/*
 * fold-splat: fold operations on splats to a splat.
 *
 *     Add(Splat 1, Splat 2)                    =>  Splat 3
 *     Slice(Splat 1), Concat(Splat 1, Splat 1) =>  Splat 1
 *     Pad(Splat 0) with 0, ReduceMax(Splat 1)  =>  Splat of that number
 *
 * An element-wise operator is evaluated on one element, by its eval, so the
 * number is exactly that of all elements.  A layout operator on equal elements
 * is a splat of the same number.  A constant whose elements are equal counts as
 * a splat, also behind Broadcast.  A Splat takes a line of text in place of a
 * tensor; fold-constants leaves Splat nodes alone unless the tensor is needed.
 *
 * Shape computations and masks that are always true become splats.  Glow's
 * OptimizeSplat and OptimizeReshape handle Slice, Clip and Reshape.
 */

#include <math.h>

#include "glow/eval.h"
#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

#define MOST_OPERANDS 4

/* True for dense tensors of neither quantized nor low-precision kinds. */
static bool
is_dense_unquantized(const glow_type *t)
{
    return t->strides.rank == 0 &&
           !((int)glow_kind_get(t->elem)->klass &
             (GLOW_CLASS_QUANTIZED | GLOW_CLASS_FUSED | GLOW_CLASS_LOW));
}

/* A tensor of one element `v` of the kind of `t`. */
static glow_tensor
one_element(glow_context *ctx, const glow_type *t, double v)
{
    glow_tensor one = glow_tensor_new(
        glow_type_get(ctx, glow_type_of(t->elem, (glow_dims){0})));

    glow_set_double(&one, 0, v);
    return one;
}

/* Evaluates an element-wise node on one element of each operand. */
static bool
run_once(glow_builder *b, const glow_node *n, const double x[], double *out)
{
    glow_context *ctx = glow_builder_context(b);
    glow_tensor in[MOST_OPERANDS], result;
    glow_tensor *in_at[MOST_OPERANDS], *result_at = &result;
    glow_arena *scratch = glow_arena_new();
    bool ok;

    for (int i = 0; i < n->n_in; i++) {
        in[i] = one_element(ctx, n->in[i]->type, x[i]);
        in_at[i] = &in[i];
    }
    result = one_element(ctx, n->out[0]->type, 0);
    ok = glow_eval_node(n, in_at, &result_at, scratch);
    *out = glow_get_double(&result, 0);
    for (int i = 0; i < n->n_in; i++)
        glow_tensor_end(&in[i]);
    glow_tensor_end(&result);
    glow_arena_free(scratch);
    return ok && !isnan(*out) &&
           (glow_is_float(n->out[0]->type->elem) || fabs(*out) < 9e15);
}

/*
 * Reads the number of each operand; false if one is not a splat, or if those of
 * a layout operator differ.
 */
static bool
read_operands(const glow_node *n, double x[])
{
    bool moves = (n->op->traits & GLOW_LAYOUT) != 0;

    for (int i = 0; i < n->n_in; i++) {
        double v;

        if (!n->in[i] || !glow_splat_value(n->in[i], &v) ||
            (moves && n->in[i]->type->elem != n->out[0]->type->elem) ||
            (moves && i > 0 && (v != x[0] || !signbit(v) != !signbit(x[0]))))
            return false;
        x[moves ? 0 : i] = v;
    }
    return n->n_in > 0;
}

/* True if `n` pads with `v`, or with copies of elements. */
static bool
pads_with(const glow_node *n, double v)
{
    const glow_pad *p = GLOW_AS(pad, n);

    return p && (p->mode != GLOW_PAD_CONSTANT ||
                 ((double)p->value == v &&
                  !signbit((double)p->value) == !signbit(v)));
}

static bool
picks_one(const glow_op *op)
{
    return op == &glow_op_batchedreducemax || op == &glow_op_batchedreducemin;
}

static glow_value *
fold(glow_builder *b, glow_node *n)
{
    int traits = n->op->traits;
    double x[MOST_OPERANDS], v = 0;

    if (!(traits & GLOW_PURE) || n->pred || n->n_out != 1 ||
        !is_dense_unquantized(n->out[0]->type))
        return NULL;
    if (traits & GLOW_LAYOUT) {
        if (!read_operands(n, x))
            return NULL;
        v = x[0];
    } else if (traits & GLOW_ELEMENTWISE) {
        if (n->n_in > MOST_OPERANDS || !read_operands(n, x) ||
            !run_once(b, n, x, &v))
            return NULL;
    } else if (!glow_is(n, &glow_op_pad) && !picks_one(n->op)) {
        return NULL;
    } else if (!glow_splat_value(n->in[0], &v) ||
               (!picks_one(n->op) && !pads_with(n, v))) {
        return NULL;
    }
    return glow_build_like(b, n->out[0], v);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, NULL, fold);
}

const glow_pass glow_pass_fold_splat = {
    .name = "fold-splat",
    .summary = "fold operations on splats to a splat",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};
