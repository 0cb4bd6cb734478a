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
 * A value that is not of floats ends the path without a word.  The bodies of an If or a
 * Loop are differentiated into new ones: see common/reverse_loop.c.
 *
 * An operator has a rule (glow_op.derivative), or it is lowered first, wherever it is in
 * the function, until all that matter have one.  If some have none after all, each is
 * an error that says which placeholder reaches the loss through it.
 *
 * The pass is part of no pipeline.  It comes after `recognize` and before `lower`: rules
 * of composite operators keep less and round less than those of their parts.
 */

#include <string.h>

#include "glow/eval.h"
#include "glow/ops.h"
#include "glow/state.h"
#include "passes/graph/common/gradients.h"
#include "passes/graph/common/names.h"
#include "passes/graph/common/reverse.h"

typedef struct differentiate_options {
    const char *loss, *of;
} differentiate_options;

typedef struct tape {
    glow_context *ctx;
    glow_func *f;
    glow_builder *b;
    glow_arena *arena;
    glow_node *save; /* of the loss */
    reverse_wanted *of;
    int n_of;
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
    t->of = GLOW_NEW_ARRAY(t->arena, reverse_wanted, room);
    GLOW_FOR_EACH_STORAGE(s, t->f->module) {
        if (s->is_constant || !glow_is_float(s->value.type->elem) ||
            !glow_func_reads(t->f, s) ||
            !(*patterns ? glow_names_match(t->arena, patterns, s->name)
                        : glow_is_trained(s)))
            continue;
        t->of[t->n_of++] = (reverse_wanted){.storage = s, .source = s};
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
save_gradient(tape *t, const reverse_wanted *w)
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
    tape t = {
        .ctx = glow_run_context(pass), .f = f, .arena = glow_run_scratch(pass)};
    reverse r;

    if (glow_is_body(f))
        return GLOW_UNCHANGED;
    t.b = glow_builder_new(t.arena, f, glow_run_pass(pass)->name);
    if (!find_loss(&t, o->loss) || !find_wanted(&t, o->of))
        return GLOW_FAILED;
    if (!glow_run_may_rewrite(pass))
        return GLOW_UNCHANGED;
    r = (reverse){.run = pass,
                  .f = f,
                  .b = t.b,
                  .arena = t.arena,
                  .loss = t.save->in[1]->storage->name,
                  .seeds = &(reverse_seed){t.save, NULL},
                  .n_seeds = 1,
                  .wanted = t.of,
                  .n_wanted = t.n_of};
    if (!glow_reverse(&r))
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
