/*
 * Calibration: from the histogram of a value to the range that it is quantized by.
 *
 * MSE: exhaustive search over pairs of edges of bins.  ENTROPY: Migacz, 8-bit Inference
 * with TensorRT, GTC 2017, as Glow has it.  MOVING_AVERAGE: means over the runs, as
 * ONNX Runtime has it.
 */

#include <math.h>
#include <string.h>

#include "glow/profile.h"

/* A histogram at work: counts and sums of bins before each. */
typedef struct histogram {
    const double *counts;
    int64_t n;
    double low, width;
    /* The sums of the counts, of counts times centers and squares of centers. */
    double *sum, *first, *second;
    int64_t zero; /* the bin that 0 is in, or -1 */
} histogram;

static double
edge(const histogram *h, int64_t i)
{
    return h->low + h->width * (double)i;
}

/* The searches take the square of the bins: of more, pairs are added. */
enum { MOST_BINS = 4096 };

static glow_profile_value
coarse(const glow_profile_value *v, glow_arena *a)
{
    glow_profile_value c = *v;

    while (c.n_counts > MOST_BINS) {
        int64_t n = (c.n_counts + 1) / 2;
        double *counts = GLOW_NEW_ARRAY(a, double, n);

        for (int64_t i = 0; i < c.n_counts; i++)
            counts[i / 2] += c.counts[i];
        c.counts = counts;
        c.n_counts = n;
        c.width *= 2;
    }
    return c;
}

static histogram
histogram_of(const glow_profile_value *v, glow_arena *a)
{
    histogram h = {v->counts,
                   v->n_counts,
                   v->low,
                   v->width,
                   GLOW_NEW_ARRAY(a, double, v->n_counts + 1),
                   GLOW_NEW_ARRAY(a, double, v->n_counts + 1),
                   GLOW_NEW_ARRAY(a, double, v->n_counts + 1),
                   -1};

    for (int64_t i = 0; i < h.n; i++) {
        double x = edge(&h, i) + h.width / 2, n = h.counts[i];

        if (edge(&h, i) <= 0 && edge(&h, i + 1) > 0)
            h.zero = i;
        h.sum[i + 1] = h.sum[i] + n;
        h.first[i + 1] = h.first[i] + n * x;
        h.second[i + 1] = h.second[i] + n * x * x;
    }
    return h;
}

/* Percentile: half of the rest is cut at each end. */
static void
percentile(const histogram *h, double keep, double *low, double *high)
{
    double cut = h->sum[h->n] * (1 - keep / 100) / 2;
    int64_t first = 0, last = h->n;

    while (first + 1 < last && h->sum[first + 1] <= cut)
        first++;
    while (last - 1 > first && h->sum[h->n] - h->sum[last - 1] <= cut)
        last--;
    *low = edge(h, first);
    *high = edge(h, last);
}

/*
 * The sum of squared errors of the range from edge `i` to edge `j`: of elements
 * outside their distance, of those inside a twelfth of a step squared, but none of the
 * bin of 0, which is exact.
 */
static double
square_error(const histogram *h, int64_t i, int64_t j, double levels)
{
    double low = edge(h, i), high = edge(h, j);
    double step = (fmax(high, 0) - fmin(low, 0)) / levels;
    double inside = h->sum[j] - h->sum[i], all = h->sum[h->n];
    double below = h->second[i] - 2 * low * h->first[i] + low * low * h->sum[i];
    double above = h->second[h->n] - h->second[j] -
                   2 * high * (h->first[h->n] - h->first[j]) +
                   high * high * (all - h->sum[j]);

    if (h->zero >= i && h->zero < j)
        inside -= h->counts[h->zero];
    return fmax(below, 0) + fmax(above, 0) + inside * step * step / 12;
}

static void
least_square(const histogram *h, int bits, double *low, double *high)
{
    double levels = ldexp(1, bits) - 1, best = INFINITY;
    int64_t at_low = 0, at_high = h->n;
    /* Quantized ranges hold 0: an end beyond it need not move. */
    int64_t lows = h->low < 0 ? h->n : 1;
    int64_t highs = edge(h, h->n) > 0 ? 1 : h->n;

    for (int64_t i = 0; i < lows && (i == 0 || edge(h, i) <= 0); i++)
        for (int64_t j = h->n;
             j > i && j >= highs && (j == h->n || edge(h, j) >= 0); j--) {
            double e = square_error(h, i, j, levels);

            if (e < best) {
                best = e;
                at_low = i;
                at_high = j;
            }
        }
    *low = edge(h, at_low);
    *high = edge(h, at_high);
}

/* Entropy. */

/* Zeros of a distribution become 1e-4, taken from the others in equal parts. */
static bool
condition(double *p, int64_t n)
{
    int64_t zeros = 0;
    double take;

    for (int64_t i = 0; i < n; i++)
        zeros += !(p[i] > 0);
    if (zeros == n)
        return false;
    take = 1e-4 * (double)zeros / (double)(n - zeros);
    for (int64_t i = 0; i < n; i++)
        p[i] = p[i] > 0 ? fmax(p[i] - take, 1e-12) : 1e-4;
    return true;
}

static double
divergence(const double *p, const double *q, int64_t n)
{
    double all_p = 0, all_q = 0, sum = 0;

    for (int64_t i = 0; i < n; i++) {
        all_p += p[i];
        all_q += q[i];
    }
    for (int64_t i = 0; i < n; i++)
        sum += p[i] / all_p * log(p[i] / all_p * (all_q / q[i]));
    return sum;
}

/*
 * The divergence of the window [begin, end) of `x`, with all that is outside added to
 * its ends, from the window merged into `merged` bins and spread again over those that
 * are not empty.
 */
static double
window(const double *x, const double *sum, int64_t n, int64_t begin,
       int64_t end, int64_t merged, double *p, double *q)
{
    int64_t size = end - begin, each = size / merged;

    memcpy(p, x + begin, (size_t)size * sizeof *p);
    p[0] += sum[begin];
    p[size - 1] += sum[n] - sum[end];
    for (int64_t m = 0; m < merged; m++) {
        int64_t from = m * each, to = m == merged - 1 ? size : from + each;
        int64_t full = 0;
        double all = sum[begin + to] - sum[begin + from];

        for (int64_t i = from; i < to; i++)
            full += p[i] > 0;
        for (int64_t i = from; i < to; i++)
            q[i] = p[i] > 0 ? all / (double)full : 0;
    }
    if (!condition(p, size) || !condition(q, size))
        return INFINITY;
    return divergence(p, q, size);
}

/* The counts without the spike: no more in the bin of 0 than in one beside it. */
static double *
without_spike(const histogram *h, bool keeps, glow_arena *a)
{
    double *x = glow_arena_copy(a, h->counts, (size_t)h->n * sizeof *h->counts);
    int64_t z = h->zero;
    double beside = 0;

    if (z < 0 || keeps)
        return x;
    if (z > 0)
        beside = x[z - 1];
    if (z + 1 < h->n)
        beside = fmax(beside, x[z + 1]);
    x[z] = fmin(x[z], beside);
    return x;
}

static void
least_divergence(const histogram *h, const glow_calibration_options *o,
                 glow_arena *a, double *low, double *high)
{
    int64_t merged = ((int64_t)1 << o->bits) - 1, n = h->n;
    double *x = without_spike(h, o->keeps_spike, a), best = INFINITY;
    double *sum = GLOW_NEW_ARRAY(a, double, n + 1);
    double *p = GLOW_NEW_ARRAY(a, double, n);
    double *q = GLOW_NEW_ARRAY(a, double, n);
    int64_t at_begin = 0, at_end = n;

    for (int64_t i = 0; i < n; i++)
        sum[i + 1] = sum[i] + x[i];
    for (int64_t begin = 0, end = n; end - begin >= merged;) {
        double d = window(x, sum, n, begin, end, merged, p, q);

        if (d < best) {
            best = d;
            at_begin = begin;
            at_end = end;
        }
        /* Two bins at the end that loses the less go. */
        if (sum[begin + 2] - sum[begin] < sum[end] - sum[end - 2])
            begin += 2;
        else
            end -= 2;
    }
    *low = edge(h, at_begin);
    *high = edge(h, at_end);
}

bool
glow_calibrate(const glow_profile_value *v, const glow_calibration_options *o,
               glow_arena *a, float *low, float *high)
{
    double from = (double)v->min, to = (double)v->max;
    glow_profile_value few;
    histogram h;

    if (o->how == GLOW_CALIBRATE_MOVING_AVERAGE) {
        from = v->run_min;
        to = v->run_max;
    } else if (o->how != GLOW_CALIBRATE_MINMAX && from < to) {
        if (v->n_counts < 1 || (o->how == GLOW_CALIBRATE_ENTROPY &&
                                v->n_counts < (int64_t)1 << o->bits))
            return false;
        few = coarse(v, a);
        h = histogram_of(&few, a);
        if (o->how == GLOW_CALIBRATE_PERCENTILE)
            percentile(&h, o->percentile, &from, &to);
        else if (o->how == GLOW_CALIBRATE_MSE)
            least_square(&h, o->bits, &from, &to);
        else
            least_divergence(&h, o, a, &from, &to);
    }
    /* The outer bins reach beyond the elements. */
    *low = (float)fmin(fmax(from, (double)v->min), (double)v->max);
    *high = (float)fmax(fmin(to, (double)v->max), (double)*low);
    return true;
}
