/*
 * Control flow: Loop.
 *
 * A Loop becomes a node whose body is a function, if its carried values keep
 * their types.  Scan outputs have a row for each iteration: their number is known
 * if the trip count is constant and the condition always holds.  Where it is data,
 * and the trip count has a bound, they are bounded by the number of iterations.
 * Other loops are unrolled, which needs a constant trip count and constant
 * conditions.
 */

#include "glow/range.h"
#include "tools/glow-translate/import/control.h"
#include "tools/glow-translate/import/follow.h"

/* Limit of iterations of a loop without a trip count. */
#define DEFAULT_TRIPS ((int64_t)1 << 20)

typedef struct loop {
    import_node *n;
    const Onnx__GraphProto *graph;
    glow_value **state; /* the carried values before the first iteration */
    int n_state, n_out; /* n_out: of the body, its condition included */
    bool bounded; /* rows are collected for a number of trips that is data */
    int64_t most; /* trips at most; -1: not known */
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

/* The known trip count. Exporters write a `while` with 2^63 - 1. */
static int64_t
trip_count(import_node *n)
{
    double count = import_known_number(n, 0);

    return count < (double)INT64_MAX ? (int64_t)count : INT64_MAX;
}

static bool
begin(loop *l)
{
    import_node *n = l->n;
    const glow_value *count = import_in(n, 0), *condition = import_in(n, 1);

    l->n_state = n->n_in > 2 ? n->n_in - 2 : 0;
    l->n_out = n->n_out + 1;
    l->state = n->in + 2;
    if (n->n_out < l->n_state)
        return import_refuse(n, "E0711", "%d results for %d values", n->n_out,
                             l->n_state);
    for (int i = 0; i < l->n_state; i++)
        if (!n->in[2 + i])
            return import_refuse(n, "E0711", "operand %d is missing", 2 + i);
    l->counts = count != NULL;
    l->known = count && import_is_known(n, 0);
    if (l->known)
        l->trips = trip_count(n);
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
        types[i] = l->state[i - 2]->type;
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
        if (!glow_type_equal(l->out[i + 1]->type, l->state[i]->type))
            return false;
    return l->n_out == l->n_state + 1 || l->bounded ||
           (l->known && l->always) || l->fails;
}

/* MaxTrips of the node. */
static int64_t
max_trips(const loop *l)
{
    int64_t trips = l->trips < 0 ? 0 : l->trips;

    if (l->bounded)
        return l->most;
    if (l->known && (l->always || trips < DEFAULT_TRIPS))
        return trips;
    return DEFAULT_TRIPS;
}

/* The node, whose results are those of the body but its condition; or NULL. */
static glow_node *
build_node(loop *l)
{
    import_node *n = l->n;
    const glow_type **types =
        GLOW_NEW_ARRAY(import_arena(n), const glow_type *, l->n_out);
    glow_value **in;
    glow_node *made;
    int n_in;

    if (!import_body_returns(n, &l->body, l->out, l->n_out))
        return NULL;
    n_in = 2 + l->n_state + l->body.n_given;
    in = GLOW_NEW_ARRAY(import_arena(n), glow_value *, n_in);
    in[0] = l->fails ? import_constant_ints(n, (glow_dims){0}, &l->trips)
                     : import_in(n, 0);
    in[1] = l->holds || l->fails ? NULL : import_in(n, 1);
    for (int i = 0; i < l->n_state; i++)
        in[2 + i] = l->state[i];
    for (int i = 0; i < l->body.n_given; i++)
        in[2 + l->n_state + i] = l->body.given[i];
    made = glow_build_node(n->im->builder, &glow_op_loop, types, l->n_out - 1,
                           in, n_in,
                           &(const glow_loop){.body = l->body.func->name,
                                              .carried = l->n_state,
                                              .max_trips = max_trips(l)});
    n->inlined = false;
    n->failed |= !made;
    return made;
}

static bool
make_node(loop *l)
{
    import_node *n = l->n;
    glow_node *made;

    if (!build_body(l) || !fits(l) || !(made = build_node(l)))
        return false;
    for (int i = 0; i < n->n_out; i++)
        import_item_done(n, i, (import_item){.value = made->out[i]});
    return !n->failed;
}

/* Loops of a number of iterations that is data, but has a bound. */

/* The most iterations that the trip count allows; -1: it has no bound. */
static int64_t
most_trips(const loop *l)
{
    const glow_value *count = import_in(l->n, 0);
    const import_extents *e = count ? import_extents_of(l->n, count) : NULL;
    double most;

    if (l->known)
        return l->trips < 0 ? 0 : l->trips;
    if (e)
        return e->at[0].most;
    most = count ? glow_range_of(count).hi : (double)INT64_MAX;
    return most < (double)DEFAULT_TRIPS ? most > 0 ? (int64_t)most : 0 : -1;
}

/*
 * The body keeps a 1 of each iteration, as its last row; their sum is the number of
 * iterations, whatever ended the loop.
 */
static void
keep_ones(loop *l)
{
    import_node *n = l->n;
    int64_t one = 1;
    glow_value **out =
        GLOW_NEW_ARRAY(import_arena(n), glow_value *, l->n_out + 1);

    for (int i = 0; i < l->n_out; i++)
        out[i] = l->out[i];
    out[l->n_out++] = import_constant_ints(n, (glow_dims){0}, &one);
    l->out = out;
}

static glow_value *
iterations(loop *l, const glow_node *made)
{
    import_node *n = l->n;
    const import_extents *e;
    glow_value *count;
    int64_t zero = 0;

    if (!l->always)
        return BUILD(n, batchedreduceadd, GLOW_IN(made->out[l->n_out - 2]),
                     .axes = GLOW_DIMS_OF(0));
    e = import_extents_of(n, n->in[0]);
    if (e)
        return e->at[0].count;
    count = import_reshape(n, import_convert(n, n->in[0], GLOW_INDEX64),
                           (glow_dims){0});
    if (glow_range_of(count).lo >= 0)
        return count;
    return import_binary(n, &glow_op_max, count,
                         import_constant_ints(n, (glow_dims){0}, &zero));
}

/*
 * A value that grew along an axis of `part` elements an iteration: its first elements,
 * then `rows`, [iterations, ...].
 */
static bool
append(loop *l, const import_grown *g, glow_value *rows, glow_value *count)
{
    import_node *n = l->n;
    glow_value *first = n->in[2 + g->state];
    glow_dims x = rows->type->shape, shuffle = {.rank = x.rank}, to;
    int axis = import_axis(n, g->axis, x.rank - 1);
    int64_t part = n->failed ? 0 : x.at[axis + 1];
    int64_t before = n->failed ? 0 : first->type->shape.at[axis];

    for (int i = 0; i < x.rank; i++)
        shuffle.at[i] = i < axis ? i + 1 : i == axis ? 0 : i;
    if (n->failed)
        return false;
    to = first->type->shape;
    for (int i = 0; i < to.rank; i++)
        to.at[i] = x.at[i + 1];
    to.at[axis] = part * x.at[0];
    rows = import_reshape(n, import_transpose(n, rows, shuffle), to);
    if (part != 1)
        count = import_binary(n, &glow_op_mul, count,
                              import_constant_ints(n, (glow_dims){0}, &part));
    if (before) {
        rows = import_build(n, &glow_op_concat, NULL, GLOW_IN(first, rows),
                            &(const glow_concat){.dim = axis});
        count = import_binary(n, &glow_op_add, count,
                              import_constant_ints(n, (glow_dims){0}, &before));
    }
    return import_item_done(
        n, g->state,
        (import_item){.value = import_bounded(n, rows, axis, count)});
}

/* True if `rows` can be appended to the value of `g`, but for its axis. */
static bool
appends(const loop *l, const import_grown *g, const glow_value *row)
{
    const glow_type *first = l->n->in[2 + g->state]->type;
    int64_t axis = g->axis + (g->axis < 0 ? first->shape.rank : 0);
    bool same = row->type->elem == first->elem &&
                row->type->shape.rank == first->shape.rank && axis >= 0 &&
                axis < first->shape.rank;

    for (int i = 0; same && i < first->shape.rank; i++)
        same = i == axis || row->type->shape.at[i] == first->shape.at[i];
    return same;
}

/* Sets the results of the node `made`, in the order of the model's node. */
static bool
give_results(loop *l, const glow_node *made, const import_grown *grown,
             int n_grown)
{
    import_node *n = l->n;
    glow_value *count = iterations(l, made);
    int from = 0;

    for (int i = 0, k = 0; i < n->n_out && !n->failed; i++) {
        if (k < n_grown && grown[k].state == i) {
            if (!append(l, &grown[k], made->out[grown[k].row - 1], count))
                return false;
            k++;
            continue;
        }
        import_item_done(
            n, i,
            (import_item){
                .value = from < l->n_state
                             ? made->out[from]
                             : import_bounded(n, made->out[from], 0, count)});
        from++;
    }
    return !n->failed;
}

/* A hint to bind an input that the trip count or the condition depends on, or NULL. */
static const char *
hint_to_bind_trips(const import_node *n)
{
    const char *hint = NULL;

    for (int i = 0; i < 2 && !hint; i++)
        if (n->in[i])
            hint = import_bind_hint(n->im, n->in[i]);
    return hint;
}

static bool
make_bounded(loop *l)
{
    import_node *n = l->n;
    glow_arena *a = import_arena(n);
    import_grown *grown = GLOW_NEW_ARRAY(a, import_grown, l->n_state);
    int n_grown = 0, left = 0;
    glow_node *made;

    l->graph = import_grow(n, l->graph, l->n_state, grown, &n_grown);
    l->state = GLOW_NEW_ARRAY(a, glow_value *, l->n_state);
    for (int i = 0, k = 0; i < l->n_state; i++)
        if (k < n_grown && grown[k].state == i)
            k++;
        else
            l->state[left++] = n->in[2 + i];
    l->n_state = left;
    l->bounded = true;
    if (!build_body(l))
        return false;
    for (int i = 0; i < n_grown; i++) {
        const glow_value *row = l->out[grown[i].row];

        if (row && !appends(l, &grown[i], row))
            return import_refuse(n, "E0711",
                                 "carried value %d is appended to in another "
                                 "shape or kind",
                                 grown[i].state);
        if (row) /* which Concat demands to be as large as the value */
            import_forget_bounds(n->im, row);
    }
    if (!fits(l))
        return import_refuse_hint(
            n, "E0714", hint_to_bind_trips(n),
            "a carried value changes its type, and how many "
            "iterations there are depends on data");
    if (!l->always)
        keep_ones(l);
    made = build_node(l);
    return made && give_results(l, made, grown, n_grown);
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

/* Runs `make` without reports; what it left behind is gone if it fails. */
static bool
try(loop *l, bool (*make)(loop *l))
{
    import_node *n = l->n;
    glow_func *last = n->im->module->last_func;
    glow_quiet quiet;
    bool ok;

    glow_quiet_begin(import_context(n), &quiet);
    ok = make(l);
    glow_quiet_end(import_context(n), &quiet);
    if (ok)
        return true;
    n->failed = false;
    import_forget_bodies(n->im, last);
    return false;
}

bool
import_loop(import_node *n)
{
    const Onnx__GraphProto *graph = import_graph_attr(n, "body");
    loop l = {.n = n, .graph = graph};

    if (!graph || !import_items(n, 0, INT32_MAX))
        return false;
    if (import_has_lists(n, graph))
        return import_unroll_loop(n, graph);
    if (!begin(&l))
        return false;
    if (try(&l, make_node))
        return true;
    l.most = most_trips(&l);
    if (l.most < 0 || l.most > DEFAULT_TRIPS || (l.known && l.always))
        return unroll(&l);
    return (l.known && try(&l, unroll)) || make_bounded(&l);
}
