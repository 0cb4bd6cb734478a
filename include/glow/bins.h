/*
 * The state of QuantizationProfile: bins of histograms whose range grows, and sums.
 *
 * Bins are intervals of one width, a power of two, at multiples of that width.
 *
 * The bins depend on the least and the greatest element and the number of bins
 * alone, and bins of a wider range are unions of bins.  So the histogram of all
 * elements is the same in whatever order they come, and histograms can be added.
 *
 * Kernels in C include this header, so it calls no function of another.
 */

#ifndef GLOW_BINS_H
#define GLOW_BINS_H

#include <stdbool.h>
#include <stdint.h>

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
    union {
        double x;
        uint64_t bits;
    } u;

    u.x = x;
    return (int64_t)(u.bits >> 52 & 0x7ff) - 1023;
}

/* 2^e for e from -1022 to 1023. */
static inline double
glow_bins_power(int64_t e)
{
    union {
        double x;
        uint64_t bits;
    } u;

    u.bits = (uint64_t)(e + 1023) << 52;
    return u.x;
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
 * Counts outside of the range of `from`, which no histogram has, may be dropped.
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
        int64_t at = glow_bins_map(i, from, to);

        if (n && at >= 0 && at < count)
            counts[at] = (int64_t)((uint64_t)counts[at] + (uint64_t)n);
    }
}

/* The numbers at the head of ComputationInfo of QuantizationProfile. */
enum {
    GLOW_PROFILE_MIN,      /* the least finite element */
    GLOW_PROFILE_MAX,      /* the greatest */
    GLOW_PROFILE_RUN_MINS, /* the sum of the least elements of the runs */
    GLOW_PROFILE_RUN_MAXS, /* the sum of the greatest */
    GLOW_PROFILE_COUNT,    /* finite elements; 0: the rest means nothing */
    GLOW_PROFILE_RUNS,     /* that had a finite element */
    GLOW_PROFILE_HEAD,     /* then lists by channel: min, max, sum, count */
};

/* The greatest finite float. */
#define GLOW_PROFILE_MOST 0x1.fffffep+127

/* True for numbers that a profile counts: finite as floats. */
static inline bool
glow_profile_counts(double x)
{
    return x >= -GLOW_PROFILE_MOST && x <= GLOW_PROFILE_MOST;
}

/* True if the numbers of earlier runs are a state; others are taken as none. */
static inline bool
glow_profile_is_state(const double *info)
{
    return info[GLOW_PROFILE_COUNT] > 0 &&
           glow_profile_counts(info[GLOW_PROFILE_MIN]) &&
           glow_profile_counts(info[GLOW_PROFILE_MAX]) &&
           info[GLOW_PROFILE_MIN] <= info[GLOW_PROFILE_MAX];
}

/* Adds a run of `count` finite elements from `min` to `max` to the head. */
static inline void
glow_profile_add(double *info, double min, double max, int64_t count)
{
    if (!(info[GLOW_PROFILE_COUNT] > 0)) {
        info[GLOW_PROFILE_MIN] = min;
        info[GLOW_PROFILE_MAX] = max;
    }
    if (min < info[GLOW_PROFILE_MIN])
        info[GLOW_PROFILE_MIN] = min;
    if (max > info[GLOW_PROFILE_MAX])
        info[GLOW_PROFILE_MAX] = max;
    info[GLOW_PROFILE_RUN_MINS] += min;
    info[GLOW_PROFILE_RUN_MAXS] += max;
    info[GLOW_PROFILE_COUNT] += (double)count;
    info[GLOW_PROFILE_RUNS] += 1;
}

#endif
