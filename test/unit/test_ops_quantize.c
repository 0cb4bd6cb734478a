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
        cmocka_unit_test(test_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
