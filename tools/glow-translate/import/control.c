/*
 * Control flow: If.
 *
 * An If whose condition is known is the branch that it takes, built in place.
 * Any other becomes a node, if both branches have the same result types; see merge.c
 * for those that differ in a bounded size.
 */

#include "tools/glow-translate/import/control.h"

static bool
take_branch(import_node *n, const Onnx__GraphProto *g)
{
    import_item *results =
        GLOW_NEW_ARRAY(import_arena(n), import_item, n->n_out);

    if (!import_inline(n, g, NULL, 0, results, n->n_out))
        return false;
    for (int i = 0; i < n->n_out; i++)
        import_item_done(n, i, results[i]);
    return true;
}

typedef struct branch {
    import_body body;
    import_item *items;
    glow_value **values;
} branch;

static bool
build_branch(import_node *n, branch *b, const char *name,
             const Onnx__GraphProto *g)
{
    bool ok;

    b->items = GLOW_NEW_ARRAY(import_arena(n), import_item, n->n_out);
    b->values = GLOW_NEW_ARRAY(import_arena(n), glow_value *, n->n_out);
    import_body_begin(n, &b->body, name, NULL, 0);
    ok = import_inline(n, g, NULL, 0, b->items, n->n_out);
    import_body_end(n, &b->body);
    for (int i = 0; ok && i < n->n_out; i++)
        b->values[i] = b->items[i].value;
    return ok;
}

/* The condition must be constant if the types of the branches differ. */
static bool
check_types(import_node *n, const branch *yes, const branch *no)
{
    for (int i = 0; i < n->n_out; i++) {
        const glow_value *a = yes->values[i], *b = no->values[i];

        if (a && b && glow_type_equal(a->type, b->type))
            continue;
        import_refuse_unknown(n, 0, n->in[0]);
        return false;
    }
    return true;
}

/*
 * Makes the union of both branches' free variables operands of both, in the
 * order of `yes`.
 */
static void
share_operands(import_node *n, branch *yes, branch *no)
{
    import_body *a = &yes->body, *b = &no->body;
    import_body sorted = *b;

    do { /* a free variable may bring its count with it */
        for (int i = 0; i < b->n_given; i++)
            import_body_takes(n->im, a, b->given[i]);
        for (int i = 0; i < a->n_given; i++)
            import_body_takes(n->im, b, a->given[i]);
    } while (a->n_given != b->n_given);
    sorted.as = GLOW_NEW_ARRAY(import_arena(n), glow_storage *, b->n_given);
    for (int i = 0; i < a->n_given; i++)
        for (int k = 0; k < b->n_given; k++)
            if (b->given[k] == a->given[i])
                sorted.as[i] = b->as[k];
    b->as = sorted.as;
    b->given = a->given;
}

static bool
make_if(import_node *n, const Onnx__GraphProto *then_branch,
        const Onnx__GraphProto *else_branch)
{
    branch yes, no;
    glow_value **in;

    if (!build_branch(n, &yes, "then", then_branch) ||
        !build_branch(n, &no, "else", else_branch) ||
        !check_types(n, &yes, &no))
        return false;
    share_operands(n, &yes, &no);
    if (!import_body_returns(n, &yes.body, yes.values, n->n_out) ||
        !import_body_returns(n, &no.body, no.values, n->n_out))
        return false;
    in = GLOW_NEW_ARRAY(import_arena(n), glow_value *, yes.body.n_given + 1);
    in[0] = n->in[0];
    for (int i = 0; i < yes.body.n_given; i++)
        in[i + 1] = yes.body.given[i];
    return import_call_node(
        n, &glow_op_if, in, yes.body.n_given + 1,
        &(const glow_if){yes.body.func->name, no.body.func->name});
}

bool
import_call_node(import_node *n, const glow_op *op, glow_value *const *in,
                 int n_in, const void *attrs)
{
    const glow_type **types =
        GLOW_NEW_ARRAY(import_arena(n), const glow_type *, n->n_out);
    glow_node *made =
        glow_build_node(n->im->builder, op, types, n->n_out, in, n_in, attrs);

    n->inlined = false;
    if (!made) {
        n->failed = true;
        return false;
    }
    for (int i = 0; i < n->n_out; i++)
        import_item_done(n, i, (import_item){.value = made->out[i]});
    return !n->failed;
}

/*
 * A branch that cannot be built may never run, if the condition is constant.
 * If it is not, the error of the branch is reported.
 */
static bool
try_if(import_node *n, const Onnx__GraphProto *then_branch,
       const Onnx__GraphProto *else_branch)
{
    glow_func *last = n->im->module->last_func;
    glow_quiet quiet;
    bool ok;

    glow_quiet_begin(import_context(n), &quiet);
    ok = make_if(n, then_branch, else_branch);
    glow_quiet_end(import_context(n), &quiet);
    if (ok)
        return true;
    n->failed = false;
    import_forget_bodies(n->im, last);
    if (n->im->bounds)
        return import_merge_branches(n, then_branch, else_branch);
    if (n->im->body)
        return make_if(n, then_branch, else_branch);
    import_refuse_unknown(n, 0, n->in[0]);
    return false;
}

static bool
import_if(import_node *n)
{
    const Onnx__GraphProto *then_branch, *else_branch;

    if (!import_operands(n, 1, 1))
        return false;
    then_branch = import_graph_attr(n, "then_branch");
    else_branch = import_graph_attr(n, "else_branch");
    if (!then_branch || !else_branch)
        return false;
    if (!import_is_known(n, 0))
        return try_if(n, then_branch, else_branch);
    return take_branch(n, import_known_number(n, 0) != 0 ? then_branch
                                                         : else_branch);
}

const import_row import_control_rows[] = {
    {"If", 1, 0, import_if, &glow_op_if,
     "any; a condition that is known takes its branch in place; otherwise both "
     "branches give tensors of the same types, or -allow-bounded computes both"},
    {"Loop", 1, 0, import_loop, &glow_op_loop,
     "any; what is collected, or appended to by Concat, needs a known trip "
     "count and a condition that always holds, or -allow-bounded and a bound "
     "of the trip count; sequences and changing shapes are unrolled, up to "
     "4096 times"},
    {"Scan", 8, 8, import_scan_batches, &glow_op_loop,
     "any; 1 to 64 batches; sequence_lens is refused"},
    {"Scan", 9, 0, import_scan, &glow_op_loop, "any; state keeps its type"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
