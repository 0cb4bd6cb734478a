/* Functions with parts, and the module of one. */

#include "glow/devices.h"
#include "glow/ops.h"

bool
glow_has_runs(const glow_func *f)
{
    GLOW_FOR_EACH_NODE(n, f)
        if (n->op == &glow_op_run)
            return true;
    return false;
}

/* True if a function of the module uses `s`, which may be a formal. */
static bool
is_needed(const glow_storage *s)
{
    if (s->value.uses || glow_is_formal(s))
        return true;
    GLOW_FOR_EACH_FUNC(f, s->module)
        for (const glow_node *n = f->is_program ? f->first : NULL;
             n && n->op == &glow_op_weight; n = n->next)
            if (n->out[0]->storage == s)
                return true;
    return false;
}

glow_module *
glow_part_module(const glow_func *body)
{
    glow_module *m = glow_module_clone(body->module);
    glow_func *keep = glow_find_func(m, body->name);

    for (glow_func *f = m->funcs, *next; f; f = next) {
        next = f->next;
        if (!glow_is_body(f))
            glow_func_erase(f);
    }
    glow_drop_uncalled(m, keep);
    GLOW_FOR_EACH_STORAGE(s, m)
        if (!is_needed(s))
            glow_storage_erase(s);
    glow_func_clear_formals(keep); /* else passes drop it: it has no call */
    glow_drop_unused_weights(m);
    return m;
}
