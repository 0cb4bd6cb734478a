/*
 * Running a function on tensors, by the `eval` of its operators: slow, and the
 * meaning that everything else is held against.
 *
 * Graphs and programs run alike, at any stage.  In programs each buffer starts
 * poisoned; reading bytes that were never written is an error (E0501) that
 * names the instruction and the buffer.
 */

#ifndef GLOW_EVAL_H
#define GLOW_EVAL_H

#include "glow/graph.h"

GLOW_BEGIN

/* A placeholder of the module and its tensor: read, written, or both. */
typedef struct glow_binding {
    const glow_storage *storage;
    glow_tensor *tensor;
} glow_binding;

/* Results by content, so that equal work is done once; see glow_memo_new. */
typedef struct glow_memo glow_memo;

typedef struct glow_eval_options {
    bool shadow;     /* float kinds are computed and kept as float64 */
    uint32_t seed;   /* of programs with queues: the order in which queues get
                        their turns, any that tokens allow; 0: that of the text */
    double noise;    /* each float that a node of a graph gives is multiplied by
                        1 + r, r drawn from -noise to noise, unless a kind of this
                        epsilon holds what an element-wise primitive or a Splat
                        gives; Tanh, Erf and Sigmoid of magnitude 1 only become
                        smaller.  So is each operand of a pure composite that is
                        no integer, of which each result gets an error of that
                        size, and one of noise by the largest result unless it is
                        an integer; 0: exact */
    glow_memo *memo; /* or NULL */
    /*
     * Called after each node with its results; NULL: none.  Seconds below 0: it
     * was computed in one loop with the node before, whose time has its own.
     */
    void (*trace)(void *user, const glow_node *n, glow_tensor *const out[],
                  double seconds);
    void *user;
    /*
     * Computes each Run of the function instead of its eval; NULL: none.  False after a
     * report.
     */
    bool (*run)(void *runner, const glow_node *n, glow_tensor *const in[],
                glow_tensor *const out[]);
    void *runner;
} glow_eval_options;

/*
 * Runs `f`.  Every placeholder that it reads or writes must be bound, dense,
 * with the placeholder's type (in a shadow run with float64 where that has a
 * float kind).  False after a report; written tensors then hold anything.
 */
GLOW_API bool glow_eval(glow_func *f, const glow_binding *bindings, int count,
                        const glow_eval_options *options);

/* Runs one node on tensors; see glow_eval_fn. */
GLOW_API bool glow_eval_node(const glow_node *n, glow_tensor *const in[],
                             glow_tensor *const out[], glow_arena *scratch);

/*
 * Runs a body: in[i] are its Inputs, out[i] its Outputs, all dense and of their
 * types, or float64 where these are float kinds: a shadow run.  False after a
 * report.
 */
GLOW_API bool glow_eval_body(glow_func *body, glow_tensor *const in[],
                             glow_tensor *const out[]);

/*
 * Keeps the results of nodes by operator, attributes and the contents of their
 * operands, at most `bytes` of them, the oldest going first.  Before and after a
 * pass most nodes are the same: running both then costs little more than one.
 */
GLOW_API glow_memo *glow_memo_new(size_t bytes);
GLOW_API void glow_memo_free(glow_memo *m);

/* True if `f` reads placeholder `s` before it writes it; if it writes it. */
GLOW_API bool glow_func_reads(const glow_func *f, const glow_storage *s);
GLOW_API bool glow_func_writes(const glow_func *f, const glow_storage *s);

/* Inputs of tests, the same on every machine. */
typedef enum glow_fill {
    GLOW_FILL_ZERO,
    GLOW_FILL_RAMP,    /* i / n for float kinds; i modulo the range for ints */
    GLOW_FILL_RANDOM,  /* uniform in [-1, 1); small integers for int kinds */
    GLOW_FILL_SMALL,   /* integers in [-4, 4]: float sums are exact */
    GLOW_FILL_SPECIAL, /* zeros of both signs, denormals, infinities, NaN, the
                          largest and smallest, among random ones */
    GLOW_FILL_ENDS,    /* these in turn, of integers the least, the largest and
                          what is near them: the last two bits of the seed say
                          at which quarter of the turn to begin */
    GLOW_FILL_WIDE,    /* floats of all exponents up to 8 (16 bits: 1), integers
                          of every size and sign */
    GLOW_FILL_COUNT,   /* 1, 2, 3 and numbers to 64 among them, of either sign,
                          some of floats and a half; integers in [-9, 9] */
} glow_fill;
GLOW_API void glow_tensor_fill(const glow_tensor *t, glow_fill how,
                               uint64_t seed);

GLOW_END

#endif
