/*
 * Sorts reports by position.  Errors are found by stages: syntax, then names,
 * then types; a reader goes through the text from its beginning.
 */

#include "ir/text/order.h"

#include "ir/base/context.h"

struct text_order {
    glow_context *ctx;
    glow_arena *arena;
    glow_sink_fn sink; /* sink of ctx before */
    void *user;
    const glow_diag **held;
    size_t count, cap;
};

static const char *
copy_text(glow_arena *a, const char *text)
{
    return text ? glow_arena_strdup(a, text) : NULL;
}

static glow_diag *
copy_diag(glow_arena *a, const glow_diag *d)
{
    glow_diag *copy = glow_arena_copy(a, d, sizeof *d);
    const glow_diag **link = &copy->notes;

    copy->message = copy_text(a, d->message);
    copy->label = copy_text(a, d->label);
    copy->hint = copy_text(a, d->hint);
    copy->origin = copy_text(a, d->origin);
    copy->next = NULL;
    for (const glow_diag *n = d->notes; n; n = n->next) {
        glow_diag *note = copy_diag(a, n);

        *link = note;
        link = &note->next;
    }
    return copy;
}

static void
hold(const glow_diag *d, void *user)
{
    text_order *o = user;
    glow_diag *copy = copy_diag(o->arena, d);

    copy->id = copy_text(o->arena, d->id);
    o->held =
        glow_arena_grow(o->arena, o->held, o->count, &o->cap, sizeof *o->held);
    o->held[o->count++] = copy;
}

text_order *
glow_text_order_begin(glow_context *ctx, glow_arena *a)
{
    text_order *o = GLOW_NEW(a, text_order);

    o->ctx = ctx;
    o->arena = a;
    o->sink = ctx->sink;
    o->user = ctx->sink_user;
    glow_context_set_sink(ctx, hold, o);
    return o;
}

static uint32_t
position(const glow_diag *d)
{
    return d->span.source ? d->span.begin : UINT32_MAX;
}

/* A merge sort, since reports at one place keep their order. */
static void
sort(const glow_diag **at, size_t count, const glow_diag **room)
{
    size_t half = count / 2, i = 0, j = half, n = 0;

    if (count < 2)
        return;
    sort(at, half, room);
    sort(at + half, count - half, room);
    while (i < half || j < count) {
        bool left =
            j == count || (i < half && position(at[i]) <= position(at[j]));

        room[n++] = left ? at[i++] : at[j++];
    }
    for (i = 0; i < count; i++)
        at[i] = room[i];
}

void
glow_text_order_end(text_order *o)
{
    const glow_diag **room =
        GLOW_NEW_ARRAY(o->arena, const glow_diag *, o->count + 1);

    glow_context_set_sink(o->ctx, o->sink, o->user);
    sort(o->held, o->count, room);
    for (size_t i = 0; i < o->count && o->sink; i++)
        o->sink(o->held[i], o->user);
}
