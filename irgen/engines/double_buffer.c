/*
 * double-buffer: load the next piece while a unit works, and store the last one while it
 * works on.
 *
 *     copy @out %a, @in %x.0              copy @out %a, @in %x.0
 *     acme.mac @out %s, @in %a            copy @out %b, @in %x.1
 *     copy @out %y.0, @in %s         =>   acme.mac @out %s, @in %a
 *     copy @out %b, @in %x.1              acme.mac @out %t, @in %b
 *     acme.mac @out %t, @in %b            copy @out %y.0, @in %s
 *     copy @out %y.1, @in %t              copy @out %y.1, @in %t
 *
 * Buffers that are live at once have places apart, so that the queues need not wait
 * for one another.  A load moves up until the work behind it takes as long as its setup
 * and the loads there, but not over the first use of the load `slots` - 1 before it in
 * its scratchpad, not over a write of its source, and not where its bytes do not fit.  A
 * load in the queue of a unit, which no work hides, moves up to the load before it in that
 * queue, because their setups overlap.  A store moves down over the next work of a unit
 * that begins a buffer in the same scratchpad, if the bytes fit.
 */

#include "glow/ops.h"
#include "irgen/engines/cycles.h"
#include "irgen/engines/loads.h"

typedef struct buffer_options {
    int slots;
} buffer_options;

typedef struct mover {
    glow_pass_run *run;
    const glow_target *target;
    glow_arena *arena;
    glow_func *f;
    int slots;
    engine_work *work; /* by number of a node as it was first */
    glow_numbering numbers;
    bool changed;
} mover;

static engine_work *
work_of(const mover *m, const glow_node *n)
{
    return &m->work[glow_number_of(&m->numbers, n)];
}

/* True if `n` reads or, if it `writes`, writes bytes of `v`. */
static bool
meets(const glow_node *n, const glow_value *v, bool writes)
{
    glow_extent e = glow_extent_of(v);

    for (int i = 0; i < (writes ? n->n_out : n->n_in); i++) {
        const glow_value *x = writes ? n->out[i] : n->in[i];

        if (x && glow_base_buffer((glow_value *)x)->def == e.base &&
            glow_extents_meet(glow_extent_of(x), e))
            return true;
    }
    return false;
}

/* Loads. */

/* True if `n` defines the source of the load. */
static bool
defines_source(const glow_node *n, const glow_node *load)
{
    for (const glow_value *v = load->in[0]; v; v = v->def->in[0]) {
        if (v->def == n)
            return n->op != &glow_op_tensorview;
        if (v->def->op != &glow_op_tensorview)
            return false;
    }
    return false;
}

/* Moves the views that a load reads through, and its buffer, before `where`. */
static void
move_load(glow_node *load, glow_node *where)
{
    glow_node *views[16];
    int count = 0;

    for (glow_node *v = load->in[0]->def;
         v->op == &glow_op_tensorview && count < 16; v = v->in[0]->def)
        views[count++] = v;
    while (count > 0) {
        glow_node *v = views[--count], *n = where;

        while (n != load && n != v)
            n = n->next;
        if (n == v && v != where)
            glow_node_move_before(v, where);
    }
    glow_node_move_before(load->out[0]->def, where);
    glow_node_move_before(load, where);
}

/* Cycles from the first command of a transfer to its last byte, with nothing else. */
static double
latency(const engine_work *w)
{
    return (double)w->link->setup + glow_transfer_cycles(w);
}

/* True if `n` keeps the load of `bytes` from moving up over it. */
static bool
is_barrier(const space_load *l, const glow_node *n, const glow_node *load,
           int64_t bytes)
{
    return defines_source(n, load) || n->op == &glow_op_weight ||
           l->live[glow_number_of(&l->numbers, n)] >
               l->space->place.capacity - bytes ||
           (glow_is_work(n) && meets(n, load->in[0], true));
}

/* True if the queue of the load has a unit too, whose work hides nothing of it. */
static bool
holds_up_unit(const mover *m, const glow_node *load)
{
    for (size_t i = 0; i < m->target->n_units; i++)
        if (m->target->units[i].queue == work_of(m, load)->link->queue)
            return true;
    return false;
}

/*
 * The node behind the last load of the same queue, so that their setups overlap; NULL:
 * the load cannot be there.
 */
static glow_node *
find_batch(const mover *m, const space_load *l, glow_node *load)
{
    int64_t bytes = glow_space_bytes(l->space, load->out[0]->def);
    glow_node *start = NULL;

    for (glow_node *n = load->prev; n; n = n->prev) {
        const engine_work *w;

        if (n == load->out[0]->def)
            continue;
        if (is_barrier(l, n, load, bytes))
            return n->op == &glow_op_weight ? start : NULL;
        if (!glow_is_work(n))
            continue;
        w = work_of(m, n);
        if (w->link && w->link->queue == work_of(m, load)->link->queue)
            return start;
        start = n;
    }
    return start;
}

/*
 * The node before which the load may stand, at or after `first`: as late as hides it.
 */
static glow_node *
find_start(const mover *m, const space_load *l, glow_node *load,
           const glow_node *first)
{
    int64_t bytes = glow_space_bytes(l->space, load->out[0]->def);
    double wait = latency(work_of(m, load)), hidden = 0;
    glow_node *start = NULL;

    for (glow_node *n = load->prev; n && hidden < wait; n = n->prev) {
        const engine_work *w;

        if (n == load->out[0]->def)
            continue;
        if (is_barrier(l, n, load, bytes))
            break;
        if (!glow_is_work(n))
            continue;
        w = work_of(m, n);
        if (w->link && w->link->queue == work_of(m, load)->link->queue)
            wait += glow_transfer_cycles(w);
        else if (w->unit)
            hidden += w->cycles;
        if (w->unit)
            start = n;
        if (n == first)
            break;
    }
    return start;
}

/* The first work that uses the buffer of a load. */
static glow_node *
first_user(const glow_node *load)
{
    const glow_value *v = load->out[0];

    for (glow_node *n = load->next; n; n = n->next)
        for (int i = 0; i < n->n_in && glow_is_work(n); i++)
            if (n->in[i] == v)
                return n;
    return NULL;
}

static void
move_loads(mover *m, const glow_space *s)
{
    space_load *l = glow_space_load(m->arena, m->target, m->f, s);
    glow_node **loads = GLOW_NEW_ARRAY(m->arena, glow_node *, m->f->count);
    int count = 0;

    GLOW_FOR_EACH_NODE(n, m->f) {
        if (glow_is_load(m->target, n) && work_of(m, n)->link &&
            glow_buffer_space(m->target, n->out[0]) == s)
            loads[count++] = n;
    }
    for (int i = 0; i < count; i++) {
        int before = i - (m->slots - 1);
        glow_node *first = before >= 0 ? first_user(loads[before]) : NULL;
        glow_node *load = loads[i], *start = NULL;

        if (holds_up_unit(m, load))
            start = find_batch(m, l, load);
        if (!start)
            start = find_start(m, l, load, first);
        if (!start || !glow_run_may_rewrite(m->run))
            continue;
        glow_space_add(l, glow_number_of(&l->numbers, start),
                       glow_number_of(&l->numbers, load->out[0]->def),
                       glow_space_bytes(s, load->out[0]->def));
        /* later questions ask for the bytes where it stands now */
        move_load(load, start);
        glow_number_set(&l->numbers, load, glow_number_of(&l->numbers, start));
        glow_number_set(&l->numbers, load->out[0]->def,
                        glow_number_of(&l->numbers, start));
        glow_run_count(m->run, "loads", 1);
        m->changed = true;
    }
}

/* Stores. */

/* The scratchpad that a store reads a buffer of, which ends behind it. */
static glow_node *
stored_buffer(const mover *m, const glow_node *store)
{
    for (int i = 0; i < store->n_in; i++) {
        glow_node *b =
            store->in[i] ? glow_base_buffer(store->in[i])->def : NULL;
        const glow_space *s =
            b ? glow_buffer_space(m->target, b->out[0]) : NULL;

        if (s && !s->is_host && b->op == &glow_op_alloc &&
            b->out[0] == store->in[i])
            return b;
    }
    return NULL;
}

/* True if `n` writes or frees an operand of the store, or uses its result. */
static bool
holds_back(const glow_node *n, const glow_node *store)
{
    for (int i = 0; i < store->n_in; i++)
        if (store->in[i] && meets(n, store->in[i], true))
            return true;
    return meets(n, store->out[0], false) || meets(n, store->out[0], true);
}

/* The last node over which the store may move: work that begins a buffer in `s`. */
static glow_node *
find_end(const mover *m, const space_load *l, const glow_node *store,
         const glow_node *buffer)
{
    const glow_node *free = glow_dealloc_of(buffer);
    int64_t room =
        l->space->place.capacity - glow_space_bytes(l->space, buffer);
    bool begun = false, is_freed = false;

    for (glow_node *n = store->next; n; n = n->next) {
        is_freed |= n == free;
        if (n == free)
            continue;
        if (is_freed && l->live[glow_number_of(&l->numbers, n)] > room)
            return NULL;
        if (n->op == &glow_op_alloc && !glow_is_token(n) &&
            glow_buffer_space(m->target, n->out[0]) == l->space)
            begun = true;
        if (!glow_is_work(n) && n->op != &glow_op_dealloc)
            continue;
        if (holds_back(n, store))
            return NULL;
        if (begun && work_of(m, n)->unit)
            return n;
    }
    return NULL;
}

static void
move_stores(mover *m, const glow_space *s)
{
    space_load *l = glow_space_load(m->arena, m->target, m->f, s);
    glow_node **stores = GLOW_NEW_ARRAY(m->arena, glow_node *, m->f->count);
    int count = 0;

    GLOW_FOR_EACH_NODE(n, m->f)
        if (glow_is_store(m->target, n) && work_of(m, n)->link)
            stores[count++] = n;
    for (int i = 0; i < count; i++) {
        glow_node *n = stores[i], *buffer = stored_buffer(m, n), *end, *free;

        if (!buffer || glow_buffer_space(m->target, buffer->out[0]) != s)
            continue;
        end = find_end(m, l, n, buffer);
        free = glow_dealloc_of(buffer);
        if (!end || !free || !glow_run_may_rewrite(m->run))
            continue;
        if (glow_number_of(&l->numbers, free) <
            glow_number_of(&l->numbers, end)) {
            glow_space_add(l, glow_number_of(&l->numbers, free) + 1,
                           glow_number_of(&l->numbers, end) + 1,
                           glow_space_bytes(s, buffer));
            glow_node_move_after(free, end);
        }
        glow_node_move_after(n, end);
        glow_run_count(m->run, "stores", 1);
        m->changed = true;
    }
}

static glow_result
run(glow_pass_run *run, glow_func *f)
{
    const buffer_options *o = glow_run_options(run);
    mover m = {.run = run,
               .target = glow_run_target(run),
               .arena = glow_run_scratch(run),
               .f = f,
               .slots = o->slots < 2 ? 2 : o->slots};
    uint32_t i = 0;

    if (glow_is_body(f))
        return GLOW_UNCHANGED;
    m.numbers = glow_number_nodes(m.arena, f);
    m.work = GLOW_NEW_ARRAY(m.arena, engine_work, f->count);
    GLOW_FOR_EACH_NODE(n, f)
        m.work[i++] = glow_engine_work(m.target, n);
    for (size_t k = 0; k < m.target->n_spaces; k++)
        if (!m.target->spaces[k].is_host)
            move_stores(&m, &m.target->spaces[k]);
    for (size_t k = 0; k < m.target->n_spaces; k++)
        if (!m.target->spaces[k].is_host)
            move_loads(&m, &m.target->spaces[k]);
    return m.changed ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_double_buffer = {
    .name = "double-buffer",
    .summary = "load and store in scratchpads while units work",
    .level = GLOW_PROGRAM,
    .unplaces = true,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(buffer_options, slots, GLOW_INT,
                                   "loads of a scratchpad that are in it at "
                                   "once: 2 or more")},
    .defaults = &(const buffer_options){.slots = 2},
    .run = run,
    .source = "latency hiding of VTA (arXiv 1807.04188)",
};
