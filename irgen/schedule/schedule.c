/*
 * schedule: order the nodes of a graph so that the peak of live bytes is low.
 *
 *     function @f { ... }   =>   function @f scheduled { ... }
 *
 * Afterwards every operand stands before its user, and every reader of a
 * placeholder before the Save that overwrites it (unless Saves wait for each
 * other in a cycle: then irgen makes a copy).
 *
 * glow/schedule.h defines the bytes that are counted; candidates.c finds the
 * order.
 *
 * With `limit`, or -limit for the whole run, an order with a higher peak is an
 * error, which lists the buffers that are live at the peak.  The passes split-rows
 * and rematerialize, run before this one, change the graph so that it takes less.
 */

#include <inttypes.h>

#include "glow/schedule.h"
#include "irgen/options.h"

typedef struct schedule_options {
    int strategy;
    int64_t budget;
    int sharing;
    int64_t align;
    int64_t limit;
} schedule_options;

static const schedule_options defaults = {.budget = GLOW_ORDER_BUDGET,
                                          .align = 64};

static const char *const sharings[] = {"all", "views", NULL};

/* Gives the function the order; false if it has it already. */
static bool
apply(glow_func *f, const glow_schedule *s)
{
    bool changed = !f->scheduled;
    const glow_node *n = f->first;

    for (uint32_t k = 0; k < s->count; k++, n = n->next)
        changed |= s->nodes[k] != n;
    for (uint32_t k = 0; changed && k < s->count; k++)
        if (s->nodes[k] != f->last)
            glow_node_move_after(s->nodes[k], f->last);
    f->scheduled = true;
    return changed;
}

static void
report(glow_pass_run *run, const glow_func *f, const glow_schedule *s)
{
    bool proved = s->peak <= s->bound;

    glow_run_count(run, "peak", s->peak);
    glow_run_count(run, "bound", s->bound);
    glow_run_count(run, "proved", proved);
    glow_run_note(run,
                  "@%s: peak %" PRId64 " bytes, %" PRId64
                  " as given, bound %" PRId64 ", %s, by %s in %" PRId64
                  " steps",
                  f->name, s->peak, s->given, s->bound,
                  proved ? "proved" : "not proved", s->by, s->steps);
}

/* Number of live buffers that an error lists. */
enum { MOST_LISTED = 10 };

static glow_diag
note_live(glow_arena *a, const glow_schedule *s, uint32_t i)
{
    const glow_value *v = s->live[i].value;
    const glow_node *n = v->def;
    bool several = n->n_out > 1; /* of which only some may be alive */
    const char *text =
        i < MOST_LISTED
            ? glow_arena_printf(a, "%" PRId64 " bytes: %%%s%s%s : %s",
                                s->live[i].bytes, n->name, several ? "#" : "",
                                several ? n->op->out[v->index].name : "",
                                glow_type_text(a, v->type))
            : glow_arena_printf(a, "and %" PRIu32 " more", s->n_live - i);

    return (glow_diag){.severity = GLOW_NOTE,
                       .message = text,
                       .span = i < MOST_LISTED ? n->span : (glow_span){0}};
}

/* Reports a peak beyond the limit, with the buffers that are live there. */
static bool
exceeds(glow_pass_run *run, const glow_func *f, const glow_schedule *s,
        int64_t limit)
{
    glow_arena *a = glow_run_scratch(run);
    uint32_t n = s->n_live > MOST_LISTED ? MOST_LISTED + 1 : s->n_live;
    glow_diag *notes = GLOW_NEW_ARRAY(a, glow_diag, (size_t)n + 1);
    const glow_node *at = s->nodes[s->at];
    glow_diag d = {
        .severity = GLOW_ERROR,
        .id = "E0333",
        .span = at->span,
        .notes = notes,
        .message = glow_arena_printf(
            a,
            "@%s: the limit is %" PRId64 " bytes, but %%%s runs with %" PRId64
            " in memory, and no order of these nodes takes less than %" PRId64,
            f->name, limit, at->name, s->peak, s->bound),
        .hint = s->bound > limit
                    ? "split-rows and rematerialize before schedule change the "
                      "nodes so that they take less"
                    : "a larger budget may find an order that takes less",
    };

    for (uint32_t i = 0; i < n; i++) {
        notes[i] = note_live(a, s, i);
        notes[i].next = &notes[i + 1];
    }
    notes[n] = (glow_diag){
        .severity = GLOW_NOTE,
        .message = glow_arena_printf(a, "%" PRId64 " bytes: scratch of %%%s",
                                     s->scratch, at->name)};
    if (s->scratch == 0 && n > 0)
        notes[n - 1].next = NULL;
    glow_report(f->module->ctx, &d);
    return false;
}

/*
 * Sets *s to the order that a pass before this one gave the function, if that
 * keeps to the limit once it is placed: another order of the same peak may lose
 * more bytes between its buffers.
 */
static bool
keeps_to(glow_pass_run *run, glow_func *f, const glow_schedule_options *how,
         int64_t limit, glow_schedule *s)
{
    glow_schedule_options given = *how;

    given.strategy = GLOW_ORDER_GIVEN;
    return limit > 0 && f->scheduled && glow_schedule_find(run, f, &given, s) &&
           s->peak <= limit && glow_schedule_height(run, s, limit) <= limit;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const schedule_options *o = glow_run_options(pass);
    glow_schedule_options how = {(glow_order_strategy)o->strategy, o->budget,
                                 (glow_sharing)o->sharing, o->align};
    int64_t limit = o->limit ? o->limit : glow_run_limit(pass);
    glow_schedule s;

    if (!glow_check_memory_options(f->module->ctx, "schedule", o->align,
                                   o->budget) ||
        (!keeps_to(pass, f, &how, limit, &s) &&
         !glow_schedule_find(pass, f, &how, &s)))
        return GLOW_FAILED;
    report(pass, f, &s);
    if (limit > 0 && s.peak > limit && !exceeds(pass, f, &s, limit))
        return GLOW_FAILED;
    return apply(f, &s) ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_schedule = {
    .name = "schedule",
    .summary = "order the nodes so that little memory is needed at once",
    .level = GLOW_GRAPH,
    .makes = GLOW_SCHEDULED,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_ENUM(
                    schedule_options, strategy, glow_order_strategies,
                    "how the order is found: auto takes exact where "
                    "that ends within the budget, else the best "
                    "of all"),
                GLOW_FIELD_DEFAULT(schedule_options, budget, GLOW_INT64,
                                   "steps for searching"),
                GLOW_FIELD_ENUM(schedule_options, sharing, sharings,
                                "buffer sharing of the program: all that "
                                "optimize-program makes, or views alone"),
                GLOW_FIELD_DEFAULT(schedule_options, align, GLOW_INT64,
                                   "bytes that the sizes of buffers are "
                                   "multiples of"),
                GLOW_FIELD_DEFAULT(schedule_options, limit, GLOW_BYTES,
                                   "an error if more are needed; 0: -limit")},
    .defaults = &defaults,
    .run = run,
    .source = "irgen/schedule/candidates.c, irgen/schedule/order.c",
};
