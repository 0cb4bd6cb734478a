/*
 * Control flow: Loop.
 *
 * A Loop becomes a node whose body is a function, if its carried values keep
 * their types.  Scan outputs need a constant trip count and a condition that
 * always holds, since they have a row for each iteration.  Other loops are
 * unrolled, which needs a constant trip count and constant conditions.
 */

#include "tools/glow-translate/import/control.h"

/* Limit of iterations of a loop without a trip count. */
#define DEFAULT_TRIPS ((int64_t)1 << 20)

typedef struct loop {
    import_node *n;
    const Onnx__GraphProto *graph;
    int n_state, n_out; /* n_out: of the body, its condition included */
    bool counts, known; /* the loop has a trip count; it is constant */
    int64_t trips;      /* if `known` */
    bool holds;         /* the condition before the first iteration is true */
    bool fails;         /* it is false: there are no iterations */
    bool always;        /* it is true, and so are all others */
    import_body body;
    glow_value **out; /* of the body */
} loop;

static bool
is_true(const glow_value *v)
{
    const glow_tensor *t =
        v && glow_is_constant(v) ? glow_constant_tensor(v->storage) : NULL;

    return t && glow_type_count(t->type) == 1 && glow_get_int(t, 0);
}

static bool
begin(loop *l)
{
    import_node *n = l->n;
    const glow_value *count = import_in(n, 0), *condition = import_in(n, 1);

    l->n_state = n->n_in > 2 ? n->n_in - 2 : 0;
    l->n_out = n->n_out + 1;
    if (n->n_out < l->n_state)
        return import_refuse(n, "E0711", "%d results for %d values", n->n_out,
                             l->n_state);
    for (int i = 0; i < l->n_state; i++)
        if (!n->in[2 + i])
            return import_refuse(n, "E0711", "operand %d is missing", 2 + i);
    l->counts = count != NULL;
    l->known = count && import_is_known(n, 0);
    if (l->known)
        l->trips = (int64_t)import_known_number(n, 0);
    l->holds = !condition || is_true(condition);
    l->fails = !l->holds && import_is_known(n, 1);
    if (l->fails) {
        l->known = true;
        l->trips = 0;
    }
    return !n->failed;
}

/*
 * The formal of the iteration number or condition, in the kind that the graph
 * declares.
 */
static glow_value *
as_declared(loop *l, int i)
{
    const Onnx__ValueInfoProto *v =
        l->graph->n_input > (size_t)i ? l->graph->input[i] : NULL;
    const Onnx__TensorShapeProto *s = v && v->type && v->type->tensor_type
                                          ? v->type->tensor_type->shape
                                          : NULL;
    glow_value *formal = &l->body.in[i]->value;

    return s && s->n_dim == 1 ? import_reshape(l->n, formal, GLOW_DIMS_OF(1))
                              : formal;
}

static bool
build_body(loop *l)
{
    import_node *n = l->n;
    glow_arena *a = import_arena(n);
    int count = 2 + l->n_state;
    const glow_type **types = GLOW_NEW_ARRAY(a, const glow_type *, count);
    import_item *in = GLOW_NEW_ARRAY(a, import_item, count);
    import_item *out = GLOW_NEW_ARRAY(a, import_item, l->n_out);
    bool ok;

    types[0] = import_type(n, GLOW_INDEX64, (glow_dims){0});
    types[1] = import_type(n, GLOW_BOOL, (glow_dims){0});
    for (int i = 2; i < count; i++)
        types[i] = n->in[i]->type;
    import_body_begin(n, &l->body, "body", types, count);
    for (int i = 0; i < count; i++)
        in[i].value = i < 2 ? as_declared(l, i) : &l->body.in[i]->value;
    ok = import_inline(n, l->graph, in, count, out, l->n_out);
    l->always = l->holds && ok &&
                (is_true(out[0].value) || out[0].value == in[1].value);
    if (ok && out[0].value && glow_type_count(out[0].value->type) == 1)
        out[0].value = import_reshape(n, out[0].value, (glow_dims){0});
    import_body_end(n, &l->body);
    l->out = GLOW_NEW_ARRAY(a, glow_value *, l->n_out);
    for (int i = 0; ok && i < l->n_out; i++)
        l->out[i] = out[i].value;
    return ok && !n->failed;
}

/* True if the loop can be a node. */
static bool
fits(const loop *l)
{
    for (int i = 0; i < l->n_out; i++)
        if (!l->out[i])
            return false;
    for (int i = 0; i < l->n_state; i++)
        if (!glow_type_equal(l->out[i + 1]->type, l->n->in[i + 2]->type))
            return false;
    return l->n_out == l->n_state + 1 || (l->known && l->always) || l->fails;
}

/* MaxTrips of the node. */
static int64_t
max_trips(const loop *l)
{
    int64_t trips = l->trips < 0 ? 0 : l->trips;

    if (l->known && (l->always || trips < DEFAULT_TRIPS))
        return trips;
    return DEFAULT_TRIPS;
}

static bool
make_node(loop *l)
{
    import_node *n = l->n;
    glow_value **in;
    int n_in;

    if (!build_body(l) || !fits(l) ||
        !import_body_returns(n, &l->body, l->out, l->n_out))
        return false;
    n_in = 2 + l->n_state + l->body.n_given;
    in = GLOW_NEW_ARRAY(import_arena(n), glow_value *, n_in);
    in[0] = l->fails ? import_constant_ints(n, (glow_dims){0}, &l->trips)
                     : import_in(n, 0);
    in[1] = l->holds || l->fails ? NULL : import_in(n, 1);
    for (int i = 0; i < l->n_state; i++)
        in[2 + i] = n->in[2 + i];
    for (int i = 0; i < l->body.n_given; i++)
        in[2 + l->n_state + i] = l->body.given[i];
    return import_call_node(n, &glow_op_loop, in, n_in,
                            &(const glow_loop){.body = l->body.func->name,
                                               .carried = l->n_state,
                                               .max_trips = max_trips(l)});
}

/* Unrolls a loop that cannot be a node, or reports the trip count. */
static bool
unroll(loop *l)
{
    import_node *n = l->n;

    if (!l->counts || l->known)
        return import_unroll_loop(n, l->graph);
    import_refuse_unknown(n, 0, n->in[0]);
    return false;
}

bool
import_loop(import_node *n)
{
    const Onnx__GraphProto *graph = import_graph_attr(n, "body");
    glow_func *last = n->im->module->last_func;
    glow_quiet quiet;
    loop l = {.n = n, .graph = graph};
    bool ok;

    if (!graph || !import_items(n, 0, INT32_MAX))
        return false;
    if (import_has_lists(n, graph))
        return import_unroll_loop(n, graph);
    if (!begin(&l))
        return false;
    glow_quiet_begin(import_context(n), &quiet);
    ok = make_node(&l);
    glow_quiet_end(import_context(n), &quiet);
    if (ok)
        return true;
    n->failed = false;
    import_forget_bodies(n->im, last);
    return unroll(&l);
}
