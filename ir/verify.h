/* Parts of the verifier, and its reports. */

#ifndef GLOW_IR_VERIFY_H
#define GLOW_IR_VERIFY_H

#include "glow/number.h"

/*
 * Reports an error at node `n`, with its operator's name before the message;
 * `hint` may be NULL.  Returns false.
 */
bool glow_node_error(const glow_node *n, const char *id, const char *hint,
                     const char *fmt, ...) GLOW_PRINTF(4, 5);

/*
 * glow_verify_node, for text: `types` has the spans of the types stated for the
 * results, or is NULL.  Sets *wrong if a stated type is not the type of its
 * result.
 */
bool glow_verify_stated(const glow_node *n, const glow_span *types,
                        bool *wrong);
/*
 * The checks of glow_verify_func after its nodes were verified, with result
 * `ok`.
 */
bool glow_verify_order(glow_func *f, bool ok);

/*
 * Calls: recursion and depth.  Bodies: their formals, and no other
 * placeholders.
 */
bool glow_verify_calls(glow_func *f);
bool glow_verify_body(glow_func *f);

/* Rules of programs: writes, lifetimes, views, places. */
bool glow_verify_program(glow_func *f);

/*
 * Checker of places during a walk over the program; clears *ok with each
 * report.  Allocated in `a`.  `numbers` are those of glow_number_nodes.
 */
typedef struct glow_places glow_places;
glow_places *glow_places_new(glow_arena *a, glow_func *f,
                             const glow_numbering *numbers, bool *ok);
/* False, after a report, if places in a region of `f` cannot be judged. */
bool glow_check_regions(const glow_func *f);
/* Checks the place of an alloc or weight, and that its bytes are free. */
void glow_places_check(glow_places *c, const glow_node *n);
/* Ends the live range of the buffer of `n`. */
void glow_places_vacate(glow_places *c, const glow_node *n);
/*
 * Begins the live ranges of placeholders before `n` (a weight: after it), and
 * ends live ranges after it.
 */
void glow_places_begin(glow_places *c, const glow_node *n);
void glow_places_end(glow_places *c, const glow_node *n);

/*
 * Checks the places of all programs together, each of which is valid by itself.
 */
bool glow_verify_memory(glow_module *m);

/*
 * The attributes State and Trained of placeholders are bool, no formal has them, and a
 * function saves to state at most once.
 */
bool glow_verify_state(const glow_module *m);

#endif
