/* Rules for operators under a permutation of axes; see axis_rules.h. */

#include "passes/graph/common/axis_rules.h"

/* Attributes. */

/* Permutes the attribute `member` of operators with one axis. */
#define MOVE_AXIS(name, type, member)                                \
    static void move_##name(void *to, glow_dims perm, glow_arena *a) \
    {                                                                \
        (void)a;                                                     \
        ((type *)to)->member = (int)perm.at[((type *)to)->member];   \
    }

MOVE_AXIS(batchnormalization, glow_batchnormalization, channel_idx)
MOVE_AXIS(channelshuffle, glow_channelshuffle, kernel)
MOVE_AXIS(concat, glow_concat, dim)
MOVE_AXIS(cumsum, glow_cumsum, dim)
MOVE_AXIS(flip, glow_flip, axis)
MOVE_AXIS(gather, glow_gather, axis)
MOVE_AXIS(gatherelements, glow_gatherelements, dim)
MOVE_AXIS(groupnormalization, glow_groupnormalization, channel_idx)
MOVE_AXIS(instancenormalization, glow_instancenormalization, channel_idx)
MOVE_AXIS(search, glow_argmax, axis)
MOVE_AXIS(softmax, glow_softmax, axis)
MOVE_AXIS(tile, glow_tile, axis)

static void
move_inserttensor(void *to, glow_dims perm, glow_arena *a)
{
    glow_inserttensor *s = to;

    (void)a;
    s->start = glow_axes_restore(s->start, perm);
    s->axis = (int)perm.at[s->axis];
}

static void
move_pad(void *to, glow_dims perm, glow_arena *a)
{
    glow_pad *p = to;
    int64_t *pads = GLOW_NEW_ARRAY(a, int64_t, p->pads.count);

    for (int i = 0; i < perm.rank; i++) {
        pads[perm.at[i]] = p->pads.at[i];
        pads[perm.rank + perm.at[i]] = p->pads.at[perm.rank + i];
    }
    p->pads.at = pads;
}

static const float *
move_floats(const float *from, int count, glow_dims perm, glow_arena *a)
{
    float *moved = GLOW_NEW_ARRAY(a, float, count);

    for (int i = 0; i < perm.rank && i < count; i++)
        moved[perm.at[i]] = from[i];
    return moved;
}

static void
move_grid(void *to, glow_dims perm, glow_arena *a)
{
    glow_grid *r = to;

    r->scale.at = move_floats(r->scale.at, (int)r->scale.count, perm, a);
}

static void
move_resize(void *to, glow_dims perm, glow_arena *a)
{
    glow_resize *r = to;

    r->scale.at = move_floats(r->scale.at, (int)r->scale.count, perm, a);
}

static void
move_slice(void *to, glow_dims perm, glow_arena *a)
{
    glow_slice *s = to;

    (void)a;
    s->start = glow_axes_restore(s->start, perm);
    s->steps = glow_axes_restore(s->steps, perm);
}

/* Conditions on the permutation. */

/* Indices must have one axis, which takes the place of the gathered axis. */
static bool
fits_gather(const glow_node *n, glow_dims perm)
{
    const glow_gather *g = n->attrs;

    (void)perm;
    return g->batch_dims == 0 && n->in[1]->type->shape.rank == 1;
}

static bool
fits_gatherelements(const glow_node *n, glow_dims perm)
{
    (void)perm;
    return n->in[1]->type->shape.rank == n->out[0]->type->shape.rank;
}

/* The normalized axes must stay the last ones, in their order. */
static bool
fits_layernormalization(const glow_node *n, glow_dims perm)
{
    const glow_layernormalization *l = n->attrs;

    for (int i = l->axis; i < perm.rank; i++)
        if (perm.at[i] != i)
            return false;
    return true;
}

static bool
fits_batch(const glow_node *n, glow_dims perm)
{
    (void)n;
    return perm.at[0] == 0;
}

/* (A B)^T = B^T A^T. */
static bool
fits_product(const glow_node *n, glow_dims perm)
{
    int last = perm.rank - 1;

    (void)n;
    for (int i = 0; i < last - 1; i++)
        if (perm.at[i] != i)
            return false;
    return true;
}

static bool
fits_resize(const glow_node *n, glow_dims perm)
{
    (void)perm;
    return ((const glow_resize *)n->attrs)->roi.count == 0;
}

static bool
fits_search(const glow_node *n, glow_dims perm)
{
    (void)perm;
    return ((const glow_argmax *)n->attrs)->keep_dims;
}

static const axis_rule rules[] = {
    {&glow_op_argmax, move_search, fits_search, false},
    {&glow_op_argmin, move_search, fits_search, false},
    {&glow_op_batchnormalization, move_batchnormalization, NULL, false},
    {&glow_op_batchmatmul, NULL, fits_product, true},
    {&glow_op_bitcast, NULL, NULL, false},
    {&glow_op_channelshuffle, move_channelshuffle, NULL, false},
    {&glow_op_concat, move_concat, NULL, true},
    {&glow_op_cumprod, move_cumsum, NULL, false},
    {&glow_op_cumsum, move_cumsum, NULL, false},
    {&glow_op_flip, move_flip, NULL, false},
    {&glow_op_gather, move_gather, fits_gather, false},
    {&glow_op_gatherelements, move_gatherelements, fits_gatherelements, true},
    {&glow_op_groupnormalization, move_groupnormalization, fits_batch, false},
    {&glow_op_hardmax, move_softmax, NULL, false},
    {&glow_op_inserttensor, move_inserttensor, NULL, true},
    {&glow_op_instancenormalization, move_instancenormalization, fits_batch,
     false},
    {&glow_op_intlookuptable, NULL, NULL, false},
    {&glow_op_layernormalization, NULL, fits_layernormalization, false},
    {&glow_op_intlookuptable, NULL, NULL, false},
    {&glow_op_logsoftmax, move_softmax, NULL, false},
    {&glow_op_matmul, NULL, fits_product, true},
    {&glow_op_pad, move_pad, NULL, false},
    {&glow_op_resize, move_resize, fits_resize, false},
    {&glow_op_resizebilinear, move_grid, NULL, false},
    {&glow_op_resizenearest, move_grid, NULL, false},
    {&glow_op_rmsnormalization, NULL, fits_layernormalization, false},
    {&glow_op_slice, move_slice, NULL, false},
    {&glow_op_softmax, move_softmax, NULL, false},
    {&glow_op_tile, move_tile, NULL, false},
};

static const axis_rule elementwise = {NULL, NULL, NULL, true};

const axis_rule *
glow_axis_rule_for(const glow_node *n)
{
    if (n->n_out != 1 || n->n_in == 0 || n->pred ||
        !(n->op->traits & GLOW_PURE))
        return NULL;
    if (n->op->traits & GLOW_ELEMENTWISE)
        return &elementwise;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].op == n->op)
            return &rules[i];
    return NULL;
}

int
glow_axis_rule_operands(const axis_rule *rule, const glow_node *n)
{
    return rule->all ? n->n_in : 1;
}

const glow_type *
glow_axis_rule_type(glow_builder *b, const glow_type *t, glow_dims perm)
{
    glow_type old = *t;

    old.shape = glow_axes_restore(t->shape, perm);
    return glow_type_get(glow_builder_context(b), old);
}

glow_value *
glow_axis_rule_build(glow_builder *b, const axis_rule *rule, const glow_node *n,
                     glow_value *const *in, glow_dims perm)
{
    glow_arena *a = glow_builder_scratch(b);
    void *attrs = glow_attrs_copy(a, glow_op_schema(n->op), n->attrs);
    glow_value *const turned[] = {n->n_in > 1 ? in[1] : NULL, in[0]};

    if (rule->fits == fits_product && !glow_axes_is_identity(perm))
        in = turned;
    if (rule->move)
        rule->move(attrs, perm, a);
    return glow_build(b, n->op,
                      glow_states_type(n)
                          ? glow_axis_rule_type(b, n->out[0]->type, perm)
                          : NULL,
                      in, n->n_in, attrs);
}

bool
glow_axis_rule_is_free(const glow_value *v)
{
    return (glow_is(v->def, &glow_op_splat) && !v->def->pred) ||
           (glow_is_constant(v) && v->storage->payload != GLOW_ELIDED);
}

glow_value *
glow_axis_rule_free(glow_builder *b, glow_value *v, glow_dims perm)
{
    const glow_type *type = glow_axis_rule_type(b, v->type, perm);

    if (!glow_axis_rule_is_free(v))
        return NULL;
    if (v->def)
        return glow_build(b, &glow_op_splat, type, NULL, 0, v->def->attrs);
    if (v->storage->payload == GLOW_SPLAT && glow_is_float(type->elem))
        return glow_build_splat(b, "splat", type, v->storage->splat);
    return GLOW_BUILD(b, transpose, GLOW_IN(v),
                      .shuffle = glow_axes_inverse(perm));
}
