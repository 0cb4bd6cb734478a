/*
 * fold-empty: replace values without elements by constants.
 *
 *     %e = Slice(%x) : float<0 x 4>         @e = a constant of no elements
 *     %y = Relu(%e)  : float<0 x 4>     =>
 *     %z = BatchedReduceAdd(%y)             %z = BatchedReduceAdd(@e)
 *
 * A value without elements is a constant, whatever its definition.  Every use
 * of one becomes a use of such a constant, one for each type, and its
 * definition is removed.  Results computed from empty values, such as the
 * neutral value of a reduction or a product over no columns, then depend on
 * constants alone and are evaluated by fold-constants; fold-concat drops empty
 * operands of a Concat, and fold-insert empty insertions.  So there is no table
 * of neutral values here.
 *
 * Exporters leave caches of length 0, splits with an empty part, and slices
 * x[:, n:] where n is the size.
 */

#include "glow/ops.h"
#include "glow/pass.h"

typedef struct folder {
    glow_pass_run *run;
    glow_func *func;
    glow_map *made; /* constants by the text of their type */
} folder;

/*
 * True if `v` has no elements, is no constant, and a constant can have its
 * kind.
 */
static bool
is_empty(const glow_value *v)
{
    return v && glow_type_count(v->type) == 0 && !glow_is_constant(v) &&
           v->type->strides.rank == 0;
}

static glow_value *
constant_of(folder *f, const glow_type *type)
{
    const char *key = glow_type_text(glow_run_scratch(f->run), type);
    glow_storage *s = glow_map_get(f->made, key);

    if (!s) {
        s = glow_constant_new(f->func->module, "empty", type);
        glow_map_set(f->made, key, s);
    }
    return &s->value;
}

static bool
fold(folder *f, glow_node *n)
{
    bool changed = false;

    for (int i = 0; i < n->n_in; i++) {
        if (glow_operand_of(n, i) < 0 || !is_empty(n->in[i]) ||
            n->op->in[glow_operand_of(n, i)].kind == GLOW_WRITTEN)
            continue;
        glow_set_operand(n, i, constant_of(f, n->in[i]->type));
        changed = true;
    }
    return changed;
}

/*
 * True if an operand of `n` is empty; called for each node, so it must be
 * cheap.
 */
static bool
reads_nothing(const glow_node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (is_empty(n->in[i]))
            return true;
    return false;
}

static glow_result
run(glow_pass_run *pass, glow_func *func)
{
    folder f = {.run = pass, .func = func};
    glow_result result = GLOW_UNCHANGED;

    f.made = glow_map_new(glow_run_scratch(pass));
    GLOW_FOR_EACH_NODE(n, func) {
        if (!reads_nothing(n) || (n->op->traits & GLOW_UNKNOWN))
            continue;
        if (!glow_run_may_rewrite(pass))
            break;
        if (fold(&f, n))
            result = GLOW_CHANGED;
    }
    if (result == GLOW_CHANGED)
        glow_erase_unused(func);
    return result;
}

const glow_pass glow_pass_fold_empty = {
    .name = "fold-empty",
    .summary = "replace values without elements by constants",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "XLA's zero-sized HLO elimination",
};
