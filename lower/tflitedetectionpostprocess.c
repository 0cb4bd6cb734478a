/*
 * lower-tflitedetectionpostprocess: decode, suppress, gather.
 *
 *     %b = the decoded boxes, by arithmetic on columns    [N, 4]
 *     %k = NonMaxSuppression(%b, the best score of each)
 *     %y = Bound(Gather(%b, the boxes in %k), how many)
 *
 * and the same for classes and scores, which TopK has sorted for each box.
 * With RegularNms each class is suppressed by itself, and TopK takes the best
 * detections of all classes, where unused entries score -inf.
 */

#include <math.h>

#include "lower/sample.h"

typedef struct detector {
    glow_builder *b;
    const glow_tflitedetectionpostprocess *t;
    int64_t count;              /* of boxes */
    glow_value *boxes, *scores; /* [N, 4] and [N, NumClasses] */
} detector;

/* Detections, one a row, of which the first `count` are valid. */
typedef struct found {
    glow_value *boxes, *classes, *scores, *count;
} found;

/* Low and high end of axis `d` of all boxes. */
static void
decode_axis(const detector *t, const glow_node *n, int d, double shift,
            double grow, glow_value *ends[2])
{
    glow_builder *b = t->b;
    glow_value *e = glow_build_reshape(b, n->in[0], GLOW_DIMS_OF(t->count, 4));
    glow_value *a = glow_build_reshape(b, n->in[2], GLOW_DIMS_OF(t->count, 4));
    glow_value *size = glow_lower_column(b, a, d + 2);
    glow_value *middle, *half;

    middle = glow_lower_by(b, glow_lower_column(b, e, d), shift);
    half = glow_lower_column(b, a, d);
    middle = glow_build_add(b, glow_build_mul(b, middle, size), half);
    half = glow_lower_by(b, glow_lower_column(b, e, d + 2), grow);
    half = GLOW_BUILD_PLAIN(b, exp, GLOW_IN(half));
    half = glow_build_mul(b, glow_lower_times(b, half, 0.5), size);
    ends[0] = glow_build_sub(b, middle, half);
    ends[1] = glow_build_add(b, middle, half);
}

static glow_value *
decode(const detector *t, const glow_node *n)
{
    const glow_tflitedetectionpostprocess *p = t->t;
    glow_value *y[2], *x[2], *v[4];

    decode_axis(t, n, 0, (double)p->y_scale, (double)p->h_scale, y);
    decode_axis(t, n, 1, (double)p->x_scale, (double)p->w_scale, x);
    for (int i = 0; i < 4; i++)
        v[i] = glow_build_reshape(t->b, i % 2 ? x[i / 2] : y[i / 2],
                                  GLOW_DIMS_OF(t->count, 1));
    return glow_build(t->b, &glow_op_concat, NULL, v, 4,
                      &(const glow_concat){.dim = 1});
}

/* The last NumClasses columns of Scores. */
static glow_value *
classes(glow_builder *b, const glow_node *n, int64_t count, int64_t wanted)
{
    glow_dims s = n->in[1]->type->shape;
    int64_t columns = s.at[s.rank - 1];
    glow_value *v =
        glow_build_reshape(b, n->in[1], GLOW_DIMS_OF(count, columns));
    glow_slice from = {.start = GLOW_DIMS_OF(0, columns - wanted)};

    if (columns == wanted)
        return v;
    return glow_build(b, &glow_op_slice,
                      glow_type_get(glow_builder_context(b),
                                    glow_type_of(n->in[1]->type->elem,
                                                 GLOW_DIMS_OF(count, wanted))),
                      GLOW_IN(v), &from);
}

/* `scores` is [classes, N]; a score of the threshold itself counts. */
static glow_node *
suppress(const detector *t, glow_value *scores, int64_t classes_of,
         int64_t most)
{
    glow_builder *b = t->b;
    glow_value *boxes =
        glow_build_reshape(b, t->boxes, GLOW_DIMS_OF(1, t->count, 4));

    scores =
        glow_build_reshape(b, scores, GLOW_DIMS_OF(1, classes_of, t->count));

    glow_value *v = GLOW_BUILD(
        b, nonmaxsuppression, GLOW_IN(boxes, scores),
        .max_output_boxes_per_class = most,
        .iou_threshold = t->t->iou_threshold,
        .score_threshold = nextafterf(t->t->score_threshold, -INFINITY));

    return v ? v->def : NULL;
}

static glow_value *
pick(glow_builder *b, glow_value *v, glow_value *at)
{
    return GLOW_BUILD(b, gather, GLOW_IN(v, at), .axis = 0);
}

/* One suppression for all classes. */
static bool
find_boxes(const detector *t, found *f)
{
    glow_builder *b = t->b;
    int64_t k = t->t->max_classes_per_detection;
    glow_value *best, *at;
    glow_node *kept;

    k = k < t->t->num_classes ? k : t->t->num_classes;
    best = GLOW_BUILD(b, topk, GLOW_IN(t->scores), .k = k);
    kept = suppress(t, glow_lower_column(b, best, 0), 1, t->t->max_detections);
    if (!best || !kept)
        return false;
    at = glow_lower_column(b, kept->out[0], 2);
    f->boxes = pick(b, t->boxes, at);
    f->classes = pick(b, best->def->out[1], at);
    f->scores = pick(b, best, at);
    f->count = kept->out[1];
    return f->scores != NULL;
}

/* 0, 1, ..., n - 1. */
static glow_value *
numbers(glow_builder *b, int64_t n)
{
    glow_value *v = glow_build_constant(
        b, "numbers",
        glow_type_get(glow_builder_context(b),
                      glow_type_of(GLOW_INDEX64, GLOW_DIMS_OF(n))));

    for (int64_t i = 0; i < n && v; i++)
        glow_set_int(&v->storage->tensor, i, i);
    return v;
}

/* A suppression for each class. */
static bool
find_classes(const detector *t, found *f)
{
    glow_builder *b = t->b;
    int64_t wanted = t->t->max_detections, rows;
    glow_value *turned = GLOW_BUILD(b, transpose, GLOW_IN(t->scores),
                                    .shuffle = GLOW_DIMS_OF(1, 0));
    glow_node *kept =
        suppress(t, turned, t->t->num_classes, t->t->max_detections_per_class);
    glow_value *klass, *box, *at, *v, *counts;

    if (!kept)
        return false;
    rows = kept->out[0]->type->shape.at[0];
    klass = glow_lower_column(b, kept->out[0], 1);
    box = glow_lower_column(b, kept->out[0], 2);
    at = glow_build_add(b, glow_lower_times(b, klass, (double)t->count), box);
    v = pick(b,
             glow_build_reshape(b, turned,
                                GLOW_DIMS_OF(t->t->num_classes * t->count)),
             at);
    counts = glow_lower_spread(b, kept->out[1], 0, GLOW_DIMS_OF(rows));
    counts = GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(numbers(b, rows), counts));
    if (!v)
        return false;
    v = GLOW_BUILD_PLAIN(
        b, select, GLOW_IN(counts, v, glow_lower_splat(b, v->type, -INFINITY)));
    v = GLOW_BUILD(b, topk, GLOW_IN(v), .k = rows < wanted ? rows : wanted);
    if (!v)
        return false;
    at = v->def->out[1];
    f->boxes = pick(b, t->boxes, pick(b, box, at));
    f->classes = pick(b, klass, at);
    f->scores = v;
    f->count = GLOW_BUILD_PLAIN(
        b, min,
        GLOW_IN(kept->out[1],
                glow_lower_splat(b, kept->out[1]->type, (double)wanted)));
    return f->count != NULL;
}

/* `v` padded to the shape `to`, with zeros behind the first `count` rows. */
static glow_value *
placed(const detector *t, glow_value *v, glow_value *count, glow_dims to)
{
    glow_builder *b = t->b;
    glow_type type;

    v = GLOW_BUILD(b, bound, GLOW_IN(v, count), .axis = 0);
    if (!v || glow_dims_equal(v->type->shape, to))
        return v;
    type = glow_type_of(v->type->elem, to);
    return GLOW_BUILD(
        b, inserttensor,
        GLOW_IN(glow_lower_splat(
                    b, glow_type_get(glow_builder_context(b), type), 0),
                v),
        .start = {.rank = to.rank}, .count = 1);
}

static bool
give(const detector *t, glow_node *n, const found *f)
{
    glow_builder *b = t->b;
    int64_t k = t->t->max_classes_per_detection, all = t->t->max_detections;
    bool regular = t->t->regular_nms;
    glow_dims each = regular ? GLOW_DIMS_OF(all * k) : GLOW_DIMS_OF(all, k);
    glow_dims corners = each;
    glow_value *boxes = f->boxes, *v[4];

    corners.at[corners.rank++] = 4;
    if (!regular && boxes) {
        glow_dims d = GLOW_DIMS_OF(boxes->type->shape.at[0], 1, 4);

        boxes = glow_build_reshape(b, boxes, d);
        d.at[1] = f->classes->type->shape.at[1];
        boxes = glow_lower_spread(b, boxes, 0, d);
    }
    v[0] = placed(t, boxes, f->count, corners);
    v[1] = glow_lower_convert(b, placed(t, f->classes, f->count, each),
                              GLOW_INDEX32);
    v[2] = placed(t, f->scores, f->count, each);
    v[3] = glow_lower_convert(b, f->count, GLOW_INDEX32);
    for (int i = 0; i < 4; i++) {
        v[i] = glow_build_reshape(b, v[i], n->out[i]->type->shape);
        if (!v[i])
            return false;
    }
    for (int i = 0; i < 4; i++)
        glow_builder_replace(b, n, i, v[i]);
    return true;
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_dims s = n->in[1]->type->shape;
    detector t = {.b = b, .t = n->attrs, .count = s.at[s.rank - 2]};
    found f = {0};

    if (t.count == 0) {
        for (int i = 0; i < 4; i++)
            glow_builder_replace(b, n, i,
                                 glow_lower_splat(b, n->out[i]->type, 0));
        return glow_keep_rewritten(n);
    }
    t.boxes = decode(&t, n);
    t.scores = classes(b, n, t.count, t.t->num_classes);
    if (!t.boxes || !t.scores ||
        !(t.t->regular_nms ? find_classes(&t, &f) : find_boxes(&t, &f)))
        return NULL;
    return give(&t, n, &f) ? glow_keep_rewritten(n) : NULL;
}

const glow_pass glow_pass_lower_tflitedetectionpostprocess = {
    .name = "lower-tflitedetectionpostprocess",
    .summary = "express TFLiteDetectionPostProcess by NonMaxSuppression",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_tflitedetectionpostprocess,
    .rewrite = lower,
};
