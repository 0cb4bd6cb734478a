/*
 * Kernels: code generators for one instruction, specialized to its shapes.
 *
 * A kernel is a constant, listed in the table of plan/kernels.c in order of
 * preference; the first kernel that takes an instruction generates its code.
 * So each kernel can be replaced by itself.
 */

#ifndef CODEGEN_CPU_KERNELS_KERNEL_H
#define CODEGEN_CPU_KERNELS_KERNEL_H

#include "codegen/cpu/emit/kind.h"
#include "codegen/cpu/kernels/choice.h"
#include "codegen/cpu/layout.h"
#include "codegen/cpu/plan.h"

/* Code generation of one kernel call. */
typedef struct cpu_job {
    cg *g;
    const cpu_step *step;
    const glow_node *n; /* the instruction; NULL: only the chain */
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
     * Units to compute, for kernels that have units: i64, from `begin` to less
     * than `end`, never empty.  They are constants, and all units, unless
     * `split`.
     */
    cg_value begin, end;
    bool split;
    cg_value *number; /* i64, for kernels that have numbers */
} cpu_job;

enum { CPU_MOST_NUMBERS = 8 };

typedef enum cpu_strides {
    CPU_STRIDES_IN = 1 << 0,  /* operands */
    CPU_STRIDES_OUT = 1 << 1, /* results */
} cpu_strides;

typedef struct cpu_kernel {
    const char *name; /* of the functions: "convolution" */
    const glow_op *op;
    /* As t->choice says, if there is one.  NULL: every instruction of the
       operator that computes on no quantized elements, or on any. */
    bool (*takes)(const cpu_target *t, const glow_node *n);
    void (*emit)(cpu_job *j);
    /*
     * Calls glow_cpu_finish for every element of result 0 once, and reads no
     * operand elsewhere after it: element-wise instructions may follow in the
     * same loop.
     */
    bool stacks;
    /*
     * Operands and results that may be strided.  In addition, result 0 of a
     * kernel that stacks may be, if its rows are at one stride.
     */
    int strides;    /* cpu_strides */
    bool matrix;    /* uses matrix registers, see matrix/matrix.h */
    bool quantized; /* without `takes`: any elements */
    /*
     * `takes` asks for the elements of constants, too, so instructions of the same
     * types may differ: a choice of the tuning file that does not fit is left out.
     */
    bool by_elements;
    /*
     * The code does not depend on the scales of the types, which go into the packed form
     * alone: instructions that differ in nothing else share it.
     */
    bool without_scales;
    /*
     * Writes sizes of the instruction, at most CPU_MOST_NUMBERS, and returns their count:
     * the function of the step takes them as parameters, and depends on kinds of elements
     * alone besides.  NULL: there are none.
     */
    int (*numbers)(const glow_node *n, int64_t *to);
    bool fails;          /* may return a run-time error */
    const char *failure; /* its message; NULL: index out of range */
    bool calls; /* the functions that the instruction names, as step->bodies */
    /*
     * The operand that is packed if it is constant: bytes of the packed form
     * (0: not packed), and the function that packs it.
     */
    int packs; /* index into n->in */
    /* Further operands that go into the packed form, as bits 1 << index.  It is made
       only where those of them that are not omitted are constant, too; `pack` finds
       them by glow_constant_tensor. */
    int packs_too;
    int64_t (*packed_size)(const cpu_target *t, const glow_node *n);
    void (*pack)(const cpu_target *t, const glow_node *n,
                 const glow_tensor *from, void *to);
    /*
     * Scratch bytes, or NULL; their contents are undefined before and dead
     * after.  INT64_MAX: the size overflows.
     */
    int64_t (*scratch_size)(const cpu_target *t, const glow_node *n);
    /*
     * Number of independent units of the iteration space; several threads then
     * compute some each, with scratch of their own.  `emit` generates code for
     * units j->begin to j->end, the same for each unit, whatever the range is.
     * NULL: the kernel is not split.
     */
    int64_t (*units)(const cpu_target *t, const glow_node *n);
    /*
     * Adds the choices for `n` that may be worth measuring, each with its
     * cycles by the cost model; `t` has no choice.  NULL: there is one.
     */
    void (*choices)(const cpu_target *t, const glow_node *n, cpu_choices *to);
    /*
     * For kernels with one unit: the number of parallel regions, run one after
     * the other, that `emit` can split among any number of threads.  It does so
     * by glow_cpu_fork into step->team parts, if that pays.  NULL: it cannot.
     */
    int64_t (*forks)(const cpu_target *t, const glow_node *n);
    /*
     * Appends the text of a remark: of `n` that the kernel has `taken`, the accuracy or
     * memory that it trades for time; of others the reason why it has not, if it nearly
     * did; else nothing.  `t` has the choice of `n`.  NULL: the kernel trades neither.
     */
    void (*remark)(const cpu_target *t, const glow_node *n, bool taken,
                   glow_buf *b);
} cpu_kernel;

/* True if kernel `k` accepts the strides of all operands and results of `n`. */
bool glow_cpu_takes_layouts(const cpu_kernel *k, const glow_node *n);

/*
 * True if kernel `k` takes `n`, with the choice of the target if there is one.
 */
bool glow_cpu_takes(const cpu_kernel *k, const cpu_target *t,
                    const glow_node *n);

/*
 * `v` is the value of elements (row + row_plus, col + col_plus, ...) of result
 * 0, seen as a matrix with the last axis as columns: as many columns as `v` has
 * lanes, all in one row.  glow_cpu_finish applies the fused element-wise chain
 * to `v` and stores the result.
 */
typedef struct cpu_place {
    cg_value row, col;
    int64_t row_plus, col_plus;
} cpu_place;
void glow_cpu_finish(cpu_job *j, cpu_place at, cg_value v);

/*
 * Prefetches the cache lines that glow_cpu_finish will access in `columns`
 * columns from `at` on, of `rows` rows with a distance of `apart` rows: of
 * tensors of more than `beyond` bytes, unless there are more than CPU_MOST_AHEAD
 * lines.  The call should precede the access by the latency of memory.
 */
void glow_cpu_prefetch(cpu_job *j, cpu_place at, int rows, int64_t apart,
                       int64_t columns, int64_t beyond);

/* True if the same call would prefetch anything. */
bool glow_cpu_may_prefetch(const cpu_job *j, int rows, int64_t columns,
                           int64_t beyond);

/* Emits a step without a root: the loops of its fused element-wise chain. */
void glow_cpu_emit_stack(cpu_job *j);
/* Its units: see cpu_kernel. */
int64_t glow_cpu_stack_units(const cpu_target *t, const cpu_step *s);

/* A loop over the units, whose number is returned. */
cg_value glow_cpu_unit_for(cpu_job *j, cg_loop *l);

/* As glow_cg_nest, where the first `axes` axes of `shape` are the units. */
void glow_cpu_unit_nest(cpu_job *j, cg_nest *n, glow_dims shape, int axes);

/*
 * Units that are numbered outer * `inner` + inner: a loop over the outer ones,
 * whose number is returned, and in each the inner ones from `begin` to less than
 * `end`, never none.  glow_cg_loop_end(g, &w->loop, NULL) ends it.
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
