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
    float roi[2 * GLOW_MAX_RANK]; /* all starts, then all ends */
    glow_resize how;
} plan;

static bool
set_axis(import_node *n, plan *p, int axis, int64_t from, double scale)
{
    /* 20 * 1.3f is 26 as a float, as PyTorch has it, but 25.9999990 as a double. */
    double size = floor((double)(float)((double)from * scale));

    if (!(scale > 0) || !(size < 2147483648.0))
        return import_refuse(n, "E0711", "the scale of axis %d is %g", axis,
                             scale);
    if (size == 0 && from > 0)
        return import_refuse_hint(
            n, "E0711",
            glow_arena_printf(import_arena(n), "the least scale is %g",
                              1 / (double)from),
            "axis %d gets size 0 from %" PRId64 " by the scale %g", axis, from,
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
        if (p->to.at[axis] < 1)
            return import_refuse_hint(
                n, "E0711",
                "keep_aspect_ratio_policy `stretch` takes sizes as they are",
                "axis %d gets size 0 from %" PRId64 " by the scale %g of all",
                axis, from.at[axis], scale);
        p->scale[axis] = (float)(policy ? scale : (double)l.at[i] / size);
    }
    return true;
}

/* The region of tf_crop_and_resize; axes that are not named are whole. */
static bool
read_roi(import_node *n, plan *p, glow_dims axes)
{
    int rank = p->to.rank;
    glow_floats l = import_known_floats(n, 1);

    if (n->failed || l.count != 2 * axes.rank)
        return import_refuse(n, "E0711",
                             "a roi of %" PRId64 " numbers for %d axes",
                             l.count, axes.rank);
    for (int i = 0; i < rank; i++) {
        p->roi[i] = 0;
        p->roi[rank + i] = 1;
    }
    for (int i = 0; i < axes.rank; i++) {
        p->roi[axes.at[i]] = l.at[i];
        p->roi[rank + axes.at[i]] = l.at[axes.rank + i];
    }
    p->how.roi = (glow_floats){2 * rank, p->roi};
    return true;
}

/* Attribute axes, in the order of scales, sizes and roi. */
static glow_dims
read_axes(import_node *n, int rank)
{
    glow_ints l = import_ints(n, "axes");
    glow_dims axes = {0};
    unsigned seen = 0;

    for (int64_t i = 0; i < l.count && !n->failed; i++) {
        int axis = import_axis(n, l.at[i], rank);

        if (!n->failed && seen & 1u << axis)
            import_refuse(n, "E0710", "axes names axis %d twice", axis);
        if (n->failed)
            break;
        seen |= 1u << axis;
        axes.at[axes.rank++] = axis;
    }
    return axes;
}

/* Reads scales, sizes and roi; opset 10 has scales alone. */
static bool
read_plan(import_node *n, glow_dims from, plan *p)
{
    static const char *const policies[] = {"stretch", "not_larger",
                                           "not_smaller", NULL};
    int at = n->opset < 11 ? 1 : 2;
    glow_dims all = {.rank = from.rank}, axes;
    bool named = n->opset >= 18 && import_has(n, "axes");
    int policy = n->opset < 18 ? 0
                               : import_word(n, "keep_aspect_ratio_policy",
                                             "stretch", policies);

    for (int i = 0; i < from.rank; i++) {
        all.at[i] = i;
        p->scale[i] = 1;
    }
    p->to = from;
    axes = named ? read_axes(n, from.rank) : all;
    if (p->how.coordinates == GLOW_COORD_TF_CROP_AND_RESIZE &&
        !read_roi(n, p, axes))
        return false;
    if (import_in(n, 3))
        return set_sizes(n, p, from, import_known_ints(n, 3), axes, policy);
    return set_scales(n, p, from, import_known_floats(n, at), axes);
}

/* An image, N C H W, of which H and W change. */
static bool
is_image(const plan *p, glow_dims from)
{
    return from.rank == 4 && p->scale[0] == 1 && p->scale[1] == 1;
}

/*
 * ResizeNearest or ResizeBilinear, which have kernels, if the plan permits;
 * NULL: Resize.
 */
static const glow_op *
simple_op(const plan *p, glow_dims from)
{
    int changed = 0;

    if (p->how.coordinates == GLOW_COORD_TF_CROP_AND_RESIZE ||
        p->how.coordinates == GLOW_COORD_HALF_PIXEL_SYMMETRIC)
        return NULL;
    if (p->how.mode == GLOW_RESIZE_NEAREST)
        return &glow_op_resizenearest;
    for (int i = 0; i < from.rank; i++)
        changed += p->to.at[i] != from.at[i] || p->scale[i] != 1;
    return p->how.mode == GLOW_RESIZE_LINEAR && !p->how.antialias &&
                   changed <= 2
               ? &glow_op_resizebilinear
               : NULL;
}

static glow_value *
build_simple(import_node *n, const plan *p, glow_value *x, const glow_op *op)
{
    int rank = p->to.rank;
    glow_dims to = p->to;
    float scale[GLOW_MAX_RANK];
    bool image = is_image(p, x->type->shape);

    /* Images are transposed to NHWC, as for convolutions. */
    memcpy(scale, p->scale, sizeof scale);
    if (image) {
        to = GLOW_DIMS_OF(p->to.at[0], p->to.at[2], p->to.at[3], p->to.at[1]);
        for (int i = 0; i < 4; i++)
            scale[i] = p->scale[i == 0 ? 0 : i == 3 ? 1 : i + 1];
        x = import_to_nhwc(n, x);
    }

    const glow_grid attrs = {
        .scale = {rank, scale},
        .coordinates = p->how.coordinates,
        .rounding =
            op == &glow_op_resizenearest ? p->how.rounding : GLOW_ROUND_FLOOR,
    };

    x = import_build(n, op, import_type(n, x->type->elem, to), GLOW_IN(x),
                     &attrs);
    return image ? import_to_nchw(n, x) : x;
}

/* Integers are resized as floats and truncated. */
static glow_value *
resized(import_node *n, plan *p, glow_value *x)
{
    glow_kind kind = x->type->elem;
    const glow_op *op = simple_op(p, x->type->shape);

    if (p->how.mode != GLOW_RESIZE_NEAREST && !glow_is_float(kind))
        x = import_convert(n, x, GLOW_FLOAT);
    p->how.scale = (glow_floats){p->to.rank, p->scale};
    x = op ? build_simple(n, p, x, op)
           : import_build(n, &glow_op_resize,
                          import_type(n, x->type->elem, p->to), GLOW_IN(x),
                          &p->how);
    return import_convert(n, x, kind);
}

static bool
build(import_node *n, plan *p)
{
    return import_done(n, resized(n, p, import_in(n, 0)));
}

/*
 * Opset 10 rounds positions up on axes that shrink and down on axes that grow:
 * ONNX Runtime, nearest_mode "simple", and the numbers of ONNX's test
 * resize_downsample_nearest.  With both, one resize follows the other.
 */
static bool
build_shrinking(import_node *n, const plan *p)
{
    glow_value *x = import_in(n, 0);
    glow_dims from = import_shape(x);
    plan down = *p, up = *p;
    int shrinks = 0, grows = 0;

    down.how.rounding = GLOW_ROUND_CEIL;
    for (int i = 0; i < from.rank; i++) {
        plan *other = p->scale[i] < 1 ? &up : &down;

        shrinks += p->scale[i] < 1;
        grows += p->scale[i] > 1;
        other->scale[i] = 1;
        if (other == &down)
            down.to.at[i] = from.at[i];
    }
    if (shrinks > 0)
        x = resized(n, &down, x);
    if (grows > 0 || shrinks == 0)
        x = x ? resized(n, &up, x) : NULL;
    return import_done(n, x);
}

static void
read_how(import_node *n, glow_resize *how)
{
    static const char *const coordinates[] = {
        "asymmetric",           "half_pixel",
        "pytorch_half_pixel",   "align_corners",
        "tf_half_pixel_for_nn", "half_pixel_symmetric",
        "tf_crop_and_resize",   NULL};
    static const char *const roundings[] = {
        "floor", "ceil", "round_prefer_floor", "round_prefer_ceil", NULL};

    how->coordinates = import_word(n, "coordinate_transformation_mode",
                                   "half_pixel", coordinates);
    how->rounding =
        import_word(n, "nearest_mode", "round_prefer_floor", roundings);
    how->cubic_coeff = import_float(n, "cubic_coeff_a", -0.75f);
    how->extrapolation = import_float(n, "extrapolation_value", 0);
    how->exclude_outside = import_flag(n, "exclude_outside", false);
    if (n->opset >= 18)
        how->antialias = import_flag(n, "antialias", false) &&
                         how->mode != GLOW_RESIZE_NEAREST;
}

static bool
resize(import_node *n)
{
    /* "bilinear" is the name in the first Upsample, which some models keep. */
    static const char *const modes[] = {"nearest", "linear", "cubic",
                                        "bilinear", NULL};
    int mode = import_word(n, "mode", "nearest", modes);
    plan p = {.how.mode = mode == 3 ? 1 : mode};

    if (n->opset < 11 && p.how.mode == GLOW_RESIZE_CUBIC)
        return import_refuse(n, "E0710", "opset 10 has no mode cubic");
    if (n->opset >= 11)
        read_how(n, &p.how);
    if (!import_operands(n, 1, n->opset < 11 ? 2 : 4))
        return false;
    /* An empty list is an omitted operand. */
    if (n->opset >= 11 && n->opset < 13 && import_in(n, 3) &&
        glow_type_count(import_in(n, 3)->type) == 0)
        n->in[3] = NULL;
    if (!read_plan(n, import_shape(import_in(n, 0)), &p))
        return false;
    return n->opset < 11 && p.how.mode == GLOW_RESIZE_NEAREST
               ? build_shrinking(n, &p)
               : build(n, &p);
}

static bool
upsample(import_node *n)
{
    static const char *const modes[] = {"nearest", "linear", "bilinear", NULL};
    bool attr = n->opset < 9;
    plan p = {.how.mode = import_word(n, "mode", "nearest", modes) > 0};

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

/* Opset 1: images, and a factor for either axis. */
static bool
upsample_image(import_node *n)
{
    static const char *const modes[] = {"nearest", "bilinear", NULL};
    float scale[] = {1, 1, import_float(n, "height_scale", 0),
                     import_float(n, "width_scale", 0)};
    plan p = {.how.mode = import_word(n, "mode", "nearest", modes)};

    if (!import_operands(n, 1, 1))
        return false;
    p.to = import_shape(import_in(n, 0));
    if (p.to.rank != 4)
        return import_refuse(n, "E0711", "an operand of rank %d, not 4",
                             p.to.rank);
    return set_scales(n, &p, p.to, (glow_floats){4, scale},
                      GLOW_DIMS_OF(0, 1, 2, 3)) &&
           build(n, &p);
}

const import_row import_resize_rows[] = {
    {"Resize", 10, 0, resize, &glow_op_resize,
     "any; roi, scales and sizes must be known; ResizeNearest or "
     "ResizeBilinear where these do"},
    {"Upsample", 1, 6, upsample_image, &glow_op_resizenearest,
     "any; rank 4; ResizeBilinear where the mode is bilinear"},
    {"Upsample", 7, 9, upsample, &glow_op_resizenearest,
     "any; scales must be known; ResizeBilinear, or Resize over more than 2 "
     "axes, where the mode is linear"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
