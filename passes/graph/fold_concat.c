/*
 * fold-concat: merge and simplify concatenations.
 *
 *     Concat([a, Concat([b, c])])           =>  Concat([a, b, c])
 *     Concat([a, empty, b])                 =>  Concat([a, b])
 *     Concat([x[0:2], x[2:5], a])           =>  Concat([x[0:5], a])
 *     Concat([x[0:2], x[2:]])               =>  x
 *     Concat([Splat v, Splat v])            =>  Splat v
 *     Concat([x, x]) along an axis of one   =>  Broadcast(x)
 *     Concat([Reshape(a), Reshape(b)])      =>  Reshape(Concat([a, b]))
 *
 * All along one axis.  An inner Concat is merged only if it has no other user:
 * networks that concatenate all previous results (DenseNet) would otherwise
 * copy each operand repeatedly.  A chain of Concats is merged at its end, at
 * once.
 *
 * Adjacent slices of one value, by any equal step, are merged to one slice,
 * which undoes a split.  They are merged only if the number of nodes does not
 * grow: in a Concat with other operands only if the slices have no other users.
 * Slices out of order, with gaps, that overlap or that come from two values are
 * left alone (Glow's bug 4468 is about this simplification).
 *
 * Reshapes sink below the Concat if the operands have an axis with as many
 * elements before it as Dim has, and agree in all other axes; afterwards slices
 * below them may be merged.
 *
 * The pass terminates: each rewrite leaves fewer nodes or operands, or a
 * cheaper node.  A Concat of one operand is left to eliminate-identity.
 */

#include <string.h>

#include "glow/ops.h"
#include "glow/pass.h"

/* True if `n` is an `op` without a predicate. */
static bool
is_unpredicated(const glow_node *n, const glow_op *op)
{
    return glow_is(n, op) && !n->pred;
}

static int64_t
size_at(const glow_value *v, int axis)
{
    return v->type->shape.at[axis];
}

/* The Concat into which `n` is merged, or NULL. */
static const glow_node *
outer_of(const glow_node *n)
{
    const glow_node *user = n->out[0]->uses ? n->out[0]->uses->user : NULL;
    const glow_concat *own = n->attrs;
    const glow_concat *c = GLOW_AS(concat, user);

    return c && glow_has_one_use(n->out[0]) && !user->pred && !n->pred &&
                   c->dim == own->dim
               ? user
               : NULL;
}

/*
 * The concatenated values: the operands, with inner Concats replaced by their
 * operands.
 */
typedef struct parts {
    glow_arena *arena;
    glow_value **at;
    size_t count, cap;
} parts;

static void
add(parts *p, glow_value *v)
{
    p->at = glow_arena_grow(p->arena, p->at, p->count, &p->cap, sizeof *p->at);
    p->at[p->count++] = v;
}

/*
 * Collects the operands that are not empty; iterative, because chains are long.
 */
static parts
collect(glow_builder *b, const glow_node *n)
{
    glow_arena *a = glow_builder_scratch(b);
    parts open = {.arena = a}, done = {.arena = a};

    for (int i = n->n_in; i-- > 0;)
        add(&open, n->in[i]);
    while (open.count > 0) {
        glow_value *v = open.at[--open.count];

        if (glow_is(v->def, n->op) && outer_of(v->def)) {
            glow_builder_fuses(b, v->def);
            for (int i = v->def->n_in; i-- > 0;)
                add(&open, v->def->in[i]);
        } else if (glow_type_count(v->type) > 0) {
            add(&done, v);
        }
    }
    return done;
}

/* Adjacent operands that can be merged to one value. */
typedef struct group {
    glow_value *first; /* the only operand, or the first of the group */
    size_t count;
    bool alone;         /* no operand has another user */
    glow_dims start;    /* of slices, with the step at Dim below */
    glow_dims steps;    /* rank 0: all 1 */
    int64_t step, size; /* at Dim; of one element the step is 0: any */
} group;

static group
group_of(glow_value *v, int dim)
{
    group g = {.first = v,
               .count = 1,
               .alone = glow_has_one_use(v),
               .size = size_at(v, dim)};
    const glow_slice *s = GLOW_AS(slice, v->def);

    if (s) {
        g.start = s->start;
        g.steps = s->steps;
        g.step = g.size == 1 ? 0 : s->steps.rank ? s->steps.at[dim] : 1;
    }
    return g;
}

/*
 * True if the slices are of the same value and differ only in their range along
 * `dim`.
 */
static bool
is_beside(const group *g, const group *next, int dim)
{
    glow_dims shape = g->first->type->shape;

    if (g->first->def->in[0] != next->first->def->in[0])
        return false;
    for (int i = 0; i < shape.rank; i++) {
        int64_t one = g->steps.rank ? g->steps.at[i] : 1;
        int64_t other = next->steps.rank ? next->steps.at[i] : 1;

        if (i != dim && (g->start.at[i] != next->start.at[i] ||
                         (shape.at[i] > 1 && one != other)))
            return false;
    }
    return true;
}

/*
 * Appends `next` to `g` if its elements follow the last of `g` at the same
 * step.
 */
static bool
join_slices(group *g, const group *next, int dim)
{
    int64_t hop = next->start.at[dim] - g->start.at[dim];
    int64_t step = g->step ? g->step : next->step ? next->step : hop;

    if (!is_beside(g, next, dim) || step == 0 || hop != g->size * step ||
        (next->step && next->step != step))
        return false;
    g->step = step;
    return true;
}

static bool
same_splat(const glow_value *v, const glow_value *w)
{
    const glow_splat *s = GLOW_AS(splat, v->def);
    const glow_splat *t = GLOW_AS(splat, w->def);

    return s && t && memcmp(&s->value, &t->value, sizeof s->value) == 0;
}

static bool
join(group *g, const group *next, int dim)
{
    const glow_node *x = g->first->def, *y = next->first->def;
    bool slices = is_unpredicated(x, &glow_op_slice) &&
                  is_unpredicated(y, &glow_op_slice);
    bool splats = is_unpredicated(x, &glow_op_splat) &&
                  is_unpredicated(y, &glow_op_splat) &&
                  same_splat(g->first, next->first);

    if (!splats && (!slices || !join_slices(g, next, dim)))
        return false;
    g->count++;
    g->size += next->size;
    g->alone = g->alone && next->alone;
    return true;
}

static const glow_type *
type_of(glow_builder *b, const group *g, int dim)
{
    glow_type t = *g->first->type;

    t.shape.at[dim] = g->size;
    return glow_type_get(glow_builder_context(b), t);
}

/* The attributes of the slice that merges `g`. */
static glow_slice
slice_of(const group *g, int dim)
{
    glow_slice s = {.start = g->start, .steps = g->steps};

    if (g->step != 1 && s.steps.rank == 0) {
        s.steps.rank = s.start.rank;
        for (int i = 0; i < s.steps.rank; i++)
            s.steps.at[i] = 1;
    }
    if (s.steps.rank)
        s.steps.at[dim] = g->step;
    return s;
}

/* True if the slices of `g` together are their whole operand. */
static bool
is_source(const group *g, const glow_type *type)
{
    const glow_value *x = g->first->def->in[0];
    bool whole = x->type == type && g->step == 1;

    for (int i = 0; i < g->start.rank; i++)
        whole = whole && g->start.at[i] == 0 &&
                (g->steps.rank == 0 || g->steps.at[i] == 1 ||
                 type->shape.at[i] == 1);
    return whole;
}

/* One value for the group, or NULL if it must stay as it is. */
static glow_value *
merge(glow_builder *b, const group *g, int dim, bool all)
{
    const glow_type *type = type_of(b, g, dim);
    glow_node *x = g->first->def;

    if (g->count == 1)
        return g->first;
    if (glow_is(x, &glow_op_splat))
        return all || g->alone ? glow_build(b, x->op, type, NULL, 0, x->attrs)
                               : NULL;
    if (is_source(g, type))
        return x->in[0];
    if (!all && !g->alone)
        return NULL;

    glow_slice s = slice_of(g, dim);

    return glow_build(b, x->op, type, GLOW_IN(x->in[0]), &s);
}

/* `p` with its groups merged. */
static parts
merge_groups(glow_builder *b, const parts *p, int dim)
{
    parts out = {.arena = p->arena};

    for (size_t i = 0, next; i < p->count; i = next) {
        group g = group_of(p->at[i], dim);

        for (next = i + 1; next < p->count; next++) {
            group h = group_of(p->at[next], dim);

            if (!join(&g, &h, dim))
                break;
        }

        glow_value *v = merge(b, &g, dim, g.count == p->count);

        if (v)
            add(&out, v);
        for (size_t k = i; !v && k < next; k++)
            add(&out, p->at[k]);
    }
    return out;
}

/* True if all operands are the same value, of one element along `dim`. */
static bool
is_repeated(const parts *p, int dim)
{
    for (size_t i = 1; i < p->count; i++)
        if (p->at[i] != p->at[0])
            return false;
    return p->count > 1 && size_at(p->at[0], dim) == 1;
}

/* Sinking reshapes below the Concat. */

/* The product of the dimensions before `axis`. */
static int64_t
count_before(glow_dims d, int axis)
{
    d.rank = axis;
    return glow_dims_count(d);
}

/* True if the operands of all reshapes agree in all axes but `axis`. */
static bool
agree_outside(const parts *p, int axis)
{
    glow_dims want = p->at[0]->def->in[0]->type->shape;

    for (size_t i = 1; i < p->count; i++) {
        glow_dims x = p->at[i]->def->in[0]->type->shape;

        want.at[axis] = x.rank == want.rank ? x.at[axis] : 0;
        if (!glow_dims_equal(x, want))
            return false;
    }
    return true;
}

/* True unless the first two operands are slices that differ at another axis. */
static bool
are_apart(const parts *p, int axis)
{
    const glow_node *x = p->at[0]->def->in[0]->def;
    const glow_node *y = p->at[1]->def->in[0]->def;
    const glow_slice *s = GLOW_AS(slice, x), *t = GLOW_AS(slice, y);

    return !s || !t || x->in[0] != y->in[0] ||
           s->start.at[axis] != t->start.at[axis];
}

/* The axis along which to concatenate the operands of the reshapes, or -1. */
static int
find_axis(const parts *p, int64_t before)
{
    glow_dims shape = p->at[0]->def->in[0]->type->shape;
    int found = -1;

    for (int axis = shape.rank; axis-- > 0;)
        if (count_before(shape, axis) == before && agree_outside(p, axis)) {
            found = axis;
            if (are_apart(p, axis))
                break;
        }
    return found;
}

static bool
are_reshapes(const parts *p)
{
    size_t alone = 0;

    for (size_t i = 0; i < p->count; i++) {
        const glow_node *x = p->at[i]->def;

        if (!is_unpredicated(x, &glow_op_reshape) ||
            x->in[0]->type->strides.rank != 0)
            return false;
        alone += glow_has_one_use(p->at[i]);
    }
    return alone >= 2;
}

static glow_value *
sink_reshapes(glow_builder *b, const parts *p, const glow_node *n)
{
    const glow_concat *c = n->attrs;
    glow_dims shape = n->out[0]->type->shape;
    parts in = {.arena = p->arena};

    if (!are_reshapes(p))
        return NULL;

    int axis = find_axis(p, count_before(shape, c->dim));

    if (axis < 0)
        return NULL;
    for (size_t i = 0; i < p->count; i++)
        add(&in, p->at[i]->def->in[0]);

    glow_value *v = glow_build(b, n->op, NULL, in.at, (int)in.count,
                               &(const glow_concat){.dim = axis});

    return v ? GLOW_BUILD(b, reshape, GLOW_IN(v), .dims = shape) : NULL;
}

static bool
is_same(const parts *p, const glow_node *n)
{
    for (size_t i = 0; i < p->count; i++)
        if (i >= (size_t)n->n_in || p->at[i] != n->in[i])
            return false;
    return p->count == (size_t)n->n_in;
}

static glow_value *
fold(glow_builder *b, glow_node *n)
{
    const glow_concat *c = n->attrs;

    if (n->pred || outer_of(n) || glow_type_count(n->out[0]->type) == 0)
        return NULL;

    parts all = collect(b, n);
    parts p = merge_groups(b, &all, c->dim);

    if (is_repeated(&p, c->dim))
        return GLOW_BUILD(b, broadcast, GLOW_IN(p.at[0]),
                          .target_dim = n->out[0]->type->shape);

    glow_value *v = p.count > 1 ? sink_reshapes(b, &p, n) : NULL;

    if (v || is_same(&p, n))
        return v;
    if (p.count == 1 && p.at[0]->type == n->out[0]->type)
        return p.at[0];
    return glow_build(b, n->op, NULL, p.at, (int)p.count, c);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, &glow_op_concat, fold);
}

const glow_pass glow_pass_fold_concat = {
    .name = "fold-concat",
    .summary = "merge and simplify concatenations",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "Glow OptimizeConcatNodes, EliminateSliceConcat",
};
