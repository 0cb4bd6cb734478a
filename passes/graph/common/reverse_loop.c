/*
 * Reverse mode through a Loop: a Loop over the same iterations, the last one first.
 *
 *     %y = Loop(@n, _, [%x, %w]) {Body: @f, Carried: 1}
 *         =>
 *     %y, %xs = Loop(@n, _, [%x, %w]) {Body: @f.kept, Carried: 1}
 *     %dx, %dw = Loop(@n, _, [%dy, 0, %w, %xs]) {Body: @f.grad, Carried: 2}
 *
 * @f.kept is @f, and keeps the carried values that an iteration begins with, in rows.
 * An iteration of @f.grad reads those of one iteration, computes @f again from them, and
 * goes back through it: to the gradients of the carried values, which it carries on, and
 * to those of the other Inputs, which it adds up.  So the bytes that are kept are those
 * of the carried values times MaxTrips.
 *
 * Where the number of iterations is not known, @f.kept counts them in one more carried
 * value.  Only gradients that depend on a wanted operand and that the loss depends on
 * are carried, and only values that @f.grad reads are kept.
 */

#include "glow/ops.h"
#include "passes/graph/common/reverse_body.h"
#include "passes/graph/common/topology.h"

enum {
    FIRST = 2
}; /* operand, and Input of the body, of the first carried value */

typedef struct looper {
    reverse *r;
    const glow_gradient *g;
    const glow_loop *attrs;
    const glow_func *callee;
    int carried, n_in, n_out; /* n_in, n_out: of the callee */
    bool **depends;           /* by Output and Input of the callee */
    bool *back; /* by Input: a gradient by it is carried or added up */
    bool *keep; /* by Input: kept in rows */
    reverse_body body;
    glow_storage **now;     /* by Input: of the copy of the callee */
    reverse_wanted *wanted; /* by Input, if `back` */
    glow_value **before;    /* by Input, if `back`: the gradient so far */
    int last;  /* Input of the body: the last iteration; 0: it is known */
    int *rows; /* by Input: that of the body with its rows */
} looper;

/* Dependences. */

/* Marks in `in` the Inputs that Output `o` depends on by floats. */
static void
find_depends(const looper *x, glow_node *const *order, int o, bool *in)
{
    glow_arena *a = x->r->arena;
    const glow_func *f = x->callee;
    glow_numbering all = glow_numbering_new(a, f);
    bool *to = GLOW_NEW_ARRAY(a, bool, f->count);

    for (int i = 0; i < f->count; i++)
        glow_number_set(&all, order[i], (uint32_t)i);
    for (int i = f->count - 1; i >= 0; i--) {
        const glow_node *n = order[i];

        if (n->op == &glow_op_save)
            to[i] = n->in[1]->storage == glow_formal(f, GLOW_OUTPUTS, o);
        for (int k = 0; k < n->n_in && to[i]; k++) {
            const glow_value *v = glow_reverse_operand(n, k);

            if (!v || !glow_is_float(v->type->elem))
                continue;
            if (v->def)
                to[glow_number_of(&all, v->def)] = true;
            for (int j = 0; j < x->n_in && !v->def; j++)
                in[j] |= v->storage == glow_formal(f, GLOW_INPUTS, j);
        }
    }
}

/*
 * Sets `back`: of Inputs that a wanted operand leads to, and that lead to a result whose
 * gradient is not 0, in some number of iterations.
 */
static void
find_back(looper *x)
{
    glow_arena *a = x->r->arena;
    glow_node **order = glow_nodes_in_order(a, (glow_func *)x->callee);
    bool *leads = GLOW_NEW_ARRAY(a, bool, x->n_out), changed = true;

    x->depends = GLOW_NEW_ARRAY(a, bool *, x->n_out);
    x->back = GLOW_NEW_ARRAY(a, bool, x->n_in);
    for (int o = 0; o < x->n_out; o++) {
        x->depends[o] = GLOW_NEW_ARRAY(a, bool, x->n_in);
        find_depends(x, order, o, x->depends[o]);
        leads[o] = o > 0 && x->g->by_result[o - 1];
    }
    for (int i = FIRST; i < x->n_in; i++)
        x->back[i] = x->g->wanted[i];
    while (changed) {
        changed = false;
        for (int o = 1; o < x->n_out; o++)
            for (int i = FIRST; i < x->n_in; i++) {
                bool *from = o <= x->carried ? &x->back[o - 1 + FIRST] : NULL;

                if (!x->depends[o][i])
                    continue;
                if (from && x->back[i] && !*from)
                    changed = *from = true;
                if (leads[o] && i < FIRST + x->carried && !leads[i - FIRST + 1])
                    changed = leads[i - FIRST + 1] = true;
            }
    }
    for (int i = FIRST; i < x->n_in; i++) {
        bool some = i < FIRST + x->carried && leads[i - FIRST + 1];

        for (int o = 1; o < x->n_out; o++)
            some |= leads[o] && x->depends[o][i];
        x->back[i] &= some;
    }
}

/* Types and numbers. */

static const glow_type *
type_of(const looper *x, glow_kind kind)
{
    return glow_type_get(glow_run_context(x->r->run),
                         glow_type_of(kind, (glow_dims){0}));
}

static glow_value *
number(const looper *x, glow_builder *b, const char *name, glow_kind kind,
       int64_t v)
{
    glow_value *c = glow_build_constant(b, name, type_of(x, kind));

    if (c)
        glow_set_int(&c->storage->tensor, 0, v);
    return c;
}

static const glow_type *
type_of_rows(const looper *x, const glow_type *row)
{
    glow_type t = *row;

    t.strides.rank = 0;
    for (int i = t.shape.rank++; i > 0; i--)
        t.shape.at[i] = t.shape.at[i - 1];
    t.shape.at[0] = x->attrs->max_trips;
    return glow_type_get(glow_run_context(x->r->run), t);
}

static glow_value *
zeros(glow_builder *b, const glow_type *type)
{
    glow_type dense = *type;

    dense.strides.rank = 0;
    return glow_build_splat(b, "zero",
                            glow_type_get(glow_builder_context(b), dense), 0);
}

/* The loop back. */

static glow_value *
row(const looper *x, glow_value *rows, glow_value *at)
{
    return GLOW_BUILD(x->body.b, gather, GLOW_IN(rows, at), .axis = 0);
}

/*
 * The formals whose values go on: the number and the condition, then the gradients by
 * carried values and the sums of those by other Inputs.
 */
static bool
add_carried(looper *x)
{
    const glow_node *n = x->g->node;

    glow_body_input(&x->body, "i", type_of(x, GLOW_INDEX64), NULL);
    glow_body_input(&x->body, "go", type_of(x, GLOW_BOOL), NULL);
    for (int i = FIRST; i < x->n_in; i++) {
        glow_value *d = NULL;

        if (!x->back[i])
            continue;
        if (i < FIRST + x->carried)
            d = x->g->by_result[i - FIRST];
        if (!d)
            d = zeros(x->r->b, n->in[i]->type);
        if (!d)
            return false;
        x->before[i] = glow_body_input(&x->body, "d", n->in[i]->type, d);
    }
    return true;
}

/* The number of the iteration to go back through. */
static glow_value *
iteration(looper *x)
{
    reverse_body *b = &x->body;
    int64_t trips;
    glow_value *last;

    if (glow_loop_trips(x->g->node, &trips)) {
        last = number(x, b->b, "last", GLOW_INDEX64, trips - 1);
    } else {
        x->last = b->n_in;
        last = glow_body_input(b, "last", type_of(x, GLOW_INDEX64), NULL);
    }
    return GLOW_BUILD_PLAIN(b->b, sub, GLOW_IN(last, &b->in[0]->value));
}

/* The copy of the callee, of the operands of iteration `at`. */
static void
copy_callee(looper *x, glow_value *at)
{
    glow_value **in = GLOW_NEW_ARRAY(x->r->arena, glow_value *, x->n_in);
    const glow_node *n = x->g->node;

    in[0] = at;
    in[1] = number(x, x->body.b, "condition", GLOW_BOOL, 1);
    for (int i = FIRST; i < x->n_in; i++) {
        if (i < FIRST + x->carried) {
            x->now[i] = glow_body_temporary(&x->body, "x", n->in[i]->type);
            in[i] = &x->now[i]->value;
        } else {
            in[i] = glow_body_input(&x->body, "x", n->in[i]->type, n->in[i]);
            x->now[i] = in[i]->storage;
        }
    }
    glow_body_copy(&x->body, x->callee, in);
}

static bool
go_back(looper *x, glow_value *at)
{
    glow_arena *a = x->r->arena;
    const glow_value *const *by = (const glow_value *const *)x->g->by_result;
    reverse_seed *seeds = GLOW_NEW_ARRAY(a, reverse_seed, x->n_out);
    reverse_wanted *wanted = GLOW_NEW_ARRAY(a, reverse_wanted, x->n_in);
    const glow_storage *source = NULL;
    int n_seeds = 0, n_wanted = 0;

    for (int i = FIRST; i < x->n_in && !source; i++)
        if (x->g->wanted[i])
            source = glow_reverse_source(x->r, x->g->node->in[i]);
    for (int o = 1; o < x->n_out; o++) {
        glow_value *d = NULL;

        if (o <= x->carried)
            d = x->before[o - 1 + FIRST];
        else if (by[o - 1])
            d = row(x,
                    glow_body_input(&x->body, "ds", by[o - 1]->type,
                                    x->g->by_result[o - 1]),
                    at);
        if (d)
            seeds[n_seeds++] = (reverse_seed){x->body.saves[o], d};
    }
    for (int i = FIRST; i < x->n_in; i++)
        if (x->back[i])
            wanted[n_wanted++] = (reverse_wanted){x->now[i], source, NULL};
    if (!glow_body_reverse(x->r, &x->body, seeds, n_seeds, wanted, n_wanted))
        return false;
    for (int i = FIRST, k = 0; i < x->n_in; i++)
        if (x->back[i])
            x->wanted[i] = wanted[k++];
    return true;
}

static bool
add_outputs(looper *x)
{
    reverse_body *b = &x->body;

    if (!glow_body_output(b, "go", &b->in[1]->value))
        return false;
    for (int i = FIRST; i < x->n_in; i++) {
        glow_value *d = x->wanted[i].gradient;

        if (!x->back[i])
            continue;
        glow_builder_named(b->b, "sum", NULL);
        if (i < FIRST + x->carried)
            d = d ? d : zeros(b->b, x->before[i]->type);
        else
            d = d ? GLOW_BUILD_PLAIN(b->b, add, GLOW_IN(x->before[i], d))
                  : x->before[i];
        if (!glow_body_output(b, "d", d))
            return false;
    }
    return true;
}

/* Reads the carried values from rows, and finds which rows the body needs. */
static bool
read_rows(looper *x, glow_value *at)
{
    reverse_body *b = &x->body;

    glow_builder_named(b->b, "row", NULL);
    for (int i = FIRST; i < FIRST + x->carried; i++) {
        const glow_type *type = type_of_rows(x, x->now[i]->value.type);
        glow_value *v;

        x->rows[i] = b->n_in;
        v = row(x, glow_body_input(b, "xs", type, NULL), at);
        if (!v)
            return false;
        glow_replace_uses(&x->now[i]->value, v);
        glow_storage_erase(x->now[i]);
    }
    glow_erase_unused(b->f);
    for (int i = FIRST; i < FIRST + x->carried; i++)
        x->keep[i] = !glow_is_unused(&b->in[x->rows[i]]->value);
    return true;
}

static bool
build_body(looper *x)
{
    glow_value *at;

    x->body = glow_body_begin(
        x->r, glow_arena_printf(x->r->arena, "%s.grad", x->callee->name),
        2 * (x->n_in + x->n_out) + FIRST);
    if (!add_carried(x))
        return false;
    glow_builder_named(x->body.b, "at", NULL);
    at = iteration(x);
    if (!at)
        return false;
    copy_callee(x, at);
    return go_back(x, at) && add_outputs(x) && read_rows(x, at);
}

/* The loop forward. */

static int
count_back(const looper *x)
{
    int count = 0;

    for (int i = FIRST; i < x->n_in; i++)
        count += x->back[i];
    return count;
}

/* The body @f.kept. */
static reverse_body
keeping_body(looper *x, bool counts)
{
    const glow_node *n = x->g->node;
    glow_value **in = GLOW_NEW_ARRAY(x->r->arena, glow_value *, x->n_in);
    reverse_body b = glow_body_begin(
        x->r, glow_arena_printf(x->r->arena, "%s.kept", x->callee->name),
        2 * (x->n_in + x->n_out));
    glow_value *one;

    in[0] = glow_body_input(&b, "i", type_of(x, GLOW_INDEX64), n->in[0]);
    in[1] = glow_body_input(&b, "go", type_of(x, GLOW_BOOL), n->in[1]);
    for (int i = FIRST; i < x->n_in; i++) {
        if (counts && i == FIRST + x->carried)
            glow_body_input(&b, "count", type_of(x, GLOW_INDEX64),
                            number(x, x->r->b, "none", GLOW_INDEX64, 0));
        in[i] = glow_body_input(&b, "x", n->in[i]->type, n->in[i]);
    }
    if (counts && x->n_in == FIRST + x->carried)
        glow_body_input(&b, "count", type_of(x, GLOW_INDEX64),
                        number(x, x->r->b, "none", GLOW_INDEX64, 0));
    glow_body_copy(&b, x->callee, in);
    for (int o = 0; o < x->n_out; o++) {
        glow_storage *to = b.saves[o]->in[1]->storage;

        b.out[b.n_out++] = to;
        if (!counts || o != x->carried)
            continue;
        one = number(x, b.b, "one", GLOW_INDEX64, 1);
        glow_builder_named(b.b, "count", NULL);
        glow_body_output(&b, "count",
                         GLOW_BUILD_PLAIN(b.b, add, GLOW_IN(in[0], one)));
    }
    for (int i = FIRST; i < FIRST + x->carried; i++)
        if (x->keep[i])
            glow_body_output(&b, "xs", in[i]);
    glow_body_end(&b);
    return b;
}

/*
 * Replaces the Loop by one that keeps rows, and passes these and the number of the last
 * iteration to the loop back.
 */
static bool
replace_loop(looper *x, glow_value **trips)
{
    glow_node *n = x->g->node, *with;
    bool counts = x->last > 0;
    const char *name = n->name;
    int shift = counts ? 1 : 0, at = n->n_out + shift;
    reverse_body b;
    const glow_type **types;

    for (int i = FIRST; i < FIRST + x->carried; i++)
        at += x->keep[i];
    if (at == n->n_out)
        return true;
    glow_builder_at(x->r->b, n);
    b = keeping_body(x, counts);
    types = GLOW_NEW_ARRAY(x->r->arena, const glow_type *, at);
    with =
        glow_build_node(x->r->b, &glow_op_loop, types, at, b.operands, b.n_in,
                        &(const glow_loop){.body = b.f->name,
                                           .carried = x->carried + shift,
                                           .max_trips = x->attrs->max_trips});
    if (!with)
        return false;
    for (int o = 0; o < n->n_out; o++)
        glow_replace_uses(n->out[o], with->out[o < x->carried ? o : o + shift]);
    at = n->n_out + shift;
    for (int i = FIRST; i < FIRST + x->carried; i++)
        if (x->keep[i])
            x->body.operands[x->rows[i]] = with->out[at++];
    if (counts) {
        *trips = with->out[x->carried];
        x->body.operands[x->last] = GLOW_BUILD_PLAIN(
            x->r->b, sub,
            GLOW_IN(*trips, number(x, x->r->b, "one", GLOW_INDEX64, 1)));
    }
    glow_node_erase(n);
    glow_node_rename(with, name);
    return !glow_builder_failed(x->r->b);
}

bool
glow_reverse_loop(reverse *r, const glow_gradient *g)
{
    const glow_node *n = g->node;
    glow_arena *a = r->arena;
    looper x = {.r = r,
                .g = g,
                .attrs = n->attrs,
                .callee = glow_called(n, 0),
                .n_in = n->n_in,
                .n_out = n->n_out + 1};
    const char *name = glow_arena_printf(a, "%s.grad", n->name);
    const glow_loc *loc = n->loc;
    int64_t max_trips = x.attrs->max_trips;
    glow_value *trips = n->in[0];
    const glow_type **types;
    glow_node *call;
    int count;

    x.carried = x.attrs->carried;
    x.now = GLOW_NEW_ARRAY(a, glow_storage *, x.n_in);
    x.wanted = GLOW_NEW_ARRAY(a, reverse_wanted, x.n_in);
    x.before = GLOW_NEW_ARRAY(a, glow_value *, x.n_in);
    x.keep = GLOW_NEW_ARRAY(a, bool, x.n_in);
    x.rows = GLOW_NEW_ARRAY(a, int, x.n_in);
    find_back(&x);
    count = count_back(&x);
    if (count == 0)
        return true;
    if (!build_body(&x) || !replace_loop(&x, &trips))
        return false;
    glow_body_drop_inputs(&x.body, FIRST + count);
    glow_body_end(&x.body);
    x.body.operands[0] = trips;
    types = GLOW_NEW_ARRAY(a, const glow_type *, count);
    glow_builder_named(r->b, name, loc);
    call = glow_build_node(
        r->b, &glow_op_loop, types, count, x.body.operands, x.body.n_in,
        &(const glow_loop){
            .body = x.body.f->name, .carried = count, .max_trips = max_trips});
    if (!call)
        return false;
    for (int i = FIRST, k = 0; i < x.n_in; i++)
        if (x.back[i]) {
            if (g->wanted[i])
                g->by_operand[i] = call->out[k];
            k++;
        }
    return true;
}
