/* Evaluates a body on the tensors of a call. */

#include "glow/eval.h"

/*
 * Binds formals to tensors; sets *is_shadow if a tensor has another element
 * kind.
 */
static void
bind(const glow_func *body, glow_formals which, glow_tensor *const at[],
     glow_binding *to, bool *is_shadow)
{
    for (int i = 0; i < glow_formal_count(body, which); i++) {
        const glow_storage *s = glow_formal(body, which, i);

        to[i] = (glow_binding){s, at[i]};
        *is_shadow |= at[i]->type->elem != s->value.type->elem;
    }
}

bool
glow_eval_body(glow_func *body, glow_tensor *const in[],
               glow_tensor *const out[])
{
    glow_arena *scratch = glow_arena_new();
    int n_in = glow_formal_count(body, GLOW_INPUTS);
    int n_out = glow_formal_count(body, GLOW_OUTPUTS);
    glow_binding *all = GLOW_NEW_ARRAY(scratch, glow_binding, n_in + n_out);
    glow_eval_options options = {0};
    bool ok;

    bind(body, GLOW_INPUTS, in, all, &options.shadow);
    bind(body, GLOW_OUTPUTS, out, all + n_in, &options.shadow);
    ok = glow_eval(body, all, n_in + n_out, &options);
    glow_arena_free(scratch);
    return ok;
}
