/* Bodies under construction, which copies of other bodies are part of. */

#ifndef PASSES_GRAPH_COMMON_REVERSE_BODY_H
#define PASSES_GRAPH_COMMON_REVERSE_BODY_H

#include "passes/graph/common/reverse.h"

typedef struct reverse_body {
    glow_arena *arena;
    glow_func *f;
    glow_builder *b;
    glow_storage **in, **out; /* formals */
    glow_value **operands;    /* by Input: of the call; NULL: set later */
    int n_in, n_out;
    glow_node **saves; /* of the Outputs of the copy, to be erased */
    int n_saves;
} reverse_body;

/* An empty body, of at most `most` Inputs and Outputs. */
reverse_body glow_body_begin(reverse *r, const char *name, int most);
/* Formals, and placeholders for the time of construction, of the dense type. */
glow_storage *glow_body_temporary(const reverse_body *b, const char *name,
                                  const glow_type *type);
glow_value *glow_body_input(reverse_body *b, const char *name,
                            const glow_type *type, glow_value *operand);
/* False after a report, also where `v` is NULL. */
bool glow_body_output(reverse_body *b, const char *name, glow_value *v);
/*
 * Puts the nodes of `callee` into the body, `in` taking the place of its Inputs; Output
 * i is saved by b->saves[i], to a placeholder for the time of construction.
 */
void glow_body_copy(reverse_body *b, const glow_func *callee,
                    glow_value *const *in);
/*
 * Differentiates what glow_body_copy put there, from `seeds` to `wanted`, and erases
 * what this does not need.  False after a report.
 */
bool glow_body_reverse(const reverse *outer, reverse_body *b,
                       reverse_seed *seeds, int n_seeds, reverse_wanted *wanted,
                       int n_wanted);
/* Erases nodes without uses, then Inputs without uses, from `first` on. */
void glow_body_drop_inputs(reverse_body *b, int first);
/* Makes the function a body. */
void glow_body_end(const reverse_body *b);
/* Erases it, where it turned out to be of no use. */
void glow_body_abandon(reverse_body *b);

#endif
