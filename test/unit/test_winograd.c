/*
 * Winograd's convolution against the evaluator, which sums up as double: the
 * bounds that winograd.h states, for F(2) and F(4), several kernels and several widths
 * of vectors.
 */

#include "sample.h"
#include "unit.h"

#include "glow/build.h"
#include "glow/cpu.h"
#include "glow/ops.h"
#include "glow/pipeline.h"

#include <math.h>
#include <string.h>

typedef struct conv {
    int64_t batch, height, width, channels, outputs, group;
    int64_t pads[4]; /* top, left, bottom, right */
    bool bias, stacked;
    int64_t holes[2]; /* pixels that the kernel leaves out, down and across */
    int64_t taps[2];  /* of the kernel, down and across */
} conv;

typedef struct fixture {
    glow_context *ctx;
    glow_module *m;
    glow_arena *arena;
    glow_storage *bound[4];
    int count; /* the last is the result */
    glow_kind kind;
} fixture;

static void
say_error(const glow_diag *d, void *user)
{
    (void)user;
    print_message("# %s: %s\n", d->id, d->message);
}

static const glow_type *
type_of(fixture *t, glow_dims d)
{
    return glow_type_get(t->ctx, glow_type_of(t->kind, d));
}

static glow_value *
placeholder(fixture *t, glow_dims d)
{
    glow_storage *s = glow_placeholder_new(t->m, "x", type_of(t, d));

    t->bound[t->count++] = s;
    return &s->value;
}

static glow_value *
constant(fixture *t, glow_dims d, uint64_t seed)
{
    glow_storage *s = glow_constant_new(t->m, "w", type_of(t, d));

    glow_tensor_fill(&s->tensor, GLOW_FILL_RANDOM, seed);
    return &s->value;
}

static void
build(fixture *t, const conv *c, glow_kind kind)
{
    glow_context *ctx = glow_context_new();
    glow_func *f;
    glow_builder *b;
    glow_value *x, *y;

    *t = (fixture){.ctx = ctx, .m = glow_module_new(ctx), .kind = kind};
    glow_context_set_sink(ctx, say_error, NULL);
    t->arena = glow_arena_new();
    f = glow_func_new(t->m, "main");
    b = glow_builder_new(t->arena, f, NULL);
    x = placeholder(t,
                    GLOW_DIMS_OF(c->batch, c->height, c->width, c->channels));
    y = GLOW_BUILD(
        b, convolution,
        GLOW_IN(x,
                constant(t,
                         GLOW_DIMS_OF(c->outputs, c->taps[0], c->taps[1],
                                      c->channels / c->group),
                         1),
                c->bias ? constant(t, GLOW_DIMS_OF(c->outputs), 2) : NULL),
        .kernels = GLOW_DIMS_OF(c->taps[0], c->taps[1]),
        .strides = GLOW_DIMS_OF(1, 1),
        .pads = GLOW_DIMS_OF(c->pads[0], c->pads[1], c->pads[2], c->pads[3]),
        .group = c->group,
        .dilation = GLOW_DIMS_OF(1 + c->holes[0], 1 + c->holes[1]));
    if (c->stacked) {
        y = GLOW_BUILD_PLAIN(b, add,
                             GLOW_IN(y, placeholder(t, y->type->shape)));
        y = GLOW_BUILD_PLAIN(b, relu, GLOW_IN(y));
    }
    glow_build_node(b, &glow_op_save, NULL, 0,
                    (glow_value *const[]){y, placeholder(t, y->type->shape)}, 2,
                    NULL);
}

static void
end(fixture *t)
{
    glow_module_free(t->m);
    glow_arena_free(t->arena);
    glow_context_free(t->ctx);
}

static void
place(fixture *t, const glow_target_options *code)
{
    static const char text[] = "schedule,irgen,alloc<gap=256>";
    const glow_source source = {"passes", text, strlen(text), 1};
    const glow_pipeline_options options = {
        .verify_each = true,
        .backend = glow_find_backend(t->ctx, "cpu"),
        .code = code,
    };
    glow_pipeline *p = glow_pipeline_parse(t->ctx, t->arena, &source);

    assert_non_null(p);
    assert_true(glow_pipeline_run(p, t->m, &options));
}

static void
fill(fixture *t, glow_tensor *tensors, glow_binding *bindings)
{
    for (int i = 0; i < t->count; i++) {
        tensors[i] = glow_tensor_new(t->bound[i]->value.type);
        if (i < t->count - 1)
            glow_tensor_fill(&tensors[i], GLOW_FILL_RANDOM, 100 + (uint64_t)i);
        bindings[i] = (glow_binding){t->bound[i], &tensors[i]};
    }
}

/* Of the result, in relation to its size. */
typedef struct error {
    double rms, max;
} error;

static error
difference(const glow_tensor *want, const glow_tensor *got)
{
    double squares = 0, size = 0, most = 0, greatest = 0;

    for (int64_t i = 0; i < glow_type_count(want->type); i++) {
        double x = glow_get_double(want, i);
        double d = fabs(x - glow_get_double(got, i));

        assert_true(isfinite(d));
        squares += d * d;
        size += x * x;
        most = d > most ? d : most;
        greatest = fabs(x) > greatest ? fabs(x) : greatest;
    }
    return (error){sqrt(squares / size), most / greatest};
}

/* Of the weights: that there are so many shows what the kernel is. */
static int64_t
transformed_bytes(const conv *c, const glow_target_options *code)
{
    const glow_cpu_options *own = code->options;
    int64_t m = own->winograd == GLOW_WINOGRAD_2 ? 2 : 4, points = 1;

    for (int i = 0; i < 2; i++)
        points *= c->taps[i] == 1 ? 1 : m + c->taps[i] - 1;

    return points * c->channels / c->group * c->outputs * 4;
}

static void
run(fixture *t, const conv *c, const glow_target_options *code,
    glow_tensor *tensors)
{
    const glow_backend *cpu = glow_find_backend(t->ctx, "cpu");
    glow_executable *x = cpu->load(glow_find_func(t->m, "main"), code);
    glow_binding bindings[4];

    assert_non_null(x);
    assert_true(cpu->sizes(x).constants >= transformed_bytes(c, code));
    fill(t, tensors, bindings);
    assert_true(cpu->run(x, bindings, t->count));
    cpu->unload(x);
}

/* The same bits, whoever does which part. */
static void
check_threads(fixture *t, const conv *c, const glow_target_options *code,
              const glow_tensor *want)
{
    glow_target_options split = *code;
    glow_cpu_options own = *(const glow_cpu_options *)code->options;
    glow_tensor got[4];
    int last = t->count - 1;

    own.grain = 1e-15F;
    split.options = &own;
    split.threads = 3;
    run(t, c, &split, got);
    assert_memory_equal(want[last].data, got[last].data,
                        (size_t)glow_type_bytes(want[last].type));
    for (int i = 0; i < t->count; i++)
        glow_tensor_end(&got[i]);
}

static error
error_of(const conv *c, glow_kind kind, const glow_target_options *code,
         bool threads)
{
    glow_tensor want[4], got[4];
    glow_binding bindings[4];
    glow_eval_options none = {0};
    glow_target_options zoned = *code;
    glow_cpu_options own = *(const glow_cpu_options *)code->options;
    fixture t;
    error e;

    build(&t, c, kind);
    fill(&t, want, bindings);
    assert_true(glow_eval(t.m->funcs, bindings, t.count, &none));
    place(&t, code);
    own.red_zones = true;
    zoned.options = &own;
    run(&t, c, &zoned, got);
    e = difference(&want[t.count - 1], &got[t.count - 1]);
    if (threads)
        check_threads(&t, c, code, got);
    for (int i = 0; i < t.count; i++) {
        glow_tensor_end(&want[i]);
        glow_tensor_end(&got[i]);
    }
    end(&t);
    return e;
}

/* This processor, and with narrower vectors. */
static const char *const features[] = {
    NULL,
#if defined(__x86_64__)
    "-avx512f,-amx-bf16",
    "-avx,-amx-bf16",
#endif
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* By F(m), with features number `width`; each seventh also by threads. */
static void
check(const conv *c, glow_kind kind, int m, size_t width)
{
    const char *what = features[width / 2 % COUNT(features)];
    const glow_cpu_options own = {
        .winograd = m == 2 ? GLOW_WINOGRAD_2 : GLOW_WINOGRAD_4,
        .parts = GLOW_PARTS_OFF}; /* AMX would take floats by parts */
    const glow_target_options code = {.features = what, .options = &own};
    /* Both sides round to the kind: one unit in the last place apart, at times. */
    double unit = kind == GLOW_FLOAT16    ? 0x1p-10
                  : kind == GLOW_BFLOAT16 ? 0x1p-7
                                          : 0;
    error e;

    if (!is_in_sample())
        return;
    e = error_of(c, kind, &code, width % 7 == 0);
    if (!(e.rms <= 5e-6 + unit / 10 && e.max <= 1e-5 + unit))
        fail_msg(
            "%lld x %lld taps, %lld x %lld x %lld to %lld, pads %lld %lld %lld %lld, holes "
            "%lld %lld, F(%d), features %s: rms %.2g, max %.2g",
            (long long)c->taps[0], (long long)c->taps[1], (long long)c->height,
            (long long)c->width, (long long)c->channels, (long long)c->outputs,
            (long long)c->pads[0], (long long)c->pads[1], (long long)c->pads[2],
            (long long)c->pads[3], (long long)c->holes[0],
            (long long)c->holes[1], m, what ? what : "as they are", e.rms,
            e.max);
}

static void
shapes_agree(void **state)
{
    static const conv cases[] = {
        {1, 3, 3, 1, 1, 1, {0, 0, 0, 0}, false, false, {0, 0}, {3, 3}},
        {1, 3, 9, 16, 32, 1, {0, 0, 0, 0}, true, false, {0, 0}, {3, 3}},
        {1, 1, 1, 3, 5, 1, {1, 1, 1, 1}, true, true, {0, 0}, {3, 3}},
        {1, 1, 40, 7, 9, 1, {1, 1, 1, 1}, true, false, {0, 0}, {3, 3}},
        {2, 7, 7, 16, 16, 1, {1, 1, 1, 1}, true, true, {0, 0}, {3, 3}},
        {1, 13, 11, 17, 33, 1, {1, 1, 1, 1}, true, true, {0, 0}, {3, 3}},
        {1, 14, 14, 32, 64, 1, {1, 1, 1, 1}, false, true, {0, 0}, {3, 3}},
        {1, 50, 30, 32, 48, 1, {1, 1, 1, 1}, true, true, {0, 0}, {3, 3}},
        {1, 10, 6, 4, 8, 1, {2, 2, 2, 2}, true, true, {0, 0}, {3, 3}},
        {1, 5, 6, 3, 8, 1, {0, 2, 1, 1}, false, false, {0, 0}, {3, 3}},
        {1, 2, 2, 5, 4, 1, {7, 0, 1, 9}, true, true, {0, 0}, {3, 3}},
        {3, 5, 5, 8, 48, 1, {1, 1, 1, 1}, true, true, {0, 0}, {3, 3}},
        {2, 9, 9, 32, 64, 4, {1, 1, 1, 1}, true, true, {0, 0}, {3, 3}},
        {1, 12, 12, 60, 51, 3, {1, 0, 0, 1}, false, true, {0, 0}, {3, 3}},
        {1, 12, 12, 128, 128, 1, {1, 1, 1, 1}, true, true, {0, 0}, {3, 3}},
        {1, 10, 10, 512, 20, 1, {1, 1, 1, 1}, true, false, {0, 0}, {3, 3}},
        {1, 6, 400, 64, 16, 1, {1, 1, 1, 1}, true, true, {0, 0}, {3, 3}},
        {1, 8, 9, 20, 47, 1, {0, 1, 2, 0}, true, false, {0, 0}, {3, 3}},
        {1, 28, 28, 16, 32, 1, {2, 2, 2, 2}, true, true, {1, 1}, {3, 3}},
        {2, 28, 28, 17, 16, 1, {4, 4, 4, 4}, true, true, {3, 3}, {3, 3}},
        {1, 15, 17, 20, 35, 1, {2, 2, 2, 2}, true, true, {1, 1}, {3, 3}},
        {1, 15, 19, 9, 16, 1, {3, 1, 5, 4}, false, true, {1, 2}, {3, 3}},
        {2, 11, 13, 8, 20, 2, {5, 5, 5, 5}, true, false, {4, 4}, {3, 3}},
        {1, 6, 7, 8, 16, 1, {6, 7, 6, 7}, true, true, {5, 6}, {3, 3}},
        {1, 9, 3, 8, 16, 1, {0, 5, 0, 5}, true, false, {2, 2}, {3, 3}},
        {1, 30, 9, 130, 70, 1, {3, 0, 3, 9}, true, true, {2, 0}, {3, 3}},
        {1, 40, 40, 128, 128, 1, {2, 2, 2, 2}, true, true, {1, 1}, {3, 3}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        check(&cases[i], GLOW_FLOAT, i % 2 ? 2 : 4, i);
}

/* Kernels of 3, 5 and 7 taps in one direction or two, by the F(m) that they have. */
static void
kernels_agree(void **state)
{
    static const conv cases[] = {
        {1, 17, 17, 192, 192, 1, {0, 3, 0, 3}, true, true, {0, 0}, {1, 7}},
        {1, 17, 17, 192, 192, 1, {3, 0, 3, 0}, true, true, {0, 0}, {7, 1}},
        {1, 8, 8, 40, 70, 1, {0, 1, 0, 1}, true, false, {0, 0}, {1, 3}},
        {2, 9, 7, 33, 16, 1, {1, 0, 1, 0}, false, true, {0, 0}, {3, 1}},
        {1, 11, 12, 64, 48, 1, {0, 2, 0, 2}, true, false, {0, 0}, {1, 5}},
        {1, 5, 23, 17, 20, 1, {2, 1, 1, 0}, true, true, {0, 0}, {5, 1}},
        {2, 13, 9, 64, 64, 2, {0, 3, 0, 3}, true, true, {0, 0}, {1, 7}},
        {1, 1, 5, 8, 8, 1, {3, 0, 3, 0}, true, false, {0, 0}, {7, 1}},
        {1, 30, 6, 20, 35, 1, {6, 0, 6, 0}, true, true, {1, 0}, {7, 1}},
        {1, 14, 31, 20, 35, 1, {1, 9, 0, 8}, true, true, {2, 2}, {1, 7}},
        {1, 6, 1, 3, 5, 1, {2, 4, 0, 2}, false, false, {0, 0}, {1, 7}},
    };
    static const conv squares[] = {
        {1, 13, 14, 48, 64, 1, {2, 2, 2, 2}, true, true, {0, 0}, {5, 5}},
        {2, 7, 5, 17, 33, 1, {0, 2, 4, 1}, false, true, {0, 0}, {5, 5}},
        {1, 19, 12, 16, 20, 1, {4, 4, 4, 4}, true, false, {1, 1}, {5, 5}},
        {1, 9, 10, 20, 24, 1, {1, 2, 1, 2}, true, true, {0, 0}, {3, 5}},
        {1, 10, 9, 24, 20, 1, {3, 1, 3, 1}, true, true, {0, 0}, {7, 3}},
    };

    (void)state;
    for (size_t i = 0; i < 2 * COUNT(cases); i++)
        check(&cases[i / 2], GLOW_FLOAT, i % 2 ? 2 : 4, i);
    for (size_t i = 0; i < COUNT(squares); i++)
        check(&squares[i], GLOW_FLOAT, 2, 2 * i + i / 3);
}

/*
 * Numbers of 16 bits are transformed and multiplied as float, bfloat16 where the target
 * does not multiply pairs of it.
 */
static void
narrow_shapes_agree(void **state)
{
    static const conv cases[] = {
        {1, 13, 13, 64, 256, 1, {1, 1, 1, 1}, true, true, {0, 0}, {3, 3}},
        {2, 7, 9, 17, 33, 1, {1, 1, 1, 1}, true, false, {0, 0}, {3, 3}},
        {2, 9, 9, 32, 64, 4, {1, 1, 1, 1}, true, true, {0, 0}, {3, 3}},
        {1, 15, 17, 21, 35, 1, {2, 2, 2, 2}, true, true, {1, 1}, {3, 3}},
        {1, 5, 6, 3, 8, 1, {0, 2, 1, 1}, false, false, {0, 0}, {3, 3}},
    };

    (void)state;
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        const conv *c = &cases[i / 2];
        size_t narrower = 2 + 2 * (i % 2); /* vectors, without AVX512_BF16 */

        check(c, GLOW_FLOAT16, i % 2 ? 2 : 4, i);
        if (features[narrower / 2 % COUNT(features)])
            check(c, GLOW_BFLOAT16, i % 2 ? 2 : 4, narrower);
    }
}

/* Drawn shapes: sizes to 20, pads and holes to 2, channels to 70, batch to
   3. */
static void
drawn_shapes_agree(void **state)
{
    uint32_t seed = 1;

    (void)state;
    for (int i = 0; i < 16; i++) {
        int64_t v[13];
        conv c;

        for (int k = 0; k < 13; k++) {
            seed = seed * 1664525 + 1013904223;
            v[k] = seed >> 8;
        }
        c = (conv){
            .batch = 1 + v[0] % 3,
            .height = 1 + v[1] % 20,
            .width = 1 + v[2] % 20,
            .channels = 1 + v[3] % 70,
            .outputs = 1 + v[4] % 70,
            .group = 1,
            .pads = {v[5] % 3, v[6] % 3, v[7] % 3, v[8] % 3},
            .bias = v[9] % 2,
            .stacked = v[10] % 2,
            .holes = {v[11] % 3, v[12] % 3},
            .taps = {3, 3},
        };
        if (c.height + c.pads[0] + c.pads[2] >= 3 + 2 * c.holes[0] &&
            c.width + c.pads[1] + c.pads[3] >= 3 + 2 * c.holes[1] &&
            c.height > c.holes[0] && c.width > c.holes[1])
            check(&c, GLOW_FLOAT, i % 2 ? 2 : 4, (size_t)i + 1);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_agree),
        cmocka_unit_test(kernels_agree),
        cmocka_unit_test(narrow_shapes_agree),
        cmocka_unit_test(drawn_shapes_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
