/*
 * The tile instructions of AMX in C, for machines without them (emit/matrix.h).
 *
 * The state of a kernel is a struct on its stack: eight tiles of 16 rows of 64
 * bytes, and the shapes that LDTILECFG has given them.  Operands that raise #UD or
 * #GP on a processor trap here: another palette, tiles without a shape, shapes that do
 * not fit each other, one tile as two operands.
 *
 * TDPBF16PS adds up the even and the odd elements of the depth apart, each by
 * fused multiplications from the first on, adds these two sums, and the result to
 * the tile; subnormal operands and results are zeros of their sign, and rounding is
 * to nearest even whatever MXCSR says.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2,
 * LDTILECFG, TILELOADD, TILESTORED, TDPBF16PS, TDPBSSD, TDPBUSD.
 */

#include "codegen/cpu/c/tiles.h"

#include "codegen/cpu/c/element.h"

#define OWN \
    __attribute__((noinline)) /* as an instruction: called, not inlined */

#ifdef __clang__
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define ROLLED
#endif

#define FEWEST 0x1p-126               /* the least normal float */
#define TINY (FEWEST * (1 - 0x1p-25)) /* what is less rounds to less than it */

INLINE void
demand(bool holds)
{
    if (!holds)
        __builtin_trap();
}

INLINE tile *
shaped(tiles *t, int64_t r)
{
    demand(r >= 0 && r < TILES && t->rows[r] > 0 && t->bytes[r] > 0);
    return &t->at[r];
}

INLINE void
zero(tile *to)
{
    ROLLED
    for (int i = 0; i < TILE_ROWS; i++)
        ROLLED
    for (int k = 0; k < ROW_BYTES; k++)
        to->row[i][k] = 0;
}

OWN int64_t
glow_c_tile_begin(tiles *t, const uint8_t *config)
{
    demand(config[0] == 1);
    ROLLED
    for (int i = 1; i < 16; i++)
        demand(config[i] == 0);
    ROLLED
    for (int r = 0; r < 16; r++) {
        int64_t bytes = config[16 + 2 * r] | config[17 + 2 * r] << 8;
        int64_t rows = config[48 + r];

        demand(bytes <= ROW_BYTES && rows <= TILE_ROWS);
        demand((bytes == 0) == (rows == 0) && (r < TILES || rows == 0));
        if (r >= TILES)
            continue;
        t->bytes[r] = bytes;
        t->rows[r] = rows;
        zero(&t->at[r]);
    }
    return 0;
}

OWN int64_t
glow_c_tile_end(tiles *t)
{
    ROLLED
    for (int r = 0; r < TILES; r++)
        t->rows[r] = t->bytes[r] = 0;
    return 0;
}

OWN int64_t
glow_c_tile_zero(tiles *t, int64_t r)
{
    zero(shaped(t, r));
    return 0;
}

OWN int64_t
glow_c_tile_load(tiles *t, int64_t r, const uint8_t *from, int64_t step)
{
    tile *to = shaped(t, r);

    zero(to);
    ROLLED
    for (int64_t i = 0; i < t->rows[r]; i++)
        ROLLED
    for (int64_t k = 0; k < t->bytes[r]; k++)
        to->row[i][k] = from[i * step + k];
    return 0;
}

OWN int64_t
glow_c_tile_store(tiles *t, int64_t r, uint8_t *to, int64_t step)
{
    const tile *from = shaped(t, r);

    ROLLED
    for (int64_t i = 0; i < t->rows[r]; i++)
        ROLLED
    for (int64_t k = 0; k < t->bytes[r]; k++)
        to[i * step + k] = from->row[i][k];
    return 0;
}

/* The operands of a product of tiles fit: sums m x n, left m x k, right k x n. */
INLINE void
check_product(tiles *t, int64_t sum, int64_t left, int64_t right)
{
    shaped(t, sum);
    shaped(t, left);
    shaped(t, right);
    demand(sum != left && sum != right && left != right);
    demand(t->bytes[sum] % 4 == 0 && t->bytes[left] % 4 == 0);
    demand(t->rows[sum] == t->rows[left] && t->bytes[sum] == t->bytes[right]);
    demand(t->rows[right] == t->bytes[left] / 4);
}

/* A float, zero if it is subnormal. */
INLINE float
flushed(float x)
{
    return __builtin_fabsf(x) < (float)FEWEST ? __builtin_copysignf(0, x) : x;
}

INLINE float
float_of(uint32_t bits)
{
    float x;

    __builtin_memcpy(&x, &bits, sizeof x);
    return flushed(x);
}

/*
 * A sum that is exact in double, or so far from a tie of floats that this does not
 * matter, rounded to float.
 */
INLINE float
rounded(double x)
{
    return __builtin_fabs(x) < TINY ? (float)__builtin_copysign(0, x)
                                    : (float)x;
}

/* Element `half` of pair `k` of row `i`. */
INLINE double
bfloat(const tile *t, int64_t i, int64_t k, int64_t half)
{
    uint16_t bits;

    __builtin_memcpy(&bits, &t->row[i][4 * k + 2 * half], sizeof bits);
    return (double)float_of((uint32_t)bits << 16);
}

/* Row `i` of the product; each of `lanes` sums goes from the first pair on. */
INLINE void
multiply_row(const tile *a, const tile *b, int64_t i, int64_t depth,
             int64_t lanes, tile *to)
{
    float even[TILE_ROWS], odd[TILE_ROWS];

    ROLLED
    for (int64_t n = 0; n < lanes; n++)
        even[n] = odd[n] = 0;
    ROLLED
    for (int64_t k = 0; k < depth; k++) {
        double x = bfloat(a, i, k, 0), y = bfloat(a, i, k, 1);

        ROLLED
        for (int64_t n = 0; n < lanes; n++) {
            even[n] = rounded((double)even[n] + x * bfloat(b, k, n, 0));
            odd[n] = rounded((double)odd[n] + y * bfloat(b, k, n, 1));
        }
    }
    ROLLED
    for (int64_t n = 0; n < lanes; n++) {
        uint32_t bits;
        float sum;

        __builtin_memcpy(&bits, &to->row[i][4 * n], sizeof bits);
        sum = rounded((double)even[n] + (double)odd[n]);
        sum = rounded((double)float_of(bits) + (double)sum);
        __builtin_memcpy(&to->row[i][4 * n], &sum, sizeof sum);
    }
}

OWN int64_t
glow_c_tile_bf16(tiles *t, int64_t sum, int64_t left, int64_t right)
{
    check_product(t, sum, left, right);
    ROLLED
    for (int64_t i = 0; i < t->rows[sum]; i++)
        multiply_row(&t->at[left], &t->at[right], i, t->rows[right],
                     t->bytes[sum] / 4, &t->at[sum]);
    return 0;
}

/* The four products of group `k` of row `i` with column `n`. */
INLINE uint32_t
group_of(const tile *a, const tile *b, int64_t i, int64_t k, int64_t n,
         bool is_signed)
{
    int32_t sum = 0;

    ROLLED
    for (int64_t e = 0; e < 4; e++) {
        uint8_t x = a->row[i][4 * k + e];
        int8_t y = (int8_t)b->row[k][4 * n + e];

        sum += (is_signed ? (int8_t)x : (int32_t)x) * y;
    }
    return (uint32_t)sum;
}

OWN int64_t
glow_c_tile_bytes(tiles *t, int64_t sum, int64_t left, int64_t right,
                  int64_t is_signed)
{
    check_product(t, sum, left, right);
    ROLLED
    for (int64_t i = 0; i < t->rows[sum]; i++)
        ROLLED
    for (int64_t n = 0; n < t->bytes[sum] / 4; n++) {
        uint8_t *at = &t->at[sum].row[i][4 * n];
        uint32_t y; /* wraps around */

        __builtin_memcpy(&y, at, sizeof y);
        ROLLED
        for (int64_t k = 0; k < t->rows[right]; k++)
            y += group_of(&t->at[left], &t->at[right], i, k, n, is_signed);
        __builtin_memcpy(at, &y, sizeof y);
    }
    return 0;
}
