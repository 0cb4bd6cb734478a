/*
 * Export of a model: picks the function, lowers what ONNX does not have, and writes
 * the file.
 */

#include <string.h>

#include "glow/backend.h"
#include "glow/file.h"
#include "glow/pipeline.h"
#include "tools/glow-translate/export/state.h"
#include "tools/glow-translate/wire.h"

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

void *
export_add(exporter *e, void **list, size_t *count, size_t *cap, void *item)
{
    void **items =
        glow_arena_grow(e->arena, *list, *count, cap, sizeof(void *));

    items[(*count)++] = item;
    *list = items;
    return item;
}

char *
export_text(exporter *e, const char *s)
{
    return glow_arena_strdup(e->arena, s);
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
                   (export_find_row(n->op) && within_limits(n))
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

    export_import_opset(&e, "", EXPORT_OPSET);
    model.has_ir_version = 1;
    model.producer_name = (char[]){"glow"};
    model.graph = &graph;
    graph.name = ok ? glow_arena_strdup(a, e.func->name) : NULL;
    ok = ok && lower(&e);
    export_find_opset(&e);
    model.opset_import[0]->version = e.opset;
    model.ir_version = export_ir_version(e.opset);
    ok = ok && export_graph(&e) && write(&e, &model);
    glow_arena_free(a);
    return ok;
}
