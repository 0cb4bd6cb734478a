/*
 * Type checking of pipelines: the level of each function before and after each
 * pass.
 *
 * A pass declares the level that it takes and the level that it leaves, so a
 * pipeline is type-checked for every function before anything runs.  If a
 * function is below the level of a pass, the missing steps are inserted:
 *
 *     schedule,alloc   =>   schedule,irgen,alloc
 *
 * A step is any pass of the library that raises the level.  It is inserted if
 * it is the only candidate; passes of plugins are never inserted.  Levels never
 * decrease: a pass over graphs leaves programs alone, and it is an error if
 * there is no graph for it.
 */

#include <string.h>

#include "passes/pipeline.h"

typedef struct state {
    const glow_func *func;
    const char *name;
    glow_level at;
} state;

typedef struct typing {
    glow_context *ctx;
    glow_arena *arena;
    state *funcs;
    int count;
    const char *only; /* within @name(...); or NULL */
    const glow_module *module;
} typing;

glow_level
glow_level_of(const glow_func *f)
{
    if (f->is_program)
        return f->placed ? GLOW_PLACED : GLOW_PROGRAM;
    return f->scheduled ? GLOW_SCHEDULED : GLOW_GRAPH;
}

const char *
glow_level_text(glow_level level)
{
    static const char *const texts[] = {
        [GLOW_ANY] = "anything",
        [GLOW_GRAPH] = "a graph",
        [GLOW_SCHEDULED] = "a scheduled graph",
        [GLOW_PROGRAM] = "a program",
        [GLOW_PLACED] = "a placed program",
    };

    return texts[level];
}

/* The highest level that a pass of `level` takes; `level` is the lowest. */
static glow_level
highest(glow_level level)
{
    switch (level) {
    case GLOW_GRAPH:
    case GLOW_SCHEDULED:
        return GLOW_SCHEDULED;
    default:
        return GLOW_PLACED;
    }
}

bool
glow_pass_takes(const glow_pass *p, glow_level level)
{
    return level >= p->level && level <= highest(p->level);
}

static glow_level
after(const glow_pass *p, glow_level level)
{
    if (p->makes != GLOW_ANY)
        return p->makes;
    return p->unplaces && level == GLOW_PLACED ? GLOW_PROGRAM : level;
}

bool
glow_in_scope(const glow_module *m, const char *only, const glow_func *f)
{
    const glow_func *named = only ? glow_find_func(m, only) : NULL;

    return !only || strcmp(only, f->name) == 0 ||
           (named && glow_calls(named, f));
}

static bool
in_scope(const typing *t, const state *s)
{
    return glow_in_scope(t->module, t->only, s->func);
}

static glow_item *
new_step(typing *t, const glow_item *for_item, const glow_pass *step)
{
    glow_item *i = GLOW_NEW(t->arena, glow_item);

    i->kind = GLOW_ITEM_PASS;
    i->pass = step;
    i->options = step->defaults;
    i->needed_by = for_item->pass ? for_item->pass : step;
    i->span = for_item->span;
    i->origin = for_item->origin;
    return i;
}

/*
 * The only pass of the library that raises the level of function `s`, but not
 * above `to`; NULL if there is none, or, after a report, if there are several.
 */
static const glow_pass *
find_step(typing *t, const glow_item *item, const char *who, const state *s,
          glow_level to)
{
    size_t n;
    const glow_pass *const *passes = glow_all_passes(t->ctx, &n);
    const glow_pass *found = NULL;

    for (size_t i = 0; i < n; i++) {
        const glow_pass *p = passes[i];

        if (p->makes <= s->at || p->makes > to || strchr(p->name, '.') ||
            !glow_pass_takes(p, s->at))
            continue;
        if (found) {
            glow_error_hint(
                t->ctx, item->span, "E0405",
                "write the one that you mean before it",
                "%s takes %s, but @%s is %s; both %s and %s lead there", who,
                glow_level_text(to), s->name, glow_level_text(s->at),
                found->name, p->name);
            return NULL;
        }
        found = p;
    }
    if (!found)
        glow_error_at(t->ctx, item->span, "E0405",
                      "%s takes %s, but @%s is %s, and no pass leads there",
                      who, glow_level_text(to), s->name,
                      glow_level_text(s->at));
    return found;
}

/* Appends to *tail the steps that raise all functions in scope to `level`. */
static bool
raise_to(typing *t, const glow_item *item, const char *who, glow_level level,
         glow_item ***tail)
{
    for (;;) {
        state *low = NULL;

        for (int i = 0; i < t->count; i++)
            if (in_scope(t, &t->funcs[i]) && t->funcs[i].at < level &&
                (!low || t->funcs[i].at < low->at))
                low = &t->funcs[i];
        if (!low)
            return true;

        glow_level from = low->at;
        const glow_pass *step = find_step(t, item, who, low, level);

        if (!step)
            return false;
        for (int i = 0; i < t->count; i++)
            if (in_scope(t, &t->funcs[i]) && t->funcs[i].at == from)
                t->funcs[i].at = step->makes;
        **tail = new_step(t, item, step);
        *tail = &(**tail)->next;
    }
}

/* Reports a pass that takes none of the functions. */
static bool
refuse(typing *t, const glow_item *item, const state *s)
{
    return glow_error_at(t->ctx, item->span, "E0405",
                         "%s takes %s, but here @%s is %s already",
                         item->pass->name, glow_level_text(item->pass->level),
                         s->name, glow_level_text(s->at));
}

static bool
type_pass(typing *t, const glow_item *item, glow_item ***tail)
{
    const glow_pass *p = item->pass;
    const state *too_high = NULL;
    int takes = 0;

    if (p->run_module && t->only)
        return glow_error_at(t->ctx, item->span, "E0405",
                             "%s works on the whole module, not on @%s alone",
                             p->name, t->only);
    if (!raise_to(t, item, p->name, p->level, tail))
        return false;
    for (int i = 0; i < t->count; i++) {
        state *s = &t->funcs[i];

        if (!in_scope(t, s))
            continue;
        if (!glow_pass_takes(p, s->at)) {
            too_high = too_high ? too_high : s;
            continue;
        }
        s->at = after(p, s->at);
        takes++;
    }
    if (too_high && takes == 0)
        return item->may_be_past || refuse(t, item, too_high);
    **tail = glow_arena_copy(t->arena, item, sizeof *item);
    (**tail)->next = NULL;
    *tail = &(**tail)->next;
    return true;
}

static bool type_items(typing *t, const glow_item *first, glow_item ***tail);

/* Sets *found to the pass within `first` that takes the highest level. */
static void
most_demanding(const glow_item *first, const glow_pass **found)
{
    for (const glow_item *i = first; i; i = i->next)
        if (i->kind != GLOW_ITEM_PASS)
            most_demanding(i->body, found);
        else if (!*found || i->pass->level > (*found)->level)
            *found = i->pass;
}

/*
 * The body of a fixpoint must leave every function at the level it found, but
 * may drop the places of programs, which are then missing in later rounds, too.
 */
static bool
type_fixpoint(typing *t, const glow_item *item, glow_item *copy,
              glow_item ***tail)
{
    const glow_pass *most = NULL;

    most_demanding(item->body, &most);
    if (most && !raise_to(t, item, most->name, most->level, tail))
        return false;

    state *before = glow_arena_copy(t->arena, t->funcs,
                                    (size_t)t->count * sizeof *t->funcs);
    glow_item **body = &copy->body;

    copy->body = NULL;
    if (!type_items(t, item->body, &body))
        return false;
    for (int i = 0; i < t->count; i++)
        if (t->funcs[i].at != before[i].at &&
            (before[i].at != GLOW_PLACED || t->funcs[i].at != GLOW_PROGRAM))
            return glow_error_at(
                t->ctx, item->span, "E0405",
                "fixpoint repeats its body, but that turns @%s from %s into %s",
                before[i].name, glow_level_text(before[i].at),
                glow_level_text(t->funcs[i].at));
    return true;
}

static bool
unknown_func(typing *t, const glow_item *item)
{
    const char **names = GLOW_NEW_ARRAY(t->arena, const char *, t->count + 1);

    for (int i = 0; i < t->count; i++)
        names[i] = t->funcs[i].name;

    const char *near = glow_did_you_mean(item->func, names, (size_t)t->count);

    return glow_error_hint(
        t->ctx, item->span, "E0406",
        near ? glow_arena_printf(t->arena, "did you mean @%s?", near) : NULL,
        "the module has no function @%s", item->func);
}

static bool
type_only(typing *t, const glow_item *item, glow_item *copy)
{
    glow_item **body = &copy->body;
    int found = 0;

    copy->body = NULL;
    t->only = item->func;
    for (int i = 0; i < t->count; i++)
        found += in_scope(t, &t->funcs[i]);

    bool ok = found ? type_items(t, item->body, &body) : unknown_func(t, item);

    t->only = NULL;
    return ok;
}

static bool
type_items(typing *t, const glow_item *first, glow_item ***tail)
{
    for (const glow_item *i = first; i; i = i->next) {
        if (i->kind == GLOW_ITEM_PASS) {
            if (!type_pass(t, i, tail))
                return false;
            continue;
        }

        glow_item *copy = glow_arena_copy(t->arena, i, sizeof *i);
        bool ok = i->kind == GLOW_ITEM_FIXPOINT
                      ? type_fixpoint(t, i, copy, tail)
                      : type_only(t, i, copy);

        if (!ok)
            return false;
        copy->next = NULL;
        **tail = copy;
        *tail = &copy->next;
    }
    return true;
}

bool
glow_pipeline_type(const glow_pipeline *p, const glow_module *m,
                   glow_level reach, glow_arena *a, glow_item **out)
{
    typing t = {.ctx = p->ctx, .arena = a, .module = m};
    glow_item end = {.span = {p->source, (uint32_t)p->source->size,
                              (uint32_t)p->source->size}};
    glow_item *items = NULL;
    glow_item **tail = &items;

    GLOW_FOR_EACH_FUNC(f, m)
        t.count++;
    t.funcs = GLOW_NEW_ARRAY(a, state, t.count + 1);

    state *next = t.funcs;

    GLOW_FOR_EACH_FUNC(f, m)
        *next++ = (state){f, f->name, glow_level_of(f)};
    if (!type_items(&t, p->items, &tail) ||
        !raise_to(&t, &end, "the backend", reach, &tail))
        return false;
    *out = items;
    return true;
}
