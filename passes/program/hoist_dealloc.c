/*
 * hoist-dealloc: free each buffer right behind its last use.
 *
 *     relu @out %b, @in %a           relu @out %b, @in %a
 *     tanh @out %c, @in %b      =>   %a.free = dealloc @out %a
 *     %a.free = dealloc @out %a      tanh @out %c, @in %b
 *
 * A use is an instruction that names the buffer, or a view of it at any depth:
 * freeing behind the last direct use alone would be wrong.
 *
 * The rewrite needs no cost model: an alloc stays where it is and no dealloc
 * moves down, because none stands above a use.  So live ranges only shrink: no
 * instruction has more live bytes, no new pair of buffers interferes, and each
 * placement of the program before is one of the program after.  The least size
 * that a later alloc needs can only fall.
 */

#include "glow/number.h"
#include "glow/ops.h"
#include "glow/pass.h"

typedef struct hoister {
    glow_numbering numbers;
    glow_node **deallocs; /* in the order of the program */
    int count;
    glow_node **last; /* by number of an alloc: its last use */
    glow_node *
        *behind; /* by number of a dealloc: the last other instruction before */
} hoister;

static void
note_use(hoister *h, glow_value *v, glow_node *n)
{
    if (v)
        h->last[glow_number_of(&h->numbers, glow_base_buffer(v)->def)] = n;
}

static void
find_uses(hoister *h, glow_arena *scratch, glow_func *f)
{
    glow_node *before = NULL;

    h->numbers = glow_number_nodes(scratch, f);
    h->deallocs = GLOW_NEW_ARRAY(scratch, glow_node *, f->count);
    h->last = GLOW_NEW_ARRAY(scratch, glow_node *, f->count);
    h->behind = GLOW_NEW_ARRAY(scratch, glow_node *, f->count);
    GLOW_FOR_EACH_NODE(n, f) {
        if (n->op == &glow_op_dealloc) {
            h->behind[glow_number_of(&h->numbers, n)] = before;
            h->deallocs[h->count++] = n;
            continue;
        }
        before = n;
        for (int i = 0; i < n->n_in; i++)
            note_use(h, n->in[i], n);
        for (int i = 0; i < n->n_out; i++)
            note_use(h, n->out[i], n);
        note_use(h, n->pred, n);
        note_use(h, n->scratch, n);
    }
}

/* Backward, so that deallocs that move behind the same use keep their order. */
static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_result result = GLOW_UNCHANGED;
    hoister h = {0};

    find_uses(&h, glow_run_scratch(pass), f);
    for (int i = h.count - 1; i >= 0; i--) {
        glow_node *n = h.deallocs[i];
        glow_node *use = h.last[glow_number_of(&h.numbers, n->out[0]->def)];

        if (h.behind[glow_number_of(&h.numbers, n)] == use ||
            !glow_run_may_rewrite(pass))
            continue;
        glow_node_move_after(n, use);
        glow_run_count(pass, "moved", 1);
        result = GLOW_CHANGED;
    }
    return result;
}

const glow_pass glow_pass_hoist_dealloc = {
    .name = "hoist-dealloc",
    .summary = "free each buffer right behind its last use",
    .level = GLOW_PROGRAM,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "Glow HoistDealloc",
};
