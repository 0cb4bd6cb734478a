/*
 * Tensors and types: constants of steps, value infos, placeholders, initializers.
 */

#include "glow/eval.h"
#include "tools/glow-translate/export/state.h"
#include "tools/glow-translate/tensor.h"

/* A splat constant of more bytes is written as ConstantOfShape. */
#define MAX_SPLAT_BYTES 1024

static Onnx__TensorProto *
new_tensor(exporter *e, const char *name, const glow_type *type,
           const void *bytes)
{
    Onnx__TensorProto *t = GLOW_NEW(e->arena, Onnx__TensorProto);

    onnx__tensor_proto__init(t);
    t->name = name ? export_text(e, name) : NULL;
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
        export_unique(e, glow_arena_printf(e->arena, "%s.constant", n->name));

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

bool
export_check_type(exporter *e, const glow_type *t, const char *sign,
                  const char *name, glow_span span)
{
    if (tensor_elem_for(t->elem) && t->strides.rank == 0)
        return true;
    return glow_error_at(e->ctx, span, "E0720",
                         "%s%s is %s, which ONNX cannot say", sign, name,
                         glow_type_text(e->arena, t));
}

Onnx__ValueInfoProto *
export_new_value_info(exporter *e, const glow_value *value)
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
    v->name = export_text(e, export_name_of(e, value));
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
            d->dim_param = export_text(e, count);
        else
            d->dim_value = type->shape.at[i];
        ADD(e, shape, dim, &cap, d);
    }
    return v;
}

void
export_state_type(exporter *e, const glow_value *v)
{
    ADD(e, e->graph, value_info, &e->info_cap, export_new_value_info(e, v));
}

bool
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
    if (!export_check_type(e, s->value.type, "@", s->name, s->span))
        return false;
    if (writes && export_is_count(e->module, s))
        return true;
    if (writes)
        ADD(e, e->graph, output, &e->output_cap,
            export_new_value_info(e, &s->value));
    else
        ADD(e, e->graph, input, &e->input_cap,
            export_new_value_info(e, &s->value));
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
    char *name = export_text(e, export_name_of(e, &s->value));
    char *in = export_text(
        e, export_unique(e, glow_arena_printf(e->arena, "%s.shape", name)));
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
    p->op_type = export_text(e, "ConstantOfShape");
    p->name = name;
    p->n_input = p->n_output = 1;
    p->input = glow_arena_copy(e->arena, &in, sizeof in);
    p->output = glow_arena_copy(e->arena, &name, sizeof name);
    ADD(e, e->graph, node, &e->node_cap, p);
    e->last = p;
    e->attribute_cap = 0;
    NEW_ATTRIBUTE(e, "value", TENSOR)->t = new_tensor(e, NULL, &one, t.data);
}

bool
export_initializer(exporter *e, glow_storage *s)
{
    const glow_tensor *t;

    if (glow_is_unused(&s->value))
        return true;
    if (!export_check_type(e, s->value.type, "@", s->name, s->span))
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
        new_tensor(e, export_name_of(e, &s->value), t->type, t->data));
    return true;
}
