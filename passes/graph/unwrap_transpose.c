/*
 * unwrap-transpose: remove reshapes around a transpose.
 *
 *     %a = Reshape(%x : [4, 36])              : [1, 1, 4, 3, 12]
 *     %b = Transpose(%a) {[0, 3, 4, 1, 2]}    : [1, 3, 12, 1, 4]
 *     %y = Reshape(%b)                        : [3, 12, 4]
 *         =>
 *     %a = Reshape(%x)                        : [4, 3, 12]
 *     %y = Transpose(%a) {[1, 2, 0]}          : [3, 12, 4]
 *
 * A transpose moves blocks of axes that stay together; axes of one element are
 * ignored.  If each axis of %x is within one block, %x can be transposed
 * directly, and the reshape follows; if each axis of %y is, the reshape comes
 * first; if both hold, with the same axes in each block, there is no reshape.
 * An operand that FullyConnected flattens may have any shape.  The rewrite must
 * save a node, so it terminates.  A reshape with other users counts as staying.
 *
 * Exporters of attention split heads, transpose, and merge again with axes of
 * one element in between; fold-channel-shuffle matches permutations within one
 * axis.
 */

#include "glow/match.h"
#include "glow/pass.h"
#include "passes/graph/common/axes.h"

/* The axes that form the blocks of a transpose, in one of the two orders. */
typedef struct parts {
    int begin[GLOW_MAX_RANK + 1]; /* block k: list[begin[k]] and on */
    int list[GLOW_MAX_RANK];      /* axes of more than one element */
    int ones[GLOW_MAX_RANK];      /* axes of one */
    int n_ones;
} parts;

/*
 * Groups the axes of `shape` to blocks of these sizes; false if an axis spans
 * two.
 */
static bool
part(glow_dims shape, const int64_t size[], int count, parts *p)
{
    int64_t left = 1;
    int n = 0, block = 0;

    *p = (parts){0};
    for (int i = 0; i < shape.rank; i++) {
        if (shape.at[i] == 1) {
            p->ones[p->n_ones++] = i;
            continue;
        }
        if (left == 1) {
            if (block == count)
                return false;
            p->begin[block] = n;
            left = size[block++];
        }
        if (left % shape.at[i] != 0)
            return false;
        left /= shape.at[i];
        p->list[n++] = i;
    }
    p->begin[block] = n;
    return block == count && left == 1;
}

/* A transpose between shapes. */
typedef struct moved {
    axis_blocks blocks;
    int64_t sizes[GLOW_MAX_RANK]; /* of the blocks, in the result's order */
    int back[GLOW_MAX_RANK];      /* position of each block in the result */
} moved;

static moved
find_move(const glow_node *n)
{
    const glow_transpose *t = n->attrs;
    moved m = {.blocks =
                   glow_axes_find_blocks(n->in[0]->type->shape, t->shuffle)};

    for (int i = 0; i < m.blocks.count; i++) {
        m.sizes[i] = m.blocks.size[m.blocks.order[i]];
        m.back[m.blocks.order[i]] = i;
    }
    return m;
}

/*
 * Sets `*perm` to the permutation from `x` to `y` without reshapes; false if
 * there is none.
 */
static bool
find_direct(const moved *m, glow_dims x, glow_dims y, glow_dims *perm)
{
    parts in, out;

    if (x.rank != y.rank || !part(x, m->blocks.size, m->blocks.count, &in) ||
        !part(y, m->sizes, m->blocks.count, &out))
        return false;
    perm->rank = x.rank;
    for (int i = 0; i < in.n_ones && i < out.n_ones; i++)
        perm->at[out.ones[i]] = in.ones[i];
    for (int i = 0; i < m->blocks.count; i++) {
        int k = m->blocks.order[i], length = out.begin[i + 1] - out.begin[i];

        if (in.begin[k + 1] - in.begin[k] != length)
            return false;
        for (int j = 0; j < length; j++)
            perm->at[out.list[out.begin[i] + j]] = in.list[in.begin[k] + j];
    }
    for (int i = 0; i < x.rank; i++)
        if (y.at[i] != x.at[perm->at[i]])
            return false;
    return true;
}

/*
 * Sets `*perm` to the permutation of `x` before a reshape; false if there is
 * none.
 */
static bool
find_first(const moved *m, glow_dims x, glow_dims *perm)
{
    parts in;

    if (!part(x, m->blocks.size, m->blocks.count, &in))
        return false;
    *perm = (glow_dims){0};
    for (int i = 0; i < in.n_ones; i++)
        perm->at[perm->rank++] = in.ones[i];
    for (int i = 0; i < m->blocks.count; i++)
        for (int j = in.begin[m->blocks.order[i]];
             j < in.begin[m->blocks.order[i] + 1]; j++)
            perm->at[perm->rank++] = in.list[j];
    return true;
}

/*
 * Sets `*shape` and `*perm` so that %x reshaped to `*shape` and transposed is
 * `y`; false if there are none.
 */
static bool
find_last(const moved *m, glow_dims y, glow_dims *shape, glow_dims *perm)
{
    parts out;

    if (!part(y, m->sizes, m->blocks.count, &out))
        return false;
    *shape = (glow_dims){0};
    perm->rank = y.rank;
    for (int i = 0; i < out.n_ones; i++) {
        perm->at[out.ones[i]] = shape->rank;
        shape->at[shape->rank++] = 1;
    }
    for (int k = 0; k < m->blocks.count; k++)
        for (int j = out.begin[m->back[k]]; j < out.begin[m->back[k] + 1];
             j++) {
            perm->at[out.list[j]] = shape->rank;
            shape->at[shape->rank++] = y.at[out.list[j]];
        }
    return true;
}

/*
 * Builds the transpose `n` of `x`, reshaped to `y`, with a node less; NULL if
 * this is impossible.
 */
static glow_value *
unwrap(glow_builder *b, const glow_node *n, glow_value *x, glow_dims y,
       int reshapes)
{
    moved m = find_move(n);
    glow_dims shape = x->type->shape, perm = {0};

    if (m.blocks.count < 2 || glow_dims_count(shape) == 0)
        return NULL;
    if (find_direct(&m, shape, y, &perm))
        return GLOW_BUILD(b, transpose, GLOW_IN(x), .shuffle = perm);
    if (reshapes < 2)
        return NULL;
    if (find_last(&m, y, &shape, &perm)) {
        x = GLOW_BUILD(b, reshape, GLOW_IN(x), .dims = shape);
        return GLOW_BUILD(b, transpose, GLOW_IN(x), .shuffle = perm);
    }
    if (!find_first(&m, shape, &perm))
        return NULL;
    x = GLOW_BUILD(b, transpose, GLOW_IN(x), .shuffle = perm);
    return GLOW_BUILD(b, reshape, GLOW_IN(x), .dims = y);
}

/* Reshape(Transpose(Reshape(x))), or Reshape(Transpose(x)). */
static glow_value *
unwrap_reshape(glow_builder *b, glow_node *n)
{
    const glow_node *t = glow_only_def(n->in[0], &glow_op_transpose);
    glow_value *x;
    int reshapes = 1;

    if (!t)
        return NULL;
    x = t->in[0];
    if (glow_only_def(x, &glow_op_reshape)) {
        reshapes++;
        x = x->def->in[0];
    }
    glow_builder_fuses(b, t);
    return unwrap(b, t, x, n->out[0]->type->shape, reshapes);
}

/* Transpose(Reshape(x)) without a reshape behind it. */
static glow_value *
unwrap_transpose(glow_builder *b, glow_node *n)
{
    const glow_node *reshape = glow_only_def(n->in[0], &glow_op_reshape);

    if (!reshape)
        return NULL;
    glow_builder_fuses(b, reshape);
    return unwrap(b, n, reshape->in[0], n->out[0]->type->shape, 1);
}

/* FullyConnected(Transpose(Reshape(x))), which flattens in any case. */
static glow_value *
unwrap_flattened(glow_builder *b, glow_node *n)
{
    const glow_node *t = glow_only_def(n->in[0], &glow_op_transpose);
    const glow_node *reshape =
        t ? glow_only_def(t->in[0], &glow_op_reshape) : NULL;
    int64_t rows = n->out[0]->type->shape.at[0], count = 1;
    glow_dims perm, shape;
    int axis = 0;
    moved m;

    if (!reshape)
        return NULL;
    m = find_move(t);
    shape = reshape->in[0]->type->shape;
    if (glow_dims_count(shape) == 0 || !find_first(&m, shape, &perm))
        return NULL;
    while (axis < perm.rank && count != rows)
        count *= shape.at[perm.at[axis++]];
    if (count != rows)
        return NULL;
    glow_builder_fuses(b, t);

    glow_value *x =
        GLOW_BUILD(b, transpose, GLOW_IN(reshape->in[0]), .shuffle = perm);

    return GLOW_BUILD(b, fullyconnected, GLOW_IN(x, n->in[1], n->in[2]),
                      .axis = axis);
}

static const glow_rewrite_row rows[] = {
    {&glow_op_fullyconnected, unwrap_flattened},
    {&glow_op_reshape, unwrap_reshape},
    {&glow_op_transpose, unwrap_transpose},
    {0},
};

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite_each(pass, f, rows, NULL);
}

const glow_pass glow_pass_unwrap_transpose = {
    .name = "unwrap-transpose",
    .summary = "remove reshapes around a transpose",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};
