/*
 * Quotients before jumps: x / c with x = c, 2 c, 3 c, ... through one operator
 * into a discontinuous one, optimized and evaluated against the text as it is.
 */

#include "unit.h"

#include "glow/eval.h"
#include "glow/file.h"
#include "glow/pipeline.h"
#include "glow/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE "<1 x 10 x 20 x 1>"
#define FLOATS "float" SIZE
#define CONV                                                           \
    "Kernels: [1, 1], Strides: [1, 1], Pads: [0, 0, 0, 0], Group: 1, " \
    "Dilation: [1, 1]"
enum { COUNT = 200 };

static const double divisors[] = {3, 5, 7, 10, 41, 49, 100, 255, 0.1, 1e-3};

/* From %q to %v. */
static const char *const between[] = {
    "%v = Copy(%q) : " FLOATS,
    "%v = Relu(%q) : " FLOATS,
    "%v = Mul(%q, @one) : " FLOATS,
    "%v = Add(@zero, %q) : " FLOATS,
    "%v = Max(%q, @zero) : " FLOATS,
    "%r = Reshape(%q) {Dims: [10, 20]} : float<10 x 20>\n"
    "%t = Trilu(%r) {Upper: true} : float<10 x 20>\n"
    "%v = Reshape(%t) {Dims: [1, 10, 20, 1]} : " FLOATS,
    "%r = Reshape(%q) {Dims: [20, 10]} : float<20 x 10>\n"
    "%t = Transpose(%r) {Shuffle: [1, 0]} : float<10 x 20>\n"
    "%v = Reshape(%t) {Dims: [1, 10, 20, 1]} : " FLOATS,
    "%v = MaxPool(%q) {Kernels: [1, 1], Strides: [1, 1], Pads: [0, 0, 0, 0]} "
    ": " FLOATS,
    "%s = Slice(%q) {Start: [0, 1, 1, 0]} : float<1 x 8 x 18 x 1>\n"
    "%v = Pad(%s) {Pads: [0, 1, 1, 0, 0, 1, 1, 0]} : " FLOATS,
    "%a = Slice(%q) {Start: [0, 0, 0, 0]} : float<1 x 4 x 20 x 1>\n"
    "%b = Slice(%q) {Start: [0, 4, 0, 0]} : float<1 x 6 x 20 x 1>\n"
    "%v = Concat([%a, %b]) {Dim: 1} : " FLOATS,
    "%v = Convolution(%q, @weight, @bias) {" CONV "} : " FLOATS,
    "%r = Reshape(%q) {Dims: [200, 1]} : float<200 x 1>\n"
    "%m = MatMul(%r, @square) : float<200 x 1>\n"
    "%v = Reshape(%m) {Dims: [1, 10, 20, 1]} : " FLOATS,
    "%v = Select(@yes, %q, @zero) : " FLOATS,
    "%g = Div(%q, @one) : " FLOATS "\n"
    "%v = Neg(%g) : " FLOATS,
    "%h = Mul(%q, @two) : " FLOATS "\n"
    "%v = Add(%h, @two) : " FLOATS,
};

/* From %v to %y, and its kind. */
static const struct {
    const char *text, *kind;
} jumps[] = {
    {"%y = Floor(%v) : " FLOATS, "float"},
    {"%y = Ceil(%v) : " FLOATS, "float"},
    {"%u = Sub(%v, @half) : " FLOATS "\n%y = Round(%u) : " FLOATS, "float"},
    {"%y = Truncate(%v) : " FLOATS, "float"},
    {"%y = FloorDiv(%v, @one) : " FLOATS, "float"},
    {"%y = ConvertTo(%v) : index32" SIZE, "index32"},
    {"%f = Floor(%v) : " FLOATS "\n%y = CmpEQ(%f, %v) : bool" SIZE, "bool"},
    {"%u = Sub(%v, @half) : " FLOATS "\n%r = Round(%u) : " FLOATS
     "\n%k = Clip(%r) {Min: -128.0, Max: 127.0} : " FLOATS
     "\n%y = ConvertTo(%k) : int8" SIZE,
     "int8"},
};

static void
say_error(const glow_diag *d, void *user)
{
    (void)user;
    print_message("# %s: %s\n", d->id, d->message);
}

/* The Save's operand is %y of `kind`; x is divided by `c`, or first convolved. */
static glow_module *
parse(glow_context *ctx, double c, bool convolved, const char *way,
      const char *jump, const char *kind)
{
    char text[4096];

    snprintf(text, sizeof text,
             "gir 1\n"
             "placeholder @x : " FLOATS "\n"
             "placeholder @y : %s" SIZE "\n"
             "placeholder @yes : bool" SIZE "\n"
             "constant @c : " FLOATS " = splat(%.9g)\n"
             "constant @one : " FLOATS " = splat(1.0)\n"
             "constant @two : " FLOATS " = splat(2.0)\n"
             "constant @half : " FLOATS " = splat(0.5)\n"
             "constant @zero : " FLOATS " = splat(0.0)\n"
             "constant @weight : float<1 x 1 x 1 x 1> = [1.0]\n"
             "constant @bias : float<1> = [0.0]\n"
             "constant @square : float<1 x 1> = [1.0]\n"
             "function @main {\n"
             "%s"
             "%%q = Div(%s, @c) : " FLOATS "\n"
             "%s\n%s\n"
             "%%save = Save(%%y, @y)\n"
             "}\n",
             kind, c,
             convolved ? "%w = Convolution(@x, @weight, @bias) {" CONV
                         "} : " FLOATS "\n"
                       : "",
             convolved ? "%w" : "@x", way, jump);
    return glow_parse(ctx, glow_source_from(ctx, "<test>", text, strlen(text)),
                      NULL);
}

static void
optimize(glow_context *ctx, glow_module *m)
{
    static const char passes[] = "optimize,lower,optimize";
    glow_arena *a = glow_arena_new();
    glow_pipeline *p = glow_pipeline_parse(
        ctx, a, glow_source_from(ctx, "<passes>", passes, strlen(passes)));

    assert_non_null(p);
    assert_true(glow_pipeline_run(p, m, NULL));
    glow_arena_free(a);
}

/* Writes y as doubles. */
static void
evaluate(glow_module *m, double c, double *y)
{
    glow_binding bound[3] = {{0}};
    glow_tensor tensor[3];
    int count = 0;

    GLOW_FOR_EACH_STORAGE(s, m) {
        bool is_y = !s->is_constant && s->name[0] == 'y' && !s->name[1];

        if (s->is_constant)
            continue;
        tensor[count] = glow_tensor_new(s->value.type);
        bound[count] = (glow_binding){s, &tensor[count]};
        for (int i = 0; i < COUNT && !is_y; i++)
            glow_set_double(&tensor[count], i,
                            s->name[0] == 'x' ? (double)(float)c * (i + 1) : 1);
        count++;
    }
    assert_true(glow_eval(m->funcs, bound, count, &(glow_eval_options){0}));
    for (int k = 0; k < count; k++) {
        for (int i = 0; i < COUNT && !strcmp(bound[k].storage->name, "y"); i++)
            y[i] = glow_get_double(&tensor[k], i);
        glow_tensor_end(&tensor[k]);
    }
}

static void
check(double c, bool convolved, const char *way, const char *jump,
      const char *kind)
{
    double was[COUNT], is[COUNT];
    glow_context *ctx = glow_context_new();
    glow_module *m;

    glow_context_set_sink(ctx, say_error, NULL);
    m = parse(ctx, c, convolved, way, jump, kind);
    assert_non_null(m);
    evaluate(m, c, was);
    optimize(ctx, m);
    evaluate(m, c, is);
    for (int i = 0; i < COUNT; i++)
        if (was[i] != is[i])
            fail_msg("%s%s, %s: %d * %g / %g was %g and is %g",
                     convolved ? "Convolution, " : "", way, jump, i + 1, c, c,
                     was[i], is[i]);
    glow_module_free(m);
    glow_context_free(ctx);
}

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

/* Every divisor, through every operator, into Floor. */
static void
test_between(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT_OF(divisors); c++)
        for (size_t w = 0; w < COUNT_OF(between); w++)
            check(divisors[c], w % 2 == 1, between[w], jumps[0].text,
                  jumps[0].kind);
}

/* Every jump, and an operator that weights fold into before the quotient. */
static void
test_jumps(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(jumps); k++)
        for (int convolved = 0; convolved < 2; convolved++)
            check(41, convolved, between[k], jumps[k].text, jumps[k].kind);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_between),
        cmocka_unit_test(test_jumps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
