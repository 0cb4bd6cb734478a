/*
 * Attributes of the ONNX node that was written last.
 */

#include <string.h>

#include "tools/glow-translate/export/state.h"

Onnx__AttributeProto *
export_new_attribute(exporter *e, const char *name,
                     Onnx__AttributeProto__AttributeType type)
{
    Onnx__AttributeProto *a = GLOW_NEW(e->arena, Onnx__AttributeProto);

    onnx__attribute_proto__init(a);
    a->name = export_text(e, name);
    a->has_type = 1;
    a->type = type;
    ADD(e, e->last, attribute, &e->attribute_cap, a);
    return a;
}

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
    a->s = (ProtobufCBinaryData){strlen(s), (uint8_t *)export_text(e, s)};
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
        a->strings[i] = (ProtobufCBinaryData){
            strlen(texts[i]), (uint8_t *)export_text(e, texts[i])};
}

void
export_string_list(exporter *e, const char *name, const char *const *at,
                   int count)
{
    Onnx__AttributeProto *a = NEW_ATTRIBUTE(e, name, STRINGS);

    a->n_strings = (size_t)count;
    a->strings = GLOW_NEW_ARRAY(e->arena, ProtobufCBinaryData, count);
    for (int i = 0; i < count; i++)
        a->strings[i] = (ProtobufCBinaryData){strlen(at[i]),
                                              (uint8_t *)export_text(e, at[i])};
}
