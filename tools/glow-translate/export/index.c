/* Export of gathers, scatters and other operators on indices. */

#include "tools/glow-translate/export/export.h"
#include "tools/glow-translate/tensor.h"

/* Operand i as indices: ONNX has them of 32 and 64 bits. */
static const char *
indices(exporter *e, const glow_node *n, int i)
{
    glow_kind kind = n->in[i]->type->elem;
    const char *x = export_in(e, n, i);

    return kind == GLOW_INDEX64 || kind == GLOW_INDEX32
               ? x
               : export_cast(e, n, x, GLOW_INDEX64);
}

/* The same, of 64 bits. */
static const char *
wide_indices(exporter *e, const glow_node *n, int i)
{
    const char *x = export_in(e, n, i);

    return n->in[i]->type->elem == GLOW_INDEX64
               ? x
               : export_cast(e, n, x, GLOW_INDEX64);
}

/*
 * Gather with batches is GatherND, if the axis comes right after them:
 *
 *     data [b, i, d, k], indices [b, j]  =>  data [b, d, i, k]
 *     GatherND: [b, j, i, k]             =>  [b, i, j, k]
 */
static bool
batch_gather(exporter *e, const glow_node *n)
{
    const glow_gather *g = n->attrs;
    glow_dims data = n->in[0]->type->shape, at = n->in[1]->type->shape;
    int b = g->batch_dims, between = g->axis - b, picks = at.rank - b, k = b;
    glow_dims to = {.rank = data.rank},
              back = {.rank = n->out[0]->type->shape.rank};
    const char *x = export_in(e, n, 0), *i = wide_indices(e, n, 1);

    at.at[at.rank++] = 1;
    i = export_reshape(e, n, i, at);
    for (int d = 0; d < data.rank; d++)
        to.at[d] = d < b || d > g->axis ? d : d == b ? g->axis : d - 1;
    for (int d = 0; d < back.rank; d++)
        back.at[d] = d;
    for (int d = 0; d < between; d++)
        back.at[k++] = b + picks + d;
    for (int d = 0; d < picks; d++)
        back.at[k++] = b + d;
    if (!between) {
        export_last(e, n, "GatherND", NAMES(x, i));
        export_int(e, "batch_dims", b);
        return true;
    }
    x = export_step(e, n, "GatherND", NAMES(export_transpose(e, n, x, to), i));
    export_int(e, "batch_dims", b);
    export_last(e, n, "Transpose", NAMES(x));
    export_dims(e, "perm", back);
    return true;
}

static bool
gather(exporter *e, const glow_node *n)
{
    const glow_gather *g = n->attrs;

    if (g->batch_dims)
        return batch_gather(e, n);

    const char *at = indices(e, n, 1);

    export_last(e, n, "Gather", NAMES(export_in(e, n, 0), at));
    export_int(e, "axis", g->axis);
    return true;
}

static bool
gather_elements(exporter *e, const glow_node *n)
{
    const glow_gatherelements *g = n->attrs;
    const char *at = indices(e, n, 1);

    export_last(e, n, "GatherElements", NAMES(export_in(e, n, 0), at));
    export_int(e, "axis", g->dim);
    return true;
}

static bool
gather_nd(exporter *e, const glow_node *n)
{
    const glow_gathernd *g = n->attrs;
    const char *at = wide_indices(e, n, 1);

    export_last(e, n, "GatherND", NAMES(export_in(e, n, 0), at));
    export_int(e, "batch_dims", g->batch_dims);
    return true;
}

/* max and min came with opset 18. */
static bool
reduction(exporter *e, const glow_node *n, int how)
{
    static const char *const words[] = {[GLOW_SCATTER_NONE] = "none",
                                        [GLOW_SCATTER_ADD] = "add",
                                        [GLOW_SCATTER_MUL] = "mul",
                                        [GLOW_SCATTER_MAX] = "max",
                                        [GLOW_SCATTER_MIN] = "min"};

    if (how > GLOW_SCATTER_MUL && EXPORT_OPSET < 18)
        return export_refuse(e, n, "opset %d has no reduction %s", EXPORT_OPSET,
                             words[how]);
    if (how)
        export_string(e, "reduction", words[how]);
    return true;
}

static bool
scatter_data(exporter *e, const glow_node *n)
{
    const glow_scatterdata *s = n->attrs;
    const char *at = wide_indices(e, n, 1);

    export_last(e, n, "ScatterND",
                NAMES(export_in(e, n, 0), at, export_in(e, n, 2)));
    return reduction(e, n, s->reduction);
}

static bool
scatter_elements(exporter *e, const glow_node *n)
{
    const glow_scatterelements *s = n->attrs;
    const char *at = indices(e, n, 1);

    export_last(e, n, "ScatterElements",
                NAMES(export_in(e, n, 0), at, export_in(e, n, 2)));
    export_int(e, "axis", s->dim);
    return reduction(e, n, s->reduction);
}

/*
 * CumSum; ONNX takes integers of 32 bits or more, whose low bits are the result
 * for narrower ones.
 */
static bool
cum_sum(exporter *e, const glow_node *n)
{
    const glow_cumsum *c = n->attrs;
    const glow_kind_info *kind = glow_kind_get(n->in[0]->type->elem);
    bool small = kind->klass == GLOW_CLASS_INT && kind->bytes < 4;
    const char *op = n->op->name;
    const char *x = export_in(e, n, 0);
    const char *axis = export_number(e, n, GLOW_INDEX64, c->dim);

    if (small)
        x = export_step(e, n, op,
                        NAMES(export_cast(e, n, x, GLOW_INDEX64), axis));
    else
        export_last(e, n, op, NAMES(x, axis));
    export_int(e, "exclusive", c->exclusive);
    export_int(e, "reverse", c->reverse);
    if (small) {
        export_last(e, n, "Cast", NAMES(x));
        export_int(e, "to", tensor_elem_for(n->in[0]->type->elem)->type);
    }
    return true;
}

static bool
one_hot(exporter *e, const glow_node *n)
{
    const glow_onehot *o = n->attrs;
    const char *depth = export_number(e, n, GLOW_INDEX64, (double)o->depth);

    export_last(e, n, "OneHot",
                NAMES(export_in(e, n, 0), depth, export_in(e, n, 1)));
    export_int(e, "axis", o->axis);
    return true;
}

static bool
trilu(exporter *e, const glow_node *n)
{
    const glow_trilu *t = n->attrs;
    const char *k = n->in[1] ? wide_indices(e, n, 1) : "";

    export_last(e, n, "Trilu", NAMES(export_in(e, n, 0), k));
    export_int(e, "upper", t->upper);
    return true;
}

/* Batch and time are the first two axes in ONNX. */
static bool
reverse_sequence(exporter *e, const glow_node *n)
{
    const glow_reversesequence *r = n->attrs;
    int rank = n->in[0]->type->shape.rank;
    glow_dims to = {.rank = 2, .at = {r->batch_axis, r->time_axis}};
    glow_dims back = {.rank = rank};
    bool moves = r->batch_axis > 1 || r->time_axis > 1;
    const char *x = export_in(e, n, 0), *lengths = wide_indices(e, n, 1);

    for (int i = 0; i < rank; i++)
        if (i != r->batch_axis && i != r->time_axis)
            to.at[to.rank++] = i;
    for (int i = 0; i < rank; i++)
        back.at[to.at[i]] = i;
    if (moves) {
        x = export_transpose(e, n, x, to);
        x = export_step(e, n, "ReverseSequence", NAMES(x, lengths));
    } else {
        export_last(e, n, "ReverseSequence", NAMES(x, lengths));
    }
    export_int(e, "batch_axis", moves ? 0 : r->batch_axis);
    export_int(e, "time_axis", moves ? 1 : r->time_axis);
    if (moves) {
        export_last(e, n, "Transpose", NAMES(x));
        export_dims(e, "perm", back);
    }
    return true;
}

const export_row export_index_rows[] = {
    {&glow_op_cumprod, cum_sum, NULL},
    {&glow_op_cumsum, cum_sum, NULL},
    {&glow_op_gather, gather, NULL},
    {&glow_op_gatherelements, gather_elements, NULL},
    {&glow_op_gathernd, gather_nd, NULL},
    {&glow_op_onehot, one_hot, NULL},
    {&glow_op_reversesequence, reverse_sequence, NULL},
    {&glow_op_scatterdata, scatter_data, NULL},
    {&glow_op_scatterelements, scatter_elements, NULL},
    {&glow_op_trilu, trilu, NULL},
    {NULL, NULL, NULL},
};
