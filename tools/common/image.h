/* Pictures as inputs: PNG files into tensors. */

#ifndef GLOW_TOOLS_COMMON_IMAGE_H
#define GLOW_TOOLS_COMMON_IMAGE_H

#include "glow/tensor.h"

typedef enum image_mode { /* the range that 0 to 255 are mapped to */
                          IMAGE_0TO1,
                          IMAGE_0TO255,
                          IMAGE_NEG1TO1,
                          IMAGE_NEG128TO127,
} image_mode;
extern const char *const image_modes[]; /* their names, then NULL */

typedef enum image_layout {
    IMAGE_NCHW,
    IMAGE_NHWC,
} image_layout;
extern const char *const image_layouts[];

/*
 * Reads the pictures `paths`, one for each entry of the first axis, into a
 * tensor of type `want`: float, [N, C, H, W] or [N, H, W, C], of 1 channel
 * (grey) or 3 (red, green, blue).  Their size must be H x W.  False after a
 * report.
 */
bool image_read(glow_context *ctx, const char *const *paths, size_t count,
                image_mode mode, image_layout layout, const glow_type *want,
                glow_tensor *out);

#endif
