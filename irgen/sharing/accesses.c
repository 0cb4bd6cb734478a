/*
 * Access table of buffers; see accesses.h.
 */

#include "irgen/sharing/accesses.h"

#include <string.h>

/* Filling. */

glow_accesses *
glow_accesses_new(glow_pass_run *run, const glow_table_sizes *room)
{
    glow_arena *a = glow_run_scratch(run);
    glow_accesses *x = GLOW_NEW(a, glow_accesses);

    x->run = run;
    x->arena = a;
    x->cap_buffers = room->buffers;
    x->cap_values = room->values;
    x->cap_steps = x->cap_order = room->steps;
    x->cap_accesses = room->accesses;
    x->buffers = GLOW_NEW_ARRAY(a, glow_shared_buffer, room->buffers);
    x->values = GLOW_NEW_ARRAY(a, glow_shared_value, room->values);
    x->steps = GLOW_NEW_ARRAY(a, glow_step, room->steps);
    x->order = GLOW_NEW_ARRAY(a, uint32_t, room->steps);
    x->accesses = GLOW_NEW_ARRAY(a, glow_access, room->accesses);
    return x;
}

uint32_t
glow_add_buffer(glow_accesses *x, const glow_type *type,
                const glow_storage *storage)
{
    x->buffers = glow_arena_grow(x->arena, x->buffers, x->n_buffers,
                                 &x->cap_buffers, sizeof *x->buffers);
    x->buffers[x->n_buffers] = (glow_shared_buffer){
        .type = type,
        .storage = storage,
        .values = GLOW_NONE,
        .own = GLOW_NONE,
    };
    return (uint32_t)x->n_buffers++;
}

uint32_t
glow_add_value(glow_accesses *x, uint32_t buffer, int64_t first,
               const glow_type *type)
{
    glow_shared_buffer *b = &x->buffers[buffer];
    uint32_t v = (uint32_t)x->n_values;

    x->values = glow_arena_grow(x->arena, x->values, x->n_values,
                                &x->cap_values, sizeof *x->values);
    x->values[x->n_values++] = (glow_shared_value){
        buffer, first, type, b->values, GLOW_NONE, GLOW_NONE};
    if (b->own == GLOW_NONE)
        b->own = v;
    b->values = v;
    return v;
}

uint32_t
glow_add_step(glow_accesses *x, glow_node *node, const glow_op *op, int n_in,
              int n_out)
{
    uint32_t *operands =
        GLOW_NEW_ARRAY(x->arena, uint32_t, (size_t)n_in + (size_t)n_out);

    memset(operands, 0xff, ((size_t)n_in + (size_t)n_out) * sizeof *operands);
    x->steps = glow_arena_grow(x->arena, x->steps, x->n_steps, &x->cap_steps,
                               sizeof *x->steps);
    x->steps[x->n_steps] = (glow_step){
        .node = node,
        .op = op,
        .in = operands,
        .out = operands + n_in,
        .n_in = n_in,
        .n_out = n_out,
        .pred = GLOW_NONE,
        .scratch = GLOW_NONE,
        .rank = (uint32_t)x->n_order,
        .part = -1,
    };
    return (uint32_t)x->n_steps++;
}

static void
add_access(glow_accesses *x, uint32_t value, uint32_t step, bool writes)
{
    if (value == GLOW_NONE)
        return;
    glow_shared_value *v = &x->values[value];

    x->accesses = glow_arena_grow(x->arena, x->accesses, x->n_accesses,
                                  &x->cap_accesses, sizeof *x->accesses);
    x->accesses[x->n_accesses] = (glow_access){step, v->accesses, writes};
    v->accesses = (uint32_t)x->n_accesses++;
    x->buffers[v->buffer].n_accesses++;
}

void
glow_add_accesses(glow_accesses *x, uint32_t step)
{
    const glow_step *s = &x->steps[step];

    for (int k = 0; k < s->n_in; k++)
        add_access(x, s->in[k], step, false);
    for (int k = 0; k < s->n_out; k++)
        add_access(x, s->out[k], step, true);
    add_access(x, s->pred, step, false);
    add_access(x, s->scratch, step, true);
    x->order = glow_arena_grow(x->arena, x->order, x->n_order, &x->cap_order,
                               sizeof *x->order);
    x->order[x->n_order++] = step;
}

/* Measuring. */

static void
note(glow_accesses *x, uint32_t value, uint32_t rank, bool writes)
{
    if (value == GLOW_NONE)
        return;
    glow_live_range *life = &x->buffers[x->values[value].buffer].life;

    if (life->first == GLOW_NONE)
        life->first = rank;
    life->last = rank;
    if (writes)
        life->last_write = rank;
}

static void
note_step(glow_accesses *x, const glow_step *s)
{
    for (int k = 0; k < s->n_in; k++)
        note(x, s->in[k], s->rank, false);
    for (int k = 0; k < s->n_out; k++)
        note(x, s->out[k], s->rank, true);
    note(x, s->pred, s->rank, false);
    note(x, s->scratch, s->rank, true);
}

static bool
is_sorted(const glow_accesses *x)
{
    for (size_t i = 1; i < x->n_order; i++)
        if (x->steps[x->order[i]].rank < x->steps[x->order[i - 1]].rank)
            return false;
    return true;
}

/* Sorts the steps by rank; a step that was added later has its neighbour's. */
static void
sort_steps(glow_accesses *x)
{
    if (is_sorted(x))
        return;
    uint32_t *starts = GLOW_NEW_ARRAY(x->arena, uint32_t, x->n_order + 1);
    uint32_t *sorted = GLOW_NEW_ARRAY(x->arena, uint32_t, x->n_order);

    for (size_t i = 0; i < x->n_order; i++)
        starts[x->steps[x->order[i]].rank + 1]++;
    for (size_t i = 0; i < x->n_order; i++)
        starts[i + 1] += starts[i];
    for (size_t i = 0; i < x->n_order; i++)
        sorted[starts[x->steps[x->order[i]].rank]++] = x->order[i];
    memcpy(x->order, sorted, x->n_order * sizeof *sorted);
}

void
glow_accesses_measure(glow_accesses *x)
{
    size_t count = 0;

    x->bytes = NULL;
    sort_steps(x);
    for (size_t i = 0; i < x->n_buffers; i++)
        x->buffers[i].life = (glow_live_range){GLOW_NONE, GLOW_NONE, GLOW_NONE};
    for (size_t i = 0; i < x->n_order; i++) {
        glow_step *s = &x->steps[x->order[i]];

        if (s->gone)
            continue;
        s->rank = (uint32_t)count;
        x->order[count++] = x->order[i];
        note_step(x, s);
    }
    x->n_order = count;
    for (uint32_t v = 0; v < x->n_values; v++)
        x->values[v].was = glow_covers(x, v) ? x->values[v].buffer : GLOW_NONE;
}

/* Parts of buffers. */

bool
glow_part_of(const glow_accesses *x, uint32_t value, glow_part *out)
{
    if (value == GLOW_NONE || !x->values[value].type)
        return false;
    const glow_shared_value *v = &x->values[value];

    *out = (glow_part){v->buffer, v->first, *v->type};
    return x->buffers[v->buffer].type->strides.rank == 0;
}

glow_part
glow_part_box(const glow_part *p, glow_dims start, glow_dims steps,
              glow_dims shape)
{
    glow_part box = *p;

    box.type = glow_type_box(&p->type, start, steps, shape, &box.first);
    return box;
}

static bool
is_dense(const glow_type *t)
{
    return t->strides.rank == 0;
}

bool
glow_same_place(const glow_accesses *x, uint32_t a, uint32_t b)
{
    const glow_shared_value *v = &x->values[a], *w = &x->values[b];

    return a == b || (v->type && w->type && v->buffer == w->buffer &&
                      v->first == w->first &&
                      (v->type == w->type ||
                       (is_dense(v->type) && is_dense(w->type) &&
                        glow_type_bytes(v->type) == glow_type_bytes(w->type))));
}

bool
glow_is_loose(const glow_accesses *x, uint32_t buffer)
{
    return !x->buffers[buffer].storage && !x->buffers[buffer].is_fixed;
}

bool
glow_is_whole(const glow_accesses *x, uint32_t value)
{
    const glow_shared_value *v = &x->values[value];

    return v->first == 0 && v->type == x->buffers[v->buffer].type;
}

bool
glow_covers(const glow_accesses *x, uint32_t value)
{
    const glow_shared_value *v = &x->values[value];
    const glow_type *all = x->buffers[v->buffer].type;

    return glow_is_whole(x, value) ||
           (v->type && v->first == 0 && is_dense(v->type) &&
            glow_type_bytes(v->type) == glow_type_bytes(all));
}

/* Accesses. */

bool
glow_each_access_of(const glow_accesses *x, uint32_t value, glow_access_fn fn,
                    void *user)
{
    const glow_shared_value *v = &x->values[value];
    uint32_t i = v->accesses;

    for (; i != GLOW_NONE; i = x->accesses[i].next) {
        const glow_step *s = &x->steps[x->accesses[i].step];

        if (!s->gone && !fn(user, s, v, x->accesses[i].writes))
            return false;
    }
    return true;
}

bool
glow_each_access(const glow_accesses *x, uint32_t buffer, glow_access_fn fn,
                 void *user)
{
    const glow_shared_buffer *b = &x->buffers[buffer];

    if (b->n_accesses > GLOW_MOST_ACCESSES)
        return false;
    for (uint32_t v = b->values; v != GLOW_NONE; v = x->values[v].next)
        if (!glow_each_access_of(x, v, fn, user))
            return false;
    return true;
}

bool
glow_may_meet(const glow_shared_value *v, const glow_part *part)
{
    glow_extent a = {NULL, v->type, v->first};
    glow_extent b = {NULL, &part->type, part->first};

    return v->buffer == part->buffer && (!v->type || glow_extents_meet(a, b));
}

typedef struct window {
    const glow_part *part;
    uint32_t first, last;
    bool writes; /* ignore steps that only read */
} window;

static bool
is_outside(void *user, const glow_step *s, const glow_shared_value *v,
           bool writes)
{
    const window *w = user;

    return (w->writes && !writes) || s->rank < w->first || s->rank > w->last ||
           !glow_may_meet(v, w->part);
}

bool
glow_is_untouched(const glow_accesses *x, const glow_part *part, uint32_t first,
                  uint32_t last, bool writes)
{
    window w = {part, first, last, writes};

    return glow_each_access(x, part->buffer, is_outside, &w);
}

/* Computing a buffer in a part of another one. */

typedef struct stay { /* a buffer that would be computed in `to` */
    const glow_part *to;
    const glow_step *at; /* reads the buffer and writes `to` */
    bool reads_on;
    uint32_t first; /* rank of the first access of the buffer */
    const glow_step *last;
} stay;

static bool
measure_from(void *user, const glow_step *n, const glow_shared_value *v,
             bool writes)
{
    stay *s = user;

    (void)v;
    if (n->rank < s->first)
        s->first = n->rank;
    if (!s->last || n->rank > s->last->rank)
        s->last = n;
    return n->rank <= s->at->rank ? !(writes && n->rank == s->at->rank)
                                  : s->reads_on && !writes;
}

/* From the first access of the buffer to its last, only `at` may access the bytes
   of `to`; other steps may read them after `at`. */
static bool
leaves_alone(void *user, const glow_step *n, const glow_shared_value *v,
             bool writes)
{
    const stay *s = user;

    if (n->rank < s->first || !glow_may_meet(v, s->to))
        return true;
    if (n->rank < s->at->rank)
        return false;
    if (n->rank == s->at->rank)
        return writes;
    return !writes || n->rank > s->last->rank;
}

bool
glow_can_live_in(const glow_accesses *x, uint32_t buffer, const glow_part *to,
                 const glow_step *at, bool reads_on, const glow_step **last)
{
    const glow_shared_buffer *b = &x->buffers[buffer];
    const glow_storage *storage = x->buffers[to->buffer].storage;
    stay s = {to, at, reads_on, GLOW_NONE, NULL};

    if (!glow_is_loose(x, buffer) || to->buffer == buffer ||
        (storage && storage->is_constant))
        return false;
    if (is_dense(b->type) != is_dense(&to->type) ||
        (is_dense(b->type)
             ? glow_type_bytes(b->type) != glow_type_bytes(&to->type)
             : b->type != glow_type_get(glow_run_context(x->run), to->type)))
        return false;
    if (!glow_each_access(x, buffer, measure_from, &s) || !s.last ||
        !glow_each_access(x, to->buffer, leaves_alone, &s))
        return false;
    *last = s.last;
    return true;
}

/* Live ranges. */

static int64_t
bytes_of(const glow_accesses *x, uint32_t buffer)
{
    return glow_life_bytes(glow_type_bytes(x->buffers[buffer].type));
}

static void
find_bytes(glow_accesses *x)
{
    size_t count = x->n_order + 1;
    int64_t *at = GLOW_NEW_ARRAY(x->arena, int64_t, count);

    for (uint32_t i = 0; i < x->n_buffers; i++) {
        const glow_shared_buffer *b = &x->buffers[i];

        if (b->storage || b->is_moved || b->life.first == GLOW_NONE)
            continue;
        at[b->life.first] += bytes_of(x, i);
        at[b->life.last + 1] -= bytes_of(x, i);
    }
    for (size_t i = 1; i < count; i++)
        at[i] += at[i - 1];
    x->bytes = glow_heights_new(x->arena, count, at);
    x->peak = glow_heights_most(x->bytes, 0, count - 1);
}

void
glow_add_life(glow_accesses *x, uint32_t buffer, uint32_t first, uint32_t last,
              int sign)
{
    if (!x->bytes)
        find_bytes(x);
    if (!x->buffers[buffer].storage && first != GLOW_NONE)
        glow_heights_add(x->bytes, first, last, sign * bytes_of(x, buffer));
}

void
glow_set_life(glow_accesses *x, uint32_t buffer, uint32_t first, uint32_t last)
{
    glow_live_range *life = &x->buffers[buffer].life;

    if (x->bytes) {
        glow_add_life(x, buffer, life->first, life->last, -1);
        glow_add_life(x, buffer, first, last, 1);
    }
    life->first = first;
    life->last = last;
}

bool
glow_lives_fit(glow_accesses *x, uint32_t first, uint32_t last)
{
    return glow_heights_most(x->bytes, first, last) <= x->peak;
}

static glow_height_range
range_of(const glow_accesses *x, uint32_t buffer)
{
    const glow_shared_buffer *b = &x->buffers[buffer];
    bool counts = !b->storage && b->life.first != GLOW_NONE;

    return (glow_height_range){b->life.first, b->life.last,
                               counts ? bytes_of(x, buffer) : 0};
}

void
glow_cover_life(glow_accesses *x, uint32_t buffer, uint32_t moved)
{
    glow_live_range l = x->buffers[buffer].life, m = x->buffers[moved].life;

    if (x->bytes)
        glow_add_life(x, moved, m.first, m.last, -1);
    glow_set_life(x, buffer, m.first < l.first ? m.first : l.first,
                  l.last == GLOW_NONE || m.last > l.last ? m.last : l.last);
}

bool
glow_join_lives(glow_accesses *x, uint32_t from, uint32_t to)
{
    glow_height_range f = range_of(x, from), t = range_of(x, to);
    glow_live_range *life = &x->buffers[to].life;

    if (!x->bytes)
        find_bytes(x);
    if (!glow_heights_join(x->bytes, &f, &t, x->peak))
        return false;
    life->first = (uint32_t)t.first;
    life->last = (uint32_t)t.last;
    return true;
}

/* Changing. */

void
glow_move_values(glow_accesses *x, uint32_t buffer, const glow_part *to)
{
    glow_shared_buffer *b = &x->buffers[buffer],
                       *into = &x->buffers[to->buffer];

    for (uint32_t v = b->values; v != GLOW_NONE; v = x->values[v].next) {
        glow_part p;

        if (glow_value_moved(&x->values[v], to, &p)) {
            x->values[v].type = glow_type_get(glow_run_context(x->run), p.type);
            x->values[v].first = p.first;
        } else {
            x->values[v].type = NULL;
        }
        x->values[v].buffer = to->buffer;
    }
    x->values[b->own].next = into->values;
    into->values = b->values;
    into->n_accesses += b->n_accesses;
    b->is_moved = true;
    x->changed = true;
}

bool
glow_may_change(const glow_accesses *x)
{
    return !x->edit || glow_run_may_rewrite(x->run);
}

void
glow_count_change(glow_accesses *x, const char *counter, int by)
{
    x->changed = true;
    if (x->edit)
        glow_run_count(x->run, counter, by);
}
