/*
 * Reverse mode over one function: from the gradients of values that it saves to the
 * gradients by placeholders that it reads.
 */

#ifndef PASSES_GRAPH_COMMON_REVERSE_H
#define PASSES_GRAPH_COMMON_REVERSE_H

#include "glow/derivative.h"
#include "glow/number.h"
#include "glow/pass.h"

/* A placeholder that a gradient is asked for. */
typedef struct reverse_wanted {
    glow_storage *storage;
    const glow_storage *source; /* of the formal of a body: see `from` */
    glow_value *gradient;       /* result; NULL: 0 */
} reverse_wanted;

/* The value that `save` saves, and its gradient; NULL: ones. */
typedef struct reverse_seed {
    glow_node *save;
    glow_value *gradient;
} reverse_seed;

typedef struct reverse {
    glow_pass_run *run;
    glow_func *f;
    glow_builder *b;
    glow_arena *arena;
    const char *loss; /* its name, for reports */
    reverse_seed *seeds;
    int n_seeds;
    reverse_wanted *wanted;
    int n_wanted;
    /* Private. */
    glow_map *index;       /* of `wanted`, by the name of the storage */
    glow_node **order;     /* operands before users */
    glow_numbering number; /* in `order`, for the members below */
    int count;
    const glow_storage *
        *from; /* the source of a wanted placeholder that leads here */
    bool *to;  /* leads to a seed */
    glow_value ***gradients; /* by node and result */
} reverse;

/*
 * Lowers nodes without a rule, appends the gradients and sets those of `wanted`.  False
 * after a report of each node that cannot be differentiated (E0442).
 */
bool glow_reverse(reverse *r);

/*
 * The value that the gradient by operand `k` goes to: n->in[k], or the operand of the
 * Quantize whose result a Dequantize `n` reads.
 */
glow_value *glow_reverse_operand(const glow_node *n, int k);

/* The source of a wanted placeholder that leads to `v` by floats, or NULL. */
const glow_storage *glow_reverse_source(const reverse *r, const glow_value *v);

/*
 * The gradients of an If and of a Loop, whose bodies are differentiated into new ones:
 * g->by_operand is set.  The Loop is replaced by one that keeps its carried values.
 * False after a report.
 */
bool glow_reverse_if(reverse *r, const glow_gradient *g);
bool glow_reverse_loop(reverse *r, const glow_gradient *g);

#endif
