/*
 * Convolutions and products of bfloat16 by registers of matrices, of drawn shapes:
 * emulated ones, and on a processor with AMX its own in turn.  A tuning file asks
 * for them, since small shapes do without.
 */

#include "cpu.h"

typedef struct shape {
    const char *kernel; /* that is asked for */
    int64_t batch, h, w, in, out;
    int64_t kernel_h, kernel_w, stride_h, stride_w;
    int64_t pad_h, pad_w, end_h, end_w, dilation_h, dilation_w;
    int64_t lines; /* of a block, or 0 */
    bool bias, stacked, constants;
} shape;

/* Numbers around those that one register has, and several. */
static int64_t
draw_channels(uint64_t *state)
{
    static const int64_t some[] = {2,  3,  4,  15, 16, 17, 24, 31, 32,
                                   33, 40, 47, 48, 49, 63, 64, 65, 97};

    return some[draw(state, 0, COUNT(some) - 1)];
}

static glow_value *
add_convolution(fixture *t, const shape *s)
{
    glow_value *x =
        input(t, GLOW_BFLOAT16, GLOW_DIMS_OF(s->batch, s->h, s->w, s->in));
    glow_value *f =
        weights(t, GLOW_BFLOAT16,
                GLOW_DIMS_OF(s->out, s->kernel_h, s->kernel_w, s->in));
    glow_value *b =
        s->bias ? weights(t, GLOW_BFLOAT16, GLOW_DIMS_OF(s->out)) : NULL;

    return GLOW_BUILD(
        t->b, convolution, GLOW_IN(x, f, b),
        .kernels = GLOW_DIMS_OF(s->kernel_h, s->kernel_w),
        .strides = GLOW_DIMS_OF(s->stride_h, s->stride_w),
        .pads = GLOW_DIMS_OF(s->pad_h, s->pad_w, s->end_h, s->end_w),
        .group = 1, .dilation = GLOW_DIMS_OF(s->dilation_h, s->dilation_w));
}

static glow_value *
add_product(fixture *t, const shape *s)
{
    glow_dims rows = GLOW_DIMS_OF(s->h, s->in);
    glow_dims columns = GLOW_DIMS_OF(s->in, s->out);
    glow_value *b;

    if (strcmp(s->kernel, "batchmatmul_matrix") == 0)
        return GLOW_BUILD_PLAIN(
            t->b, batchmatmul,
            GLOW_IN(
                input(t, GLOW_BFLOAT16, GLOW_DIMS_OF(s->batch, s->h, s->in)),
                weights(t, GLOW_BFLOAT16,
                        GLOW_DIMS_OF(s->batch, s->in, s->out))));
    if (strcmp(s->kernel, "matmul_matrix") == 0)
        return GLOW_BUILD_PLAIN(t->b, matmul,
                                GLOW_IN(input(t, GLOW_BFLOAT16, rows),
                                        weights(t, GLOW_BFLOAT16, columns)));
    b = weights(t, GLOW_BFLOAT16, GLOW_DIMS_OF(s->out));
    return GLOW_BUILD(t->b, fullyconnected,
                      GLOW_IN(input(t, GLOW_BFLOAT16, rows),
                              weights(t, GLOW_BFLOAT16, columns), b),
                      .axis = 1);
}

static void
add_all(fixture *t, const shape *s)
{
    bool is_product = strcmp(s->kernel, "conv_matrix") != 0;
    glow_value *y = is_product ? add_product(t, s) : add_convolution(t, s);

    if (s->stacked) {
        y = GLOW_BUILD_PLAIN(t->b, add, GLOW_IN(y, input_of(t, y->type)));
        y = GLOW_BUILD_PLAIN(t->b, relu, GLOW_IN(y));
    }
    save(t, y);
}

static const glow_target_options here;
static const glow_target_options emulated = {.features = "+amx-emulated"};

/* The line of a tuning file that asks for the kernel; NULL: `target` has none. */
static char *
ask_for(const shape *s, const glow_target_options *target)
{
    fixture t = {.constants = s->constants};
    glow_buf b = {0};
    char *line = NULL;
    const char *key;

    begin(&t);
    add_all(&t, s);
    run_pipeline(&t, "schedule,irgen,alloc<gap=256>");
    key = key_of(&t, target);
    if (strstr(key, "+amx ")) {
        b.arena = t.arena;
        glow_buf_printf(&b, "glow-tuning 1\n%s%s", key, s->kernel);
        if (s->lines)
            glow_buf_printf(&b, " lines=%d", (int)s->lines);
        line = strdup(b.text);
    }
    end(&t);
    return line;
}

static const char *
words(fixture *t, const shape *s)
{
    return glow_arena_printf(
        t->arena,
        "%s: %d x %d x %d, %d to %d, kernel %d x %d, strides %d %d, pads %d "
        "%d %d %d, dilation %d %d, %d lines%s%s%s",
        s->kernel, (int)s->batch, (int)s->h, (int)s->w, (int)s->in, (int)s->out,
        (int)s->kernel_h, (int)s->kernel_w, (int)s->stride_h, (int)s->stride_w,
        (int)s->pad_h, (int)s->pad_w, (int)s->end_h, (int)s->end_w,
        (int)s->dilation_h, (int)s->dilation_w, (int)s->lines,
        s->bias ? ", bias" : "", s->stacked ? ", stacked" : "",
        s->constants ? "" : ", no constants");
}

/* This machine has registers of matrices, and its system hands them out. */
static bool
has_matrices(void)
{
    const shape product = {
        .kernel = "matmul_matrix", .h = 8, .in = 32, .out = 16};
    char *line = ask_for(&product, &here);

    free(line);
    return line;
}

static void
check(const shape *s)
{
    static unsigned calls;
    fixture t = {.constants = s->constants, .is_drawn = true};
    const glow_target_options *target;
    glow_target_options o;
    glow_source source = {"tuning", NULL, 0, 1};
    char *line;

    calls++;
    if (!is_in_sample())
        return;
    target = calls % 2 == 0 && has_matrices() ? &here : &emulated;
    o = *target;
    line = ask_for(s, target);
    assert_non_null(line);
    source.text = line;
    source.size = strlen(line);
    begin(&t);
    o.tuning = glow_tuning_read(t.ctx, t.arena, &source);
    assert_non_null(o.tuning);
    t.target = &o;
    add_all(&t, s);
    agree_on(&t, words(&t, s), GLOW_FILL_RANDOM, 0);
    free(line);
}

static bool
fits(int64_t size, int64_t pads, int64_t kernel, int64_t dilation)
{
    return size + pads > (kernel - 1) * dilation;
}

/* Of one tap too: such pixels have no neighbours; their channels are not odd. */
static shape
draw_convolution(uint64_t *s)
{
    bool point = draw(s, 0, 3) == 0, padded = draw(s, 0, 2) > 0;
    shape w = {
        .kernel = "conv_matrix",
        .batch = draw(s, 1, 2),
        .h = draw(s, 1, 12),
        .w = draw(s, 1, 40),
        .in = draw_channels(s),
        .out = draw_channels(s),
        .kernel_h = point ? 1 : draw(s, 1, 4),
        .kernel_w = point ? 1 : draw(s, 1, 5),
        .stride_h = draw(s, 0, 1) ? 1 : draw(s, 1, 3),
        .stride_w = draw(s, 0, 1) ? 1 : draw(s, 1, 3),
        .pad_h = padded ? draw(s, 0, 3) : 0,
        .pad_w = padded ? draw(s, 0, 3) : 0,
        .end_h = padded ? draw(s, 0, 3) : 0,
        .end_w = padded ? draw(s, 0, 3) : 0,
        .dilation_h = draw(s, 0, 3) ? 1 : draw(s, 1, 3),
        .dilation_w = draw(s, 0, 3) ? 1 : draw(s, 1, 3),
        .lines = draw(s, 0, 2) ? 0 : draw(s, 1, 9),
        .bias = draw(s, 0, 1),
        .stacked = draw(s, 0, 1),
        .constants = true,
    };

    if (point && w.in < 32)
        w.in += w.in % 2;
    return w;
}

static void
convolutions_agree(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (int i = 0; i < 28;) {
        shape s = draw_convolution(&seed);

        if (!fits(s.h, s.pad_h + s.end_h, s.kernel_h, s.dilation_h) ||
            !fits(s.w, s.pad_w + s.end_w, s.kernel_w, s.dilation_w))
            continue;
        i++;
        check(&s);
    }
}

/* Narrow images of several lines, which may be joined to one line. */
static void
narrow_convolutions_agree(void **state)
{
    uint64_t seed = 3;

    (void)state;
    for (int i = 0; i < 24; i++) {
        bool point = i % 3 == 0;
        int64_t kernel = point ? 1 : draw(&seed, 2, 3);
        int64_t stride = point ? draw(&seed, 2, 3) : 1;

        check(&(shape){
            .kernel = "conv_matrix",
            .batch = draw(&seed, 1, 3),
            .h = draw(&seed, 5, 12),
            .w = draw(&seed, 5, 21),
            .in = 2 * draw(&seed, 8, 40),
            .out = draw_channels(&seed),
            .kernel_h = kernel,
            .kernel_w = kernel,
            .stride_h = stride,
            .stride_w = stride,
            .pad_h = point ? 0 : draw(&seed, 0, 2),
            .pad_w = point ? 0 : draw(&seed, 0, 2),
            .end_h = point ? 0 : draw(&seed, 0, 2),
            .end_w = point ? 0 : draw(&seed, 0, 2),
            .dilation_h = 1,
            .dilation_w = point ? 1 : draw(&seed, 1, 2),
            .lines = draw(&seed, 0, 2) ? 0 : draw(&seed, 1, 3),
            .bias = draw(&seed, 0, 1),
            .stacked = draw(&seed, 0, 1),
            .constants = true,
        });
    }
}

/* A filter that outgrows the cache: cuts of the depth, in blocks of lines. */
static void
deep_convolutions_agree(void **state)
{
    static const int64_t lines[] = {0, 2, 3};

    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++)
        check(&(shape){.kernel = "conv_matrix",
                       .batch = 1,
                       .h = 5,
                       .w = 3,
                       .in = 4096,
                       .out = 40,
                       .kernel_h = 3,
                       .kernel_w = 3,
                       .stride_h = 1,
                       .stride_w = 1,
                       .pad_h = 1,
                       .pad_w = 1,
                       .end_h = 1,
                       .end_w = 1,
                       .dilation_h = 1,
                       .dilation_w = 1,
                       .lines = lines[i],
                       .bias = true,
                       .constants = true});
}

static void
products_agree(void **state)
{
    static const char *const kernels[] = {
        "matmul_matrix", "fullyconnected_matrix", "batchmatmul_matrix"};
    uint64_t seed = 2;

    (void)state;
    for (int i = 0; i < 21; i++) {
        shape s = {
            .kernel = kernels[i % 3],
            .batch = draw(&seed, 1, 4),
            .h = draw(&seed, 1, 70),
            .in = draw(&seed, 1, 100),
            .out = draw(&seed, 1, 100),
            .lines = draw(&seed, 0, 2) ? 0 : draw(&seed, 1, 5),
            .bias = draw(&seed, 0, 1),
            .stacked = draw(&seed, 0, 1),
            .constants = draw(&seed, 0, 2) > 0,
        };

        if (s.in < 32)
            s.in += s.in % 2;
        check(&s);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_agree),
        cmocka_unit_test(narrow_convolutions_agree),
        cmocka_unit_test(deep_convolutions_agree),
        cmocka_unit_test(products_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
