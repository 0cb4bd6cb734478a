/*
 * Glow's own names in models: nodes written by Glow's exporter, and operators
 * that its loader takes beside ONNX's.
 *
 * `Glow_X` is the node X: operands in the order of its definition, attributes
 * by their names there, and o0_elemKind, o0_shape for the type of its first
 * result, which must agree with the inferred one, or is the stated one.  Names
 * that Glow's loader shares with Caffe2 have their meaning there.
 */

#include <ctype.h>
#include <string.h>

#include "tools/glow-translate/caffe2/caffe2.h"
#include "tools/glow-translate/import/state.h"

#define PREFIX "Glow_"

/*
 * True for attributes about Glow's execution of a node, without effect on its
 * results.
 */
static bool
is_note(const char *name)
{
    static const char *const notes[] = {"partitionName",
                                        "isIntermediateOutputForDAG", NULL};

    for (int i = 0; notes[i]; i++)
        if (strcmp(name, notes[i]) == 0)
            return true;
    return strncmp(name, "NodeOpt_", 8) == 0;
}

void
import_ignore_notes(import_node *n)
{
    for (size_t i = 0; i < n->proto->n_attribute; i++) {
        const char *name = n->proto->attribute[i]->name;

        if (name && is_note(name))
            import_ignore(n, name);
    }
}

/*
 * True for `i0_shape`, `o1_elemKind` and the like: types of operands and
 * results.
 */
static bool
is_type_note(const char *name)
{
    return (name[0] == 'i' || name[0] == 'o') &&
           isdigit((unsigned char)name[1]) && strchr(name, '_');
}

/* Attributes by the names of a definition, ignoring case and underscores. */

static bool
same_word(const char *a, const char *b)
{
    while (*a || *b) {
        if (*a == '_' || *b == '_') {
            a += *a == '_';
            b += *b == '_';
            continue;
        }
        if (tolower((unsigned char)*a++) != tolower((unsigned char)*b++))
            return false;
    }
    return true;
}

#define KIND(name) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##name

static glow_attr_value
word_of(glow_arena *a, const ProtobufCBinaryData *s, const glow_field *f)
{
    const char *text = glow_arena_strndup(a, (const char *)s->data, s->len);

    for (int i = 0; f->kind == GLOW_ENUM && f->words && f->words[i]; i++)
        if (same_word(f->words[i], text))
            text = f->words[i];
    return (glow_attr_value){.kind = f->kind == GLOW_STRING ? GLOW_V_STRING
                                                            : GLOW_V_WORD,
                             .text = text,
                             .size = strlen(text)};
}

static glow_attr_value
list_of(glow_arena *a, const Onnx__AttributeProto *p)
{
    size_t count = p->n_ints ? p->n_ints : p->n_floats;
    glow_attr_value *items = GLOW_NEW_ARRAY(a, glow_attr_value, count);

    for (size_t i = 0; i < count; i++)
        items[i] = p->n_ints
                       ? (glow_attr_value){.kind = GLOW_V_INT, .i = p->ints[i]}
                       : (glow_attr_value){.kind = GLOW_V_FLOAT,
                                           .f = (double)p->floats[i]};
    return (glow_attr_value){
        .kind = GLOW_V_LIST, .items = items, .count = count};
}

static bool
value_of(import_node *n, const Onnx__AttributeProto *p, const glow_field *f,
         glow_attr_value *out)
{
    glow_arena *a = n->im->arena;

    switch (p->type) {
    case KIND(INT):
        *out = (glow_attr_value){
            .kind = f->kind == GLOW_FLAG ? GLOW_V_BOOL : GLOW_V_INT, .i = p->i};
        return true;
    case KIND(FLOAT):
        *out = (glow_attr_value){.kind = GLOW_V_FLOAT, .f = (double)p->f};
        return true;
    case KIND(STRING):
        *out = word_of(a, &p->s, f);
        return true;
    case KIND(INTS):
    case KIND(FLOATS):
        *out = list_of(a, p);
        return true;
    default:
        return import_refuse(n, "E0705",
                             "attribute %s is of a type that is not supported",
                             p->name);
    }
}

static const glow_field *
find_field(glow_schema s, const char *name)
{
    for (int i = 0; i < glow_schema_count(s); i++)
        if (same_word(s.fields[i].name, name))
            return &s.fields[i];
    return NULL;
}

/* The struct of attributes; NULL where there is none, or after a report. */
static const void *
attributes(import_node *n, const glow_op *op)
{
    glow_schema schema = glow_op_schema(op);
    glow_attr *items =
        GLOW_NEW_ARRAY(n->im->arena, glow_attr, n->proto->n_attribute);
    glow_attr_list l = {items, 0};
    const void *attrs;
    char name[64];

    for (size_t i = 0; i < n->proto->n_attribute; i++) {
        const Onnx__AttributeProto *p = import_attribute(n, i);
        const glow_field *f = p && p->name ? find_field(schema, p->name) : NULL;

        if (!f)
            continue; /* reported as unread, unless ignored */
        if (!value_of(n, p, f, &items[l.count].value))
            return NULL;
        glow_field_text_name(f, name, sizeof name);
        items[l.count++].name = glow_arena_strdup(n->im->arena, name);
        import_ignore(n, n->proto->attribute[i]->name);
    }
    if (glow_schema_count(schema) == 0)
        return NULL;
    attrs = glow_attrs_from_list(n->im->ctx, n->im->arena, schema, l, n->text,
                                 (glow_span){0});
    n->failed |= !attrs;
    return attrs;
}

/* Types of results. */

/* The type that o0_elemKind and o0_shape state, or NULL. */
static const glow_type *
stated_type(import_node *n)
{
    const char *name = import_string(n, "o0_elemKind", "");
    glow_ints l = import_ints(n, "o0_shape");
    const glow_kind kind = glow_kind_named(name);
    glow_dims shape = {.rank = (int)l.count};
    glow_type t;
    const char *wrong;

    if (!*name || n->failed)
        return NULL;
    if (!kind) {
        import_refuse(n, "E0705", "elements of '%s' are not supported", name);
        return NULL;
    }
    if (l.count > GLOW_MAX_RANK) {
        import_refuse(n, "E0711", "o0_shape has over %d entries",
                      GLOW_MAX_RANK);
        return NULL;
    }
    for (int i = 0; i < shape.rank; i++)
        shape.at[i] = l.at[i];
    t = glow_type_of(kind, shape);
    if (glow_is_quantized(kind)) {
        t.scale = import_float(n, "o0_qScale", 1);
        t.offset =
            (int32_t)import_int(n, "o0_qOffset", 0, INT32_MIN, INT32_MAX);
    }
    wrong = glow_type_check(&t, n->im->arena);
    if (wrong)
        import_refuse(n, "E0711", "o0_shape states an impossible type: %s",
                      wrong);
    return wrong || n->failed ? NULL : glow_type_get(n->im->ctx, t);
}

/*
 * The function that Glow joins to a node, behind `v`: none, or Relu.  The other
 * functions belong to backends.
 */
static glow_value *
activated(import_node *n, glow_value *v)
{
    static const char *const words[] = {"NONE", "RELU", NULL};

    if (!import_has(n, "FusedActivation"))
        return v;
    import_ignore(n, "FusedActivationArgs");
    if (import_word(n, "FusedActivation", "NONE", words) == 0 || !v ||
        n->failed)
        return v;
    return import_build(n, &glow_op_relu, v->type, GLOW_IN(v), NULL);
}

/* True if the type of the result must be stated where `op` is built. */
static bool
takes_type(import_node *n, const glow_op *op)
{
    const glow_value *x = import_in(n, 0);

    if (op->traits & GLOW_STATED)
        return true;
    return !(op->traits & GLOW_LAYOUT) && x && glow_is_quantized(x->type->elem);
}

static void
ignore_types(import_node *n)
{
    for (size_t i = 0; i < n->proto->n_attribute; i++) {
        const char *name = n->proto->attribute[i]->name;

        if (name && is_type_note(name))
            import_ignore(n, name);
    }
}

static bool
check_type(import_node *n, const glow_type *stated, const glow_value *v)
{
    if (!stated || !v || n->failed || v->type == stated)
        return true;
    return import_refuse(n, "E0711", "the result is %s, but o0_shape says %s",
                         glow_type_text(n->im->arena, v->type),
                         glow_type_text(n->im->arena, stated));
}

/* Imports any node by its definition. */
static bool
node_by_definition(import_node *n, const glow_op *op)
{
    const glow_type *stated = stated_type(n);
    const void *attrs = attributes(n, op);
    glow_value *v;

    ignore_types(n);
    if (n->failed || !import_operands(n, 0, INT32_MAX))
        return false;
    v = import_build(n, op, takes_type(n, op) ? stated : NULL, n->in, n->n_in,
                     attrs);
    if (!check_type(n, stated, v))
        return false;
    for (int i = 1; v && v->def && i < n->n_out && i < v->def->n_out; i++)
        n->out[i] = v->def->out[i];
    return import_done(n, activated(n, v));
}

static bool
private_node(import_node *n)
{
    const char *name = import_op_name(n->proto);

    if (strncmp(name, PREFIX, strlen(PREFIX)) == 0)
        name += strlen(PREFIX);
    return node_by_definition(n, glow_find_op(n->im->ctx, name));
}

/* Operators with special forms. */

static bool
compare(import_node *n)
{
    return import_operands(n, 2, 2) &&
           import_done(n, import_binary(n, n->row->op, import_in(n, 0),
                                        import_in(n, 1)));
}

/* ConvertTo: the attribute `shape` is a tensor of the type of the result. */
static bool
convert_to(import_node *n)
{
    const Onnx__TensorProto *t = import_tensor(n, "shape");
    const tensor_elem *e = t ? tensor_elem_of(t->data_type) : NULL;

    if (!import_operands(n, 1, 1))
        return false;
    if (!e || !e->kind)
        return import_refuse(n, "E0710", "shape states no type that is known");
    return import_done(n, import_convert(n, import_in(n, 0), e->kind));
}

static bool
flip(import_node *n)
{
    if (!import_operands(n, 1, 1))
        return false;

    glow_value *x = import_in(n, 0);
    int axis = import_axis_attr(n, 0, x->type->shape.rank);

    return import_done(n, BUILD(n, flip, GLOW_IN(x), .axis = axis));
}

/* The bias is float even if the other operands are float16; it is converted. */
static bool
fully_connected(import_node *n)
{
    if (!import_operands(n, 3, 3))
        return false;

    glow_value *x = import_in(n, 0);
    glow_value *bias = import_convert(n, import_in(n, 2), x->type->elem);

    return import_done(n, BUILD(n, fullyconnected,
                                GLOW_IN(x, import_in(n, 1), bias), .axis = 1));
}

static const import_row rows[] = {
    {"CmpLTE", 1, 0, compare, &glow_op_cmplte, NULL},
    {"ConvertTo", 1, 0, convert_to, NULL, NULL},
    {"Flip", 1, 0, flip, NULL, NULL},
    {"FullyConnected", 1, 0, fully_connected, NULL, NULL},
};

/* Operators that Glow's loaders for ONNX and Caffe2 share, beyond ONNX. */
static const char *const common[] = {
    "Alias",
    "BatchBoxCox",
    "BatchGather",
    "BatchMatMul",
    "BatchOneHot",
    "DotProduct",
    "Embedding",
    "EmbeddingBag",
    "ExpandDims",
    "FCTransposed",
    "GatherRanges",
    "LengthsRangeFill",
    "LengthsSum",
    "LengthsToRanges",
    "ReplaceNaN",
    "SparseLengthsSum",
    "SparseLengthsWeightedSum",
    "SparseToDense",
    "SparseToDenseMask",
    "Sqr",
};

/* Names that are those of Glow's nodes, with the same attributes. */
static const char *const plain[] = {
    "AudioSpectrogram", "BatchedAdd",  "InsertTensor", "IntLookupTable", "MFCC",
    "Regression",       "ScatterData", "Splat"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static bool
is_in(const char *const *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

const import_row *
import_find_private(importer *im, const char *name)
{
    static const import_row private_row = {"", 1, 0, private_node, NULL, NULL};
    bool prefixed = strncmp(name, PREFIX, strlen(PREFIX)) == 0;
    const import_row *any;
    const char *why;

    for (size_t i = 0; i < COUNT(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    /* Glow takes CumSum in models of older opsets. */
    if (strcmp(name, "CumSum") == 0)
        return import_find_row(name, 11, &any);
    if (is_in(common, COUNT(common), name))
        return caffe2_dialect.find(im->arena, name, 1, &why);
    if (!prefixed && !is_in(plain, COUNT(plain), name))
        return NULL;
    return glow_find_op(im->ctx, name + (prefixed ? strlen(PREFIX) : 0))
               ? &private_row
               : NULL;
}
