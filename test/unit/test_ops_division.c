/* Rests and whole quotients. */

#include "ops.h"

#include "glow/ops.h"

static void
test_fmod(void **state)
{
    static const op_case cases[] = {
        GIVES(fmod, NULL,
              IN("float 5: 7 -7 7 -7 1.5", "float 5: 3 3 -3 -3 inf"),
              OUT("float 5: 1 -1 1 -1 1.5")),
        GIVES(fmod, NULL, IN("float 2: 1 inf", "float 2: 0 3"),
              OUT("float 2: nan nan")),
        GIVES(fmod, NULL, IN("int8 5: 7 -7 7 -128 9", "int8 5: 3 3 -3 -1 0"),
              OUT("int8 5: 1 -1 1 0 0")),
        GIVES(fmod, NULL, IN("uint64 2: -1 7", "uint64 2: 10 0"),
              OUT("uint64 2: 5 0")),
        REFUSES(fmod, NULL, IN("bool 1: 1", "bool 1: 1"), OUT("bool 1"),
                "the elements of LHS are bool, but only float, integer and"),
        REFUSES(fmod, NULL, IN("float 1: 1", "float 2: 1"), OUT("float 1"),
                "the shape of RHS is <2>, but that of LHS is <1>"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_mod(void **state)
{
    static const op_case cases[] = {
        GIVES(mod, NULL, IN("float 5: 7 -7 7 -7 -6", "float 5: 3 3 -3 -3 3"),
              OUT("float 5: 1 2 -2 -1 -0.0")),
        GIVES(mod, NULL,
              IN("int8 6: 7 -7 7 -7 -128 9", "int8 6: 3 3 -3 -3 127 0"),
              OUT("int8 6: 1 2 -2 -1 126 0")),
        GIVES(mod, NULL, IN("uindex8 2: 255 200", "uindex8 2: 128 7"),
              OUT("uindex8 2: 127 4")),
        REFUSES(mod, NULL, IN("int8 1: 1", "int16 1: 1"), OUT("int8 1"),
                "the elements of RHS are int16, but those of LHS are int8"),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define DOWN ATTRS(floordiv, false)
#define TO_ZERO ATTRS(floordiv, true)

static void
test_floordiv(void **state)
{
    const op_case cases[] = {
        GIVES(floordiv, DOWN, IN("float 4: 7 -7 1 -0.5", "float 4: 2 2 0 1"),
              OUT("float 4: 3 -4 inf -1")),
        GIVES(floordiv, TO_ZERO, IN("float 2: 7 -7", "float 2: 2 2"),
              OUT("float 2: 3 -3")),
        GIVES(floordiv, DOWN,
              IN("int8 6: 7 -7 -6 -128 -128 -9", "int8 6: 2 2 2 3 -1 0"),
              OUT("int8 6: 3 -4 -3 -43 -128 0")),
        GIVES(floordiv, TO_ZERO, IN("int8 3: 7 -7 -128", "int8 3: 2 2 -1"),
              OUT("int8 3: 3 -3 -128")),
        GIVES(floordiv, DOWN, IN("uint64 2: -1 5", "uint64 2: 2 0"),
              OUT("uint64 2: 9223372036854775807 0")),
        REFUSES(floordiv, DOWN, IN("bool 1: 1", "bool 1: 1"), OUT("bool 1"),
                "the elements of LHS are bool, but only float, integer and"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_modulo(void **state)
{
    const op_case cases[] = {
        GIVES(modulo, ATTRS(modulo, 3, false), IN("index64 4: 7 -7 3 -1"),
              OUT("index64 4: 1 -1 0 -1")),
        GIVES(modulo, ATTRS(modulo, 3, true), IN("index64 4: 7 -7 3 -1"),
              OUT("index64 4: 1 2 0 2")),
        GIVES(modulo, ATTRS(modulo, INT64_MAX, true), IN("index64 2: -1 5"),
              OUT("index64 2: 9223372036854775806 5")),
        GIVES(modulo, ATTRS(modulo, 255, false), IN("uindex8 2: 254 255"),
              OUT("uindex8 2: 254 0")),
        REFUSES(modulo, ATTRS(modulo, 0, false), IN("int8 1: 1"), OUT("int8 1"),
                "Divisor is 0, but must be at least 1"),
        REFUSES(modulo, ATTRS(modulo, 128, false), IN("int8 1: 1"),
                OUT("int8 1"), "Divisor is 128, but the greatest int8 is 127"),
        REFUSES(modulo, ATTRS(modulo, 1, false), IN("float 1: 1"),
                OUT("float 1"),
                "the elements of Input are float, but only integer kinds"),
    };

    (void)state;
    CHECK_CASES(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fmod),
        cmocka_unit_test(test_mod),
        cmocka_unit_test(test_floordiv),
        cmocka_unit_test(test_modulo),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
