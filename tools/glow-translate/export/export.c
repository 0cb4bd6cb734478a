/*
 * Export of a graph: names, inputs, outputs, initializers, and nodes by the
 * rows of their operators.
 */

#include <inttypes.h>
#include <string.h>

#include "glow/backend.h"
#include "glow/file.h"
#include "glow/number.h"
#include "glow/pipeline.h"
#include "tools/glow-translate/export/export.h"
#include "tools/glow-translate/tensor.h"
#include "tools/glow-translate/wire.h"

/* A splat constant of more bytes is written as ConstantOfShape. */
#define MAX_SPLAT_BYTES 1024

struct exporter {
    glow_context *ctx;
    glow_arena *arena;
    glow_module *module;
    glow_func *func;
    const char *path;
    Onnx__GraphProto *graph;
    size_t node_cap, initializer_cap, input_cap, output_cap;
    glow_map *taken;  /* names in the model */
    glow_map *names;  /* of values, by "@storage" and "%node#result" */
    glow_map *bounds; /* export_bound of values, by the same */
    glow_map *shared; /* names in the model's graph, for constants */
    const export_row *row;
    Onnx__NodeProto *last;
    size_t attribute_cap; /* of last */
    Onnx__ModelProto *model;
    size_t opset_cap, info_cap;
    int opset;
};

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

bool
export_refuse(exporter *e, const glow_node *n, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    glow_error_at(e->ctx, n->span, "E0720", "%%%s, %s: %s", n->name,
                  n->op->name, glow_arena_vprintf(e->arena, fmt, ap));
    va_end(ap);
    return false;
}

const export_row *
export_this(const exporter *e)
{
    return e->row;
}

int
export_opset(const exporter *e)
{
    return e->opset;
}

glow_arena *
export_arena(exporter *e)
{
    return e->arena;
}

glow_module *
export_module(exporter *e)
{
    return e->module;
}

glow_context *
export_context(exporter *e)
{
    return e->ctx;
}

/* Messages. */

static void *
add(exporter *e, void **list, size_t *count, size_t *cap, void *item)
{
    void **items =
        glow_arena_grow(e->arena, *list, *count, cap, sizeof(void *));

    items[(*count)++] = item;
    *list = items;
    return item;
}

/* Appends to a repeated field of messages. */
#define ADD(e, message, field, cap, item) \
    add((e), (void **)&(message)->field, &(message)->n_##field, (cap), (item))

static char *
text(exporter *e, const char *s)
{
    return glow_arena_strdup(e->arena, s);
}

/* Names. */

/* `base`, followed by a number if it is taken. */
static const char *
unique(exporter *e, const char *base)
{
    const char *name = base;

    for (int i = 1; glow_map_get(e->taken, name); i++)
        name = glow_arena_printf(e->arena, "%s.%d", base, i);
    name = text(e, name);
    glow_map_set(e->taken, name, e);
    return name;
}

static const char *
key_of(exporter *e, const glow_value *v)
{
    if (v->def)
        return glow_arena_printf(e->arena, "%%%s#%d", v->def->name, v->index);
    return glow_arena_printf(e->arena, "@%s", v->storage->name);
}

static void
name_value(exporter *e, const glow_value *v, const char *base)
{
    glow_map_set(e->names, key_of(e, v), (void *)(uintptr_t)unique(e, base));
}

const export_bound *
export_bound_of(exporter *e, const glow_value *v)
{
    return glow_map_get(e->bounds, key_of(e, v));
}

void
export_set_bound(exporter *e, const glow_value *v, export_bound b)
{
    glow_map_set(e->bounds, key_of(e, v),
                 glow_arena_copy(e->arena, &b, sizeof b));
}

/* Constants are named once, for all functions. */
static const char *
name_of(exporter *e, const glow_value *v)
{
    const char *key = key_of(e, v), *name = glow_map_get(e->names, key);

    return name || v->def ? name : glow_map_get(e->shared, key);
}

const char *
export_in(exporter *e, const glow_node *n, int i)
{
    return i < n->n_in && n->in[i] ? name_of(e, n->in[i]) : "";
}

/* Storage keeps its names. */
static void
name_storage(exporter *e)
{
    GLOW_FOR_EACH_STORAGE(s, e->module)
        if (!s->is_constant)
            name_value(e, &s->value, s->name);
    GLOW_FOR_EACH_STORAGE(s, e->module)
        if (s->is_constant)
            name_value(e, &s->value, s->name);
}

/* Results are named after their nodes. */
static void
name_results(exporter *e)
{
    GLOW_FOR_EACH_NODE(n, e->func)
        for (int i = 0; i < n->n_out; i++) {
            char name[80];

            glow_op_result_name(n->op, i, name, sizeof name);
            name_value(e, n->out[i],
                       n->n_out == 1 ? n->name
                                     : glow_arena_printf(e->arena, "%s.%s",
                                                         n->name, name));
        }
}

/* Nodes. */

static Onnx__NodeProto *
new_node(exporter *e, const glow_node *n, const char *type,
         const char *const *in, int n_in)
{
    Onnx__NodeProto *p = GLOW_NEW(e->arena, Onnx__NodeProto);

    onnx__node_proto__init(p);
    while (n_in > 0 && !*in[n_in - 1])
        n_in--;
    p->op_type = text(e, type);
    p->name = text(e, n->name);
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
    Onnx__NodeProto *p = new_node(e, n, type, in, n_in);

    for (int i = 0; i < n_out; i++)
        out[i] = unique(e, glow_arena_printf(e->arena, "%s.%s", n->name, type));
    p->name = text(e, out[0]);
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
    Onnx__NodeProto *p = new_node(e, n, "Identity", NAMES(x));
    char *out = text(e, name_of(e, n->out[i]));

    p->name = out;
    p->n_output = 1;
    p->output = glow_arena_copy(e->arena, &out, sizeof out);
    return true;
}

bool
export_last(exporter *e, const glow_node *n, const char *type,
            const char *const *in, int n_in)
{
    Onnx__NodeProto *p = new_node(e, n, type, in, n_in);

    p->n_output = (size_t)n->n_out;
    p->output = GLOW_NEW_ARRAY(e->arena, char *, n->n_out);
    for (int i = 0; i < n->n_out; i++)
        p->output[i] = text(e, name_of(e, n->out[i]));
    return true;
}

const char *
export_cast(exporter *e, const glow_node *n, const char *x, glow_kind kind)
{
    x = export_step(e, n, "Cast", NAMES(x));
    export_int(e, "to", tensor_elem_for(kind)->type);
    return x;
}

/* Attributes. */

static Onnx__AttributeProto *
new_attribute(exporter *e, const char *name,
              Onnx__AttributeProto__AttributeType type)
{
    Onnx__AttributeProto *a = GLOW_NEW(e->arena, Onnx__AttributeProto);

    onnx__attribute_proto__init(a);
    a->name = text(e, name);
    a->has_type = 1;
    a->type = type;
    ADD(e, e->last, attribute, &e->attribute_cap, a);
    return a;
}

#define NEW_ATTRIBUTE(e, name, TYPE) \
    new_attribute(e, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##TYPE)

void
export_int(exporter *e, const char *name, int64_t v)
{
    Onnx__AttributeProto *a = NEW_ATTRIBUTE(e, name, INT);

    a->has_i = 1;
    a->i = v;
}

void
export_ints(exporter *e, const char *name, const int64_t *at, int count)
{
    Onnx__AttributeProto *a = NEW_ATTRIBUTE(e, name, INTS);

    a->n_ints = (size_t)count;
    a->ints = glow_arena_copy(e->arena, at, (size_t)count * sizeof *at);
}

void
export_dims(exporter *e, const char *name, glow_dims d)
{
    export_ints(e, name, d.at, d.rank);
}

void
export_float(exporter *e, const char *name, float v)
{
    Onnx__AttributeProto *a = NEW_ATTRIBUTE(e, name, FLOAT);

    a->has_f = 1;
    a->f = v;
}

void
export_string(exporter *e, const char *name, const char *s)
{
    Onnx__AttributeProto *a = NEW_ATTRIBUTE(e, name, STRING);

    a->has_s = 1;
    a->s = (ProtobufCBinaryData){strlen(s), (uint8_t *)text(e, s)};
}

void
export_float_list(exporter *e, const char *name, const float *at, int count)
{
    Onnx__AttributeProto *a = NEW_ATTRIBUTE(e, name, FLOATS);

    a->n_floats = (size_t)count;
    a->floats = glow_arena_copy(e->arena, at, (size_t)count * sizeof *at);
}

void
export_strings(exporter *e, const char *name, const char *const *texts,
               int count)
{
    Onnx__AttributeProto *a = NEW_ATTRIBUTE(e, name, STRINGS);

    a->n_strings = (size_t)count;
    a->strings = GLOW_NEW_ARRAY(e->arena, ProtobufCBinaryData, count);
    for (int i = 0; i < count; i++)
        a->strings[i] = (ProtobufCBinaryData){strlen(texts[i]),
                                              (uint8_t *)text(e, texts[i])};
}

void
export_string_list(exporter *e, const char *name, const char *const *at,
                   int count)
{
    Onnx__AttributeProto *a = NEW_ATTRIBUTE(e, name, STRINGS);

    a->n_strings = (size_t)count;
    a->strings = GLOW_NEW_ARRAY(e->arena, ProtobufCBinaryData, count);
    for (int i = 0; i < count; i++)
        a->strings[i] =
            (ProtobufCBinaryData){strlen(at[i]), (uint8_t *)text(e, at[i])};
}

/* Tensors and types. */

static Onnx__TensorProto *
new_tensor(exporter *e, const char *name, const glow_type *type,
           const void *bytes)
{
    Onnx__TensorProto *t = GLOW_NEW(e->arena, Onnx__TensorProto);

    onnx__tensor_proto__init(t);
    t->name = name ? text(e, name) : NULL;
    t->has_data_type = 1;
    t->data_type = tensor_elem_for(type->elem)->type;
    t->n_dims = (size_t)type->shape.rank;
    t->dims =
        glow_arena_copy(e->arena, type->shape.at, t->n_dims * sizeof *t->dims);
    t->has_raw_data = 1;
    t->raw_data.len = tensor_packed_bytes(type);
    t->raw_data.data = (uint8_t *)(uintptr_t)bytes;
    if (t->raw_data.len < (size_t)glow_type_bytes(type)) {
        const glow_tensor own = {.type = type, .data = t->raw_data.data};
        uint8_t *packed = GLOW_NEW_ARRAY(e->arena, uint8_t, t->raw_data.len);

        tensor_pack(&own, packed);
        t->raw_data.data = packed;
    }
    return t;
}

const char *
export_constant(exporter *e, const glow_node *n, const glow_type *type,
                const void *bytes)
{
    const char *name =
        unique(e, glow_arena_printf(e->arena, "%s.constant", n->name));

    ADD(e, e->graph, initializer, &e->initializer_cap,
        new_tensor(e, name, type, bytes));
    return name;
}

static const char *
constant_list(exporter *e, const glow_node *n, glow_kind kind, glow_dims shape,
              const void *at)
{
    const glow_type *type = glow_type_get(e->ctx, glow_type_of(kind, shape));

    return export_constant(
        e, n, type,
        glow_arena_copy(e->arena, at, (size_t)glow_type_bytes(type)));
}

const char *
export_list(exporter *e, const glow_node *n, const int64_t *at, int count)
{
    return constant_list(e, n, GLOW_INDEX64, GLOW_DIMS_OF(count), at);
}

const char *
export_dims_list(exporter *e, const glow_node *n, glow_dims d)
{
    return export_list(e, n, d.at, d.rank);
}

const char *
export_floats(exporter *e, const glow_node *n, const float *at, int count)
{
    return constant_list(e, n, GLOW_FLOAT, GLOW_DIMS_OF(count), at);
}

const char *
export_number(exporter *e, const glow_node *n, glow_kind kind, double v)
{
    uint64_t bytes[1] = {0};
    glow_type type = glow_type_of(kind, (glow_dims){0});
    glow_tensor t = {&type, bytes, NULL};

    glow_set_double(&t, 0, v);
    return constant_list(e, n, kind, (glow_dims){0}, bytes);
}

/* Common steps. */

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

/* Inputs, outputs, initializers. */

static bool
check_type(exporter *e, const glow_type *t, const char *sign, const char *name,
           glow_span span)
{
    if (tensor_elem_for(t->elem) && t->strides.rank == 0)
        return true;
    return glow_error_at(e->ctx, span, "E0720",
                         "%s%s is %s, which ONNX cannot say", sign, name,
                         glow_type_text(e->arena, t));
}

static Onnx__ValueInfoProto *
new_value_info(exporter *e, const glow_value *value)
{
    const glow_type *type = value->type;
    Onnx__ValueInfoProto *v = GLOW_NEW(e->arena, Onnx__ValueInfoProto);
    Onnx__TypeProto *t = GLOW_NEW(e->arena, Onnx__TypeProto);
    Onnx__TypeProto__Tensor *x = GLOW_NEW(e->arena, Onnx__TypeProto__Tensor);
    Onnx__TensorShapeProto *shape = GLOW_NEW(e->arena, Onnx__TensorShapeProto);
    size_t cap = 0;
    const char *count = NULL;
    int open =
        value->storage ? export_placeholder_axis(value->storage, &count) : -1;

    onnx__value_info_proto__init(v);
    onnx__type_proto__init(t);
    onnx__type_proto__tensor__init(x);
    onnx__tensor_shape_proto__init(shape);
    v->name = text(e, name_of(e, value));
    v->type = t;
    t->tensor_type = x;
    x->has_elem_type = 1;
    x->elem_type = tensor_elem_for(type->elem)->type;
    x->shape = shape;
    for (int i = 0; i < type->shape.rank; i++) {
        Onnx__TensorShapeProto__Dimension *d =
            GLOW_NEW(e->arena, Onnx__TensorShapeProto__Dimension);

        onnx__tensor_shape_proto__dimension__init(d);
        d->has_dim_value = i != open;
        if (i == open)
            d->dim_param = text(e, count);
        else
            d->dim_value = type->shape.at[i];
        ADD(e, shape, dim, &cap, d);
    }
    return v;
}

void
export_state_type(exporter *e, const glow_value *v)
{
    ADD(e, e->graph, value_info, &e->info_cap, new_value_info(e, v));
}

static void
import_opset(exporter *e, const char *domain, int64_t version)
{
    Onnx__OperatorSetIdProto *o = GLOW_NEW(e->arena, Onnx__OperatorSetIdProto);

    onnx__operator_set_id_proto__init(o);
    o->domain = text(e, domain);
    o->has_version = 1;
    o->version = version;
    ADD(e, e->model, opset_import, &e->opset_cap, o);
}

void
export_domain(exporter *e, const char *domain, size_t size)
{
    char *name = glow_arena_strndup(e->arena, domain, size);

    e->last->domain = name;
    for (size_t i = 0; i < e->model->n_opset_import; i++)
        if (strcmp(e->model->opset_import[i]->domain, name) == 0)
            return;
    import_opset(e, name, 1);
}

static bool
export_placeholder(exporter *e, const glow_storage *s)
{
    bool reads = glow_func_reads(e->func, s);
    bool writes = glow_func_writes(e->func, s);

    /* An unused input is exported, unless it is another function's. */
    if (!reads && !writes &&
        (!glow_module_entry(e->module) || glow_is_formal(s)))
        return true;
    if (reads && writes)
        return glow_error_at(e->ctx, s->span, "E0720",
                             "@%s is read and written, which no value of an "
                             "ONNX model can be",
                             s->name);
    if (!check_type(e, s->value.type, "@", s->name, s->span))
        return false;
    if (writes && export_is_count(e->module, s))
        return true;
    if (writes)
        ADD(e, e->graph, output, &e->output_cap, new_value_info(e, &s->value));
    else
        ADD(e, e->graph, input, &e->input_cap, new_value_info(e, &s->value));
    return true;
}

/* A large constant of one value, as ConstantOfShape. */
static void
export_splat_constant(exporter *e, const glow_storage *s)
{
    Onnx__NodeProto *p = GLOW_NEW(e->arena, Onnx__NodeProto);
    const glow_type *type = s->value.type;
    glow_type one = glow_type_of(type->elem, GLOW_DIMS_OF(1));
    glow_tensor t = {&one, glow_arena_alloc(e->arena, 8), NULL};
    glow_dims d = type->shape;
    char *name = text(e, name_of(e, &s->value));
    char *in =
        text(e, unique(e, glow_arena_printf(e->arena, "%s.shape", name)));
    const glow_type *list =
        glow_type_get(e->ctx, glow_type_of(GLOW_INDEX64, GLOW_DIMS_OF(d.rank)));

    glow_set_double(&t, 0, s->splat);
    if (glow_is_int(type->elem))
        glow_set_int(&t, 0, s->splat_int);
    ADD(e, e->graph, initializer, &e->initializer_cap,
        new_tensor(
            e, in, list,
            glow_arena_copy(e->arena, d.at, (size_t)d.rank * sizeof *d.at)));
    onnx__node_proto__init(p);
    p->op_type = text(e, "ConstantOfShape");
    p->name = name;
    p->n_input = p->n_output = 1;
    p->input = glow_arena_copy(e->arena, &in, sizeof in);
    p->output = glow_arena_copy(e->arena, &name, sizeof name);
    ADD(e, e->graph, node, &e->node_cap, p);
    e->last = p;
    e->attribute_cap = 0;
    NEW_ATTRIBUTE(e, "value", TENSOR)->t = new_tensor(e, NULL, &one, t.data);
}

static bool
export_initializer(exporter *e, glow_storage *s)
{
    const glow_tensor *t;

    if (glow_is_unused(&s->value))
        return true;
    if (!check_type(e, s->value.type, "@", s->name, s->span))
        return false;
    if (s->payload == GLOW_SPLAT &&
        glow_type_bytes(s->value.type) > MAX_SPLAT_BYTES) {
        export_splat_constant(e, s);
        return true;
    }
    t = glow_constant_tensor(s);
    if (!t)
        return false;
    ADD(e, e->graph, initializer, &e->initializer_cap,
        new_tensor(e, name_of(e, &s->value), t->type, t->data));
    return true;
}

/* Nodes. */

static const export_row *
find_row(const glow_op *op)
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
        if (!check_type(e, n->out[i]->type, "%", n->name, n->span))
            return false;
    if (!export_follow_bounds(e, n))
        return false;
    if (glow_is(n, &glow_op_save)) {
        if (export_is_count(e->module, n->in[1]->storage))
            return true;
        Onnx__NodeProto *p =
            new_node(e, n, "Identity", NAMES(export_in(e, n, 0)));

        p->n_output = 1;
        p->output = GLOW_NEW(e->arena, char *);
        *p->output = text(e, export_in(e, n, 1));
        return true;
    }
    if (export_is_foreign(n))
        return export_foreign(e, n);
    e->row = find_row(n->op);
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

    name_results(e);
    for (int i = 0; i < e->func->count; i++)
        ok &= export_one(e, order[i]);
    return ok;
}

static bool
export_graph(exporter *e)
{
    bool ok = true;

    name_storage(e);
    e->shared = e->names;
    GLOW_FOR_EACH_STORAGE(s, e->module)
        ok &= s->is_constant ? export_initializer(e, s)
                             : export_placeholder(e, s);
    return export_nodes(e) && ok;
}

/* Bodies. */

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

        ok &= check_type(e, s->value.type, "@", s->name, s->span);
        if (i < n_in && in[i]) {
            glow_map_set(e->names, key_of(e, &s->value),
                         (void *)(uintptr_t)in[i]);
            continue;
        }
        name_value(e, &s->value, s->name);
        if (ok && i < n_in)
            ADD(e, e->graph, input, &e->input_cap,
                new_value_info(e, &s->value));
        else if (ok)
            ADD(e, e->graph, output, &e->output_cap,
                new_value_info(e, &s->value));
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
    graph->name = text(e, f->name);
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

/*
 * The opset: the oldest with all operators and element kinds, because older
 * runtimes support older opsets only.
 */

static int
opset_of_kind(glow_kind kind)
{
    static const struct {
        glow_kind kind;
        int opset;
    } first[] = {
        {GLOW_FLOAT8E4M3FN, 19}, {GLOW_FLOAT8E4M3FNUZ, 19},
        {GLOW_FLOAT8E5M2, 19},   {GLOW_FLOAT8E5M2FNUZ, 19},
        {GLOW_INT4, 21},         {GLOW_UINT4, 21},
        {GLOW_FLOAT4E2M1, 23},   {GLOW_FLOAT8E8M0, 24},
        {GLOW_INT2, 25},         {GLOW_UINT2, 25},
    };

    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (first[i].kind == kind)
            return first[i].opset;
    return EXPORT_OPSET;
}

static void
need(exporter *e, int opset)
{
    if (opset > e->opset)
        e->opset = opset;
}

static void
find_opset(exporter *e)
{
    e->opset = EXPORT_OPSET;
    GLOW_FOR_EACH_STORAGE(s, e->module)
        need(e, opset_of_kind(s->value.type->elem));
    for (const glow_func *f = e->module->funcs; f; f = f->next)
        GLOW_FOR_EACH_NODE(n, f) {
            need(e, n->op == &glow_op_cumprod || export_casts_bits(n)
                        ? 26
                        : EXPORT_OPSET);
            need(e, export_quantized_opset(n));
            need(e, export_weights_opset(n));
            for (int i = 0; i < n->n_out; i++)
                need(e, opset_of_kind(n->out[i]->type->elem));
        }
}

/* The IR version that came with an opset. */
static int
ir_of(int opset)
{
    return opset < 19   ? 8
           : opset < 21 ? 9
           : opset < 23 ? 10
           : opset < 25 ? opset - 12
                        : 13;
}

/* The function to export, or NULL after a report. */
static glow_func *
pick(glow_module *m, const char *name)
{
    glow_func *f = name ? glow_find_func(m, name) : glow_module_entry(m);

    if (!f && name)
        glow_error(m->ctx, "E0721", "there is no function @%s to export", name);
    else if (!m->funcs)
        glow_error(m->ctx, "E0721", "there is no function to export");
    else if (!f)
        glow_error(m->ctx, "E0721",
                   "there are several functions; -function names the one to "
                   "export");
    else if (f->is_program)
        glow_error_at(m->ctx, f->span, "E0721",
                      "@%s is a program; only graphs have a form in ONNX",
                      f->name);
    else
        return f;
    return NULL;
}

/*
 * ONNX as a backend that takes the operators with a row, so that the pass
 * `lower` lowers all others; before it, quantized operators become floats between
 * conversions.
 */
static bool
within_limits(const glow_node *n)
{
    static const export_limit *const limits[] = {
        export_resize_limits, export_sample_limits, export_weights_limits};

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        for (const export_limit *l = limits[i]; l->op; l++)
            if (l->op == n->op && !l->can(n))
                return false;
    return true;
}

static glow_takes
takes(const glow_node *n, glow_arena *a, const char **why)
{
    (void)a;
    *why = "ONNX has nothing for this operator";
    return n->op->traits & GLOW_STRUCTURAL || export_is_foreign(n) ||
                   (find_row(n->op) && within_limits(n))
               ? GLOW_TAKES
               : GLOW_TAKES_LOWERED;
}

static bool
lower(exporter *e)
{
    static const glow_backend onnx = {
        .name = "onnx", .summary = "what is exported", .takes = takes};
    const glow_pipeline_options options = {.verify_each = true,
                                           .backend = &onnx};
    glow_buf text = {.arena = e->arena};
    glow_pipeline *p;

    glow_buf_printf(&text, "@");
    glow_buf_quoted(&text, e->func->name, strlen(e->func->name));
    glow_buf_printf(&text, "(expand-quantized,lower<partial>)");
    p = glow_pipeline_parse(
        e->ctx, e->arena,
        glow_source_from(e->ctx, "<export>", text.text, text.len));
    return p && glow_pipeline_run(p, e->module, &options);
}

static bool
write(exporter *e, Onnx__ModelProto *m)
{
    size_t size = onnx__model_proto__get_packed_size(m);
    uint8_t *bytes;

    if (size > WIRE_MAX_FILE)
        return glow_error(e->ctx, "E0721",
                          "the model would be %zu bytes long, and %zu are the "
                          "limit of protocol buffers",
                          size, WIRE_MAX_FILE);
    bytes = glow_arena_alloc(e->arena, size);
    onnx__model_proto__pack(m, bytes);
    return glow_file_write(e->ctx, e->path, bytes, size);
}

bool
export_model(glow_module *m, const char *function, const char *path)
{
    glow_arena *a = glow_arena_new();
    Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
    Onnx__GraphProto graph = ONNX__GRAPH_PROTO__INIT;
    exporter e = {.ctx = m->ctx,
                  .arena = a,
                  .module = m,
                  .func = pick(m, function),
                  .path = path,
                  .model = &model,
                  .graph = &graph,
                  .taken = glow_map_new(a),
                  .names = glow_map_new(a),
                  .bounds = glow_map_new(a)};
    bool ok = e.func != NULL;

    import_opset(&e, "", EXPORT_OPSET);
    model.has_ir_version = 1;
    model.producer_name = (char[]){"glow"};
    model.graph = &graph;
    graph.name = ok ? glow_arena_strdup(a, e.func->name) : NULL;
    ok = ok && lower(&e);
    find_opset(&e);
    model.opset_import[0]->version = e.opset;
    model.ir_version = ir_of(e.opset);
    ok = ok && export_graph(&e) && write(&e, &model);
    glow_arena_free(a);
    return ok;
}
