/* Resizing, regions of interest, boxes of detectors. */

#ifndef GLOW_OPS_IMAGE_H
#define GLOW_OPS_IMAGE_H

#include "glow/graph.h"

GLOW_BEGIN

/* Resizing: ir/ops/resize.c.  The result is stated: its shape is the size. */

typedef struct glow_grid {
    glow_floats scale; /* per axis: out / in, as the model gives it */
    int coordinates;   /* GLOW_COORD_... : from result to input */
    int rounding;      /* GLOW_ROUND_... : nearest only */
} glow_grid;
typedef glow_grid glow_resizenearest;
typedef glow_grid glow_resizebilinear; /* two axes of any rank change */
enum {
    GLOW_COORD_ASYMMETRIC, /* the default, and Glow's */
    GLOW_COORD_HALF_PIXEL,
    GLOW_COORD_PYTORCH_HALF_PIXEL,
    GLOW_COORD_ALIGN_CORNERS,
    GLOW_COORD_TF_HALF_PIXEL_FOR_NN,
    GLOW_COORD_HALF_PIXEL_SYMMETRIC,
    GLOW_COORD_TF_CROP_AND_RESIZE, /* of Resize alone */
};
enum {
    GLOW_ROUND_FLOOR, /* the default, and Glow's */
    GLOW_ROUND_CEIL,
    GLOW_ROUND_PREFER_FLOOR,
    GLOW_ROUND_PREFER_CEIL,
};

/* All there is in ONNX, over any axes: ir/ops/resample.c. */
typedef struct glow_resize {
    glow_floats scale;
    int mode; /* GLOW_RESIZE_... */
    int coordinates;
    int rounding;
    float cubic_coeff;
    bool exclude_outside;
    bool antialias;
    float extrapolation; /* with tf_crop_and_resize: value outside of Input */
    glow_floats roi; /* with the same: all starts, then all ends; or empty */
} glow_resize;
enum { GLOW_RESIZE_NEAREST, GLOW_RESIZE_LINEAR, GLOW_RESIZE_CUBIC };

/*
 * Sampling of one axis of a Resize from shape x to shape y: element `i` of
 * the result is the sum over k of weight[k * count + i] * x[from[k * count +
 * i]], or the extrapolation value where outside[i].
 */
typedef struct glow_samples {
    int64_t taps;  /* 0: the axis stays as it is */
    int64_t count; /* elements of the result */
    const int64_t *from;
    const double *weight;
    const bool *outside; /* NULL: none is */
} glow_samples;

GLOW_API glow_samples glow_resize_samples(const glow_resize *r, glow_dims x,
                                          glow_dims y, int axis, glow_arena *a);

extern GLOW_API const glow_op glow_op_resize;
extern GLOW_API const glow_op glow_op_resizebilinear;
extern GLOW_API const glow_op glow_op_resizenearest;

/*
 * Sampling at positions that are values: ir/ops/sample.c, deformconv.c.  Shapes
 * are [N, spatial.., C]; positions name the last spatial axis first.
 */

typedef struct glow_gridsample { /* Input, Grid [N, out.., D] */
    int mode;                    /* GLOW_RESIZE_..., default linear */
    int padding;                 /* GLOW_SAMPLE_..., default zeros */
    bool align_corners;          /* default false: -1 and 1 are outer edges */
} glow_gridsample;
enum { GLOW_SAMPLE_ZEROS, GLOW_SAMPLE_BORDER, GLOW_SAMPLE_REFLECTION };

typedef struct glow_affinegrid { /* Theta [N, D, D + 1]: [N, Size.., D] */
    glow_dims size;
    bool align_corners; /* default false */
} glow_affinegrid;

typedef struct glow_deformconv { /* Input, Filter, Offset, Bias?, Mask? */
    glow_dims kernels;
    glow_dims strides;
    glow_dims pads;
    int64_t group;
    int64_t offset_group;
    glow_dims dilation; /* default rank 0: all 1 */
} glow_deformconv;

/* Position of element `i` of `size`, from -1 to 1. */
GLOW_API double glow_affine_position(int64_t i, int64_t size,
                                     bool align_corners);

extern GLOW_API const glow_op glow_op_affinegrid;
extern GLOW_API const glow_op glow_op_deformconv;
extern GLOW_API const glow_op glow_op_gridsample;

/* Regions of interest: ir/ops/roi.c. */

typedef struct glow_roialign { /* FeatureMap, Boxes, BatchIndices */
    int mode;                  /* GLOW_ROI_... */
    int64_t output_height;
    int64_t output_width;
    int64_t sampling_ratio; /* default 0: adaptive */
    float spatial_scale;    /* default 1 */
    bool aligned;           /* default false */
    bool rotated;           /* default false: Boxes [K, 4], else [K, 5] */
} glow_roialign;
enum { GLOW_ROI_AVG, GLOW_ROI_MAX, GLOW_ROI_MAX_CORNERS };

typedef struct glow_maxroipool { /* Input, Boxes [K, 5] */
    glow_dims pooled_shape;
    float spatial_scale; /* default 1 */
} glow_maxroipool;

extern GLOW_API const glow_op glow_op_maxroipool;
extern GLOW_API const glow_op glow_op_roialign;

/* Boxes of detectors: ir/ops/boxes.c. */

typedef struct glow_bboxtransform { /* Rois, Deltas, ImInfo */
    glow_floats weights;            /* of x, y, width and height */
    bool apply_scale;               /* default true */
    bool rotated;                   /* default false */
    bool angle_bound_on;            /* default true */
    int64_t angle_bound_lo;         /* default -90 */
    int64_t angle_bound_hi;         /* default 90 */
    float clip_angle_thresh;        /* default 1 */
    bool legacy_plus_one;           /* default false */
} glow_bboxtransform;
/* log(1000 / 16): no size grows by more than its exponential. */
#define GLOW_BBOX_MOST_GROWTH 4.1351665567423557

typedef struct glow_collectrpnproposals { /* boxes of levels, then scores */
    int64_t rpn_max_level;
    int64_t rpn_min_level;
    int64_t rpn_post_nms_top_n;
} glow_collectrpnproposals;

extern GLOW_API const glow_op
    glow_op_bboxtransform; /* BoxOut, RoiBatchSplits */
extern GLOW_API const glow_op glow_op_collectrpnproposals;

typedef struct glow_tflitedetectionpostprocess { /* Boxes, Scores, Anchors */
    int64_t num_classes;
    int64_t max_detections;
    int64_t max_classes_per_detection;
    int64_t max_detections_per_class; /* with regular_nms */
    float iou_threshold;
    float score_threshold;
    float x_scale;
    float y_scale;
    float h_scale;
    float w_scale;
    bool regular_nms; /* default false */
} glow_tflitedetectionpostprocess;

/* DetectionBoxes, -Classes, -Scores, NumDetections: ir/ops/detection.c. */
extern GLOW_API const glow_op glow_op_tflitedetectionpostprocess;

GLOW_END

#endif
