/* Judgement of a pass that is GLOW_QUANTIZED: its state, and functions that its files share. */

#ifndef GLOW_PASSES_QUANTIZED_JUDGE_H
#define GLOW_PASSES_QUANTIZED_JUDGE_H

#include "passes/verdict.h"

enum { MOST_CHAIN = 4 };

#define ROUNDINGS 16
#define SLACK (1 + 0x1p-10) /* of a half step: float arithmetic at a tie */

/* A quantized operator, and the node of floats that it stands for. */
typedef struct pair {
    const glow_node *after; /* the quantized operator */
    const glow_node *shown; /* it, or the Dequantize behind it */
    const glow_node *before;
    const glow_node *base; /* the node that computes what `after` does */
    const glow_node *chain[MOST_CHAIN]; /* from base to before: clamps */
    int n_chain;
    const glow_tensor *weights; /* of a base with constant ones, else NULL */
    struct pair *next;
} pair;

/* Constant weights that the pass put in blocks of 8 or 4 bits. */
typedef struct blocked {
    const glow_node *before; /* whose operand they are */
    int operand;
    const glow_tensor *was, *now,
        *steps;   /* of one shape; now and steps float64 */
    double slack; /* scales below it are too small for their kind */
    struct blocked *next;
} blocked;

typedef struct judge {
    const verdict *v;
    glow_arena *a;
    glow_func *before, *after;
    glow_map *seen;  /* tensors of the run after, by name */
    glow_map *steps; /* quantized types, by the name of the value in `before` */
    pair *pairs;
    blocked *blocked;
    glow_tensor *made; /* tensors to be freed */
    size_t n_made, cap_made;
    uint64_t drawn;
    /* Of `cone`: quantized values that it rounded, and which of them is off by what. */
    int roundings, shifted, shift;
} judge;

/* tensors.c */

/* Owns `t` until glow_judge_release. */
const glow_tensor *glow_judge_keep(judge *j, glow_tensor t);
/* Frees all tensors but the first `count`. */
void glow_judge_release(judge *j, size_t count);
/* A tensor of float64 for values of type `t`. */
glow_tensor *glow_judge_wide(judge *j, const glow_type *t);
/* The reals of `t`, in float64; `t` itself if it holds integers or is NULL. */
const glow_tensor *glow_judge_reals(judge *j, const glow_tensor *t);
/* The magnitudes of `t`; NULL if `t` is. */
const glow_tensor *glow_judge_sizes(judge *j, const glow_tensor *t);
/* The name that glow_trial_see has for `v`. */
const char *glow_judge_value_name(judge *j, const glow_value *v);
/* The tensor of `v` of the function after the pass; NULL: it was not seen. */
const glow_tensor *glow_judge_tensor(judge *j, const glow_value *v);
/* The result of `n` on tensors of float64; NULL: it has no meaning there. */
const glow_tensor *glow_judge_run(judge *j, const glow_node *n,
                                  glow_tensor *const in[]);
/* `v` within the reals of the quantized type `t`. */
double glow_judge_clamp(const glow_type *t, double v);
/* Reports E0411 at the function; false. */
bool glow_judge_fail(const judge *j, const char *text);
/* The same, of element `i` of node `name`, which is not within `bound` of `due`. */
bool glow_judge_tell_node(const judge *j, const char *name, int64_t i,
                          double is, double due, double bound);

/* pairs.c */

/* Fills j->pairs and j->steps. */
void glow_judge_find_pairs(judge *j);
bool glow_judge_is_product(const glow_node *n);
/* True if quantize-weights may change operands 0 and 1. */
bool glow_judge_is_weighted(const glow_node *n);
/*
 * Operand `i` of `after`, where it has another shape than operand `i` of `n` before the
 * pads of its own; NULL: neither has that shape.
 */
const glow_value *glow_judge_operand(const glow_node *after, const glow_node *n,
                                     int i);
/* The quantized type of the value that node `d` shows as reals, or NULL. */
const glow_type *glow_judge_shown_type(const glow_node *d);

/* nodes.c */

/* True if the quantized operator of `p` is within its bound; else false after a report. */
bool glow_judge_pair(judge *j, const pair *p);
/* The axis of operand 1 that the channels of the result are. */
int glow_judge_channel_axis(const glow_node *base);
/* The step of the weights of channel `c`. */
double glow_judge_weight_step(judge *j, const pair *p, int64_t c);

/* rewritten.c */

/* True if `n` is within its bound, or was not rewritten; else false after a report. */
bool glow_judge_rewritten(judge *j, const glow_node *n);

/* blocks.c */

/* Fills j->blocked. */
void glow_judge_find_blocked(judge *j);
/* True if each weight is at most a step off; else false after a report. */
bool glow_judge_blocked(judge *j, const blocked *r);
/* Gives r->before weights of its own, each off by a random part of half a step. */
void glow_judge_perturb_blocked(judge *j, const blocked *r);

/* ends.c */

/* True if the outputs `after` are as near as noise lets expect; else false after a report. */
bool glow_judge_ends(judge *j, const trial_held *after);

/* judge.c */

/* A run of `f` on random inputs within their ranges; with `shadow` in float64. */
trial glow_judge_trial(judge *j, glow_func *f, bool shadow);

#endif
