/*
 * Beam search over down-sets: the best `width` states of each size are kept.
 *
 * States are compared by the peak on their path, then by live bytes.  Equal sets
 * are one state, with the lower peak.  A task that fits under that peak and does
 * not increase the live bytes runs at once, without alternatives, which loses no
 * order (best_first.c, chain).
 *
 * A state is stored as its parent and a task.  States are visited in the order
 * of their parents, so that the walk between them is short.  Memory is linear
 * in width times tasks, time in that times the number of ready tasks.
 */

#include <stdlib.h>
#include <string.h>

#include "irgen/schedule/searches.h"
#include "irgen/schedule/states.h"

typedef struct state {
    uint64_t hash[2]; /* of the tasks that have run */
    int64_t peak, live;
    uint32_t parent, task;
} state;

typedef struct search {
    glow_arena *a;
    glow_order_beam *beam;
    glow_order_walk *walk;
    state *kept; /* level by level; the root first */
    size_t n_kept, cap_kept;
    state *next; /* candidates of the next level */
    size_t n_next, cap_next;
    uint32_t *table; /* 1 + states of the next level that are kept, by hash */
    size_t slots;
    uint32_t at, level; /* the walk's state */
    uint32_t *path;
} search;

/* Moves the walk to a state of `level`. */
static void
go_to(search *s, uint32_t to, uint32_t level)
{
    uint32_t n = 0;

    while (s->at != to) {
        if (s->level >= level) {
            glow_order_undo(s->walk, s->kept[s->at].task);
            s->at = s->kept[s->at].parent;
            s->level--;
        } else {
            s->path[n++] = to;
            to = s->kept[to].parent;
            level--;
        }
        s->beam->steps--;
    }
    for (; n > 0; s->level++) {
        s->at = s->path[--n];
        glow_order_do(s->walk, s->kept[s->at].task);
    }
}

static void
offer(search *s, uint32_t task, glow_order_effect e)
{
    const state *parent = &s->kept[s->at];
    int64_t peak = s->walk->live + e.during;
    state x = {.peak = peak > parent->peak ? peak : parent->peak,
               .live = s->walk->live + e.after,
               .parent = s->at,
               .task = task};

    if (x.peak >= s->beam->incumbent)
        return;
    glow_order_hash(parent->hash, task, x.hash);
    s->next =
        glow_arena_grow(s->a, s->next, s->n_next, &s->cap_next, sizeof(state));
    s->next[s->n_next++] = x;
}

static void
expand(search *s)
{
    glow_order_walk *w = s->walk;
    size_t first = s->n_next;

    for (uint32_t k = 0; k < w->n_ready; k++) {
        glow_order_effect e = glow_order_try(w, w->ready[k]);

        if (e.after <= 0 && w->live + e.during <= s->kept[s->at].peak) {
            s->n_next = first;
            offer(s, w->ready[k], e);
            break;
        }
        offer(s, w->ready[k], e);
    }
    s->beam->steps -= w->n_ready;
}

static int
by_worth(const void *a, const void *b)
{
    const state *x = a, *y = b;

    if (x->peak != y->peak)
        return x->peak < y->peak ? -1 : 1;
    if (x->live != y->live)
        return x->live < y->live ? -1 : 1;
    if (x->hash[0] != y->hash[0])
        return x->hash[0] < y->hash[0] ? -1 : 1;
    return x->parent < y->parent ? -1 : x->parent > y->parent;
}

static int
by_parent(const void *a, const void *b)
{
    const state *x = a, *y = b;

    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    return x->task < y->task ? -1 : x->task > y->task;
}

/* Inserts the set of `x`; false if it is in the table already. */
static bool
is_new(search *s, const state *x, uint32_t number)
{
    size_t k = x->hash[0] & (s->slots - 1);

    for (; s->table[k]; k = (k + 1) & (s->slots - 1)) {
        const state *y = &s->next[s->table[k] - 1];

        if (y->hash[0] == x->hash[0] && y->hash[1] == x->hash[1])
            return false;
    }
    s->table[k] = number + 1;
    return true;
}

/* Keeps the best candidates. */
static void
keep(search *s)
{
    uint32_t n = 0;

    glow_sort(s->next, s->n_next, sizeof(state), by_worth);
    memset(s->table, 0, s->slots * sizeof(*s->table));
    for (size_t k = 0; k < s->n_next && n < s->beam->width; k++)
        if (is_new(s, &s->next[k], n))
            s->next[n++] = s->next[k];
    glow_sort(s->next, n, sizeof(state), by_parent);
    for (uint32_t k = 0; k < n; k++) {
        s->kept = glow_arena_grow(s->a, s->kept, s->n_kept, &s->cap_kept,
                                  sizeof(state));
        s->kept[s->n_kept++] = s->next[k];
    }
}

/* Writes the order of the best state from `first` on. */
static void
take(search *s, size_t first)
{
    size_t best = first;

    for (size_t k = first + 1; k < s->n_kept; k++)
        if (by_worth(&s->kept[k], &s->kept[best]) < 0)
            best = k;
    for (uint32_t k = s->beam->n_tasks; k-- > 0;) {
        s->beam->tasks[k] = s->kept[best].task;
        best = s->kept[best].parent;
    }
}

bool
glow_order_beam_run(glow_arena *a, glow_order_beam *beam)
{
    search s = {.a = a, .beam = beam, .walk = beam->walk, .slots = 1};
    state root = {.peak = beam->floor, .live = beam->walk->live};
    size_t first = 0, end = 1;

    while (s.slots < 2 * (size_t)beam->width)
        s.slots *= 2;
    s.table = GLOW_NEW_ARRAY(a, uint32_t, s.slots);
    s.path = GLOW_NEW_ARRAY(a, uint32_t, (size_t)beam->n_tasks + 1);
    s.kept = glow_arena_grow(a, NULL, 0, &s.cap_kept, sizeof(state));
    s.kept[s.n_kept++] = root;
    for (uint32_t k = 0; k < beam->n_tasks && first < end; k++) {
        s.n_next = 0;
        for (size_t x = first; x < end && beam->steps > 0; x++) {
            go_to(&s, (uint32_t)x, k);
            expand(&s);
        }
        if (beam->steps <= 0)
            s.n_next = 0;
        keep(&s);
        first = end;
        end = s.n_kept;
    }
    if (first < end)
        take(&s, first);
    go_to(&s, 0, 0);
    return first < end;
}
