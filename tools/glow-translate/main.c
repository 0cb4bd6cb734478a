/*
 * glow-translate: models of other formats to modules in text form, and back.
 */

#include <stdio.h>
#include <string.h>

#include "tools/common/npy.h"
#include "tools/common/tool.h"
#include "tools/glow-translate/caffe2/caffe2.h"
#include "tools/glow-translate/export/export.h"
#include "tools/glow-translate/import/import.h"
#include "tools/glow-translate/list_onnx.h"
#include "tools/glow-translate/proto.h"

typedef struct values {
    const char *import_caffe2;
    const char *import_onnx;
    const char *export_onnx;
    const char *tensor;
    const char *list_onnx;
    const char *function;
    const char *output;
    const char *weights;
    bool allow_unknown;
    const char *init;
    bool allow_bounded;
    bool train;
    tool_list dims, shapes, types, bind, lengths;
} values;

static const char *const md_word[] = {"md", NULL};

#define AT(member) offsetof(values, member)

static const tool_option options[] = {
    {"import-onnx", TOOL_TEXT, AT(import_onnx), "MODEL", NULL, "actions",
     "read an ONNX model, binary or text (.onnxtxt, .pbtxt)"},
    {"import-caffe2", TOOL_TEXT, AT(import_caffe2), "NET", NULL, "actions",
     "read a net of Caffe2, binary or text (.pbtxt)"},
    {"export-onnx", TOOL_TEXT, AT(export_onnx), "FILE.gir", NULL, "actions",
     "write a graph as an ONNX model"},
    {"tensor", TOOL_TEXT, AT(tensor), "FILE", NULL, "actions",
     "read an ONNX tensor (.pb) and write it as .npy"},
    {"o", TOOL_TEXT, AT(output), "FILE", NULL, "files",
     "where the output goes; - is standard output"},
    {"weights", TOOL_TEXT, AT(weights), "FILE", NULL, "files",
     "where weights go: by default a .safetensors file beside the output"},
    {"dim", TOOL_LIST, AT(dims), "NAME=SIZE", NULL, "import",
     "the size of a dimension that the model leaves open"},
    {"shape", TOOL_LIST, AT(shapes), "NAME=1x3x8x8", NULL, "import",
     "the shape of an input"},
    {"init", TOOL_TEXT, AT(init), "NET", NULL, "import",
     "the net of Caffe2 that fills the weights"},
    {"type", TOOL_LIST, AT(types), "NAME=index64", NULL, "import",
     "the element kind of an input of Caffe2, which is float by default"},
    {"bind", TOOL_LIST, AT(bind), "NAME=FILE.npy", NULL, "import",
     "make an input a constant, for values that decide shapes"},
    {"length", TOOL_LIST, AT(lengths), "NAME=COUNT", NULL, "import",
     "the elements of a sequence; none: an optional that is not there"},
    {"allow-unknown", TOOL_FLAG, AT(allow_unknown), NULL, NULL, "import",
     "keep operators of domains that are not known; -export-onnx too"},
    {"allow-bounded", TOOL_FLAG, AT(allow_bounded), NULL, NULL, "import",
     "give what depends on data room for the most that it may become"},
    {"train", TOOL_FLAG, AT(train), NULL, NULL, "import",
     "keep weights as state, under the names and axes of the model: first "
     "contents go to -weights"},
    {"function", TOOL_TEXT, AT(function), "NAME", NULL, "export",
     "the function to export, where there are several"},
    {"list-onnx", TOOL_WORD, AT(list_onnx), "md", md_word, "lists",
     "the operators of ONNX that are imported"},
    {0},
};

/* `NAME=VALUE` each; NULL after a report. */
typedef const char *const (*pair_list)[2];

static bool
split_pairs(tool *t, const tool_list *l, const char *flag, pair_list *out)
{
    const char *(*pairs)[2] =
        glow_arena_alloc_array(t->arena, l->count + 1, sizeof *pairs);

    for (size_t i = 0; i < l->count; i++) {
        const char *equals = strrchr(l->items[i], '=');

        if (!equals || equals == l->items[i]) {
            tool_usage(t, NULL, "-%s wants NAME=VALUE, not '%s'", flag,
                       l->items[i]);
            return false;
        }
        pairs[i][0] = glow_arena_strndup(t->arena, l->items[i],
                                         (size_t)(equals - l->items[i]));
        pairs[i][1] = equals + 1;
    }
    *out = (pair_list)pairs;
    return true;
}

/* The output's name with another ending, and the name without any. */
static const char *
beside(tool *t, const char *output, const char **stem)
{
    const char *slash = strrchr(output, '/');
    const char *name = slash ? slash + 1 : output;
    const char *dot = strrchr(name, '.');
    size_t n = dot && dot > name ? (size_t)(dot - output) : strlen(output);
    char *without = glow_arena_strndup(t->arena, output, n);

    *stem = without + (name - output);
    return glow_arena_printf(t->arena, "%s.safetensors", without);
}

/* The folder part of `path`. */
static const char *
folder_of(tool *t, const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash
               ? glow_arena_strndup(t->arena, path, (size_t)(slash - path) + 1)
               : ".";
}

/* Constants this small stay in the text. */
#define INLINE_BYTES 64

static bool
write_module(tool *t, const values *v, glow_module *m)
{
    const char *output = v->output ? v->output : "-";
    const char *weights = v->weights, *alias = "weights";
    const char *own = beside(t, weights ? weights : output, &alias);
    glow_buf b = {0};
    bool ok;

    if (!weights && strcmp(output, "-") != 0)
        weights = own;
    if (v->train) { /* `own` is that of the state */
        alias = "constants";
        weights = glow_arena_printf(
            t->arena, "%s.constants.safetensors",
            glow_arena_strndup(t->arena, own, strlen(own) - 12));
    }
    if (weights && !glow_externalize(m, alias, weights, INLINE_BYTES))
        return false;
    if (strcmp(output, "-") != 0)
        glow_rebase_weights(m, folder_of(t, output));
    glow_print(&b, m, NULL);
    ok = glow_file_write(t->ctx, output, b.text, b.len);
    glow_buf_free(&b);
    return ok;
}

static bool
to_file(const char *output)
{
    return output && strcmp(output, "-") != 0;
}

static int
import(tool *t, const values *v)
{
    caffe2_options o = {
        .import = {.path = v->import_onnx ? v->import_onnx : v->import_caffe2,
                   .function = "main",
                   .n_dims = v->dims.count,
                   .n_shapes = v->shapes.count,
                   .n_bind = v->bind.count,
                   .n_lengths = v->lengths.count,
                   .allow_unknown = v->allow_unknown,
                   .allow_bounded = v->allow_bounded,
                   .read_array = npy_read},
        .init = v->init,
        .n_types = v->types.count};
    const char *alias;
    glow_module *m;
    bool ok;

    if (v->train) {
        if (!v->import_onnx || (!v->weights && !to_file(v->output)))
            return tool_usage(t, "add -o net.gir",
                              "-train writes the weights of an ONNX model to a "
                              "file beside the output");
        o.import.train = v->weights ? v->weights : beside(t, v->output, &alias);
    }
    if (!split_pairs(t, &v->dims, "dim", &o.import.dims) ||
        !split_pairs(t, &v->shapes, "shape", &o.import.shapes) ||
        !split_pairs(t, &v->bind, "bind", &o.import.bind) ||
        !split_pairs(t, &v->lengths, "length", &o.import.lengths) ||
        !split_pairs(t, &v->types, "type", &o.types))
        return TOOL_USAGE;
    m = v->import_onnx ? import_model(t->ctx, &o.import)
                       : caffe2_import(t->ctx, &o);
    if (!m)
        return TOOL_FAILED;
    ok = write_module(t, v, m);
    glow_module_free(m);
    return ok ? TOOL_DONE : TOOL_FAILED;
}

static int export(tool *t, const values *v)
{
    const glow_parse_options o = {.folder = folder_of(t, v->export_onnx),
                                  .allow_unknown_ops = v->allow_unknown};
    const glow_source *source = glow_source_read(t->ctx, v->export_onnx);
    glow_module *m = source ? glow_parse(t->ctx, source, &o) : NULL;
    bool ok;

    if (!m)
        return TOOL_FAILED;
    ok = export_model(m, v->function, v->output ? v->output : "-");
    glow_module_free(m);
    return ok ? TOOL_DONE : TOOL_FAILED;
}

/* One tensor to .npy. */
static int
convert_tensor(tool *t, const values *v)
{
    glow_data *owner = NULL;
    const Onnx__TensorProto *p = (const Onnx__TensorProto *)proto_read(
        t->ctx, v->tensor, &onnx__tensor_proto__descriptor, &owner);
    tensor_file file = {
        .ctx = t->ctx, .arena = t->arena, .path = v->tensor, .owner = owner};
    glow_tensor x;
    bool ok = p && tensor_read(&file, p, "the tensor", &x);

    if (ok) {
        ok = npy_write(t->ctx, v->output ? v->output : "-", &x);
        glow_tensor_end(&x);
    }
    glow_data_unref(owner);
    return ok ? TOOL_DONE : TOOL_FAILED;
}

static int
work(tool *t, const values *v)
{
    if (v->list_onnx)
        return list_onnx(v->list_onnx);

    bool caffe2 = v->import_caffe2 != NULL;
    int actions = caffe2 + !!v->import_onnx + !!v->export_onnx + !!v->tensor;

    if (actions != 1 || t->inputs.count)
        return tool_usage(t,
                          "glow-translate -import-onnx model.onnx -o "
                          "model.gir",
                          "one of -import-onnx, -import-caffe2, -export-onnx "
                          "and -tensor is wanted, with its input");
    if (!caffe2 && (v->init || v->types.count))
        return tool_usage(t, NULL, "-%s belongs to -import-caffe2",
                          v->init ? "init" : "type");
    return v->import_onnx   ? import(t, v)
           : caffe2         ? import(t, v)
           : v->export_onnx ? export(t, v)
                            : convert_tensor(t, v);
}

int
main(int argc, char **argv)
{
    static const tool_spec spec = {
        .name = "glow-translate",
        .usage = "-import-onnx MODEL | -import-caffe2 NET | -export-onnx FILE "
                 "[-o FILE] [OPTION]...",
        .about =
            "Translates models of ONNX and Caffe2 to the text form of glow, "
            "and back to ONNX.",
        .options = options,
    };
    values v = {0};
    tool t;
    int code = tool_begin(&t, &spec, &v, argc, argv);

    if (code == TOOL_GO_ON)
        code = work(&t, &v);
    return tool_end(&t, code);
}
