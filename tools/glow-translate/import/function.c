/*
 * Functions of the model, by expansion.
 *
 *     f(a, b) {alpha: 2}     the body of f, with a and b for its inputs, and
 *                      =>    2 wherever an attribute refers to `alpha`
 *
 * A body has no free variables, its operators have the opset that the function
 * imports, and its nodes are named CALLER.NODE.  A function may call others,
 * but not itself.
 */

#include <string.h>

#include "tools/glow-translate/import/state.h"

#define MAX_DEPTH 64 /* each takes some of the C stack */
#define MAX_CALLS (1 << 16)

static bool
same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool
same_domain(const char *a, const char *b)
{
    return same(a, b) || (import_is_standard(a) && import_is_standard(b));
}

const Onnx__FunctionProto *
import_find_function(const importer *im, const Onnx__NodeProto *p)
{
    for (size_t i = 0; i < im->model->n_functions; i++) {
        const Onnx__FunctionProto *f = im->model->functions[i];

        if (same(f->name, p->op_type) && same_domain(f->domain, p->domain) &&
            same(f->overload, p->overload))
            return f;
    }
    return NULL;
}

/* Attributes that refer to those of the function. */

const Onnx__AttributeProto *
import_attribute(const import_node *n, size_t i)
{
    const Onnx__AttributeProto *a = n->proto->attribute[i];
    const import_call *call = n->im->call;

    if (!a->ref_attr_name || !*a->ref_attr_name)
        return a;
    for (size_t k = 0; call && k < call->n_attributes; k++)
        if (strcmp(call->names[k], a->ref_attr_name) == 0)
            return call->values[k];
    return NULL;
}

/* The caller's attribute `name`, which is marked as read, or NULL. */
static const Onnx__AttributeProto *
given(import_node *n, const char *name)
{
    for (size_t i = 0; i < n->proto->n_attribute && i < 64; i++)
        if (same(n->proto->attribute[i]->name, name)) {
            n->read |= (uint64_t)1 << i;
            return import_attribute(n, i);
        }
    return NULL;
}

/*
 * Binds the attributes of a call: the caller's, else the function's defaults.
 */
static bool
bind_attributes(import_node *n, import_call *call)
{
    const Onnx__FunctionProto *f = call->function;
    size_t count = f->n_attribute + f->n_attribute_proto, k = 0;
    glow_arena *a = n->im->arena;
    const char **names = GLOW_NEW_ARRAY(a, const char *, count);
    const Onnx__AttributeProto **values =
        GLOW_NEW_ARRAY(a, const Onnx__AttributeProto *, count);

    for (size_t i = 0; i < f->n_attribute; i++, k++) {
        names[k] = f->attribute[i];
        values[k] = given(n, names[k]);
    }
    for (size_t i = 0; i < f->n_attribute_proto; i++, k++) {
        const Onnx__AttributeProto *otherwise = f->attribute_proto[i];
        const Onnx__AttributeProto *v;

        names[k] = otherwise->name ? otherwise->name : "";
        v = given(n, names[k]);
        values[k] = v ? v : otherwise;
    }
    for (k = 0; k < count; k++)
        if (values[k] && values[k]->g)
            return import_refuse(n, "E0705",
                                 "attribute %s of a function is a graph, which "
                                 "is not supported",
                                 names[k]);
    call->names = names;
    call->values = values;
    call->n_attributes = count;
    return true;
}

/* Operands and results. */

static bool
bind_operands(import_node *n, const Onnx__FunctionProto *f, glow_map *values)
{
    if ((size_t)n->n_in > f->n_input || (size_t)n->n_out > f->n_output)
        return import_refuse(n, "E0711",
                             "%d operands and %d results, but the function has "
                             "%zu and %zu",
                             n->n_in, n->n_out, f->n_input, f->n_output);
    for (size_t i = 0; i < f->n_input; i++) {
        import_item item = import_item_in(n, (int)i);

        if (!*f->input[i] || glow_map_get(values, f->input[i]))
            return import_refuse(n, "E0706",
                                 "input %zu of the function, '%s', has no name "
                                 "or is defined twice",
                                 i, f->input[i]);
        glow_map_set(values, f->input[i],
                     glow_arena_copy(n->im->arena, &item, sizeof item));
    }
    return true;
}

static bool
find_results(import_node *n, const Onnx__FunctionProto *f)
{
    for (int i = 0; i < n->n_out; i++) {
        import_item item = import_lookup(n->im, f->output[i]);

        n->out[i] = item.value;
        n->out_list[i] = item.list;
        if (import_wants(n, i) && !import_is_given(item))
            return import_refuse(n, "E0706",
                                 "result '%s' of the function is not defined, "
                                 "or not supported",
                                 f->output[i]);
    }
    return true;
}

/* The body as a graph. */
static Onnx__GraphProto *
graph_of(importer *im, const Onnx__FunctionProto *f)
{
    Onnx__GraphProto *g = GLOW_NEW(im->arena, Onnx__GraphProto);

    onnx__graph_proto__init(g);
    g->n_node = f->n_node;
    g->node = f->node;
    return g;
}

static bool
build(import_node *n, const Onnx__FunctionProto *f)
{
    importer *im = n->im;
    const char *who = glow_arena_printf(im->arena, "%s: function %s", im->path,
                                        f->name ? f->name : "");

    if (import_opset(im, who, f->opset_import, f->n_opset_import, &im->opset) &&
        import_needs_opset(im, who, f->node, f->n_node) &&
        import_check_operators(im) && import_nodes(im))
        return find_results(n, f);
    n->failed = true;
    return false;
}

static bool
check_calls(import_node *n, const Onnx__FunctionProto *f)
{
    for (const import_call *c = n->im->call; c; c = c->outer)
        if (c->function == f)
            return import_refuse(n, "E0706", "function %s calls itself",
                                 f->name);
    if (n->im->depth == MAX_DEPTH)
        return import_refuse(n, "E0703",
                             "functions stand more than %d deep in each other",
                             MAX_DEPTH);
    if (n->im->calls++ == MAX_CALLS)
        return import_refuse(n, "E0703", "functions are called over %d times",
                             MAX_CALLS);
    return true;
}

bool
import_call_function(import_node *n)
{
    importer *im = n->im;
    const importer before = *im;
    import_call call = {.function = import_find_function(im, n->proto),
                        .name = n->name,
                        .outer = im->call};
    glow_map *values = glow_map_new(im->arena);
    bool ok;

    if (!check_calls(n, call.function) || !bind_attributes(n, &call) ||
        !bind_operands(n, call.function, values))
        return false;
    im->graph = graph_of(im, call.function);
    im->where = glow_arena_printf(im->arena, "%.4096s: ", n->text);
    im->values = values;
    im->outer = NULL;
    im->call = &call;
    im->depth++;
    n->inlined = true;
    ok = build(n, call.function);
    im->graph = before.graph;
    im->where = before.where;
    im->values = before.values;
    im->outer = before.outer;
    im->call = before.call;
    im->opset = before.opset;
    im->depth = before.depth;
    return ok;
}
