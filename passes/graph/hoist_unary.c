/*
 * hoist-unary: hoist element-wise operators above slices and repetitions.
 *
 *     %a = Slice(%x) {first half}           %t = Tanh(%x)
 *     %b = Slice(%x) {second half}          %s = Slice(%t) {first half}
 *     %s = Tanh(%a)                     =>  %u = Slice(%t) {second half}
 *     %u = Tanh(%b)
 *
 *     Clip(Tile(%x))                    =>  Tile(Clip(%x))
 *     Max(Broadcast(%x), 0)             =>  Broadcast(Max(%x, 0))
 *
 * Element-wise operators commute with layout operators, bit for bit.
 *
 * An operator of one operand is hoisted above slices if it is the same and the
 * only user of each of two or more slices that together cover their operand, so
 * that nothing is computed in vain.  The single node may then be fused with the
 * definition of %x (fuse-epilogue).  A conversion to a wider kind stays below,
 * because slices would move more bytes.
 *
 * An operator is hoisted above Broadcast, Tile and ResizeNearest if it is their
 * only user and their result is larger than their operand; it may have several
 * operands if the others are splats.  It then computes fewer elements.
 *
 * Exporters split a product to several heads or gates and activate each, and
 * compute on repeated masks. fold-slice does the opposite if only a part is
 * used, so the two passes do not conflict.
 *
 * Glow's HoistCode does this for Tanh above slices, and its
 * RaiseClipsAboveShapeNodes for Clip above Tile.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

static bool
is_elementwise(const glow_node *n)
{
    int traits = n->op->traits;

    return traits & GLOW_PURE && traits & GLOW_ELEMENTWISE && !n->pred &&
           n->n_out == 1 && n->n_in <= GLOW_MAX_OPERANDS;
}

/*
 * The stated type of `n` for operands of this shape; NULL if its type is
 * inferred.
 */
static const glow_type *
stated(glow_builder *b, const glow_node *n, glow_dims shape)
{
    glow_type t = *n->out[0]->type;

    if (!glow_states_type(n))
        return NULL;
    t.shape = shape;
    t.strides.rank = 0;
    return glow_type_get(glow_builder_context(b), t);
}

/* Hoisting above repetition. */

static const glow_op *const repeaters[] = {
    &glow_op_broadcast,
    &glow_op_resizenearest,
    &glow_op_tile,
};

static bool
repeats(const glow_node *n)
{
    for (size_t i = 0; i < sizeof repeaters / sizeof repeaters[0]; i++)
        if (glow_is(n, repeaters[i]))
            return !n->pred && glow_type_count(n->in[0]->type) <
                                   glow_type_count(n->out[0]->type);
    return false;
}

/* The operand that is repeated, if all others are splats; or -1. */
static int
find_repeated(const glow_node *n)
{
    int found = -1;
    double x;

    for (int i = 0; i < n->n_in; i++) {
        const glow_value *v = n->in[i];

        if (v && !glow_splat_value(v, &x)) {
            if (found >= 0 || !glow_has_one_use(v) || !repeats(v->def))
                return -1;
            found = i;
        }
        if (!v)
            return -1;
    }
    return found;
}

/* The splat `v` in another shape. */
static glow_value *
reshaped_number(glow_builder *b, const glow_value *v, glow_dims shape)
{
    glow_type t = *v->type;
    glow_value like;
    double x;

    glow_splat_value(v, &x);
    t.shape = shape;
    t.strides.rank = 0;
    like = (glow_value){.type = glow_type_get(glow_builder_context(b), t)};
    return glow_build_like(b, &like, x);
}

static glow_value *
hoist_above_repeater(glow_builder *b, glow_node *n)
{
    glow_value *in[GLOW_MAX_OPERANDS];
    int at = is_elementwise(n) ? find_repeated(n) : -1;
    const glow_node *r;
    glow_value *y;

    if (at < 0)
        return NULL;
    r = n->in[at]->def;
    for (int i = 0; i < n->n_in; i++)
        in[i] = i == at ? r->in[0]
                        : reshaped_number(b, n->in[i], r->in[0]->type->shape);
    glow_builder_fuses(b, r);
    y = glow_build(b, n->op, stated(b, n, r->in[0]->type->shape), in, n->n_in,
                   n->attrs);
    return glow_build(b, r->op, glow_states_type(r) ? n->out[0]->type : NULL,
                      GLOW_IN(y), r->attrs);
}

/* Hoisting above slices. */

#define MOST_PARTS 64 /* users of the sliced value that are visited */
#define MOST_ROUNDS 8 /* slices of slices */

/* The unary operator that is the only user of the slice `s`, or NULL. */
static glow_node *
only_unary(const glow_node *s)
{
    glow_node *n;

    if (!glow_is(s, &glow_op_slice) || s->pred ||
        !glow_has_one_use(s->out[0]) ||
        ((const glow_slice *)s->attrs)->steps.rank > 0)
        return NULL;
    n = s->out[0]->uses->user;
    return is_elementwise(n) && n->n_in == 1 ? n : NULL;
}

static bool
is_wider(const glow_value *v, const glow_value *w)
{
    return glow_kind_get(v->type->elem)->bytes >
           glow_kind_get(w->type->elem)->bytes;
}

static bool
is_alike(const glow_node *n, const glow_node *m)
{
    const glow_type *s = n->out[0]->type, *t = m->out[0]->type;

    return n->op == m->op && s->elem == t->elem && s->scale == t->scale &&
           s->offset == t->offset &&
           glow_attrs_equal(glow_op_schema(n->op), n->attrs, m->attrs);
}

static bool
overlap(const glow_node *s, const glow_node *t)
{
    glow_dims at = ((const glow_slice *)s->attrs)->start;
    glow_dims to = ((const glow_slice *)t->attrs)->start;
    glow_dims a = s->out[0]->type->shape, b = t->out[0]->type->shape;

    for (int i = 0; i < a.rank; i++)
        if (at.at[i] + a.at[i] <= to.at[i] || to.at[i] + b.at[i] <= at.at[i])
            return false;
    return true;
}

/* True if the slices that a group reads are disjoint. */
static bool
are_apart(glow_node *const group[], int count)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            if (overlap(group[i]->in[0]->def, group[j]->in[0]->def))
                return false;
    return true;
}

/*
 * Collects the nodes equal to `n` on slices of `v`; 0 if these do not cover
 * `v`.
 */
static int
find_group(const glow_value *v, const glow_node *n, glow_node *group[])
{
    int count = 0, users = 0;
    int64_t elements = 0;

    GLOW_FOR_EACH_USE(u, v) {
        glow_node *m = only_unary(u->user);

        if (++users > MOST_PARTS)
            return 0;
        if (!m || m->func != n->func || !is_alike(m, n))
            continue;
        elements += glow_type_count(m->out[0]->type);
        group[count++] = m;
    }
    if (count < 2 || elements != glow_type_count(v->type) ||
        !are_apart(group, count))
        return 0;
    return count;
}

/* Builds `n` of `v`, right after the definition of `v`. */
static glow_value *
build_whole(glow_builder *b, glow_node *n, glow_value *v)
{
    glow_value *y;

    glow_builder_at(b, n);
    y = glow_build(b, n->op, stated(b, n, v->type->shape), GLOW_IN(v),
                   n->attrs);
    if (y && v->def)
        glow_node_move_after(y->def, v->def);
    else if (y)
        glow_node_move_before(y->def, n->func->first);
    return y;
}

static glow_value *
hoist_above_slices(glow_builder *b, glow_node *n)
{
    glow_node *slice = n->n_in == 1 ? glow_def(n->in[0], &glow_op_slice) : NULL;
    glow_node *group[MOST_PARTS];
    int count =
        slice && only_unary(slice) == n && !is_wider(n->out[0], n->in[0])
            ? find_group(slice->in[0], n, group)
            : 0;
    glow_value *y = count > 0 ? build_whole(b, n, slice->in[0]) : NULL;

    for (int i = 0; y && i < count; i++) {
        const glow_node *s = group[i]->in[0]->def;

        glow_builder_at(b, group[i]);
        glow_builder_fuses(b, s);
        glow_builder_replace(
            b, group[i], 0,
            glow_build(b, s->op, group[i]->out[0]->type, GLOW_IN(y), s->attrs));
    }
    return y ? glow_keep_rewritten(n) : NULL;
}

static glow_value *
hoist(glow_builder *b, glow_node *n)
{
    glow_value *v = hoist_above_repeater(b, n);

    return v ? v : hoist_above_slices(b, n);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_result result = GLOW_UNCHANGED, next = GLOW_CHANGED;

    for (int i = 0; i < MOST_ROUNDS && next == GLOW_CHANGED; i++) {
        next = glow_rewrite(pass, f, NULL, hoist);
        if (next == GLOW_CHANGED)
            glow_erase_unused(f);
        result = next == GLOW_UNCHANGED ? result : next;
    }
    return result;
}

const glow_pass glow_pass_hoist_unary = {
    .name = "hoist-unary",
    .summary = "hoist element-wise operators above slices and repetitions",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .takes_quantized = true,
    .run = run,
    .source = "Glow HoistCode, RaiseClipsAboveShapeNodes",
};
