/*
 * ONNX nodes: single steps, the last node of an operator, and common steps.
 */

#include "tools/glow-translate/export/state.h"
#include "tools/glow-translate/tensor.h"

Onnx__NodeProto *
export_new_node(exporter *e, const glow_node *n, const char *type,
                const char *const *in, int n_in)
{
    Onnx__NodeProto *p = GLOW_NEW(e->arena, Onnx__NodeProto);

    onnx__node_proto__init(p);
    while (n_in > 0 && !*in[n_in - 1])
        n_in--;
    p->op_type = export_text(e, type);
    p->name = export_text(e, n->name);
    p->n_input = (size_t)n_in;
    p->input = glow_arena_copy(e->arena, in, (size_t)n_in * sizeof *in);
    ADD(e, e->graph, node, &e->node_cap, p);
    e->last = p;
    e->attribute_cap = 0;
    return p;
}

void
export_steps(exporter *e, const glow_node *n, const char *type,
             const char *const *in, int n_in, const char **out, int n_out)
{
    Onnx__NodeProto *p = export_new_node(e, n, type, in, n_in);

    for (int i = 0; i < n_out; i++)
        out[i] = export_unique(
            e, glow_arena_printf(e->arena, "%s.%s", n->name, type));
    p->name = export_text(e, out[0]);
    p->n_output = (size_t)n_out;
    p->output = glow_arena_copy(e->arena, out, (size_t)n_out * sizeof *out);
}

const char *
export_step(exporter *e, const glow_node *n, const char *type,
            const char *const *in, int n_in)
{
    const char *out;

    export_steps(e, n, type, in, n_in, &out, 1);
    return out;
}

bool
export_identity(exporter *e, const glow_node *n, int i, const char *x)
{
    Onnx__NodeProto *p = export_new_node(e, n, "Identity", NAMES(x));
    char *out = export_text(e, export_name_of(e, n->out[i]));

    p->name = out;
    p->n_output = 1;
    p->output = glow_arena_copy(e->arena, &out, sizeof out);
    return true;
}

bool
export_last(exporter *e, const glow_node *n, const char *type,
            const char *const *in, int n_in)
{
    Onnx__NodeProto *p = export_new_node(e, n, type, in, n_in);

    p->n_output = (size_t)n->n_out;
    p->output = GLOW_NEW_ARRAY(e->arena, char *, n->n_out);
    for (int i = 0; i < n->n_out; i++)
        p->output[i] = export_text(e, export_name_of(e, n->out[i]));
    return true;
}

const char *
export_cast(exporter *e, const glow_node *n, const char *x, glow_kind kind)
{
    x = export_step(e, n, "Cast", NAMES(x));
    export_int(e, "to", tensor_elem_for(kind)->type);
    return x;
}

const char *
export_transpose(exporter *e, const glow_node *n, const char *x, glow_dims perm)
{
    if (!*x)
        return x;
    x = export_step(e, n, "Transpose", NAMES(x));
    export_dims(e, "perm", perm);
    return x;
}

const char *
export_reshape(exporter *e, const glow_node *n, const char *x, glow_dims shape)
{
    const char *list = export_dims_list(e, n, shape);

    x = export_step(e, n, "Reshape", NAMES(x, list));
    export_int(e, "allowzero", 1);
    return x;
}

glow_dims
export_to_nchw(int rank)
{
    glow_dims p = {.rank = rank};

    for (int i = 1; i < rank; i++)
        p.at[i] = i == 1 ? rank - 1 : i - 1;
    return p;
}

glow_dims
export_to_nhwc(int rank)
{
    glow_dims p = {.rank = rank};

    for (int i = 1; i < rank; i++)
        p.at[i] = i == rank - 1 ? 1 : i + 1;
    return p;
}
