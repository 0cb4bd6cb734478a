/*
 * Convolutions and products of quantized elements by integer dot products: the same
 * bytes as the evaluator's, by each form of the instructions that this machine has,
 * with elements of the whole range.
 */

#include "cpu.h"

#include "glow/quantize.h"

typedef enum operator{
    CONVOLUTION,
    CONNECTION,
    PRODUCT,
    PRODUCTS,
    OPERATORS
} operator;

typedef struct shape {
    operator op;
    int64_t batch, groups;
    int64_t size[3], kernel[3], stride[3], dilation[3], pad[3], end[3];
    int axes;
    int64_t in, out; /* of a group */
    glow_kind x, w, y, bias;
    int32_t x_offset, w_offset, y_offset; /* w_offset: 1000: drawn by channel */
    double ratio;                         /* units of sums for one of results */
    bool constants, ends; /* elements are the least and the largest alone */
} shape;

/* Instruction sets that this machine may lack are left out. */
static const struct form {
    const char *cpu, *features;
    const char *needs; /* one of these, or "" */
} forms[] = {
    {NULL, NULL, ""},
#if defined(__x86_64__)
    {"cascadelake", "-prefer-256-bit", "avx512vnni"},
    {NULL, "+prefer-256-bit", "avx512vnni"},
    {"skylake-avx512", "-prefer-256-bit", "avx512"},
    {"skylake-avx512", "+amx-emulated,-prefer-256-bit", "avx512"},
    {"cascadelake", "+amx-emulated,-prefer-256-bit", "avx512vnni"},
    {"haswell", NULL, "avx2"},
    {"x86-64", NULL, ""},
#endif
};

static bool
has_form(const struct form *f)
{
#if defined(__x86_64__)
    if (strcmp(f->needs, "avx512vnni") == 0)
        return __builtin_cpu_supports("avx512vnni");
    if (strcmp(f->needs, "avx512") == 0)
        return __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl");
    if (strcmp(f->needs, "avx2") == 0)
        return __builtin_cpu_supports("avx2");
#endif
    return true;
}

/* Elements */

static void
fill_elements(glow_tensor *x, const shape *s, uint64_t *state)
{
    glow_kind kind = x->type->elem;
    int64_t least = 0, most = 0;

    if (!glow_is_quantized(kind))
        return;
    least = glow_quantized_least(kind);
    most = glow_quantized_most(kind);
    if (kind == GLOW_INT32Q) {
        least = -(1 << 20);
        most = 1 << 20;
    }
    for (int64_t i = 0; i < glow_type_count(x->type); i++)
        glow_set_int(x, i,
                     s->ends && kind != GLOW_INT32Q
                         ? (draw(state, 0, 3) ? least : most)
                         : draw(state, least, most));
}

static const glow_type *
quantized(fixture *t, glow_kind kind, glow_dims d, double scale, int32_t offset)
{
    glow_type type = glow_type_of(kind, d);

    type.scale = (float)scale;
    type.offset = offset;
    return glow_type_get(t->ctx, type);
}

static glow_value *
weights_of(fixture *t, const shape *s, const glow_type *type)
{
    glow_storage *c;

    if (!s->constants)
        return input_of(t, type);
    c = glow_constant_new(t->m, "w", type);
    fill_elements(&c->tensor, s, &t->seed);
    return &c->value;
}

/* An operand of parameters by channel: scales, or offsets where `most` is not 0. */
static glow_value *
parameters(fixture *t, glow_kind kind, int64_t count, double scale,
           int64_t most)
{
    glow_storage *c =
        glow_constant_new(t->m, "p", type_of(t, kind, GLOW_DIMS_OF(count)));

    for (int64_t i = 0; i < count; i++)
        if (kind == GLOW_FLOAT)
            glow_set_double(&c->tensor, i,
                            scale * (double)draw(&t->seed, 1, 32) / 16);
        else
            glow_set_int(&c->tensor, i,
                         most == 1000 ? draw(&t->seed, -128, 255) : most);
    return &c->value;
}

/* Operators */

#define X_SCALE 0.0625
#define W_SCALE 0.03125
#define UNIT (X_SCALE * W_SCALE)

static glow_value *
add_convolution(fixture *t, const shape *s)
{
    int n = s->axes;
    glow_dims x = {.rank = n + 2}, f = {.rank = n + 2};
    glow_dims kernels = {.rank = n}, strides = {.rank = n};
    glow_dims dilation = {.rank = n}, pads = {.rank = 2 * n};
    int64_t outputs = s->out * s->groups;

    x.at[0] = s->batch;
    f.at[0] = outputs;
    for (int i = 0; i < n; i++) {
        int k = 3 - n + i;

        x.at[1 + i] = s->size[k];
        f.at[1 + i] = kernels.at[i] = s->kernel[k];
        strides.at[i] = s->stride[k];
        dilation.at[i] = s->dilation[k];
        pads.at[i] = s->pad[k];
        pads.at[n + i] = s->end[k];
    }
    x.at[n + 1] = s->in * s->groups;
    f.at[n + 1] = s->in;
    return GLOW_BUILD_STATED(
        t->b, channelwisequantizedconvolution,
        quantized(t, s->y, GLOW_DIMS_OF(1), UNIT / s->ratio, s->y_offset),
        GLOW_IN(input_of(t, quantized(t, s->x, x, X_SCALE, s->x_offset)),
                weights_of(t, s, quantized(t, s->w, f, 1, 0)),
                weights_of(t, s,
                           quantized(t, s->bias, GLOW_DIMS_OF(outputs), 1, 0)),
                parameters(t, GLOW_FLOAT, outputs, W_SCALE, 0),
                parameters(t, GLOW_INDEX32, outputs, 0, s->w_offset),
                parameters(t, GLOW_FLOAT, outputs, UNIT, 0),
                parameters(t, GLOW_INDEX32, outputs, 0, 0)),
        .kernels = kernels, .strides = strides, .pads = pads,
        .group = s->groups, .dilation = dilation);
}

static glow_value *
add_product(fixture *t, const shape *s)
{
    int64_t rows = s->size[2];
    bool batched = s->op == PRODUCTS;
    int32_t offset = s->w_offset == 1000 ? 77 : s->w_offset;
    glow_dims x = batched ? GLOW_DIMS_OF(s->batch, rows, s->in)
                          : GLOW_DIMS_OF(rows, s->in);
    glow_dims w = batched ? GLOW_DIMS_OF(s->batch, s->in, s->out)
                          : GLOW_DIMS_OF(s->in, s->out);
    const glow_type *y =
        quantized(t, s->y, GLOW_DIMS_OF(1), UNIT / s->ratio, s->y_offset);
    glow_value *a = input_of(t, quantized(t, s->x, x, X_SCALE, s->x_offset));
    const glow_type *w_type;

    if (s->op == CONNECTION)
        return GLOW_BUILD_STATED_PLAIN(
            t->b, rowwisequantizedfullyconnected, y,
            GLOW_IN(a,
                    weights_of(
                        t, s,
                        quantized(t, s->w, GLOW_DIMS_OF(s->out, s->in), 1, 0)),
                    parameters(t, GLOW_FLOAT, s->out, W_SCALE, 0),
                    parameters(t, GLOW_INDEX32, s->out, 0, s->w_offset),
                    weights_of(t, s,
                               quantized(t, s->bias, GLOW_DIMS_OF(s->out),
                                         UNIT / 3, 5))));
    w_type = quantized(t, s->w, w, W_SCALE, offset);
    return batched
               ? GLOW_BUILD_STATED_PLAIN(t->b, batchmatmul, y,
                                         GLOW_IN(a, weights_of(t, s, w_type)))
               : GLOW_BUILD_STATED_PLAIN(t->b, matmul, y,
                                         GLOW_IN(a, weights_of(t, s, w_type)));
}

/* Comparison */

static const char *
words(fixture *t, const shape *s, const char *form)
{
    static const char *const names[] = {"convolution", "connection", "product",
                                        "products"};

    return glow_arena_printf(
        t->arena,
        "%s: batch %d, groups %d, %d x %d x %d, kernel %d x %d x %d, strides "
        "%d %d %d, dilation %d %d %d, pads %d %d %d, %d %d %d, %d to %d, kinds "
        "%d %d %d %d, offsets %d %d %d, ratio %g%s%s, %s",
        names[s->op], (int)s->batch, (int)s->groups, (int)s->size[0],
        (int)s->size[1], (int)s->size[2], (int)s->kernel[0], (int)s->kernel[1],
        (int)s->kernel[2], (int)s->stride[0], (int)s->stride[1],
        (int)s->stride[2], (int)s->dilation[0], (int)s->dilation[1],
        (int)s->dilation[2], (int)s->pad[0], (int)s->pad[1], (int)s->pad[2],
        (int)s->end[0], (int)s->end[1], (int)s->end[2], (int)s->in, (int)s->out,
        s->x, s->w, s->y, s->bias, s->x_offset, s->w_offset, s->y_offset,
        s->ratio, s->constants ? "" : ", no constants", s->ends ? ", ends" : "",
        form ? form : "as it is");
}

static void
fill_all(fixture *t, const shape *s, glow_tensor *tensors)
{
    uint64_t state = 7;

    for (int i = 0; i < t->count; i++) {
        tensors[i] = glow_tensor_new(t->bound[i]->value.type);
        if (!t->written[i])
            fill_elements(&tensors[i], s, &state);
    }
}

static void
run_and_compare(fixture *t, const shape *s, const glow_target_options *target,
                const glow_tensor *want, const char *what)
{
    const glow_backend *cpu = glow_find_backend(t->ctx, "cpu");
    glow_executable *x = cpu->load(glow_find_func(t->m, "main"), target);
    glow_tensor got[MAX_BOUND];
    glow_binding bindings[MAX_BOUND];

    if (!x)
        fail_msg("%s: does not load", what);
    fill_all(t, s, got);
    bind(t, got, bindings);
    assert_true(cpu->run(x, bindings, t->count));
    for (int i = 0; i < t->count; i++) {
        if (t->written[i])
            compare(what, &want[i], &got[i], 0);
        glow_tensor_end(&got[i]);
    }
    cpu->unload(x);
}

/* By form `form`, if in the sample; every third by threads too. */
static void
check(const shape *s, size_t form)
{
    static unsigned calls;
    unsigned number;
    fixture t;
    glow_tensor want[MAX_BOUND];
    glow_binding bindings[MAX_BOUND];
    glow_eval_options none = {0};
    glow_cpu_options own = {.red_zones = true};
    glow_target_options target = {.options = &own};
    const struct form *f = &forms[form % COUNT(forms)];
    glow_value *y;

    if (!has_form(f))
        return;
    number = calls++;
    if (!is_in_sample())
        return;
    target.cpu = f->cpu;
    target.features = f->features;
    begin(&t);
    t.seed = form + 1;
    y = s->op == CONVOLUTION ? add_convolution(&t, s) : add_product(&t, s);
    save(&t, y);
    fill_all(&t, s, want);
    bind(&t, want, bindings);
    assert_true(glow_eval(t.f, bindings, t.count, &none));
    run_pipeline(&t, "schedule,irgen,alloc<gap=256>");
    run_and_compare(&t, s, &target, want,
                    words(&t, s, f->cpu ? f->cpu : f->features));
    if (number % 3 == 0) {
        own = (glow_cpu_options){.grain = 1e-15F};
        target.threads = 3;
        run_and_compare(&t, s, &target, want, words(&t, s, "by threads"));
    }
    for (int i = 0; i < t.count; i++)
        glow_tensor_end(&want[i]);
    end(&t);
}

/* Shapes */

/* Offset of an end of the range, or within it. */
static int32_t
draw_offset(uint64_t *s, glow_kind kind)
{
    int64_t least = glow_quantized_least(kind);
    int64_t most = glow_quantized_most(kind);
    int64_t way = draw(s, 0, 3);

    if (kind == GLOW_INT32Q)
        return (int32_t)draw(s, -9, 9);
    return (int32_t)(way == 0 ? least : way == 1 ? most : draw(s, least, most));
}

static void
draw_kinds(uint64_t *s, shape *to)
{
    static const glow_kind kinds[] = {GLOW_INT8Q, GLOW_INT8Q, GLOW_UINT8Q,
                                      GLOW_INT16Q, GLOW_INT32Q};
    static const double ratios[] = {0.5, 0x1p-20, 0.0078125, 0.0013, 1.7};

    to->x = draw(s, 0, 1) ? GLOW_INT8Q : GLOW_UINT8Q;
    to->w = draw(s, 0, 3) ? GLOW_INT8Q : GLOW_UINT8Q;
    to->y = kinds[draw(s, 0, 4)];
    to->bias = kinds[2 + draw(s, 0, 2)];
    to->x_offset = draw_offset(s, to->x);
    to->w_offset = draw(s, 0, 2)          ? 0
                   : draw(s, 0, 2)        ? 1000
                   : to->w == GLOW_UINT8Q ? 5
                                          : -5;
    to->y_offset = draw_offset(s, to->y);
    to->ratio = draw(s, 0, 2) ? 128 / (5000.0 * sqrt((double)to->in) * 3)
                              : ratios[draw(s, 0, 4)];
    to->constants = draw(s, 0, 3) > 0;
    to->ends = draw(s, 0, 2) == 0;
}

static int64_t
draw_channels(uint64_t *s)
{
    static const int64_t some[] = {1,  2,  3,  4,  5,  7,  8,  15, 16,
                                   17, 31, 32, 33, 48, 63, 64, 65, 97};

    return some[draw(s, 0, COUNT(some) - 1)];
}

/* Elements of 16 bits. */
static void
widen(uint64_t *s, shape *to)
{
    to->x = GLOW_INT16Q;
    to->x_offset = draw(s, 0, 1) ? 0 : (int32_t)draw(s, -300, 300);
    if (draw(s, 0, 1))
        to->w = GLOW_INT16Q;
    to->ratio /= 100;
}

static shape
draw_convolution(uint64_t *s)
{
    bool point = draw(s, 0, 3) == 0, padded = draw(s, 0, 2) > 0;
    int way = (int)draw(s, 0, 3);
    shape c = {.op = CONVOLUTION,
               .batch = draw(s, 1, 2),
               .groups = way == 1 ? draw(s, 2, 3) : 1,
               .axes = draw(s, 0, 3) ? 2 : (int)draw(s, 1, 3),
               .in = draw_channels(s),
               .out = draw_channels(s)};

    for (int i = 0; i < 3; i++) {
        bool is = i >= 3 - c.axes;

        c.kernel[i] = is && !point ? draw(s, 1, 5) : 1;
        c.dilation[i] = is && draw(s, 0, 3) == 0 ? draw(s, 1, 3) : 1;
        c.stride[i] = is && draw(s, 0, 2) == 0 ? draw(s, 1, 3) : 1;
        c.pad[i] = is && padded ? draw(s, 0, 3) : 0;
        c.end[i] = is && padded ? draw(s, 0, 3) : 0;
        c.size[i] = is ? draw(s, 1, i == 2 ? 20 : 7) : 1;
        if (c.size[i] + c.pad[i] + c.end[i] <
            (c.kernel[i] - 1) * c.dilation[i] + 1)
            c.size[i] = (c.kernel[i] - 1) * c.dilation[i] + 1;
    }
    if (way == 2) { /* depthwise, some with several results of a channel */
        c.groups = draw_channels(s) + draw(s, 0, 1) * 64;
        c.in = 1;
        c.out = draw(s, 0, 3) ? 1 : 2;
    }
    draw_kinds(s, &c);
    return c;
}

static void
convolutions_agree(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (size_t i = 0; i < 60; i++) {
        shape s = draw_convolution(&seed);

        if (i % 5 == 4)
            widen(&seed, &s);
        check(&s, i);
    }
}

static void
products_agree(void **state)
{
    static const int64_t depths[] = {1, 3, 63, 64, 65, 130, 4609};
    uint64_t seed = 2;

    (void)state;
    for (size_t i = 0; i < 60; i++) {
        shape s = {.op = (operator)(CONNECTION + draw(&seed, 0, 2)),
                   .batch = draw(&seed, 1, 3),
                   .size = {1, 1, draw(&seed, 1, draw(&seed, 0, 3) ? 30 : 200)},
                   .in = depths[draw(&seed, 0, COUNT(depths) - 1)],
                   .out = draw_channels(&seed) + draw(&seed, 0, 1) * 100};

        draw_kinds(&seed, &s);
        if (i % 6 == 5)
            widen(&seed, &s);
        check(&s, i);
    }
}

/*
 * Sums that pass 2^31 on the way, or in the end: they are modulo 2^32, and no pair of
 * products saturates.
 */
static void
limits_agree(void **state)
{
    (void)state;
    for (size_t form = 0; form < COUNT(forms); form++)
        for (int i = 0; i < 4; i++) {
            shape s = {.op = i % 2 ? PRODUCT : CONNECTION,
                       .batch = 1,
                       .size = {1, 1, 3},
                       .in = i < 2 ? 65793 : 33000,
                       .out = 17,
                       .x = GLOW_UINT8Q,
                       .w = i < 2 ? GLOW_INT8Q : GLOW_UINT8Q,
                       .y = GLOW_INT32Q,
                       .bias = GLOW_INT32Q,
                       .w_offset = i / 2 * (i % 2 ? 0 : 255),
                       .ratio = 1,
                       .constants = true,
                       .ends = true};

            check(&s, form);
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_agree),
        cmocka_unit_test(products_agree),
        cmocka_unit_test(limits_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
