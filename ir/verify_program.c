/*
 * The verifier of programs: what holds between instructions, since what holds
 * for one by itself is infer's business.
 *
 * One walk in order keeps, for every buffer, whether it lives and which of its
 * bytes were written.  A view is a part of its base's bytes, in runs: one if it
 * is dense, else one for each row, so that a buffer that is written piece by
 * piece counts as written once all of it is.  An instruction with a predicate
 * counts as if it ran; nothing is known of the bytes of its scratch after it.
 *
 * Rules: E0302 to E0315 for all programs, E0320 to E0328 for placed ones.  A
 * placeholder has its place while it is needed (glow/lifetime.h).  What
 * is reported once is taken as mended, so that one mistake gives one error.
 */

#include <inttypes.h>
#include <string.h>

#include "glow/lifetime.h"
#include "ir/verify.h"

/* Of one view.  With more of them, it counts as all bytes from the first of it
   to the last: nothing that is right is refused for that. */
#define MOST_RUNS (1 << 20)

/* Sets of bytes: runs in order that do not touch. */

typedef struct run {
    int64_t begin, end;
} run;

typedef struct run_set {
    run *at;
    size_t count, cap;
} run_set;

/* The first run that ends after `begin`. */
static size_t
run_after(const run_set *s, int64_t begin)
{
    size_t from = 0, to = s->count;

    while (from < to) {
        size_t mid = from + (to - from) / 2;

        if (s->at[mid].end <= begin)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static void
add_run(glow_arena *a, run_set *s, run r)
{
    size_t from = run_after(s, r.begin - 1), to = from;

    while (to < s->count && s->at[to].begin <= r.end)
        to++;
    if (to > from) {
        if (s->at[from].begin < r.begin)
            r.begin = s->at[from].begin;
        if (s->at[to - 1].end > r.end)
            r.end = s->at[to - 1].end;
    } else {
        s->at = glow_arena_grow(a, s->at, s->count, &s->cap, sizeof(run));
    }
    memmove(&s->at[from + 1], &s->at[to], (s->count - to) * sizeof(run));
    s->at[from] = r;
    s->count = s->count - (to - from) + 1;
}

/* Adds all of `more`, in the time of one walk over both. */
static void
add_runs(glow_arena *a, run_set *s, const run_set *more)
{
    size_t i = s->count, k = more->count, to = i + k, count = 0;

    while (s->cap < to)
        s->at = glow_arena_grow(a, s->at, s->cap, &s->cap, sizeof(run));
    while (k > 0) /* from the end, so that nothing is overwritten unread */
        s->at[--to] = i > 0 && s->at[i - 1].begin > more->at[k - 1].begin
                          ? s->at[--i]
                          : more->at[--k];
    for (i = 0; i < s->count + more->count; i++)
        if (count > 0 && s->at[count - 1].end >= s->at[i].begin) {
            if (s->at[count - 1].end < s->at[i].end)
                s->at[count - 1].end = s->at[i].end;
        } else {
            s->at[count++] = s->at[i];
        }
    s->count = count;
}

static void
remove_run(glow_arena *a, run_set *s, run r)
{
    size_t from = run_after(s, r.begin), to = from, kept = 0;
    run rest[2]; /* of the runs that are cut */

    while (to < s->count && s->at[to].begin < r.end)
        to++;
    if (from == to)
        return;
    if (s->at[from].begin < r.begin)
        rest[kept++] = (run){s->at[from].begin, r.begin};
    if (s->at[to - 1].end > r.end)
        rest[kept++] = (run){r.end, s->at[to - 1].end};
    if (kept > to - from)
        s->at = glow_arena_grow(a, s->at, s->count, &s->cap, sizeof(run));
    memmove(&s->at[from + kept], &s->at[to], (s->count - to) * sizeof(run));
    memcpy(&s->at[from], rest, kept * sizeof(run));
    s->count = s->count - (to - from) + kept;
}

/* The first byte of `r` that is not in the set, or -1. */
static int64_t
first_missing(const run_set *s, run r)
{
    size_t i = run_after(s, r.begin);

    if (i == s->count || s->at[i].begin > r.begin)
        return r.begin;
    return s->at[i].end < r.end ? s->at[i].end : -1;
}

static bool
meets(const run_set *s, run r)
{
    size_t i = run_after(s, r.begin);

    return i < s->count && s->at[i].begin < r.end;
}

/* What is known of a node: of the buffer or view that it defines. */

typedef struct state {
    bool seen;              /* the walk has passed it */
    bool freed;             /* of an alloc */
    bool blamed;            /* for its lifetime: once is enough */
    const glow_value *base; /* of a view: the alloc or weight; NULL: itself */
    int64_t from;           /* of a view: its first byte in the base */
    run_set written;
} state;

typedef struct live { /* a placed buffer that lives */
    int region;
    int64_t begin, end;
    const glow_node *node;
} live;

typedef struct checker {
    glow_func *f;
    glow_arena *scratch;
    state *states; /* by mark */
    const glow_node **nodes;
    const glow_life *lives; /* by mark */
    uint32_t *begins;       /* by number of an instruction: 1 + the mark of a
                         placeholder that begins with it */
    uint32_t *ends;         /* the same, that ends with it; */
    uint32_t *more;         /* by mark: the next one of that list */
    live *live;             /* in order of region and begin */
    size_t n_live, cap_live;
    run_set runs; /* of what is written at the moment */
    bool in_code;
    bool ok;
} checker;

#define WRONG(c, ...) ((c)->ok = glow_node_error(__VA_ARGS__))

static state *
state_of(const checker *c, const glow_value *v)
{
    return &c->states[v->def->mark];
}

/* What `v`, which the walk has passed, lies in. */
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
typedef bool (*run_fn)(void *user, run r);

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
        fn(user, (run){from, from + glow_type_bytes(t)});
        return;
    }
    while (outer.rank > 0 && t->strides.at[outer.rank - 1] == inner)
        inner *= outer.at[--outer.rank];
    GLOW_FOR_EACH_INDEX(i, outer) {
        int64_t first = 0;

        for (int k = 0; k < i.rank; k++)
            first += i.at[k] * t->strides.at[k];
        first = from + first * bytes;
        if (!fn(user, (run){first, first + inner * bytes}))
            return;
    }
}

/* All bytes from the first of `v` to its last. */
static run
extent(const checker *c, const glow_value *v)
{
    int64_t from = state_of(c, v)->from;

    return (run){from, from + glow_type_bytes(v->type)};
}

typedef struct collector {
    glow_arena *arena;
    run_set *set;
} collector;

static bool
collect(void *user, run r)
{
    collector *to = user;

    add_run(to->arena, to->set, r);
    return true;
}

typedef struct finder {
    const run_set *set;
    int64_t missing; /* -1: none */
    bool met;
} finder;

static bool
find_missing(void *user, run r)
{
    finder *f = user;

    f->missing = first_missing(f->set, r);
    return f->missing < 0;
}

static bool
find_meeting(void *user, run r)
{
    finder *f = user;

    f->met = meets(f->set, r);
    return !f->met;
}

/* Have `a` and `b` a byte in common? */
static bool
overlap(checker *c, const glow_value *a, const glow_value *b)
{
    run_set set = {0};
    finder f = {.set = &set};

    if (!glow_extents_meet(glow_extent_of(a), glow_extent_of(b)))
        return false;
    each_run(c, a, collect, &(collector){c->scratch, &set});
    each_run(c, b, find_meeting, &f);
    return f.met;
}

/* One operand, result or predicate. */

/* Is there a living buffer at `v`?  `who` names the operand. */
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
    run_set *written = &state_of(c, base_of(c, v))->written;

    c->runs.count = 0;
    each_run(c, v, collect, &(collector){c->scratch, &c->runs});
    if (c->runs.count == 1)
        add_run(c->scratch, written, c->runs.at[0]);
    else
        add_runs(c->scratch, written, &c->runs);
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
    add_run(c->scratch, &state_of(c, base)->written, extent(c, v));
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
forget(void *user, run r)
{
    collector *from = user;

    remove_run(from->arena, from->set, r);
    return true;
}

/* Nobody knows what the scratch holds afterwards. */
static void
mark_unwritten(checker *c, const glow_value *v)
{
    each_run(c, v, forget,
             &(collector){c->scratch, &state_of(c, base_of(c, v))->written});
}

/* Where operands and results share bytes. */

static bool
is_declared_pair(const glow_op *op, int out, int in)
{
    for (int i = 0; i < op->inplace_count; i++)
        if (op->inplace[i].out == out && op->inplace[i].in == in)
            return true;
    return false;
}

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

        if (!n->in[k] || !overlap(c, n->in[k], out) ||
            (n->in[k] == out && is_declared_pair(n->op, i, operand)))
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

/* Scratch has its bytes for itself. */
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

/* Places. */

static int
region_index(const checker *c, const glow_region *region)
{
    int i = 0;

    for (const glow_region *r = c->f->regions; r; r = r->next, i++)
        if (r == region)
            return i;
    return -1;
}

/* The first living buffer that is not wholly below `begin`. */
static size_t
live_at(const checker *c, int region, int64_t begin)
{
    size_t from = 0, to = c->n_live;

    while (from < to) {
        size_t mid = from + (to - from) / 2;
        const live *l = &c->live[mid];

        if (l->region < region || (l->region == region && l->end <= begin))
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static void
occupy(checker *c, const glow_node *n, int region)
{
    int64_t begin = n->place->offset, end = begin + n->place->size;
    size_t at = live_at(c, region, begin);

    if (begin == end)
        return;
    if (at < c->n_live && c->live[at].region == region &&
        c->live[at].begin < end) {
        const live *l = &c->live[at];

        WRONG(c, n, "E0324", NULL,
              "its bytes %" PRId64 " to %" PRId64
              " of $%s are also those of %%%s (%" PRId64 " to %" PRId64
              "), which is alive",
              begin, end - 1, n->place->region->name, l->node->name, l->begin,
              l->end - 1);
        return;
    }
    c->live = glow_arena_grow(c->scratch, c->live, c->n_live, &c->cap_live,
                              sizeof(live));
    memmove(&c->live[at + 1], &c->live[at], (c->n_live++ - at) * sizeof(live));
    c->live[at] = (live){region, begin, end, n};
}

static void
vacate(checker *c, const glow_node *n)
{
    if (!n->place)
        return;
    size_t at = live_at(c, region_index(c, n->place->region), n->place->offset);

    if (at == c->n_live || c->live[at].node != n)
        return;
    c->n_live--;
    memmove(&c->live[at], &c->live[at + 1], (c->n_live - at) * sizeof(live));
}

/* Banks and forbidden ranges. */
static void
check_within(checker *c, const glow_node *n)
{
    const glow_region *r = n->place->region;
    int64_t begin = n->place->offset, size = n->place->size;

    for (size_t i = 0; i < r->n_forbidden && size > 0; i++)
        if (begin < r->forbidden[i].end && r->forbidden[i].begin < begin + size)
            WRONG(c, n, "E0327", NULL,
                  "%%%s has bytes %" PRId64 " to %" PRId64
                  " of $%s, where %" PRId64 " to %" PRId64 " are forbidden",
                  n->name, begin, begin + size - 1, r->name,
                  r->forbidden[i].begin, r->forbidden[i].end - 1);
    if (r->bank && size > 0 && size <= r->bank &&
        begin / r->bank != (begin + size - 1) / r->bank)
        WRONG(c, n, "E0327", NULL,
              "%%%s has bytes %" PRId64 " to %" PRId64
              " of $%s, on both sides of a bank's end at %" PRId64,
              n->name, begin, begin + size - 1, r->name,
              (begin / r->bank + 1) * r->bank);
}

/* Notes when a placeholder comes and goes. */
static void
expect(checker *c, const glow_node *n)
{
    const glow_life *life = &c->lives[n->mark];
    int64_t begin = life->begin > n->mark ? life->begin : n->mark;

    c->more[2 * n->mark] = c->begins[begin];
    c->begins[begin] = n->mark + 1;
    if (life->end == INT64_MAX || life->end <= n->mark)
        return;
    c->more[2 * n->mark + 1] = c->ends[life->end - 1];
    c->ends[life->end - 1] = n->mark + 1;
}

static void
check_place(checker *c, const glow_node *n)
{
    const glow_place *p = n->place;
    int64_t bytes = glow_type_bytes(n->out[0]->type), end;
    int region = p ? region_index(c, p->region) : -1;

    if (!c->f->placed && !p)
        return;
    if ((!c->f->placed && !p->is_fixed) || !p || region < 0) {
        WRONG(c, n, "E0320", NULL, "%%%s has %s, but the program is %s",
              n->name,
              !p           ? "no place"
              : region < 0 ? "an unknown region"
                           : "a place",
              c->f->placed ? "placed" : "not");
        return;
    }
    if (p->offset < 0 || p->offset % p->region->align != 0)
        WRONG(c, n, "E0321", NULL,
              "%%%s lies at $%s + %" PRId64
              ", which is no multiple of its alignment %" PRId64,
              n->name, p->region->name, p->offset, p->region->align);
    if (p->size < bytes)
        WRONG(c, n, "E0325", NULL,
              "%%%s has %" PRId64 " bytes there, but its type takes %" PRId64,
              n->name, p->size, bytes);
    if (p->offset < 0 || p->size < 0)
        return;
    if (glow_add_overflow(p->offset, p->size, &end) ||
        (c->f->placed && end > p->region->size)) {
        WRONG(c, n, "E0322", NULL,
              "%%%s lies at %" PRId64 " and has %" PRId64
              " bytes, but $%s has %" PRId64,
              n->name, p->offset, p->size, p->region->name, p->region->size);
        return;
    }
    check_within(c, n);
    if (n->op == &glow_op_weight && !n->out[0]->storage->is_constant)
        expect(c, n);
    else
        occupy(c, n, region);
}

static bool
is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* False if places in the region cannot be judged. */
static bool
check_regions(const glow_func *f)
{
    glow_context *ctx = f->module->ctx;
    bool ok = true;

    for (const glow_region *r = f->regions; r; r = r->next) {
        if (!is_power_of_two(r->align) || r->size < 0 || r->capacity < 0)
            ok = glow_error_at(ctx, f->span, "E0321",
                               "@%s: $%s has alignment %" PRId64
                               ", which is no power of two, or a size or "
                               "capacity below 0",
                               f->name, r->name, r->align);
        if (r->capacity > 0 && r->size > r->capacity)
            ok = glow_error_at(ctx, f->span, "E0323",
                               "@%s: $%s takes %" PRId64
                               " bytes, but its capacity is %" PRId64,
                               f->name, r->name, r->size, r->capacity);
    }
    return ok;
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
    add_run(c->scratch, &own->written,
            (run){0, glow_type_bytes(n->out[0]->type)});
    check_place(c, n);
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
    vacate(c, v->def);
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

/* The placeholders that are needed from `n` on get their bytes. */
static void
begin_at(checker *c, const glow_node *n)
{
    for (uint32_t i = c->begins[n->mark]; i > 0; i = c->more[2 * (i - 1)]) {
        const glow_node *w = c->nodes[i - 1];

        occupy(c, w, region_index(c, w->place->region));
    }
}

static void
end_at(checker *c, const glow_node *n)
{
    for (uint32_t i = c->ends[n->mark]; i > 0; i = c->more[2 * (i - 1) + 1])
        vacate(c, c->nodes[i - 1]);
}

static void
check_node(checker *c, const glow_node *n)
{
    if (n->op != &glow_op_weight)
        c->in_code = true;
    if (n->op == &glow_op_weight)
        check_weight(c, n);
    else if (n->op == &glow_op_alloc)
        check_place(c, n);
    else if (n->op == &glow_op_tensorview)
        check_view(c, n);
    else if (n->op == &glow_op_dealloc)
        check_dealloc(c, n);
    else
        check_instr(c, n);
    c->states[n->mark].seen = true;
}

/* Each storage has one buffer: two would be the same bytes by two names. */
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
        if (n->op == &glow_op_alloc && !c->states[n->mark].freed)
            WRONG(c, n, "E0310", "add a dealloc behind its last use",
                  "%%%s is never freed", n->name);
}

bool
glow_verify_program(glow_func *f)
{
    checker c = {.f = f, .scratch = glow_arena_new(), .ok = true};

    c.states = GLOW_NEW_ARRAY(c.scratch, state, f->count);
    c.nodes = GLOW_NEW_ARRAY(c.scratch, const glow_node *, f->count);
    c.begins = GLOW_NEW_ARRAY(c.scratch, uint32_t, f->count);
    c.ends = GLOW_NEW_ARRAY(c.scratch, uint32_t, f->count);
    c.more = GLOW_NEW_ARRAY(c.scratch, uint32_t, 2 * (size_t)f->count);
    c.lives = glow_program_lives(c.scratch, f);
    GLOW_FOR_EACH_NODE(n, f)
        c.nodes[n->mark] = n;
    c.ok = check_regions(f);
    if (c.ok) {
        check_weights_differ(&c);
        GLOW_FOR_EACH_NODE(n, f) {
            if (n->op != &glow_op_weight)
                begin_at(&c, n);
            check_node(&c, n);
            if (n->op == &glow_op_weight)
                begin_at(&c, n);
            end_at(&c, n);
        }
        check_leaks(&c);
    }
    glow_arena_free(c.scratch);
    return c.ok;
}
