/*
 * Parts of buffers that need not have a view yet, and letting what uses a
 * buffer use such a part instead.
 */

#ifndef PASSES_PROGRAM_PARTS_H
#define PASSES_PROGRAM_PARTS_H

#include "glow/backend.h"
#include "glow/pass.h"
#include "passes/program/buffers.h"

typedef struct part {
    glow_value *base; /* an alloc or a weight, dense */
    int64_t first;    /* the element of it that comes first */
    glow_type type;
} part;

/* What `v` names; false if its base is not dense. */
bool part_of(glow_value *v, part *out);

/*
 * The elements start, start + steps, ... of `p`, as many as `shape` has on each
 * axis.  `steps` of rank 0 are all 1; they are above 0.
 */
part part_box(const part *p, glow_dims start, glow_dims steps, glow_dims shape);

/*
 * Could all that uses the alloc `from` or views of it use `to`, which has as
 * many elements?  The backend decides who can work on elements that do not lie
 * side by side; where there is none to ask, nobody can.  `but` is not asked.
 * *why says why not.
 */
bool can_use_part(glow_pass_run *run, const glow_value *from, const part *to,
                  const glow_node *but, const char **why);

/*
 * Has them use it: a view of the base stands in the place of `from`'s alloc,
 * views of `from` become views of the base, and alloc and dealloc are gone.
 * Returns the view.
 */
glow_value *use_part(glow_pass_run *run, glow_value *from, const part *to);

/* Makes the view `n`, whose type is p's, one of p's base. */
void set_view(glow_node *n, const part *p);

/* A view of the part, right before `where`. */
glow_value *view_part(const part *p, const char *name, glow_node *where);

#endif
