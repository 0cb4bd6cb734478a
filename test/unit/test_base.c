/* Arenas, maps, text, hashing, near names. */

#include "unit.h"

#include "glow/base.h"
#include "glow/heights.h"
#include "ir/base/ordered_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An element with more bytes than its key, of which some are equal. */
typedef struct numbered {
    int key, number;
    char more[20];
} numbered;

static size_t compared;

static int
by_key(const void *a, const void *b)
{
    const numbered *x = a, *y = b;

    compared++;
    return (x->key > y->key) - (x->key < y->key);
}

static void
sorting_keeps_the_order_of_equal_elements(void **state)
{
    static numbered at[700];
    uint64_t seed = 1;

    (void)state;
    glow_sort(NULL, 0, sizeof *at, by_key);
    for (size_t n = 1; n <= 700; n += n < 100 ? 1 : 97) {
        for (size_t i = 0; i < n; i++) {
            seed = glow_mix(seed + 1);
            at[i] = (numbered){(int)(seed % 11), (int)i, {(char)i}};
        }
        glow_sort(at, n, sizeof *at, by_key);
        for (size_t i = 0; i + 1 < n; i++) {
            assert_true(at[i].key <= at[i + 1].key);
            if (at[i].key == at[i + 1].key)
                assert_true(at[i].number < at[i + 1].number);
            assert_int_equal(at[i].more[0], (char)at[i].number);
        }
        compared = 0;
        glow_sort(at, n, sizeof *at, by_key);
        assert_int_equal(compared, n - 1);
    }
}

/* The first block of an arena is small, for those that hold next to nothing. */
static void
arena_takes_at_once_what_its_first_block_does_not_hold(void **state)
{
    (void)state;
    for (size_t size = 500; size < 5000; size += 100) {
        glow_arena *a = glow_arena_new();
        unsigned char *p = glow_arena_alloc(a, size);
        unsigned char *q = glow_arena_alloc(a, 16);

        memset(p, 0xff, size);
        for (size_t i = 0; i < 16; i++)
            assert_int_equal(q[i], 0);
        glow_arena_free(a);
    }
}

static void
arena_memory_is_zeroed_and_apart(void **state)
{
    glow_arena *a = glow_arena_new();
    unsigned char *last = NULL;

    (void)state;
    for (size_t first = 1; first <= 5000; first += 4999) {
        for (size_t size = first; size < 20000; size += 997) {
            unsigned char *p = glow_arena_alloc(a, size);

            assert_int_equal((uintptr_t)p % (size >= 4096 ? 64 : 16), 0);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(p[i], 0);
            memset(p, 0xff, size);
            assert_ptr_not_equal(p, last);
            last = p;
        }
        glow_arena_reset(a);
        assert_int_equal(glow_arena_used(a), 0);
    }
    glow_arena_free(a);
}

static void
map_finds_what_was_set_and_not_what_was_removed(void **state)
{
    glow_arena *a = glow_arena_new();
    glow_map *m = glow_map_new(a);

    (void)state;
    for (int i = 0; i < 5000; i++)
        glow_map_set(m, glow_arena_printf(a, "k%d", i),
                     (void *)(uintptr_t)(i + 1));
    for (int i = 0; i < 5000; i += 2)
        glow_map_set(m, glow_arena_printf(a, "k%d", i), NULL);
    for (int i = 0; i < 5000; i++) {
        uintptr_t v =
            (uintptr_t)glow_map_get(m, glow_arena_printf(a, "k%d", i));

        assert_int_equal(v, i % 2 ? (uintptr_t)i + 1 : 0);
    }
    glow_arena_free(a);
}

/* Setting and removing for ever must neither fill the table nor grow it. */
static void
map_survives_churn(void **state)
{
    glow_arena *a = glow_arena_new();
    glow_map *m = glow_map_new(a);
    static const char *const keys[] = {"a", "b", "c", "d", "e", "f"};

    (void)state;
    for (int i = 0; i < 100000; i++) {
        glow_map_set(m, keys[i % 6], a);
        glow_map_set(m, keys[(i + 3) % 6], NULL);
    }
    assert_true(glow_arena_used(a) < 10000);
    glow_arena_free(a);
}

static const struct {
    float value;
    const char *text;
} floats[] = {
    {0.0f, "0.0"},
    {-0.0f, "-0.0"},
    {1.0f, "1.0"},
    {0.1f, "0.1"},
    {0.000625f, "0.000625"},
    {1e-45f, "1e-45"},
    {3.4028235e38f, "3.4028235e+38"},
    {16777216.0f, "16777216.0"},
    {1e20f, "1e+20"},
    {-2.5e-7f, "-2.5e-7"},
    {INFINITY, "inf"},
    {-INFINITY, "-inf"},
};

static void
floats_print_shortest(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        glow_buf b = {.text = NULL};

        glow_buf_float(&b, floats[i].value);
        assert_string_equal(b.text, floats[i].text);
        glow_buf_free(&b);
    }
}

static void
floats_read_back_equal(void **state)
{
    uint64_t x = 1;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        glow_buf b = {.text = NULL};
        uint32_t bits;
        float f, back;

        x = x * 6364136223846793005u + 1442695040888963407u;
        bits = (uint32_t)(x >> 32);
        memcpy(&f, &bits, sizeof f);
        if (isnan(f))
            continue;
        glow_buf_float(&b, f);
        assert_true(strpbrk(b.text, ".ein") != NULL);
        back = strtof(b.text, NULL);
        assert_memory_equal(&back, &f, sizeof f);
        glow_buf_free(&b);
    }
}

static void
nan_keeps_its_payload(void **state)
{
    uint32_t bits = 0xffc00001u;
    glow_buf b = {.text = NULL};
    float f;

    (void)state;
    memcpy(&f, &bits, sizeof f);
    glow_buf_float(&b, f);
    assert_string_equal(b.text, "nan(0xffc00001)");
    glow_buf_free(&b);
}

static void
near_names_are_suggested_and_far_ones_not(void **state)
{
    static const char *const names[] = {"fold-transpose", "dce", "schedule"};

    (void)state;
    assert_string_equal(glow_did_you_mean("fold-transposes", names, 3),
                        "fold-transpose");
    assert_string_equal(glow_did_you_mean("shcedule", names, 3), "schedule");
    assert_string_equal(glow_did_you_mean("DCE", names, 3), "dce");
    assert_null(glow_did_you_mean("convolution", names, 3));
}

static void
arithmetic_tells_overflow(void **state)
{
    int64_t out = 7;

    (void)state;
    assert_true(glow_mul_overflow(INT64_MAX, 2, &out));
    assert_true(glow_add_overflow(INT64_MAX, 1, &out));
    assert_int_equal(out, 7);
    assert_false(glow_mul_overflow(-3, 5, &out));
    assert_int_equal(out, -15);
}

static void
heights_are_those_of_a_plain_array(void **state)
{
    enum { PLACES = 21, CHANGES = 300 };
    glow_arena *a = glow_arena_new();
    int64_t plain[PLACES];
    uint64_t x = 1;

    (void)state;
    for (int i = 0; i < PLACES; i++)
        plain[i] = i * 7 % 5;

    glow_heights *h = glow_heights_new(a, PLACES, plain);

    for (int k = 0; k < CHANGES; k++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        size_t first = (x >> 33) % PLACES, last = (x >> 43) % PLACES;
        int64_t by = (int64_t)(x >> 53) % 100 - 50, most = INT64_MIN;

        glow_heights_add(h, first, last, by);
        for (size_t i = first; i <= last; i++) {
            plain[i] += by;
            most = plain[i] > most ? plain[i] : most;
        }
        assert_int_equal(glow_heights_most(h, first, last),
                         first <= last ? most : 0);
    }
    glow_arena_free(a);
}

static void
interned_text_is_one(void **state)
{
    glow_context *ctx = glow_context_new();
    char copy[] = "name";

    (void)state;
    assert_ptr_equal(glow_intern(ctx, "name"), glow_intern(ctx, copy));
    assert_ptr_not_equal(glow_intern(ctx, "name"), glow_intern(ctx, "nam"));
    glow_context_free(ctx);
}

static void
heights_join_where_that_is_not_too_high(void **state)
{
    glow_arena *a = glow_arena_new();
    glow_heights *h = glow_heights_new(a, 9, NULL);
    glow_height_range from = {1, 3, 5}, to = {5, 7, 4};

    (void)state;
    glow_heights_add(h, 1, 3, 5);
    glow_heights_add(h, 5, 7, 4);
    glow_heights_add(h, 4, 4, 2);
    assert_false(glow_heights_join(h, &from, &to, 5));
    assert_int_equal(to.first, 5);
    assert_int_equal(glow_heights_most(h, 4, 4), 2);
    assert_int_equal(glow_heights_most(h, 1, 3), 5);
    assert_true(glow_heights_join(h, &from, &to, 6));
    assert_int_equal(to.first, 1);
    assert_int_equal(to.last, 7);
    assert_int_equal(glow_heights_most(h, 1, 3), 4);
    assert_int_equal(glow_heights_most(h, 4, 4), 6);
    glow_arena_free(a);
}

/* The members that `has` marks, asked one by one. */
static void
expect_members(const glow_ordered_set *s, const bool *has, size_t count)
{
    size_t below = SIZE_MAX, from = SIZE_MAX;

    for (size_t i = 0; i <= count; i++) {
        assert_int_equal(glow_ordered_set_below(s, i), below);
        if (i < count && has[i])
            below = i;
    }
    for (size_t i = count + 1; i-- > 0;) {
        if (i < count && has[i])
            from = i;
        assert_int_equal(glow_ordered_set_from(s, i), from);
    }
}

static void
ordered_sets_are_those_of_a_plain_array(void **state)
{
    static const size_t counts[] = {0, 1, 63, 64, 65, 4095, 4096, 4097, 9000};
    glow_arena *a = glow_arena_new();
    uint32_t draw = 1;

    (void)state;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        size_t count = counts[k];
        glow_ordered_set *s = glow_ordered_set_new(a, count);
        bool *has = GLOW_NEW_ARRAY(a, bool, count + 1);

        expect_members(s, has, count);
        for (int round = 0; round < 200 && count > 0; round++) {
            size_t i = (draw = draw * 1664525 + 1013904223) % count;

            has[i] = round % 3 < 2;
            (has[i] ? glow_ordered_set_insert : glow_ordered_set_erase)(s, i);
            assert_int_equal(glow_ordered_set_has(s, i), has[i]);
            if (round % 20 == 0)
                expect_members(s, has, count);
        }
        for (size_t i = 0; i < count; i++)
            glow_ordered_set_erase(s, i);
        expect_members(s, memset(has, 0, count), count);
    }
    glow_arena_free(a);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_memory_is_zeroed_and_apart),
        cmocka_unit_test(
            arena_takes_at_once_what_its_first_block_does_not_hold),
        cmocka_unit_test(map_finds_what_was_set_and_not_what_was_removed),
        cmocka_unit_test(map_survives_churn),
        cmocka_unit_test(floats_print_shortest),
        cmocka_unit_test(floats_read_back_equal),
        cmocka_unit_test(nan_keeps_its_payload),
        cmocka_unit_test(near_names_are_suggested_and_far_ones_not),
        cmocka_unit_test(arithmetic_tells_overflow),
        cmocka_unit_test(heights_are_those_of_a_plain_array),
        cmocka_unit_test(heights_join_where_that_is_not_too_high),
        cmocka_unit_test(ordered_sets_are_those_of_a_plain_array),
        cmocka_unit_test(interned_text_is_one),
        cmocka_unit_test(sorting_keeps_the_order_of_equal_elements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
