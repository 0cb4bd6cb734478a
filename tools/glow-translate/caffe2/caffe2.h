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
extern const import_row caffe2_quantized_rows[];
extern const import_row caffe2_window_rows[];

/* The kind of Caffe2's data type `type`; GLOW_NO_KIND if unsupported. */
glow_kind caffe2_kind(int64_t type);
/* True if `order` is NHWC; NCHW, the default, is the only other. */
bool caffe2_channels_last(import_node *n);

/* A window over an image, and where channels are. */
typedef struct caffe2_window {
    import_window w;
    glow_dims sizes;  /* of the image's axes */
    bool last;        /* channels of the image */
    bool filter_last; /* and of the filter */
} caffe2_window;

/* Reads the window over `x`; `filter`, if present, gives the kernel. */
bool caffe2_read_window(import_node *n, const glow_value *x,
                        const glow_value *filter, caffe2_window *out);
/* The image and the filter with their channels last, and a result as it is due. */
glow_value *caffe2_to_last(import_node *n, const caffe2_window *x,
                           glow_value *v);
glow_value *caffe2_filter_to_last(import_node *n, const caffe2_window *x,
                                  glow_value *v);
glow_value *caffe2_from_last(import_node *n, const caffe2_window *x,
                             glow_value *v);
/* False after E0711 unless operand and filter have the same rank. */
bool caffe2_has_filter(import_node *n);

/* The operands of FC as matrices, and the shape of its result. */
typedef struct caffe2_connection {
    glow_value *x, *w, *b; /* [M, K], [K, N], [N] */
    glow_dims to;
} caffe2_connection;

/* W has a row for each result, or, `by_column`, a column. */
bool caffe2_read_connection(import_node *n, bool by_column,
                            caffe2_connection *out);

/*
 * The type of elements with Y_scale and Y_zero_point of the node: i8, which is 128
 * less than Caffe2's bytes, or i32.
 */
const glow_type *caffe2_quantized_type(import_node *n, glow_kind kind,
                                       glow_dims shape);

typedef struct caffe2_options {
    import_options import;
    const char *init;              /* the net of the weights, or NULL */
    const char *const (*types)[2]; /* -type NAME=index64 */
    size_t n_types;
} caffe2_options;

/* A verified module, or NULL after reports. */
glow_module *caffe2_import(glow_context *ctx, const caffe2_options *options);

#endif
