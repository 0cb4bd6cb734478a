/* Recognition of nodes that are affine maps by constants. */

#include "passes/graph/common/affine.h"

#include <math.h>

#include "glow/match.h"
#include "glow/reach.h"

#define MOST_STEPS 8 /* from an operand back to its constant */

#define MOST_NUMBERS 4 /* a batch normalization's, for each channel */

affine
glow_affine_new(glow_arena *a, int64_t channels)
{
    size_t bytes = (size_t)channels * sizeof(double);

    return (affine){channels, glow_arena_alloc(a, bytes + 1),
                    glow_arena_alloc(a, bytes + 1),
                    glow_arena_alloc(a, MOST_NUMBERS * bytes + 1)};
}

void
glow_affine_clear(affine *m)
{
    for (int64_t c = 0; c < m->channels; c++) {
        m->scale[c] = 1;
        m->shift[c] = 0;
    }
}

void
glow_affine_append(affine *m, const affine *next)
{
    for (int64_t c = 0; c < m->channels; c++) {
        m->scale[c] *= next->scale[c];
        m->shift[c] = m->shift[c] * next->scale[c] + next->shift[c];
    }
}

bool
glow_affine_is_scale(const affine *m)
{
    for (int64_t c = 0; c < m->channels; c++)
        if (m->shift[c] != 0)
            return false;
    return true;
}

bool
glow_affine_is_shift(const affine *m)
{
    for (int64_t c = 0; c < m->channels; c++)
        if (m->scale[c] != 1)
            return false;
    return true;
}

bool
glow_affine_is_positive(const affine *m)
{
    for (int64_t c = 0; c < m->channels; c++)
        if (!(m->scale[c] > 0))
            return false;
    return true;
}

/* Numbers. */

bool
glow_affine_is_known(const glow_value *v)
{
    return glow_is_constant(v) && glow_is_float(v->type->elem) &&
           v->type->strides.rank == 0 && v->storage->payload != GLOW_ELIDED;
}

/*
 * The axis of `to` with the size and stride of axis `axis` of `from`; -1 if
 * there is none.
 */
static int
same_axis(glow_dims from, glow_dims to, int axis)
{
    int64_t inner = glow_dims_product(from, axis + 1, from.rank);

    for (int i = to.rank - 1; i >= 0; i--)
        if (to.at[i] == from.at[axis] &&
            glow_dims_product(to, i + 1, to.rank) == inner)
            return i;
    return -1;
}

/*
 * The axis of the operand of a broadcast for `axis` of its result; -1: it does
 * not vary along it.
 */
static int
broadcast_axis(const glow_node *n, int axis)
{
    const glow_broadcast *c = n->attrs;
    glow_dims x = n->in[0]->type->shape;
    int i = axis - c->axis;

    return axis >= 0 && i >= 0 && i < x.rank && x.at[i] != 1 ? i : -1;
}

/*
 * One step from `v` back to the operand whose elements it repeats or moves;
 * *axis follows, and is -1 for a tensor of one value.
 */
static const glow_value *
step_back(const glow_value *v, int *axis)
{
    const glow_node *n = v->def;
    const glow_transpose *t = n && !n->pred ? GLOW_AS(transpose, n) : NULL;

    if (!n || n->pred)
        return NULL;
    if (t) {
        *axis = *axis < 0 ? -1 : (int)t->shuffle.at[*axis];
        return n->in[0];
    }
    if (n->op == &glow_op_broadcast) {
        *axis = broadcast_axis(n, *axis);
        return n->in[0];
    }
    if (n->op != &glow_op_reshape)
        return NULL;
    if (*axis >= 0) {
        *axis = same_axis(v->type->shape, n->in[0]->type->shape, *axis);
        return *axis < 0 ? NULL : n->in[0];
    }
    return n->in[0];
}

/*
 * Reads one number for each channel from a constant that repeats it along all
 * other axes.
 */
static bool
read_constant(const glow_value *v, int axis, int64_t channels, double *out)
{
    const glow_tensor *t = glow_constant_tensor(v->storage);
    glow_dims shape = v->type->shape;
    int64_t count = glow_dims_count(shape);
    int64_t inner =
        axis < 0 ? count : glow_dims_product(shape, axis + 1, shape.rank);
    int64_t own = axis < 0 ? 1 : channels;

    for (int64_t i = 0, c = 0; t && i < count; c = c + 1 == own ? 0 : c + 1) {
        if (i < own * inner)
            out[c] = glow_get_double(t, i);
        for (int64_t k = 0; k < inner; k++, i++)
            if (!(glow_get_double(t, i) == out[c]))
                return false;
    }
    for (int64_t c = own; t && c < channels; c++)
        out[c] = out[0];
    return t;
}

bool
glow_affine_numbers(const glow_value *v, int axis, int64_t channels,
                    double *out)
{
    double number;

    if (glow_splat_value(v, &number)) {
        for (int64_t c = 0; c < channels; c++)
            out[c] = number;
        return true;
    }
    for (int i = 0; v && v->def && i < MOST_STEPS; i++)
        v = step_back(v, &axis);
    if (!v || !glow_affine_is_known(v) || glow_type_count(v->type) == 0)
        return false;
    return read_constant(v, axis, channels, out);
}

/* Nodes. */

typedef void (*step_fn)(double *scale, double *shift, double c);

static void
add(double *scale, double *shift, double c)
{
    (void)scale;
    *shift += c;
}

static void
subtract(double *scale, double *shift, double c)
{
    (void)scale;
    *shift -= c;
}

static void
subtract_from(double *scale, double *shift, double c)
{
    *scale = -*scale;
    *shift = c - *shift;
}

static void
multiply(double *scale, double *shift, double c)
{
    *scale *= c;
    *shift *= c;
}

static void
divide(double *scale, double *shift, double c)
{
    *scale /= c;
    *shift /= c;
}

/* Binary operators: the map by a number on the right, or on the left. */
static const struct pair {
    const glow_op *op;
    step_fn right, left; /* of x; NULL: not an affine map */
    int lost;            /* leading axes of x that the right operand lacks */
} pairs[] = {
    {&glow_op_add, add, add, 0},
    {&glow_op_batchedadd, add, NULL, 1},
    {&glow_op_batchedmul, multiply, NULL, 1},
    {&glow_op_div, divide, NULL, 0},
    {&glow_op_mul, multiply, multiply, 0},
    {&glow_op_sub, subtract, subtract_from, 0},
};

/* Unary operators, with a number in their attributes. */
static double
minus_one(const glow_node *n)
{
    (void)n;
    return -1;
}

static double
lhs_of(const glow_node *n)
{
    const glow_mulconst *m = n->attrs;

    return (double)m->lhs;
}

static const struct single {
    const glow_op *op;
    step_fn step;
    double (*number)(const glow_node *n);
} singles[] = {
    {&glow_op_mulconst, multiply, lhs_of},
    {&glow_op_neg, multiply, minus_one},
    {&glow_op_rsubconst, subtract_from, lhs_of},
};

static bool
then_pair(affine *m, const glow_node *u, const struct pair *p,
          const glow_value *x, int axis)
{
    double *c = m->work;
    bool is_left = u->in[0] == x;
    step_fn step = is_left ? p->right : p->left;

    if (!step || u->in[0] == u->in[1] || axis < p->lost ||
        !glow_affine_numbers(u->in[is_left], axis - p->lost, m->channels, c))
        return false;
    for (int64_t i = 0; i < m->channels; i++)
        step(&m->scale[i], &m->shift[i], c[i]);
    return true;
}

static bool
then_batchnorm(affine *m, const glow_node *u, const glow_value *x, int axis)
{
    const glow_batchnormalization *bn = u->attrs;
    int64_t n = m->channels;
    double *p[MOST_NUMBERS]; /* scale, bias, mean, variance */

    if (u->in[0] != x || bn->channel_idx != axis)
        return false;
    for (int i = 0; i < MOST_NUMBERS; i++) {
        p[i] = m->work + i * n;
        if (u->in[1 + i] == x || !glow_affine_numbers(u->in[1 + i], 0, n, p[i]))
            return false;
    }
    for (int64_t c = 0; c < n; c++) {
        subtract(&m->scale[c], &m->shift[c], p[2][c]);
        multiply(&m->scale[c], &m->shift[c],
                 p[0][c] / sqrt(p[3][c] + (double)bn->epsilon));
        add(&m->scale[c], &m->shift[c], p[1][c]);
    }
    return true;
}

static bool
is_finite(const affine *m)
{
    for (int64_t c = 0; c < m->channels; c++)
        if (!isfinite(m->scale[c]) || !isfinite(m->shift[c]))
            return false;
    return true;
}

static bool
then(affine *m, const glow_node *u, const glow_value *x, int axis)
{
    for (size_t i = 0; i < sizeof singles / sizeof singles[0]; i++)
        if (singles[i].op == u->op) {
            for (int64_t c = 0; c < m->channels; c++)
                singles[i].step(&m->scale[c], &m->shift[c],
                                singles[i].number(u));
            return true;
        }
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (pairs[i].op == u->op)
            return then_pair(m, u, &pairs[i], x, axis);
    return u->op == &glow_op_batchnormalization &&
           then_batchnorm(m, u, x, axis);
}

bool
glow_affine_then(affine *m, const glow_node *u, const glow_value *x, int axis)
{
    return !u->pred && axis >= 0 && glow_is_float(x->type->elem) &&
           then(m, u, x, axis) && is_finite(m);
}

bool
glow_affine_must_divide(const affine *m, glow_pass_run *run, const glow_node *u)
{
    if (u->op != &glow_op_div)
        return false;
    for (int64_t c = 0; c < m->channels; c++)
        if (!glow_is_exact_divisor(m->work[c]))
            return glow_run_reaches_jump(run, u);
    return false;
}

/*
 * A cheap test whether `v` can be a number: a constant, or a node of constants.
 */
static bool
is_number_like(const glow_value *v)
{
    int axis = -1;

    for (int i = 0; v && v->def && i < MOST_STEPS; i++) {
        if (v->def->op == &glow_op_splat)
            return true;
        v = step_back(v, &axis);
    }
    return v && glow_is_constant(v);
}

glow_value *
glow_affine_operand(const glow_node *u)
{
    for (size_t i = 0; i < sizeof singles / sizeof singles[0]; i++)
        if (singles[i].op == u->op)
            return u->in[0];
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (pairs[i].op != u->op)
            continue;
        if (is_number_like(u->in[1]))
            return u->in[0];
        return pairs[i].left && is_number_like(u->in[0]) ? u->in[1] : NULL;
    }
    return u->op == &glow_op_batchnormalization ? u->in[0] : NULL;
}
