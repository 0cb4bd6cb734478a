/* Transforms constant weights at compile time, G w G', and packs them by panels. */

#include <string.h>

#include "codegen/cpu/kernels/winograd/integer.h"

typedef cpu_winograd_integer integer;

/* Bytes of a point of a panel of `vectors` vectors. */
static int64_t
point_bytes(const cpu_integer *s, int vectors)
{
    return s->steps * vectors * glow_cpu_integer_vector(s);
}

int64_t
glow_cpu_winograd_integer_weights(const integer *x)
{
    int64_t vectors = cg_ceil_div(x->s.outputs, x->s.lanes);

    return x->w.groups * glow_cpu_winograd_points(&x->w) * vectors *
           point_bytes(&x->s, 1);
}

int64_t
glow_cpu_winograd_integer_packed_size(const integer *x)
{
    return glow_cpu_winograd_integer_weights(x) +
           glow_cpu_integer_column_bytes(&x->s,
                                         glow_cpu_winograd_integer_columns(x));
}

/* Element `e` of the depth of output `o`, at all points, to `to` and each `point`. */
static void
pack_taps(const integer *x, const glow_tensor *from, int64_t o, int64_t e,
          int16_t *to, int64_t point)
{
    const cpu_integer *s = &x->s;
    int taps[9], made[CPU_INTEGER_POINTS * CPU_INTEGER_POINTS];

    for (int64_t i = 0; i < 9; i++)
        taps[i] =
            glow_cpu_integer_weight(s, from, (o * 9 + i) * s->channels + e);
    glow_cpu_integer_form_weights(x->w.m_w, taps, made);
    for (int i = 0; i < glow_cpu_winograd_points(&x->w); i++)
        to[i * point] = (int16_t)made[i];
}

/* Panel `panel` of group `group`; returns the end. */
static int16_t *
pack_panel(const integer *x, const glow_tensor *from, int64_t group,
           int64_t panel, int16_t *to)
{
    const cpu_integer *s = &x->s;
    int vectors = glow_cpu_integer_vectors(s, panel);
    int64_t first = panel * s->vectors * s->lanes;
    int64_t point = point_bytes(s, vectors) / 2;
    int16_t *at = to;

    for (int64_t k = 0; k < s->steps; k++)
        for (int64_t c = first; c < first + vectors * s->lanes; c++)
            for (int64_t e = k * s->group; e < (k + 1) * s->group; e++, at++)
                if (c < s->outputs && e < s->channels)
                    pack_taps(x, from, group * s->outputs + c, e, at, point);
    return to + glow_cpu_winograd_points(&x->w) * point;
}

/* The sum of the weights of output `o`. */
static int64_t
sum_of(const cpu_integer *s, const glow_tensor *from, int64_t o)
{
    int64_t count = 9 * s->channels, sum = 0;

    for (int64_t i = o * count; i < (o + 1) * count; i++)
        sum += glow_cpu_integer_weight(s, from, i);
    return sum;
}

/* Start values as they are at point (1, 1), and ratios of sums that are 2^s times y. */
static void
pack_columns(const integer *x, const glow_node *n, const glow_tensor *from,
             void *to)
{
    int64_t all = glow_cpu_winograd_integer_columns(x);
    int64_t outputs = x->s.outputs, o = 0;
    int constant = glow_cpu_integer_form_constant(x->w.m_w);
    cpu_integer_packer p = glow_cpu_integer_packer(&x->s, n, all, to);

    p.times = (uint32_t)(constant * constant);
    p.bits = glow_cpu_integer_form_bits(x->w.m_w);
    for (int64_t g = 0; g < x->w.groups; g++)
        for (int64_t c = 0; c < all / x->w.groups; c++)
            if (c >= outputs)
                glow_cpu_integer_pack_column(&p, -1, 0);
            else {
                glow_cpu_integer_pack_column(&p, o, sum_of(&x->s, from, o));
                o++;
            }
}

void
glow_cpu_winograd_integer_pack(const integer *x, const glow_node *n,
                               const glow_tensor *from, void *to)
{
    int16_t *at = to;

    memset(to, 0, (size_t)glow_cpu_winograd_integer_weights(x));
    for (int64_t g = 0; g < x->w.groups; g++)
        for (int64_t p = 0; p < x->s.panels; p++)
            at = pack_panel(x, from, g, p, at);
    pack_columns(x, n, from, at);
}

/* The bound. */

/* The sums of the positive weights and of the negative ones, negated. */
typedef struct range {
    int64_t above, below;
} range;

static range
range_of(const integer *x, const int8_t *w, int64_t count)
{
    int flip = x->s.w->elem == GLOW_INT8Q ? 0 : 128;
    range r = {0, 0};

    for (int64_t i = 0; i < count; i++) {
        int v = (int8_t)(w[i] ^ flip);

        r.above += v > 0 ? v : 0;
        r.below += v < 0 ? -v : 0;
    }
    return r;
}

int64_t
glow_cpu_winograd_integer_bound(const integer *x)
{
    return INT64_C(1) << (x->w.m_w == 2 ? 29 : 25);
}

static int64_t
greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The greatest of y and -y - 1, where y are sums of `r` times elements of the input. */
static int64_t
reach_of(const integer *x, range r)
{
    const glow_type *t = x->s.x;
    int64_t high = glow_quantized_most(t->elem) - t->offset;
    int64_t low = t->offset - glow_quantized_least(t->elem);

    return greater(r.above * high + r.below * low,
                   r.above * low + r.below * high - 1);
}

int64_t
glow_cpu_winograd_integer_reach(const integer *x, const int8_t *weights)
{
    int64_t count = 9 * x->s.channels, most = 0;

    if (!weights) {
        range high = {128 * count, 0}, low = {0, 128 * count};

        return greater(reach_of(x, high), reach_of(x, low));
    }
    for (int64_t o = 0; o < x->w.groups * x->s.outputs; o++)
        most =
            greater(most, reach_of(x, range_of(x, weights + o * count, count)));
    return most;
}
