/*
 * Evaluation of a program: instructions in order, over bytes.
 *
 * A buffer without a place has bytes of its own; placed buffers share the bytes
 * of their region, so that buffers that overlap by mistake overwrite each other
 * here as in compiled code.  A shadow byte records whether each byte was
 * written.  Alloc and dealloc, and being the result of an instruction (unless
 * it works in place) or its scratch, make bytes unwritten; reading an unwritten
 * byte is an error.  A placeholder is initially written if the program reads it
 * before it writes it.
 *
 * Regions of constants alone are not allocated; the constants are read where
 * they are.  With queues and a seed, instructions run in an order that tokens allow
 * (glow/engines.h) and all allocs are live throughout, so that an instruction which
 * should wait, and does not, finds bytes that are not written yet, or no longer the
 * same.  In a shadow run elements have other sizes than in their places, so
 * each buffer has bytes of its own.  Predicates are hints about results that do
 * not matter; everything is computed.
 */

#include <assert.h>
#include <string.h>

#include "glow/engines.h"
#include "ir/eval_run.h"

typedef struct memory {
    uint8_t *bytes;
    uint8_t *written;        /* 1 for each written byte; NULL: all are */
    glow_data *data, *marks; /* owners of the two; NULL: owned elsewhere */
} memory;

typedef struct region {
    const glow_region *region;
    memory memory; /* of regions with other buffers than constants */
    struct region *next;
} region;

typedef struct buffer {
    memory memory;   /* bytes NULL: before alloc or after dealloc */
    glow_item *item; /* of a weight */
    size_t elem;     /* bytes of an element */
    bool is_changed;
} buffer;

typedef struct program_run {
    glow_eval_run *run;
    buffer *buffers; /* by the id of alloc or weight */
    region *regions;
} program_run;

static memory
memory_new(size_t size)
{
    memory m = {.data = glow_data_new(size), .marks = glow_data_new(size)};

    m.bytes = glow_data_bytes(m.data);
    m.written = glow_data_bytes(m.marks);
    return m;
}

static void
memory_end(memory *m)
{
    glow_data_unref(m->data);
    glow_data_unref(m->marks);
    *m = (memory){0};
}

/* Reading and writing through extents. */

static buffer *
buffer_of(const program_run *p, glow_extent w)
{
    return &p->buffers[w.base->id];
}

static void
mark(const program_run *p, glow_extent w, bool written)
{
    const buffer *b = buffer_of(p, w);
    glow_strips runs = glow_extent_strips(w);

    for (int64_t k = 0; b->memory.written && k < runs.count; k++)
        memset(b->memory.written + (size_t)glow_strip_at(&runs, k) * b->elem,
               written, (size_t)runs.length * b->elem);
}

/* The first byte of the base that `w` covers and that is unwritten, or -1. */
static int64_t
find_unwritten(const program_run *p, glow_extent w)
{
    const buffer *b = buffer_of(p, w);
    glow_strips runs = glow_extent_strips(w);

    for (int64_t k = 0; b->memory.written && k < runs.count; k++) {
        const uint8_t *from =
            b->memory.written + (size_t)glow_strip_at(&runs, k) * b->elem;
        const uint8_t *hole = memchr(from, 0, (size_t)runs.length * b->elem);

        if (hole)
            return hole - b->memory.written;
    }
    return -1;
}

/*
 * Loads the elements of `v` for `n` (NULL: for the caller of the program): in
 * place if they are contiguous, else copied into the arena of the node.
 */
static bool
load(const program_run *p, const glow_node *n, const glow_value *v,
     glow_item *out)
{
    glow_eval_run *r = p->run;
    glow_extent w = glow_extent_of(v);
    const buffer *b = buffer_of(p, w);
    glow_strips runs = glow_extent_strips(w);
    int64_t hole = b->memory.bytes ? find_unwritten(p, w)
                   : runs.count    ? 0
                                : -1; /* of an empty tensor: nothing is read */

    if (hole >= 0)
        return glow_error_at(r->ctx, n ? n->span : w.base->span, "E0501",
                             "%s%s%s reads byte %lld of %%%s, which was never "
                             "written",
                             n ? n->op->name : "the caller", n ? " %" : "",
                             n ? n->name : "", (long long)hole, w.base->name);

    out->tensor.type = glow_eval_type(r, v->type);
    if (runs.count == 1) {
        out->tensor.data =
            b->memory.bytes + (size_t)glow_strip_at(&runs, 0) * b->elem;
        out->lasts = b->item && b->item->lasts;
        return true;
    }

    uint8_t *to = glow_arena_alloc(
        r->scratch, (size_t)glow_type_bytes(out->tensor.type) + 1);
    size_t size = (size_t)runs.length * b->elem;

    for (int64_t k = 0; k < runs.count; k++)
        memcpy(to + (size_t)k * size,
               b->memory.bytes + (size_t)glow_strip_at(&runs, k) * b->elem,
               size);
    out->tensor.data = to;
    return true;
}

static void
store(const program_run *p, const glow_value *v, const glow_tensor *t)
{
    glow_extent w = glow_extent_of(v);
    buffer *b = buffer_of(p, w);
    glow_strips runs = glow_extent_strips(w);
    size_t size = (size_t)runs.length * b->elem;

    for (int64_t k = 0; k < runs.count; k++)
        memcpy(b->memory.bytes + (size_t)glow_strip_at(&runs, k) * b->elem,
               (const uint8_t *)t->data + (size_t)k * size, size);
    mark(p, w, true);
    b->is_changed = true;
}

/* Buffers. */

static bool
is_constant(const glow_node *n)
{
    return glow_is(n, &glow_op_weight) && n->out[0]->storage->is_constant;
}

static bool
is_placed(const program_run *p, const glow_node *n)
{
    return p->run->f->placed && n->place && !p->run->options->shadow;
}

static void
make_regions(program_run *p)
{
    GLOW_FOR_EACH_NODE(n, p->run->f) {
        region *r = p->regions;

        if (!is_placed(p, n) || is_constant(n))
            continue;
        while (r && r->region != n->place->region)
            r = r->next;
        if (r)
            continue;
        r = GLOW_NEW(p->run->arena, region);
        r->region = n->place->region;
        r->memory = memory_new((size_t)r->region->size);
        r->next = p->regions;
        p->regions = r;
    }
}

/* The bytes of alloc or weight `n`: in its region, or its own. */
static memory
bytes_for(const program_run *p, const glow_node *n, size_t elem)
{
    const glow_type *t = n->out[0]->type;
    const region *r = p->regions;

    while (r && !(is_placed(p, n) && r->region == n->place->region))
        r = r->next;
    if (!r)
        return memory_new((size_t)glow_type_bytes(t) /
                          (size_t)glow_kind_get(t->elem)->bytes * elem);

    return (memory){.bytes = r->memory.bytes + n->place->offset,
                    .written = r->memory.written + n->place->offset};
}

static buffer *
open_buffer(program_run *p, const glow_node *n)
{
    const glow_type *held = glow_eval_type(p->run, n->out[0]->type);
    buffer *b = &p->buffers[n->id];

    b->elem = (size_t)glow_kind_get(held->elem)->bytes;
    b->memory = bytes_for(p, n, b->elem);
    mark(p, glow_extent_of(n->out[0]), false);
    return b;
}

static void
close_buffer(program_run *p, const glow_value *v)
{
    buffer *b = buffer_of(p, glow_extent_of(v));

    if (b->memory.bytes)
        mark(p, glow_extent_of(v), false);
    memory_end(&b->memory);
}

static bool
is_in_a_region(const program_run *p, const glow_node *n)
{
    for (const region *r = p->regions; r; r = r->next)
        if (is_placed(p, n) && r->region == n->place->region)
            return true;
    return false;
}

/* A placeholder that nothing reads or writes needs no tensor. */
static bool
is_idle(const program_run *p, const glow_storage *s)
{
    return !s->is_constant && !glow_map_get(p->run->bound, s->name) &&
           !glow_func_reads(p->run->f, s) && !glow_func_writes(p->run->f, s);
}

static bool
open_weight(program_run *p, const glow_node *n)
{
    glow_storage *s = n->out[0]->storage;
    glow_item *item = glow_eval_storage(p->run, s);
    buffer *b = &p->buffers[n->id];

    if (!item)
        return false;
    if (s->is_constant && n->out[0]->type->strides.rank == 0 &&
        !is_in_a_region(p, n)) {
        b->elem = (size_t)glow_kind_get(item->tensor.type->elem)->bytes;
        b->memory = (memory){.bytes = item->tensor.data};
        b->item = item;
        return true;
    }
    b = open_buffer(p, n);
    b->item = s->is_constant ? NULL : item;
    if (s->is_constant || glow_func_reads(p->run->f, s)) {
        store(p, n->out[0], &item->tensor);
        b->is_changed = false;
    }
    return true;
}

/* Copies the placeholders that the program wrote back to their tensors. */
static bool
close_weights(program_run *p)
{
    bool ok = true;

    GLOW_FOR_EACH_NODE(n, p->run->f) {
        const buffer *b = &p->buffers[n->id];
        glow_item now = {0};

        if (!glow_is(n, &glow_op_weight) || is_constant(n) || !b->is_changed)
            continue;
        if (!load(p, NULL, n->out[0], &now))
            ok = false;
        else
            glow_tensor_copy(&b->item->tensor, &now.tensor);
        glow_arena_reset(p->run->scratch);
    }
    return ok;
}

/* Instructions. */

/*
 * True if result `i` of `n` shares the buffer of an operand, as the operator
 * allows.
 */
static bool
is_in_place(const glow_node *n, int i)
{
    for (int j = 0; j < n->n_in; j++)
        if (glow_is_inplace(n, i, j))
            return true;
    return false;
}

static bool
run_instr(program_run *p, const glow_node *n)
{
    glow_eval_run *r = p->run;
    glow_item **in = GLOW_NEW_ARRAY(r->scratch, glow_item *, n->n_in);
    glow_item *out = GLOW_NEW_ARRAY(r->arena, glow_item, n->n_out);

    for (int i = 0; i < n->n_out; i++)
        if (!is_in_place(n, i))
            mark(p, glow_extent_of(n->out[i]), false);
    if (n->scratch)
        mark(p, glow_extent_of(n->scratch), false);
    for (int i = 0; i < n->n_in; i++) {
        if (!n->in[i])
            continue;
        in[i] = GLOW_NEW(r->scratch, glow_item);
        if (!load(p, n, n->in[i], in[i]))
            return false;
    }

    bool ok = glow_eval_compute(r, n, in, out);

    for (int i = 0; i < n->n_out; i++) {
        if (ok)
            store(p, n->out[i], &out[i].tensor);
        glow_item_end(&out[i]);
    }
    return ok;
}

/*
 * True if `weight` holds a value before the program runs.  Weights that do not
 * are opened first, because they may be placed over weights that do.
 */
static bool
holds_something(const glow_func *f, const glow_node *weight)
{
    const glow_storage *s = weight->out[0]->storage;

    return s->is_constant || glow_func_reads(f, s);
}

static bool
run_node(program_run *p, const glow_node *n)
{
    if (glow_is(n, &glow_op_weight))
        return is_idle(p, n->out[0]->storage) || open_weight(p, n);
    if (glow_is(n, &glow_op_alloc))
        open_buffer(p, n);
    else if (glow_is(n, &glow_op_dealloc))
        close_buffer(p, n->out[0]);
    else if (!glow_is(n, &glow_op_tensorview))
        return run_instr(p, n);
    return true;
}

bool
glow_eval_program(glow_eval_run *r)
{
    program_run p = {.run = r};
    bool ok = true;

    const glow_node *const *order =
        r->options->seed ? glow_queue_order(r->arena, r->f, r->options->seed)
                         : NULL;

    p.buffers = GLOW_NEW_ARRAY(r->arena, buffer, r->f->next_id);
    make_regions(&p);
    for (const glow_node *n = r->f->first; n && order; n = n->next)
        if (glow_is(n, &glow_op_alloc))
            open_buffer(&p, n);
    for (int holds = 0; holds < 2; holds++)
        for (const glow_node *n = r->f->first; n && ok; n = n->next)
            if (glow_is(n, &glow_op_weight) &&
                holds_something(r->f, n) == holds)
                ok = run_node(&p, n);
    for (const glow_node *n = r->f->first; n && ok && !order; n = n->next)
        if (!glow_is(n, &glow_op_weight))
            ok = run_node(&p, n);
    for (; order && *order && ok; order++)
        ok = run_instr(&p, *order);
    ok = ok && close_weights(&p);

    GLOW_FOR_EACH_NODE(n, r->f)
        memory_end(&p.buffers[n->id].memory);
    for (region *g = p.regions; g; g = g->next)
        memory_end(&g->memory);
    return ok;
}
