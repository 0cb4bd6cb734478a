/* Options of passes that list operators and nodes by name. */

#ifndef PASSES_GRAPH_COMMON_NAMES_H
#define PASSES_GRAPH_COMMON_NAMES_H

#include "glow/pass.h"

/* True if `name` is one of the words between commas. */
bool glow_names_list(const char *words, const char *name);
/* True if `words` have the operator or the name of `n`. */
bool glow_names_have(const char *words, const glow_node *n);
/* True if `only` has `n`, or is empty, and `except` has not. */
bool glow_names_choose(const char *only, const char *except,
                       const glow_node *n);

/*
 * Reports a word of `words`, the value of `option`, that is neither an operator nor the
 * name of a node of the module of `f`.
 */
bool glow_names_check(glow_pass_run *run, const glow_func *f,
                      const char *option, const char *words);

/* True if one of the patterns between commas (as of fnmatch) matches `name`. */
bool glow_names_match(glow_arena *a, const char *patterns, const char *name);

#endif
