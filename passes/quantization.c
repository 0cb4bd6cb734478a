/*
 * Scale and offset of quantized kinds from ranges of reals: Glow's
 * chooseQuantizationParams, in double throughout.
 *
 *     scale = (max - min) / (most - least)      min <= 0 <= max
 *     offset = round(least - min / scale)       or from the other end
 */

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "glow/quantize.h"

#define LARGEST_32 (INT64_C(1) << 29) /* 30 bits: q - offset fits 32 bits */
#define SCALE_OF_ZERO 0.1

const char *const glow_quantization_schemas[] = {
    "asymmetric", "symmetric", "symmetric_with_uint8",
    "symmetric_with_power2_scale", NULL};

/* Elements that parameters are chosen for: from least to most. */
typedef struct elements {
    double least, most;
} elements;

static elements
elements_of(glow_kind kind)
{
    elements e = {(double)glow_quantized_least(kind),
                  (double)glow_quantized_most(kind)};

    if (e.most > (double)LARGEST_32) {
        e.least = -(double)LARGEST_32;
        e.most = (double)LARGEST_32;
    }
    return e;
}

static const char *
check(const glow_type *to, glow_quantization_schema schema, double min,
      double max, glow_arena *a)
{
    const glow_kind_info *k = glow_kind_get(to->elem);

    if (!glow_is_quantized(to->elem))
        return glow_arena_printf(a, "%s is not a quantized kind", k->name);
    if (!isfinite(min) || !isfinite(max))
        return glow_arena_printf(a, "the range from %g to %g is not finite",
                                 min, max);
    if (min > max)
        return glow_arena_printf(
            a, "the least value %g is above the largest, %g", min, max);
    if (!k->is_signed && schema != GLOW_ASYMMETRIC)
        return glow_arena_printf(
            a,
            "the schema `%s` gives the offset 0, but elements "
            "of %s are not negative",
            glow_quantization_schemas[schema], k->name);
    return NULL;
}

/*
 * The offset from the end of the range whose terms have the smaller sum of absolute
 * values, since its rounding errors are smaller.  Ends that cancel up to a rounding
 * give 0; Glow compares their sum to FLT_EPSILON itself, and so halves the range from
 * 0 to 1e-8.
 */
static double
offset_of(elements e, double scale, double min, double max)
{
    double low = min / scale, high = max / scale;
    bool from_low = fabs(e.least) + fabs(low) < fabs(e.most) + fabs(high);
    double offset = from_low ? e.least - low : e.most - high;

    if (fabs(max + min) <= (double)FLT_EPSILON * (max - min))
        offset = 0;
    return round(fmin(fmax(offset, e.least), e.most));
}

/* The least power of two that is not below `x`. */
static double
power_of_two(double x)
{
    int e;
    double fraction = frexp(x, &e);

    return ldexp(1, fraction == 0.5 ? e - 1 : e);
}

/*
 * Extends the end that saturates last, so that 0 is the element 0.  The negative
 * side of a signed kind has one element more.
 */
static void
make_symmetric(elements e, double *min, double *max)
{
    double low = *min / e.least, high = *max / e.most;

    if (low > high)
        *max = low * e.most;
    else
        *min = high * e.least;
}

const char *
glow_quantization_of(glow_type *to, glow_quantization_schema schema, double min,
                     double max, glow_arena *a)
{
    const char *wrong = check(to, schema, min, max, a);

    if (wrong)
        return wrong;

    elements e = elements_of(to->elem);
    bool is_symmetric = schema != GLOW_ASYMMETRIC &&
                        !(schema == GLOW_SYMMETRIC_WITH_UINT8 && min >= 0);
    double scale;

    min = fmin(min, 0);
    max = fmax(max, 0);
    if (is_symmetric)
        make_symmetric(e, &min, &max);
    /* Divided first: the difference of two doubles may overflow. */
    scale = max / (e.most - e.least) - min / (e.most - e.least);
    if (scale == 0)
        scale = SCALE_OF_ZERO;
    if (schema == GLOW_SYMMETRIC_WITH_POWER2_SCALE)
        scale = power_of_two(scale);
    if (scale > (double)FLT_MAX)
        return glow_arena_printf(a,
                                 "the scale %g is beyond float, whose largest "
                                 "number is %g",
                                 scale, (double)FLT_MAX);
    to->offset = is_symmetric ? 0 : (int32_t)offset_of(e, scale, min, max);
    to->scale = (float)fmax(scale, (double)FLT_MIN);
    return NULL;
}

float
glow_quantization_of_weights(glow_kind kind, glow_quantization_schema schema,
                             double largest, double input, double bias)
{
    double scale = largest / elements_of(kind).most;
    double fits = bias / input / (double)LARGEST_32;

    scale = fmax(scale, fits);
    if (scale == 0)
        scale = SCALE_OF_ZERO;
    if (schema == GLOW_SYMMETRIC_WITH_POWER2_SCALE)
        scale = power_of_two(scale);
    return (float)fmin(fmax(scale, (double)FLT_MIN), (double)FLT_MAX);
}
