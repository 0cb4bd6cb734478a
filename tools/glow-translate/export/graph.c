/*
 * Graphs and bodies: their nodes in topological order, by the rows of their operators.
 */

#include "glow/number.h"
#include "tools/glow-translate/export/state.h"

/* clang-format off */
static const export_row *const tables[] = {
    export_bounded_rows,
    export_control_rows,
    export_elementwise_rows,
    export_index_rows,
    export_layout_rows,
    export_loss_rows,
    export_product_rows,
    export_quantized_rows,
    export_recurrent_rows,
    export_signal_rows,
    export_resize_rows,
    export_sample_rows,
    export_weights_rows,
    export_window_rows,
};
/* clang-format on */

const export_row *
export_find_row(const glow_op *op)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const export_row *r = tables[t]; r->op; r++)
            if (r->op == op)
                return r;
    return NULL;
}

static bool
export_one(exporter *e, const glow_node *n)
{
    if (n->pred)
        return export_refuse(e, n, "ONNX has no predicates");
    for (int i = 0; i < n->n_out; i++)
        if (!export_check_type(e, n->out[i]->type, "%", n->name, n->span))
            return false;
    if (!export_follow_bounds(e, n))
        return false;
    if (glow_is(n, &glow_op_save)) {
        if (export_is_count(e->module, n->in[1]->storage))
            return true;
        Onnx__NodeProto *p =
            export_new_node(e, n, "Identity", NAMES(export_in(e, n, 0)));

        p->n_output = 1;
        p->output = GLOW_NEW(e->arena, char *);
        *p->output = export_text(e, export_in(e, n, 1));
        return true;
    }
    if (export_is_foreign(n))
        return export_foreign(e, n);
    e->row = export_find_row(n->op);
    if (!e->row)
        return export_refuse(e, n, "ONNX has nothing for this operator");
    return e->row->run(e, n);
}

/* Topological order by iterative depth-first search, as ONNX requires. */
static glow_node **
sorted(exporter *e)
{
    size_t count = (size_t)e->func->count, depth = 0, done = 0;
    glow_node **order = GLOW_NEW_ARRAY(e->arena, glow_node *, count + 1);
    glow_node **stack = GLOW_NEW_ARRAY(e->arena, glow_node *, count + 1);
    int *next = GLOW_NEW_ARRAY(e->arena, int, count + 1);

    glow_numbering visited = glow_numbering_new(e->arena, e->func);

    GLOW_FOR_EACH_NODE(n, e->func) {
        if (glow_number_of(&visited, n) != GLOW_UNNUMBERED)
            continue;
        glow_number_set(&visited, n, 0);
        stack[0] = n;
        next[0] = 0;
        depth = 1;
        while (depth) {
            glow_node *top = stack[depth - 1];
            int i = next[depth - 1]++;
            glow_node *def =
                i < top->n_in && top->in[i] ? top->in[i]->def : NULL;

            if (i >= top->n_in) {
                order[done++] = top;
                depth--;
            } else if (def &&
                       glow_number_of(&visited, def) == GLOW_UNNUMBERED) {
                glow_number_set(&visited, def, 0);
                stack[depth] = def;
                next[depth++] = 0;
            }
        }
    }
    return order;
}

static bool
export_nodes(exporter *e)
{
    glow_node **order = sorted(e);
    bool ok = true;

    export_name_results(e);
    for (int i = 0; i < e->func->count; i++)
        ok &= export_one(e, order[i]);
    return ok;
}

bool
export_graph(exporter *e)
{
    bool ok = true;

    export_name_storage(e);
    e->shared = e->names;
    GLOW_FOR_EACH_STORAGE(s, e->module)
        ok &= s->is_constant ? export_initializer(e, s)
                             : export_placeholder(e, s);
    return export_nodes(e) && ok;
}

/* Names the formals of e->func; formals without a given name become inputs. */
static bool
export_formals(exporter *e, const char *const *in)
{
    int n_in = glow_formal_count(e->func, GLOW_INPUTS);
    int n_out = glow_formal_count(e->func, GLOW_OUTPUTS);
    bool ok = true;

    for (int i = 0; i < n_in + n_out; i++) {
        const glow_storage *s =
            i < n_in ? glow_formal(e->func, GLOW_INPUTS, i)
                     : glow_formal(e->func, GLOW_OUTPUTS, i - n_in);

        ok &= export_check_type(e, s->value.type, "@", s->name, s->span);
        if (i < n_in && in[i]) {
            export_set_name(e, &s->value, in[i]);
            continue;
        }
        export_name_value(e, &s->value, s->name);
        if (ok && i < n_in)
            ADD(e, e->graph, input, &e->input_cap,
                export_new_value_info(e, &s->value));
        else if (ok)
            ADD(e, e->graph, output, &e->output_cap,
                export_new_value_info(e, &s->value));
    }
    return ok;
}

bool
export_body(exporter *e, const char *attribute, glow_func *f,
            const char *const *in)
{
    exporter before = *e;
    Onnx__GraphProto *graph = GLOW_NEW(e->arena, Onnx__GraphProto);
    bool ok;

    if (f->is_program)
        return glow_error_at(e->ctx, f->span, "E0721",
                             "@%s is a program; only graphs have a form in "
                             "ONNX",
                             f->name);
    onnx__graph_proto__init(graph);
    graph->name = export_text(e, f->name);
    e->func = f;
    e->graph = graph;
    e->names = glow_map_new(e->arena);
    e->bounds = glow_map_new(e->arena);
    e->node_cap = e->initializer_cap = e->input_cap = e->output_cap = 0;
    e->info_cap = 0;
    ok = export_formals(e, in) && export_nodes(e);
    before.opset_cap = e->opset_cap; /* of the model */
    *e = before;
    NEW_ATTRIBUTE(e, attribute, GRAPH)->g = graph;
    return ok;
}
