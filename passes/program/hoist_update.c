/*
 * hoist-update: move an in-place update right behind the writer of its buffer.
 *
 *     convolution @out %a.view, @in %x        convolution @out %a.view, @in %x
 *     convolution @out %b.view, @in %x   =>   relu @inout %a.view
 *     relu @inout %a.view                     convolution @out %b.view, @in %x
 *     relu @inout %b.view                     relu @inout %b.view
 *
 * A backend can then fuse both into one loop, or at least finds the written
 * bytes in the cache.  The pass moves an element-wise instruction whose only
 * operand is its own result, if the last access of any byte of that buffer
 * range is an unpredicated write of exactly that value, by an instruction with
 * one result.
 *
 * Schedules do not decide this order: live ranges of buffers are the same
 * either way.  Afterwards the update stands right behind its writer.
 *
 * Time: for each update at most MOST_LOOKS earlier accesses of its buffer.
 */

#include "glow/number.h"
#include "glow/ops.h"
#include "glow/pass.h"

#define MOST_LOOKS 64

/* An access; `before` is the previous access of the same base buffer. */
typedef struct access {
    glow_node *n;
    glow_value *v;
    bool writes;
    struct access *before;
} access;

typedef struct hoister {
    glow_arena *arena;
    glow_numbering numbers;
    access **last; /* by number of an alloc or a weight */
} hoister;

/* The last access of the base buffer of `v`. */
static access **
last_of(const hoister *h, glow_value *v)
{
    return &h->last[glow_number_of(&h->numbers, glow_base_buffer(v)->def)];
}

static void
note(hoister *h, glow_node *n, glow_value *v, bool writes)
{
    access **last;
    access *a;

    if (!v)
        return;
    last = last_of(h, v);
    a = GLOW_NEW(h->arena, access);
    *a = (access){n, v, writes, *last};
    *last = a;
}

static void
note_all(hoister *h, glow_node *n)
{
    if (n->op->traits & GLOW_STRUCTURAL)
        return;
    for (int i = 0; i < n->n_in; i++)
        note(h, n, n->in[i], false);
    note(h, n, n->pred, false);
    for (int i = 0; i < n->n_out; i++)
        note(h, n, n->out[i], true);
    note(h, n, n->scratch, true);
}

static bool
is_update(const glow_node *n)
{
    return n->op->traits & GLOW_ELEMENTWISE && n->n_in == 1 && n->n_out == 1 &&
           n->in[0] == n->out[0] && !n->pred && !n->scratch;
}

/*
 * The instruction that wrote exactly `v`, if no byte of `v` has been accessed
 * since; else, or after MOST_LOOKS accesses, NULL.
 */
static glow_node *
find_writer(const hoister *h, glow_value *v)
{
    const access *a = *last_of(h, v);

    for (int i = 0; a && i < MOST_LOOKS; i++, a = a->before)
        if (glow_extents_meet(glow_extent_of(a->v), glow_extent_of(v)))
            return a->writes && a->v == v && a->n->n_out == 1 && !a->n->pred
                       ? a->n
                       : NULL;
    return NULL;
}

/* True if no instruction between `writer` and `n` computes. */
static bool
is_next(const glow_node *writer, const glow_node *n)
{
    do
        n = n->prev;
    while (n != writer && (n->op->traits & GLOW_STRUCTURAL));
    return n == writer;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    hoister h = {.arena = glow_run_scratch(pass)};
    glow_result result = GLOW_UNCHANGED;

    h.numbers = glow_number_nodes(h.arena, f);
    h.last = GLOW_NEW_ARRAY(h.arena, access *, f->count);
    for (glow_node *n = f->first, *next; n; n = next) {
        glow_node *writer = is_update(n) ? find_writer(&h, n->out[0]) : NULL;

        next = n->next;
        note_all(&h, n);
        if (!writer || is_next(writer, n) || !glow_run_may_rewrite(pass))
            continue;
        glow_node_move_after(n, writer);
        glow_run_count(pass, "moved", 1);
        result = GLOW_CHANGED;
    }
    return result;
}

const glow_pass glow_pass_hoist_update = {
    .name = "hoist-update",
    .summary = "move an in-place update right behind the writer of its buffer",
    .level = GLOW_PROGRAM,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "Rotem et al., Glow, section 5.3, operator stacking",
};
