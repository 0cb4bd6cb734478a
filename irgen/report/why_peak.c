/*
 * Explanation of the peak of a function, as text.
 *
 * For each space that buffers share: the step at which most bytes are live, the
 * buffers live then by size, their definitions and next uses, and obstacles to a
 * lower peak.  A buffer is live during a step for one of these reasons:
 *
 *     written   the step defines it: it might reuse an operand that dies
 *     read      the step uses it, in any order
 *     waits     a later step uses it: another order or rematerialization might
 *               avoid that
 *     early     no step has written it yet: its alloc could sink
 *     late      no step uses it any more: its dealloc could rise
 */

#include <inttypes.h>
#include <stdlib.h>

#include "glow/memory_map.h"
#include "irgen/report/timeline.h"

#define MOST_ROWS 24 /* rows of the table; further buffers share one */

typedef struct answer {
    glow_buf *out;
    const glow_timeline *t;
    const glow_timeline_space *s;
    uint32_t step;
    const glow_timeline_buffer **alive; /* at the step, by descending size */
    uint32_t n_alive;
} answer;

typedef enum reason { WRITTEN, READ, WAITS, EARLY, LATE } reason;

static reason
reason_of(const glow_timeline_buffer *b, uint32_t step)
{
    bool used = false;

    for (uint32_t i = 0; i < b->n_uses; i++)
        used |= b->uses[i].step == step;
    if (used)
        return glow_timeline_maker(b) == step ? WRITTEN : READ;
    if (glow_timeline_maker(b) > step)
        return EARLY;
    return glow_timeline_next(b, step) == GLOW_NO_STEP ? LATE : WAITS;
}

/* Text. */

static const char *
grouped(const answer *a, int64_t n)
{
    glow_buf b = {.arena = a->t->arena};

    glow_buf_grouped(&b, n);
    return b.text;
}

/* "step 16, Add (add_3)" */
static void
put_step(const answer *a, uint32_t step)
{
    const glow_node *n = a->t->steps[step];

    glow_buf_printf(a->out, "step %" PRIu32 ", %s (%s)", step, n->op->name,
                    glow_source_name(n));
}

static int
percent(const answer *a, int64_t bytes)
{
    return (int)((double)bytes * 100 / (double)a->s->live[a->step] + 0.5);
}

/* Live buffers. */

static int
by_size(const void *x, const void *y)
{
    const glow_timeline_buffer *a = *(const glow_timeline_buffer *const *)x;
    const glow_timeline_buffer *b = *(const glow_timeline_buffer *const *)y;

    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->node->id < b->node->id ? -1 : 1;
}

static void
find_alive(answer *a)
{
    a->alive = GLOW_NEW_ARRAY(a->t->arena, const glow_timeline_buffer *,
                              a->s->n_buffers);
    for (uint32_t i = 0; i < a->s->n_buffers; i++)
        if (glow_timeline_alive(&a->s->buffers[i], a->step))
            a->alive[a->n_alive++] = &a->s->buffers[i];
    glow_sort(a->alive, a->n_alive, sizeof *a->alive, by_size);
}

/* "made by step 3, MaxPool (pool1), needed by step 9, Add (add_2), to ..." */
static void
put_story(const answer *a, const glow_timeline_buffer *b)
{
    uint32_t maker = glow_timeline_writer(b, a->step);
    uint32_t next = glow_timeline_next(b, a->step);
    uint32_t last = glow_timeline_last(b);

    if (maker == GLOW_NO_STEP) {
        glow_buf_puts(a->out, "not written yet");
    } else if (maker == a->step) {
        glow_buf_puts(a->out, "written by this step");
    } else {
        glow_buf_puts(a->out, "made by ");
        put_step(a, maker);
    }
    if (next == GLOW_NO_STEP) {
        glow_buf_puts(a->out, last == a->step
                                  ? "; this step is the last to use it"
                                  : "; nobody needs it any more");
        return;
    }
    glow_buf_puts(a->out, "; needed by ");
    put_step(a, next);
    if (last != next) {
        glow_buf_puts(a->out, ", and last by ");
        put_step(a, last);
    }
}

static void
put_alive(const answer *a)
{
    int64_t others = 0;

    glow_buf_printf(a->out, "\n  %14s %6s  %s\n", "bytes", "share", "buffer");
    for (uint32_t i = 0; i < a->n_alive; i++) {
        const glow_timeline_buffer *b = a->alive[i];

        if (i >= MOST_ROWS && a->n_alive > MOST_ROWS + 1) {
            others += b->size;
            continue;
        }
        glow_buf_printf(a->out, "  %14s %4d %%  %%%s : ", grouped(a, b->size),
                        percent(a, b->size), b->name);
        glow_buf_type(a->out, b->type);
        glow_buf_printf(a->out, "\n  %14s %6s    ", "", "");
        put_story(a, b);
        glow_buf_putc(a->out, '\n');
    }
    if (others > 0)
        glow_buf_printf(a->out, "  %14s %4d %%  %" PRIu32 " smaller ones\n",
                        grouped(a, others), percent(a, others),
                        a->n_alive - MOST_ROWS);
}

/* Obstacles to a lower peak. */

static const glow_timeline_buffer *
buffer_of(const answer *a, const glow_value *v)
{
    const glow_node *base = glow_base_buffer((glow_value *)v)->def;

    for (uint32_t i = 0; i < a->n_alive; i++)
        if (a->alive[i]->node == base)
            return a->alive[i];
    return NULL;
}

/* The reason why a result of the step does not reuse the buffer of operand `v`. */
static void
put_operand_reason(const answer *a, const glow_value *v)
{
    const glow_timeline_buffer *over = buffer_of(a, v);
    uint32_t next = over ? glow_timeline_next(over, a->step) : GLOW_NO_STEP;

    glow_buf_printf(a->out, "not over %%%s, which ",
                    glow_base_buffer((glow_value *)v)->def->name);
    if (!over) {
        glow_buf_puts(a->out, "stays");
    } else if (next != GLOW_NO_STEP) {
        glow_buf_puts(a->out, "is needed by ");
        put_step(a, next);
    } else {
        glow_buf_puts(a->out, "nobody needs any more: try share-buffers");
    }
}

/* The reason why the result of the step reuses no operand. */
static void
put_place_reason(const answer *a, const glow_timeline_buffer *b)
{
    const glow_node *n = a->t->steps[a->step];
    glow_inplace_at at = {0};
    bool any = false;

    if (n->scratch && glow_base_buffer(n->scratch)->def == b->node) {
        glow_buf_printf(a->out, "the kernel of %s works in it", n->op->name);
        return;
    }
    while (glow_next_inplace(n, &at))
        if (n->in[at.in] && at.out < n->n_out &&
            glow_base_buffer(n->out[at.out])->def == b->node) {
            glow_buf_puts(a->out, any ? "; " : "");
            put_operand_reason(a, n->in[at.in]);
            any = true;
        }
    if (!any)
        glow_buf_printf(a->out, "%s may write over no operand", n->op->name);
}

static void
put_reason(const answer *a, const glow_timeline_buffer *b)
{
    switch (reason_of(b, a->step)) {
    case WRITTEN:
        put_place_reason(a, b);
        break;
    case READ:
        glow_buf_puts(a->out, "this step reads it");
        break;
    case WAITS:
        glow_buf_puts(a->out, "it waits for ");
        put_step(a, glow_timeline_next(b, a->step));
        glow_buf_puts(a->out, ": another order, or computing it again, might "
                              "do without");
        break;
    case EARLY:
        glow_buf_puts(a->out, "it is there too early: try sink-alloc");
        break;
    case LATE:
        glow_buf_puts(a->out, "it is there too long: try hoist-dealloc");
        break;
    }
}

/* The most bytes of the space that a single step reads and writes. */
static int64_t
most_by_itself(const answer *a, uint32_t *step)
{
    int64_t *sums = GLOW_NEW_ARRAY(a->t->arena, int64_t, a->t->n_steps);
    int64_t most = 0;

    for (uint32_t i = 0; i < a->s->n_buffers; i++) {
        const glow_timeline_buffer *b = &a->s->buffers[i];

        for (uint32_t k = 0; k < b->n_uses; k++)
            if (glow_add_overflow(sums[b->uses[k].step], b->size,
                                  &sums[b->uses[k].step]))
                sums[b->uses[k].step] = INT64_MAX;
    }
    for (uint32_t i = 0; i < a->t->n_steps; i++)
        if (sums[i] > most) {
            most = sums[i];
            *step = i;
        }
    return most;
}

static void
put_reasons(const answer *a)
{
    uint32_t step = 0;
    int64_t alone = most_by_itself(a, &step);

    glow_buf_puts(a->out, "\nwhy not less\n");
    for (uint32_t i = 0; i < a->n_alive && i < MOST_ROWS; i++) {
        glow_buf_printf(a->out, "  %%%s: ", a->alive[i]->name);
        put_reason(a, a->alive[i]);
        glow_buf_putc(a->out, '\n');
    }
    glow_buf_puts(a->out, "  ");
    put_step(a, step);
    glow_buf_printf(a->out, ", takes %s bytes by itself: ", grouped(a, alone));
    glow_buf_puts(a->out, alone < a->s->live[a->step]
                              ? "no order of these steps takes less\n"
                              : "no order of these steps takes less than "
                                "this one\n");
}

/* The report. */

static void
put_head(const answer *a)
{
    const glow_timeline_space *s = a->s;
    int64_t live = s->live[a->step];

    glow_buf_printf(a->out, "@%s: most of $%s is alive at ", a->t->f->name,
                    s->name);
    put_step(a, a->step);
    glow_buf_printf(a->out,
                    ", %%%s, of %" PRIu32 "\n  %s bytes (%s) in %" PRIu32
                    " buffer%s",
                    a->t->steps[a->step]->name, a->t->n_steps, grouped(a, live),
                    glow_bytes_text(a->t->arena, live), a->n_alive,
                    a->n_alive == 1 ? "" : "s");
    if (s->region && s->peak > live)
        glow_buf_printf(
            a->out, "; $%s takes %s, of which %s are lost between them",
            s->name, grouped(a, s->peak), grouped(a, s->peak - live));
    else if (s->region)
        glow_buf_printf(a->out, ", and $%s takes no more", s->name);
    glow_buf_putc(a->out, '\n');
}

static void
explain(glow_buf *out, const glow_timeline *t, const glow_timeline_space *s)
{
    answer a = {.out = out, .t = t, .s = s, .step = s->busiest};

    if (t->n_steps == 0 || s->live[s->busiest] == 0)
        return;
    find_alive(&a);
    put_head(&a);
    put_alive(&a);
    put_reasons(&a);
}

bool
glow_why_peak(glow_buf *b, glow_func *f)
{
    glow_arena *scratch;
    glow_timeline *t;
    size_t before = b->len;

    if (!f->is_program || !f->placed)
        return glow_error_hint(f->module->ctx, f->span, "E0326",
                               "run -alloc first",
                               "@%s has no peak to explain: it is not a placed "
                               "program",
                               f->name);
    scratch = glow_arena_new();
    t = glow_timeline_of(scratch, f);
    for (uint32_t i = 0; i < t->n_spaces; i++)
        if (t->spaces[i].shared)
            explain(b, t, &t->spaces[i]);
    if (b->len == before)
        glow_buf_printf(b, "@%s: no memory comes and goes\n", f->name);
    glow_arena_free(scratch);
    return true;
}
