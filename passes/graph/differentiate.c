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
 * Forward mode (`mode=forward`) appends the derivative of the loss, which may be any
 * tensor of floats then, along a direction: placeholders @tangent.w {TangentBy: "w"} are
 * its parts, and the result is saved to @tangent.loss {TangentOf: "loss"}.  The same
 * rules serve: the gradient J^T v is linear in a cotangent v, so that its own gradient by
 * v along t is J t.  The nodes of J^T v that it does not read are erased.
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
    int mode;
} differentiate_options;

enum { REVERSE, FORWARD };
static const char *const modes[] = {"reverse", "forward", NULL};

typedef struct tape {
    glow_context *ctx;
    glow_func *f;
    glow_builder *b;
    glow_arena *arena;
    glow_node *save; /* of the loss */
    reverse_wanted *of;
    int n_of;
    bool is_forward;
} tape;

/* The loss. */

static bool
may_be_loss(const tape *t, const glow_node *n)
{
    const glow_type *type = n->op == &glow_op_save ? n->in[1]->type : NULL;

    return type && glow_is_float(type->elem) &&
           (t->is_forward || glow_type_count(type) == 1);
}

static bool
find_loss(tape *t, const char *name)
{
    int count = 0;

    GLOW_FOR_EACH_NODE(n, t->f) {
        if (n->op != &glow_op_save ||
            (*name ? strcmp(n->in[1]->storage->name, name) != 0
                   : !may_be_loss(t, n)))
            continue;
        t->save = n;
        count++;
    }
    if (count == 1 && may_be_loss(t, t->save))
        return true;
    if (count == 1)
        return glow_error(t->ctx, "E0440",
                          "the loss @%s has type %s, but must be %s", name,
                          glow_type_text(t->arena, t->save->in[1]->type),
                          t->is_forward ? "of floats" : "one float");
    if (*name)
        return glow_error(t->ctx, "E0440",
                          "function @%s saves nothing to the loss @%s",
                          t->f->name, name);
    return glow_error(t->ctx, "E0440",
                      "function @%s saves %d placeholders of %s; "
                      "name the loss: -differentiate='loss=NAME'",
                      t->f->name, count,
                      t->is_forward ? "floats" : "one float");
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

/* Attributes that tell what a placeholder holds: {GradientOf: "w", Loss: "loss"}. */
static glow_attr_list
attributes(const tape *t, int count, const char *const *names,
           const char *const *texts)
{
    glow_attr *items = GLOW_NEW_ARRAY(t->f->module->arena, glow_attr, count);

    for (int i = 0; i < count; i++)
        items[i] = (glow_attr){
            .name = names[i],
            .value = {.kind = GLOW_V_STRING,
                      .text = texts[i],
                      .size = strlen(texts[i])},
        };
    return (glow_attr_list){items, (size_t)count};
}

static bool
save_gradient(tape *t, const reverse_wanted *w)
{
    const glow_storage *s = w->storage;
    const char *name = glow_arena_printf(t->arena, "grad.%s", s->name);
    glow_storage *to = glow_placeholder_new(t->f->module, name, s->value.type);
    glow_value *d = w->gradient;

    to->attrs = attributes(
        t, 2, (const char *const[]){"GradientOf", "Loss"},
        (const char *const[]){s->name, t->save->in[1]->storage->name});
    glow_builder_named(t->b, glow_arena_printf(t->arena, "%s.grad", s->name),
                       s->loc);
    if (!d) {
        glow_warning_hint(
            t->ctx, s->span, "W0440",
            "look for comparisons and indices between the two, which have no gradient",
            "the loss @%s does not depend on @%s",
            t->save->in[1]->storage->name, s->name);
        d = glow_build_splat(t->b, "zero", s->value.type, 0);
    }
    return glow_save(t->b, d, &to->value);
}

static glow_result
reverse_mode(tape *t, reverse *r)
{
    if (!glow_reverse(r))
        return GLOW_FAILED;
    for (int i = 0; i < t->n_of; i++)
        if (!save_gradient(t, &t->of[i]))
            return GLOW_FAILED;
    glow_run_count(r->run, "gradients", t->n_of);
    return GLOW_CHANGED;
}

/* Forward mode. */

/* A placeholder `tangent.NAME`, with {`attribute`: "NAME"}. */
static glow_storage *
new_tangent(const tape *t, const char *attribute, const glow_storage *of)
{
    glow_storage *s = glow_placeholder_new(
        t->f->module, glow_arena_printf(t->arena, "tangent.%s", of->name),
        of->value.type);

    s->attrs = attributes(t, 1, &attribute, &of->name);
    return s;
}

/*
 * The cotangent, by which the gradients are differentiated: they are linear in it, so
 * its numbers do not matter.  None is 0, since rules treat a gradient of 0 apart.
 */
static glow_value *
new_cotangent(tape *t)
{
    glow_value *v;

    glow_builder_named(t->b, t->save->in[1]->storage->name, t->save->loc);
    v = glow_build_constant(t->b, "cotangent", t->save->in[0]->type);
    if (v)
        glow_tensor_fill(&v->storage->tensor, GLOW_FILL_RANDOM, 1);
    return v;
}

/* Gives each gradient a tangent, by which the walk back through it begins. */
static int
seed_tangents(tape *t, reverse_seed *seeds)
{
    int count = 0;

    for (int i = 0; i < t->n_of; i++) {
        glow_storage *s = new_tangent(t, "TangentBy", t->of[i].storage), *to;
        glow_value *d = t->of[i].gradient;

        if (!d) {
            glow_storage_erase(s);
            continue;
        }
        to = glow_placeholder_new(t->f->module, "transposed", d->type);
        if (!glow_save(t->b, d, &to->value))
            return -1;
        seeds[count++] = (reverse_seed){t->f->last, &s->value};
    }
    return count;
}

static glow_result
forward_mode(tape *t, reverse *r)
{
    reverse_seed *seeds = GLOW_NEW_ARRAY(t->arena, reverse_seed, t->n_of);
    reverse_wanted by = {0};
    glow_storage *to;
    glow_value *v = new_cotangent(t);

    if (!v)
        return GLOW_FAILED;
    r->seeds[0].gradient = v;
    if (!glow_reverse(r))
        return GLOW_FAILED;
    by.storage = v->storage;
    by.source = t->save->in[1]->storage;
    r->n_seeds = seed_tangents(t, seeds);
    r->seeds = seeds;
    r->wanted = &by;
    r->n_wanted = 1;
    if (r->n_seeds < 0 || (r->n_seeds > 0 && !glow_reverse(r)))
        return GLOW_FAILED;
    for (int i = 0; i < r->n_seeds; i++) {
        glow_storage *s = seeds[i].save->in[1]->storage;

        glow_node_erase(seeds[i].save);
        glow_storage_erase(s);
    }
    to = new_tangent(t, "TangentOf", t->save->in[1]->storage);
    glow_builder_named(t->b, to->name, t->save->loc);
    if (!by.gradient)
        by.gradient = glow_build_splat(t->b, "zero", v->type, 0);
    if (!glow_save(t->b, by.gradient, &to->value))
        return GLOW_FAILED;
    glow_erase_unused(t->f);
    if (glow_is_unused(v))
        glow_storage_erase(v->storage);
    glow_run_count(r->run, "tangents", 1);
    return GLOW_CHANGED;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const differentiate_options *o = glow_run_options(pass);
    tape t = {.ctx = glow_run_context(pass),
              .f = f,
              .arena = glow_run_scratch(pass),
              .is_forward = o->mode == FORWARD};
    reverse_seed seed = {0};
    reverse r;

    if (glow_is_body(f))
        return GLOW_UNCHANGED;
    t.b = glow_builder_new(t.arena, f, glow_run_pass(pass)->name);
    if (!find_loss(&t, o->loss) || !find_wanted(&t, o->of))
        return GLOW_FAILED;
    if (!glow_run_may_rewrite(pass))
        return GLOW_UNCHANGED;
    seed.save = t.save;
    r = (reverse){.run = pass,
                  .f = f,
                  .b = t.b,
                  .arena = t.arena,
                  .loss = t.save->in[1]->storage->name,
                  .seeds = &seed,
                  .n_seeds = 1,
                  .wanted = t.of,
                  .n_wanted = t.n_of};
    return t.is_forward ? forward_mode(&t, &r) : reverse_mode(&t, &r);
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
                                   "those that are trained"),
                GLOW_FIELD_ENUM(differentiate_options, mode, modes,
                                "reverse: gradients; forward: the derivative "
                                "along a tangent")},
    .defaults = &(const differentiate_options){.loss = "", .of = ""},
    .run = run,
    .takes_quantized = true,
    .source =
        "Glow, differentiate; Griewank and Walther, Evaluating "
        "Derivatives (SIAM, 2008), reverse mode; Townsend, A new trick for "
        "calculating Jacobian vector products (2017)",
};
