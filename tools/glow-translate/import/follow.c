/*
 * Rules for users of bounded values: the axis of the result that is bounded then.
 *
 * A node is built at the greatest sizes.  Its results from the zeros behind the valid
 * elements are overwritten by zeros again.  Here are computations on elements, samples
 * and rows; follow_layout.c has operators that move elements, follow_select.c those
 * that mix elements along the bounded axis.
 */

#include <string.h>

#include "tools/glow-translate/import/follow.h"

/* Operands. */
#define FIRST 1u
#define ALL (~0u)

int
import_follow_same(import_node *n, import_following *f)
{
    (void)n;
    return f->bound->axis;
}

/* An axis with as many elements as before. */
int
import_follow_kept(import_node *n, import_following *f)
{
    const import_bound *b = f->bound;
    glow_dims x = b->value->type->shape;

    for (int k = 0; k < n->n_out; k++)
        if (n->out[k] && (n->out[k]->type->shape.rank != x.rank ||
                          n->out[k]->type->shape.at[b->axis] != x.at[b->axis]))
            return IMPORT_REFUSED;
    return b->axis;
}

/* True if the first operand is bounded at all axes, from the end, where `v` is. */
static bool
covers(import_node *n, const import_following *f, const glow_value *v)
{
    const glow_value *first = f->bound->value;

    for (const import_bound *b = import_bound_of(n->im, v); b;
         b = import_next_bound(n->im, b))
        if (!import_bound_at(n->im, first,
                             first->type->shape.rank - v->type->shape.rank +
                                 b->axis))
            return false;
    return true;
}

/*
 * Element by element: bounded operands meet at the same axes, where all others are
 * repeated.
 */
static int
follow_elements(import_node *n, import_following *f)
{
    int end = f->bound->value->type->shape.rank - f->bound->axis;

    for (int i = 0; i < n->n_in; i++) {
        glow_dims s = import_shape(f->in[i]);
        const import_bound *b = import_bound_at(n->im, f->in[i], s.rank - end);

        if ((b ? !import_same_count(b->count, f->count)
               : s.rank >= end && s.at[s.rank - end] != 1) ||
            (f->in[i] != f->bound->value && !covers(n, f, f->in[i]))) {
            f->first = i; /* for the message */
            return IMPORT_REFUSED;
        }
    }
    return n->out[0]->type->shape.rank - end;
}

/* Divisors behind the valid ones must not be 0, if they are integers. */
static bool
prepare_divisor(import_node *n, import_following *f)
{
    (void)f;
    return !import_in(n, 1) || glow_is_float(n->in[1]->type->elem) ||
           import_fill(n, 1, 1);
}

/* Samples of a batch, one by one. */
static int
follow_samples(import_node *n, import_following *f)
{
    const import_bound *b = f->bound;
    int64_t most = b->value->type->shape.at[b->axis];

    return b->axis == 0 && n->out[0]->type->shape.rank > 0 &&
                   n->out[0]->type->shape.at[0] == most
               ? 0
               : IMPORT_REFUSED;
}

/* Normalization over the axes after that of the samples. */
static int
follow_layer_norm(import_node *n, import_following *f)
{
    int rank = f->bound->value->type->shape.rank;

    return import_axis_attr(n, -1, rank) == 0 ? IMPORT_REFUSED
                                              : follow_samples(n, f);
}

static int
follow_gemm(import_node *n, import_following *f)
{
    return import_flag(n, "transA", false) ? IMPORT_REFUSED
                                           : follow_samples(n, f);
}

/* Rows of the first operand, or matrices. */
static int
follow_matmul(import_node *n, import_following *f)
{
    glow_dims x = f->bound->value->type->shape, y = import_shape(n->in[1]);
    int end = x.rank - f->bound->axis;

    if (end == 1 || y.rank < 2 ||
        (end > 2 && y.rank >= end && y.at[y.rank - end] != 1))
        return IMPORT_REFUSED;
    return n->out[0]->type->shape.rank - end;
}

#define ELEMENTS(name)                                         \
    {name, ALL,  IMPORT_SAME | IMPORT_CLEARS | IMPORT_SEVERAL, \
     NULL, NULL, follow_elements}
#define SAMPLES(name) {name, FIRST, IMPORT_CLEARS, NULL, NULL, follow_samples}
static const import_rule computing[] = {
    ELEMENTS("Abs"),
    ELEMENTS("Add"),
    ELEMENTS("And"),
    ELEMENTS("Ceil"),
    ELEMENTS("Clip"),
    ELEMENTS("Cos"),
    ELEMENTS("Elu"),
    ELEMENTS("Equal"),
    ELEMENTS("Erf"),
    ELEMENTS("Exp"),
    ELEMENTS("Floor"),
    ELEMENTS("Gelu"),
    ELEMENTS("Greater"),
    ELEMENTS("GreaterOrEqual"),
    ELEMENTS("HardSigmoid"),
    ELEMENTS("HardSwish"),
    ELEMENTS("IsInf"),
    ELEMENTS("IsNaN"),
    ELEMENTS("LeakyRelu"),
    ELEMENTS("Less"),
    ELEMENTS("LessOrEqual"),
    ELEMENTS("Log"),
    ELEMENTS("Max"),
    ELEMENTS("Min"),
    ELEMENTS("Mul"),
    ELEMENTS("Neg"),
    ELEMENTS("Not"),
    ELEMENTS("Or"),
    ELEMENTS("Pow"),
    ELEMENTS("Reciprocal"),
    ELEMENTS("Relu"),
    ELEMENTS("Round"),
    ELEMENTS("Sigmoid"),
    ELEMENTS("Sign"),
    ELEMENTS("Sin"),
    ELEMENTS("Softplus"),
    ELEMENTS("Sqrt"),
    ELEMENTS("Sub"),
    ELEMENTS("Sum"),
    ELEMENTS("Tanh"),
    ELEMENTS("Where"),
    ELEMENTS("Xor"),
    {"Div", ALL, IMPORT_SAME | IMPORT_CLEARS, prepare_divisor, NULL,
     follow_elements},
    {"Mod", ALL, IMPORT_SAME | IMPORT_CLEARS, prepare_divisor, NULL,
     follow_elements},
    SAMPLES("AveragePool"),
    SAMPLES("BatchNormalization"),
    SAMPLES("Conv"),
    SAMPLES("ConvTranspose"),
    SAMPLES("GlobalAveragePool"),
    SAMPLES("GlobalMaxPool"),
    SAMPLES("InstanceNormalization"),
    {"LayerNormalization", FIRST, IMPORT_CLEARS, NULL, NULL, follow_layer_norm},
    SAMPLES("MaxPool"),
    {"Resize", FIRST, IMPORT_CLEARS | IMPORT_SEVERAL, NULL,
     import_bounded_resize, follow_samples},
    {"Gemm", FIRST, IMPORT_CLEARS, NULL, NULL, follow_gemm},
    {"MatMul", FIRST, IMPORT_CLEARS, NULL, NULL, follow_matmul},
    {"CumSum", FIRST, IMPORT_CLEARS, NULL, NULL, import_follow_same},
    {NULL, 0, 0, NULL, NULL, NULL},
};

const import_rule *
import_find_rule(const char *name)
{
    const import_rule *const all[] = {computing, import_layout_rules,
                                      import_select_rules};

    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        for (const import_rule *r = all[k]; r->name; r++)
            if (strcmp(r->name, name) == 0)
                return r;
    return NULL;
}
