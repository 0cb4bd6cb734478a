/* Export of layout operators. */

#include <inttypes.h>
#include <string.h>

#include "tools/glow-translate/export/export.h"
#include "tools/glow-translate/tensor.h"

static bool
transpose(exporter *e, const glow_node *n)
{
    const glow_transpose *t = n->attrs;

    export_last(e, n, "Transpose", NAMES(export_in(e, n, 0)));
    export_dims(e, "perm", t->shuffle);
    return true;
}

/* Writes the last node: a reshape to the shape of the result. */
static bool
last_reshape(exporter *e, const glow_node *n, const char *x)
{
    const export_bound *b = export_bound_of(e, n->out[0]);
    glow_dims to = n->out[0]->type->shape;

    if (b)
        to.at[b->axis] = -1; /* inferred */
    export_last(e, n, "Reshape", NAMES(x, export_dims_list(e, n, to)));
    export_int(e, "allowzero", 1);
    return true;
}

static bool
reshape(exporter *e, const glow_node *n)
{
    return last_reshape(e, n, export_in(e, n, 0));
}

static bool
concat(exporter *e, const glow_node *n)
{
    const glow_concat *c = n->attrs;
    const char **in = GLOW_NEW_ARRAY(export_arena(e), const char *, n->n_in);

    for (int i = 0; i < n->n_in; i++)
        in[i] = export_in(e, n, i);
    export_last(e, n, "Concat", in, n->n_in);
    export_int(e, "axis", c->dim);
    return true;
}

/* Slice; the end of each axis is one step behind its last element. */
static bool
slice(exporter *e, const glow_node *n)
{
    const glow_slice *s = n->attrs;
    glow_dims size = n->out[0]->type->shape, end = s->start, step = s->steps;
    glow_dims axes = {.rank = size.rank};
    const char *list[4];

    step.rank = size.rank;
    for (int i = 0; i < size.rank; i++) {
        axes.at[i] = i;
        if (!s->steps.rank)
            step.at[i] = 1;
        end.at[i] = s->start.at[i] + size.at[i] * step.at[i];
        if (end.at[i] < 0)
            end.at[i] = INT64_MIN; /* before the first, not from the end */
    }
    list[0] = export_dims_list(e, n, s->start);
    list[1] = export_dims_list(e, n, end);
    list[2] = export_dims_list(e, n, axes);
    list[3] = export_dims_list(e, n, step);
    return export_last(
        e, n, "Slice",
        NAMES(export_in(e, n, 0), list[0], list[1], list[2], list[3]));
}

/* A constant mask of Big, true where copies of Small are inserted. */
static const char *
landing(exporter *e, const glow_node *n)
{
    const glow_inserttensor *t = n->attrs;
    glow_dims big = n->out[0]->type->shape, small = n->in[1]->type->shape;
    const glow_type *type =
        glow_type_get(export_context(e), glow_type_of(GLOW_BOOL, big));
    uint8_t *mask =
        glow_arena_alloc(export_arena(e), (size_t)glow_type_bytes(type));
    int64_t at = 0;

    small.at[t->axis] *= t->count;
    GLOW_FOR_EACH_INDEX(i, big) {
        bool inside = true;

        for (int k = 0; k < big.rank; k++)
            inside &= i.at[k] >= t->start.at[k] &&
                      i.at[k] - t->start.at[k] < small.at[k];
        mask[at++] = inside;
    }
    return export_constant(e, n, type, mask);
}

/* InsertTensor: the copies, padded to the size of Big, selected by the mask. */
static bool
insert_tensor(exporter *e, const glow_node *n)
{
    const glow_inserttensor *t = n->attrs;
    glow_dims big = n->out[0]->type->shape, small = n->in[1]->type->shape;
    int64_t repeats[GLOW_MAX_RANK], pads[2 * GLOW_MAX_RANK];
    int rank = big.rank;
    const char *x = export_in(e, n, 1);

    if (rank == 0)
        return export_last(e, n, "Identity", NAMES(x));
    for (int i = 0; i < rank; i++)
        repeats[i] = i == t->axis ? t->count : 1;
    if (t->count > 1)
        x = export_step(e, n, "Tile",
                        NAMES(x, export_list(e, n, repeats, rank)));
    for (int i = 0; i < rank; i++) {
        pads[i] = t->start.at[i];
        pads[rank + i] = big.at[i] - pads[i] - small.at[i] * repeats[i];
    }
    x = export_step(e, n, "Pad",
                    NAMES(x, export_list(e, n, pads, 2 * rank),
                          export_number(e, n, n->in[0]->type->elem, 0)));
    return export_last(e, n, "Where",
                       NAMES(landing(e, n), x, export_in(e, n, 0)));
}

/* Mode wrap came with opset 19: before it, elements are gathered. */
static bool
wrap(exporter *e, const glow_node *n)
{
    const glow_pad *p = n->attrs;
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;
    const char *v = export_in(e, n, 0);

    for (int a = 0; a < x.rank; a++) {
        int64_t *at = GLOW_NEW_ARRAY(export_arena(e), int64_t, y.at[a]);
        int64_t d = x.at[a];

        if (p->pads.at[a] == 0 && p->pads.at[x.rank + a] == 0)
            continue;
        for (int64_t i = 0; i < y.at[a]; i++)
            at[i] = ((i - p->pads.at[a]) % d + d) % d;
        v = export_step(e, n, "Gather",
                        NAMES(v, export_list(e, n, at, (int)y.at[a])));
        export_int(e, "axis", a);
    }
    return export_identity(e, n, 0, v);
}

/* A scalar for the real `v` in elements of `t`. */
static const char *
element(exporter *e, const glow_node *n, const glow_type *t, double v)
{
    return export_number(
        e, n, tensor_stored_as(t->elem),
        glow_is_quantized(t->elem) ? (double)glow_quantize(t, v) : v);
}

static bool
pad(exporter *e, const glow_node *n)
{
    if (((const glow_pad *)n->attrs)->mode == GLOW_PAD_WRAP)
        return wrap(e, n);

    static const char *const modes[] = {[GLOW_PAD_CONSTANT] = "constant",
                                        [GLOW_PAD_REFLECT] = "reflect",
                                        [GLOW_PAD_EDGE] = "edge"};
    const glow_pad *p = n->attrs;
    const char *pads = export_list(e, n, p->pads.at, (int)p->pads.count);
    const char *value = element(e, n, n->in[0]->type, (double)p->value);

    export_last(e, n, "Pad", NAMES(export_in(e, n, 0), pads, value));
    export_string(e, "mode", modes[p->mode]);
    return true;
}

static bool
tile(exporter *e, const glow_node *n)
{
    const glow_tile *t = n->attrs;
    glow_dims repeats = {.rank = n->in[0]->type->shape.rank};

    for (int i = 0; i < repeats.rank; i++)
        repeats.at[i] = i == t->axis ? t->count : 1;
    return export_last(
        e, n, "Tile",
        NAMES(export_in(e, n, 0), export_dims_list(e, n, repeats)));
}

/*
 * Broadcast; axes after those of the operand are added by a reshape before
 * Expand.
 */
static bool
broadcast(exporter *e, const glow_node *n)
{
    const glow_broadcast *b = n->attrs;
    glow_dims shape = n->in[0]->type->shape;
    const char *x = export_in(e, n, 0);

    if (b->axis + shape.rank < b->target_dim.rank) {
        while (b->axis + shape.rank < b->target_dim.rank)
            shape.at[shape.rank++] = 1;
        x = export_reshape(e, n, x, shape);
    }
    return export_last(e, n, "Expand",
                       NAMES(x, export_dims_list(e, n, b->target_dim)));
}

static bool
splat(exporter *e, const glow_node *n)
{
    const glow_splat *s = n->attrs;
    const glow_type *type = n->out[0]->type;
    const char *one = element(e, n, type, (double)s->value);

    return export_last(e, n, "Expand",
                       NAMES(one, export_dims_list(e, n, type->shape)));
}

const export_row export_layout_rows[] = {
    {&glow_op_broadcast, broadcast, NULL},
    {&glow_op_concat, concat, NULL},
    {&glow_op_inserttensor, insert_tensor, NULL},
    {&glow_op_pad, pad, NULL},
    {&glow_op_reshape, reshape, NULL},
    {&glow_op_slice, slice, NULL},
    {&glow_op_splat, splat, NULL},
    {&glow_op_tile, tile, NULL},
    {&glow_op_transpose, transpose, NULL},
    {NULL, NULL, NULL},
};
