/*
 * Name resolution: from the syntax tree to a module.
 *
 * Definitions that were reported as wrong stay known by name without being
 * built, so that their uses are not reported again.
 */

#ifndef GLOW_IR_TEXT_RESOLVE_H
#define GLOW_IR_TEXT_RESOLVE_H

#include "ir/text/parse.h"

typedef struct text_resolver {
    text_parser *p;
    glow_context *ctx;
    glow_module *m;
    glow_map *storage; /* text_item by name, wrong ones included */
    glow_map *funcs;   /* the same */
    glow_map *aliases; /* text_item of weights */
    glow_map *blobs;   /* text_blob by key */
} text_resolver;

/* Adds `item` under `name`; reports E0109 and returns false if it is taken. */
bool glow_text_define(text_resolver *r, glow_map *map, const char *what,
                      text_name name, void *item, const text_name *before);

/* values.c: dictionaries.  False after a report. */
bool glow_text_attr_list(text_resolver *r, glow_arena *a,
                         const text_attr *attrs, glow_attr_list *out);
/* The attribute struct of a schema; NULL after a report. */
const void *glow_text_attr_struct(text_resolver *r, glow_schema s,
                                  const text_attr *attrs, const char *who,
                                  text_span at);

/* storage.c: weights files, placeholders, constants. */
void glow_text_resolve_weights(text_resolver *r, text_item *i);
void glow_text_resolve_storage(text_resolver *r, text_item *i);

/*
 * payload.c: the elements of a constant.  The `_fits` functions of lists and
 * blobs report errors of size before memory is allocated.
 */
bool glow_text_list_fits(text_resolver *r, const text_values *list,
                         text_span at, const glow_type *type);
bool glow_text_fill_list(text_resolver *r, const text_values *list,
                         const glow_tensor *to);
bool glow_text_blob_fits(text_resolver *r, const text_blob *b,
                         const glow_type *type);
bool glow_text_fill_blob(text_resolver *r, const text_blob *b,
                         const glow_tensor *to);
/* Sets one element, at position `at` in memory. */
bool glow_text_fill_element(text_resolver *r, const text_value *v,
                            const glow_tensor *to, int64_t at);

/* graph.c and program.c: the bodies of functions. */
typedef struct text_scope {
    text_resolver *r;
    glow_func *f;
    text_item *item;
    glow_map *regions; /* glow_region by name */
} text_scope;

void glow_text_resolve_graph(text_scope *s);
void glow_text_resolve_program(text_scope *s);

/* node.c: shared by graphs and programs. */

/* Adds `n` to the names of its function; false if the name is taken. */
bool glow_text_define_node(text_scope *s, text_node *n);
const char *glow_text_suggest_storage(text_resolver *r, const char *wrong);
/* A known operator; else NULL, after a report unless unknown ones are kept. */
const glow_op *glow_text_known_op(text_scope *s, const text_node *n);
/*
 * Sets *out to the value that `o` refers to, or to NULL if its definition was
 * reported as wrong.  False after a report.
 */
bool glow_text_resolve_ref(text_scope *s, const text_operand *o,
                           glow_value **out);
/* The struct of attributes, or the dictionary of an unknown operator. */
typedef struct text_attributes {
    const void *known;
    glow_attr_list unknown;
} text_attributes;
bool glow_text_node_attrs(text_scope *s, const text_node *n, const glow_op *op,
                          text_attributes *out);
/* Records `made` as the node built for `n`, and sets its attributes. */
void glow_text_dress_node(text_scope *s, text_node *n, glow_node *made,
                          text_attributes attrs);
bool glow_text_set_pred(text_scope *s, text_node *n);
bool glow_text_set_scratch(text_scope *s, text_node *n);

/* locations.c */
void glow_text_resolve_locations(text_resolver *r, text_item *i);

/* ranges.c */
void glow_text_resolve_ranges(text_resolver *r, text_item *i);

#endif
