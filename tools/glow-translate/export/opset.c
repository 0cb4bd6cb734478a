/*
 * Opset and IR version: the oldest with all operators and element kinds, because
 * older runtimes support older opsets only.
 */

#include <string.h>

#include "tools/glow-translate/export/state.h"

void
export_import_opset(exporter *e, const char *domain, int64_t version)
{
    Onnx__OperatorSetIdProto *o = GLOW_NEW(e->arena, Onnx__OperatorSetIdProto);

    onnx__operator_set_id_proto__init(o);
    o->domain = export_text(e, domain);
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
    export_import_opset(e, name, 1);
}

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

void
export_find_opset(exporter *e)
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

int
export_ir_version(int opset)
{
    return opset < 19   ? 8
           : opset < 21 ? 9
           : opset < 23 ? 10
           : opset < 25 ? opset - 12
                        : 13;
}
