/* Functions of one quantized element, evaluated for all its values. */

#include "glow/table.h"

#include "glow/eval.h"
#include "glow/match.h"
#include "glow/ops.h"
#include "glow/quantize.h"

#define MOST_ENTRIES 65536 /* of a table: the elements of 16 bits */

bool
glow_is_uniform(const glow_value *v)
{
    return (glow_is(v->def, &glow_op_splat) && !v->def->pred) ||
           (v->storage && v->storage->is_constant &&
            v->storage->payload == GLOW_SPLAT);
}

static bool
is_quantized(const glow_value *v)
{
    return v && glow_is_quantized(v->type->elem);
}

bool
glow_maps_quantized(const glow_node *n)
{
    int traits = GLOW_PURE | GLOW_ELEMENTWISE;

    if (n->n_out != 1 || !is_quantized(n->out[0]))
        return false;
    if (n->op == &glow_op_intlookuptable)
        return glow_constant_data(n->in[1], MOST_ENTRIES) != NULL;
    for (int i = 0; i < n->n_in; i++)
        if (!is_quantized(n->in[i]))
            return false;
    return (n->op->traits & traits) == traits;
}

/* A tensor of `count` elements of the type of `v`; zeros. */
static glow_tensor
row_of(glow_builder *b, const glow_value *v, int64_t count)
{
    glow_type t = *v->type;

    t.shape = GLOW_DIMS_OF(count);
    t.strides = (glow_dims){0};
    return (glow_tensor){
        .type = glow_type_get(glow_builder_context(b), t),
        .data = GLOW_NEW_ARRAY(glow_builder_scratch(b), int64_t, count),
    };
}

static void
fill_uniform(const glow_value *v, const glow_tensor *t)
{
    const glow_splat *s = GLOW_AS(splat, v->def);

    for (int64_t i = 0; i < glow_type_count(t->type); i++)
        if (s)
            glow_set_real(t, i, (double)s->value);
        else
            glow_set_double(t, i, v->storage->splat);
}

/* The function that is evaluated: results of the first nodes, and the values of `x`. */
typedef struct function {
    glow_builder *b;
    const glow_value *x;
    glow_tensor all;
    const glow_node *const *nodes;
    glow_tensor *results;
} function;

/* Operand `i` of node number `at`, for all values of `x`. */
static glow_tensor
operand(const function *f, int at, int i)
{
    const glow_value *v = f->nodes[at]->in[i];
    glow_tensor row;

    if (v == f->x)
        return f->all;
    for (int k = 0; k < at; k++)
        if (v == f->nodes[k]->out[0])
            return f->results[k];
    if (f->nodes[at]->op == &glow_op_intlookuptable)
        return *glow_constant_data(v, MOST_ENTRIES);
    row = row_of(f->b, v, glow_type_count(f->all.type));
    fill_uniform(v, &row);
    return row;
}

static bool
evaluate(const function *f, int at)
{
    const glow_node *n = f->nodes[at];
    glow_arena *scratch = glow_builder_scratch(f->b);
    glow_tensor *rows = GLOW_NEW_ARRAY(scratch, glow_tensor, n->n_in);
    glow_tensor **in = GLOW_NEW_ARRAY(scratch, glow_tensor *, n->n_in);

    for (int i = 0; i < n->n_in; i++) {
        rows[i] = operand(f, at, i);
        in[i] = &rows[i];
    }
    f->results[at] = row_of(f->b, n->out[0], glow_type_count(f->all.type));
    return glow_eval_node(n, in, &(glow_tensor *){&f->results[at]}, scratch);
}

glow_value *
glow_build_table(glow_builder *b, glow_value *x, const glow_node *const nodes[],
                 int count)
{
    glow_kind kind = x->type->elem;
    int64_t values = glow_quantized_values(kind);
    function f = {b, x, row_of(b, x, values), nodes, NULL};
    glow_value *table;

    f.results = GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_tensor, count);
    for (int64_t i = 0; i < values; i++)
        glow_set_int(&f.all, i, glow_quantized_least(kind) + i);
    for (int k = 0; k < count; k++)
        if (!evaluate(&f, k))
            return NULL;
    table = glow_build_constant(b, "table", f.results[count - 1].type);
    if (!table)
        return NULL;
    glow_tensor_copy(&table->storage->tensor, &f.results[count - 1]);
    return GLOW_BUILD_PLAIN(b, intlookuptable, GLOW_IN(x, table));
}
