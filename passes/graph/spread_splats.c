/*
 * spread-splats: clone a Splat for each of its users.
 *
 *     %c = Splat() {Value: 0.5}            %c = Splat() {Value: 0.5}
 *     %a = Mul(%x, %c)                     %a = Mul(%x, %c)
 *     .. as long as the network ..    =>   ..
 *     %b = Mul(%y, %c)                     %c.1 = Splat() {Value: 0.5}
 *                                          %b = Mul(%y, %c.1)
 *
 * cse leaves one Splat of a number for all users, whose live range then extends
 * from the first to the last of them.  A Splat for each user is live for one
 * node only, and can be updated in place.  The same is done for all nodes
 * without operands, since they only cost writing their result, and for Broadcasts of
 * few elements: the statistics of a normalization, which its gradient reads too.
 *
 * Clones are kept if the schedule then needs less memory.  They are not tried
 * if all shared splats together are less than 1 / LEAST_PART of the operands
 * and results of some node.  Lowered transformers gain most: their activations
 * are arithmetic with numbers.
 *
 * Then the same is done for Transposes of placeholders: weights that are trained in the
 * axes of their model, which both directions of a step read transposed.  A clone
 * costs reading as well, so these are kept if 1 / LEAST_PART of the memory is saved.
 *
 * The function is scheduled afterwards, so that cse, which leaves scheduled
 * functions alone, does not undo the clones.
 *
 * Time: three schedules of small budget, which decide, and one of a tenth of the
 * budget of `schedule`, which searches again from this order; otherwise linear in the
 * operands.
 */

#include "glow/ops.h"
#include "glow/schedule.h"

enum {
    LEAST_PART = 16,      /* least part of the bytes of one node */
    BUDGET = 500000,      /* steps of searching for each schedule compared, */
    LAST_BUDGET = 1000000 /* and for the order of the result */
};

/* True for the definitions that are cloned, of one result each. */
typedef bool kind_fn(const glow_node *n);

typedef struct spreader {
    glow_pass_run *run;
    glow_func *func;
    glow_builder *builder;
    kind_fn *kind;
    const glow_node **owner; /* by id: the user that keeps the original */
    uint32_t ids;            /* of original nodes */
    glow_value **from, **to; /* originals and clones */
    size_t count, cap_from, cap_to;
} spreader;

/* True for a Broadcast of which many results come from one element. */
static bool
repeats(const glow_node *n)
{
    return n->op == &glow_op_broadcast &&
           glow_type_bytes(n->in[0]->type) <=
               glow_type_bytes(n->out[0]->type) / LEAST_PART;
}

static bool
is_number(const glow_node *n)
{
    return (n->n_in == 0 || repeats(n)) && n->op->traits & GLOW_PURE &&
           glow_call_count(n) == 0;
}

static bool
is_turned_placeholder(const glow_node *n)
{
    return n->op == &glow_op_transpose && !n->in[0]->def;
}

static bool
is_cheap(const glow_value *v, kind_fn *kind)
{
    const glow_node *n = v ? v->def : NULL;

    return n && n->n_out == 1 && !n->pred && kind(n);
}

static bool
is_shared(const glow_value *v)
{
    const glow_node *first = v->uses ? v->uses->user : NULL;

    GLOW_FOR_EACH_USE(u, v)
        if (u->user != first)
            return true;
    return false;
}

/* True if the shared bytes are large enough to affect the peak. */
static bool
is_worth_trying(glow_func *f, kind_fn *kind)
{
    int64_t shared = 0, most = 0;

    GLOW_FOR_EACH_NODE(n, f) {
        int64_t bytes = 0;

        for (int i = 0; i < n->n_in; i++)
            if (n->in[i] && n->in[i]->def)
                bytes = glow_add_most(bytes, glow_type_bytes(n->in[i]->type));
        for (int i = 0; i < n->n_out; i++)
            bytes = glow_add_most(bytes, glow_type_bytes(n->out[i]->type));
        most = bytes > most ? bytes : most;
        if (n->n_out == 1 && is_cheap(n->out[0], kind) && is_shared(n->out[0]))
            shared = glow_add_most(shared, glow_type_bytes(n->out[0]->type));
    }
    return shared > 0 && shared >= most / LEAST_PART;
}

/* A clone of the definition of `v`, before `user`. */
static glow_value *
clone(spreader *s, glow_value *v, glow_node *user)
{
    glow_arena *a = glow_run_scratch(s->run);
    glow_node *n = v->def;

    glow_builder_at(s->builder, n);

    glow_value *c =
        glow_build(s->builder, n->op, glow_states_type(n) ? v->type : NULL,
                   n->in, n->n_in, n->attrs);

    if (!c)
        return NULL;
    glow_node_move_before(c->def, user);
    s->from =
        glow_arena_grow(a, s->from, s->count, &s->cap_from, sizeof *s->from);
    s->to = glow_arena_grow(a, s->to, s->count, &s->cap_to, sizeof *s->to);
    s->from[s->count] = v;
    s->to[s->count++] = c;
    return c;
}

/* Builds a clone for each user but the first; false after a report. */
static bool
spread(spreader *s)
{
    GLOW_FOR_EACH_NODE(n, s->func)
        for (int i = 0; i < n->n_in; i++) {
            glow_value *v = n->in[i], *c;

            if (!is_cheap(v, s->kind) || v->def->id >= s->ids ||
                s->owner[v->def->id] == n)
                continue;
            if (!s->owner[v->def->id]) {
                s->owner[v->def->id] = n;
                continue;
            }
            c = clone(s, v, n);
            if (!c)
                return false;
            for (int k = i; k < n->n_in; k++)
                if (n->in[k] == v)
                    glow_set_operand(n, k, c);
        }
    return true;
}

static void
undo(spreader *s)
{
    while (s->count-- > 0) {
        glow_replace_uses(s->to[s->count], s->from[s->count]);
        glow_node_erase(s->to[s->count]->def);
    }
}

static bool
find(glow_pass_run *pass, glow_func *f, int64_t budget, glow_schedule *found)
{
    glow_schedule_options o = glow_schedule_defaults;

    o.budget = budget;
    return glow_schedule_find(pass, f, &o, found);
}

/*
 * Clones definitions of `kind`, and keeps the clones if they save 1 / `part` of `*peak`
 * (0: any byte), which becomes what is needed then.
 */
static glow_result
spread_kind(glow_pass_run *pass, glow_func *f, kind_fn *kind, int64_t part,
            int64_t *peak)
{
    glow_arena *a = glow_run_scratch(pass);
    spreader s = {.run = pass, .func = f, .kind = kind, .ids = f->next_id};
    glow_schedule how;

    if (!is_worth_trying(f, kind))
        return GLOW_UNCHANGED;
    if (*peak < 0) {
        if (!find(pass, f, BUDGET, &how))
            return GLOW_FAILED;
        *peak = how.peak;
    }
    s.builder = glow_builder_new(a, f, glow_run_pass(pass)->name);
    s.owner = GLOW_NEW_ARRAY(a, const glow_node *, s.ids);
    if (!spread(&s) || !find(pass, f, BUDGET, &how))
        return GLOW_FAILED;
    if (*peak - how.peak <= (part ? *peak / part : 0) ||
        !glow_run_may_rewrite(pass)) {
        undo(&s);
        return GLOW_UNCHANGED;
    }
    glow_run_count(pass, "clones", (int64_t)s.count);
    glow_run_remark(
        pass, s.from[0]->def, true,
        "%zu more of what takes no or small operands, or placeholders: the peak falls "
        "from %lld to %lld bytes",
        s.count, (long long)*peak, (long long)how.peak);
    *peak = how.peak;
    return GLOW_CHANGED;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    int64_t peak = -1;
    glow_result numbers = spread_kind(pass, f, is_number, 0, &peak), turned;
    glow_schedule how;

    if (numbers == GLOW_FAILED)
        return GLOW_FAILED;
    turned = spread_kind(pass, f, is_turned_placeholder, LEAST_PART, &peak);
    if (turned == GLOW_FAILED)
        return GLOW_FAILED;
    if (numbers == GLOW_UNCHANGED && turned == GLOW_UNCHANGED)
        return GLOW_UNCHANGED;
    if (!find(pass, f, LAST_BUDGET, &how))
        return GLOW_FAILED;
    for (uint32_t k = 0; k < how.count; k++)
        if (how.nodes[k] != f->last)
            glow_node_move_after(how.nodes[k], f->last);
    f->scheduled = true;
    return GLOW_CHANGED;
}

const glow_pass glow_pass_spread_splats = {
    .name = "spread-splats",
    .summary =
        "clone Splats, and transposed placeholders, for each user if that "
        "takes less memory",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "Briggs, Cooper and Torczon, Rematerialization, PLDI 1992",
};
