/* The parts of the verifier, and how they report. */

#ifndef GLOW_IR_VERIFY_H
#define GLOW_IR_VERIFY_H

#include "glow/graph.h"

/*
 * Reports at node `n`, its operator's name before the message; `hint` may be
 * NULL.  Returns false.
 */
bool glow_node_error(const glow_node *n, const char *id, const char *hint,
                     const char *fmt, ...) GLOW_PRINTF(4, 5);

/*
 * glow_verify_node, for text: `types` has the spans of the types stated for the
 * results, or is NULL. *wrong is set if one of them is not the type of its result.
 */
bool glow_verify_stated(const glow_node *n, const glow_span *types,
                        bool *wrong);
/* The rest of glow_verify_func, once its nodes were verified: to `ok`. */
bool glow_verify_order(glow_func *f, bool ok);

/* Calls: that they end.  Bodies: their formals, and no other placeholders. */
bool glow_verify_calls(glow_func *f);
bool glow_verify_body(glow_func *f);

/* What only programs can do wrong: writes, lifetimes, views, places. */
bool glow_verify_program(glow_func *f);

/*
 * Places, asked as a walk over the program comes to its nodes; clears *ok with
 * each report.  Lives in `a`.
 */
typedef struct glow_places glow_places;
glow_places *glow_places_new(glow_arena *a, glow_func *f, bool *ok);
/* False, after a report, if places in a region of `f` cannot be judged. */
bool glow_check_regions(const glow_func *f);
/* At an alloc or weight: whether its place is right, and free. */
void glow_places_check(glow_places *c, const glow_node *n);
/* The buffer of `n` ends. */
void glow_places_vacate(glow_places *c, const glow_node *n);
/* Before `n` (a weight: behind it) and behind it: placeholders come and go. */
void glow_places_begin(glow_places *c, const glow_node *n);
void glow_places_end(glow_places *c, const glow_node *n);

/* The places of all programs together; each by itself is right. */
bool glow_verify_memory(glow_module *m);

#endif
