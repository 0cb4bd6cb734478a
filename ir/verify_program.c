/*
 * The verifier of programs: rules between instructions.  Rules of one
 * instruction are its operator's `infer`.
 *
 * A forward dataflow walk keeps, for every buffer, whether it is live and which
 * of its bytes were written.  A view is a set of byte runs of its base: one if
 * it is dense, else one for each row, so that a buffer that is written slice by
 * slice counts as written once all of it is.  An instruction with a predicate
 * counts as executed; the bytes of its scratch are undefined after it.
 *
 * Rules: E0302 to E0315, E0335; the rules of places are in verify_place.c.  After a
 * report the state is set as if it were correct, so that one mistake gives one
 * error.
 */

#include <inttypes.h>

#include "ir/verify.h"
#include "ir/verify_bytes.h"

/*
 * Runs of one view.  A view with more counts as all bytes from its first to its
 * last, which refuses no valid program.
 */
#define MOST_RUNS (1 << 20)

/* State of the buffer or view that a node defines. */

typedef struct state {
    bool seen;              /* the walk has passed it */
    bool freed;             /* of an alloc */
    bool blamed;            /* a lifetime error was reported, once is enough */
    const glow_value *base; /* of a view: the alloc or weight; NULL: itself */
    int64_t from;           /* of a view: its first byte in the base */
    bytes_set written;
} state;

typedef struct checker {
    glow_func *f;
    glow_arena *scratch;
    glow_numbering numbers;
    state *states; /* by number */
    glow_places *places;
    bytes_set runs; /* written by the current instruction */
    bool in_code;
    bool ok;
} checker;

#define WRONG(c, ...) ((c)->ok = glow_node_error(__VA_ARGS__))

static state *
state_of(const checker *c, const glow_value *v)
{
    return &c->states[glow_number_of(&c->numbers, v->def)];
}

/* The base buffer of `v`, which the walk has passed. */
static const glow_value *
base_of(const checker *c, const glow_value *v)
{
    const glow_value *base = state_of(c, v)->base;

    return base ? base : v;
}

static int64_t
count_runs(const glow_type *t)
{
    int64_t count = 1, inner = 1;
    int k = t->strides.rank;

    for (; k > 0 && t->strides.at[k - 1] == inner; k--)
        inner *= t->shape.at[k - 1];
    while (k > 0)
        count *= t->shape.at[--k];
    return count;
}

/* Calls `fn` for each run of the bytes of `v` within its base, until false. */
typedef bool (*run_fn)(void *user, bytes_run r);

static void
each_run(const checker *c, const glow_value *v, run_fn fn, void *user)
{
    const glow_type *t = v->type;
    int64_t bytes = glow_kind_get(t->elem)->bytes;
    int64_t from = state_of(c, v)->from, inner = 1;
    glow_dims outer = t->shape;

    if (glow_type_count(t) == 0)
        return;
    if (t->strides.rank == 0 || count_runs(t) > MOST_RUNS) {
        fn(user, (bytes_run){from, from + glow_type_bytes(t)});
        return;
    }
    while (outer.rank > 0 && t->strides.at[outer.rank - 1] == inner)
        inner *= outer.at[--outer.rank];
    GLOW_FOR_EACH_INDEX(i, outer) {
        int64_t first = 0;

        for (int k = 0; k < i.rank; k++)
            first += i.at[k] * t->strides.at[k];
        first = from + first * bytes;
        if (!fn(user, (bytes_run){first, first + inner * bytes}))
            return;
    }
}

/* All bytes from the first of `v` to its last. */
static bytes_run
extent(const checker *c, const glow_value *v)
{
    int64_t from = state_of(c, v)->from;

    return (bytes_run){from, from + glow_type_bytes(v->type)};
}

typedef struct collector {
    glow_arena *arena;
    bytes_set *set;
} collector;

static bool
collect(void *user, bytes_run r)
{
    collector *to = user;

    glow_bytes_add(to->arena, to->set, r);
    return true;
}

typedef struct finder {
    const bytes_set *set;
    int64_t missing; /* -1: none */
    bool met;
} finder;

static bool
find_missing(void *user, bytes_run r)
{
    finder *f = user;

    f->missing = glow_bytes_first_missing(f->set, r);
    return f->missing < 0;
}

static bool
find_meeting(void *user, bytes_run r)
{
    finder *f = user;

    f->met = glow_bytes_meet(f->set, r);
    return !f->met;
}

/* True if `a` and `b` have a byte in common. */
static bool
overlap(checker *c, const glow_value *a, const glow_value *b)
{
    bytes_set set = {0};
    finder f = {.set = &set};

    if (!glow_extents_meet(glow_extent_of(a), glow_extent_of(b)))
        return false;
    each_run(c, a, collect, &(collector){c->scratch, &set});
    each_run(c, b, find_meeting, &f);
    return f.met;
}

/* One operand, result or predicate. */

/* True if the buffer of `v` is live; `who` names the operand in reports. */
static bool
check_alive(checker *c, const glow_node *n, const char *who,
            const glow_value *v)
{
    const glow_value *base;
    state *s;

    if (!v->def) {
        WRONG(c, n, "E0306", "declare it as a weight",
              "%s is @%s itself, but instructions work on buffers", who,
              v->storage->name);
        return false;
    }
    if (!state_of(c, v)->seen) {
        WRONG(c, n, "E0302", NULL,
              "%s is %%%s, which is defined only further below", who,
              v->def->name);
        return false;
    }
    base = base_of(c, v);
    s = state_of(c, base);
    if (!s->freed)
        return true;
    if (!s->blamed)
        WRONG(c, n, "E0309", NULL, "%s is %%%s, but %%%s was freed before", who,
              v->def->name, base->def->name);
    s->blamed = true;
    return false;
}

static void
mark_written(checker *c, const glow_value *v)
{
    bytes_set *written = &state_of(c, base_of(c, v))->written;

    c->runs.count = 0;
    each_run(c, v, collect, &(collector){c->scratch, &c->runs});
    if (c->runs.count == 1)
        glow_bytes_add(c->scratch, written, c->runs.at[0]);
    else
        glow_bytes_add_all(c->scratch, written, &c->runs);
}

static void
check_read(checker *c, const glow_node *n, const char *who, const glow_value *v)
{
    finder f = {.missing = -1};
    const glow_value *base;

    if (!check_alive(c, n, who, v))
        return;
    base = base_of(c, v);
    f.set = &state_of(c, base)->written;
    each_run(c, v, find_missing, &f);
    if (f.missing < 0)
        return;
    if (f.set->count == 0)
        WRONG(c, n, "E0308", NULL, "%s reads %%%s, which nothing has written",
              who, v->def->name);
    else
        WRONG(c, n, "E0308", NULL,
              "%s reads %%%s, but byte %" PRId64 " of the %" PRId64
              " of %%%s has not been written",
              who, v->def->name, f.missing, glow_type_bytes(base->type),
              base->def->name);
    glow_bytes_add(c->scratch, &state_of(c, base)->written, extent(c, v));
}

static void
check_write(checker *c, const glow_node *n, const char *who,
            const glow_value *v)
{
    const glow_value *base;

    if (!check_alive(c, n, who, v))
        return;
    base = base_of(c, v);
    if (glow_is_constant(base))
        WRONG(c, n, "E0307", NULL, "%s is written, but %%%s is constant", who,
              base->def->name);
}

static bool
forget(void *user, bytes_run r)
{
    collector *from = user;

    glow_bytes_remove(from->arena, from->set, r);
    return true;
}

/* The bytes of scratch are undefined afterwards. */
static void
mark_unwritten(checker *c, const glow_value *v)
{
    each_run(c, v, forget,
             &(collector){c->scratch, &state_of(c, base_of(c, v))->written});
}

/* Operands and results that share bytes. */

static const char *
result_name(const checker *c, const glow_node *n, int i)
{
    char name[80];

    glow_op_result_name(n->op, i, name, sizeof name);
    return glow_arena_strdup(c->scratch, name);
}

static void
check_shared(checker *c, const glow_node *n, int i)
{
    const glow_value *out = n->out[i];
    char name[80];

    glow_op_result_name(n->op, i, name, sizeof name);
    for (int k = 0; k < n->n_in; k++) {
        int operand = glow_operand_of(n, k);

        if (!n->in[k] || !overlap(c, n->in[k], out) || glow_is_inplace(n, i, k))
            continue;
        WRONG(c, n, "E0313",
              n->in[k] == out ? "let it write another buffer" : NULL,
              n->in[k] == out
                  ? "it cannot work in place on %s and %s: %%%s is both"
                  : "%s and %s share bytes of %%%s",
              n->op->in[operand].name, name, base_of(c, out)->def->name);
    }
    if (n->pred && overlap(c, n->pred, out))
        WRONG(c, n, "E0313", NULL, "%s and %s share bytes of %%%s",
              "the predicate", name, base_of(c, out)->def->name);
    for (int k = 0; k < i; k++)
        if (overlap(c, n->out[k], out))
            WRONG(c, n, "E0314", NULL, "%s and %s share bytes of %%%s",
                  result_name(c, n, k), name, base_of(c, out)->def->name);
}

/* Checks that scratch overlaps no operand and no result. */
static void
check_scratch(checker *c, const glow_node *n)
{
    const glow_value *s = n->scratch;

    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && overlap(c, n->in[i], s))
            WRONG(c, n, "E0315", NULL, "%s and the scratch share bytes of %%%s",
                  n->op->in[glow_operand_of(n, i)].name,
                  base_of(c, s)->def->name);
    if (n->pred && overlap(c, n->pred, s))
        WRONG(c, n, "E0315", NULL, "%s and the scratch share bytes of %%%s",
              "the predicate", base_of(c, s)->def->name);
    for (int i = 0; i < n->n_out; i++)
        if (overlap(c, n->out[i], s))
            WRONG(c, n, "E0315", NULL, "%s and the scratch share bytes of %%%s",
                  result_name(c, n, i), base_of(c, s)->def->name);
}

/* Instructions. */

static void
check_weight(checker *c, const glow_node *n)
{
    const glow_storage *s = n->out[0]->storage;
    state *own = state_of(c, n->out[0]);

    if (c->in_code)
        WRONG(c, n, "E0303", NULL,
              "%%%s is declared after the first of the "
              "code",
              n->name);
    if (n->out[0]->type != s->value.type)
        WRONG(c, n, "E0305", NULL, "%%%s is %s, but @%s is %s", n->name,
              glow_type_text(c->scratch, n->out[0]->type), s->name,
              glow_type_text(c->scratch, s->value.type));
    glow_bytes_add(c->scratch, &own->written,
                   (bytes_run){0, glow_type_bytes(n->out[0]->type)});
    glow_places_check(c->places, n);
}

static void
check_view(checker *c, const glow_node *n)
{
    const glow_value *base = n->in[0];

    if (!check_alive(c, n, n->op->in[0].name, base))
        return;
    const glow_tensorview *v = n->attrs;

    state_of(c, n->out[0])->base = base_of(c, base);
    state_of(c, n->out[0])->from =
        state_of(c, base)->from + glow_type_index(base->type, v->offsets) *
                                      glow_kind_get(base->type->elem)->bytes;
}

static void
check_dealloc(checker *c, const glow_node *n)
{
    const glow_value *v = n->out[0];

    if (n->scratch)
        WRONG(c, n, "E0315", NULL, "a dealloc works in no scratch");
    if (!check_alive(c, n, n->op->out[0].name, v))
        return;
    if (v->def->op != &glow_op_alloc) {
        WRONG(c, n, "E0311", NULL, "%%%s is a %s, but only an alloc is freed",
              v->def->name, v->def->op == &glow_op_weight ? "weight" : "view");
        return;
    }
    state_of(c, v)->freed = true;
    glow_places_vacate(c->places, v->def);
}

static void
check_instr(checker *c, const glow_node *n)
{
    bool ok = c->ok;

    c->ok = true;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i])
            check_read(c, n,
                       n->op->traits & GLOW_UNKNOWN
                           ? "an operand"
                           : n->op->in[glow_operand_of(n, i)].name,
                       n->in[i]);
    if (n->pred)
        check_read(c, n, "the predicate", n->pred);
    for (int i = 0; i < n->n_out; i++)
        check_write(c, n, result_name(c, n, i), n->out[i]);
    if (n->scratch && check_alive(c, n, "the scratch", n->scratch) &&
        base_of(c, n->scratch)->def->op != &glow_op_alloc)
        WRONG(c, n, "E0315", NULL, "the scratch is %%%s, which is no alloc",
              n->scratch->def->name);
    if (c->ok && !(n->op->traits & GLOW_UNKNOWN))
        for (int i = 0; i < n->n_out; i++)
            check_shared(c, n, i);
    if (c->ok && n->scratch)
        check_scratch(c, n);
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]->def && state_of(c, n->out[i])->seen)
            mark_written(c, n->out[i]);
    if (n->scratch && n->scratch->def && state_of(c, n->scratch)->seen)
        mark_unwritten(c, n->scratch);
    c->ok &= ok;
}

/*
 * Checks that tokens are allocs, used as such, and signalled once.  A wait that
 * stands before the signal reads what nothing has written (E0308).
 */
static void
check_tokens(checker *c, const glow_node *n)
{
    for (int i = 0; i < n->n_in + n->n_out; i++) {
        const glow_value *v = i < n->n_in ? n->in[i] : n->out[i - n->n_in];

        if (v && v->type->elem == GLOW_TOKEN && n->op != &glow_op_signal &&
            n->op != &glow_op_wait && n->op != &glow_op_dealloc &&
            !glow_is_token(n))
            WRONG(c, n, "E0335", "a token is an alloc of its own",
                  "%%%s is a token, which only a signal and waits may use",
                  v->def ? v->def->name : v->storage->name);
    }
    if (n->op != &glow_op_signal || !n->out[0]->def)
        return;
    GLOW_FOR_EACH_USE(u, n->out[0])
        if (u->writes && u->user->op == &glow_op_signal && u->user != n &&
            state_of(c, u->user->out[0])->seen &&
            glow_number_of(&c->numbers, u->user) <
                glow_number_of(&c->numbers, n))
            WRONG(c, n, "E0335", "let each signal have its own token",
                  "%%%s was signalled before, by %%%s", n->out[0]->def->name,
                  u->user->name);
}

static void
check_node(checker *c, const glow_node *n)
{
    if (n->op != &glow_op_weight)
        c->in_code = true;
    check_tokens(c, n);
    if (n->op == &glow_op_weight)
        check_weight(c, n);
    else if (n->op == &glow_op_alloc)
        glow_places_check(c->places, n);
    else if (n->op == &glow_op_tensorview)
        check_view(c, n);
    else if (n->op == &glow_op_dealloc)
        check_dealloc(c, n);
    else
        check_instr(c, n);
    c->states[glow_number_of(&c->numbers, n)].seen = true;
}

/* Checks that each storage has one weight, because two would alias. */
static void
check_weights_differ(checker *c)
{
    glow_map *weights = glow_map_new(c->scratch);

    GLOW_FOR_EACH_NODE(n, c->f) {
        if (n->op != &glow_op_weight)
            continue;
        const char *name = n->out[0]->storage->name;
        const glow_node *other = glow_map_get(weights, name);

        if (other)
            WRONG(c, n, "E0304", NULL, "@%s has a buffer already, %%%s", name,
                  other->name);
        glow_map_set(weights, name, n);
    }
}

static void
check_leaks(checker *c)
{
    GLOW_FOR_EACH_NODE(n, c->f)
        if (n->op == &glow_op_alloc &&
            !c->states[glow_number_of(&c->numbers, n)].freed)
            WRONG(c, n, "E0310", "add a dealloc behind its last use",
                  "%%%s is never freed", n->name);
}

bool
glow_verify_program(glow_func *f)
{
    checker c = {.f = f, .scratch = glow_arena_new(), .ok = true};

    c.numbers = glow_number_nodes(c.scratch, f);
    c.states = GLOW_NEW_ARRAY(c.scratch, state, f->count);
    c.places = glow_places_new(c.scratch, f, &c.numbers, &c.ok);
    c.ok = glow_check_regions(f);
    if (c.ok) {
        check_weights_differ(&c);
        GLOW_FOR_EACH_NODE(n, f) {
            if (n->op != &glow_op_weight)
                glow_places_begin(c.places, n);
            check_node(&c, n);
            if (n->op == &glow_op_weight)
                glow_places_begin(c.places, n);
            glow_places_end(c.places, n);
        }
        check_leaks(&c);
    }
    glow_arena_free(c.scratch);
    return c.ok;
}
