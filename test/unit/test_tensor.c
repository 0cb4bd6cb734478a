/* Types and the elements of tensors. */

#include "unit.h"

#include "glow/tensor.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static glow_context *ctx;

static int
setup(void **state)
{
    (void)state;
    ctx = glow_context_new();
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    glow_context_free(ctx);
    return 0;
}

static void
types_are_interned(void **state)
{
    glow_type t = glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(2, 3));

    (void)state;
    assert_ptr_equal(glow_type_get(ctx, t), glow_type_get(ctx, t));
    t.strides = GLOW_DIMS_OF(3, 1); /* dense, said in full */
    assert_ptr_equal(glow_type_get(ctx, t)->strides.rank, 0);
    t.strides = GLOW_DIMS_OF(4, 1);
    assert_int_equal(glow_type_bytes(glow_type_get(ctx, t)), 7 * 4);
}

/* Every code of a float of low precision is what its number becomes. */
static void
low_floats_are_their_codes(void **state)
{
    static const struct {
        glow_kind kind;
        int codes, others; /* whose number has another code: NaNs */
        uint8_t bits;      /* of `number` */
        double number;
    } formats[] = {
        {GLOW_FLOAT8E4M3FN, 256, 1, 0x7e, 448},
        {GLOW_FLOAT8E4M3FN, 256, 1, 0x81, -0x1p-9},
        {GLOW_FLOAT8E4M3FNUZ, 256, 0, 0x7f, 240},
        {GLOW_FLOAT8E4M3FNUZ, 256, 0, 0x01, 0x1p-10},
        {GLOW_FLOAT8E5M2, 256, 5, 0x7b, 57344},
        {GLOW_FLOAT8E5M2, 256, 5, 0xfc, -(double)INFINITY},
        {GLOW_FLOAT8E5M2FNUZ, 256, 0, 0x7f, 57344},
        {GLOW_FLOAT8E8M0, 256, 0, 0xfe, 0x1p127},
        {GLOW_FLOAT8E8M0, 256, 0, 0x00, 0x1p-127},
        {GLOW_FLOAT4E2M1, 16, 0, 0x0d, -3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        glow_kind k = formats[i].kind;
        int others = 0;

        for (int c = 0; c < formats[i].codes; c++)
            others += glow_double_to_low(k, glow_low_to_double(k, (uint8_t)c),
                                         false, GLOW_ROUND_UP) != c;
        assert_int_equal(others, formats[i].others);
        assert_true(glow_low_to_double(k, formats[i].bits) ==
                    formats[i].number);
    }
}

static void
types_print_as_text(void **state)
{
    glow_arena *a = glow_context_arena(ctx);
    glow_type t = glow_type_of(GLOW_INT8Q, GLOW_DIMS_OF(2, 3));

    (void)state;
    t.scale = 0.025f;
    t.offset = -3;
    assert_string_equal(glow_type_text(a, &t), "i8[S:0.025 O:-3]<2 x 3>");
    t = glow_type_of(GLOW_FLOAT, (glow_dims){.rank = 0});
    assert_string_equal(glow_type_text(a, &t), "float<>");
    t = glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(4, 30));
    t.strides = GLOW_DIMS_OF(32, 1);
    assert_string_equal(glow_type_text(a, &t),
                        "float<4 x 30, strides: [32, 1]>");
}

static void
bad_types_are_told(void **state)
{
    glow_arena *a = glow_context_arena(ctx);
    glow_type t = glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(INT64_MAX, 4));

    (void)state;
    assert_non_null(strstr(glow_type_check(&t, a), "2^47"));
    t.shape = GLOW_DIMS_OF((int64_t)1 << 62, (int64_t)1 << 62, 0);
    assert_non_null(strstr(glow_type_check(&t, a), "2^47"));
    t.shape = GLOW_DIMS_OF(2, -1);
    assert_non_null(strstr(glow_type_check(&t, a), "dimension 1 is -1"));
    t.shape = GLOW_DIMS_OF(4, 30);
    t.strides = GLOW_DIMS_OF(29, 1);
    assert_non_null(strstr(glow_type_check(&t, a), "stride 29 of axis 0"));
    t = glow_type_of(GLOW_INT8Q, GLOW_DIMS_OF(2));
    t.scale = 0;
    assert_non_null(strstr(glow_type_check(&t, a), "the scale is 0"));
    t.scale = 1;
    t.offset = -129;
    assert_non_null(strstr(glow_type_check(&t, a), "the offset is -129"));
    t.offset = -128;
    assert_null(glow_type_check(&t, a));
    t = glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(0, 5));
    assert_null(glow_type_check(&t, a));
}

/* Every half is a float that rounds back to itself. */
static void
halves_round_trip(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = glow_half_to_float((uint16_t)h);
        float b = glow_bfloat_to_float((uint16_t)h);

        if (!isnan(f))
            assert_int_equal(glow_float_to_half(f), h);
        if (!isnan(b))
            assert_int_equal(glow_float_to_bfloat(b), h);
        assert_int_equal(isnan(f),
                         isnan(glow_half_to_float(glow_float_to_half(f))));
    }
}

/* Between two halves the nearer is taken, and of equally near ones the even. */
static void
halves_round_to_nearest_even(void **state)
{
    (void)state;
    for (uint16_t h = 0; h < 0x7bff; h++) {
        float low = glow_half_to_float(h);
        float high = glow_half_to_float((uint16_t)(h + 1));
        float middle = (low + high) / 2;

        assert_int_equal(glow_float_to_half(middle), h % 2 ? h + 1 : h);
        assert_int_equal(glow_float_to_half(nextafterf(middle, low)), h);
        assert_int_equal(glow_float_to_half(nextafterf(middle, high)), h + 1);
    }
    assert_int_equal(glow_float_to_half(65519.996f), 0x7bff);
    assert_int_equal(glow_float_to_half(65520.0f), 0x7c00);
}

/* A double just off the middle must not be rounded twice. */
static void
doubles_round_once(void **state)
{
    const glow_type *type =
        glow_type_get(ctx, glow_type_of(GLOW_FLOAT16, (glow_dims){.rank = 0}));
    glow_tensor t = glow_tensor_new(type);

    (void)state;
    glow_set_double(&t, 0, 1.0 + 0x1p-11 + 0x1p-40);
    assert_true(glow_get_double(&t, 0) == 1.0 + 0x1p-10);
    glow_set_double(&t, 0, 1.0 + 0x1p-11);
    assert_true(glow_get_double(&t, 0) == 1.0);
    glow_set_double(&t, 0, -1e300);
    assert_true(isinf(glow_get_double(&t, 0)));
    glow_tensor_end(&t);
}

static const struct {
    glow_kind kind;
    double set;
    int64_t get;
} stores[] = {
    {GLOW_INT8, 127.9, 127},
    {GLOW_INT8, 128, 127},
    {GLOW_INT8, -129, -128},
    {GLOW_UINDEX8, -1, 0},
    {GLOW_UINDEX8, 255.9, 255},
    {GLOW_UINDEX8, 1e9, 255},
    {GLOW_INDEX32, 1e10, INT32_MAX},
    {GLOW_INDEX64, 1e30, INT64_MAX},
    {GLOW_INDEX64, -1e30, INT64_MIN},
    {GLOW_INDEX64, (double)NAN, 0},
    {GLOW_UINT64, 1e30, -1},
    {GLOW_BOOL, 0.5, 1},
    {GLOW_FLOAT, 3.0, 3},
    {GLOW_FLOAT16, 2048.0, 2048},
};

static void
doubles_saturate_into_integers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        const glow_type *type =
            glow_type_get(ctx, glow_type_of(stores[i].kind, GLOW_DIMS_OF(3)));
        glow_tensor t = glow_tensor_new(type);

        glow_set_double(&t, 1, stores[i].set);
        assert_int_equal(glow_get_int(&t, 1), stores[i].get);
        assert_int_equal(glow_get_int(&t, 0), 0);
        assert_int_equal(glow_get_int(&t, 2), 0);
        glow_tensor_end(&t);
    }
}

static void
quantized_reals_use_scale_and_offset(void **state)
{
    glow_type q = glow_type_of(GLOW_INT8Q, GLOW_DIMS_OF(1));

    (void)state;
    q.scale = 0.5f;
    q.offset = 3;

    glow_tensor t = glow_tensor_new(glow_type_get(ctx, q));

    glow_set_real(&t, 0, 2.25); /* 4.5 rounds to 4 */
    assert_int_equal(glow_get_int(&t, 0), 7);
    assert_true(glow_get_real(&t, 0) == 2.0);
    glow_set_real(&t, 0, 1e9);
    assert_int_equal(glow_get_int(&t, 0), 127);
    glow_tensor_end(&t);
}

static double
get_third(const void *element)
{
    return *(const signed char *)element / 3.0;
}

static void
set_third(void *element, double v)
{
    *(signed char *)element = (signed char)lrint(v * 3);
}

static const glow_kind_info third = {
    .name = "test.third",
    .bytes = 1,
    .bits = 8,
    .is_signed = true,
    .klass = GLOW_CLASS_FLOAT,
    .doc = "thirds of an integer",
    .epsilon = 0.25,
    .get = get_third,
    .set = set_third,
};

/* Adding a kind again does nothing; another of its name is refused. */
static void
kinds_of_plugins_are_kinds(void **state)
{
    glow_kind_info other = third, nameless = third, wide = third;

    (void)state;
    nameless.name = "third";
    wide.name = "test.wide";
    wide.bytes = 3;
    assert_true(glow_register_kind(ctx, &third));
    assert_true(glow_register_kind(ctx, &third));
    assert_false(glow_register_kind(ctx, &other));
    assert_false(glow_register_kind(ctx, &nameless));
    assert_false(glow_register_kind(ctx, &wide));

    glow_kind k = glow_kind_named("test.third");

    assert_true(k >= GLOW_KIND_COUNT && k < glow_kind_end());
    assert_true(glow_is_float(k));

    glow_tensor t = glow_tensor_new(
        glow_type_get(ctx, glow_type_of(k, GLOW_DIMS_OF(2, 2))));

    glow_set_double(&t, 3, 1.4);
    assert_true(glow_get_double(&t, 3) == 4 / 3.0);
    assert_true(glow_get_double(&t, 2) == 0);
    glow_set_int(&t, 0, -2);
    assert_int_equal(glow_get_int(&t, 0), -2);
    glow_tensor_end(&t);
}

static void
indices_run_in_row_major_order(void **state)
{
    int64_t expected = 0, none = 0;

    (void)state;
    GLOW_FOR_EACH_INDEX(i, GLOW_DIMS_OF(2, 3, 4))
        assert_int_equal(i.at[0] * 12 + i.at[1] * 4 + i.at[2], expected++);
    assert_int_equal(expected, 24);
    GLOW_FOR_EACH_INDEX(i, GLOW_DIMS_OF(2, 0, 4))
        none += i.rank;
    assert_int_equal(none, 0);
    GLOW_FOR_EACH_INDEX(i, (glow_dims){.rank = 0})
        none += 1 + i.rank;
    assert_int_equal(none, 1);
}

static void
bytes_live_as_long_as_a_reference(void **state)
{
    glow_data *d = glow_data_new(100);

    (void)state;
    assert_int_equal((uintptr_t)glow_data_bytes(d) % 64, 0);
    glow_data_ref(d);
    glow_data_unref(d);
    memset(glow_data_bytes(d), 1, glow_data_size(d));
    glow_data_unref(d);
    glow_data_unref(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_interned),
        cmocka_unit_test(types_print_as_text),
        cmocka_unit_test(bad_types_are_told),
        cmocka_unit_test(halves_round_trip),
        cmocka_unit_test(halves_round_to_nearest_even),
        cmocka_unit_test(doubles_round_once),
        cmocka_unit_test(doubles_saturate_into_integers),
        cmocka_unit_test(quantized_reals_use_scale_and_offset),
        cmocka_unit_test(low_floats_are_their_codes),
        cmocka_unit_test(kinds_of_plugins_are_kinds),
        cmocka_unit_test(indices_run_in_row_major_order),
        cmocka_unit_test(bytes_live_as_long_as_a_reference),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
