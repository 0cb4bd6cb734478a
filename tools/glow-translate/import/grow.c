/*
 * Control flow: carried values of a Loop that only grow.
 *
 *     Loop body: s -> Concat(s, r)  =>  Loop body: -> scan output r
 *
 * Such a value changes its shape with each iteration, so no Loop of the graph can
 * carry it; but it is its first value and the rows of all iterations.  The body is
 * rewritten where nothing else reads the value.
 */

#include <string.h>

#include "tools/glow-translate/import/control.h"

static int
uses_in(const Onnx__GraphProto *g, const char *name)
{
    int uses = 0;

    for (size_t i = 0; i < g->n_node; i++) {
        const Onnx__NodeProto *p = g->node[i];

        for (size_t k = 0; k < p->n_input; k++)
            uses += strcmp(p->input[k], name) == 0;
        for (size_t k = 0; k < p->n_attribute; k++)
            if (p->attribute[k]->g)
                uses += uses_in(p->attribute[k]->g, name);
    }
    for (size_t i = 0; i < g->n_output; i++)
        uses += g->output[i]->name && strcmp(g->output[i]->name, name) == 0;
    return uses;
}

/* The number of the node that defines `name`, or -1. */
static int
definer(const Onnx__GraphProto *g, const char *name)
{
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_output; k++)
            if (strcmp(g->node[i]->output[k], name) == 0)
                return (int)i;
    return -1;
}

static bool
is_operator(const Onnx__NodeProto *p, const char *type)
{
    return p->op_type && strcmp(p->op_type, type) == 0 &&
           import_is_standard(p->domain);
}

/* The integer of attribute `name`; false if there is none. */
static bool
attribute_int(const Onnx__NodeProto *p, const char *name, int64_t *out)
{
    for (size_t k = 0; k < p->n_attribute; k++) {
        const Onnx__AttributeProto *a = p->attribute[k];

        if (a->name && strcmp(a->name, name) == 0 && !a->ref_attr_name) {
            *out = a->i;
            return true;
        }
    }
    return false;
}

/* True for Identity, and for Cast to elements of `kind`. */
static bool
is_copy(const Onnx__NodeProto *p, glow_kind kind)
{
    const tensor_elem *e;
    int64_t to;

    if (p->n_input != 1 || is_operator(p, "Identity"))
        return p->n_input == 1;
    e = is_operator(p, "Cast") && attribute_int(p, "to", &to)
            ? tensor_elem_of(to)
            : NULL;
    return e && e->kind == kind;
}

/* The name that `name` is a copy of; NULL if one of these names has another use. */
static const char *
origin(const Onnx__GraphProto *g, const char *name, glow_kind kind)
{
    for (size_t left = g->n_node + 1; uses_in(g, name) == 1 && left; left--) {
        int i = definer(g, name);

        if (i < 0 || !is_copy(g->node[i], kind))
            return name;
        name = g->node[i]->input[0];
    }
    return NULL;
}

/*
 * The number of the Concat that appends to carried value `state`, of elements of `kind`,
 * or -1.
 */
static int
appending(const Onnx__GraphProto *g, int state, glow_kind kind, int64_t *axis)
{
    const char *first = g->input[2 + state]->name, *end;
    int i;

    if (!first || !g->output[1 + state]->name)
        return -1;
    end = origin(g, g->output[1 + state]->name, kind);
    i = end ? definer(g, end) : -1;
    if (i < 0 || !is_operator(g->node[i], "Concat") ||
        g->node[i]->n_input < 2 || !attribute_int(g->node[i], "axis", axis))
        return -1;
    end = origin(g, g->node[i]->input[0], kind);
    return end && strcmp(end, first) == 0 ? i : -1;
}

/* A copy of `g` whose lists may be changed. */
static Onnx__GraphProto *
copy_graph(import_node *n, const Onnx__GraphProto *g)
{
    glow_arena *a = import_arena(n);
    Onnx__GraphProto *c = glow_arena_copy(a, g, sizeof *g);

    c->node = glow_arena_copy(a, g->node, g->n_node * sizeof *g->node);
    c->input = glow_arena_copy(a, g->input, g->n_input * sizeof *g->input);
    c->output = glow_arena_copy(a, g->output, g->n_output * sizeof *g->output);
    return c;
}

static void
drop_node(Onnx__GraphProto *g, int i)
{
    g->n_node--;
    memmove(&g->node[i], &g->node[i + 1],
            (g->n_node - (size_t)i) * sizeof *g->node);
}

/* Removes what makes `name` of another one: only the appended rows are needed. */
static void
drop_origin(Onnx__GraphProto *g, const char *name)
{
    for (int i; (i = definer(g, name)) >= 0;) {
        name = g->node[i]->input[0];
        drop_node(g, i);
    }
}

/*
 * Carried value `state` of `g`, number `at` of those that are left, becomes the last
 * scan output: what Concat `i` appends.
 */
static void
move_state(import_node *n, Onnx__GraphProto *g, int at, int i)
{
    glow_arena *a = import_arena(n);
    Onnx__NodeProto *p = glow_arena_copy(a, g->node[i], sizeof *p);
    Onnx__ValueInfoProto *out = g->output[1 + at];

    out = glow_arena_copy(a, out, sizeof *out);
    out->type = NULL;
    g->node[i] = p;
    drop_origin(g, p->input[0]);
    p->n_input--;
    p->input++;
    g->n_input--;
    memmove(&g->input[2 + at], &g->input[3 + at],
            (g->n_input - 2 - (size_t)at) * sizeof *g->input);
    memmove(&g->output[1 + at], &g->output[2 + at],
            (g->n_output - 2 - (size_t)at) * sizeof *g->output);
    g->output[g->n_output - 1] = out;
}

const Onnx__GraphProto *
import_grow(import_node *n, const Onnx__GraphProto *body, int n_state,
            import_grown *grown, int *count)
{
    Onnx__GraphProto *g = NULL;

    *count = 0;
    if (body->n_input != (size_t)n_state + 2 ||
        body->n_output < (size_t)n_state + 1)
        return body;
    for (int k = 0; k < n_state; k++) {
        int64_t axis;
        int at = k - *count;
        int i = appending(g ? g : body, at, n->in[2 + k]->type->elem, &axis);

        if (i < 0)
            continue;
        if (!g)
            g = copy_graph(n, body);
        move_state(n, g, at, i);
        for (int j = 0; j < *count; j++)
            grown[j].row--;
        grown[(*count)++] = (import_grown){k, (int)g->n_output - 1, axis};
    }
    return g ? g : body;
}
