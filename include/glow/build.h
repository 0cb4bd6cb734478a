/*
 * Making nodes that are checked: the builder infers result types, names nodes
 * after the nodes they replace and carries provenance.
 *
 *     glow_value *z = GLOW_BUILD(b, transpose, GLOW_IN(x), .shuffle = perm);
 *
 * reads like the text form.  Attributes are given whole: members left out are
 * zero, not their default.
 */

#ifndef GLOW_BUILD_H
#define GLOW_BUILD_H

#include "glow/graph.h"

GLOW_BEGIN

typedef struct glow_builder glow_builder;

/* Operands, in the order of the schema; NULL for an omitted one. */
#define GLOW_IN(...)                    \
    (glow_value *const[]){__VA_ARGS__}, \
        (int)(sizeof((glow_value *[]){__VA_ARGS__}) / sizeof(glow_value *))

/* A node with attributes, one without any, and those with a stated type. */
#define GLOW_BUILD(b, opname, in, ...)           \
    glow_build((b), &glow_op_##opname, NULL, in, \
               &(const glow_##opname){__VA_ARGS__})
#define GLOW_BUILD_PLAIN(b, opname, in) \
    glow_build((b), &glow_op_##opname, NULL, in, NULL)
#define GLOW_BUILD_STATED(b, opname, type, in, ...) \
    glow_build((b), &glow_op_##opname, (type), in,  \
               &(const glow_##opname){__VA_ARGS__})
#define GLOW_BUILD_STATED_PLAIN(b, opname, type, in) \
    glow_build((b), &glow_op_##opname, (type), in, NULL)

/*
 * A builder that appends to `f`.  `pass` is written into locations (NULL: none
 * is).  Lives in `a`.
 */
GLOW_API glow_builder *glow_builder_new(glow_arena *a, glow_func *f,
                                        const char *pass);
/* Inserts before `n` from now on, and names and locates nodes after it. */
GLOW_API void glow_builder_at(glow_builder *b, glow_node *n);
/* Appends from now on; names after `name`, locates at `loc` (either NULL). */
GLOW_API void glow_builder_named(glow_builder *b, const char *name,
                                 const glow_loc *loc);
/* Adds `n` to where later nodes come from: fused(pass, ...). */
GLOW_API void glow_builder_fuses(glow_builder *b, const glow_node *n);

/*
 * Makes a node; returns its first result (the others are ->def->out[i]; of a
 * node without results, such as Save, use glow_build_node).  `type` states the
 * first result's type for GLOW_STATED operators, else NULL.  Returns NULL after
 * a report if an operand is NULL that must not be, or infer refuses.  Later
 * calls with a NULL operand then return NULL quietly, so that a chain of them
 * needs one check at its end.
 */
GLOW_API glow_value *glow_build(glow_builder *b, const glow_op *op,
                                const glow_type *type, glow_value *const *in,
                                int n_in, const void *attrs);
/*
 * `types` states as many result types as the node has, or is NULL.  For an
 * operator with a variable number of results, `n_types` is that number, and each
 * type may be NULL.
 */
GLOW_API glow_node *glow_build_node(glow_builder *b, const glow_op *op,
                                    const glow_type *const *types, int n_types,
                                    glow_value *const *in, int n_in,
                                    const void *attrs);

/* True once a call has failed. */
GLOW_API bool glow_builder_failed(const glow_builder *b);
GLOW_API glow_func *glow_builder_func(const glow_builder *b);
GLOW_API glow_module *glow_builder_module(const glow_builder *b);
GLOW_API glow_context *glow_builder_context(const glow_builder *b);
/*
 * The run of the pass that a glow_rewrite_fn is called by, for its options,
 * remarks and target; NULL of other builders.  glow_rewrite sets it.
 */
struct glow_pass_run;
GLOW_API struct glow_pass_run *glow_builder_run(const glow_builder *b);
GLOW_API void glow_builder_set_run(glow_builder *b, struct glow_pass_run *run);
/* Scratch that lives as long as the pass run. */
GLOW_API glow_arena *glow_builder_scratch(const glow_builder *b);
/* Owned by the user of the builder: the state of a rewrite. */
GLOW_API void *glow_builder_user(const glow_builder *b);
GLOW_API void glow_builder_set_user(glow_builder *b, void *user);

/* Constants named after the node at hand and `suffix`. */
GLOW_API glow_value *glow_build_splat(glow_builder *b, const char *suffix,
                                      const glow_type *type, double v);
/* Zeroed bytes, to be filled through value->storage->tensor. */
GLOW_API glow_value *glow_build_constant(glow_builder *b, const char *suffix,
                                         const glow_type *type);

GLOW_END

#endif
