/* Interned strings and named registries. */

#include "ir/base/context.h"

const char *
glow_intern(glow_context *ctx, const char *text)
{
    char *known = glow_map_get(ctx->strings, text);

    if (!known) {
        known = glow_arena_strdup(ctx->arena, text);
        glow_map_set(ctx->strings, known, known);
    }
    return known;
}

glow_arena *
glow_context_arena(glow_context *ctx)
{
    return ctx->arena;
}

bool
glow_registry_add(glow_context *ctx, glow_registry *r, const char *name,
                  const void *item)
{
    if (!r->by_name)
        r->by_name = glow_map_new(ctx->arena);
    if (glow_map_get(r->by_name, name))
        return false;
    /*
     * A map holds non-const pointers; its readers cast the item back to const.
     */
    glow_map_set(r->by_name, name, (void *)(uintptr_t)item);
    r->items = glow_arena_grow(ctx->arena, r->items, r->count, &r->cap,
                               sizeof *r->items);
    r->items[r->count++] = item;
    return true;
}

const void *
glow_registry_find(const glow_registry *r, const char *name)
{
    return r->by_name ? glow_map_get(r->by_name, name) : NULL;
}
