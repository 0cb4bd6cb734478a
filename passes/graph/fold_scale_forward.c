/*
 * fold-scale-forward: fold affine maps in front of a linear operator into its
 * weights.
 *
 *     %m = Mul(%x, @s)
 *     %a = Add(%m, @t)                     =>  %y = Convolution(%x, @w', @b')
 *     %y = Convolution(%a, @w, @b)
 *
 * where @s and @t vary at most along the channels of %x. w' is w with the
 * weights of each input channel scaled by s, and b' is b plus the sum over all
 * weights of w t, each in double and rounded once.  Such maps are the
 * normalization of input images, and of networks that normalize before a layer.
 * Maps after a convolution are folded into it by fold-scale, which runs before
 * this pass.
 *
 * As there, the chain may have any length, include batch normalization, and
 * commute with rectifiers, pools and layout operators in between; intermediate
 * results must have no other users.  Padding zeros are not shifted: a
 * convolution with pads takes a scale, but no shift, and neither does a
 * transposed convolution.
 *
 * A division by other numbers than powers of two stays if a discontinuous
 * operator follows: see glow/reach.h.
 *
 * Afterwards no other such arithmetic is the input of a Convolution,
 * ConvTranspose, FullyConnected, MatMul or Gemm with constant weights.
 */

#include "passes/graph/common/linear.h"

#define MOST_MOVED 8 /* nodes between the linear operator and a folded node */

typedef struct chain {
    glow_pass_run *run;
    glow_node *n; /* with the weights */
    const linear *linear;
    affine map;    /* composition of the folded nodes, from `from` to the input,
                    * without the path */
    affine before; /* the map of the next node */
    glow_value *from;
    int moved; /* nodes of `path` that are rebuilt on `from` */
    glow_node *path[MOST_MOVED]; /* the nearest to `n` first */
    int n_path;
} chain;

static bool
reaches(const chain *c)
{
    if (!glow_affine_is_scale(&c->before) && !c->linear->shifts(c->n))
        return false;
    for (int i = 0; i < c->n_path; i++)
        if (!glow_affine_moves(&c->before, c->path[i]))
            return false;
    return true;
}

/*
 * Adds `u`, a map of `x` along `axis`, to the folded nodes; false if it cannot
 * be.
 */
static bool
take(chain *c, const glow_node *u, glow_value *x, int axis)
{
    affine now;

    glow_affine_clear(&c->before);
    if (!glow_affine_then(&c->before, u, x, axis) ||
        glow_affine_must_divide(&c->before, c->run, u) || !reaches(c))
        return false;
    glow_affine_append(&c->before, &c->map);
    now = c->before;
    c->before = c->map;
    c->map = now;
    c->from = x;
    c->moved = c->n_path;
    return true;
}

static void
follow(chain *c)
{
    glow_value *v = c->n->in[0];
    int axis = c->linear->input_axis(c->n);

    while (axis >= 0 && v->def && glow_has_one_use(v)) {
        glow_node *u = v->def;
        glow_value *x = glow_affine_operand(u);

        if (u->pred || u->n_out != 1)
            return;
        if (x) {
            if (x->type != v->type || !take(c, u, x, axis))
                return;
            v = x;
        } else if (glow_affine_may_move(u) && c->n_path < MOST_MOVED) {
            axis = glow_affine_axis_before(u, axis);
            c->path[c->n_path++] = u;
            v = u->in[0];
        } else {
            return;
        }
    }
}

/* Adds w t to each channel of the result. */
static void
add_shifts(const chain *c, const glow_tensor *w, double *bias)
{
    affine_layout in = c->linear->inputs(c->n);
    affine_layout out = c->linear->results(c->n);
    const glow_gemm *g = GLOW_AS(gemm, c->n);
    double alpha = g ? (double)g->alpha : 1;
    int64_t count = glow_type_count(w->type);

    for (int64_t i = 0; i < count; i++)
        bias[glow_affine_channel(out, i)] +=
            alpha * glow_get_double(w, i) *
            c->map.shift[glow_affine_channel(in, i)];
}

/* The bias after the map; NULL with *ok true if none is needed. */
static glow_value *
new_bias(glow_arena *a, glow_builder *b, const chain *c, bool *ok)
{
    glow_dims y = c->n->out[0]->type->shape;
    int64_t channels = y.at[c->linear->axis(c->n)];
    const glow_tensor *w = glow_constant_tensor(c->n->in[1]->storage);
    double *x = GLOW_NEW_ARRAY(a, double, channels + 1);
    glow_value *bias;

    *ok = w && glow_linear_bias(c->n, channels, x);
    if (!*ok)
        return NULL;
    add_shifts(c, w, x);
    bias =
        glow_affine_constant(b, "bias", c->n->out[0]->type->elem, x, channels);
    *ok = bias;
    return bias;
}

static glow_value *
rebuild(glow_arena *a, glow_builder *b, const chain *c)
{
    const glow_node *n = c->n;
    glow_value *w = n->in[1], *x = c->from;
    glow_value *old = n->n_in > 2 ? n->in[2] : NULL, *bias = old;
    bool ok = true;

    if (!glow_affine_is_scale(&c->map))
        bias = new_bias(a, b, c, &ok);
    if (ok && !glow_affine_is_shift(&c->map))
        w = glow_affine_scaled(b, w, c->linear->inputs(n), c->map.scale);
    if (!ok || !w) {
        if (bias && bias != old)
            glow_storage_erase(bias->storage);
        return NULL;
    }
    for (int i = c->moved; i-- > 0;)
        x = glow_linear_copy(b, c->path[i], x);
    if (bias == old)
        return glow_build(b, n->op, NULL,
                          n->n_in > 2 ? (glow_value *[]){x, w, bias}
                                      : (glow_value *[]){x, w},
                          n->n_in, n->attrs);
    return c->linear->again(b, n, x, w, bias);
}

static glow_value *
fold(glow_pass_run *run, glow_builder *b, chain *c)
{
    glow_arena *a = glow_arena_new();
    glow_dims x = c->n->in[0]->type->shape;
    int64_t channels = x.at[c->linear->input_axis(c->n)];
    glow_value *v = NULL;

    c->map = glow_affine_new(a, channels);
    c->before = glow_affine_new(a, channels);
    glow_affine_clear(&c->map);
    follow(c);
    if (c->from && glow_run_may_rewrite(run)) {
        glow_builder_at(b, c->n);
        v = rebuild(a, b, c);
        if (!v)
            glow_linear_refuse(run, c->n);
    }
    glow_arena_free(a);
    return v;
}

static bool
is_candidate(const glow_node *n, const linear *l)
{
    return l && l->inputs && !n->pred && glow_linear_has_channels(n) &&
           glow_affine_is_known(n->in[1]) && l->input_axis(n) >= 0 &&
           n->in[0]->def;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_builder *b =
        glow_builder_new(glow_run_scratch(pass), f, glow_run_pass(pass)->name);
    glow_result result = GLOW_UNCHANGED;

    GLOW_FOR_EACH_NODE(n, f) {
        chain c = {.run = pass, .n = n, .linear = glow_linear_of(n)};
        glow_value *v = is_candidate(n, c.linear) ? fold(pass, b, &c) : NULL;
        const char *name = n->name;

        if (glow_builder_failed(b))
            return GLOW_FAILED;
        if (!v)
            continue;
        glow_replace_uses(n->out[0], v);
        glow_node_erase(n);
        glow_node_rename(v->def, name);
        result = GLOW_CHANGED;
    }
    if (result == GLOW_CHANGED)
        glow_erase_unused(f);
    return result;
}

const glow_pass glow_pass_fold_scale_forward = {
    .name = "fold-scale-forward",
    .summary = "fold affine maps in front of linear operators into weights",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .source = "TVM FoldScaleAxis, forward",
};
