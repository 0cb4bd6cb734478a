/*
 * fold-table: compute functions of one quantized element by one table.
 *
 *     %s = IntLookupTable(%x, @sigmoid)
 *     %y = Mul(%x, %s)                    =>  %y = IntLookupTable(%x, @y.table)
 *
 * The function is a tree of element-wise operators on quantized elements, at least one
 * an IntLookupTable, which read one value of 8 bits, or of 16 where a table of it is
 * read as well, and uniform values.  Nobody else uses the results within.  Each element
 * of the new table is what the operators give, bit for bit.
 *
 * Models that quantize each operator of an activation have such trees: Swish as a
 * Sigmoid and a product, HardSwish, Gelu by Erf, a table of a table.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/quantize.h"
#include "glow/table.h"

#define MOST_NODES 16 /* of a function */

/* Nodes of a function, each behind all that use it. */
typedef struct tree {
    const glow_node *nodes[MOST_NODES];
    int count;
} tree;

static bool
holds(const tree *t, const glow_node *n)
{
    for (int i = 0; i < t->count; i++)
        if (t->nodes[i] == n)
            return true;
    return false;
}

static bool
maps(const glow_node *n)
{
    return !n->pred && glow_maps_quantized(n);
}

/* The operands of `n` that vary: an IntLookupTable has one. */
static int
operands_of(const glow_node *n)
{
    return n->op == &glow_op_intlookuptable ? 1 : n->n_in;
}

/* True if `v` is an argument of the function: neither computed in `t` nor uniform. */
static bool
is_argument(const tree *t, const glow_value *v)
{
    return !glow_is_uniform(v) && !(v->def && holds(t, v->def));
}

/* The only argument of the function, or NULL. */
static glow_value *
only_argument(const tree *t)
{
    glow_value *found = NULL;

    for (int k = 0; k < t->count; k++)
        for (int i = 0; i < operands_of(t->nodes[k]); i++) {
            glow_value *v = t->nodes[k]->in[i];

            if (!is_argument(t, v) || v == found)
                continue;
            if (found)
                return NULL;
            found = v;
        }
    return found;
}

static bool
is_used_within(const tree *t, const glow_value *v)
{
    GLOW_FOR_EACH_USE(u, v)
        if (!holds(t, u->user))
            return false;
    return true;
}

/* Adds the node of an argument that nobody else uses; false if there is none. */
static bool
extend(tree *t)
{
    for (int k = 0; k < t->count; k++)
        for (int i = 0; i < operands_of(t->nodes[k]); i++) {
            glow_value *v = t->nodes[k]->in[i];

            if (t->count < MOST_NODES && v->def && is_argument(t, v) &&
                maps(v->def) && is_used_within(t, v)) {
                t->nodes[t->count++] = v->def;
                return true;
            }
        }
    return false;
}

/* True if the table of `x` replaces one that is as large. */
static bool
pays(const tree *t, const glow_value *x)
{
    int64_t values = glow_quantized_values(x->type->elem);

    for (int k = 0; k < t->count && values && t->count > 1; k++)
        if (t->nodes[k]->op == &glow_op_intlookuptable &&
            glow_type_count(t->nodes[k]->in[1]->type) >= values)
            return true;
    return false;
}

static glow_value *
fold(glow_builder *b, glow_node *n)
{
    const glow_node *nodes[MOST_NODES];
    tree t = {.nodes = {n}, .count = 1};
    glow_value *x = NULL;
    int count = 0;

    if (!maps(n))
        return NULL;
    do {
        glow_value *v = only_argument(&t);

        if (!v || !pays(&t, v))
            continue;
        x = v;
        count = t.count;
    } while (extend(&t));
    if (!x)
        return NULL;
    for (int k = 0; k < count; k++) {
        nodes[k] = t.nodes[count - 1 - k];
        if (nodes[k] != n)
            glow_builder_fuses(b, nodes[k]);
    }
    return glow_build_table(b, x, nodes, count);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_func_may_have(f, &glow_op_intlookuptable)
               ? glow_rewrite(pass, f, NULL, fold)
               : GLOW_UNCHANGED;
}

const glow_pass glow_pass_fold_table = {
    .name = "fold-table",
    .summary = "compute functions of one quantized element by one table",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
    .takes_quantized = true,
};
