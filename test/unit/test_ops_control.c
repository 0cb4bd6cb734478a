/* Operators that run functions. */

#include "ops.h"

#include "glow/ops.h"

/* What both branches take and give, and what does not fit them. */
static const char branches[] =
    "gir 1\n"
    "placeholder @t.x : float<2>\n"
    "placeholder @t.y : float<2>\n"
    "placeholder @t.z : float<2>\n"
    "placeholder @e.x : float<2>\n"
    "placeholder @e.y : float<2>\n"
    "placeholder @e.z : float<2>\n"
    "placeholder @o.x : float<2>\n"
    "placeholder @o.y : float<2>\n"
    "placeholder @w.x : float<2>\n"
    "placeholder @w.y : float<2>\n"
    "placeholder @w.z : float<1 x 2>\n"
    "placeholder @p : float<2>\n"
    "function @twice attributes {Inputs: [@t.x], Outputs: [@t.y, @t.z]} {\n"
    "  %a = Add(@t.x, @t.x) : float<2>\n"
    "  %y = Save(%a, @t.y)\n"
    "  %z = Save(@t.x, @t.z)\n"
    "}\n"
    "function @square attributes {Inputs: [@e.x], Outputs: [@e.y, @e.z]} {\n"
    "  %m = Mul(@e.x, @e.x) : float<2>\n"
    "  %n = Neg(@e.x) : float<2>\n"
    "  %y = Save(%m, @e.y)\n"
    "  %z = Save(%n, @e.z)\n"
    "}\n"
    "function @one attributes {Inputs: [@o.x], Outputs: [@o.y]} {\n"
    "  %y = Save(@o.x, @o.y)\n"
    "}\n"
    "function @wide attributes {Inputs: [@w.x], Outputs: [@w.y, @w.z]} {\n"
    "  %y = Save(@w.x, @w.y)\n"
    "  %r = Reshape(@w.x) {Dims: [1, 2]} : float<1 x 2>\n"
    "  %z = Save(%r, @w.z)\n"
    "}\n"
    "function @plain {\n"
    "  %y = Save(@p, @t.y)\n"
    "}\n";

static void
test_if(void **state)
{
    const op_case cases[] = {
        GIVES(if, ATTRS(if, "twice", "square"), IN("bool: 1", "float 2: 3 -4"),
              OUT("float 2: 6 -8", "float 2: 3 -4")),
        GIVES(if, ATTRS(if, "twice", "square"),
              IN("bool 1 1: 0", "float 2: 3 -4"),
              OUT("float 2: 9 16", "float 2: -3 4")),
        REFUSES(if, ATTRS(if, "nobody", "square"), IN("bool: 1", "float 2: 1"),
                OUT("float 2", "float 2"), "Then names no function"),
        REFUSES(if, ATTRS(if, "twice", "plain"), IN("bool: 1", "float 2: 1"),
                OUT("float 2", "float 2"),
                "Else names @plain, which has no attributes Inputs and "
                "Outputs"),
        REFUSES(if, ATTRS(if, "twice", "square"), IN("bool 2: 1", "float 2: 1"),
                OUT("float 2", "float 2"),
                "Condition is bool<2>, but must be one element of bool"),
        REFUSES(if, ATTRS(if, "twice", "square"), IN("bool: 1"),
                OUT("float 2", "float 2"),
                "@twice has 1 Inputs, but the call asks for 0"),
        REFUSES(if, ATTRS(if, "twice", "square"), IN("bool: 1", "float 3: 1"),
                OUT("float 2", "float 2"),
                "@t.x of @twice is float<2>, but the operand is float<3>"),
        REFUSES(if, ATTRS(if, "twice", "one"), IN("bool: 1", "float 2: 1"),
                OUT("float 2", "float 2"),
                "@one has 1 Outputs, but the number of results asks for 2"),
        REFUSES(if, ATTRS(if, "twice", "square"), IN("bool: 1", "float 2: 1"),
                OUT("float 2"),
                "@twice has 2 Outputs, but the number of results asks for 1"),
        REFUSES(if, ATTRS(if, "twice", "wide"), IN("bool: 1", "float 2: 1"),
                OUT("float 2", "float 2"),
                "@w.z of @wide is float<1 x 2>, but that of Then is float<2>"),
    };

    (void)state;
    CHECK_CASES_IN(branches, cases);
}

static void
test_run(void **state)
{
    const op_case cases[] = {
        GIVES(run, ATTRS(run, "twice", "npu"), IN("float 2: 3 -4"),
              OUT("float 2: 6 -8", "float 2: 3 -4")),
        GIVES(run, ATTRS(run, "square", ""), IN("float 2: 3 -4"),
              OUT("float 2: 9 16", "float 2: -3 4")),
        REFUSES(run, ATTRS(run, "nobody", ""), IN("float 2: 1"),
                OUT("float 2", "float 2"), "Body names no function"),
        REFUSES(run, ATTRS(run, "twice", ""), IN("float 3: 1"),
                OUT("float 2", "float 2"),
                "@t.x of @twice is float<2>, but the operand is float<3>"),
        REFUSES(run, ATTRS(run, "twice", ""), IN("float 2: 1"), OUT("float 2"),
                "@twice has 2 Outputs, but the number of results asks for 1"),
    };

    (void)state;
    CHECK_CASES_IN(branches, cases);
}

/* x' = x + k, kept: x * i; it goes on while x' < 10. */
static const char bodies[] =
    "gir 1\n"
    "placeholder @i : index64<>\n"
    "placeholder @c : bool<>\n"
    "placeholder @x : float<>\n"
    "placeholder @k : float<>\n"
    "placeholder @go : bool<>\n"
    "placeholder @next : float<>\n"
    "placeholder @row : float<>\n"
    "placeholder @b.i : index32<>\n"
    "placeholder @b.c : bool<>\n"
    "placeholder @b.go : bool<>\n"
    "placeholder @b.next : float<>\n"
    "placeholder @r.i : index64<>\n"
    "placeholder @r.c : bool<>\n"
    "placeholder @r.x : float<1>\n"
    "placeholder @r.go : bool<>\n"
    "placeholder @r.next : float<>\n"
    "constant @ten : float<> = [10]\n"
    "constant @zero : float<> = [0]\n"
    "function @body attributes {Inputs: [@i, @c, @x, @k],\n"
    "                           Outputs: [@go, @next, @row]} {\n"
    "  %n = Add(@x, @k) : float<>\n"
    "  %l = CmpLT(%n, @ten) : bool<>\n"
    "  %f = ConvertTo(@i) : float<>\n"
    "  %m = Mul(@x, %f) : float<>\n"
    "  %s0 = Save(%l, @go)\n"
    "  %s1 = Save(%n, @next)\n"
    "  %s2 = Save(%m, @row)\n"
    "}\n"
    "function @narrow attributes {Inputs: [@b.i, @b.c],\n"
    "                             Outputs: [@b.go, @b.next]} {\n"
    "  %s0 = Save(@b.c, @b.go)\n"
    "  %s1 = Save(@zero, @b.next)\n"
    "}\n"
    "function @reshapes attributes {Inputs: [@r.i, @r.c, @r.x],\n"
    "                               Outputs: [@r.go, @r.next]} {\n"
    "  %s0 = Save(@r.c, @r.go)\n"
    "  %y = Reshape(@r.x) {Dims: []} : float<>\n"
    "  %s1 = Save(%y, @r.next)\n"
    "}\n";

#define LOOP_IN "float: 1", "float: 2"

static void
test_loop(void **state)
{
    const op_case cases[] = {
        /* as often as TripCount says, or until the condition fails */
        GIVES(loop, ATTRS(loop, "body", 1, 4), IN("index64: 3", "_", LOOP_IN),
              OUT("float: 7", "float 4: 0 3 10 0")),
        GIVES(loop, ATTRS(loop, "body", 1, 4),
              IN("index64 1: 3", "bool: 1", "float: 5", "float: 3"),
              OUT("float: 11", "float 4: 0 8 0 0")),
        GIVES(loop, ATTRS(loop, "body", 1, 6), IN("_", "_", LOOP_IN),
              OUT("float: 11", "float 6: 0 3 10 21 36 0")),
        GIVES(loop, ATTRS(loop, "body", 1, 6), IN("_", "bool: 1", LOOP_IN),
              OUT("float: 11", "float 6: 0 3 10 21 36 0")),
        /* not at all */
        GIVES(loop, ATTRS(loop, "body", 1, 4),
              IN("index64: 3", "bool: 0", LOOP_IN),
              OUT("float: 1", "float 4: 0")),
        GIVES(loop, ATTRS(loop, "body", 1, 4), IN("index64: -1", "_", LOOP_IN),
              OUT("float: 1", "float 4: 0")),
        GIVES(loop, ATTRS(loop, "body", 1, 0), IN("index64: 0", "_", LOOP_IN),
              OUT("float: 1", "float 0:")),
        /* MaxTrips is enough, and then is not */
        GIVES(loop, ATTRS(loop, "body", 1, 3), IN("index64: 3", "_", LOOP_IN),
              OUT("float: 7", "float 3: 0 3 10")),
        REFUSES(loop, ATTRS(loop, "body", 1, 3), IN("index64: 4", "_", LOOP_IN),
                OUT("float: 7", "float 3: 0"),
                "it goes on after MaxTrips iterations, 3"),
        REFUSES(loop, ATTRS(loop, "body", 1, -1),
                IN("index64: 4", "_", LOOP_IN), OUT("float", "float 3"),
                "MaxTrips is -1, but must not be below 0"),
        REFUSES(loop, ATTRS(loop, "body", 3, 4), IN("index64: 4", "_", LOOP_IN),
                OUT("float", "float 3"),
                "Carried is 3, but there are 2 Inputs and 2 results"),
        REFUSES(loop, ATTRS(loop, "body", 1, 4), IN("index32: 4", "_", LOOP_IN),
                OUT("float", "float 4"),
                "TripCount is index32<>, but must be one element of index64"),
        REFUSES(loop, ATTRS(loop, "body", 1, 4), IN("_", "bool 0", LOOP_IN),
                OUT("float", "float 4"),
                "Condition is bool<0>, but must be one element of bool"),
        REFUSES(loop, ATTRS(loop, "body", 1, 4), IN("index64: 4", "_", LOOP_IN),
                OUT("float"),
                "@body has 3 Outputs, but the number of results asks for 2"),
        REFUSES(loop, ATTRS(loop, "body", 1, 4), IN("_", "_", "float: 1"),
                OUT("float", "float 4"),
                "@body has 4 Inputs, but the call asks for 3"),
        REFUSES(loop, ATTRS(loop, "narrow", 0, 4), IN("_", "_"), OUT("float 4"),
                "@b.i of @narrow is index32<>, but the number of an iteration "
                "is index64<>"),
        REFUSES(loop, ATTRS(loop, "reshapes", 1, 4), IN("_", "_", "float 1: 1"),
                OUT("float 1"),
                "@r.x of @reshapes is float<1>, but what is carried on to it "
                "is float<>"),
        REFUSES(loop, ATTRS(loop, "nobody", 1, 4), IN("_", "_", LOOP_IN),
                OUT("float", "float 4"), "Body names no function"),
    };

    (void)state;
    CHECK_CASES_IN(bodies, cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_if),
        cmocka_unit_test(test_run),
        cmocka_unit_test(test_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
