/*
 * Peak rates of one core in registers, by independent sums of products of floats and of
 * integers of 8 bits; and the processor's time of a thread.
 *
 * Integers go by the instruction with the most products: tiles of AMX, dot products
 * (VPDPBUSD, SDOT), or products of 16 bits (PMADDWD), where 8 bits would saturate.  The
 * compiler's options say which there are: -march=native means this machine's.
 */

#ifndef BENCH_BURST_H
#define BENCH_BURST_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__AMX_INT8__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif

/* More than any core's units times its latency, fewer than its registers. */
enum { BURST_SUMS = 12 };

typedef float vector __attribute__((vector_size(WIDTH)));

/* Seconds of the processor in this thread. */
static inline double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* GFLOP/s of `turns` multiplications and additions to each sum. */
static inline double
burst_of_floats(int turns)
{
    static volatile float sink; /* so that the sums count */
    vector sum[BURST_SUMS], a = {0}, b = {0};
    double t;

    a += 0.5f;
    b += 1e-9f;
    /* No two alike, or the compiler computes them once. */
    for (int i = 0; i < BURST_SUMS; i++)
        sum[i] = b + (float)i;
    t = now();
    for (int n = 0; n < turns; n++) {
#pragma GCC unroll 16
        for (int i = 0; i < BURST_SUMS; i++)
            sum[i] = sum[i] * a + b;
    }
    t = now() - t;
    for (int i = 0; i < BURST_SUMS; i++)
        sink += sum[i][0];
    return 2e-9 * turns * BURST_SUMS * (WIDTH / sizeof(float)) / t;
}

#if defined(__AMX_INT8__)

/* Has the kernel let this thread use tiles, and makes all of 16 rows of 64 bytes. */
static inline void
burst_begin(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18, TILES = 8 };
    struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } shape = {.palette = 1};

    if (syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA))
        abort();
    for (int i = 0; i < TILES; i++) {
        shape.bytes[i] = 64;
        shape.rows[i] = 16;
    }
    _tile_loadconfig(&shape);
}

/* Operations of `turns` products of two by two tiles of drawn elements. */
static inline double
burst_of_products(int turns)
{
    static int8_t drawn[4][16][64];

    for (size_t i = 0; i < sizeof(drawn); i++)
        ((int8_t *)drawn)[i] = (int8_t)(i * 2654435761u >> 16);
    burst_begin();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_loadd(4, drawn[0], 64);
    _tile_loadd(5, drawn[1], 64);
    _tile_loadd(6, drawn[2], 64);
    _tile_loadd(7, drawn[3], 64);
    for (int n = 0; n < turns; n++) {
        _tile_dpbusd(0, 4, 6);
        _tile_dpbusd(1, 4, 7);
        _tile_dpbusd(2, 5, 6);
        _tile_dpbusd(3, 5, 7);
    }
    _tile_stored(0, drawn[0], 64);
    _tile_release();
    return 2.0 * turns * 4 * 16 * 16 * 64;
}

#else

/* A register of which the compiler does not know the contents. */
#if defined(__x86_64__)
#define OPAQUE(a) __asm__ volatile("" : "+x"(a))
#elif defined(__aarch64__)
#define OPAQUE(a) __asm__ volatile("" : "+w"(a))
#else
#define OPAQUE(a) __asm__ volatile("" : "+m"(a))
#endif

#if defined(__AVX512VNNI__)
typedef __m512i integers;
#define STEP(sum, a, b) ((sum) = _mm512_dpbusd_epi32(sum, a, b))
enum { PRODUCTS = 64, CHAINS = BURST_SUMS };
#elif defined(__AVXVNNI__)
typedef __m256i integers;
#define STEP(sum, a, b) ((sum) = _mm256_dpbusd_avx_epi32(sum, a, b))
enum { PRODUCTS = 32, CHAINS = BURST_SUMS };
#elif defined(__AVX512BW__)
typedef __m512i integers;
#define STEP(sum, a, b) ((sum) = _mm512_add_epi32(sum, _mm512_madd_epi16(a, b)))
enum { PRODUCTS = 32, CHAINS = 6 };
#elif defined(__AVX2__)
typedef __m256i integers;
#define STEP(sum, a, b) ((sum) = _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)))
enum { PRODUCTS = 16, CHAINS = 6 };
#elif defined(__x86_64__)
typedef __m128i integers;
#define STEP(sum, a, b) ((sum) = _mm_add_epi32(sum, _mm_madd_epi16(a, b)))
enum { PRODUCTS = 8, CHAINS = 6 };
#elif defined(__ARM_FEATURE_DOTPROD)
typedef int32x4_t integers;
#define STEP(sum, a, b) \
    ((sum) = vdotq_s32(sum, vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b)))
enum { PRODUCTS = 16, CHAINS = BURST_SUMS };
#else
typedef int32_t integers __attribute__((vector_size(16)));
#define STEP(sum, a, b) ((sum) = ((sum) + (a) * (b)))
enum { PRODUCTS = 4, CHAINS = BURST_SUMS };
#endif

/* Operations of `turns` products, each added to every sum. */
static inline double
burst_of_products(int turns)
{
    integers sum[CHAINS], a = {0}, b = {0};

    a += 0x01020304;
    b += 0x04030201;
    for (int i = 0; i < CHAINS; i++)
        sum[i] = a;
    /* Unrolled, GCC copies no sums. */
#pragma GCC unroll 4
    for (int n = 0; n < turns; n++) {
#pragma GCC unroll 16
        for (int i = 0; i < CHAINS; i++) {
            OPAQUE(a); /* or the compiler multiplies once */
            STEP(sum[i], a, b);
        }
    }
    for (int i = 1; i < CHAINS; i++)
        sum[0] ^= sum[i];
    OPAQUE(sum[0]); /* so that the sums count */
    return 2.0 * turns * CHAINS * PRODUCTS;
}

#undef OPAQUE
#undef STEP
#endif

/* GOP/s of `turns` products of integers of 8 bits, added in 32. */
static inline double
burst_of_integers(int turns)
{
    double t = now(), operations = burst_of_products(turns);

    return operations / (now() - t) * 1e-9;
}

#endif
