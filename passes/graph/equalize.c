/*
 * equalize: move scales of channels between the weights of linear operators, by powers
 * of two (cross-layer equalization).
 *
 *     %a = Convolution(%x, @w, @b)            %a = Convolution(%x, @w s, @b s)
 *     %r = Relu(%a)                      =>   %r = Relu(%a)
 *     %y = Convolution(%r, @v, @c)            %y = Convolution(%r, @v / s, @c)
 *
 * with a factor s of each channel of %a.  The elements of an activation have one
 * quantization scale, so that channels with small numbers lose their digits beside
 * channels with large ones.  The factor of a channel is
 *
 *     s = 2^rint(log2(sqrt(r2 / r1)) - m)
 *
 * where r1 is the largest weight that makes the channel, or its largest element if
 * the module has ranges of its channels, r2 the largest weight that reads it, and m the
 * median of the logarithms of all channels of the activation: a factor of all would
 * change nothing.  Afterwards r2 / r1 is within a factor of 2 of its median.  All
 * channels are visited until no
 * factor changes, since the weights between two activations have a part in both.
 *
 * Channels pass through Relu, LeakyRelu, MaxPool, AvgPool, means, Pad by 0, Slice,
 * Transpose, Reshape and Concat; Add, Sub, Max and Min make the channels that meet one
 * class with one factor (channel_classes.h).  Linear are Convolution of any group,
 * ConvTranspose, FullyConnected and MatMul with constant weights.  A channel that any
 * other node reads stays.
 *
 * Multiplying by a power of two is exact: every bit of the network stays, unless a
 * number on the way overflows or becomes subnormal.  No weight does: channels whose
 * weights would are left alone, and no factor is beyond 2^16.  Observed ranges of
 * channels are scaled as the channels are; a range without them is removed.
 *
 * Under when=helps nothing is done unless the noise of 8 bits falls by 1 dB and more:
 * the sum of noise over signal of all linear operators, by the ranges of the channels
 * that they read (channel_noise.h).  There, channels of a value stay whose range would
 * be removed although quantize needs it.  -load-profile of the tools puts it
 * before the first quantize that way, unless there is an equalize: -equalize='when=never'
 * does nothing.
 *
 * It comes before profiling, or between calibrate and quantize, but behind `-prepare`:
 * weights of a normalization that is not folded yet (fold-scale) are no weights.
 */

#include <math.h>

#include "glow/profile.h"
#include "passes/graph/common/channel_noise.h"
#include "passes/graph/common/quantizing.h"

enum { ALWAYS, HELPS, NEVER };

static const char *const when_words[] = {"always", "helps", "never", NULL};

typedef struct equalize_options {
    int when;
} equalize_options;

/* 1 dB */
#define LEAST_GAIN 1.2589

enum { MOST_ROUNDS = 64, MOST_EXPONENT = 16 };

/* Exponents of the factors, by class. */
typedef struct plan {
    channel_classes *c;
    int *exponent;
    double *made; /* of each class: the largest weight, scaled, that makes it */
    double *read; /* ... and that reads it */
} plan;

/* The classes of the channels of one weight; 0 where there is none. */
typedef struct weight_classes {
    channel_list out, in;
    affine_layout by_out, by_in;
} weight_classes;

static bool
classes_of(const plan *p, const glow_node *n, weight_classes *w)
{
    const linear *l;

    if (!glow_channels_of_linear(p->c, n, &w->out, &w->in))
        return false;
    l = glow_linear_of(n);
    w->by_out = l->results(n);
    w->by_in = l->inputs(n);
    return true;
}

static int32_t
class_at(const plan *p, channel_list l, affine_layout by, int64_t i)
{
    return l.count ? glow_channel_class(p->c, l.at[glow_affine_channel(by, i)])
                   : 0;
}

/* The exponent of the factor of weight `i`. */
static int
exponent_at(const plan *p, const weight_classes *w, int64_t i)
{
    return p->exponent[class_at(p, w->out, w->by_out, i)] -
           p->exponent[class_at(p, w->in, w->by_in, i)];
}

/* The classes of all weights in order, found without divisions. */
typedef struct class_walk {
    channel_classes *c;
    channel_list list;
    affine_layout by;
    int64_t in_block, in_channel; /* positions of the weight */
    int64_t first, channel;       /* of the block, and within it */
    int32_t class;
} class_walk;

static class_walk
walk_of(const plan *p, channel_list l, affine_layout by)
{
    return (class_walk){.c = p->c,
                        .list = l,
                        .by = by,
                        .in_block = -1,
                        .in_channel = -1,
                        .class =
                            l.count ? glow_channel_class(p->c, l.at[0]) : 0};
}

static int32_t
next_class(class_walk *w)
{
    if (w->list.count == 0)
        return 0;
    if (++w->in_block == w->by.block) {
        w->first += w->by.count;
        w->in_block = w->in_channel = w->channel = 0;
    } else if (++w->in_channel == w->by.inner) {
        w->in_channel = 0;
        w->channel = w->channel + 1 < w->by.count ? w->channel + 1 : 0;
    } else {
        return w->class;
    }
    w->class = glow_channel_class(w->c, w->list.at[w->first + w->channel]);
    return w->class;
}

/* Collects the largest weights of each class, as they are scaled now. */
static bool
measure_weights(plan *p, const glow_node *n, const weight_classes *w)
{
    const glow_tensor *t = glow_constant_tensor(n->in[1]->storage);
    int64_t count = glow_type_count(n->in[1]->type);
    class_walk outs = walk_of(p, w->out, w->by_out);
    class_walk ins = walk_of(p, w->in, w->by_in);

    if (!t)
        return false;
    for (int64_t i = 0; i < count; i++) {
        int32_t out = next_class(&outs), in = next_class(&ins);
        int e = p->exponent[out] - p->exponent[in];
        double x = fabs(glow_get_double(t, i));

        x = e ? ldexp(x, e) : x;
        if (x > p->made[out])
            p->made[out] = x;
        if (x > p->read[in])
            p->read[in] = x;
    }
    return true;
}

/* The lists of channels of the range of `v`, if they are those of `l`. */
static const glow_value_range *
range_by(const glow_value *v, channel_list l)
{
    const glow_value_range *r = glow_get_value_range(v);

    return r && r->channels && r->channels == l.count && r->axis == l.axis
               ? r
               : NULL;
}

/*
 * Lets the observed elements of a channel, if any, stand for the weights that make it:
 * those of the values that a linear operator reads.
 */
static void
measure_ranges(plan *p)
{
    double *seen = GLOW_NEW_ARRAY(p->c->arena, double, p->c->count);

    for (int i = 0; i < p->c->func->count; i++) {
        const glow_node *n = p->c->order[i];
        channel_list l = p->c->of[n->id];
        const glow_value_range *r = l.count ? range_by(n->out[0], l) : NULL;

        for (int64_t k = 0; r && k < l.count; k++) {
            int32_t class = glow_channel_class(p->c, l.at[k]);
            double most = fmax(fabs((double)r->channel_min[k]),
                               fabs((double)r->channel_max[k]));

            seen[class] = fmax(seen[class], most);
        }
    }
    for (size_t i = 1; i < p->c->count; i++)
        if (seen[i] > 0)
            p->made[i] = ldexp(seen[i], p->exponent[i]);
}

static bool
measure(plan *p)
{
    for (size_t i = 0; i < p->c->count; i++)
        p->made[i] = p->read[i] = 0;
    for (int i = 0; i < p->c->func->count; i++) {
        const glow_node *n = p->c->order[i];
        weight_classes w;

        if (classes_of(p, n, &w) && !measure_weights(p, n, &w))
            return false;
    }
    measure_ranges(p);
    return true;
}

static bool
is_free(const plan *p, int32_t channel)
{
    return channel && glow_channel_class(p->c, channel) == channel &&
           p->made[channel] > 0 && p->read[channel] > 0;
}

/* Exponent, not rounded, with which both sides of a class are equal. */
static double
wanted(const plan *p, int32_t class)
{
    return log2(p->read[class] / p->made[class]) / 2;
}

static int
compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median of the exponents of the classes of a list; 0 if there are none. */
static double
median_of(const plan *p, channel_list l)
{
    double *x = GLOW_NEW_ARRAY(p->c->arena, double, l.count + 1);
    int64_t n = 0;

    for (int64_t i = 0; i < l.count; i++)
        if (is_free(p, l.at[i]))
            x[n++] = wanted(p, l.at[i]);
    glow_sort(x, (size_t)n, sizeof *x, compare_numbers);
    return n ? (x[(n - 1) / 2] + x[n / 2]) / 2 : 0;
}

static int
bounded(int e)
{
    return e > MOST_EXPONENT ? MOST_EXPONENT
                             : (e < -MOST_EXPONENT ? -MOST_EXPONENT : e);
}

/* Improves the classes that begin in a list of channels; true if a factor changed. */
static bool
improve_list(plan *p, channel_list l)
{
    double median = median_of(p, l);
    bool changed = false;

    for (int64_t i = 0; i < l.count; i++) {
        int now;

        if (!is_free(p, l.at[i]))
            continue;
        now = bounded(p->exponent[l.at[i]] +
                      (int)rint(wanted(p, l.at[i]) - median));
        changed |= now != p->exponent[l.at[i]];
        p->exponent[l.at[i]] = now;
    }
    return changed;
}

/* One round: true if a factor changed. */
static bool
improve(plan *p)
{
    bool changed = false;
    weight_classes w;

    for (int i = 0; i < p->c->func->count; i++)
        if (classes_of(p, p->c->order[i], &w))
            changed |= improve_list(p, w.out);
    return changed;
}

/* Exactness. */

/* True if `x` 2^e is a normal float, or x is 0. */
static bool
is_exact(double x, int e)
{
    double y = fabs(ldexp(x, e));

    return x == 0 || (y >= 0x1p-126 && y < 0x1p128);
}

static bool
fix_class(plan *p, int32_t class)
{
    if (class)
        glow_channel_fix(p->c, class);
    return class != 0;
}

/* Fixes classes with a weight of `n` that is not scaled exactly; true if any. */
static bool
fix_inexact(plan *p, const glow_node *n, const weight_classes *w)
{
    const glow_tensor *t = glow_constant_tensor(n->in[1]->storage);
    int64_t count = glow_type_count(n->in[1]->type);
    bool fixed = false;

    for (int64_t i = 0; i < count; i++) {
        int e = exponent_at(p, w, i);

        if (e == 0 || is_exact(glow_get_double(t, i), e))
            continue;
        fixed |= fix_class(p, class_at(p, w->out, w->by_out, i));
        fixed |= fix_class(p, class_at(p, w->in, w->by_in, i));
    }
    if (n->n_in < 3 || !n->in[2])
        return fixed;
    t = glow_constant_tensor(n->in[2]->storage);
    for (int64_t i = 0; t && i < w->out.count; i++) {
        int32_t class = glow_channel_class(p->c, w->out.at[i]);

        if (p->exponent[class] &&
            !is_exact(glow_get_double(t, i), p->exponent[class]))
            fixed |= fix_class(p, class);
    }
    return fixed;
}

/* True if a class was fixed. */
static bool
fix_all_inexact(plan *p)
{
    bool fixed = false;

    for (int i = 0; i < p->c->func->count; i++) {
        const glow_node *n = p->c->order[i];
        weight_classes w;

        if (classes_of(p, n, &w))
            fixed |= fix_inexact(p, n, &w);
    }
    return fixed;
}

/* Finds the exponents of the classes that are free; false after a report. */
static bool
find_exponents(plan *p)
{
    bool changed = true;

    for (size_t i = 0; i < p->c->count; i++)
        p->exponent[i] = 0;
    for (int i = 0; i < MOST_ROUNDS && changed; i++) {
        if (!measure(p))
            return false;
        changed = improve(p);
    }
    return true;
}

/* Scaling. */

static bool
has_factors(const plan *p, channel_list l)
{
    for (int64_t i = 0; i < l.count; i++)
        if (p->exponent[glow_channel_class(p->c, l.at[i])])
            return true;
    return false;
}

static bool
scale_weights(const plan *p, glow_builder *b, glow_node *n,
              const weight_classes *w)
{
    const glow_tensor *from = glow_constant_tensor(n->in[1]->storage);
    int64_t count = glow_type_count(n->in[1]->type);
    glow_value *to;

    if (!from)
        return false;
    to = glow_build_constant(b, "weights", n->in[1]->type);
    for (int64_t i = 0; i < count; i++)
        glow_set_double(&to->storage->tensor, i,
                        ldexp(glow_get_double(from, i), exponent_at(p, w, i)));
    glow_set_operand(n, 1, to);
    return true;
}

static bool
scale_bias(const plan *p, glow_builder *b, glow_node *n,
           const weight_classes *w)
{
    const glow_tensor *from;
    glow_value *to;

    if (n->n_in < 3 || !n->in[2] || !has_factors(p, w->out))
        return true;
    from = glow_constant_tensor(n->in[2]->storage);
    if (!from)
        return false;
    to = glow_build_constant(b, "bias", n->in[2]->type);
    for (int64_t i = 0; i < w->out.count; i++)
        glow_set_double(
            &to->storage->tensor, i,
            ldexp(glow_get_double(from, i),
                  p->exponent[glow_channel_class(p->c, w->out.at[i])]));
    glow_set_operand(n, 2, to);
    return true;
}

/* Scales the range of `v` as its channels are, or removes it. */
static void
scale_range(const plan *p, glow_value *v, channel_list l)
{
    const glow_value_range *r = range_by(v, l);
    glow_value_range to;
    float *lists;

    if (!r) {
        glow_remove_value_range(v);
        return;
    }
    lists = GLOW_NEW_ARRAY(p->c->arena, float, 3 * l.count);
    to = (glow_value_range){.axis = r->axis,
                            .channels = r->channels,
                            .channel_min = lists,
                            .channel_max = lists + l.count,
                            .channel_mean = lists + 2 * l.count};
    for (int64_t i = 0; i < l.count; i++) {
        int e = p->exponent[glow_channel_class(p->c, l.at[i])];

        lists[i] = ldexpf(r->channel_min[i], e);
        lists[l.count + i] = ldexpf(r->channel_max[i], e);
        lists[2 * l.count + i] = ldexpf(r->channel_mean[i], e);
        to.min = i ? fminf(to.min, lists[i]) : lists[i];
        to.max = i ? fmaxf(to.max, lists[l.count + i]) : lists[l.count + i];
    }
    if (!glow_set_value_range(v, &to))
        glow_remove_value_range(v);
}

static glow_result
apply(const plan *p, glow_pass_run *run)
{
    channel_classes *c = p->c;
    glow_builder *b = glow_builder_new(glow_run_scratch(run), c->func,
                                       glow_run_pass(run)->name);
    glow_result result = GLOW_UNCHANGED;

    for (int i = 0; i < c->func->count; i++) {
        glow_node *n = c->order[i];
        weight_classes w;

        if (has_factors(p, c->of[n->id]))
            scale_range(p, n->out[0], c->of[n->id]);
        if (!classes_of(p, n, &w) ||
            !(has_factors(p, w.out) || has_factors(p, w.in)))
            continue;
        glow_builder_at(b, n);
        if (!scale_weights(p, b, n, &w) || !scale_bias(p, b, n, &w))
            return GLOW_FAILED;
        result = GLOW_CHANGED;
    }
    return result;
}

static int64_t
count_factors(const plan *p)
{
    int64_t count = 0;

    for (size_t i = 0; i < p->c->count; i++)
        count += p->exponent[i] != 0;
    return count;
}

/* True if quantize can do without a range of `v`, or scale_range keeps it. */
static bool
keeps_range(const glow_value *v, channel_list l)
{
    return !glow_get_value_range(v) || range_by(v, l) ||
           glow_quantizing_follower(v);
}

/* Fixes the channels of values that quantize would no longer take. */
static void
fix_ranges(plan *p)
{
    for (int i = 0; i < p->c->func->count; i++) {
        const glow_node *n = p->c->order[i];
        channel_list l = p->c->of[n->id];

        for (int64_t k = 0; k < l.count; k++)
            if (!keeps_range(n->out[0], l))
                glow_channel_fix(p->c, l.at[k]);
    }
}

/* Noise over signal of all linear operators, as they are over as they will be. */
static double
gain_of(const plan *p)
{
    double before = 0, after = 0;

    for (int i = 0; i < p->c->func->count; i++) {
        const glow_node *n = p->c->order[i];
        weight_classes w;

        if (!classes_of(p, n, &w))
            continue;
        before += glow_channel_noise(p->c, n, NULL);
        after += glow_channel_noise(p->c, n, p->exponent);
    }
    return after > 0 ? before / after : 1;
}

static bool
is_wanted(const plan *p, glow_pass_run *pass, int64_t factors)
{
    const equalize_options *o = glow_run_options(pass);

    return factors > 0 && (o->when == ALWAYS || gain_of(p) >= LEAST_GAIN);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const equalize_options *o = glow_run_options(pass);
    glow_arena *a = glow_run_scratch(pass);
    plan p = {.c = glow_channel_classes_of(a, f)};
    int64_t factors;

    if (o->when == NEVER)
        return GLOW_UNCHANGED;
    if (o->when == HELPS)
        fix_ranges(&p);
    p.exponent = GLOW_NEW_ARRAY(a, int, p.c->count);
    p.made = GLOW_NEW_ARRAY(a, double, p.c->count);
    p.read = GLOW_NEW_ARRAY(a, double, p.c->count);
    do {
        if (!find_exponents(&p))
            return GLOW_FAILED;
    } while (fix_all_inexact(&p));
    factors = count_factors(&p);
    if (!is_wanted(&p, pass, factors) || !glow_run_may_rewrite(pass))
        return GLOW_UNCHANGED;
    glow_run_count(pass, "factors of channels", factors);
    return apply(&p, pass);
}

const glow_pass glow_pass_equalize = {
    .name = "equalize",
    .summary = "move scales of channels between weights, by powers of two",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_ENUM(equalize_options, when, when_words,
                                "in any case, or where less noise is expected "
                                "of 8 bits")},
    .defaults = &(const equalize_options){.when = ALWAYS},
    .run = run,
    .source = "Nagel et al., arXiv:1906.04721, section 4.1",
};
