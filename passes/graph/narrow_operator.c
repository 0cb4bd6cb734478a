/*
 * narrow-operator: compute in the narrow kind between two conversions.
 *
 *     %a = ConvertTo(%x) : float                 %y = Relu(%x) : float16
 *     %b = Relu(%a) : float               =>
 *     %y = ConvertTo(%b) : float16
 *
 * An element-wise or layout operator between conversions from a narrow float
 * kind and back is computed in the narrow kind; constants are converted.
 * Layout operators stay exact; arithmetic rounds once instead of twice.  The
 * operator must have no other users.
 *
 * Arithmetic in the wide kind is often intended, with storage in the narrow
 * kind: the pass is not in any pipeline.  Glow's
 * OptimizeOutIntermediateConversions also depends on the backend.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

static bool
is_narrower(glow_kind a, glow_kind b)
{
    return glow_is_float(a) && glow_is_float(b) &&
           glow_kind_get(a)->bytes < glow_kind_get(b)->bytes;
}

/* `v` in the kind `to` without rounding; NULL if there is no such value. */
static glow_value *
as_narrow(const glow_value *v, glow_kind to)
{
    const glow_node *n = glow_def(v, &glow_op_convertto);

    return n && n->in[0]->type->elem == to ? n->in[0] : NULL;
}

static bool
is_narrowable(const glow_node *n, glow_kind to)
{
    bool has_narrow = false;

    if (!(n->op->traits & (GLOW_ELEMENTWISE | GLOW_LAYOUT)) ||
        !(n->op->traits & GLOW_PURE) || n->n_out != 1 ||
        n->op == &glow_op_convertto || n->op == &glow_op_splat)
        return false;
    for (int i = 0; i < n->n_in; i++) {
        const glow_value *v = n->in[i];

        if (!v || v->type->elem != n->out[0]->type->elem)
            return false;
        if (as_narrow(v, to))
            has_narrow = true;
        else if (!glow_is_constant_like(v))
            return false;
    }
    return has_narrow;
}

static glow_value *
narrow(glow_builder *b, glow_node *n)
{
    const glow_type *to = n->out[0]->type;
    const glow_node *m = n->in[0]->def;
    glow_value **in;

    if (n->pred || !m || m->pred || !glow_has_one_use(n->in[0]) ||
        !is_narrower(to->elem, n->in[0]->type->elem) ||
        !is_narrowable(m, to->elem))
        return NULL;
    in = GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_value *, m->n_in);
    for (int i = 0; i < m->n_in; i++) {
        glow_type type = *m->in[i]->type;

        type.elem = to->elem;
        in[i] = as_narrow(m->in[i], to->elem);
        if (!in[i])
            in[i] = GLOW_BUILD_STATED_PLAIN(
                b, convertto, glow_type_get(glow_builder_context(b), type),
                GLOW_IN(m->in[i]));
    }
    glow_builder_fuses(b, m);
    return glow_build(b, m->op, glow_states_type(m) ? to : NULL, in, m->n_in,
                      m->attrs);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, &glow_op_convertto, narrow);
}

const glow_pass glow_pass_narrow_operator = {
    .name = "narrow-operator",
    .summary = "compute in the narrow kind between two conversions",
    .level = GLOW_GRAPH,
    .preserves = GLOW_PRECISION,
    .run = run,
    .doc = "No pipeline has it: arithmetic in the wide kind may be meant.",
};
