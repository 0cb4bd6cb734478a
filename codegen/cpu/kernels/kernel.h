/*
 * Kernels: code for one instruction, made for exactly its shapes.
 *
 * A kernel is a constant and stands in one table, plan/kernels.c, in the order of
 * preference; the first that takes an instruction makes it.  So each can be
 * replaced by itself.
 */

#ifndef CODEGEN_CPU_KERNELS_KERNEL_H
#define CODEGEN_CPU_KERNELS_KERNEL_H

#include "codegen/cpu/emit/kind.h"
#include "codegen/cpu/kernels/choice.h"
#include "codegen/cpu/layout.h"
#include "codegen/cpu/plan.h"

/* A kernel at work. */
typedef struct cpu_job {
    cg *g;
    const cpu_step *step;
    const glow_node *n; /* the instruction; NULL: only the stack */
    cg_value fn;
    cg_tensor *in; /* operands of `n`; at is NULL where one is omitted */
    cg_tensor *out;
    cg_value packed;    /* the packed operand, or NULL */
    cg_value constants; /* the region, for kernels that call */
    cg_value scratch;   /* or NULL */
    cg_value parallel;  /* for kernels that call: see fork.h; or NULL */
    cg_value pool;
    cg_value *slot; /* pointers of the step */
    /*
     * The units to make, of kernels that have some: i64, from `begin` to less
     * than `end`, never none.  They are constants, and all, unless `split`.
     */
    cg_value begin, end;
    bool split;
} cpu_job;

typedef enum cpu_strides {
    CPU_STRIDES_IN = 1 << 0,  /* operands */
    CPU_STRIDES_OUT = 1 << 1, /* results */
} cpu_strides;

typedef struct cpu_kernel {
    const char *name; /* of the functions: "convolution" */
    const glow_op *op;
    /* As t->choice says, if there is one.  NULL: every instruction of the
       operator. */
    bool (*takes)(const cpu_target *t, const glow_node *n);
    void (*emit)(cpu_job *j);
    /*
     * Calls glow_cpu_finish for every element of result 0 once, and reads no
     * operand elsewhere after it: element-wise instructions may follow in the
     * same loop.
     */
    bool stacks;
    /*
     * What need not be dense.  Without it, only result 0 of a kernel that stacks
     * need not be, if its rows lie at one step.
     */
    int strides;         /* cpu_strides */
    bool matrix;         /* uses what matrix.h is about */
    bool fails;          /* may return a run-time error */
    const char *failure; /* what it then says; NULL: an index is outside */
    bool calls; /* the functions that the instruction names, as step->bodies */
    /*
     * An operand that is read in an order of its own, if it is constant: its
     * bytes in that order, 0 to leave it as it is, and the making of them.
     */
    int packs; /* index into n->in */
    int64_t (*packed_size)(const cpu_target *t, const glow_node *n);
    void (*pack)(const cpu_target *t, const glow_node *n,
                 const glow_tensor *from, void *to);
    /* Bytes to work in, or NULL; they mean nothing before and after.  INT64_MAX:
       more than can be counted. */
    int64_t (*scratch_size)(const cpu_target *t, const glow_node *n);
    /*
     * Of how many units, which need nothing of each other, the work consists:
     * several threads then make some each, in scratch of their own.  `emit` makes
     * those of j->begin to j->end, each in the same way whatever the others are.
     * NULL: it is not split.
     */
    int64_t (*units)(const cpu_target *t, const glow_node *n);
    /*
     * Adds the ways to do `n` that may be worth measuring, each with its cycles
     * by the cost model; `t` has no choice.  NULL: there is one way.
     */
    void (*choices)(const cpu_target *t, const glow_node *n, cpu_choices *to);
    /*
     * Where there is one unit: how often `emit` could split what it does, one
     * after the other, into any number of pieces.  If that pays, it does so by
     * glow_cpu_fork, into step->crew.  NULL: it cannot.
     */
    int64_t (*forks)(const cpu_target *t, const glow_node *n);
} cpu_kernel;

/* Can it do `n`, as t->choice says if there is one? */
bool glow_cpu_takes(const cpu_kernel *k, const cpu_target *t,
                    const glow_node *n);

/*
 * The value of elements (row + row_plus, col + col_plus, ...) of result 0,
 * seen as a matrix with the last axis as columns: as many columns as `v` has
 * lanes, all of one row.  Computes what is stacked on them and stores.
 */
typedef struct cpu_place {
    cg_value row, col;
    int64_t row_plus, col_plus;
} cpu_place;
void glow_cpu_finish(cpu_job *j, cpu_place at, cg_value v);

/*
 * Asks for the lines that glow_cpu_finish will touch in `columns` columns from
 * `at` on, of `rows` rows that lie `apart` rows from each other: of tensors that
 * the cache does not hold, unless these are more lines than can be on their way.
 * To be called as long before as they take.
 */
void glow_cpu_foresee(cpu_job *j, cpu_place at, int rows, int64_t apart,
                      int64_t columns);

/* Emits the stack of a step without a root: all of its loops. */
void glow_cpu_emit_stack(cpu_job *j);
/* Its units: see cpu_kernel. */
int64_t glow_cpu_stack_units(const cpu_target *t, const cpu_step *s);

/* A loop over the units, whose number is returned. */
cg_value glow_cpu_unit_for(cpu_job *j, cg_loop *l);

/* As glow_cpu_nest, where the first `axes` axes of `shape` are the units. */
void glow_cpu_unit_nest(cpu_job *j, cg_nest *n, glow_dims shape, int axes);

/*
 * Units that are numbered outer * `inner` + inner: a loop over the outer ones,
 * whose number is returned, and in each the inner ones from `begin` to less than
 * `end`, never none.  glow_cpu_loop_end(g, &w->loop, NULL) ends it.
 */
typedef struct cpu_within {
    cg_loop loop;
    cg_value begin, end;
} cpu_within;
cg_value glow_cpu_units_within(cpu_job *j, cpu_within *w, int64_t outer,
                               int64_t inner);

/* Returns from the kernel with a run-time error where `bad` holds. */
void glow_cpu_fail_if(cpu_job *j, cg_value bad);

/*
 * Copies elements, as bits, for all indices of `shape`: to `to_at` and steps
 * of `to_step` from `from_at` and steps of `from_step`, all in elements.
 */
void glow_cpu_copy(cg *g, cg_tensor to, int64_t to_at, glow_dims to_step,
                   cg_tensor from, int64_t from_at, glow_dims from_step,
                   glow_dims shape);
/* Sets all elements of a dense tensor to `bits`. */
void glow_cpu_fill(cg *g, cg_tensor to, int64_t count, cg_value bits);

#endif
