/*
 * Products of quantized elements, held to loops over int64: full ranges, offsets at both
 * ends, with pads, groups, strides and dilation, and results of every kind.
 */

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

/* A convolution of three spatial axes, of which the first may be left out. */
typedef struct conv {
    int axes;
    int64_t batch, in[3], channels, outputs, group;
    int64_t kernel[3], stride[3], start[3], end[3], dilation[3];
} conv;

static const conv shapes[] = {
    /* One line, one tap: depths at the ends of vectors. */
    {1, 1, {1, 1, 5}, 1, 3, 1, {1, 1, 1}, {1, 1, 1}, {0}, {0}, {1, 1, 1}},
    {1, 1, {1, 1, 5}, 3, 2, 1, {1, 1, 1}, {1, 1, 1}, {0}, {0}, {1, 1, 1}},
    {1, 1, {1, 1, 3}, 63, 9, 1, {1, 1, 1}, {1, 1, 1}, {0}, {0}, {1, 1, 1}},
    {1, 2, {1, 1, 3}, 64, 8, 1, {1, 1, 1}, {1, 1, 1}, {0}, {0}, {1, 1, 1}},
    {1, 1, {1, 1, 2}, 65, 17, 1, {1, 1, 1}, {1, 1, 1}, {0}, {0}, {1, 1, 1}},
    {1, 1, {1, 1, 2}, 4609, 3, 1, {1, 1, 1}, {1, 1, 1}, {0}, {0}, {1, 1, 1}},
    /* Pads, which are not the same on both sides. */
    {1,
     1,
     {1, 1, 7},
     4,
     5,
     1,
     {1, 1, 3},
     {1, 1, 1},
     {0, 0, 1},
     {0, 0, 2},
     {1, 1, 1}},
    {2,
     2,
     {1, 5, 6},
     8,
     6,
     2,
     {1, 3, 3},
     {1, 2, 1},
     {0, 1, 2},
     {0, 1, 0},
     {1, 1, 1}},
    /* A window of pads alone. */
    {2,
     1,
     {1, 2, 2},
     1,
     2,
     1,
     {1, 2, 2},
     {1, 2, 2},
     {0, 2, 2},
     {0, 2, 2},
     {1, 1, 1}},
    /* Depthwise, and with two results for each channel. */
    {2,
     1,
     {1, 6, 5},
     7,
     7,
     7,
     {1, 3, 3},
     {1, 1, 1},
     {0, 1, 1},
     {0, 1, 1},
     {1, 1, 1}},
    {2,
     1,
     {1, 4, 4},
     3,
     6,
     3,
     {1, 3, 2},
     {1, 1, 2},
     {0, 1, 0},
     {0, 1, 1},
     {1, 1, 1}},
    /* Dilation. */
    {2,
     1,
     {1, 8, 9},
     4,
     3,
     1,
     {1, 3, 2},
     {1, 1, 2},
     {0, 2, 0},
     {0, 1, 3},
     {1, 2, 3}},
    {3,
     1,
     {4, 3, 5},
     4,
     4,
     2,
     {2, 3, 2},
     {2, 1, 2},
     {1, 1, 0},
     {0, 1, 1},
     {1, 1, 1}},
    {3,
     1,
     {5, 3, 4},
     2,
     2,
     1,
     {2, 2, 2},
     {1, 1, 1},
     {0, 0, 0},
     {0, 0, 0},
     {3, 1, 2}},
};

typedef enum fill { FILL_RANDOM, FILL_LEAST, FILL_MOST, FILL_ENDS } fill;

typedef struct test {
    glow_context *ctx;
    glow_arena *arena;
    uint64_t seed;
} test;

static uint64_t
draw(test *t)
{
    t->seed = t->seed * 6364136223846793005u + 1442695040888963407u;
    return t->seed >> 33;
}

static int64_t
least_of(glow_kind kind)
{
    return kind == GLOW_INT8Q    ? INT8_MIN
           : kind == GLOW_UINT8Q ? 0
           : kind == GLOW_INT16Q ? INT16_MIN
                                 : INT32_MIN;
}

static int64_t
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

static glow_tensor
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
static glow_tensor
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
static int64_t
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

static void
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

/* Convolutions */

static int64_t
results(const conv *s, int i)
{
    return (s->in[i] + s->start[i] + s->end[i] -
            (s->kernel[i] - 1) * s->dilation[i] - 1) /
               s->stride[i] +
           1;
}

/* The sum of result `o` at `at`. */
static int64_t
sum_of(const conv *s, const glow_tensor *x, const glow_tensor *f,
       int64_t offset, int64_t n, const int64_t at[3], int64_t o)
{
    int64_t depth = s->channels / s->group;
    int64_t first = o / (s->outputs / s->group) * depth, sum = 0;

    for (int64_t i = 0; i < s->kernel[0]; i++)
        for (int64_t j = 0; j < s->kernel[1]; j++)
            for (int64_t k = 0; k < s->kernel[2]; k++)
                for (int64_t c = 0; c < depth; c++) {
                    int64_t a =
                        at[0] * s->stride[0] - s->start[0] + i * s->dilation[0];
                    int64_t b =
                        at[1] * s->stride[1] - s->start[1] + j * s->dilation[1];
                    int64_t d =
                        at[2] * s->stride[2] - s->start[2] + k * s->dilation[2];
                    bool inside = a >= 0 && a < s->in[0] && b >= 0 &&
                                  b < s->in[1] && d >= 0 && d < s->in[2];
                    int64_t from =
                        (((n * s->in[0] + a) * s->in[1] + b) * s->in[2] + d) *
                            s->channels +
                        first + c;
                    int64_t tap = (((o * s->kernel[0] + i) * s->kernel[1] + j) *
                                       s->kernel[2] +
                                   k) *
                                      depth +
                                  c;

                    if (inside)
                        sum += (glow_get_int(x, from) - x->type->offset) *
                               (glow_get_int(f, tap) - offset);
                }
    return sum;
}

static void
check_convolution(const conv *s, const glow_tensor *x, const glow_tensor *f,
                  const channel *channels, const glow_tensor *y,
                  const char *what)
{
    int64_t size[3] = {results(s, 0), results(s, 1), results(s, 2)};
    int64_t i = 0;

    for (int64_t n = 0; n < s->batch; n++)
        for (int64_t a = 0; a < size[0]; a++)
            for (int64_t b = 0; b < size[1]; b++)
                for (int64_t c = 0; c < size[2]; c++)
                    for (int64_t o = 0; o < s->outputs; o++)
                        check(y, i++,
                              sum_of(s, x, f, channels[o].offset, n,
                                     (int64_t[]){a, b, c}, o),
                              &channels[o], what);
    assert_int_equal(i, glow_type_count(y->type));
}

/* [first, the last axes of `spatial`, last]. */
static glow_dims
dims_of(const conv *s, int64_t first, const int64_t spatial[3], int64_t last)
{
    glow_dims d = {.rank = s->axes + 2, .at = {first}};

    for (int i = 0; i < s->axes; i++)
        d.at[1 + i] = spatial[3 - s->axes + i];
    d.at[1 + s->axes] = last;
    return d;
}

static glow_convolution
attributes(const conv *s)
{
    glow_convolution c = {.group = s->group};

    c.kernels.rank = c.strides.rank = c.dilation.rank = s->axes;
    c.pads.rank = 2 * s->axes;
    for (int i = 0; i < s->axes; i++) {
        int k = 3 - s->axes + i;

        c.kernels.at[i] = s->kernel[k];
        c.strides.at[i] = s->stride[k];
        c.dilation.at[i] = s->dilation[k];
        c.pads.at[i] = s->start[k];
        c.pads.at[s->axes + i] = s->end[k];
    }
    return c;
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
static void
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

static operands
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

static void
end_operands(operands *p)
{
    glow_tensor_end(&p->x);
    glow_tensor_end(&p->w);
    glow_tensor_end(&p->bias);
}

static void
check_per_tensor(test *t, const conv *s, glow_kind x, glow_kind f, int round)
{
    glow_convolution attrs = attributes(s);
    int64_t size[3] = {results(s, 0), results(s, 1), results(s, 2)};
    operands p =
        draw_operands(t, x, f, dims_of(s, s->batch, s->in, s->channels),
                      dims_of(s, s->outputs, s->kernel, s->channels / s->group),
                      s->outputs, round);
    const glow_type *type = result_type(t, round % RESULTS, p.channels[0].unit,
                                        dims_of(s, s->batch, size, s->outputs));
    glow_tensor in[] = {p.x, p.w, p.bias};
    glow_tensor y = run(t, &glow_op_convolution, &attrs, in, 3, type);

    check_convolution(s, &p.x, &p.w, p.channels, &y, "Convolution");
    glow_tensor_end(&y);

    in[2].type = NULL;
    y = run(t, &glow_op_convolution, &attrs, in, 3, type);
    for (int64_t o = 0; o < s->outputs; o++)
        p.channels[o].bias = 0;
    check_convolution(s, &p.x, &p.w, p.channels, &y, "without a bias");
    glow_tensor_end(&y);
    end_operands(&p);
}

static void
test_convolution(void **state)
{
    static const glow_kind kinds[][2] = {{GLOW_INT8Q, GLOW_INT8Q},
                                         {GLOW_UINT8Q, GLOW_INT8Q},
                                         {GLOW_INT8Q, GLOW_UINT8Q},
                                         {GLOW_INT16Q, GLOW_INT8Q},
                                         {GLOW_INT16Q, GLOW_INT16Q}};
    test *t = *state;
    int round = 0;

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
            for (int again = 0; again < 5; again++)
                check_per_tensor(t, &shapes[i], kinds[k][0], kinds[k][1],
                                 round++);
}

/* Scales and offsets of `p` by channel, of the weights or of the bias. */
static glow_tensor
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

static glow_tensor
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
static void
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

static void
check_per_channel(test *t, const conv *s, glow_kind x, int round)
{
    glow_convolution attrs = attributes(s);
    int64_t size[3] = {results(s, 0), results(s, 1), results(s, 2)};
    operands p = draw_operands(
        t, x, GLOW_INT8Q, dims_of(s, s->batch, s->in, s->channels),
        dims_of(s, s->outputs, s->kernel, s->channels / s->group), s->outputs,
        round);
    glow_tensor in[] = {p.x,
                        p.w,
                        p.bias,
                        scales_of(t, &p, s->outputs, false),
                        offsets_of(t, &p, s->outputs, false),
                        scales_of(t, &p, s->outputs, true),
                        offsets_of(t, &p, s->outputs, true)};
    const glow_type *type =
        result_type(t, round % RESULTS, (double)p.x.type->scale * 0.25,
                    dims_of(s, s->batch, size, s->outputs));
    glow_tensor y;

    rescale_bias(&p, s->outputs, &in[5], 9);
    y = run(t, &glow_op_channelwisequantizedconvolution, &attrs, in, 7, type);
    check_convolution(s, &p.x, &p.w, p.channels, &y,
                      "ChannelwiseQuantizedConvolution");
    glow_tensor_end(&y);
    for (int i = 3; i < 7; i++)
        glow_tensor_end(&in[i]);
    end_operands(&p);
}

static void
test_channelwise(void **state)
{
    static const glow_kind kinds[] = {GLOW_INT8Q, GLOW_UINT8Q, GLOW_INT16Q};
    test *t = *state;
    int round = 0;

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
            for (int again = 0; again < 5; again++)
                check_per_channel(t, &shapes[i], kinds[k], round++);
}

/* Matrices */

/* The sum of a row of `x` and row `j` of `w`, or column `j`. */
static int64_t
dot(const glow_tensor *x, const glow_tensor *w, int64_t depth, int64_t columns,
    int64_t offset, int64_t i, int64_t j, bool by_row)
{
    int64_t sum = 0;

    for (int64_t k = 0; k < depth; k++)
        sum += (glow_get_int(x, i * depth + k) - x->type->offset) *
               (glow_get_int(w, by_row ? j * depth + k : k * columns + j) -
                offset);
    return sum;
}

static void
check_matrix(const operands *p, int64_t depth, bool by_row,
             const glow_tensor *y, const char *what)
{
    glow_dims shape = y->type->shape;
    int64_t columns = shape.at[shape.rank - 1];
    int64_t rows = glow_type_count(y->type) / columns;

    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            check(y, i * columns + j,
                  dot(&p->x, &p->w, depth, columns, p->channels[j].offset, i, j,
                      by_row),
                  &p->channels[j], what);
}

static void
check_fullyconnected(test *t, operands *p, glow_dims y, int64_t depth,
                     int round)
{
    glow_tensor in[] = {p->x, p->w, p->bias};
    const glow_type *type =
        result_type(t, round % RESULTS, p->channels[0].unit, y);
    glow_tensor got = run(t, &glow_op_fullyconnected,
                          &(const glow_fullyconnected){.axis = 1}, in, 3, type);

    check_matrix(p, depth, false, &got, "FullyConnected");
    glow_tensor_end(&got);
    for (int64_t j = 0; j < y.at[1]; j++)
        p->channels[j].bias = 0;
    got = run(t, &glow_op_matmul, NULL, in, 2, type);
    check_matrix(p, depth, false, &got, "MatMul");
    glow_tensor_end(&got);
}

static void
check_rowwise(test *t, operands *p, glow_dims y, int64_t depth, int round)
{
    int64_t columns = y.at[1];
    glow_tensor in[] = {p->x, p->w, scales_of(t, p, columns, false),
                        offsets_of(t, p, columns, false), p->bias};
    const glow_type *type =
        result_type(t, round % RESULTS, (double)p->x.type->scale * 0.25, y);
    glow_tensor got;

    rescale_bias(p, columns, NULL, p->bias.type->offset);
    got = run(t, &glow_op_rowwisequantizedfullyconnected, NULL, in, 5, type);
    check_matrix(p, depth, true, &got, "RowwiseQuantizedFullyConnected");
    glow_tensor_end(&got);
    glow_tensor_end(&in[2]);
    glow_tensor_end(&in[3]);
}

static void
test_matrices(void **state)
{
    static const int64_t depths[] = {1, 3, 63, 64, 65, 4609};
    static const int64_t rows[] = {1, 2, 3, 4, 5, 9};
    static const glow_kind kinds[] = {GLOW_INT8Q, GLOW_UINT8Q, GLOW_INT16Q};
    test *t = *state;
    int round = 0;

    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 9; k++) {
            int64_t m = rows[(i + k) % 6], n = 1 + (i * 7 + k) % 11;
            glow_dims y = GLOW_DIMS_OF(m, n);
            operands p = draw_operands(t, kinds[k % 3], GLOW_INT8Q,
                                       GLOW_DIMS_OF(m, depths[i]),
                                       GLOW_DIMS_OF(depths[i], n), n, round);

            check_fullyconnected(t, &p, y, depths[i], round);
            end_operands(&p);
            p = draw_operands(t, kinds[k % 3], GLOW_INT8Q,
                              GLOW_DIMS_OF(m, depths[i]),
                              GLOW_DIMS_OF(n, depths[i]), n, round++);
            check_rowwise(t, &p, y, depths[i], round);
            end_operands(&p);
        }
}

static void
test_batches(void **state)
{
    test *t = *state;

    for (int round = 0; round < 12; round++) {
        int64_t batch = 3, m = 1 + round % 5, depth = 17, n = 6;
        operands p = draw_operands(t, round % 2 ? GLOW_INT8Q : GLOW_UINT8Q,
                                   GLOW_INT8Q, GLOW_DIMS_OF(batch, m, depth),
                                   GLOW_DIMS_OF(batch, depth, n), n, round);
        glow_tensor in[] = {p.x, p.w};
        glow_tensor y = run(t, &glow_op_batchmatmul, NULL, in, 2,
                            result_type(t, round % RESULTS, p.channels[0].unit,
                                        GLOW_DIMS_OF(batch, m, n)));

        for (int64_t i = 0; i < glow_type_count(y.type); i++) {
            channel none = {.unit = p.channels[0].unit};
            glow_tensor w = p.w;

            w.data = (char *)p.w.data + i / (m * n) * depth * n;
            check(
                &y, i,
                dot(&p.x, &w, depth, n, p.w.type->offset, i / n, i % n, false),
                &none, "BatchMatMul");
        }
        glow_tensor_end(&y);
        end_operands(&p);
    }
}

/* A sum that 32 bits do not hold wraps; so does a bias on top of one. */
static void
test_wrapping(void **state)
{
    test *t = *state;
    glow_type x = glow_type_of(GLOW_INT8Q, GLOW_DIMS_OF(1, 1));
    const glow_type *unit = glow_type_get(t->ctx, x);
    const glow_type *wide = quantized(t, GLOW_INT32Q, 1, 0, GLOW_DIMS_OF(1));
    glow_tensor in[] = {glow_tensor_new(unit), glow_tensor_new(unit),
                        glow_tensor_new(wide)};

    glow_set_int(&in[0], 0, 127);
    glow_set_int(&in[1], 0, 127);
    glow_set_int(&in[2], 0, INT32_MAX);

    glow_tensor y =
        run(t, &glow_op_fullyconnected, &(const glow_fullyconnected){.axis = 1},
            in, 3, quantized(t, GLOW_INT32Q, 1, 0, GLOW_DIMS_OF(1, 1)));

    assert_true(glow_get_int(&y, 0) == (int64_t)INT32_MIN + 127 * 127 - 1);
    glow_tensor_end(&y);
    for (int i = 0; i < 3; i++)
        glow_tensor_end(&in[i]);
}

/* A drawn float operand of a dynamic product. */
static glow_tensor
drawn_floats(test *t, glow_dims shape, int round)
{
    glow_tensor x =
        glow_tensor_new(glow_type_get(t->ctx, glow_type_of(GLOW_FLOAT, shape)));

    for (int64_t i = 0; i < glow_type_count(x.type); i++) {
        double v = ((double)draw(t) / 0x1p31 - (round % 3) * 0.5) * 3;

        glow_set_double(&x, i, round % 5 == 4 && i % 2 ? 0 : v);
    }
    return x;
}

/* One number of a row, whose ends are `low` and `high`, quantized. */
static int64_t
dynamic_element(float v, float low, float high, bool symmetric, float *scale)
{
    volatile float range = symmetric ? fmaxf(-low, high) : high - low;
    volatile float s = range / (symmetric ? 127 : 255);
    volatile float at, zero = 0;
    int64_t q;

    if (s == 0)
        s = 1;
    *scale = s;
    at = v / s;
    if (!symmetric) {
        volatile float below = low / s;

        zero = rintf(-128 - below);
    }
    q = (int64_t)rintf(at) + (int64_t)zero;
    return (q < -128 ? -128 : q > 127 ? 127 : q) - (int64_t)zero;
}

static void
check_dynamic(test *t, int round)
{
    bool symmetric = round % 2, each = round / 2 % 2, rowwise = round / 4 % 2;
    int64_t m = 3, depth = 37, n = 5;
    glow_dynamicquantizedfullyconnected how = {symmetric, each};
    operands p = draw_operands(t, GLOW_INT8Q, GLOW_INT8Q, GLOW_DIMS_OF(1, 1),
                               GLOW_DIMS_OF(depth, n), n, round);
    glow_tensor in[] = {drawn_floats(t, GLOW_DIMS_OF(m, depth), round), p.w,
                        drawn_floats(t, GLOW_DIMS_OF(n), 1),
                        scales_of(t, &p, n, false),
                        offsets_of(t, &p, n, false)};
    glow_tensor y = run(
        t,
        rowwise ? &glow_op_dynamicrowwisequantizedfullyconnected
                : &glow_op_dynamicquantizedfullyconnected,
        &how, in, rowwise ? 5 : 3,
        glow_type_get(t->ctx, glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(m, n))));
    const float *x = in[0].data;

    for (int64_t i = 0; i < m * n; i++) {
        int64_t row = i / n, j = i % n, sum = 0;
        float low = 0, high = 0, scale = 0;
        int64_t offset = rowwise ? glow_get_int(&in[4], j) : p.w.type->offset;
        volatile float v;

        for (int64_t k = each ? row * depth : 0;
             k < (each ? (row + 1) * depth : m * depth); k++) {
            low = fminf(low, x[k]);
            high = fmaxf(high, x[k]);
        }
        for (int64_t k = 0; k < depth; k++)
            sum += dynamic_element(x[row * depth + k], low, high, symmetric,
                                   &scale) *
                   (glow_get_int(&p.w, k * n + j) - offset);
        v = (float)sum *
            (rowwise ? (float)glow_get_double(&in[3], j) : p.w.type->scale);
        v = v * scale;
        v = v + (float)glow_get_double(&in[2], j);
        if (glow_get_double(&y, i) != (double)v)
            fail_msg("round %d: element %lld is %.9g, but should be %.9g",
                     round, (long long)i, glow_get_double(&y, i), (double)v);
    }
    glow_tensor_end(&y);
    glow_tensor_end(&in[0]);
    for (int i = 2; i < 5; i++)
        glow_tensor_end(&in[i]);
    end_operands(&p);
}

static void
test_dynamic(void **state)
{
    for (int round = 0; round < 40; round++)
        check_dynamic(*state, round);
}

static int
setup(void **state)
{
    test *t = calloc(1, sizeof *t);

    t->ctx = glow_context_new();
    t->arena = glow_arena_new();
    t->seed = 1;
    *state = t;
    return 0;
}

static int
teardown(void **state)
{
    test *t = *state;

    glow_arena_free(t->arena);
    glow_context_free(t->ctx);
    free(t);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_convolution), TEST(test_channelwise), TEST(test_matrices),
        TEST(test_batches),     TEST(test_wrapping),    TEST(test_dynamic),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
