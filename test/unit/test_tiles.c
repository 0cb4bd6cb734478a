/*
 * The tile instructions of AMX in C against numbers worked out by hand from their
 * description, and integers against plain sums.
 */

#include "unit.h"

#include <math.h>
#include <string.h>

#include "codegen/cpu/c/tiles.c"

#define SUM 0
#define LEFT 4
#define RIGHT 6

static tiles state;

/* Tiles of a product of m x 2k by 2k x n, in pairs (or 4k, in groups of four). */
static void
shape(int m, int k, int n)
{
    uint8_t config[64] = {1};
    const int number[3] = {SUM, LEFT, RIGHT};
    const int rows[3] = {m, m, k}, bytes[3] = {4 * n, 4 * k, 4 * n};

    for (int i = 0; i < 3; i++) {
        config[16 + 2 * number[i]] = (uint8_t)bytes[i];
        config[48 + number[i]] = (uint8_t)rows[i];
    }
    glow_c_tile_begin(&state, config);
}

static uint16_t
bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* start + the sum of a[i] * b[i], by one row, one column and `depth` numbers. */
static float
dot(float start, const float *a, const float *b, int depth)
{
    uint16_t x[32] = {0}, y[32] = {0};
    float sum;

    for (int i = 0; i < depth; i++) {
        x[i] = bits_of(a[i]);
        y[i] = bits_of(b[i]);
    }
    shape(1, (depth + 1) / 2, 1);
    glow_c_tile_load(&state, SUM, (const uint8_t *)&start, 4);
    glow_c_tile_load(&state, LEFT, (const uint8_t *)x, 64);
    glow_c_tile_load(&state, RIGHT, (const uint8_t *)y, 4);
    glow_c_tile_bf16(&state, SUM, LEFT, RIGHT);
    glow_c_tile_store(&state, SUM, (uint8_t *)&sum, 4);
    return sum;
}

#define DOT(start, ...)                                                   \
    dot(start, (const float[]){__VA_ARGS__}, (const float[]){1, 1, 1, 1}, \
        (int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)))

/* Even and odd elements apart, then their sum, then what was there. */
static void
order_of_sums(void **unused)
{
    const float big = 0x1p24F;

    (void)unused;
    assert_true(DOT(0, big, 1, 0, 1) == big + 2); /* 1 + 1 are odd */
    assert_true(DOT(0, big, 0, 1, 0) == big);     /* a tie, to even */
    assert_true(DOT(1, big, 0) == big);           /* last the old sum */
    assert_true(DOT(0, big, -big, 1, 0) == 0);    /* big + 1, less big */
    assert_true(DOT(-big, big, 1) == 0);          /* (big + 1) - big */
    assert_true(DOT(0, 3 * 0x1p22F, 0, 1.5F, 0) == 3 * 0x1p22F + 1.5F);
    assert_true(dot(0, (const float[]){1 + 0x1p-7F, 1},
                    (const float[]){1 + 0x1p-7F, 0x1p-30F},
                    2) == 1 + 0x1p-6F + 0x1p-14F);
}

/* Subnormal numbers are zeros: operands, products, sums and what was there. */
static void
subnormal_numbers(void **unused)
{
    const float least = 0x1p-126F;

    (void)unused;
    assert_true(DOT(0, least, 0) == least);
    assert_true(DOT(0, least / 2, least / 2) == 0);
    assert_true(DOT(least / 2, 0) == 0);
    assert_true(DOT(0, 3 * least / 2, 0, -least, 0) == 0);
    assert_true(DOT(-least, 3 * least / 2, 0) == 0);
    assert_true(signbit(DOT(-0.0F, -least / 2, -0.0F)) == 0); /* 0 first */
    assert_true(dot(0, (const float[]){0x1p-70F}, (const float[]){0x1p-56F},
                    1) == least);
    assert_true(
        dot(0, (const float[]){0x1p-70F}, (const float[]){0x1p-57F}, 1) == 0);
    /* A product of any size is exact before it is added. */
    assert_true(dot(0, (const float[]){least, 0, 0x1p-100F},
                    (const float[]){1, 0, 0x1p-50F}, 3) == least);
}

static void
infinities(void **unused)
{
    (void)unused;
    assert_true(DOT(0, INFINITY, 1) == (float)INFINITY);
    assert_true(isnan(DOT(0, INFINITY, -INFINITY)));
    assert_true(
        isnan(dot(0, (const float[]){0}, (const float[]){INFINITY}, 1)));
    assert_true(DOT(0x1.fffffep127F, 0x1p127F) == (float)INFINITY);
    assert_true(DOT(NAN, 1) != DOT(NAN, 1));
}

/* All rows and columns of each shape, and none beyond. */
static void
bytes_agree(void **unused)
{
    static const int shapes[][3] = {{16, 16, 16}, {5, 3, 7}, {1, 1, 1}};
    uint64_t random = 1;

    (void)unused;
    for (int s = 0; s < 3; s++)
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            int m = shapes[s][0], k = shapes[s][1], n = shapes[s][2];
            uint8_t a[16][64], b[16][64];
            int32_t y[17][16], want;

            memset(y, 0x55, sizeof y);
            for (int i = 0; i < 16 * 64; i++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                a[i / 64][i % 64] = (uint8_t)(random >> 40);
                b[i / 64][i % 64] = (uint8_t)(random >> 50);
            }
            shape(m, k, n);
            glow_c_tile_zero(&state, SUM);
            glow_c_tile_load(&state, LEFT, a[0], 64);
            glow_c_tile_load(&state, RIGHT, b[0], 64);
            glow_c_tile_bytes(&state, SUM, LEFT, RIGHT, is_signed);
            glow_c_tile_bytes(&state, SUM, LEFT, RIGHT, is_signed);
            glow_c_tile_store(&state, SUM, (uint8_t *)y, 64);
            for (int i = 0; i < 17; i++)
                for (int j = 0; j < 16; j++) {
                    want = 0;
                    for (int e = 0; e < 4 * k && i < 16; e++)
                        want += 2 * (is_signed ? (int8_t)a[i][e] : a[i][e]) *
                                (int8_t)b[e / 4][4 * j + e % 4];
                    assert_int_equal(y[i][j],
                                     i < m && j < n ? want : 0x55555555);
                }
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_of_sums),
        cmocka_unit_test(subnormal_numbers),
        cmocka_unit_test(infinities),
        cmocka_unit_test(bytes_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
