/* Operators of two or three operands. */

#include "ops.h"

#include "glow/ops.h"

static void
test_arithmetic(void **state)
{
    static const op_case cases[] = {
        GIVES(add, NULL, IN("float 3: 1 2 -3", "float 3: 4 5 6"),
              OUT("float 3: 5 7 3")),
        GIVES(add, NULL, IN("int8 2: 127 1", "int8 2: 1 2"),
              OUT("int8 2: -128 3")),
        GIVES(sub, NULL, IN("float 2: 1 2", "float 2: 4 0.5"),
              OUT("float 2: -3 1.5")),
        GIVES(sub, NULL, IN("uindex8 1: 1", "uindex8 1: 2"),
              OUT("uindex8 1: 255")),
        GIVES(mul, NULL, IN("float 3: 1.5 2 0", "float 3: 4 -5 inf"),
              OUT("float 3: 6 -10 nan")),
        GIVES(mul, NULL, IN("index64 1: 4611686018427387904", "index64 1: 3"),
              OUT("index64 1: -4611686018427387904")),
        GIVES(div, NULL, IN("float 4: 1 -1 0 6", "float 4: 0 0 0 4"),
              OUT("float 4: inf -inf nan 1.5")),
        GIVES(pow, NULL, IN("float 4: 2 4 -2 0", "float 4: 3 0.5 3 0"),
              OUT("float 4: 8 2 -8 1")),
    };

    (void)state;
    CHECK_CASES(cases);
}

/* Where the machine would trap or be undefined, the meaning says what is. */
static void
test_integers(void **state)
{
    static const op_case cases[] = {
        GIVES(div, NULL,
              IN("index32 5: 7 -7 7 -2147483648 5", "index32 5: 2 2 0 -1 -1"),
              OUT("index32 5: 3 -3 0 -2147483648 -5")),
        GIVES(div, NULL,
              IN("index64 2: -9223372036854775808 1", "index64 2: -1 0"),
              OUT("index64 2: -9223372036854775808 0")),
        GIVES(div, NULL, IN("uint64 1: -1", "uint64 1: 2"),
              OUT("uint64 1: 9223372036854775807")),
        GIVES(pow, NULL,
              IN("index32 6: 2 2 -1 -1 0 3", "index32 6: 10 -1 -3 -2 -1 0"),
              OUT("index32 6: 1024 0 -1 1 0 1")),
        GIVES(max, NULL, IN("uint64 1: -1", "uint64 1: 1"),
              OUT("uint64 1: -1")),
        GIVES(min, NULL, IN("int8 2: -1 5", "int8 2: 1 4"),
              OUT("int8 2: -1 4")),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_extremes(void **state)
{
    static const op_case cases[] = {
        GIVES(max, NULL,
              IN("float 5: 1 nan 1 -0.0 0", "float 5: 2 1 nan 0 -0.0"),
              OUT("float 5: 2 nan nan 0 0")),
        GIVES(min, NULL,
              IN("float 5: 1 nan 1 -0.0 0", "float 5: 2 1 nan 0 -0.0"),
              OUT("float 5: 1 nan nan -0.0 -0.0")),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_comparisons(void **state)
{
    static const op_case cases[] = {
        GIVES(cmpeq, NULL, IN("float 4: 1 2 nan 0", "float 4: 1 3 nan -0.0"),
              OUT("bool 4: 1 0 0 1")),
        GIVES(cmpeq, NULL, IN("bool 2: 1 0", "bool 2: 1 1"),
              OUT("bool 2: 1 0")),
        GIVES(cmpeq, NULL,
              IN("index64 1: 9007199254740993", "index64 1: 9007199254740992"),
              OUT("bool 1: 0")),
        GIVES(cmpneq, NULL, IN("float 3: 1 2 nan", "float 3: 1 3 nan"),
              OUT("bool 3: 0 1 1")),
        GIVES(cmplt, NULL, IN("float 4: 1 1 2 nan", "float 4: 2 1 1 1"),
              OUT("bool 4: 1 0 0 0")),
        GIVES(cmplt, NULL, IN("uint64 1: 1", "uint64 1: -1"), OUT("bool 1: 1")),
        GIVES(cmplte, NULL, IN("float 4: 1 1 2 nan", "float 4: 2 1 1 1"),
              OUT("bool 4: 1 1 0 0")),
        GIVES(cmplte, NULL, IN("int8 2: -1 1", "int8 2: 1 -1"),
              OUT("bool 2: 1 0")),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_logic(void **state)
{
    static const op_case cases[] = {
        GIVES(and, NULL, IN("bool 4: 0 0 1 1", "bool 4: 0 1 0 1"),
              OUT("bool 4: 0 0 0 1")),
        GIVES(or, NULL, IN("bool 4: 0 0 1 1", "bool 4: 0 1 0 1"),
              OUT("bool 4: 0 1 1 1")),
        GIVES(xor, NULL, IN("bool 4: 0 0 1 1", "bool 4: 0 1 0 1"),
              OUT("bool 4: 0 1 1 0")),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_select(void **state)
{
    static const op_case cases[] = {
        GIVES(select, NULL,
              IN("bool 3: 1 0 1", "float 3: 1 2 3", "float 3: 4 5 6"),
              OUT("float 3: 1 5 3")),
        GIVES(select, NULL,
              IN("bool 1: 0", "i8[S:0.5 O:3] 1: 1", "i8[S:0.5 O:3] 1: 2"),
              OUT("i8[S:0.5 O:3] 1: 2")),
        REFUSES(select, NULL, IN("float 1: 0", "float 1: 1", "float 1: 1"),
                OUT("float 1"),
                "the elements of Cond are float, but only bool kinds"),
        REFUSES(select, NULL, IN("bool 2: 0", "float 1: 1", "float 1: 1"),
                OUT("float 1"),
                "the shape of LHS is <1>, but that of Cond is <2>"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_refusals(void **state)
{
    static const op_case cases[] = {
        REFUSES(add, NULL, IN("float 2 3: 1", "float 2 4: 1"), OUT("float 2 3"),
                "Add: the shape of RHS is <2 x 4>, but that of LHS is <2 x 3>"),
        REFUSES(add, NULL, IN("float 2: 1", "float64 2: 1"), OUT("float 2"),
                "the elements of RHS are float64, but those of LHS are float"),
        REFUSES(and, NULL, IN("float 1: 1", "float 1: 1"), OUT("float 1"),
                "the elements of LHS are float, but only bool kinds"),
        REFUSES(cmplt, NULL, IN("bool 1: 1", "bool 1: 1"), OUT("bool 1"),
                "the elements of LHS are bool, but only float, integer and"),
        REFUSES(cmpeq, NULL, IN("int4 1: 1", "int4 1: 1"), OUT("bool 1"),
                "are int4, but only float, integer, bool and quantized kinds"),
    };

    (void)state;
    CHECK_CASES(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_integers),
        cmocka_unit_test(test_extremes),   cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_logic),      cmocka_unit_test(test_select),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
