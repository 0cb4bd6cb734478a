/*
 * sink-alloc: begin the life of each buffer right before its first use.
 *
 *     %b = alloc float<4>            relu @out %a, @in %x
 *     relu @out %a, @in %x      =>   %b = alloc float<4>
 *     tanh @out %b, @in %a           tanh @out %b, @in %a
 *
 * Views sink with what they view, so that a view that is made early does not
 * hold its alloc back; one that nobody uses counts as a use.  Lives get
 * shorter, so places stay right, and a later alloc may do with less memory.
 */

#include "glow/pass.h"
#include "passes/program/buffers.h"

typedef struct sinker {
    glow_pass_run *pass;
    bool *settled; /* by mark */
    glow_result result;
} sinker;

/* Is `n` right before `use`, but for others that settled there? */
static bool
is_before(const sinker *s, const glow_node *n, const glow_node *use)
{
    do
        n = n->next;
    while (n != use && s->settled[n->mark] && !computes(n));
    return n == use;
}

/* Moves what defines `v`, from its alloc down, to right before `use`. */
static void
settle(sinker *s, const glow_value *v, glow_node *use)
{
    glow_node *n = v->def;

    while (n->op != &glow_op_weight && !s->settled[n->mark]) {
        s->settled[n->mark] = true;
        if (!is_before(s, n, use) && glow_run_may_rewrite(s->pass)) {
            glow_node_move_before(n, use);
            glow_run_count(s->pass, "moved", 1);
            s->result = GLOW_CHANGED;
        }
        if (n->op == &glow_op_alloc)
            return;
        use = n;
        n = n->in[0]->def;
    }
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    sinker s = {pass, GLOW_NEW_ARRAY(glow_run_scratch(pass), bool, f->count),
                GLOW_UNCHANGED};
    uint32_t count = 0;

    GLOW_FOR_EACH_NODE(n, f)
        n->mark = count++;
    GLOW_FOR_EACH_NODE(n, f) {
        bool dead_view =
            n->op == &glow_op_tensorview && glow_is_unused(n->out[0]);

        if (!computes(n) && n->op != &glow_op_dealloc && !dead_view)
            continue;
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i])
                settle(&s, n->in[i], n);
        for (int i = 0; i < n->n_out && !dead_view; i++)
            settle(&s, n->out[i], n);
        if (n->pred)
            settle(&s, n->pred, n);
    }
    return s.result;
}

const glow_pass glow_pass_sink_alloc = {
    .name = "sink-alloc",
    .summary = "begin the life of each buffer right before its first use",
    .level = GLOW_PROGRAM,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "Glow SinkAllocas",
};
