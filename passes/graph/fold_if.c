/*
 * fold-if: inline the branch of an If whose condition is constant.
 *
 *     %r = If(@true, [%x]) {Then: @f, Else: @g}   =>   the nodes of @f, of %x
 *
 * The other function never runs.  Afterwards no graph has an If whose condition
 * is a constant or a Splat, except where the branch is a program, or is
 * unscheduled in a scheduled function.
 *
 * Such conditions come from inputs that were bound to values, and from unrolled
 * loops.
 */

#include "glow/ops.h"
#include "glow/pass.h"

/* True if the condition is constant; sets `*out` to its value. */
static bool
condition(const glow_value *v, bool *out)
{
    if (glow_is_constant(v) && v->storage->payload != GLOW_ELIDED) {
        const glow_tensor *t = glow_constant_tensor(v->storage);

        *out = t && glow_get_int(t, 0);
        return t;
    }
    if (!glow_is(v->def, &glow_op_splat))
        return false;
    *out = GLOW_AS(splat, v->def)->value != 0;
    return true;
}

/* True if `body` can be inlined into `f`. */
static bool
is_alike(const glow_func *f, const glow_func *body)
{
    return body && !body->is_program && (!f->scheduled || body->scheduled);
}

static bool
fold(glow_pass_run *pass, glow_node *n)
{
    glow_arena *a = glow_run_scratch(pass);
    glow_value **out = GLOW_NEW_ARRAY(a, glow_value *, n->n_out);
    const glow_func *taken;
    bool holds;

    if (n->pred || !condition(n->in[0], &holds))
        return false;
    taken = glow_called(n, holds ? 0 : 1);
    if (!is_alike(n->func, taken) || !glow_run_may_rewrite(pass))
        return false;
    glow_inline(n, taken, n->in + 1, out);
    for (int i = 0; i < n->n_out; i++)
        glow_replace_uses(n->out[i], out[i]);
    glow_node_erase(n);
    return true;
}

static bool
fold_all(glow_pass_run *pass, glow_func *f)
{
    bool changed = false;

    GLOW_FOR_EACH_NODE(n, f)
        if (glow_is(n, &glow_op_if) && fold(pass, n))
            changed = true;
    return changed;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_result result = GLOW_UNCHANGED;

    while (fold_all(pass, f)) /* a branch may contain another If */
        result = GLOW_CHANGED;
    return result;
}

const glow_pass glow_pass_fold_if = {
    .name = "fold-if",
    .summary = "inline the branch of an If whose condition is constant",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};
