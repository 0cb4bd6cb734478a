/*
 * Compaction of a graph in memory: node after node in the order of the
 * function, each with its arrays, results and uses.
 *
 * Passes allocate new nodes behind all older ones, whatever their position in
 * the function.  After a few passes a walk over a large graph misses the cache
 * at each node; after compaction the hardware prefetches the nodes in order.
 *
 * Every node is copied, then every pointer to a node is redirected to its copy;
 * the old nodes stay in the arena of the module, unused.  Ids, names and the
 * order of uses stay.  Linear in the nodes and in the uses of the module's
 * storage.
 */

#include "glow/graph.h"

/* Smaller graphs fit the caches in any order. */
enum { LEAST = 512 };

typedef struct tidier {
    glow_func *func;
    glow_arena *arena;  /* of the module */
    glow_node **copies; /* by id */
} tidier;

/*
 * The number of use records of a node: one for each operand and its predicate.
 */
static size_t
use_count(const glow_node *n)
{
    return (size_t)n->n_in + 1;
}

static void
copy_node(tidier *t, const glow_node *n, glow_node *to)
{
    glow_value *results = GLOW_NEW_ARRAY(t->arena, glow_value, n->n_out);

    *to = *n;
    to->in = GLOW_NEW_ARRAY(t->arena, glow_value *, n->n_in + n->n_out);
    to->out = to->in + n->n_in;
    for (int i = 0; i < n->n_out; i++) {
        results[i] = *n->out[i];
        results[i].def = to;
        to->out[i] = &results[i];
    }
    to->uses =
        glow_arena_copy(t->arena, n->uses, use_count(n) * sizeof *n->uses);
    t->copies[n->id] = to;
}

static glow_node *
moved_node(const tidier *t, const glow_node *n)
{
    return n ? t->copies[n->id] : NULL;
}

static glow_value *
moved_value(const tidier *t, glow_value *v)
{
    return v && v->def ? t->copies[v->def->id]->out[v->index] : v;
}

/*
 * The new record of use `u`; uses of storage by other functions stay where they
 * are.
 */
static glow_use *
moved_use(const tidier *t, glow_use *u)
{
    return u->user->func == t->func
               ? t->copies[u->user->id]->uses + (u - u->user->uses)
               : u;
}

/* Redirects the use list of `v` from the old records to the new ones. */
static void
lead_uses(const tidier *t, glow_value *v)
{
    for (glow_use **at = &v->uses; *at; at = &(*at)->next) {
        *at = moved_use(t, *at);
        (*at)->link = at;
    }
}

static void
lead_node(const tidier *t, const glow_node *n)
{
    glow_node *to = t->copies[n->id];

    to->prev = moved_node(t, n->prev);
    to->next = moved_node(t, n->next);
    to->pred = moved_value(t, n->pred);
    for (int i = 0; i < n->n_in; i++)
        to->in[i] = moved_value(t, n->in[i]);
    for (int i = 0; i < n->n_out; i++)
        lead_uses(t, to->out[i]);
}

/*
 * Redirects the users last, because moved_use finds the copy of a use by its
 * old user.
 */
static void
lead_users(glow_node *n)
{
    for (size_t i = 0; i < use_count(n); i++) {
        glow_use *u = &n->uses[i];

        u->user = n;
        u->value = u->index < 0 ? n->pred : n->in[u->index];
    }
    glow_map_set(n->func->names, n->name, n);
}

void
glow_func_tidy(glow_func *f)
{
    uint32_t made = f->next_id - f->tidy_id;
    tidier t = {.func = f, .arena = f->module->arena};
    glow_arena *scratch;
    unsigned char *room;

    if (f->is_program || f->count < LEAST || made < (uint32_t)f->count)
        return;
    scratch = glow_arena_new();
    t.copies = GLOW_NEW_ARRAY(scratch, glow_node *, f->next_id);
    room = glow_arena_alloc_array(t.arena, (size_t)f->count, GLOW_NODE_ROOM);
    GLOW_FOR_EACH_NODE(n, f) {
        copy_node(&t, n, (glow_node *)(void *)room);
        room += GLOW_NODE_ROOM;
    }
    GLOW_FOR_EACH_NODE(n, f)
        lead_node(&t, n);
    GLOW_FOR_EACH_STORAGE(s, f->module)
        lead_uses(&t, &s->value);
    f->first = moved_node(&t, f->first);
    f->last = moved_node(&t, f->last);
    GLOW_FOR_EACH_NODE(n, f)
        lead_users(n);
    f->tidy_id = f->next_id;
    glow_arena_free(scratch);
}
