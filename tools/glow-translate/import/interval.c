/*
 * Interval analysis: the numbers that the elements of a value can be.
 *
 * A size that is computed of elements, such as the width of a box, has a bound where
 * these have: boxes are clipped to the image before.  Free variables of bodies are
 * followed to the functions around them.  Intervals of floats are widened by what
 * rounding may add.
 */

#include <math.h>

#include "glow/match.h"
#include "tools/glow-translate/import/follow.h"

#define MAX_VISITED 2048
#define MAX_DEPTH 200
/* Rounding of one operation on floats, by the magnitude; float16 has more. */
#define ROUNDING 1e-6
#define ROUNDING_HALF 1e-2
/* Constants of more elements are not looked at. */
#define MAX_ELEMENTS 65536
/* Integers up to this stay integers of 32 bits, and floats, in the operations around. */
#define MOST_EXACT 1073741824.0

static const import_interval unknown = {-INFINITY, INFINITY};

typedef struct analysis {
    importer *im;
    int count, depth;
    const glow_value *value[MAX_VISITED];
    import_interval of[MAX_VISITED];
} analysis;

static import_interval interval(analysis *a, const glow_value *v);

static import_interval
hull(import_interval x, import_interval y)
{
    return (import_interval){fmin(x.lo, y.lo), fmax(x.hi, y.hi)};
}

static import_interval
of_tensor(const glow_tensor *t)
{
    int64_t count = t ? glow_type_count(t->type) : 0;
    import_interval r = {INFINITY, -INFINITY};
    bool number =
        t && (glow_is_float(t->type->elem) || glow_is_int(t->type->elem));

    if (!number || count == 0 || count > MAX_ELEMENTS)
        return unknown;
    for (int64_t i = 0; i < count; i++) {
        double x = glow_is_float(t->type->elem) ? glow_get_double(t, i)
                                                : (double)glow_get_int(t, i);

        if (isnan(x))
            return unknown;
        r = hull(r, (import_interval){x, x});
    }
    return r;
}

/* Products and quotients, of which infinities by zero are unknown. */
static import_interval
corners(double a, double b, double c, double d)
{
    if (isnan(a) || isnan(b) || isnan(c) || isnan(d))
        return unknown;
    return (import_interval){fmin(fmin(a, b), fmin(c, d)),
                             fmax(fmax(a, b), fmax(c, d))};
}

static import_interval
of_arithmetic(const glow_op *op, import_interval x, import_interval y)
{
    if (op == &glow_op_add)
        return (import_interval){x.lo + y.lo, x.hi + y.hi};
    if (op == &glow_op_sub)
        return (import_interval){x.lo - y.hi, x.hi - y.lo};
    if (op == &glow_op_max)
        return (import_interval){fmax(x.lo, y.lo), fmax(x.hi, y.hi)};
    if (op == &glow_op_min)
        return (import_interval){fmin(x.lo, y.lo), fmin(x.hi, y.hi)};
    if (op == &glow_op_mul)
        return corners(x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi);
    if (y.lo > 0 || y.hi < 0)
        return corners(x.lo / y.lo, x.lo / y.hi, x.hi / y.lo, x.hi / y.hi);
    return unknown;
}

static import_interval
of_all(analysis *a, const glow_node *d, int from, int to)
{
    import_interval r = {INFINITY, -INFINITY};

    for (int i = from; i < to; i++)
        r = hull(r, interval(a, d->in[i]));
    return from < to ? r : unknown;
}

/* Operators whose results are elements of operands [from, to), or zeros. */
static const struct {
    const glow_op *op;
    int from, to; /* -1: all */
    bool zeros;
} moving[] = {
    {&glow_op_bound, 0, 1, true},    {&glow_op_broadcast, 0, 1, false},
    {&glow_op_concat, 0, -1, false}, {&glow_op_copy, 0, 1, false},
    {&glow_op_gather, 0, 1, true},   {&glow_op_gathernd, 0, 1, true},
    {&glow_op_relu, 0, 1, true},     {&glow_op_reshape, 0, 1, false},
    {&glow_op_select, 1, 3, false},  {&glow_op_slice, 0, 1, false},
    {&glow_op_tile, 0, 1, false},    {&glow_op_transpose, 0, 1, false},
};

static const glow_op *const arithmetic[] = {
    &glow_op_add,
    &glow_op_sub,
    &glow_op_mul,
    &glow_op_div,
};

static bool
is_arithmetic(const glow_op *op)
{
    for (size_t i = 0; i < sizeof arithmetic / sizeof *arithmetic; i++)
        if (arithmetic[i] == op)
            return true;
    return false;
}

/* True if an integer kind holds the numbers, so that none of them wraps around. */
static bool
fits(glow_kind kind, import_interval x)
{
    const glow_kind_info *k = glow_kind_get(kind);
    double end = ldexp(1, k->bits - k->is_signed);

    return x.lo >= (k->is_signed ? -end : 0) && x.hi < end;
}

/* Widened by rounding; of integers, unknown where these may overflow. */
static import_interval
rounded(const glow_type *t, import_interval x)
{
    double by = fmax(fabs(x.lo), fabs(x.hi));

    if (isnan(x.lo) || isnan(x.hi))
        return unknown;
    if (!glow_is_float(t->elem))
        return by < MOST_EXACT && fits(t->elem, x) ? x : unknown;
    if (isinf(by))
        return x;
    by *= t->elem == GLOW_FLOAT || t->elem == GLOW_FLOAT64 ? ROUNDING
                                                           : ROUNDING_HALF;
    return (import_interval){x.lo - by, x.hi + by};
}

/* Functions of one operand that do not decrease. */
static const struct {
    const glow_op *op;
    double (*of)(double x);
    bool rounds;
} increasing[] = {
    {&glow_op_ceil, ceil, false},   {&glow_op_exp, exp, true},
    {&glow_op_floor, floor, false}, {&glow_op_round, rint, false},
    {&glow_op_sqrt, sqrt, true},    {&glow_op_truncate, trunc, false},
};

static import_interval
of_function(analysis *a, const glow_node *d)
{
    const glow_clip *c = glow_attrs_if(d, &glow_op_clip);
    import_interval x;

    if (d->op == &glow_op_sigmoid || d->op == &glow_op_softmax)
        return (import_interval){0, 1};
    if (d->op == &glow_op_tanh)
        return (import_interval){-1, 1};
    if (c) {
        x = interval(a, d->in[0]);
        return of_arithmetic(
            &glow_op_min, (import_interval){(double)c->max, (double)c->max},
            of_arithmetic(&glow_op_max, x,
                          (import_interval){(double)c->min, (double)c->min}));
    }
    for (size_t i = 0; i < sizeof increasing / sizeof *increasing; i++)
        if (increasing[i].op == d->op) {
            x = interval(a, d->in[0]);
            x.lo = increasing[i].of(x.lo);
            x.hi = increasing[i].of(x.hi);
            return increasing[i].rounds ? rounded(d->out[0]->type, x) : x;
        }
    if (d->op != &glow_op_neg)
        return unknown;
    x = interval(a, d->in[0]);
    return (import_interval){-x.hi, -x.lo};
}

/*
 * The greatest or least element along axes: of operands that were put together along one of
 * them, the greatest of all greatest, which is at least the greatest of all least.
 */
static import_interval
of_extreme(analysis *a, const glow_node *d)
{
    glow_dims axes = ((const glow_reduce *)d->attrs)->axes;
    bool along = false;
    const glow_node *parts = d->in[0]->def;
    const glow_concat *c = parts ? glow_attrs_if(parts, &glow_op_concat) : NULL;
    const glow_op *op =
        d->op == &glow_op_batchedreducemax ? &glow_op_max : &glow_op_min;
    import_interval r;

    for (int i = 0; c && i < axes.rank; i++)
        along |= axes.at[i] == c->dim;
    if (!along)
        return interval(a, d->in[0]);
    r = interval(a, parts->in[0]);
    for (int i = 1; i < parts->n_in; i++)
        r = of_arithmetic(op, r, interval(a, parts->in[i]));
    return r;
}

/* A conversion to integers cuts the fraction off; others may round. */
static import_interval
of_conversion(analysis *a, const glow_node *d)
{
    import_interval x = interval(a, d->in[0]);
    glow_kind to = d->out[0]->type->elem;

    if (glow_is_float(to))
        return x;
    if (!glow_is_int(to) || to == GLOW_BOOL)
        return unknown;
    if (!glow_is_float(d->in[0]->type->elem) &&
        glow_kind_get(to)->bits < glow_kind_get(d->in[0]->type->elem)->bits &&
        !fits(to, x))
        return unknown;
    return (import_interval){trunc(x.lo), trunc(x.hi)};
}

static import_interval
of_node(analysis *a, const glow_node *d)
{
    double splat;

    if (glow_splat_value(d->out[0], &splat))
        return (import_interval){splat, splat};
    for (size_t i = 0; i < sizeof moving / sizeof *moving; i++)
        if (moving[i].op == d->op) {
            import_interval r =
                of_all(a, d, moving[i].from,
                       moving[i].to < 0 ? d->n_in : moving[i].to);

            return moving[i].zeros ? hull(r, (import_interval){0, 0}) : r;
        }
    if (d->op == &glow_op_max || d->op == &glow_op_min)
        return of_arithmetic(d->op, interval(a, d->in[0]),
                             interval(a, d->in[1]));
    if (is_arithmetic(d->op))
        return rounded(
            d->out[0]->type,
            of_arithmetic(d->op, interval(a, d->in[0]), interval(a, d->in[1])));
    if (d->op == &glow_op_batchedreducemax ||
        d->op == &glow_op_batchedreducemin)
        return of_extreme(a, d);
    return d->op == &glow_op_convertto ? of_conversion(a, d)
                                       : of_function(a, d);
}

/* The value around the bodies that formal `v` is, or NULL; the number of a trip. */
static const glow_value *
outside(analysis *a, const glow_value *v, bool *number)
{
    for (const import_body *b = a->im->body; b; b = b->outer) {
        *number = b->n_in > 0 && &b->in[0]->value == v &&
                  v->type->elem == GLOW_INDEX64;
        if (*number)
            return NULL;
        for (int i = 0; i < b->n_given; i++)
            if (&b->as[i]->value == v)
                return b->given[i];
    }
    return NULL;
}

static import_interval
of_storage(analysis *a, const glow_value *v)
{
    const glow_value *o;
    bool number = false;

    if (glow_is_constant(v))
        return of_tensor(glow_constant_tensor(v->storage));
    o = outside(a, v, &number);
    if (o)
        return interval(a, o);
    return number ? (import_interval){0, INFINITY} : unknown;
}

/* Elements, and the numbers of elements, that operators of several results select. */
static import_interval
of_selection(analysis *a, const glow_value *v)
{
    const glow_node *d = v->def;
    const glow_type *x = d->n_in > 0 && d->in[0] ? d->in[0]->type : NULL;
    double most = 1;

    for (int i = 0; x && i < x->shape.rank; i++)
        most = fmax(most, (double)x->shape.at[i]);
    if (d->op == &glow_op_nonzero && v->index == 0)
        return (import_interval){0, most - 1};
    if (d->op == &glow_op_topk)
        return v->index == 0 ? interval(a, d->in[0])
                             : (import_interval){0, most - 1};
    return unknown;
}

static import_interval
interval(analysis *a, const glow_value *v)
{
    import_interval r = unknown;

    for (int i = 0; i < a->count; i++)
        if (a->value[i] == v)
            return a->of[i];
    if (a->count == MAX_VISITED || a->depth == MAX_DEPTH ||
        !(glow_is_float(v->type->elem) || glow_is_int(v->type->elem)))
        return unknown;
    a->depth++;
    if (v->storage)
        r = of_storage(a, v);
    else if (v->def && !v->def->pred)
        r = v->def->n_out == 1 ? of_node(a, v->def) : of_selection(a, v);
    a->depth--;
    if (a->count < MAX_VISITED) {
        a->value[a->count] = v;
        a->of[a->count++] = r;
    }
    return r;
}

import_interval
import_interval_of(importer *im, const glow_value *v)
{
    analysis *a = GLOW_NEW(im->scratch, analysis);

    a->im = im;
    return interval(a, v);
}
