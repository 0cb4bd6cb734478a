/* Faults planted in a quantized convolution: each is found by what its pass promises. */

#include "unit.h"

#include "glow/build.h"
#include "glow/file.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/semantics.h"
#include "glow/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TAPS = 27, CHANNELS = 2 };

typedef struct fixture {
    glow_context *ctx;
    glow_arena *arena;
    glow_module *m;
    glow_semantics *s;
    char message[512]; /* the last error */
} fixture;

static void
keep_error(const glow_diag *d, void *user)
{
    fixture *t = user;

    strncpy(t->message, d->message, sizeof t->message - 1);
}

static const glow_source *
source(fixture *t, const char *text)
{
    return glow_source_from(t->ctx, "<test>", text, strlen(text));
}

/* Channel 1 has weights of an eighth of those of channel 0, as the scales then are. */
static void
write_text(glow_buf *b)
{
    glow_buf_puts(b, "gir 1\n"
                     "placeholder @x : float<1 x 4 x 4 x 3>\n"
                     "placeholder @y : float<1 x 4 x 4 x 2>\n"
                     "constant @b : float<2> = [0.5, -0.25]\n"
                     "constant @w : float<2 x 3 x 3 x 3> = [");
    for (int i = 0; i < TAPS * CHANNELS; i++) {
        glow_buf_puts(b, i ? ", " : "");
        glow_buf_double(b, (i * 37 % 101 - 50) / (i < TAPS ? 64.0 : 512.0));
    }
    glow_buf_puts(b, "]\n"
                     "function @main {\n"
                     "  %c = Convolution(@x, @w, @b) {Kernels: [3, 3], "
                     "Strides: [1, 1], Pads: [1, 1, 1, 1], Group: 1} "
                     ": float<1 x 4 x 4 x 2>\n"
                     "  %y.save = Save(%c, @y)\n"
                     "}\n"
                     "ranges {\n"
                     "  @x: [1.0, 5.0]\n"
                     "  @main %c: [-12.0, 12.0]\n"
                     "}\n");
}

static int
setup(void **state)
{
    fixture *t = calloc(1, sizeof *t);
    glow_buf b = {0};
    glow_pipeline *p;

    t->ctx = glow_context_new();
    glow_context_set_sink(t->ctx, keep_error, t);
    t->arena = glow_arena_new();
    write_text(&b);
    t->m = glow_parse(t->ctx, source(t, b.text), NULL);
    glow_buf_free(&b);
    assert_non_null(t->m);
    t->s = glow_semantics_new(t->ctx, 1, 1 << 20);
    glow_semantics_before(t->s, glow_find_pass(t->ctx, "quantize"), t->m, NULL);
    p = glow_pipeline_parse(t->ctx, t->arena,
                            source(t, "quantize<correct_bias=false>"));
    assert_non_null(p);
    assert_true(glow_pipeline_run(p, t->m, NULL));
    *state = t;
    return 0;
}

static int
teardown(void **state)
{
    fixture *t = *state;

    glow_semantics_free(t->s);
    glow_module_free(t->m);
    glow_arena_free(t->arena);
    glow_context_free(t->ctx);
    free(t);
    return 0;
}

static glow_node *
convolution(fixture *t)
{
    glow_node *n = glow_find_node(glow_find_func(t->m, "main"), "c");

    assert_true(glow_is(n, &glow_op_channelwisequantizedconvolution));
    return n;
}

static const glow_tensor *
operand(fixture *t, int i)
{
    return glow_constant_tensor(convolution(t)->in[i]->storage);
}

static bool
is_accepted(fixture *t)
{
    return glow_semantics_after(t->s, glow_find_pass(t->ctx, "quantize"), t->m);
}

static void
check_found(fixture *t)
{
    assert_false(is_accepted(t));
    assert_non_null(strstr(t->message, "of %c is"));
}

static void
test_none(void **state)
{
    assert_true(is_accepted(*state));
}

/* Weights rounded down, not to the nearest: errors of one sign add up. */
static void
test_rounded_down(void **state)
{
    fixture *t = *state;
    const glow_tensor *w = operand(t, 1), *scales = operand(t, 3);

    for (int i = 0; i < TAPS * CHANNELS; i++) {
        double x = (i * 37 % 101 - 50) / (i < TAPS ? 64.0 : 512.0);

        glow_set_int(w, i,
                     (int64_t)floor(x / glow_get_double(scales, i / TAPS)));
    }
    check_found(t);
}

/* The scale of each channel is that of the other. */
static void
test_wrong_axis(void **state)
{
    fixture *t = *state;
    const glow_tensor *scales = operand(t, 3);
    double first = glow_get_double(scales, 0);

    glow_set_double(scales, 0, glow_get_double(scales, 1));
    glow_set_double(scales, 1, first);
    check_found(t);
}

/* The sums of weights times the offset of Input are in the bias twice, or not at all. */
static void
test_bias_without_offset(void **state)
{
    fixture *t = *state;
    const glow_tensor *w = operand(t, 1), *b = operand(t, 2);
    int64_t offset = convolution(t)->in[0]->type->offset;

    assert_int_not_equal(offset, 0);
    for (int c = 0; c < CHANNELS; c++) {
        int64_t sum = 0;

        for (int i = 0; i < TAPS; i++)
            sum += glow_get_int(w, c * TAPS + i);
        glow_set_int(b, c, glow_get_int(b, c) + offset * sum);
    }
    check_found(t);
}

/* Pads of the element 0, which is no real 0. */
static void
test_wrong_pad(void **state)
{
    fixture *t = *state;
    glow_node *n = convolution(t);
    glow_channelwisequantizedconvolution attrs =
        *(const glow_channelwisequantizedconvolution *)n->attrs;
    const glow_type *x = n->in[0]->type;
    glow_builder *b = glow_builder_new(t->arena, n->func, NULL);
    const int64_t pads[] = {0, 1, 1, 0, 0, 1, 1, 0};
    glow_value *padded;

    glow_builder_at(b, n);
    padded = GLOW_BUILD(b, pad, GLOW_IN(n->in[0]), .pads = {8, pads},
                        .value = -x->scale * (float)x->offset);
    assert_non_null(padded);
    attrs.pads = GLOW_DIMS_OF(0, 0, 0, 0);
    glow_set_operand(n, 0, padded);
    glow_node_set_attrs(n, &attrs);
    check_found(t);
}

/* Results one step off, as by an offset that is one off, or is added twice to ties. */
static void
test_wrong_offset(void **state)
{
    fixture *t = *state;
    const glow_tensor *b = operand(t, 2), *steps = operand(t, 5);
    double step = (double)convolution(t)->out[0]->type->scale;

    for (int c = 0; c < CHANNELS; c++)
        glow_set_int(b, c,
                     glow_get_int(b, c) +
                         (int64_t)round(step / glow_get_double(steps, c)));
    check_found(t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rounded_down, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_axis, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bias_without_offset, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_wrong_pad, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_offset, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
