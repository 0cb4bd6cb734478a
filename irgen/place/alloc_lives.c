/*
 * Live ranges of the buffers of a region, and of constants and state that other
 * programs keep in the same memory.
 */

#include <string.h>

#include "irgen/place/alloc.h"

static int64_t
rounded(int64_t bytes, int64_t align)
{
    return (bytes + align - 1) / align * align;
}

static bool
is_in(const allocator *a, const alloc_buffer *b, const alloc_pool *p)
{
    if (glow_is_fixed(b->node))
        return strcmp(b->node->place->region->name, p->region->name) == 0;
    if (b->bound)
        return b->bound == p;
    return &a->pools[a->homes[b->class].at[b->home]] == p;
}

int64_t
glow_alloc_gap_behind(const allocator *a, const alloc_pool *p,
                      const alloc_buffer *b)
{
    return b->class == GLOW_CONSTANTS || glow_is_fixed(b->node)
               ? 0
               : rounded(a->options->gap, p->align);
}

static glow_lifetime
lifetime_of(const allocator *a, const alloc_pool *p, const alloc_buffer *b)
{
    bool fixed = glow_is_fixed(b->node);

    return (glow_lifetime){
        .begin = b->begin,
        .end = b->end,
        .size =
            fixed ? b->size
                  : rounded(b->size, p->align) + glow_alloc_gap_behind(a, p, b),
        .offset = fixed ? b->node->place->offset : 0,
        .align = b->align > p->align ? b->align : p->align,
        .is_fixed = fixed,
    };
}

static void
add_life(const allocator *a, alloc_pool *p, glow_lifetime l)
{
    p->lives = glow_arena_grow(a->arena, p->lives, p->n_lives, &p->cap,
                               sizeof *p->lives);
    p->lives[p->n_lives++] = l;
}

/* Constants and state that other programs keep in the same memory. */

typedef struct keeper {
    allocator *a;
    alloc_pool *pool;
    glow_map *own;  /* by name: 1 + the number of our buffer of it */
    glow_map *seen; /* by name: what has a place */
} keeper;

/*
 * Gives our constant or state the place that another program gave it, if it can be
 * there; otherwise the place is blocked for our buffers.
 */
static void
keep_place(keeper *k, const glow_node *n)
{
    const char *name = n->out[0]->storage->name;
    uintptr_t own = (uintptr_t)glow_map_get(k->own, name);
    const glow_node *seen = glow_map_get(k->seen, name);
    glow_lifetime *l = own ? &k->pool->lives[own - 1] : NULL;
    int64_t gap =
        own ? glow_alloc_gap_behind(k->a, k->pool, k->pool->buffers[own - 1])
            : 0;

    if (seen && seen->place->offset == n->place->offset)
        return;
    glow_map_set(k->seen, name, (void *)(uintptr_t)n);
    if (l && !l->is_fixed && n->place->offset % l->align == 0 &&
        n->place->size >= l->size - gap) {
        l->is_fixed = true;
        l->offset = n->place->offset;
        return;
    }
    if (l && l->is_fixed && l->offset == n->place->offset)
        return;
    add_life(k->a, k->pool,
             (glow_lifetime){.end = INT64_MAX,
                             .size = n->place->size,
                             .offset = n->place->offset,
                             .is_fixed = true});
}

static bool
is_same_memory(const glow_region *x, const glow_region *y)
{
    return strcmp(x->name, y->name) == 0 && strcmp(x->space, y->space) == 0;
}

static void
keep_places(allocator *a, alloc_pool *p)
{
    keeper k = {a, p, glow_map_new(a->arena), glow_map_new(a->arena)};

    for (size_t i = 0; i < p->count; i++)
        if (glow_alloc_is_kept(p->buffers[i]->node))
            glow_map_set(k.own, p->buffers[i]->node->out[0]->storage->name,
                         (void *)(uintptr_t)(i + 1));
    GLOW_FOR_EACH_FUNC(g, a->f->module) {
        if (g == a->f || !g->is_program || !g->placed)
            continue;
        GLOW_FOR_EACH_NODE(n, g) {
            if (n->op != &glow_op_weight)
                break;
            if (glow_alloc_is_kept(n) && n->place->size > 0 &&
                is_same_memory(n->place->region, p->region))
                keep_place(&k, n);
        }
    }
}

void
glow_alloc_fill(allocator *a, alloc_pool *p)
{
    p->buffers = GLOW_NEW_ARRAY(a->arena, alloc_buffer *, a->count);
    p->count = 0;
    for (size_t i = 0; i < a->count; i++)
        if (is_in(a, &a->buffers[i], p))
            p->buffers[p->count++] = &a->buffers[i];
}

void
glow_alloc_make_lives(allocator *a, alloc_pool *p)
{
    p->lives = NULL;
    p->n_lives = p->cap = 0;
    for (size_t i = 0; i < p->count; i++)
        add_life(a, p, lifetime_of(a, p, p->buffers[i]));
    keep_places(a, p);
}
