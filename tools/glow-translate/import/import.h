/*
 * Interface of the importer for the functions of operators.
 *
 * A row of a table is one ONNX operator in a range of opsets.  Its function
 * reads attributes and operands of the current node, builds Glow nodes and sets
 * the results.  After a failure the helpers report nothing more and return
 * values that are safe to use, so that a function needs one check at its end.
 *
 * Axes are ONNX's throughout: channels come second.  Functions of operators
 * that are NHWC in Glow wrap them in transposes.
 */

#ifndef GLOW_TRANSLATE_IMPORT_H
#define GLOW_TRANSLATE_IMPORT_H

#include "glow/build.h"
#include "glow/ops.h"
#include "tools/glow-translate/tensor.h"

#define IMPORT_MIN_OPSET 1
/* Newer versions are read as the last known one, with a warning. */
#define IMPORT_MAX_OPSET 26
#define IMPORT_MIN_IR 3
#define IMPORT_MAX_IR 13

typedef struct importer importer;
typedef struct import_node import_node;
typedef struct import_list import_list; /* sequences: see list.h */

typedef struct import_row {
    const char *name; /* of the ONNX operator */
    int since, until; /* opsets; until 0: to the last */
    bool (*run)(import_node *n);
    const glow_op
        *op; /* the operator that it becomes, if it is a single one; rows may
              * share `run` */
    /*
     * For docs/onnx.md: the element kinds, then notes: "floats; 1 to 3 spatial
     * axes; ...".  NULL: not an operator of ONNX.
     */
    const char *notes;
} import_row;

/* The rows of each file, ending with one without a name. */
extern const import_row import_activation_rows[];
extern const import_row import_attention_rows[];
extern const import_row import_audio_rows[];
extern const import_row import_control_rows[];
extern const import_row import_convolution_rows[];
extern const import_row import_dropout_rows[];
extern const import_row import_dynamic_rows[];
extern const import_row import_elementwise_rows[];
extern const import_row import_experimental_rows[];
extern const import_row import_gather_rows[];
extern const import_row import_gradient_rows[];
extern const import_row import_index_rows[];
extern const import_row import_integer_rows[];
extern const import_row import_layout_rows[];
extern const import_row import_list_rows[];
extern const import_row import_loss_rows[];
extern const import_row import_lp_rows[];
extern const import_row import_matmul_rows[];
extern const import_row import_ml_feature_rows[];
extern const import_row import_ml_linear_rows[];
extern const import_row import_ml_svm_rows[];
extern const import_row import_ml_tree_rows[];
extern const import_row import_norm_rows[];
extern const import_row import_ort_activation_rows[];
extern const import_row import_ort_attention_rows[];
extern const import_row import_ort_norm_rows[];
extern const import_row import_ort_product_rows[];
extern const import_row import_ort_quantized_rows[];
extern const import_row import_pool_rows[];
extern const import_row import_random_rows[];
extern const import_row import_recurrent_rows[];
extern const import_row import_reduce_rows[];
extern const import_row import_resize_rows[];
extern const import_row import_sample_rows[];
extern const import_row import_shape_rows[];
extern const import_row import_signal_rows[];
extern const import_row import_fused_rows[];
extern const import_row import_sparse_rows[];
extern const import_row import_tfidf_rows[];
extern const import_row import_train_rows[];

/* All of these tables. */
const import_row *const *import_all_rows(size_t *count);

/*
 * The row for an operator, or NULL; then *any is a row of another opset, or
 * NULL.
 */
const import_row *import_find_row(const char *name, int opset,
                                  const import_row **any);

/* The dialect of a graph: ONNX or Caffe2. */
typedef struct import_dialect {
    glow_loc_kind loc;
    bool has_opsets; /* shown in messages */
    /* The row for an operator, or NULL, with the reason in *why. */
    const import_row *(*find)(glow_arena *a, const char *name, int opset,
                              const char **why);
} import_dialect;

extern const import_dialect import_onnx;

struct import_node {
    importer *im;
    const import_row *row;
    const Onnx__NodeProto *proto;
    size_t index; /* in the graph */
    int opset;
    const char *name;            /* of its last Glow node */
    const char *text;            /* for messages: node 3, Conv 'conv1' */
    glow_value **in;             /* NULL: omitted, or a list */
    const import_list **in_list; /* sequences and optionals: see list.h */
    int n_in;
    glow_value **out; /* to be set; results without a name may stay NULL */
    const import_list **out_list;
    int n_out;
    uint64_t read; /* attributes that were read, by index */
    bool inlined;  /* replaced by nodes of a subgraph, which keep their names */
    bool failed;
};

/* Reports at the node and makes it fail; returns false. */
bool import_refuse(import_node *n, const char *id, const char *fmt, ...)
    GLOW_PRINTF(3, 4);
bool import_refuse_hint(import_node *n, const char *id, const char *hint,
                        const char *fmt, ...) GLOW_PRINTF(4, 5);
/*
 * E0712: operand i, `v`, must be constant; names an input that it depends on.
 */
void import_refuse_unknown(import_node *n, int i, const glow_value *v);

/* A hint to bind an input that `v` depends on, in the arena of the import, or NULL. */
const char *import_bind_hint(importer *im, const glow_value *v);

/* Context and arena of the import. */
glow_context *import_context(const import_node *n);
glow_arena *import_arena(const import_node *n);

/* Operands and results. */

/* Operand i, or NULL where it is omitted. */
glow_value *import_in(const import_node *n, int i);
/*
 * Fails unless there are `least` to `most` operands, the first ones present, and
 * all tensors.
 */
bool import_operands(import_node *n, int least, int most);
/* True if result i has a name, by which it can be used. */
bool import_wants(const import_node *n, int i);
/* Sets the first result; true unless the node failed. */
bool import_done(import_node *n, glow_value *v);
/* The row's operator, of one operand and without attributes. */
bool import_unary(import_node *n);
/*
 * The first result of the node imported as operator `name` of ONNX's `opset`,
 * with operands `in` and its own attributes; the caller has checked that they
 * are tensors and that there is such a row.
 */
glow_value *import_as(import_node *n, const char *name, int opset,
                      glow_value *const *in, int n_in);
glow_dims import_shape(const glow_value *v); /* of NULL: a scalar's */

/* Attributes (E0710).  Attributes that are not read are an error. */

int64_t import_int(import_node *n, const char *name, int64_t otherwise,
                   int64_t least, int64_t most);
bool import_flag(import_node *n, const char *name, bool otherwise);
float import_float(import_node *n, const char *name, float otherwise);
const char *import_string(import_node *n, const char *name,
                          const char *otherwise);
/* The index of a string in a list ended by NULL; fails for others. */
int import_word(import_node *n, const char *name, const char *otherwise,
                const char *const *words);
/* True if the node has the attribute. */
bool import_has(const import_node *n, const char *name);
/* A list of integers; empty if there is none. */
glow_ints import_ints(import_node *n, const char *name);
glow_floats import_floats(import_node *n, const char *name);
/* A list of strings, `*count` of them; none if there is none. */
const char *const *import_strings(import_node *n, const char *name, int *count);
/* A list with one entry for each of `rank` axes, all `otherwise` if absent. */
glow_dims import_dims(import_node *n, const char *name, int rank,
                      int64_t otherwise, int64_t least);
const Onnx__TensorProto *import_tensor(import_node *n, const char *name);
const Onnx__SparseTensorProto *import_sparse(import_node *n, const char *name);
/* A subgraph, which must be there; NULL after a report. */
const Onnx__GraphProto *import_graph_attr(import_node *n, const char *name);
/* Marks an attribute without effect as read. */
void import_ignore(import_node *n, const char *name);

/* The seed of a random operator, 0 to 2^32 - 1; without one, a number of the node. */
int64_t import_seed(import_node *n);

/* An axis of a tensor of `rank`, counted from the end if negative. */
int import_axis(import_node *n, int64_t axis, int rank);
int import_axis_attr(import_node *n, int64_t otherwise, int rank);

/* Subgraphs. */

/*
 * Builds the nodes of a subgraph in place: its inputs are `in`, its outputs
 * become `out`; it may also use the values around it.  May be called many times
 * for one subgraph.  False after a report.
 */
bool import_subgraph(import_node *n, const Onnx__GraphProto *g,
                     glow_value *const *in, int n_in, glow_value **out,
                     int n_out);

/* Operands that must be constant (E0712). */

/* The elements of operand i; NULL after a report. */
const glow_tensor *import_known(import_node *n, int i);
/* The same as integers of any count: a list in the import's arena. */
glow_ints import_known_ints(import_node *n, int i);
glow_floats import_known_floats(import_node *n, int i);
/* One number; a scalar or a tensor of one element. */
double import_known_number(import_node *n, int i);
/* True if operand i is there and a constant. */
bool import_is_known(const import_node *n, int i);

/*
 * E0711 if operand i, the lengths of sequences, is constant and an element is
 * not in [0, steps]; *whole: it is constant, and all are `steps`.
 */
bool import_check_lengths(import_node *n, int i, int64_t steps, bool *whole);

/*
 * Axes from attribute `axes` up to opset `until` and from operand i after it;
 * absent: empty, and *given is false.  Normalized, ascending, none twice.
 */
glow_dims import_axes(import_node *n, int i, int until, int rank, bool *given);

/* Building.  Nodes over constants are evaluated at once where that is cheap. */

glow_value *import_build(import_node *n, const glow_op *op,
                         const glow_type *type, glow_value *const *in, int n_in,
                         const void *attrs);
/* The same for an operator of several results, all of which go to `out`. */
bool import_build_all(import_node *n, const glow_op *op, glow_value *const *in,
                      int n_in, const void *attrs, glow_value **out);
#define BUILD(n, opname, in, ...)                  \
    import_build((n), &glow_op_##opname, NULL, in, \
                 &(const glow_##opname){__VA_ARGS__})
#define BUILD_PLAIN(n, opname, in) \
    import_build((n), &glow_op_##opname, NULL, in, NULL)
#define BUILD_STATED(n, opname, type, in, ...)       \
    import_build((n), &glow_op_##opname, (type), in, \
                 &(const glow_##opname){__VA_ARGS__})

/*
 * `v`, of which only the first `count` elements along `axis` are valid: sliced
 * if the count is constant; else bounded, or E0714 without -allow-bounded.
 */
glow_value *import_bounded(import_node *n, glow_value *v, int axis,
                           glow_value *count);

/* True with -train. */
bool import_trains(const import_node *n);
/* -train: the number of runs so far, index64<>, which is state. */
glow_value *import_counter(import_node *n);
/*
 * -train: saves `from` to the placeholder that `to` will be, if `to` is a weight.
 * False after a report.
 */
bool import_save_later(import_node *n, glow_value *from, glow_value *to);

/* Interned types. */
const glow_type *import_type(import_node *n, glow_kind kind, glow_dims shape);

/* Return `v` if there is nothing to do. */
glow_value *import_transpose(import_node *n, glow_value *v, glow_dims shuffle);
glow_value *import_reshape(import_node *n, glow_value *v, glow_dims shape);
glow_value *import_broadcast(import_node *n, glow_value *v, glow_dims shape);
glow_value *import_convert(import_node *n, glow_value *v, glow_kind kind);
/* The same, with the attributes saturate and round_mode. */
glow_value *import_cast(import_node *n, glow_value *v, glow_kind kind);
/* Elements [start, start + size) of one axis. */
glow_value *import_cut(import_node *n, glow_value *v, int axis, int64_t start,
                       int64_t size);
/* Sets the results to slices of `v` along one axis, of the given sizes. */
bool import_parts(import_node *n, glow_value *v, int axis,
                  const int64_t *sizes);

/* A splat, as a node, and as a constant. */
glow_value *import_splat(import_node *n, glow_kind kind, glow_dims shape,
                         double v);
glow_value *import_constant_splat(import_node *n, glow_kind kind,
                                  glow_dims shape, double v, int64_t exact);
/* A constant for a tensor; takes over its reference. */
glow_value *import_constant_of(import_node *n, glow_tensor *t);
glow_value *import_constant_ints(import_node *n, glow_dims shape,
                                 const int64_t *at);

/*
 * The shape of numpy's broadcasting of two shapes; E0711 if they are
 * incompatible.
 */
glow_dims import_broadcast_shape(import_node *n, glow_dims a, glow_dims b);
/* An operator of two operands, broadcast to each other. */
glow_value *import_binary(import_node *n, const glow_op *op, glow_value *a,
                          glow_value *b);
/* With a number as the second. */
glow_value *import_binary_number(import_node *n, const glow_op *op,
                                 glow_value *a, double b);
/* v * by; `v` itself if that is 1. */
glow_value *import_scale(import_node *n, glow_value *v, float by);

/*
 * Attention: [B, S, H D] as [B, H, S, D], which rank 4 is already; NULL after E0711,
 * which calls it `what`.  And back.
 */
glow_value *import_split_heads(import_node *n, glow_value *v, int64_t heads,
                               const char *what);
glow_value *import_join_heads(import_node *n, glow_value *v);
/* The rows of `past` [B, H, P, D], which may be NULL, then those of `v`. */
glow_value *import_after_past(import_node *n, glow_value *past, glow_value *v);
/* Sets a result beyond the first, if the node has it. */
void import_give(import_node *n, int result, glow_value *v);

/*
 * Quantization: see integer.c.  Scales and zero points are one number or a list along
 * `axis`; an omitted zero point is 0.
 */
glow_value *import_quantize(import_node *n, glow_value *x, glow_value *scale,
                            glow_value *zero, glow_kind kind);
glow_value *import_dequantize(import_node *n, glow_value *q, glow_value *scale,
                              glow_value *zero, int axis);
/* uint8, by the range of `x`: DynamicQuantizeLinear. */
glow_value *import_quantize_dynamically(import_node *n, glow_value *x,
                                        glow_value **scale, glow_value **zero);
/* The functions of QuantizeLinear and DequantizeLinear. */
bool import_quantize_linear(import_node *n);
bool import_dequantize_linear(import_node *n);

/* NCHW to NHWC of any rank, and back. */
glow_value *import_to_nhwc(import_node *n, glow_value *v);
glow_value *import_to_nchw(import_node *n, glow_value *v);

/* Spatial attributes of convolution and pooling. */
typedef struct import_window {
    glow_dims kernels, strides, dilation;
    glow_dims pads; /* all starts, then all ends */
    int spatial;    /* axes */
} import_window;
/*
 * Reads the window of input `x` in NCHW; `kernel` is the shape of the weights'
 * kernel, or NULL.
 */
bool import_read_window(import_node *n, const glow_value *x,
                        const glow_dims *kernel, import_window *out);

/*
 * The end pad of axis `i` of an input of `size` elements, as far as the windows of
 * ceil_mode reach.
 */
int64_t import_window_reach(const import_window *w, int i, int64_t size);
/*
 * AveragePool of `x`, in NCHW.  With `whole` and count_include_pad a window that ends
 * beyond the pads is divided by its whole size, as ONNX Runtime does; ONNX divides by
 * the elements and pads within it.
 */
glow_value *import_average_pool(import_node *n, glow_value *x, bool whole);

/* The import. */

typedef struct import_options {
    const char *path;
    const char *function;         /* "main" */
    const char *const (*dims)[2]; /* -dim NAME=SIZE */
    size_t n_dims;
    const char *const (*shapes)[2]; /* -shape NAME=1x3x224x224 */
    size_t n_shapes;
    const char *const (*bind)[2]; /* -bind NAME=FILE.npy */
    size_t n_bind;
    bool allow_unknown; /* -allow-unknown: keep operators of other domains */
    const char *const (*lengths)[2]; /* -length NAME=3, NAME=none */
    size_t n_lengths;
    bool allow_bounded; /* -allow-bounded */
    const char *train;  /* -train: the file for the weights; NULL: constants */
    /* Reads the array of -bind, which must be of a type; false after a report. */
    bool (*read_array)(glow_context *ctx, const char *path,
                       const glow_type *want, glow_tensor *out);
} import_options;

/*
 * The module of a parsed model, or of one converted from another format, whose
 * bytes `owner` keeps.  Verified; NULL after reports.
 */
glow_module *import_proto(glow_context *ctx, const import_options *options,
                          const import_dialect *dialect,
                          const Onnx__ModelProto *model, glow_data *owner);
/* The same of the ONNX model in a file. */
glow_module *import_model(glow_context *ctx, const import_options *options);

#endif
