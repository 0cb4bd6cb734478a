/*
 * alloc: static memory allocation of the buffers of a program.
 *
 *     %x = weight ... @x mutable      =>  %x = weight ... @x mutable at $io + 0
 *     %w = weight ... @w constant     =>  ... at $const + 0
 *     %s = weight ... @s mutable      =>  ... at $state + 0    {State: true}
 *     %r = alloc ...                  =>  %r = alloc ... at $act + 64
 *
 * Where the backend says that a kernel needs scratch, its instruction gets a
 * buffer for it first; see scratch.h.
 *
 * Buffers whose kernels need them in a memory space are bound to it, and copied
 * where kernels differ; see spaces.h.
 *
 * Then each region is one placement problem: buffers share bytes only if their
 * live ranges are disjoint (glow/lifetime.h defines them).  Constants and
 * placeholders are live throughout, unless placeholders may lie `among` the
 * activations: then the live range of one that is only read ends with its last
 * use, and that of one that is written first begins there.  Regions and the
 * buffers that they may hold: alloc_pools.c; live ranges: alloc_lives.c; buffers
 * that leave a full space: alloc_spill.c; offsets: place.c.
 *
 * Every offset is a multiple of the alignment of the region, of the elements, and
 * of the backend's requirement; a buffer owns the bytes up to the next multiple
 * of the first.  A `fixed` place is kept.
 *
 * Programs that are no bodies run one at a time, so regions of one name are one
 * memory for all of them, as large as the largest.  Constants and state stay there
 * between runs: what several programs use has one place, and no program overwrites
 * what another keeps.
 *
 * The peak of a region is at least the number of bytes live at one moment, the
 * bound; both are noted, and counted for -stats.
 */

#include "irgen/place/alloc.h"

#include <inttypes.h>
#include <string.h>

#include "glow/backend.h"
#include "glow/state.h"
#include "irgen/options.h"
#include "irgen/scratch.h"
#include "irgen/spaces.h"

#define WIDEST_GAP (INT64_C(1) << 40)

static const alloc_options defaults = {.capacity = INT64_MAX};

static const char *const placeholder_words[] = {"apart", "among", NULL};

/* The buffers to be placed. */

static bool
is_state(const glow_node *n)
{
    const glow_storage *s = n->out[0]->storage;

    return n->op == &glow_op_weight && (glow_is_state(s) || glow_is_trained(s));
}

bool
glow_alloc_is_kept(const glow_node *n)
{
    return n->op == &glow_op_weight &&
           (n->out[0]->storage->is_constant || is_state(n));
}

static glow_buffer_class
class_of(const glow_node *n)
{
    if (n->op == &glow_op_weight)
        return n->out[0]->storage->is_constant ? GLOW_CONSTANTS
                                               : GLOW_PLACEHOLDERS;
    GLOW_FOR_EACH_USE(u, n->out[0])
        if (u->user->scratch == n->out[0])
            return GLOW_SCRATCH;
    return GLOW_ACTIVATIONS;
}

static int64_t
align_of(const allocator *a, const glow_node *n)
{
    const glow_backend *b = glow_run_backend(a->run);
    int64_t bytes = glow_kind_get(n->out[0]->type->elem)->bytes;
    int64_t wanted = b && b->align ? b->align(n) : 1;

    return wanted > bytes ? wanted : bytes;
}

static bool
overflows(const allocator *a)
{
    return glow_error(a->f->module->ctx, "E0330",
                      "@%s: its buffers take more bytes than 64 bits can count",
                      a->f->name);
}

static bool
collect(allocator *a)
{
    const glow_life *lives;
    bool among = a->options->placeholders == ALLOC_AMONG;
    int64_t all = 0;

    a->numbers = glow_number_nodes(a->arena, a->f);
    lives = glow_has_queues(a->f)
                ? glow_queue_lives(a->arena, a->f, &a->numbers)
                : glow_program_lives(a->arena, a->f, &a->numbers);
    a->buffers = GLOW_NEW_ARRAY(a->arena, alloc_buffer, a->f->count);
    GLOW_FOR_EACH_NODE(n, a->f) {
        glow_life life = lives[glow_number_of(&a->numbers, n)];
        alloc_buffer *b = &a->buffers[a->count];

        if ((n->op != &glow_op_alloc && n->op != &glow_op_weight) ||
            glow_is_token(n))
            continue;
        if (n->op == &glow_op_weight && (!among || is_state(n)))
            life = (glow_life){0, INT64_MAX, life.uses};
        *b = (alloc_buffer){n,
                            class_of(n),
                            life.begin,
                            life.end,
                            life.uses,
                            glow_type_bytes(n->out[0]->type),
                            align_of(a, n),
                            0,
                            is_state(n) ? a->state : NULL};
        if (glow_is_fixed(n) && n->place->size > b->size)
            b->size = n->place->size;
        /* with padding for any alignment */
        if (glow_add_overflow(all, b->size, &all) ||
            glow_add_overflow(all, a->options->gap, &all) ||
            glow_add_overflow(all, (int64_t)1 << 31, &all))
            return overflows(a);
        a->count++;
    }
    return true;
}

/* Pools. */

/* Placement. */

/* True if all buffers of the pool are live throughout and none is fixed. */
static bool
is_unconstrained(const alloc_pool *p)
{
    for (size_t i = 0; i < p->n_lives; i++)
        if (p->lives[i].is_fixed || p->lives[i].begin != 0 ||
            p->lives[i].end != INT64_MAX || p->lives[i].align > p->align)
            return false;
    return p->space.bank == 0 && p->space.n_forbidden == 0;
}

/* Places the buffers one after another: no placement takes less. */
static void
line_up(alloc_pool *p)
{
    int64_t at = 0;

    for (size_t i = 0; i < p->n_lives; i++) {
        p->lives[i].offset = at;
        at += p->lives[i].size;
    }
    p->placement = (glow_placement){
        .height = at, .bound = at, .load = at, .proved = true, .by = "given"};
}

/* True if the least height was sought, and a lower one may be within the capacity. */
static bool
may_be_within(const allocator *a, const alloc_pool *p)
{
    return a->options->strategy < GLOW_PLACE_GREEDY &&
           p->placement.height > p->space.capacity &&
           p->placement.bound <= p->space.capacity;
}

/* Places the buffers of the pool as low as is found, or within its capacity: the search
   for one height gets all steps, the search for the least has few at each. */
static bool
place(const allocator *a, alloc_pool *p)
{
    glow_place_options how = {
        .strategy = (glow_place_strategy)a->options->strategy,
        .space = &p->space,
        .budget = a->options->budget,
    };

    if (is_unconstrained(p)) {
        line_up(p);
        return true;
    }
    for (;;) {
        if (!glow_place_buffers(a->arena, p->lives, p->n_lives, &how,
                                &p->placement))
            return glow_alloc_faulty(a, p);
        if (how.enough > 0 || !may_be_within(a, p))
            return true;
        how.enough = p->space.capacity;
    }
}

/* Places the buffers that fit and spills the others; false after a report. */
static bool
settle(allocator *a, alloc_pool *p, bool *moved)
{
    glow_alloc_fill(a, p);
    glow_alloc_make_lives(a, p);
    if (glow_alloc_spill_load(a, p)) {
        *moved = true;
        glow_alloc_make_lives(a, p);
    }
    while (place(a, p)) {
        if (p->placement.height <= p->space.capacity)
            return true;
        if (!glow_alloc_spill_top(a, p))
            return glow_alloc_too_large(a, p);
        *moved = true;
        glow_alloc_make_lives(a, p);
    }
    return false;
}

/* Repeats until no pool spills: buffers only move to later spaces, never back. */
static bool
settle_all(allocator *a)
{
    for (size_t i = 0; i < a->n_pools;) {
        bool moved = false;

        if (a->pools[i].is_stale && !settle(a, &a->pools[i], &moved))
            return false;
        a->pools[i].is_stale = false;
        for (size_t k = 0; moved && k < a->n_pools; k++)
            a->pools[k].is_stale = k != i;
        i = moved ? 0 : i + 1;
    }
    return true;
}

static void
set_places(allocator *a)
{
    for (size_t i = 0; i < a->n_pools; i++) {
        alloc_pool *p = &a->pools[i];

        for (size_t k = 0; k < p->count; k++) {
            const glow_lifetime *l = &p->lives[k];
            glow_node *n = p->buffers[k]->node;
            int64_t end = l->offset + l->size;
            int64_t size = l->size - glow_alloc_gap_behind(a, p, p->buffers[k]);
            glow_place at = {p->region, l->offset, size, glow_is_fixed(n)};

            if (l->size > 0 && end > p->region->size)
                p->region->size = end;
            glow_node_set_place(n, at);
        }
    }
    glow_alloc_set_regions(a);
    a->f->placed = true;
}

/* Reports. */

/* The bound in percent of the peak, rounded down. */
static int
efficiency(const glow_placement *p)
{
    return p->height ? (int)((double)p->bound * 100 / (double)p->height) : 100;
}

static bool
is_home(const allocator *a, glow_buffer_class class, size_t pool)
{
    for (size_t i = 0; i < a->homes[class].count; i++)
        if (a->homes[class].at[i] == pool)
            return true;
    return false;
}

static void
tell(const allocator *a)
{
    for (size_t i = 0; i < a->n_pools; i++) {
        const glow_placement *p = &a->pools[i].placement;

        if (!is_home(a, GLOW_ACTIVATIONS, i))
            continue;
        glow_run_count(a->run, "peak", p->height);
        glow_run_count(a->run, "bound", p->bound);
        glow_run_note(a->run,
                      "@%s: $%s: %zu buffers, peak %" PRId64
                      " bytes, bound %" PRId64 ", efficiency %d %%, by %s",
                      a->f->name, a->pools[i].region->name, a->pools[i].count,
                      p->height, p->bound, efficiency(p), p->by);
    }
}

/* The pass. */

static bool
check_options(glow_context *ctx, const alloc_options *o)
{
    if (o->capacity == 0)
        return glow_error_hint(ctx, (glow_span){0}, "E0332",
                               "leave it out where there is no limit",
                               "alloc: capacity is 0: nothing fits in there");
    if (o->gap > WIDEST_GAP)
        return glow_error(ctx, "E0332",
                          "alloc: gap is %" PRId64
                          ", but must be at most %" PRId64,
                          o->gap, WIDEST_GAP);
    return glow_check_memory_options(ctx, "alloc", o->align ? o->align : 1,
                                     o->budget);
}

static bool place_program(glow_pass_run *run, glow_func *f, bool is_asked);

/* Places bodies first: their memory is scratch of the instruction that calls them. */
static bool
place_bodies(glow_pass_run *run, glow_func *f)
{
    GLOW_FOR_EACH_NODE(n, f)
        for (int k = 0; k < glow_call_count(n); k++) {
            glow_func *g = glow_called(n, k);

            if (g && g->is_program && !g->placed &&
                !place_program(run, g, false))
                return false;
        }
    return true;
}

static bool
place_program(glow_pass_run *run, glow_func *f, bool is_asked)
{
    allocator a = {.run = run,
                   .options = glow_run_options(run),
                   .arena = glow_run_scratch(run),
                   .f = f};
    bool changed;

    if (!place_bodies(run, f) || !glow_give_scratch(run, f, &changed) ||
        !glow_give_spaces(run, f))
        return false;
    glow_alloc_make_pools(&a);
    if (!collect(&a) || !glow_alloc_bind(&a) || !settle_all(&a))
        return false;
    set_places(&a);
    if (is_asked)
        tell(&a);
    return true;
}

static glow_result
run(glow_pass_run *run, glow_func *f)
{
    if (!check_options(f->module->ctx, glow_run_options(run)) ||
        !place_program(run, f, true))
        return GLOW_FAILED;
    return GLOW_CHANGED;
}

const glow_pass glow_pass_alloc = {
    .name = "alloc",
    .summary = "place every buffer in memory",
    .level = GLOW_PROGRAM,
    .makes = GLOW_PLACED,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(alloc_options, align, GLOW_INT64,
                                   "bytes that offsets and sizes are multiples "
                                   "of; 0: what the space asks for, or 64"),
                GLOW_FIELD_DEFAULT(alloc_options, capacity, GLOW_BYTES,
                                   "the most bytes for $act, or for the first "
                                   "space of activations"),
                GLOW_FIELD_DEFAULT(alloc_options, budget, GLOW_INT64,
                                   "steps that a search for less may take; 0: "
                                   "what the strategy does"),
                GLOW_FIELD_ENUM(
                    alloc_options, strategy, glow_place_strategies,
                    "which buffer is placed first; greedy: the best "
                    "of all; exact: the least that there is, by "
                    "search; auto: so much of it as is cheap"),
                GLOW_FIELD_ENUM(alloc_options, placeholders, placeholder_words,
                                "apart: they keep their bytes; among: others "
                                "have them before the first write and behind "
                                "the last read"),
                GLOW_FIELD_DEFAULT(alloc_options, gap, GLOW_BYTES,
                                   "bytes behind each buffer that changes, for "
                                   "nobody: what is written there is seen by "
                                   "glow-run -red-zones")},
    .defaults = &defaults,
    .run = run,
    .source = "irgen/place/place.c",
};
