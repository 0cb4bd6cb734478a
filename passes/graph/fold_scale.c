/*
 * fold-scale: let weights do the arithmetic that follows them.
 *
 *     %c = Convolution(%x, @w, @b)
 *     %m = Mul(%c, @s)                   =>  %y = Convolution(%x, @w', @b')
 *     %y = Add(%m, @t)
 *
 * where @s and @t are numbers that differ along the channels of the result at
 * most: w' is w, the filters scaled by s, and b' is s b + t, since the sum is
 * linear in w and channel o of the result depends on filter o alone.  What folds
 * so is
 *
 *     into     Convolution, ConvTranspose, FullyConnected, MatMul, Gemm, and
 *              BatchNormalization, whose scale and bias are such weights
 *     out of   Add, Sub, Mul, Div, Neg, MulConst, RsubConst, BatchedAdd,
 *              BatchedMul by constants, Broadcast, reshaped or transposed as
 *              they may be, and BatchNormalization
 *
 * as a chain of any length and mix, computed in double and rounded once.  The
 * scale goes through what stands in between where that changes nothing: shapes
 * always, Relu, LeakyRelu and MaxPool if it is positive, means and padding by
 * zeros if nothing but a scale (affine_move.c has the list).
 *
 * Frameworks write normalization, its scale and the bias as separate layers;
 * importers wrap them into transposes, which layout passes take out first.
 *
 * Weights must be constants, though not for what only shifts; results in between
 * must have no other user; no node may have a predicate.  Weights are left alone
 * whose kind cannot hold them scaled (halves that overflow or lose digits).
 * Constants that others use stay as they are for them.  Afterwards no such
 * arithmetic follows such an operator, and constants are no more than before.
 *
 * Multiplying before summing changes the last bits.  Glow computes the scales in
 * float and folds into Convolution alone; it keeps a BatchNormalization whose
 * epsilon is all that parts it from doing nothing, and so does this.
 */

#include "passes/graph/affine.h"

#include <math.h>

#define MOST_MOVED 8 /* nodes between the weights and what folds into them */

/* Operators that have weights. */

/* Filter [O, kernel.., C / Group] */
static affine_layout
convolution_layout(const glow_node *n)
{
    glow_dims f = n->in[1]->type->shape;
    int64_t count = glow_dims_count(f);

    return (affine_layout){count, count / f.at[0], f.at[0]};
}

/* Filter [C, kernel.., O / Group] */
static affine_layout
convtranspose_layout(const glow_node *n)
{
    const glow_convtranspose *t = n->attrs;
    glow_dims f = n->in[1]->type->shape;

    return (affine_layout){glow_dims_count(f) / t->group, 1, f.at[f.rank - 1]};
}

/* [.., N]: weights of a product, a vector for each channel. */
static affine_layout
columns_layout(const glow_node *n)
{
    glow_dims w = n->in[1]->type->shape;

    return (affine_layout){glow_dims_count(w), 1, w.at[w.rank - 1]};
}

static affine_layout
gemm_layout(const glow_node *n)
{
    const glow_gemm *g = n->attrs;
    glow_dims w = n->in[1]->type->shape;

    return g->transpose_b ? (affine_layout){w.at[0] * w.at[1], w.at[1], w.at[0]}
                          : columns_layout(n);
}

static int
last_axis(const glow_node *n)
{
    return n->out[0]->type->shape.rank - 1;
}

static int
batchnorm_axis(const glow_node *n)
{
    const glow_batchnormalization *bn = n->attrs;

    return bn->channel_idx;
}

/* The operator again, with other weights, and a bias unless that is NULL. */

static glow_value *
same_again(glow_builder *b, const glow_node *n, glow_value *w, glow_value *bias)
{
    glow_value *in[5] = {n->in[0], w, bias};

    for (int i = 3; i < n->n_in; i++)
        in[i] = n->in[i];
    return glow_build(b, n->op, NULL, in, n->n_in, n->attrs);
}

static glow_value *
matmul_again(glow_builder *b, const glow_node *n, glow_value *w,
             glow_value *bias)
{
    if (!bias)
        return GLOW_BUILD_PLAIN(b, matmul, GLOW_IN(n->in[0], w));
    return GLOW_BUILD(b, fullyconnected, GLOW_IN(n->in[0], w, bias), .axis = 1);
}

static glow_value *
gemm_again(glow_builder *b, const glow_node *n, glow_value *w, glow_value *bias)
{
    glow_gemm g = *(const glow_gemm *)n->attrs;

    if (bias)
        bias = GLOW_BUILD(b, broadcast, GLOW_IN(bias), .axis = 1,
                          .target_dim = n->out[0]->type->shape);
    g.beta = 1;
    return glow_build(b, n->op, NULL, GLOW_IN(n->in[0], w, bias), &g);
}

static const struct linear {
    const glow_op *op;
    affine_layout (*layout)(const glow_node *n);
    int (*axis)(const glow_node *n); /* of the channels of the result */
    glow_value *(*again)(glow_builder *b, const glow_node *n, glow_value *w,
                         glow_value *bias);
    bool any_weights; /* may be unknown if they are not scaled */
} linears[] = {
    {&glow_op_batchnormalization, columns_layout, batchnorm_axis, same_again,
     true},
    {&glow_op_convolution, convolution_layout, last_axis, same_again, true},
    {&glow_op_convtranspose, convtranspose_layout, last_axis, same_again, true},
    {&glow_op_fullyconnected, columns_layout, last_axis, same_again, true},
    {&glow_op_gemm, gemm_layout, last_axis, gemm_again, false},
    {&glow_op_matmul, columns_layout, last_axis, matmul_again, false},
};

static const struct linear *
linear_for(const glow_node *n)
{
    for (size_t i = 0; i < sizeof linears / sizeof linears[0]; i++)
        if (linears[i].op == n->op)
            return &linears[i];
    return NULL;
}

/* What follows one. */

typedef struct chain {
    glow_node *n; /* with the weights */
    const struct linear *linear;
    affine map;      /* all that folds, from its result on */
    affine next;     /* what may fold next */
    glow_node *last; /* the last node that does; NULL: none */
    int moved;       /* nodes of `path` before that one */
    glow_node *path[MOST_MOVED];
    int n_path;
} chain;

/* Can what comes next be done before all of the path? */
static bool
reaches(const chain *c)
{
    if (!(c->linear->any_weights && affine_is_shift(&c->next)) &&
        !affine_is_known(c->n->in[1]))
        return false;
    for (int i = 0; i < c->n_path; i++)
        if (!affine_moves(&c->next, c->path[i]))
            return false;
    return true;
}

/* Adds `u`, a user of `v` whose channels are `axis`, to what folds. */
static bool
take(chain *c, glow_node *u, const glow_value *v, int axis)
{
    affine_clear(&c->next);
    if (!affine_then(&c->next, u, v, axis) || !reaches(c))
        return false;
    affine_append(&c->map, &c->next);
    c->last = u;
    c->moved = c->n_path;
    return true;
}

/* The one node that uses `v`, or NULL. */
static glow_node *
only_user(const glow_value *v)
{
    glow_node *u = glow_has_one_use(v) ? v->uses->user : NULL;

    return u && !u->pred && u->n_out == 1 ? u : NULL;
}

static void
follow(chain *c)
{
    glow_value *v = c->n->out[0];
    int axis = c->linear->axis(c->n);

    for (glow_node *u; axis >= 0 && (u = only_user(v)); v = u->out[0]) {
        if (affine_operand(u) == v) {
            if (!take(c, u, v, axis))
                return;
        } else if (affine_may_move(u) && c->n_path < MOST_MOVED) {
            axis = affine_axis_after(u, axis);
            c->path[c->n_path++] = u;
        } else {
            return;
        }
    }
}

/* Rebuilding. */

/* The bias after the map; false if that is not known. */
static bool
shift_bias(glow_arena *a, const chain *c, double *out)
{
    const glow_value *bias = c->n->n_in > 2 ? c->n->in[2] : NULL;
    const glow_gemm *g = GLOW_AS(gemm, c->n);
    double beta = g ? (double)g->beta : 1;
    double *old = GLOW_NEW_ARRAY(a, double, c->map.channels + 1);

    if (bias &&
        !affine_numbers(bias, bias->type->shape.rank - 1, c->map.channels, old))
        return false;
    for (int64_t i = 0; i < c->map.channels; i++)
        out[i] = beta * old[i] * c->map.scale[i] + c->map.shift[i];
    return true;
}

static glow_value *
new_bias(glow_arena *a, glow_builder *b, const chain *c, bool *ok)
{
    const glow_node *n = c->n;
    double *x = GLOW_NEW_ARRAY(a, double, c->map.channels + 1);
    glow_value *bias;

    *ok = true;
    if ((n->n_in < 3 || !n->in[2]) && affine_is_scale(&c->map))
        return NULL;
    *ok = shift_bias(a, c, x);
    bias = *ok ? affine_constant(b, "bias", n->out[0]->type->elem, x,
                                 c->map.channels)
               : NULL;
    *ok = bias;
    return bias;
}

/* The weights after the map, the operator, and what stood in between. */
static glow_value *
rebuild(glow_arena *a, glow_builder *b, const chain *c)
{
    const glow_node *n = c->n;
    glow_value *w = n->in[1];
    bool ok;
    glow_value *bias = new_bias(a, b, c, &ok), *v;

    if (ok && !affine_is_shift(&c->map))
        w = affine_scaled(b, w, c->linear->layout(n), c->map.scale);
    if (!ok || !w) {
        if (bias)
            glow_storage_erase(bias->storage);
        return NULL;
    }
    v = c->linear->again(b, n, w, bias);
    for (int i = 0; i < c->moved; i++) {
        const glow_node *p = c->path[i];

        v = glow_build(b, p->op,
                       p->op->traits & GLOW_STATED ? p->out[0]->type : NULL, &v,
                       1, p->attrs);
    }
    return v;
}

/* Erases `n`, and upwards what only it used, as far as `top`. */
static void
erase_up_to(glow_node *n, const glow_node *top)
{
    while (n) {
        glow_value *v = n == top ? NULL : affine_operand(n);

        if (!v && n != top)
            v = n->in[0];
        glow_node_erase(n);
        n = v ? v->def : NULL;
    }
}

static bool
has_channels(const glow_node *n)
{
    const glow_type *t = n->out[0]->type;

    return glow_is_float(t->elem) && t->strides.rank == 0 &&
           glow_type_count(t) > 0 && glow_type_count(n->in[1]->type) > 0;
}

/* Finds what folds into `c->n` and builds the result; NULL: nothing does. */
static glow_value *
find_and_build(glow_pass_run *run, glow_builder *b, chain *c)
{
    glow_arena *a = glow_arena_new();
    int axis = c->linear->axis(c->n);
    int64_t channels = c->n->out[0]->type->shape.at[axis];
    glow_value *v = NULL;

    c->map = affine_new(a, channels);
    c->next = affine_new(a, channels);
    affine_clear(&c->map);
    follow(c);
    if (c->last && glow_run_may_rewrite(run)) {
        glow_builder_at(b, c->n);
        glow_builder_fuses(b, c->last);
        v = rebuild(a, b, c);
        if (!v)
            glow_run_remark(run, c->n, false,
                            "%s could not hold the weights scaled",
                            glow_kind_get(c->n->out[0]->type->elem)->name);
    }
    glow_arena_free(a);
    return v;
}

/* Folds what can be into `n`; returns the node to go on from. */
static glow_node *
fold(glow_pass_run *run, glow_builder *b, glow_node *n)
{
    chain c = {.n = n, .linear = linear_for(n)};
    glow_value *v;
    const char *name;

    if (!c.linear || n->pred || !has_channels(n) || !only_user(n->out[0]))
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

/* A batch normalization that does nothing, as far as the kind can tell. */
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
    affine m = affine_new(a, t->shape.at[bn->channel_idx]);

    affine_clear(&m);
    idle = affine_then(&m, n, n->in[0], bn->channel_idx) && affine_is_scale(&m);
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
    .summary = "scale weights instead of results",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .source = "Jacob et al., arXiv:1712.05877, section 3.2; TVM FoldScaleAxis",
};
