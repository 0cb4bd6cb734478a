/*
 * Delta debugging: reduces a failing input, as long as it fails in the same
 * way.
 *
 * First irrelevant functions are dropped; then graphs and programs are reduced
 * (reduce_graph.c, reduce_program.c); then the rest is simplified: constants
 * become splats, locations are dropped.
 */

#include <string.h>

#include "tools/glow-opt/bisect.h"

#define MOST_TRIALS 3000

bool
reduce_is_spent(const reducer *r)
{
    return r->trials >= MOST_TRIALS;
}

bool
reduce_try(reducer *r, trial_edit edit, void *user)
{
    if (reduce_is_spent(r))
        return false;
    r->trials++;
    trial_do(r->last, &r->run, edit, user);
    return trial_same(r->last, r->wanted) && edit(r->run.m, user);
}

/* Drops kept[from, end) if the failure persists. */
static void
try_run(reducer *r, bool *kept, int from, int end, bool *was, trial_edit edit,
        void *user)
{
    size_t size = (size_t)(end - from) * sizeof *kept;
    bool any = false;

    memcpy(was, kept + from, size);
    for (int i = from; i < end; i++)
        any |= kept[i];
    memset(kept + from, 0, size);
    if (any && !reduce_try(r, edit, user))
        memcpy(kept + from, was, size);
}

void
reduce_set(reducer *r, bool *kept, int count, trial_edit edit, void *user)
{
    bool *was = GLOW_NEW_ARRAY(r->run.o->tool.arena, bool, count + 1);

    for (int size = count; size > 0; size /= 2)
        for (int from = 0; from < count; from += size)
            try_run(r, kept, from, from + size < count ? from + size : count,
                    was, edit, user);
}

/* Functions. */

/* Keeps the function and its callees; it is no longer a body. */
static bool
isolate(glow_module *m, void *user)
{
    const char *name = user;
    glow_func *f = glow_find_func(m, name);

    if (!f || (!m->funcs->next && !glow_is_body(f)))
        return false;
    f->attrs = (glow_attr_list){0};
    for (glow_func *g = m->funcs, *next; g; g = next) {
        next = g->next;
        if (g != f && !glow_is_body(g))
            glow_func_erase(g);
    }
    glow_drop_uncalled(m, f);
    return true;
}

/* Storage. */

void
drop_unused_storage(glow_module *m)
{
    GLOW_FOR_EACH_STORAGE(s, m)
        if (!s->value.uses && !glow_is_formal(s)) {
            bool used = false;

            GLOW_FOR_EACH_FUNC(f, m)
                for (glow_node *n = f->is_program ? f->first : NULL; n;
                     n = n->next)
                    used |= n->op == &glow_op_weight && n->out[0]->storage == s;
            if (!used)
                glow_storage_erase(s);
        }
    glow_drop_unused_weights(m);
}

static bool
drop_storage(glow_module *m, void *user)
{
    (void)user;
    drop_unused_storage(m);
    return true;
}

static bool
make_splat(glow_module *m, void *user)
{
    glow_storage *s = glow_find_storage(m, user);

    if (!s || s->payload == GLOW_SPLAT)
        return false;
    s->payload = GLOW_SPLAT;
    s->splat = 1.0;
    s->splat_int = 1;
    glow_tensor_end(&s->tensor);
    s->tensor = (glow_tensor){0};
    s->file = NULL;
    s->key = NULL;
    return true;
}

/* Makes small external constants inline. */
static bool
make_inline(glow_module *m, void *user)
{
    const char *name = user;
    glow_storage *s = glow_find_storage(m, name);

    if (s->payload != GLOW_EXTERNAL ||
        glow_type_bytes(s->value.type) > (1 << 16) || !glow_constant_tensor(s))
        return false;
    s->payload = GLOW_DATA;
    return true;
}

static bool
forget_locations(glow_module *m, void *user)
{
    (void)user;
    GLOW_FOR_EACH_STORAGE(s, m)
        s->loc = NULL;
    GLOW_FOR_EACH_FUNC(f, m)
        GLOW_FOR_EACH_NODE(n, f)
            n->loc = NULL;
    return true;
}

static void
reduce_storage(reducer *r)
{
    static const trial_edit edits[] = {make_splat, make_inline};

    reduce_try(r, drop_storage, NULL);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        GLOW_FOR_EACH_STORAGE(s, r->run.m)
            if (s->is_constant && s->payload != GLOW_SPLAT)
                reduce_try(r, edits[i], (void *)(uintptr_t)s->name);
    reduce_try(r, drop_storage, NULL);
    reduce_try(r, forget_locations, NULL);
}

void
reduce(reducer *r, const char *names)
{
    if (r->func)
        reduce_try(r, isolate, (void *)(uintptr_t)r->func);
    GLOW_FOR_EACH_FUNC(f, r->run.m)
        if (f->is_program)
            reduce_program(r, f, names);
        else if (!glow_is_body(f))
            reduce_graph(r, f, names);
    reduce_storage(r);
}
