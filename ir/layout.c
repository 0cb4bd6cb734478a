/*
 * Composition of layouts; see glow/layout.h.
 *
 * When a tensor becomes a part of another, its views have to be expressed as
 * views of the other.  An element of the tensor has a row-major number in mixed
 * radix.  Its digits, the indices along the axes, times the strides of the
 * part, are its offset in the other tensor.  A view can be expressed if each of
 * its axes steps through one digit and never carries into the next.
 */

#include "glow/layout.h"

typedef struct digit {
    int64_t size; /* radix */
    int64_t unit; /* weight of the digit in the number */
    int64_t step; /* weight of the digit in the offset */
    int64_t most; /* the greatest value that a view reaches */
} digit;

typedef struct digits {
    int count;
    digit at[GLOW_MAX_RANK];
} digits;

glow_dims
glow_type_steps(const glow_type *t)
{
    return t->strides.rank ? t->strides : glow_dims_strides(t->shape);
}

/*
 * The digits of element numbers of `t`; contiguous axes are merged to one
 * digit.
 */
static digits
digits_of(const glow_type *t)
{
    glow_dims units = glow_dims_strides(t->shape), steps = glow_type_steps(t);
    digits d = {0};

    for (int i = 0; i < t->shape.rank; i++) {
        digit *last = d.count ? &d.at[d.count - 1] : NULL;

        if (t->shape.at[i] == 1)
            continue;
        if (last && last->step == t->shape.at[i] * steps.at[i])
            *last = (digit){last->size * t->shape.at[i], units.at[i],
                            steps.at[i], 0};
        else
            d.at[d.count++] =
                (digit){t->shape.at[i], units.at[i], steps.at[i], 0};
    }
    return d;
}

/*
 * The digit that is incremented by adding `n` to a number; NULL if several may
 * be.
 */
static digit *
digit_for(digits *d, int64_t n)
{
    for (int i = 0; i < d->count; i++)
        if (n >= d->at[i].unit)
            return n % d->at[i].unit == 0 ? &d->at[i] : NULL;
    return NULL;
}

/*
 * Sets the strides of axes of one element, which are arbitrary, to the least
 * valid ones.
 */
static void
settle(glow_type *t)
{
    int64_t inner = 1;

    for (int i = t->shape.rank - 1; i >= 0; i--) {
        if (t->shape.at[i] == 1)
            t->strides.at[i] = inner;
        inner += (t->shape.at[i] - 1) * t->strides.at[i];
    }
}

/* Removes strides that are the strides of a dense type. */
static glow_type
canonical(glow_type t)
{
    settle(&t);
    if (glow_dims_equal(t.strides, glow_dims_strides(t.shape)))
        t.strides = (glow_dims){0};
    return t;
}

/*
 * The offset of element number `n`; sets `most` of each digit to the value that
 * it has.
 */
static int64_t
place_of(digits *d, int64_t n)
{
    int64_t at = 0;

    for (int i = 0; i < d->count; i++) {
        d->at[i].most = n / d->at[i].unit % d->at[i].size;
        at += d->at[i].most * d->at[i].step;
    }
    return at;
}

bool
glow_type_move(const glow_type *in, glow_type *t, int64_t *first)
{
    digits d = digits_of(in);
    glow_dims steps = glow_type_steps(t), strides = {.rank = t->shape.rank};
    int64_t at;

    if (glow_type_count(t) == 0 || glow_type_count(in) == 0)
        return false;
    at = place_of(&d, *first);
    for (int i = 0; i < t->shape.rank; i++) {
        digit *one = digit_for(&d, steps.at[i]);

        if (t->shape.at[i] == 1)
            continue;
        if (!one)
            return false;
        one->most += (t->shape.at[i] - 1) * (steps.at[i] / one->unit);
        strides.at[i] = steps.at[i] / one->unit * one->step;
    }
    for (int i = 0; i < d.count; i++)
        if (d.at[i].most >= d.at[i].size)
            return false;
    t->strides = strides;
    *t = canonical(*t);
    *first = at;
    return true;
}

bool
glow_steps_forward(glow_dims steps)
{
    for (int i = 0; i < steps.rank; i++)
        if (steps.at[i] < 0)
            return false;
    return true;
}

glow_type
glow_type_box(const glow_type *t, glow_dims start, glow_dims steps,
              glow_dims shape, int64_t *first)
{
    glow_dims from = glow_type_steps(t);
    glow_type box = *t;

    box.shape = shape;
    box.strides = from;
    for (int i = 0; i < shape.rank; i++) {
        *first += start.at[i] * from.at[i];
        if (steps.rank)
            box.strides.at[i] *= steps.at[i];
    }
    return canonical(box);
}
