/*
 * eliminate-identity: drop nodes whose result equals an operand.
 *
 *     Transpose that moves nothing            Slice of everything
 *     Reshape, ConvertTo, Copy, Broadcast     Pad by nothing
 *       to the type that is there             Concat of one (or of one and
 *     Tile once                                 some that are empty)
 *     MaxPool of one element
 *
 * Each of them is exact, bit for bit, for every element kind.  AvgPool of one
 * element stays: it sums, and 0.0 + -0.0 is 0.0. simplify-arithmetic has the
 * identities of arithmetic.
 *
 * Importers leave Dropout and Identity as copies, and conversions to the same
 * kind; other passes move nodes and leave a Concat or a Slice without effect.
 */

#include "glow/ops.h"
#include "glow/pass.h"

static bool
has_type_of(const glow_node *n, const glow_value *x)
{
    return x->type == n->out[0]->type;
}

/* True if all of `d` are `v`; an empty list is. */
/* For each operator, the operand that equals the result, or NULL. */
typedef glow_value *(*same_fn)(const glow_node *n);

/* For operators that are the identity if the type stays. */
static glow_value *
same_type(const glow_node *n)
{
    return has_type_of(n, n->in[0]) ? n->in[0] : NULL;
}

static glow_value *
same_transpose(const glow_node *n)
{
    const glow_transpose *t = n->attrs;

    for (int i = 0; i < t->shuffle.rank; i++)
        if (t->shuffle.at[i] != i)
            return NULL;
    return n->in[0];
}

static glow_value *
same_slice(const glow_node *n)
{
    const glow_slice *s = n->attrs;

    return has_type_of(n, n->in[0]) && glow_dims_are(s->start, 0) &&
                   glow_dims_are(s->steps, 1)
               ? n->in[0]
               : NULL;
}

static glow_value *
same_pad(const glow_node *n)
{
    const glow_pad *p = n->attrs;

    for (int64_t i = 0; i < p->pads.count; i++)
        if (p->pads.at[i] != 0)
            return NULL;
    return n->in[0];
}

/* The only operand that is not empty, if it has the type of the result. */
static glow_value *
same_concat(const glow_node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (has_type_of(n, n->in[i]))
            return n->in[i];
    return NULL;
}

static glow_value *
same_maxpool(const glow_node *n)
{
    const glow_maxpool *p = n->attrs;

    return glow_dims_are(p->kernels, 1) && glow_dims_are(p->pads, 0)
               ? same_type(n)
               : NULL;
}

static const struct {
    const glow_op *op;
    same_fn same;
} rules[] = {
    {&glow_op_broadcast, same_type},  {&glow_op_concat, same_concat},
    {&glow_op_convertto, same_type},  {&glow_op_copy, same_type},
    {&glow_op_maxpool, same_maxpool}, {&glow_op_pad, same_pad},
    {&glow_op_reshape, same_type},    {&glow_op_slice, same_slice},
    {&glow_op_tile, same_type},       {&glow_op_transpose, same_transpose},
};

static glow_value *
eliminate(glow_builder *b, glow_node *n)
{
    (void)b;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].op == n->op)
            return rules[i].same(n);
    return NULL;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, NULL, eliminate);
}

const glow_pass glow_pass_eliminate_identity = {
    .name = "eliminate-identity",
    .summary = "drop nodes whose result equals an operand",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};
