/*
 * Resize, and its older form Upsample.
 */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/glow-translate/import/import.h"

typedef struct plan {
    glow_dims to;
    float scale[GLOW_MAX_RANK];
    int coordinates;
    int rounding;
    bool linear;
} plan;

static bool
set_axis(import_node *n, plan *p, int axis, int64_t from, double scale)
{
    double size = floor((double)from * scale);

    if (!(scale > 0) || !(size < 2147483648.0))
        return import_refuse(n, "E0711", "the scale of axis %d is %g", axis,
                             scale);
    p->scale[axis] = (float)scale;
    p->to.at[axis] = (int64_t)size;
    return true;
}

static bool
set_scales(import_node *n, plan *p, glow_dims from, glow_floats l,
           glow_dims axes)
{
    if (n->failed || l.count != axes.rank)
        return import_refuse(n, "E0711", "%" PRId64 " scales for %d axes",
                             l.count, axes.rank);
    for (int i = 0; i < axes.rank; i++) {
        int axis = (int)axes.at[i];

        if (!set_axis(n, p, axis, from.at[axis], l.at[i]))
            return false;
    }
    return true;
}

/* Sizes; `policy`: 1 not larger, 2 not smaller than these, in proportion. */
static bool
set_sizes(import_node *n, plan *p, glow_dims from, glow_ints l, glow_dims axes,
          int policy)
{
    double scale = 0;

    if (n->failed || l.count != axes.rank)
        return import_refuse(n, "E0711", "%" PRId64 " sizes for %d axes",
                             l.count, axes.rank);
    for (int i = 0; i < axes.rank; i++) {
        int64_t size = from.at[axes.at[i]];
        double each = (double)l.at[i] / (double)size;

        if (l.at[i] < 1 || l.at[i] > INT32_MAX || size < 1)
            return import_refuse(n, "E0711", "size %d is %" PRId64, i, l.at[i]);
        if (i == 0 || (policy == 1 ? each < scale : each > scale))
            scale = each;
    }
    for (int i = 0; i < axes.rank; i++) {
        int axis = (int)axes.at[i];
        double size = (double)from.at[axis];

        p->to.at[axis] = policy ? (int64_t)floor(scale * size + 0.5) : l.at[i];
        p->scale[axis] = (float)(policy ? scale : (double)l.at[i] / size);
    }
    return true;
}

/* Which operands hold what has changed: opset 10 knew scales alone. */
static bool
read_plan(import_node *n, glow_dims from, plan *p)
{
    static const char *const policies[] = {"stretch", "not_larger",
                                           "not_smaller", NULL};
    int at = n->opset < 11 ? 1 : 2;
    glow_dims all = {.rank = from.rank}, axes;
    bool named = n->opset >= 18 && import_has(n, "axes"), ignored;
    int policy = n->opset < 18 ? 0
                               : import_word(n, "keep_aspect_ratio_policy",
                                             "stretch", policies);

    for (int i = 0; i < from.rank; i++) {
        all.at[i] = i;
        p->scale[i] = 1;
    }
    p->to = from;
    axes =
        named ? import_axes(n, 0, IMPORT_MAX_OPSET, from.rank, &ignored) : all;
    if (import_in(n, 3))
        return set_sizes(n, p, from, import_known_ints(n, 3), axes, policy);
    return set_scales(n, p, from, import_known_floats(n, at), axes);
}

static bool
build(import_node *n, const plan *p)
{
    glow_value *x = import_in(n, 0);
    int rank = p->to.rank;
    const glow_op *op =
        p->linear ? &glow_op_resizebilinear : &glow_op_resizenearest;
    glow_dims to = p->to;
    float scale[GLOW_MAX_RANK];
    bool image = rank == 4 && p->to.at[0] == x->type->shape.at[0] &&
                 p->to.at[1] == x->type->shape.at[1];

    /* Images go through NHWC, as around convolutions. */
    memcpy(scale, p->scale, sizeof scale);
    if (image) {
        to = GLOW_DIMS_OF(p->to.at[0], p->to.at[2], p->to.at[3], p->to.at[1]);
        for (int i = 0; i < 4; i++)
            scale[i] = p->scale[i == 0 ? 0 : i == 3 ? 1 : i + 1];
        x = import_to_nhwc(n, x);
    }

    const glow_resize attrs = {
        .scale = {rank, scale},
        .coordinates = p->coordinates,
        .rounding = p->rounding,
    };

    x = import_build(n, op, import_type(n, x->type->elem, to), GLOW_IN(x),
                     &attrs);
    return import_done(n, image ? import_to_nchw(n, x) : x);
}

static bool
resize(import_node *n)
{
    static const char *const modes[] = {"nearest", "linear", NULL};
    static const char *const coordinates[] = {
        "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
        NULL};
    static const int our_coordinates[] = {
        GLOW_COORD_HALF_PIXEL, GLOW_COORD_PYTORCH_HALF_PIXEL,
        GLOW_COORD_ALIGN_CORNERS, GLOW_COORD_ASYMMETRIC};
    static const char *const roundings[] = {
        "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
    static const int our_roundings[] = {GLOW_ROUND_PREFER_FLOOR,
                                        GLOW_ROUND_PREFER_CEIL,
                                        GLOW_ROUND_FLOOR, GLOW_ROUND_CEIL};
    plan p = {.linear = import_word(n, "mode", "nearest", modes) == 1,
              .coordinates = GLOW_COORD_ASYMMETRIC,
              .rounding = GLOW_ROUND_FLOOR};

    if (n->opset >= 11) {
        p.coordinates = our_coordinates[import_word(
            n, "coordinate_transformation_mode", "half_pixel", coordinates)];
        p.rounding = our_roundings[import_word(
            n, "nearest_mode", "round_prefer_floor", roundings)];
        import_ignore(n, "cubic_coeff_a");
        import_ignore(n, "extrapolation_value");
        import_ignore(n, "exclude_outside");
    }
    if (p.linear)
        p.rounding = GLOW_ROUND_FLOOR;
    if (n->opset >= 18 && import_flag(n, "antialias", false))
        return import_refuse(n, "E0705", "antialias is not supported");
    if (!import_operands(n, 1, n->opset < 11 ? 2 : 4))
        return false;
    /* An empty list stands for an operand that is left out. */
    if (n->opset >= 11 && n->opset < 13 && import_in(n, 3) &&
        glow_type_count(import_in(n, 3)->type) == 0)
        n->in[3] = NULL;
    return read_plan(n, import_shape(import_in(n, 0)), &p) && build(n, &p);
}

static bool
upsample(import_node *n)
{
    static const char *const modes[] = {"nearest", "linear", "bilinear", NULL};
    bool attr = n->opset < 9;
    plan p = {.linear = import_word(n, "mode", "nearest", modes) > 0,
              .coordinates = GLOW_COORD_ASYMMETRIC,
              .rounding = GLOW_ROUND_FLOOR};

    if (!import_operands(n, attr ? 1 : 2, attr ? 1 : 2))
        return false;

    glow_dims from = import_shape(import_in(n, 0)), all = {.rank = from.rank};

    for (int i = 0; i < from.rank; i++)
        all.at[i] = i;
    p.to = from;
    return set_scales(n, &p, from,
                      attr ? import_floats(n, "scales")
                           : import_known_floats(n, 1),
                      all) &&
           build(n, &p);
}

const import_row import_resize_rows[] = {
    {"Resize", 10, 0, resize, NULL},
    {"Upsample", 7, 9, upsample, NULL},
    {NULL, 0, 0, NULL, NULL},
};
