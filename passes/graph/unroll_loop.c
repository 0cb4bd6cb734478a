/*
 * unroll-loop: unroll a loop with a constant trip count.
 *
 *     %r = Loop(@3, _, [%x]) {Body: @f, Carried: 1}   =>   f(f(f(%x)))
 *
 * The number of iterations must be known: TripCount is a constant, and the
 * condition always holds, since the body returns the condition that it is
 * given, or true.  Scan outputs, the results kept of each iteration, become a
 * Concat.
 *
 * Unrolled code is optimized across iterations and needs no copies between
 * them, but is larger.  A loop is unrolled if all its iterations together have
 * at most `limit` nodes, each counted as often as it runs.  Loops of more than
 * MaxTrips iterations, which fail at run time, stay.
 */

#include <inttypes.h>

#include "glow/ops.h"
#include "glow/pass.h"

typedef struct unroll_options {
    int limit;
} unroll_options;

static const unroll_options defaults = {.limit = 128};

enum { FIRST = 2 }; /* operand and Input of the first carried value */

/*
 * True if `n` is a loop with a known number of iterations, `*trips`, within the
 * limit.
 */
static bool
is_wanted(const glow_pass_run *pass, const glow_node *n, int64_t *trips)
{
    const unroll_options *o = glow_run_options(pass);
    const glow_loop *a = GLOW_AS(loop, n);
    const glow_func *body = a ? glow_called(n, 0) : NULL;
    int64_t nodes;

    if (!body || n->pred || !glow_loop_trips(n, trips) ||
        (n->func->scheduled && !body->scheduled))
        return false;
    return *trips <= a->max_trips &&
           !glow_mul_overflow(*trips, body->count, &nodes) && nodes <= o->limit;
}

typedef struct unroller {
    glow_builder *b;
    glow_node *n;
    const glow_func *body;
    glow_value **in, **out; /* of the body */
    glow_value ***rows;     /* by result and iteration */
} unroller;

static glow_value *
number(glow_builder *b, glow_kind kind, int64_t v)
{
    glow_type t = glow_type_of(kind, (glow_dims){0});
    glow_value *c =
        glow_build_constant(b, kind == GLOW_BOOL ? "condition" : "trip",
                            glow_type_get(glow_builder_context(b), t));

    glow_set_int(&c->storage->tensor, 0, v);
    return c;
}

/* `v` with one more axis in front. */
static glow_value *
as_row(glow_builder *b, glow_value *v)
{
    glow_dims shape = v->type->shape, row = {.rank = shape.rank + 1, .at = {1}};

    for (int i = 0; i < shape.rank; i++)
        row.at[i + 1] = shape.at[i];
    return GLOW_BUILD(b, reshape, GLOW_IN(v), .dims = row);
}

static void
iterate(unroller *u, int64_t trip)
{
    int carried = ((const glow_loop *)u->n->attrs)->carried;

    u->in[0] = number(u->b, GLOW_INDEX64, trip);
    glow_inline(u->n, u->body, u->in, u->out);
    for (int i = 0; i < u->n->n_out; i++)
        if (i < carried)
            u->in[i + FIRST] = u->out[i + 1];
        else
            u->rows[i][trip] = as_row(u->b, u->out[i + 1]);
}

/* All rows of scan output `i`; rows of iterations that did not run are zero. */
static glow_value *
stack(unroller *u, int i, int64_t trips)
{
    glow_type rest = *u->n->out[i]->type;
    int count = (int)trips;

    rest.shape.at[0] -= trips;
    if (rest.shape.at[0] > 0 || trips == 0)
        u->rows[i][count++] = glow_build_splat(
            u->b, "rest", glow_type_get(glow_builder_context(u->b), rest), 0);
    if (count == 1)
        return u->rows[i][0];
    return glow_build(u->b, &glow_op_concat, NULL, u->rows[i], count,
                      &(const glow_concat){.dim = 0});
}

static bool
unroll(glow_pass_run *pass, glow_node *n, int64_t trips)
{
    glow_arena *a = glow_run_scratch(pass);
    int carried = GLOW_AS(loop, n)->carried;
    unroller u = {.n = n, .body = glow_called(n, 0)};

    u.b = glow_builder_new(a, n->func, glow_run_pass(pass)->name);
    glow_builder_at(u.b, n);
    u.in = glow_arena_copy(a, n->in, (size_t)n->n_in * sizeof *n->in);
    u.out = GLOW_NEW_ARRAY(a, glow_value *, n->n_out + 1);
    u.rows = GLOW_NEW_ARRAY(a, glow_value **, n->n_out);
    for (int i = carried; i < n->n_out; i++)
        u.rows[i] = GLOW_NEW_ARRAY(a, glow_value *, trips + 1);
    u.in[1] = number(u.b, GLOW_BOOL, 1);
    for (int64_t t = 0; t < trips; t++)
        iterate(&u, t);
    for (int i = 0; i < n->n_out; i++)
        glow_replace_uses(n->out[i],
                          i < carried ? u.in[i + FIRST] : stack(&u, i, trips));
    glow_node_erase(n);
    return !glow_builder_failed(u.b);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_result result = GLOW_UNCHANGED;

    GLOW_FOR_EACH_NODE(n, f) {
        int64_t trips;

        if (!is_wanted(pass, n, &trips) || !glow_run_may_rewrite(pass))
            continue;
        if (!unroll(pass, n, trips))
            return GLOW_FAILED;
        result = GLOW_CHANGED;
    }
    return result;
}

const glow_pass glow_pass_unroll_loop = {
    .name = "unroll-loop",
    .summary = "unroll loops with a constant trip count",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(unroll_options, limit, GLOW_INT,
                                   "the most nodes that all iterations of a "
                                   "loop may have")},
    .defaults = &defaults,
    .run = run,
};
