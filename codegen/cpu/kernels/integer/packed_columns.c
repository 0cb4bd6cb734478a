/*
 * Columns of constants: start values and ratios of scales, made at compile time by the
 * functions of glow/quantize.h and packed behind the weights.
 *
 * Code that reads them depends on no scale, so nodes whose types differ in scales
 * share it, and the constants that they were made of are not kept.
 */

#include <float.h>
#include <math.h>
#include <string.h>

#include "codegen/cpu/kernels/integer/integer.h"
#include "glow/quantize.h"

typedef cpu_integer integer;

bool
glow_cpu_integer_is_centered(const glow_node *n, const integer *s)
{
    int middle = s->w->elem == GLOW_INT8Q ? 0 : 128;
    const glow_tensor *t;
    glow_storage *c;

    if (s->by.offsets < 0)
        return s->w->offset == middle;
    c = glow_cpu_whole_constant(n->in[s->by.offsets]);
    if (!c || c->payload == GLOW_ELIDED)
        return false;
    if (c->payload == GLOW_SPLAT)
        return c->splat_int == middle;
    t = glow_constant_tensor(c);
    for (int64_t i = 0; t && i < glow_type_count(t->type); i++)
        if (((const int32_t *)t->data)[i] != middle)
            return false;
    return t != NULL;
}

static bool
is_constant(const glow_node *n, int operand)
{
    glow_storage *c =
        operand < 0 ? NULL : glow_cpu_whole_constant(n->in[operand]);

    return operand < 0 || (c && c->payload != GLOW_ELIDED);
}

bool
glow_cpu_integer_has_columns(const glow_node *n, const integer *s)
{
    return s->packed && is_constant(n, s->by.bias) &&
           is_constant(n, s->by.scales) && is_constant(n, s->by.bias_scales) &&
           is_constant(n, s->by.bias_offsets) &&
           glow_cpu_integer_is_centered(n, s);
}

static const glow_tensor *
operand(const glow_node *n, int i)
{
    return i < 0 ? NULL
                 : glow_constant_tensor(glow_cpu_whole_constant(n->in[i]));
}

static double
number_at(const glow_tensor *t, int64_t i, double otherwise)
{
    return t ? glow_get_double(t, i) : otherwise;
}

/* The value of a step of the sums of `channel`, whose weights have the scales `t`. */
static double
unit_of(const integer *s, const glow_tensor *t, int64_t channel)
{
    return (double)s->x->scale * number_at(t, channel, (double)s->w->scale);
}

bool
glow_cpu_integer_shrinks(const glow_node *n, const integer *s)
{
    const glow_tensor *t = operand(n, s->by.scales);
    int64_t count = t ? s->groups * s->outputs : 1;

    for (int64_t i = 0; i < count && glow_cg_bytes(s->y) == 1; i++)
        if (!(fabs((double)glow_scale_ratio(unit_of(s, t, i),
                                            (double)s->y->scale)) < 1))
            return false;
    return true;
}

/* Packing. */

static int64_t
ratio_bytes(const integer *s)
{
    return glow_cpu_integer_is_wide(s) ? 8 : 4;
}

int64_t
glow_cpu_integer_column_bytes(const integer *s, int64_t count)
{
    return s->columns ? count * (4 + ratio_bytes(s)) : 0;
}

cpu_integer_packer
glow_cpu_integer_packer(const integer *s, const glow_node *n, int64_t count,
                        void *to)
{
    return (cpu_integer_packer){.s = s,
                                .bias = operand(n, s->by.bias),
                                .scales = operand(n, s->by.scales),
                                .bias_scales = operand(n, s->by.bias_scales),
                                .bias_offsets = operand(n, s->by.bias_offsets),
                                .start = to,
                                .ratio = (uint8_t *)to + 4 * count,
                                .times = 1};
}

static int64_t
bias_of(const cpu_integer_packer *p, int64_t channel, double unit)
{
    const glow_type *t;

    if (!p->bias)
        return 0;
    t = p->bias->type;
    return glow_quantize_bias(
        number_at(p->bias_scales, channel, (double)t->scale),
        (int64_t)number_at(p->bias_offsets, channel, (double)t->offset),
        glow_get_int(p->bias, channel), unit);
}

int64_t
glow_cpu_integer_bias_reach(const glow_node *n, const integer *s)
{
    uint8_t none;
    cpu_integer_packer p = glow_cpu_integer_packer(s, n, 0, &none);
    int64_t most = 0;

    for (int64_t i = 0; p.bias && i < s->groups * s->outputs; i++) {
        int64_t b = bias_of(&p, i, unit_of(s, p.scales, i));

        b = b < 0 ? -b - 1 : b;
        most = b > most ? b : most;
    }
    return most;
}

/* `x` within -`most` and `most`; 0 of NaN. */
static double
within(double x, double most)
{
    return isnan(x) ? 0 : x < -most ? -most : x > most ? most : x;
}

static void
put_ratio(cpu_integer_packer *p, double unit)
{
    double scale = (double)p->s->y->scale, x;
    float f;

    if (glow_cpu_integer_is_wide(p->s)) {
        x = ldexp(within(unit / scale, DBL_MAX), -p->bits);
        memcpy(p->ratio, &x, sizeof x);
    } else {
        f = (float)within((double)glow_scale_ratio(unit, scale),
                          (double)FLT_MAX);
        f = ldexpf(f, -p->bits);
        memcpy(p->ratio, &f, sizeof f);
    }
}

void
glow_cpu_integer_pack_column(cpu_integer_packer *p, int64_t channel,
                             int64_t sum)
{
    const integer *s = p->s;
    uint32_t start = 0;
    double unit;

    memset(p->ratio, 0, (size_t)ratio_bytes(s));
    if (channel >= 0) {
        unit = unit_of(s, p->scales, channel);
        start = (uint32_t)bias_of(p, channel, unit) -
                (uint32_t)s->x_zero * (uint32_t)sum;
        put_ratio(p, unit);
    }
    start *= p->times;
    memcpy(p->start, &start, sizeof start);
    p->start += 4;
    p->ratio += ratio_bytes(s);
}

/* Code. */

cpu_integer_column
glow_cpu_integer_load_column(cg *g, const integer *s, int lanes, cg_value from,
                             int64_t count, cg_value first)
{
    LLVMTypeRef real = glow_cpu_integer_is_wide(s) ? g->f64 : g->f32;
    cg_value start = glow_cg_at(g, from, cg_mulc(g, first, 4));
    cg_value ratio = glow_cg_atc(g, from, 4 * count);

    ratio = glow_cg_at(g, ratio, cg_mulc(g, first, ratio_bytes(s)));

    start = glow_cg_load_raw(g, glow_cg_vector(g->i32, lanes), start);
    ratio = glow_cg_load_raw(g, glow_cg_vector(real, lanes), ratio);
    return (cpu_integer_column){.start = start, .ratio = ratio};
}
