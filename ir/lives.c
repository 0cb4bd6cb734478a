/* Live ranges of buffers, by one walk over a program. */

#include "glow/lifetime.h"

#include "glow/engines.h"

typedef struct walker {
    const glow_numbering *numbers;
    glow_life *lives;
    bool *seen;    /* by number: an instruction has used it */
    bool *written; /* an instruction has written to it */
    int64_t *last; /* the last instruction that used it */
    int64_t now;
} walker;

static bool
is_placeholder(const glow_node *n)
{
    return n->op == &glow_op_weight && !n->out[0]->storage->is_constant;
}

static void
note_use(walker *w, glow_value *v, bool writes, bool always)
{
    const glow_node *base = v ? glow_base_buffer(v)->def : NULL;
    uint32_t i;

    if (!base) /* omitted; or storage itself, which the verifier refuses */
        return;
    i = glow_number_of(w->numbers, base);
    if (!w->seen[i] && writes && always && v->def == base &&
        is_placeholder(base))
        w->lives[i].begin = w->now;
    w->seen[i] = true;
    w->written[i] |= writes;
    w->last[i] = w->now;
    w->lives[i].uses++;
}

static void
note_uses(walker *w, const glow_node *n)
{
    for (int i = 0; i < n->n_in; i++)
        note_use(w, n->in[i], false, true);
    note_use(w, n->pred, false, true);
    for (int i = 0; i < n->n_out; i++)
        note_use(w, n->out[i], true, !n->pred);
    note_use(w, n->scratch, true, true);
}

/* Sets the live range of a placeholder, at the end of the walk. */
static void
end_life(walker *w, const glow_node *n)
{
    uint32_t i = glow_number_of(w->numbers, n);

    if (glow_is_body(n->func))
        w->lives[i].begin = 0;
    else if (w->seen[i] && !w->written[i])
        w->lives[i].end = w->last[i] + 1;
}

static void
step(walker *w, const glow_node *n)
{
    uint32_t i = glow_number_of(w->numbers, n);

    w->now = i;
    if (n->op == &glow_op_alloc || n->op == &glow_op_weight)
        w->lives[i] =
            (glow_life){n->op == &glow_op_alloc ? i : 0, INT64_MAX, 0};
    else if (n->op != &glow_op_dealloc && n->op != &glow_op_tensorview)
        note_uses(w, n);
    else if (n->op == &glow_op_dealloc &&
             glow_is(n->out[0]->def, &glow_op_alloc))
        w->lives[glow_number_of(w->numbers, n->out[0]->def)].end = w->now;
}

glow_life *
glow_program_lives(glow_arena *a, const glow_func *f,
                   const glow_numbering *numbers)
{
    walker w = {
        .numbers = numbers,
        .lives = GLOW_NEW_ARRAY(a, glow_life, f->count),
        .seen = GLOW_NEW_ARRAY(a, bool, f->count),
        .written = GLOW_NEW_ARRAY(a, bool, f->count),
        .last = GLOW_NEW_ARRAY(a, int64_t, f->count),
    };

    GLOW_FOR_EACH_NODE(n, f)
        step(&w, n);
    GLOW_FOR_EACH_NODE(n, f)
        if (is_placeholder(n))
            end_life(&w, n);
    return w.lives;
}

/* Programs with queues. */

/*
 * By number, then by engine: the least clock of that instruction and all behind it;
 * one row more than there are instructions.
 */
static int64_t *
least_clocks(glow_arena *a, const glow_engines *e)
{
    size_t count = (size_t)e->func->count, width = (size_t)e->count;
    int64_t *least = GLOW_NEW_ARRAY(a, int64_t, (count + 1) * width);

    for (size_t k = 0; k < width; k++)
        least[count * width + k] = INT64_MAX;
    for (size_t i = count; i-- > 0;)
        for (size_t k = 0; k < width; k++) {
            int64_t behind = least[(i + 1) * width + k];
            int64_t here = e->clocks[i * width + k];

            least[i * width + k] =
                e->engine[i] >= 0 && here < behind ? here : behind;
        }
    return least;
}

/* By engine: the last turn at which it uses `v` or a view of it. */
static void
find_turns(const glow_engines *e, const glow_value *v, int64_t *turns)
{
    GLOW_FOR_EACH_USE(u, v) {
        uint32_t i = glow_number_of(&e->numbers, u->user);

        if (u->user->op == &glow_op_tensorview)
            find_turns(e, u->user->out[0], turns);
        else if (e->engine[i] >= 0 && e->turn[i] > turns[e->engine[i]])
            turns[e->engine[i]] = e->turn[i];
    }
}

glow_life *
glow_queue_lives(glow_arena *a, const glow_func *f,
                 const glow_numbering *numbers)
{
    glow_life *lives = glow_program_lives(a, f, numbers);
    const glow_engines *e = glow_engines_of(a, f);
    const int64_t *least = least_clocks(a, e);
    int64_t *turns = GLOW_NEW_ARRAY(a, int64_t, e->count);

    GLOW_FOR_EACH_NODE(n, f) {
        glow_life *l = &lives[glow_number_of(numbers, n)];

        if (n->op != &glow_op_alloc || l->end == INT64_MAX)
            continue;
        for (int k = 0; k < e->count; k++)
            turns[k] = 0;
        find_turns(e, n->out[0], turns);
        for (int k = 0; k < e->count; k++)
            while (l->end < f->count && least[l->end * e->count + k] < turns[k])
                l->end++;
    }
    return lives;
}
