/*
 * join-parts: compute what is put together where it is put together.
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
 * - all of it is an alloc, which no other operand and no later result has
 * taken; - it is not written after the concat, and if it is read after it, the
 * result
 *   is not written any more;
 * - the result is written by the concat first;
 * - the backend takes all that works on it in the part's layout, where that is
 *   not dense: the parts of a concat of channels, in a layout where channels
 *   come last, lie at steps (glow_backend.takes);
 * - the program needs no more memory at its worst moment for the result's
 *   beginning to live sooner.  The operands that begin first are left out until
 *   that is so.
 *
 * Where one operand could be joined, the rest is copied to its part, one by
 * one, so that no element moves that did not move before.
 *
 * Likewise inserttensor in place, whose Small is computed in its part of Big if
 * nothing touches that part from when Small is written first.
 *
 * Concats are taken from the last to the first: the result of one may become a
 * part of another's first, and its operands then parts of that part.  So a
 * chain, as of DenseNet, ends in one buffer.  Each access is looked at once for
 * each buffer that it belongs to.
 *
 * Glow's OptimizeInserts asks for parts that lie side by side, and for a buffer
 * that one instruction alone uses; it does not ask what it does to the peak.
 */

#include <stdlib.h>

#include "passes/program/lives.h"
#include "passes/program/parts.h"

typedef struct joiner {
    glow_pass_run *run;
    glow_func *func;
    buffer_info *infos; /* by mark of an alloc, a weight, or what took its
                           place */
    lives *lives;       /* NULL until something could be joined */
    uint32_t *at;       /* by mark of an alloc: the mark where it stands */
    uint32_t *taken;    /* by mark of an alloc: 1 + mark of the concat */
    glow_result result;
} joiner;

/* A buffer that could be joined. */
typedef struct piece {
    glow_value *buffer;
    uint32_t first, last; /* its life */
    part to;
} piece;

typedef struct pieces {
    piece *at;
    int count;
} pieces;

/* Of a view that is as old as the pass: what is known of all that it shows. */
static buffer_info *
info_of(const joiner *j, const glow_value *v)
{
    if (v->def->op == &glow_op_tensorview &&
        j->infos[v->def->mark].first == NO_ACCESS && covers(v))
        v = glow_base_buffer((glow_value *)v);
    return &j->infos[v->def->mark];
}

static bool
refuse(joiner *j, const glow_node *n, const glow_value *v, const char *why)
{
    glow_run_remark(j->run, n, false, "%%%s is copied: %s", v->def->name, why);
    return false;
}

/* Access to `part` from mark `first` to mark `last`. */
typedef struct window {
    const part *part;
    uint32_t first, last;
    bool writes; /* no matter what reads */
} window;

static bool
is_outside(void *user, glow_node *n, const glow_value *v, bool writes)
{
    const window *w = user;
    glow_extent here = {w->part->base->def, &w->part->type, w->part->first};

    return (w->writes && !writes) || n->mark < w->first || n->mark > w->last ||
           !glow_extents_meet(glow_extent_of(v), here);
}

/* Does somebody write the part that `a` would be, while that is still read?
   The result may itself have become a part of what others write to. */
static bool
changes(joiner *j, const glow_node *n, const glow_value *a, const part *to)
{
    window w = {to, n->mark + 1, info_of(j, a)->last, true};
    uint32_t last = info_of(j, to->base)->last_write;

    return w.last > n->mark && (info_of(j, n->out[0])->last_write > n->mark ||
                                (last != NO_ACCESS && last > n->mark &&
                                 (is_crowded(j->infos, to->base) ||
                                  !each_access(glow_run_scratch(j->run),
                                               to->base, is_outside, &w))));
}

/* Could the buffer of operand `a` become a part of n's result? */
static bool
can_join(joiner *j, const glow_node *n, glow_value *a, const part *to)
{
    glow_value *b = glow_base_buffer(a);
    const buffer_info *from = info_of(j, b);
    const char *why;

    if (!is_loose(b))
        return refuse(j, n, a,
                      glow_is_constant(b) ? "it is constant"
                                          : "it is a placeholder");
    if (!covers(a))
        return refuse(j, n, a, "it is a part of another buffer");
    if (j->taken[b->def->mark] == n->mark + 1)
        return refuse(j, n, a, "it is put there twice");
    if (from->last_write != NO_ACCESS && from->last_write > n->mark)
        return refuse(j, n, a, "it is written afterwards");
    if (changes(j, n, b, to))
        return refuse(j, n, a, "it is read after the result changes");
    if (!can_use_part(j->run, b, to, n, &why))
        return refuse(j, n, a, why);
    return true;
}

static void
add_piece(joiner *j, const glow_node *n, pieces *p, glow_value *a,
          const part *to)
{
    glow_value *b = glow_base_buffer(a);
    const buffer_info *info = info_of(j, b);

    p->at[p->count++] = (piece){b, info->first, info->last, *to};
    j->taken[b->def->mark] = n->mark + 1;
}

/* Memory: the life of the base, and those of what becomes a part of it. */

/* The base lives from `first` to `last` instead. */
static void
set_life(joiner *j, const glow_value *base, uint32_t first, uint32_t last)
{
    buffer_info *info = info_of(j, base);

    lives_add(j->lives, base, info->first, info->last, -1);
    lives_add(j->lives, base, first, last, 1);
    info->first = first;
    info->last = last;
}

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
    return a->buffer->def->mark < b->buffer->def->mark ? -1 : 1;
}

/*
 * Leaves out the pieces that begin first, until what is left costs no memory.
 * Their lives are then those of the joined program.
 */
static void
keep_affordable(joiner *j, const glow_node *n, const glow_value *base,
                pieces *p)
{
    const buffer_info was = *info_of(j, base);
    uint32_t last;

    if (!j->lives)
        j->lives = lives_measure(glow_run_scratch(j->run), j->func, j->infos);
    glow_sort(p->at, (size_t)p->count, sizeof *p->at, by_first);
    for (int i = 0; i < p->count; i++)
        lives_add(j->lives, p->at[i].buffer, p->at[i].first, p->at[i].last, -1);
    for (; p->count > 0; p->at++, p->count--) {
        uint32_t first = p->at->first < was.first ? p->at->first : was.first;

        last = last_of(p->at, p->count, was.last);
        set_life(j, base, first, last);
        if (lives_fit(j->lives, first, last))
            return;
        refuse(j, n, p->at->buffer,
               "its part would live too long in the "
               "result");
        lives_add(j->lives, p->at->buffer, p->at->first, p->at->last, 1);
    }
    set_life(j, base, was.first, was.last);
}

/* Joining. */

/* Lets the base live before and behind the buffer that becomes its part. */
static void
stretch(joiner *j, glow_value *base, const glow_value *buffer)
{
    glow_node *end = info_of(j, base)->dealloc;
    glow_node *dealloc = info_of(j, buffer)->dealloc;
    uint32_t *at = &j->at[base->def->mark];

    if (!is_loose(base))
        return;
    if (*at > buffer->def->mark) {
        glow_node_move_before(base->def, buffer->def);
        *at = buffer->def->mark;
    }
    if (end->mark < dealloc->mark) {
        glow_node_move_after(end, dealloc);
        end->mark = dealloc->mark;
    }
}

static void
join(joiner *j, const pieces *p)
{
    for (int i = 0; i < p->count; i++) {
        stretch(j, p->at[i].to.base, p->at[i].buffer);
        use_part(j->run, p->at[i].buffer, &p->at[i].to);
    }
    glow_run_count(j->run, "joined", p->count);
    j->result = GLOW_CHANGED;
}

/* Concats. */

/* What operand `i` is a part of; `at` is where the one before it ended. */
static part
part_at(const glow_node *n, const part *whole, int i, glow_dims *at)
{
    const glow_concat *c = n->attrs;
    glow_dims shape = n->in[i]->type->shape, all = {0};
    part p = part_box(whole, *at, all, shape);

    at->at[c->dim] += shape.at[c->dim];
    return p;
}

static pieces
find_pieces(joiner *j, const glow_node *n, const part *whole)
{
    glow_dims at = {.rank = whole->type.shape.rank};
    pieces p = {GLOW_NEW_ARRAY(glow_run_scratch(j->run), piece, n->n_in), 0};

    for (int i = 0; i < n->n_in; i++) {
        part to = part_at(n, whole, i, &at);

        if (glow_type_count(&to.type) > 0 && can_join(j, n, n->in[i], &to))
            add_piece(j, n, &p, n->in[i], &to);
    }
    return p;
}

/* Copies what could not be joined. */
static void
copy_rest(glow_node *n, const part *whole)
{
    glow_func *f = n->func;
    glow_dims at = {.rank = whole->type.shape.rank};

    for (int i = 0; i < n->n_in; i++) {
        part to = part_at(n, whole, i, &at);
        glow_extent is = glow_extent_of(n->in[i]);

        if (glow_type_count(&to.type) == 0 ||
            (is.base == to.base->def && is.first == to.first))
            continue;

        glow_value *out = view_part(&to, n->name, n);
        glow_node *copy = glow_instr_new(f, &glow_op_copy,
                                         glow_derived_name(f, n->name, "part"),
                                         &out, 1, &n->in[i], 1, NULL);

        copy->loc = n->loc;
        copy->mark = n->mark;
        glow_node_move_before(copy, n);
    }
}

/* Is `v` written by `n` first, and ours to write to before? */
static bool
begins_at(const joiner *j, const glow_value *v, const glow_node *n)
{
    return info_of(j, v)->first == n->mark;
}

static void
join_concat(joiner *j, glow_node *n)
{
    glow_value *r = n->out[0];
    part whole;
    pieces p;

    if (!part_of(r, &whole) || !begins_at(j, r, n)) {
        refuse(j, n, r, "it is used before");
        return;
    }
    p = find_pieces(j, n, &whole);
    if (p.count > 0)
        keep_affordable(j, n, whole.base, &p);
    if (p.count == 0 || !glow_run_may_rewrite(j->run))
        return;
    join(j, &p);
    copy_rest(n, &whole);
    glow_node_erase(n);
}

/* Inserts. */

static void
join_insert(joiner *j, glow_node *n)
{
    const glow_inserttensor *t = n->attrs;
    glow_value *r = n->out[0], *small = n->in[1];
    piece room;
    pieces p = {&room, 0};
    part whole, to;
    glow_dims all = {0};

    if (n->in[0] != r || t->count != 1 || !part_of(r, &whole) ||
        glow_type_count(small->type) == 0)
        return;
    to = part_box(&whole, t->start, all, small->type->shape);
    if (!can_join(j, n, small, &to))
        return;
    add_piece(j, n, &p, small, &to);

    window w = {&to, room.first, n->mark - 1, false};

    if (is_crowded(j->infos, whole.base) ||
        !each_access(glow_run_scratch(j->run), whole.base, is_outside, &w)) {
        refuse(j, n, small, "its part is used before");
        return;
    }
    keep_affordable(j, n, whole.base, &p);
    if (p.count == 0 || !glow_run_may_rewrite(j->run))
        return;
    join(j, &p);
    glow_node_erase(n);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_arena *a = glow_run_scratch(pass);
    joiner j = {.run = pass, .func = f, .result = GLOW_UNCHANGED};
    glow_node **concats, **inserts;
    int n_concats = find_instrs(a, f, &glow_op_concat, &concats);
    int n_inserts = find_instrs(a, f, &glow_op_inserttensor, &inserts);

    if (n_concats + n_inserts == 0)
        return GLOW_UNCHANGED;
    j.infos = buffers_measure(a, f);
    j.at = GLOW_NEW_ARRAY(a, uint32_t, f->count);
    j.taken = GLOW_NEW_ARRAY(a, uint32_t, f->count);
    for (int i = 0; i < f->count; i++)
        j.at[i] = (uint32_t)i;
    for (int i = 0; i < n_inserts; i++)
        join_insert(&j, inserts[i]);
    for (int i = n_concats; i-- > 0;)
        join_concat(&j, concats[i]);
    return j.result;
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
