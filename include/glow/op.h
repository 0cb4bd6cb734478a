/*
 * Operators: everything that can be known of one without running it, in one
 * constant.
 *
 * The node `%y = Relu(%x) : float<4>` and the instruction
 * `relu @out %y, @in %x` have the same definition; the instruction's name is
 * the operator's in lower case.
 */

#ifndef GLOW_OP_H
#define GLOW_OP_H

#include "glow/attr.h"
#include "glow/tensor.h"

GLOW_BEGIN

#define GLOW_MAX_OPERANDS 12
#define GLOW_MAX_RESULTS 4

typedef struct glow_node glow_node;
typedef struct glow_op glow_op;
typedef struct glow_derivative glow_derivative;
typedef struct glow_tiling glow_tiling;

/* Kinds of operands. */
typedef enum glow_operand_kind {
    GLOW_NO_OPERAND, /* ends a table */
    GLOW_TENSOR,     /* exactly one value */
    GLOW_OPTIONAL,   /* one value or `_` */
    GLOW_VARIADIC,   /* `[a, b]`: any number; at most one such operand.  As a
                        result: any number, and no other entry */
    GLOW_WRITTEN,    /* a placeholder that the node writes (Save) */
} glow_operand_kind;

typedef struct glow_operand {
    const char *name; /* "Input", "Filter" */
    glow_operand_kind kind;
    const char *doc;
} glow_operand;

/* Result `out` may share the buffer of operand `in` (an index into op->in). */
typedef struct glow_inplace {
    int out;
    int in;
} glow_inplace;

typedef enum glow_trait {
    GLOW_PURE = 1 << 0,      /* results depend on operands alone: may be folded,
                                merged with an equal node, removed if unused */
    GLOW_LAYOUT = 1 << 1,    /* moves elements and computes nothing: each
                                element of a result is one of an operand's */
    GLOW_PRIMITIVE = 1 << 2, /* in the set that every backend has */
    GLOW_ELEMENTWISE = 1 << 3, /* result[i] depends on operands' [i] alone;
                                  all tensors have the shape of the result */
    GLOW_COMMUTATIVE = 1 << 4, /* the first two operands may change places */
    GLOW_STATED = 1 << 5,      /* the result type is stated, not inferred: infer
                             finds it in out[] and checks it */
    GLOW_REDUCTION = 1 << 6,   /* sums: reordering changes rounding */
    GLOW_STRUCTURAL = 1 << 7,  /* alloc, dealloc, weight, tensorview, Save: the
                                 IR's own, known to irgen and verifier */
    GLOW_UNKNOWN = 1 << 8, /* kept verbatim: never removed, merged or moved */
    GLOW_PROGRAM_ONLY = 1 << 9, /* has no node form */
    GLOW_GRAPH_ONLY = 1 << 10,  /* has no instruction form: irgen replaces it */
    GLOW_DISCONTINUOUS = 1 << 11, /* a float result jumps where an operand that
                                     is a float changes by a rounding (Floor);
                                     results of other kinds need no trait: see
                                     glow_is_discontinuous */
    /* Of floats of 16 bits (convert-precision): */
    GLOW_ROUNDS_ONCE = 1 << 12, /* computes them in float and rounds each result
                                   once, as element-wise and layout operators do */
    GLOW_PRODUCT = 1 << 13,   /* sums of products, which are faster of 16 bits;
                                   rounds once */
    GLOW_SENSITIVE = 1 << 14, /* mixed precision keeps it in float: it
                                   normalizes, sums, or magnifies the rounding of
                                   an operand */
} glow_trait;

/*
 * Checks a node and gives its result types.  `out` comes in holding the types
 * that the text states (elem GLOW_NO_KIND where it states none) and leaves
 * holding what they must be.  Returns false after glow_reject.  Reads n->op,
 * n->attrs, n->in[i]->type (NULL for an omitted operand), n->n_out, the formals of
 * functions that n->attrs names (glow_called), and nothing else; the number and
 * kind of the operands were checked before.
 */
typedef bool (*glow_infer_fn)(const glow_node *n, glow_type out[]);

/*
 * Computes the results.  in[i] is NULL for an omitted operand; out[i] is
 * allocated and its bytes are unset.  Element kinds are those of the tensors,
 * not of the node (a shadow run has float64 where the node has float); all are
 * dense.  `scratch` is emptied after the call.  Returns false after glow_reject
 * where the values of the operands have no meaning (an index out of range).
 */
typedef bool (*glow_eval_fn)(const glow_node *n, glow_tensor *const in[],
                             glow_tensor *const out[], glow_arena *scratch);

/* Floating-point operations of `n`: a multiply-add is two.  For reports. */
typedef int64_t (*glow_flops_fn)(const glow_node *n);

struct glow_op {
    const char *name;    /* "Convolution", "acme.Gather" */
    const char *summary; /* a line: "permute the axes of a tensor" */
    glow_operand in[GLOW_MAX_OPERANDS];
    glow_operand out[GLOW_MAX_RESULTS]; /* or one that is GLOW_VARIADIC */
    glow_field attrs[GLOW_MAX_FIELDS];
    const void *defaults; /* a whole attribute struct, if a field has one */
    int traits;           /* glow_trait */
    int version;          /* of attributes and defaults: 0 is the first */
    glow_infer_fn infer;
    glow_eval_fn eval;
    glow_inplace inplace[GLOW_MAX_OPERANDS]; /* `inplace_count` pairs */
    int inplace_count;
    glow_flops_fn flops; /* NULL: one for each element of the results */
    const char *doc;     /* formulas and rules, Markdown; may be NULL */
    const char *source;  /* where the meaning is written */
    /* The effect of small changes of operands on results; NULL: there is no rule, and
       differentiation lowers the node.  See derivative.h. */
    const glow_derivative *derivative;
    /* For members of later minor versions: an operator is known by its address, so
       a host cannot take a longer copy of an older one. */
    const void *reserved[2];
    /* The iteration space, for computing the node in pieces: see tiling.h.  False: it
       is computed whole.  NULL: so are all, but element-wise ones. */
    bool (*tile)(const glow_node *n, glow_tiling *out);
};

/* The table of attributes. */
GLOW_API glow_schema glow_op_schema(const glow_op *op);
GLOW_API int glow_op_operands(const glow_op *op); /* entries of op->in */
GLOW_API int glow_op_results(const glow_op *op);  /* entries of op->out */
/* True if a node may have any number of results, all as op->out[0] says. */
GLOW_API bool glow_op_any_results(const glow_op *op);
/* "Values"; of variadic results "Result0", "Result1" and so on. */
GLOW_API void glow_op_result_name(const glow_op *op, int i, char *out,
                                  size_t size);
/* True if attributes name functions, which eval runs. */
GLOW_API bool glow_op_calls(const glow_op *op);
/* The index in op->in of the variadic operand, or -1. */
GLOW_API int glow_op_variadic(const glow_op *op);
/* "convolution", "acme.gather": the name of the instruction. */
GLOW_API void glow_op_instr_name(const glow_op *op, char *out, size_t size);

/*
 * Refuses node `n`: reports E0203 at it, "Transpose: Shuffle names axis 7, but
 * the rank of Input is 2" (the name is put before the text), and returns false.
 */
GLOW_API bool glow_reject(const glow_node *n, const char *fmt, ...)
    GLOW_PRINTF(2, 3);

/*
 * The registry.  Registering checks the definition (names, tables, no clash)
 * and reports what is wrong with it.  All operators of the library are
 * registered by glow_context_new.
 */
GLOW_API bool glow_register_op(glow_context *ctx, const glow_op *op);
/* By the name of the node, or of the instruction; NULL if there is none. */
GLOW_API const glow_op *glow_find_op(const glow_context *ctx, const char *name);
GLOW_API const glow_op *glow_find_instr(const glow_context *ctx,
                                        const char *name);
/* All, by name; *count of them. */
GLOW_API const glow_op *const *glow_all_ops(const glow_context *ctx,
                                            size_t *count);

GLOW_END

#endif
