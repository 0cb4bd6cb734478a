/* Sites and edges of place-transpose, and its rewrite. */

#ifndef PASSES_GRAPH_COMMON_PLACER_H
#define PASSES_GRAPH_COMMON_PLACER_H

#include "glow/number.h"
#include "glow/pass.h"
#include "passes/graph/common/axis_rules.h"
#include "passes/graph/common/regions.h"

/* A transpose that was built of a value. */
typedef struct placed_transpose {
    axis_order order;
    glow_value *value;
    struct placed_transpose *next;
} placed_transpose;

typedef struct site {
    glow_node *node;       /* the original node */
    const axis_rule *rule; /* NULL: a Broadcast */
    glow_value *value;     /* its result in its order; NULL: not built yet */
    placed_transpose *transposes; /* of `value` */
} site;

/* A use of a site's result by a node that is not a site. */
typedef struct fixed_use {
    glow_node *user;
    int index; /* of the operand; -1: predicate */
    int site;  /* the definition */
} fixed_use;

/* A value that is not defined by a site. */
typedef struct fixed_root {
    glow_value *value;
    placed_transpose *transposes;
} fixed_root;

typedef struct placer {
    glow_pass_run *run;
    glow_func *func;
    glow_builder *builder;
    glow_arena *arena;
    glow_numbering
        numbers; /* of a node: its site, or PLACER_FIXED and the number
                               of its first fixed root */
    site *sites;
    int n_sites;
    region_edge *edges;
    size_t n_edges, cap_edges;
    fixed_use *uses;
    size_t n_uses, cap_uses;
    fixed_root *roots;
    size_t n_roots, cap_roots;
    glow_map *storage; /* roots of storage, by its name */
    region_plan plan;
} placer;

#define PLACER_FIXED ((uint32_t)1 << 31)

/* The site that defines `v`, or -1. */
int glow_placer_site(const placer *p, const glow_value *v);

/* The value behind a chain of transposes; `*step` is their composition. */
glow_value *glow_placer_root_of(glow_value *v, axis_order *step);

/* The number of a value that is not defined by a site, from 0 on. */
int glow_placer_fixed_root(placer *p, glow_value *v);

/* Rewrites the function by the orders of the plan; false after a report. */
bool glow_placer_apply(placer *p);

#endif
