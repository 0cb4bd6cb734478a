/*
 * Import of interpolation at positions that are values, and of cropping to a
 * size.
 */

#include <inttypes.h>

#include "tools/glow-translate/import/import.h"

static bool
grid_sample(import_node *n)
{
    /* Since opset 20 the names do not contain the number of axes. */
    static const char *const old_modes[] = {"nearest", "bilinear", "bicubic",
                                            NULL};
    static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
    static const char *const paddings[] = {"zeros", "border", "reflection",
                                           NULL};
    bool old = n->opset < 20;
    glow_gridsample how = {
        .mode = import_word(n, "mode", old ? "bilinear" : "linear",
                            old ? old_modes : modes),
        .padding = import_word(n, "padding_mode", "zeros", paddings),
        .align_corners = import_flag(n, "align_corners", false)};

    if (!import_operands(n, 2, 2))
        return false;

    glow_value *x = import_in(n, 0), *grid = import_in(n, 1), *y;
    glow_kind kind = x->type->elem;

    if (import_shape(x).rank < 3)
        return import_refuse(n, "E0711",
                             "an operand of rank %d; 3 to 5 are "
                             "supported",
                             import_shape(x).rank);
    if (how.mode != GLOW_RESIZE_NEAREST && !glow_is_float(kind))
        x = import_convert(n, x, GLOW_FLOAT);
    if (!glow_is_float(grid->type->elem))
        grid = import_convert(n, grid, GLOW_FLOAT);
    y = import_build(n, &glow_op_gridsample, NULL,
                     GLOW_IN(import_to_nhwc(n, x), grid), &how);
    return import_done(n, import_convert(n, import_to_nchw(n, y), kind));
}

static bool
affine_grid(import_node *n)
{
    bool align_corners = import_flag(n, "align_corners", false);
    glow_dims size = {0};

    if (!import_operands(n, 2, 2))
        return false;

    glow_dims theta = import_shape(import_in(n, 0));
    glow_ints l = import_known_ints(n, 1);

    if (n->failed)
        return false;
    if (l.count < 3 || l.count > 5)
        return import_refuse(n, "E0711",
                             "a size of %" PRId64 " numbers; 3 to 5 are "
                             "supported",
                             l.count);
    if (theta.rank == 0 || l.at[0] != theta.at[0])
        return import_refuse(n, "E0711",
                             "size has a batch of %" PRId64 ", theta of "
                             "%" PRId64,
                             l.at[0], theta.rank ? theta.at[0] : 0);
    for (int64_t i = 2; i < l.count; i++)
        size.at[size.rank++] = l.at[i];
    return import_done(n, BUILD(n, affinegrid, GLOW_IN(import_in(n, 0)),
                                .size = size, .align_corners = align_corners));
}

static bool
deform_conv(import_node *n)
{
    import_window w;
    int64_t group = import_int(n, "group", 1, 1, INT32_MAX);
    int64_t offset_group = import_int(n, "offset_group", 1, 1, INT32_MAX);

    if (!import_operands(n, 3, 5))
        return false;

    glow_value *x = import_in(n, 0), *filter = import_in(n, 1);
    glow_value *offset = import_in(n, 2), *mask = import_in(n, 4);
    glow_dims kernel = import_shape(filter);

    if (kernel.rank != import_shape(x).rank ||
        kernel.rank != import_shape(offset).rank ||
        (mask && kernel.rank != import_shape(mask).rank))
        return import_refuse(n, "E0711",
                             "the ranks of operand, weights and offset are %d, "
                             "%d and %d",
                             import_shape(x).rank, kernel.rank,
                             import_shape(offset).rank);
    if (!import_read_window(n, x, &kernel, &w))
        return false;
    x = import_to_nhwc(n, x);
    filter = import_to_nhwc(n, filter);
    offset = import_to_nhwc(n, offset);
    mask = mask ? import_to_nhwc(n, mask) : NULL;
    x = BUILD(n, deformconv, GLOW_IN(x, filter, offset, import_in(n, 3), mask),
              .kernels = w.kernels, .strides = w.strides, .pads = w.pads,
              .group = group, .offset_group = offset_group,
              .dilation = w.dilation);
    return import_done(n, import_to_nchw(n, x));
}

/* CenterCropPad: a Slice of the middle of long axes, then a Pad. */
static bool
center_crop_pad(import_node *n)
{
    if (!import_operands(n, 2, 2))
        return false;

    glow_value *x = import_in(n, 0);
    int rank = import_shape(x).rank;
    bool named = import_has(n, "axes");
    glow_ints axes = import_ints(n, "axes"), size = import_known_ints(n, 1);
    int64_t pads[2 * GLOW_MAX_RANK] = {0};
    bool padded = false;

    if (n->failed || size.count != (named ? axes.count : rank))
        return import_refuse(n, "E0711",
                             "%" PRId64 " sizes for %" PRId64 " axes",
                             size.count, named ? axes.count : (int64_t)rank);
    for (int i = 0; i < size.count && !n->failed; i++) {
        int axis = named ? import_axis(n, axes.at[i], rank) : i;
        int64_t from = import_shape(x).at[axis], to = size.at[i];

        if (to < 0 || to > INT32_MAX)
            return import_refuse(n, "E0711", "size %d is %" PRId64, i, to);
        if (from > to)
            x = import_cut(n, x, axis, (from - to) / 2, to);
        if (from < to) {
            pads[axis] = (to - from) / 2;
            pads[rank + axis] = to - from - pads[axis];
            padded = true;
        }
    }
    if (padded && !n->failed)
        x = BUILD(n, pad, GLOW_IN(x), .mode = GLOW_PAD_CONSTANT,
                  .pads = {2 * rank, pads});
    return import_done(n, x);
}

/* RoiAlign.  ONNX's reference for max takes the greatest weighted element. */
static bool
roi_align(import_node *n)
{
    static const char *const modes[] = {"avg", "max", NULL};
    static const char *const coordinates[] = {"output_half_pixel", "half_pixel",
                                              NULL};
    glow_roialign how = {
        .mode = import_word(n, "mode", "avg", modes) ? GLOW_ROI_MAX_CORNERS
                                                     : GLOW_ROI_AVG,
        .output_height = import_int(n, "output_height", 1, 1, INT32_MAX),
        .output_width = import_int(n, "output_width", 1, 1, INT32_MAX),
        .sampling_ratio = import_int(n, "sampling_ratio", 0, 0, INT32_MAX),
        .spatial_scale = import_float(n, "spatial_scale", 1)};

    if (n->opset >= 16)
        how.aligned = import_word(n, "coordinate_transformation_mode",
                                  "half_pixel", coordinates);
    if (!import_operands(n, 3, 3))
        return false;
    if (import_shape(import_in(n, 0)).rank != 4)
        return import_refuse(n, "E0711", "an operand of rank %d, not 4",
                             import_shape(import_in(n, 0)).rank);

    glow_value *y = import_build(n, &glow_op_roialign, NULL,
                                 GLOW_IN(import_to_nhwc(n, import_in(n, 0)),
                                         import_in(n, 1), import_in(n, 2)),
                                 &how);

    return import_done(n, import_to_nchw(n, y));
}

static bool
max_roi_pool(import_node *n)
{
    glow_dims bins = import_dims(n, "pooled_shape", 2, 0, 1);
    float scale = import_float(n, "spatial_scale", 1);

    if (!import_operands(n, 2, 2))
        return false;

    glow_value *x = import_in(n, 0);

    if (import_shape(x).rank != 4)
        return import_refuse(n, "E0711", "an operand of rank %d, not 4",
                             import_shape(x).rank);
    x = BUILD(n, maxroipool, GLOW_IN(import_to_nhwc(n, x), import_in(n, 1)),
              .pooled_shape = bins, .spatial_scale = scale);
    return import_done(n, import_to_nchw(n, x));
}

const import_row import_sample_rows[] = {
    {"AffineGrid", 20, 0, affine_grid, &glow_op_affinegrid,
     "floats; 1 to 3 spatial axes; the size must be known"},
    {"CenterCropPad", 18, 0, center_crop_pad, NULL,
     "any; the shape must be known; Slice, then Pad"},
    {"DeformConv", 19, 0, deform_conv, &glow_op_deformconv,
     "floats; 1 to 3 spatial axes"},
    {"GridSample", 16, 0, grid_sample, &glow_op_gridsample,
     "any; 1 to 3 spatial axes; but for nearest, integers go through float"},
    {"MaxRoiPool", 1, 0, max_roi_pool, &glow_op_maxroipool, "floats; rank 4"},
    {"RoiAlign", 10, 0, roi_align, &glow_op_roialign,
     "floats; rank 4; max takes the greatest weighted element, as the "
     "evaluation of ONNX does"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
