/* Live ranges of buffers, by one walk over a program. */

#include "glow/lifetime.h"

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
