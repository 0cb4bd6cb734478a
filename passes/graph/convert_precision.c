/*
 * convert-precision: compute in float16 or bfloat16.
 *
 *     %y = Relu(%x) : float    =>    %a = ConvertTo(%x) : float16
 *                                    %b = Relu(%a) : float16
 *                                    %y = ConvertTo(%b) : float
 *
 * Operators of float become operators of the kind `to`, with conversions around
 * them; where two conversions meet, they cancel, so that conversions remain
 * only at borders, and fold-constants evaluates those of constants.  Storage
 * keeps its kinds: fold-convert-io changes those of placeholders, on demand.
 * Layout operators are converted where their operand is, and are no reason to
 * convert.
 *
 * Converted operators compute floats of 16 bits in float and round each result once:
 * element-wise and layout operators, and those of the traits GLOW_PRODUCT and
 * GLOW_ROUNDS_ONCE.  Operators that are lowered to several sums stay in float, and so do
 * training steps, gradients of filters, losses, counting and sorting.  Of the rest
 * `policy` chooses:
 *
 *   mixed   products take operands of 16 bits.  Operators of the trait GLOW_SENSITIVE
 *           (normalizations, softmax, sums, Exp, Log, Pow ...) and discontinuous ones
 *           stay in float, and so do residual streams: an Add whose result another
 *           Add or a normalization reads, through layout operators at most.  All others
 *           are of 16 bits if their operands are, but for constants, else of float.
 *   pure    all are of 16 bits.
 *
 * Mixed is as PyTorch's autocast and TensorFlow's auto_mixed_precision do.  bfloat16 loses
 * 0.0024 of the largest output of a BERT (base) by it, and 0.025 in pure 16 bits, for
 * 0.6 % more time, as conversions are fused into kernels.  `only` names the converted
 * operators instead, `except` leaves some out: operators, or nodes by their names.
 * Constants with numbers out of range of the kind are reported (-remarks), since these
 * become infinite unless clipped.  With
 * `clip`, numbers out of range become the largest of the kind; operands that
 * glow_range_of knows to be in range are not clipped, for instance results of
 * Tanh, Sigmoid and SoftMax.
 *
 * Not in any pipeline.  Pure is Glow's convertFunctionToFloat16 with its lists
 * and clips, without the choice to leave the bias of FullyConnected in float,
 * which its definition does not have.
 */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/range.h"
#include "glow/reach.h"
#include "passes/graph/common/names.h"

typedef struct convert_options {
    int to;
    int policy;
    bool clip;
    const char *only;
    const char *except;
} convert_options;

static const char *const kind_names[] = {"float16", "bfloat16", NULL};

enum policy { MIXED, PURE };
static const char *const policy_names[] = {"mixed", "pure", NULL};

static const struct {
    glow_kind kind;
    float largest;
} kinds[] = {{GLOW_FLOAT16, 65504.0f}, {GLOW_BFLOAT16, 3.38953139e38f}};

/* The operand of a conversion of `v` from the kind `to`, or NULL. */
static glow_value *
narrow_of(const glow_value *v, glow_kind to)
{
    const glow_node *n = glow_def(v, &glow_op_convertto);

    return n && n->in[0]->type->elem == to ? n->in[0] : NULL;
}

static bool
is_wide(const glow_value *v)
{
    return v && v->type->elem == GLOW_FLOAT;
}

/*
 * True for a Clip to the range of the kind, as this pass builds, or a wider
 * one.
 */
static bool
is_guard(const glow_node *n, float largest)
{
    const glow_clip *c = GLOW_AS(clip, n);

    return c && c->max == largest && c->min == -largest;
}

/* At most so many layout operators lie between a sum and the next one. */
#define MAX_LAYOUTS 4

/*
 * True if an Add or a normalization (a sensitive operator that is not element-wise)
 * reads `v`, through at most `depth` layout operators: `v` is a residual stream.
 * Streams that activations interrupt are none: in resnet50 float sums took 1.6 % more
 * time and left 99.5 % of the error.
 */
static bool
is_residual(const glow_value *v, int depth)
{
    GLOW_FOR_EACH_USE(u, v) {
        const glow_node *n = u->user;
        int traits = n->op->traits;

        if (n->op == &glow_op_add ||
            ((traits & GLOW_SENSITIVE) && !(traits & GLOW_ELEMENTWISE)))
            return true;
        if (depth > 0 && (traits & GLOW_LAYOUT) && n->n_out == 1 &&
            is_residual(n->out[0], depth - 1))
            return true;
    }
    return false;
}

/*
 * True if at least one operand of float of `n` is a conversion from the kind `to`,
 * and all others are such conversions or constants.
 */
static bool
has_narrow_operands(const glow_node *n, glow_kind to)
{
    bool has_narrow = false;

    for (int i = 0; i < n->n_in; i++) {
        bool is_narrow = is_wide(n->in[i]) && narrow_of(n->in[i], to);

        has_narrow |= is_narrow;
        if (is_wide(n->in[i]) && !is_narrow && !glow_is_constant_like(n->in[i]))
            return false;
    }
    return has_narrow;
}

/* True if mixed precision computes `n` in the kind `to`. */
static bool
is_narrow_in_mixed(const glow_node *n, glow_kind to)
{
    if (n->op->traits & GLOW_PRODUCT)
        return true;
    return !(n->op->traits & GLOW_SENSITIVE) && !glow_is_discontinuous(n) &&
           has_narrow_operands(n, to) &&
           !(n->op == &glow_op_add && is_residual(n->out[0], MAX_LAYOUTS));
}

static bool
is_chosen(const convert_options *o, const glow_node *n)
{
    const int all =
        GLOW_ELEMENTWISE | GLOW_LAYOUT | GLOW_PRODUCT | GLOW_ROUNDS_ONCE;

    if (glow_names_have(o->except, n))
        return false;
    if (*o->only)
        return glow_names_have(o->only, n);
    return (n->op->traits & all) &&
           (o->policy == PURE || is_narrow_in_mixed(n, kinds[o->to].kind));
}

static bool
is_convertible(const convert_options *o, const glow_node *n)
{
    glow_kind to = kinds[o->to].kind;
    bool has_wide = false, has_narrow = false;

    if (!(n->op->traits & GLOW_PURE) || n->pred || glow_op_calls(n->op) ||
        n->n_out > GLOW_MAX_RESULTS || n->n_in == 0 ||
        n->op == &glow_op_convertto || is_guard(n, kinds[o->to].largest) ||
        !is_chosen(o, n))
        return false;
    for (int i = 0; i < n->n_in; i++) {
        has_wide |= is_wide(n->in[i]);
        has_narrow |= is_wide(n->in[i]) && narrow_of(n->in[i], to);
    }
    return has_wide && (has_narrow || !(n->op->traits & GLOW_LAYOUT));
}

static const glow_type *
retyped(const glow_value *v, glow_kind to)
{
    glow_type t = *v->type;

    t.elem = to;
    t.strides.rank = 0;
    return glow_type_get(
        v->storage ? v->storage->module->ctx : v->def->func->module->ctx, t);
}

/*
 * Remarks the count of numbers of a constant that are out of range of the kind.
 */
static void
check_constant(glow_builder *b, const glow_node *n, const glow_value *v,
               float largest)
{
    glow_storage *s = v->storage;
    int64_t beyond = 0, count = glow_type_count(v->type);
    const glow_tensor *t =
        v->def || !s || !s->is_constant ? NULL : glow_constant_tensor(s);
    const float *x = t ? t->data : NULL;

    if (!x)
        return;
    for (int64_t i = 0; i < count; i++)
        beyond += isfinite(x[i]) && fabsf(x[i]) > largest;
    if (!beyond)
        return;
    glow_run_count(glow_builder_run(b), "numbers of constants out of range",
                   beyond);
    glow_run_remark(glow_builder_run(b), n, false,
                    "@%s: %" PRId64 " of %" PRId64
                    " numbers are beyond %g, the largest of the kind",
                    s->name, beyond, count, (double)largest);
}

static glow_value *
narrowed(glow_builder *b, const convert_options *o, const glow_node *n,
         glow_value *v)
{
    glow_kind to = kinds[o->to].kind;
    float largest = kinds[o->to].largest;
    glow_value *narrow = narrow_of(v, to);

    if (narrow)
        return narrow;
    check_constant(b, n, v, largest);
    if (o->clip) {
        glow_range r = glow_range_of(v);

        if (!(r.lo >= -(double)largest && r.hi <= (double)largest))
            v = GLOW_BUILD(b, clip, GLOW_IN(v), .min = -largest,
                           .max = largest);
    }
    return GLOW_BUILD_STATED_PLAIN(b, convertto, retyped(v, to), GLOW_IN(v));
}

static glow_value *
convert(glow_builder *b, glow_node *n)
{
    const convert_options *o = glow_run_options(glow_builder_run(b));
    glow_kind to = kinds[o->to].kind;
    const glow_type *types[GLOW_MAX_RESULTS];
    bool states = glow_states_type(n) || glow_op_any_results(n->op);
    glow_value **in;
    glow_node *made;

    if (!is_convertible(o, n))
        return NULL;
    in = GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_value *, n->n_in);
    for (int i = 0; i < n->n_in; i++)
        in[i] = is_wide(n->in[i]) ? narrowed(b, o, n, n->in[i]) : n->in[i];
    for (int i = 0; i < n->n_out; i++)
        types[i] =
            is_wide(n->out[i]) ? retyped(n->out[i], to) : n->out[i]->type;
    made = glow_build_node(b, n->op, states ? types : NULL,
                           states ? n->n_out : 0, in, n->n_in, n->attrs);
    if (!made)
        return NULL;
    for (int i = 0; i < n->n_out; i++) {
        glow_value *v = made->out[i];

        if (v->type != n->out[i]->type)
            v = GLOW_BUILD_STATED_PLAIN(b, convertto, n->out[i]->type,
                                        GLOW_IN(v));
        glow_builder_replace(b, n, i, v);
    }
    glow_run_count(glow_builder_run(b), "operators converted", 1);
    return glow_keep_rewritten(n);
}

/* The number of remaining conversions between float and the kind. */
static int64_t
count_borders(const glow_func *f, glow_kind to)
{
    int64_t count = 0;

    GLOW_FOR_EACH_NODE(n, f) {
        const glow_node *c = n->op == &glow_op_convertto ? n : NULL;

        count += c && c->out[0]->uses &&
                 ((is_wide(c->in[0]) && c->out[0]->type->elem == to) ||
                  (is_wide(c->out[0]) && c->in[0]->type->elem == to));
    }
    return count;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const convert_options *o = glow_run_options(pass);
    glow_result result = glow_rewrite(pass, f, NULL, convert);

    glow_run_count(pass, "conversions left",
                   count_borders(f, kinds[o->to].kind));
    return result;
}

const glow_pass glow_pass_convert_precision = {
    .name = "convert-precision",
    .summary = "compute in float16 or bfloat16",
    .level = GLOW_GRAPH,
    .preserves = GLOW_PRECISION,
    .options = {GLOW_FIELD_ENUM(convert_options, to, kind_names, "the kind"),
                GLOW_FIELD_ENUM(convert_options, policy, policy_names,
                                "mixed: sensitive operators and residual sums "
                                "stay in float; pure: none do"),
                GLOW_FIELD_DEFAULT(convert_options, clip, GLOW_FLAG,
                                   "hold what is converted to its range"),
                GLOW_FIELD_DEFAULT(convert_options, only, GLOW_STRING,
                                   "operators or nodes, between commas, that "
                                   "alone are converted"),
                GLOW_FIELD_DEFAULT(convert_options, except, GLOW_STRING,
                                   "operators or nodes that are not")},
    .defaults = &(const convert_options){.only = "", .except = ""},
    .run = run,
};
