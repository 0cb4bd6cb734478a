/*
 * Import of Caffe2 nets.
 *
 * A net becomes a graph of the ONNX importer, with Caffe2's operators.  Their
 * rows have the same type and use the same helpers; operators that are equal to
 * one of ONNX use its row.
 */

#ifndef GLOW_TRANSLATE_CAFFE2_H
#define GLOW_TRANSLATE_CAFFE2_H

#include "tools/glow-translate/import/import.h"

extern const import_dialect caffe2_dialect;

/* The rows of each file, ending with one without a name. */
extern const import_row caffe2_elementwise_rows[];
extern const import_row caffe2_fill_rows[];
extern const import_row caffe2_fused_rows[]; /* import/fusedrows.c */
extern const import_row caffe2_layout_rows[];
extern const import_row caffe2_norm_rows[];
extern const import_row caffe2_product_rows[];
extern const import_row caffe2_window_rows[];

/* The kind of Caffe2's data type `type`; GLOW_NO_KIND if unsupported. */
glow_kind caffe2_kind(int64_t type);
/* True if `order` is NHWC; NCHW, the default, is the only other. */
bool caffe2_channels_last(import_node *n);

typedef struct caffe2_options {
    import_options import;
    const char *init;              /* the net of the weights, or NULL */
    const char *const (*types)[2]; /* -type NAME=index64 */
    size_t n_types;
} caffe2_options;

/* A verified module, or NULL after reports. */
glow_module *caffe2_import(glow_context *ctx, const caffe2_options *options);

#endif
