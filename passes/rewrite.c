/*
 * The rewrite driver: a worklist of nodes, offered to a callback one by one.
 *
 *     take n; v = fn(n); users of n use v; erase unused nodes;
 *     offer again: built nodes, and the users of changed values
 *
 * A node is in the worklist at most once at a time (by its mark), so the work
 * is linear in the nodes and in the rewrites.  A limit on the rewrites for each
 * node stops a callback that does not terminate.
 */

#include "glow/state.h"
#include "passes/run.h"

#define REWRITES_PER_NODE 256

enum { IDLE, QUEUED, ERASED };

typedef struct driver {
    glow_pass_run *run;
    glow_func *func;
    const glow_op *op; /* NULL: any */
    glow_rewrite_fn fn;
    const glow_rewrite_row *rows; /* instead of both; or NULL */
    bool (*takes)(const glow_node *n);
    glow_builder *builder;
    glow_node **queue; /* worklist, from `head` on; FIFO */
    size_t head, count, cap;
    glow_node **users; /* scratch: users of the value being replaced */
    size_t n_users, cap_users;
    glow_node **built; /* scratch: nodes built by the callback, last first */
    size_t n_built, cap_built;
    glow_node **unused; /* scratch: nodes that may have lost their last user */
    size_t n_unused, cap_unused;
    int64_t rewrites, limit;
} driver;

/* Only its address is used. */
static glow_value kept;

glow_value *
glow_keep_rewritten(glow_node *n)
{
    (void)n;
    return &kept;
}

static void
push(glow_arena *a, glow_node ***list, size_t *count, size_t *cap, glow_node *n)
{
    *list = glow_arena_grow(a, *list, *count, cap, sizeof **list);
    (*list)[(*count)++] = n;
}

static glow_rewrite_fn
callback_of(const driver *d, const glow_node *n)
{
    if (!d->rows)
        return !d->op || n->op == d->op ? d->fn : NULL;
    for (const glow_rewrite_row *r = d->rows; r->op; r++)
        if (r->op == n->op)
            return n->pred || (d->takes && !d->takes(n)) ? NULL : r->fn;
    return NULL;
}

/*
 * True if `n` computes on quantized elements, or moves those of a node that does: a
 * callback may look at that node, too, but for a rule that lowers `n`.
 */
static bool
meets_quantized(const glow_pass *pass, const glow_node *n)
{
    for (int i = 0; i < n->n_in && !pass->lowers; i++)
        if (n->in[i] && n->in[i]->def && glow_computes_quantized(n->in[i]->def))
            return true;
    return glow_computes_quantized(n);
}

/* The callback for `n`, or NULL. */
static glow_rewrite_fn
callback_for(const driver *d, const glow_node *n)
{
    glow_rewrite_fn fn = callback_of(d, n);

    return fn && (d->run->pass->takes_quantized ||
                  !meets_quantized(d->run->pass, n))
               ? fn
               : NULL;
}

/* True if the function may have a node to offer; most passes have none. */
static bool
may_have_any(const driver *d)
{
    if (!d->rows)
        return !d->op || glow_func_may_have(d->func, d->op);
    for (const glow_rewrite_row *r = d->rows; r->op; r++)
        if (glow_func_may_have(d->func, r->op))
            return true;
    return false;
}

static void
offer(driver *d, glow_node *n)
{
    if (n->mark != IDLE || !callback_for(d, n))
        return;
    n->mark = QUEUED;
    push(d->run->scratch, &d->queue, &d->count, &d->cap, n);
}

static void
offer_users(driver *d, const glow_value *v)
{
    GLOW_FOR_EACH_USE(u, v)
        offer(d, u->user);
}

/* Records the users of `v`, before it is replaced. */
static void
note_users(driver *d, const glow_value *v)
{
    GLOW_FOR_EACH_USE(u, v)
        push(d->run->scratch, &d->users, &d->n_users, &d->cap_users, u->user);
}

static bool
may_erase(const glow_node *n)
{
    if (n->mark == ERASED || !(n->op->traits & GLOW_PURE))
        return false;
    for (int i = 0; i < n->n_out; i++)
        if (!glow_is_unused(n->out[i]))
            return false;
    return true;
}

/*
 * Erases `n` if it is unused, then its operands transitively.  A node left with
 * one user is offered again, and so is this user, since it may now be merged.
 */
static void
erase_unused(driver *d, glow_node *n)
{
    d->n_unused = 0;
    push(d->run->scratch, &d->unused, &d->n_unused, &d->cap_unused, n);
    while (d->n_unused > 0) {
        n = d->unused[--d->n_unused];
        if (!may_erase(n))
            continue;

        glow_value **in = n->in;
        int n_in = n->n_in;

        n->mark = ERASED;
        glow_node_erase(n);
        for (int i = 0; i < n_in; i++) {
            if (!in[i] || !in[i]->def)
                continue;
            if (glow_has_one_use(in[i])) {
                offer(d, in[i]->def);
                offer_users(d, in[i]);
            }
            push(d->run->scratch, &d->unused, &d->n_unused, &d->cap_unused,
                 in[i]->def);
        }
    }
}

/*
 * Collects the nodes that the callback built: just before `n`, with ids from
 * `first_id` on.
 */
static void
note_built(driver *d, const glow_node *n, uint32_t first_id)
{
    d->n_built = 0;
    if (d->func->next_id == first_id)
        return;
    for (glow_node *m = n->prev; m && m->id >= first_id; m = m->prev)
        push(d->run->scratch, &d->built, &d->n_built, &d->cap_built, m);
}

/* Erases unused built nodes, and offers the others, in order. */
static void
settle_built(driver *d)
{
    for (size_t i = d->n_built; i-- > 0;)
        if (may_erase(d->built[i]))
            erase_unused(d, d->built[i]);
    for (size_t i = d->n_built; i-- > 0;)
        offer(d, d->built[i]);
}

/*
 * Erases the nodes built by a callback that returned NULL.  The graph is
 * unchanged, so no users are offered again, which would not terminate.
 */
static void
drop_built(driver *d)
{
    for (size_t i = 0; i < d->n_built; i++)
        if (may_erase(d->built[i])) {
            d->built[i]->mark = ERASED;
            glow_node_erase(d->built[i]);
        }
    for (size_t i = d->n_built; i-- > 0;)
        offer(d, d->built[i]);
}

static bool
check_type(glow_context *ctx, const glow_pass *pass, const glow_node *n, int i,
           const glow_value *with)
{
    if (with->type == n->out[i]->type)
        return true;

    glow_arena *a = glow_arena_new();

    glow_error_at(ctx, n->span, "E0401", "%s: pass '%s' replaces %s by %s",
                  n->name, pass ? pass->name : "?",
                  glow_type_text(a, n->out[i]->type),
                  glow_type_text(a, with->type));
    glow_arena_free(a);
    return false;
}

/* Replaces n's only result by `v`. */
static bool
replace(driver *d, glow_node *n, glow_value *v, uint32_t first_id)
{
    glow_node *def = v->def;
    const char *name = n->name;
    bool is_new = def && def != n && def->id >= first_id;

    if (n->n_out != 1)
        return glow_error_at(d->run->ctx, n->span, "E0401",
                             "%s: pass '%s' replaces a node of %d results by "
                             "one value",
                             n->name, d->run->pass->name, n->n_out);
    if (!check_type(d->run->ctx, d->run->pass, n, 0, v))
        return false;
    note_users(d, n->out[0]);
    if (v == n->out[0])
        return true;
    glow_replace_uses(n->out[0], v);
    erase_unused(d, n);
    if (is_new && n->mark == ERASED && def->mark != ERASED)
        glow_node_rename(def, name);
    return true;
}

/* Reports a rewrite to the instruments; `v` is the callback's result. */
static void
tell(const driver *d, const glow_node *n, const glow_value *v)
{
    glow_run_tell_rewrite(d->run,
                          &(glow_rewritten){.pass = d->run->pass,
                                            .node = n,
                                            .with = v == &kept ? NULL : v,
                                            .built = d->built,
                                            .n_built = d->n_built});
}

static bool
visit(driver *d, glow_node *n)
{
    glow_builder_at(d->builder, n);
    d->n_users = 0;

    uint32_t first_id = d->func->next_id;
    glow_value *v = callback_for(d, n)(d->builder, n);

    if (glow_builder_failed(d->builder))
        return false;
    note_built(d, n, first_id);
    if (!v) {
        drop_built(d);
        return true;
    }
    for (size_t i = d->n_built; i-- > 0;)
        glow_run_reach_inherits(d->run, d->built[i], n);
    tell(d, n, v);
    if (v == &kept) {
        for (int i = 0; i < n->n_out; i++)
            note_users(d, n->out[i]);
        erase_unused(d, n);
        if (n->mark != ERASED)
            offer(d, n);
    } else if (!replace(d, n, v, first_id)) {
        return false;
    }
    for (size_t i = 0; i < d->n_users; i++)
        offer(d, d->users[i]);
    settle_built(d);
    glow_run_may_rewrite(d->run);
    return ++d->rewrites <= d->limit ||
           glow_error_at(d->run->ctx, n->span, "E0409",
                         "pass '%s' does not come to rest: %lld rewrites in a "
                         "function of %d nodes",
                         d->run->pass->name, (long long)d->rewrites,
                         d->func->count);
}

static glow_result
drive(glow_pass_run *run, glow_func *f, driver d, void *user)
{
    struct driver *outer = run->driver;

    d.run = run;
    d.func = f;
    if (!may_have_any(&d))
        return GLOW_UNCHANGED;
    d.builder = glow_builder_new(run->scratch, f, run->pass->name);
    d.limit = REWRITES_PER_NODE * ((int64_t)f->count + 16);
    glow_builder_set_run(d.builder, run);
    glow_builder_set_user(d.builder, user);
    run->driver = &d;
    GLOW_FOR_EACH_NODE(n, f) {
        n->mark = IDLE;
        offer(&d, n);
    }

    bool ok = true;

    while (ok && d.head < d.count && !glow_run_is_spent(run)) {
        glow_node *n = d.queue[d.head++];

        if (n->mark == ERASED)
            continue;
        n->mark = IDLE;
        if (!run->wanted || run->wanted(run, n))
            ok = visit(&d, n);
    }
    run->driver = outer;
    return !ok ? GLOW_FAILED : d.rewrites > 0 ? GLOW_CHANGED : GLOW_UNCHANGED;
}

glow_result
glow_rewrite(glow_pass_run *run, glow_func *f, const glow_op *op,
             glow_rewrite_fn fn)
{
    return glow_rewrite_with(run, f, op, fn, NULL);
}

glow_result
glow_rewrite_with(glow_pass_run *run, glow_func *f, const glow_op *op,
                  glow_rewrite_fn fn, void *user)
{
    return drive(run, f, (driver){.op = op, .fn = fn}, user);
}

glow_result
glow_rewrite_each(glow_pass_run *run, glow_func *f,
                  const glow_rewrite_row *rows,
                  bool (*takes)(const glow_node *n))
{
    return drive(run, f, (driver){.rows = rows, .takes = takes}, NULL);
}

void
glow_builder_replace(glow_builder *b, glow_node *n, int i, glow_value *with)
{
    const glow_pass_run *run = glow_builder_run(b);

    if (!with || !check_type(glow_builder_context(b), NULL, n, i, with))
        return;
    if (run && run->driver)
        note_users(run->driver, n->out[i]);
    glow_replace_uses(n->out[i], with);
}

int
glow_erase_unused(glow_func *f)
{
    static const glow_op nothing = {0}; /* so that no node is offered */
    glow_pass_run run = {.scratch = glow_arena_new()};
    driver d = {.run = &run, .func = f, .op = &nothing};
    int before = f->count;

    GLOW_FOR_EACH_NODE(n, f) {
        n->mark = IDLE;
        push(run.scratch, &d.queue, &d.count, &d.cap, n);
    }
    while (d.count > 0)
        erase_unused(&d, d.queue[--d.count]);
    glow_arena_free(run.scratch);
    return before - f->count;
}

int
glow_erase_unused_constants(glow_module *m)
{
    int count = 0;

    GLOW_FOR_EACH_STORAGE(s, m)
        if (s->is_constant && glow_is_unused(&s->value) &&
            !glow_is_initial(s)) {
            glow_storage_erase(s);
            count++;
        }
    return count;
}
