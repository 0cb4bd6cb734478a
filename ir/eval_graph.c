/*
 * Evaluation of a graph.
 *
 * Evaluates the Saves and their transitive operands, whatever the order of the
 * nodes.  A graph is a set of equations: a node that reads a placeholder sees
 * its value before the run, and a Save takes effect after it.  A tensor is
 * freed after its last use.
 *
 * With a memo it takes three passes over the nodes: forwards to find the nodes
 * whose results have a key in the memo, as long as their operands have one;
 * backwards to find the tensors that are needed and that the memo does not
 * hold; forwards to compute these.  So of a function that has run before only
 * the changed nodes and the operands they read are computed.
 */

#include "ir/eval_run.h"

typedef struct graph_run {
    glow_eval_run *run;
    glow_item **items; /* by the id of the node: its results */
    uint64_t *keys; /* by the id of the node: its key in the memo; 0: unknown */
    bool *is_computed; /* by the id of the node */
    glow_node **order;
    int64_t count;
    struct save {
        glow_item *value;
        glow_item *target;
        struct save *next;
    } *saves, **last_save;
} graph_run;

bool
glow_operand_is_written(const glow_node *n, int i)
{
    return n->op->in[glow_operand_of(n, i)].kind == GLOW_WRITTEN;
}

/*
 * The order: depth-first from each node with an effect, in the order of the
 * function.
 */

enum { NEW, OPEN, DONE };

typedef struct visit {
    glow_node *node;
    int next; /* operand */
} visit;

/* The definition of operand `i` if it has not been ordered yet, else NULL. */
static glow_node *
pending(const glow_node *n, int i, const uint8_t *state)
{
    glow_node *def = n->in[i] ? n->in[i]->def : NULL;

    return def && state[def->id] != DONE ? def : NULL;
}

static bool
cycle(const glow_eval_run *r, const glow_node *n)
{
    return glow_error_at(r->ctx, n->span, "E0503",
                         "%s %%%s cannot be run: it needs its own result",
                         n->op->name, n->name);
}

/*
 * Appends the definitions that `root` depends on and that are not ordered yet,
 * then `root`.
 */
static bool
order_from(graph_run *g, glow_node *root, uint8_t *state, visit *stack)
{
    int64_t depth = 0;

    if (state[root->id] == DONE)
        return true;
    stack[depth++] = (visit){root, 0};
    state[root->id] = OPEN;
    while (depth > 0) {
        visit *top = &stack[depth - 1];
        glow_node *def = NULL;

        while (top->next < top->node->n_in && !def)
            def = pending(top->node, top->next++, state);
        if (def && state[def->id] == OPEN)
            return cycle(g->run, def);
        if (def) {
            state[def->id] = OPEN;
            stack[depth++] = (visit){def, 0};
        } else {
            state[top->node->id] = DONE;
            g->order[g->count++] = top->node;
            depth--;
        }
    }
    return true;
}

static bool
order(graph_run *g)
{
    const glow_func *f = g->run->f;
    glow_arena *scratch = g->run->scratch;
    uint8_t *state = GLOW_NEW_ARRAY(scratch, uint8_t, f->next_id);
    visit *stack = GLOW_NEW_ARRAY(scratch, visit, f->count);
    bool ok = true;

    g->order = GLOW_NEW_ARRAY(g->run->arena, glow_node *, f->count);
    GLOW_FOR_EACH_NODE(n, f)
        if (!(n->op->traits & GLOW_PURE))
            ok = ok && order_from(g, n, state, stack);
    glow_arena_reset(scratch);
    return ok;
}

/* Keys and hashes of the memo. */

static glow_item *
item_of(graph_run *g, const glow_value *v)
{
    if (v->def)
        return &g->items[v->def->id][v->index];
    return glow_eval_item(g->run, v->storage);
}

/* Sets `in` to the items of the operands of `n`; false after a report. */
static bool
operands(graph_run *g, const glow_node *n, glow_item *in[])
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && !(in[i] = item_of(g, n->in[i])))
            return false;
    return true;
}

/*
 * Computes the key of `n`, and finds the hashes of its results, if all its
 * operands have hashes.
 */
static bool
recall(graph_run *g, const glow_node *n)
{
    glow_eval_run *r = g->run;
    glow_item **in = GLOW_NEW_ARRAY(r->scratch, glow_item *, n->n_in);
    glow_item *out = GLOW_NEW_ARRAY(r->arena, glow_item, n->n_out);
    bool is_known = glow_eval_remembers(r, n);

    g->items[n->id] = out;
    if (!operands(g, n, in))
        return false;
    for (int i = 0; i < n->n_in && is_known; i++)
        is_known = !in[i] || !n->in[i]->def || in[i]->hashed;
    if (is_known) {
        uint64_t key = glow_memo_key(r, n, in);

        if (glow_memo_knows(r->options->memo, key, out, n->n_out))
            g->keys[n->id] = key;
    }
    glow_arena_reset(r->scratch);
    return true;
}

/* True if a result of `n` is used, or `n` has an effect. */

static bool
is_asked(const graph_run *g, const glow_node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (g->items[n->id][i].uses > 0)
            return true;
    return !(n->op->traits & GLOW_PURE);
}

static void
ask(graph_run *g, const glow_node *n)
{
    const glow_eval_run *r = g->run;
    uint64_t key = g->keys[n->id];

    if (!is_asked(g, n) ||
        (key && glow_memo_find(r->options->memo, key, g->items[n->id])))
        return;
    g->is_computed[n->id] = true;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i]) /* a placeholder that is written is never released */
            item_of(g, n->in[i])->uses++;
}

/* The nodes. */

static void
release(glow_item *item)
{
    if (--item->uses == 0)
        glow_item_end(item);
}

/*
 * Defers a Save to the end of the run.  The bytes of a placeholder may change
 * until then, so they are copied.
 */
static void
save(graph_run *g, const glow_node *n, glow_item *const in[])
{
    struct save *s = GLOW_NEW(g->run->arena, struct save);
    glow_item *value = GLOW_NEW(g->run->arena, glow_item);

    if (n->in[0]->def || n->in[0]->storage->is_constant) {
        *value = *in[0];
        if (value->tensor.owner)
            glow_data_ref(value->tensor.owner);
    } else {
        value->tensor = glow_tensor_new(in[0]->tensor.type);
        glow_tensor_copy(&value->tensor, &in[0]->tensor);
    }
    *s = (struct save){.value = value, .target = in[1]};
    *g->last_save = s;
    g->last_save = &s->next;
}

static bool
run_node(graph_run *g, const glow_node *n)
{
    glow_eval_run *r = g->run;
    glow_item **in = GLOW_NEW_ARRAY(r->arena, glow_item *, n->n_in);
    glow_item *out = g->items[n->id];

    if (!operands(g, n, in))
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (in[i] && !n->in[i]->def && !glow_eval_storage(r, n->in[i]->storage))
            return false;
    if (glow_is(n, &glow_op_save))
        save(g, n, in);
    else if (!glow_eval_compute(r, n, in, out))
        return false;

    for (int i = 0; i < n->n_in; i++)
        if (in[i] && !glow_operand_is_written(n, i))
            release(in[i]);
    for (int i = 0; i < n->n_out; i++)
        if (out[i].uses == 0)
            glow_item_end(&out[i]);
    return true;
}

static void
finish(graph_run *g, bool ok)
{
    for (struct save *s = g->saves; s; s = s->next) {
        if (ok)
            glow_tensor_copy(&s->target->tensor, &s->value->tensor);
        glow_item_end(s->value);
    }
    GLOW_FOR_EACH_NODE(n, g->run->f) {
        glow_item *items = g->items[n->id];

        for (int i = 0; items && i < n->n_out; i++)
            glow_item_end(&items[i]);
    }
}

bool
glow_eval_graph(glow_eval_run *r)
{
    graph_run g = {.run = r};
    glow_arena *a = r->arena;
    bool ok;

    g.items = GLOW_NEW_ARRAY(a, glow_item *, r->f->next_id);
    g.keys = GLOW_NEW_ARRAY(a, uint64_t, r->f->next_id);
    g.is_computed = GLOW_NEW_ARRAY(a, bool, r->f->next_id);
    g.last_save = &g.saves;
    ok = order(&g);
    for (int64_t i = 0; i < g.count && ok; i++)
        ok = recall(&g, g.order[i]);
    for (int64_t i = g.count - 1; i >= 0 && ok; i--)
        ask(&g, g.order[i]);
    for (int64_t i = 0; i < g.count && ok; i++)
        if (g.is_computed[g.order[i]->id])
            ok = run_node(&g, g.order[i]);
    finish(&g, ok);
    return ok;
}
