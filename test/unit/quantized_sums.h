/*
 * Quantized operands that are drawn, with full ranges and offsets at both ends, and results
 * of every kind, which loops over int64 expect.
 */

#ifndef GLOW_TEST_QUANTIZED_SUMS_H
#define GLOW_TEST_QUANTIZED_SUMS_H

#include "unit.h"

#include "glow/build.h"
#include "glow/eval.h"
#include "glow/ops.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_IN 7

typedef enum fill { FILL_RANDOM, FILL_LEAST, FILL_MOST, FILL_ENDS } fill;

typedef struct test {
    glow_context *ctx;
    glow_arena *arena;
    uint64_t seed;
} test;

static inline uint64_t
draw(test *t)
{
    t->seed = t->seed * 6364136223846793005u + 1442695040888963407u;
    return t->seed >> 33;
}

static inline int64_t
least_of(glow_kind kind)
{
    return kind == GLOW_INT8Q    ? INT8_MIN
           : kind == GLOW_UINT8Q ? 0
           : kind == GLOW_INT16Q ? INT16_MIN
                                 : INT32_MIN;
}

static inline int64_t
most_of(glow_kind kind)
{
    return kind == GLOW_INT8Q    ? INT8_MAX
           : kind == GLOW_UINT8Q ? UINT8_MAX
           : kind == GLOW_INT16Q ? INT16_MAX
                                 : INT32_MAX;
}

static const glow_type *
quantized(test *t, glow_kind kind, float scale, int64_t offset, glow_dims shape)
{
    glow_type type = glow_type_of(kind, shape);

    type.scale = scale;
    type.offset = (int32_t)offset;
    return glow_type_get(t->ctx, type);
}

static inline glow_tensor
drawn(test *t, const glow_type *type, fill how)
{
    glow_tensor x = glow_tensor_new(type);
    int64_t least = least_of(type->elem), most = most_of(type->elem);

    for (int64_t i = 0; i < glow_type_count(type); i++) {
        int64_t v = least + (int64_t)(draw(t) % (uint64_t)(most - least + 1));

        if (how == FILL_LEAST || (how == FILL_ENDS && draw(t) % 2))
            v = least;
        else if (how == FILL_MOST || how == FILL_ENDS)
            v = most;
        glow_set_int(&x, i, v);
    }
    return x;
}

/* Runs `op` by its eval; the result is new. */
static inline glow_tensor
run(test *t, const glow_op *op, const void *attrs, glow_tensor *in, int count,
    const glow_type *type)
{
    glow_module *m = glow_module_new(t->ctx);
    glow_func *f = glow_func_new(m, "main");
    glow_builder *b = glow_builder_new(t->arena, f, NULL);
    glow_arena *scratch = glow_arena_new();
    glow_value *v[MOST_IN];
    glow_tensor *at[MOST_IN], y = glow_tensor_new(type), *out = &y;

    for (int i = 0; i < count; i++) {
        at[i] = in[i].type ? &in[i] : NULL;
        v[i] = at[i] ? &glow_placeholder_new(m, "x", in[i].type)->value : NULL;
    }

    glow_node *n = glow_build_node(b, op, &type, 1, v, count, attrs);

    assert_non_null(n);
    assert_ptr_equal(n->out[0]->type, type);
    assert_true(glow_eval_node(n, at, &out, scratch));
    glow_arena_free(scratch);
    glow_module_free(m);
    return y;
}

/* The element for a sum in units of `unit`: loops of this file only. */
static inline int64_t
expected(const glow_type *to, int64_t sum, double unit)
{
    volatile float ratio = (float)(unit / (double)to->scale);
    volatile float product = (float)sum * ratio;
    double x = to->elem == GLOW_INT32Q
                   ? (double)sum * (unit / (double)to->scale)
                   : (double)product;
    double q = rint(x) + (double)to->offset;

    if (q < (double)least_of(to->elem))
        return least_of(to->elem);
    return q > (double)most_of(to->elem) ? most_of(to->elem) : (int64_t)q;
}

/* Parameters of the channels of a result. */
typedef struct channel {
    double unit;    /* of the sums */
    int64_t offset; /* of the weights */
    int64_t bias;
} channel;

static inline void
check(const glow_tensor *got, int64_t at, int64_t sum, const channel *c,
      const char *what)
{
    int64_t want = expected(got->type, sum + c->bias, c->unit);

    if (glow_get_int(got, at) != want)
        fail_msg("%s, %s: element %lld of a sum of %lld is %lld, but should be "
                 "%lld",
                 what, glow_kind_get(got->type->elem)->name, (long long)at,
                 (long long)sum, (long long)glow_get_int(got, at),
                 (long long)want);
}

/* Types of results: kinds, offsets at their ends, and multipliers. */
static const struct {
    glow_kind kind;
    int64_t offset;
    double multiplier;
} results_of[] = {
    {GLOW_INT8Q, 3, 0.5},       /* ties */
    {GLOW_INT8Q, -128, 0x1p-8}, /* ties, spread over the range */
    {GLOW_INT8Q, 127, 0x1p-20}, /* near 0 */
    {GLOW_UINT8Q, 0, 0.00390625 * (1 - FLT_EPSILON)},
    {GLOW_UINT8Q, 255, 1},
    {GLOW_INT16Q, -32768, 1 - FLT_EPSILON / 2},
    {GLOW_INT16Q, 0, 1.5}, /* above 1: ties of odd sums */
    {GLOW_INT32Q, 7, 1},
    {GLOW_INT32Q, 0, 3.7},
};

#define RESULTS ((int)(sizeof results_of / sizeof results_of[0]))

static const glow_type *
result_type(test *t, int i, double unit, glow_dims shape)
{
    return quantized(t, results_of[i].kind,
                     (float)(unit / results_of[i].multiplier),
                     results_of[i].offset, shape);
}

/* One drawing of the operands of a product. */
typedef struct operands {
    glow_tensor x, w, bias;
    channel *channels;
} operands;

static const float scales[] = {1, 0.25f, 0.0371f};

/*
 * A bias in the unit of the sums, or of another scale and offset, which is rounded to
 * that unit first.
 */
static inline void
draw_bias(test *t, operands *p, int64_t outputs, int round)
{
    static const glow_kind kinds[] = {GLOW_INT32Q, GLOW_INT32Q, GLOW_INT8Q,
                                      GLOW_INT16Q};
    double unit = (double)p->x.type->scale * (double)p->w.type->scale;
    glow_kind kind = kinds[round % 4];
    float scale = round % 4 == 0 ? (float)unit : (float)(unit * 2.5);
    int64_t offset = round % 4 == 0 ? 0 : -7;

    p->bias = drawn(t, quantized(t, kind, scale, offset, GLOW_DIMS_OF(outputs)),
                    FILL_RANDOM);
    for (int64_t o = 0; o < outputs; o++) {
        int64_t q = glow_get_int(&p->bias, o);

        if (kind == GLOW_INT32Q) /* sums stay within 31 bits */
            glow_set_int(&p->bias, o, q /= 1 << 14);
        p->channels[o].bias = (int64_t)rint(
            (double)(q - offset) * ((double)scale / (double)(float)unit));
    }
}

static inline operands
draw_operands(test *t, glow_kind x, glow_kind w, glow_dims x_shape,
              glow_dims w_shape, int64_t outputs, int round)
{
    int64_t x_offset[] = {least_of(x), most_of(x), -3};
    int64_t w_offset[] = {0, most_of(w), least_of(w), 5};
    float x_scale = scales[round % 3], w_scale = scales[round / 3 % 3];
    operands p = {.channels = GLOW_NEW_ARRAY(t->arena, channel, outputs)};

    p.x = drawn(t,
                quantized(t, x, x_scale,
                          x == GLOW_UINT8Q && round % 3 == 2
                              ? 131
                              : x_offset[round % 3],
                          x_shape),
                round % 4 == 3 ? FILL_ENDS : (fill)(round % 3));
    p.w = drawn(t, quantized(t, w, w_scale, w_offset[round % 4], w_shape),
                (fill)(round / 2 % 4));
    for (int64_t o = 0; o < outputs; o++)
        p.channels[o] = (channel){.unit = (double)x_scale * (double)w_scale,
                                  .offset = p.w.type->offset};
    draw_bias(t, &p, outputs, round);
    return p;
}

static inline void
end_operands(operands *p)
{
    glow_tensor_end(&p->x);
    glow_tensor_end(&p->w);
    glow_tensor_end(&p->bias);
}

/* Scales and offsets of `p` by channel, of the weights or of the bias. */
static inline glow_tensor
scales_of(test *t, const operands *p, int64_t outputs, bool of_bias)
{
    glow_tensor s = glow_tensor_new(
        glow_type_get(t->ctx, glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(outputs))));

    for (int64_t o = 0; o < outputs; o++) {
        float scale = of_bias ? (float)p->channels[o].unit * 0.5f
                              : 0.01f * (float)(1 + draw(t) % 100);

        glow_set_double(&s, o, (double)scale);
        if (!of_bias)
            p->channels[o].unit = (double)p->x.type->scale * (double)scale;
    }
    return s;
}

static inline glow_tensor
offsets_of(test *t, const operands *p, int64_t outputs, bool of_bias)
{
    glow_tensor s = glow_tensor_new(glow_type_get(
        t->ctx, glow_type_of(GLOW_INDEX32, GLOW_DIMS_OF(outputs))));
    static const int64_t offsets[] = {0, -128, 127, 3};

    for (int64_t o = 0; o < outputs; o++) {
        glow_set_int(&s, o, of_bias ? 9 : offsets[draw(t) % 4]);
        if (!of_bias)
            p->channels[o].offset = glow_get_int(&s, o);
    }
    return s;
}

/* The bias in units of the sum, by BiasScales and BiasOffsets. */
static inline void
rescale_bias(const operands *p, int64_t outputs, const glow_tensor *by,
             int64_t offset)
{
    for (int64_t o = 0; o < outputs; o++) {
        double unit = (double)(float)p->channels[o].unit;
        double scale =
            by ? glow_get_double(by, o) : (double)p->bias.type->scale;

        p->channels[o].bias = (int64_t)rint(
            (double)(glow_get_int(&p->bias, o) - offset) * (scale / unit));
    }
}

static inline int
setup(void **state)
{
    test *t = calloc(1, sizeof *t);

    t->ctx = glow_context_new();
    t->arena = glow_arena_new();
    t->seed = 1;
    *state = t;
    return 0;
}

static inline int
teardown(void **state)
{
    test *t = *state;

    glow_arena_free(t->arena);
    glow_context_free(t->ctx);
    free(t);
    return 0;
}

#endif
