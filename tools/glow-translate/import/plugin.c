/*
 * Nodes of other domains: imported by a plugin, or kept by -allow-unknown.
 *
 * A node is kept as DOMAIN.OPERATOR with its attributes, so that a pass of the
 * user, or the exporter, can process it.  The types of its results cannot be
 * inferred: the model must state them.
 */

#include <inttypes.h>
#include <string.h>

#include "glow/plugin.h"
#include "tools/glow-translate/import/state.h"

static bool
takes(const glow_importer *p, const char *domain, const char *op, int version)
{
    return strcmp(p->domain, domain) == 0 && strcmp(p->op, op) == 0 &&
           (version == 0 || version >= p->since) &&
           (!p->until || version <= p->until);
}

/* The importer of a loaded plugin for a node, or NULL. */
static const glow_importer *
find_importer(const importer *im, const Onnx__NodeProto *p)
{
    const char *domain = p->domain ? p->domain : "";
    int version = import_version(im, domain);
    const glow_plugin *plugin;

    for (size_t i = 0; (plugin = glow_plugin_at(im->ctx, i)); i++)
        for (size_t k = 0; plugin->importers && plugin->importers[k]; k++)
            if (takes(plugin->importers[k], domain, import_op_name(p), version))
                return plugin->importers[k];
    return NULL;
}

/* The node as the plugin sees it, followed by private data. */
typedef struct plugin_node {
    glow_import seen; /* first */
    import_node *n;
} plugin_node;

static import_node *
ours(glow_import *seen)
{
    return ((plugin_node *)seen)->n;
}

static bool
read_has(glow_import *n, const char *name)
{
    return import_has(ours(n), name);
}

static int64_t
read_integer(glow_import *n, const char *name, int64_t otherwise, int64_t least,
             int64_t most)
{
    return import_int(ours(n), name, otherwise, least, most);
}

static float
read_number(glow_import *n, const char *name, float otherwise)
{
    return import_float(ours(n), name, otherwise);
}

static const char *
read_string(glow_import *n, const char *name, const char *otherwise)
{
    return import_string(ours(n), name, otherwise);
}

static glow_ints
read_integers(glow_import *n, const char *name)
{
    return import_ints(ours(n), name);
}

static glow_floats
read_numbers(glow_import *n, const char *name)
{
    return import_floats(ours(n), name);
}

static const glow_tensor *
read_known(glow_import *n, int i)
{
    return import_known(ours(n), i);
}

static bool
refuse(glow_import *n, const char *why)
{
    return import_refuse(ours(n), "E0711", "%s", why);
}

static bool
run_importer(import_node *n)
{
    static const glow_import_reader reader = {
        .size = sizeof reader,
        .has = read_has,
        .integer = read_integer,
        .number = read_number,
        .string = read_string,
        .integers = read_integers,
        .numbers = read_numbers,
        .known = read_known,
        .refuse = refuse,
    };
    plugin_node p = {
        .seen = {.domain = n->proto->domain,
                 .op = import_op_name(n->proto),
                 .version = import_version(n->im, n->proto->domain),
                 .builder = n->im->builder,
                 .in = n->in,
                 .n_in = n->n_in,
                 .out = n->out,
                 .n_out = n->n_out,
                 .reader = &reader},
        .n = n};

    return import_operands(n, 0, INT32_MAX) &&
           find_importer(n->im, n->proto)->run(&p.seen);
}

/* Unknown operators. */

static const Onnx__ValueInfoProto *
find_info(Onnx__ValueInfoProto **list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (list[i]->name && strcmp(list[i]->name, name) == 0)
            return list[i];
    return NULL;
}

/* The declared type of a value, or NULL after a report. */
static const glow_type *
declared_type(import_node *n, const char *name)
{
    const Onnx__GraphProto *g = n->im->graph;
    const Onnx__ValueInfoProto *v =
        find_info(g->value_info, g->n_value_info, name);
    const Onnx__TypeProto__Tensor *x;
    const tensor_elem *e;
    glow_dims shape = {0};

    if (!v)
        v = find_info(g->output, g->n_output, name);
    x = v && v->type ? v->type->tensor_type : NULL;
    e = x ? tensor_elem_of(x->elem_type) : NULL;
    if (!e || !e->kind || !x->shape || x->shape->n_dim > GLOW_MAX_RANK) {
        import_refuse(n, "E0705",
                      "an unknown operator can be kept if the model states the "
                      "types of its results, and that of '%s' is not",
                      name);
        return NULL;
    }
    shape.rank = (int)x->shape->n_dim;
    for (int i = 0; i < shape.rank; i++) {
        shape.at[i] = x->shape->dim[i]->dim_value;
        if (!x->shape->dim[i]->has_dim_value) {
            import_refuse(n, "E0705",
                          "result '%s' of an unknown operator has a dimension "
                          "without a size",
                          name);
            return NULL;
        }
    }
    return import_type(n, e->kind, shape);
}

#define KIND(name) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##name

static glow_attr_value
string_value(glow_arena *a, const ProtobufCBinaryData *s)
{
    return (glow_attr_value){
        .kind = GLOW_V_STRING,
        .text = glow_arena_strndup(a, (const char *)s->data, s->len),
        .size = s->len};
}

/* Item i of a list, or the one value. */
static bool
scalar_value(glow_arena *a, const Onnx__AttributeProto *p, size_t i,
             glow_attr_value *out)
{
    switch (p->type) {
    case KIND(INT):
    case KIND(INTS):
        *out = (glow_attr_value){.kind = GLOW_V_INT,
                                 .i = p->type == KIND(INT) ? p->i : p->ints[i]};
        return true;
    case KIND(FLOAT):
    case KIND(FLOATS):
        *out = (glow_attr_value){
            .kind = GLOW_V_FLOAT,
            .f = (double)(p->type == KIND(FLOAT) ? p->f : p->floats[i])};
        return true;
    case KIND(STRING):
    case KIND(STRINGS):
        *out =
            string_value(a, p->type == KIND(STRING) ? &p->s : &p->strings[i]);
        return true;
    default:
        return false;
    }
}

static bool
attribute_value(glow_arena *a, const Onnx__AttributeProto *p,
                glow_attr_value *out)
{
    bool is_list = p->type == KIND(INTS) || p->type == KIND(FLOATS) ||
                   p->type == KIND(STRINGS);
    size_t count = p->n_ints + p->n_floats + p->n_strings;
    glow_attr_value *items;

    if (!is_list)
        return scalar_value(a, p, 0, out);
    items = GLOW_NEW_ARRAY(a, glow_attr_value, count);
    for (size_t i = 0; i < count; i++)
        if (!scalar_value(a, p, i, &items[i]))
            return false;
    *out =
        (glow_attr_value){.kind = GLOW_V_LIST, .items = items, .count = count};
    return true;
}

/* True if `s` is a name of the text form. */
static bool
is_word(const char *s)
{
    if (!s || !*s || (*s >= '0' && *s <= '9'))
        return false;
    for (; *s; s++)
        if (!(*s == '_' || (*s >= '0' && *s <= '9') ||
              (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z')))
            return false;
    return true;
}

static bool
keep_attributes(import_node *n, glow_attr_list *out)
{
    glow_arena *a = n->im->module->arena; /* live as long as the node */
    glow_attr *items = GLOW_NEW_ARRAY(a, glow_attr, n->proto->n_attribute);

    out->items = items;
    out->count = 0;
    for (size_t i = 0; i < n->proto->n_attribute; i++) {
        const Onnx__AttributeProto *p = import_attribute(n, i);
        const char *name = n->proto->attribute[i]->name;

        if (!p)
            continue;
        if (!is_word(name))
            return import_refuse(n, "E0710", "'%s' is no name of an attribute",
                                 name ? name : "");
        if (!attribute_value(a, p, &items[out->count].value))
            return import_refuse(n, "E0705",
                                 "attribute %s of an unknown operator is no "
                                 "number, text or list of them",
                                 name);
        items[out->count++].name = glow_arena_strdup(a, name);
        import_ignore(n, name);
    }
    return true;
}

static const glow_op *
unknown_op(import_node *n)
{
    glow_operand in[GLOW_MAX_OPERANDS] = {{0}}, out[GLOW_MAX_RESULTS] = {{0}};
    glow_arena *a = n->im->arena;

    if (n->n_in > GLOW_MAX_OPERANDS || n->n_out > GLOW_MAX_RESULTS) {
        import_refuse(n, "E0705",
                      "%d operands and %d results, but at most %d and %d of an "
                      "unknown operator can be kept",
                      n->n_in, n->n_out, GLOW_MAX_OPERANDS, GLOW_MAX_RESULTS);
        return NULL;
    }
    for (int i = 0; i < n->n_in; i++)
        in[i] = (glow_operand){.name = glow_arena_printf(a, "In%d", i),
                               .kind = n->in[i] ? GLOW_TENSOR : GLOW_OPTIONAL};
    for (int i = 0; i < n->n_out; i++)
        out[i] = (glow_operand){
            .name = n->n_out == 1 ? "Result" : glow_arena_printf(a, "Out%d", i),
            .kind = GLOW_TENSOR};
    return glow_unknown_op(n->im->module,
                           glow_arena_printf(a, "%s.%s", n->proto->domain,
                                             import_op_name(n->proto)),
                           in, n->n_in, out, n->n_out);
}

static bool
keep_unknown(import_node *n)
{
    const glow_type *types[GLOW_MAX_RESULTS] = {NULL};
    glow_attr_list attrs;
    glow_node *node;
    const glow_op *op;

    if (!import_operands(n, 0, INT32_MAX))
        return false;
    op = unknown_op(n);
    if (!op || !keep_attributes(n, &attrs))
        return false;
    for (int i = 0; i < n->n_out; i++) {
        types[i] = declared_type(n, n->proto->output[i]);
        if (!types[i])
            return false;
    }
    node = glow_node_new(n->im->func, op, n->name, n->in, n->n_in, types,
                         n->n_out, NULL);
    node->unknown_attrs = attrs;
    node->loc = glow_loc_model(n->im->module, n->im->dialect->loc, n->im->file,
                               n->name);
    for (int i = 0; i < n->n_out; i++)
        n->out[i] = node->out[i];
    return true;
}

/* A hint for domains with a workaround. */
static const char *
why_foreign(const char *domain)
{
    if (strcmp(domain, "com.microsoft") == 0)
        return "an operator of ONNX Runtime's own: export the model again "
               "without its optimizations, or keep it by -allow-unknown";
    if (strcmp(domain, "ai.onnx.ml") == 0)
        return "it has no form here, as there are no maps and no strings; "
               "-allow-unknown keeps it";
    if (strncmp(domain, "ai.onnx.preview", 15) == 0 ||
        strncmp(domain, "ai.onnx.training", 16) == 0)
        return "training has no form here";
    return "its domain is not known; -plugin loads who knows it, "
           "-allow-unknown keeps it";
}

const import_row *
import_find_foreign(importer *im, const Onnx__NodeProto *p, const char **why)
{
    static const import_row plugin = {"", 1, 0, run_importer, NULL, NULL};
    static const import_row unknown = {"", 1, 0, keep_unknown, NULL, NULL};

    *why = NULL;
    if (find_importer(im, p))
        return &plugin;
    if (im->options->allow_unknown)
        return &unknown;
    *why = why_foreign(p->domain);
    return NULL;
}
