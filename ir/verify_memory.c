/*
 * The memory of all programs of a module: regions of one name and space are the
 * same bytes in all programs, and constants in them are never overwritten.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ir/verify.h"

/* Orders weights by region, offset and storage. */
static int
by_memory(const void *x, const void *y)
{
    const glow_node *a = *(glow_node *const *)x, *b = *(glow_node *const *)y;
    int c = strcmp(a->place->region->name, b->place->region->name);

    c = c ? c : strcmp(a->place->region->space, b->place->region->space);
    if (c)
        return c;
    if (a->place->offset != b->place->offset)
        return a->place->offset < b->place->offset ? -1 : 1;
    c = strcmp(a->out[0]->storage->name, b->out[0]->storage->name);
    return c ? c : strcmp(a->func->name, b->func->name);
}

static bool
is_kept(const glow_node *n)
{
    return n->op == &glow_op_weight && n->out[0]->storage->is_constant &&
           n->place && n->place->size > 0;
}

static bool
is_same_memory(const glow_node *a, const glow_node *b)
{
    return strcmp(a->place->region->name, b->place->region->name) == 0 &&
           strcmp(a->place->region->space, b->place->region->space) == 0;
}

static bool
is_same(const glow_node *a, const glow_node *b)
{
    return a->out[0]->storage == b->out[0]->storage &&
           a->place->offset == b->place->offset;
}

/*
 * Checks that `n` does not overlap `last`, the buffer before it with the
 * greatest end.
 */
static bool
check_apart(const glow_node *last, const glow_node *n)
{
    if (!is_same_memory(last, n) || last->func == n->func || is_same(last, n) ||
        last->place->offset + last->place->size <= n->place->offset)
        return true;
    return glow_node_error(n, "E0328", NULL,
                           "@%s lies at $%s + %" PRId64
                           ", where @%s keeps @%s (%" PRId64 " to %" PRId64 ")",
                           n->out[0]->storage->name, n->place->region->name,
                           n->place->offset, last->func->name,
                           last->out[0]->storage->name, last->place->offset,
                           last->place->offset + last->place->size - 1);
}

static bool
check_all(glow_node **kept, size_t count)
{
    const glow_node *last = NULL;
    bool ok = true;

    glow_sort(kept, count, sizeof *kept, by_memory);
    for (size_t i = 0; i < count; i++) {
        const glow_node *n = kept[i];

        ok = (!last || check_apart(last, n)) && ok;
        if (!last || !is_same_memory(last, n) ||
            n->place->offset + n->place->size >
                last->place->offset + last->place->size)
            last = n;
    }
    return ok;
}

bool
glow_verify_memory(glow_module *m)
{
    glow_arena *a = glow_arena_new();
    glow_node **kept = NULL;
    size_t count = 0, cap = 0;
    bool ok = true;

    GLOW_FOR_EACH_FUNC(f, m)
        for (glow_node *n = f->is_program && f->placed ? f->first : NULL;
             n && n->op == &glow_op_weight; n = n->next)
            if (is_kept(n)) {
                kept = glow_arena_grow(a, kept, count, &cap, sizeof *kept);
                kept[count++] = n;
            }
    if (count)
        ok = check_all(kept, count);
    glow_arena_free(a);
    return ok;
}
