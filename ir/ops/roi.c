/* Pooling of regions of interest to maps of one size: RoiAlign, MaxRoiPool. */

#include "ir/ops/roi.h"
#include "ir/ops/common.h"

static bool
check_boxes(const glow_node *n, int64_t columns)
{
    glow_dims boxes = n->in[1]->type->shape;

    return glow_admit(n, 0, GLOW_ANY_FLOAT) && glow_check_kinds(n, 1, 0) &&
           glow_check_rank(n, 0, 4) && glow_check_rank(n, 1, 2) &&
           glow_check_shape(n, 1, GLOW_DIMS_OF(boxes.at[0], columns),
                            "a row for each box");
}

static bool
give_maps(const glow_node *n, int64_t height, int64_t width, glow_type *out)
{
    glow_dims x = n->in[0]->type->shape;

    return glow_give(
        n,
        glow_reshaped(n->in[0]->type, GLOW_DIMS_OF(n->in[1]->type->shape.at[0],
                                                   height, width, x.at[3])),
        out);
}

static bool
check_size(const glow_node *n, const char *name, int64_t size)
{
    return (size >= 1 && size <= INT32_MAX) ||
           glow_reject(n, "%s is %" PRId64 ", but must be 1 to %d", name, size,
                       INT32_MAX);
}

/* The image of box `box`, below `images`; -1 after a report. */
static int64_t
image_of(const glow_node *n, double image, int64_t box, int64_t images)
{
    if (image >= 0 && image < (double)images)
        return (int64_t)image;
    glow_reject(n, "box %" PRId64 " is of image %g, but Input has %" PRId64,
                box, image, images);
    return -1;
}

/* roialign */

static bool
align_infer(const glow_node *n, glow_type out[])
{
    const glow_roialign *r = n->attrs;

    if (!check_boxes(n, r->rotated ? 5 : 4) ||
        !glow_admit(n, 2, GLOW_ANY_INT) ||
        !glow_check_shape(n, 2, GLOW_DIMS_OF(n->in[1]->type->shape.at[0]),
                          "one image for each box") ||
        !check_size(n, "OutputHeight", r->output_height) ||
        !check_size(n, "OutputWidth", r->output_width))
        return false;
    if (r->sampling_ratio < 0 || r->sampling_ratio > GLOW_ROI_MOST_SAMPLES)
        return glow_reject(n,
                           "SamplingRatio is %" PRId64 ", but must be 0 to "
                           "%d",
                           r->sampling_ratio, GLOW_ROI_MOST_SAMPLES);
    return give_maps(n, r->output_height, r->output_width, &out[0]);
}

/*
 * One sample of a channel, by the mode: bilinear, or the largest weighted
 * element.
 */
static double
sample(const glow_roialign *r, const glow_tensor *in, const glow_roi_taps *t,
       int64_t from, int64_t channels)
{
    double v = 0;

    for (int k = 0; k < t->count; k++) {
        double part =
            t->weight[k] * glow_get_double(in, from + t->at[k] * channels);

        if (r->mode != GLOW_ROI_MAX_CORNERS)
            v += part;
        else if (k == 0 || part > v)
            v = part;
    }
    return v;
}

/* The value of a bin of one channel, whose map begins at element `from`. */
static double
pool(const glow_roialign *r, const glow_tensor *in, const glow_roi *roi,
     int64_t p, int64_t q, int64_t from)
{
    glow_dims x = in->type->shape;
    double sum = 0;
    int64_t count = roi->rows * roi->columns;

    for (int64_t i = 0; i < roi->rows; i++)
        for (int64_t j = 0; j < roi->columns; j++) {
            glow_roi_taps t =
                glow_roi_sample(roi, p, i, r->output_height, q, j,
                                r->output_width, x.at[1], x.at[2]);
            double v = sample(r, in, &t, from, x.at[3]);

            if (r->mode == GLOW_ROI_AVG)
                sum += v;
            else if ((i == 0 && j == 0) || v > sum)
                sum = v;
        }
    return r->mode == GLOW_ROI_AVG && count > 0 ? sum / (double)count : sum;
}

static bool
align_eval(const glow_node *n, glow_tensor *const in[],
           glow_tensor *const out[], glow_arena *scratch)
{
    const glow_roialign *r = n->attrs;
    glow_dims x = in[0]->type->shape, y = out[0]->type->shape;
    int columns = r->rotated ? 5 : 4;
    int64_t to = 0;

    (void)scratch;
    for (int64_t k = 0; k < y.at[0]; k++) {
        glow_roi roi;
        double box[5];
        int64_t image = image_of(n, (double)glow_get_int(in[2], k), k, x.at[0]);

        if (image < 0)
            return false;
        glow_load(in[1], k * columns, columns, box);
        if (!glow_roi_of(&roi, box, (double)r->spatial_scale, r->sampling_ratio,
                         r->aligned, r->rotated, y.at[1], y.at[2]))
            return glow_reject(n, "box %" PRId64 " is too large to sample", k);
        for (int64_t p = 0; p < y.at[1]; p++)
            for (int64_t q = 0; q < y.at[2]; q++)
                for (int64_t c = 0; c < y.at[3]; c++)
                    glow_set_double(
                        out[0], to++,
                        pool(r, in[0], &roi, p, q,
                             image * x.at[1] * x.at[2] * x.at[3] + c));
    }
    return true;
}

static const char *const modes[] = {"avg", "max", "max_corners", NULL};

const glow_op glow_op_roialign = {
    .name = "ROIAlign",
    .summary = "sample regions of an image, each on a grid of its own",
    .in = {{"FeatureMap", GLOW_TENSOR, "x, of shape [N, H, W, C]"},
           {"Boxes", GLOW_TENSOR,
            "of shape [K, 4]: x1, y1, x2, y2; with Rotated [K, 5]: x and y of "
            "the middle, width, height, degrees"},
           {"BatchIndices", GLOW_TENSOR,
            "integers of shape [K]: the image of each box"}},
    .out = {{"Result", GLOW_TENSOR,
             "y, of shape [K, OutputHeight, OutputWidth, C]"}},
    .attrs = {GLOW_FIELD_ENUM(glow_roialign, mode, modes,
                              "what is made of the samples of a bin"),
              GLOW_FIELD(glow_roialign, output_height, GLOW_INT64,
                         "bins from top to bottom"),
              GLOW_FIELD(glow_roialign, output_width, GLOW_INT64,
                         "bins from left to right"),
              GLOW_FIELD_DEFAULT(glow_roialign, sampling_ratio, GLOW_INT64,
                                 "samples along each side of a bin; 0: one for "
                                 "each element begun"),
              GLOW_FIELD_DEFAULT(glow_roialign, spatial_scale, GLOW_FLOAT32,
                                 "elements of FeatureMap for one of the boxes' "
                                 "units"),
              GLOW_FIELD_DEFAULT(glow_roialign, aligned, GLOW_FLAG,
                                 "boxes count from the corners of elements, "
                                 "not from their middles"),
              GLOW_FIELD_DEFAULT(glow_roialign, rotated, GLOW_FLAG,
                                 "boxes have an angle")},
    .defaults = &(const glow_roialign){.spatial_scale = 1},
    .traits = GLOW_PURE | GLOW_PRIMITIVE | GLOW_REDUCTION | GLOW_DISCONTINUOUS,
    .infer = align_infer,
    .eval = align_eval,
    .doc =
        "A box times SpatialScale, less 0.5 with Aligned, is cut into bins, "
        "each is sampled at the middles of its parts, linearly between "
        "elements; beyond the first and last element by up to 1 they count, "
        "further out a sample is 0.  Without Aligned a side is at least 1 "
        "long.  A bin is the mean of its samples, or the greatest of them "
        "(max), or the greatest weighted element around any of them "
        "(max_corners, ONNX's max).  A bin without samples is 0.  A box that "
        "would take more than 2^20 samples along a side of a bin is an error.",
    .source = "Glow ROIAlign; ONNX RoiAlign; He et al., Mask R-CNN, "
              "arXiv:1703.06870",
    .derivative = &glow_derivative_roialign,
};

/* maxroipool */

static bool
max_infer(const glow_node *n, glow_type out[])
{
    const glow_maxroipool *r = n->attrs;

    if (r->pooled_shape.rank != 2)
        return glow_reject(n, "PooledShape has %d elements, but needs 2",
                           r->pooled_shape.rank);
    return check_boxes(n, 5) &&
           check_size(n, "PooledShape[0]", r->pooled_shape.at[0]) &&
           check_size(n, "PooledShape[1]", r->pooled_shape.at[1]) &&
           give_maps(n, r->pooled_shape.at[0], r->pooled_shape.at[1], &out[0]);
}

/* The maximum of a bin, rows `y`, columns `x`; 0 if the bin is empty. */
static double
greatest(const glow_tensor *in, int64_t image, const int64_t y[2],
         const int64_t x[2], int64_t c)
{
    glow_dims d = in->type->shape;
    double best = 0;

    for (int64_t i = y[0]; i < y[1]; i++)
        for (int64_t j = x[0]; j < x[1]; j++) {
            double v = glow_get_double(
                in, ((image * d.at[1] + i) * d.at[2] + j) * d.at[3] + c);

            if ((i == y[0] && j == x[0]) || glow_beats(v, best))
                best = v;
        }
    return best;
}

static bool
max_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
         glow_arena *scratch)
{
    const glow_maxroipool *r = n->attrs;
    glow_dims x = in[0]->type->shape, y = out[0]->type->shape;
    int64_t to = 0;

    (void)scratch;
    for (int64_t k = 0; k < y.at[0]; k++) {
        double box[5];
        int64_t image, at[4];

        glow_load(in[1], k * 5, 5, box);
        image = image_of(n, box[0], k, x.at[0]);
        if (image < 0)
            return false;
        for (int i = 0; i < 4; i++)
            at[i] = glow_roi_round(box[1 + i] * (double)r->spatial_scale);
        for (int64_t p = 0; p < y.at[1]; p++)
            for (int64_t q = 0; q < y.at[2]; q++) {
                int64_t h[2], w[2];

                glow_roi_bin(at[1], at[3], p, y.at[1], x.at[1], &h[0], &h[1]);
                glow_roi_bin(at[0], at[2], q, y.at[2], x.at[2], &w[0], &w[1]);
                for (int64_t c = 0; c < y.at[3]; c++)
                    glow_set_double(out[0], to++,
                                    greatest(in[0], image, h, w, c));
            }
    }
    return true;
}

const glow_op glow_op_maxroipool = {
    .name = "MaxRoiPool",
    .summary = "the greatest elements of the parts of regions of an image",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, H, W, C]"},
           {"Boxes", GLOW_TENSOR,
            "of shape [K, 5]: the image, then x1, y1, x2, y2, all included"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [K, PooledShape, C]"}},
    .attrs = {GLOW_FIELD(glow_maxroipool, pooled_shape, GLOW_DIMS,
                         "bins from top to bottom and from left to right"),
              GLOW_FIELD_DEFAULT(glow_maxroipool, spatial_scale, GLOW_FLOAT32,
                                 "elements of Input for one of the boxes' "
                                 "units")},
    .defaults = &(const glow_maxroipool){.spatial_scale = 1},
    .traits = GLOW_PURE | GLOW_PRIMITIVE | GLOW_DISCONTINUOUS,
    .infer = max_infer,
    .eval = max_eval,
    .derivative = &glow_derivative_maxroipool,
    .doc = "The corners times SpatialScale are rounded, halves away from 0. "
           "A side of `s` elements, at least 1, gives bin `p` of `m` those "
           "from `p s / m`, rounded down, to `(p + 1) s / m`, rounded up.  A "
           "bin beyond Input is 0.",
    .source = "ONNX MaxRoiPool; Girshick, Fast R-CNN, arXiv:1504.08083",
};
