/*
 * sink-alloc: begin the life of each buffer right before its first use.
 *
 *     %b = alloc float<4>            relu @out %a, @in %x
 *     relu @out %a, @in %x      =>   %b = alloc float<4>
 *     tanh @out %b, @in %a           tanh @out %b, @in %a
 *
 * Views sink together with the buffer that they view, so that an early view
 * does not keep its alloc from sinking; a view without uses counts as a use
 * itself.
 *
 * The rewrite needs no cost model: no alloc moves up, because none stands below
 * a use, so each live range shrinks or stays as it was, as in hoist-dealloc.
 */

#include <stdlib.h>

#include "glow/number.h"
#include "glow/ops.h"
#include "glow/pass.h"

typedef struct sinker {
    glow_numbering numbers;
    glow_node **nodes; /* by number */
    bool *settled;     /* by number: the alloc or view has its final place */
    uint32_t *
        found; /* numbers of allocs and views to move before this instruction */
    int count;
} sinker;

/*
 * Adds to `found` the views that define `v`, down to the alloc, that have no
 * final place yet.
 */
static void
find(sinker *s, const glow_value *v)
{
    while (v && v->def->op != &glow_op_weight) {
        uint32_t i = glow_number_of(&s->numbers, v->def);

        if (s->settled[i])
            return;
        s->settled[i] = true;
        s->found[s->count++] = i;
        v = v->def->op == &glow_op_alloc ? NULL : v->def->in[0];
    }
}

/* Finds the allocs and views that `n` is the first to use. */
static void
find_all(sinker *s, const glow_node *n)
{
    s->count = 0;
    for (int i = 0; i < n->n_in; i++)
        find(s, n->in[i]);
    if (!glow_defines(n))
        for (int i = 0; i < n->n_out; i++)
            find(s, n->out[i]);
    find(s, n->pred);
    find(s, n->scratch);
}

static int
by_number(const void *x, const void *y)
{
    const uint32_t *a = x, *b = y;

    return (*a > *b) - (*a < *b);
}

/*
 * True if the instructions of `s->found` stand right before `n` already.  They
 * have not moved yet, so their numbers are their order, which is kept: a view
 * stays behind its operand.
 */
static bool
are_there(const sinker *s, const glow_node *n)
{
    for (int i = s->count - 1; i >= 0; i--) {
        n = n->prev;
        if (n != s->nodes[s->found[i]])
            return false;
    }
    return true;
}

/* True if `n` is a use, rather than a view that a later instruction uses. */
static bool
is_use(const glow_node *n)
{
    return n->op == &glow_op_tensorview ? glow_is_unused(n->out[0])
                                        : !(n->op->traits & GLOW_STRUCTURAL) ||
                                              n->op == &glow_op_dealloc;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_arena *scratch = glow_run_scratch(pass);
    sinker s = {glow_number_nodes(scratch, f),
                GLOW_NEW_ARRAY(scratch, glow_node *, f->count),
                GLOW_NEW_ARRAY(scratch, bool, f->count),
                GLOW_NEW_ARRAY(scratch, uint32_t, f->count), 0};
    glow_result result = GLOW_UNCHANGED;
    uint32_t count = 0;

    GLOW_FOR_EACH_NODE(n, f)
        s.nodes[count++] = n;
    GLOW_FOR_EACH_NODE(n, f) {
        if (!is_use(n))
            continue;
        find_all(&s, n);
        glow_sort(s.found, (size_t)s.count, sizeof *s.found, by_number);
        if (are_there(&s, n) || !glow_run_may_rewrite(pass))
            continue;
        for (int i = 0; i < s.count; i++)
            glow_node_move_before(s.nodes[s.found[i]], n);
        glow_run_count(pass, "moved", s.count);
        result = GLOW_CHANGED;
    }
    return result;
}

const glow_pass glow_pass_sink_alloc = {
    .name = "sink-alloc",
    .summary = "begin the life of each buffer right before its first use",
    .level = GLOW_PROGRAM,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "Glow SinkAllocas",
};
