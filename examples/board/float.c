/*
 * Floating-point arithmetic in integers, under the names of Arm's run-time ABI
 * (IHI 0043), for processors without an FPU or with one for single precision.
 *
 * A C compiler brings such a library with it (libgcc, compiler-rt); Debian's Clang
 * has none for Arm.  Rounds to nearest even, with subnormal numbers, as an FPU
 * does.  A number is unpacked to sign, exponent and a significand of 64 bits whose
 * first bit is one; bits that do not fit are kept as a last bit of one.
 */

#include <stdbool.h>
#include <stdint.h>

typedef enum { ZERO, FINITE, INFINITE, NOT } kind;

/* (-1)^negative * significand * 2^(exponent - 63). */
typedef struct number {
    kind kind;
    bool negative;
    int exponent;
    uint64_t significand;
} number;

typedef struct format {
    int fraction, bias; /* bits; of the exponent */
} format;

static const format single = {23, 127}, twice = {52, 1023};

/* `v` shifted to the right, with a last bit that says whether others were. */
static uint64_t
shift(uint64_t v, int by)
{
    if (by <= 0)
        return v;
    return by > 63 ? v != 0 : v >> by | ((v << (64 - by)) != 0);
}

static number
normal(bool negative, int exponent, uint64_t significand)
{
    if (!significand)
        return (number){ZERO, negative, 0, 0};
    while (!(significand >> 63)) {
        significand <<= 1;
        exponent--;
    }
    return (number){FINITE, negative, exponent, significand};
}

static number
unpack(uint64_t bits, format f)
{
    uint64_t fraction = bits & ((UINT64_C(1) << f.fraction) - 1);
    int exponent = (int)(bits >> f.fraction) & (2 * f.bias + 1);
    bool negative = bits >> f.fraction > (uint64_t)(2 * f.bias + 1);

    if (exponent == 2 * f.bias + 1)
        return (number){fraction ? NOT : INFINITE, negative, 0, 0};
    if (exponent)
        fraction |= UINT64_C(1) << f.fraction;
    else
        exponent = 1;
    return normal(negative, exponent - f.bias, fraction << (63 - f.fraction));
}

static uint64_t
pack(number n, format f)
{
    uint64_t top = 2 * (uint64_t)f.bias + 1;
    uint64_t sign = (uint64_t)n.negative * (top + 1) << f.fraction, half, v;
    int exponent = n.exponent + f.bias, drop = 63 - f.fraction;

    if (n.kind == ZERO)
        return sign;
    if (n.kind == NOT)
        return sign | top << f.fraction | UINT64_C(1) << (f.fraction - 1);
    if (n.kind == INFINITE || exponent >= (int)top)
        return sign | top << f.fraction;
    v = n.significand;
    if (exponent < 1) {
        v = shift(v, 1 - exponent);
        exponent = 1;
    }
    half = UINT64_C(1) << (drop - 1);
    v = (v >> drop) + ((v & (2 * half - 1)) > half - (v >> drop & 1));
    /* The first bit of `v`, if it is one, adds 1 to the exponent. */
    return sign | (v + ((uint64_t)(exponent - 1) << f.fraction));
}

static number
add(number a, number b)
{
    number big = a, small = b;

    if (a.kind == NOT || b.kind == NOT ||
        (a.kind == INFINITE && b.kind == INFINITE && a.negative != b.negative))
        return (number){NOT, false, 0, 0};
    if (a.kind == INFINITE || b.kind == ZERO)
        return a.kind == ZERO && a.negative != b.negative
                   ? (number){ZERO, false, 0, 0}
                   : a;
    if (b.kind == INFINITE || a.kind == ZERO)
        return b;
    if (a.exponent < b.exponent ||
        (a.exponent == b.exponent && a.significand < b.significand)) {
        big = b;
        small = a;
    }
    /* Two spare bits: for the carry, and to tell a half from more. */
    big.significand >>= 2;
    small.significand =
        shift(small.significand, big.exponent - small.exponent + 2);
    if (big.negative == small.negative)
        return normal(big.negative, big.exponent + 2,
                      big.significand + small.significand);
    if (big.significand == small.significand)
        return (number){ZERO, false, 0, 0};
    return normal(big.negative, big.exponent + 2,
                  big.significand - small.significand);
}

static number
multiply(number a, number b)
{
    bool negative = a.negative != b.negative;
    uint64_t al = (uint32_t)a.significand, ah = a.significand >> 32;
    uint64_t bl = (uint32_t)b.significand, bh = b.significand >> 32;
    uint64_t middle = ah * bl + (al * bl >> 32),
             more = al * bh + (uint32_t)middle;
    uint64_t high = ah * bh + (middle >> 32) + (more >> 32);
    bool rest = ((uint32_t)more | (uint32_t)(al * bl)) != 0;

    if (a.kind == NOT || b.kind == NOT ||
        (a.kind == INFINITE && b.kind == ZERO) ||
        (a.kind == ZERO && b.kind == INFINITE))
        return (number){NOT, negative, 0, 0};
    if (a.kind == INFINITE || b.kind == INFINITE)
        return (number){INFINITE, negative, 0, 0};
    if (a.kind == ZERO || b.kind == ZERO)
        return (number){ZERO, negative, 0, 0};
    return normal(negative, a.exponent + b.exponent + 1, high | rest);
}

static number
divide(number a, number b)
{
    bool negative = a.negative != b.negative;
    uint64_t rest = a.significand, quotient = 0;

    if (a.kind == NOT || b.kind == NOT ||
        (a.kind == b.kind && a.kind != FINITE))
        return (number){NOT, negative, 0, 0};
    if (a.kind == INFINITE || b.kind == ZERO)
        return (number){INFINITE, negative, 0, 0};
    if (a.kind == ZERO || b.kind == INFINITE)
        return (number){ZERO, negative, 0, 0};
    for (int i = 0; i < 62; i++) { /* long division, bit by bit */
        bool carry = i && rest >> 63;

        if (i)
            rest <<= 1;
        quotient <<= 1;
        if (carry || rest >= b.significand) {
            rest -= b.significand;
            quotient |= 1;
        }
    }
    return normal(negative, a.exponent - b.exponent + 1,
                  quotient << 1 | (rest != 0));
}

/* Less than 0, 0, more than 0; 2: unordered. */
static int
compare(number a, number b)
{
    number d;

    if (a.kind == NOT || b.kind == NOT)
        return 2;
    if (a.kind == INFINITE && b.kind == INFINITE && a.negative == b.negative)
        return 0;
    b.negative = !b.negative;
    d = add(a, b);
    return d.kind == ZERO ? 0 : d.negative ? -1 : 1;
}

static uint64_t
size_of(int64_t v)
{
    return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

/* The integer of the number, toward zero, within its bounds. */
static int64_t
truncate(number n, int bits)
{
    int64_t most = (int64_t)((UINT64_C(1) << (bits - 1)) - 1), v;

    if (n.kind == ZERO || n.kind == NOT || (n.kind == FINITE && n.exponent < 0))
        return 0;
    if (n.kind == INFINITE || n.exponent >= bits - 1)
        return n.negative ? -most - 1 : most;
    v = (int64_t)(n.significand >> (63 - n.exponent));
    return n.negative ? -v : v;
}

/*
 * The functions of the ABI.  They take and return floats in integer registers,
 * whatever the calling convention of the program: AAPCS, as here by integers.
 */
#ifdef __arm__
#define BASE __attribute__((pcs("aapcs")))
#else
#define BASE
#endif
#define ARITHMETIC(p, type, f)                                      \
    BASE type __aeabi_##p##add(type a, type b);                     \
    BASE type __aeabi_##p##add(type a, type b)                      \
    {                                                               \
        return (type)pack(add(unpack(a, f), unpack(b, f)), f);      \
    }                                                               \
    BASE type __aeabi_##p##sub(type a, type b);                     \
    BASE type __aeabi_##p##sub(type a, type b)                      \
    {                                                               \
        number n = unpack(b, f);                                    \
                                                                    \
        n.negative = !n.negative;                                   \
        return (type)pack(add(unpack(a, f), n), f);                 \
    }                                                               \
    BASE type __aeabi_##p##mul(type a, type b);                     \
    BASE type __aeabi_##p##mul(type a, type b)                      \
    {                                                               \
        return (type)pack(multiply(unpack(a, f), unpack(b, f)), f); \
    }                                                               \
    BASE type __aeabi_##p##div(type a, type b);                     \
    BASE type __aeabi_##p##div(type a, type b)                      \
    {                                                               \
        return (type)pack(divide(unpack(a, f), unpack(b, f)), f);   \
    }
#define COMPARISON(p, name, type, f, test)               \
    BASE int __aeabi_##p##cmp##name(type a, type b);     \
    BASE int __aeabi_##p##cmp##name(type a, type b)      \
    {                                                    \
        int order = compare(unpack(a, f), unpack(b, f)); \
                                                         \
        return test;                                     \
    }
#define COMPARISONS(p, type, f)                   \
    COMPARISON(p, eq, type, f, order == 0)        \
    COMPARISON(p, lt, type, f, order == -1)       \
    COMPARISON(p, le, type, f, order <= 0)        \
    COMPARISON(p, gt, type, f, order == 1)        \
    COMPARISON(p, ge, type, f, (order & ~1) == 0) \
    COMPARISON(p, un, type, f, order == 2)
#define CONVERSION(name, to, from, value) \
    BASE to __aeabi_##name(from v);       \
    BASE to __aeabi_##name(from v)        \
    {                                     \
        return (to)(value);               \
    }
#define FROM_INTEGER(f) pack(normal(v < 0, 63, size_of(v)), f)

ARITHMETIC(f, uint32_t, single)
ARITHMETIC(d, uint64_t, twice)
COMPARISONS(f, uint32_t, single)
COMPARISONS(d, uint64_t, twice)
CONVERSION(f2d, uint64_t, uint32_t, pack(unpack(v, single), twice))
CONVERSION(d2f, uint32_t, uint64_t, pack(unpack(v, twice), single))
CONVERSION(i2f, uint32_t, int32_t, FROM_INTEGER(single))
CONVERSION(i2d, uint64_t, int32_t, FROM_INTEGER(twice))
CONVERSION(l2f, uint32_t, int64_t, FROM_INTEGER(single))
CONVERSION(l2d, uint64_t, int64_t, FROM_INTEGER(twice))
CONVERSION(ui2f, uint32_t, uint32_t, pack(normal(false, 63, v), single))
CONVERSION(ui2d, uint64_t, uint32_t, pack(normal(false, 63, v), twice))
CONVERSION(f2iz, int32_t, uint32_t, truncate(unpack(v, single), 32))
CONVERSION(d2iz, int32_t, uint64_t, truncate(unpack(v, twice), 32))
CONVERSION(f2lz, int64_t, uint32_t, truncate(unpack(v, single), 64))
CONVERSION(d2lz, int64_t, uint64_t, truncate(unpack(v, twice), 64))
