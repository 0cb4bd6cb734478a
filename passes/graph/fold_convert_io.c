/*
 * fold-convert-io: give placeholders the element kind that the network computes
 * in.
 *
 *     placeholder @x : float                 placeholder @x : float16
 *     %a = ConvertTo(@x) : float16     =>    ... @x ...
 *
 *     %y = ConvertTo(%b) : float             placeholder @out : float16
 *     Save(%y, @out)                   =>    Save(%b, @out)
 *
 * An input changes only if all its users convert it to one kind, and an output
 * only if its Save is its only user.  The caller of the network must use the
 * new kind, so the pass is not in any pipeline.  Formals of bodies stay.
 * Glow's FoldElemKindConversionIntoInputs and -Outputs do the same.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

typedef struct io_options {
    bool inputs;
    bool outputs;
} io_options;

/* The type that every reader of `s` in `f` converts it to, or NULL. */
static const glow_type *
read_as(const glow_storage *s, const glow_func *f)
{
    const glow_type *type = NULL;

    GLOW_FOR_EACH_USE(u, &s->value) {
        const glow_node *n = u->user;

        if (n->func != f || n->pred || u->index != 0 ||
            n->op != &glow_op_convertto || (type && n->out[0]->type != type))
            return NULL;
        type = n->out[0]->type;
    }
    return type;
}

/* The Save of a conversion to `s`, if it is the only user of `s`, else NULL. */
static glow_node *
written_by(const glow_storage *s, const glow_func *f)
{
    glow_use *u = s->value.uses;

    if (!u || u->next || u->user->func != f || u->user->pred ||
        u->user->op != &glow_op_save || u->index != 1 ||
        !glow_def(u->user->in[0], &glow_op_convertto))
        return NULL;
    return u->user;
}

/* Replaces `s` by storage of another type and the same name. */
static void
retype(glow_storage *s, const glow_type *type)
{
    glow_module *m = s->module;
    const char *name = s->name;
    glow_attr_list attrs = s->attrs;
    const glow_loc *loc = s->loc;
    glow_storage *between = glow_placeholder_new(m, name, type), *last;

    glow_replace_uses(&s->value, &between->value);
    glow_storage_erase(s);
    last = glow_placeholder_new(m, name, type);
    last->attrs = attrs;
    last->loc = loc;
    glow_replace_uses(&between->value, &last->value);
    glow_storage_erase(between);
}

static void
fold_input(glow_storage *s, const glow_type *type)
{
    for (glow_use *u = s->value.uses, *next; u; u = next) {
        glow_node *n = u->user;

        next = u->next;
        glow_replace_uses(n->out[0], &s->value);
        glow_set_operand(n, 0, NULL);
        glow_node_erase(n);
        next = s->value.uses;
        while (next && next->user->op != &glow_op_convertto)
            next = next->next;
    }
    retype(s, type);
}

static void
fold_output(glow_storage *s, glow_node *save)
{
    glow_node *convert = save->in[0]->def;

    glow_set_operand(save, 0, convert->in[0]);
    retype(s, convert->in[0]->type);
    if (glow_is_unused(convert->out[0]))
        glow_node_erase(convert);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const io_options *o = glow_run_options(pass);
    glow_result result = GLOW_UNCHANGED;

    GLOW_FOR_EACH_STORAGE(s, f->module) {
        const glow_type *type;
        glow_node *save;

        if (s->is_constant || glow_is_formal(s))
            continue;
        type = o->inputs ? read_as(s, f) : NULL;
        save = o->outputs && !type ? written_by(s, f) : NULL;
        if ((!type && !save) || !glow_run_may_rewrite(pass))
            continue;
        if (type)
            fold_input(s, type);
        else
            fold_output(s, save);
        result = GLOW_CHANGED;
    }
    return result;
}

const glow_pass glow_pass_fold_convert_io = {
    .name = "fold-convert-io",
    .summary = "give placeholders the element kind of the computation",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "placeholders have other types",
    .options = {GLOW_FIELD_DEFAULT(io_options, inputs, GLOW_FLAG,
                                   "those that are read"),
                GLOW_FIELD_DEFAULT(io_options, outputs, GLOW_FLAG,
                                   "those that are written")},
    .defaults = &(const io_options){.inputs = true, .outputs = true},
    .run = run,
};
