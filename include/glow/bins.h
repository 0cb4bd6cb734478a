/*
 * Bins of histograms whose range grows: intervals of one width, a power of two, at
 * multiples of that width.
 *
 * The bins depend on the least and the greatest element and the number of bins
 * alone, and bins of a wider range are unions of bins.  So the histogram of all
 * elements is the same in whatever order they come, and histograms can be added.
 *
 * Kernels in C include this header, so it calls nothing but memcpy.
 */

#ifndef GLOW_BINS_H
#define GLOW_BINS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * Bin i counts the elements x for which floor(x / 2^exponent) is first + i.  The
 * exponent is from -149 to 127, and |first| at most 2^31.
 */
typedef struct glow_bins {
    int64_t exponent;
    int64_t first;
} glow_bins;

/* floor(log2(x)) of x > 0; -1023 of numbers that are not normal. */
static inline int64_t
glow_bins_log2(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return (int64_t)(bits >> 52 & 0x7ff) - 1023;
}

/* 2^e for e from -1022 to 1023. */
static inline double
glow_bins_power(int64_t e)
{
    uint64_t bits = (uint64_t)(e + 1023) << 52;
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* floor(x / 2^e), for |x| / 2^e below 2^62. */
static inline int64_t
glow_bins_floor(double x, int64_t e)
{
    double y = x * glow_bins_power(-e);
    int64_t whole = (int64_t)y;

    return whole - ((double)whole > y);
}

/*
 * The narrowest `count` bins (at least 2) that hold [min, max], two numbers in the
 * range of floats.  The width is at least 2^-30 of the greatest magnitude.
 */
static inline glow_bins
glow_bins_of(double min, double max, int64_t count)
{
    double greatest = -min > max ? -min : max;
    int64_t e = greatest > 0 ? glow_bins_log2(greatest) - 30 : -149;

    if (max > min && glow_bins_log2((max - min) / (double)count) - 1 > e)
        e = glow_bins_log2((max - min) / (double)count) - 1;
    if (e < -149)
        e = -149;
    while (glow_bins_floor(max, e) - glow_bins_floor(min, e) >= count)
        e++;
    return (glow_bins){e, glow_bins_floor(min, e)};
}

/* The bin in `to` of bin `i` of `from`, whose range is a part of that of `to`. */
static inline int64_t
glow_bins_map(int64_t i, glow_bins from, glow_bins to)
{
    int64_t by = to.exponent - from.exponent;
    int64_t at = from.first + i;

    /* Division that rounds down, by a power of two that may exceed 64 bits. */
    if (by > 40)
        by = 40;
    return (at >= 0 ? at >> by : -((-at - 1) >> by) - 1) - to.first;
}

/*
 * Adds the counts to the bins of a wider range, in place: bins that move to greater
 * numbers from the last on, then those that move to smaller ones from the first on.
 */
static inline void
glow_bins_widen(int64_t *counts, int64_t count, glow_bins from, glow_bins to)
{
    int64_t rising = 0;

    while (rising < count && glow_bins_map(rising, from, to) >= rising)
        rising++;
    for (int64_t k = 0; k < count; k++) {
        int64_t i = k < rising ? rising - 1 - k : k;
        int64_t n = counts[i];

        counts[i] = 0;
        if (n)
            counts[glow_bins_map(i, from, to)] += n;
    }
}

#endif
