/*
 * The text form of modules: see docs/gir.md.
 */

#ifndef GLOW_TEXT_H
#define GLOW_TEXT_H

#include "glow/graph.h"

GLOW_BEGIN

typedef struct glow_parse_options {
    bool allow_unknown_ops;
    bool allow_elided;
    const char *folder; /* that weights paths are relative to; NULL: "." */
    /* -weights ALIAS=PATH: pairs, ended by a NULL alias; or NULL. */
    const char *const (*rebind)[2];
} glow_parse_options;

/*
 * Parses and verifies.  Goes on after an error and reports all independent
 * ones; then returns NULL.  `source` must outlive the module.
 */
GLOW_API glow_module *glow_parse(glow_context *ctx, const glow_source *source,
                                 const glow_parse_options *options);

typedef struct glow_print_options {
    bool elide_constants;  /* dumps: constants of over 16 elements show as
                             elided(hash) */
    bool all_attrs;        /* also those with their default */
    bool annotate_optypes; /* trailing comments: operand types */
    bool annotate_opnames; /* `Name: %x` */
    const char *only_func; /* this one, with the functions that it calls and the
                              storage that they use; NULL: the whole module */
} glow_print_options;

/* NULL options: all false. */
GLOW_API void glow_print(glow_buf *b, glow_module *m,
                         const glow_print_options *options);
/* One line, without indent and line end, as messages show it. */
GLOW_API void glow_print_node(glow_buf *b, const glow_node *n,
                              const glow_print_options *options);
/* As an operand shows it: `%topk#Values`, `@x`; `_` if NULL. */
GLOW_API void glow_print_value(glow_buf *b, const glow_value *v);

/*
 * Moves constants of over `least` bytes, and all contents of other weights files,
 * to a safetensors file at `path` and makes them external under `alias`.  Weights
 * files without uses are removed from the module.  The file appears whole or not
 * at all.
 */
GLOW_API bool glow_externalize(glow_module *m, const char *alias,
                               const char *path, int64_t least);
/*
 * The same for the constants `chosen` alone (which are sorted): those of which
 * glow_may_externalize is true for some `least`. The weights files of others stay.
 */
GLOW_API bool glow_externalize_chosen(glow_module *m, const char *alias,
                                      const char *path, glow_storage **chosen,
                                      size_t count);
/*
 * True if a safetensors file can hold `s`, and `s` is external or has over `least`
 * bytes of elements.
 */
GLOW_API bool glow_may_externalize(const glow_storage *s, int64_t least);
/* The safetensors file at `path` as one more weights file of `m`. */
GLOW_API glow_weights *glow_weights_new(glow_module *m, const char *alias,
                                        const char *path);
/*
 * Binds every elided constant to the tensor of the safetensors file `path` that
 * has its kind, its shape and its hash; they are then external under `alias`.
 * False after a report for each that the file does not hold.
 */
GLOW_API bool glow_reattach(glow_module *m, const char *alias,
                            const char *path);
/*
 * Makes a constant of each placeholder that nobody writes and the safetensors file
 * `path` has a tensor of the name of, external under `alias`, or if that is
 * taken under one like it.  Returns how many; -1 after a report of each of another
 * type.
 */
GLOW_API int glow_bind_placeholders(glow_module *m, const char *alias,
                                    const char *path);
/*
 * The inverse: makes placeholders {State: true, Trained: true} of the constants `chosen`
 * (which are sorted), and moves their elements to a safetensors file at `path`, under
 * their names.  Running statistics of normalizations are state alone.  Returns their
 * number, or -1 after a report; then nothing changed.
 */
GLOW_API int glow_free_constants(glow_module *m, const char *path,
                                 glow_storage **chosen, size_t count);
/*
 * Names weights files relative to `folder` (NULL: "."), the folder of the text of
 * `m`.  W0601 warns of a file outside of it.
 */
GLOW_API void glow_rebase_weights(glow_module *m, const char *folder);

GLOW_END

#endif
