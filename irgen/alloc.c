/*
 * alloc: give every buffer of a program a place in memory.
 *
 *     %x = weight ... @x mutable      =>  %x = weight ... @x mutable at $io + 0
 *     %w = weight ... @w constant     =>  ... at $const + 0
 *     %r = alloc ...                  =>  %r = alloc ... at $act + 64
 *
 * Constants lie one after the other in $const, placeholders in $io.  Those in
 * $act share memory: two buffers overlap only if one is freed before the other
 * is allocated; irgen/place.c says how the offsets are found.  Every offset and
 * size is a multiple of `align`; a buffer has `size` bytes for itself, which is
 * more than its type takes where that is no multiple.
 *
 * The peak of $act is never below the bytes that are alive at one moment, the
 * bound; both are noted, and counted for -stats.  hoist-dealloc and sink-alloc
 * before this pass lower the bound, schedule more so.
 *
 * With `capacity`, or where the program had a $act with a capacity, a peak
 * beyond it is an error.  Regions that the program had keep their space.
 */

#include <inttypes.h>
#include <string.h>

#include "glow/pass.h"
#include "glow/place.h"
#include "irgen/scratch.h"

typedef struct alloc_options {
    int64_t align;
    int64_t capacity;
    int strategy;
} alloc_options;

static const alloc_options defaults = {.align = 64};

enum { CONSTANTS, PLACEHOLDERS, ACTIVATIONS, REGIONS };

static const char *const region_names[REGIONS] = {"const", "io", "act"};

typedef struct allocator {
    glow_pass_run *run;
    const alloc_options *options;
    glow_func *f;
    glow_region *regions[REGIONS];
    glow_node **nodes; /* what gets a place */
    glow_lifetime *lives;
    size_t count;
} allocator;

/* The region of a node that takes memory. */
static int
region_of(const glow_node *n)
{
    if (n->op == &glow_op_alloc)
        return ACTIVATIONS;
    return n->out[0]->storage->is_constant ? CONSTANTS : PLACEHOLDERS;
}

static bool
takes_memory(const glow_node *n)
{
    return n->op == &glow_op_alloc || n->op == &glow_op_weight;
}

/* The three regions, in the place of those that the function had. */
static void
make_regions(allocator *a)
{
    glow_module *m = a->f->module;
    glow_region *had = a->f->regions, **link = &a->f->regions;

    for (int i = 0; i < REGIONS; i++) {
        glow_region *r = GLOW_NEW(m->arena, glow_region);

        *r = (glow_region){.name = region_names[i], .space = "dram"};
        for (const glow_region *h = had; h; h = h->next)
            if (strcmp(h->name, r->name) == 0)
                *r = *h;
        r->align = a->options->align;
        r->size = 0;
        r->next = NULL;
        a->regions[i] = r;
    }
    if (a->options->capacity)
        a->regions[ACTIVATIONS]->capacity = a->options->capacity;
    for (int i = 0; i < REGIONS; i++) {
        *link = a->regions[i];
        link = &a->regions[i]->next;
    }
}

/* Bytes of a buffer, up to the next multiple of the alignment. */
static int64_t
padded(const allocator *a, const glow_node *n)
{
    int64_t bytes = glow_type_bytes(n->out[0]->type);
    int64_t align = a->options->align;

    return (bytes + align - 1) / align * align;
}

/*
 * Finds the time that each buffer lives: from its alloc to its dealloc, counted
 * in instructions.
 */
static void
find_lives(allocator *a)
{
    glow_arena *scratch = glow_run_scratch(a->run);
    uint32_t time = 0;

    a->nodes = GLOW_NEW_ARRAY(scratch, glow_node *, a->f->count);
    a->lives = GLOW_NEW_ARRAY(scratch, glow_lifetime, a->f->count);
    GLOW_FOR_EACH_NODE(n, a->f) {
        time++;
        if (n->op == &glow_op_dealloc)
            a->lives[n->out[0]->def->mark].end = time;
        if (!takes_memory(n))
            continue;
        n->mark = (uint32_t)a->count;
        a->nodes[a->count] = n;
        a->lives[a->count++] = (glow_lifetime){
            .begin = time, .end = INT64_MAX, .size = padded(a, n)};
    }
}

static bool
overflows(const allocator *a, int region)
{
    return glow_error(a->f->module->ctx, "E0330",
                      "@%s: the buffers of $%s take more bytes than 64 bits "
                      "can count",
                      a->f->name, region_names[region]);
}

/* One after the other: what lives for ever. */
static bool
line_up(allocator *a, int region)
{
    glow_region *r = a->regions[region];

    for (size_t i = 0; i < a->count; i++) {
        glow_place at = {r, r->size, a->lives[i].size};

        if (region_of(a->nodes[i]) != region)
            continue;
        if (glow_add_overflow(r->size, at.size, &r->size))
            return overflows(a, region);
        glow_node_set_place(a->nodes[i], at);
    }
    return true;
}

/* Is the peak within the capacity? */
static bool
fits(const allocator *a, const glow_placement *p)
{
    const glow_region *r = a->regions[ACTIVATIONS];

    if (r->capacity == 0 || p->height <= r->capacity)
        return true;
    return glow_error_hint(
        a->f->module->ctx, a->f->span, "E0323",
        p->bound > r->capacity
            ? "no placement takes less than the bound: try schedule, "
              "sink-alloc and hoist-dealloc before alloc"
            : "another strategy may take less",
        "@%s: $%s takes %" PRId64 " bytes, but its capacity is %" PRId64
        " (bound: %" PRId64 ")",
        a->f->name, r->name, p->height, r->capacity, p->bound);
}

/* The bound in percent of the peak, rounded down. */
static int
efficiency(const glow_placement *p)
{
    return p->height ? (int)((double)p->bound * 100 / (double)p->height) : 100;
}

/* What comes and goes. */
static bool
share(allocator *a)
{
    glow_arena *scratch = glow_run_scratch(a->run);
    glow_lifetime *lives = GLOW_NEW_ARRAY(scratch, glow_lifetime, a->count);
    glow_region *r = a->regions[ACTIVATIONS];
    glow_place_options how = {.strategy =
                                  (glow_place_strategy)a->options->strategy};
    glow_placement p;
    size_t count = 0;

    for (size_t i = 0; i < a->count; i++)
        if (region_of(a->nodes[i]) == ACTIVATIONS)
            lives[count++] = a->lives[i];
    if (!glow_place_buffers(scratch, lives, count, &how, &p))
        return overflows(a, ACTIVATIONS);
    r->size = p.height;
    for (size_t i = 0, k = 0; i < a->count; i++)
        if (region_of(a->nodes[i]) == ACTIVATIONS) {
            glow_place at = {r, lives[k].offset, lives[k].size};

            glow_node_set_place(a->nodes[i], at);
            k++;
        }
    glow_run_count(a->run, "peak", p.height);
    glow_run_count(a->run, "bound", p.bound);
    glow_run_note(a->run,
                  "@%s: %zu buffers, peak %" PRId64 " bytes, bound %" PRId64
                  ", efficiency %d %%, by %s",
                  a->f->name, count, p.height, p.bound, efficiency(&p), p.by);
    return fits(a, &p);
}

static bool
check_align(const allocator *a)
{
    int64_t align = a->options->align;

    if (align > 0 && align <= 1 << 30 && (align & (align - 1)) == 0)
        return true;
    return glow_error(a->f->module->ctx, "E0332",
                      "alloc: align is %" PRId64
                      ", but must be a power of two, at most 2^30",
                      align);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    allocator a = {.run = pass, .options = glow_run_options(pass), .f = f};
    bool changed;

    if (!check_align(&a))
        return GLOW_FAILED;
    if (a.options->capacity < 0) {
        glow_error(f->module->ctx, "E0332",
                   "alloc: capacity is %" PRId64 ", but must not be negative",
                   a.options->capacity);
        return GLOW_FAILED;
    }
    if (!glow_give_scratch(pass, f, &changed))
        return GLOW_FAILED;
    find_lives(&a);
    make_regions(&a);
    if (!line_up(&a, CONSTANTS) || !line_up(&a, PLACEHOLDERS) || !share(&a))
        return GLOW_FAILED;
    f->placed = true;
    return GLOW_CHANGED;
}

const glow_pass glow_pass_alloc = {
    .name = "alloc",
    .summary = "place every buffer in memory",
    .level = GLOW_PROGRAM,
    .makes = GLOW_PLACED,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(alloc_options, align, GLOW_INT64,
                                   "bytes that offsets and sizes are "
                                   "multiples of"),
                GLOW_FIELD_DEFAULT(alloc_options, capacity, GLOW_INT64,
                                   "the most bytes for $act; 0: no limit"),
                GLOW_FIELD_ENUM(
                    alloc_options, strategy, glow_place_strategies,
                    "which buffer is placed first; greedy: the best "
                    "of all; exact: the least that there is, by "
                    "search; auto: so much of it as is cheap")},
    .defaults = &defaults,
    .run = run,
    .source = "irgen/place.c",
};
