/*
 * Interval analysis of values, by a table of transfer functions of operators.
 *
 * Bounds are of the rounded result in its element kind.  Rounding is monotone,
 * so it keeps bounds that every kind represents exactly, such as 0 and 1; other
 * bounds are used only if the kind represents them.
 */

#include "glow/range.h"

#include <math.h>

#include "glow/match.h"
#include "glow/ops.h"

#define MOST_NODES 24 /* visited for one query */
#define MOST_DEPTH 8

typedef struct asker {
    int left; /* nodes that may still be visited */
    int depth;
} asker;

static glow_range range_of(asker *a, const glow_value *v);

static const glow_range unknown = {-INFINITY, INFINITY};

static bool
is_float(const glow_node *n)
{
    return glow_is_float(n->out[0]->type->elem);
}

/* True if `v` is representable in the kind of `n`. */
static bool
holds(const glow_node *n, double v)
{
    switch (n->out[0]->type->elem) {
    case GLOW_FLOAT:
    case GLOW_FLOAT64:
        return (double)(float)v == v;
    case GLOW_FLOAT16:
        return (double)glow_half_to_float(glow_float_to_half((float)v)) == v;
    case GLOW_BFLOAT16:
        return (double)glow_bfloat_to_float(glow_float_to_bfloat((float)v)) ==
               v;
    default:
        return isinf(v) || (v == floor(v) && fabs(v) <= 100);
    }
}

/* The transfer function of an operator. */

typedef glow_range (*range_fn)(asker *a, const glow_node *n);

static glow_range
nonnegative(asker *a, const glow_node *n)
{
    (void)a, (void)n;
    return (glow_range){0, INFINITY};
}

static glow_range
magnitude(asker *a, const glow_node *n)
{
    return is_float(n) ? nonnegative(a, n) : unknown;
}

static glow_range
unit(asker *a, const glow_node *n)
{
    (void)a, (void)n;
    return (glow_range){0, 1};
}

static glow_range
symmetric(asker *a, const glow_node *n)
{
    (void)a, (void)n;
    return (glow_range){-1, 1};
}

static glow_range
of_clip(asker *a, const glow_node *n)
{
    const glow_clip *c = n->attrs;
    double min = (double)c->min, max = (double)c->max;

    (void)a;
    return (glow_range){min <= max && holds(n, min) ? min : -INFINITY,
                        holds(n, max) ? max : INFINITY};
}

static glow_range
of_relu(asker *a, const glow_node *n)
{
    glow_range x = range_of(a, n->in[0]);

    return (glow_range){fmax(x.lo, 0), fmax(x.hi, 0)};
}

static glow_range
of_max(asker *a, const glow_node *n)
{
    glow_range x = range_of(a, n->in[0]), y = range_of(a, n->in[1]);

    return (glow_range){fmax(x.lo, y.lo), fmax(x.hi, y.hi)};
}

static glow_range
of_min(asker *a, const glow_node *n)
{
    glow_range x = range_of(a, n->in[0]), y = range_of(a, n->in[1]);

    return (glow_range){fmin(x.lo, y.lo), fmin(x.hi, y.hi)};
}

/* The signs alone, because sums and products round. */
static glow_range
of_add(asker *a, const glow_node *n)
{
    glow_range x, y;

    if (!is_float(n))
        return unknown;
    x = range_of(a, n->in[0]);
    y = range_of(a, n->in[1]);
    return (glow_range){x.lo >= 0 && y.lo >= 0 ? 0 : -INFINITY,
                        x.hi <= 0 && y.hi <= 0 ? 0 : INFINITY};
}

static glow_range
of_mul(asker *a, const glow_node *n)
{
    glow_range x, y;

    if (!is_float(n))
        return unknown;
    if (n->in[0] == n->in[1])
        return (glow_range){0, INFINITY};
    x = range_of(a, n->in[0]);
    y = range_of(a, n->in[1]);
    return x.lo >= 0 && y.lo >= 0 ? (glow_range){0, INFINITY} : unknown;
}

/* x / y of x, y >= 0; y may be -0, so the sign is unknown. */
static glow_range
of_exp_quotient(asker *a, const glow_node *n)
{
    glow_range x, y;

    if (!is_float(n))
        return unknown;
    x = range_of(a, n->in[0]);
    y = range_of(a, n->in[1]);
    return x.lo >= 0 && y.lo > 0 ? (glow_range){0, INFINITY} : unknown;
}

/* The range of the first operand, for operators that only move elements. */
static glow_range
same(asker *a, const glow_node *n)
{
    return range_of(a, n->in[0]);
}

static glow_range
of_mean(asker *a, const glow_node *n)
{
    glow_range x = range_of(a, n->in[0]);

    return (glow_range){x.lo >= 0 ? 0 : -INFINITY, x.hi <= 0 ? 0 : INFINITY};
}

static glow_range
of_all(asker *a, const glow_node *n)
{
    glow_range all = {INFINITY, -INFINITY};

    for (int i = 0; i < n->n_in; i++) {
        glow_range x = range_of(a, n->in[i]);

        all = (glow_range){fmin(all.lo, x.lo), fmax(all.hi, x.hi)};
    }
    return n->n_in > 0 ? all : unknown;
}

static glow_range
of_select(asker *a, const glow_node *n)
{
    glow_range x = range_of(a, n->in[1]), y = range_of(a, n->in[2]);

    return (glow_range){fmin(x.lo, y.lo), fmax(x.hi, y.hi)};
}

static const struct {
    const glow_op *op;
    range_fn of;
} rows[] = {
    {&glow_op_abs, magnitude},
    {&glow_op_add, of_add},
    {&glow_op_avgpool, of_mean},
    {&glow_op_batchedreduceadd, of_mean},
    {&glow_op_batchedreducemax, same},
    {&glow_op_batchedreducemean, of_mean},
    {&glow_op_batchedreducemin, same},
    {&glow_op_batchedreducesumsquare, magnitude},
    {&glow_op_broadcast, same},
    {&glow_op_clip, of_clip},
    {&glow_op_concat, of_all},
    {&glow_op_copy, same},
    {&glow_op_cos, symmetric},
    {&glow_op_div, of_exp_quotient},
    {&glow_op_erf, symmetric},
    {&glow_op_exp, nonnegative},
    {&glow_op_flip, same},
    {&glow_op_hardsigmoid, unit},
    {&glow_op_max, of_max},
    {&glow_op_maxpool, same},
    {&glow_op_min, of_min},
    {&glow_op_mul, of_mul},
    {&glow_op_relu, of_relu},
    {&glow_op_reshape, same},
    {&glow_op_select, of_select},
    {&glow_op_sigmoid, unit},
    {&glow_op_sin, symmetric},
    {&glow_op_slice, same},
    {&glow_op_softmax, unit},
    {&glow_op_softplus, nonnegative},
    {&glow_op_sqrt, nonnegative},
    {&glow_op_tanh, symmetric},
    {&glow_op_tile, same},
    {&glow_op_transpose, same},
};

static glow_range
of_kind(const glow_type *t)
{
    const glow_kind_info *k = glow_kind_get(t->elem);

    if (k->klass == GLOW_CLASS_BOOL)
        return (glow_range){0, 1};
    return k->klass == GLOW_CLASS_INT && !k->is_signed
               ? (glow_range){0, INFINITY}
               : unknown;
}

static glow_range
of_node(asker *a, const glow_node *n)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].op == n->op)
            return rows[i].of(a, n);
    return unknown;
}

static glow_range
range_of(asker *a, const glow_value *v)
{
    glow_range r = of_kind(v->type), made = unknown;
    int klass = (int)glow_kind_get(v->type->elem)->klass;
    double x;

    if (a->left <= 0 || a->depth >= MOST_DEPTH ||
        (klass & (GLOW_CLASS_QUANTIZED | GLOW_CLASS_FUSED | GLOW_CLASS_LOW)))
        return unknown;
    a->left--;
    if (glow_splat_value(v, &x))
        return (glow_range){x, x};
    if (v->def && !v->def->pred && v->def->n_out == 1) {
        a->depth++;
        made = of_node(a, v->def);
        a->depth--;
    }
    return (glow_range){fmax(r.lo, made.lo), fmin(r.hi, made.hi)};
}

glow_range
glow_range_of(const glow_value *v)
{
    asker a = {.left = MOST_NODES};

    return range_of(&a, v);
}
