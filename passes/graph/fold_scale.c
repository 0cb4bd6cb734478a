/*
 * fold-scale: fold affine maps behind a linear operator into its weights.
 *
 *     %c = Convolution(%x, @w, @b)
 *     %m = Mul(%c, @s)                   =>  %y = Convolution(%x, @w', @b')
 *     %y = Add(%m, @t)
 *
 * where @s and @t vary at most along the channels of the result: w' is w, the
 * filters scaled by s, and b' is s b + t, since the sum is linear in w and
 * channel o of the result depends on filter o alone.  The operators are
 *
 *     into     Convolution, ConvTranspose, FullyConnected, MatMul, Gemm, and
 *              BatchNormalization, whose scale and bias are such weights
 *     out of   Add, Sub, Mul, Div, Neg, MulConst, RsubConst, BatchedAdd,
 *              BatchedMul by constants, Broadcast, reshaped or transposed as
 *              they may be, and BatchNormalization
 *
 * in a chain of any length and mix, computed in double and rounded once.  The
 * map may commute with operators in between: layout operators always, Relu,
 * LeakyRelu and MaxPool if the scale is positive, means and padding by zeros if
 * there is no shift (affine_move.c has the list).
 *
 * Frameworks write normalization, its scale and the bias as separate layers;
 * importers wrap them into transposes, which layout passes remove first.
 *
 * Weights must be constants, except for shifts alone; results in between must
 * have no other user; no node may have a predicate.  Weights whose kind cannot
 * represent the scaled values are left alone (float16 that overflows or loses
 * digits).  Other users of a constant keep the original.  Afterwards no such
 * arithmetic follows such an operator, and there are no more constants than
 * before.
 *
 * A division by other numbers than powers of two stays if a discontinuous
 * operator follows (glow/reach.h).  Multiplying before summing changes the last
 * bits.  Glow computes the scales in float and folds into Convolution alone.  A
 * BatchNormalization that is the identity except for its epsilon stays, as in
 * Glow.
 */

#include "passes/graph/common/linear.h"

#include <math.h>

#define MOST_MOVED 8 /* nodes between the linear operator and a folded node */

/* The chain of nodes after a linear operator. */

typedef struct chain {
    glow_pass_run *run;
    glow_node *n; /* the linear operator */
    const linear *linear;
    affine map;      /* composition of the folded nodes, from its result on */
    affine next;     /* the map of the next node */
    glow_node *last; /* the last folded node; NULL: none */
    int moved;       /* nodes of `path` before `last` */
    glow_node *path[MOST_MOVED];
    int n_path;
} chain;

/*
 * True if c->next commutes with all nodes of the path, and the weights are
 * known where it scales.
 */
static bool
reaches(const chain *c)
{
    if (!(c->linear->any_weights && glow_affine_is_shift(&c->next)) &&
        !glow_affine_is_known(c->n->in[1]))
        return false;
    for (int i = 0; i < c->n_path; i++)
        if (!glow_affine_moves(&c->next, c->path[i]))
            return false;
    return true;
}

/*
 * Adds `u`, a user of `v` with channels along `axis`, to the folded nodes;
 * false if it cannot be.
 */
static bool
take(chain *c, glow_node *u, const glow_value *v, int axis)
{
    glow_affine_clear(&c->next);
    if (!glow_affine_then(&c->next, u, v, axis) ||
        glow_affine_must_divide(&c->next, c->run, u) || !reaches(c))
        return false;
    glow_affine_append(&c->map, &c->next);
    c->last = u;
    c->moved = c->n_path;
    return true;
}

static void
follow(chain *c)
{
    glow_value *v = c->n->out[0];
    int axis = c->linear->axis(c->n);

    for (glow_node *u; axis >= 0 && (u = glow_linear_only_user(v));
         v = u->out[0]) {
        if (glow_affine_operand(u) == v) {
            if (!take(c, u, v, axis))
                return;
        } else if (glow_affine_may_move(u) && c->n_path < MOST_MOVED) {
            axis = glow_affine_axis_after(u, axis);
            c->path[c->n_path++] = u;
        } else {
            return;
        }
    }
}

/* Rebuilding. */

/*
 * The bias after the map; NULL if none is needed, or, with *ok false, if it
 * cannot be built.
 */
static glow_value *
new_bias(glow_arena *a, glow_builder *b, const chain *c, bool *ok)
{
    const glow_node *n = c->n;
    double *x = GLOW_NEW_ARRAY(a, double, c->map.channels + 1);
    glow_value *bias;

    *ok = true;
    if ((n->n_in < 3 || !n->in[2]) && glow_affine_is_scale(&c->map))
        return NULL;
    *ok = glow_linear_bias(n, c->map.channels, x);
    if (!*ok)
        return NULL;
    for (int64_t i = 0; i < c->map.channels; i++)
        x[i] = x[i] * c->map.scale[i] + c->map.shift[i];
    bias = glow_affine_constant(b, "bias", n->out[0]->type->elem, x,
                                c->map.channels);
    *ok = bias;
    return bias;
}

/*
 * Builds the operator with mapped weights, and the nodes of the path after it.
 */
static glow_value *
rebuild(glow_arena *a, glow_builder *b, const chain *c)
{
    const glow_node *n = c->n;
    glow_value *w = n->in[1];
    bool ok;
    glow_value *bias = new_bias(a, b, c, &ok), *v;

    if (ok && !glow_affine_is_shift(&c->map))
        w = glow_affine_scaled(b, w, c->linear->results(n), c->map.scale);
    if (!ok || !w) {
        if (bias)
            glow_storage_erase(bias->storage);
        return NULL;
    }
    v = c->linear->again(b, n, n->in[0], w, bias);
    for (int i = 0; i < c->moved; i++)
        v = glow_linear_copy(b, c->path[i], v);
    return v;
}

/* Erases `n` and its operands upwards, to `top`. */
static void
erase_up_to(glow_node *n, const glow_node *top)
{
    while (n) {
        glow_value *v = n == top ? NULL : glow_affine_operand(n);

        if (!v && n != top)
            v = n->in[0];
        glow_node_erase(n);
        n = v ? v->def : NULL;
    }
}

/*
 * Finds the chain that folds into `c->n` and builds the result; NULL if it is
 * empty.
 */
static glow_value *
find_and_build(glow_pass_run *run, glow_builder *b, chain *c)
{
    glow_arena *a = glow_arena_new();
    int axis = c->linear->axis(c->n);
    int64_t channels = c->n->out[0]->type->shape.at[axis];
    glow_value *v = NULL;

    c->map = glow_affine_new(a, channels);
    c->next = glow_affine_new(a, channels);
    glow_affine_clear(&c->map);
    follow(c);
    if (c->last && glow_run_may_rewrite(run)) {
        glow_builder_at(b, c->n);
        glow_builder_fuses(b, c->last);
        v = rebuild(a, b, c);
        if (!v)
            glow_linear_refuse(run, c->n);
    }
    glow_arena_free(a);
    return v;
}

/* Folds the chain after `n` into it; returns the node to continue from. */
static glow_node *
fold(glow_pass_run *run, glow_builder *b, glow_node *n)
{
    chain c = {.run = run, .n = n, .linear = glow_linear_of(n)};
    glow_value *v;
    const char *name;

    if (!c.linear || n->pred || !glow_linear_has_channels(n) ||
        !glow_linear_only_user(n->out[0]))
        return n;
    v = find_and_build(run, b, &c);
    if (!v)
        return n;
    name = c.last->name;
    glow_replace_uses(c.last->out[0], v);
    erase_up_to(c.last, n);
    glow_node_rename(v->def, name);
    return v->def;
}

/* True for a batch normalization that is the identity up to a rounding. */
static bool
is_idle(const glow_node *n)
{
    const glow_batchnormalization *bn = GLOW_AS(batchnormalization, n);
    const glow_type *t;
    bool idle;

    if (!bn || n->pred || n->out[0]->type != n->in[0]->type)
        return false;
    t = n->in[0]->type;

    glow_arena *a = glow_arena_new();
    affine m = glow_affine_new(a, t->shape.at[bn->channel_idx]);

    glow_affine_clear(&m);
    idle = glow_affine_then(&m, n, n->in[0], bn->channel_idx) &&
           glow_affine_is_scale(&m);
    for (int64_t c = 0; idle && c < m.channels; c++)
        idle = fabs(m.scale[c] - 1) <= glow_kind_get(t->elem)->epsilon / 4;
    glow_arena_free(a);
    return idle;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_builder *b =
        glow_builder_new(glow_run_scratch(pass), f, glow_run_pass(pass)->name);
    glow_result result = GLOW_UNCHANGED;

    for (glow_node *n = f->first, *now; n; n = now->next) {
        now = fold(pass, b, n);
        if (glow_builder_failed(b))
            return GLOW_FAILED;
        if (now != n)
            result = GLOW_CHANGED;
        if (is_idle(now) && glow_run_may_rewrite(pass)) {
            glow_replace_uses(now->out[0], now->in[0]);
            result = GLOW_CHANGED;
        }
    }
    if (result == GLOW_CHANGED)
        glow_erase_unused(f);
    return result;
}

const glow_pass glow_pass_fold_scale = {
    .name = "fold-scale",
    .summary = "fold affine maps behind linear operators into their weights",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .source = "Jacob et al., arXiv:1712.05877, section 3.2; TVM FoldScaleAxis",
};
