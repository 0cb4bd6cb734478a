/*
 * differentiate: append the gradients of a loss.
 *
 *     %y = MatMul(@x, @w)                       the same, and
 *     ..                                        %seed.splat = Splat {Value: 1}
 *     %loss.save = Save(%loss, @loss)      =>   ..
 *                                               %w.grad.save = Save(%y.grad.matmul,
 *                                                                   @grad.w)
 *
 * `loss` names the placeholder of one float that the loss is saved to; it may be left
 * out where there is only one.  `of` lists the placeholders that gradients are asked
 * for, by name or pattern, in quotes (`of="fc*,w"`); default: those with
 * {Trained: true}.  The gradient by @w is saved to a new placeholder @grad.w of its
 * type, which has the attributes {GradientOf: "w", Loss: "loss"}.
 *
 * Reverse mode: nodes are visited from the loss backwards.  Nodes that no placeholder
 * in `of` leads to, or that do not lead to the loss, get no gradient and cost nothing.
 * Gradients of a value that is used several times are added in the order in which the
 * users were visited; those of slices that do not overlap are inserted side by side.
 * A value that is not of floats ends the path without a word.
 *
 * An operator has a rule (glow_op.derivative), or it is lowered first, wherever it is in
 * the function, until all that matter have one.  If some have none after all, each is
 * an error that says which placeholder reaches the loss through it.
 *
 * The pass is part of no pipeline.  It comes after `recognize` and before `lower`: rules
 * of composite operators keep less and round less than those of their parts.
 */

#include <string.h>

#include "glow/derivative.h"
#include "glow/eval.h"
#include "glow/match.h"
#include "glow/number.h"
#include "glow/ops.h"
#include "glow/state.h"
#include "passes/graph/common/gradients.h"
#include "passes/graph/common/names.h"
#include "passes/graph/common/topology.h"

typedef struct differentiate_options {
    const char *loss, *of;
} differentiate_options;

/* A placeholder that a gradient is asked for. */
typedef struct wanted {
    glow_storage *storage;
    glow_value *gradient; /* NULL: 0 */
} wanted;

typedef struct tape {
    glow_pass_run *run;
    glow_context *ctx;
    glow_func *f;
    glow_builder *b;
    glow_arena *arena;
    glow_node *save; /* of the loss */
    wanted *of;
    int n_of;
    glow_map *index;       /* 1 + index into `of`, by the name of the storage */
    glow_node **order;     /* operands before users */
    glow_numbering number; /* in `order`, for the members below */
    int count;
    const glow_storage **from; /* a placeholder of `of` that leads here; NULL */
    bool *to;                  /* leads to the loss */
    glow_value ***gradients;   /* by node and result */
} tape;

/* The loss. */

static bool
may_be_loss(const glow_node *n)
{
    const glow_type *t = n->op == &glow_op_save ? n->in[1]->type : NULL;

    return t && glow_is_float(t->elem) && glow_type_count(t) == 1;
}

static bool
find_loss(tape *t, const char *name)
{
    int count = 0;

    GLOW_FOR_EACH_NODE(n, t->f) {
        if (n->op != &glow_op_save ||
            (*name ? strcmp(n->in[1]->storage->name, name) != 0
                   : !may_be_loss(n)))
            continue;
        t->save = n;
        count++;
    }
    if (count == 1 && may_be_loss(t->save))
        return true;
    if (count == 1)
        return glow_error(t->ctx, "E0440",
                          "the loss @%s has type %s, but must be one float",
                          name, glow_type_text(t->arena, t->save->in[1]->type));
    if (*name)
        return glow_error(t->ctx, "E0440",
                          "function @%s saves nothing to the loss @%s",
                          t->f->name, name);
    return glow_error(t->ctx, "E0440",
                      "function @%s saves %d placeholders of one float; "
                      "name the loss: -differentiate='loss=NAME'",
                      t->f->name, count);
}

/* The placeholders of `of`. */

/* False after a report of a pattern that matches none of `of`. */
static bool
all_match(const tape *t, const char *patterns)
{
    while (*patterns) {
        size_t n = strcspn(patterns, ",");
        const char *p = glow_arena_printf(t->arena, "%.*s", (int)n, patterns);
        bool found = false;

        for (int i = 0; i < t->n_of && !found; i++)
            found = glow_names_match(t->arena, p, t->of[i].storage->name);
        if (!found)
            return glow_error(t->ctx, "E0441",
                              "differentiate: no placeholder of floats that "
                              "function @%s reads is named %s",
                              t->f->name, p);
        patterns += n + (patterns[n] == ',');
    }
    return true;
}

static bool
find_wanted(tape *t, const char *patterns)
{
    int room = 0;

    GLOW_FOR_EACH_STORAGE(s, t->f->module)
        room++;
    t->of = GLOW_NEW_ARRAY(t->arena, wanted, room);
    t->index = glow_map_new(t->arena);
    GLOW_FOR_EACH_STORAGE(s, t->f->module) {
        if (s->is_constant || !glow_is_float(s->value.type->elem) ||
            !glow_func_reads(t->f, s) ||
            !(*patterns ? glow_names_match(t->arena, patterns, s->name)
                        : glow_is_trained(s)))
            continue;
        t->of[t->n_of++].storage = s;
        glow_map_set(t->index, s->name, &t->of[t->n_of - 1]);
    }
    if (!all_match(t, patterns))
        return false;
    if (t->n_of == 0)
        return glow_error(t->ctx, "E0441",
                          "function @%s reads no placeholder of floats with "
                          "{Trained: true}; name some: "
                          "-differentiate='of=\"NAME,...\"'",
                          t->f->name);
    return true;
}

static wanted *
wanted_of(const tape *t, const glow_value *v)
{
    return v->storage && !v->def ? glow_map_get(t->index, v->storage->name)
                                 : NULL;
}

/* The nodes that matter. */

/* The placeholder that leads to `v` by floats, or NULL. */
static const glow_storage *
source_of(const tape *t, const glow_value *v)
{
    const wanted *w;

    if (!v || !glow_is_float(v->type->elem))
        return NULL;
    if (v->def)
        return t->from[glow_number_of(&t->number, v->def)];
    w = wanted_of(t, v);
    return w ? w->storage : NULL;
}

static void
find_influence(tape *t)
{
    t->count = t->f->count;
    t->order = glow_nodes_in_order(t->arena, t->f);
    t->number = glow_numbering_new(t->arena, t->f);
    t->from = GLOW_NEW_ARRAY(t->arena, const glow_storage *, t->count);
    t->to = GLOW_NEW_ARRAY(t->arena, bool, t->count);
    for (int i = 0; i < t->count; i++) {
        glow_node *n = t->order[i];

        glow_number_set(&t->number, n, (uint32_t)i);
        for (int k = 0; k < n->n_in && !t->from[i]; k++)
            t->from[i] = source_of(t, n->in[k]);
    }
    t->to[glow_number_of(&t->number, t->save)] = true;
    for (int i = t->count - 1; i >= 0; i--)
        for (int k = 0; k < t->order[i]->n_in && t->to[i]; k++) {
            const glow_value *v = t->order[i]->in[k];

            if (v && v->def && glow_is_float(v->type->elem))
                t->to[glow_number_of(&t->number, v->def)] = true;
        }
}

static bool
matters(const tape *t, int i)
{
    return t->from[i] && t->to[i] && t->order[i] != t->save;
}

/* Lowering of operators without a rule. */

static bool
has_no_rule(const glow_pass_run *run, const glow_node *n)
{
    (void)run;
    return !n->op->derivative && !n->pred && !glow_computes_quantized(n);
}

/* Runs what lowers `op`; GLOW_UNCHANGED if nothing does. */
static glow_result
lower(tape *t, const glow_op *op)
{
    size_t count;
    const glow_pass *const *passes = glow_all_passes(t->ctx, &count);
    glow_result result = GLOW_UNCHANGED;

    for (size_t i = 0; i < count && result == GLOW_UNCHANGED; i++)
        if (passes[i]->lowers == op)
            result = glow_run_part(t->run, passes[i], t->f, has_no_rule);
    return result;
}

/* Lowers until what matters has rules, or nothing changes. */
static glow_result
lower_until_ruled(tape *t)
{
    glow_result result = GLOW_UNCHANGED, once;

    do {
        once = GLOW_UNCHANGED;
        find_influence(t);
        for (int i = 0; i < t->count && once == GLOW_UNCHANGED; i++)
            if (matters(t, i) && has_no_rule(t->run, t->order[i]))
                once = lower(t, t->order[i]->op);
        if (once != GLOW_UNCHANGED)
            result = once;
    } while (once == GLOW_CHANGED);
    return result;
}

/* The reason why node `n` cannot be differentiated, or NULL. */
static const char *
refusal(const glow_node *n)
{
    const glow_derivative *d = n->op->derivative;

    if (n->pred)
        return "with a predicate";
    if (glow_computes_quantized(n))
        return "on quantized elements";
    return !d ? "" : d->refuses ? d->refuses(n) : NULL;
}

/* False after a report of each node that cannot be differentiated. */
static bool
all_ruled(const tape *t)
{
    bool all = true;

    for (int i = 0; i < t->count; i++) {
        const glow_node *n = t->order[i];
        const char *why = matters(t, i) ? refusal(n) : NULL;

        if (!why)
            continue;
        all = false;
        glow_report(
            t->ctx,
            &(glow_diag){
                .severity = GLOW_ERROR,
                .id = "E0442",
                .message = glow_arena_printf(
                    t->arena,
                    "no gradient of %s%s%s (%%%s): @%s reaches the loss "
                    "@%s by it",
                    n->op->name, *why ? " " : "", why, n->name,
                    t->from[i]->name, t->save->in[1]->storage->name),
                .span = n->span,
            });
    }
    return all;
}

/* The walk backwards. */

static bool
is_wanted(const tape *t, const glow_value *v)
{
    return source_of(t, v) != NULL;
}

/* The InsertTensor of one part that makes `v`, or NULL. */
static glow_node *
insertion(const glow_value *v)
{
    glow_node *n = v->def;

    return n && n->op == &glow_op_inserttensor && !n->pred &&
                   ((const glow_inserttensor *)n->attrs)->count == 1
               ? n
               : NULL;
}

/* True if no element is written by both insertions. */
static bool
are_apart(const glow_node *a, const glow_node *b)
{
    glow_dims p = ((const glow_inserttensor *)a->attrs)->start;
    glow_dims q = ((const glow_inserttensor *)b->attrs)->start;

    for (int k = 0; k < p.rank; k++)
        if (p.at[k] + a->in[1]->type->shape.at[k] <= q.at[k] ||
            q.at[k] + b->in[1]->type->shape.at[k] <= p.at[k])
            return true;
    return false;
}

/*
 * `sum` + `d`.  The gradients of slices that do not overlap are parts of zeros: the
 * next part is inserted into the others.
 */
static glow_value *
sum_of(tape *t, glow_value *sum, glow_value *d)
{
    glow_node *part = insertion(d), *n = part;
    glow_value *under = sum;

    if (!part || !glow_is_number(part->in[0], 0))
        return GLOW_BUILD_PLAIN(t->b, add, GLOW_IN(sum, d));
    for (n = insertion(under); n && are_apart(n, part); n = insertion(under))
        under = n->in[0];
    if (under == sum || !glow_is_number(under, 0))
        return GLOW_BUILD_PLAIN(t->b, add, GLOW_IN(sum, d));
    sum = GLOW_BUILD(t->b, inserttensor, GLOW_IN(sum, part->in[1]),
                     .start = ((const glow_inserttensor *)part->attrs)->start,
                     .count = 1);
    if (glow_is_unused(d))
        glow_node_erase(part);
    return sum;
}

/* Adds `d` to the gradient by `v`. */
static bool
add_gradient(tape *t, glow_value *v, glow_value *d)
{
    wanted *w = wanted_of(t, v);
    glow_value **at =
        w ? &w->gradient
          : &t->gradients[glow_number_of(&t->number, v->def)][v->index];

    *at = *at ? sum_of(t, *at, d) : d;
    return *at;
}

static bool
apply_gradient(tape *t, glow_node *n, glow_value **by_result)
{
    glow_value **by_operand = GLOW_NEW_ARRAY(t->arena, glow_value *, n->n_in);
    bool *want = GLOW_NEW_ARRAY(t->arena, bool, n->n_in);
    glow_gradient g = {n, by_result, want, by_operand};

    for (int i = 0; i < n->n_in; i++)
        want[i] = is_wanted(t, n->in[i]);
    if (!n->op->derivative->gradient(t->b, &g))
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (want[i] && by_operand[i] &&
            !add_gradient(t, n->in[i], by_operand[i]))
            return false;
    return true;
}

static bool
apply_rule(tape *t, glow_node *n, glow_value **by_result)
{
    const glow_derivative *d = n->op->derivative;
    glow_value *given;

    if (d->is_zero)
        return true;
    glow_builder_named(t->b, glow_arena_printf(t->arena, "%s.grad", n->name),
                       n->loc);
    if (d->gradient)
        return apply_gradient(t, n, by_result);
    for (int i = 0; i < n->n_in; i++) {
        if (!is_wanted(t, n->in[i]))
            continue;
        given = d->partial ? d->partial(t->b, n, i, by_result[0])
                           : d->transpose(t->b, n, i, by_result[0]);
        if (glow_builder_failed(t->b) ||
            (given && !add_gradient(t, n->in[i], given)))
            return false;
    }
    return true;
}

static bool
walk_back(tape *t)
{
    glow_value *one;

    t->gradients = GLOW_NEW_ARRAY(t->arena, glow_value **, t->count);
    for (int i = 0; i < t->count; i++)
        t->gradients[i] =
            GLOW_NEW_ARRAY(t->arena, glow_value *, t->order[i]->n_out);
    if (!is_wanted(t, t->save->in[0]))
        return true;
    glow_builder_named(t->b, "seed", t->save->loc);
    one = glow_build_splat(t->b, "splat", t->save->in[0]->type, 1);
    if (!one || !add_gradient(t, t->save->in[0], one))
        return false;
    for (int i = t->count - 1; i >= 0; i--) {
        bool some = false;

        for (int k = 0; k < t->order[i]->n_out; k++)
            some |= t->gradients[i][k] != NULL;
        if (some && matters(t, i) &&
            !apply_rule(t, t->order[i], t->gradients[i]))
            return false;
    }
    return true;
}

/* Results. */

/* {GradientOf: "w", Loss: "loss"}, which tell what the placeholder holds. */
static glow_attr_list
attributes(const tape *t, const glow_storage *s)
{
    glow_arena *a = t->f->module->arena;
    glow_attr *items = GLOW_NEW_ARRAY(a, glow_attr, 2);
    const char *texts[] = {s->name, t->save->in[1]->storage->name};
    static const char *const names[] = {"GradientOf", "Loss"};

    for (int i = 0; i < 2; i++)
        items[i] = (glow_attr){
            .name = names[i],
            .value = {.kind = GLOW_V_STRING,
                      .text = texts[i],
                      .size = strlen(texts[i])},
        };
    return (glow_attr_list){items, 2};
}

static bool
save_gradient(tape *t, const wanted *w)
{
    const glow_storage *s = w->storage;
    const char *name = glow_arena_printf(t->arena, "grad.%s", s->name);
    glow_storage *to = glow_placeholder_new(t->f->module, name, s->value.type);
    glow_value *d = w->gradient;

    to->attrs = attributes(t, s);
    glow_builder_named(t->b, glow_arena_printf(t->arena, "%s.grad", s->name),
                       s->loc);
    if (!d) {
        glow_warning(t->ctx, s->span, "W0440",
                     "the loss @%s does not depend on @%s",
                     t->save->in[1]->storage->name, s->name);
        d = glow_build_splat(t->b, "zero", s->value.type, 0);
    }
    return glow_save(t->b, d, &to->value);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const differentiate_options *o = glow_run_options(pass);
    tape t = {.run = pass,
              .ctx = glow_run_context(pass),
              .f = f,
              .arena = glow_run_scratch(pass)};

    if (glow_is_body(f))
        return GLOW_UNCHANGED;
    t.b = glow_builder_new(t.arena, f, glow_run_pass(pass)->name);
    if (!find_loss(&t, o->loss) || !find_wanted(&t, o->of))
        return GLOW_FAILED;
    if (!glow_run_may_rewrite(pass))
        return GLOW_UNCHANGED;
    if (lower_until_ruled(&t) == GLOW_FAILED || !all_ruled(&t) ||
        !walk_back(&t))
        return GLOW_FAILED;
    for (int i = 0; i < t.n_of; i++)
        if (!save_gradient(&t, &t.of[i]))
            return GLOW_FAILED;
    glow_run_count(pass, "gradients", t.n_of);
    return GLOW_CHANGED;
}

const glow_pass glow_pass_differentiate = {
    .name = "differentiate",
    .summary = "append the gradients of a loss",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .options = {GLOW_FIELD_DEFAULT(differentiate_options, loss, GLOW_STRING,
                                   "the placeholder of the loss"),
                GLOW_FIELD_DEFAULT(differentiate_options, of, GLOW_STRING,
                                   "placeholders, by name or pattern; empty: "
                                   "those that are trained")},
    .defaults = &(const differentiate_options){.loss = "", .of = ""},
    .run = run,
    .source = "Glow, differentiate; Griewank and Walther, Evaluating "
              "Derivatives (SIAM, 2008), reverse mode",
};
