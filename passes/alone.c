/* A node by itself: what a backend makes of it. */

#include <string.h>

#include "glow/backend.h"
#include "glow/build.h"
#include "glow/file.h"
#include "glow/pipeline.h"

/* A function of `m` with a copy of `n` as its only node.  NULL after a report. */
static glow_func *
isolate(glow_arena *a, glow_module *m, const glow_node *n)
{
    glow_func *f = glow_func_new(m, "alone");
    glow_builder *b = glow_builder_new(a, f, NULL);
    glow_value **in = GLOW_NEW_ARRAY(a, glow_value *, n->n_in + 1);
    const glow_type **types =
        GLOW_NEW_ARRAY(a, const glow_type *, n->n_out + 1);

    for (int i = 0; i < n->n_in; i++) {
        const glow_value *v = n->in[i];

        if (v && v->storage && v->storage->is_constant)
            in[i] = &glow_find_storage(m, v->storage->name)->value;
        else if (v)
            in[i] = &glow_placeholder_new(m, "in", v->type)->value;
    }
    for (int i = 0; i < n->n_out; i++)
        types[i] = n->out[i]->type;

    glow_node *one =
        glow_build_node(b, n->op, types, n->n_out, in, n->n_in, n->attrs);

    for (int i = 0; one && i < one->n_out; i++) {
        glow_value *to = &glow_placeholder_new(m, "out", types[i])->value;

        glow_build_node(b, &glow_op_save, NULL, 0,
                        (glow_value *[]){one->out[i], to}, 2, NULL);
    }
    return one ? f : NULL;
}

glow_func *
glow_run_alone(glow_arena *a, glow_module *copy, const glow_node *n,
               const char *passes, const glow_pipeline_options *how)
{
    glow_func *f = isolate(a, copy, n);
    const char *name, *text;
    glow_pipeline *p;

    if (!f)
        return NULL;
    name = f->name;
    /* Reports and the pipeline refer to it. */
    text = glow_arena_printf(glow_context_arena(copy->ctx), "@%s(%s)", name,
                             passes);
    p = glow_pipeline_parse_for(
        copy->ctx, a, glow_source_from(copy->ctx, "alone", text, strlen(text)),
        how->backend);
    return p && glow_pipeline_run(p, copy, how) ? glow_find_func(copy, name)
                                                : NULL;
}

bool
glow_is_supported(glow_arena *a, glow_module *copy, const glow_node *n,
                  const glow_pipeline_options *how, const char **why)
{
    const glow_backend *b = how->backend;
    glow_func *f;
    bool ok = true;

    *why = "nothing is known of this operator";
    if (n->op->traits & GLOW_UNKNOWN)
        return false;
    if (!b->takes || b->takes(n, a, why) == GLOW_TAKES)
        return true;
    f = glow_run_alone(a, copy, n, "before-lower,lower<partial>,after-lower",
                       how);
    if (!f)
        return false;
    GLOW_FOR_EACH_NODE(part, f)
        if (ok && !(part->op->traits & GLOW_STRUCTURAL))
            ok = b->takes(part, a, why) == GLOW_TAKES;
    glow_func_erase(f);
    return ok;
}
