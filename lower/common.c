#include "lower/common.h"

#include <stdlib.h>

/* The dense type that elementwise results of `v` have. */
static const glow_type *
dense(glow_builder *b, const glow_type *type)
{
    glow_type t = *type;

    t.strides = (glow_dims){0};
    return glow_type_get(glow_builder_context(b), t);
}

/*
 * Splat holds a float; a value that a float cannot hold is a constant of one
 * element, repeated.
 */
glow_value *
glow_lower_splat(glow_builder *b, const glow_type *type, double v)
{
    if (type->elem == GLOW_FLOAT64 && (double)(float)v != v) {
        glow_type scalar = glow_type_of(GLOW_FLOAT64, (glow_dims){0});

        return glow_lower_spread(
            b,
            glow_build_splat(b, "scalar",
                             glow_type_get(glow_builder_context(b), scalar), v),
            0, type->shape);
    }
    return glow_build(b, &glow_op_splat, dense(b, type), NULL, 0,
                      &(const glow_splat){.value = (float)v});
}

glow_value *
glow_lower_splat_int(glow_builder *b, const glow_type *type, int64_t v)
{
    glow_type scalar = glow_type_of(type->elem, (glow_dims){0});
    glow_value *one;

    if ((double)(float)v == (double)v && llabs(v) < INT64_C(1) << 53)
        return glow_lower_splat(b, type, (double)v);
    one = glow_build_splat(
        b, "scalar", glow_type_get(glow_builder_context(b), scalar), (double)v);
    if (!one)
        return NULL;
    one->storage->splat_int = v;
    return glow_lower_spread(b, one, 0, type->shape);
}

glow_value *
glow_lower_spread(glow_builder *b, glow_value *v, int axis, glow_dims shape)
{
    return GLOW_BUILD(b, broadcast, GLOW_IN(v), .axis = axis,
                      .target_dim = shape);
}

glow_value *
glow_lower_convert(glow_builder *b, glow_value *v, glow_kind kind)
{
    if (!v || v->type->elem == kind)
        return v;
    return GLOW_BUILD_STATED_PLAIN(
        b, convertto,
        glow_type_get(glow_builder_context(b),
                      glow_type_of(kind, v->type->shape)),
        GLOW_IN(v));
}

glow_value *
glow_lower_cut(glow_builder *b, glow_value *v, int axis, int64_t start,
               int64_t size)
{
    glow_type type;
    glow_dims from = {0};

    if (!v || (start == 0 && size == v->type->shape.at[axis]))
        return v;
    type = *dense(b, v->type);
    from.rank = type.shape.rank;
    from.at[axis] = start;
    type.shape.at[axis] = size;
    return GLOW_BUILD_STATED(b, slice,
                             glow_type_get(glow_builder_context(b), type),
                             GLOW_IN(v), .start = from);
}

glow_value *
glow_lower_plus(glow_builder *b, glow_value *x, double y)
{
    return x ? glow_build_add(b, x, glow_lower_splat(b, x->type, y)) : NULL;
}

glow_value *
glow_lower_times(glow_builder *b, glow_value *x, double y)
{
    return x ? glow_build_mul(b, x, glow_lower_splat(b, x->type, y)) : NULL;
}

glow_value *
glow_lower_by(glow_builder *b, glow_value *x, double y)
{
    return x ? glow_build_div(b, x, glow_lower_splat(b, x->type, y)) : NULL;
}

glow_value *
glow_lower_pow(glow_builder *b, glow_value *x, double y)
{
    if (!x)
        return NULL;
    return GLOW_BUILD_PLAIN(b, pow,
                            GLOW_IN(x, glow_lower_splat(b, x->type, y)));
}

bool
glow_lower_is_short(glow_kind kind)
{
    return kind == GLOW_FLOAT16 || kind == GLOW_BFLOAT16;
}

glow_value *
glow_lower_from(glow_builder *b, double x, glow_value *y)
{
    return y ? glow_build_sub(b, glow_lower_splat(b, y->type, x), y) : NULL;
}

glow_value *
glow_lower_over(glow_builder *b, double x, glow_value *y)
{
    return y ? glow_build_div(b, glow_lower_splat(b, y->type, x), y) : NULL;
}

glow_value *
glow_lower_below(glow_builder *b, glow_value *x, double y)
{
    if (!x)
        return NULL;
    return GLOW_BUILD_PLAIN(b, cmplt,
                            GLOW_IN(x, glow_lower_splat(b, x->type, y)));
}

glow_value *
glow_lower_gated(glow_builder *b, glow_value *x, double least)
{
    if (!x)
        return NULL;
    return GLOW_BUILD_PLAIN(b, max,
                            GLOW_IN(x, glow_lower_splat(b, x->type, least)));
}

glow_value *
glow_lower_bounded(glow_builder *b, glow_value *x, double most)
{
    x = glow_lower_gated(b, x, -most);
    if (!x)
        return NULL;
    return GLOW_BUILD_PLAIN(b, min,
                            GLOW_IN(x, glow_lower_splat(b, x->type, most)));
}

glow_value *
glow_lower_signed(glow_builder *b, glow_value *x, glow_value *y)
{
    glow_value *below = glow_lower_below(b, x, 0);

    return glow_build_select(b, below, glow_build_neg(b, y), y);
}

/*
 * Kahan's formula: log(u) is the logarithm of u = 1 + x as it was rounded, so
 * the rounding error of log(u) / (u - 1), which hardly changes with u, is
 * small.  For larger x, and for infinity, the plain formula.
 */
glow_value *
glow_lower_log1p(glow_builder *b, glow_value *x)
{
    glow_value *u = glow_lower_plus(b, x, 1), *d = glow_lower_plus(b, u, -1);
    glow_value *l = glow_build_log(b, u), *none, *y;

    if (!l)
        return NULL;
    y = glow_build_mul(b, l, glow_build_div(b, x, d));
    none =
        GLOW_BUILD_PLAIN(b, cmpeq, GLOW_IN(d, glow_lower_splat(b, x->type, 0)));
    y = glow_build_select(b, none, x, y);
    return glow_build_select(b, glow_lower_below(b, x, 0.5), y, l);
}

/* 2 t / (1 - t) with t = tanh(x / 2). */
glow_value *
glow_lower_expm1(glow_builder *b, glow_value *x)
{
    glow_value *t = glow_lower_times(b, x, 0.5), *rest;

    t = GLOW_BUILD_PLAIN(b, tanh, GLOW_IN(t));
    rest = glow_lower_from(b, 1, t);
    return glow_build_div(b, glow_build_add(b, t, t), rest);
}

glow_value *
glow_lower_strays(glow_builder *b, glow_value *r, glow_value *y)
{
    glow_value *below = glow_lower_below(b, r, 0), *some;

    below = GLOW_BUILD_PLAIN(b, xor, GLOW_IN(below, glow_lower_below(b, y, 0)));
    if (!below)
        return NULL;
    some = GLOW_BUILD_PLAIN(b, cmpneq,
                            GLOW_IN(r, glow_lower_splat(b, r->type, 0)));
    return GLOW_BUILD_PLAIN(b, and, GLOW_IN(some, below));
}

glow_value *
glow_lower_epilogue(glow_builder *b, glow_value *sum, glow_value *addend,
                    int activation, glow_floats args)
{
    const glow_op *op = glow_fused_activation(activation);

    if (addend && sum)
        sum = glow_build_add(b, sum,
                             glow_build_reshape(b, addend, sum->type->shape));
    if (!op)
        return sum;
    return glow_build(
        b, op, NULL, GLOW_IN(sum),
        glow_fused_attrs(glow_builder_scratch(b), activation, args));
}
