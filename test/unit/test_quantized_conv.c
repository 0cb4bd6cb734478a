/*
 * Convolutions of quantized elements, held to loops over int64: pads, groups, strides and
 * dilation, with parameters of the tensor and of each channel.
 */

#include "quantized_sums.h"

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_convolution),
        TEST(test_channelwise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
