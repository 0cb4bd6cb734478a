/*
 * Errors of placement: the figures, and the buffers live at the peak by size.
 */

#include "irgen/place/alloc.h"

#include <inttypes.h>
#include <stdlib.h>

#define MOST_NOTES 10

static int
by_size(const void *x, const void *y)
{
    const alloc_buffer *a = *(alloc_buffer *const *)x;
    const alloc_buffer *b = *(alloc_buffer *const *)y;

    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return (a > b) - (a < b);
}

/* The instruction that first wrote to the buffer, or NULL. */
static const glow_node *
writer_of(const allocator *a, const glow_node *buffer)
{
    const glow_node *first = NULL;

    GLOW_FOR_EACH_USE(u, buffer->out[0])
        if (u->writes && u->user->op != &glow_op_dealloc &&
            (!first || glow_number_of(&a->numbers, u->user) <
                           glow_number_of(&a->numbers, first)))
            first = u->user;
    return first;
}

static const char *
say_buffer(const allocator *a, const alloc_buffer *b)
{
    const glow_node *w = writer_of(a, b->node);

    return glow_arena_printf(a->arena, "%" PRId64 " bytes are %%%s%s%s%s",
                             b->size, b->node->name,
                             b->class == GLOW_SCRATCH ? ", scratch" : "",
                             w ? ", of %" : "", w ? w->name : "");
}

/* The buffers of the pool that are live at its peak, by descending size. */
static alloc_buffer **
find_alive(const allocator *a, const alloc_pool *p, size_t *count)
{
    alloc_buffer **alive = GLOW_NEW_ARRAY(a->arena, alloc_buffer *, p->count);
    int64_t now = p->placement.busiest;

    *count = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->buffers[i]->begin <= now && now < p->buffers[i]->end &&
            p->buffers[i]->size > 0)
            alive[(*count)++] = p->buffers[i];
    if (*count)
        glow_sort(alive, *count, sizeof *alive, by_size);
    return alive;
}

static const char *
say_rest(const allocator *a, alloc_buffer *const *rest, size_t count)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += rest[i]->size;
    return glow_arena_printf(a->arena, "%" PRId64 " bytes are %zu more", bytes,
                             count);
}

/* A note for each of the largest buffers, and one for the others. */
static const glow_diag *
list_alive(const allocator *a, const alloc_pool *p)
{
    size_t count, shown;
    alloc_buffer **alive = find_alive(a, p, &count);
    glow_diag *notes = GLOW_NEW_ARRAY(a->arena, glow_diag, MOST_NOTES + 1);

    shown = count <= MOST_NOTES ? count : MOST_NOTES - 1;
    for (size_t i = 0; i < shown; i++)
        notes[i] = (glow_diag){.severity = GLOW_NOTE,
                               .message = say_buffer(a, alive[i]),
                               .span = alive[i]->node->span};
    if (shown < count)
        notes[shown] =
            (glow_diag){.severity = GLOW_NOTE,
                        .message = say_rest(a, &alive[shown], count - shown)};
    count = shown + (shown < count);
    for (size_t i = 1; i < count; i++)
        notes[i - 1].next = &notes[i];
    return count ? notes : NULL;
}

bool
glow_alloc_too_large(const allocator *a, const alloc_pool *p)
{
    const glow_placement *at = &p->placement;
    bool never = at->bound > p->space.capacity;
    glow_diag d = {
        .severity = GLOW_ERROR,
        .id = "E0323",
        .message = glow_arena_printf(a->arena,
                                     "@%s: $%s takes %" PRId64
                                     " bytes, but its capacity is %" PRId64
                                     " (bound: %" PRId64 ")",
                                     a->f->name, p->region->name, at->height,
                                     p->space.capacity, at->bound),
        .span = a->f->span,
        .hint = never ? "no placement takes less than the bound: try schedule, "
                        "sink-alloc and hoist-dealloc before alloc"
                : at->proved ? "no placement takes less: try schedule, "
                               "sink-alloc and hoist-dealloc before alloc"
                             : "another strategy, or a larger budget, may take "
                               "less",
        .notes = list_alive(a, p),
    };

    glow_report(a->f->module->ctx, &d);
    return false;
}

/* The fixed buffer in conflict. */
static const char *
say_fixed(const allocator *a, const alloc_pool *p, size_t i)
{
    return i < p->count
               ? glow_arena_printf(a->arena, "%%%s", p->buffers[i]->node->name)
               : "a constant of another program";
}

bool
glow_alloc_faulty(const allocator *a, const alloc_pool *p)
{
    static const struct {
        const char *id, *text;
    } faults[] = {
        [GLOW_PLACE_NEGATIVE] = {"E0322", "lies below 0"},
        [GLOW_PLACE_OVERFLOWS] = {"E0330", "is one byte too many to count"},
        [GLOW_PLACE_ODD_ALIGN] = {"E0321", "has an alignment that does not "
                                           "divide the banks"},
        [GLOW_PLACE_MISALIGNED] = {"E0321", "is no multiple of its alignment"},
        [GLOW_PLACE_FORBIDDEN] = {"E0327", "lies in a forbidden range"},
        [GLOW_PLACE_CROSSES_BANK] = {"E0327", "lies in two banks"},
        [GLOW_PLACE_BEYOND] = {"E0323", "ends past the capacity"},
        [GLOW_PLACE_OVERLAPS] = {"E0324", "shares bytes with"},
    };
    glow_place_fault fault = p->placement.fault;
    size_t i = p->placement.buffer, k = p->placement.other;
    bool both = fault == GLOW_PLACE_OVERLAPS;
    const glow_lifetime *l = &p->lives[i];

    return glow_error_hint(
        a->f->module->ctx,
        i < p->count ? p->buffers[i]->node->span : a->f->span, faults[fault].id,
        l->is_fixed ? "its place is fixed: give it another" : NULL,
        "%s at $%s + %" PRId64 ", of %" PRId64 " bytes, %s%s%s",
        say_fixed(a, p, i), p->region->name, l->offset, l->size,
        faults[fault].text, both ? " " : "", both ? say_fixed(a, p, k) : "");
}
