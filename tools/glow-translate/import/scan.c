/*
 * Control flow: Scan, as a Loop over the elements of its inputs.
 *
 *     Scan(s, x) {body: f}  =>  Loop(size of x, _, [s, x]) {Body: g}
 *     g(i, s, x) = f(s, x[i])
 *
 * The inputs are not carried, so they are only read.  Scan outputs are in the
 * order of the iterations along axis 0; other orders and axes are produced by
 * operators after the loop.
 */

#include <inttypes.h>

#include "tools/glow-translate/import/control.h"

typedef struct scan {
    import_node *n;
    const Onnx__GraphProto *graph;
    int n_state, n_scan, n_kept; /* numbers of states, scan inputs and scan
                                  * outputs */
    int first;                   /* operand of the first state */
    glow_dims in_axes;           /* by input */
    glow_ints in_backward, out_axes, out_backward;
    int64_t trips;
    import_body body;
} scan;

static int64_t
entry(glow_ints l, int i)
{
    return i < l.count ? l.at[i] : 0;
}

/* Reads a list with `due` entries, or an absent one. */
static glow_ints
read_list(scan *s, const char *name, int due)
{
    glow_ints l = import_ints(s->n, name);

    if (l.count && l.count != due)
        import_refuse(s->n, "E0710",
                      "%s has %" PRId64 " entries, but %d are due", name,
                      l.count, due);
    return l;
}

/* All inputs have the same size along their axes. */
static bool
read_sizes(scan *s, glow_ints axes, int batches)
{
    import_node *n = s->n;

    s->trips = -1;
    for (int i = 0; i < s->n_scan; i++) {
        glow_dims x = import_shape(n->in[s->first + s->n_state + i]);
        int rank = x.rank - batches;
        int axis = import_axis(n, entry(axes, i), rank) + batches;

        if (n->failed)
            return false;
        if (s->trips >= 0 && x.at[axis] != s->trips)
            return import_refuse(n, "E0711",
                                 "input %d has %" PRId64
                                 " elements to scan, but others %" PRId64,
                                 i, x.at[axis], s->trips);
        s->trips = x.at[axis];
        s->in_axes.at[i] = axis - batches;
    }
    return true;
}

/*
 * Reads operands and attributes; `batches`: number of leading axes of operands.
 */
static bool
begin(scan *s, int batches)
{
    import_node *n = s->n;
    glow_ints axes = {0};

    s->graph = import_graph_attr(n, "body");
    s->n_scan = (int)import_int(n, "num_scan_inputs", -1, 1, GLOW_MAX_RANK);
    s->n_state = n->n_in - s->first - s->n_scan;
    s->n_kept = n->n_out - s->n_state;
    if (n->failed || s->n_scan < 1)
        return import_refuse(n, "E0710", "num_scan_inputs is missing");
    if (s->n_state < 0 || s->n_kept < 0)
        return import_refuse(n, "E0711", "%d operands and %d results", n->n_in,
                             n->n_out);
    for (int i = s->first; i < n->n_in; i++)
        if (!n->in[i] || n->in[i]->type->shape.rank < batches)
            return import_refuse(n, "E0711",
                                 "operand %d is missing, or a "
                                 "scalar",
                                 i);
    if (batches) {
        s->in_backward = read_list(s, "directions", s->n_scan);
    } else {
        axes = read_list(s, "scan_input_axes", s->n_scan);
        s->in_backward = read_list(s, "scan_input_directions", s->n_scan);
        s->out_axes = read_list(s, "scan_output_axes", s->n_kept);
        s->out_backward = read_list(s, "scan_output_directions", s->n_kept);
    }
    return !n->failed && read_sizes(s, axes, batches);
}

/* x[i] along the axis, from the end if backward. */
static glow_value *
element(scan *s, int i, glow_value *x)
{
    import_node *n = s->n;
    glow_value *at = &s->body.in[0]->value;

    if (entry(s->in_backward, i)) {
        int64_t last = s->trips - 1;

        at = import_binary(n, &glow_op_sub,
                           import_constant_ints(n, (glow_dims){0}, &last), at);
    }
    return BUILD(n, gather, GLOW_IN(x, at), .axis = (int)s->in_axes.at[i]);
}

static glow_value *
new_true(import_node *n)
{
    return import_constant_splat(n, GLOW_BOOL, (glow_dims){0}, 1, 1);
}

/* The body, for operands of these types: state, then inputs. */
static bool
build_body(scan *s, const glow_type *const *of)
{
    import_node *n = s->n;
    glow_arena *a = import_arena(n);
    int count = s->n_state + s->n_scan;
    const glow_type **types = GLOW_NEW_ARRAY(a, const glow_type *, count + 2);
    import_item *in = GLOW_NEW_ARRAY(a, import_item, count);
    import_item *out = GLOW_NEW_ARRAY(a, import_item, n->n_out);
    glow_value **values = GLOW_NEW_ARRAY(a, glow_value *, n->n_out + 1);
    bool ok;

    types[0] = import_type(n, GLOW_INDEX64, (glow_dims){0});
    types[1] = import_type(n, GLOW_BOOL, (glow_dims){0});
    for (int i = 0; i < count; i++)
        types[i + 2] = of[i];
    import_body_begin(n, &s->body, "body", types, count + 2);
    for (int i = 0; i < count; i++) {
        glow_value *formal = &s->body.in[i + 2]->value;

        in[i].value =
            i < s->n_state ? formal : element(s, i - s->n_state, formal);
    }
    ok = !n->failed && import_inline(n, s->graph, in, count, out, n->n_out);
    import_body_end(n, &s->body);
    values[0] = new_true(n);
    for (int i = 0; ok && i < n->n_out; i++) {
        values[i + 1] = out[i].value;
        if (!out[i].value ||
            (i < s->n_state && !glow_type_equal(out[i].value->type, of[i])))
            return import_refuse(n, "E0705",
                                 "output %d of its body has another type than "
                                 "the state that it is",
                                 i);
    }
    return ok && import_body_returns(n, &s->body, values, n->n_out + 1);
}

/* The call, for operands of the types that the body was built for. */
static glow_node *
build_call(scan *s, glow_value *const *operands)
{
    import_node *n = s->n;
    int count = s->n_state + s->n_scan, n_in = 2 + count + s->body.n_given;
    glow_value **in = GLOW_NEW_ARRAY(import_arena(n), glow_value *, n_in);
    const glow_type **types =
        GLOW_NEW_ARRAY(import_arena(n), const glow_type *, n->n_out);
    glow_node *made;

    in[0] = import_constant_ints(n, (glow_dims){0}, &s->trips);
    for (int i = 0; i < count; i++)
        in[2 + i] = operands[i];
    for (int i = 0; i < s->body.n_given; i++)
        in[2 + count + i] = s->body.given[i];
    made = glow_build_node(n->im->builder, &glow_op_loop, types, n->n_out, in,
                           n_in,
                           &(const glow_loop){.body = s->body.func->name,
                                              .carried = s->n_state,
                                              .max_trips = s->trips});
    n->failed |= !made;
    return made;
}

/* The rows of `v` in reverse order. */
static glow_value *
turn_round(scan *s, glow_value *v)
{
    import_node *n = s->n;
    int64_t *at = GLOW_NEW_ARRAY(import_arena(n), int64_t, s->trips);

    for (int64_t i = 0; i < s->trips; i++)
        at[i] = s->trips - 1 - i;
    return BUILD(
        n, gather,
        GLOW_IN(v, import_constant_ints(n, GLOW_DIMS_OF(s->trips), at)),
        .axis = 0);
}

/* Scan output `i` in the order and along the axis of the attributes. */
static glow_value *
arrange(scan *s, int i, glow_value *v)
{
    import_node *n = s->n;
    int rank = v->type->shape.rank;
    int axis = import_axis(n, entry(s->out_axes, i), rank);
    glow_dims shuffle = {.rank = rank};

    if (n->failed)
        return NULL;
    if (entry(s->out_backward, i))
        v = turn_round(s, v);
    for (int k = 0; k < rank; k++)
        shuffle.at[k] = k < axis ? k + 1 : k == axis ? 0 : k;
    return import_transpose(n, v, shuffle);
}

bool
import_scan(import_node *n)
{
    scan s = {.n = n};
    const glow_type **types;
    glow_node *made;

    if (!import_operands(n, 1, INT32_MAX) || !begin(&s, 0))
        return false;
    types = GLOW_NEW_ARRAY(import_arena(n), const glow_type *, n->n_in);
    for (int i = 0; i < n->n_in; i++)
        types[i] = n->in[i]->type;
    if (!build_body(&s, types) || !(made = build_call(&s, n->in)))
        return false;
    n->inlined = false;
    for (int i = 0; i < n->n_out; i++)
        n->out[i] = i < s.n_state ? made->out[i]
                                  : arrange(&s, i - s.n_state, made->out[i]);
    return !n->failed;
}

/* Opset 8: operands have a batch axis in front; each batch is a loop. */

static glow_value *
batch(import_node *n, glow_value *v, int64_t i)
{
    glow_dims shape = import_shape(v);
    glow_value *one = import_cut(n, v, 0, i, 1);

    for (int k = 1; k < shape.rank; k++)
        shape.at[k - 1] = shape.at[k];
    shape.rank--;
    return import_reshape(n, one, shape);
}

static bool
scan_batches(scan *s, int64_t batches)
{
    import_node *n = s->n;
    glow_arena *a = import_arena(n);
    int count = s->n_state + s->n_scan;
    glow_value **in = GLOW_NEW_ARRAY(a, glow_value *, count);
    const glow_type **types = GLOW_NEW_ARRAY(a, const glow_type *, count);
    glow_value **out = GLOW_NEW_ARRAY(a, glow_value *, batches * n->n_out);

    for (int64_t b = 0; b < batches; b++) {
        glow_node *made;

        for (int i = 0; i < count; i++)
            in[i] = batch(n, n->in[s->first + i], b);
        for (int i = 0; i < count && !n->failed; i++)
            types[i] = in[i]->type;
        if (n->failed || (b == 0 && !build_body(s, types)) ||
            !(made = build_call(s, in)))
            return false;
        for (int k = 0; k < n->n_out; k++)
            out[k * batches + b] = made->out[k];
    }
    for (int k = 0; k < n->n_out; k++)
        n->out[k] = import_join(n, out + k * batches, (int)batches, 0, true);
    return !n->failed;
}

bool
import_scan_batches(import_node *n)
{
    enum { MOST_BATCHES = 64 };
    scan s = {.n = n, .first = 1};
    int64_t batches;

    if (n->n_in < 2 || !import_items(n, 0, INT32_MAX))
        return import_refuse(n, "E0711", "an operand is missing");
    if (n->in[0])
        return import_refuse(n, "E0705", "sequence_lens is not supported");
    if (!begin(&s, 1))
        return false;
    batches = import_shape(n->in[1]).at[0];
    for (int i = 1; i < n->n_in; i++)
        if (import_shape(n->in[i]).at[0] != batches)
            return import_refuse(n, "E0711",
                                 "operands %d and 1 differ in "
                                 "their number of batches",
                                 i);
    if (batches < 1 || batches > MOST_BATCHES)
        return import_refuse(n, "E0705",
                             "%" PRId64 " batches; 1 to %d are supported",
                             batches, MOST_BATCHES);
    return scan_batches(&s, batches);
}
