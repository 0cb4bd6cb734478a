/*
 * fold-view: name each part of a buffer by one view of it.
 *
 *     %a = tensorview @in %x {Offsets: [2, 0]}       %b = tensorview @in %x
 *     %b = tensorview @in %a {Offsets: [1, 0]}   =>      {Offsets: [3, 0]}
 *     %c = tensorview @in %x {Offsets: [0, 0]}       relu @out %y, @in %x
 *     relu @out %y, @in %c
 *
 * A view of a view becomes a view of the base buffer, at the sum of both
 * offsets; a view of a whole buffer by the buffer's own type becomes the
 * buffer.  Such views come from chains of reshapes and from other passes.
 * Afterwards the operand of a view is its base buffer, and equal ranges have
 * fewer names: an instruction works in place only if its operand and its result
 * are the same value.
 *
 * A view of a buffer whose type has strides stays as it is.
 */

#include "glow/ops.h"
#include "glow/pass.h"

/* The index in `shape` of the element with row-major number `number`. */
static glow_dims
index_of(glow_dims shape, int64_t number)
{
    glow_dims at = {.rank = shape.rank};

    for (int i = shape.rank - 1; i >= 0; i--) {
        at.at[i] = number % shape.at[i];
        number /= shape.at[i];
    }
    return at;
}

/* True if extent `e` is all of `base`, by the type of `base`. */
static bool
is_all(const glow_extent *e, const glow_value *base)
{
    return e->first == 0 && e->layout == base->type;
}

static bool
fold(glow_pass_run *pass, glow_node *n)
{
    glow_value *v = n->out[0], *base = glow_base_buffer(v);
    glow_extent e = glow_extent_of(v);

    if (base->type->strides.rank || glow_type_count(v->type) == 0 ||
        (n->in[0] == base && !is_all(&e, base)) || !glow_run_may_rewrite(pass))
        return false;
    if (is_all(&e, base)) {
        if (!glow_is_unused(v))
            glow_replace_uses(v, base);
        glow_node_erase(n);
    } else {
        glow_tensorview at = {index_of(base->type->shape, e.first)};

        glow_set_operand(n, 0, base);
        glow_node_set_attrs(n, &at);
    }
    return true;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_result result = GLOW_UNCHANGED;

    GLOW_FOR_EACH_NODE(n, f) {
        if (n->op != &glow_op_tensorview || !fold(pass, n))
            continue;
        glow_run_count(pass, "folded", 1);
        result = GLOW_CHANGED;
    }
    return result;
}

const glow_pass glow_pass_fold_view = {
    .name = "fold-view",
    .summary = "name each part of a buffer by one view of it",
    .level = GLOW_PROGRAM,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "Glow PeepholeOptimizations",
};
