/* Placeholders that take the type of a conversion beside them. */

#include "passes/graph/common/placeholder_types.h"

#include "glow/match.h"

/* The type that every reader of `s` in `f` converts it to by `op`, or NULL. */
static const glow_type *
read_as(const glow_storage *s, const glow_func *f, const glow_op *op)
{
    const glow_type *type = NULL;

    GLOW_FOR_EACH_USE(u, &s->value) {
        const glow_node *n = u->user;

        if (n->func != f || n->pred || u->index != 0 || n->op != op ||
            (type && n->out[0]->type != type))
            return NULL;
        type = n->out[0]->type;
    }
    return type;
}

/* The Save of an `op` to `s`, if it is the only user of `s`, else NULL. */
static glow_node *
written_by(const glow_storage *s, const glow_func *f, const glow_op *op)
{
    glow_use *u = s->value.uses;

    if (!u || u->next || u->user->func != f || u->user->pred ||
        u->user->op != &glow_op_save || u->index != 1 ||
        !glow_def(u->user->in[0], op))
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
fold_input(glow_storage *s, const glow_type *type, const glow_op *op)
{
    for (glow_use *u = s->value.uses, *next; u; u = next) {
        glow_node *n = u->user;

        next = u->next;
        glow_replace_uses(n->out[0], &s->value);
        glow_set_operand(n, 0, NULL);
        glow_node_erase(n);
        next = s->value.uses;
        while (next && next->user->op != op)
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

glow_result
glow_fold_io(glow_pass_run *pass, glow_func *f, const glow_op *input,
             const glow_op *output)
{
    const io_options *o = glow_run_options(pass);
    glow_result result = GLOW_UNCHANGED;

    GLOW_FOR_EACH_STORAGE(s, f->module) {
        const glow_type *type;
        glow_node *save;

        if (s->is_constant || glow_is_formal(s))
            continue;
        type = o->inputs ? read_as(s, f, input) : NULL;
        save = o->outputs && !type ? written_by(s, f, output) : NULL;
        if ((!type && !save) || !glow_run_may_rewrite(pass))
            continue;
        if (type)
            fold_input(s, type, input);
        else
            fold_output(s, save);
        result = GLOW_CHANGED;
    }
    return result;
}
