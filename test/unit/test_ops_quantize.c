/* Conversions between floats and quantized elements, and their arithmetic. */

#include "ops.h"

#include "glow/ops.h"

static void
test_conversions(void **state)
{
    static const op_case cases[] = {
        /* Ties go to the even integer before the offset is added. */
        GIVES(quantize, NULL, IN("float 7: 0.25 0.75 1.25 -0.25 1000 nan -inf"),
              OUT("i8[S:0.5 O:3] 7: 3 5 5 3 127 3 -128")),
        GIVES(quantize, NULL, IN("float 2: -1 1.5"),
              OUT("ui8[S:0.5 O:1] 2: 0 4")),
        GIVES(quantize, NULL, IN("float16 2: 3 -3"),
              OUT("i32[S:2 O:0] 2: 2 -2")),
        GIVES(quantize, NULL, IN("float 1: 3e38"),
              OUT("i64[S:1 O:0] 1: 9223372036854775807")),
        GIVES(dequantize, NULL, IN("i8[S:0.5 O:3] 3: -128 3 127"),
              OUT("float 3: -65.5 0 62")),
        GIVES(rescalequantized, NULL, IN("i8[S:0.5 O:3] 4: 4 6 -128 127"),
              OUT("ui8[S:1 O:10] 4: 10 12 0 72")),
        GIVES(rescalequantized, NULL, IN("i32[S:0.5 O:0] 2: 2000000001 -3"),
              OUT("i64[S:0.25 O:1] 2: 4000000003 -5")),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_tables(void **state)
{
    static const op_case cases[] = {
        GIVES(intlookuptable, NULL,
              IN("ui8[S:0.5 O:3] 3: 0 1 255", "i8[S:2 O:1] 256: 7 -9 4"),
              OUT("i8[S:2 O:1] 3: 7 -9 4")),
        GIVES(intlookuptable, NULL,
              IN("i8[S:0.5 O:3] 3: -128 -127 3", "i16[S:2 O:1] 256: 7 -9 400"),
              OUT("i16[S:2 O:1] 3: 7 -9 400")),
        GIVES(bitcast, NULL, IN("int8 2: -1 3"), OUT("ui8[S:2 O:1] 2: 255 3")),
        GIVES(bitcast, NULL, IN("ui8[S:2 O:1] 2: 255 3"),
              OUT("i8[S:0.5 O:3] 2: -1 3")),
        REFUSES(bitcast, NULL, IN("float 1: 1"), OUT("i8[S:2 O:1] 1"),
                "the elements of Input are float of 32 bits, those of Result "
                "i8 of 8"),
        REFUSES(intlookuptable, NULL,
                IN("i8[S:0.5 O:3] 1: 1", "i8[S:2 O:1] 255: 7"),
                OUT("i8[S:2 O:1] 1"), "the shape of Mapping is <255>, but"),
        REFUSES(intlookuptable, NULL,
                IN("i32[S:0.5 O:3] 1: 1", "i8[S:2 O:1] 256: 7"),
                OUT("i8[S:2 O:1] 1"),
                "the elements of Input are i32, but only those of 8 or 16"),
        REFUSES(quantize, NULL, IN("float 1: 1"), OUT("float 1"),
                "the elements of Result are float, but must be quantized"),
        REFUSES(quantize, NULL, IN("int8 1: 1"), OUT("i8[S:1 O:0] 1"),
                "the elements of Input are int8, but only float kinds"),
        REFUSES(dequantize, NULL, IN("i8[S:1 O:0] 1: 1"), OUT("index32 1"),
                "the elements of Result are index32, but must be floats"),
        REFUSES(rescalequantized, NULL, IN("float 1: 1"), OUT("i8[S:1 O:0] 1"),
                "the elements of Input are float, but only quantized kinds"),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define QUANTIZE(...)                 \
    &(glow_quantizelinear)            \
    {                                 \
        .saturate = true, __VA_ARGS__ \
    }
#define DEQUANTIZE(...)      \
    &(glow_dequantizelinear) \
    {                        \
        __VA_ARGS__          \
    }

static void
test_linear(void **state)
{
    const op_case cases[] = {
        GIVES(quantizelinear, QUANTIZE(.axis = 0),
              IN("float 8: 0.25 0.75 1.25 -0.25 1000 nan -inf 2", "float: 0.5",
                 "int8: 3"),
              OUT("int8 8: 3 5 5 3 127 3 -128 7")),
        GIVES(quantizelinear, QUANTIZE(.axis = 0),
              IN("float 2 2: 1 3 1 3", "float 2: 2 1", "uint16 2: 0 65534"),
              OUT("uint16 2 2: 0 2 65535 65535")),
        GIVES(quantizelinear, QUANTIZE(.axis = 1, .block_size = 2),
              IN("float 1 3: 1 2 3", "float 1 2: 1 0.5"),
              OUT("int4 1 3: 1 2 6")),
        /* The quotient 2049.0005 is rounded to float16. */
        GIVES(quantizelinear, QUANTIZE(.axis = 0),
              IN("float16 1: 2048", "float16: 0.9995"), OUT("int16 1: 2050")),
        GIVES(quantizelinear, QUANTIZE(.axis = 0),
              IN("float 2: 1000 3", "float: 1"), OUT("float8e4m3fn 2: 448 3")),
        GIVES(quantizelinear, &(glow_quantizelinear){.axis = 0},
              IN("float 1: 1000", "float: 1"), OUT("float8e5m2 1: 1024")),
        GIVES(dequantizelinear, DEQUANTIZE(.axis = 0),
              IN("int8 3: -128 3 127", "float: 0.5", "int8: 3"),
              OUT("float 3: -65.5 0 62")),
        GIVES(dequantizelinear, DEQUANTIZE(.axis = 1),
              IN("uindex8 1 2: 4 5", "float 2: 2 1", "uindex8 2: 1 9"),
              OUT("float16 1 2: 6 -4")),
        GIVES(dequantizelinear, DEQUANTIZE(.axis = 0, .block_size = 2),
              IN("uint4 3 1: 4 5 6", "float 2 1: 2 1", "uint4 2 1: 1 9"),
              OUT("float 3 1: 6 8 -3")),
        GIVES(dequantizelinear, DEQUANTIZE(.axis = 0),
              IN("index32 1: -2147483648", "float: 1", "index32: 1"),
              OUT("float 1: -2147483648")),
        GIVES(dequantizelinear, DEQUANTIZE(.axis = 0),
              IN("float8e4m3fn 1: 448", "float: 0.5"), OUT("float 1: 224")),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_linear_refusals(void **state)
{
    const op_case cases[] = {
        REFUSES(quantizelinear, QUANTIZE(.axis = 0),
                IN("float 1: 1", "float: 1"), OUT("index32 1"),
                "the elements of Result are index32, but must be integers of "
                "16 bits at most"),
        REFUSES(quantizelinear, QUANTIZE(.axis = 0),
                IN("int8 1: 1", "float: 1"), OUT("int8 1"),
                "the elements of Input are int8, but only float kinds"),
        REFUSES(quantizelinear, QUANTIZE(.axis = 0),
                IN("float 1: 1", "float16: 1"), OUT("int8 1"),
                "the elements of Scale are float16, but those of Input are"),
        REFUSES(quantizelinear, QUANTIZE(.axis = 0),
                IN("float 1: 1", "float: 1", "int16: 1"), OUT("int8 1"),
                "the elements of Offset are int16, those of Result int8"),
        REFUSES(quantizelinear, QUANTIZE(.axis = 1),
                IN("float 1: 1", "float 1: 1"), OUT("int8 1"),
                "Axis is 1, but the rank of Input is 1"),
        REFUSES(quantizelinear, QUANTIZE(.axis = 0, .block_size = -1),
                IN("float 1: 1", "float 1: 1"), OUT("int8 1"),
                "BlockSize is -1, but must not be negative"),
        REFUSES(quantizelinear, QUANTIZE(.axis = 0),
                IN("float 2: 1", "float 1: 1"), OUT("int8 2"),
                "the shape of Scale is <1>, but that of Axis of Input is <2>"),
        REFUSES(quantizelinear, QUANTIZE(.axis = 0),
                IN("float 2: 1", "float 2: 1", "int8: 1"), OUT("int8 2"),
                "the shape of Offset is <>, but that of Scale is <2>"),
        REFUSES(dequantizelinear, DEQUANTIZE(.axis = 0, .block_size = 2),
                IN("int8 3 2: 1", "float 3 2: 1"), OUT("float 3 2"),
                "the shape of Scale is <3 x 2>, but that of the blocks of "
                "Input is <2 x 2>"),
        REFUSES(dequantizelinear, DEQUANTIZE(.axis = 0),
                IN("index64 1: 1", "float: 1"), OUT("float 1"),
                "the elements of Input are index64, but must be integers of "
                "32"),
        REFUSES(dequantizelinear, DEQUANTIZE(.axis = 0),
                IN("int8 1: 1", "float: 1"), OUT("int8 1"),
                "the elements of Result are int8, but must be floats"),
        REFUSES(dequantizelinear, DEQUANTIZE(.axis = 0),
                IN("int8 1: 1", "int8: 1"), OUT("float 1"),
                "the elements of Scale are int8, but only float kinds"),
        REFUSES(dequantizelinear, DEQUANTIZE(.axis = 0),
                IN("int8 1: 1", "float: 1", "int16: 1"), OUT("float 1"),
                "the elements of Offset are int16, but those of Input are"),
        REFUSES(dequantizelinear, DEQUANTIZE(.axis = 0),
                IN("float 1: 1", "float: 1"), OUT("float 1"),
                "the elements of Input are float, but only"),
    };

    (void)state;
    CHECK_CASES(cases);
}

/* Histogram [0, 0.5), ...: the exponent is -1 where 4 bins hold the range. */
static void
test_profiles(void **state)
{
    const op_case cases[] = {
        GIVES(quantizationprofile, ATTRS(quantizationprofile, "", 0, -1),
              IN("float 5: 0 1.75 0.5 nan 1", "index64 4: 9 9 9 9",
                 "float64 6: 0"),
              OUT("index64 4: 1 1 1 1", "float64 6: 0 1.75 0 1.75 4 1")),
        /* Bins of 0.5 become bins of 1, and -0 is 0. */
        GIVES(quantizationprofile, ATTRS(quantizationprofile, "", 0, -1),
              IN("float 2: -1.5 -0", "index64 4: 1 1 1 1",
                 "float64 6: 0 1.75 0 1.75 4 1"),
              OUT("index64 4: 1 0 3 2", "float64 6: -1.5 1.75 -1.5 1.75 6 2")),
        /* Channels: least, greatest, sums, counts. */
        GIVES(quantizationprofile, ATTRS(quantizationprofile, "", 0, 0),
              IN("float 2 3: 1 2 3 -1 inf -2", "index64 2: 0", "float64 14: 0"),
              OUT("index64 2: 2 3",
                  "float64 14: -2 3 -2 3 5 1 1 -2 3 -1 6 -3 3 2")),
        /* Nothing finite, and a state that is none. */
        GIVES(quantizationprofile, ATTRS(quantizationprofile, "", 0, -1),
              IN("float 2: nan", "index64 2: 7", "float64 6: 2 1 0 0 5 1"),
              OUT("index64 2: 0", "float64 6: 0")),
        REFUSES(quantizationprofile, ATTRS(quantizationprofile, "", 0, -1),
                IN("int8 2: 1", "index64 2: 7", "float64 6: 0"),
                OUT("index64 2", "float64 6"),
                "the elements of Input are int8, but only float kinds"),
        REFUSES(quantizationprofile, ATTRS(quantizationprofile, "", 0, 2),
                IN("float 2: 1", "index64 2: 7", "float64 6: 0"),
                OUT("index64 2", "float64 6"), "Axis"),
        REFUSES(quantizationprofile, ATTRS(quantizationprofile, "", 0, -1),
                IN("float 2: 1", "index64 1: 7", "float64 6: 0"),
                OUT("index64 1", "float64 6"),
                "Histogram must be index64<N>, N at least 2"),
        REFUSES(
            quantizationprofile, ATTRS(quantizationprofile, "", 0, -1),
            IN("float 2: 1", "index64 2: 7", "float 6: 0"),
            OUT("index64 2", "float 6"),
            "the elements of ComputationInfo are float, but must be float64"),
        REFUSES(quantizationprofile, ATTRS(quantizationprofile, "", 0, 0),
                IN("float 2: 1", "index64 2: 7", "float64 6: 0"),
                OUT("index64 2", "float64 6"),
                "the shape of ComputationInfo is <6>, but"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_ends(void **state)
{
    (void)state;
    assert_int_equal(glow_quantized_least(GLOW_INT8Q), -128);
    assert_int_equal(glow_quantized_most(GLOW_UINT8Q), 255);
    assert_true(glow_quantized_least(GLOW_INT64Q) == INT64_MIN);
    assert_true(glow_quantized_most(GLOW_INT64Q) == INT64_MAX);
    assert_int_equal(glow_quantized_values(GLOW_INT16Q), 65536);
    assert_int_equal(glow_quantized_values(GLOW_INT32Q), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_linear_refusals),
        cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
