#include "ir/ops/sums.h"

#include <math.h>

#define NARROW_BITS 31
#define WIDE_BITS 53 /* sums are made in doubles */

/* Checks */

bool
glow_check_width(const glow_node *n, int i, int bits)
{
    const glow_kind_info *kind = glow_kind_get(n->in[i]->type->elem);

    return glow_admit(n, i, GLOW_CLASS_QUANTIZED) &&
           (kind->bits <= bits ||
            glow_reject(n,
                        "the elements of %s are %s, but at most %d bits are "
                        "taken",
                        n->op->in[glow_operand_of(n, i)].name, kind->name,
                        bits));
}

bool
glow_check_products(const glow_node *n, int bias, const glow_type *stated)
{
    if (!glow_check_width(n, 0, 16) || !glow_check_width(n, 1, 16) ||
        (bias >= 0 && n->in[bias] && !glow_check_width(n, bias, 32)) ||
        !glow_check_stated(n, stated))
        return false;
    if (glow_is_quantized(stated->elem) &&
        glow_kind_get(stated->elem)->bits > 32)
        return glow_reject(n,
                           "the elements of Result are %s, but at most 32 bits "
                           "are given",
                           glow_kind_get(stated->elem)->name);
    return true;
}

/* The largest |q - offset| of an element of `kind`. */
static int64_t
farthest(glow_kind kind, int64_t offset)
{
    int64_t above = glow_quantized_most(kind) - offset;
    int64_t below = offset - glow_quantized_least(kind);

    return above > below ? above : below;
}

static bool
is_wide(const glow_type *a, const glow_type *b)
{
    return glow_kind_get(a->elem)->bits > 8 || glow_kind_get(b->elem)->bits > 8;
}

bool
glow_check_depth(const glow_node *n, int64_t depth, const glow_type *a,
                 const glow_type *b)
{
    int bits = is_wide(a, b) ? WIDE_BITS : NARROW_BITS;
    int64_t largest, most = 0;

    if (!glow_mul_overflow(farthest(a->elem, a->offset),
                           farthest(b->elem, b->offset), &largest))
        most = ((INT64_C(1) << bits) - 1) / largest;
    return depth <= most ||
           glow_reject(n,
                       "a sum of %" PRId64 " products of %s and %s may leave "
                       "%d bits, but one of %" PRId64 " does not",
                       depth, glow_kind_get(a->elem)->name,
                       glow_kind_get(b->elem)->name, bits, most);
}

bool
glow_check_sums(const glow_node *n, int64_t depth, bool by_channel)
{
    const glow_type *a = n->in[0]->type;
    glow_type b = *n->in[1]->type;
    float unit = (float)((double)a->scale * (double)b.scale);

    if (by_channel)
        b.offset = 0;
    else if (!(unit > 0 && isfinite(unit)))
        return glow_reject(n,
                           "the scales of %s and %s are %g and %g, but their "
                           "product is %g as a float",
                           n->op->in[0].name, n->op->in[1].name,
                           (double)a->scale, (double)b.scale, (double)unit);
    return glow_check_depth(n, depth, a, &b);
}

/* Operand `i` has an element of `classes`, or of `kind`, for each result. */
static bool
check_parameters(const glow_node *n, int i, int classes, glow_kind kind,
                 int64_t results)
{
    glow_kind has = n->in[i]->type->elem;

    if (kind && has != kind)
        return glow_reject(n, "the elements of %s are %s, but must be %s",
                           n->op->in[i].name, glow_kind_get(has)->name,
                           glow_kind_get(kind)->name);
    return (kind || glow_admit(n, i, classes)) &&
           glow_check_shape(n, i, GLOW_DIMS_OF(results),
                            "one for each channel of Result");
}

bool
glow_check_channels(const glow_node *n, int scales, int64_t results)
{
    return check_parameters(n, scales, GLOW_ANY_FLOAT, GLOW_NO_KIND, results) &&
           check_parameters(n, scales + 1, 0, GLOW_INDEX32, results);
}

/* From sums to results */

static double
number_at(const glow_tensor *t, int64_t i, double otherwise)
{
    return t ? glow_get_double(t, i) : otherwise;
}

glow_sums
glow_sums_of(const glow_tensor *a, const glow_tensor *b,
             const glow_tensor *bias, const glow_channels *channels,
             const glow_type *to, int64_t columns, glow_arena *arena)
{
    double *offsets = GLOW_NEW_ARRAY(arena, double, columns);
    double *units = GLOW_NEW_ARRAY(arena, double, columns);
    int64_t *terms = bias ? GLOW_NEW_ARRAY(arena, int64_t, columns) : NULL;
    const glow_type *x = a->type, *w = b->type;

    for (int64_t j = 0; j < columns; j++) {
        offsets[j] = number_at(channels->offsets, j, (double)w->offset);
        units[j] =
            (double)x->scale * number_at(channels->scales, j, (double)w->scale);
        if (bias)
            terms[j] = glow_quantize_bias(
                number_at(channels->bias_scales, j, (double)bias->type->scale),
                (int64_t)number_at(channels->bias_offsets, j,
                                   (double)bias->type->offset),
                glow_get_int(bias, j), units[j]);
    }
    return (glow_sums){.to = to,
                       .a_offset = (double)x->offset,
                       .b_offsets = offsets,
                       .units = units,
                       .bias = terms,
                       .wraps = !is_wide(x, w)};
}

void
glow_store_sums(const glow_sums *s, const glow_tensor *out, int64_t at,
                int64_t first, int64_t count, const double *c)
{
    for (int64_t j = 0; j < count; j++) {
        int64_t sum = (int64_t)c[j] + (s->bias ? s->bias[first + j] : 0);

        if (s->wraps)
            sum = (int32_t)(uint32_t)sum;
        glow_set_int(out, at + j,
                     glow_quantize_sum(s->to, sum, s->units[first + j]));
    }
}

void
glow_load_quantized(const glow_tensor *t, int64_t first, int64_t count,
                    double *v)
{
    if (t->type->elem == GLOW_INT8Q) {
        const int8_t *x = (const int8_t *)t->data + first;

        for (int64_t i = 0; i < count; i++)
            v[i] = (double)x[i];
    } else {
        for (int64_t i = 0; i < count; i++)
            v[i] = (double)glow_get_int(t, first + i);
    }
}

void
glow_load_left(const glow_sums *s, const glow_tensor *t, int64_t first,
               int64_t count, double *v)
{
    if (!s) {
        glow_load(t, first, count, v);
        return;
    }
    glow_load_quantized(t, first, count, v);
    for (int64_t i = 0; i < count && s->a_offset != 0; i++)
        v[i] -= s->a_offset;
}
