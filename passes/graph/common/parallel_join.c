/*
 * parallel: one node in the place of several, and slices of it.
 *
 *     %q = MatMul(%x, @wq)            %c = Concat([@wq, @wk]) {Dim: 1}
 *     %k = MatMul(%x, @wk)       =>   %p = MatMul(%x, %c)
 *                                     %q = Slice(%p), %k = Slice(%p)
 *
 * Operands are concatenated in the order of the members, and so are the parts
 * of the result.  Every element is computed as before.
 */

#include "glow/ops.h"
#include "passes/graph/common/parallel.h"

static glow_value *
join_operand(glow_builder *b, const parallel_member *m, size_t count, int k)
{
    glow_value **parts =
        GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_value *, count);

    if (!m->node->in[k] || m->rule->axis[k] == PARALLEL_SHARED)
        return m->node->in[k];
    for (size_t i = 0; i < count; i++)
        parts[i] = m[i].node->in[k];
    return glow_build(b, &glow_op_concat, NULL, parts, (int)count,
                      &(const glow_concat){.dim = m->rule->axis[k]});
}

/* The type that the whole states, or NULL. */
static const glow_type *
stated(glow_builder *b, const parallel_member *m, size_t count)
{
    int axis = glow_parallel_axis(m->rule, m->node);
    glow_type whole = *m->node->out[0]->type;

    if (!glow_states_type(m->node))
        return NULL;
    whole.strides = (glow_dims){0};
    for (size_t i = 1; i < count; i++)
        whole.shape.at[axis] += m[i].node->out[0]->type->shape.at[axis];
    return glow_type_get(glow_builder_context(b), whole);
}

static glow_value *
build_whole(glow_builder *b, const parallel_member *m, size_t count)
{
    glow_value *in[PARALLEL_OPERANDS];

    glow_builder_at(b, m->node);
    for (size_t i = 1; i < count; i++)
        glow_builder_fuses(b, m[i].node);
    for (int k = 0; k < m->node->n_in; k++)
        in[k] = join_operand(b, m, count, k);
    return glow_build(b, m->node->op, stated(b, m, count), in, m->node->n_in,
                      m->node->attrs);
}

bool
glow_parallel_join(glow_builder *b, const parallel_member *m, size_t count)
{
    int axis = glow_parallel_axis(m->rule, m->node);

    glow_value *whole = build_whole(b, m, count);
    glow_slice s = {.start.rank = whole ? whole->type->shape.rank : 0};

    for (size_t i = 0; i < count && !glow_builder_failed(b); i++) {
        glow_node *n = m[i].node;
        const char *name = n->name;

        glow_builder_at(b, n);

        glow_value *part =
            glow_build(b, &glow_op_slice, n->out[0]->type, GLOW_IN(whole), &s);

        if (!part)
            break;
        s.start.at[axis] += n->out[0]->type->shape.at[axis];
        glow_replace_uses(n->out[0], part);
        glow_node_erase(n);
        glow_node_rename(part->def, name);
    }
    return !glow_builder_failed(b);
}
