/*
 * Reverse mode: nodes are visited from the seeds backwards, and the gradients that
 * reach a value by its users are added.
 */

#include "passes/graph/common/reverse.h"

#include <string.h>

#include "glow/derivative.h"
#include "glow/match.h"
#include "glow/ops.h"
#include "passes/graph/common/topology.h"

/* The nodes that matter. */

static reverse_wanted *
wanted_of(const reverse *r, const glow_value *v)
{
    return v->storage && !v->def ? glow_map_get(r->index, v->storage->name)
                                 : NULL;
}

/* The QuantizeLinear whose result DequantizeLinear `n` undoes, or NULL. */
static const glow_node *
linear_pair(const glow_node *n)
{
    const glow_node *q = glow_def(n->in[0], &glow_op_quantizelinear);
    const glow_dequantizelinear *to = n->attrs;
    const glow_quantizelinear *from = q ? q->attrs : NULL;

    return q && q->in[1] == n->in[1] && q->in[2] == n->in[2] &&
                   (n->in[1]->type->shape.rank == 0 ||
                    (from->axis == to->axis &&
                     from->block_size == to->block_size))
               ? q
               : NULL;
}

/* The node that rounds to what `n` makes floats of again, or NULL. */
static const glow_node *
rounding(const glow_node *n)
{
    const glow_node *q = n->op == &glow_op_dequantize
                             ? glow_def(n->in[0], &glow_op_quantize)
                         : n->op == &glow_op_dequantizelinear ? linear_pair(n)
                                                              : NULL;

    return q && !q->pred ? q : NULL;
}

glow_value *
glow_reverse_operand(const glow_node *n, int k)
{
    const glow_node *q = k == 0 ? rounding(n) : NULL;

    return q ? q->in[0] : n->in[k];
}

const glow_storage *
glow_reverse_source(const reverse *r, const glow_value *v)
{
    const reverse_wanted *w;

    if (!v || !glow_is_float(v->type->elem))
        return NULL;
    if (v->def)
        return r->from[glow_number_of(&r->number, v->def)];
    w = wanted_of(r, v);
    return w ? w->source : NULL;
}

static void
find_influence(reverse *r)
{
    r->count = r->f->count;
    r->order = glow_nodes_in_order(r->arena, r->f);
    r->number = glow_numbering_new(r->arena, r->f);
    r->from = GLOW_NEW_ARRAY(r->arena, const glow_storage *, r->count);
    r->to = GLOW_NEW_ARRAY(r->arena, bool, r->count);
    for (int i = 0; i < r->count; i++) {
        glow_node *n = r->order[i];

        glow_number_set(&r->number, n, (uint32_t)i);
        for (int k = 0; k < n->n_in && !r->from[i]; k++)
            r->from[i] = glow_reverse_source(r, glow_reverse_operand(n, k));
    }
    for (int i = 0; i < r->n_seeds; i++)
        r->to[glow_number_of(&r->number, r->seeds[i].save)] = true;
    for (int i = r->count - 1; i >= 0; i--)
        for (int k = 0; k < r->order[i]->n_in && r->to[i]; k++) {
            const glow_value *v = glow_reverse_operand(r->order[i], k);

            if (v && v->def && glow_is_float(v->type->elem))
                r->to[glow_number_of(&r->number, v->def)] = true;
        }
}

static bool
matters(const reverse *r, int i)
{
    return r->from[i] && r->to[i] && r->order[i]->op != &glow_op_save;
}

/*
 * Moves between a rounding and its inverse:
 *
 *     %q = Quantize(%x)                          %q = Quantize(%x)
 *     %m = Transpose(%q) : i8[..]        =>      %d = Dequantize(%q) : float<..>
 *     %y = Dequantize(%m)                        %y = Transpose(%d)
 *
 * `simplify` moves the smaller elements, but a rule goes by the pair.
 */

/* True if `n` takes elements of its first operand, whatever they are. */
static bool
moves_elements(const glow_node *n)
{
    return n->op == &glow_op_transpose || n->op == &glow_op_reshape ||
           n->op == &glow_op_slice || n->op == &glow_op_broadcast ||
           n->op == &glow_op_tile;
}

/* The operator that `n` undoes behind at least one move, or NULL. */
static const glow_node *
moved_rounding(const glow_node *n)
{
    const glow_node *at = n->in[0]->def;

    if (!at || !moves_elements(at))
        return NULL;
    while (at && moves_elements(at) && !at->pred)
        at = at->in[0]->def;
    return at && at->op == &glow_op_quantize && !at->pred ? at : NULL;
}

static glow_value *
move_floats(glow_builder *b, glow_node *n)
{
    const glow_node *move = n->in[0]->def;
    const glow_type *type = n->out[0]->type;
    glow_value *in[GLOW_MAX_OPERANDS];

    if (!moved_rounding(n))
        return NULL;
    memcpy(in, move->in, (size_t)move->n_in * sizeof *in);
    in[0] = GLOW_BUILD_STATED_PLAIN(
        b, dequantize,
        glow_type_get(glow_builder_context(b),
                      glow_type_of(type->elem, in[0]->type->shape)),
        GLOW_IN(in[0]));
    return glow_build(b, move->op, type, in, move->n_in, move->attrs);
}

static glow_result
move_all_floats(reverse *r)
{
    static const glow_rewrite_row rows[] = {
        {&glow_op_dequantize, move_floats},
        {NULL, NULL},
    };
    glow_result once;

    do
        once = glow_rewrite_each(r->run, r->f, rows, NULL);
    while (once == GLOW_CHANGED);
    return once;
}

/* Lowering of operators without a rule. */

static bool
has_no_rule(const glow_pass_run *run, const glow_node *n)
{
    (void)run;
    if (n->op == &glow_op_dequantizelinear && !rounding(n))
        return true;
    return !n->op->derivative && !n->pred && !glow_computes_quantized(n);
}

/* Runs what lowers `op`; GLOW_UNCHANGED if nothing does. */
static glow_result
lower(reverse *r, const glow_op *op)
{
    size_t count;
    const glow_pass *const *passes =
        glow_all_passes(glow_run_context(r->run), &count);
    glow_result result = GLOW_UNCHANGED;

    for (size_t i = 0; i < count && result == GLOW_UNCHANGED; i++)
        if (passes[i]->lowers == op)
            result = glow_run_part(r->run, passes[i], r->f, has_no_rule);
    return result;
}

/* Lowers until what matters has rules, or nothing changes. */
static glow_result
lower_until_ruled(reverse *r)
{
    glow_result result = GLOW_UNCHANGED, once;

    do {
        once = GLOW_UNCHANGED;
        find_influence(r);
        for (int i = 0; i < r->count && once == GLOW_UNCHANGED; i++)
            if (matters(r, i) && has_no_rule(r->run, r->order[i]))
                once = lower(r, r->order[i]->op);
        if (once != GLOW_UNCHANGED)
            result = once;
    } while (once == GLOW_CHANGED);
    return result;
}

/* The reason why node `n` cannot be differentiated, or NULL. */
static const char *
refusal(const glow_node *n)
{
    const glow_derivative *d = n->op->derivative;

    if (n->pred)
        return "with a predicate";
    if (glow_computes_quantized(n) && n->op != &glow_op_dequantize)
        return "on quantized elements";
    return !d ? "" : d->refuses ? d->refuses(n) : NULL;
}

/* False after a report of each node that cannot be differentiated. */
static bool
all_ruled(const reverse *r)
{
    bool all = true;

    for (int i = 0; i < r->count; i++) {
        const glow_node *n = r->order[i];
        const char *why = matters(r, i) ? refusal(n) : NULL;

        if (!why)
            continue;
        all = false;
        glow_report(
            glow_run_context(r->run),
            &(glow_diag){
                .severity = GLOW_ERROR,
                .id = "E0442",
                .message = glow_arena_printf(
                    r->arena,
                    "no gradient of %s%s%s (%%%s): @%s reaches the loss "
                    "@%s by it",
                    n->op->name, *why ? " " : "", why, n->name,
                    r->from[i]->name, r->loss),
                .span = n->span,
            });
    }
    return all;
}

/* The walk backwards. */

static bool
is_wanted(const reverse *r, const glow_value *v)
{
    return glow_reverse_source(r, v) != NULL;
}

/* The InsertTensor of one part that makes `v`, or NULL. */
static glow_node *
insertion(const glow_value *v)
{
    glow_node *n = v->def;

    return n && n->op == &glow_op_inserttensor && !n->pred &&
                   ((const glow_inserttensor *)n->attrs)->count == 1
               ? n
               : NULL;
}

/* True if no element is written by both insertions. */
static bool
are_apart(const glow_node *a, const glow_node *b)
{
    glow_dims p = ((const glow_inserttensor *)a->attrs)->start;
    glow_dims q = ((const glow_inserttensor *)b->attrs)->start;

    for (int k = 0; k < p.rank; k++)
        if (p.at[k] + a->in[1]->type->shape.at[k] <= q.at[k] ||
            q.at[k] + b->in[1]->type->shape.at[k] <= p.at[k])
            return true;
    return false;
}

/*
 * `sum` + `d`.  The gradients of slices that do not overlap are parts of zeros: the
 * next part is inserted into the others.
 */
static glow_value *
sum_of(reverse *r, glow_value *sum, glow_value *d)
{
    glow_node *part = insertion(d), *n = part;
    glow_value *under = sum;

    if (!part || !glow_is_number(part->in[0], 0))
        return GLOW_BUILD_PLAIN(r->b, add, GLOW_IN(sum, d));
    for (n = insertion(under); n && are_apart(n, part); n = insertion(under))
        under = n->in[0];
    if (under == sum || !glow_is_number(under, 0))
        return GLOW_BUILD_PLAIN(r->b, add, GLOW_IN(sum, d));
    sum = GLOW_BUILD(r->b, inserttensor, GLOW_IN(sum, part->in[1]),
                     .start = ((const glow_inserttensor *)part->attrs)->start,
                     .count = 1);
    if (glow_is_unused(d))
        glow_node_erase(part);
    return sum;
}

/* Adds `d` to the gradient by `v`. */
static bool
add_gradient(reverse *r, glow_value *v, glow_value *d)
{
    reverse_wanted *w = wanted_of(r, v);
    glow_value **at =
        w ? &w->gradient
          : &r->gradients[glow_number_of(&r->number, v->def)][v->index];

    *at = *at ? sum_of(r, *at, d) : d;
    return *at;
}

static bool
apply_gradient(reverse *r, glow_node *n, glow_value **by_result)
{
    glow_value **by_operand = GLOW_NEW_ARRAY(r->arena, glow_value *, n->n_in);
    glow_value **in = GLOW_NEW_ARRAY(r->arena, glow_value *, n->n_in);
    bool *want = GLOW_NEW_ARRAY(r->arena, bool, n->n_in);
    glow_gradient g = {n, by_result, want, by_operand};
    int n_in = n->n_in;

    for (int i = 0; i < n_in; i++)
        want[i] = is_wanted(r, in[i] = glow_reverse_operand(n, i));
    if (!(n->op == &glow_op_if     ? glow_reverse_if(r, &g)
          : n->op == &glow_op_loop ? glow_reverse_loop(r, &g)
                                   : n->op->derivative->gradient(r->b, &g)))
        return false;
    for (int i = 0; i < n_in; i++)
        if (want[i] && by_operand[i] && !add_gradient(r, in[i], by_operand[i]))
            return false;
    return true;
}

static bool
apply_rule(reverse *r, glow_node *n, glow_value **by_result)
{
    const glow_derivative *d = n->op->derivative;
    glow_value *given;

    if (d->is_zero)
        return true;
    glow_builder_named(r->b, glow_arena_printf(r->arena, "%s.grad", n->name),
                       n->loc);
    if (d->gradient || d->is_call)
        return apply_gradient(r, n, by_result);
    for (int i = 0; i < n->n_in; i++) {
        if (!is_wanted(r, n->in[i]))
            continue;
        given = d->partial ? d->partial(r->b, n, i, by_result[0])
                           : d->transpose(r->b, n, i, by_result[0]);
        if (glow_builder_failed(r->b) ||
            (given && !add_gradient(r, n->in[i], given)))
            return false;
    }
    return true;
}

/* Begins with the gradient of what `seed` saves, if that is of use. */
static bool
plant(reverse *r, const reverse_seed *seed)
{
    glow_value *v = seed->save->in[0], *d = seed->gradient;

    if (!is_wanted(r, v))
        return true;
    glow_builder_named(r->b, "seed", seed->save->loc);
    if (!d)
        d = glow_build_splat(r->b, "splat", v->type, 1);
    return d && add_gradient(r, v, d);
}

static bool
walk_back(reverse *r)
{
    r->gradients = GLOW_NEW_ARRAY(r->arena, glow_value **, r->count);
    for (int i = 0; i < r->count; i++)
        r->gradients[i] =
            GLOW_NEW_ARRAY(r->arena, glow_value *, r->order[i]->n_out);
    for (int i = 0; i < r->n_seeds; i++)
        if (!plant(r, &r->seeds[i]))
            return false;
    for (int i = r->count - 1; i >= 0; i--) {
        bool some = false;

        if (!matters(r, i))
            continue;
        for (int k = 0; k < r->order[i]->n_out; k++)
            some |= r->gradients[i][k] != NULL;
        if (some && !apply_rule(r, r->order[i], r->gradients[i]))
            return false;
    }
    return true;
}

bool
glow_reverse(reverse *r)
{
    r->index = glow_map_new(r->arena);
    for (int i = 0; i < r->n_wanted; i++)
        glow_map_set(r->index, r->wanted[i].storage->name, &r->wanted[i]);
    return move_all_floats(r) != GLOW_FAILED &&
           lower_until_ruled(r) != GLOW_FAILED && all_ruled(r) && walk_back(r);
}
