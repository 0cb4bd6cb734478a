/*
 * The state of an import: private to the files that make up the importer.
 */

#ifndef GLOW_TRANSLATE_IMPORT_STATE_H
#define GLOW_TRANSLATE_IMPORT_STATE_H

#include "tools/glow-translate/import/list.h"

/* A function that is being built for a node to call. */
typedef struct import_body {
    glow_func *func;
    struct import_body *outer; /* enclosing body; NULL: the model's graph */
    glow_storage **in;         /* formals of the inputs */
    int n_in;
    glow_value **given; /* free variables: values of the enclosing function, */
    glow_storage **as;  /* and their formals */
    int n_given;
    size_t cap_given, cap_as;
} import_body;

/* A placeholder that is a formal of a body. */
typedef struct import_formal {
    glow_storage *storage;
    const glow_func *func;
    struct import_formal *next;
} import_formal;

/* The values around a subgraph. */
typedef struct import_scope {
    glow_map *values;
    import_body *body; /* the body of the values */
    const struct import_scope *outer;
} import_scope;

/*
 * The constants for the initializers of a subgraph, which may be built many
 * times.
 */
typedef struct import_constants {
    const Onnx__GraphProto *graph;
    import_item *items; /* by initializer */
    struct import_constants *next;
} import_constants;

/* A call of a function that is being expanded. */
typedef struct import_call {
    const Onnx__FunctionProto *function;
    const char *name; /* of the calling node */
    /* By attribute of the function: NULL if there is none. */
    const char *const *names;
    const Onnx__AttributeProto *const *values;
    size_t n_attributes;
    const struct import_call *outer;
} import_call;

/*
 * A value of which only the first `count` elements along an axis are valid; see
 * bounded.c.
 */
typedef struct import_bound {
    const glow_value *value;
    glow_value *count; /* of a formal: NULL until it is asked for */
    int axis;
    import_body *body; /* of a formal: it, and the bound of the free variable */
    struct import_bound *outer;
    struct import_bound *next;
} import_bound;

/* An integer that sizes decide: at most `most`; its value, or NULL for `most`. */
typedef struct import_extent {
    int64_t most;
    glow_value *count;
} import_extent;

/* The elements of a value that is computed of such sizes; see extent.c. */
typedef struct import_extents {
    const glow_value *value;
    int count;
    const import_extent *at;
    const struct import_extents *next;
} import_extents;

/* Where the valid elements of concatenated tensors are; see compact.c. */
typedef struct import_compaction {
    int n_in;
    int64_t *sizes;      /* of each operand along the axis */
    glow_value **counts; /* NULL: all of it is valid */
    glow_value *at, *count;
    const glow_func *func;
    const struct import_compaction *next;
} import_compaction;

struct importer {
    const import_options *options;
    const import_dialect *dialect;
    glow_context *ctx;
    glow_arena *arena;   /* lives as long as the import */
    glow_arena *scratch; /* of evaluations */
    const char *path;
    const char *file; /* the last part of it, for locations */
    const Onnx__ModelProto *model;
    const Onnx__GraphProto *graph; /* the current graph: the model's, or a
                                    * subgraph */
    const char *where;       /* the nodes around it, for messages; or "" */
    int depth;               /* of subgraphs and calls */
    const import_call *call; /* the function of `graph`, or NULL */
    int opset;
    tensor_file tensors;

    glow_module *module;
    glow_func *entry; /* of the model's graph */
    glow_func *func;  /* the current function: `entry` or a body */
    glow_builder *builder;
    import_formal *formals;    /* the last first */
    import_body *body;         /* the body of `func`; NULL: the model's graph */
    glow_map *values;          /* import_item by the model's name */
    import_body *home;         /* the body of `values` */
    const import_scope *outer; /* the enclosing scope of `graph` */
    import_constants *constants;
    glow_map *outputs; /* names of outputs, reserved */

    import_bound *bounds;
    const import_extents *extents;
    const import_compaction *compactions;

    int64_t folded, fold_limit; /* bytes of constants made by evaluation */
    int64_t fold_work;          /* operations spent on them */
    size_t built;               /* nodes built, repeated ones counted again */
    int calls;                  /* of functions */
    glow_map *weights;          /* of -train, by the name of their storage */
    glow_value *counter;        /* of runs, for random numbers; or NULL */
    bool *bound; /* options that were used: dims, shapes, binds, lengths */
};

/* -train: see keep.c.  Marks an initializer as a weight, if it is one. */
void import_keep(importer *im, glow_storage *s);
bool import_is_weight(const importer *im, const glow_value *v);
/* Makes placeholders of the weights; false after a report. */
bool import_free_weights(importer *im);

/* The item of a name in this graph or an enclosing one. */
import_item import_lookup(importer *im, const char *name);
/* The same; *named: the name is defined, possibly as an omitted operand. */
import_item import_find(importer *im, const char *name, bool *named);
/* Defines or redefines a name in this graph. */
void import_set(importer *im, const char *name, import_item item);
/* The same for a new name; false after E0706. */
bool import_define(importer *im, const char *name, import_item item,
                   const char *what);
/* False after a report of all operators of im->graph that have no row. */
bool import_check_operators(importer *im);
/* Defines the initializers of im->graph, and builds its nodes. */
bool import_initializers(importer *im);
bool import_nodes(importer *im);
/* The indices of im->graph's nodes, operands first; NULL after a report. */
const size_t *import_order(importer *im);

/*
 * The operator of a node, "Conv"; its name, or else that of its first result;
 * its text for messages.
 */
const char *import_op_name(const Onnx__NodeProto *p);
const char *import_node_name(const importer *im, size_t i);
const char *import_node_text(const importer *im, size_t i);

/* True for the domain of ONNX's own operators. */
bool import_is_standard(const char *domain);
/*
 * The version of a domain, of the function or else the model; 0: not imported.
 */
int import_version(const importer *im, const char *domain);
/* The row that builds a node, or NULL with the reason in *why. */
const import_row *import_resolve(importer *im, const Onnx__NodeProto *p,
                                 const char **why);

/* Nodes of other domains: see plugin.c. */
const import_row *import_find_foreign(importer *im, const Onnx__NodeProto *p,
                                      const char **why);
/* Glow's own names: see glow.c.  NULL if `name` is not one. */
const import_row *import_find_private(importer *im, const char *name);
/*
 * Gives *t the quantized or fused elements that `doc`, the documentation of `what`,
 * states in Glow's notation, if it does; see glowtype.c.  False after E0705 or E0709.
 */
bool import_noted_type(importer *im, const char *what, const char *doc,
                       glow_type *t);
/* Ignores attributes about Glow's execution of a node. */
void import_ignore_notes(import_node *n);

/* Functions of the model: see function.c. */
const Onnx__FunctionProto *import_find_function(const importer *im,
                                                const Onnx__NodeProto *p);
bool import_call_function(import_node *n);
/*
 * Attribute i of a node, or the function's attribute that it refers to; NULL if
 * there is none.
 */
const Onnx__AttributeProto *import_attribute(const import_node *n, size_t i);
/* The opset of ONNX's own operators in a list of imports; 0: none. */
bool import_opset(importer *im, const char *who,
                  Onnx__OperatorSetIdProto **list, size_t count, int *out);
/* E0704 if the nodes are of ONNX's own operators and im->opset is not known. */
bool import_needs_opset(importer *im, const char *who, Onnx__NodeProto **nodes,
                        size_t count);
/* Defines the graph's inputs, with the options of the command line. */
bool import_inputs(importer *im);
/* False for an open dimension: no value, or -1. */
bool import_has_size(const Onnx__TensorShapeProto__Dimension *d);

/*
 * Bodies: see body.c.  Between begin and end nodes are built in a new function,
 * called after the node and `name`, with a formal for each of `types`.
 */
void import_body_begin(import_node *n, import_body *b, const char *name,
                       const glow_type *const *types, int count);
void import_body_end(import_node *n, const import_body *b);
/* Saves results and lists the formals; after the end. */
bool import_body_returns(import_node *n, import_body *b, glow_value *const *out,
                         int n_out);
/* The item in the current body for `item` of body `from`. */
import_item import_bring(importer *im, import_item item,
                         const import_body *from);
/* Makes `v`, of the function around `b`, a free variable of it; returns the formal. */
glow_value *import_body_takes(importer *im, import_body *b, glow_value *v);
/* Lists placeholder `s` as a formal of `f`, which is erased with it. */
void import_add_formal(importer *im, const glow_func *f, glow_storage *s);
/* Erases the functions after `last` and their formals, after a failure. */
void import_forget_bodies(importer *im, glow_func *last);
/* A bound of `v`, or NULL if all of it is valid. */
const import_bound *import_bound_of(importer *im, const glow_value *v);
/* Another one of the same value, along another axis, or NULL. */
const import_bound *import_next_bound(importer *im, const import_bound *b);
/* The bound of `v` along an axis, or NULL. */
const import_bound *import_bound_at(importer *im, const glow_value *v,
                                    int axis);
/* All of `v` is valid, as ONNX demands it where it is used. */
void import_forget_bounds(importer *im, const glow_value *v);
/*
 * Records that `formal` of body `b` is `v`: it is bounded alike, or holds the same
 * sizes.  The count becomes a free variable when it is asked for.
 */
void import_bring_bound(importer *im, import_body *b, const glow_value *formal,
                        const glow_value *v);
void import_bring_extents(importer *im, import_body *b,
                          const glow_value *formal, const glow_value *v);
/* False after E0714 if result i of a body is bounded. */
bool import_returns_whole(import_node *n, int i, const glow_value *v);
/* A name for a constant: `name` unless it is reserved for an output. */
const char *import_storage_name(importer *im, const char *name);

#endif
