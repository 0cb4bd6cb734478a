/*
 * recognize-normalization: recognize layer, RMS and instance normalization in
 * arithmetic.
 *
 *     %m = [BatchedReduceMean(%x) {Axes: a, ..}]   [..]: broadcast to %x
 *     %d = %x - %m
 *     %v = BatchedReduceMean(%d * %d) {Axes: a, ..}
 *     %y = %d / [Sqrt(%v + e)]     =>  %y = LayerNormalization(%x) {Axis: a}
 *
 * and the same without %m, where %d is %x: RMSNormalization.  Each part is
 * matched in several forms:
 *
 *     %d * %d        or Pow by 2, or BatchedReduceSumSquare
 *     a mean         or a sum, divided by the count or times its reciprocal
 *     / Sqrt         or * by Rsqrt, Reciprocal of Sqrt, 1 / Sqrt, Pow by -0.5
 *     d * (r * s)    where a scale is multiplied to the root first
 *     x * i + (b - m * i), i = r * s: TensorFlow's, as a batch normalization
 *     - m            or + Neg(m)
 *
 * with operands in any order, e left out, and repetition and axes of one
 * element anywhere between.  The axes must be the last ones, or all but the
 * batch and one for the channels (InstanceNormalization); both means must be
 * over the same axes, and e not negative. merge-normalization-scale adds scale
 * and bias.
 *
 * The composite operator rounds once where the formula rounds at each step.
 * PyTorch writes the formula before opset 17, TensorFlow always.  Glow has no
 * such pass: its loaders build LayerNormalization from operators of that name.
 */

#include <math.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/trace.h"

/* y = (x - mean of x) / sqrt(variance + epsilon); without the mean: RMS. */
typedef struct norm {
    glow_value *x;
    glow_value *scale; /* of x's shape: y is multiplied by it; or NULL */
    glow_value *bias;  /* likewise added */
    glow_dims axes;
    double epsilon;
    bool is_centered;
} norm;

/*
 * Peels roots and reciprocals off: on return t->value^*power equals the former
 * value raised to the former *power, and t->value is neither a root nor a
 * reciprocal.
 */
static void
find_power(glow_trace *t, double *power)
{
    for (int i = 0; i < 4; i++) {
        const glow_node *n = t->value->def;
        double e;

        if (!n || n->pred)
            return;
        if (n->op == &glow_op_sqrt) {
            *power *= 0.5;
        } else if (n->op == &glow_op_rsqrt) {
            *power *= -0.5;
        } else if (n->op == &glow_op_reciprocal) {
            *power *= -1;
        } else if (n->op == &glow_op_pow && glow_splat_value(n->in[1], &e)) {
            *power *= e;
        } else if (n->op == &glow_op_div && glow_is_number(n->in[0], 1)) {
            *power *= -1;
            *t = glow_trace_into(t, 1);
            continue;
        } else {
            return;
        }
        *t = glow_trace_into(t, 0);
    }
}

/* Peels an added number e off `t` and returns it; 0 if there is none. */
static double
find_epsilon(glow_trace *t)
{
    const glow_node *n = glow_trace_def(t, &glow_op_add);
    double e = 0;

    for (int i = 0; n && i < 2; i++)
        if (glow_splat_value(n->in[i], &e)) {
            *t = glow_trace_into(t, 1 - i);
            return e;
        }
    return 0;
}

/* The number of elements that are reduced to one. */
static double
count_of(const glow_node *reduce)
{
    const glow_reduce *r = reduce->attrs;
    double count = 1;

    for (int i = 0; i < r->axes.rank; i++)
        count *= (double)reduce->in[0]->type->shape.at[r->axes.at[i]];
    return count;
}

/*
 * Moves `t` from sum / c or sum * (1 / c), for a number c, to the sum; *factor
 * is 1 / c.
 */
static bool
find_scaled(glow_trace *t, double *factor)
{
    const glow_node *div = glow_trace_def(t, &glow_op_div);
    const glow_node *mul = glow_trace_def(t, &glow_op_mul);
    double c;

    if (div && glow_splat_value(div->in[1], &c)) {
        *factor = 1 / c;
        *t = glow_trace_into(t, 0);
        return true;
    }
    for (int i = 0; mul && i < 2; i++)
        if (glow_splat_value(mul->in[i], factor)) {
            *t = glow_trace_into(t, 1 - i);
            return true;
        }
    return false;
}

/*
 * The reduction of the mean `t`: BatchedReduceMean, or the reduction `sum`
 * whose result is divided by the count; or NULL.
 */
static const glow_node *
find_mean(glow_trace t, const glow_op *sum)
{
    double factor = 1;
    bool is_scaled = false;

    if (!glow_trace_def(&t, &glow_op_batchedreducemean))
        is_scaled = find_scaled(&t, &factor);

    const glow_node *n = t.value->def;

    if (!n || n->pred)
        return NULL;
    if (n->op == &glow_op_batchedreducemean ? is_scaled : n->op != sum)
        return NULL;
    if (is_scaled && fabs(factor * count_of(n) - 1) > 1e-6)
        return NULL;
    if (n->op == sum && !is_scaled && count_of(n) != 1)
        return NULL;
    if (!glow_dims_equal(n->in[0]->type->shape, t.shape) ||
        !glow_trace_is_reduced(&t, ((const glow_reduce *)n->attrs)->axes))
        return NULL;
    return n;
}

/* d, if `v` is d * d, else NULL. */
static glow_value *
find_square(const glow_value *v)
{
    const glow_node *mul = glow_def(v, &glow_op_mul);
    const glow_node *power = glow_def(v, &glow_op_pow);

    if (mul && mul->in[0] == mul->in[1])
        return mul->in[0];
    if (power && glow_is_number(power->in[1], 2))
        return power->in[0];
    return NULL;
}

/* d, if `t` is the mean of d * d, else NULL; sets `*axes`. */
static glow_value *
find_mean_square(const glow_trace *t, glow_dims *axes)
{
    const glow_node *n = find_mean(*t, &glow_op_batchedreducesumsquare);
    bool is_squared = n && n->op == &glow_op_batchedreducesumsquare;

    if (!n)
        n = find_mean(*t, &glow_op_batchedreduceadd);
    if (!n || !glow_has_one_use(n->out[0]))
        return NULL;
    *axes = ((const glow_reduce *)n->attrs)->axes;
    return is_squared ? n->in[0] : find_square(n->in[0]);
}

/* True if `v` is the mean of x over `axes`, repeated along them. */
static bool
is_mean_of(glow_value *v, const glow_value *x, glow_dims axes)
{
    const glow_node *n =
        find_mean(glow_trace_begin(v), &glow_op_batchedreduceadd);

    return n && n->in[0] == x &&
           glow_dims_equal(((const glow_reduce *)n->attrs)->axes, axes);
}

/* x, if d is x minus its mean over `axes`; else NULL. */
static glow_value *
find_centered(const glow_value *d, glow_dims axes)
{
    const glow_node *sub = glow_def(d, &glow_op_sub);
    const glow_node *add = glow_def(d, &glow_op_add);

    if (sub && is_mean_of(sub->in[1], sub->in[0], axes))
        return sub->in[0];
    for (int i = 0; add && i < 2; i++) {
        glow_trace t = glow_trace_begin(add->in[i]);

        if (!glow_trace_def(&t, &glow_op_neg))
            continue;
        t = glow_trace_into(&t, 0);

        const glow_node *n = find_mean(t, &glow_op_batchedreduceadd);

        if (n && n->in[0] == add->in[1 - i] &&
            glow_dims_equal(((const glow_reduce *)n->attrs)->axes, axes))
            return add->in[1 - i];
    }
    return NULL;
}

/* True if `v`^power is 1 / sqrt(mean of d^2 + e): sets axes, epsilon, *d. */
static bool
find_root(glow_value *v, double power, norm *out, glow_value **d)
{
    glow_trace t = glow_trace_begin(v);

    find_power(&t, &power);
    if (power != -0.5)
        return false;
    out->epsilon = find_epsilon(&t);
    *d = find_mean_square(&t, &out->axes);
    return *d && out->epsilon >= 0;
}

/*
 * Matches find_root on `v`, or on r of a product v = r * s without other users;
 * then s is the scale.
 */
static bool
find_scaled_root(glow_value *v, norm *out, glow_value **d)
{
    const glow_node *mul = glow_only_def(v, &glow_op_mul);

    if (find_root(v, 1, out, d))
        return true;
    for (int i = 0; mul && i < 2; i++)
        if (find_root(mul->in[i], 1, out, d)) {
            out->scale = mul->in[1 - i];
            return true;
        }
    return false;
}

/* Matches y = d / root, d * (1 / root), d * (1 / root * s). */
static bool
match_quotient(const glow_node *n, norm *out)
{
    glow_value *top = NULL, *d = NULL;

    if (n->op == &glow_op_div) {
        top = find_root(n->in[1], -1, out, &d) ? n->in[0] : NULL;
    } else if (n->op == &glow_op_mul) {
        for (int i = 0; i < 2 && !top; i++)
            if (find_scaled_root(n->in[i], out, &d))
                top = n->in[1 - i];
    }
    if (!top || top != d)
        return false;
    out->x = find_centered(d, out->axes);
    out->is_centered = out->x;
    if (!out->x)
        out->x = d;
    return true;
}

/* True if `v` is m * i for the mean m over `axes` of x. */
static bool
is_mean_times(const glow_value *v, const glow_value *i, const norm *o)
{
    const glow_node *mul = glow_def(v, &glow_op_mul);

    for (int k = 0; mul && k < 2; k++)
        if (mul->in[k] == i && is_mean_of(mul->in[1 - k], o->x, o->axes))
            return true;
    return false;
}

/*
 * Matches y = x * i + (b - m * i), where i is 1 / root, possibly times a scale.
 */
static bool
match_sum(const glow_node *n, norm *out)
{
    for (int k = 0; n->op == &glow_op_add && k < 2; k++) {
        const glow_node *mul = glow_only_def(n->in[k], &glow_op_mul);
        const glow_node *sub = glow_only_def(n->in[1 - k], &glow_op_sub);

        for (int i = 0; mul && sub && i < 2; i++) {
            glow_value *d;
            const glow_node *root = mul->in[i]->def;
            norm o = {0};

            o.x = mul->in[1 - i];
            if (!find_root(mul->in[i], 1, &o, &d)) {
                if (!glow_is(root, &glow_op_mul) || root->pred)
                    continue;
                if (find_root(root->in[0], 1, &o, &d))
                    o.scale = root->in[1];
                else if (find_root(root->in[1], 1, &o, &d))
                    o.scale = root->in[0];
                else
                    continue;
            }
            if (find_centered(d, o.axes) != o.x ||
                !is_mean_times(sub->in[1], mul->in[i], &o))
                continue;
            o.bias = sub->in[0];
            o.is_centered = true;
            *out = o;
            return true;
        }
    }
    return false;
}

static bool
is_trailing(glow_dims axes, int rank)
{
    for (int i = 0; i < axes.rank; i++)
        if (axes.at[i] != rank - axes.rank + i)
            return false;
    return axes.rank > 0;
}

/*
 * The axis of the channels if `axes` are all axes but it and the first; or -1.
 */
static int
channel_axis(glow_dims axes, int rank)
{
    int64_t channel = (int64_t)rank * (rank - 1) / 2;

    if (rank < 3 || axes.rank != rank - 2 || axes.at[0] == 0)
        return -1;
    for (int i = 0; i < axes.rank; i++)
        channel -= axes.at[i];
    return (int)channel;
}

static glow_value *
instance_norm(glow_builder *b, const norm *o, int channel)
{
    const glow_type *x = o->x->type;
    glow_type t = glow_type_of(x->elem, GLOW_DIMS_OF(x->shape.at[channel]));
    const glow_type *type = glow_type_get(glow_builder_context(b), t);
    glow_value *scale = glow_build_splat(b, "scale", type, 1);
    glow_value *bias = glow_build_splat(b, "bias", type, 0);

    return GLOW_BUILD(b, instancenormalization, GLOW_IN(o->x, scale, bias),
                      .channel_idx = channel, .epsilon = (float)o->epsilon);
}

static glow_value *
build(glow_builder *b, const norm *o)
{
    int rank = o->x->type->shape.rank, channel;
    float epsilon = (float)o->epsilon;

    if (is_trailing(o->axes, rank) && o->is_centered)
        return GLOW_BUILD(b, layernormalization, GLOW_IN(o->x, NULL, NULL),
                          .axis = (int)o->axes.at[0], .epsilon = epsilon);
    if (is_trailing(o->axes, rank))
        return GLOW_BUILD(b, rmsnormalization, GLOW_IN(o->x, NULL),
                          .axis = (int)o->axes.at[0], .epsilon = epsilon);
    channel = channel_axis(o->axes, rank);
    return o->is_centered && channel > 0 ? instance_norm(b, o, channel) : NULL;
}

static glow_value *
recognize(glow_builder *b, glow_node *n)
{
    norm o = {0};
    glow_value *y;

    if (!match_quotient(n, &o) && !match_sum(n, &o))
        return NULL;
    if (o.x->type != n->out[0]->type || !isfinite(o.epsilon) ||
        (n->out[0]->type->elem == GLOW_FLOAT64 &&
         (double)(float)o.epsilon != o.epsilon))
        return NULL;
    y = build(b, &o);
    if (y && o.scale)
        y = GLOW_BUILD_PLAIN(b, mul, GLOW_IN(y, o.scale));
    if (y && o.bias)
        y = GLOW_BUILD_PLAIN(b, add, GLOW_IN(y, o.bias));
    return y;
}

static const glow_rewrite_row rows[] = {
    {&glow_op_add, recognize},
    {&glow_op_div, recognize},
    {&glow_op_mul, recognize},
    {0},
};

static bool
gives_floats(const glow_node *n)
{
    return glow_is_float(n->out[0]->type->elem) &&
           n->out[0]->type->strides.rank == 0;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite_each(pass, f, rows, gives_floats);
}

const glow_pass glow_pass_recognize_normalization = {
    .name = "recognize-normalization",
    .summary = "recognize layer, RMS and instance normalization",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .source = "Ba, Kiros, Hinton, arXiv:1607.06450; Zhang, Sennrich, "
              "arXiv:1910.07467; ONNX Runtime, LayerNormFusion",
};
