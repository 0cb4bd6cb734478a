/*
 * Boxes of detectors: moved by deltas, and the best of several levels.
 */

#include <math.h>
#include <string.h>

#include "ir/ops/common.h"

#define PI 3.14159265358979323846

/* bboxtransform */

/*
 * Numbers of a box: x1 y1 x2 y2, or with Rotated x y width height and degrees.
 */
static int
box_size(const glow_bboxtransform *t)
{
    return t->rotated ? 5 : 4;
}

static bool
check_transform(const glow_node *n)
{
    const glow_bboxtransform *t = n->attrs;

    if (t->weights.count != 4)
        return glow_reject(n, "Weights has %" PRId64 " elements, but needs 4",
                           t->weights.count);
    for (int i = 0; i < 4; i++)
        if (!(fabsf(t->weights.at[i]) > 0) || isinf(t->weights.at[i]))
            return glow_reject(n,
                               "Weights[%d] is %g, but must be a number "
                               "other than 0",
                               i, (double)t->weights.at[i]);
    if (t->rotated && t->angle_bound_on &&
        (t->angle_bound_lo < -3600 || t->angle_bound_hi > 3600 ||
         t->angle_bound_hi <= t->angle_bound_lo ||
         (t->angle_bound_hi - t->angle_bound_lo) % 180 != 0))
        return glow_reject(n,
                           "AngleBoundLo is %" PRId64 " and AngleBoundHi "
                           "%" PRId64 ", but half turns must lie between",
                           t->angle_bound_lo, t->angle_bound_hi);
    return true;
}

static bool
transform_infer(const glow_node *n, glow_type out[])
{
    const glow_bboxtransform *t = n->attrs;
    glow_dims rois = n->in[0]->type->shape, deltas = n->in[1]->type->shape;
    glow_dims info = n->in[2]->type->shape;
    int size = box_size(t);

    if (!check_transform(n) || !glow_admit(n, 0, GLOW_ANY_FLOAT) ||
        !glow_check_kinds(n, 1, 0) || !glow_check_kinds(n, 2, 0) ||
        !glow_check_rank(n, 0, 2) || !glow_check_rank(n, 1, 2) ||
        !glow_check_rank(n, 2, 2) ||
        !glow_check_shape(n, 2, GLOW_DIMS_OF(info.at[0], 3),
                          "height, width and scale of each image"))
        return false;
    if (rois.at[1] != size && rois.at[1] != size + 1)
        return glow_reject(n,
                           "Rois has %" PRId64 " columns, but a box has %d and "
                           "perhaps its image",
                           rois.at[1], size);
    if (rois.at[1] == size && info.at[0] != 1)
        return glow_reject(n,
                           "Rois does not say whose of %" PRId64 " images its "
                           "boxes are",
                           info.at[0]);
    if (deltas.at[1] < size || deltas.at[1] % size != 0)
        return glow_reject(n,
                           "Deltas has %" PRId64 " columns, but %d are needed "
                           "for each class",
                           deltas.at[1], size);
    deltas.at[0] = rois.at[0];
    return glow_check_shape(n, 1, deltas, "a row for each box") &&
           glow_give(n, glow_reshaped(n->in[0]->type, deltas), &out[0]) &&
           glow_give(n, glow_reshaped(n->in[0]->type, GLOW_DIMS_OF(info.at[0])),
                     &out[1]);
}

/* Center, sizes and angle of a box after its deltas. */
typedef struct box {
    double x, y, width, height, angle;
} box;

static box
moved(const glow_bboxtransform *t, box b, const double d[])
{
    const float *w = t->weights.at;
    double dw = d[2] / (double)w[2], dh = d[3] / (double)w[3];
    box r = {.x = d[0] / (double)w[0] * b.width + b.x,
             .y = d[1] / (double)w[1] * b.height + b.y,
             .width = exp(fmin(dw, GLOW_BBOX_MOST_GROWTH)) * b.width,
             .height = exp(fmin(dh, GLOW_BBOX_MOST_GROWTH)) * b.height};

    if (!t->rotated)
        return r;
    r.angle = d[4] * 180 / PI + b.angle;
    if (t->angle_bound_on) {
        double low = (double)t->angle_bound_lo,
               high = (double)t->angle_bound_hi;

        if (r.angle < low)
            r.angle += high - low;
        else if (r.angle > high)
            r.angle -= high - low;
    }
    return r;
}

static double
held(double v, double most)
{
    return fmax(fmin(v, most), 0);
}

/* Clamps the corners to the image; `one` is 1 with LegacyPlusOne, else 0. */
static void
clip(double *low, double *high, double size, double one)
{
    *low = held(*low, size - one);
    *high = held(*high, size - one);
}

/* Applies the deltas to one box and writes it in the form of the attributes. */
static void
transform(const glow_bboxtransform *t, const double roi[], const double delta[],
          const double info[], double to[])
{
    double scale = info[2], back = t->apply_scale ? scale : 1;
    double height = floor(info[0] / scale + 0.5);
    double width = floor(info[1] / scale + 0.5);
    double one = t->legacy_plus_one ? 1 : 0;
    double c[4];
    box b;

    for (int i = 0; i < 4; i++)
        c[i] = roi[i] / scale;
    if (t->rotated) {
        b = (box){c[0], c[1], c[2], c[3], roi[4]};
    } else {
        b = (box){.width = c[2] - c[0] + one, .height = c[3] - c[1] + one};
        b.x = c[0] + b.width / 2;
        b.y = c[1] + b.height / 2;
    }
    b = moved(t, b, delta);
    if (t->rotated) {
        c[0] = b.x - (b.width - one) / 2;
        c[1] = b.y - (b.height - one) / 2;
        c[2] = b.x + (b.width - one) / 2;
        c[3] = b.y + (b.height - one) / 2;
    } else {
        c[0] = b.x - b.width / 2;
        c[1] = b.y - b.height / 2;
        c[2] = b.x + b.width / 2 - one;
        c[3] = b.y + b.height / 2 - one;
    }
    clip(&c[0], &c[2], width, one);
    clip(&c[1], &c[3], height, one);
    if (t->rotated) {
        if (fabs(b.angle) <= (double)t->clip_angle_thresh)
            b = (box){(c[0] + c[2]) / 2, (c[1] + c[3]) / 2, c[2] - c[0] + one,
                      c[3] - c[1] + one, b.angle};
        c[0] = b.x;
        c[1] = b.y;
        c[2] = b.width;
        c[3] = b.height;
        to[4] = b.angle;
    }
    for (int i = 0; i < 4; i++)
        to[i] = c[i] * back;
}

static bool
transform_eval(const glow_node *n, glow_tensor *const in[],
               glow_tensor *const out[], glow_arena *scratch)
{
    const glow_bboxtransform *t = n->attrs;
    glow_dims rois = in[0]->type->shape, y = out[0]->type->shape;
    int64_t images = in[2]->type->shape.at[0];
    int size = box_size(t);
    double *count = GLOW_NEW_ARRAY(scratch, double, images);

    memset(count, 0, (size_t)images * sizeof(*count));
    for (int64_t row = 0; row < rois.at[0]; row++) {
        double roi[6], delta[5], info[3], to[5], image = 0;
        int64_t first = rois.at[1] - size;

        glow_load(in[0], row * rois.at[1], rois.at[1], roi);
        if (first == 1)
            image = roi[0];
        if (!(image >= 0 && image < (double)images))
            return glow_reject(n,
                               "box %" PRId64 " is of image %g, but ImInfo has "
                               "%" PRId64,
                               row, image, images);
        count[(int64_t)image]++;
        glow_load(in[2], (int64_t)image * 3, 3, info);
        for (int64_t k = 0; k < y.at[1]; k += size) {
            glow_load(in[1], row * y.at[1] + k, size, delta);
            transform(t, roi + first, delta, info, to);
            glow_store(out[0], row * y.at[1] + k, size, to);
        }
    }
    glow_store(out[1], 0, images, count);
    return true;
}

const glow_op glow_op_bboxtransform = {
    .name = "BBoxTransform",
    .summary = "move boxes by the deltas of a detector, within their image",
    .in = {{"Rois", GLOW_TENSOR,
            "of shape [M, 4]: x1, y1, x2, y2; with Rotated [M, 5]: x, y, "
            "width, height, degrees; a column more in front: the image"},
           {"Deltas", GLOW_TENSOR, "of shape [M, classes * 4], or 5"},
           {"ImInfo", GLOW_TENSOR,
            "of shape [N, 3]: height, width and scale of each image"}},
    .out = {{"BoxOut", GLOW_TENSOR, "boxes, of the shape of Deltas"},
            {"RoiBatchSplits", GLOW_TENSOR,
             "of shape [N]: how many boxes each image has"}},
    .attrs = {GLOW_FIELD(glow_bboxtransform, weights, GLOW_FLOATS,
                         "what the deltas of x, y, width and height are "
                         "divided by"),
              GLOW_FIELD_DEFAULT(glow_bboxtransform, apply_scale, GLOW_FLAG,
                                 "boxes are given in the units of Rois, not "
                                 "of the image before it was scaled"),
              GLOW_FIELD_DEFAULT(glow_bboxtransform, rotated, GLOW_FLAG,
                                 "boxes have an angle"),
              GLOW_FIELD_DEFAULT(glow_bboxtransform, angle_bound_on, GLOW_FLAG,
                                 "angles are brought between the bounds"),
              GLOW_FIELD_DEFAULT(glow_bboxtransform, angle_bound_lo, GLOW_INT64,
                                 "the least angle"),
              GLOW_FIELD_DEFAULT(glow_bboxtransform, angle_bound_hi, GLOW_INT64,
                                 "the greatest angle"),
              GLOW_FIELD_DEFAULT(glow_bboxtransform, clip_angle_thresh,
                                 GLOW_FLOAT32,
                                 "boxes turned further are not held within the "
                                 "image"),
              GLOW_FIELD_DEFAULT(glow_bboxtransform, legacy_plus_one, GLOW_FLAG,
                                 "x2 and y2 are the last elements, not past "
                                 "them")},
    .defaults = &(const glow_bboxtransform){.apply_scale = true,
                                            .angle_bound_on = true,
                                            .angle_bound_lo = -90,
                                            .angle_bound_hi = 90,
                                            .clip_angle_thresh = 1},
    .traits = GLOW_PURE | GLOW_DISCONTINUOUS,
    .infer = transform_infer,
    .eval = transform_eval,
    .doc = "A box is divided by its image's scale; its middle moves by `d / w` "
           "of its size, its size grows by `exp(min(d / w, log(1000 / 16)))`, "
           "its angle by `d`, in radians, and by one turn between the bounds "
           "if it is beyond them.  Then it is held within the image, whose "
           "sizes are divided by the scale and rounded.",
    .source = "Glow BBoxTransform; Caffe2 BBoxTransform; Girshick et al., "
              "arXiv:1311.2524, appendix C",
};

/* collectrpnproposals */

static int64_t
levels(const glow_collectrpnproposals *c)
{
    return c->rpn_max_level - c->rpn_min_level + 1;
}

static bool
collect_infer(const glow_node *n, glow_type out[])
{
    const glow_collectrpnproposals *c = n->attrs;
    int64_t total = 0, columns;

    if (c->rpn_min_level < 0 || c->rpn_max_level > 1000 ||
        c->rpn_max_level < c->rpn_min_level || n->n_in != 2 * levels(c))
        return glow_reject(n,
                           "levels %" PRId64 " to %" PRId64 " need boxes and "
                           "scores each, but there are %d operands",
                           c->rpn_min_level, c->rpn_max_level, n->n_in);
    if (c->rpn_post_nms_top_n < 1)
        return glow_reject(n,
                           "RpnPostNmsTopN is %" PRId64 ", but must be at "
                           "least 1",
                           c->rpn_post_nms_top_n);
    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_rank(n, 0, 2))
        return false;
    columns = n->in[0]->type->shape.at[1];
    for (int i = 0; i < levels(c); i++) {
        int scores = (int)levels(c) + i;

        if (!glow_check_kinds(n, i, 0) || !glow_check_rank(n, i, 2) ||
            !glow_check_kinds(n, scores, 0))
            return false;

        int64_t rows = n->in[i]->type->shape.at[0];

        if (!glow_check_shape(n, i, GLOW_DIMS_OF(rows, columns),
                              "that of the boxes of the first level") ||
            !glow_check_shape(n, scores, GLOW_DIMS_OF(rows),
                              "one score for each box of the level"))
            return false;
        if (glow_add_overflow(total, rows, &total))
            return glow_reject(n, "there are too many boxes");
    }
    return glow_give(
        n,
        glow_reshaped(n->in[0]->type,
                      GLOW_DIMS_OF(c->rpn_post_nms_top_n, columns)),
        &out[0]);
}

static bool
collect_eval(const glow_node *n, glow_tensor *const in[],
             glow_tensor *const out[], glow_arena *scratch)
{
    const glow_collectrpnproposals *c = n->attrs;
    int count = (int)levels(c);
    int64_t columns = out[0]->type->shape.at[1];
    bool **taken = GLOW_NEW_ARRAY(scratch, bool *, count);

    for (int i = 0; i < count; i++) {
        int64_t rows = in[i]->type->shape.at[0];

        taken[i] = GLOW_NEW_ARRAY(scratch, bool, rows);
        memset(taken[i], 0, (size_t)rows * sizeof(bool));
    }
    memset(out[0]->data, 0, (size_t)glow_type_bytes(out[0]->type));
    for (int64_t to = 0; to < c->rpn_post_nms_top_n; to++) {
        int level = -1;
        int64_t best = 0;
        double most = 0;

        for (int i = 0; i < count; i++)
            for (int64_t k = 0; k < in[i]->type->shape.at[0]; k++) {
                double v = glow_get_double(in[count + i], k);

                if (!taken[i][k] && (level < 0 || glow_beats(v, most))) {
                    level = i;
                    best = k;
                    most = v;
                }
            }
        if (level < 0)
            break;
        taken[level][best] = true;
        glow_copy_block(out[0], to * columns, GLOW_DIMS_OF(1), in[level],
                        best * columns, GLOW_DIMS_OF(1), GLOW_DIMS_OF(columns));
    }
    return true;
}

const glow_op glow_op_collectrpnproposals = {
    .name = "CollectRpnProposals",
    .summary = "the best boxes of all levels of a pyramid",
    .in = {{"RoisAndProbs", GLOW_VARIADIC,
            "the boxes of each level, of shape [n, 5], and then the scores of "
            "each, of shape [n]"}},
    .out = {{"Result", GLOW_TENSOR, "of shape [RpnPostNmsTopN, 5]"}},
    .attrs = {GLOW_FIELD(glow_collectrpnproposals, rpn_max_level, GLOW_INT64,
                         "the number of the last level"),
              GLOW_FIELD(glow_collectrpnproposals, rpn_min_level, GLOW_INT64,
                         "the number of the first level"),
              GLOW_FIELD(glow_collectrpnproposals, rpn_post_nms_top_n,
                         GLOW_INT64, "how many boxes are wanted")},
    .traits = GLOW_PURE | GLOW_DISCONTINUOUS,
    .infer = collect_infer,
    .eval = collect_eval,
    .doc = "In the order of their scores, of equal ones the first.  Rows that "
           "are left are 0.  Any number of columns is taken.",
    .source = "Glow CollectRpnProposals; Caffe2 CollectRpnProposals",
};
