/*
 * Overlap test of two strided values of a program.
 *
 * A layout is a nest of strides.  Modulo a stride p, the axes with smaller
 * strides cover an interval of residues, if it does not wrap around p, and the
 * strides of the other axes are multiples of p.  Two layouts with disjoint
 * intervals of residues have no common element.  For boxes of the same tensor
 * the test is exact: if two boxes are disjoint on an axis, their residues
 * modulo the stride of the axis before it are.
 */

#include "glow/graph.h"

typedef struct axes {
    int count;
    struct {
        int64_t size, step;
    } at[GLOW_MAX_RANK];
} axes;

static axes
axes_of(const glow_type *t)
{
    glow_dims steps =
        t->strides.rank ? t->strides : glow_dims_strides(t->shape);
    axes a = {0};

    for (int i = 0; i < t->shape.rank; i++)
        if (t->shape.at[i] > 1) {
            a.at[a.count].size = t->shape.at[i];
            a.at[a.count++].step = steps.at[i];
        }
    return a;
}

/*
 * The extent, from the first element to behind the last, of the axes with
 * strides below p.
 */
static int64_t
reach(const axes *a, int64_t p)
{
    int64_t last = 0;

    for (int i = 0; i < a->count; i++)
        if (a->at[i].step < p)
            last += (a->at[i].size - 1) * a->at[i].step;
    return last + 1;
}

/*
 * Sets the interval of residues modulo p; false if they are not one interval.
 */
static bool
columns(const axes *a, int64_t first, int64_t p, int64_t *begin, int64_t *end)
{
    for (int i = 0; i < a->count; i++)
        if (a->at[i].step >= p && a->at[i].step % p != 0)
            return false;
    *begin = first % p;
    *end = *begin + reach(a, p);
    return *end <= p;
}

/* True if `a` and `b` have disjoint residues modulo a stride of `x`. */
static bool
apart(const axes *x, const axes *a, int64_t a_first, const axes *b,
      int64_t b_first)
{
    int64_t a_begin, a_end, b_begin, b_end;

    for (int i = 0; i < x->count; i++) {
        int64_t p = x->at[i].step;

        if (p > 1 && columns(a, a_first, p, &a_begin, &a_end) &&
            columns(b, b_first, p, &b_begin, &b_end) &&
            (a_end <= b_begin || b_end <= a_begin))
            return true;
    }
    return false;
}

bool
glow_extents_meet(glow_extent a, glow_extent b)
{
    axes x = axes_of(a.layout), y = axes_of(b.layout);

    if (a.base != b.base || glow_type_count(a.layout) == 0 ||
        glow_type_count(b.layout) == 0 ||
        a.first + reach(&x, INT64_MAX) <= b.first ||
        b.first + reach(&y, INT64_MAX) <= a.first)
        return false;
    return !apart(&x, &x, a.first, &y, b.first) &&
           !apart(&y, &x, a.first, &y, b.first);
}
