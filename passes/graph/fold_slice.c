/*
 * fold-slice: move a Slice above the operator that defines its operand.
 *
 *     slice of a Slice          one slice
 *     slice of a Concat         of the operand that has it; a smaller Concat
 *                               where it spans several
 *     slice of a Splat          a smaller Splat
 *     slice of a Broadcast      a smaller one, of a slice where axes are cut
 *     slice of a Tile           of the copy that has it, or fewer copies
 *     slice of a Pad            of the padded value; a splat of the padding; a
 *                               Pad of other pads
 *     slice of an InsertTensor  of Big or of Small, whichever has it
 *     slice of a Gather         gather only those indices
 *     slice of a BatchNormalization, or of f(x), element by element, that
 *     nothing else uses         the same operator on the slice
 *
 * A slice of all elements is its operand.  Slicing first saves work and memory.
 * If the producer has other users, and so stays, only rewrites that do not
 * increase the number of nodes are applied; if f has several operands, all but
 * one must be splats or constants, whose slices cost nothing.
 *
 * The pass terminates: each rewrite moves a slice towards the definitions, or
 * drops it.  Slices above a transpose are left to sink-transpose, slices that
 * are concatenated to fold-concat, and slices of constants to fold-constants.
 *
 * Slices come from Split in all of its forms, from exporters that pad and crop,
 * and from models that compute whole sequences and use one element.  Glow's
 * EliminateConcatSlice takes only a slice that is exactly one operand, and its
 * OptimizeSplat slices only Splat.
 */

#include "glow/ops.h"
#include "glow/pass.h"
#include "passes/graph/common/box.h"

/*
 * For each producer: builds the box `p` of the result of `x`, or returns NULL.
 */
typedef glow_value *(*part_fn)(glow_builder *b, const glow_node *x, box p);

static glow_value *
part_of_slice(glow_builder *b, const glow_node *x, box p)
{
    box first = glow_box_of(x);

    for (int i = 0; i < p.size.rank; i++) {
        p.start.at[i] = first.start.at[i] + p.start.at[i] * first.step.at[i];
        if (p.size.at[i] > 1)
            p.step.at[i] *= first.step.at[i];
    }
    return glow_box_take(b, x->in[0], &p);
}

/* Operands first, ..., end - 1 of a Concat, which contain the box. */
typedef struct span {
    int first, end;
    int64_t at; /* offset of the first of them */
    int64_t size;
} span;

/*
 * Prefix sums of the sizes of the operands of each Concat, for a binary search
 * of the operand of a slice.
 */
typedef struct offsets {
    const int64_t **of; /* by the id of the Concat */
    uint32_t count;
} offsets;

static const int64_t *
offsets_of(glow_builder *b, const glow_node *x, int axis)
{
    offsets *known = glow_builder_user(b);
    int64_t *at;

    if (x->id < known->count && known->of[x->id])
        return known->of[x->id];
    at = GLOW_NEW_ARRAY(glow_builder_scratch(b), int64_t, x->n_in + 1);
    for (int i = 0; i < x->n_in; i++)
        at[i + 1] = at[i] + x->in[i]->type->shape.at[axis];
    if (x->id < known->count)
        known->of[x->id] = at;
    return at;
}

/* The operand that contains element `i`, by binary search. */
static int
find_operand(const int64_t *at, int count, int64_t i)
{
    int low = 0;

    while (count > 1) {
        int half = count / 2;

        if (at[low + half] <= i)
            low += half;
        count -= half;
    }
    return low;
}

static span
find_span(glow_builder *b, const glow_node *x, int axis, int64_t from,
          int64_t to)
{
    const int64_t *at = offsets_of(b, x, axis);
    int first = find_operand(at, x->n_in, from);
    int end = find_operand(at, x->n_in, to) + 1;

    return (span){first, end, at[first], at[end] - at[first]};
}

enum { MOST_SPANNED = 8 }; /* operands, if the larger Concat stays */

static glow_value *
part_of_concat(glow_builder *b, const glow_node *x, box p)
{
    const glow_concat *c = x->attrs;
    span s = find_span(b, x, c->dim, glow_box_least(&p, c->dim),
                       glow_box_last(&p, c->dim));
    glow_dims shape = x->out[0]->type->shape;
    int count = s.end - s.first;

    p.start.at[c->dim] -= s.at;
    if (count == 1)
        return glow_box_take(b, x->in[s.first], &p);
    shape.at[c->dim] = s.size;
    if (count == x->n_in)
        return NULL;
    if (!glow_has_one_use(x->out[0]) &&
        (count > MOST_SPANNED || !glow_box_is_all(&p, shape)))
        return NULL;

    glow_value *v =
        glow_build(b, x->op, NULL, x->in + s.first, count, x->attrs);

    return v ? glow_box_take(b, v, &p) : NULL;
}

static glow_value *
part_of_splat(glow_builder *b, const glow_node *x, box p)
{
    glow_type t = *x->out[0]->type;

    t.shape = p.size;
    return glow_build(b, &glow_op_splat,
                      glow_type_get(glow_builder_context(b), t), NULL, 0,
                      x->attrs);
}

static glow_value *
part_of_broadcast(glow_builder *b, const glow_node *x, box p)
{
    const glow_broadcast *old = x->attrs;
    glow_dims in = x->in[0]->type->shape;
    glow_broadcast new = {.axis = old->axis, .target_dim = p.size};
    box q = {in, in, in};

    for (int i = 0; i < in.rank; i++) {
        int axis = old->axis + i;
        bool repeats = in.at[i] == 1;

        q.start.at[i] = repeats ? 0 : p.start.at[axis];
        q.step.at[i] = repeats ? 1 : p.step.at[axis];
        q.size.at[i] = repeats ? 1 : p.size.at[axis];
    }
    if (!glow_box_is_all(&q, in) && !glow_has_one_use(x->out[0]))
        return NULL;

    glow_value *v = glow_box_take(b, x->in[0], &q);

    return v ? glow_build(b, x->op, NULL, GLOW_IN(v), &new) : NULL;
}

static glow_value *
part_of_tile(glow_builder *b, const glow_node *x, box p)
{
    const glow_tile *t = x->attrs;
    glow_tile fewer = *t;
    int64_t dim = x->in[0]->type->shape.at[t->axis];
    int64_t *start = &p.start.at[t->axis], *size = &p.size.at[t->axis];
    bool one =
        glow_box_least(&p, t->axis) / dim == glow_box_last(&p, t->axis) / dim;

    *start %= dim;
    if (one)
        return glow_box_take(b, x->in[0], &p);
    if (*start != 0 || *size % dim != 0 || p.step.at[t->axis] != 1)
        return NULL;
    fewer.count = *size / dim;
    *size = dim;
    if (!glow_box_is_all(&p, x->in[0]->type->shape) &&
        !glow_has_one_use(x->out[0]))
        return NULL;

    glow_value *v = glow_box_take(b, x->in[0], &p);

    return v ? glow_build(b, x->op, NULL, GLOW_IN(v), &fewer) : NULL;
}

static glow_value *
build_frame(glow_builder *b, const glow_node *x, const box *p)
{
    const glow_pad *pad = x->attrs;
    glow_type t = *x->out[0]->type;

    t.shape = p->size;
    return glow_build(b, &glow_op_splat,
                      glow_type_get(glow_builder_context(b), t), NULL, 0,
                      &(const glow_splat){.value = pad->value});
}

static glow_value *
part_of_pad(glow_builder *b, const glow_node *x, box p)
{
    const glow_pad *pad = x->attrs;
    glow_dims in = x->in[0]->type->shape, at = in;
    int64_t pads[2 * GLOW_MAX_RANK] = {0};
    glow_pad new = *pad;

    for (int i = 0; i < in.rank; i++)
        at.at[i] = pad->pads.at[i];

    box_relation r = glow_box_relate(&p, at, in);

    p = glow_box_moved(p, at);
    if (r.inside)
        return glow_box_take(b, x->in[0], &p);
    if (r.outside && pad->mode == GLOW_PAD_CONSTANT)
        return build_frame(b, x, &p);
    if (!r.by_one)
        return NULL;
    for (int i = 0; i < in.rank; i++) {
        pads[i] = -p.start.at[i];
        pads[in.rank + i] = p.start.at[i] + p.size.at[i] - in.at[i];
        if (pads[i] < -in.at[i] || pads[in.rank + i] < -in.at[i])
            return NULL;
    }
    new.pads = (glow_ints){.count = 2 * in.rank, .at = pads};
    return glow_build(b, x->op, NULL, GLOW_IN(x->in[0]), &new);
}

static glow_value *
part_of_inserttensor(glow_builder *b, const glow_node *x, box p)
{
    const glow_inserttensor *t = x->attrs;
    glow_dims small = x->in[1]->type->shape, all = small;

    if (t->count > 1)
        all.at[t->axis] *= t->count;
    if (glow_box_relate(&p, t->start, all).outside)
        return glow_box_take(b, x->in[0], &p);
    if (!glow_box_relate(&p, t->start, all).inside)
        return NULL;
    p = glow_box_moved(p, t->start);
    if (t->count > 1) {
        int64_t dim = small.at[t->axis];

        if (glow_box_least(&p, t->axis) / dim !=
            glow_box_last(&p, t->axis) / dim)
            return NULL;
        p.start.at[t->axis] %= dim;
    }
    return glow_box_take(b, x->in[1], &p);
}

/*
 * Only axes of Indices are cut, since slices of Data would copy large tensors.
 */
static glow_value *
part_of_gather(glow_builder *b, const glow_node *x, box p)
{
    const glow_gather *g = x->attrs;
    glow_dims data = x->in[0]->type->shape, at = x->in[1]->type->shape;
    box q = {at, at, at};

    if (g->batch_dims > 0 || !glow_has_one_use(x->out[0]))
        return NULL;
    for (int i = 0; i < p.size.rank; i++) {
        int j = i - g->axis;

        if (j >= 0 && j < at.rank) {
            q.start.at[j] = p.start.at[i];
            q.step.at[j] = p.step.at[i];
            q.size.at[j] = p.size.at[i];
        } else if (!glow_box_is_whole(&p, i,
                                      data.at[j < 0 ? i : i - at.rank + 1])) {
            return NULL;
        }
    }

    glow_value *v = glow_box_take(b, x->in[1], &q);

    return v ? glow_build(b, x->op, NULL, GLOW_IN(x->in[0], v), g) : NULL;
}

/* True if a slice of `v` is a constant after fold-constants. */
static bool
is_constant_like(const glow_value *v)
{
    return glow_is_constant(v) || (v->def && v->def->op == &glow_op_splat);
}

/* The type of the slice of the result of `x`; NULL if it is inferred. */
static const glow_type *
stated_part(glow_builder *b, const glow_node *x, const box *p)
{
    glow_type t = *x->out[0]->type;

    t.shape = p->size;
    return glow_states_type(x) ? glow_type_get(glow_builder_context(b), t)
                               : NULL;
}

/*
 * Scale, Bias, Mean and Var are cut only if they are constants, so that no
 * nodes are added.
 */
static glow_value *
part_of_batchnormalization(glow_builder *b, const glow_node *x, box p)
{
    int c = ((const glow_batchnormalization *)x->attrs)->channel_idx;
    box q = {{1, {p.start.at[c]}}, {1, {p.step.at[c]}}, {1, {p.size.at[c]}}};
    bool is_cut = !glow_box_is_whole(&p, c, x->in[0]->type->shape.at[c]);
    glow_value *in[GLOW_MAX_OPERANDS];

    if (!glow_has_one_use(x->out[0]))
        return NULL;
    for (int i = 1; i < x->n_in; i++)
        if (is_cut && !is_constant_like(x->in[i]))
            return NULL;
    in[0] = glow_box_take(b, x->in[0], &p);
    for (int i = 1; i < x->n_in; i++)
        in[i] = glow_box_take(b, x->in[i], &q);
    return glow_build(b, x->op, stated_part(b, x, &p), in, x->n_in, x->attrs);
}

static const struct {
    const glow_op *op;
    part_fn part;
} producers[] = {
    {&glow_op_batchnormalization, part_of_batchnormalization},
    {&glow_op_broadcast, part_of_broadcast},
    {&glow_op_concat, part_of_concat},
    {&glow_op_gather, part_of_gather},
    {&glow_op_inserttensor, part_of_inserttensor},
    {&glow_op_pad, part_of_pad},
    {&glow_op_slice, part_of_slice},
    {&glow_op_splat, part_of_splat},
    {&glow_op_tile, part_of_tile},
};

/* f(.., x, ..), element by element, of which only the slice is used. */
static glow_value *
part_of_elementwise(glow_builder *b, const glow_node *x, box p)
{
    glow_value *in[GLOW_MAX_OPERANDS];
    int varying = 0;

    if (!(x->op->traits & GLOW_ELEMENTWISE) || !(x->op->traits & GLOW_PURE) ||
        x->n_out != 1 || x->n_in > GLOW_MAX_OPERANDS ||
        !glow_has_one_use(x->out[0]) ||
        glow_dims_count(p.size) >= glow_type_count(x->out[0]->type))
        return NULL;
    for (int i = 0; i < x->n_in; i++)
        varying += x->in[i] && !is_constant_like(x->in[i]);
    if (varying != 1)
        return NULL;
    for (int i = 0; i < x->n_in; i++)
        in[i] = x->in[i] ? glow_box_take(b, x->in[i], &p) : NULL;
    return glow_build(b, x->op, stated_part(b, x, &p), in, x->n_in, x->attrs);
}

static glow_value *
fold(glow_builder *b, glow_node *n)
{
    const glow_node *x = n->in[0]->def;
    box p = glow_box_of(n);

    if (!x || n->pred || x->pred || glow_dims_count(p.size) == 0)
        return NULL;

    part_fn part = part_of_elementwise;

    for (size_t i = 0; i < sizeof producers / sizeof producers[0]; i++)
        if (producers[i].op == x->op)
            part = producers[i].part;
    glow_builder_fuses(b, x);
    return part(b, x, p);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    offsets known = {.count = f->next_id};

    known.of =
        GLOW_NEW_ARRAY(glow_run_scratch(pass), const int64_t *, known.count);
    return glow_rewrite_with(pass, f, &glow_op_slice, fold, &known);
}

const glow_pass glow_pass_fold_slice = {
    .name = "fold-slice",
    .summary = "move a Slice above the operator that defines its operand",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .takes_quantized = true,
    .run = run,
    .source = "Glow EliminateConcatSlice, OptimizeSplat; XLA's algebraic "
              "simplifier, slices",
};
