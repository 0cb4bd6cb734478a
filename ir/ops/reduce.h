/* Reductions of tensors along axes, parametrized by a reducer. */

#ifndef IR_OPS_REDUCE_H
#define IR_OPS_REDUCE_H

#include "ir/ops/apply.h"

/* A reducer: initial value, combining function, final function. */
typedef struct glow_reducer {
    double start;
    glow_real2 real; /* of the partial result and an element */
    glow_int2 integer;
    /* Floats only: the result from the last partial result; NULL: the same. */
    double (*finish)(double sum, double count);
} glow_reducer;

/* Checks operand 0 and `axes`, and sets out[0], the type without these axes. */
bool glow_reduce_infer(const glow_node *n, glow_type out[], glow_dims axes,
                       int classes);
/* Computes `out`; returns true. */
bool glow_reduce_by(const glow_reducer *r, const glow_tensor *in,
                    const glow_tensor *out, glow_dims axes,
                    glow_arena *scratch);

/*
 * Defines the operator glow_op_ID with attributes glow_reduce, whose `eval` is
 * a reducer with the last arguments as its fields.  `takes` is float or number;
 * float_infer and float_words, or number_infer and number_words, must be
 * defined.
 */
#define GLOW_REDUCE(id, text, line, takes, more, formula, from, rule, ...)    \
    static bool id##_eval(const glow_node *n, glow_tensor *const in[],        \
                          glow_tensor *const out[], glow_arena *scratch)      \
    {                                                                         \
        static const glow_reducer how = {__VA_ARGS__};                        \
        const glow_reduce *r = n->attrs;                                      \
                                                                              \
        return glow_reduce_by(&how, in[0], out[0], r->axes, scratch);         \
    }                                                                         \
    const glow_op glow_op_##id = {                                            \
        .name = text,                                                         \
        .summary = line,                                                      \
        .in = {{"Batch", GLOW_TENSOR, "x: " takes##_words}},                  \
        .out = {{"Result", GLOW_TENSOR, "the shape of Batch without Axes"}},  \
        .attrs = {GLOW_FIELD(glow_reduce, axes, GLOW_DIMS,                    \
                             "the axes that become one element, ascending")}, \
        .traits = GLOW_PURE | (more),                                         \
        .infer = takes##_infer,                                               \
        .eval = id##_eval,                                                    \
        .doc = formula,                                                       \
        .source = from,                                                       \
        .derivative = rule,                                                   \
    }

#endif
