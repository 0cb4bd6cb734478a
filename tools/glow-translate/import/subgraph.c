/*
 * Subgraphs: bodies of If, Loop and similar operators, built in place.
 *
 * A subgraph has its own scope of names and may use values of the enclosing
 * graphs.  While it is built it is the current graph.
 */

#include <string.h>

#include "tools/glow-translate/import/state.h"

/* Subgraphs within subgraphs; each takes some of the C stack. */
#define MAX_DEPTH 64

static const char *
name_of(const Onnx__ValueInfoProto *v)
{
    return v->name ? v->name : "";
}

/*
 * The constants of the initializers of im->graph if they were built before, or
 * NULL.
 */
static import_constants *
find_constants(const importer *im)
{
    import_constants *c = im->constants;

    while (c && c->graph != im->graph)
        c = c->next;
    return c;
}

/* The name of initializer i: the dense ones, then the sparse ones. */
static const char *
initializer_name(const Onnx__GraphProto *g, size_t i)
{
    const char *name =
        i < g->n_initializer
            ? g->initializer[i]->name
            : g->sparse_initializer[i - g->n_initializer]->values->name;

    return name ? name : "";
}

/* Defines the initializers; constants that were built before are reused. */
static bool
define_initializers(importer *im)
{
    const Onnx__GraphProto *g = im->graph;
    size_t count = g->n_initializer + g->n_sparse_initializer;
    import_constants *c = find_constants(im);

    if (!c) {
        if (!import_initializers(im))
            return false;
        c = GLOW_NEW(im->arena, import_constants);
        c->graph = g;
        c->items = GLOW_NEW_ARRAY(im->arena, import_item, count);
        for (size_t i = 0; i < count; i++)
            c->items[i] = import_lookup(im, initializer_name(g, i));
        c->next = im->constants;
        im->constants = c;
    }
    for (size_t i = 0; i < count; i++)
        import_set(im, initializer_name(g, i), c->items[i]);
    return true;
}

/* True if the name of every input of `g` is defined outside. */
static bool
names_outside(importer *im, const Onnx__GraphProto *g)
{
    for (size_t i = 0; i < g->n_input; i++)
        if (!import_is_given(import_lookup(im, name_of(g->input[i]))))
            return false;
    return true;
}

static bool
define_inputs(import_node *n, const import_item *in, int n_in)
{
    importer *im = n->im;
    const Onnx__GraphProto *g = im->graph;

    /* Branches that list their free variables as inputs. */
    if (n_in == 0 && names_outside(im, g))
        return true;
    if (g->n_input != (size_t)n_in)
        return import_refuse(n, "E0711",
                             "its subgraph has %zu inputs, but %d are given",
                             g->n_input, n_in);
    for (int i = 0; i < n_in; i++) {
        const char *name = name_of(g->input[i]);

        if (!*name || glow_map_get(im->values, name))
            return import_refuse(n, "E0706",
                                 "input %d of its subgraph, '%s', has no name "
                                 "or is defined twice",
                                 i, name);
        import_set(im, name, in[i]);
    }
    return true;
}

static bool
find_outputs(import_node *n, import_item *out, int n_out)
{
    const Onnx__GraphProto *g = n->im->graph;

    if (g->n_output != (size_t)n_out)
        return import_refuse(n, "E0711",
                             "its subgraph has %zu outputs, but %d are due",
                             g->n_output, n_out);
    for (int i = 0; i < n_out; i++) {
        const char *name = name_of(g->output[i]);

        out[i] = import_lookup(n->im, name);
        if (!import_is_given(out[i]))
            return import_refuse(n, "E0706",
                                 "output '%s' of its subgraph is not defined, "
                                 "or not supported",
                                 name);
    }
    return true;
}

static bool
build(import_node *n, const import_item *in, int n_in, import_item *out,
      int n_out)
{
    importer *im = n->im;

    if (!define_inputs(n, in, n_in))
        return false;
    if (!import_check_operators(im) || !define_initializers(im) ||
        !import_nodes(im)) {
        n->failed = true;
        return false;
    }
    return find_outputs(n, out, n_out);
}

bool
import_inline(import_node *n, const Onnx__GraphProto *g, const import_item *in,
              int n_in, import_item *out, int n_out)
{
    importer *im = n->im;
    const importer before = *im;
    const import_scope outer = {im->values, im->home, im->outer};
    bool ok;

    if (n->failed || !g)
        return false;
    if (im->depth == MAX_DEPTH)
        return import_refuse(n, "E0703",
                             "subgraphs stand more than %d deep in each other",
                             MAX_DEPTH);
    im->graph = g;
    im->where = glow_arena_printf(im->arena, "%.4096s: ", n->text);
    im->values = glow_map_new(im->arena);
    im->home = im->body;
    im->outer = &outer;
    im->depth++;
    n->inlined = true;
    ok = build(n, in, n_in, out, n_out);
    im->graph = before.graph;
    im->where = before.where;
    im->values = before.values;
    im->home = before.home;
    im->outer = before.outer;
    im->depth = before.depth;
    glow_builder_named(
        im->builder, n->name,
        glow_loc_model(im->module, im->dialect->loc, im->file, n->name));
    return ok;
}

bool
import_subgraph(import_node *n, const Onnx__GraphProto *g,
                glow_value *const *in, int n_in, glow_value **out, int n_out)
{
    import_item *ins = GLOW_NEW_ARRAY(n->im->arena, import_item, n_in);
    import_item *outs = GLOW_NEW_ARRAY(n->im->arena, import_item, n_out);

    for (int i = 0; i < n_in; i++)
        ins[i].value = in[i];
    if (!import_inline(n, g, ins, n_in, outs, n_out))
        return false;
    for (int i = 0; i < n_out; i++) {
        if (!outs[i].value)
            return import_refuse(n, "E0705",
                                 "output %d of its subgraph is %s, which is "
                                 "not supported here",
                                 i, import_list_noun(outs[i].list));
        out[i] = outs[i].value;
    }
    return true;
}
