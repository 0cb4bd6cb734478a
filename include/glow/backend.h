/*
 * Backends: code generation and execution of functions.
 */

#ifndef GLOW_BACKEND_H
#define GLOW_BACKEND_H

#include "glow/eval.h"
#include "glow/tuning.h"

GLOW_BEGIN

typedef struct glow_backend glow_backend;
typedef struct glow_executable glow_executable;

/* Does the backend take this node as it is? */
typedef enum glow_takes {
    GLOW_TAKES,
    GLOW_TAKES_LOWERED, /* leave it to -lower */
    GLOW_TAKES_NOT,     /* `why` says why */
} glow_takes;

/*
 * Convolution of 3 x 3 by Winograd's transforms: fewer multiplications, more
 * weights, and an error that is relative to the largest results around.
 */
typedef enum glow_winograd {
    GLOW_WINOGRAD_AUTO, /* where it is expected to take less time */
    GLOW_WINOGRAD_OFF,
    GLOW_WINOGRAD_2, /* F(2 x 2, 3 x 3) wherever it can be done */
    GLOW_WINOGRAD_4, /* F(4 x 4, 3 x 3) */
} glow_winograd;

/* Target and options of code generation; zero: this machine. */
typedef struct glow_target_options {
    const char *triple;   /* "x86_64-linux-gnu"; NULL: the host's */
    const char *cpu;      /* NULL: "native" */
    const char *features; /* "+avx2,-avx512f"; NULL: the CPU's */
    bool debug;           /* line tables that name the .gir file */
    int threads;          /* that work is split for, at most; 0: 1 */
    double grain; /* seconds of work worth a part of its own; 0: 2.5e-6 */
    /*
     * A folder where `load` keeps objects, and glow_network_load networks, and
     * where they look for them; NULL: nowhere.
     */
    const char *cache;
    int64_t cache_bytes; /* that it may hold; 0: 4 GiB */
    /*
     * Only of `load`: what `constants` of the backend gave for the same program,
     * and the layout: no element of a constant is asked for.  If another layout
     * is wanted now, `load` gives NULL without a report.  NULL: none.
     */
    struct glow_data *constants;
    const char *layout;
    /*
     * Run step by step, and fail where one changes bytes that are not its own;
     * in `profile`, what the trace does counts as the step's.  Only of `load`.
     */
    bool red_zones;
    glow_winograd winograd;
    /* Subnormal operands and results are zeros.  False: as IEEE 754 has them. */
    bool flush_subnormals;
    const glow_tuning *tuning; /* measurements of an earlier tuning, or NULL */
    /*
     * The machine that these options name, from `machine` of the backend; NULL:
     * `scratch` and `cache` are those of the widest vectors, on every machine.
     */
    const void *machine;
    int64_t most_bytes; /* capacity for activations; 0: unlimited */
} glow_target_options;

typedef enum glow_emit {
    GLOW_EMIT_OBJECT,
    GLOW_EMIT_ASM,
    GLOW_EMIT_LLVM,
    GLOW_EMIT_BUNDLE, /* object, header, weights */
} glow_emit;

typedef struct glow_code_sizes {
    int64_t constants; /* bytes of each of the three regions */
    int64_t placeholders;
    int64_t activations;
    int64_t code;
} glow_code_sizes;

struct glow_backend {
    const char *name; /* "interp", "cpu" */
    const char *summary;
    /*
     * `*why` is set, to text in `a` or constant, unless it takes the node.  Asked
     * of instructions too: some buffers may have strides that it cannot work on.
     */
    glow_takes (*takes)(const glow_node *n, glow_arena *a, const char **why);
    /* The level that `load` and `emit` want. */
    int level; /* glow_level */
    /*
     * Makes `f` runnable.  The module must stay as it is until unload.  NULL
     * after a report.
     */
    glow_executable *(*load)(glow_func *f, const glow_target_options *t);
    bool (*run)(glow_executable *x, const glow_binding *bindings, int count);
    /* As run, with the time of each node: trace as in glow_eval_options. */
    bool (*profile)(glow_executable *x, const glow_binding *bindings, int count,
                    const glow_eval_options *options);
    glow_code_sizes (*sizes)(const glow_executable *x);
    void (*unload)(glow_executable *x);
    /* Files from a placed program; NULL if the backend makes none. */
    bool (*emit)(glow_func *f, glow_emit what, const glow_target_options *t,
                 const char *path);
    /*
     * Scratch bytes of the kernel of a node or instruction, besides operands and
     * results; their contents are undefined before and after it.  INT64_MAX: the
     * size overflows.  NULL: no kernel needs scratch.
     */
    int64_t (*scratch)(const glow_node *n, const glow_target_options *t);
    /*
     * Required alignment of an alloc or weight, a power of two.  NULL: that of its
     * elements.
     */
    int64_t (*align)(const glow_node *buffer);
    /*
     * Bytes of the cache of a core, through which adjacent steps pass data without
     * memory traffic.  NULL: irrelevant for the backend.
     */
    int64_t (*cache)(const glow_target_options *t);
    /*
     * The machine that `t` names, for `t->machine`; lives in `a`.  NULL after a
     * report.  NULL as a member: scratch is the same on all machines.
     */
    const void *(*machine)(glow_context *ctx, glow_arena *a,
                           const glow_target_options *t);
    /*
     * Identity of the code generator for the cache of code: the build of the
     * backend, the target, the options.  NULL, as member or result: code is not
     * cached.
     */
    const char *(*identity)(glow_context *ctx, glow_arena *a,
                            const glow_target_options *t);
    /*
     * The packed constants of the code, whose size `sizes` tells, and the digest of
     * their contents and layout.
     */
    const void *(*constants)(const glow_executable *x, char layout[65]);
    /*
     * Measures ways to do the instructions of `f`, which `load` takes, on numbers
     * that it draws, on this machine.  NULL: there is one way.
     */
    bool (*tune)(glow_func *f, const glow_target_options *t,
                 const glow_tune_options *how);
};

GLOW_API bool glow_register_backend(glow_context *ctx, const glow_backend *b);
GLOW_API const glow_backend *glow_find_backend(const glow_context *ctx,
                                               const char *name);
GLOW_API const glow_backend *const *glow_all_backends(const glow_context *ctx,
                                                      size_t *count);

GLOW_END

#endif
