/*
 * Layouts of parts; see glow/layout.h.
 *
 * Where a tensor becomes a part of another, views of it have to be found again
 * there.  An element of the tensor has a number, in row-major order.  Its digits,
 * which say how far along each axis it lies, times the steps of the part, say
 * where it lies now.  A view can be kept if each of its axes steps through one
 * digit and never carries into the next.
 */

#include "glow/layout.h"

typedef struct digit {
    int64_t size; /* so many values */
    int64_t unit; /* what one more adds to the number */
    int64_t step; /* and to the place */
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

/* The digits of numbers of elements of `t`; axes that follow on are one. */
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

/* The digit that grows by adding `n` to a number, or NULL if several may. */
static digit *
digit_for(digits *d, int64_t n)
{
    for (int i = 0; i < d->count; i++)
        if (n >= d->at[i].unit)
            return n % d->at[i].unit == 0 ? &d->at[i] : NULL;
    return NULL;
}

/* Axes of one element have no step of their own: the least that is right. */
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

/* Strides that are those of a dense type are none. */
static glow_type
canonical(glow_type t)
{
    settle(&t);
    if (glow_dims_equal(t.strides, glow_dims_strides(t.shape)))
        t.strides = (glow_dims){0};
    return t;
}

/* The place of element number `n`, whose digits are noted as reached. */
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
