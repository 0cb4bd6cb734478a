/*
 * Tuning files: whatever they say is done right or refused, and they are printed
 * as they are read.  Shapes and numbers are drawn.
 */

#include "cpu.h"

#define SHAPES 10
#define DRAWS 9

/* The id of the last error, which is not shown. */
static char last_error[8];

static void
note_error(const glow_diag *d, void *user)
{
    (void)user;
    snprintf(last_error, sizeof last_error, "%s", d->id ? d->id : "");
}

/* A convolution of constant weights: plain, grouped, depthwise. */
static void
add_convolution(fixture *t, uint64_t *s)
{
    int64_t kernel = 2 * draw(s, 0, 2) + 1, stride = draw(s, 1, 2);
    int64_t group = draw(s, 0, 3) ? 1 : draw(s, 2, 9);
    int64_t in = group * draw(s, 1, group > 1 ? 3 : 40);
    int64_t out = group * draw(s, 1, group > 1 ? 3 : 70);
    int64_t h = draw(s, 5, 17), w = draw(s, 5, 33), pad = kernel / 2;
    glow_value *x = input(t, GLOW_FLOAT, GLOW_DIMS_OF(1, h, w, in));
    glow_value *f =
        weights(t, GLOW_FLOAT, GLOW_DIMS_OF(out, kernel, kernel, in / group));

    save(t,
         GLOW_BUILD(t->b, convolution, GLOW_IN(x, f, NULL),
                    .kernels = GLOW_DIMS_OF(kernel, kernel),
                    .strides = GLOW_DIMS_OF(stride, stride),
                    .pads = GLOW_DIMS_OF(pad, pad, pad, pad), .group = group));
}

static void
add_product(fixture *t, uint64_t *s)
{
    int64_t rows = draw(s, 1, 60), depth = draw(s, 1, 90);
    glow_value *a = input(t, GLOW_FLOAT, GLOW_DIMS_OF(rows, depth));
    glow_value *b =
        weights(t, GLOW_FLOAT, GLOW_DIMS_OF(depth, draw(s, 1, 150)));

    save(t, GLOW_BUILD_PLAIN(t->b, matmul, GLOW_IN(a, b)));
}

static const char *
draw_choice(fixture *t, uint64_t *s, bool product)
{
    static const char *const kernels[] = {"conv_direct", "conv_winograd",
                                          "conv_grouped", "convolution"};
    static const struct {
        const char *name;
        int64_t least, most;
    } numbers[] = {
        {"form", 2, 4},   {"rows", 1, 40},  {"vectors", 1, 8}, {"unit", 1, 8},
        {"lines", 1, 30}, {"tiles", 1, 90}, {"ahead", 0, 9},
    };
    glow_buf b = {.arena = t->arena};

    glow_buf_puts(&b, product ? "matmul_direct" : kernels[draw(s, 0, 3)]);
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (draw(s, 0, 1))
            glow_buf_printf(&b, " %s=%d", numbers[i].name,
                            (int)draw(s, numbers[i].least, numbers[i].most));
    return b.text;
}

/* True if it was done, and rightly; false if it was refused. */
static bool
try_choice(fixture *t, const char *file, const glow_tensor *want)
{
    const glow_backend *cpu = glow_find_backend(t->ctx, "cpu");
    const glow_source source = {"tuning", file, strlen(file), 1};
    glow_target_options o = {.options =
                                 &(const glow_cpu_options){.red_zones = true}};
    glow_tensor got[MAX_BOUND];
    glow_binding bindings[MAX_BOUND];
    glow_executable *x;

    o.tuning = glow_tuning_read(t->ctx, t->arena, &source);
    assert_non_null(o.tuning);
    last_error[0] = '\0';
    x = cpu->load(glow_find_func(t->m, "main"), &o);
    if (!x) {
        assert_string_equal(last_error, "E0828");
        return false;
    }
    fill(t, got, GLOW_FILL_RANDOM);
    bind(t, got, bindings);
    assert_true(cpu->run(x, bindings, t->count));
    for (int i = 0; i < t->count; i++) {
        if (t->written[i])
            compare(file, &want[i], &got[i], 1e-4);
        glow_tensor_end(&got[i]);
    }
    cpu->unload(x);
    return true;
}

static int
try_shape(uint64_t *s, int *refused)
{
    fixture t = {.constants = true};
    bool product = draw(s, 0, 2) == 0;
    const glow_eval_options none = {0};
    glow_tensor want[MAX_BOUND];
    glow_binding bindings[MAX_BOUND];
    const char *key;
    int done = 0;

    begin(&t);
    product ? add_product(&t, s) : add_convolution(&t, s);
    fill(&t, want, GLOW_FILL_RANDOM);
    bind(&t, want, bindings);
    assert_true(glow_eval(t.f, bindings, t.count, &none));
    run_pipeline(&t, "schedule,irgen,alloc<gap=256>");
    key = key_of(&t, &(const glow_target_options){0});
    glow_context_set_sink(t.ctx, note_error, NULL);
    for (int i = 0; i < DRAWS; i++) {
        const char *file = glow_arena_printf(t.arena, "glow-tuning 1\n%s%s\n",
                                             key, draw_choice(&t, s, product));

        if (try_choice(&t, file, want))
            done++;
        else
            ++*refused;
    }
    for (int i = 0; i < t.count; i++)
        glow_tensor_end(&want[i]);
    end(&t);
    return done;
}

static void
all_choices_are_right_or_refused(void **state)
{
    uint64_t seed = 7;
    int done = 0, refused = 0;

    (void)state;
    for (int i = 0; i < SHAPES; i++)
        done += try_shape(&seed, &refused);
    print_message("# %d done, %d refused\n", done, refused);
    assert_true(done > SHAPES * DRAWS / 5);
    assert_true(refused > SHAPES);
}

/* Comments stay with what they stand before or behind; lines are sorted. */
static void
files_are_printed_as_read(void **state)
{
    static const char text[] =
        "# all\n"
        "glow-tuning 1\n"
        "\n"
        "# the last\n"
        "m/z/128  MatMul   a >  b  =>  matmul_direct  vectors=2 rows=3 # why\n"
        "m/a/128 Convolution x => conv_direct\n"
        "# end\n";
    static const char printed[] =
        "# all\n"
        "glow-tuning 1\n"
        "m/a/128 Convolution x => conv_direct\n"
        "# the last\n"
        "m/z/128 MatMul a > b => matmul_direct rows=3 vectors=2 # why\n"
        "# end\n";
    glow_context *ctx = glow_context_new();
    glow_arena *a = glow_arena_new();
    const char *from = text;

    (void)state;
    for (int i = 0; i < 2; i++) {
        const glow_source source = {"tuning", from, strlen(from), 1};
        glow_tuning *t = glow_tuning_read(ctx, a, &source);
        glow_buf b = {.arena = a};

        assert_non_null(t);
        glow_tuning_print(&b, t);
        assert_string_equal(b.text, printed);
        from = b.text;
    }
    glow_arena_free(a);
    glow_context_free(ctx);
}

/* Every file that is cut off or has another byte is read or refused. */
static void
broken_files_are_refused(void **state)
{
    static const char text[] =
        "glow-tuning 1\n# c\nm/a/128 MatMul x => matmul_direct rows=12 # y\n";
    glow_context *ctx = glow_context_new();
    uint64_t seed = 1;
    int refused = 0;

    (void)state;
    glow_context_set_sink(ctx, note_error, NULL);
    for (int i = 0; i < 4000; i++) {
        glow_arena *a = glow_arena_new();
        char copy[sizeof text];
        glow_source source = {"tuning", copy, sizeof text - 1, 1};

        memcpy(copy, text, sizeof text);
        copy[draw(&seed, 0, sizeof text - 2)] = (char)draw(&seed, 0, 255);
        if (i % 2)
            source.size = (size_t)draw(&seed, 0, sizeof text - 1);
        refused += glow_tuning_read(ctx, a, &source) == NULL;
        glow_arena_free(a);
    }
    assert_true(refused > 1000);
    glow_context_free(ctx);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_choices_are_right_or_refused),
        cmocka_unit_test(files_are_printed_as_read),
        cmocka_unit_test(broken_files_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
