/*
 * The state of an import: private to import.c and build.c.
 */

#ifndef GLOW_TRANSLATE_IMPORT_STATE_H
#define GLOW_TRANSLATE_IMPORT_STATE_H

#include "tools/glow-translate/import/import.h"

struct importer {
    const import_options *options;
    glow_context *ctx;
    glow_arena *arena;   /* lives as long as the import */
    glow_arena *scratch; /* of evaluations */
    const char *path;
    const char *file; /* the last part of it, for locations */
    const Onnx__ModelProto *model;
    const Onnx__GraphProto *graph;
    int opset;
    tensor_file tensors;

    glow_module *module;
    glow_func *func;
    glow_builder *builder;
    glow_map *values;  /* glow_value by the model's name */
    glow_map *outputs; /* names of outputs: constants may not take them */

    int64_t folded, fold_limit; /* bytes of constants made by evaluation */
    int64_t fold_work;          /* operations spent on them */
    bool *bound; /* options that were used: dims, then shapes, then binds */
};

/* A name for a constant: `name` unless that is kept for an output. */
const char *import_storage_name(importer *im, const char *name);

#endif
