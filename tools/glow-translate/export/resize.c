/* Resizing.  Opset 17 has neither Antialias nor half_pixel_symmetric. */

#include <math.h>

#include "tools/glow-translate/export/export.h"

/* Starts and ends as a constant of float, of Input's rank each. */
static const char *
write_roi(exporter *e, const glow_node *n, const glow_resize *r)
{
    return r->roi.count ? export_floats(e, n, r->roi.at, (int)r->roi.count)
                        : "";
}

/* Writes the scales if they determine the size, else the size. */
static bool
write_resize(exporter *e, const glow_node *n, const glow_resize *r)
{
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const coordinates[] = {
        [GLOW_COORD_ASYMMETRIC] = "asymmetric",
        [GLOW_COORD_HALF_PIXEL] = "half_pixel",
        [GLOW_COORD_PYTORCH_HALF_PIXEL] = "pytorch_half_pixel",
        [GLOW_COORD_ALIGN_CORNERS] = "align_corners",
        [GLOW_COORD_TF_HALF_PIXEL_FOR_NN] = "tf_half_pixel_for_nn",
        [GLOW_COORD_TF_CROP_AND_RESIZE] = "tf_crop_and_resize",
    };
    static const char *const roundings[] = {
        [GLOW_ROUND_FLOOR] = "floor",
        [GLOW_ROUND_CEIL] = "ceil",
        [GLOW_ROUND_PREFER_FLOOR] = "round_prefer_floor",
        [GLOW_ROUND_PREFER_CEIL] = "round_prefer_ceil",
    };
    glow_dims from = n->in[0]->type->shape, to = n->out[0]->type->shape;
    bool by_scale = true;
    const char *scales = "", *sizes = "";

    for (int i = 0; i < to.rank; i++)
        by_scale &=
            floorf((float)from.at[i] * r->scale.at[i]) == (double)to.at[i];
    if (by_scale)
        scales = export_floats(e, n, r->scale.at, (int)r->scale.count);
    else
        sizes = export_dims_list(e, n, to);
    export_last(e, n, "Resize",
                NAMES(export_in(e, n, 0), write_roi(e, n, r), scales, sizes));
    export_string(e, "mode", modes[r->mode]);
    export_string(e, "coordinate_transformation_mode",
                  coordinates[r->coordinates]);
    if (r->mode == GLOW_RESIZE_NEAREST)
        export_string(e, "nearest_mode", roundings[r->rounding]);
    if (r->mode == GLOW_RESIZE_CUBIC)
        export_float(e, "cubic_coeff_a", r->cubic_coeff);
    if (r->exclude_outside)
        export_int(e, "exclude_outside", 1);
    if (r->roi.count)
        export_float(e, "extrapolation_value", r->extrapolation);
    return true;
}

static bool
resize(exporter *e, const glow_node *n)
{
    return write_resize(e, n, n->attrs);
}

/* ResizeNearest and ResizeBilinear. */
static bool
resize_grid(exporter *e, const glow_node *n)
{
    const glow_grid *g = n->attrs;
    glow_resize r = {.scale = g->scale,
                     .mode = n->op == &glow_op_resizenearest
                                 ? GLOW_RESIZE_NEAREST
                                 : GLOW_RESIZE_LINEAR,
                     .coordinates = g->coordinates,
                     .rounding = g->rounding};

    if (g->coordinates == GLOW_COORD_HALF_PIXEL_SYMMETRIC)
        return export_refuse(e, n,
                             "Coordinates are half_pixel_symmetric, "
                             "which opset %d does not have",
                             EXPORT_OPSET);
    return write_resize(e, n, &r);
}

static bool
can_resize(const glow_node *n)
{
    const glow_resize *r = n->attrs;

    return !r->antialias && r->coordinates != GLOW_COORD_HALF_PIXEL_SYMMETRIC;
}

const export_limit export_resize_limits[] = {
    {&glow_op_resize, can_resize},
    {NULL, NULL},
};

const export_row export_resize_rows[] = {
    {&glow_op_resize, resize, NULL},
    {&glow_op_resizebilinear, resize_grid, NULL},
    {&glow_op_resizenearest, resize_grid, NULL},
    {NULL, NULL, NULL},
};
