/*
 * Convolutions, products and attention of floats by three products of bfloat16 parts, on
 * emulated registers of matrices: the bounds of docs/accuracy.md on drawn shapes,
 * the same bits by threads, and infinities, NaNs, huge and tiny numbers, with which
 * results are those of float.
 */

#include "cpu.h"

#include <float.h>

#define MOST 1e-5  /* of the largest result, as Winograd's convolution */
#define RMS 2.5e-6 /* root mean square, of the largest result too */

typedef enum operator{
    CONVOLUTION,
    MATMUL,
    FULLYCONNECTED,
    BATCHMATMUL,
    ATTENTION, /* of h rows and w keys, of two heads */
} operator;

/* Numbers that tiles cannot take. */
typedef enum planted {
    NONE,
    AN_INFINITY,
    A_NAN,
    HUGE_NUMBERS,
    TINY_NUMBERS, /* subnormal products and parts */
    TINY_ROWS,    /* pixels or rows of tiny numbers beside others */
    PLANTED,
} planted;

typedef struct shape {
    operator op;
    int64_t batch, h, w, in, out;
    int64_t kernel_h, kernel_w, stride, pad, dilation;
    bool bias, stacked, constants;
    planted input, weights;
} shape;

static const char *const cpus[] = {"skylake-avx512", "haswell", "x86-64"};

static const char *
words(fixture *t, const shape *s, const char *cpu)
{
    return glow_arena_printf(
        t->arena,
        "operator %d: %d x %d x %d, %d to %d, kernel %d x %d, stride %d, pad "
        "%d, dilation %d%s%s%s, input %d, weights %d, %s",
        s->op, (int)s->batch, (int)s->h, (int)s->w, (int)s->in, (int)s->out,
        (int)s->kernel_h, (int)s->kernel_w, (int)s->stride, (int)s->pad,
        (int)s->dilation, s->bias ? ", bias" : "",
        s->stacked ? ", stacked" : "", s->constants ? ", constants" : "",
        s->input, s->weights, cpu);
}

/* A few of the numbers of `x` become what is planted; rows have `row` numbers. */
static void
plant(glow_tensor *x, planted what, int64_t row)
{
    float *at = x->data;
    int64_t count = glow_type_count(x->type);
    float numbers[PLANTED] = {[AN_INFINITY] = -INFINITY, [A_NAN] = NAN};

    if (what == AN_INFINITY || what == A_NAN)
        at[count / 3] = at[count - 1] = numbers[what];
    for (int64_t i = 0; i < count; i++) {
        if (what == HUGE_NUMBERS && i % 5 == 0)
            at[i] *= 0x1p120F;
        if (what == TINY_NUMBERS)
            at[i] *= 0x1p-120F;
        if (what == TINY_ROWS && i / row % 3 == 1)
            at[i] *= 0x1p-118F;
    }
}

/* An operand; where it is a constant, what is planted is planted now. */
static glow_value *
operand(fixture *t, const shape *s, glow_dims d, planted what)
{
    glow_storage *c;

    if (!s->constants)
        return input(t, GLOW_FLOAT, d);
    c = glow_constant_new(t->m, "w", type_of(t, GLOW_FLOAT, d));
    glow_tensor_fill(&c->tensor, GLOW_FILL_RANDOM, t->seed++);
    plant(&c->tensor, what, d.at[d.rank - 1]);
    return &c->value;
}

static glow_value *
add_attention(fixture *t, const shape *s)
{
    glow_value *q =
        input(t, GLOW_FLOAT, GLOW_DIMS_OF(s->batch, 2, s->h, s->in));
    glow_value *v =
        operand(t, s, GLOW_DIMS_OF(s->batch, 2, s->w, s->out), s->weights);
    glow_value *k = operand(t, s, GLOW_DIMS_OF(s->batch, 2, s->w, s->in), NONE);

    return GLOW_BUILD(t->b, fusedattention, GLOW_IN(q, k, v, NULL),
                      .scale = 0.125F, .causal = s->stride > 1);
}

static glow_value *
add_root(fixture *t, const shape *s)
{
    glow_dims x = GLOW_DIMS_OF(s->h, s->in), w = GLOW_DIMS_OF(s->in, s->out);
    glow_dims f = GLOW_DIMS_OF(s->out, s->kernel_h, s->kernel_w, s->in);
    glow_value *a, *b, *c = NULL;

    if (s->op == CONVOLUTION)
        x = GLOW_DIMS_OF(s->batch, s->h, s->w, s->in);
    if (s->op == BATCHMATMUL) {
        x = GLOW_DIMS_OF(s->batch, s->h, s->in);
        w = GLOW_DIMS_OF(s->batch, s->in, s->out);
    }
    if (s->op == ATTENTION)
        return add_attention(t, s);
    a = input(t, GLOW_FLOAT, x);
    b = operand(t, s, s->op == CONVOLUTION ? f : w, s->weights);
    if (s->bias || s->op == FULLYCONNECTED)
        c = operand(t, s, GLOW_DIMS_OF(s->out), NONE);
    if (s->op == MATMUL)
        return GLOW_BUILD_PLAIN(t->b, matmul, GLOW_IN(a, b));
    if (s->op == BATCHMATMUL)
        return GLOW_BUILD_PLAIN(t->b, batchmatmul, GLOW_IN(a, b));
    if (s->op == FULLYCONNECTED)
        return GLOW_BUILD(t->b, fullyconnected, GLOW_IN(a, b, c), .axis = 1);
    return GLOW_BUILD(t->b, convolution, GLOW_IN(a, b, c),
                      .kernels = GLOW_DIMS_OF(s->kernel_h, s->kernel_w),
                      .strides = GLOW_DIMS_OF(s->stride, s->stride),
                      .pads = GLOW_DIMS_OF(s->pad, s->pad, s->pad, s->pad),
                      .group = 1,
                      .dilation = GLOW_DIMS_OF(s->dilation, s->dilation));
}

static void
fill_all(fixture *t, const shape *s, glow_tensor *to)
{
    fill(t, to, GLOW_FILL_RANDOM);
    plant(&to[0], s->input, s->in);
    if (!s->constants)
        plant(&to[1], s->weights, s->out);
}

/* Largest finite magnitude of `count` numbers. */
static double
largest(const float *at, int64_t count)
{
    double most = 0;

    for (int64_t i = 0; i < count; i++)
        if (isfinite(at[i]) && fabs((double)at[i]) > most)
            most = fabs((double)at[i]);
    return most;
}

/*
 * Results of float: each is as near as MOST of the largest of its row, where a row
 * holds the outputs of one pixel, or as NaN or infinite.
 */
static void
check_rows(const char *what, const glow_tensor *want, const glow_tensor *got,
           int64_t row)
{
    const float *x = want->data, *y = got->data;

    for (int64_t i = 0; i < glow_type_count(want->type); i++) {
        double near = MOST * largest(x + i / row * row, row) + 64 * 0x1p-149;

        if (!isfinite(x[i]) ? (isnan(x[i]) ? isnan(y[i]) : x[i] == y[i])
                            : fabs((double)x[i] - (double)y[i]) <= near)
            continue;
        fail_msg("%s: element %lld is %.9g, but must be %.9g", what,
                 (long long)i, (double)y[i], (double)x[i]);
    }
}

/* The bounds for all results together. */
static void
check_bounds(const char *what, const glow_tensor *want, const glow_tensor *got)
{
    const float *x = want->data, *y = got->data;
    int64_t count = glow_type_count(want->type);
    double most = 0, error = 0, range = largest(x, count);

    for (int64_t i = 0; i < count; i++) {
        double off = (double)y[i] - (double)x[i];

        if (fabs(off) > most)
            most = fabs(off);
        error += off * off;
    }
    error = sqrt(error / (double)count);
    if (!(most <= MOST * range && error <= RMS * range))
        fail_msg("%s: of the largest %g off, rms %g", what, most / range,
                 error / range);
}

/* Runs the code for `threads` threads on the inputs; the last tensor is the result. */
static void
run_on(fixture *t, const shape *s, const char *cpu, int threads,
       glow_tensor *to)
{
    const glow_backend *backend = glow_find_backend(t->ctx, "cpu");
    const glow_cpu_options own = {.parts = GLOW_PARTS_ON,
                                  .winograd = GLOW_WINOGRAD_OFF,
                                  .red_zones = threads < 2,
                                  .grain = 1e-15F};
    const glow_target_options target = {.cpu = cpu,
                                        .features = "+amx-emulated",
                                        .threads = threads,
                                        .options = &own};
    glow_executable *x = backend->load(glow_find_func(t->m, "main"), &target);
    glow_binding bindings[MAX_BOUND];

    assert_non_null(x);
    fill_all(t, s, to);
    bind(t, to, bindings);
    assert_true(backend->run(x, bindings, t->count));
    backend->unload(x);
}

static void
check(const shape *s)
{
    static unsigned calls;
    const char *cpu = cpus[calls % COUNT(cpus)], *what;
    fixture t;
    glow_tensor want[MAX_BOUND], got[MAX_BOUND], split[MAX_BOUND];
    glow_binding bindings[MAX_BOUND];
    glow_eval_options none = {0};
    glow_value *y;
    int last;

    if (s->op == ATTENTION)
        cpu = cpus[0]; /* registers of matrices beside vectors as wide */
    if (!runs(&(const glow_target_options){.cpu = cpu})) {
        if (s->op == ATTENTION)
            return;
        cpu = "x86-64";
    }
    calls++;
    if (!is_in_sample())
        return;
    begin(&t);
    t.seed = calls;
    y = add_root(&t, s);
    if (s->stacked)
        y = GLOW_BUILD_PLAIN(t.b, add, GLOW_IN(y, input_of(&t, y->type)));
    save(&t, y);
    last = t.count - 1;
    what = words(&t, s, cpu);
    fill_all(&t, s, want);
    bind(&t, want, bindings);
    assert_true(glow_eval(t.f, bindings, t.count, &none));
    run_pipeline(&t, "schedule,irgen,alloc<gap=256>");
    run_on(&t, s, cpu, 1, got);
    run_on(&t, s, cpu, 3, split);
    if (s->input || s->weights)
        check_rows(what, &want[last], &got[last], s->out);
    else
        check_bounds(what, &want[last], &got[last]);
    if (memcmp(got[last].data, split[last].data,
               (size_t)glow_type_bytes(got[last].type)))
        fail_msg("%s: other bits with threads", what);
    for (int i = 0; i < t.count; i++) {
        glow_tensor_end(&want[i]);
        glow_tensor_end(&got[i]);
        glow_tensor_end(&split[i]);
    }
    end(&t);
}

static int64_t
draw_channels(uint64_t *state)
{
    static const int64_t some[] = {2,  3,  5,  15, 16, 17, 31, 32,
                                   33, 47, 48, 49, 64, 65, 97};

    return some[draw(state, 0, COUNT(some) - 1)];
}

/* Fits: the kernel is no larger than the padded image. */
static bool
draw_convolution(uint64_t *r, shape *s)
{
    *s = (shape){.op = CONVOLUTION,
                 .batch = draw(r, 1, 2),
                 .h = draw(r, 1, 12),
                 .w = draw(r, 1, 40),
                 .in = draw_channels(r),
                 .out = draw_channels(r),
                 .kernel_h = draw(r, 1, 3),
                 .kernel_w = draw(r, 1, 4),
                 .stride = draw(r, 0, 2) ? 1 : 2,
                 .pad = draw(r, 0, 2),
                 .dilation = draw(r, 0, 2) ? 1 : 2,
                 .bias = draw(r, 0, 1),
                 .stacked = draw(r, 0, 1),
                 .constants = true};
    return s->h + 2 * s->pad > (s->kernel_h - 1) * s->dilation &&
           s->w + 2 * s->pad > (s->kernel_w - 1) * s->dilation;
}

static shape
draw_product(uint64_t *r, int number)
{
    shape s = {.op = (operator)(MATMUL + number % 3),
               .batch = draw(r, 1, 3),
               .h = draw(r, 1, 70),
               .in = draw_channels(r),
               .out = draw_channels(r),
               .stacked = draw(r, 0, 1),
               .constants = draw(r, 0, 1)};

    if (s.op == BATCHMATMUL)
        s.constants = false;
    return s;
}

static shape
draw_attention(uint64_t *r)
{
    return (shape){.op = ATTENTION,
                   .batch = draw(r, 1, 2),
                   .h = draw(r, 5, 80),
                   .w = draw(r, 1, 9) * draw(r, 1, 70),
                   .in = 32 * draw(r, 1, 4),
                   .out = draw(r, 1, 130),
                   .stride = draw(r, 1, 2),
                   .constants = draw(r, 0, 1)};
}

static void
convolutions_are_near(void **state)
{
    uint64_t r = 1;
    shape s;

    (void)state;
    for (int i = 0; i < 16; i++) {
        while (!draw_convolution(&r, &s))
            ;
        check(&s);
    }
}

static void
products_are_near(void **state)
{
    uint64_t r = 2;

    (void)state;
    for (int i = 0; i < 15; i++) {
        shape s = draw_product(&r, i);

        check(&s);
    }
}

static void
attention_is_near(void **state)
{
    uint64_t r = 4;

    (void)state;
    for (int i = 0; i < 10; i++) {
        shape s = draw_attention(&r);

        check(&s);
    }
}

/* Planted in Q, then in V: heads that registers cannot do go by vectors. */
static void
attention_of_any_size(void **state)
{
    uint64_t r = 5;

    (void)state;
    for (int i = 1; i < 2 * PLANTED; i++) {
        shape s = draw_attention(&r);

        if (i % PLANTED == NONE)
            continue;
        s.w = draw(&r, 17, 70);
        if (i < PLANTED)
            s.input = (planted)i;
        else
            s.weights = (planted)(i - PLANTED);
        check(&s);
    }
}

/* Every operator with everything planted in the input, then in the weights. */
static void
numbers_of_any_size(void **state)
{
    uint64_t r = 3;

    (void)state;
    for (int i = 1; i < 2 * PLANTED; i++) {
        shape s;

        if (i % PLANTED == NONE)
            continue;
        if (i % 3)
            s = draw_product(&r, i);
        else
            while (!draw_convolution(&r, &s))
                ;
        s.out += 16;
        s.stacked = s.bias = false;
        if (i < PLANTED)
            s.input = (planted)i;
        else
            s.weights = (planted)(i - PLANTED);
        check(&s);
    }
}

/* Windows whose input is beyond the L1 cache, so that taps are within units of the depth. */
static void
deep_convolutions_of_any_size(void **state)
{
    static const planted numbers[] = {NONE, A_NAN, TINY_ROWS, NONE, NONE};
    static const planted weights[] = {NONE, NONE, NONE, A_NAN, TINY_ROWS};

    (void)state;
    for (size_t i = 0; i < COUNT(numbers); i++)
        check(&(shape){.op = CONVOLUTION,
                       .batch = 1,
                       .h = 4,
                       .w = 14,
                       .in = i % 3 ? 256 : 260,
                       .out = 40,
                       .kernel_h = 3,
                       .kernel_w = 3,
                       .stride = 1,
                       .pad = 1,
                       .dilation = 1,
                       .constants = true,
                       .input = numbers[i],
                       .weights = weights[i]});
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_are_near),
        cmocka_unit_test(products_are_near),
        cmocka_unit_test(numbers_of_any_size),
        cmocka_unit_test(deep_convolutions_of_any_size),
        cmocka_unit_test(attention_is_near),
        cmocka_unit_test(attention_of_any_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
