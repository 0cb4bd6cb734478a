/*
 * Snapshots of functions.
 *
 * The copies are ordinary nodes, so that glow_print_node prints them, but
 * independent: their operands are copies too, and do not change when passes
 * rename, retype or erase the originals.
 */

#include "tools/glow-opt/shot.h"

#include "glow/number.h"

typedef struct taker {
    glow_arena *arena;
    shot_func *to;
    glow_numbering numbers;
    glow_value **outs; /* by number: the results of the copy */
} taker;

/* The copy of `v`; `v` itself if it is storage. */
static glow_value *
copy_of(const taker *t, glow_value *v)
{
    return v && v->def ? t->outs[glow_number_of(&t->numbers, v->def)] + v->index
                       : v;
}

/* Results that the node defines itself; types are kept as they are now. */
static void
take_results(taker *t, const glow_node *n, int i)
{
    glow_value *copies = GLOW_NEW_ARRAY(t->arena, glow_value, n->n_out + 1);

    for (int r = 0; r < n->n_out; r++) {
        copies[r] = *n->out[r];
        copies[r].def = &t->to->nodes[i];
    }
    t->outs[i] = copies;
}

static void
take_node(taker *t, const glow_node *n, int i)
{
    glow_node *copy = &t->to->nodes[i];
    bool own = glow_defines(n);

    *copy = *n;
    copy->func = &t->to->func;
    copy->in = GLOW_NEW_ARRAY(t->arena, glow_value *, n->n_in + 1);
    copy->out = GLOW_NEW_ARRAY(t->arena, glow_value *, n->n_out + 1);
    for (int k = 0; k < n->n_in; k++)
        copy->in[k] = copy_of(t, n->in[k]);
    for (int r = 0; r < n->n_out; r++)
        copy->out[r] = own ? &t->outs[i][r] : copy_of(t, n->out[r]);
    copy->pred = copy_of(t, n->pred);
    copy->scratch = copy_of(t, n->scratch);
    glow_map_set(t->to->by_name, copy->name, copy);
}

static shot_func *
take_func(glow_arena *a, glow_func *f)
{
    shot_func *s = GLOW_NEW(a, shot_func);
    taker t = {.arena = a, .to = s};
    int i = 0;

    s->func = *f;
    s->count = f->count;
    s->nodes = GLOW_NEW_ARRAY(a, glow_node, f->count + 1);
    s->by_name = glow_map_new(a);
    t.outs = GLOW_NEW_ARRAY(a, glow_value *, f->count + 1);
    t.numbers = glow_number_nodes(a, f);
    GLOW_FOR_EACH_NODE(n, f)
        take_results(&t, n, i++);
    i = 0;
    GLOW_FOR_EACH_NODE(n, f)
        take_node(&t, n, i++);
    return s;
}

shot *
shot_take(glow_arena *a, glow_module *m, const glow_func *only)
{
    shot *s = GLOW_NEW(a, shot);
    shot_func **link = &s->funcs;
    size_t cap = 0;

    s->by_name = glow_map_new(a);
    GLOW_FOR_EACH_FUNC(f, m)
        if (!only || f == only) {
            *link = take_func(a, f);
            link = &(*link)->next;
        }
    GLOW_FOR_EACH_STORAGE(v, m) {
        s->storage = glow_arena_grow(a, s->storage, s->n_storage, &cap,
                                     sizeof *s->storage);
        s->storage[s->n_storage++] = *v;
    }
    for (size_t i = 0; i < s->n_storage; i++)
        glow_map_set(s->by_name, s->storage[i].name, &s->storage[i]);
    return s;
}
