/*
 * QuantizationProfile: one walk for the ends of the range and for channels, then one
 * for the histogram, in vectors where all elements are finite floats.
 *
 * The counts go to four tables in turn, because an increment waits for the store of
 * one to the same bin: half of the results of a Relu are 0.
 */

#include "codegen/cpu/c/element.h"
#include "glow/bins.h"

#define PROFILE_LANES 8
#define PROFILE_TABLES 4
/* Elements after which the tables, of 32 bits, are added to the histogram. */
#define PROFILE_MOST ((int64_t)1 << 32)

/* Vectors at any address. */
typedef float profile_floats __attribute__((vector_size(32), aligned(4)));
typedef int32_t profile_ints __attribute__((vector_size(32), aligned(4)));
typedef double profile_doubles __attribute__((vector_size(64), aligned(8)));
typedef int64_t profile_longs __attribute__((vector_size(64), aligned(8)));

/* Two indices each: half as many moves from vectors as of single ones. */
typedef uint64_t profile_pairs __attribute__((vector_size(32), aligned(8)));

#define PROFILE_FLOATS(at) (*(const profile_floats *)(at))
#define PROFILE_DOUBLES(at) (*(profile_doubles *)(at))

/* The ends of a run. */

typedef struct profile_run {
    double min, max;
    int64_t count; /* of finite elements */
} profile_run;

INLINE void
profile_take(profile_run *r, double x)
{
    r->min = !r->count || x < r->min ? x : r->min;
    r->max = !r->count || x > r->max ? x : r->max;
    r->count++;
}

/* True, and *r the ends, if all of `count` floats are finite. */
INLINE bool
profile_ends(const float *x, int64_t count, profile_run *r)
{
    int64_t i = PROFILE_LANES;
    profile_ints odd = {0};
    profile_floats min, max;

    if (count < PROFILE_LANES)
        return false;
    min = max = PROFILE_FLOATS(x);
    for (i = 0; i + PROFILE_LANES <= count; i += PROFILE_LANES) {
        profile_floats v = PROFILE_FLOATS(x + i);
        profile_ints bits = (profile_ints)v & 0x7f800000;

        odd |= bits == 0x7f800000;
        min = __builtin_elementwise_min(v, min);
        max = __builtin_elementwise_max(v, max);
    }
    for (int64_t k = 0; k < PROFILE_LANES; k++) {
        if (odd[k])
            return false;
        profile_take(r, (double)min[k]);
        profile_take(r, (double)max[k]);
    }
    for (; i < count; i++) {
        if (!glow_profile_counts((double)x[i]))
            return false;
        profile_take(r, (double)x[i]);
    }
    r->count = count;
    return true;
}

/* The lists of channels. */

INLINE void
profile_channel(double *list, int64_t channels, int64_t c, double x)
{
    double *min = list + c, *max = min + channels, *sum = max + channels;
    double *count = sum + channels;

    if (!(*count > 0))
        *min = *max = x;
    *min = x < *min ? x : *min;
    *max = x > *max ? x : *max;
    *sum += x;
    *count += 1;
}

/* `rows` rows of finite floats, one for each channel. */
INLINE void
profile_rows(double *list, int64_t channels, const float *x, int64_t rows)
{
    double *min = list, *max = min + channels, *sum = max + channels;
    double *count = sum + channels;
    int64_t whole = channels / PROFILE_LANES * PROFILE_LANES;

    /* The first row sets channels that have no element yet. */
    for (int64_t c = 0; c < channels; c++)
        profile_channel(list, channels, c, (double)x[c]);
    for (int64_t row = 1; row < rows; row++) {
        const float *at = x + row * channels;

        for (int64_t c = 0; c < whole; c += PROFILE_LANES) {
            profile_doubles v = __builtin_convertvector(PROFILE_FLOATS(at + c),
                                                        profile_doubles);
            profile_doubles low = PROFILE_DOUBLES(min + c);
            profile_doubles high = PROFILE_DOUBLES(max + c);

            PROFILE_DOUBLES(min + c) = __builtin_elementwise_min(v, low);
            PROFILE_DOUBLES(max + c) = __builtin_elementwise_max(v, high);
            PROFILE_DOUBLES(sum + c) = PROFILE_DOUBLES(sum + c) + v;
        }
        for (int64_t c = whole; c < channels; c++) {
            double v = (double)at[c];

            min[c] = v < min[c] ? v : min[c];
            max[c] = v > max[c] ? v : max[c];
            sum[c] += v;
        }
    }
    for (int64_t c = 0; c < channels; c++)
        count[c] += (double)(rows - 1);
}

/* The histogram. */

INLINE void
profile_flush(int64_t *counts, int64_t bins, uint32_t *tables)
{
    for (int64_t i = 0; i < bins; i++)
        for (int64_t k = 0; k < PROFILE_TABLES; k++) {
            counts[i] = (int64_t)((uint64_t)counts[i] + tables[k * bins + i]);
            tables[k * bins + i] = 0;
        }
}

/* Counts finite floats, all of which the bins hold. */
INLINE void
profile_count(int64_t *counts, int64_t bins, uint32_t *tables, const float *x,
              int64_t count, glow_bins b)
{
    double power = glow_bins_power(-b.exponent);
    int64_t i = 0;

    for (int64_t k = 0; k < PROFILE_TABLES * bins; k++)
        tables[k] = 0;
    for (; i + PROFILE_LANES <= count; i += PROFILE_LANES) {
        profile_doubles y =
            __builtin_convertvector(PROFILE_FLOATS(x + i), profile_doubles) *
            power;
        profile_ints whole = __builtin_convertvector(y, profile_ints);
        profile_longs above =
            __builtin_convertvector(whole, profile_doubles) > y;
        profile_ints at = whole + __builtin_convertvector(above, profile_ints) -
                          (int32_t)b.first;

        profile_pairs pairs = (profile_pairs)at;

        for (int64_t k = 0; k < PROFILE_LANES / 2; k++) {
            tables[2 * k % PROFILE_TABLES * bins + (uint32_t)pairs[k]]++;
            tables[(2 * k + 1) % PROFILE_TABLES * bins + (pairs[k] >> 32)]++;
        }
        if ((i + PROFILE_LANES) % PROFILE_MOST == 0)
            profile_flush(counts, bins, tables);
    }
    profile_flush(counts, bins, tables);
    for (; i < count; i++)
        counts[glow_bins_floor((double)x[i], b.exponent) - b.first]++;
}

/* The plain forms, for any kind, any axis, and elements that are not finite. */

INLINE void
profile_walk(profile_run *r, double *list, int64_t channels, int64_t after,
             const void *x, int64_t kind, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double v = get_real(x, kind, i);

        if (!glow_profile_counts(v))
            continue;
        profile_take(r, v);
        if (channels)
            profile_channel(list, channels, i / after % channels, v);
    }
}

INLINE void
profile_count_plain(int64_t *counts, const void *x, int64_t kind, int64_t count,
                    glow_bins b)
{
    for (int64_t i = 0; i < count; i++) {
        double v = get_real(x, kind, i);

        if (glow_profile_counts(v)) {
            int64_t *at = &counts[glow_bins_floor(v, b.exponent) - b.first];

            *at = (int64_t)((uint64_t)*at + 1);
        }
    }
}

int64_t
glow_c_quantizationprofile(int64_t *counts, double *info,
                           const int64_t *old_counts, const double *old_info,
                           uint32_t *tables, const void *x, int64_t kind,
                           int64_t count, int64_t channels, int64_t after,
                           int64_t bins)
{
    double *list = info + GLOW_PROFILE_HEAD;
    int64_t size = GLOW_PROFILE_HEAD + 4 * channels;
    bool known = glow_profile_is_state(old_info);
    profile_run r = {0, 0, 0};
    glow_bins before, now;
    bool fast;

    for (int64_t i = 0; i < bins; i++)
        counts[i] = known ? old_counts[i] : 0;
    for (int64_t i = 0; i < size; i++)
        info[i] = known ? old_info[i] : 0;
    before = glow_bins_of(info[GLOW_PROFILE_MIN], info[GLOW_PROFILE_MAX], bins);
    fast = kind == GLOW_FLOAT && (channels == 0 || after == 1) &&
           profile_ends(x, count, &r);
    if (!fast) {
        r = (profile_run){0, 0, 0};
        profile_walk(&r, list, channels, after, x, kind, count);
    } else if (channels) {
        profile_rows(list, channels, x, count / channels);
    }
    if (r.count)
        glow_profile_add(info, r.min, r.max, r.count);
    /* +0 where the sign of a zero would depend on the order of elements. */
    for (int64_t i = 0; i < GLOW_PROFILE_COUNT; i++)
        info[i] += 0.0;
    for (int64_t i = 0; i < 2 * channels; i++)
        list[i] += 0.0;
    now = glow_bins_of(info[GLOW_PROFILE_MIN], info[GLOW_PROFILE_MAX], bins);
    glow_bins_widen(counts, bins, before, now);
    if (fast)
        profile_count(counts, bins, tables, x, count, now);
    else
        profile_count_plain(counts, x, kind, count, now);
    return 0;
}
