/*
 * Regions: the pools in which alloc places buffers.
 *
 * Without spaces in the target there are three of unlimited size, $const, $io and
 * $act, and $state, if there is state.  With spaces, each space that some class of buffers may use is a region of
 * its name.  Regions with fixed buffers of the program are kept.
 *
 * The memory of a body is part of the scratch of its caller: only its constants
 * go to spaces.
 */

#include "irgen/place/alloc.h"

#include <string.h>

#define USUAL_ALIGN 64

alloc_pool *
glow_alloc_find_pool(const allocator *a, const char *name)
{
    for (size_t i = 0; i < a->n_pools; i++)
        if (strcmp(a->pools[i].region->name, name) == 0)
            return &a->pools[i];
    return NULL;
}

/* Adds a pool of that name with a capacity of `most` bytes. */
static size_t
add_pool(allocator *a, const glow_region *region, int64_t most)
{
    glow_region *r = glow_arena_copy(a->f->module->arena, region, sizeof *r);
    alloc_pool *p = &a->pools[a->n_pools];

    if (most != INT64_MAX && (!r->capacity || most < r->capacity))
        r->capacity = most;
    if (!r->align)
        r->align = USUAL_ALIGN;
    if (a->options->align)
        r->align = a->options->align;
    r->size = 0;
    r->next = NULL;
    *p = (alloc_pool){.region = r,
                      .space = glow_region_space(r),
                      .align = r->align,
                      .is_stale = true};
    return a->n_pools++;
}

static void
set_home(allocator *a, glow_buffer_class class, size_t pool)
{
    size_t *at = GLOW_NEW(a->arena, size_t);

    *at = pool;
    a->homes[class] = (glow_homes){at, 1};
}

/* One of the default regions, as the function has it, if it does. */
static size_t
add_usual(allocator *a, const char *name, int64_t most)
{
    glow_region usual = {.name = name, .space = "dram"};
    const glow_region *had = glow_find_region(a->f, name);

    if (had) {
        usual = *had;
        usual.align = 0;
    }
    return add_pool(a, &usual, most);
}

static bool
has_state(const glow_func *f)
{
    GLOW_FOR_EACH_NODE(n, f)
        if (glow_alloc_is_kept(n) && !n->out[0]->storage->is_constant)
            return true;
    return false;
}

static void
add_usual_memory(allocator *a)
{
    size_t io = add_usual(a, "io", INT64_MAX);
    int64_t limit = glow_run_limit(a->run), most = a->options->capacity;
    size_t act = add_usual(a, "act", limit && limit < most ? limit : most);

    set_home(a, GLOW_PLACEHOLDERS,
             a->options->placeholders == ALLOC_AMONG ? act : io);
    set_home(a, GLOW_ACTIVATIONS, act);
    set_home(a, GLOW_SCRATCH, act);
    if (has_state(a->f))
        a->state = &a->pools[add_usual(a, "state", INT64_MAX)];
}

static size_t
add_space(allocator *a, const glow_target *t, size_t i)
{
    const glow_space *s = &t->spaces[i];
    alloc_pool *p = glow_alloc_find_pool(a, s->name);
    const glow_place_space *place = &s->place;
    bool first = t->homes[GLOW_ACTIVATIONS].at[0] == i;
    glow_arena *arena = a->f->module->arena;
    glow_region r = {
        .name = glow_arena_strdup(arena, s->name),
        .space = glow_arena_strdup(arena, s->name),
        .align = s->align,
        .capacity = place->capacity == INT64_MAX ? 0 : place->capacity,
        .bank = place->bank,
        .forbidden =
            glow_arena_copy(arena, place->forbidden,
                            place->n_forbidden * sizeof *place->forbidden),
        .n_forbidden = place->n_forbidden,
    };

    return p ? (size_t)(p - a->pools)
             : add_pool(a, &r, first ? a->options->capacity : INT64_MAX);
}

/* The spaces of class `k`. */
static void
add_spaces(allocator *a, const glow_target *t, int k)
{
    size_t count = t->homes[k].count;
    size_t *at = GLOW_NEW_ARRAY(a->arena, size_t, count);

    for (size_t i = 0; i < count; i++)
        at[i] = add_space(a, t, t->homes[k].at[i]);
    a->homes[k] = (glow_homes){at, count};
}

void
glow_alloc_make_pools(allocator *a)
{
    const glow_target *t = glow_run_target(a->run);
    size_t most = t->n_spaces + 4;
    bool is_body = glow_is_body(a->f);

    for (const glow_region *r = a->f->regions; r; r = r->next)
        most++;
    a->pools = GLOW_NEW_ARRAY(a->arena, alloc_pool, most);
    if (t->n_spaces)
        add_spaces(a, t, GLOW_CONSTANTS);
    else
        set_home(a, GLOW_CONSTANTS, add_usual(a, "const", INT64_MAX));
    for (int k = GLOW_PLACEHOLDERS; k < GLOW_BUFFER_CLASSES; k++)
        if (t->n_spaces && !is_body)
            add_spaces(a, t, k);
    if (!t->n_spaces || is_body)
        add_usual_memory(a);
    GLOW_FOR_EACH_NODE(n, a->f)
        if (glow_is_fixed(n) &&
            !glow_alloc_find_pool(a, n->place->region->name))
            add_pool(a, n->place->region, INT64_MAX);
}

/* Spaces that buffers name. */

/* A pool of the space among those of the class, or any; NULL: there is none. */
static const alloc_pool *
pool_of_space(const allocator *a, glow_buffer_class class, const char *space)
{
    for (size_t i = 0; i < a->homes[class].count; i++) {
        const alloc_pool *p = &a->pools[a->homes[class].at[i]];

        if (strcmp(p->region->space, space) == 0)
            return p;
    }
    for (size_t i = 0; i < a->n_pools; i++)
        if (strcmp(a->pools[i].region->space, space) == 0)
            return &a->pools[i];
    return NULL;
}

/* The same, made of a region of the program or a space of the target. */
static const alloc_pool *
find_space(allocator *a, glow_buffer_class class, const char *space)
{
    const alloc_pool *p = pool_of_space(a, class, space);
    const glow_target *t = glow_run_target(a->run);

    if (p)
        return p;
    for (const glow_region *r = a->f->regions; r; r = r->next)
        if (strcmp(r->space, space) == 0)
            return &a->pools[add_pool(a, r, INT64_MAX)];
    for (size_t i = 0; i < t->n_spaces; i++)
        if (strcmp(t->spaces[i].name, space) == 0)
            return &a->pools[add_space(a, t, i)];
    return NULL;
}

static const char *
list_spaces(const allocator *a)
{
    glow_buf b = {.arena = a->arena};

    for (size_t i = 0; i < a->n_pools; i++) {
        bool seen = false;

        for (size_t k = 0; k < i; k++)
            seen |= strcmp(a->pools[k].region->space,
                           a->pools[i].region->space) == 0;
        if (!seen)
            glow_buf_printf(&b, "%s%s", b.len ? ", " : "there are: ",
                            a->pools[i].region->space);
    }
    return b.text;
}

bool
glow_alloc_bind(allocator *a)
{
    for (size_t i = 0; i < a->count; i++) {
        alloc_buffer *b = &a->buffers[i];
        const char *space = glow_space_of(b->node);

        if (!space || glow_is_fixed(b->node))
            continue;
        if (glow_is_body(a->f))
            return glow_error_at(
                a->f->module->ctx, b->node->span, "E0334",
                "%%%s names the space '%s', but @%s is a "
                "body, whose buffers are scratch of its caller",
                b->node->name, space, a->f->name);
        b->bound = find_space(a, b->class, space);
        if (!b->bound)
            return glow_error_hint(a->f->module->ctx, b->node->span, "E0334",
                                   list_spaces(a),
                                   "%%%s names the space '%s', which neither "
                                   "the target nor @%s has",
                                   b->node->name, space, a->f->name);
    }
    return true;
}

void
glow_alloc_set_regions(allocator *a)
{
    glow_region **link = &a->f->regions;

    for (size_t i = 0; i < a->n_pools; i++) {
        *link = a->pools[i].region;
        link = &a->pools[i].region->next;
    }
    *link = NULL;
}
