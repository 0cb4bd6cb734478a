/*
 * Export of interpolation: opset 17 has it for images; other nodes are lowered.
 */

#include "tools/glow-translate/export/export.h"

static bool
grid_sample(exporter *e, const glow_node *n)
{
    static const char *const old[] = {"nearest", "bilinear", "bicubic"};
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    const glow_gridsample *g = n->attrs;
    int rank = n->in[0]->type->shape.rank;
    const char *x =
        export_transpose(e, n, export_in(e, n, 0), export_to_nchw(rank));

    x = export_step(e, n, "GridSample", NAMES(x, export_in(e, n, 1)));
    export_string(e, "mode", (export_opset(e) < 20 ? old : modes)[g->mode]);
    export_string(e, "padding_mode", paddings[g->padding]);
    export_int(e, "align_corners", g->align_corners);
    export_last(e, n, "Transpose", NAMES(x));
    export_dims(e, "perm", export_to_nhwc(rank));
    return true;
}

/* Regions are NCHW in ONNX as images are. */
static bool
last_to_nhwc(exporter *e, const glow_node *n, const char *x)
{
    export_last(e, n, "Transpose", NAMES(x));
    export_dims(e, "perm", export_to_nhwc(4));
    return true;
}

static bool
roi_align(exporter *e, const glow_node *n)
{
    const glow_roialign *r = n->attrs;
    const char *x =
        export_transpose(e, n, export_in(e, n, 0), export_to_nchw(4));
    const char *images = export_in(e, n, 2);

    if (r->rotated)
        return export_refuse(e, n, "Rotated boxes have no form in ONNX");
    if (r->mode == GLOW_ROI_MAX)
        return export_refuse(e, n,
                             "Mode max has no form in ONNX, whose max "
                             "is max_corners");
    if (n->in[2]->type->elem != GLOW_INDEX64) {
        images = export_step(e, n, "Cast", NAMES(images));
        export_int(e, "to", 7);
    }
    x = export_step(e, n, "RoiAlign", NAMES(x, export_in(e, n, 1), images));
    export_string(e, "mode", r->mode == GLOW_ROI_AVG ? "avg" : "max");
    export_int(e, "output_height", r->output_height);
    export_int(e, "output_width", r->output_width);
    export_int(e, "sampling_ratio", r->sampling_ratio);
    export_float(e, "spatial_scale", r->spatial_scale);
    export_string(e, "coordinate_transformation_mode",
                  r->aligned ? "half_pixel" : "output_half_pixel");
    return last_to_nhwc(e, n, x);
}

static bool
max_roi_pool(exporter *e, const glow_node *n)
{
    const glow_maxroipool *r = n->attrs;
    const char *x =
        export_transpose(e, n, export_in(e, n, 0), export_to_nchw(4));

    x = export_step(e, n, "MaxRoiPool", NAMES(x, export_in(e, n, 1)));
    export_dims(e, "pooled_shape", r->pooled_shape);
    export_float(e, "spatial_scale", r->spatial_scale);
    return last_to_nhwc(e, n, x);
}

static bool
is_image(const glow_node *n)
{
    return n->in[0]->type->shape.rank == 4;
}

const export_limit export_sample_limits[] = {
    {&glow_op_gridsample, is_image},
    {NULL, NULL},
};

const export_row export_sample_rows[] = {
    {&glow_op_gridsample, grid_sample, NULL},
    {&glow_op_maxroipool, max_roi_pool, NULL},
    {&glow_op_roialign, roi_align, NULL},
    {NULL, NULL, NULL},
};
