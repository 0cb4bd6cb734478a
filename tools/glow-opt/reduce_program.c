/*
 * Delta debugging of a program: buffers become placeholders, which have values
 * before and are compared afterwards; then any set of instructions is a
 * program.  As for graphs, neighbourhoods of the failing rewrite are tried
 * first.
 */

#include <string.h>

#include "tools/glow-opt/bisect.h"

typedef struct subset {
    glow_func *func;
    bool *kept; /* of each node, by its id */
    uint32_t limit;
} subset;

/* Drops the places; passes that need them then fail differently. */
static bool
unplace(glow_module *m, void *user)
{
    glow_func *f = user;

    (void)m;
    if (!f->placed)
        return false;
    f->placed = false;
    f->regions = NULL;
    GLOW_FOR_EACH_NODE(n, f)
        n->place = NULL;
    return true;
}

static bool
is_frame(const glow_node *n)
{
    return n->op == &glow_op_alloc || n->op == &glow_op_dealloc ||
           n->op == &glow_op_weight || n->op == &glow_op_tensorview;
}

/* True if the buffer has no use other than its dealloc. */
static bool
is_idle(const glow_node *n)
{
    GLOW_FOR_EACH_USE(u, n->out[0])
        if (u->user->op != &glow_op_dealloc)
            return false;
    return true;
}

static void
erase_dealloc(const glow_node *buffer)
{
    for (glow_use *u = buffer->out[0]->uses, *next; u; u = next) {
        next = u->next;
        if (u->user->op == &glow_op_dealloc)
            glow_node_erase(u->user);
    }
}

/* Erases unused buffers and views. */
static void
sweep(glow_func *f)
{
    for (glow_node *n = f->last, *prev; n; n = prev) {
        prev = n->prev;
        if (n->op == &glow_op_tensorview && !n->out[0]->uses)
            glow_node_erase(n);
    }
    for (glow_node *n = f->first; n; n = n->next)
        if (n->op == &glow_op_alloc && is_idle(n))
            erase_dealloc(n);
    for (glow_node *n = f->last, *prev; n; n = prev) {
        prev = n->prev;
        if (is_frame(n) && n->op != &glow_op_dealloc && !n->out[0]->uses)
            glow_node_erase(n);
    }
    drop_unused_storage(f->module);
}

static bool
keep(glow_module *m, void *user)
{
    const subset *s = user;

    (void)m;
    GLOW_FOR_EACH_NODE(n, s->func)
        if (!is_frame(n) && n->id < s->limit && !s->kept[n->id])
            glow_node_erase(n);
    sweep(s->func);
    return true;
}

/* Buffers that become placeholders. */

typedef struct buffer {
    glow_func *func;
    const char *name; /* NULL: all */
} buffer;

static void
make_placeholder(glow_func *f, glow_node *n)
{
    glow_storage *s;
    glow_node *w;

    erase_dealloc(n);
    s = glow_placeholder_new(f->module, n->name, n->out[0]->type);
    w = glow_node_new(f, &glow_op_weight, n->name, NULL, 0, &s->value.type, 1,
                      NULL);
    w->out[0]->storage = s;
    glow_node_move_before(w, f->first);
    glow_replace_uses(n->out[0], w->out[0]);
    glow_node_erase(n);
}

static bool
make_placeholders(glow_module *m, void *user)
{
    const buffer *b = user;
    bool any = false;

    (void)m;
    for (glow_node *n = b->func->first, *next; n && !b->func->placed;
         n = next) {
        next = n->next;
        while (next && next->op == &glow_op_dealloc)
            next = next->next; /* it may be erased, too */
        if (n->op != &glow_op_alloc ||
            (b->name && strcmp(b->name, n->name) != 0))
            continue;
        make_placeholder(b->func, n);
        any = true;
    }
    return any;
}

/* Neighbourhoods of the rewrite's instructions. */

/* Grows the set by instructions that share a buffer with it. */
static void
grow(glow_arena *a, subset *s)
{
    bool *shared = GLOW_NEW_ARRAY(a, bool, s->limit + 1);

    for (int round = 0; round < 2; round++)
        GLOW_FOR_EACH_NODE(n, s->func) {
            for (int i = 0; i < n->n_in + n->n_out && !is_frame(n); i++) {
                glow_value *v = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
                uint32_t id = v ? glow_base_buffer(v)->def->id : s->limit;

                if (round == 0)
                    shared[id] |= s->kept[n->id] && v;
                else
                    s->kept[n->id] |= shared[id];
            }
        }
}

static void
zoom(reducer *r, glow_func *f, const char *names)
{
    glow_arena *a = r->run.o->tool.arena;
    subset s = {f, GLOW_NEW_ARRAY(a, bool, f->next_id + 1), f->next_id};
    bool any = false;

    while (names && *names) {
        size_t length = strcspn(names, "\n");
        const glow_node *n =
            glow_find_node(f, glow_arena_strndup(a, names, length));

        if (n && !is_frame(n))
            any = s.kept[n->id] = true;
        names += length + (names[length] == '\n');
    }
    for (int steps = 1; any && steps < f->count; steps *= 2) {
        if (reduce_try(r, keep, &s))
            return;
        for (int i = 0; i < steps; i++)
            grow(a, &s);
    }
}

void
reduce_program(reducer *r, glow_func *f, const char *names)
{
    subset s = {f, NULL, 0};

    reduce_try(r, unplace, f);
    reduce_try(r, make_placeholders, &(buffer){f, NULL});
    zoom(r, f, names);
    for (int before = -1; before != f->count && !reduce_is_spent(r);) {
        before = f->count;
        s.limit = f->next_id;
        s.kept = GLOW_NEW_ARRAY(r->run.o->tool.arena, bool, s.limit + 1);
        GLOW_FOR_EACH_NODE(n, f)
            s.kept[n->id] = !is_frame(n);
        reduce_set(r, s.kept, (int)s.limit, keep, &s);
        GLOW_FOR_EACH_NODE(n, f)
            if (n->op == &glow_op_alloc)
                reduce_try(r, make_placeholders, &(buffer){f, n->name});
    }
}
