/*
 * Post-processing of TensorFlow Lite's SSD detectors: boxes decoded against
 * anchors, and non-maximum suppression.
 */

#include <math.h>
#include <string.h>

#include "ir/ops/common.h"

/* Checks for [N, columns], or [1, N, columns]. */
static bool
check_rows(const glow_node *n, int i, glow_dims *rows)
{
    glow_dims d = n->in[i]->type->shape;

    if (d.rank == 3 && d.at[0] == 1)
        d = GLOW_DIMS_OF(d.at[1], d.at[2]);
    *rows = d;
    return glow_check_kinds(n, i, 0) &&
           (d.rank == 2 ||
            glow_reject(n,
                        "operand %d has rank %d, but must be a matrix, or one "
                        "after an axis of 1",
                        i, d.rank));
}

static bool
check_number(const glow_node *n, const char *name, int64_t v, int64_t most)
{
    return (v >= 1 && v <= most) ||
           glow_reject(n, "%s is %" PRId64 ", but must be 1 to %" PRId64, name,
                       v, most);
}

static bool
check_scale(const glow_node *n, const char *name, float v)
{
    return (fabsf(v) > 0 && !isinf(v)) ||
           glow_reject(n, "%s is %g, but must be a number other than 0", name,
                       (double)v);
}

static bool
check_attributes(const glow_node *n, int64_t columns)
{
    const glow_tflitedetectionpostprocess *t = n->attrs;

    return check_number(n, "NumClasses", t->num_classes, columns) &&
           check_number(n, "MaxDetections", t->max_detections, INT32_MAX) &&
           check_number(n, "MaxClassesPerDetection",
                        t->max_classes_per_detection, INT32_MAX) &&
           check_number(n, "MaxDetectionsPerClass", t->max_detections_per_class,
                        INT32_MAX) &&
           check_scale(n, "XScale", t->x_scale) &&
           check_scale(n, "YScale", t->y_scale) &&
           check_scale(n, "HScale", t->h_scale) &&
           check_scale(n, "WScale", t->w_scale) &&
           ((t->iou_threshold >= 0 && t->iou_threshold <= 1) ||
            glow_reject(n, "IouThreshold is %g, but must be 0 to 1",
                        (double)t->iou_threshold)) &&
           (!isnan(t->score_threshold) ||
            glow_reject(n, "ScoreThreshold is no number"));
}

static bool
infer(const glow_node *n, glow_type out[])
{
    const glow_tflitedetectionpostprocess *t = n->attrs;
    glow_dims boxes, scores, anchors, y;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !check_rows(n, 0, &boxes) ||
        !check_rows(n, 1, &scores) || !check_rows(n, 2, &anchors) ||
        !check_attributes(n, scores.at[1]))
        return false;
    if (boxes.at[1] != 4 || anchors.at[1] != 4 || boxes.at[0] != scores.at[0] ||
        boxes.at[0] != anchors.at[0])
        return glow_reject(
            n,
            "there are %" PRId64 " x %" PRId64 " boxes, %" PRId64
            " rows of scores and %" PRId64 " x %" PRId64
            " anchors, but as many rows and 4 columns are needed",
            boxes.at[0], boxes.at[1], scores.at[0], anchors.at[0],
            anchors.at[1]);
    y = GLOW_DIMS_OF(t->max_detections * t->max_classes_per_detection);
    return glow_give(n, glow_reshaped(n->in[0]->type, GLOW_DIMS_OF(y.at[0], 4)),
                     &out[0]) &&
           glow_give(n, glow_type_of(GLOW_INDEX32, y), &out[1]) &&
           glow_give(n, glow_reshaped(n->in[0]->type, y), &out[2]) &&
           glow_give(n, glow_type_of(GLOW_INDEX32, GLOW_DIMS_OF(1)), &out[3]);
}

/* Context of one evaluation. */
typedef struct detector {
    const glow_tflitedetectionpostprocess *t;
    int64_t count;       /* of boxes */
    int64_t columns;     /* of scores; columns before the classes are ignored */
    const double *boxes; /* decoded: y0, x0, y1, x1 */
    const double *scores;
    bool *gone;
} detector;

static double *
decode(const glow_tflitedetectionpostprocess *t, glow_tensor *const in[],
       int64_t count, glow_arena *scratch)
{
    const double *e = glow_load_all(in[0], scratch);
    const double *a = glow_load_all(in[2], scratch);
    double *boxes = GLOW_NEW_ARRAY(scratch, double, 4 * count);
    const float shift[] = {t->y_scale, t->x_scale};
    const float grow[] = {t->h_scale, t->w_scale};

    for (int64_t i = 0; i < count; i++)
        for (int d = 0; d < 2; d++) {
            int64_t k = 4 * i + d;
            double middle = e[k] / (double)shift[d] * a[k + 2] + a[k];
            double half = 0.5 * exp(e[k + 2] / (double)grow[d]) * a[k + 2];

            boxes[k] = middle - half;
            boxes[k + 2] = middle + half;
        }
    return boxes;
}

/* Intersection over union of two boxes. */
static double
overlap(const double *a, const double *b)
{
    double x = 1, y = 1, both = 1;

    for (int d = 0; d < 2; d++) {
        double a0 = fmin(a[d], a[d + 2]), a1 = fmax(a[d], a[d + 2]);
        double b0 = fmin(b[d], b[d + 2]), b1 = fmax(b[d], b[d + 2]);

        x *= a1 - a0;
        y *= b1 - b0;
        both *= fmax(fmin(a1, b1) - fmax(a0, b0), 0);
    }
    return x > 0 && y > 0 ? both / (x + y - both) : 0;
}

/*
 * Takes the box with the best score, `step` apart, and drops it and the boxes
 * that overlap it; -1: none is left.
 */
static int64_t
keep(const detector *d, const double *score, int64_t step)
{
    int64_t best = -1;

    for (int64_t i = 0; i < d->count; i++)
        if (!d->gone[i] && score[i * step] >= (double)d->t->score_threshold &&
            (best < 0 || score[i * step] > score[best * step]))
            best = i;
    for (int64_t i = 0; i < d->count && best >= 0; i++)
        d->gone[i] |=
            i == best || overlap(d->boxes + 4 * best, d->boxes + 4 * i) >
                             (double)d->t->iou_threshold;
    return best;
}

static void
put(const detector *d, glow_tensor *const out[], int64_t to, int64_t box,
    int64_t klass)
{
    glow_store(out[0], 4 * to, 4, d->boxes + 4 * box);
    glow_set_int(out[1], to, klass);
    glow_set_double(out[2], to, d->scores[box * d->columns + klass]);
}

/*
 * One suppression by the best score of each box; then the best classes of each.
 */
static int64_t
detect_boxes(const detector *d, glow_tensor *const out[], glow_arena *scratch)
{
    int64_t classes = d->t->num_classes, kept = 0, box;
    double *most = GLOW_NEW_ARRAY(scratch, double, d->count);
    bool *taken = GLOW_NEW_ARRAY(scratch, bool, classes);

    for (int64_t i = 0; i < d->count; i++) {
        most[i] = d->scores[i * d->columns];
        for (int64_t k = 1; k < classes; k++)
            if (glow_beats(d->scores[i * d->columns + k], most[i]))
                most[i] = d->scores[i * d->columns + k];
    }
    memset(d->gone, 0, (size_t)d->count * sizeof(bool));
    for (; kept < d->t->max_detections; kept++) {
        box = keep(d, most, 1);
        if (box < 0)
            break;
        memset(taken, 0, (size_t)classes * sizeof(bool));
        for (int64_t k = 0; k < d->t->max_classes_per_detection && k < classes;
             k++) {
            const double *row = d->scores + box * d->columns;
            int64_t best = -1;

            for (int64_t c = 0; c < classes; c++)
                if (!taken[c] && (best < 0 || glow_beats(row[c], row[best])))
                    best = c;
            taken[best] = true;
            put(d, out, kept * d->t->max_classes_per_detection + k, box, best);
        }
    }
    return kept;
}

typedef struct hit {
    int64_t box, klass; /* box -1: already returned */
} hit;

/* A suppression for each class; then the best detections of all classes. */
static int64_t
detect_classes(const detector *d, glow_tensor *const out[], glow_arena *scratch)
{
    int64_t classes = d->t->num_classes, found = 0, kept = 0;
    int64_t each = d->t->max_detections_per_class < d->count
                       ? d->t->max_detections_per_class
                       : d->count;
    hit *hits = GLOW_NEW_ARRAY(scratch, hit, classes * each);

    for (int64_t c = 0; c < classes; c++) {
        memset(d->gone, 0, (size_t)d->count * sizeof(bool));
        for (int64_t k = 0; k < each; k++) {
            int64_t box = keep(d, d->scores + c, d->columns);

            if (box < 0)
                break;
            hits[found++] = (hit){box, c};
        }
    }
    for (; kept < d->t->max_detections && kept < found; kept++) {
        int64_t best = -1;
        double most = 0;

        for (int64_t i = 0; i < found; i++) {
            double v;

            if (hits[i].box < 0)
                continue;
            v = d->scores[hits[i].box * d->columns + hits[i].klass];
            if (best < 0 || v > most) {
                best = i;
                most = v;
            }
        }
        put(d, out, kept, hits[best].box, hits[best].klass);
        hits[best].box = -1;
    }
    return kept;
}

static bool
eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
     glow_arena *scratch)
{
    const glow_tflitedetectionpostprocess *t = n->attrs;
    glow_dims s = in[1]->type->shape;
    detector d = {
        .t = t, .count = s.at[s.rank - 2], .columns = s.at[s.rank - 1]};

    d.boxes = decode(t, in, d.count, scratch);
    d.scores = glow_load_all(in[1], scratch) + (d.columns - t->num_classes);
    d.gone = GLOW_NEW_ARRAY(scratch, bool, d.count);
    for (int i = 0; i < 4; i++)
        memset(out[i]->data, 0, (size_t)glow_type_bytes(out[i]->type));
    glow_set_int(out[3], 0,
                 t->regular_nms ? detect_classes(&d, out, scratch)
                                : detect_boxes(&d, out, scratch));
    return true;
}

const glow_op glow_op_tflitedetectionpostprocess = {
    .name = "TFLiteDetectionPostProcess",
    .summary = "decode the boxes of a detector and keep the best",
    .in = {{"Boxes", GLOW_TENSOR,
            "of shape [N, 4], or [1, N, 4]: y, x, height, width, as parts of "
            "the anchors"},
           {"Scores", GLOW_TENSOR,
            "of shape [N, C], or [1, N, C]: the classes are the last "
            "NumClasses columns"},
           {"Anchors", GLOW_TENSOR,
            "of shape [N, 4]: y, x, height, width of each box's anchor"}},
    .out = {{"DetectionBoxes", GLOW_TENSOR,
             "of shape [MaxDetections * MaxClassesPerDetection, 4]: y0, x0, "
             "y1, x1"},
            {"DetectionClasses", GLOW_TENSOR, "index32: the class of each"},
            {"DetectionScores", GLOW_TENSOR, "the score of each"},
            {"NumDetections", GLOW_TENSOR, "index32 [1]: how many boxes"}},
    .attrs =
        {GLOW_FIELD(glow_tflitedetectionpostprocess, num_classes, GLOW_INT64,
                    "how many classes there are"),
         GLOW_FIELD(glow_tflitedetectionpostprocess, max_detections, GLOW_INT64,
                    "how many boxes are wanted"),
         GLOW_FIELD(glow_tflitedetectionpostprocess, max_classes_per_detection,
                    GLOW_INT64, "how many classes of a box are given"),
         GLOW_FIELD(glow_tflitedetectionpostprocess, max_detections_per_class,
                    GLOW_INT64, "with RegularNms: boxes of a class"),
         GLOW_FIELD(glow_tflitedetectionpostprocess, iou_threshold,
                    GLOW_FLOAT32,
                    "boxes that share more than this with a better one are "
                    "dropped"),
         GLOW_FIELD(glow_tflitedetectionpostprocess, score_threshold,
                    GLOW_FLOAT32, "boxes of a lower score are dropped"),
         GLOW_FIELD(glow_tflitedetectionpostprocess, x_scale, GLOW_FLOAT32,
                    "what x is divided by"),
         GLOW_FIELD(glow_tflitedetectionpostprocess, y_scale, GLOW_FLOAT32,
                    "what y is divided by"),
         GLOW_FIELD(glow_tflitedetectionpostprocess, h_scale, GLOW_FLOAT32,
                    "what the height is divided by"),
         GLOW_FIELD(glow_tflitedetectionpostprocess, w_scale, GLOW_FLOAT32,
                    "what the width is divided by"),
         GLOW_FIELD_DEFAULT(glow_tflitedetectionpostprocess, regular_nms,
                            GLOW_FLAG, "boxes are dropped class by class")},
    .defaults = &(const glow_tflitedetectionpostprocess){.regular_nms = false},
    .traits = GLOW_PURE | GLOW_DISCONTINUOUS,
    .infer = infer,
    .eval = eval,
    .doc =
        "The middle of a box is `e / scale * size + middle` of its anchor, its "
        "size `exp(e / scale) * size`.  Without RegularNms a box's score is "
        "its best class's; those that overlap a better one are dropped, and "
        "of each that is kept the best classes are given, "
        "MaxClassesPerDetection places for each box.  With it boxes are "
        "dropped for each class by itself, and the best of all are given, one "
        "after another.  Places that are left are 0; of equal scores the "
        "first counts.",
    .source = "Glow TFLiteDetectionPostProcess; TensorFlow Lite, "
              "detection_postprocess",
};
