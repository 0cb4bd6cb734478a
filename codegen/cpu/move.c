/* Affine access functions of operands; see move.h. */

#include "codegen/cpu/move.h"

#include "codegen/cpu/layout.h"
#include "glow/ops.h"

typedef bool (*move_fn)(const glow_node *n, int i, cpu_move *m);

/* Every operand has the shape of the result. */
static bool
plain(const glow_node *n, int i, cpu_move *m)
{
    *m = (cpu_move){.step = glow_cpu_strides(n->in[i]->type)};
    return glow_dims_equal(n->in[i]->type->shape, n->out[0]->type->shape);
}

static bool
reshape(const glow_node *n, int i, cpu_move *m)
{
    *m = (cpu_move){.step = glow_dims_strides(n->out[0]->type->shape)};
    return !n->in[i]->type->strides.rank;
}

static bool
transpose(const glow_node *n, int i, cpu_move *m)
{
    const glow_transpose *t = n->attrs;
    glow_dims strides = glow_cpu_strides(n->in[i]->type);

    *m = (cpu_move){.step = {.rank = strides.rank}};
    for (int d = 0; d < strides.rank; d++)
        m->step.at[d] = strides.at[t->shuffle.at[d]];
    return true;
}

static bool
slice(const glow_node *n, int i, cpu_move *m)
{
    const glow_slice *s = n->attrs;
    glow_dims shape = n->out[0]->type->shape;

    *m = (cpu_move){.step = glow_cpu_strides(n->in[i]->type)};
    for (int d = 0; d < shape.rank; d++) {
        int64_t by = s->steps.rank ? s->steps.at[d] : 1;

        m->at += s->start.at[d] * m->step.at[d];
        m->step.at[d] = shape.at[d] > 1 ? m->step.at[d] * by : 0;
    }
    return true;
}

static bool
broadcast(const glow_node *n, int i, cpu_move *m)
{
    const glow_broadcast *b = n->attrs;
    const glow_type *x = n->in[i]->type;
    glow_dims strides = glow_cpu_strides(x);

    *m = (cpu_move){.step = {.rank = n->out[0]->type->shape.rank}};
    for (int d = 0; d < strides.rank; d++)
        if (x->shape.at[d] != 1)
            m->step.at[b->axis + d] = strides.at[d];
    return true;
}

/* Operand Slice lacks the first axis of Batch. */
static bool
batchedadd(const glow_node *n, int i, cpu_move *m)
{
    glow_dims strides = glow_cpu_strides(n->in[i]->type);

    if (i == 0)
        return plain(n, i, m);
    *m = (cpu_move){.step = {.rank = strides.rank + 1}};
    for (int d = 0; d < strides.rank; d++)
        m->step.at[d + 1] = strides.at[d];
    return m->step.rank == n->out[0]->type->shape.rank;
}

/* Any element of the table may be read: none moves with the result. */
static bool
intlookuptable(const glow_node *n, int i, cpu_move *m)
{
    if (i == 0)
        return plain(n, i, m);
    *m = (cpu_move){.step = {.rank = n->out[0]->type->shape.rank}};
    return true;
}

static const struct {
    const glow_op *op;
    move_fn move;
    bool bits;
} table[] = {
    {&glow_op_batchedadd, batchedadd, false},
    {&glow_op_bitcast, plain, true},
    {&glow_op_broadcast, broadcast, true},
    {&glow_op_copy, plain, true},
    {&glow_op_intlookuptable, intlookuptable, false},
    {&glow_op_reshape, reshape, true},
    {&glow_op_slice, slice, true},
    {&glow_op_splat, plain, true},
    {&glow_op_transpose, transpose, true},
};

bool
glow_cpu_move(const glow_node *n, int i, cpu_move *out)
{
    for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++)
        if (table[k].op == n->op)
            return table[k].move(n, i, out);
    return plain(n, i, out);
}

bool
glow_cpu_moves_bits(const glow_op *op)
{
    for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++)
        if (table[k].op == op)
            return table[k].bits;
    return false;
}
