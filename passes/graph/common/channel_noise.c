/* Estimate of the noise of 8 bits in linear operators. */

#include "passes/graph/common/channel_noise.h"

#include <math.h>

#include "glow/match.h"
#include "glow/profile.h"

/* Input of a linear operator: the factors of its channels, and their ranges. */
typedef struct inputs {
    const glow_value_range *range;
    affine_layout by;
    double *factor; /* of each channel */
    double step;    /* of a quantized element */
} inputs;

static double *
factors_of(channel_classes *c, channel_list l, const int *exponent)
{
    double *factor = GLOW_NEW_ARRAY(c->arena, double, l.count + 1);

    for (int64_t i = 0; i < l.count; i++)
        factor[i] =
            exponent ? ldexp(1, exponent[glow_channel_class(c, l.at[i])]) : 1;
    return factor;
}

static double
step_of(const inputs *x)
{
    double least = 0, most = 0;

    for (int64_t i = 0; i < x->range->channels; i++) {
        double low = (double)x->range->channel_min[i] * x->factor[i];
        double high = (double)x->range->channel_max[i] * x->factor[i];

        least = fmin(least, low);
        most = fmax(most, high);
    }
    return (most - least) / 255;
}

/* The mean square of the elements of a channel. */
static double
power_of(const glow_value_range *r, int64_t channel)
{
    double mean = (double)r->channel_mean[channel];
    double deviation =
        ((double)r->channel_max[channel] - (double)r->channel_min[channel]) / 6;

    return mean * mean + deviation * deviation;
}

/* The largest weight of each row, scaled. */
static double *
rows_of(channel_classes *c, const glow_tensor *w, affine_layout by_out,
        const inputs *x, int64_t channels)
{
    double *most = GLOW_NEW_ARRAY(c->arena, double, channels + 1);

    for (int64_t i = 0; i < glow_type_count(w->type); i++) {
        int64_t row = glow_affine_channel(by_out, i);
        double v = fabs(glow_get_double(w, i)) /
                   x->factor[glow_affine_channel(x->by, i)];

        most[row] = fmax(most[row], v);
    }
    return most;
}

double
glow_channel_noise(channel_classes *c, const glow_node *n, const int *exponent)
{
    const glow_value_range *r = glow_get_value_range(n->in[0]);
    const glow_tensor *w = glow_constant_tensor(n->in[1]->storage);
    channel_list out, in;
    inputs x = {.range = r};
    double noise = 0, signal = 0, *rows;

    if (!w || !r || !glow_channels_of_linear(c, n, &out, &in) || !in.count ||
        r->channels != in.count || r->axis != in.axis)
        return 0;
    x.by = glow_linear_of(n)->inputs(n);
    x.factor = factors_of(c, in, exponent);
    x.step = step_of(&x);
    rows = rows_of(c, w, glow_linear_of(n)->results(n), &x, out.count);
    for (int64_t i = 0; i < glow_type_count(w->type); i++) {
        int64_t channel = glow_affine_channel(x.by, i);
        double v = glow_get_double(w, i), power = power_of(r, channel);
        double by_input = v / x.factor[channel] * x.step;
        double by_weight =
            rows[glow_affine_channel(glow_linear_of(n)->results(n), i)] / 127 *
            x.factor[channel];

        noise += (by_input * by_input + power * by_weight * by_weight) / 12;
        signal += v * v * power;
    }
    return signal > 0 ? noise / signal : 0;
}
