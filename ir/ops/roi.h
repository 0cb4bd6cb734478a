/*
 * Samples of regions of interest: plain arithmetic, shared by `eval` and the
 * kernels in C, which have no library to call.
 */

#ifndef IR_OPS_ROI_H
#define IR_OPS_ROI_H

#include <stdbool.h>
#include <stdint.h>

/* Limit for the number of samples along an axis of a bin. */
#define GLOW_ROI_MOST_SAMPLES (1 << 20)

/* Sine of `x` degrees; 90 - x gives the cosine. */
static inline double
glow_roi_sine(double x)
{
    double turns = x / 360, sign = 1, t, sum, term;

    if (!(turns > -1e15 && turns < 1e15))
        return turns * 0;
    turns -= (double)(int64_t)turns;
    x = turns < 0 ? 360 * turns + 360 : 360 * turns;
    if (x > 180) {
        x -= 180;
        sign = -1;
    }
    if (x > 90)
        x = 180 - x;
    t = x * 0.017453292519943295; /* pi / 180 */
    sum = term = t;
    for (int k = 2; k < 24; k += 2) {
        term *= -t * t / (k * (k + 1));
        sum += term;
    }
    return sign * sum;
}

/* A region: center, sizes, angle, and the number of samples of a bin. */
typedef struct glow_roi {
    double y, x; /* the center, in elements of the map */
    double height, width;
    double sine, cosine;   /* of its angle */
    int64_t rows, columns; /* samples of a bin */
} glow_roi;

/* ceil(v); -1 if this is not a number of samples. */
static inline int64_t
glow_roi_samples(double v)
{
    int64_t n;

    if (!(v <= GLOW_ROI_MOST_SAMPLES))
        return -1;
    if (v <= 0)
        return 0;
    n = (int64_t)v;
    return n + ((double)n < v);
}

/*
 * The region of `box`, (x1, y1, x2, y2) or (x, y, width, height, degrees), of
 * bins in `h` rows and `w` columns.  False if the samples cannot be counted.
 */
static inline bool
glow_roi_of(glow_roi *r, const double box[], double scale, int64_t ratio,
            bool aligned, bool rotated, int64_t h, int64_t w)
{
    double offset = aligned ? 0.5 : 0;

    r->x = box[0] * scale - offset;
    r->y = box[1] * scale - offset;
    r->width = (rotated ? box[2] : box[2] - box[0]) * scale;
    r->height = (rotated ? box[3] : box[3] - box[1]) * scale;
    if (!aligned && r->width < 1)
        r->width = 1;
    if (!aligned && r->height < 1)
        r->height = 1;
    if (!rotated) {
        r->x += r->width / 2;
        r->y += r->height / 2;
    }
    r->sine = rotated ? glow_roi_sine(box[4]) : 0;
    r->cosine = rotated ? glow_roi_sine(90 - box[4]) : 1;
    r->rows = ratio ? ratio : glow_roi_samples(r->height / (double)h);
    r->columns = ratio ? ratio : glow_roi_samples(r->width / (double)w);
    return r->rows >= 0 && r->columns >= 0;
}

/* The four elements around a sample and their weights; count 0: outside. */
typedef struct glow_roi_taps {
    int count;
    int64_t at[4]; /* elements of a map of one channel */
    double weight[4];
} glow_roi_taps;

/* The two neighbours of one coordinate; false outside of the map. */
static inline bool
glow_roi_between(double v, int64_t size, int64_t *low, int64_t *high,
                 double *part)
{
    if (!(v >= -1 && v <= (double)size))
        return false;
    if (v < 0)
        v = 0;
    *low = (int64_t)v;
    *part = v - (double)*low;
    if (*low >= size - 1) {
        *low = size - 1;
        *part = 0;
    }
    *high = *low < size - 1 ? *low + 1 : *low;
    return true;
}

/* Sample (i, j) of bin (p, q) of h x w, in a map of height x width. */
static inline glow_roi_taps
glow_roi_sample(const glow_roi *r, int64_t p, int64_t i, int64_t h, int64_t q,
                int64_t j, int64_t w, int64_t height, int64_t width)
{
    double y = (((double)i + 0.5) / (double)r->rows + (double)p) / (double)h;
    double x = (((double)j + 0.5) / (double)r->columns + (double)q) / (double)w;
    glow_roi_taps t = {0};
    int64_t y0, y1, x0, x1;
    double v, u;

    y = (y - 0.5) * r->height;
    x = (x - 0.5) * r->width;
    if (!glow_roi_between(y * r->cosine - x * r->sine + r->y, height, &y0, &y1,
                          &v) ||
        !glow_roi_between(x * r->cosine + y * r->sine + r->x, width, &x0, &x1,
                          &u))
        return t;
    t.count = 4;
    t.at[0] = y0 * width + x0;
    t.at[1] = y0 * width + x1;
    t.at[2] = y1 * width + x0;
    t.at[3] = y1 * width + x1;
    t.weight[0] = (1 - v) * (1 - u);
    t.weight[1] = (1 - v) * u;
    t.weight[2] = v * (1 - u);
    t.weight[3] = v * u;
    return t;
}

/* Rounds half away from 0, saturated at 2^30. */
static inline int64_t
glow_roi_round(double v)
{
    double most = (double)(1 << 30);

    if (!(v > -most))
        v = -most;
    if (v > most)
        v = most;
    return (int64_t)(v < 0 ? v - 0.5 : v + 0.5);
}

/* The elements [first, last) of bin `p` of `bins` from `low` to `high`. */
static inline void
glow_roi_bin(int64_t low, int64_t high, int64_t p, int64_t bins, int64_t size,
             int64_t *first, int64_t *last)
{
    int64_t span = high - low + 1 > 1 ? high - low + 1 : 1;

    *first = low + p * span / bins;
    *last = low + ((p + 1) * span + bins - 1) / bins;
    *first = *first < 0 ? 0 : *first > size ? size : *first;
    *last = *last < 0 ? 0 : *last > size ? size : *last;
}

#endif
