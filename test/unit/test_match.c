/* What passes ask of values. */

#include "unit.h"

#include <string.h>

#include "glow/file.h"
#include "glow/match.h"
#include "glow/ops.h"
#include "glow/text.h"

static const char text[] =
    "placeholder @x : float<2 x 3>\n"
    "placeholder @p : bool<1>\n"
    "placeholder @y : float<2 x 3>\n"
    "constant @half : float<3> = splat(0.5)\n"
    "constant @same : float<2 x 3> = [2.0, 2.0, 2.0, 2.0, 2.0, 2.0]\n"
    "constant @zeros : float<2 x 3> = [0.0, 0.0, -0.0, 0.0, 0.0, 0.0]\n"
    "constant @third : float64<3> = splat(0.3333333333333333)\n"
    "constant @big : index64<3> = splat(9007199254740993)\n"
    "constant @huge : uint64<3> = splat(18446744073709551614)\n"
    "constant @hugest : uint64<1> = [18446744073709551615]\n"
    "constant @ints : index64<3> = [7, -8, 9]\n"
    "constant @none : float<0> = []\n"
    "function @main {\n"
    "  %splat = Splat() {Value: -0.0} : float<2 x 3>\n"
    "  %far = Splat() {Value: 1e+19} : uint64<3>\n"
    "  %wide = Broadcast(@half) {Axis: 1, TargetDim: [2, 3]} : float<2 x 3>\n"
    "  %narrow = ConvertTo(@third) : float16<3>\n"
    "  %back = ConvertTo(%narrow) : float<3>\n"
    "  %relu = Relu(@x) : float<2 x 3>\n"
    "  %tanh = Tanh(%relu) : float<2 x 3>\n"
    "  %neg = Neg(%relu) : float<2 x 3>\n"
    "  %pred = Relu(@x) pred(@p) : float<2 x 3>\n"
    "  %sum = Add(%neg, %pred) : float<2 x 3>\n"
    "  %save = Save(%sum, @y)\n"
    "}\n";

typedef struct fixture {
    glow_context *ctx;
    glow_module *module;
} fixture;

static int
setup(void **state)
{
    static fixture t;

    t.ctx = glow_context_new();
    t.module = glow_parse(
        t.ctx, glow_source_from(t.ctx, "<test>", text, strlen(text)), NULL);
    *state = &t;
    return t.module ? 0 : -1;
}

static int
teardown(void **state)
{
    fixture *t = *state;

    glow_module_free(t->module);
    glow_context_free(t->ctx);
    return 0;
}

static glow_value *
value(const fixture *t, const char *name)
{
    glow_storage *s = glow_find_storage(t->module, name);
    glow_node *n = glow_find_node(t->module->funcs, name);

    assert_true(s || n);
    return s ? &s->value : n->out[0];
}

static void
test_splats(void **state)
{
    const fixture *t = *state;
    double x;

    assert_true(glow_is_number(value(t, "half"), 0.5));
    assert_true(glow_is_number(value(t, "same"), 2.0));
    assert_true(glow_is_number(value(t, "wide"), 0.5));
    assert_true(glow_is_number(value(t, "splat"), -0.0));
    assert_false(glow_is_number(value(t, "splat"), 0.0));
    assert_false(glow_splat_value(value(t, "zeros"), &x));
    assert_false(glow_splat_value(value(t, "big"), &x));
    assert_false(glow_splat_value(value(t, "huge"), &x));
    assert_false(glow_splat_value(value(t, "hugest"), &x));
    assert_false(glow_splat_value(value(t, "far"), &x));
    assert_false(glow_splat_value(value(t, "ints"), &x));
    assert_false(glow_splat_value(value(t, "none"), &x));
    assert_false(glow_splat_value(value(t, "x"), &x));
}

/* A number is what the conversion on its way leaves of it. */
static void
test_converted(void **state)
{
    const fixture *t = *state;
    double x = 0;

    assert_true(glow_splat_value(value(t, "back"), &x));
    assert_true(x == 0.333251953125);
}

static void
test_defs(void **state)
{
    const fixture *t = *state;
    glow_value *relu = value(t, "relu");

    assert_ptr_equal(glow_def(relu, &glow_op_relu), relu->def);
    assert_null(glow_def(relu, &glow_op_tanh));
    assert_null(glow_only_def(relu, &glow_op_relu));
    assert_non_null(glow_only_def(value(t, "neg"), &glow_op_neg));
    assert_null(glow_def(value(t, "pred"), &glow_op_relu));
    assert_null(glow_def(value(t, "x"), &glow_op_relu));
    assert_ptr_equal(glow_through(value(t, "tanh"), &glow_op_tanh), relu);
    assert_ptr_equal(glow_through(relu, &glow_op_tanh), relu);
}

static void
test_constants(void **state)
{
    const fixture *t = *state;
    glow_dims d;

    assert_true(glow_get_ints(value(t, "ints"), &d));
    assert_true(glow_dims_equal(d, GLOW_DIMS_OF(7, -8, 9)));
    assert_false(glow_get_ints(value(t, "half"), &d));
    assert_non_null(glow_constant_data(value(t, "same"), 6));
    assert_null(glow_constant_data(value(t, "same"), 5));
    assert_true(glow_is_constant_like(value(t, "same")));
    assert_true(glow_is_constant_like(value(t, "splat")));
    assert_false(glow_is_constant_like(value(t, "wide")));
}

static void
test_build_like(void **state)
{
    const fixture *t = *state;
    glow_arena *a = glow_arena_new();
    glow_builder *b = glow_builder_new(a, t->module->funcs, NULL);
    glow_value *held = glow_build_like(b, value(t, "third"), 0.25);
    glow_value *fine = glow_build_like(b, value(t, "third"), 0.1);

    assert_ptr_equal(held->type, value(t, "third")->type);
    assert_non_null(glow_def(held, &glow_op_splat));
    assert_true(glow_is_number(held, 0.25));
    assert_true(glow_is_number(fine, 0.1));
    assert_null(glow_builder_run(b));
    glow_arena_free(a);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_splats, setup, teardown),
        cmocka_unit_test_setup_teardown(test_converted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_defs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_constants, setup, teardown),
        cmocka_unit_test_setup_teardown(test_build_like, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
