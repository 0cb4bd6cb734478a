/*
 * Bodies over sequences: built once for each element or iteration.
 *
 *     SequenceMap(s, t) {body: f}  =>  [f(s.0, t), f(s.1, t), ...]
 *
 * A Loop that carries a sequence, or reads one from around it, has no form in
 * the graph, so its trip count and its conditions must be known.
 */

#include <inttypes.h>
#include <math.h>

#include "tools/glow-translate/import/state.h"

#define MAX_TRIPS 4096

/* Allocates the results of a SequenceMap: sequences of `length`. */
static import_list **
new_results(import_node *n, int length)
{
    import_list **out =
        GLOW_NEW_ARRAY(import_arena(n), import_list *, n->n_out);

    for (int k = 0; k < n->n_out; k++)
        out[k] = import_new_list(n, false, GLOW_NO_KIND, length);
    return out;
}

bool
import_sequence_map(import_node *n)
{
    const Onnx__GraphProto *body;
    const import_list *first;
    import_list **out;
    import_item *in, *result;

    if (!import_items(n, 1, INT32_MAX))
        return false;
    body = import_graph_attr(n, "body");
    first = import_sequence_in(n, 0);
    if (!body || !first)
        return false;
    out = new_results(n, first->count);
    in = GLOW_NEW_ARRAY(import_arena(n), import_item, n->n_in);
    result = GLOW_NEW_ARRAY(import_arena(n), import_item, n->n_out);
    for (int i = 0; i < first->count; i++) {
        for (int k = 0; k < n->n_in; k++) {
            const import_list *l = n->in_list[k];

            if (l && l->count != first->count)
                return import_refuse(n, "E0711",
                                     "operand %d has %d elements, but the "
                                     "first %d",
                                     k, l->count, first->count);
            in[k] = l ? l->items[i] : import_item_in(n, k);
        }
        if (!import_inline(n, body, in, n->n_in, result, n->n_out))
            return false;
        for (int k = 0; k < n->n_out; k++)
            out[k]->items[i] = result[k];
    }
    for (int k = 0; k < n->n_out; k++)
        import_item_done(n, k, (import_item){.list = out[k]});
    return true;
}

/* Loop. */

/* True if a node of `g`, at any depth, uses a list defined outside of it. */
static bool
names_list(importer *im, const Onnx__GraphProto *g)
{
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnx__NodeProto *p = g->node[i];

        for (size_t k = 0; k < p->n_input; k++)
            if (import_lookup(im, p->input[k]).list)
                return true;
        for (size_t k = 0; k < p->n_attribute; k++)
            if (p->attribute[k]->g && names_list(im, p->attribute[k]->g))
                return true;
    }
    return false;
}

bool
import_has_lists(import_node *n, const Onnx__GraphProto *body)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in_list[i])
            return true;
    return names_list(n->im, body);
}

typedef struct unroller {
    import_node *n;
    const Onnx__GraphProto *body;
    int64_t trips;      /* INT64_MAX: until the condition is false */
    int n_state;        /* carried values */
    int n_scan;         /* scan outputs */
    import_item *in;    /* of the body: iteration, condition, state */
    import_item *out;   /* of the body: condition, state, collected */
    glow_value ***scan; /* by result and iteration */
} unroller;

/*
 * Sets `*out` to the condition of the next iteration, which must be constant.
 */
static bool
condition(unroller *u, bool *out)
{
    const glow_value *v = u->in[1].value;
    const glow_tensor *t = NULL;

    if (v && !glow_is_constant(v))
        import_refuse_unknown(u->n, 1, v);
    else if (v)
        t = glow_constant_tensor(v->storage);
    if (!t || glow_type_count(t->type) != 1)
        return import_refuse(u->n, "E0711", "the condition must be one value");
    *out = glow_get_int(t, 0) != 0;
    return true;
}

static glow_value *
constant_bool(import_node *n, bool v)
{
    glow_tensor t = glow_tensor_new(import_type(n, GLOW_BOOL, (glow_dims){0}));

    glow_set_int(&t, 0, v);
    return import_constant_of(n, &t);
}

static bool
iterate(unroller *u, int64_t trip)
{
    int n_in = 2 + u->n_state;

    u->in[0].value = import_constant_ints(u->n, (glow_dims){0}, &trip);
    if (!import_inline(u->n, u->body, u->in, n_in, u->out,
                       1 + u->n_state + u->n_scan))
        return false;
    for (int i = 0; i < 1 + u->n_state; i++)
        u->in[1 + i] = u->out[i];
    for (int k = 0; k < u->n_scan; k++) {
        u->scan[k][trip] = u->out[1 + u->n_state + k].value;
        if (!u->scan[k][trip])
            return import_refuse(u->n, "E0711", "scan output %d is no tensor",
                                 k);
    }
    return true;
}

static bool
iterate_all(unroller *u, int *trips)
{
    bool goes_on = true;
    int64_t i = 0;

    for (; i < u->trips; i++) {
        if (!condition(u, &goes_on))
            return false;
        if (!goes_on)
            break;
        if (i == MAX_TRIPS)
            return import_refuse(u->n, "E0705",
                                 "a loop over sequences takes over %d turns",
                                 MAX_TRIPS);
        if (!iterate(u, i))
            return false;
    }
    *trips = (int)i;
    return true;
}

/* Sets the results: the state, and scan outputs stacked along a new axis. */
static bool
finish(unroller *u, int trips)
{
    import_node *n = u->n;

    for (int k = 0; k < u->n_state; k++)
        import_item_done(n, k, u->in[2 + k]);
    for (int k = 0; k < u->n_scan; k++) {
        if (trips == 0)
            return import_refuse(n, "E0705",
                                 "a loop without a turn has nothing to "
                                 "collect: the shape is not known");
        n->out[u->n_state + k] = import_join(n, u->scan[k], trips, 0, true);
    }
    return !n->failed;
}

bool
import_unroll_loop(import_node *n, const Onnx__GraphProto *body)
{
    unroller u = {.n = n, .body = body, .trips = INT64_MAX};
    bool has_count = import_is_given(import_item_in(n, 0));
    int trips = 0;

    if (has_count) {
        double count = import_tensor_in(n, 0) ? import_known_number(n, 0) : 0;

        u.trips = count < 0 ? 0 : count > 1e9 ? (int64_t)1e9 : (int64_t)count;
    }
    u.n_state = n->n_in > 2 ? n->n_in - 2 : 0;
    u.n_scan = n->n_out - u.n_state;
    if (n->failed || u.n_scan < 0)
        return import_refuse(n, "E0711", "%d results for %d values", n->n_out,
                             u.n_state);
    u.in = GLOW_NEW_ARRAY(import_arena(n), import_item, 2 + u.n_state);
    u.out = GLOW_NEW_ARRAY(import_arena(n), import_item, 1 + n->n_out);
    u.scan = GLOW_NEW_ARRAY(import_arena(n), glow_value **, u.n_scan);
    for (int k = 0; k < u.n_scan; k++)
        u.scan[k] = GLOW_NEW_ARRAY(import_arena(n), glow_value *, MAX_TRIPS);
    u.in[1] = import_item_in(n, 1);
    if (!import_is_given(u.in[1]))
        u.in[1].value = constant_bool(n, true);
    for (int k = 0; k < u.n_state; k++)
        u.in[2 + k] = import_item_in(n, 2 + k);
    return iterate_all(&u, &trips) && finish(&u, trips);
}
