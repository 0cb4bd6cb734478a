/* State of an export, which its files share; functions of operators see export.h alone. */

#ifndef GLOW_TRANSLATE_EXPORT_STATE_H
#define GLOW_TRANSLATE_EXPORT_STATE_H

#include "onnx.pb-c.h"
#include "tools/glow-translate/export/export.h"

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

/* Appends `item` to a list of messages; returns it. */
void *export_add(exporter *e, void **list, size_t *count, size_t *cap,
                 void *item);
/* Appends to a repeated field of messages. */
#define ADD(e, message, field, cap, item)                                     \
    export_add((e), (void **)&(message)->field, &(message)->n_##field, (cap), \
               (item))
/* A copy of `s` that lives as long as the export. */
char *export_text(exporter *e, const char *s);

/* names.c: `base`, followed by a number if it is taken. */
const char *export_unique(exporter *e, const char *base);
/* Gives `v` the name `base`, or one like it that is not taken; or `name` as it is. */
void export_name_value(exporter *e, const glow_value *v, const char *base);
void export_set_name(exporter *e, const glow_value *v, const char *name);
void export_name_storage(exporter *e);
void export_name_results(exporter *e);
/* The name of `v` in the current graph. */
const char *export_name_of(exporter *e, const glow_value *v);

/* steps.c: appends a node without results to the graph; it becomes the last one. */
Onnx__NodeProto *export_new_node(exporter *e, const glow_node *n,
                                 const char *type, const char *const *in,
                                 int n_in);

/* attributes.c: appends an attribute to the last node. */
Onnx__AttributeProto *
export_new_attribute(exporter *e, const char *name,
                     Onnx__AttributeProto__AttributeType type);
#define NEW_ATTRIBUTE(e, name, TYPE) \
    export_new_attribute(e, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##TYPE)

/* tensors.c: true if ONNX has type `t`; else reports E0720 of `sign` `name`. */
bool export_check_type(exporter *e, const glow_type *t, const char *sign,
                       const char *name, glow_span span);
Onnx__ValueInfoProto *export_new_value_info(exporter *e,
                                            const glow_value *value);
/* Adds placeholder `s` to inputs or outputs of the graph; false after a report. */
bool export_placeholder(exporter *e, const glow_storage *s);
/* Adds constant `s` to the initializers, if it is used; false after a report. */
bool export_initializer(exporter *e, glow_storage *s);

/* graph.c: the row of operator `op`, or NULL. */
const export_row *export_find_row(const glow_op *op);
/* Writes all storage of the module and all nodes of e->func; false after reports. */
bool export_graph(exporter *e);

/* opset.c: appends version `version` of `domain` to the opsets of the model. */
void export_import_opset(exporter *e, const char *domain, int64_t version);
/* Sets e->opset. */
void export_find_opset(exporter *e);
/* The IR version that came with an opset. */
int export_ir_version(int opset);

#endif
