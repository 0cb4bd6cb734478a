/* Operators of one operand. */

#include "ops.h"

#include "glow/ops.h"

static void
test_arithmetic(void **state)
{
    static const op_case cases[] = {
        GIVES(abs, NULL, IN("float 4: -1.5 0 2 -inf"),
              OUT("float 4: 1.5 0 2 inf")),
        GIVES(abs, NULL, IN("int8 3: -128 -5 7"), OUT("int8 3: -128 5 7")),
        GIVES(abs, NULL, IN("uint64 1: -1"), OUT("uint64 1: -1")),
        GIVES(neg, NULL, IN("float 3: 1.5 -0.0 -2"), OUT("float 3: -1.5 0 2")),
        GIVES(neg, NULL, IN("int16 2: -32768 4"), OUT("int16 2: -32768 -4")),
        GIVES(sqrt, NULL, IN("float 4: 0 4 2.25 -1"),
              OUT("float 4: 0 2 1.5 nan")),
        GIVES(floor, NULL, IN("float 3: -1.5 1.5 2"), OUT("float 3: -2 1 2")),
        GIVES(ceil, NULL, IN("float 3: -1.5 1.5 2"), OUT("float 3: -1 2 2")),
        GIVES(round, NULL, IN("float 4: 0.5 1.5 2.5 -1.5"),
              OUT("float 4: 0 2 2 -2")),
        GIVES(truncate, NULL, IN("float 4: -1.5 1.5 -0.5 inf"),
              OUT("float 4: -1 1 -0.0 inf")),
        GIVES(reciprocal, NULL, IN("float 3: 4 -0.5 0"),
              OUT("float 3: 0.25 -2 inf")),
        GIVES(rsqrt, NULL, IN("float 3: 4 0.25 -1"), OUT("float 3: 0.5 2 nan")),
        GIVES(sign, NULL, IN("float 5: -3 0 2 nan -inf"),
              OUT("float 5: -1 0 1 nan -1")),
        GIVES(sign, NULL, IN("int8 3: -128 0 7"), OUT("int8 3: -1 0 1")),
        GIVES(sign, NULL, IN("uint64 2: 0 -1"), OUT("uint64 2: 0 1")),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_functions(void **state)
{
    static const op_case cases[] = {
        GIVES(exp, NULL, IN("float 3: 0 1 -inf"),
              OUT("float 3: 1 2.718281828 0")),
        GIVES(log, NULL, IN("float 4: 1 2.718281828 0 -1"),
              OUT("float 4: 0 1 -inf nan")),
        GIVES(sin, NULL, IN("float 2: 0 1"), OUT("float 2: 0 0.841470985")),
        GIVES(cos, NULL, IN("float 2: 0 1"), OUT("float 2: 1 0.540302306")),
        GIVES(tanh, NULL, IN("float 3: 0 1 inf"),
              OUT("float 3: 0 0.761594156 1")),
        GIVES(tan, NULL, IN("float 2: 0 1"), OUT("float 2: 0 1.557407725")),
        GIVES(asin, NULL, IN("float 3: 0 0.5 2"),
              OUT("float 3: 0 0.523598776 nan")),
        GIVES(acos, NULL, IN("float 3: 1 0.5 -2"),
              OUT("float 3: 0 1.047197551 nan")),
        GIVES(atan, NULL, IN("float 3: 0 1 inf"),
              OUT("float 3: 0 0.785398163 1.570796327")),
        GIVES(sinh, NULL, IN("float 3: 0 1 -1"),
              OUT("float 3: 0 1.175201194 -1.175201194")),
        GIVES(cosh, NULL, IN("float 3: 0 1 -1"),
              OUT("float 3: 1 1.543080635 1.543080635")),
        GIVES(asinh, NULL, IN("float 3: 0 1 -1"),
              OUT("float 3: 0 0.881373587 -0.881373587")),
        GIVES(acosh, NULL, IN("float 3: 1 2 0.5"),
              OUT("float 3: 0 1.316957897 nan")),
        GIVES(atanh, NULL, IN("float 4: 0 0.5 1 2"),
              OUT("float 4: 0 0.549306144 inf nan")),
        GIVES(erf, NULL, IN("float 2: 0 1"), OUT("float 2: 0 0.842700793")),
        GIVES(sigmoid, NULL, IN("float 4: 0 2 -inf inf"),
              OUT("float 4: 0.5 0.880797078 0 1")),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_relu(void **state)
{
    static const op_case cases[] = {
        GIVES(relu, NULL, IN("float 5: -1 -0.0 0 2 nan"),
              OUT("float 5: 0 -0.0 0 2 nan")),
        GIVES(relu, NULL, IN("int8 2: -3 3"), OUT("int8 2: 0 3")),
        GIVES(relu, NULL, IN("float 0 3:"), OUT("float 0 3:")),
        GIVES(relu, NULL, IN("float: -2"), OUT("float: 0")),
    };

    (void)state;
    CHECK_CASES(cases);
}

/* More elements than are taken at a time. */
static void
test_long(void **state)
{
    static const op_case cases[] = {
        GIVES(neg, NULL, IN("float 3 500: 1 2 3"),
              OUT("float 3 500: -1 -2 -3")),
        GIVES(exp, NULL, IN("float 513: 0"), OUT("float 513: 1")),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_logic(void **state)
{
    static const op_case cases[] = {
        GIVES(not, NULL, IN("bool 2: 0 1"), OUT("bool 2: 1 0")),
        REFUSES(not, NULL, IN("float 1: 0"), OUT("float 1"),
                "the elements of Input are float, but only bool kinds"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_copy(void **state)
{
    static const op_case cases[] = {
        GIVES(copy, NULL, IN("i8[S:0.5 O:3] 2: -4 5"),
              OUT("i8[S:0.5 O:3] 2: -4 5")),
        GIVES(copy, NULL, IN("float 2 2: 1 2 3 4"), OUT("float 2 2: 1 2 3 4")),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_convert(void **state)
{
    static const op_case cases[] = {
        GIVES(convertto, NULL, IN("float 6: 1.9 -1.9 300 -300 nan inf"),
              OUT("int8 6: 1 -1 127 -128 0 127")),
        GIVES(convertto, NULL, IN("float 3: 0 0.5 nan"), OUT("bool 3: 0 1 1")),
        GIVES(convertto, NULL, IN("bool 2: 0 1"), OUT("float 2: 0 1")),
        GIVES(convertto, NULL, IN("int16 3: 300 -1 5"), OUT("int8 3: 44 -1 5")),
        GIVES(convertto, NULL, IN("index64 1: 9007199254740993"),
              OUT("index64 1: 9007199254740993")),
        GIVES(convertto, NULL, IN("uint64 1: -1"),
              OUT("float64 1: 18446744073709551615")),
        REFUSES(convertto, NULL, IN("float 1: 1"), OUT("i8[S:0.5 O:0] 1: 2"),
                "the elements of Result are i8, but only float, integer and "
                "bool kinds"),
        REFUSES(convertto, NULL, IN("i8[S:0.5 O:0] 1: 1"), OUT("float 1: 2"),
                "the elements of Input are i8"),
        REFUSES(convertto, NULL, IN("float 1: 1"), OUT(NULL),
                "the type of Result must be stated"),
    };

    (void)state;
    CHECK_CASES(cases);
}

/* Low precision: rounded, held to the range, or infinity and NaN. */
static void
test_convert_low(void **state)
{
    const op_case cases[] = {
        GIVES(convertto, NULL, IN("float64 6: 1.5 2.5 -0.4 300 nan -300"),
              OUT("int4 6: 2 2 0 7 0 -8")),
        GIVES(convertto, NULL, IN("index32 4: 9 -9 17 -1"),
              OUT("int4 4: -7 7 1 -1")),
        GIVES(convertto, NULL, IN("index32 4: 9 -9 17 -1"),
              OUT("uint4 4: 9 7 1 15")),
        GIVES(convertto, NULL, IN("float64 4: -1 1.4 2.6 9"),
              OUT("uint2 4: 0 1 3 3")),
        GIVES(convertto, NULL, IN("int8 3: 2 -3 1"), OUT("int2 3: -2 1 1")),
        GIVES(convertto, NULL, IN("int4 3: -8 7 0"), OUT("float 3: -8 7 0")),
        GIVES(convertto, NULL, IN("float64 6: 1 464 465 17 19 inf"),
              OUT("float8e4m3fn 6: 1 448 448 16 20 448")),
        GIVES(convertto, NULL, IN("float64 4: 61440 inf 0.0000075 1.125"),
              OUT("float8e5m2 4: 57344 57344 0 1")),
        GIVES(convertto, NULL, IN("float64 3: 250 -0.001953125 inf"),
              OUT("float8e4m3fnuz 3: 240 -0.001953125 nan")),
        GIVES(convertto, NULL, IN("float64 5: 1 1.1 3 0 -1"),
              OUT("float8e8m0 5: 1 2 4 5.8774717541114375e-39 nan")),
        GIVES(convertto, NULL, IN("float64 5: 0.25 0.75 5 -9 nan"),
              OUT("float4e2m1 5: 0 1 4 -6 6")),
        GIVES(converttofloat8, ATTRS(converttofloat8, false, GLOW_ROUND_UP),
              IN("float64 4: 464 465 -465 inf"),
              OUT("float8e4m3fn 4: 448 nan nan nan")),
        GIVES(converttofloat8, ATTRS(converttofloat8, false, GLOW_ROUND_UP),
              IN("float64 2: 61439 nan"), OUT("float8e5m2 2: 57344 nan")),
        GIVES(converttofloat8, ATTRS(converttofloat8, true, GLOW_ROUND_DOWN),
              IN("float64 3: 1.9 3 0.3"), OUT("float8e8m0 3: 1 2 0.25")),
        GIVES(converttofloat8, ATTRS(converttofloat8, true, GLOW_ROUND_NEAREST),
              IN("float64 3: 1.4 1.5 3"), OUT("float8e8m0 3: 1 2 4")),
        GIVES(converttofloat8, ATTRS(converttofloat8, false, GLOW_ROUND_UP),
              IN("float64 2: 0 -1"), OUT("float8e8m0 2: nan nan")),
        REFUSES(converttofloat8, ATTRS(converttofloat8, true, GLOW_ROUND_UP),
                IN("float64 1: 1"), OUT("int4 1: 1"),
                "the elements of Result are int4, but must be floats of low "
                "precision"),
        REFUSES(converttofloat8, ATTRS(converttofloat8, true, GLOW_ROUND_UP),
                IN("float64 1: 1"), OUT(NULL),
                "the type of Result must be stated"),
        GIVES(bitcast, NULL, IN("int8 3: -1 5 0"), OUT("uindex8 3: 255 5 0")),
        GIVES(bitcast, NULL, IN("int4 3: -8 -1 7"), OUT("uint4 3: 8 15 7")),
        GIVES(bitcast, NULL, IN("uint4 3: 9 2 15"),
              OUT("float4e2m1 3: -0.5 1 -6")),
        GIVES(bitcast, NULL, IN("uindex8 3: 56 184 127"),
              OUT("float8e4m3fn 3: 1 -1 nan")),
        GIVES(bitcast, NULL,
              IN("index64 2: 4607182418800017408 -4616189618054758400"),
              OUT("float64 2: 1 -1")),
        GIVES(bitcast, NULL, IN("uindex8 3: 2 0 1"), OUT("bool 3: 1 0 1")),
        REFUSES(bitcast, NULL, IN("float 1: 1"), OUT("index64 1: 1"),
                "the elements of Input are float of 32 bits, those of Result "
                "index64 of 64"),
        REFUSES(bitcast, NULL, IN("float 1: 1"), OUT(NULL),
                "the type of Result must be stated"),
        REFUSES(relu, NULL, IN("int4 1: 1"), OUT("int4 1: 1"),
                "the elements of Input are int4, but only float, integer and "
                "quantized kinds are taken"),
    };

    (void)state;
    CHECK_CASES(cases);
}

/* The float next to 2^53 + 2^29 + 1 is above it; a way by double is not. */
static void
test_convert_once(void **state)
{
    static const op_case cases[] = {
        GIVES(convertto, NULL, IN("index64 1: 9007199791611905"),
              OUT("float 1: 9007200328482816")),
        GIVES(convertto, NULL, IN("index64 1: 4629700416936869889"),
              OUT("bfloat16 1: 4647714815446351872")),
        GIVES(convertto, NULL, IN("float64 1: 1.0004882822"),
              OUT("float16 1: 1.0009765625")),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_refusals(void **state)
{
    static const op_case cases[] = {
        REFUSES(acos, NULL, IN("int8 1: 1"), OUT("int8 1"),
                "the elements of Input are int8, but only float and "
                "quantized kinds"),
        REFUSES(acosh, NULL, IN("int8 1: 1"), OUT("int8 1"),
                "the elements of Input are int8, but only float and "
                "quantized kinds"),
        REFUSES(asin, NULL, IN("int8 1: 1"), OUT("int8 1"),
                "the elements of Input are int8, but only float and "
                "quantized kinds"),
        REFUSES(asinh, NULL, IN("int8 1: 1"), OUT("int8 1"),
                "the elements of Input are int8, but only float and "
                "quantized kinds"),
        REFUSES(atan, NULL, IN("int8 1: 1"), OUT("int8 1"),
                "the elements of Input are int8, but only float and "
                "quantized kinds"),
        REFUSES(atanh, NULL, IN("int8 1: 1"), OUT("int8 1"),
                "the elements of Input are int8, but only float and "
                "quantized kinds"),
        REFUSES(cosh, NULL, IN("int8 1: 1"), OUT("int8 1"),
                "the elements of Input are int8, but only float and "
                "quantized kinds"),
        REFUSES(reciprocal, NULL, IN("int8 1: 1"), OUT("int8 1"),
                "the elements of Input are int8, but only float and "
                "quantized kinds"),
        REFUSES(rsqrt, NULL, IN("int8 1: 1"), OUT("int8 1"),
                "the elements of Input are int8, but only float and "
                "quantized kinds"),
        REFUSES(sinh, NULL, IN("int8 1: 1"), OUT("int8 1"),
                "the elements of Input are int8, but only float and "
                "quantized kinds"),
        REFUSES(tan, NULL, IN("int8 1: 1"), OUT("int8 1"),
                "the elements of Input are int8, but only float and "
                "quantized kinds"),
        REFUSES(truncate, NULL, IN("int8 1: 1"), OUT("int8 1"),
                "the elements of Input are int8, but only float and "
                "quantized kinds"),
        REFUSES(sign, NULL, IN("bool 1: 1"), OUT("bool 1"),
                "the elements of Input are bool, but only float, integer and "),
        REFUSES(exp, NULL, IN("index64 1: 1"), OUT("index64 1"),
                "Exp: the elements of Input are index64, but only float and "
                "quantized kinds are taken"),
    };

    (void)state;
    CHECK_CASES(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),   cmocka_unit_test(test_functions),
        cmocka_unit_test(test_relu),         cmocka_unit_test(test_long),
        cmocka_unit_test(test_logic),        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_convert),      cmocka_unit_test(test_convert_low),
        cmocka_unit_test(test_convert_once), cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
