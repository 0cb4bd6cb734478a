/*
 * fold-update: insert into a cache what replaces a part of it.
 *
 *     %a = Slice(@cache) {Start: [0, 0]}      : [5, 8]
 *     %b = Slice(@cache) {Start: [6, 0]}      : [10, 8]
 *     %k = Concat([%a, %row, %b]) {Dim: 0}    : [16, 8]
 *     %s = Save(%k, @cache)
 *         =>
 *     %k = InsertTensor(@cache, %row) {Start: [5, 0]}
 *     %s = Save(%k, @cache)
 *
 * Each operand of the Concat is a Slice of the placeholder at its own place in the
 * result, all of it along the other axes, or is inserted; there is at least one of
 * either kind.  It is done where the result is saved to that placeholder, so that
 * update-in-place writes the inserted parts alone: elsewhere slices that are read in
 * place are copied once, and so are the rows that an InsertTensor keeps.
 *
 * Decoders of one token that were traced at a fixed position write their caches so.
 * Afterwards no Concat that is saved to a placeholder has a part of it in its place.
 */

#include "glow/ops.h"
#include "glow/pass.h"

/* Is `v` the part of `x` that begins at `at` of axis `dim`? */
static bool
is_kept(const glow_value *v, const glow_value *x, int dim, int64_t at)
{
    const glow_slice *s = GLOW_AS(slice, v->def);
    glow_dims want = x->type->shape;

    if (!s || v->def->pred || v->def->in[0] != x)
        return false;
    want.at[dim] = v->type->shape.at[dim];
    for (int i = 0; i < want.rank; i++)
        if (s->start.at[i] != (i == dim ? at : 0) ||
            (s->steps.rank && s->steps.at[i] != 1))
            return false;
    return glow_dims_equal(v->type->shape, want);
}

/* The placeholder that `n` is saved to and has slices of, or NULL. */
static glow_value *
cache_of(const glow_node *n)
{
    GLOW_FOR_EACH_USE(u, n->out[0]) {
        glow_value *x = u->user->op == &glow_op_save ? u->user->in[1] : NULL;

        if (!x || u->user->pred || u->index != 0 || x->type != n->out[0]->type)
            continue;
        for (int i = 0; i < n->n_in; i++)
            if (glow_is(n->in[i]->def, &glow_op_slice) &&
                n->in[i]->def->in[0] == x)
                return x;
    }
    return NULL;
}

static glow_value *
fold(glow_builder *b, glow_node *n)
{
    const glow_concat *c = n->attrs;
    glow_value *x = cache_of(n), *y = x;
    glow_dims start = {.rank = n->out[0]->type->shape.rank};
    int kept = 0;

    for (int i = 0; x && i < n->n_in; i++) {
        kept += is_kept(n->in[i], x, c->dim, start.at[c->dim]);
        start.at[c->dim] += n->in[i]->type->shape.at[c->dim];
    }
    if (kept == 0 || n->pred)
        return NULL;
    start.at[c->dim] = 0;
    for (int i = 0; y && i < n->n_in; i++) {
        if (!is_kept(n->in[i], x, c->dim, start.at[c->dim]))
            y = GLOW_BUILD(b, inserttensor, GLOW_IN(y, n->in[i]),
                           .start = start, .count = 1);
        start.at[c->dim] += n->in[i]->type->shape.at[c->dim];
    }
    return y;
}

static glow_result
run(glow_pass_run *run, glow_func *f)
{
    return glow_rewrite(run, f, &glow_op_concat, fold);
}

const glow_pass glow_pass_fold_update = {
    .name = "fold-update",
    .summary = "insert into a cache what replaces a part of it",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};
