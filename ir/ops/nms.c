/* Non-maximum suppression of boxes. */

#include "ir/ops/common.h"

#include <math.h>

static bool
check_boxes(const glow_node *n)
{
    const glow_nonmaxsuppression *s = n->attrs;
    glow_dims box = n->in[0]->type->shape, score = n->in[1]->type->shape;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_kinds(n, 1, 0) ||
        !glow_check_rank(n, 0, 3) || !glow_check_rank(n, 1, 3))
        return false;
    if (box.at[2] != 4)
        return glow_reject(n,
                           "the last axis of Boxes has %" PRId64
                           " elements, but must have 4",
                           box.at[2]);
    if (score.at[0] != box.at[0] || score.at[2] != box.at[1])
        return glow_reject(n,
                           "Scores is for %" PRId64 " times %" PRId64
                           " boxes, but Boxes has %" PRId64 " times %" PRId64,
                           score.at[0], score.at[2], box.at[0], box.at[1]);
    if (s->max_output_boxes_per_class < 0)
        return glow_reject(
            n, "MaxOutputBoxesPerClass is %" PRId64 ", but must be 0 or more",
            s->max_output_boxes_per_class);
    if (!(s->iou_threshold >= 0 && s->iou_threshold <= 1))
        return glow_reject(n, "IouThreshold is %g, but must be 0 to 1",
                           (double)s->iou_threshold);
    return s->score_threshold == s->score_threshold ||
           glow_reject(n, "ScoreThreshold is no number");
}

static bool
nms_infer(const glow_node *n, glow_type out[])
{
    int64_t most =
        ((const glow_nonmaxsuppression *)n->attrs)->max_output_boxes_per_class;
    glow_dims score;
    int64_t rows;

    if (!check_boxes(n))
        return false;
    score = n->in[1]->type->shape;
    if (most > score.at[2])
        most = score.at[2];
    if (glow_mul_overflow(score.at[0], score.at[1], &rows) ||
        glow_mul_overflow(rows, most, &rows))
        return glow_reject(n, "there may be more boxes than 64 bits count");
    return glow_give(n, glow_type_of(GLOW_INDEX64, GLOW_DIMS_OF(rows, 3)),
                     &out[0]) &&
           glow_give(n, glow_type_of(GLOW_INDEX64, (glow_dims){0}), &out[1]);
}

/* A box by its lower and upper corner. */
typedef struct box {
    double low[2], high[2];
} box;

static box
box_at(const glow_tensor *t, int64_t i, bool center)
{
    double v[4];
    box b;

    glow_load(t, 4 * i, 4, v);
    for (int d = 0; d < 2; d++) {
        /* [x, y, width, height] or [y, x, y, x] of two corners */
        double a = center ? v[d] - v[d + 2] / 2 : v[d];
        double c = center ? v[d] + v[d + 2] / 2 : v[d + 2];

        b.low[d] = a < c ? a : c;
        b.high[d] = a < c ? c : a;
    }
    return b;
}

static double
area(box b)
{
    return (b.high[0] - b.low[0]) * (b.high[1] - b.low[1]);
}

/* True if intersection over union of the boxes exceeds `share`. */
static bool
overlap(box a, box b, double share)
{
    box both;

    for (int d = 0; d < 2; d++) {
        both.low[d] = a.low[d] > b.low[d] ? a.low[d] : b.low[d];
        both.high[d] = a.high[d] < b.high[d] ? a.high[d] : b.high[d];
        if (!(both.high[d] > both.low[d]))
            return false;
    }
    if (!(area(a) > 0 && area(b) > 0))
        return false;
    return area(both) / (area(a) + area(b) - area(both)) > share;
}

typedef struct suppression {
    const glow_nonmaxsuppression *attrs;
    const glow_tensor *boxes, *scores, *out;
    int64_t count; /* of boxes */
    int64_t found;
} suppression;

/* The remaining box with the best score of a class; -1: none. */
static int64_t
best(const suppression *s, int64_t row, const bool *gone)
{
    int64_t at = -1;

    for (int64_t i = 0; i < s->count; i++) {
        double x = glow_get_double(s->scores, row * s->count + i);

        if (!gone[i] && x > (double)s->attrs->score_threshold &&
            (at < 0 || x > glow_get_double(s->scores, row * s->count + at)))
            at = i;
    }
    return at;
}

static void
suppress(suppression *s, int64_t batch, int64_t klass, int64_t classes,
         bool *gone)
{
    bool center = s->attrs->center_point_box;
    int64_t row = batch * classes + klass, left, i;

    for (int64_t k = 0; k < s->count; k++)
        gone[k] = false;
    for (left = s->attrs->max_output_boxes_per_class; left > 0; left--) {
        i = best(s, row, gone);
        if (i < 0)
            return;

        box b = box_at(s->boxes, batch * s->count + i, center);
        int64_t at[] = {batch, klass, i};

        gone[i] = true;
        for (int64_t k = 0; k < s->count; k++)
            gone[k] = gone[k] ||
                      overlap(b, box_at(s->boxes, batch * s->count + k, center),
                              (double)s->attrs->iou_threshold);
        for (int k = 0; k < 3; k++)
            glow_set_int(s->out, 3 * s->found + k, at[k]);
        s->found++;
    }
}

static bool
nms_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
         glow_arena *scratch)
{
    glow_dims score = in[1]->type->shape;
    suppression s = {.attrs = n->attrs,
                     .boxes = in[0],
                     .scores = in[1],
                     .out = out[0],
                     .count = score.at[2]};
    bool *gone = GLOW_NEW_ARRAY(scratch, bool, score.at[2]);

    for (int64_t i = 0; i < glow_tensor_count(out[0]); i++)
        glow_set_int(out[0], i, 0);
    for (int64_t b = 0; b < score.at[0]; b++)
        for (int64_t c = 0; c < score.at[1]; c++)
            suppress(&s, b, c, score.at[1], gone);
    glow_set_int(out[1], 0, s.found);
    return true;
}

const glow_op glow_op_nonmaxsuppression = {
    .name = "NonMaxSuppression",
    .summary = "the best boxes of each class that do not overlap",
    .in = {{"Boxes", GLOW_TENSOR, "floats [B, N, 4]"},
           {"Scores", GLOW_TENSOR, "[B, C, N], of the same kind"}},
    .out = {{"Indices", GLOW_TENSOR,
             "index64 [B * C * min(MaxOutputBoxesPerClass, N), 3]: batch, "
             "class and number of each box that is kept, then zeros"},
            {"NumberOfSelectedIndices", GLOW_TENSOR,
             "index64: how many boxes are kept"}},
    .attrs = {GLOW_FIELD(glow_nonmaxsuppression, center_point_box, GLOW_FLAG,
                         "a box is its center, width and height: [x, y, w, "
                         "h]; else two opposite corners: [y, x, y, x]"),
              GLOW_FIELD(glow_nonmaxsuppression, max_output_boxes_per_class,
                         GLOW_INT64, "how many boxes of a class are kept"),
              GLOW_FIELD(glow_nonmaxsuppression, iou_threshold, GLOW_FLOAT32,
                         "a box that shares more than this of what it and a "
                         "better one cover is dropped"),
              GLOW_FIELD_DEFAULT(glow_nonmaxsuppression, score_threshold,
                                 GLOW_FLOAT32,
                                 "boxes of this score or less are dropped")},
    .defaults = &(const glow_nonmaxsuppression){.score_threshold = -INFINITY},
    .traits = GLOW_PURE | GLOW_PRIMITIVE,
    .infer = nms_infer,
    .eval = nms_eval,
    .doc = "For each batch and class: the box of the greatest score is kept, "
           "those that overlap it are dropped, and so on; of equal scores the "
           "first goes first.  Boxes without an area overlap none.  A score "
           "of NaN keeps no box.",
    .source = "Glow NonMaxSuppression; ONNX NonMaxSuppression",
};
