/*
 * fake-quantize: round the values of a network that is trained as `quantize` will.
 *
 *     %c = Convolution(%x, @w, @b)
 *         =>
 *     %w.largest = BatchedReduceMax(Abs(@w)) of each channel
 *     %s = Broadcast(%w.largest / 127)
 *     %r = Dequantize(Quantize(@w / %s) : i8[S:1 O:0]) * %s
 *     %d = Convolution(%x, %r, @b)
 *     %c = Dequantize(Quantize(%d) : i8[S O])              ranges { @main %c: .. }
 *
 * Quantization-aware training: gradients pass the pairs straight through (the
 * derivative of Dequantize), so that the weights move to where the rounding does least
 * harm.  The pass stands before append-loss and differentiate.
 *
 * The pass quantizes a copy of the module, in which weights that are trained are
 * constants, with the options that the network will be quantized with; so the values
 * that are rounded, and their types, are those of `quantize` on the backend of the run.
 * Weights change in each step, and so do their scales.  A bias, of i32, is not rounded.
 *
 * The trained weights go to the network without pairs, which is then quantized with
 * `correct_bias=false`: the training has moved the bias already.
 */

#include "glow/file.h"
#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pipeline.h"
#include "glow/quantize.h"
#include "glow/state.h"
#include "passes/graph/common/quantizing.h"

typedef struct fake_options {
    int schema, precision;
    bool channelwise, rowwise;
    const char *keep;
} fake_options;

typedef struct faker {
    glow_pass_run *run;
    glow_func *f;
    glow_builder *b;
    int64_t values, weights; /* that are rounded */
} faker;

/* The copy that is quantized. */

/* Makes constants of what is trained; zeros, since types of values do not depend on them. */
static void
freeze(glow_module *m)
{
    GLOW_FOR_EACH_STORAGE(s, m) {
        glow_storage *with;

        if (s->is_constant || !glow_is_trained(s))
            continue;
        with = glow_constant_splat(m, s->name, s->value.type, 0);
        glow_replace_uses(&s->value, &with->value);
    }
}

static glow_module *
quantized_copy(const faker *x)
{
    static const char *const truth[] = {"false", "true"};
    const fake_options *o = glow_run_options(x->run);
    glow_context *ctx = glow_run_context(x->run);
    glow_arena *a = glow_run_scratch(x->run);
    glow_module *m = glow_module_clone(x->f->module);
    glow_buf text = {.arena = a};
    glow_pipeline *p;

    glow_buf_printf(&text,
                    "fold-constants,quantize<schema=%s,precision=%s,"
                    "channelwise=%s,rowwise=%s,keep=\"%s\","
                    "correct_bias=false>",
                    glow_quantization_schemas[o->schema],
                    glow_quantizing_precisions[o->precision],
                    truth[o->channelwise], truth[o->rowwise], o->keep);
    freeze(m);
    p = glow_pipeline_parse(
        ctx, a, glow_source_from(ctx, "<passes>", text.text, text.len));
    if (p && glow_pipeline_run(p, m,
                               &(const glow_pipeline_options){
                                   .backend = glow_run_backend(x->run)}))
        return m;
    glow_module_free(m);
    return NULL;
}

/* The value of the function that `v` of the copy has the name of, or NULL. */
static glow_value *
counterpart(const faker *x, const glow_value *v)
{
    glow_storage *s;
    glow_node *n;

    if (!v->def) {
        s = glow_find_storage(x->f->module, v->storage->name);
        return s && !s->is_constant ? &s->value : NULL;
    }
    n = glow_find_node(x->f, v->def->name);
    return n && v->index < n->n_out ? n->out[v->index] : NULL;
}

/* Rounding. */

/* Dequantize(Quantize(v)), with scale and offset of `like`. */
static glow_value *
pair(const faker *x, glow_value *v, const glow_type *like)
{
    glow_type t = *like;
    glow_value *q;

    t.shape = v->type->shape;
    t.strides.rank = 0;
    q = GLOW_BUILD_STATED_PLAIN(x->b, quantize,
                                glow_type_get(glow_builder_context(x->b), t),
                                GLOW_IN(v));
    t = glow_type_of(v->type->elem, v->type->shape);
    return GLOW_BUILD_STATED_PLAIN(x->b, dequantize,
                                   glow_type_get(glow_builder_context(x->b), t),
                                   GLOW_IN(q));
}

/* True if `v` moves elements that are rounded to `type`. */
static bool
is_rounded(const glow_value *v, const glow_type *type)
{
    const glow_node *d = glow_def(v, &glow_op_dequantize);

    if (d)
        return true;
    if (!v->def || !glow_quantizing_keeps_type(v->def))
        return false;
    d = glow_def(v->def->in[0], &glow_op_dequantize);
    return d && d->in[0]->type->scale == type->scale &&
           d->in[0]->type->offset == type->offset;
}

/* Lets all users of `v` in the function read it rounded to `type`. */
static bool
round_value(faker *x, glow_value *v, const glow_type *type)
{
    glow_node *quantize;
    glow_value *with;
    bool some = true;

    if (!glow_is_float(v->type->elem) || is_rounded(v, type))
        return true;
    glow_builder_named(x->b, v->def ? v->def->name : v->storage->name,
                       v->def ? v->def->loc : v->storage->loc);
    with = pair(x, v, type);
    if (!with)
        return false;
    quantize = with->def->in[0]->def;
    if (v->def)
        glow_node_move_after(quantize, v->def);
    else
        glow_node_move_before(quantize, x->f->first);
    glow_node_move_after(with->def, quantize);
    while (some) {
        some = false;
        GLOW_FOR_EACH_USE(u, v)
            if (u->user->func == x->f && u->user != quantize) {
                for (int i = 0; i < u->user->n_in; i++)
                    if (u->user->in[i] == v)
                        glow_set_operand(u->user, i, with);
                some = true;
                break;
            }
    }
    x->values++;
    return true;
}

/* True for what is constant or trained, also behind operators that move elements. */
static bool
is_weights(const glow_value *v)
{
    while (v->def && (v->def->op->traits & GLOW_LAYOUT) && v->def->n_in == 1)
        v = v->def->in[0];
    return !v->def && (v->storage->is_constant || glow_is_trained(v->storage));
}

/* The scale of the weights of each channel, or of all, in the shape of `w`. */
static glow_value *
scale_of(const faker *x, glow_value *w, int channel, double most)
{
    glow_dims shape = w->type->shape, axes = {0}, kept = shape;
    glow_value *v = GLOW_BUILD_PLAIN(x->b, abs, GLOW_IN(w));

    for (int i = 0; i < shape.rank; i++)
        if (i != channel) {
            axes.at[axes.rank++] = i;
            kept.at[i] = 1;
        }
    v = GLOW_BUILD(x->b, batchedreducemax, GLOW_IN(v), .axes = axes);
    if (!v)
        return NULL;
    v = GLOW_BUILD_PLAIN(x->b, div, GLOW_IN(v, glow_build_like(x->b, v, most)));
    /* Weights that are all 0 stay 0. */
    if (v)
        v = GLOW_BUILD_PLAIN(x->b, max,
                             GLOW_IN(v, glow_build_like(x->b, v, 1e-30)));
    v = GLOW_BUILD(x->b, reshape, GLOW_IN(v), .dims = kept);
    return GLOW_BUILD(x->b, broadcast, GLOW_IN(v), .axis = 0,
                      .target_dim = shape);
}

/* Rounds the weights of product `n` to `kind`. */
static bool
round_weights(faker *x, glow_node *n, glow_kind kind, bool by_channel)
{
    glow_value *w = n->in[1], *s, *v;
    glow_type unit = glow_type_of(kind, w->type->shape);

    if (!is_weights(w))
        return true;
    unit.scale = 1;
    glow_builder_at(x->b, n);
    s = scale_of(x, w,
                 !by_channel                     ? -1
                 : n->op == &glow_op_convolution ? 0
                                                 : 1,
                 (double)glow_quantized_most(kind));
    v = GLOW_BUILD_PLAIN(x->b, div, GLOW_IN(w, s));
    v = v ? pair(x, v, &unit) : NULL;
    v = GLOW_BUILD_PLAIN(x->b, mul, GLOW_IN(v, s));
    if (!v)
        return false;
    glow_set_operand(n, 1, v);
    x->weights++;
    return true;
}

static bool
is_product(const glow_node *n)
{
    return n->op == &glow_op_convolution || n->op == &glow_op_fullyconnected ||
           n->op == &glow_op_matmul;
}

/* Rounds what `c` of the copy has as quantized elements. */
static bool
follow(faker *x, const glow_node *c)
{
    glow_node *n;
    glow_value *v;

    if (c->op == &glow_op_quantize) {
        v = counterpart(x, c->in[0]);
        return !v || round_value(x, v, c->out[0]->type);
    }
    n = glow_find_node(x->f, c->name);
    if (!n || c->op == &glow_op_rescalequantized)
        return true;
    for (int k = 0; k < c->n_out && k < n->n_out; k++)
        if (glow_is_quantized(c->out[k]->type->elem) &&
            !round_value(x, n->out[k], c->out[k]->type))
            return false;
    return !is_product(n) || !glow_is_quantized(c->out[0]->type->elem) ||
           round_weights(x, n, c->in[1]->type->elem, c->op != n->op);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const fake_options *o = glow_run_options(pass);
    faker x = {.run = pass, .f = f};
    glow_module *copy;
    glow_func *g;
    bool right = true;

    if (f->count == 0 || glow_is_body(f))
        return GLOW_UNCHANGED;
    if (o->schema == GLOW_SYMMETRIC_WITH_POWER2_SCALE) {
        glow_error(glow_run_context(pass), "E0430",
                   "fake-quantize: weights are not rounded by scales that are "
                   "powers of two");
        return GLOW_FAILED;
    }
    x.b =
        glow_builder_new(glow_run_scratch(pass), f, glow_run_pass(pass)->name);
    copy = quantized_copy(&x);
    if (!copy)
        return GLOW_FAILED;
    g = glow_find_func(copy, f->name);
    if (glow_run_may_rewrite(pass))
        GLOW_FOR_EACH_NODE(c, g)
            right = right && follow(&x, c);
    glow_module_free(copy);
    glow_run_count(pass, "values rounded", x.values);
    glow_run_count(pass, "weights rounded", x.weights);
    return !right                     ? GLOW_FAILED
           : x.values + x.weights > 0 ? GLOW_CHANGED
                                      : GLOW_UNCHANGED;
}

const glow_pass glow_pass_fake_quantize = {
    .name = "fake-quantize",
    .summary = "round values in training as integers will",
    .level = GLOW_GRAPH,
    .preserves = GLOW_QUANTIZED,
    .options = {GLOW_FIELD_ENUM(fake_options, schema, glow_quantization_schemas,
                                "that of quantize, as are the others"),
                GLOW_FIELD_ENUM(fake_options, precision,
                                glow_quantizing_precisions,
                                "the elements of activations"),
                GLOW_FIELD_DEFAULT(fake_options, channelwise, GLOW_FLAG,
                                   "a scale for each channel of a "
                                   "Convolution's weights"),
                GLOW_FIELD_DEFAULT(fake_options, rowwise, GLOW_FLAG,
                                   "a scale for each row of a "
                                   "FullyConnected's or MatMul's weights"),
                GLOW_FIELD_DEFAULT(fake_options, keep, GLOW_STRING,
                                   "nodes (%conv1) and operators (SoftMax) "
                                   "that stay in float")},
    .defaults =
        &(const fake_options){.channelwise = true, .rowwise = true, .keep = ""},
    .run = run,
    .takes_quantized = true,
    .source = "Jacob et al., arXiv:1712.05877; Krishnamoorthi, "
              "arXiv:1806.08342",
};
