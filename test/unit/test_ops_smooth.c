/* Smooth activations, operators with a number, special values, Hardmax. */

#include "ops.h"

#include "glow/ops.h"

static void
test_smooth(void **state)
{
    const op_case cases[] = {
        GIVES(softplus, NULL, IN("float 4: 0 1 -1 1000"),
              OUT("float 4: 0.693147181 1.313261688 0.313261688 1000")),
        GIVES(mish, NULL, IN("float 3: 0 1 -1"),
              OUT("float 3: 0 0.865098388 -0.303401461")),
        GIVES(softsign, NULL, IN("float 3: 0 1 -3"),
              OUT("float 3: 0 0.5 -0.75")),
        GIVES(swish, NULL, IN("float 3: 0 1 -1"),
              OUT("float 3: 0 0.731058579 -0.268941421")),
        GIVES(elu, ATTRS(elu, 2), IN("float 4: 0 3 -1 -inf"),
              OUT("float 4: 0 3 -1.264241118 -2")),
        GIVES(selu, ATTRS(selu, 2, 1.5f), IN("float 3: 0 3 -1"),
              OUT("float 3: 0 4.5 -1.896361676")),
        GIVES(celu, ATTRS(celu, 2), IN("float 3: 0 3 -2"),
              OUT("float 3: 0 3 -1.264241118")),
        GIVES(logit, ATTRS(logit, 0.25f), IN("float 4: 0.5 0.75 0 1"),
              OUT("float 4: 0 1.098612289 -1.098612289 1.098612289")),
        GIVES(logit, ATTRS(logit, 0), IN("float 3: 0 1 nan"),
              OUT("float 3: -inf inf nan")),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define NO_FLOAT \
    "the elements of Input are int8, but only float and quantized kinds"

static void
test_smooth_refusals(void **state)
{
    const op_case cases[] = {
        REFUSES(softplus, NULL, IN("int8 1: 1"), OUT("int8 1"), NO_FLOAT),
        REFUSES(mish, NULL, IN("int8 1: 1"), OUT("int8 1"), NO_FLOAT),
        REFUSES(softsign, NULL, IN("int8 1: 1"), OUT("int8 1"), NO_FLOAT),
        REFUSES(swish, NULL, IN("int8 1: 1"), OUT("int8 1"), NO_FLOAT),
        REFUSES(elu, ATTRS(elu, 1), IN("int8 1: 1"), OUT("int8 1"), NO_FLOAT),
        REFUSES(selu, ATTRS(selu, 1, 1), IN("int8 1: 1"), OUT("int8 1"),
                NO_FLOAT),
        REFUSES(celu, ATTRS(celu, 1), IN("int8 1: 1"), OUT("int8 1"), NO_FLOAT),
        REFUSES(celu, ATTRS(celu, 0), IN("float 1: 1"), OUT("float 1"),
                "Alpha is 0, but must be greater than 0"),
        REFUSES(celu, ATTRS(celu, NAN), IN("float 1: 1"), OUT("float 1"),
                "Alpha is nan, but must be greater than 0"),
        REFUSES(logit, ATTRS(logit, 0), IN("int8 1: 1"), OUT("int8 1"),
                NO_FLOAT),
        REFUSES(logit, ATTRS(logit, 0.5f), IN("float 1: 1"), OUT("float 1"),
                "Epsilon is 0.5, but must be from 0 to 0.5"),
        REFUSES(logit, ATTRS(logit, -0.5f), IN("float 1: 1"), OUT("float 1"),
                "Epsilon is -0.5, but must be from 0 to 0.5"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_numbers(void **state)
{
    const op_case cases[] = {
        GIVES(mulconst, ATTRS(mulconst, 2.5f), IN("float 2: 2 -4"),
              OUT("float 2: 5 -10")),
        GIVES(mulconst, ATTRS(mulconst, 2.5f), IN("uindex8 2: 3 200"),
              OUT("uindex8 2: 6 144")),
        GIVES(rsubconst, ATTRS(rsubconst, 1), IN("float 2: 3 -0.5"),
              OUT("float 2: -2 1.5")),
        GIVES(rsubconst, ATTRS(rsubconst, 1), IN("uint16 2: 0 2"),
              OUT("uint16 2: 1 65535")),
        GIVES(shrink, ATTRS(shrink, 1.5f, 0.5f),
              IN("float 6: -2 -1.5 0 1.5 2 nan"),
              OUT("float 6: -1.5 0 0 0 1.5 nan")),
        GIVES(thresholdedrelu, ATTRS(thresholdedrelu, 2),
              IN("float 4: -3 2 2.5 nan"), OUT("float 4: 0 0 2.5 nan")),
        REFUSES(mulconst, ATTRS(mulconst, 1), IN("bool 1: 1"), OUT("bool 1"),
                "the elements of RHS are bool, but only float, integer and "),
        REFUSES(rsubconst, ATTRS(rsubconst, 1), IN("bool 1: 1"), OUT("bool 1"),
                "the elements of RHS are bool, but only float, integer and "),
        REFUSES(shrink, ATTRS(shrink, 1, 0), IN("int8 1: 1"), OUT("int8 1"),
                NO_FLOAT),
        REFUSES(thresholdedrelu, ATTRS(thresholdedrelu, 1), IN("int8 1: 1"),
                OUT("int8 1"), NO_FLOAT),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define BOTH ATTRS(isinf, true, true)
#define SPECIAL IN("float 5: -inf inf nan 0 1")

static void
test_special(void **state)
{
    const op_case cases[] = {
        GIVES(isnan, NULL, SPECIAL, OUT("bool 5: 0 0 1 0 0")),
        GIVES(isinf, BOTH, SPECIAL, OUT("bool 5: 1 1 0 0 0")),
        GIVES(isinf, ATTRS(isinf, true, false), SPECIAL,
              OUT("bool 5: 1 0 0 0 0")),
        GIVES(isinf, ATTRS(isinf, false, true), SPECIAL,
              OUT("bool 5: 0 1 0 0 0")),
        GIVES(isinf, ATTRS(isinf, false, false), SPECIAL,
              OUT("bool 5: 0 0 0 0 0")),
        GIVES(replacenan, ATTRS(replacenan, 2.5f), SPECIAL,
              OUT("float 5: -inf inf 2.5 0 1")),
        REFUSES(isnan, NULL, IN("int8 1: 1"), OUT("bool 1"),
                "but only float kinds"),
        REFUSES(isinf, BOTH, IN("i8[S:1 O:0] 1: 1"), OUT("bool 1"),
                "are i8, but only float kinds"),
        REFUSES(replacenan, ATTRS(replacenan, 0), IN("int8 1: 1"),
                OUT("int8 1"), NO_FLOAT),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_hardmax(void **state)
{
    const op_case cases[] = {
        GIVES(hardmax, ATTRS(hardmax, 1), IN("float 2 3: 1 3 3 -1 -2 -3"),
              OUT("float 2 3: 0 1 0 1 0 0")),
        GIVES(hardmax, ATTRS(hardmax, 0), IN("float 2 3: 1 3 3 -1 -2 nan"),
              OUT("float 2 3: 1 1 0 0 0 1")),
        GIVES(hardmax, ATTRS(hardmax, 1), IN("float 2 2 2: 0 1 2 3 9 8 7 6"),
              OUT("float 2 2 2: 0 0 1 1 1 1 0 0")),
        GIVES(hardmax, ATTRS(hardmax, 0), IN("float 0 3:"), OUT("float 0 3:")),
        REFUSES(hardmax, ATTRS(hardmax, 2), IN("float 2 3: 1"),
                OUT("float 2 3"), "Axis is 2"),
        REFUSES(hardmax, ATTRS(hardmax, 0), IN("int8 2: 1"), OUT("int8 2"),
                NO_FLOAT),
    };

    (void)state;
    CHECK_CASES(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smooth),  cmocka_unit_test(test_smooth_refusals),
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_special),
        cmocka_unit_test(test_hardmax),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
