/* Distances of two results, and bounds on them. */

#include <float.h>
#include <math.h>
#include <string.h>

#include "passes/compare.h"

#define ROUNDINGS 16
#define MOST_ROUNDINGS 1024
#define COARSE 16 /* coarse numbers are multiples of 1 / COARSE */

/* Numbers of float kinds: equal bits, or both NaN. */
static bool
is_same(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b && !signbit(a) == !signbit(b);
}

/* Records the pair in `out` if its distance exceeds all before. */
static void
note(int64_t i, double a, double b, double bound, double *worst,
     glow_difference *out)
{
    double distance = fabs(a - b);

    if (isnan(distance))
        distance = INFINITY;
    if (distance <= *worst)
        return;
    *worst = distance;
    *out = (glow_difference){i, a, b, bound};
}

bool
glow_compare_bits(const glow_tensor *before, const glow_tensor *after,
                  glow_difference *out)
{
    int64_t n = glow_type_count(before->type);
    bool is_float = glow_is_float(before->type->elem);
    double worst = -1;

    if (!memcmp(before->data, after->data,
                (size_t)glow_type_bytes(before->type)))
        return true;
    for (int64_t i = 0; i < n; i++) {
        double a = glow_get_double(before, i);
        double b = glow_get_double(after, i);

        if (is_float ? is_same(a, b)
                     : glow_get_int(before, i) == glow_get_int(after, i))
            continue;
        note(i, a, b, 0, &worst, out);
    }
    return worst < 0;
}

/* Errors of a tensor, measured by a float64 run. */
typedef struct errors {
    double error;   /* the largest */
    double size;    /* of the largest number */
    bool is_coarse; /* all are multiples of 1 / COARSE */
} errors;

static errors
measure(const glow_tensor *before, const glow_tensor *shadow)
{
    errors e = {.is_coarse = true};
    int64_t n = glow_type_count(before->type);

    for (int64_t i = 0; i < n; i++) {
        double a = glow_get_double(before, i);
        double s = glow_get_double(shadow, i);

        if (!isfinite(a) || !isfinite(s))
            continue;
        e.error = fmax(e.error, fabs(a - s));
        e.size = fmax(e.size, fabs(s));
        e.is_coarse = e.is_coarse && s * COARSE == trunc(s * COARSE);
    }
    return e;
}

static double
bound_for(const glow_tensor *before, const glow_tensor *shadow, double eps,
          bool is_exact)
{
    if (glow_is_quantized(before->type->elem))
        return 1;
    if (!glow_is_float(before->type->elem))
        return 0;

    errors e = measure(before, shadow);
    bool is_judged = shadow->type != before->type || eps > DBL_EPSILON;
    double roundings = is_judged ? ROUNDINGS : MOST_ROUNDINGS;

    if (is_exact && e.is_coarse && e.error == 0)
        return 0;
    return 8 * e.error + roundings * eps * e.size;
}

/*
 * True for a NaN that the float64 run has too, as of inf * 0: a pass may
 * replace it by a limit.
 */
static bool
is_indeterminate(const glow_tensor *before, const glow_tensor *shadow,
                 int64_t i)
{
    return isnan(glow_get_double(before, i)) &&
           isnan(glow_get_double(shadow, i));
}

bool
glow_compare_near(const glow_tensor *before, const glow_tensor *after,
                  const glow_tensor *shadow, double eps, bool is_exact,
                  glow_difference *out)
{
    int64_t n = glow_type_count(before->type);
    double bound = bound_for(before, shadow, eps, is_exact);
    double worst = -1;

    for (int64_t i = 0; i < n; i++) {
        double a = glow_get_double(before, i);
        double b = glow_get_double(after, i);

        if (a != b && !is_indeterminate(before, shadow, i) &&
            !(isnan(a) && isnan(b)) && !(fabs(a - b) <= bound))
            note(i, a, b, bound, &worst, out);
    }
    return worst < 0;
}

bool
glow_compare_roundings(const glow_tensor *after,
                       const glow_tensor *shadow_before,
                       const glow_tensor *shadow_after, double eps)
{
    int64_t n = glow_type_count(after->type);
    errors e = measure(after, shadow_after);

    for (int64_t i = 0; i < n; i++) {
        double was = glow_get_double(shadow_before, i);
        double is = glow_get_double(shadow_after, i);
        double rounded = glow_get_double(after, i);

        if (isnan(was) && isnan(is) && isnan(rounded))
            continue;
        if (!(was == is || fabs(was - is) <= eps * e.size) ||
            !(rounded == is ||
              fabs(rounded - is) <= MOST_ROUNDINGS * eps * e.size))
            return false;
    }
    return true;
}

bool
glow_compare_noise(const glow_tensor *before, const glow_tensor *after,
                   const glow_tensor *shadow, const glow_tensor *noisy)
{
    int64_t n = glow_type_count(before->type);
    double bound = ROUNDINGS * measure(noisy, shadow).error;

    for (int64_t i = 0; i < n; i++) {
        double a = glow_get_double(before, i);
        double b = glow_get_double(after, i);

        if (a != b && !(isnan(a) && isnan(b)) && !(fabs(a - b) <= bound))
            return false;
    }
    return true;
}
