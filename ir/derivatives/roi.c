/*
 * The derivative of ROIAlign by FeatureMap, of constant boxes.
 *
 * A bin is a sum of elements of the map, with weights that the boxes decide.  The
 * transpose adds the gradient of the bin, times the weight, to each of them: a Gather of
 * bins, a product and a ScatterData, by constant tables of one row for each element that
 * a sample reads.
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
    d = glow_grad_reshape(
        b, d, GLOW_DIMS_OF(glow_type_count(d->type) / channels, channels));
    d = GLOW_BUILD(b, gather, GLOW_IN(d, bin), .axis = 0, .batch_dims = 0);
    weight = glow_grad_repeat(b, weight, GLOW_DIMS_OF(1),
                              GLOW_DIMS_OF(rows, channels));
    d = glow_grad_mul(b, d, weight);
    if (!d)
        return NULL;
    zeros = glow_grad_zeros(
        b, d, GLOW_DIMS_OF(x.at[0] * x.at[1] * x.at[2], channels));
    d = GLOW_BUILD(b, scatterdata, GLOW_IN(zeros, at, d),
                   .reduction = GLOW_SCATTER_ADD);
    return glow_grad_reshape(b, d, x);
}

const glow_derivative glow_derivative_roialign = {
    .transpose = roialign_transpose,
    .refuses = roialign_refuses,
};
