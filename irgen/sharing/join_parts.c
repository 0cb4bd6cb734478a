/*
 * join-parts: write the operands of a concat or insert directly into its buffer.
 *
 *     %a = alloc float<2 x 4>              %r = alloc float<4 x 4>
 *     relu @out %a, @in %x                 %a.view = tensorview @in %r ...
 *     %b = alloc float<2 x 4>              relu @out %a.view, @in %x
 *     tanh @out %b, @in %x            =>   %b.view = tensorview @in %r ...
 *     %r = alloc float<4 x 4>              tanh @out %b.view, @in %x
 *     concat @out %r, @in %a, @in %b       sigmoid @out %y, @in %r
 *     sigmoid @out %y, @in %r
 *
 * An operand of concat is computed in its part of the result if
 *
 * - the operand is a whole alloc, which neither another operand nor a later
 *   concat has taken;
 * - the operand is not written after the concat, and if it is read after the
 *   concat, the result is not written any more;
 * - the concat is the first instruction that writes the result;
 * - the backend takes every instruction that accesses the operand in the layout
 *   of the part, where that layout is not dense: a concat of channels, where
 *   channels are the last dimension, has parts with strides
 *   (glow_backend.takes);
 * - the peak of the program does not rise because the live range of the result
 *   begins sooner.  The operands whose live ranges begin first are left out
 *   until that holds.
 *
 * If at least one operand is joined, each other operand is copied to its part,
 * so no element is copied that the concat did not copy before.
 *
 * Small of an inserttensor in place is computed in its part of Big likewise, if
 * no instruction accesses that part between the first write of Small and the
 * inserttensor.
 *
 * Concats are visited from the last to the first: the result of one becomes a
 * part of a later one first, and its operands then become parts of that part.
 * So a chain of concats, as in DenseNet, ends in one buffer.  Each access is
 * visited once for each buffer that it belongs to.
 *
 * Glow's OptimizeInserts requires contiguous parts, and a buffer that only one
 * instruction uses; it does not check the peak.
 */

#include <stdlib.h>

#include "irgen/sharing/program.h"

/* A buffer that could be joined. */
typedef struct piece {
    uint32_t buffer;
    int operand;
    uint32_t first, last; /* its live range */
    glow_part to;
} piece;

typedef struct pieces {
    piece *at;
    int count;
} pieces;

typedef struct joiner {
    glow_accesses *x;
    uint32_t *taken; /* by buffer: 1 + the step that takes it */
} joiner;

static bool
refuse(const joiner *j, const glow_step *s, int k, const char *why)
{
    if (!j->x->edit)
        return false;
    return GLOW_REFUSE(
        j->x, s, "%%%s is copied: %s",
        k < 0 ? s->node->out[0]->def->name : s->node->in[k]->def->name, why);
}

/* The live range of the buffer that result 0 covered at first; NULL: it was a
   part. */
static const glow_live_range *
life_of_result(const glow_accesses *x, const glow_step *s)
{
    uint32_t was = x->values[s->out[0]].was;

    return was == GLOW_NONE ? NULL : &x->buffers[was].life;
}

/* True if a step after `s` may write the part `to` while `buffer` is still read.
   The result may itself have become a part of another buffer. */
static bool
changes(const glow_accesses *x, const glow_step *s, uint32_t buffer,
        const glow_part *to)
{
    uint32_t until = x->buffers[buffer].life.last;
    uint32_t last = x->buffers[to->buffer].life.last_write;
    const glow_live_range *r = life_of_result(x, s);

    return until > s->rank &&
           (!r || r->last_write > s->rank ||
            (last != GLOW_NONE && last > s->rank &&
             !glow_is_untouched(x, to, s->rank + 1, until, true)));
}

/*
 * True if a step before `s` accesses the part `to` within the live range of
 * `buffer`.  No step before a Concat uses its result, unless that has become a
 * part of another buffer.
 */
static bool
is_used_before(const glow_accesses *x, const glow_step *s, uint32_t buffer,
               const glow_part *to)
{
    return (s->op == &glow_op_inserttensor ||
            x->values[s->out[0]].was != to->buffer) &&
           !glow_is_untouched(x, to, x->buffers[buffer].life.first, s->rank - 1,
                              false);
}

/* True if the buffer of operand `k` could become part `to` of the result. */
static bool
can_join(const joiner *j, const glow_step *s, int k, const glow_part *to)
{
    glow_accesses *x = j->x;
    uint32_t b = x->values[s->in[k]].buffer;
    uint32_t last_write = x->buffers[b].life.last_write;
    const glow_storage *storage = x->buffers[b].storage;
    const char *why;

    if (!glow_is_loose(x, b))
        return refuse(j, s, k,
                      storage && storage->is_constant ? "it is constant"
                                                      : "it is a placeholder");
    if (!glow_covers(x, s->in[k]))
        return refuse(j, s, k, "it is a part of another buffer");
    if (j->taken[b] == (uint32_t)(s - x->steps) + 1)
        return refuse(j, s, k, "it is put there twice");
    if (last_write != GLOW_NONE && last_write > s->rank)
        return refuse(j, s, k, "it is written afterwards");
    if (changes(x, s, b, to))
        return refuse(j, s, k, "it is read after the result changes");
    if (is_used_before(x, s, b, to))
        return refuse(j, s, k, "its part is used before");
    if (!glow_can_use(x, b, to, s, &why))
        return refuse(j, s, k, why);
    return true;
}

static void
add_piece(joiner *j, const glow_step *s, pieces *p, int k, const glow_part *to)
{
    uint32_t b = j->x->values[s->in[k]].buffer;
    const glow_live_range *life = &j->x->buffers[b].life;

    p->at[p->count++] = (piece){b, k, life->first, life->last, *to};
    j->taken[b] = (uint32_t)(s - j->x->steps) + 1;
}

/* Live ranges of the base buffer, and of the buffers that become its parts. */

static uint32_t
last_of(const piece *p, int count, uint32_t last)
{
    for (int i = 0; i < count; i++)
        if (p[i].last > last)
            last = p[i].last;
    return last;
}

static int
by_first(const void *x, const void *y)
{
    const piece *a = x, *b = y;

    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return (a->operand > b->operand) - (a->operand < b->operand);
}

/*
 * Leaves out the pieces whose live ranges begin first, until the rest does not
 * raise the peak.  The live ranges in the table are then those of the joined
 * program.
 */
static void
keep_affordable(joiner *j, const glow_step *s, uint32_t base, pieces *p)
{
    glow_accesses *x = j->x;
    const glow_live_range was = x->buffers[base].life;

    glow_sort(p->at, (size_t)p->count, sizeof *p->at, by_first);
    for (int i = 0; i < p->count; i++)
        glow_add_life(x, p->at[i].buffer, p->at[i].first, p->at[i].last, -1);
    for (; p->count > 0; p->at++, p->count--) {
        uint32_t first = p->at->first < was.first ? p->at->first : was.first;
        uint32_t last = last_of(p->at, p->count, was.last);

        glow_set_life(x, base, first, last);
        if (glow_lives_fit(x, first, last))
            return;
        refuse(j, s, p->at->operand,
               "its part would live too long in the "
               "result");
        glow_add_life(x, p->at->buffer, p->at->first, p->at->last, 1);
    }
    glow_set_life(x, base, was.first, was.last);
}

static void
join(joiner *j, const pieces *p)
{
    for (int i = 0; i < p->count; i++)
        glow_move_to_part(j->x, p->at[i].buffer, &p->at[i].to);
    glow_count_change(j->x, "joined", p->count);
}

/* Concats. */

/* The part of operand `k` in the result; *at is the index where it begins, and is
   advanced behind it. */
static glow_part
part_at(const glow_step *s, const glow_part *whole, int k, glow_dims *at)
{
    const glow_concat *concat = s->node->attrs;
    glow_dims shape = s->node->in[k]->type->shape, all = {0};
    glow_part p = glow_part_box(whole, *at, all, shape);

    at->at[concat->dim] += shape.at[concat->dim];
    return p;
}

static pieces
find_pieces(joiner *j, const glow_step *s, const glow_part *whole)
{
    glow_dims at = {.rank = whole->type.shape.rank};
    pieces p = {GLOW_NEW_ARRAY(j->x->arena, piece, s->n_in), 0};

    for (int k = 0; k < s->n_in; k++) {
        glow_part to = part_at(s, whole, k, &at);

        if (glow_type_count(&to.type) > 0 && can_join(j, s, k, &to))
            add_piece(j, s, &p, k, &to);
    }
    return p;
}

/* Copies the operands that could not be joined. */
static void
copy_rest(glow_accesses *x, uint32_t step, const glow_part *whole)
{
    glow_dims at = {.rank = whole->type.shape.rank};

    for (int k = 0; k < x->steps[step].n_in; k++) {
        glow_part to = part_at(&x->steps[step], whole, k, &at);
        const glow_shared_value *is = &x->values[x->steps[step].in[k]];

        if (glow_type_count(&to.type) > 0 &&
            (is->buffer != to.buffer || is->first != to.first))
            glow_copy_part(x, step, k, &to);
    }
}

static void
join_concat(joiner *j, uint32_t step)
{
    glow_accesses *x = j->x;
    const glow_step *s = &x->steps[step];
    const glow_live_range *r = life_of_result(x, s);
    glow_part whole;
    pieces p;

    if (!glow_part_of(x, s->out[0], &whole) || !r || r->first != s->rank) {
        refuse(j, s, -1, "it is used before");
        return;
    }
    p = find_pieces(j, s, &whole);
    if (p.count > 0)
        keep_affordable(j, s, whole.buffer, &p);
    if (p.count == 0 || !glow_may_change(x))
        return;
    join(j, &p);
    copy_rest(x, step, &whole);
    glow_drop_step(x, step);
}

/* Inserts. */

static void
join_insert(joiner *j, uint32_t step)
{
    glow_accesses *x = j->x;
    const glow_step *s = &x->steps[step];
    const glow_inserttensor *t = s->node->attrs;
    const glow_type *small = s->node->in[1]->type;
    piece room;
    pieces p = {&room, 0};
    glow_part whole, to;
    glow_dims all = {0};

    if (!glow_same_place(x, s->in[0], s->out[0]) || t->count != 1 ||
        !glow_part_of(x, s->out[0], &whole) || glow_type_count(small) == 0)
        return;
    to = glow_part_box(&whole, t->start, all, small->shape);
    if (!can_join(j, s, 1, &to))
        return;
    add_piece(j, s, &p, 1, &to);
    keep_affordable(j, s, whole.buffer, &p);
    if (p.count == 0 || !glow_may_change(x))
        return;
    join(j, &p);
    glow_drop_step(x, step);
}

void
glow_join_parts(glow_accesses *x)
{
    joiner j = {x, GLOW_NEW_ARRAY(x->arena, uint32_t, x->n_buffers)};
    size_t count = x->n_order;

    for (size_t i = 0; i < count; i++) {
        const glow_step *s = &x->steps[x->order[i]];

        if (s->op == &glow_op_inserttensor && s->pred == GLOW_NONE)
            join_insert(&j, x->order[i]);
    }
    for (size_t i = count; i-- > 0;) {
        const glow_step *s = &x->steps[x->order[i]];

        if (s->op == &glow_op_concat && s->pred == GLOW_NONE)
            join_concat(&j, x->order[i]);
    }
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    if (!glow_func_may_have(f, &glow_op_concat) &&
        !glow_func_may_have(f, &glow_op_inserttensor))
        return GLOW_UNCHANGED;
    glow_accesses *x = glow_accesses_of_program(pass, f);

    glow_join_parts(x);
    return x->changed ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_join_parts = {
    .name = "join-parts",
    .summary = "compute what is put together where it is put together",
    .level = GLOW_PROGRAM,
    .unplaces = true,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "Glow OptimizeInserts",
};
