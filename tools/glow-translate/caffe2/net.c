/*
 * Conversion of nets to a graph of the importer, in SSA form.
 *
 * A net is a list of operators that assign names, also repeatedly: `Relu` often
 * works in place.  In the graph each value has a unique name.  The last value
 * of a name keeps it, because it is the name of outputs; an input keeps its
 * name too, since the command line refers to it.
 *
 * The operators of the init net are appended to those of the predict net, so
 * that the latter keep their numbers in messages; the importer sorts
 * topologically.  A name that is read before it is written is an input,
 * declared or not.
 */

#include <stdio.h>
#include <string.h>

#include "caffe2.pb-c.h"
#include "tools/glow-translate/caffe2/caffe2.h"
#include "tools/glow-translate/proto.h"

typedef Caffe2__NetDef net;
typedef Caffe2__OperatorDef operator_def;

/* A name of the nets, as far as they were read. */
typedef struct blob {
    const char *name;
    const char
        *value; /* name of its current value in the graph; NULL: none yet */
    int written, writes;
    bool is_read, is_input;
} blob;

typedef struct builder {
    glow_context *ctx;
    glow_arena *arena;
    const caffe2_options *options;
    const net *predict, *init; /* init may be NULL */
    glow_map *blobs;           /* blob by name */
    bool *typed;               /* options -type that were used */

    Onnx__GraphProto *graph;
    size_t n_input, n_node;
} builder;

static blob *
blob_of(builder *b, const char *name)
{
    blob *found = glow_map_get(b->blobs, name);

    if (!found) {
        found = GLOW_NEW(b->arena, blob);
        found->name = name;
        glow_map_set(b->blobs, name, found);
    }
    return found;
}

static const char *
value_of(const char *const (*list)[2], size_t n, const char *name, bool *used)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i][0], name) == 0) {
            if (used)
                used[i] = true;
            return list[i][1];
        }
    return NULL;
}

/* True if the command line declares `name` as an input. */
static bool
is_given(const builder *b, const char *name)
{
    const import_options *o = &b->options->import;

    return value_of(o->shapes, o->n_shapes, name, NULL) ||
           value_of(o->bind, o->n_bind, name, NULL);
}

/* Inputs. */

/*
 * `i8[S:0.5 O:3]`, a type of quantized elements, in Glow's notation for ONNX, which has
 * plain integers for them; NULL: it is none.
 */
static const char *
read_quantized(builder *b, const char *text, glow_kind *plain)
{
    static const struct {
        const char *name;
        glow_kind plain;
    } kinds[] = {{"i8", GLOW_INT8},
                 {"ui8", GLOW_UINDEX8},
                 {"i16", GLOW_INT16},
                 {"i32", GLOW_INDEX32}};
    char name[8], end;
    float scale;
    int offset;

    if (!text ||
        sscanf(text, "%7[a-z0-9][S:%f O:%d%c", name, &scale, &offset, &end) !=
            4 ||
        end != ']' || text[strlen(text) - 1] != ']')
        return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0) {
            *plain = kinds[i].plain;
            return glow_arena_printf(b->arena,
                                     "$elemKind:%s$qScale:%.9g$qOffset:%d",
                                     name, (double)scale, offset);
        }
    return NULL;
}

/* The element kind of an input by -type; float by default. */
static bool
read_kind(builder *b, const char *name, int *type, char **doc)
{
    const caffe2_options *o = b->options;
    const char *text = value_of(o->types, o->n_types, name, b->typed);
    glow_kind kind = text ? glow_kind_named(text) : GLOW_FLOAT;
    const char *note = read_quantized(b, text, &kind);
    const tensor_elem *e = kind ? tensor_elem_for(kind) : NULL;

    *doc = (char *)(uintptr_t)note;
    if (!e)
        return glow_error(b->ctx, "E0713",
                          "-type %s=%s: is no element kind that an input can "
                          "have",
                          name, text);
    *type = e->type;
    return true;
}

static bool
add_input(builder *b, blob *of)
{
    Onnx__ValueInfoProto *v = GLOW_NEW(b->arena, Onnx__ValueInfoProto);
    Onnx__TypeProto *t = GLOW_NEW(b->arena, Onnx__TypeProto);
    Onnx__TypeProto__Tensor *x = GLOW_NEW(b->arena, Onnx__TypeProto__Tensor);

    onnx__value_info_proto__init(v);
    onnx__type_proto__init(t);
    onnx__type_proto__tensor__init(x);
    v->name = (char *)(uintptr_t)of->name;
    v->type = t;
    t->tensor_type = x;
    x->has_elem_type = 1;
    b->graph->input[b->graph->n_input++] = v;
    of->value = of->name;
    of->is_input = true;
    return read_kind(b, of->name, &x->elem_type, &v->doc_string);
}

/* Operators. */

/* Converts an argument; its kind follows from its filled field. */
static Onnx__AttributeProto *
attribute_of(builder *b, const Caffe2__Argument *from)
{
    Onnx__AttributeProto *a = GLOW_NEW(b->arena, Onnx__AttributeProto);

    onnx__attribute_proto__init(a);
    a->name = from->name;
    a->has_type = 1;
    a->has_f = from->has_f;
    a->f = from->f;
    a->has_i = from->has_i;
    a->i = from->i;
    a->has_s = from->has_s;
    a->s = from->s;
    a->n_floats = from->n_floats;
    a->floats = from->floats;
    a->n_ints = from->n_ints;
    a->ints = from->ints;
    a->n_strings = from->n_strings;
    a->strings = from->strings;
    a->type = from->has_f       ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT
              : from->has_i     ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT
              : from->has_s     ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING
              : from->n_floats  ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS
              : from->n_strings ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS
              : from->n || from->n_nets
                  ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPHS
                  /* The kind of an empty list is unknown. */
                  : ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
    return a;
}

/*
 * True for arguments about execution, without effect on results.  Other unknown
 * arguments are refused.
 */
static bool
changes_nothing(const char *name)
{
    static const char *const names[] = {
        "algo",
        "convolution_transform_strategy",
        "cudnn_exhaustive_search",
        "disable_autotune",
        "exhaustive_search",
        "float16_compute",
        "init_params",
        "is_test",
        "net_name",
        "net_pos",
        "shared_buffer",
        "use_cudnn",
        "use_nnpack",
        "ws_nbytes_limit",
    };

    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* The name of the next value of `of`; the last one has the blob's own. */
static char *
next_value(builder *b, blob *of)
{
    const char *name = of->name;
    int k = ++of->written;

    if (k < of->writes || of->is_input)
        do
            name = glow_arena_printf(b->arena, "%s.%d", of->name, k++);
        while (glow_map_get(b->blobs, name));
    of->value = name;
    return (char *)(uintptr_t)name;
}

/* True if argument `name` is an integer other than 0. */
static bool
is_set(const operator_def *op, const char *name)
{
    for (size_t i = 0; i < op->n_arg; i++)
        if (op->arg[i]->name && strcmp(op->arg[i]->name, name) == 0)
            return op->arg[i]->has_i && op->arg[i]->i;
    return false;
}

enum { BIAS = 2, MORE_INPUTS = 3 };

/*
 * Scales and offsets of the channels of a filter are no operands in the net, but go by
 * the name of the filter: they become operands behind the bias, if they are there.
 */
static void
add_loaded(builder *b, const operator_def *op, Onnx__NodeProto *n)
{
    static const char *const suffixes[] = {"_loaded_scales", "_loaded_offsets"};

    if (!is_set(op, "quantize_groupwise") || op->n_input < BIAS ||
        op->n_input > BIAS + 1)
        return;
    if (op->n_input == BIAS)
        n->input[n->n_input++] = (char *)(uintptr_t)"";
    for (int i = 0; i < 2; i++) {
        const char *name =
            glow_arena_printf(b->arena, "%s%s", op->input[1], suffixes[i]);
        const blob *of = glow_map_get(b->blobs, name);

        n->input[n->n_input++] =
            (char *)(uintptr_t)(of && of->value ? of->value : "");
    }
}

static bool
add_operator(builder *b, const operator_def *op, Onnx__NodeProto *n)
{
    onnx__node_proto__init(n);
    n->name = op->name;
    n->op_type = op->type;
    n->input = GLOW_NEW_ARRAY(b->arena, char *, op->n_input + MORE_INPUTS);
    n->output = GLOW_NEW_ARRAY(b->arena, char *, op->n_output);
    n->attribute = GLOW_NEW_ARRAY(b->arena, Onnx__AttributeProto *, op->n_arg);
    for (size_t i = 0; i < op->n_arg; i++)
        if (!changes_nothing(op->arg[i]->name))
            n->attribute[n->n_attribute++] = attribute_of(b, op->arg[i]);
    for (size_t i = 0; i < op->n_input; i++) {
        blob *from = blob_of(b, op->input[i]);

        if (!from->value && !add_input(b, from))
            return false;
        n->input[n->n_input++] = (char *)(uintptr_t)from->value;
    }
    add_loaded(b, op, n);
    for (size_t i = 0; i < op->n_output; i++)
        n->output[n->n_output++] = next_value(b, blob_of(b, op->output[i]));
    return true;
}

/* True for a fill whose results are all inputs, which is dropped. */
static bool
is_overridden(const builder *b, const operator_def *op)
{
    for (size_t i = 0; i < op->n_output; i++)
        if (!is_given(b, op->output[i]))
            return false;
    return op->n_output > 0;
}

static bool
add_operators(builder *b, const net *from, bool is_init,
              Onnx__NodeProto **nodes, size_t *count)
{
    Onnx__NodeProto *all =
        GLOW_NEW_ARRAY(b->arena, Onnx__NodeProto, from->n_op);

    for (size_t i = 0; i < from->n_op; i++) {
        if (is_init && is_overridden(b, from->op[i]))
            continue;
        if (!add_operator(b, from->op[i], &all[i]))
            return false;
        nodes[(*count)++] = &all[i];
    }
    return true;
}

/* Counts reads and writes of each name; returns the number of operands. */
static size_t
count_blobs(builder *b, const net *from, bool is_init)
{
    size_t operands = from->n_external_input + from->n_external_output;

    for (size_t i = 0; i < from->n_op; i++) {
        const operator_def *op = from->op[i];

        operands += op->n_input;
        for (size_t k = 0; k < op->n_input; k++)
            blob_of(b, op->input[k])->is_read = true;
        if (is_init && is_overridden(b, op))
            continue;
        for (size_t k = 0; k < op->n_output; k++)
            blob_of(b, op->output[k])->writes++;
    }
    return operands;
}

/* The conversion. */

static bool
add_outputs(builder *b)
{
    Onnx__GraphProto *g = b->graph;
    const net *from = b->predict;

    g->output = GLOW_NEW_ARRAY(b->arena, Onnx__ValueInfoProto *,
                               from->n_external_output);
    for (size_t i = 0; i < from->n_external_output; i++) {
        blob *of = blob_of(b, from->external_output[i]);
        Onnx__ValueInfoProto *v = GLOW_NEW(b->arena, Onnx__ValueInfoProto);

        /* A name without definition is an input, if its shape is given. */
        if (!of->value && is_given(b, of->name) && !add_input(b, of))
            return false;
        onnx__value_info_proto__init(v);
        v->name = (char *)(uintptr_t)(of->value ? of->value : of->name);
        g->output[g->n_output++] = v;
    }
    return true;
}

static bool
check_types(const builder *b)
{
    const caffe2_options *o = b->options;
    bool ok = true;

    for (size_t i = 0; i < o->n_types; i++)
        if (!b->typed[i])
            ok = glow_error(b->ctx, "E0713",
                            "-type %s=%s: %s has no input of this name",
                            o->types[i][0], o->types[i][1], o->import.path);
    return ok;
}

/* Inputs come in the order of external_input, then in that of their use. */
static bool
add_nets(builder *b)
{
    size_t operands = count_blobs(b, b->predict, false), init = 0, predict = 0;
    size_t n_init = b->init ? b->init->n_op : 0;
    size_t n = b->predict->n_op + n_init;
    Onnx__NodeProto **nodes = GLOW_NEW_ARRAY(b->arena, Onnx__NodeProto *, n);
    Onnx__NodeProto **fills =
        GLOW_NEW_ARRAY(b->arena, Onnx__NodeProto *, n_init);

    if (b->init)
        operands += count_blobs(b, b->init, true);
    b->graph->input =
        GLOW_NEW_ARRAY(b->arena, Onnx__ValueInfoProto *, operands);
    if (b->init && !add_operators(b, b->init, true, fills, &init))
        return false;
    for (size_t i = 0; i < b->predict->n_external_input; i++) {
        blob *of = blob_of(b, b->predict->external_input[i]);

        if (!of->value && (of->is_read || is_given(b, of->name)) &&
            !add_input(b, of))
            return false;
    }
    if (!add_operators(b, b->predict, false, nodes, &predict))
        return false;
    if (init)
        memcpy(nodes + predict, fills, init * sizeof *fills);
    b->graph->node = nodes;
    b->graph->n_node = predict + init;
    return add_outputs(b) && check_types(b);
}

/* Checks that names are not empty. */
static bool
check_names(builder *b, const net *from, const char *path)
{
    for (size_t i = 0; i < from->n_op; i++) {
        const operator_def *op = from->op[i];
        bool ok = true;

        for (size_t k = 0; k < op->n_input; k++)
            ok &= *op->input[k] != 0;
        for (size_t k = 0; k < op->n_output; k++)
            ok &= *op->output[k] != 0;
        if (!ok)
            return glow_error(b->ctx, "E0706",
                              "%s: operator %zu, %s: an operand has no name",
                              path, i, op->type ? op->type : "");
    }
    return true;
}

static glow_module *
import_nets(builder *b, glow_data *owner)
{
    const import_options *o = &b->options->import;
    Onnx__OperatorSetIdProto opset, *opsets[] = {&opset};
    Onnx__ModelProto model;
    Onnx__GraphProto graph;

    onnx__model_proto__init(&model);
    onnx__graph_proto__init(&graph);
    onnx__operator_set_id_proto__init(&opset);
    opset.version = IMPORT_MAX_OPSET;
    model.ir_version = IMPORT_MAX_IR;
    model.opset_import = opsets;
    model.n_opset_import = 1;
    model.graph = b->graph = &graph;
    b->blobs = glow_map_new(b->arena);
    b->typed = GLOW_NEW_ARRAY(b->arena, bool, b->options->n_types + 1);
    if (!check_names(b, b->predict, o->path) ||
        (b->init && !check_names(b, b->init, b->options->init)) || !add_nets(b))
        return NULL;
    return import_proto(b->ctx, o, &caffe2_dialect, &model, owner);
}

glow_module *
caffe2_import(glow_context *ctx, const caffe2_options *options)
{
    const ProtobufCMessageDescriptor *d = &caffe2__net_def__descriptor;
    glow_data *predict = NULL, *init = NULL;
    builder b = {.ctx = ctx, .options = options};
    glow_module *m = NULL;

    b.predict = (const net *)proto_read(ctx, options->import.path, d, &predict);
    if (b.predict && options->init)
        b.init = (const net *)proto_read(ctx, options->init, d, &init);
    if (b.predict && (b.init || !options->init)) {
        b.arena = glow_arena_new();
        m = import_nets(&b, predict);
        glow_arena_free(b.arena);
    }
    glow_data_unref(predict);
    glow_data_unref(init);
    return m;
}
