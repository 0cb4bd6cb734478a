/*
 * The timeline of a placed program: one sweep numbers buffers and steps, a second
 * one collects the uses.  Time is linear in instructions and operands, plus the
 * sort of the buffers by offset.
 */

#include "irgen/report/timeline.h"

#include <stdlib.h>

#include "glow/lifetime.h"
#include "glow/place.h"

typedef struct builder {
    glow_timeline *t;
    glow_func *f;
    glow_arena *scratch;
    glow_numbering numbers;        /* of the definitions of buffers */
    glow_timeline_buffer *buffers; /* in the order of the program */
    glow_lifetime *lives;          /* in instructions, as alloc counts them */
    uint32_t *space;               /* by buffer */
    uint32_t *seen;           /* by buffer: 1 + the last step in its uses */
    glow_timeline_use **fill; /* by buffer: the end of its list of uses */
    uint32_t n_buffers;
} builder;

static bool
takes_memory(const glow_node *n)
{
    return (n->op == &glow_op_alloc || n->op == &glow_op_weight) &&
           !glow_is_token(n);
}

static bool
is_step(const glow_node *n)
{
    return !takes_memory(n) && !glow_is_token(n) && n->op != &glow_op_dealloc &&
           n->op != &glow_op_tensorview && n->op != &glow_op_signal &&
           n->op != &glow_op_wait;
}

/* Buffers and steps. */

static uint32_t
space_of(const builder *b, const glow_region *region)
{
    uint32_t i = 0;

    while (b->t->spaces[i].region != region)
        i++;
    return i;
}

/* `before[i]` steps come before instruction i. */
static void
add_buffer(builder *b, glow_node *n, glow_life life, const uint32_t *before)
{
    uint32_t i = b->n_buffers++;

    glow_number_set(&b->numbers, n, i);
    b->buffers[i] = (glow_timeline_buffer){
        .node = n,
        .name = n->name,
        .type = n->out[0]->type,
        .size = n->place->size,
        .offset = n->place->offset,
        .from = before[life.begin],
        .to = life.end == INT64_MAX ? b->t->n_steps : before[life.end],
    };
    b->lives[i] = (glow_lifetime){
        .begin = life.begin, .end = life.end, .size = n->place->size};
    b->space[i] = space_of(b, n->place->region);
}

static void
number(builder *b)
{
    glow_numbering order = glow_number_nodes(b->scratch, b->f);
    const glow_life *lives = glow_program_lives(b->scratch, b->f, &order);
    uint32_t *before =
        GLOW_NEW_ARRAY(b->scratch, uint32_t, (size_t)b->f->count + 1);
    uint32_t time = 0;

    b->numbers = glow_numbering_new(b->scratch, b->f);
    GLOW_FOR_EACH_NODE(n, b->f) {
        before[time++] = b->t->n_steps;
        if (is_step(n))
            b->t->steps[b->t->n_steps++] = n;
    }
    before[time] = b->t->n_steps;
    time = 0;
    GLOW_FOR_EACH_NODE(n, b->f) {
        if (takes_memory(n))
            add_buffer(b, n, lives[time], before);
        time++;
    }
}

/*
 * Where no two buffers share bytes, and none is an alloc, all are permanent: the
 * content of an unused placeholder has no effect.
 */
static void
settle(builder *b)
{
    int64_t *sums = GLOW_NEW_ARRAY(b->scratch, int64_t, b->t->n_spaces);

    for (uint32_t i = 0; i < b->n_buffers; i++) {
        glow_timeline_space *s = &b->t->spaces[b->space[i]];
        int64_t end = glow_add_most(b->buffers[i].offset, b->buffers[i].size);

        s->peak = end > s->peak ? end : s->peak;
        s->shared |= b->buffers[i].node->op == &glow_op_alloc;
        sums[b->space[i]] =
            glow_add_most(sums[b->space[i]], b->buffers[i].size);
    }
    for (uint32_t i = 0; i < b->t->n_spaces; i++)
        b->t->spaces[i].shared |= sums[i] > b->t->spaces[i].peak;
    for (uint32_t i = 0; i < b->n_buffers; i++)
        if (!b->t->spaces[b->space[i]].shared) {
            b->buffers[i].from = 0;
            b->buffers[i].to = b->t->n_steps;
            b->lives[i].begin = 0;
            b->lives[i].end = INT64_MAX;
        }
}

/* Uses. */

typedef void (*use_fn)(builder *b, uint32_t buffer, uint32_t step, bool writes);

static uint32_t
buffer_of(const builder *b, glow_value *v)
{
    return glow_number_of(&b->numbers, glow_base_buffer(v)->def);
}

static void
each_use(builder *b, use_fn fn)
{
    for (uint32_t s = 0; s < b->t->n_steps; s++) {
        const glow_node *n = b->t->steps[s];

        for (int k = -1; k < n->n_in; k++) {
            glow_value *v = k < 0 ? n->pred : n->in[k];

            if (v && v->type->elem != GLOW_TOKEN)
                fn(b, buffer_of(b, v), s, false);
        }
        for (int k = 0; k < n->n_out; k++)
            if (n->out[k]->type->elem != GLOW_TOKEN)
                fn(b, buffer_of(b, n->out[k]), s, true);
        if (n->scratch)
            fn(b, buffer_of(b, n->scratch), s, true);
    }
}

static void
count_use(builder *b, uint32_t buffer, uint32_t step, bool writes)
{
    (void)writes;
    b->buffers[buffer].n_uses += b->seen[buffer] != step + 1;
    b->seen[buffer] = step + 1;
}

static void
put_use(builder *b, uint32_t buffer, uint32_t step, bool writes)
{
    glow_timeline_use *u = b->fill[buffer] - 1;

    if (u < b->buffers[buffer].uses || u->step != step)
        *(u = b->fill[buffer]++) = (glow_timeline_use){.step = step};
    u->reads |= !writes;
    u->writes |= writes;
}

static void
find_uses(builder *b)
{
    b->seen = GLOW_NEW_ARRAY(b->scratch, uint32_t, b->n_buffers);
    b->fill = GLOW_NEW_ARRAY(b->scratch, glow_timeline_use *, b->n_buffers);
    each_use(b, count_use);
    for (uint32_t i = 0; i < b->n_buffers; i++)
        b->buffers[i].uses = b->fill[i] = GLOW_NEW_ARRAY(
            b->t->arena, glow_timeline_use, b->buffers[i].n_uses);
    each_use(b, put_use);
}

/* Spaces. */

static void
make_spaces(builder *b)
{
    glow_timeline *t = b->t;

    for (const glow_region *r = b->f->regions; r; r = r->next)
        t->n_spaces++;
    t->spaces = GLOW_NEW_ARRAY(t->arena, glow_timeline_space, t->n_spaces);
    t->n_spaces = 0;
    for (const glow_region *r = b->f->regions; r; r = r->next)
        t->spaces[t->n_spaces++] =
            (glow_timeline_space){.name = r->name, .region = r};
}

static int
by_offset(const void *x, const void *y)
{
    const glow_timeline_buffer *a = x, *b = y;

    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->node->id < b->node->id ? -1 : 1;
}

static void
measure(const glow_timeline *t, glow_timeline_space *s)
{
    int64_t live = 0,
            *change = GLOW_NEW_ARRAY(t->arena, int64_t, t->n_steps + 1);

    for (uint32_t i = 0; i < s->n_buffers; i++) {
        const glow_timeline_buffer *b = &s->buffers[i];

        change[b->from] = glow_add_most(change[b->from], b->size);
        change[b->to] = glow_add_most(change[b->to], -b->size);
    }
    s->live = change;
    for (uint32_t i = 0; i < t->n_steps; i++) {
        s->live[i] = live = glow_add_most(live, change[i]);
        if (live > s->live[s->busiest])
            s->busiest = i;
    }
}

/* Distributes the buffers to their spaces. */
static void
fill_space(builder *b, uint32_t space)
{
    glow_timeline_space *s = &b->t->spaces[space];
    glow_lifetime *lives =
        GLOW_NEW_ARRAY(b->scratch, glow_lifetime, b->n_buffers);

    for (uint32_t i = 0; i < b->n_buffers; i++)
        s->n_buffers += b->space[i] == space;
    s->buffers =
        GLOW_NEW_ARRAY(b->t->arena, glow_timeline_buffer, s->n_buffers);
    s->n_buffers = 0;
    for (uint32_t i = 0; i < b->n_buffers; i++) {
        if (b->space[i] != space)
            continue;
        lives[s->n_buffers] = b->lives[i];
        s->buffers[s->n_buffers++] = b->buffers[i];
    }
    s->bound = glow_place_bound(b->scratch, lives, s->n_buffers);
    glow_sort(s->buffers, s->n_buffers, sizeof *s->buffers, by_offset);
    measure(b->t, s);
}

glow_timeline *
glow_timeline_of(glow_arena *a, glow_func *f)
{
    glow_timeline *t = GLOW_NEW(a, glow_timeline);
    builder b = {.t = t, .f = f, .scratch = glow_arena_new()};

    *t = (glow_timeline){.f = f, .arena = a};
    t->steps = GLOW_NEW_ARRAY(a, const glow_node *, f->count);
    b.buffers = GLOW_NEW_ARRAY(b.scratch, glow_timeline_buffer, f->count);
    b.lives = GLOW_NEW_ARRAY(b.scratch, glow_lifetime, f->count);
    b.space = GLOW_NEW_ARRAY(b.scratch, uint32_t, f->count);
    make_spaces(&b);
    number(&b);
    settle(&b);
    find_uses(&b);
    for (uint32_t i = 0; i < t->n_spaces; i++)
        fill_space(&b, i);
    glow_arena_free(b.scratch);
    return t;
}
