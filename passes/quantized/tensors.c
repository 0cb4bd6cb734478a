/*
 * Tensors of a judgement: those that were seen, and runs of nodes in float64; its reports.
 */

#include <math.h>

#include "glow/ops.h"
#include "passes/quantized/judge.h"

const glow_tensor *
glow_judge_keep(judge *j, glow_tensor t)
{
    glow_tensor *kept = GLOW_NEW(j->a, glow_tensor);

    j->made = glow_arena_grow(j->a, j->made, j->n_made, &j->cap_made,
                              sizeof *j->made);
    j->made[j->n_made++] = *kept = t;
    return kept;
}

/* Frees what was made after the first `count` tensors. */
void
glow_judge_release(judge *j, size_t count)
{
    while (j->n_made > count)
        glow_tensor_end(&j->made[--j->n_made]);
}

/* A tensor of float64 for values of type `t`. */
glow_tensor *
glow_judge_wide(judge *j, const glow_type *t)
{
    glow_type type = glow_type_of(GLOW_FLOAT64, t->shape);

    return (glow_tensor *)glow_judge_keep(
        j, glow_tensor_new(glow_type_get(j->v->trial.ctx, type)));
}

/* The reals of `t`, in float64. */
const glow_tensor *
glow_judge_reals(judge *j, const glow_tensor *t)
{
    glow_tensor *y;

    if (!t ||
        !(glow_is_float(t->type->elem) || glow_is_quantized(t->type->elem)))
        return t;
    y = glow_judge_wide(j, t->type);
    for (int64_t i = 0; i < glow_type_count(y->type); i++)
        glow_set_double(y, i, glow_get_real(t, i));
    return y;
}

const char *
glow_judge_value_name(judge *j, const glow_value *v)
{
    return v->storage ? glow_arena_printf(j->a, "@%s", v->storage->name)
                      : v->def->name;
}

/* The tensor of `v` of the function after the pass; NULL: it was not seen. */
const glow_tensor *
glow_judge_tensor(judge *j, const glow_value *v)
{
    if (v->storage && v->storage->is_constant)
        return glow_constant_tensor(v->storage);
    return v->index == 0 ? glow_map_get(j->seen, glow_judge_value_name(j, v))
                         : NULL;
}

/* Runs `n` on float64 tensors; NULL: it has no meaning there. */
const glow_tensor *
glow_judge_run(judge *j, const glow_node *n, glow_tensor *const in[])
{
    glow_arena *scratch = glow_arena_new();
    glow_tensor *y = glow_judge_wide(j, n->out[0]->type);
    bool ok = glow_eval_node(n, in, &y, scratch);

    glow_arena_free(scratch);
    return ok ? y : NULL;
}

const glow_tensor *
glow_judge_sizes(judge *j, const glow_tensor *t)
{
    glow_tensor *y;

    if (!t)
        return NULL;
    y = glow_judge_wide(j, t->type);
    for (int64_t i = 0; i < glow_type_count(y->type); i++)
        glow_set_double(y, i, fabs(glow_get_double(t, i)));
    return y;
}

double
glow_judge_clamp(const glow_type *t, double v)
{
    double least =
        (double)t->scale * (double)(glow_quantized_least(t->elem) - t->offset);
    double most =
        (double)t->scale * (double)(glow_quantized_most(t->elem) - t->offset);

    return fmin(fmax(v, least), most);
}

bool
glow_judge_fail(const judge *j, const char *text)
{
    glow_report(j->v->trial.ctx, &(glow_diag){
                                     .severity = GLOW_ERROR,
                                     .id = "E0411",
                                     .message = text,
                                     .span = j->v->trial.f->span,
                                 });
    return false;
}

bool
glow_judge_tell_node(const judge *j, const char *name, int64_t i, double is,
                     double due, double bound)
{
    glow_buf b = {.arena = j->a};

    glow_buf_printf(&b, "%s: element %lld of %%%s is ", j->v->pass->name,
                    (long long)i, name);
    glow_buf_double(&b, is);
    glow_buf_puts(&b, ", but on the same operands was ");
    glow_buf_double(&b, due);
    glow_buf_puts(&b, ", more than ");
    glow_buf_double(&b, bound);
    glow_buf_puts(&b, " away");
    return glow_judge_fail(j, b.text);
}
