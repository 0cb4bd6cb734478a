/*
 * quantize: compute in integers, by the observed ranges of values.
 *
 *     %c = Convolution(%x, @w, @b)            %c = ChannelwiseQuantizedConvolution(
 *     %r = Relu(%c)                      =>       %q, @w8, @b32, ...) : i8[S O]
 *                                             %r = Dequantize(%c)
 *     ranges { @main %r: [0.0, 6.1] ...       where %q is Quantize(%x) : i8[S O]
 *
 * Each operator of floats whose float operands and results all have ranges (section
 * `ranges` of the text; constants and splats need none) becomes the operator of
 * quantized elements, if the definition of the operator and the backend of the run take
 * it.  Operands are quantized, results dequantized; a Dequantize that a quantized
 * operator reads is left out at once, or becomes a RescaleQuantized if the parameters
 * differ.
 *
 *   - Scale and offset come from the range by the schema (glow/quantize.h): the four of
 *     Glow.
 *   - Constant weights of Convolution have a scale for each channel (`channelwise`),
 *     and of FullyConnected and MatMul for each row (`rowwise`): -127 to 127, offset 0.
 *   - A bias of i32 is a number of units of the sum, scale of Input times scale of the
 *     weights; where it needs more than 30 bits, the scale of the weights is raised.
 *     One of 8 or 16 bits may have a larger unit.
 *   - The bias also takes the mean of the error of rounded weights, by the channel means
 *     of Input in its range (`correct_bias`), as the pass correct-bias does.
 *   - With `skip_fc_bias` the bias of a FullyConnected is left out of the product, and
 *     added in float.
 *   - A Relu or Clip behind an operator goes if the ends of the type do its work: the
 *     operator takes the type of its result.  So do the operands of a Concat.
 *
 * A SoftMax or LogSoftMax whose results are outputs stays in float, also with `assert`.
 * `keep` names operators (`SoftMax`), nodes (`%conv1`, of one function `@body%conv1`)
 * and functions (`@body`) that stay in float, between commas or blanks.  Nodes with values without a range stay in float too, under one
 * warning that counts them; with `assert` any operator left in float is an error.
 *
 * Constants of floats that no operator reads any more are removed.
 *
 * Not in any pipeline.  Batch normalization and constants are folded before profiling
 * (`-prepare`): a range of a value that is folded away later is of no use.
 */

#include <inttypes.h>
#include <math.h>

#include "glow/backend.h"
#include "glow/match.h"
#include "passes/graph/common/quantizing.h"

enum {
    SHOWN = 8,      /* names in a message */
    MOST_DEPTH = 8, /* layout operators in a row */
};

static const char *const bias_words[] = {"int32", "int16", "int8", NULL};

/* Names for a message: the first few, and the count. */
typedef struct name_list {
    glow_buf text;
    int64_t count;
    glow_map *seen;
} name_list;

typedef struct quantizer {
    quantizing q;
    name_list missing; /* values without a range */
    name_list left;    /* operators left in float */
    glow_map
        *sums; /* names of operators that add a bias, which do so in float */
    int64_t done;
} quantizer;

static void
add_name(name_list *l, const char *name)
{
    if (glow_map_get(l->seen, name))
        return;
    glow_map_set(l->seen, name, l);
    if (l->count++ < SHOWN)
        glow_buf_printf(&l->text, "%s%s", l->count > 1 ? ", " : "", name);
    else if (l->count == SHOWN + 1)
        glow_buf_puts(&l->text, ", ...");
}

static const char *
value_name(glow_arena *a, const glow_value *v)
{
    if (v->storage)
        return glow_arena_printf(a, "@%s", v->storage->name);
    if (v->index == 0)
        return glow_arena_printf(a, "%%%s", v->def->name);
    return glow_arena_printf(a, "%%%s#%d", v->def->name, v->index);
}

/* Choice of nodes. */

static bool
is_named(const glow_module *m, const char *word, size_t length)
{
    GLOW_FOR_EACH_FUNC(f, m)
        GLOW_FOR_EACH_NODE(n, f)
            if (glow_quantizing_names(word, length, n))
                return true;
    return false;
}

/*
 * Every word of `keep` names a node or an operator: of any function, since those that
 * the quantized one calls have the same options.
 */
static bool
check_keep(const quantizing *q)
{
    const char *at = q->o->keep, *word;
    size_t length;

    while (glow_quantizing_word(&at, &word, &length))
        if (!is_named(q->func->module, word, length))
            return glow_error_hint(
                glow_run_context(q->run), q->func->span, "E0431",
                "`keep` takes names of nodes (%conv1, of a body @body%conv1) "
                "and of operators (SoftMax)",
                "`keep` of quantize names '%.*s', but @%s has no such node or "
                "operator",
                (int)length, word, q->func->name);
    return true;
}

static bool
is_wide(const glow_value *v)
{
    return v && glow_is_float(v->type->elem);
}

/* True if an operand is a float and no constant. */
static bool
reads_floats(const glow_node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (is_wide(n->in[i]) && !glow_is_constant_like(n->in[i]))
            return true;
    return false;
}

static const glow_op *const conversions[] = {
    &glow_op_quantize, &glow_op_dequantize, &glow_op_rescalequantized,
    &glow_op_convertto, &glow_op_splat};

/* Their tables have a scale for each row: quantize-rows. */
static const glow_op *const sums_of_rows[] = {
    &glow_op_sparselengthssum, &glow_op_sparselengthsweightedsum};

static bool
is_candidate(const glow_node *n)
{
    for (size_t i = 0; i < sizeof conversions / sizeof conversions[0]; i++)
        if (n->op == conversions[i])
            return false;
    for (size_t i = 0; i < sizeof sums_of_rows / sizeof sums_of_rows[0]; i++)
        if (n->op == sums_of_rows[i])
            return false;
    return (n->op->traits & GLOW_PURE) && !n->pred && !glow_op_calls(n->op) &&
           !(n->op->traits & GLOW_UNKNOWN) && reads_floats(n) &&
           !glow_computes_quantized(n);
}

/*
 * True for a SoftMax that only Saves read: a step of i8 would be most of the error of
 * the network, and a conversion is needed before or behind it in any case.
 */
static bool
is_last_softmax(const glow_node *n)
{
    if (n->op != &glow_op_softmax && n->op != &glow_op_logsoftmax)
        return false;
    GLOW_FOR_EACH_USE(u, n->out[0])
        if (u->user->op != &glow_op_save)
            return false;
    return true;
}

static bool
has_known_types(quantizing *q, const glow_node *n)
{
    glow_type t;

    for (int i = 0; i < n->n_in; i++)
        if (is_wide(n->in[i]) && !glow_quantizing_type(q, n->in[i], &t))
            return false;
    for (int i = 0; i < n->n_out && !glow_quantizing_keeps_type(n); i++)
        if (is_wide(n->out[i]) && !glow_quantizing_type(q, n->out[i], &t))
            return false;
    return true;
}

/* True if all operands of floats but constants are quantized elements. */
static bool
reads_quantized(const glow_node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (is_wide(n->in[i]) && !glow_is_constant_like(n->in[i]) &&
            !glow_def(n->in[i], &glow_op_dequantize))
            return false;
    return true;
}

/*
 * True for an operator that computes, or whose operands are quantized, or whose result an
 * operator reads that will be: to move the elements of a float network as integers
 * would round them for nothing.
 */
static bool
is_worthwhile(quantizing *q, const glow_node *n, int depth)
{
    if (!(n->op->traits & GLOW_LAYOUT) || reads_quantized(n))
        return true;
    for (int i = 0; i < n->n_out && depth < MOST_DEPTH; i++)
        GLOW_FOR_EACH_USE(u, n->out[i])
            if (is_candidate(u->user) && !is_last_softmax(u->user) &&
                !glow_quantizing_is_kept(q->o, u->user) &&
                has_known_types(q, u->user) &&
                is_worthwhile(q, u->user, depth + 1))
                return true;
    return false;
}

/* Notes `v` if it is a float without a type. */
static bool
has_type(quantizer *z, const glow_value *v)
{
    glow_type t;

    if (!is_wide(v) || glow_quantizing_type(&z->q, v, &t))
        return true;
    add_name(&z->missing, value_name(glow_run_scratch(z->q.run), v));
    return false;
}

static bool
has_types(quantizer *z, const glow_node *n)
{
    bool has = true;

    for (int i = 0; i < n->n_in; i++)
        has &= has_type(z, n->in[i]);
    for (int i = 0; i < n->n_out && !glow_quantizing_keeps_type(n); i++)
        has &= has_type(z, n->out[i]);
    return has;
}

/* Building. */

static const glow_type *
shaped(const quantizing *q, glow_type t, glow_dims shape)
{
    t.shape = shape;
    t.strides.rank = 0;
    return glow_type_get(glow_builder_context(q->b), t);
}

/* Operand `i` with the type of its range, or of `like` if that is not NULL. */
static glow_value *
operand(quantizing *q, const glow_node *n, int i, const glow_type *like)
{
    glow_type t;

    if (!is_wide(n->in[i]))
        return n->in[i];
    if (like)
        t = *like;
    else if (!glow_quantizing_type(q, n->in[i], &t))
        return NULL;
    return glow_quantizing_operand(q, n->in[i],
                                   shaped(q, t, n->in[i]->type->shape));
}

/*
 * The type that all operands have: that of operand 0, or of the result where the
 * operator joins several; NULL if each has its own.
 */
static const glow_type *
common_type(quantizing *q, const glow_node *n, glow_type *t)
{
    if (glow_quantizing_keeps_type(n))
        return glow_quantizing_type(q, n->in[0], t) ? t : NULL;
    return (n->op->traits & GLOW_LAYOUT) &&
                   glow_quantizing_type(q, n->out[0], t)
               ? t
               : NULL;
}

/* The same operator on quantized elements. */
static glow_node *
same_operator(quantizing *q, const glow_node *n)
{
    const glow_type **types = GLOW_NEW_ARRAY(glow_run_scratch(q->run),
                                             const glow_type *, n->n_out + 1);
    glow_value **in =
        GLOW_NEW_ARRAY(glow_run_scratch(q->run), glow_value *, n->n_in + 1);
    glow_type t, like;
    const glow_type *common = common_type(q, n, &like);

    for (int i = 0; i < n->n_in; i++)
        in[i] = operand(q, n, i, common);
    for (int i = 0; i < n->n_out; i++) {
        types[i] = n->out[i]->type;
        if (!is_wide(n->out[i]))
            continue;
        if (!common && !glow_quantizing_type(q, n->out[i], &t))
            return NULL;
        types[i] = shaped(q, common ? *common : t, n->out[i]->type->shape);
    }
    return glow_build_node(q->b, n->op, types, n->n_out, in, n->n_in, n->attrs);
}

/* Products. */

/* Input and the result's type; false if one has none. */
static bool
product_types(quantizing *q, const glow_node *n, glow_type *x,
              const glow_type **y)
{
    glow_type t;

    if (!glow_quantizing_type(q, n->in[0], x) ||
        !glow_quantizing_type(q, n->out[0], &t))
        return false;
    *y = shaped(q, t, n->out[0]->type->shape);
    return true;
}

static glow_node *
channelwise_convolution(quantizing *q, const glow_node *n)
{
    quantized_weights w;
    const glow_type *y;
    glow_type x;

    if (!product_types(q, n, &x, &y) ||
        !glow_quantizing_weights(q, n, &x, WEIGHTS_BY_CHANNEL,
                                 n->in[1]->type->shape, &w))
        return NULL;
    return glow_build_node(
        q->b, &glow_op_channelwisequantizedconvolution, &y, 1,
        GLOW_IN(operand(q, n, 0, NULL), w.weights, w.bias, w.scales, w.offsets,
                w.bias_scales, w.bias_offsets),
        n->attrs);
}

/* Input as a matrix of rows of `depth` elements. */
static glow_value *
as_rows(quantizing *q, const glow_node *n, int64_t depth)
{
    glow_value *x = operand(q, n, 0, NULL);
    glow_dims rows = GLOW_DIMS_OF(n->out[0]->type->shape.at[0], depth);

    return !x || glow_dims_equal(x->type->shape, rows)
               ? x
               : GLOW_BUILD(q->b, reshape, GLOW_IN(x), .dims = rows);
}

static glow_node *
rowwise_product(quantizing *q, const glow_node *n)
{
    glow_dims k = n->in[1]->type->shape;
    quantized_weights w;
    const glow_type *y;
    glow_type x;

    if (!product_types(q, n, &x, &y) ||
        !glow_quantizing_weights(q, n, &x, WEIGHTS_BY_ROW,
                                 GLOW_DIMS_OF(k.at[1], k.at[0]), &w))
        return NULL;
    return glow_build_node(
        q->b, &glow_op_rowwisequantizedfullyconnected, &y, 1,
        GLOW_IN(as_rows(q, n, k.at[0]), w.weights, w.scales, w.offsets, w.bias),
        NULL);
}

/* One scale for all weights; a bias that is no constant is quantized at run time. */
static glow_node *
plain_product(quantizing *q, const glow_node *n)
{
    glow_value *in[3] = {NULL};
    quantized_weights w = {0};
    const glow_type *y;
    glow_type x, t;

    if (!product_types(q, n, &x, &y))
        return NULL;
    in[0] = operand(q, n, 0, NULL);
    if (glow_quantizing_is_product(n)) {
        if (!glow_quantizing_weights(q, n, &x, WEIGHTS_PLAIN,
                                     n->in[1]->type->shape, &w))
            return NULL;
        in[1] = w.weights;
        in[2] = n->n_in > 2 && n->in[2] ? w.bias : NULL;
    } else {
        in[1] = operand(q, n, 1, NULL);
        if (!in[1])
            return NULL;
        t = (glow_type){.elem = GLOW_INT32Q,
                        .scale = x.scale * in[1]->type->scale};
        if (n->n_in > 2 && n->in[2])
            in[2] = operand(q, n, 2, &t);
    }
    return glow_build_node(q->b, n->op, &y, 1, in, n->n_in, n->attrs);
}

static glow_node *
convolution(quantizing *q, const glow_node *n)
{
    return q->o->channelwise && glow_quantizing_is_product(n)
               ? channelwise_convolution(q, n)
               : plain_product(q, n);
}

static glow_node *
matrix_product(quantizing *q, const glow_node *n)
{
    return q->o->rowwise && glow_quantizing_is_product(n)
               ? rowwise_product(q, n)
               : plain_product(q, n);
}

static const struct {
    const glow_op *op;
    glow_node *(*make)(quantizing *q, const glow_node *n);
} products[] = {{&glow_op_convolution, convolution},
                {&glow_op_fullyconnected, matrix_product},
                {&glow_op_matmul, matrix_product}};

static glow_node *
make(quantizing *q, const glow_node *n)
{
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        if (products[i].op == n->op)
            return products[i].make(q, n);
    return same_operator(q, n);
}

/* Replacing. */

/* True if the ends of `t` bound reals as Relu or Clip `n` does. */
static bool
saturates(const glow_node *n, const glow_type *t)
{
    const glow_clip *c = GLOW_AS(clip, n);
    double low = c ? (double)c->min : 0;
    double high = c ? (double)c->max : (double)INFINITY;

    return (c || n->op == &glow_op_relu) &&
           glow_quantize(t, low) == glow_quantized_least(t->elem) &&
           glow_quantize(t, high) == glow_quantized_most(t->elem);
}

/* Lets the operand of a Relu or Clip take its place, if saturation does its work. */
static bool
absorb(quantizer *z, glow_node *n)
{
    const glow_node *d =
        n->n_in == 1 ? glow_def(n->in[0], &glow_op_dequantize) : NULL;
    glow_type t;

    if (!d || !glow_quantizing_type(&z->q, n->out[0], &t) ||
        d->in[0]->type->scale != t.scale ||
        d->in[0]->type->offset != t.offset || !saturates(n, d->in[0]->type))
        return false;
    glow_run_remark(z->q.run, n, true, "the range of its type does its work");
    glow_replace_uses(n->out[0], n->in[0]);
    glow_node_erase(n);
    return true;
}

/* Puts `made` and a Dequantize of each result in the place of `n`. */
static void
replace(quantizing *q, glow_node *n, glow_node *made)
{
    const char *name = n->name;

    for (int i = 0; i < n->n_out; i++) {
        glow_value *v = made->out[i];

        if (v->type != n->out[i]->type)
            v = GLOW_BUILD_STATED_PLAIN(q->b, dequantize, n->out[i]->type,
                                        GLOW_IN(v));
        glow_replace_uses(n->out[i], v);
    }
    glow_node_erase(n);
    glow_node_rename(made, name);
}

static bool
backend_takes(quantizing *q, const glow_node *made)
{
    const glow_backend *backend = glow_run_backend(q->run);
    const char *why = NULL;

    if (!backend || !backend->takes ||
        backend->takes(made, glow_run_scratch(q->run), &why) != GLOW_TAKES_NOT)
        return true;
    q->wrong = why;
    return false;
}

/* Builds the quantized form; NULL, with nothing reported, if there is none. */
static glow_node *
try_to_make(quantizing *q, glow_node *n)
{
    glow_context *ctx = glow_run_context(q->run);
    glow_node *made;
    glow_quiet quiet;

    q->b = glow_builder_new(glow_run_scratch(q->run), q->func,
                            glow_run_pass(q->run)->name);
    glow_builder_at(q->b, n);
    q->wrong = NULL;
    glow_quiet_begin(ctx, &quiet);
    made = make(q, n);
    glow_quiet_end(ctx, &quiet);
    return made && backend_takes(q, made) ? made : NULL;
}

static void
leave(quantizer *z, const glow_node *n, const char *why)
{
    if (n->op->traits & GLOW_LAYOUT)
        return;
    glow_run_remark(z->q.run, n, false, "stays in float: %s", why);
    add_name(&z->left, glow_arena_printf(glow_run_scratch(z->q.run),
                                         "%%%s (%s)", n->name, n->op->name));
}

/* True if the function changed: by a node in place of `n`, or by unused ones. */
static bool
convert(quantizer *z, glow_node *n)
{
    glow_node *made;

    if (!is_candidate(n) || is_last_softmax(n))
        return false;
    if (glow_map_get(z->sums, n->name)) {
        glow_run_remark(z->q.run, n, false, "adds a bias in float");
        return false;
    }
    if (glow_quantizing_is_kept(z->q.o, n))
        leave(z, n, "`keep` names it");
    else if (!has_types(z, n))
        leave(z, n, "a value has no range");
    else if (!is_worthwhile(&z->q, n, 0))
        return false;
    else if (glow_run_may_rewrite(z->q.run)) {
        if (absorb(z, n))
            return true;
        made = try_to_make(&z->q, n);
        if (made) {
            glow_run_remark(z->q.run, made, true, "computes in %s",
                            glow_kind_get(z->q.kind)->name);
            replace(&z->q, n, made);
            z->done++;
            return true;
        }
        leave(z, n,
              z->q.wrong ? z->q.wrong
                         : "the operator does not take quantized elements");
        return true; /* operands that were converted for it are erased */
    }
    return false;
}

/* Reports. */

/* True if a value of any function has a range. */
static bool
any_range(const glow_module *m)
{
    GLOW_FOR_EACH_FUNC(f, m)
        GLOW_FOR_EACH_NODE(n, f)
            for (int k = 0; k < n->n_out && !f->is_program; k++)
                if (glow_get_value_range(n->out[k]))
                    return true;
    return false;
}

static bool
check_options(quantizing *q)
{
    glow_type t = glow_type_of(q->kind, (glow_dims){0});
    const char *wrong =
        glow_quantization_of(&t, (glow_quantization_schema)q->o->schema, 0, 1,
                             glow_run_scratch(q->run));

    if (wrong)
        return glow_error_hint(
            glow_run_context(q->run), q->func->span, "E0430",
            "take precision=int8 or int16, or schema=asymmetric",
            "quantize: %s", wrong);
    if (!any_range(q->func->module))
        return glow_error_hint(
            glow_run_context(q->run), q->func->span, "E0432",
            "write a profile (glow-run -dump-profile=FILE) and load it "
            "(-load-profile=FILE), or state `ranges` in the text",
            "quantize: no value has a range");
    return check_keep(q);
}

static bool
report(quantizer *z)
{
    glow_context *ctx = glow_run_context(z->q.run);

    glow_run_count(z->q.run, "operators quantized", z->done);
    glow_run_count(z->q.run, "operators left in float", z->left.count);
    if (z->q.o->assert && z->left.count)
        return glow_error_hint(
            ctx, z->q.func->span, "E0433",
            "-remarks=- says why, and without `assert` they compute in float",
            "quantize: %" PRId64 " operators of @%s stay in float: %s",
            z->left.count, z->q.func->name, z->left.text.text);
    if (z->missing.count)
        glow_warning_hint(
            ctx, z->q.func->span, "W0430",
            "run other passes before the profile is taken, or state `ranges`; -remarks=- says of each operator why it stays in float",
            "quantize: %" PRId64
            " values of @%s have no range, and what reads or makes "
            "them stays in float: %s",
            z->missing.count, z->q.func->name, z->missing.text.text);
    return true;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_arena *a = glow_run_scratch(pass);
    quantizer z = {.missing = {{.arena = a}, 0, glow_map_new(a)},
                   .left = {{.arena = a}, 0, glow_map_new(a)},
                   .sums = glow_map_new(a)};
    const quantize_options *o = glow_run_options(pass);
    glow_result result = GLOW_UNCHANGED;

    if (f->count == 0)
        return GLOW_UNCHANGED;
    glow_quantizing_begin(&z.q, pass, f);
    if (!check_options(&z.q))
        return GLOW_FAILED;
    if (o->skip_fc_bias)
        result = glow_quantizing_split_bias(pass, f, z.sums);
    if (result == GLOW_FAILED)
        return GLOW_FAILED;
    if (result == GLOW_CHANGED)
        glow_quantizing_begin(&z.q, pass, f);
    for (int i = 0; i < z.q.count; i++)
        if (convert(&z, z.q.order[i]))
            result = GLOW_CHANGED;
    if (result == GLOW_CHANGED) {
        glow_erase_unused(f);
        glow_erase_unused_constants(f->module);
        glow_drop_unused_weights(f->module);
    }
    return report(&z) ? result : GLOW_FAILED;
}

const glow_pass glow_pass_quantize = {
    .name = "quantize",
    .summary = "compute in integers, by the observed ranges of values",
    .level = GLOW_GRAPH,
    .preserves = GLOW_QUANTIZED,
    .options =
        {GLOW_FIELD_ENUM(quantize_options, schema, glow_quantization_schemas,
                         "how a range gives scale and offset"),
         GLOW_FIELD_ENUM(quantize_options, precision,
                         glow_quantizing_precisions,
                         "the elements of activations"),
         GLOW_FIELD_ENUM(quantize_options, bias, bias_words,
                         "the elements of biases"),
         GLOW_FIELD_DEFAULT(quantize_options, channelwise, GLOW_FLAG,
                            "a scale for each channel of a Convolution's "
                            "weights"),
         GLOW_FIELD_DEFAULT(quantize_options, rowwise, GLOW_FLAG,
                            "a scale for each row of a FullyConnected's or "
                            "MatMul's weights"),
         GLOW_FIELD_DEFAULT(quantize_options, keep, GLOW_STRING,
                            "nodes (%conv1) and operators (SoftMax) that stay "
                            "in float, between commas or blanks"),
         GLOW_FIELD_DEFAULT(quantize_options, correct_bias, GLOW_FLAG,
                            "the mean error of weights goes into the bias, "
                            "where the means of Input are known"),
         GLOW_FIELD_DEFAULT(quantize_options, skip_fc_bias, GLOW_FLAG,
                            "the bias of a FullyConnected is added in float"),
         GLOW_FIELD_DEFAULT(quantize_options, assert, GLOW_FLAG,
                            "an operator that stays in float is an error")},
    .defaults = &(const quantize_options){.channelwise = true,
                                          .rowwise = true,
                                          .correct_bias = true,
                                          .keep = ""},
    .run = run,
    .takes_quantized = true,
    .source = "Glow quantizeFunction; Jacob et al., arXiv:1712.05877; "
              "Krishnamoorthi, arXiv:1806.08342",
};
