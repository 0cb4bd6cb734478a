/* Holds the functions of examples/board/float.c to the processor of this machine. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t state = 1;
static int wrong;

/* Bits with many zeros, ones, and close exponents. */
static uint64_t
draw(void)
{
    uint64_t v;

    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    v = state ^ state >> 29;
    switch (v % 5) {
    case 0:
        return v << (v >> 8 & 63);
    case 1:
        return v >> (v >> 8 & 63);
    case 2:
        return (v & UINT64_C(0x800fffff807fffff)) |
               UINT64_C(0x3ff000003f800000);
    default:
        return v;
    }
}

#define CHECK(name, type, bits, real, expected)                            \
    do {                                                                   \
        type got = name;                                                   \
        real want = expected;                                              \
        bits w;                                                            \
                                                                           \
        memcpy(&w, &want, sizeof w);                                       \
        if ((bits)got != w && !(want != want && is_nan_##bits(got))) {     \
            wrong++;                                                       \
            printf("%s: %llx, not %llx\n", #name, (unsigned long long)got, \
                   (unsigned long long)w);                                 \
        }                                                                  \
    } while (0)
#define TEST(p, bits, real)                                                   \
    bits __aeabi_##p##add(bits a, bits b), __aeabi_##p##sub(bits a, bits b);  \
    bits __aeabi_##p##mul(bits a, bits b), __aeabi_##p##div(bits a, bits b);  \
    int __aeabi_##p##cmplt(bits a, bits b), __aeabi_##p##cmple(bits, bits);   \
    int __aeabi_##p##cmpge(bits a, bits b), __aeabi_##p##cmpun(bits, bits);   \
    int __aeabi_##p##cmpeq(bits a, bits b), __aeabi_##p##cmpgt(bits, bits);   \
    bits __aeabi_i2##p(int32_t), __aeabi_l2##p(int64_t);                      \
    bits __aeabi_ui2##p(uint32_t);                                            \
    int32_t __aeabi_##p##2iz(bits);                                           \
    static int is_nan_##bits(bits v)                                          \
    {                                                                         \
        real r;                                                               \
                                                                              \
        memcpy(&r, &v, sizeof r);                                             \
        return r != r;                                                        \
    }                                                                         \
    static void test_##p(void)                                                \
    {                                                                         \
        bits a = (bits)draw(), b = (bits)draw();                              \
        real x, y;                                                            \
                                                                              \
        memcpy(&x, &a, sizeof x);                                             \
        memcpy(&y, &b, sizeof y);                                             \
        CHECK(__aeabi_##p##add(a, b), bits, bits, real, x + y);               \
        CHECK(__aeabi_##p##sub(a, b), bits, bits, real, x - y);               \
        CHECK(__aeabi_##p##mul(a, b), bits, bits, real, x *y);                \
        CHECK(__aeabi_##p##div(a, b), bits, bits, real, x / y);               \
        CHECK(__aeabi_i2##p((int32_t)a), bits, bits, real, (int32_t)a);       \
        CHECK(__aeabi_l2##p((int64_t)a), bits, bits, real, (real)(int64_t)a); \
        CHECK(__aeabi_ui2##p((uint32_t)a), bits, bits, real, (uint32_t)a);    \
        wrong += __aeabi_##p##cmplt(a, b) != (x < y);                         \
        wrong += __aeabi_##p##cmple(a, b) != (x <= y);                        \
        wrong += __aeabi_##p##cmpgt(a, b) != (x > y);                         \
        wrong += __aeabi_##p##cmpge(a, b) != (x >= y);                        \
        wrong += __aeabi_##p##cmpeq(a, b) != (x == y);                        \
        wrong += __aeabi_##p##cmpun(a, b) != (x != x || y != y);              \
        wrong += __aeabi_##p##cmpeq(a, a) != (x == x);                        \
        if (x > -2e9 && x < 2e9)                                              \
            wrong += __aeabi_##p##2iz(a) != (int32_t)x;                       \
    }

TEST(f, uint32_t, float)
TEST(d, uint64_t, double)

uint64_t __aeabi_f2d(uint32_t v);
uint32_t __aeabi_d2f(uint64_t v);

static void
test_conversion(void)
{
    uint64_t a = draw();
    uint32_t b = (uint32_t)draw();
    double x;
    float y;

    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    CHECK(__aeabi_d2f(a), uint32_t, uint32_t, float, (float)x);
    CHECK(__aeabi_f2d(b), uint64_t, uint64_t, double, (double)y);
}

int
main(void)
{
    enum { TIMES = 100000 };

    for (int i = 0; i < TIMES && wrong < 10; i++) {
        test_f();
        test_d();
        test_conversion();
    }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
