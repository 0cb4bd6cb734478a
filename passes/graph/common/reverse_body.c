/* Bodies under construction, which copies of other bodies are part of. */

#include "passes/graph/common/reverse_body.h"

#include "glow/ops.h"
#include "passes/graph/common/gradients.h"

reverse_body
glow_body_begin(reverse *r, const char *name, int most)
{
    reverse_body b = {.arena = r->arena,
                      .f = glow_func_new(r->f->module, name)};

    b.b = glow_builder_new(r->arena, b.f, glow_run_pass(r->run)->name);
    b.in = GLOW_NEW_ARRAY(r->arena, glow_storage *, most);
    b.out = GLOW_NEW_ARRAY(r->arena, glow_storage *, most);
    b.operands = GLOW_NEW_ARRAY(r->arena, glow_value *, most);
    return b;
}

glow_storage *
glow_body_temporary(const reverse_body *b, const char *name,
                    const glow_type *type)
{
    glow_type dense = *type;

    dense.strides.rank = 0;
    return glow_placeholder_new(
        b->f->module, glow_arena_printf(b->arena, "%s.%s", b->f->name, name),
        glow_type_get(b->f->module->ctx, dense));
}

glow_value *
glow_body_input(reverse_body *b, const char *name, const glow_type *type,
                glow_value *operand)
{
    b->in[b->n_in] = glow_body_temporary(b, name, type);
    b->operands[b->n_in] = operand;
    return &b->in[b->n_in++]->value;
}

bool
glow_body_output(reverse_body *b, const char *name, glow_value *v)
{
    if (!v)
        return false;
    b->out[b->n_out] = glow_body_temporary(b, name, v->type);
    glow_builder_named(b->b, name, NULL);
    return glow_save(b->b, v, &b->out[b->n_out++]->value);
}

void
glow_body_copy(reverse_body *b, const glow_func *callee, glow_value *const *in)
{
    glow_value **out;
    glow_node *at = glow_node_new(b->f, &glow_op_run, callee->name, NULL, 0,
                                  NULL, 0, &(const glow_run){callee->name, ""});

    b->n_saves = glow_formal_count(callee, GLOW_OUTPUTS);
    b->saves = GLOW_NEW_ARRAY(b->arena, glow_node *, b->n_saves);
    out = GLOW_NEW_ARRAY(b->arena, glow_value *, b->n_saves);
    glow_inline(at, callee, in, out);
    glow_node_erase(at);
    for (int i = 0; i < b->n_saves; i++) {
        glow_storage *to = glow_body_temporary(b, "y", out[i]->type);

        b->saves[i] = glow_node_new(b->f, &glow_op_save, "save",
                                    (glow_value *[]){out[i], &to->value}, 2,
                                    NULL, 0, NULL);
    }
}

bool
glow_body_reverse(const reverse *outer, reverse_body *b, reverse_seed *seeds,
                  int n_seeds, reverse_wanted *wanted, int n_wanted)
{
    reverse r = {.run = outer->run,
                 .f = b->f,
                 .b = b->b,
                 .arena = b->arena,
                 .loss = outer->loss,
                 .seeds = seeds,
                 .n_seeds = n_seeds,
                 .wanted = wanted,
                 .n_wanted = n_wanted};

    if (!glow_reverse(&r))
        return false;
    for (int i = 0; i < b->n_saves; i++) {
        glow_storage *to = b->saves[i]->in[1]->storage;

        glow_node_erase(b->saves[i]);
        glow_storage_erase(to);
    }
    return true;
}

void
glow_body_drop_inputs(reverse_body *b, int first)
{
    int kept = first;

    glow_erase_unused(b->f);
    for (int i = first; i < b->n_in; i++)
        if (glow_is_unused(&b->in[i]->value)) {
            glow_storage_erase(b->in[i]);
        } else {
            b->in[kept] = b->in[i];
            b->operands[kept++] = b->operands[i];
        }
    b->n_in = kept;
}

void
glow_body_end(const reverse_body *b)
{
    glow_func_set_formals(b->f, b->in, b->n_in, b->out, b->n_out);
}

void
glow_body_abandon(reverse_body *b)
{
    glow_func_erase(b->f);
    for (int i = 0; i < b->n_in; i++)
        glow_storage_erase(b->in[i]);
    for (int i = 0; i < b->n_out; i++)
        glow_storage_erase(b->out[i]);
}
