/* The private definition of the context. */

#ifndef GLOW_IR_BASE_CONTEXT_H
#define GLOW_IR_BASE_CONTEXT_H

#include "glow/diag.h"

/* Named descriptors in order of registration, found by name. */
typedef struct glow_registry {
    glow_map *by_name;
    const void **items;
    size_t count, cap;
} glow_registry;

struct glow_context {
    glow_arena *arena;
    glow_map *strings;
    void *types; /* ir/type.c: the set of interned types */
    size_t type_count, type_cap;
    glow_sink_fn sink;
    void *sink_user;
    int errors;
    glow_registry ops;
    glow_map *instr_ops; /* by the name of the instruction */
    glow_registry passes;
    glow_registry backends;
    glow_registry plugins;
    void *stats;     /* passes/manager.c: counters of all runs */
    glow_map *rules; /* passes/rules_read.c: tables as read, by pass */
};

/* Adds `item`; false if the name is taken. */
bool glow_registry_add(glow_context *ctx, glow_registry *r, const char *name,
                       const void *item);
const void *glow_registry_find(const glow_registry *r, const char *name);

#endif
