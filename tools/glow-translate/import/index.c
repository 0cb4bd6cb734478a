/* Import of gathers, scatters and one-hot encodings. */

#include <inttypes.h>

#include "tools/glow-translate/import/import.h"

static bool
gather_elements(import_node *n)
{
    if (!import_operands(n, 2, 2))
        return false;

    glow_value *x = import_in(n, 0);
    int axis = import_axis_attr(n, 0, x->type->shape.rank);

    return !n->failed &&
           import_done(n, BUILD(n, gatherelements, GLOW_IN(x, import_in(n, 1)),
                                .dim = axis));
}

static bool
gather_nd(import_node *n)
{
    int64_t batch =
        n->opset < 12 ? 0 : import_int(n, "batch_dims", 0, 0, GLOW_MAX_RANK);

    return import_operands(n, 2, 2) &&
           import_done(n, BUILD(n, gathernd,
                                GLOW_IN(import_in(n, 0), import_in(n, 1)),
                                .batch_dims = (int)batch));
}

/* Sums and products came with opset 16, maxima and minima with 18. */
static int
reduction(import_node *n)
{
    static const char *const words[] = {"none", "add", "mul",
                                        "max",  "min", NULL};
    static const int ours[] = {GLOW_SCATTER_NONE, GLOW_SCATTER_ADD,
                               GLOW_SCATTER_MUL, GLOW_SCATTER_MAX,
                               GLOW_SCATTER_MIN};
    int i = n->opset < 16 ? 0 : import_word(n, "reduction", "none", words);

    if (!n->failed && n->opset < 18 && i > 2)
        import_refuse(n, "E0710", "reduction %s came with opset 18", words[i]);
    return n->failed ? GLOW_SCATTER_NONE : ours[i];
}

static bool
scatter_elements(import_node *n)
{
    if (!import_operands(n, 3, 3))
        return false;

    glow_value *x = import_in(n, 0);
    int axis = import_axis_attr(n, 0, x->type->shape.rank);
    int how = reduction(n);

    return !n->failed &&
           import_done(n, BUILD(n, scatterelements,
                                GLOW_IN(x, import_in(n, 1), import_in(n, 2)),
                                .dim = axis, .reduction = how));
}

static bool
scatter_nd(import_node *n)
{
    int how = reduction(n);

    return import_operands(n, 3, 3) &&
           import_done(n, BUILD(n, scatterdata,
                                GLOW_IN(import_in(n, 0), import_in(n, 1),
                                        import_in(n, 2)),
                                .reduction = how));
}

/* Negative indices become `depth`, which is out of range. */
static glow_value *
hide_negative(import_node *n, glow_value *v, int64_t depth)
{
    glow_dims shape = import_shape(v);
    glow_value *zero = import_constant_splat(n, GLOW_INDEX64, shape, 0, 0);
    glow_value *out =
        import_constant_splat(n, GLOW_INDEX64, shape, (double)depth, depth);

    return BUILD_PLAIN(
        n, select, GLOW_IN(BUILD_PLAIN(n, cmplt, GLOW_IN(v, zero)), out, v));
}

static bool
one_hot(import_node *n)
{
    if (!import_operands(n, 3, 3))
        return false;

    glow_value *at = import_in(n, 0);
    int axis = import_axis_attr(n, -1, at->type->shape.rank + 1);
    double depth = import_known_number(n, 1);

    if (!n->failed && !(depth >= 1 && depth < 1e15))
        return import_refuse(n, "E0711", "depth is %g", depth);
    if (!glow_is_int(at->type->elem) || n->opset < 11)
        at = import_convert(n, at, GLOW_INDEX64);
    if (n->opset < 11)
        at = hide_negative(n, at, (int64_t)depth);
    return !n->failed &&
           import_done(n, BUILD(n, onehot, GLOW_IN(at, import_in(n, 2)),
                                .depth = (int64_t)depth, .axis = axis));
}

static bool
cum_sum(import_node *n)
{
    bool exclusive = import_flag(n, "exclusive", false);
    bool reverse = import_flag(n, "reverse", false);

    if (!import_operands(n, 2, 2))
        return false;

    glow_value *x = import_in(n, 0);
    glow_ints axis = import_known_ints(n, 1);

    if (!n->failed && axis.count != 1)
        return import_refuse(n, "E0711", "axis has %" PRId64 " elements",
                             axis.count);
    if (n->failed)
        return false;

    int dim = import_axis(n, axis.at[0], x->type->shape.rank);

    return !n->failed &&
           import_done(n,
                       import_build(n, n->row->op, NULL, GLOW_IN(x),
                                    &(const glow_cumsum){.dim = dim,
                                                         .exclusive = exclusive,
                                                         .reverse = reverse}));
}

static bool
trilu(import_node *n)
{
    bool upper = import_flag(n, "upper", true);

    if (!import_operands(n, 1, 2))
        return false;

    glow_value *k = import_in(n, 1);

    if (k && glow_dims_count(k->type->shape) == 1)
        k = import_reshape(n, k, (glow_dims){0});
    return import_done(
        n, BUILD(n, trilu, GLOW_IN(import_in(n, 0), k), .upper = upper));
}

static bool
reverse_sequence(import_node *n)
{
    int64_t batch = import_int(n, "batch_axis", 1, 0, 1);
    int64_t time = import_int(n, "time_axis", 0, 0, 1);
    glow_dims shape = import_shape(import_in(n, 0));
    bool whole;

    return import_operands(n, 2, 2) &&
           (shape.rank <= time ||
            import_check_lengths(n, 1, shape.at[time], &whole)) &&
           import_done(n,
                       BUILD(n, reversesequence,
                             GLOW_IN(import_in(n, 0), import_in(n, 1)),
                             .batch_axis = (int)batch, .time_axis = (int)time));
}

/* Limit for tables that are computed at import. */
#define MAX_TABLE (INT64_C(1) << 27)

/* `count` consecutive numbers as a constant list. */
static glow_value *
iota(import_node *n, int64_t from, int64_t count)
{
    if (n->failed || count > MAX_TABLE) {
        import_refuse(n, "E0711", "a table of %" PRId64 " numbers is too large",
                      count);
        return NULL;
    }

    int64_t *at = GLOW_NEW_ARRAY(import_arena(n), int64_t, count);

    for (int64_t i = 0; i < count; i++)
        at[i] = from + i;
    return import_constant_ints(n, GLOW_DIMS_OF(count), at);
}

/* EyeLike: ones where column - row = k. */
static bool
eye_like(import_node *n)
{
    int64_t k = import_int(n, "k", 0, -INT32_MAX, INT32_MAX);
    int64_t type = import_int(n, "dtype", 0, 0, INT32_MAX);
    const tensor_elem *e = tensor_elem_of(type);

    if (!import_operands(n, 1, 1))
        return false;

    const glow_type *x = import_in(n, 0)->type;

    if (x->shape.rank != 2)
        return import_refuse(n, "E0711", "the rank is %d, but must be 2",
                             x->shape.rank);
    if (type && (!e || !e->kind))
        return import_refuse(n, "E0710",
                             "element type %" PRId64 " is not supported", type);

    glow_value *rows = import_reshape(n, iota(n, k, x->shape.at[0]),
                                      GLOW_DIMS_OF(x->shape.at[0], 1));
    glow_value *eye =
        import_binary(n, &glow_op_cmpeq, rows, iota(n, 0, x->shape.at[1]));

    return import_done(n, import_convert(n, eye, type ? e->kind : x->elem));
}

/* A constant of zeros, the base of a scatter. */
static glow_value *
zeros(import_node *n, glow_kind kind, glow_dims shape)
{
    import_type(n, kind, shape);
    return n->failed ? NULL : import_constant_splat(n, kind, shape, 0, 0);
}

/*
 * MaxUnpool: indices refer to the result of the size given by kernel, strides
 * and pads; output_shape only adds zeros to it.
 */

static bool
unpooled_shape(import_node *n, const import_window *w, glow_dims *shape)
{
    for (int i = 0; i < w->spatial; i++) {
        int64_t *d = &shape->at[2 + i], pads;

        if (*d < 1 || glow_mul_overflow(*d - 1, w->strides.at[i], d) ||
            glow_add_overflow(*d, w->kernels.at[i], d) ||
            glow_add_overflow(w->pads.at[i], w->pads.at[w->spatial + i],
                              &pads) ||
            *d < pads)
            return import_refuse(n, "E0711",
                                 "axis %d has no size that fits kernel, "
                                 "strides and pads",
                                 2 + i);
        *d -= pads;
    }
    return true;
}

static glow_value *
pad_to(import_node *n, glow_value *v, glow_ints want)
{
    glow_dims shape = import_shape(v);
    int64_t *pads = GLOW_NEW_ARRAY(import_arena(n), int64_t, 2 * shape.rank);

    if (n->failed)
        return NULL;
    if (want.count != shape.rank) {
        import_refuse(n, "E0711",
                      "output_shape has %" PRId64 " elements for "
                      "rank %d",
                      want.count, shape.rank);
        return NULL;
    }
    for (int i = 0; i < shape.rank; i++) {
        if (want.at[i] < shape.at[i]) {
            import_refuse(n, "E0711",
                          "output_shape[%d] is %" PRId64 ", but the result is "
                          "%" PRId64 " long",
                          i, want.at[i], shape.at[i]);
            return NULL;
        }
        pads[shape.rank + i] = want.at[i] - shape.at[i];
    }
    return BUILD(n, pad, GLOW_IN(v), .mode = GLOW_PAD_CONSTANT,
                 .pads = {2 * shape.rank, pads});
}

static bool
max_unpool(import_node *n)
{
    import_window w;

    if (!import_operands(n, 2, 3))
        return false;

    glow_value *x = import_in(n, 0), *at = import_in(n, 1), *v;
    glow_dims shape = x->type->shape;
    int64_t count = glow_dims_count(shape), total;

    if (shape.rank < 3 || !glow_dims_equal(shape, at->type->shape))
        return import_refuse(n, "E0711",
                             "X and I are not of one shape of at "
                             "least 3 axes");
    if (!import_read_window(n, x, NULL, &w) || !unpooled_shape(n, &w, &shape))
        return false;
    import_type(n, x->type->elem, shape);
    if (n->failed)
        return false;
    total = glow_dims_count(shape);
    v = zeros(n, x->type->elem, GLOW_DIMS_OF(total));
    at = import_reshape(n, at, GLOW_DIMS_OF(count, 1));
    x = import_reshape(n, x, GLOW_DIMS_OF(count));
    v = BUILD(n, scatterdata, GLOW_IN(v, at, x));
    v = import_reshape(n, v, shape);
    if (import_in(n, 2))
        v = pad_to(n, v, import_known_ints(n, 2));
    return import_done(n, v);
}

/*
 * Col2Im: columns of blocks are added up at their positions in the image.  Rows
 * of the scatter are positions of the image, and one more for elements in the
 * pads; its columns are batch and channels.
 */

typedef struct col2im_axis {
    int64_t image, block, stride, dilation, low, count;
} col2im_axis;

static bool
read_col2im(import_node *n, glow_dims image, glow_dims block, col2im_axis *axis)
{
    int rank = image.rank;
    glow_dims strides = import_dims(n, "strides", rank, 1, 1);
    glow_dims dilations = import_dims(n, "dilations", rank, 1, 1);
    glow_ints pads = import_ints(n, "pads");

    if (!n->failed && pads.count && pads.count != 2 * rank)
        return import_refuse(n, "E0710", "%" PRId64 " pads for %d axes",
                             pads.count, rank);
    for (int i = 0; i < rank && !n->failed; i++) {
        int64_t low = pads.count ? pads.at[i] : 0;
        int64_t high = pads.count ? pads.at[rank + i] : 0;
        col2im_axis *a = &axis[i];
        int64_t span;

        *a = (col2im_axis){image.at[i],     block.at[i], strides.at[i],
                           dilations.at[i], low,         0};
        if (a->image < 1 || a->block < 1 || low < 0 || high < 0 ||
            low > INT32_MAX || high > INT32_MAX || a->image > INT32_MAX ||
            glow_mul_overflow(a->block - 1, a->dilation, &span) ||
            span >= a->image + low + high)
            return import_refuse(n, "E0711",
                                 "a block of %" PRId64 " does not fit axis %d "
                                 "of the image, %" PRId64 " long",
                                 a->block, i, a->image);
        a->count = (a->image + low + high - span - 1) / a->stride + 1;
    }
    return !n->failed;
}

/* For each position of each block: its row in the scatter. */
static glow_value *
col2im_rows(import_node *n, const col2im_axis *axis, int rank, int64_t taps,
            int64_t blocks, int64_t outside)
{
    glow_dims box = {.rank = 2 * rank};
    int64_t *row = GLOW_NEW_ARRAY(import_arena(n), int64_t, taps *blocks);
    int64_t k = 0;

    for (int i = 0; i < rank; i++) {
        box.at[i] = axis[i].block;
        box.at[rank + i] = axis[i].count;
    }
    GLOW_FOR_EACH_INDEX(i, box) {
        int64_t at = 0;

        for (int d = 0; d < rank && at < outside; d++) {
            const col2im_axis *a = &axis[d];
            int64_t x =
                i.at[d] * a->dilation + i.at[rank + d] * a->stride - a->low;

            at = x < 0 || x >= a->image ? outside : at * a->image + x;
        }
        row[k++] = at;
    }
    return import_constant_ints(n, GLOW_DIMS_OF(taps * blocks, 1), row);
}

static bool
known_dims(import_node *n, int i, glow_dims *out)
{
    glow_ints l = import_known_ints(n, i);

    if (!n->failed && (l.count < 1 || l.count > GLOW_MAX_RANK / 2))
        return import_refuse(n, "E0711",
                             "%" PRId64 " spatial axes; 1 to %d "
                             "are possible",
                             l.count, GLOW_MAX_RANK / 2);
    out->rank = (int)l.count;
    for (int k = 0; k < out->rank; k++)
        out->at[k] = l.at[k];
    return !n->failed;
}

/* Rows of the image, batch and channels as columns, to [N, C, image..]. */
static glow_value *
image_of(import_node *n, glow_value *v, int64_t batch, int64_t channels,
         glow_dims image)
{
    int rank = image.rank;
    glow_dims full = image, to = {.rank = rank + 2, .at = {rank, rank + 1}};

    full.at[full.rank++] = batch;
    full.at[full.rank++] = channels;
    for (int i = 0; i < rank; i++)
        to.at[2 + i] = i;
    return import_transpose(n, import_reshape(n, v, full), to);
}

static bool
col2im(import_node *n)
{
    col2im_axis axis[GLOW_MAX_RANK / 2];
    glow_dims image = {0}, block = {0};
    int64_t taps = 1, blocks = 1, places = 1, channels, count;

    if (!import_operands(n, 3, 3) || !known_dims(n, 1, &image) ||
        !known_dims(n, 2, &block))
        return false;

    glow_value *x = import_in(n, 0);
    glow_dims shape = x->type->shape;

    if (image.rank != block.rank || shape.rank != 3)
        return import_refuse(n, "E0711",
                             "the rank is %d, of image and block "
                             "%d and %d",
                             shape.rank, image.rank, block.rank);
    if (!read_col2im(n, image, block, axis))
        return false;
    for (int i = 0; i < image.rank; i++)
        if (glow_mul_overflow(taps, axis[i].block, &taps) ||
            glow_mul_overflow(blocks, axis[i].count, &blocks) ||
            glow_mul_overflow(places, axis[i].image, &places))
            return import_refuse(n, "E0711", "the image is too large");
    if (glow_mul_overflow(taps, blocks, &count) || count > MAX_TABLE)
        return import_refuse(n, "E0711",
                             "%" PRId64 " blocks of %" PRId64
                             " elements are too many",
                             blocks, taps);
    if (shape.at[1] % taps != 0 || shape.at[2] != blocks)
        return import_refuse(n, "E0711",
                             "%" PRId64 " by %" PRId64 " columns, but %" PRId64
                             " blocks of %" PRId64 " elements are due",
                             shape.at[1], shape.at[2], blocks, taps);
    channels = shape.at[1] / taps;

    glow_dims wide = GLOW_DIMS_OF(places + 1, shape.at[0] * channels);

    x = import_reshape(n, x,
                       GLOW_DIMS_OF(shape.at[0] * channels, taps * blocks));
    x = import_transpose(n, x, GLOW_DIMS_OF(1, 0));
    x = BUILD(n, scatterdata,
              GLOW_IN(zeros(n, import_in(n, 0)->type->elem, wide),
                      col2im_rows(n, axis, image.rank, taps, blocks, places),
                      x),
              .reduction = GLOW_SCATTER_ADD);
    x = import_cut(n, x, 0, 0, places);
    return import_done(n, image_of(n, x, shape.at[0], channels, image));
}

const import_row import_index_rows[] = {
    {"Col2Im", 18, 0, col2im, &glow_op_scatterdata,
     "numbers; values are added up; sizes of image and block must be known; up "
     "to 4 spatial axes"},
    {"CumProd", 26, 0, cum_sum, &glow_op_cumprod,
     "numbers; the axis must be known"},
    {"CumSum", 11, 0, cum_sum, &glow_op_cumsum,
     "numbers; the axis must be known"},
    {"EyeLike", 9, 0, eye_like, NULL, "any; a constant"},
    {"GatherElements", 11, 0, gather_elements, &glow_op_gatherelements,
     "any; indices of any integer kind"},
    {"GatherND", 11, 0, gather_nd, &glow_op_gathernd,
     "any; indices of any integer kind"},
    {"MaxUnpool", 9, 0, max_unpool, &glow_op_scatterdata,
     "any; 1 to 3 spatial axes; output_shape must be known"},
    {"OneHot", 9, 0, one_hot, &glow_op_onehot,
     "any; indices of any kind too; the depth must be known"},
    {"ReverseSequence", 10, 0, reverse_sequence, &glow_op_reversesequence,
     "any"},
    {"Scatter", 9, 10, scatter_elements, &glow_op_scatterelements, "any"},
    {"ScatterElements", 11, 0, scatter_elements, &glow_op_scatterelements,
     "any; reductions add and mul since opset 16, max and min since 18; those "
     "take numbers"},
    {"ScatterND", 11, 0, scatter_nd, &glow_op_scatterdata,
     "any; reductions add and mul since opset 16, max and min since 18; those "
     "take numbers"},
    {"Trilu", 14, 0, trilu, &glow_op_trilu, "any; k may be computed"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
