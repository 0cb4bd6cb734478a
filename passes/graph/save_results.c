/*
 * save-results: write intermediate results to placeholders, for debugging.
 *
 *     %r = Relu(%x)
 *  =>
 *     %r = Relu(%x)
 *     %r.save = Save(%r, @r)
 *
 * for the nodes of one operator (op=Relu), for one node (node=conv_3), or for
 * all of them (all).  Results that are saved already are left alone, as are
 * nodes with a predicate, whose results may be undefined, and functions that
 * are called.
 *
 * The values then come out of any backend: glow-run -output-dir writes each as
 * a file, on an interpreter and on a target, to find the first difference.
 * After -lower -schedule there is a node for each instruction.  Later passes
 * keep all these outputs, which prevents some of their rewrites.
 *
 * Glow's DebugInstrument and IRInstrument put instructions in the program that
 * print or call back, which each of its backends must implement.
 */

#include <string.h>

#include "glow/ops.h"
#include "glow/pass.h"

typedef struct save_options {
    bool all;
    const char *op;
    const char *node;
} save_options;

static bool
is_wanted(const save_options *o, const glow_node *n)
{
    return !(n->op->traits & (GLOW_STRUCTURAL | GLOW_UNKNOWN)) && !n->pred &&
           (o->all || strcmp(o->op, n->op->name) == 0 ||
            strcmp(o->node, n->name) == 0);
}

static bool
is_saved(const glow_value *v)
{
    GLOW_FOR_EACH_USE(u, v)
        if (glow_is(u->user, &glow_op_save))
            return true;
    return false;
}

/*
 * The name of result `i`: its node's, followed by the result's name if there
 * are several.
 */
static const char *
name_of(glow_arena *a, const glow_node *n, int i)
{
    if (n->n_out == 1)
        return n->name;
    if (n->op->out[0].kind == GLOW_VARIADIC)
        return glow_arena_printf(a, "%s.%d", n->name, i);
    return glow_arena_printf(a, "%s.%s", n->name, n->op->out[i].name);
}

static bool
save(glow_builder *b, glow_node *n, int i)
{
    glow_module *m = n->func->module;
    glow_type type = *n->out[i]->type;
    glow_storage *to;
    glow_node *s;

    type.strides.rank = 0;
    to = glow_placeholder_new(m, name_of(glow_builder_scratch(b), n, i),
                              glow_type_get(glow_builder_context(b), type));
    glow_builder_named(b, to->name, n->loc);
    s = glow_build_node(b, &glow_op_save, NULL, 0,
                        GLOW_IN(n->out[i], &to->value), NULL);
    if (s)
        glow_node_move_after(s, n);
    return s;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const save_options *o = glow_run_options(pass);
    glow_builder *b =
        glow_builder_new(glow_run_scratch(pass), f, glow_run_pass(pass)->name);
    glow_result result = GLOW_UNCHANGED;

    if (glow_is_body(f))
        return result;
    GLOW_FOR_EACH_NODE(n, f) {
        for (int i = 0; i < n->n_out && is_wanted(o, n); i++) {
            if (is_saved(n->out[i]))
                continue;
            if (!glow_run_may_rewrite(pass))
                return result;
            if (!save(b, n, i))
                return GLOW_FAILED;
            result = GLOW_CHANGED;
        }
    }
    return result;
}

const glow_pass glow_pass_save_results = {
    .name = "save-results",
    .summary = "write intermediate results to placeholders, for debugging",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(save_options, all, GLOW_FLAG,
                                   "of every node"),
                GLOW_FIELD_DEFAULT(save_options, op, GLOW_STRING,
                                   "of nodes of this operator"),
                GLOW_FIELD_DEFAULT(save_options, node, GLOW_STRING,
                                   "of the node of this name")},
    .defaults = &(const save_options){.op = "", .node = ""},
    .run = run,
    .source = "Glow DebugInstrument, IRInstrument",
};
