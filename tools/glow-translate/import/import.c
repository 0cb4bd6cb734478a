/*
 * Driver of the import: checks versions, orders the nodes, calls the operators'
 * rows, and saves the outputs.
 */

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "glow/pass.h"
#include "tools/glow-translate/import/follow.h"
#include "tools/glow-translate/proto.h"

#define MAX_NODES ((size_t)1000 * 1000)
#define MAX_PREFIX 1024 /* of names in functions, which grow with each call */

/* The model around the graph. */

/*
 * Old versions are refused.  Newer ones are not, because most of a new opset is
 * unchanged; unknown operators are refused by name.
 */
static bool
check_version(importer *im, const char *who, const char *what, int64_t version,
              int least, int last)
{
    if (version < least || version > INT_MAX)
        return glow_error(im->ctx, "E0704",
                          "%s: is of %s %" PRId64 "; %d to %d are known", who,
                          what, version, least, last);
    if (version > last)
        glow_warning_hint(
            im->ctx, (glow_span){0}, "W0703",
            "compare some results with those of another runtime, or convert the model by onnx.version_converter",
            "%s: is of %s %" PRId64 "; %d to %d are known, and it is "
            "taken as %d",
            who, what, version, least, last, last);
    return true;
}

bool
import_opset(importer *im, const char *who, Onnx__OperatorSetIdProto **list,
             size_t count, int *out)
{
    int64_t opset = 0;

    for (size_t i = 0; i < count; i++) {
        const Onnx__OperatorSetIdProto *o = list[i];

        if (!import_is_standard(o->domain))
            continue;
        if (opset)
            return glow_error(im->ctx, "E0704",
                              "%s: names its opset twice: %" PRId64
                              " and %" PRId64,
                              who, opset, o->version);
        opset = o->version;
        if (!check_version(im, who, "opset", opset, IMPORT_MIN_OPSET,
                           IMPORT_MAX_OPSET))
            return false;
    }
    *out = (int)opset;
    return true;
}

bool
import_needs_opset(importer *im, const char *who, Onnx__NodeProto **nodes,
                   size_t count)
{
    for (size_t i = 0; i < count && !im->opset; i++)
        if (import_is_standard(nodes[i]->domain) &&
            !import_find_function(im, nodes[i]))
            return glow_error(im->ctx, "E0704",
                              "%s: does not say which opset it is of", who);
    return true;
}

static bool
check_model(importer *im)
{
    const Onnx__ModelProto *m = im->model;

    if (!m->graph)
        return glow_error(im->ctx, "E0704", "%s: holds no graph", im->path);
    if (!check_version(im, im->path, "IR version", m->ir_version, IMPORT_MIN_IR,
                       IMPORT_MAX_IR))
        return false;
    if (m->graph->n_node > MAX_NODES)
        return glow_error(im->ctx, "E0703",
                          "%s: has %zu nodes, and %zu are the limit", im->path,
                          m->graph->n_node, MAX_NODES);
    im->graph = m->graph;
    return import_opset(im, im->path, m->opset_import, m->n_opset_import,
                        &im->opset) &&
           import_needs_opset(im, im->path, m->graph->node, m->graph->n_node);
}

/* Values by name. */

import_item
import_find(importer *im, const char *name, bool *named)
{
    const import_item *item = glow_map_get(im->values, name);
    const import_body *body = im->home;

    for (const import_scope *s = im->outer; s && !item; s = s->outer) {
        item = glow_map_get(s->values, name);
        body = s->body;
    }
    *named = item != NULL;
    return item ? import_bring(im, *item, body) : (import_item){0};
}

import_item
import_lookup(importer *im, const char *name)
{
    bool ignored;

    return import_find(im, name, &ignored);
}

void
import_set(importer *im, const char *name, import_item item)
{
    glow_map_set(im->values, name,
                 glow_arena_copy(im->arena, &item, sizeof item));
}

bool
import_define(importer *im, const char *name, import_item item,
              const char *what)
{
    if (!name || !*name)
        return glow_error(im->ctx, "E0706", "%s: %s has no name", im->path,
                          what);
    if (glow_map_get(im->values, name))
        return glow_error(im->ctx, "E0706", "%s: %s '%s' is defined twice",
                          im->path, what, name);
    import_set(im, name, item);
    return true;
}

/* Defines a constant for a tensor; takes over its reference. */
static bool
define_constant(importer *im, const char *name, glow_tensor *t)
{
    glow_storage *s = glow_constant_wrap(
        im->module, import_storage_name(im, name), t->type, t->data, t->owner);

    glow_tensor_end(t);
    s->loc = glow_loc_model(im->module, im->dialect->loc, im->file, name);
    import_keep(im, s);
    return import_define(im, name, (import_item){.value = &s->value},
                         "initializer");
}

static const char *
initializer_text(importer *im, const char *name)
{
    return glow_arena_printf(im->arena, "initializer '%s'", name);
}

/* The tensor, of the type that Glow notes, if it does. */
static bool
read_initializer(importer *im, const Onnx__TensorProto *p, const char *name,
                 glow_tensor *t)
{
    const char *what = initializer_text(im, name);
    glow_type type;

    if (!tensor_read(&im->tensors, p, what, t))
        return false;
    type = *t->type;
    if (!import_noted_type(im, what, p->doc_string, &type)) {
        glow_tensor_end(t);
        return false;
    }
    t->type = glow_type_get(im->ctx, type);
    return true;
}

bool
import_initializers(importer *im)
{
    const Onnx__GraphProto *g = im->graph;
    glow_tensor t;

    for (size_t i = 0; i < g->n_initializer; i++) {
        const char *name = g->initializer[i]->name;

        name = name ? name : "";
        if (!read_initializer(im, g->initializer[i], name, &t) ||
            !define_constant(im, name, &t))
            return false;
    }
    for (size_t i = 0; i < g->n_sparse_initializer; i++) {
        const Onnx__SparseTensorProto *s = g->sparse_initializer[i];
        const char *name = s->values && s->values->name ? s->values->name : "";

        if (!tensor_read_sparse(&im->tensors, s, initializer_text(im, name),
                                &t) ||
            !define_constant(im, name, &t))
            return false;
    }
    return true;
}

/* Nodes. */

const char *
import_op_name(const Onnx__NodeProto *p)
{
    return p->op_type ? p->op_type : "";
}

/* The name of a node: its own, or else that of its first result. */
const char *
import_node_name(const importer *im, size_t i)
{
    const Onnx__NodeProto *p = im->graph->node[i];
    const char *name = p->name && *p->name ? p->name : NULL;

    for (size_t k = 0; k < p->n_output && !name; k++)
        if (*p->output[k])
            name = p->output[k];
    if (!name)
        name = glow_arena_printf(im->arena, "node.%zu", i);
    return im->call && strlen(im->call->name) + strlen(name) < MAX_PREFIX
               ? glow_arena_printf(im->arena, "%s.%s", im->call->name, name)
               : name;
}

const char *
import_node_text(const importer *im, size_t i)
{
    return glow_arena_printf(im->arena, "%snode %zu, %.256s '%.256s'",
                             im->where, i, import_op_name(im->graph->node[i]),
                             import_node_name(im, i));
}

/* One node. */

static bool
check_attributes(import_node *n)
{
    import_ignore_notes(n);
    for (size_t i = 0; i < n->proto->n_attribute; i++) {
        const char *name = n->proto->attribute[i]->name;

        if (i >= 64)
            return import_refuse(n, "E0710", "over 64 attributes");
        for (size_t k = 0; k < i; k++)
            if (name && n->proto->attribute[k]->name &&
                strcmp(name, n->proto->attribute[k]->name) == 0)
                return import_refuse(n, "E0710", "%s is given twice", name);
        if (!(n->read >> i & 1) && import_attribute(n, i))
            return import_refuse(
                n, "E0710", "%s is no attribute of %s%s",
                name ? name : "(no name)", import_op_name(n->proto),
                n->im->dialect->has_opsets && n->opset
                    ? glow_arena_printf(n->im->arena, " in opset %d", n->opset)
                    : "");
    }
    return true;
}

/* Records the results under the model's names. */
static void
define_results(import_node *n)
{
    for (int i = 0; i < n->n_out; i++) {
        const char *name = n->proto->output[i];

        if (!*name)
            continue;
        /* Uses of a result that is not set are reported at the user. */
        if (n->out[i] || n->out_list[i])
            import_set(n->im, name, (import_item){n->out[i], n->out_list[i]});
    }
}

/*
 * Gives the name of the ONNX node to the node that computes its first result,
 * before layout operators.
 */
static void
name_result(const import_node *n, uint32_t first_id)
{
    glow_value *v = n->n_out ? n->out[0] : NULL;
    glow_node *d = v ? v->def : NULL;

    if (!d || d->id < first_id)
        return;
    while ((d->op->traits & GLOW_LAYOUT) && d->n_in == 1 && d->in[0]->def &&
           d->in[0]->def->id >= first_id)
        d = d->in[0]->def;
    if (!glow_find_node(n->im->func, n->name))
        glow_node_rename(d, n->name);
}

/* Finds the operands by name; omitted ones at the end are dropped. */
static bool
find_operands(import_node *n)
{
    char **names = n->proto->input;
    bool named;

    n->in = GLOW_NEW_ARRAY(n->im->arena, glow_value *, n->n_in);
    n->in_list = GLOW_NEW_ARRAY(n->im->arena, const import_list *, n->n_in);
    for (int i = 0; i < n->n_in; i++) {
        import_item item = import_find(n->im, names[i], &named);

        n->in[i] = item.value;
        n->in_list[i] = item.list;
        if (*names[i] && !named)
            return import_refuse(n, "E0705",
                                 "operand %d, '%s', is a result that is not "
                                 "supported",
                                 i, names[i]);
    }
    while (n->n_in > 0 && !import_is_given(import_item_in(n, n->n_in - 1)))
        n->n_in--;
    return true;
}

static bool
import_one(importer *im, size_t i)
{
    const Onnx__NodeProto *p = im->graph->node[i];
    const char *why;
    uint32_t first_id = im->func->next_id;
    int errors = glow_error_count(im->ctx);
    import_following f;
    import_node n = {
        .im = im,
        .row = import_resolve(im, p, &why),
        .proto = p,
        .index = i,
        .opset = import_is_standard(p->domain) ? im->opset
                                               : import_version(im, p->domain),
        .name = import_node_name(im, i),
        .text = import_node_text(im, i),
        .n_in = (int)p->n_input,
        .n_out = (int)p->n_output,
    };

    if (im->built++ >= MAX_NODES)
        return import_refuse(&n, "E0703",
                             "with the nodes of functions and loops there are "
                             "over %zu",
                             MAX_NODES);
    n.out = GLOW_NEW_ARRAY(im->arena, glow_value *, p->n_output);
    n.out_list = GLOW_NEW_ARRAY(im->arena, const import_list *, p->n_output);
    glow_builder_named(
        im->builder, n.name,
        glow_loc_model(im->module, im->dialect->loc, im->file, n.name));
    if (!find_operands(&n) || !import_check_bounds(&n, &f) ||
        !import_run_row(&n, &f) || n.failed || !import_follow_bounds(&n, &f) ||
        !check_attributes(&n)) {
        n.failed = false;
        if (glow_error_count(im->ctx) == errors)
            import_refuse(&n, "E0711", "an operand is missing");
        return false;
    }
    define_results(&n);
    if (!n.inlined)
        name_result(&n, first_id);
    glow_arena_reset(im->scratch);
    return true;
}

bool
import_nodes(importer *im)
{
    const size_t *order = import_order(im);

    if (!order)
        return false;
    for (size_t i = 0; i < im->graph->n_node; i++)
        if (!import_one(im, order[i]))
            return false;
    return true;
}

/* Outputs. */

/*
 * Warns if the declared element type differs from the computed one, which is
 * used; 0: none declared.
 */
static void
warn_of_elem(importer *im, const char *name, const Onnx__TypeProto *t,
             const glow_value *value)
{
    int64_t stated = t && t->tensor_type ? t->tensor_type->elem_type : 0;
    const tensor_elem *e = tensor_elem_of(stated);
    const tensor_elem *found = tensor_elem_for(value->type->elem);

    if (stated == 0 || !found || (e && e->kind == found->kind))
        return;
    glow_warning_hint(
        im->ctx, (glow_span){0}, "W0704",
        "declare the computed type in the model, or convert the output by a Cast",
        "%s: output '%s' is declared as element type %" PRId64
        "%s%s, but the graph computes %d, %s",
        im->path, name, stated, e ? ", " : "", e ? e->name : "", found->type,
        found->name);
}

static void
warn_of_shape(importer *im, const Onnx__ValueInfoProto *v,
              const glow_value *value)
{
    const Onnx__TensorShapeProto *s =
        v->type && v->type->tensor_type ? v->type->tensor_type->shape : NULL;
    const import_bound *b = import_bound_of(im, value);
    glow_dims found = value->type->shape;
    bool differs = s && s->n_dim != (size_t)found.rank;
    glow_buf text = {.arena = im->arena};

    for (int i = 0; s && !differs && i < found.rank; i++)
        differs = import_has_size(s->dim[i]) && !(b && b->axis == i) &&
                  s->dim[i]->dim_value != found.at[i];
    if (!differs)
        return;
    glow_buf_dims(&text, found);
    glow_warning_hint(
        im->ctx, (glow_span){0}, "W0701",
        "nothing needs to be done: the computed shape is used",
        "%s: output '%s' is not of the shape that the model states, "
        "but %s",
        im->path, v->name, text.len ? text.text : "a scalar");
}

/* A placeholder with a Save into it. */
static glow_storage *
new_output(importer *im, const char *name, glow_value *from)
{
    glow_storage *s = glow_placeholder_new(im->module, name, from->type);

    s->loc = glow_loc_model(im->module, im->dialect->loc, im->file, name);
    glow_builder_named(im->builder, name, s->loc);
    return glow_build_node(im->builder, &glow_op_save, NULL, 0,
                           GLOW_IN(from, &s->value), NULL)
               ? s
               : NULL;
}

/* Saves an output and, if it is bounded, its count as another output. */
static bool
save_output(importer *im, const char *name, glow_value *from)
{
    const import_bound *b = import_bound_of(im, from);
    glow_storage *s = new_output(im, name, from), *count;
    glow_attr *attrs;

    if (!s || !b)
        return s != NULL;
    if (import_next_bound(im, b))
        return glow_error_hint(im->ctx, (glow_span){0}, "E0714",
                               import_bind_hint(im, b->count),
                               "%s: output '%s': how large it is depends on "
                               "data along several axes",
                               im->path, name);
    count = new_output(im, glow_arena_printf(im->arena, "%s.count", name),
                       b->count);
    if (!count)
        return false;
    attrs = GLOW_NEW_ARRAY(im->module->arena, glow_attr, 2);
    attrs[0].name = "Count";
    attrs[0].value =
        (glow_attr_value){.kind = GLOW_V_SYMBOL, .text = count->name};
    attrs[1].name = "Axis";
    attrs[1].value = (glow_attr_value){.kind = GLOW_V_INT, .i = b->axis};
    s->attrs = (glow_attr_list){attrs, 2};
    return true;
}

/* A sequence's elements are NAME.0, NAME.1 ...; an optional's is NAME. */
static bool
save_item(importer *im, const char *name, import_item item)
{
    const import_list *l = item.list;
    bool ok = true;

    if (item.value)
        return save_output(im, name, item.value);
    if (l->count == 0)
        glow_warning_hint(
            im->ctx, (glow_span){0}, "W0702",
            "nothing needs to be done: the module has the outputs that have elements",
            "%s: output '%s' is %s without an element, and left out", im->path,
            name, import_list_noun(l));
    for (int i = 0; i < l->count && ok; i++)
        ok = save_item(im,
                       l->is_optional
                           ? name
                           : glow_arena_printf(im->arena, "%s.%d", name, i),
                       l->items[i]);
    return ok;
}

/* Compares a tensor, or the elements of a sequence or an optional. */
static void
warn_of_elems(importer *im, const char *name, const Onnx__TypeProto *t,
              import_item item)
{
    const Onnx__TypeProto *inner =
        t && t->sequence_type   ? t->sequence_type->elem_type
        : t && t->optional_type ? t->optional_type->elem_type
                                : NULL;

    if (item.value)
        warn_of_elem(im, name, t, item.value);
    for (int i = 0; !item.value && i < item.list->count; i++)
        warn_of_elems(im, name, inner, item.list->items[i]);
}

static bool
import_output(importer *im, const Onnx__ValueInfoProto *v)
{
    const char *name = v->name ? v->name : "";
    import_item item = import_lookup(im, name);

    if (!import_is_given(item))
        return glow_error(im->ctx, "E0706",
                          "%s: output '%s' is not defined, or not supported",
                          im->path, name);
    if (item.value)
        warn_of_shape(im, v, item.value);
    warn_of_elems(im, name, v->type, item);
    return save_item(im, name, item);
}

static bool
import_outputs(importer *im)
{
    const Onnx__GraphProto *g = im->graph;

    if (g->n_output == 0)
        return glow_error(im->ctx, "E0706", "%s: the graph has no output",
                          im->path);
    for (size_t i = 0; i < g->n_output; i++)
        if (!import_output(im, g->output[i]))
            return false;
    return true;
}

/* Erases constants whose users were erased. */
static void
erase_unused_constants(glow_module *m)
{
    GLOW_FOR_EACH_STORAGE(s, m)
        if (s->is_constant && glow_is_unused(&s->value))
            glow_storage_erase(s);
}

/* The import. */

static bool
import_graph(importer *im)
{
    for (size_t i = 0; i < im->graph->n_output; i++)
        if (im->graph->output[i]->name)
            glow_map_set(im->outputs, im->graph->output[i]->name, im);
    if (!import_check_operators(im) || !import_initializers(im))
        return false;
    if (!import_inputs(im) || !import_nodes(im) || !import_outputs(im))
        return false;
    glow_erase_unused(im->func);
    glow_drop_uncalled(im->module, im->func);
    erase_unused_constants(im->module);
    if (im->options->train && !import_free_weights(im))
        return false;
    return glow_verify(im->module);
}

static void
start(importer *im)
{
    const import_options *o = im->options;
    const char *slash = strrchr(o->path, '/');
    size_t size = 0;

    im->path = o->path;
    im->file = slash ? slash + 1 : o->path;
    im->tensors.ctx = im->ctx;
    im->tensors.arena = im->arena;
    im->tensors.path = o->path;
    if (strcmp(o->path, "-") != 0)
        im->tensors.folder =
            slash ? glow_arena_strndup(im->arena, o->path,
                                       (size_t)(slash - o->path) + 1)
                  : ".";
    for (size_t i = 0; i < im->graph->n_initializer; i++)
        size += protobuf_c_message_get_packed_size(
            &im->graph->initializer[i]->base);
    im->fold_limit = ((int64_t)64 << 20) + 10 * (int64_t)size;
    im->bound =
        GLOW_NEW_ARRAY(im->arena, bool,
                       o->n_dims + o->n_shapes + o->n_bind + o->n_lengths + 1);
    im->where = "";
    im->values = glow_map_new(im->arena);
    im->outputs = glow_map_new(im->arena);
    im->weights = glow_map_new(im->arena);
    im->module = glow_module_new(im->ctx);
    im->func = im->entry = glow_func_new(im->module, o->function);
    im->builder = glow_builder_new(im->arena, im->func, NULL);
}

glow_module *
import_proto(glow_context *ctx, const import_options *options,
             const import_dialect *dialect, const Onnx__ModelProto *model,
             glow_data *owner)
{
    importer im = {.options = options,
                   .dialect = dialect,
                   .ctx = ctx,
                   .arena = glow_arena_new(),
                   .scratch = glow_arena_new(),
                   .path = options->path,
                   .model = model};
    bool ok = false;

    if (check_model(&im)) {
        start(&im);
        im.tensors.owner = owner;
        ok = import_graph(&im);
        tensor_file_end(&im.tensors);
    }
    if (!ok && im.module) {
        glow_module_free(im.module);
        im.module = NULL;
    }
    glow_arena_free(im.scratch);
    glow_arena_free(im.arena);
    return im.module;
}

glow_module *
import_model(glow_context *ctx, const import_options *options)
{
    glow_data *owner = NULL;
    const Onnx__ModelProto *model = (const Onnx__ModelProto *)proto_read(
        ctx, options->path, &onnx__model_proto__descriptor, &owner);
    glow_module *m =
        model ? import_proto(ctx, options, &import_onnx, model, owner) : NULL;

    glow_data_unref(owner);
    return m;
}
