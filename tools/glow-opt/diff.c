/*
 * A diff of graphs by nodes.
 *
 * Names are unique and kept by passes, so an old and a new node match if they
 * have the same name, or the same id and a new name.  Differences of matched
 * nodes are shown operand by operand.  Unmatched nodes were removed or added;
 * provenance tells their replacement or origin.
 *
 * If order matters, the longest increasing subsequence of matches stays in
 * place (patience sorting, n log n), and other matched nodes were moved.
 */

#include <string.h>

#include "glow/text.h"
#include "tools/glow-opt/shot.h"

#define NONE SIZE_MAX

typedef struct differ {
    glow_arena *arena;
    changes *out;
    const shot_func *old, *now;
    size_t *match;   /* of each node now: its index before, or NONE */
    size_t *back;    /* of each node before: its index now, or NONE */
    bool *stays;     /* of each new node: it kept its position */
    glow_map *heirs; /* new nodes by provenance: names */
    glow_map *origins;
} differ;

/* Construction of changes. */

static change *
add(differ *d, char sign, const char *name, const char *text)
{
    changes *c = d->out;
    int *count = sign == '-'   ? &c->gone
                 : sign == '+' ? &c->come
                 : sign == '~' ? &c->other
                               : &c->moved;

    c->items = glow_arena_grow(d->arena, c->items, c->count, &c->cap,
                               sizeof *c->items);
    c->items[c->count] = (change){
        .sign = sign,
        .func = d->now   ? d->now->func.name
                : d->old ? d->old->func.name
                         : NULL,
        .name = name,
        .text = text,
    };
    ++*count;
    return &c->items[c->count++];
}

static const char *
line_of(differ *d, const glow_node *n)
{
    glow_buf b = {.arena = d->arena};

    glow_print_node(&b, n, NULL);
    return b.text;
}

/* Matching. */

static size_t
index_of(const shot_func *s, const glow_node *n)
{
    return n ? (size_t)(n - s->nodes) : NONE;
}

static void
pair(differ *d, size_t old, size_t now)
{
    d->match[now] = old;
    d->back[old] = now;
}

/* Matches nodes by name; then the others by id. */
static void
match(differ *d)
{
    const shot_func *old = d->old, *now = d->now;
    size_t *by_id = GLOW_NEW_ARRAY(d->arena, size_t, old->func.next_id + 1);

    for (int i = 0; i < now->count; i++)
        d->match[i] = NONE;
    for (int i = 0; i < old->count; i++) {
        size_t at =
            index_of(now, glow_map_get(now->by_name, old->nodes[i].name));

        d->back[i] = NONE;
        if (at != NONE)
            pair(d, (size_t)i, at);
        else
            by_id[old->nodes[i].id] = (size_t)i + 1;
    }
    for (int i = 0; i < now->count; i++) {
        const glow_node *n = &now->nodes[i];
        bool known = d->match[i] == NONE && n->id < old->func.next_id;
        size_t at = known ? by_id[n->id] : 0;

        if (at > 0 && old->nodes[at - 1].op == n->op)
            pair(d, at - 1, (size_t)i);
    }
}

/* Marks the longest increasing subsequence of matches, by patience sorting. */
static void
settle(differ *d)
{
    size_t count = (size_t)d->now->count;
    size_t *top = GLOW_NEW_ARRAY(d->arena, size_t, count + 1);
    size_t *under = GLOW_NEW_ARRAY(d->arena, size_t, count + 1);
    size_t piles = 0;

    for (size_t i = 0; i < count; i++) {
        size_t low = 0, high = piles;

        if (d->match[i] == NONE)
            continue;
        while (low < high) {
            size_t mid = (low + high) / 2;

            if (d->match[top[mid]] < d->match[i])
                low = mid + 1;
            else
                high = mid;
        }
        under[i] = low > 0 ? top[low - 1] : NONE;
        top[low] = i;
        piles += low == piles;
    }
    for (size_t i = piles > 0 ? top[piles - 1] : NONE; i != NONE; i = under[i])
        d->stays[i] = true;
}

/* The same node, before and now. */
static void
compare_nodes(differ *d, const glow_node *x, const glow_node *y, bool moved)
{
    change_detail *list = shot_compare_nodes(d->arena, x, y);

    if (list)
        add(d, '~', x->name, line_of(d, y))->details = list;
    else if (moved)
        add(d, '>', x->name, line_of(d, y));
}

/* Provenance. */

/* Calls `fn` for the leaves of location `l`, as text. */
static void
each_leaf(differ *d, const glow_loc *l,
          void (*fn)(differ *d, const char *leaf, void *user), void *user)
{
    if (!l)
        return;
    for (int i = 0; i < l->n_parts; i++)
        each_leaf(d, l->parts[i], fn, user);
    if (l->n_parts == 0)
        fn(d,
           glow_arena_printf(d->arena, "%s %s %d %d", l->text ? l->text : "",
                             l->node ? l->node : "", l->line, l->column),
           user);
}

typedef struct named {
    glow_map *map;
    const char *name;
} named;

static void
learn(differ *d, const char *leaf, void *user)
{
    named *n = user;

    (void)d;
    if (!glow_map_get(n->map, leaf))
        glow_map_set(n->map, leaf, (void *)(uintptr_t)n->name);
}

/* Sets *user to the entry of the first leaf in `map`. */
static void
look_up(differ *d, const char *leaf, void *user)
{
    named *n = user;

    (void)d;
    if (!n->name)
        n->name = glow_map_get(n->map, leaf);
}

static void
learn_origins(differ *d)
{
    d->heirs = glow_map_new(d->arena);
    d->origins = glow_map_new(d->arena);
    for (int i = 0; i < d->now->count; i++) {
        const glow_node *n = &d->now->nodes[i];
        bool same =
            d->match[i] != NONE && d->old->nodes[d->match[i]].loc == n->loc;

        if (!same)
            each_leaf(d, n->loc, learn, &(named){d->heirs, n->name});
    }
    for (int i = 0; i < d->old->count; i++) {
        const glow_node *n = &d->old->nodes[i];
        bool same =
            d->back[i] != NONE && d->now->nodes[d->back[i]].loc == n->loc;

        if (!same)
            each_leaf(d, n->loc, learn, &(named){d->origins, n->name});
    }
}

static const char *
origin(differ *d, const glow_node *n, glow_map *map, const char *how)
{
    named found = {map, NULL};

    each_leaf(d, n->loc, look_up, &found);
    return found.name && strcmp(found.name, n->name) != 0
               ? glow_arena_printf(d->arena, "%s %%%s", how, found.name)
               : NULL;
}

/* Functions. */

static const char *
level_text(differ *d, const shot_func *s)
{
    const char *what = s->func.placed       ? "a placed program"
                       : s->func.is_program ? "a program"
                       : s->func.scheduled  ? "a scheduled graph"
                                            : "a graph";

    return glow_arena_printf(d->arena, "%s of %d %s", what, s->count,
                             s->func.is_program ? "instructions" : "nodes");
}

static const char *
attrs_text(differ *d, const shot_func *s)
{
    glow_buf b = {.arena = d->arena};

    glow_buf_attr_list(&b, s->func.attrs);
    return b.len > 0 ? b.text + (*b.text == ' ') : "none";
}

static void
compare_heads(differ *d)
{
    const glow_func *x = &d->old->func, *y = &d->now->func;
    change_detail *list = NULL;

    if (x->is_program != y->is_program || x->scheduled != y->scheduled ||
        x->placed != y->placed)
        change_note(d->arena, &list, "is", level_text(d, d->old),
                    level_text(d, d->now));
    if (strcmp(attrs_text(d, d->old), attrs_text(d, d->now)) != 0)
        change_note(d->arena, &list, "attributes", attrs_text(d, d->old),
                    attrs_text(d, d->now));
    if (list)
        add(d, '~', NULL, glow_arena_printf(d->arena, "@%s", y->name))
            ->details = list;
}

static void
put_gone(differ *d, int i)
{
    const glow_node *n = &d->old->nodes[i];

    if (d->back[i] == NONE)
        add(d, '-', n->name, line_of(d, n))->note =
            origin(d, n, d->heirs, "now in");
}

/*
 * Compares functions; a removed node is listed before the next node that stays.
 */
static void
compare_funcs(differ *d)
{
    bool ordered = d->now->func.is_program || d->now->func.scheduled;
    size_t next = 0;

    d->match = GLOW_NEW_ARRAY(d->arena, size_t, d->now->count + 1);
    d->back = GLOW_NEW_ARRAY(d->arena, size_t, d->old->count + 1);
    d->stays = GLOW_NEW_ARRAY(d->arena, bool, d->now->count + 1);
    compare_heads(d);
    if (d->old->func.is_program != d->now->func.is_program)
        return; /* nothing matches */
    match(d);
    settle(d);
    learn_origins(d);
    ordered &= d->old->func.is_program || d->old->func.scheduled;
    for (int i = 0; i < d->now->count; i++) {
        const glow_node *n = &d->now->nodes[i];

        while (d->stays[i] && next < d->match[i])
            put_gone(d, (int)next++);
        if (d->match[i] == NONE)
            add(d, '+', n->name, line_of(d, n))->note =
                origin(d, n, d->origins, "from");
        else
            compare_nodes(d, &d->old->nodes[d->match[i]], n,
                          ordered && !d->stays[i]);
    }
    while (next < (size_t)d->old->count)
        put_gone(d, (int)next++);
}

/* The diff. */

static const char *
storage_text(differ *d, const glow_storage *s)
{
    glow_buf b = {.arena = d->arena};

    glow_buf_printf(
        &b, "%s @%s : ", s->is_constant ? "constant" : "placeholder", s->name);
    glow_buf_type(&b, s->value.type);
    if (s->payload == GLOW_SPLAT) {
        glow_buf_puts(&b, " = splat(");
        if (glow_is_float(s->value.type->elem))
            glow_buf_double(&b, s->splat);
        else
            glow_buf_printf(&b, "%lld", (long long)s->splat_int);
        glow_buf_putc(&b, ')');
    }
    return b.text;
}

static bool
same_head(const glow_storage *x, const glow_storage *y)
{
    return x->value.type == y->value.type && x->is_constant == y->is_constant &&
           (x->payload == GLOW_SPLAT) == (y->payload == GLOW_SPLAT) &&
           memcmp(&x->splat, &y->splat, sizeof x->splat) == 0 &&
           x->splat_int == y->splat_int;
}

static void
compare_storage(differ *d, const shot *old, const shot *now)
{
    for (size_t i = 0; i < now->n_storage; i++) {
        const glow_storage *y = &now->storage[i];
        const glow_storage *x = glow_map_get(old->by_name, y->name);
        change_detail *list = NULL;

        if (!x) {
            add(d, '+', NULL, storage_text(d, y));
            continue;
        }
        if (!same_head(x, y))
            change_note(d->arena, &list, "was", storage_text(d, x), NULL);
        if (list)
            add(d, '~', NULL, storage_text(d, y))->details = list;
    }
    for (size_t i = 0; i < old->n_storage; i++)
        if (!glow_map_get(now->by_name, old->storage[i].name))
            add(d, '-', NULL, storage_text(d, &old->storage[i]));
}

static shot_func *
find_func(const shot *s, const char *name)
{
    shot_func *f = s->funcs;

    while (f && strcmp(f->func.name, name) != 0)
        f = f->next;
    return f;
}

changes
shot_diff(glow_arena *a, const shot *old, const shot *now)
{
    changes c = {0};
    differ d = {.arena = a, .out = &c};

    compare_storage(&d, old, now);
    for (shot_func *f = old->funcs; f; f = f->next) {
        d.old = f;
        d.now = find_func(now, f->func.name);
        if (d.now)
            compare_funcs(&d);
        else
            add(&d, '-', NULL,
                glow_arena_printf(a, "@%s: %s", f->func.name,
                                  level_text(&d, f)));
    }
    d.old = NULL;
    for (shot_func *f = now->funcs; f; f = f->next) {
        d.now = f;
        if (!find_func(old, f->func.name))
            add(&d, '+', NULL,
                glow_arena_printf(a, "@%s: %s", f->func.name,
                                  level_text(&d, f)));
    }
    return c;
}

/* Text output. */

void
put_change_counts(glow_buf *b, const changes *c)
{
    const struct {
        int count;
        const char *what;
    } kinds[] = {{c->gone, "removed"},
                 {c->come, "added"},
                 {c->other, "changed"},
                 {c->moved, "moved"}};
    const char *comma = "";

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].count == 0)
            continue;
        glow_buf_printf(b, "%s%d %s", comma, kinds[i].count, kinds[i].what);
        comma = ", ";
    }
}

void
put_changes(glow_buf *b, const changes *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const change *x = &c->items[i];

        glow_buf_printf(b, "%c %s\n", x->sign, x->text);
        for (const change_detail *t = x->details; t; t = t->next)
            if (t->after)
                glow_buf_printf(b, "    %s: %s -> %s\n", t->what, t->before,
                                t->after);
            else
                glow_buf_printf(b, "    %s: %s\n", t->what, t->before);
        if (x->note)
            glow_buf_printf(b, "    %s\n", x->note);
    }
}
