/*
 * Interface of the ONNX exporter for the functions of operators.
 *
 * A row of a table is one Glow operator.  Its function writes equivalent ONNX
 * nodes: any number of steps, each with a new result, and a last node whose
 * results are those of the Glow node.  Attributes go to the node that was
 * written last.
 */

#ifndef GLOW_TRANSLATE_EXPORT_H
#define GLOW_TRANSLATE_EXPORT_H

#include "glow/ops.h"

/* The opset of models without newer operators or element kinds. */
#define EXPORT_OPSET 17

typedef struct exporter exporter;

typedef struct export_row {
    const glow_op *op;
    bool (*run)(exporter *e, const glow_node *n);
    const char *name; /* of the ONNX operator, for functions of many rows */
} export_row;

/* The rows of each file, ending with one without an operator. */
extern const export_row export_bounded_rows[];
extern const export_row export_control_rows[];
extern const export_row export_elementwise_rows[];
extern const export_row export_index_rows[];
extern const export_row export_layout_rows[];
extern const export_row export_loss_rows[];
extern const export_row export_product_rows[];
extern const export_row export_quantized_rows[];
extern const export_row export_recurrent_rows[];
extern const export_row export_signal_rows[];
extern const export_row export_resize_rows[];
extern const export_row export_sample_rows[];
extern const export_row export_weights_rows[];
extern const export_row export_window_rows[];

/*
 * Conditions on nodes of operators with a row; other nodes cannot be expressed
 * in opset 17 and are lowered.
 */
typedef struct export_limit {
    const glow_op *op;
    bool (*can)(const glow_node *n);
} export_limit;
extern const export_limit export_resize_limits[];
extern const export_limit export_sample_limits[];
extern const export_limit export_weights_limits[];

/* The opset since which ONNX has a conversion of quantized elements; 0: `n` is none. */
int export_quantized_opset(const glow_node *n);
/* The opset since which ONNX has the weights in blocks of `n`, or 0. */
int export_weights_opset(const glow_node *n);

/* Reports E0720 at the node; returns false. */
bool export_refuse(exporter *e, const glow_node *n, const char *fmt, ...)
    GLOW_PRINTF(3, 4);
/* False for a BitCast between quantized elements and their integers, which are the same in
   ONNX, and for other nodes. */
bool export_casts_bits(const glow_node *n);
/* The current row. */
const export_row *export_this(const exporter *e);

/* The opset of the model. */
int export_opset(const exporter *e);

/* The name of operand i in the model, "" where it is omitted. */
const char *export_in(exporter *e, const glow_node *n, int i);

#define NAMES(...)                      \
    (const char *const[]){__VA_ARGS__}, \
        (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *))

/* Writes an ONNX node with one new result, whose name it returns. */
const char *export_step(exporter *e, const glow_node *n, const char *type,
                        const char *const *in, int n_in);
/* The same with several results, whose names go to `out`. */
void export_steps(exporter *e, const glow_node *n, const char *type,
                  const char *const *in, int n_in, const char **out, int n_out);
/* Writes the last node, with the results of `n`; returns true. */
bool export_last(exporter *e, const glow_node *n, const char *type,
                 const char *const *in, int n_in);
/* Writes a Cast of `x`; returns its result. */
const char *export_cast(exporter *e, const glow_node *n, const char *x,
                        glow_kind kind);
/* Makes `x` result i; returns true. */
bool export_identity(exporter *e, const glow_node *n, int i, const char *x);

/* Attributes of the ONNX node written last. */
void export_int(exporter *e, const char *name, int64_t v);
void export_ints(exporter *e, const char *name, const int64_t *at, int count);
void export_dims(exporter *e, const char *name, glow_dims d);
void export_float(exporter *e, const char *name, float v);
void export_string(exporter *e, const char *name, const char *text);
void export_float_list(exporter *e, const char *name, const float *at,
                       int count);
void export_strings(exporter *e, const char *name, const char *const *texts,
                    int count);

void export_string_list(exporter *e, const char *name, const char *const *at,
                        int count);

/* Operators of other domains: see foreign.c. */
bool export_is_foreign(const glow_node *n);
bool export_foreign(exporter *e, const glow_node *n);
/* The domain of the ONNX node written last, which the model then imports. */
void export_domain(exporter *e, const char *domain, size_t size);
/* States the type of a value, for readers that cannot infer it. */
void export_state_type(exporter *e, const glow_value *v);

/*
 * An attribute that is a graph: body `f`.  in[i] is the name of its Input i in
 * the model, or NULL where that is an input of the graph.  False after reports.
 */
bool export_body(exporter *e, const char *attribute, glow_func *f,
                 const char *const *in);

/* New constants: a list of int64, of float, and a scalar of a kind. */
const char *export_list(exporter *e, const glow_node *n, const int64_t *at,
                        int count);
const char *export_dims_list(exporter *e, const glow_node *n, glow_dims d);
const char *export_floats(exporter *e, const glow_node *n, const float *at,
                          int count);
const char *export_number(exporter *e, const glow_node *n, glow_kind kind,
                          double v);
/* A tensor whose bytes live as long as the export. */
const char *export_constant(exporter *e, const glow_node *n,
                            const glow_type *type, const void *bytes);
glow_arena *export_arena(exporter *e);
glow_module *export_module(exporter *e);
glow_context *export_context(exporter *e);

/* Common steps; they return `x` if there is nothing to do. */
const char *export_transpose(exporter *e, const glow_node *n, const char *x,
                             glow_dims perm);
const char *export_reshape(exporter *e, const glow_node *n, const char *x,
                           glow_dims shape);
/* Axes of NHWC in the order of NCHW, and back, for any rank. */
glow_dims export_to_nchw(int rank);
glow_dims export_to_nhwc(int rank);

/* Bounded values: see bounded.c. */

typedef struct export_bound {
    int axis;
    const glow_value *count; /* number of valid elements */
} export_bound;

/* The bound that was set for a value, or NULL. */
const export_bound *export_bound_of(exporter *e, const glow_value *v);
void export_set_bound(exporter *e, const glow_value *v, export_bound b);
/* Propagates the bounds of operands to results, before a node is written. */
bool export_follow_bounds(exporter *e, const glow_node *n);
/*
 * The bounded axis of a placeholder, and the name of its count; -1 if not
 * bounded.
 */
int export_placeholder_axis(const glow_storage *s, const char **count);
/* True if a placeholder is the count of another. */
bool export_is_count(const glow_module *m, const glow_storage *s);

/*
 * Writes the graph function of `m` (`function`, or the only one if NULL) as a
 * model to `path`.  False after reports.
 */
bool export_model(glow_module *m, const char *function, const char *path);

#endif
