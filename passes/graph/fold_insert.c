/*
 * fold-insert: turn a chain of insertions into a concatenation.
 *
 *     %a = InsertTensor(%big, %x) {Start: [0, 0]}
 *     %b = InsertTensor(%a, %y) {Start: [2, 0]}     =>  Concat([%x, %y])
 *
 *     InsertTensor(%big, %x), all of %big           =>  %x
 *     InsertTensor(%big, nothing)                   =>  %big
 *     InsertTensor(%big, Slice(%big), same offset)  =>  %big
 *     InsertTensor(InsertTensor(%big, %x), %y),
 *         %y over all of %x                         =>  InsertTensor(%big, %y)
 *
 * A chain of inserts without other users, whose parts are adjacent along one
 * axis and cover all of it, does not depend on its base.  If the base is a
 * Splat, gaps are allowed: they become Splats in the Concat, if the number of
 * nodes decreases.  A value that is inserted several times is several parts.  A
 * chain is visited once, from its end.
 *
 * Such chains come from split networks, gradients of slices and lowered
 * padding.  Glow's OptimizeInsert replaces the Splat by uninitialized memory
 * (Touch), which a Concat does not need.
 */

#include <stdlib.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

enum { MOST_COPIES = 64 };

/* A written part: `size` elements of the axis from `start` on. */
typedef struct part {
    glow_value *value; /* NULL: a gap */
    int64_t start, size;
} part;

typedef struct chain {
    glow_arena *arena;
    glow_value *base; /* the first operand of the chain */
    part *parts;
    size_t count, cap;
    int inserts;
    int axis; /* the only axis along which parts are not whole; -1: none yet */
} chain;

/* True if the only user of `n` is an insert into its result. */
static bool
has_outer(const glow_node *n)
{
    const glow_use *u = n->out[0]->uses;

    return u && glow_has_one_use(n->out[0]) && u->index == 0 &&
           glow_is(u->user, n->op) && !u->user->pred;
}

/*
 * The only axis along which `n` does not write all elements; -1: none; -2:
 * several.
 */
static int
cut_axis(const glow_node *n)
{
    glow_dims big = n->out[0]->type->shape, small = n->in[1]->type->shape;
    int axis = -1;

    for (int i = 0; i < big.rank; i++)
        if (small.at[i] != big.at[i])
            axis = axis == -1 ? i : -2;
    return axis;
}

static void
add(chain *c, glow_value *v, int64_t start, int64_t size)
{
    c->parts = glow_arena_grow(c->arena, c->parts, c->count, &c->cap,
                               sizeof *c->parts);
    c->parts[c->count++] = (part){v, start, size};
}

/* Adds the parts of insert `n`; false if it does not fit into the chain. */
static bool
add_insert(chain *c, const glow_node *n)
{
    const glow_inserttensor *t = n->attrs;
    int axis = cut_axis(n);

    if (axis < 0 || (c->axis >= 0 && axis != c->axis) ||
        t->count > MOST_COPIES || (t->count > 1 && t->axis != axis))
        return false;

    int64_t size = n->in[1]->type->shape.at[axis];

    if (size == 0)
        return false;
    c->axis = axis;
    c->inserts++;
    for (int64_t i = 0; i < t->count; i++)
        add(c, n->in[1], t->start.at[axis] + i * size, size);
    return true;
}

static int
by_start(const void *x, const void *y)
{
    const part *a = x, *b = y;

    return a->start < b->start ? -1 : a->start > b->start;
}

/* Adds parts for gaps; false if parts overlap. */
static bool
add_gaps(chain *c, int64_t dim)
{
    size_t n = c->count;
    int64_t end = 0;

    glow_sort(c->parts, n, sizeof *c->parts, by_start);
    for (size_t i = 0; i < n; i++) {
        part p = c->parts[i];

        if (p.start < end)
            return false;
        if (p.start > end)
            add(c, NULL, end, p.start - end);
        end = p.start + p.size;
    }
    if (end < dim)
        add(c, NULL, end, dim - end);
    return true;
}

/* Reads the chain that ends with `n`; false if it cannot become a Concat. */
static bool
read_chain(chain *c, const glow_node *n)
{
    const glow_node *x = n;
    size_t parts;

    for (; add_insert(c, x); x = x->in[0]->def) {
        const glow_node *next = glow_only_def(x->in[0], n->op);

        c->base = x->in[0];
        if (!next || cut_axis(next) != c->axis)
            break;
    }
    parts = c->count;
    if (parts == 0 || !add_gaps(c, n->out[0]->type->shape.at[c->axis]))
        return false;

    int gaps = (int)(c->count - parts);

    return gaps == 0 ||
           (glow_only_def(c->base, &glow_op_splat) && gaps < c->inserts);
}

static glow_value *
build_gap(glow_builder *b, const chain *c, const part *p)
{
    glow_type t = *c->base->type;

    t.strides = (glow_dims){0};
    t.shape.at[c->axis] = p->size;
    return glow_build(b, &glow_op_splat,
                      glow_type_get(glow_builder_context(b), t), NULL, 0,
                      c->base->def->attrs);
}

static glow_value *
fold_chain(glow_builder *b, const glow_node *n)
{
    chain c = {.arena = glow_builder_scratch(b), .axis = -1};

    if (has_outer(n) || !read_chain(&c, n))
        return NULL;
    glow_sort(c.parts, c.count, sizeof *c.parts, by_start);

    glow_value **in = GLOW_NEW_ARRAY(c.arena, glow_value *, c.count);

    for (size_t i = 0; i < c.count; i++)
        in[i] =
            c.parts[i].value ? c.parts[i].value : build_gap(b, &c, &c.parts[i]);
    return glow_build(b, &glow_op_concat, NULL, in, (int)c.count,
                      &(const glow_concat){.dim = c.axis});
}

/* The shape of the box that `n` writes from Start on, all copies together. */
static glow_dims
written(const glow_node *n)
{
    const glow_inserttensor *t = n->attrs;
    glow_dims d = n->in[1]->type->shape;

    if (t->count > 1)
        d.at[t->axis] *= t->count;
    return d;
}

/* True if `outer` overwrites all elements that `inner` wrote. */
static bool
covers(const glow_node *outer, const glow_node *inner)
{
    const glow_inserttensor *o = outer->attrs, *i = inner->attrs;
    glow_dims a = written(outer), c = written(inner);

    for (int k = 0; k < a.rank; k++)
        if (o->start.at[k] > i->start.at[k] ||
            o->start.at[k] + a.at[k] < i->start.at[k] + c.at[k])
            return false;
    return true;
}

/* True if `n` inserts a slice of its base at the offset of the slice. */
static bool
writes_back(const glow_node *n)
{
    const glow_inserttensor *t = n->attrs;
    const glow_node *x = glow_def(n->in[1], &glow_op_slice);
    const glow_slice *s = x ? x->attrs : NULL;

    if (!s || x->in[0] != n->in[0] || t->count > 1 ||
        !glow_dims_equal(s->start, t->start))
        return false;
    for (int i = 0; i < s->steps.rank; i++)
        if (s->steps.at[i] != 1 && x->out[0]->type->shape.at[i] > 1)
            return false;
    return true;
}

static glow_value *
fold(glow_builder *b, glow_node *n)
{
    const glow_inserttensor *t = n->attrs;
    const glow_type *type = n->out[0]->type;

    if (n->pred)
        return NULL;
    if ((glow_type_count(n->in[1]->type) == 0 || writes_back(n)) &&
        n->in[0]->type == type)
        return n->in[0];
    if (n->in[1]->type == type)
        return n->in[1];

    const glow_node *inner = glow_def(n->in[0], n->op);

    if (inner && covers(n, inner) && inner->in[0]->type == type)
        return glow_build(b, n->op, NULL, GLOW_IN(inner->in[0], n->in[1]), t);
    return fold_chain(b, n);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, &glow_op_inserttensor, fold);
}

const glow_pass glow_pass_fold_insert = {
    .name = "fold-insert",
    .summary = "turn chains of insertions into concatenations",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "Glow OptimizeInsert",
};
