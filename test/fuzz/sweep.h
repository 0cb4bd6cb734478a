/* The two halves of a sweep: changing a specimen, and checking it. */

#ifndef TEST_FUZZ_SWEEP_H
#define TEST_FUZZ_SWEEP_H

#include "glow/glow.h"

#define SWEEP_OPERANDS 16
#define SWEEP_STORAGES (3 * SWEEP_OPERANDS)

/* A node by itself. */
typedef struct specimen {
    const glow_op *op;
    const void *attrs;
    int n_in, n_out;
    bool is_of_backend;            /* out of a test of the CPU's kernels */
    bool is_given[SWEEP_OPERANDS]; /* else omitted */
    glow_type in[SWEEP_OPERANDS];
    glow_storage *constant[SWEEP_OPERANDS]; /* or NULL */
    glow_type out[SWEEP_OPERANDS];
} specimen;

/*
 * The backend at trial, and processors that its code of mutants is made for, as
 * NAME or NAME+FEATURE.
 */
typedef struct sweep_widths {
    const char *backend;
    const char *plugin; /* that brings it, or NULL */
    bool may_refuse;    /* it need not take all that is left of mutants */
    int count;
    const char *at[4]; /* NULL: this machine */
    bool draws;        /* one for each mutant, by `seed`; else all */
    uint64_t seed;
} sweep_widths;

/* Shared with the parent. */
typedef struct sweep_tally {
    int ran, refused, failed;
    int left;        /* nodes that the backend refused after lowering */
    char text[8192]; /* the module at work */
} sweep_tally;

/* Numbers drawn from `*state`: below `n`. */
int64_t sweep_draw(uint64_t *state, int64_t n);
/* Changes kinds, sizes and attributes of `s`, which may not be valid then. */
void sweep_mutate(specimen *s, uint64_t *state, glow_arena *a);
/* The same for the kernels of the CPU: most sizes are next to their thresholds. */
void sweep_mutate_near(specimen *s, uint64_t *state, glow_arena *a);

/* The parts of a check. */
typedef enum sweep_form {
    SWEEP_ALL,       /* text, lowering, the CPU on primitives and on the node */
    SWEEP_CPU,       /* the CPU on the node as it is */
    SWEEP_QUOTIENTS, /* the CPU after `optimize`, on the node between x / 41 and
                        Floor or none, of whole quotients */
} sweep_form;

/* Holds it to the evaluator; prints differences. */
void sweep_check(const specimen *s, sweep_form form, uint64_t seed,
                 const sweep_widths *widths, glow_arena *a, sweep_tally *tally);
/* Keeps those of `w` whose code runs here; prints why others are left out. */
void sweep_leave_out(sweep_widths *w);
/* Loads LLVM and compiles for this machine once, so that no child has to. */
void sweep_prepare(void);
void sweep_quiet(const glow_diag *d, void *user);

#endif
