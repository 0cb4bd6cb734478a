/*
 * The pass manager: runs a typed pipeline (typing.c).
 *
 * Instruments are called around each pass on each function; after it, the
 * verifier runs and the level of the function is checked against the level that
 * the pass declares.
 *
 * A pass is a function of the module, so within a fixpoint a pass that changed
 * nothing is not run again until another pass has changed something.
 */

#include <string.h>
#include <time.h>

#include "glow/backend.h"
#include "glow/target.h"
#include "ir/base/context.h"
#include "passes/digest.h"
#include "passes/pipeline.h"
#include "passes/run.h"

/* A pass that changed nothing, and the state of the module then. */
typedef struct rest {
    const glow_pass *pass;
    const void *options;
    const char *only;
    int64_t at; /* manager.changes */
} rest;

/*
 * Functions of more nodes are not compared before and after a pass that says that
 * it changed nothing: two walks over 10,000 nodes take a third of a millisecond.
 */
enum { MOST_COMPARED = 10000 };

typedef struct manager {
    glow_context *ctx;
    glow_pipeline *pipeline;
    glow_module *module;
    const glow_pipeline_options *options;
    glow_arena *scratch;        /* of the pass */
    glow_arena *arena;          /* of the run */
    const char *only;           /* within @name(...); or NULL */
    int number;                 /* of the current pass, from 1 */
    int64_t left;               /* rewrites, for options->limit_pass */
    const glow_pass **restless; /* passes that changed something in this round
                                 * of a fixpoint, from `first` on; outer
                                 * fixpoints before */
    size_t n_restless, cap_restless, first_restless;
    int depth;    /* of nested fixpoints */
    bool stopped; /* options->stop_after passes have run */
    bool
        unverified; /* a pass said that it changed nothing of a function of more
                      * than MOST_COMPARED nodes, and was believed */
    bool refused;   /* the last pass failed, and said why */
    int64_t changes; /* of the module, by passes so far */
    const glow_func
        *digested; /* whose digest is known, since `digested_at` changes */
    int64_t digested_at;
    uint64_t digest;
    rest *rests;
    size_t n_rests, cap_rests;
} manager;

/* Counters. */

typedef struct counter {
    const char *pass;
    const char *name;
    int64_t value;
} counter;

typedef struct stats {
    glow_map *by_key;
    counter **items;
    size_t count, cap;
} stats;

static counter *
find_counter(glow_context *ctx, const char *pass, const char *name)
{
    stats *s = ctx->stats;
    glow_buf key = {0};

    if (!s) {
        s = ctx->stats = GLOW_NEW(ctx->arena, stats);
        s->by_key = glow_map_new(ctx->arena);
    }
    glow_buf_printf(&key, "%s %s", pass, name);

    counter *c = glow_map_get(s->by_key, key.text);

    if (!c) {
        c = GLOW_NEW(ctx->arena, counter);
        *c = (counter){glow_intern(ctx, pass), glow_intern(ctx, name), 0};
        glow_map_set(s->by_key, glow_intern(ctx, key.text), c);
        s->items = glow_arena_grow(ctx->arena, s->items, s->count, &s->cap,
                                   sizeof *s->items);
        s->items[s->count++] = c;
    }
    glow_buf_free(&key);
    return c;
}

void
glow_each_stat(glow_context *ctx, glow_stat_fn fn, void *user)
{
    const stats *s = ctx->stats;

    for (size_t i = 0; s && i < s->count; i++)
        fn(s->items[i]->pass, s->items[i]->name, s->items[i]->value, user);
}

/* Accessors of a run. */

glow_context *
glow_run_context(const glow_pass_run *run)
{
    return run->ctx;
}

const glow_pass *
glow_run_pass(const glow_pass_run *run)
{
    return run->pass;
}

const void *
glow_run_options(const glow_pass_run *run)
{
    return run->options;
}

glow_arena *
glow_run_scratch(const glow_pass_run *run)
{
    return run->scratch;
}

const glow_backend *
glow_run_backend(const glow_pass_run *run)
{
    return run->pipeline->backend;
}

int64_t
glow_node_scratch(const glow_pass_run *run, const glow_node *n)
{
    const glow_backend *b = glow_run_backend(run);

    return b && b->scratch ? b->scratch(n, run->pipeline->code) : 0;
}

int64_t
glow_run_cache(const glow_pass_run *run)
{
    const glow_backend *b = glow_run_backend(run);

    return b && b->cache ? b->cache(run->pipeline->code) : 0;
}

const glow_target *
glow_run_target(const glow_pass_run *run)
{
    return run->pipeline->target;
}

int64_t
glow_run_limit(const glow_pass_run *run)
{
    return run->pipeline->most_bytes;
}

bool
glow_run_is_exact(const glow_pass_run *run)
{
    return run->pipeline && run->pipeline->code && run->pipeline->code->exact;
}

void
glow_run_count(glow_pass_run *run, const char *name, int64_t by)
{
    find_counter(run->ctx, run->pass->name, name)->value += by;
}

void
glow_run_note(glow_pass_run *run, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);

    const char *text = glow_arena_vprintf(run->scratch, fmt, ap);

    va_end(ap);
    for (int i = 0; i < run->pipeline->n_instruments; i++) {
        const glow_instrument *in = &run->pipeline->instruments[i];

        if (in->note)
            in->note(in->user, run->pass, text);
    }
}

void
glow_run_remark(glow_pass_run *run, const glow_node *n, bool done,
                const char *fmt, ...)
{
    glow_remark r = {.pass = run->pass, .node = n, .done = done};

    for (int i = 0; i < run->pipeline->n_instruments; i++) {
        const glow_instrument *in = &run->pipeline->instruments[i];
        va_list ap;

        if (!in->remark)
            continue;
        va_start(ap, fmt);
        r.text = glow_arena_vprintf(run->scratch, fmt, ap);
        va_end(ap);
        in->remark(in->user, &r);
    }
}

void
glow_run_tell_rewrite(const glow_pass_run *run, const glow_rewritten *r)
{
    for (int i = 0; run->pipeline && i < run->pipeline->n_instruments; i++) {
        const glow_instrument *in = &run->pipeline->instruments[i];

        if (in->rewrite)
            in->rewrite(in->user, r);
    }
}

bool
glow_run_is_spent(const glow_pass_run *run)
{
    return run->left && *run->left <= 0;
}

bool
glow_run_may_rewrite(glow_pass_run *run)
{
    if (glow_run_is_spent(run))
        return false;
    if (run->left)
        --*run->left;
    glow_run_count(run, "rewrites", 1);
    return true;
}

static glow_result
run_on(glow_pass_run *run, glow_func *f)
{
    const glow_pass *p = run->pass;

    return p->rewrite ? glow_rewrite(run, f, p->lowers, p->rewrite)
                      : p->run(run, f);
}

glow_result
glow_run_part(glow_pass_run *run, const glow_pass *p, glow_func *f,
              glow_wanted_fn wanted)
{
    glow_pass_run part = *run;

    part.pass = p;
    part.options = p->defaults;
    part.wanted = wanted;
    return run_on(&part, f);
}

/* Running. */

static double
now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool
ask_before(manager *m, const glow_pass *p, glow_func *f)
{
    bool go = true;

    for (int i = 0; i < m->options->n_instruments && go; i++) {
        const glow_instrument *in = &m->options->instruments[i];

        go = !in->before || in->before(in->user, p, m->module, f, m->number);
    }
    return go;
}

static bool
tell_after(manager *m, const glow_pass *p, glow_func *f, glow_result result,
           double seconds)
{
    bool ok = true;

    for (int i = 0; i < m->options->n_instruments; i++) {
        const glow_instrument *in = &m->options->instruments[i];

        if (in->after &&
            !in->after(in->user, p, m->module, f, m->number, result, seconds))
            ok = false;
    }
    return ok;
}

static void
note_restless(manager *m, const glow_pass *p)
{
    for (size_t i = m->first_restless; i < m->n_restless; i++)
        if (m->restless[i] == p)
            return;
    m->restless = glow_arena_grow(m->arena, m->restless, m->n_restless,
                                  &m->cap_restless, sizeof *m->restless);
    m->restless[m->n_restless++] = p;
}

/*
 * Verifies `f` (NULL: the module), if something has changed there: most passes of a
 * fixpoint change nothing.
 */
static bool
verify(manager *m, glow_func *f, glow_result r)
{
    if (r == GLOW_UNCHANGED)
        return true;
    if (!f || f == m->module->funcs)
        m->unverified &= f && f->next;
    return f ? glow_verify_func(f) : glow_verify(m->module);
}

static bool
verify_all(manager *m)
{
    return !m->options->verify_each || !m->unverified ||
           glow_verify(m->module) ||
           glow_error_hint(m->ctx, (glow_span){0}, "E0408",
                           "-print-changed shows each of them",
                           "a pass said that it changed nothing, and left a "
                           "module that breaks the rules above");
}

/* True if `f` is compared after pass `p`; a pass over the module is believed. */
static bool
is_compared(const manager *m, const glow_func *f)
{
    return m->options->verify_each && f && f->count <= MOST_COMPARED;
}

/* The digest of `f`, which the pass before left known if it changed nothing. */
static uint64_t
digest_of(manager *m, const glow_func *f)
{
    if (m->digested != f || m->digested_at != m->changes)
        m->digest = glow_func_digest(f);
    m->digested = f;
    m->digested_at = m->changes;
    return m->digest;
}

/*
 * False after a report if pass `p` said that it changed nothing, but `f` (NULL: the
 * module) has another digest than `before`, that of a function that is compared.
 */
static bool
check_claim(manager *m, const glow_pass *p, const glow_func *f,
            const uint64_t *before)
{
    if (!before) {
        m->unverified = true;
        return true;
    }
    if (glow_func_digest(f) == *before)
        return true;
    return glow_error_hint(m->ctx, (glow_span){0}, "E0408",
                           "this is a mistake in the pass, not in the input",
                           "pass '%s' said that it changed nothing, but it "
                           "changed @%s",
                           p->name, f->name);
}

/* Checks the level of `f` after pass `p`, and verifies it (NULL: the module). */
static bool
check(manager *m, const glow_pass *p, glow_func *f, const char *name,
      glow_result r)
{
    if (!f && name)
        return glow_error(m->ctx, "E0407",
                          "pass '%s' removed @%s, which it ran on", p->name,
                          name);
    if (f && p->makes != GLOW_ANY && glow_level_of(f) != p->makes)
        return glow_error(m->ctx, "E0407",
                          "pass '%s' makes %s, but left @%s as %s", p->name,
                          glow_level_text(p->makes), f->name,
                          glow_level_text(glow_level_of(f)));
    if (!m->options->verify_each)
        return true;
    if (verify(m, f, r))
        return true;
    return glow_error_hint(m->ctx, (glow_span){0}, "E0408",
                           "this is a mistake in the pass, not in the input",
                           "pass '%s' left %s%s that breaks the rules above",
                           p->name, f ? "a function @" : "a module",
                           f ? f->name : "");
}

/* Runs a pass on one function, or on the module if `name` is NULL. */
static glow_result
run_pass(manager *m, const glow_item *item, const char *name)
{
    const glow_pass *p = item->pass;
    glow_func *f = name ? glow_find_func(m->module, name) : NULL;
    const char *limited = m->options->limit_pass;
    glow_pass_run run = {
        .ctx = m->ctx,
        .pass = p,
        .options = item->options,
        .scratch = m->scratch,
        .pipeline = m->options,
        .left = limited && strcmp(limited, p->name) == 0 ? &m->left : NULL,
    };

    m->stopped |=
        m->options->stop_after > 0 && m->number == m->options->stop_after;
    if (m->stopped)
        return GLOW_UNCHANGED;
    m->number++;
    if (!ask_before(m, p, f))
        return GLOW_UNCHANGED;

    bool compared = is_compared(m, f);
    uint64_t digest = compared ? digest_of(m, f) : 0;
    if (!compared)
        m->digested = NULL;

    int errors = glow_error_count(m->ctx);
    double start = now(CLOCK_MONOTONIC);
    double used = now(CLOCK_PROCESS_CPUTIME_ID);
    glow_result r = f ? run_on(&run, f) : p->run_module(&run, m->module);
    m->pipeline->processor_time = now(CLOCK_PROCESS_CPUTIME_ID) - used;
    double seconds = now(CLOCK_MONOTONIC) - start;

    bool reported = glow_error_count(m->ctx) != errors;

    glow_arena_reset(m->scratch);
    if (r == GLOW_FAILED && !reported)
        glow_error(m->ctx, "E0407", "pass '%s' failed and did not say why",
                   p->name);
    if (reported) /* some helpers can only report */
        r = GLOW_FAILED;
    f = name ? glow_find_func(m->module, name) : NULL; /* it may have been
                                                        * replaced */
    if (r == GLOW_CHANGED && f && f->placed && p->unplaces)
        glow_func_unplace(f);
    m->refused = r == GLOW_FAILED && reported;
    if (r != GLOW_FAILED && !check(m, p, f, name, r))
        r = GLOW_FAILED;
    if (r == GLOW_UNCHANGED && m->options->verify_each &&
        !check_claim(m, p, f, compared ? &digest : NULL))
        r = GLOW_FAILED;
    if (!tell_after(m, p, f, r, seconds))
        r = GLOW_FAILED;
    if (r == GLOW_CHANGED) {
        if (f)
            glow_func_tidy(f);
        note_restless(m, p);
        m->changes++;
    }
    return r;
}

/*
 * True if this item runs on `f`.  Steps run only on functions below their
 * level.
 */
static bool
is_for(const manager *m, const glow_item *item, const glow_func *f)
{
    glow_level at = glow_level_of(f);

    if (!glow_in_scope(m->module, m->only, f))
        return false;
    if (item->needed_by && at >= item->pass->makes)
        return false;
    return glow_pass_takes(item->pass, at);
}

static void
tell_step(const manager *m, const glow_item *item)
{
    for (int i = 0; item->needed_by && i < m->options->n_instruments; i++) {
        const glow_instrument *in = &m->options->instruments[i];

        if (in->step)
            in->step(in->user, item->pass, item->needed_by);
    }
}

/* The names of functions, since a pass may replace the functions. */
static const char **
func_names(manager *m, const glow_item *item, int *count)
{
    int n = 0;

    GLOW_FOR_EACH_FUNC(f, m->module)
        n++;

    const char **names = GLOW_NEW_ARRAY(m->arena, const char *, n + 1);

    *count = 0;
    GLOW_FOR_EACH_FUNC(f, m->module)
        if (is_for(m, item, f))
            names[(*count)++] = f->name;
    return names;
}

/*
 * Checks the level of the functions at run time, since a pass before this one
 * may be disabled.
 */
static bool
check_input(manager *m, const glow_item *item)
{
    if (item->needed_by || item->may_be_past || m->stopped)
        return true;
    GLOW_FOR_EACH_FUNC(f, m->module)
        if (glow_in_scope(m->module, m->only, f) &&
            !glow_pass_takes(item->pass, glow_level_of(f)))
            return glow_error_at(
                m->ctx, item->span, "E0405", "%s takes %s, but here @%s is %s",
                item->pass->name, glow_level_text(item->pass->level), f->name,
                glow_level_text(glow_level_of(f)));
    return true;
}

/* The record of the last time that `item` changed nothing, by linear search. */
static rest *
find_rest(manager *m, const glow_item *item)
{
    rest new = {item->pass, item->options, m->only, -1};

    for (size_t i = 0; i < m->n_rests; i++) {
        rest *r = &m->rests[i];

        if (r->pass == new.pass && r->options == new.options &&
            r->only == new.only)
            return r;
    }
    m->rests = glow_arena_grow(m->arena, m->rests, m->n_rests, &m->cap_rests,
                               sizeof *m->rests);
    m->rests[m->n_rests] = new;
    return &m->rests[m->n_rests++];
}

/*
 * Runs a pass on all functions that it takes.  Goes on after one that it refuses,
 * so that the errors of all functions are reported at once.
 */
static glow_result
run_on_all(manager *m, const glow_item *item)
{
    glow_result r = GLOW_UNCHANGED;
    int count;

    if (item->pass->run_module)
        return run_pass(m, item, NULL);

    const char **names = func_names(m, item, &count);

    if (count == 0 && !check_input(m, item))
        return GLOW_FAILED;
    for (int i = 0; i < count; i++) {
        /* a body may have been erased with its last call */
        if (!glow_find_func(m->module, names[i]))
            continue;

        glow_result one = run_pass(m, item, names[i]);

        if (one == GLOW_FAILED && !m->refused)
            return GLOW_FAILED;
        if (one == GLOW_FAILED || (one == GLOW_CHANGED && r != GLOW_FAILED))
            r = one;
    }
    return r;
}

static glow_result
run_item(manager *m, const glow_item *item)
{
    m->pipeline->at_work = item;
    tell_step(m, item);
    if (m->depth == 0)
        return run_on_all(m, item);

    rest *last = find_rest(m, item);

    if (last->at == m->changes)
        return GLOW_UNCHANGED;

    glow_result r = run_on_all(m, item);

    if (r == GLOW_UNCHANGED)
        last->at = m->changes;
    return r;
}

static glow_result run_items(manager *m, const glow_item *first);

static void
warn_restless(manager *m, const glow_item *item)
{
    glow_buf b = {.arena = m->arena};

    for (size_t i = m->first_restless; i < m->n_restless; i++)
        glow_buf_printf(&b, "%s%s", b.len > 0 ? ", " : "",
                        m->restless[i]->name);
    glow_warning_hint(
        m->ctx, item->span, "W0401",
        "raise `max`; if that does not help, two of the passes undo each other",
        "fixpoint has not settled after %d rounds: still changed by "
        "%s",
        item->max, b.text);
}

/*
 * Runs the rounds of a fixpoint; the passes that changed something are listed
 * round by round.
 */
static glow_result
run_rounds(manager *m, const glow_item *item)
{
    glow_result all = GLOW_UNCHANGED;

    for (int round = 0; round < item->max; round++) {
        m->first_restless = m->n_restless;

        glow_result r = run_items(m, item->body);

        if (r == GLOW_FAILED)
            return r;
        if (r == GLOW_UNCHANGED || m->stopped)
            return all;
        all = GLOW_CHANGED;
    }
    warn_restless(m, item);
    return all;
}

static glow_result
run_fixpoint(manager *m, const glow_item *item)
{
    size_t outer = m->first_restless, begin = m->n_restless;

    m->depth++;

    glow_result r = run_rounds(m, item);
    size_t end = m->n_restless;

    m->depth--;
    m->first_restless = outer;
    m->n_restless = begin;
    for (size_t i = begin; i < end; i++)
        note_restless(m, m->restless[i]);
    return r;
}

/* Runs an item with a body. */
static glow_result
run_body(manager *m, const glow_item *i)
{
    glow_pipeline *p = m->pipeline;
    bool fits = p->depth < GLOW_PIPELINE_DEPTH;
    glow_result r;

    if (fits)
        p->within[p->depth++] = i;
    if (i->kind == GLOW_ITEM_FIXPOINT) {
        r = run_fixpoint(m, i);
    } else {
        m->only = i->func;
        r = run_items(m, i->body);
        m->only = NULL;
    }
    p->depth -= fits;
    return r;
}

static glow_result
run_items(manager *m, const glow_item *first)
{
    glow_result all = GLOW_UNCHANGED;

    for (const glow_item *i = first; i && !m->stopped; i = i->next) {
        glow_result r =
            i->kind == GLOW_ITEM_PASS ? run_item(m, i) : run_body(m, i);

        if (r == GLOW_FAILED)
            return r;
        if (r == GLOW_CHANGED)
            all = r;
    }
    return all;
}

bool
glow_pipeline_run(glow_pipeline *p, glow_module *module,
                  const glow_pipeline_options *options)
{
    static const glow_pipeline_options plain = {.verify_each = true};
    glow_pipeline_options how = options ? *options : plain;
    manager m = {
        .ctx = p->ctx,
        .pipeline = p,
        .module = module,
        .options = &how,
        .scratch = glow_arena_new(),
        .arena = glow_arena_new(),
        .left = how.limit,
    };
    glow_item *items = NULL;
    bool ok;

    if (!how.target)
        how.target =
            glow_backend_target(how.backend, p->ctx, m.arena, how.code);
    ok = how.target &&
         (!how.code || !how.code->exact || glow_pipeline_make_exact(p)) &&
         glow_pipeline_type(p, module, how.reach, m.arena, &items) &&
         run_items(&m, items) != GLOW_FAILED && verify_all(&m);
    p->at_work = NULL;
    p->depth = 0;
    glow_arena_free(m.scratch);
    glow_arena_free(m.arena);
    return ok;
}
