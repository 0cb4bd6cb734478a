/*
 * Judgement of a pass that quantizes: node by node, and end to end.
 *
 * A pass that is GLOW_QUANTIZED keeps names: the value that takes the place of a
 * node has its name.  So a quantized operator of the new function, or the Dequantize
 * behind it, with the name of a node of the old one stands for that node.  This node is run
 * in float64 on the operands that the quantized operator got, which are exact, so no
 * error of the nodes before it excuses a miss.
 *
 * The bound end to end is by Monte Carlo: runs in which each value that is quantized
 * is off by a random part of half a step.
 */

#include <float.h>
#include <math.h>
#include <string.h>

#include "glow/ops.h"
#include "glow/profile.h"
#include "passes/verdict.h"

enum { MOST_CHAIN = 4, MOST_CONE = 8, NOISY_RUNS = 8, MOST_DEPTH = 2048 };

#define MOST_RMS 3
#define MOST_ELEMENT 32
#define ROUNDINGS 16
#define SLACK (1 + 0x1p-10) /* of a half step: float arithmetic at a tie */

/* A quantized operator, and the node of floats that it stands for. */
typedef struct pair {
    const glow_node *after; /* the quantized operator */
    const glow_node *shown; /* it, or the Dequantize behind it */
    const glow_node *before;
    const glow_node *base; /* the node that computes what `after` does */
    const glow_node *chain[MOST_CHAIN]; /* from base to before: clamps */
    int n_chain;
    const glow_tensor *weights; /* of a base with constant ones, else NULL */
    struct pair *next;
} pair;

/* Constant weights that the pass put in blocks of 8 or 4 bits. */
typedef struct blocked {
    const glow_node *before; /* whose operand they are */
    int operand;
    const glow_tensor *was, *now,
        *steps;   /* of one shape; now and steps float64 */
    double slack; /* scales below it are too small for their kind */
    struct blocked *next;
} blocked;

typedef struct judge {
    const verdict *v;
    glow_arena *a;
    glow_func *before, *after;
    glow_map *seen;  /* tensors of the run after, by name */
    glow_map *steps; /* quantized types, by the name of the value in `before` */
    pair *pairs;
    blocked *blocked;
    glow_tensor *made; /* tensors to be freed */
    size_t n_made, cap_made;
    uint64_t drawn;
    /* Of `cone`: quantized values that it rounded, and which of them is off by what. */
    int roundings, shifted, shift;
} judge;

static bool
fail(const judge *j, const char *text)
{
    glow_report(j->v->trial.ctx, &(glow_diag){
                                     .severity = GLOW_ERROR,
                                     .id = "E0411",
                                     .message = text,
                                     .span = j->v->trial.f->span,
                                 });
    return false;
}

/* Tensors. */

static const glow_tensor *
keep(judge *j, glow_tensor t)
{
    glow_tensor *kept = GLOW_NEW(j->a, glow_tensor);

    j->made = glow_arena_grow(j->a, j->made, j->n_made, &j->cap_made,
                              sizeof *j->made);
    j->made[j->n_made++] = *kept = t;
    return kept;
}

/* Frees what was made after the first `count` tensors. */
static void
release(judge *j, size_t count)
{
    while (j->n_made > count)
        glow_tensor_end(&j->made[--j->n_made]);
}

/* A tensor of float64 for values of type `t`. */
static glow_tensor *
wide(judge *j, const glow_type *t)
{
    glow_type type = glow_type_of(GLOW_FLOAT64, t->shape);

    return (glow_tensor *)keep(
        j, glow_tensor_new(glow_type_get(j->v->trial.ctx, type)));
}

/* The reals of `t`, in float64. */
static const glow_tensor *
reals(judge *j, const glow_tensor *t)
{
    glow_tensor *y;

    if (!t ||
        !(glow_is_float(t->type->elem) || glow_is_quantized(t->type->elem)))
        return t;
    y = wide(j, t->type);
    for (int64_t i = 0; i < glow_type_count(y->type); i++)
        glow_set_double(y, i, glow_get_real(t, i));
    return y;
}

static const char *
value_name(judge *j, const glow_value *v)
{
    return v->storage ? glow_arena_printf(j->a, "@%s", v->storage->name)
                      : v->def->name;
}

/* The tensor of `v` of the function after the pass; NULL: it was not seen. */
static const glow_tensor *
tensor_of(judge *j, const glow_value *v)
{
    if (v->storage && v->storage->is_constant)
        return glow_constant_tensor(v->storage);
    return v->index == 0 ? glow_map_get(j->seen, value_name(j, v)) : NULL;
}

static void
record(void *user, const char *name, const glow_tensor *t)
{
    judge *j = user;
    glow_tensor copy = glow_tensor_new(t->type);

    glow_tensor_copy(&copy, t);
    glow_map_set(j->seen, glow_arena_strdup(j->a, name), (void *)keep(j, copy));
}

/* Runs `n` on float64 tensors; NULL: it has no meaning there. */
static const glow_tensor *
run_wide(judge *j, const glow_node *n, glow_tensor *const in[])
{
    glow_arena *scratch = glow_arena_new();
    glow_tensor *y = wide(j, n->out[0]->type);
    bool ok = glow_eval_node(n, in, &y, scratch);

    glow_arena_free(scratch);
    return ok ? y : NULL;
}

/* Pairs of a quantized operator and the node that it stands for. */

static bool
is_product(const glow_node *n)
{
    return glow_is(n, &glow_op_convolution) ||
           glow_is(n, &glow_op_fullyconnected) || glow_is(n, &glow_op_matmul) ||
           glow_is(n, &glow_op_batchmatmul);
}

/* True if quantize-weights may change operands 0 and 1. */
static bool
is_weighted(const glow_node *n)
{
    return is_product(n) || glow_is(n, &glow_op_convtranspose);
}

static bool
is_clamp(const glow_node *n)
{
    return (glow_is(n, &glow_op_relu) || glow_is(n, &glow_op_clip)) &&
           n->in[0]->def;
}

/*
 * Operand `i` of `after`, where it has another shape than operand `i` of `n` before the
 * pads of its own; NULL: neither has that shape.
 */
static const glow_value *
operand_for(const glow_node *after, const glow_node *n, int i)
{
    const glow_value *v = after->in[i];
    glow_dims shape = n->in[i]->type->shape;

    while (glow_is(v->def, &glow_op_pad) &&
           !glow_dims_equal(v->type->shape, shape))
        v = v->def->in[0];
    return glow_dims_equal(v->type->shape, shape) ? v : NULL;
}

/* True if `after` may compute what the node of floats `n` does. */
static bool
may_stand_for(const glow_node *after, const glow_node *n)
{
    if (n->n_in > after->n_in || n->n_in > GLOW_MAX_OPERANDS)
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (!n->in[i] != !after->in[i] ||
            (n->in[i] && !operand_for(after, n, i)))
            return false;
    return n->op == after->op || is_product(n);
}

static bool
find_base(pair *p)
{
    p->base = p->before;
    while (!may_stand_for(p->after, p->base)) {
        if (!is_clamp(p->base) || p->n_chain == MOST_CHAIN)
            return false;
        p->chain[p->n_chain++] = p->base;
        p->base = p->base->in[0]->def;
    }
    return true;
}

/* The quantized type of the value that node `d` shows as reals, or NULL. */
static const glow_type *
shown_type(const glow_node *d)
{
    if (d->n_out != 1)
        return NULL;
    if (glow_is(d, &glow_op_dequantize))
        return d->in[0]->type;
    return glow_is_quantized(d->out[0]->type->elem) ? d->out[0]->type : NULL;
}

/* Adds the pair of `d`, a quantized operator or the Dequantize behind one. */
static void
add_pair(judge *j, const glow_node *d)
{
    const glow_node *q = glow_is(d, &glow_op_dequantize) ? d->in[0]->def : d;
    const glow_node *n = glow_find_node(j->before, d->name);
    pair *p;

    if (!n || n->n_out != 1 || !glow_is_float(n->out[0]->type->elem))
        return;
    glow_map_set(j->steps, d->name, (void *)shown_type(d));
    if (!q || q->n_out != 1 || !glow_computes_quantized(q) ||
        glow_is(q, &glow_op_quantize))
        return;
    p = GLOW_NEW(j->a, pair);
    *p = (pair){.after = q, .shown = d, .before = n, .next = j->pairs};
    if (!find_base(p))
        return;
    if (is_product(p->base) && glow_is_constant(p->base->in[1]))
        p->weights = glow_constant_tensor(p->base->in[1]->storage);
    j->pairs = p;
}

static void
find_pairs(judge *j)
{
    GLOW_FOR_EACH_NODE(d, j->after) {
        if (glow_is(d, &glow_op_quantize))
            glow_map_set(j->steps, value_name(j, d->in[0]),
                         (void *)d->out[0]->type);
        if (shown_type(d))
            add_pair(j, d);
    }
}

/* Node by node. */

/* The operand of `after` whose name ends in "Scales", first; or NULL. */
static const glow_value *
scales_of(const glow_node *after)
{
    for (int i = 3; i < after->n_in; i++) {
        const char *name = after->op->in[glow_operand_of(after, i)].name;

        if (strstr(name, "Scales") && !strstr(name, "Bias"))
            return after->in[i];
    }
    return NULL;
}

/* The axis of operand 1 that the channels of the result are. */
static int
channel_axis(const glow_node *base)
{
    return glow_is(base, &glow_op_convolution)
               ? 0
               : base->in[1]->type->shape.rank - 1;
}

/* The step of the weights of channel `c`. */
static double
weight_step(judge *j, const pair *p, int64_t c)
{
    const glow_value *scales = scales_of(p->after);
    const glow_tensor *t = scales ? tensor_of(j, scales) : NULL;

    if (!t)
        return (double)p->after->in[1]->type->scale;
    return glow_get_double(t, glow_type_count(t->type) == 1 ? 0 : c);
}

/* Half a step of each weight, in the shape of the weights. */
static const glow_tensor *
half_steps(judge *j, const pair *p)
{
    glow_tensor *y = wide(j, p->base->in[1]->type);
    int axis = channel_axis(p->base);
    int64_t i = 0;

    if (!p->weights) /* rounded before: exact here */
        return y;
    GLOW_FOR_EACH_INDEX(at, y->type->shape)
        glow_set_double(y, i++, weight_step(j, p, at.at[axis]) / 2);
    return y;
}

/* Half a step of each bias. */
static const glow_tensor *
half_biases(judge *j, const pair *p)
{
    glow_tensor *y;

    if (p->base->n_in < 3 || !p->base->in[2])
        return NULL;
    y = wide(j, p->base->in[2]->type);
    for (int64_t i = 0; i < glow_type_count(y->type); i++) {
        double step =
            (double)p->after->in[0]->type->scale * weight_step(j, p, i);

        if (!scales_of(p->after))
            step = fmax(step, (double)p->after->in[2]->type->scale);
        glow_set_double(y, i, step / 2);
    }
    return y;
}

static const glow_tensor *
sizes(judge *j, const glow_tensor *t)
{
    glow_tensor *y;

    if (!t)
        return NULL;
    y = wide(j, t->type);
    for (int64_t i = 0; i < glow_type_count(y->type); i++)
        glow_set_double(y, i, fabs(glow_get_double(t, i)));
    return y;
}

/*
 * The operands of p->base in float64: weights as they were, all others as the
 * quantized operator got them.  False: one was not seen.
 */
static bool
operands(judge *j, const pair *p, glow_tensor *in[])
{
    for (int i = 0; i < p->base->n_in; i++) {
        const glow_value *was = p->base->in[i];
        const glow_tensor *t = NULL;

        in[i] = NULL;
        if (!was)
            continue;
        if (is_product(p->base) && i > 0 && glow_is_constant(was))
            t = i == 1 ? p->weights : glow_constant_tensor(was->storage);
        else
            t = tensor_of(j, operand_for(p->after, p->base, i));
        if (!t)
            return false;
        in[i] = (glow_tensor *)reals(j, t);
    }
    return true;
}

/*
 * |x|, and to it the mean of each channel that a bias may be corrected by: the mean
 * error of the weights is at most half a step, times that.
 */
static const glow_tensor *
corrected_sizes(judge *j, const pair *p, const glow_tensor *x)
{
    const glow_value_range *r = glow_get_value_range(p->base->in[0]);
    const glow_tensor *y = sizes(j, x);
    int64_t i = 0;

    if (!r || !r->channel_mean)
        return y;
    GLOW_FOR_EACH_INDEX(at, y->type->shape) {
        glow_set_double(y, i,
                        glow_get_double(y, i) +
                            fabs((double)r->channel_mean[at.at[r->axis]]));
        i++;
    }
    return y;
}

/* sum |x| s_w / 2 + s_b / 2 + 16 eps sum |x w| for each result; NULL: not known. */
static const glow_tensor *
product_bound(judge *j, const pair *p, glow_tensor *const in[])
{
    const glow_tensor *x = sizes(j, in[0]), *w = sizes(j, in[1]);
    const glow_tensor *b = p->base->n_in > 2 ? sizes(j, in[2]) : NULL;
    glow_tensor *steps[] = {(glow_tensor *)corrected_sizes(j, p, in[0]),
                            (glow_tensor *)half_steps(j, p),
                            (glow_tensor *)half_biases(j, p)};
    glow_tensor *all[] = {(glow_tensor *)x, (glow_tensor *)w, (glow_tensor *)b};
    const glow_tensor *rounded = run_wide(j, p->base, steps);
    const glow_tensor *sums = run_wide(j, p->base, all);

    if (!rounded || !sums)
        return NULL;
    for (int64_t i = 0; i < glow_type_count(sums->type); i++)
        glow_set_double(rounded, i,
                        glow_get_double(rounded, i) +
                            ROUNDINGS * (double)FLT_EPSILON *
                                glow_get_double(sums, i));
    return rounded;
}

/* The largest number among the operands. */
static double
largest(const pair *p, glow_tensor *const in[])
{
    double most = 0;

    for (int i = 0; i < p->base->n_in; i++)
        for (int64_t k = 0; in[i] && k < glow_type_count(in[i]->type); k++)
            most = fmax(most, fabs(glow_get_double(in[i], k)));
    return most;
}

static double
held_to(const glow_type *t, double v)
{
    double least =
        (double)t->scale * (double)(glow_quantized_least(t->elem) - t->offset);
    double most =
        (double)t->scale * (double)(glow_quantized_most(t->elem) - t->offset);

    return fmin(fmax(v, least), most);
}

/* The clamps of the pair, from the base on. */
static const glow_tensor *
run_chain(judge *j, const pair *p, const glow_tensor *y)
{
    for (int i = p->n_chain; i-- > 0 && y;)
        y = run_wide(j, p->chain[i], (glow_tensor *[]){(glow_tensor *)y});
    return y;
}

static bool
tell_node(const judge *j, const char *name, int64_t i, double is, double due,
          double bound)
{
    glow_buf b = {.arena = j->a};

    glow_buf_printf(&b, "%s: element %lld of %%%s is ", j->v->pass->name,
                    (long long)i, name);
    glow_buf_double(&b, is);
    glow_buf_puts(&b, ", but on the same operands was ");
    glow_buf_double(&b, due);
    glow_buf_puts(&b, ", more than ");
    glow_buf_double(&b, bound);
    glow_buf_puts(&b, " away");
    return fail(j, b.text);
}

static bool
check_pair(judge *j, const pair *p)
{
    glow_tensor *in[GLOW_MAX_OPERANDS];
    const glow_tensor *now = tensor_of(j, p->shown->out[0]);
    const glow_type *type = shown_type(p->shown);
    const glow_tensor *y, *bound = NULL;

    if (!now || !operands(j, p, in))
        return true;
    y = run_chain(j, p, run_wide(j, p->base, in));
    if (is_product(p->base))
        bound = product_bound(j, p, in);
    if (!y || (is_product(p->base) && !bound) ||
        glow_type_count(y->type) != glow_type_count(now->type))
        return true;

    double half = (double)type->scale / 2 * SLACK;
    double size = ROUNDINGS * (double)FLT_EPSILON * largest(p, in);

    for (int64_t i = 0; i < glow_type_count(y->type); i++) {
        double due = held_to(type, glow_get_double(y, i));
        double most = half + (bound ? glow_get_double(bound, i) : size) +
                      ROUNDINGS * (double)FLT_EPSILON * fabs(due);
        double is = glow_get_real(now, i);

        if (!isnan(glow_get_double(y, i)) && !(fabs(is - due) <= most))
            return tell_node(j, p->shown->name, i, is, due, most);
    }
    return true;
}

/* Nodes between quantized elements that were rewritten. */

/* Counts a rounding of `cone`, and moves its elements if it is the one to be off. */
static void
round_again(judge *j, const glow_tensor *y)
{
    const glow_type *t = y->type;
    int64_t least, most;

    if (++j->roundings != j->shifted)
        return;
    least = glow_quantized_least(t->elem);
    most = glow_quantized_most(t->elem);
    for (int64_t i = 0; i < glow_type_count(t); i++) {
        int64_t q = glow_get_int(y, i) + j->shift;

        glow_set_int(y, i, q < least ? least : q > most ? most : q);
    }
}

/* The value of `v` of the function before, from values that were seen after. */
static const glow_tensor *
cone(judge *j, const glow_value *v, int depth)
{
    const glow_node *n = v->def;
    glow_tensor *in[GLOW_MAX_OPERANDS];
    glow_arena *scratch;
    glow_tensor *y;
    bool ok;

    if (v->storage && v->storage->is_constant)
        return glow_constant_tensor(v->storage);
    if (depth > 0 || v->storage) {
        const glow_tensor *seen = glow_map_get(j->seen, value_name(j, v));

        if (seen && v->index == 0 && seen->type == v->type)
            return seen;
    }
    if (v->storage || depth == MOST_CONE || n->n_out != 1 ||
        n->n_in > GLOW_MAX_OPERANDS || !(n->op->traits & GLOW_PURE))
        return NULL;
    for (int i = 0; i < n->n_in; i++) {
        in[i] = n->in[i] ? (glow_tensor *)cone(j, n->in[i], depth + 1) : NULL;
        if (n->in[i] && !in[i])
            return NULL;
    }
    y = (glow_tensor *)keep(j, glow_tensor_new(v->type));
    scratch = glow_arena_new();
    ok = glow_eval_node(n, in, &y, scratch);
    glow_arena_free(scratch);
    if (ok && depth > 0 && glow_is_quantized(v->type->elem))
        round_again(j, y);
    return ok ? y : NULL;
}

/* The value of `v` with all elements of rounding `which`, from 1, `by` off. */
static const glow_tensor *
shifted_cone(judge *j, const glow_value *v, int which, int by)
{
    j->roundings = 0;
    j->shifted = which;
    j->shift = by;
    return cone(j, v, 0);
}

/*
 * `bound` for each element of `y`, the value of `v`, and what half a step of each rounding
 * of its cone makes of it; with those, half a step more for the rounding of `y`.
 */
static const double *
bounds_of(judge *j, const glow_value *v, const glow_tensor *y, double bound)
{
    int64_t count = glow_type_count(y->type);
    int roundings = j->roundings;
    double *most = GLOW_NEW_ARRAY(j->a, double, count + 1);

    for (int64_t i = 0; i < count; i++)
        most[i] = roundings ? 1.5 * bound : bound;
    for (int which = 1; which <= roundings; which++) {
        const glow_tensor *up = shifted_cone(j, v, which, 1);
        const glow_tensor *down = shifted_cone(j, v, which, -1);

        for (int64_t i = 0; i < count && up && down; i++) {
            double is = glow_get_real(y, i);

            most[i] += fmax(fabs(glow_get_real(up, i) - is),
                            fabs(glow_get_real(down, i) - is)) /
                       2;
        }
    }
    return most;
}

static bool
is_same_node(judge *j, const glow_node *a, const glow_node *b)
{
    if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out)
        return false;
    for (int i = 0; i < a->n_in; i++)
        if (!a->in[i] != !b->in[i] ||
            (a->in[i] &&
             (a->in[i]->type != b->in[i]->type ||
              strcmp(value_name(j, a->in[i]), value_name(j, b->in[i])) != 0)))
            return false;
    return true;
}

static double
step_of(const glow_value *v)
{
    return v && glow_is_quantized(v->type->elem) ? (double)v->type->scale : 0;
}

/* A step of the coarsest quantized type at `n`, or at what it reads. */
static double
coarsest(const glow_node *n, int depth)
{
    double step = step_of(n->out[0]);

    for (int i = 0; i < n->n_in; i++) {
        step = fmax(step, step_of(n->in[i]));
        if (n->in[i] && n->in[i]->def && depth > 0)
            step = fmax(step, coarsest(n->in[i]->def, depth - 1));
    }
    return step;
}

/*
 * One step of what it was: where the result is quantized one of its own, where it is
 * a float of the elements that it is made of.  Elements that were rounded on the way and
 * are no more may each have been off by half a step.
 */
static bool
check_rewritten(judge *j, const glow_node *n)
{
    const glow_node *was = glow_find_node(j->before, n->name);
    const glow_tensor *y, *now;
    const double *most;
    double bound;

    if (!was || n->n_out != 1 || was->n_out != 1 ||
        was->out[0]->type != n->out[0]->type || is_same_node(j, was, n) ||
        !(glow_computes_quantized(n) && glow_computes_quantized(was)))
        return true;
    y = shifted_cone(j, was->out[0], 0, 0);
    now = tensor_of(j, n->out[0]);
    if (!y || !now)
        return true;
    bound = step_of(n->out[0]) > 0 ? step_of(n->out[0]) : coarsest(was, 1);
    most = bounds_of(j, was->out[0], y, bound);
    for (int64_t i = 0; i < glow_type_count(y->type); i++) {
        double is = glow_get_real(now, i), due = glow_get_real(y, i);

        if (!(fabs(is - due) <= most[i] * SLACK) && !(isnan(is) && isnan(due)))
            return tell_node(j, n->name, i, is, due, most[i]);
    }
    return true;
}

/* Weights in blocks. */

/* A tensor like that of `v`, with the byte `byte` throughout. */
static glow_tensor *
filled(judge *j, const glow_value *v, int byte)
{
    glow_tensor *t = (glow_tensor *)keep(j, glow_tensor_new(v->type));

    memset(t->data, byte, (size_t)glow_type_bytes(v->type));
    return t;
}

/*
 * The weights of `d` in float64, or, with `is_step`, the step of each: weights of 1
 * with offsets of 0.  The product by an identity shows those of a
 * BlockwiseQuantizedFullyConnected of up to MOST_DEPTH terms.  NULL: they are not known.
 */
static const glow_tensor *
in_blocks(judge *j, const glow_node *d, bool is_step)
{
    const glow_blockwisequantizedfullyconnected *f =
        GLOW_AS(blockwisequantizedfullyconnected, d);
    const glow_blockwisedequantize *q = f ? NULL : d->attrs;
    int first = f ? 1 : 0;
    glow_tensor *in[5] = {NULL}, *y;
    glow_type shape;
    glow_arena *scratch;
    bool ok;

    for (int i = first; i < first + 3; i++)
        if (d->in[i] && !(in[i] = (glow_tensor *)tensor_of(j, d->in[i])))
            return NULL;
    if (is_step) {
        in[first] =
            filled(j, d->in[first], (f ? f->bits : q->bits) == 4 ? 0x11 : 1);
        shape = glow_type_of(GLOW_UINDEX8, d->in[first + 1]->type->shape);
        in[first + 2] = (glow_tensor *)keep(
            j, glow_tensor_new(glow_type_get(j->v->trial.ctx, shape)));
    }
    if (f) {
        if (f->k > MOST_DEPTH)
            return NULL;
        shape = glow_type_of(GLOW_FLOAT64, GLOW_DIMS_OF(f->k, f->k));
        in[0] = wide(j, &shape);
        for (int64_t i = 0; i < f->k; i++)
            glow_set_double(in[0], i * f->k + i, 1);
        shape.shape = GLOW_DIMS_OF(f->k, d->out[0]->type->shape.at[1]);
    } else {
        shape = glow_type_of(GLOW_FLOAT64, q->dims);
    }
    y = wide(j, &shape);
    scratch = glow_arena_new();
    ok = glow_eval_node(d, in, &y, scratch);
    glow_arena_free(scratch);
    return ok ? y : NULL;
}

/* The weights, or steps, that `v` is made of by Reshape and Transpose; NULL: none. */
static const glow_tensor *
moved_blocks(judge *j, const glow_value *v, bool is_step, double *slack)
{
    const glow_node *n = v ? v->def : NULL;
    const glow_tensor *t;

    if (glow_is(n, &glow_op_blockwisedequantize)) {
        *slack = n->in[1]->type->elem == GLOW_FLOAT16 ? 0x1p-16 : 0;
        return in_blocks(j, n, is_step);
    }
    if (!glow_is(n, &glow_op_reshape) && !glow_is(n, &glow_op_transpose))
        return NULL;
    t = moved_blocks(j, n->in[0], is_step, slack);
    return t ? run_wide(j, n, (glow_tensor *[]){(glow_tensor *)t}) : NULL;
}

static void
add_blocked(judge *j, const glow_node *n, const glow_node *was, int i)
{
    blocked *r = GLOW_NEW(j->a, blocked);

    *r = (blocked){.before = was, .operand = i, .next = j->blocked};
    if (!glow_is_constant(was->in[i]))
        return;
    r->was = glow_constant_tensor(was->in[i]->storage);
    if (glow_is(n, &glow_op_blockwisequantizedfullyconnected)) {
        r->slack = n->in[2]->type->elem == GLOW_FLOAT16 ? 0x1p-16 : 0;
        r->now = in_blocks(j, n, false);
        r->steps = in_blocks(j, n, true);
    } else {
        r->now = moved_blocks(j, n->in[i], false, &r->slack);
        r->steps = moved_blocks(j, n->in[i], true, &r->slack);
    }
    if (r->was && r->now && r->steps &&
        glow_type_count(r->now->type) == glow_type_count(r->was->type))
        j->blocked = r;
}

static void
find_blocked(judge *j)
{
    GLOW_FOR_EACH_NODE(n, j->after) {
        const glow_node *was = glow_find_node(j->before, n->name);

        if (!was || !is_weighted(was))
            continue;
        if (glow_is(n, &glow_op_blockwisequantizedfullyconnected))
            add_blocked(j, n, was, 1);
        else if (n->op == was->op)
            for (int i = 0; i < 2; i++)
                add_blocked(j, n, was, i);
    }
}

/* Each weight is at most a step off: the least or the largest may be out of range. */
static bool
check_weights(judge *j, const blocked *r)
{
    for (int64_t i = 0; i < glow_type_count(r->was->type); i++) {
        double is = glow_get_double(r->now, i);
        double due = glow_get_double(r->was, i);
        double most = fabs(glow_get_double(r->steps, i)) * SLACK + r->slack +
                      ROUNDINGS * (double)FLT_EPSILON * fabs(due);

        if (!(fabs(is - due) <= most))
            return tell_node(j, r->before->name, i, is, due, most);
    }
    return true;
}

/* The same as perturb_weights, for weights in blocks. */
static void
perturb_blocked(judge *j, const blocked *r)
{
    glow_storage *s =
        glow_constant_new(j->before->module, j->before->name, r->was->type);

    for (int64_t i = 0; i < glow_type_count(r->was->type); i++) {
        double u = (double)(glow_mix(++j->drawn) >> 11) * 0x1p-52 - 1;

        glow_set_double(&s->tensor, i,
                        glow_get_double(r->was, i) +
                            u * (glow_get_double(r->steps, i) / 2 + r->slack));
    }
    glow_set_operand((glow_node *)r->before, r->operand, &s->value);
}

/* End to end. */

static void
push_off(judge *j, const glow_type *q, const glow_tensor *t, int64_t i)
{
    double u = (double)(glow_mix(++j->drawn) >> 11) * 0x1p-52 - 1;

    glow_set_double(
        t, i, held_to(q, glow_get_double(t, i) + u * (double)q->scale / 2));
}

static void
perturb(void *user, const char *name, const glow_tensor *t)
{
    judge *j = user;
    const glow_type *q = glow_map_get(j->steps, name);

    for (int64_t i = 0; q && i < glow_type_count(t->type); i++)
        push_off(j, q, t, i);
}

/*
 * Gives p->base weights of its own, each off by a random part of half a step.  The
 * function before the pass is a copy, which nobody else reads.
 */
static void
perturb_weights(judge *j, const pair *p)
{
    const glow_type *type = p->base->in[1]->type;
    int axis = channel_axis(p->base);
    glow_storage *s;
    int64_t i = 0;

    s = glow_constant_new(j->before->module, p->base->in[1]->storage->name,
                          type);
    GLOW_FOR_EACH_INDEX(at, type->shape) {
        double u = (double)(glow_mix(++j->drawn) >> 11) * 0x1p-52 - 1;

        glow_set_double(&s->tensor, i,
                        glow_get_double(p->weights, i) +
                            u * weight_step(j, p, at.at[axis]) / 2);
        i++;
    }
    glow_set_operand((glow_node *)p->base, 1, &s->value);
}

/* Errors of a list of outputs, against those of a float64 run. */
typedef struct spread {
    double squares, worst, size;
    int64_t count, at;
} spread;

static spread
spread_of(const trial_held *exact, const trial_held *other, const char *name)
{
    const glow_tensor *s = &glow_trial_find(exact, name)->tensor;
    const trial_held *h = glow_trial_find(other, name);
    spread e = {.count = glow_type_count(s->type)};

    for (int64_t i = 0; h && i < e.count; i++) {
        double due = glow_get_double(s, i);
        double d = fabs(glow_get_double(&h->tensor, i) - due);

        if (!isfinite(due))
            continue;
        e.squares += d * d;
        e.size = fmax(e.size, fabs(due));
        if (!(d <= e.worst)) {
            e.worst = isnan(d) ? INFINITY : d;
            e.at = i;
        }
    }
    return e;
}

static double
rms(spread e)
{
    return e.count > 0 ? sqrt(e.squares / (double)e.count) : 0;
}

static trial
run_of(judge *j, glow_func *f, bool shadow)
{
    trial t = j->v->trial;

    t.f = f;
    t.shadow = shadow;
    t.user = j;
    for (t.set = 0; glow_trial_sets[t.set].fill != GLOW_FILL_RANDOM;)
        t.set++;
    t.ints = j->v->before->sets[t.set].ints;
    t.units = j->v->before->units;
    t.within_ranges = true;
    return t;
}

static bool
tell_output(const judge *j, const char *name, spread e, double noise)
{
    glow_buf b = {.arena = j->a};

    glow_buf_printf(&b, "%s: @%s of @%s is off by ", j->v->pass->name, name,
                    j->v->trial.f->name);
    glow_buf_double(&b, rms(e));
    glow_buf_puts(&b, " (root of the mean of squares), element ");
    glow_buf_printf(&b, "%lld by ", (long long)e.at);
    glow_buf_double(&b, e.worst);
    glow_buf_puts(&b, ", where roundings to steps cause ");
    glow_buf_double(&b, noise);
    return fail(j, b.text);
}

/* Compares the float outputs `after` with `exact`, as far as noise reaches. */
static bool
check_outputs(judge *j, const trial_held *exact, const trial_held *after,
              trial_held *const noisy[])
{
    for (const trial_held *y = exact; y; y = y->next) {
        spread e;
        double noise = 0;

        if (!glow_is_float(y->tensor.type->elem) ||
            !glow_trial_find(after, y->name))
            continue;
        e = spread_of(exact, after, y->name);
        for (int k = 0; k < NOISY_RUNS; k++)
            noise = fmax(noise, rms(spread_of(exact, noisy[k], y->name)));
        noise += ROUNDINGS * (double)FLT_EPSILON * e.size;
        if (!(rms(e) <= MOST_RMS * noise) || !(e.worst <= MOST_ELEMENT * noise))
            return tell_output(j, y->name, e, noise);
    }
    return true;
}

static bool
check_ends(judge *j, const trial_held *after)
{
    trial t = run_of(j, j->before, true);
    trial_held *exact = NULL, *noisy[NOISY_RUNS] = {NULL};
    bool ok = glow_trial_run(&t, j->a, &exact, NULL);

    t.see = perturb;
    for (int k = 0; ok && k < NOISY_RUNS; k++) {
        for (const pair *p = j->pairs; p; p = p->next)
            if (p->weights)
                perturb_weights(j, p);
        for (const blocked *r = j->blocked; r; r = r->next)
            perturb_blocked(j, r);
        ok = glow_trial_run(&t, j->a, &noisy[k], NULL);
    }
    ok = !ok || check_outputs(j, exact, after, noisy);
    glow_trial_end(exact);
    for (int k = 0; k < NOISY_RUNS; k++)
        glow_trial_end(noisy[k]);
    return ok;
}

static bool
check_all(judge *j, const trial_held *after)
{
    size_t before = j->n_made;
    bool ok = true;

    for (const pair *p = j->pairs; p && ok; p = p->next) {
        ok = check_pair(j, p);
        release(j, before);
    }
    for (const blocked *r = j->blocked; r && ok; r = r->next)
        ok = check_weights(j, r);
    GLOW_FOR_EACH_NODE(n, j->after) {
        ok = ok && check_rewritten(j, n);
        release(j, before);
    }
    if (!ok)
        return false;
    return (!j->pairs && !j->blocked) || check_ends(j, after);
}

bool
glow_quantized_is_close(const verdict *v)
{
    glow_arena *a = glow_arena_new();
    judge j = {.v = v,
               .a = a,
               .before = glow_find_func(v->module_before, v->trial.f->name),
               .after = v->trial.f,
               .seen = glow_map_new(a),
               .steps = glow_map_new(a)};
    trial t = run_of(&j, j.after, false);
    trial_held *after = NULL;
    bool ok = true;

    t.see = record;
    if (j.before && !j.before->is_program && !j.after->is_program &&
        glow_trial_run(&t, a, &after, NULL)) {
        find_pairs(&j);
        find_blocked(&j);
        ok = check_all(&j, after);
    }
    glow_trial_end(after);
    release(&j, 0);
    glow_arena_free(a);
    return ok;
}
