/* Sums of profiles. */

#include <math.h>
#include <string.h>

#include "ir/profile.h"

/* Adds `n` elements of [low, low + width) to bins of another width in proportion. */
static void
spread(double *counts, int64_t bins, double low, double width, double from,
       double from_width, double n)
{
    for (double at = from, end = from + from_width; at < end;) {
        double bin =
            fmin(fmax(floor((at - low) / width), 0), (double)(bins - 1));
        int64_t i = (int64_t)bin;
        double next;

        next = fmin(low + width * (double)(i + 1), end);
        if (!(next > at) || i == bins - 1)
            next = end;
        counts[i] += n * (next - at) / from_width;
        at = next;
    }
}

/* Bins of glow_bins_of are unions of narrower ones: each count has its bin. */
static void
add_grid(double *counts, int64_t bins, const glow_profile_value *v,
         glow_bins to)
{
    glow_bins from = glow_bins_of((double)v->min, (double)v->max, v->bins);

    for (int64_t i = 0; i < v->n_counts; i++)
        if (v->counts[i] > 0 && glow_bins_map(i, from, to) < bins)
            counts[glow_bins_map(i, from, to)] += v->counts[i];
}

static int64_t
used(const double *counts, int64_t n)
{
    while (n > 1 && !(counts[n - 1] > 0))
        n--;
    return n;
}

/* The histogram of both, for the range [min, max] of both. */
static void
merge_counts(glow_arena *a, glow_profile_value *to,
             const glow_profile_value *from, float min, float max)
{
    const glow_profile_value *of[] = {to, from};
    int64_t bins = to->bins < from->bins ? to->bins : from->bins;
    double *counts;

    if (!to->n_counts || !from->n_counts ||
        !((double)max > fmin(to->low, from->low))) {
        to->n_counts = to->bins = 0;
        return;
    }
    counts = GLOW_NEW_ARRAY(a, double, bins);
    if (to->is_grid && from->is_grid) {
        glow_bins b = glow_bins_of((double)min, (double)max, bins);

        add_grid(counts, bins, to, b);
        add_grid(counts, bins, from, b);
        to->width = glow_bins_power(b.exponent);
        to->low = (double)b.first * to->width;
    } else {
        double low = fmin(to->low, from->low);
        double width = ((double)max - low) / (double)bins;

        for (int k = 0; k < 2; k++)
            for (int64_t i = 0; i < of[k]->n_counts; i++)
                spread(counts, bins, low, width,
                       of[k]->low + of[k]->width * (double)i, of[k]->width,
                       of[k]->counts[i]);
        to->is_grid = false;
        to->low = low;
        to->width = width;
    }
    to->bins = bins;
    to->counts = counts;
    to->n_counts = used(counts, bins);
    if (!to->is_grid)
        to->n_counts = bins;
}

/* a weighted by n, b by m; the mean of both where nothing is known. */
static double
weighted(double a, int64_t n, double b, int64_t m)
{
    double all = (double)n + (double)m;

    return all > 0 ? a * ((double)n / all) + b * ((double)m / all)
                   : a / 2 + b / 2;
}

static void
merge_channels(glow_arena *a, glow_profile_value *to,
               const glow_profile_value *from)
{
    size_t n = (size_t)to->channels;
    float *min, *max, *mean;

    if (to->axis != from->axis || to->channels != from->channels)
        to->channels = 0;
    if (to->channels == 0)
        return;
    min = glow_arena_copy(a, to->channel_min, n * sizeof *min);
    max = glow_arena_copy(a, to->channel_max, n * sizeof *max);
    mean = glow_arena_copy(a, to->channel_mean, n * sizeof *mean);
    for (size_t i = 0; i < n; i++) {
        min[i] = fminf(min[i], from->channel_min[i]);
        max[i] = fmaxf(max[i], from->channel_max[i]);
        mean[i] =
            (float)weighted((double)mean[i], to->elements,
                            (double)from->channel_mean[i], from->elements);
    }
    to->channel_min = min;
    to->channel_max = max;
    to->channel_mean = mean;
}

static void
merge_value(glow_arena *a, glow_profile_value *to,
            const glow_profile_value *from)
{
    float min = fminf(to->min, from->min), max = fmaxf(to->max, from->max);

    merge_counts(a, to, from, min, max);
    merge_channels(a, to, from);
    to->run_min = weighted(to->run_min, to->runs, from->run_min, from->runs);
    to->run_max = weighted(to->run_max, to->runs, from->run_max, from->runs);
    to->min = min;
    to->max = max;
    to->elements = glow_add_most(to->elements, from->elements);
    to->runs = glow_add_most(to->runs, from->runs);
}

void
glow_profile_merge(glow_arena *a, glow_profile *to, const glow_profile *from)
{
    glow_map *by_name = glow_map_new(a);
    glow_profile_value *all =
        GLOW_NEW_ARRAY(a, glow_profile_value, to->count + from->count + 1);

    if (to->count)
        memcpy(all, to->values, to->count * sizeof *all);
    to->values = all;
    for (size_t i = 0; i < to->count; i++)
        glow_map_set(by_name, all[i].name, &all[i]);
    for (size_t i = 0; i < from->count; i++) {
        glow_profile_value *v = glow_map_get(by_name, from->values[i].name);

        if (v)
            merge_value(a, v, &from->values[i]);
        else
            all[to->count++] = from->values[i];
    }
    to->runs = glow_add_most(to->runs, from->runs);
}
