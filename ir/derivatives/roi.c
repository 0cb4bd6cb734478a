/*
 * The derivatives of ROIAlign and MaxRoiPool by the map, of constant boxes.
 *
 * ROIAlign: a bin is a sum of elements of the map, with weights that the boxes decide.  The
 * transpose adds the gradient of the bin, times the weight, to each of them: a Gather of
 * bins, a product and a ScatterData, by constant tables of one row for each element that
 * a sample reads.
 *
 * MaxRoiPool: ArgMax finds the element of each bin, among those that a Gather by a
 * constant table brings together, and the gradient of the bin is added to it by a
 * ScatterData.  Of equal elements the first counts, as in MaxPool.
 */

#include "ir/ops/roi.h"
#include "glow/match.h"
#include "ir/derivatives/common.h"

#define MOST_SAMPLES (INT64_C(1) << 22)

/* The region of box `k` and its image; false if it cannot be sampled. */
static bool
region_of(const glow_node *n, int64_t k, glow_roi *roi, int64_t *image)
{
    const glow_roialign *r = n->attrs;
    const glow_tensor *boxes = glow_constant_data(n->in[1], INT64_MAX);
    const glow_tensor *images = glow_constant_data(n->in[2], INT64_MAX);
    int columns = r->rotated ? 5 : 4;
    double box[5] = {0};

    for (int i = 0; i < columns; i++)
        box[i] = glow_get_double(boxes, k * columns + i);
    *image = glow_get_int(images, k);
    return *image >= 0 && *image < n->in[0]->type->shape.at[0] &&
           glow_roi_of(roi, box, (double)r->spatial_scale, r->sampling_ratio,
                       r->aligned, r->rotated, r->output_height,
                       r->output_width);
}

/* The samples of all boxes; -1 if one cannot be sampled, or they are too many. */
static int64_t
count_samples(const glow_node *n)
{
    glow_dims y = n->out[0]->type->shape;
    int64_t all = 0, bins = y.at[1] * y.at[2];

    for (int64_t k = 0; k < y.at[0]; k++) {
        glow_roi roi;
        int64_t image, most;

        if (bins > MOST_SAMPLES || !region_of(n, k, &roi, &image))
            return -1;
        most = (MOST_SAMPLES - all) / bins;
        if (roi.columns > 0 && roi.rows > most / roi.columns)
            return -1;
        all += roi.rows * roi.columns * bins;
    }
    return all;
}

static const char *
roialign_refuses(const glow_node *n)
{
    const glow_roialign *r = n->attrs;

    if (r->mode != GLOW_ROI_AVG)
        return "with a Mode other than avg";
    if (!glow_constant_data(n->in[1], INT64_MAX) ||
        !glow_constant_data(n->in[2], INT64_MAX))
        return "with Boxes or BatchIndices that are not constant";
    return count_samples(n) < 0 ? "with boxes beyond the images, or of more "
                                  "than 2^22 samples"
                                : NULL;
}

/* One row for each element that a sample reads. */
typedef struct tables {
    glow_tensor *bin, *at, *weight;
    int64_t count;
} tables;

static void
add_sample(tables *t, const glow_roi_taps *taps, int64_t bin, int64_t first,
           double samples)
{
    for (int k = 0; k < taps->count; k++) {
        glow_set_int(t->bin, t->count, bin);
        glow_set_int(t->at, t->count, first + taps->at[k]);
        glow_set_double(t->weight, t->count++, taps->weight[k] / samples);
    }
}

static void
add_box(tables *t, const glow_node *n, int64_t k)
{
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;
    glow_roi r;
    int64_t image;

    if (!region_of(n, k, &r, &image))
        return;
    GLOW_FOR_EACH_INDEX(i, GLOW_DIMS_OF(y.at[1], y.at[2], r.rows, r.columns)) {
        glow_roi_taps taps =
            glow_roi_sample(&r, i.at[0], i.at[2], y.at[1], i.at[1], i.at[3],
                            y.at[2], x.at[1], x.at[2]);

        add_sample(t, &taps, (k * y.at[1] + i.at[0]) * y.at[2] + i.at[1],
                   image * x.at[1] * x.at[2],
                   (double)r.rows * (double)r.columns);
    }
}

static glow_value *
table(glow_builder *b, const char *name, glow_kind kind, glow_dims shape)
{
    return glow_build_constant(
        b, name,
        glow_type_get(glow_builder_context(b), glow_type_of(kind, shape)));
}

static glow_value *
roialign_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    glow_dims x = n->in[0]->type->shape;
    int64_t rows = 4 * count_samples(n), channels = x.at[3];
    glow_value *bin, *at, *weight, *zeros;
    tables t;

    if (i != 0 || rows == 0 || glow_type_count(d->type) == 0 ||
        glow_dims_count(x) == 0)
        return NULL;
    bin = table(b, "bins", GLOW_INDEX64, GLOW_DIMS_OF(rows));
    at = table(b, "elements", GLOW_INDEX64, GLOW_DIMS_OF(rows, 1));
    weight = table(b, "weights", d->type->elem, GLOW_DIMS_OF(rows));
    if (!bin || !at || !weight)
        return NULL;
    /* Samples outside of the map leave rows of weight 0. */
    t = (tables){&bin->storage->tensor, &at->storage->tensor,
                 &weight->storage->tensor, 0};
    for (int64_t k = 0; k < n->out[0]->type->shape.at[0]; k++)
        add_box(&t, n, k);
    d = glow_build_reshape(
        b, d, GLOW_DIMS_OF(glow_type_count(d->type) / channels, channels));
    d = GLOW_BUILD(b, gather, GLOW_IN(d, bin), .axis = 0, .batch_dims = 0);
    weight = glow_grad_repeat(b, weight, GLOW_DIMS_OF(1),
                              GLOW_DIMS_OF(rows, channels));
    d = glow_build_mul(b, d, weight);
    if (!d)
        return NULL;
    zeros = glow_grad_zeros(
        b, d, GLOW_DIMS_OF(x.at[0] * x.at[1] * x.at[2], channels));
    d = GLOW_BUILD(b, scatterdata, GLOW_IN(zeros, at, d),
                   .reduction = GLOW_SCATTER_ADD);
    return glow_build_reshape(b, d, x);
}

const glow_derivative glow_derivative_roialign = {
    .transpose = roialign_transpose,
    .refuses = roialign_refuses,
};

/* MaxRoiPool. */

/* The bins with elements; tables have `most` of each, the first one filling up. */
typedef struct bins {
    int64_t count, most;
} bins;

/* The rows and columns of the map that a bin of box `k` has; false if there are none. */
static bool
bin_of(const glow_node *n, int64_t k, int64_t p, int64_t q, int64_t *image,
       int64_t rows[2], int64_t columns[2])
{
    const glow_maxroipool *r = n->attrs;
    const glow_tensor *boxes = glow_constant_data(n->in[1], INT64_MAX);
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;
    double first = glow_get_double(boxes, k * 5);
    int64_t at[4];

    for (int i = 0; i < 4; i++)
        at[i] = glow_roi_round(glow_get_double(boxes, k * 5 + 1 + i) *
                               (double)r->spatial_scale);
    glow_roi_bin(at[1], at[3], p, y.at[1], x.at[1], &rows[0], &rows[1]);
    glow_roi_bin(at[0], at[2], q, y.at[2], x.at[2], &columns[0], &columns[1]);
    *image = first >= 0 && first < (double)x.at[0] ? (int64_t)first : -1;
    return rows[0] < rows[1] && columns[0] < columns[1];
}

/* The number of bins with elements, and the most of one; false for a wrong image. */
static bool
measure_bins(const glow_node *n, bins *all)
{
    glow_dims y = n->out[0]->type->shape;

    *all = (bins){0};
    GLOW_FOR_EACH_INDEX(i, GLOW_DIMS_OF(y.at[0], y.at[1], y.at[2])) {
        int64_t image, h[2], w[2], size;

        if (!bin_of(n, i.at[0], i.at[1], i.at[2], &image, h, w))
            continue;
        if (image < 0)
            return false;
        size = (h[1] - h[0]) * (w[1] - w[0]);
        all->count++;
        all->most = size > all->most ? size : all->most;
    }
    return true;
}

static const char *
maxroipool_refuses(const glow_node *n)
{
    glow_dims y = n->out[0]->type->shape;
    bins all;

    if (!glow_constant_data(n->in[1], INT64_MAX))
        return "with Boxes that are not constant";
    return y.at[1] > MOST_SAMPLES || y.at[2] > MOST_SAMPLES / y.at[1] ||
                   y.at[0] > MOST_SAMPLES / (y.at[1] * y.at[2]) ||
                   !measure_bins(n, &all) ||
                   (all.count > 0 && all.most > MOST_SAMPLES / all.count)
               ? "with boxes of no image, or of more than 2^22 elements"
               : NULL;
}

static void
fill_bins(const glow_node *n, bins *all, glow_tensor *bin, glow_tensor *element)
{
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;
    int64_t at = 0, number = 0;

    GLOW_FOR_EACH_INDEX(i, GLOW_DIMS_OF(y.at[0], y.at[1], y.at[2])) {
        int64_t image, h[2], w[2], wide, size;

        number++;
        if (!bin_of(n, i.at[0], i.at[1], i.at[2], &image, h, w))
            continue;
        wide = w[1] - w[0];
        size = (h[1] - h[0]) * wide;
        for (int64_t k = 0; k < all->most; k++) {
            int64_t e = k < size ? k : 0;

            glow_set_int(element, at * all->most + k,
                         (image * x.at[1] + h[0] + e / wide) * x.at[2] + w[0] +
                             e % wide);
        }
        glow_set_int(bin, at++, number - 1);
    }
}

/* Constant numbers of rows or of columns of [rows, columns], times `step`. */
static glow_value *
numbers(glow_builder *b, const char *name, glow_dims shape, bool of_rows,
        int64_t step)
{
    glow_value *v = table(b, name, GLOW_INDEX64, shape);

    for (int64_t i = 0; v && i < glow_dims_count(shape); i++)
        glow_set_int(&v->storage->tensor, i,
                     (of_rows ? i / shape.at[1] : i % shape.at[1]) * step);
    return v;
}

/* The places in the map, of all its elements, of the greatest ones: [bins, channels]. */
static glow_value *
greatest(glow_builder *b, glow_node *n, const bins *all, glow_value *elements)
{
    glow_dims x = n->in[0]->type->shape;
    int64_t channels = x.at[3], places = x.at[0] * x.at[1] * x.at[2];
    glow_dims shape = GLOW_DIMS_OF(all->count, channels);
    glow_value *v, *at, *wide;

    v = glow_build_reshape(b, n->in[0], GLOW_DIMS_OF(places, channels));
    v = GLOW_BUILD(b, gather, GLOW_IN(v, elements), .axis = 0);
    v = glow_build_reshape(b, v, GLOW_DIMS_OF(all->count, all->most, channels));
    at = GLOW_BUILD(b, argmax, GLOW_IN(v), .axis = 1);
    at = glow_build_add(b, at, numbers(b, "bins", shape, true, all->most));
    at = GLOW_BUILD(b, gather, GLOW_IN(elements, at), .axis = 0);
    wide = table(b, "channels", GLOW_INDEX64, shape);
    for (int64_t i = 0; wide && i < glow_dims_count(shape); i++)
        glow_set_int(&wide->storage->tensor, i, channels);
    at = glow_build_mul(b, at, wide);
    return glow_build_add(b, at, numbers(b, "channel", shape, false, 1));
}

static bool
maxroipool_gradient(glow_builder *b, const glow_gradient *g)
{
    glow_node *n = g->node;
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;
    glow_value *d = g->by_result[0], *bin, *elements, *at, *zeros;
    bins all;

    if (!g->wanted[0] || !measure_bins(n, &all) || all.count == 0 ||
        x.at[3] == 0)
        return true;
    bin = table(b, "bin", GLOW_INDEX64, GLOW_DIMS_OF(all.count));
    elements =
        table(b, "elements", GLOW_INDEX64, GLOW_DIMS_OF(all.count * all.most));
    if (!bin || !elements)
        return false;
    fill_bins(n, &all, &bin->storage->tensor, &elements->storage->tensor);
    at = greatest(b, n, &all, elements);
    at = glow_build_reshape(b, at, GLOW_DIMS_OF(all.count * x.at[3], 1));
    d = glow_build_reshape(b, d,
                           GLOW_DIMS_OF(y.at[0] * y.at[1] * y.at[2], x.at[3]));
    d = GLOW_BUILD(b, gather, GLOW_IN(d, bin), .axis = 0);
    d = glow_build_reshape(b, d, GLOW_DIMS_OF(all.count * x.at[3]));
    if (!d)
        return false;
    zeros = glow_grad_zeros(b, d, GLOW_DIMS_OF(glow_dims_count(x)));
    d = GLOW_BUILD(b, scatterdata, GLOW_IN(zeros, at, d),
                   .reduction = GLOW_SCATTER_ADD);
    g->by_operand[0] = glow_build_reshape(b, d, x);
    return g->by_operand[0] != NULL;
}

const glow_derivative glow_derivative_maxroipool = {
    .gradient = maxroipool_gradient,
    .refuses = maxroipool_refuses,
};
