/*
 * The evaluator: a reference interpreter of functions, node by node.
 *
 * Shared by graphs (eval_graph.c) and programs (eval_program.c): bindings,
 * storage as dense tensors of the element kind that the run computes in, and
 * the evaluation of one node with memo and trace.
 */

#include <assert.h>
#include <float.h>
#include <math.h>
#include <time.h>

#include "glow/ops.h"
#include "ir/eval_run.h"

const glow_type *
glow_eval_type(const glow_eval_run *r, const glow_type *t)
{
    glow_type held = *t;

    held.strides.rank = 0;
    if (r->options->shadow && glow_is_float(t->elem))
        held.elem = GLOW_FLOAT64;
    return glow_type_equal(&held, t) ? t : glow_type_get(r->ctx, held);
}

void
glow_item_end(glow_item *item)
{
    glow_tensor_end(&item->tensor);
    item->tensor = (glow_tensor){0};
}

/* Storage. */

/* A dense copy of `from` in the element kind of `type`. */
static glow_tensor
convert(const glow_type *type, const glow_tensor *from)
{
    glow_tensor to = glow_tensor_new(type);
    bool is_whole = type->elem == from->type->elem;
    int64_t i = 0;

    GLOW_FOR_EACH_INDEX(at, type->shape) {
        int64_t j = glow_type_index(from->type, at);

        if (is_whole)
            glow_tensor_copy_element(&to, at, from, at);
        else
            glow_set_double(&to, i, glow_get_double(from, j));
        i++;
    }
    return to;
}

static bool
load_constant(glow_eval_run *r, glow_storage *s, glow_item *item)
{
    const glow_tensor *t = glow_constant_tensor(s);

    if (!t)
        return false;

    const glow_type *held = glow_eval_type(r, t->type);

    if (held == t->type) {
        item->tensor = *t;
        item->lasts = true;
        if (t->owner)
            glow_data_ref(t->owner);
    } else {
        item->tensor = convert(held, t);
    }
    return true;
}

static bool
load_placeholder(glow_eval_run *r, glow_storage *s, glow_item *item)
{
    const glow_tensor *t = glow_map_get(r->bound, s->name);

    if (!t)
        return glow_error_at(r->ctx, s->span, "E0502",
                             "placeholder @%s has no tensor to work on",
                             s->name);
    item->tensor = *t;
    item->tensor.owner = NULL;
    return true;
}

glow_item *
glow_eval_item(glow_eval_run *r, glow_storage *s)
{
    glow_item *item = glow_map_get(r->storage, s->name);
    glow_memo *memo = r->options->memo;

    if (!item) {
        item = GLOW_NEW(r->arena, glow_item);
        glow_map_set(r->storage, s->name, item);
    }
    if (!s->is_constant)
        return item->tensor.type || load_placeholder(r, s, item) ? item : NULL;
    if (memo && !item->hashed) {
        const glow_tensor *t = glow_constant_tensor(s);

        if (!t)
            return NULL;
        item->hash = glow_constant_hash(memo, t, glow_eval_type(r, t->type));
        item->hashed = true;
    }
    return item;
}

glow_item *
glow_eval_storage(glow_eval_run *r, glow_storage *s)
{
    glow_item *item = glow_eval_item(r, s);

    return item && (item->tensor.type || load_constant(r, s, item)) ? item
                                                                    : NULL;
}

/* One node. */

bool
glow_eval_node(const glow_node *n, glow_tensor *const in[],
               glow_tensor *const out[], glow_arena *scratch)
{
    if (!n->op->eval)
        return glow_error_at(n->func->module->ctx, n->span, "E0503",
                             "%s %%%s cannot be run: %s", n->op->name, n->name,
                             n->op->traits & GLOW_UNKNOWN
                                 ? "its operator is unknown"
                                 : "its operator has no eval");
    return n->op->eval(n, in, out, scratch);
}

static double
seconds_now(void)
{
    struct timespec t = {0};

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* True if nothing is rounded within `n`, however it is lowered. */
static bool
rounds_once(const glow_node *n)
{
    int one = GLOW_ELEMENTWISE | GLOW_PRIMITIVE;

    return n->op == &glow_op_splat || (n->op->traits & GLOW_LAYOUT) ||
           (n->op->traits & one) == one;
}

/*
 * True if `v` is representable in a float kind of this epsilon: nothing was
 * rounded.
 */
static bool
is_exact(double v, double epsilon)
{
    int exponent;
    double digits = frexp(v, &exponent) * 2 / epsilon;

    return epsilon > DBL_EPSILON && digits == trunc(digits);
}

/* A random number from -1 to 1. */
static double
draw(glow_eval_run *r)
{
    return (double)(glow_mix(++r->drawn) >> 11) * 0x1p-52 - 1;
}

/* `v` with a random relative error of the size of a rounding. */
static double
perturbed(glow_eval_run *r, double v)
{
    return v * (1 + r->options->noise * draw(r));
}

/*
 * True if `v`, a result of `n`, is a bound that the function only approaches: what was
 * rounded lies on one side of it.
 */
static bool
is_saturated(const glow_node *n, double v)
{
    return fabs(v) == 1 && (n->op == &glow_op_tanh || n->op == &glow_op_erf ||
                            n->op == &glow_op_sigmoid);
}

/*
 * Perturbs the results by random relative errors of the size of roundings:
 * Monte Carlo arithmetic, after Parker, Monte Carlo Arithmetic, UCLA
 * CSD-970002, 1997.
 */
static void
perturb_results(glow_eval_run *r, const glow_node *n, glow_item out[])
{
    for (int i = 0; i < n->n_out; i++) {
        const glow_tensor *t = &out[i].tensor;
        int64_t count = glow_type_count(t->type);

        for (int64_t k = 0; k < count && glow_is_float(t->type->elem); k++) {
            double v = glow_get_double(t, k);

            if (is_saturated(n, v))
                glow_set_double(t, k,
                                v * (1 - r->options->noise * fabs(draw(r))));
            else if (!rounds_once(n) || !is_exact(v, r->options->noise))
                glow_set_double(t, k, perturbed(r, v));
        }
    }
}

/*
 * A perturbed copy of an operand of a composite, whose roundings inside are as large as
 * those of its operands where they cancel.  Integers stay, because they may be indices or
 * equal on purpose.
 */
static glow_tensor
perturb_operand(glow_eval_run *r, const glow_tensor *t)
{
    int64_t count = glow_type_count(t->type);
    glow_tensor copy = glow_tensor_new(t->type);

    for (int64_t k = 0; k < count; k++) {
        double v = glow_get_double(t, k);

        glow_set_double(&copy, k, v == trunc(v) ? v : perturbed(r, v));
    }
    return copy;
}

static bool
eval_node(glow_eval_run *r, const glow_node *n, glow_tensor *const in[],
          glow_tensor *const out[])
{
    return r->options->run && n->op == &glow_op_run
               ? r->options->run(r->options->runner, n, in, out)
               : glow_eval_node(n, in, out, r->work);
}

/*
 * Adds to each number of `t`, the result of a composite on perturbed operands, an error of
 * its own, as large as the largest distance from `clean`, the result without: roundings
 * inside need not keep what the composite has for any operand, such as a sum of 0.  To that
 * of a number that is no integer comes a rounding of the largest: LogSoftMax of integers
 * adds logarithms as large as that.
 */
static void
spread_errors(glow_eval_run *r, const glow_tensor *clean, glow_tensor *t)
{
    int64_t count = glow_type_count(t->type);
    double most = 0, largest = 0;

    for (int64_t k = 0; k < count; k++) {
        double v = fabs(glow_get_double(clean, k));
        double d = fabs(glow_get_double(t, k) - glow_get_double(clean, k));

        most = isfinite(d) && d > most ? d : most;
        largest = isfinite(v) && v > largest ? v : largest;
    }
    for (int64_t k = 0; k < count; k++) {
        double v = glow_get_double(t, k);
        double own = v == trunc(v) ? most : most + r->options->noise * largest;

        glow_set_double(t, k, v + own * draw(r));
    }
}

/* Runs `n` on operands `in` without noise, and spreads the errors of `out`. */
static bool
spread_noise(glow_eval_run *r, const glow_node *n, glow_tensor *const in[],
             glow_tensor *const out[])
{
    glow_tensor *own = GLOW_NEW_ARRAY(r->scratch, glow_tensor, n->n_out);
    glow_tensor **clean = GLOW_NEW_ARRAY(r->scratch, glow_tensor *, n->n_out);
    bool ok;

    for (int i = 0; i < n->n_out; i++) {
        own[i] = glow_tensor_new(out[i]->type);
        clean[i] = &own[i];
    }
    ok = eval_node(r, n, in, clean);
    for (int i = 0; i < n->n_out; i++) {
        if (ok && glow_is_float(out[i]->type->elem))
            spread_errors(r, clean[i], out[i]);
        glow_tensor_end(&own[i]);
    }
    return ok;
}

static bool
run_node(glow_eval_run *r, const glow_node *n, glow_item *const in[],
         glow_tensor *const out[])
{
    bool is_composite =
        (n->op->traits & (GLOW_PURE | GLOW_PRIMITIVE)) == GLOW_PURE;
    bool noisy = r->options->noise > 0 && !r->f->is_program && is_composite;
    glow_tensor **from = GLOW_NEW_ARRAY(r->scratch, glow_tensor *, n->n_in);
    glow_tensor **clean = GLOW_NEW_ARRAY(r->scratch, glow_tensor *, n->n_in);
    glow_tensor *own = GLOW_NEW_ARRAY(r->scratch, glow_tensor, n->n_in);
    bool ok;

    for (int i = 0; i < n->n_in; i++) {
        from[i] = clean[i] = in[i] ? &in[i]->tensor : NULL;
        if (noisy && from[i] && glow_is_float(from[i]->type->elem)) {
            own[i] = perturb_operand(r, from[i]);
            from[i] = &own[i];
        }
    }
    ok = eval_node(r, n, from, out) &&
         (!noisy || spread_noise(r, n, clean, out));
    for (int i = 0; i < n->n_in; i++)
        glow_tensor_end(&own[i]);
    return ok;
}

bool
glow_eval_remembers(const glow_eval_run *r, const glow_node *n)
{
    return r->options->memo && r->options->noise == 0 &&
           (n->op->traits & GLOW_PURE) && !glow_op_calls(n->op);
}

bool
glow_eval_compute(glow_eval_run *r, const glow_node *n, glow_item *const in[],
                  glow_item out[])
{
    glow_memo *memo = glow_eval_remembers(r, n) ? r->options->memo : NULL;
    uint64_t key = memo ? glow_memo_key(r, n, in) : 0;
    double begin = r->options->trace ? seconds_now() : 0;
    glow_tensor **results = GLOW_NEW_ARRAY(r->scratch, glow_tensor *, n->n_out);
    bool ok = true;

    for (int i = 0; i < n->n_out; i++)
        results[i] = &out[i].tensor;

    if (!memo || !glow_memo_find(memo, key, out)) {
        for (int i = 0; i < n->n_out; i++)
            out[i].tensor = glow_tensor_new(glow_eval_type(r, n->out[i]->type));
        ok = run_node(r, n, in, results);
        if (ok && r->options->noise > 0 && !r->f->is_program)
            perturb_results(r, n, out);
        if (ok && memo)
            glow_memo_keep(memo, key, n, out);
    }
    if (ok && r->options->trace)
        r->options->trace(r->options->user, n, results, seconds_now() - begin);
    glow_arena_reset(r->work);
    glow_arena_reset(r->scratch);
    return ok;
}

/* The run. */

static bool
check_binding(const glow_eval_run *r, const glow_binding *b)
{
    const glow_storage *s = b->storage;
    const glow_type *want = glow_eval_type(r, s->value.type);

    if (b->tensor->type == want ||
        (b->tensor->type && glow_type_equal(b->tensor->type, want)))
        return true;
    return glow_error_at(
        r->ctx, s->span, "E0502",
        "placeholder @%s needs a tensor of %s, but gets %s", s->name,
        glow_type_text(r->arena, want),
        b->tensor->type ? glow_type_text(r->arena, b->tensor->type) : "none");
}

static bool
run(glow_eval_run *r, const glow_binding *bindings, int count)
{
    for (int i = 0; i < count; i++) {
        assert(!bindings[i].storage->is_constant);
        if (!check_binding(r, &bindings[i]))
            return false;
        glow_map_set(r->bound, bindings[i].storage->name, bindings[i].tensor);
    }
    return r->f->is_program ? glow_eval_program(r) : glow_eval_graph(r);
}

bool
glow_eval(glow_func *f, const glow_binding *bindings, int count,
          const glow_eval_options *options)
{
    glow_eval_run r = {
        .f = f,
        .ctx = f->module->ctx,
        .options = options ? options : &(const glow_eval_options){0},
        .arena = glow_arena_new(),
        .scratch = glow_arena_new(),
        .work = glow_arena_new(),
    };

    r.bound = glow_map_new(r.arena);
    r.storage = glow_map_new(r.arena);

    bool ok = run(&r, bindings, count);

    GLOW_FOR_EACH_STORAGE(s, f->module) {
        glow_item *item = glow_map_get(r.storage, s->name);

        if (item)
            glow_item_end(item);
    }
    glow_arena_free(r.scratch);
    glow_arena_free(r.work);
    glow_arena_free(r.arena);
    return ok;
}
