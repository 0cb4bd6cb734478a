/* Scale and offset from ranges, against values computed by hand. */

#include "unit.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "glow/quantize.h"

typedef struct parameters_case {
    glow_kind kind;
    glow_quantization_schema schema;
    double min, max;
    float scale;
    int32_t offset;
} parameters_case;

static const parameters_case cases[] = {
    /* 256 elements over the range; the offset is the element of 0. */
    {GLOW_INT8Q, GLOW_ASYMMETRIC, 0, 255, 1, -128},
    {GLOW_INT8Q, GLOW_ASYMMETRIC, -255, 0, 1, 127},
    {GLOW_INT8Q, GLOW_ASYMMETRIC, -1, 1.55, 0.01f, -28},
    {GLOW_UINT8Q, GLOW_ASYMMETRIC, -1, 1.55, 0.01f, 100},
    {GLOW_INT16Q, GLOW_ASYMMETRIC, 0, 65535, 1, -32768},
    /* The range is widened to hold 0. */
    {GLOW_INT8Q, GLOW_ASYMMETRIC, 2, 255, 1, -128},
    {GLOW_INT8Q, GLOW_ASYMMETRIC, -255, -2, 1, 127},
    /* Equal ends: offset 0, not -0.5 rounded. */
    {GLOW_INT8Q, GLOW_ASYMMETRIC, -255, 255, 2, 0},
    /* 0 alone: 0.1 as in Glow. */
    {GLOW_INT8Q, GLOW_ASYMMETRIC, 0, 0, 0.1f, 0},
    {GLOW_INT8Q, GLOW_SYMMETRIC, 0, 0, 0.1f, 0},
    /* -128 saturates last: the positive end decides, or is extended. */
    {GLOW_INT8Q, GLOW_SYMMETRIC, -1, 127, 1, 0},
    {GLOW_INT8Q, GLOW_SYMMETRIC, -128, 1, 1, 0},
    {GLOW_INT8Q, GLOW_SYMMETRIC, -128, 127, 1, 0},
    {GLOW_INT8Q, GLOW_SYMMETRIC, 3, 254, 2, 0},
    {GLOW_INT16Q, GLOW_SYMMETRIC, -32768, 3, 1, 0},
    /* 30 bits of i32. */
    {GLOW_INT32Q, GLOW_SYMMETRIC, -536870912.0, 536870912.0, 1, 0},
    /* All of 256 elements where nothing is negative. */
    {GLOW_INT8Q, GLOW_SYMMETRIC_WITH_UINT8, 0, 255, 1, -128},
    {GLOW_INT8Q, GLOW_SYMMETRIC_WITH_UINT8, 3, 510, 2, -128},
    {GLOW_INT8Q, GLOW_SYMMETRIC_WITH_UINT8, -0.5, 127, 1, 0},
    /* Rounded up to a power of two; a power stays. */
    {GLOW_INT8Q, GLOW_SYMMETRIC_WITH_POWER2_SCALE, -1, 127, 1, 0},
    {GLOW_INT8Q, GLOW_SYMMETRIC_WITH_POWER2_SCALE, -1, 128, 2, 0},
    {GLOW_INT8Q, GLOW_SYMMETRIC_WITH_POWER2_SCALE, 0, 0.3, 0.00390625f, 0},
    /* 0.1 is no power of two. */
    {GLOW_INT8Q, GLOW_SYMMETRIC_WITH_POWER2_SCALE, 0, 0, 0.125f, 0},
    /* A subnormal scale becomes the least normal one. */
    {GLOW_INT8Q, GLOW_SYMMETRIC, -1e-40, 1e-40, FLT_MIN, 0},
    {GLOW_INT8Q, GLOW_ASYMMETRIC, 0, 1e-300, FLT_MIN, -128},
    /* No overflow on the way. */
    {GLOW_INT8Q, GLOW_ASYMMETRIC, -3e38, 3e38, (float)(6e38 / 255), 0},
};

static void
test_parameters(void **state)
{
    glow_arena *a = glow_arena_new();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const parameters_case *c = &cases[i];
        glow_type t = glow_type_of(c->kind, GLOW_DIMS_OF(1));
        const char *wrong =
            glow_quantization_of(&t, c->schema, c->min, c->max, a);

        if (wrong || t.scale != c->scale || t.offset != c->offset)
            fail_msg("case %zu: %s scale %.9g offset %d", i, wrong ? wrong : "",
                     (double)t.scale, t.offset);
    }
    glow_arena_free(a);
}

static void
refuses(glow_kind kind, glow_quantization_schema schema, double min, double max,
        const char *says)
{
    glow_arena *a = glow_arena_new();
    glow_type t = glow_type_of(kind, GLOW_DIMS_OF(1)), before = t;
    const char *wrong = glow_quantization_of(&t, schema, min, max, a);

    assert_non_null(wrong);
    assert_non_null(strstr(wrong, says));
    assert_true(glow_type_equal(&t, &before));
    glow_arena_free(a);
}

static void
test_refusals(void **state)
{
    (void)state;
    refuses(GLOW_INT8Q, GLOW_ASYMMETRIC, 1, 0.5,
            "the least value 1 is above the largest, 0.5");
    refuses(GLOW_INT8Q, GLOW_ASYMMETRIC, (double)NAN, 1, "is not finite");
    refuses(GLOW_INT8Q, GLOW_ASYMMETRIC, 0, (double)INFINITY, "is not finite");
    refuses(GLOW_INT8Q, GLOW_ASYMMETRIC, -1e300, 1e300, "beyond float");
    refuses(GLOW_UINT8Q, GLOW_SYMMETRIC, 0, 1, "elements of ui8 are not");
    refuses(GLOW_FLOAT, GLOW_ASYMMETRIC, 0, 1, "not a quantized kind");
}

/* Every range holds its reals within half a step, and 0 exactly. */
static void
test_ranges_hold(void **state)
{
    static const double ends[] = {-1e30, -77.7, -1, -1e-3, 0,
                                  1e-20, 0.3,   1,  1e4,   3e30};
    glow_arena *a = glow_arena_new();
    size_t n = sizeof ends / sizeof ends[0];

    (void)state;
    for (size_t i = 0; i < 4 * n * n; i++) {
        double min = ends[i / 4 % n], max = ends[i / 4 / n];
        glow_type t = glow_type_of(GLOW_INT8Q, GLOW_DIMS_OF(1));

        if (min > max)
            continue;
        assert_null(glow_quantization_of(&t, (glow_quantization_schema)(i % 4),
                                         min, max, a));
        assert_true(fabs(glow_dequantize(&t, glow_quantize(&t, min)) - min) <=
                    0.5001 * (double)t.scale);
        assert_true(fabs(glow_dequantize(&t, glow_quantize(&t, max)) - max) <=
                    0.5001 * (double)t.scale);
        assert_true(glow_dequantize(&t, glow_quantize(&t, 0)) == 0);
    }
    glow_arena_free(a);
}

static const struct weights_case {
    glow_kind kind;
    glow_quantization_schema schema;
    double largest, input, bias;
    float scale;
} weights[] = {
    {GLOW_INT8Q, GLOW_ASYMMETRIC, 127, 1, 0, 1},
    {GLOW_INT16Q, GLOW_ASYMMETRIC, 32767, 1, 0, 1},
    {GLOW_INT8Q, GLOW_SYMMETRIC_WITH_POWER2_SCALE, 130, 1, 0, 2},
    /* A bias of 2^30 in units of 0.5: 2^31 of them, four times 2^29. */
    {GLOW_INT8Q, GLOW_ASYMMETRIC, 127, 0.5, 1073741824.0, 4},
    /* Weights of 0: the bias alone decides. */
    {GLOW_INT8Q, GLOW_ASYMMETRIC, 0, 1, 536870912.0, 1},
    {GLOW_INT8Q, GLOW_ASYMMETRIC, 0, 1, 0, 0.1f},
    {GLOW_INT8Q, GLOW_ASYMMETRIC, 1e-44, 1, 0, FLT_MIN},
};

static void
test_weights(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++) {
        const struct weights_case *c = &weights[i];
        float scale = glow_quantization_of_weights(
            c->kind, c->schema, c->largest, c->input, c->bias);

        if (scale != c->scale)
            fail_msg("case %zu: scale %.9g", i, (double)scale);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_ranges_hold), cmocka_unit_test(test_weights)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
