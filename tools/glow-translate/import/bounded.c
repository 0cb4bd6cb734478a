/*
 * Values with a static upper bound of their size and a dynamic count.
 *
 * NonZero and similar operators give a tensor of the largest possible size,
 * with zeros behind the valid elements, and a count.  Users of such a value are
 * built at the largest size by the rules of follow.c, which say what is bounded
 * then; users without a rule are refused by name.  If the operands of such an
 * operator are constant, so is the size, and none of this is needed.
 */

#include <inttypes.h>
#include <string.h>

#include "tools/glow-translate/import/follow.h"

/* Values that two counts are compared by, as far as they are computed of them. */
#define MAX_COMPARED 256
/* Elements of constants that are compared. */
#define MAX_ELEMENTS 8

static import_bound *
find(const importer *im, const glow_value *v)
{
    for (import_bound *b = im->bounds; b; b = b->next)
        if (b->value == v)
            return b;
    return NULL;
}

/* Records that the first `count` elements of `v` along `axis` are valid. */
void
import_mark_bound(import_node *n, glow_value *v, int axis, glow_value *count)
{
    import_bound *b;

    if (n->failed || !v || v->type->shape.at[axis] == 0)
        return;
    b = GLOW_NEW(n->im->arena, import_bound);
    *b = (import_bound){v, count, axis, NULL, NULL, n->im->bounds};
    n->im->bounds = b;
}

glow_value *
import_bounded(import_node *n, glow_value *v, int axis, glow_value *count)
{
    int64_t most = v ? v->type->shape.at[axis] : 0;

    if (n->failed || !v || !count || most == 0)
        return v;
    if (glow_is_constant(count)) {
        const glow_tensor *t = glow_constant_tensor(count->storage);

        return t ? import_cut(n, v, axis, 0, glow_get_int(t, 0)) : NULL;
    }
    if (n->im->options->allow_bounded) {
        import_mark_bound(n, v, axis, count);
        return v;
    }
    n->failed = true;
    glow_error_hint(n->im->ctx, (glow_span){0}, "E0714",
                    "-allow-bounded makes it as large as it may become, with "
                    "an output that says how much counts",
                    "%s: %s: how large the result is depends on data",
                    n->im->path, n->text);
    return NULL;
}

/* True if constants hold the same few integers. */
static bool
same_constant(const glow_value *a, const glow_value *b)
{
    const glow_tensor *x = glow_constant_tensor(a->storage);
    const glow_tensor *y = glow_constant_tensor(b->storage);
    int64_t count = glow_type_count(a->type);

    if (!x || !y || !glow_is_int(a->type->elem) || count > MAX_ELEMENTS)
        return false;
    for (int64_t i = 0; i < count; i++)
        if (glow_get_int(x, i) != glow_get_int(y, i))
            return false;
    return true;
}

/*
 * True if `a` and `b` are computed alike; exporters repeat what they compute.  No more than
 * `*left` values are looked at, since two graphs may share theirs in exponentially many ways.
 */
static bool
same_value(const glow_value *a, const glow_value *b, int *left)
{
    const glow_node *x, *y;

    if (a == b)
        return true;
    if (!a || !b || (*left)-- <= 0 || !glow_type_equal(a->type, b->type))
        return false;
    if (glow_is_constant(a) && glow_is_constant(b))
        return same_constant(a, b);
    x = a->def;
    y = b->def;
    if (!x || !y || x->op != y->op || a->index != b->index ||
        x->n_in != y->n_in || !(x->op->traits & GLOW_PURE) ||
        !glow_attrs_equal(glow_op_schema(x->op), x->attrs, y->attrs))
        return false;
    for (int i = 0; i < x->n_in; i++)
        if (!same_value(x->in[i], y->in[i], left))
            return false;
    return true;
}

bool
import_same_count(const glow_value *a, const glow_value *b)
{
    int left = MAX_COMPARED;

    return same_value(a, b, &left);
}

static bool
refuse(import_node *n, int i)
{
    n->failed = true;
    glow_error_hint(n->im->ctx, (glow_span){0}, "E0714",
                    "what -bind makes constants gives it a size",
                    "%s: %s: how large operand %d is depends on data, which "
                    "the operator cannot follow",
                    n->im->path, n->text, i);
    return false;
}

/* The formal of `b` for a count: that of an equal one, if there is one. */
static glow_value *
take_count(importer *im, import_body *b, glow_value *count)
{
    if (!count || glow_is_constant(count))
        return count;
    for (int i = 0; i < b->n_given; i++)
        if (import_same_count(b->given[i], count))
            return &b->as[i]->value;
    return import_body_takes(im, b, count);
}

static glow_value *
count_of(importer *im, import_bound *b)
{
    if (!b->count && b->outer)
        b->count = take_count(im, b->body, count_of(im, b->outer));
    return b->count;
}

const import_bound *
import_bound_of(importer *im, const glow_value *v)
{
    import_bound *b = find(im, v);

    if (b)
        count_of(im, b);
    return b;
}

const import_bound *
import_next_bound(importer *im, const import_bound *b)
{
    for (import_bound *c = b->next; c; c = c->next)
        if (c->value == b->value) {
            count_of(im, c);
            return c;
        }
    return NULL;
}

const import_bound *
import_bound_at(importer *im, const glow_value *v, int axis)
{
    const import_bound *b = import_bound_of(im, v);

    while (b && b->axis != axis)
        b = import_next_bound(im, b);
    return b;
}

void
import_forget_bounds(importer *im, const glow_value *v)
{
    for (import_bound **at = &im->bounds; *at;)
        if ((*at)->value == v)
            *at = (*at)->next;
        else
            at = &(*at)->next;
}

void
import_bring_bound(importer *im, import_body *body, const glow_value *formal,
                   const glow_value *v)
{
    for (import_bound *of = im->bounds; of; of = of->next) {
        import_bound *b;

        if (of->value != v)
            continue;
        b = GLOW_NEW(im->arena, import_bound);
        *b = (import_bound){formal, NULL, of->axis, body, of, im->bounds};
        im->bounds = b;
    }
}

void
import_bring_extents(importer *im, import_body *body, const glow_value *formal,
                     const glow_value *v)
{
    const import_extents *of = import_find_extents(im, v);
    import_extents *e = of ? GLOW_NEW(im->arena, import_extents) : NULL;
    import_extent *at;

    if (!e)
        return;
    at = glow_arena_copy(im->arena, of->at, (size_t)of->count * sizeof *at);
    for (int i = 0; i < of->count; i++)
        at[i].count = take_count(im, body, at[i].count);
    *e = (import_extents){formal, of->count, at, im->extents};
    im->extents = e;
}

bool
import_returns_whole(import_node *n, int i, const glow_value *v)
{
    if (!find(n->im, v))
        return true;
    return import_refuse(
        n, "E0714", "how large result %d of its body is depends on data", i);
}

/* Operand i of the node is bounded by `b`: true if the rule takes it. */
static bool
takes(import_node *n, import_following *f, int i, const import_bound *b)
{
    int flags = f->rule ? f->rule->flags : 0;

    if (!f->rule || !b->count ||
        (i < 32 ? !(f->rule->operands >> i & 1) : f->rule->operands != ~0u) ||
        (!(flags & IMPORT_SEVERAL) && import_next_bound(n->im, b)))
        return false;
    if (!f->bound) {
        f->bound = b;
        f->first = i;
        f->count = b->count;
    }
    return f->bound == b || (flags & (IMPORT_MIXED | IMPORT_SEVERAL)) ||
           ((flags & IMPORT_SAME) && import_same_count(f->count, b->count));
}

/* True if operands that a rule names are there; the row reports those that are not. */
static bool
are_given(const import_node *n, const import_rule *r)
{
    for (int i = 0; r->operands != ~0u && i < 32; i++)
        if ((r->operands >> i & 1) && !import_in(n, i))
            return false;
    return true;
}

bool
import_check_bounds(import_node *n, import_following *f)
{
    importer *im = n->im;

    *f = (import_following){.in = n->in};
    if (!im->bounds && !im->options->allow_bounded)
        return true;
    f->rule = import_find_rule(n->row->name);
    for (int i = 0; i < n->n_in; i++) {
        const import_bound *b = import_bound_of(im, n->in[i]);

        if (b && !takes(n, f, i, b))
            return refuse(n, i);
    }
    if (f->rule && !are_given(n, f->rule)) {
        f->rule = NULL;
        return true;
    }
    import_take_sizes(n, f);
    if (!f->bound && !f->sizes && !import_slices_by_data(n, f))
        f->rule = NULL;
    if (f->rule && f->rule->prepare && !f->rule->prepare(n, f))
        return n->failed ? false : refuse(n, f->first);
    return true;
}

bool
import_run_row(import_node *n, import_following *f)
{
    if (f->rule && f->rule->build)
        return f->rule->build(n, f);
    return n->row->run(n);
}

/* Writes zeros behind the valid elements, where an operator does not keep them. */
static glow_value *
bound(import_node *n, glow_value *v, int axis, glow_value *count)
{
    return BUILD(n, bound, GLOW_IN(v, count), .axis = axis);
}

/* Adds the axis that the rule gives for f->bound to those of the results. */
static bool
follow_one(import_node *n, import_following *f, import_axes_bounded *to)
{
    int axis = f->rule->follow(n, f);

    if (axis == IMPORT_REFUSED && !n->failed)
        refuse(n, f->first);
    if (axis < 0 || n->failed)
        return !n->failed;
    for (int i = 0; i < to->n; i++)
        if (to->axis[i] == axis)
            return import_same_count(to->count[i], f->count) ||
                   refuse(n, f->first);
    to->axis[to->n] = axis;
    to->count[to->n++] = f->count;
    return true;
}

static bool
follow_all(import_node *n, import_following *f, import_axes_bounded *to)
{
    if (f->bound) {
        for (; f->bound; f->bound = import_next_bound(n->im, f->bound)) {
            f->count = f->bound->count;
            if (!follow_one(n, f, to))
                return false;
        }
        return true;
    }
    for (; f->size < f->sizes->count; f->size++)
        if (f->sizes->at[f->size].count && !follow_one(n, f, to))
            return false;
    return true;
}

/* `v` bounded along axes, with zeros behind the counts if `clears`. */
glow_value *
import_bounded_along(import_node *n, glow_value *v,
                     const import_axes_bounded *by, bool clears)
{
    for (int i = 0; clears && v && i < by->n; i++)
        v = bound(n, v, by->axis[i], by->count[i]);
    for (int i = 0; v && i < by->n; i++)
        import_mark_bound(n, v, by->axis[i], by->count[i]);
    return v;
}

bool
import_follow_bounds(import_node *n, import_following *f)
{
    import_axes_bounded by = {0};
    const glow_value *value = f->bound ? f->bound->value : NULL;

    import_follow_extents(n, f);
    if (!f->rule || !f->rule->follow || !n->out[0])
        return !n->failed;
    if (!follow_all(n, f, &by))
        return false;
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k] && n->out[k] != value)
            n->out[k] = import_bounded_along(n, n->out[k], &by,
                                             f->rule->flags & IMPORT_CLEARS);
    return !n->failed;
}
