/*
 * Backends: code generation and execution of functions.
 */

#ifndef GLOW_BACKEND_H
#define GLOW_BACKEND_H

#include "glow/eval.h"
#include "glow/tuning.h"

GLOW_BEGIN

struct glow_target;
struct glow_remark;
struct glow_rewrite_row;
typedef struct glow_backend glow_backend;
typedef struct glow_executable glow_executable;

/* Does the backend take this node as it is? */
typedef enum glow_takes {
    GLOW_TAKES,
    GLOW_TAKES_LOWERED, /* leave it to -lower */
    GLOW_TAKES_NOT,     /* `why` says why */
} glow_takes;

/* Target and options of code generation; zero: this machine. */
typedef struct glow_target_options {
    const char *triple;   /* "x86_64-linux-gnu"; NULL: the host's */
    const char *cpu;      /* NULL: "native" */
    const char *features; /* "+avx2,-avx512f"; NULL: the CPU's */
    bool debug;           /* line tables that name the .gir file */
    int threads;          /* that work is split for, at most; 0: 1 */
    const void *options;  /* of the backend, as its table has them; NULL: its
                             defaults; see glow_backend_options */
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
    /* Subnormal operands and results are zeros.  False: as IEEE 754 has them. */
    bool flush_subnormals;
    const glow_tuning *tuning; /* measurements of an earlier tuning, or NULL */
    /*
     * The machine that these options name, from `machine` of the backend; NULL:
     * `scratch` and `cache` are those of the widest vectors, on every machine.
     */
    const void *machine;
    int64_t most_bytes; /* capacity for activations; 0: unlimited */
    /*
     * Round as the interpreter does: each product and each sum once, quotients as
     * quotients, no Winograd and no Strassen.  Passes that round in another way
     * are left out (glow_pipeline_make_exact).  Only the terms of one operator's
     * sum may be added in another order.
     */
    bool exact;
    /*
     * Only of `load`: nobody reads the constants of the module afterwards, so that
     * each large one may be given back once code has its elements in its own
     * order; it is GLOW_ELIDED then.
     */
    bool consumes;
    /*
     * Called by `load` and `emit` with each decision of the code generator that trades
     * accuracy or memory for time, or nearly did, and the reason; glow/pipeline.h has
     * the struct, whose `pass` is NULL.  NULL: none.
     */
    void (*remark)(void *user, const struct glow_remark *r);
    void *remark_user;
    /*
     * Only of `emit`: a safetensors file with first contents of placeholders that are
     * state, for a bundle; NULL: a bundle has none.
     */
    const char *state;
} glow_target_options;

/* A form of output: `-emit=NAME`. */
typedef struct glow_artifact {
    const char *name; /* "object", "llvm"; NULL ends a list */
    const char *summary;
} glow_artifact;

typedef struct glow_code_sizes {
    int64_t constants; /* bytes of each of the three regions */
    int64_t placeholders;
    int64_t activations;
    int64_t code;
} glow_code_sizes;

/*
 * Memory of the machine that the host cannot address: devices of the runtime
 * (glow/runtime.h) keep buffers in it, copy between it and the host, and run on them.
 * Calls may come from several threads at once, but not two for the same buffer or
 * executable.
 */
typedef struct glow_backend_memory {
    /* Memory of at most `bytes`; 0: no limit.  NULL after a report. */
    void *(*open)(glow_context *ctx, const glow_target_options *t,
                  int64_t bytes);
    void (*close)(void *memory); /* without buffers */
    /* The address of a buffer; 0: there is no room. */
    uint64_t (*allocate)(void *memory, int64_t bytes);
    void (*free)(void *memory, uint64_t at);
    void (*write)(void *memory, uint64_t to, const void *from, int64_t bytes);
    void (*read)(void *memory, void *to, uint64_t from, int64_t bytes);
    /* As `run` of the backend, on the buffers at[i]; tensors of bindings have no data. */
    bool (*run)(void *memory, glow_executable *x, const glow_binding *bindings,
                const uint64_t *at, int count);
} glow_backend_memory;

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
    /*
     * May work on the tensors in place.  False after a report: state (glow/state.h) may be
     * half changed then.
     */
    bool (*run)(glow_executable *x, const glow_binding *bindings, int count);
    /* As run, with the time of each node: trace as in glow_eval_options. */
    bool (*profile)(glow_executable *x, const glow_binding *bindings, int count,
                    const glow_eval_options *options);
    glow_code_sizes (*sizes)(const glow_executable *x);
    void (*unload)(glow_executable *x);
    /*
     * Writes the artifact of that name, one of `artifacts`, from `f`, and the other
     * functions of its module that no function calls, at `level`; `path` is that of -o.
     * NULL if the backend writes no files.
     */
    bool (*emit)(glow_func *f, const char *artifact,
                 const glow_target_options *t, const char *path);
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
     * The packed constants of the code, whose size `sizes` tells.  *layout becomes a line of
     * x: what `load` has to know for the same constants where it cannot read their
     * elements, such as choices that depend on these; it is equal for equal layouts.
     */
    const void *(*constants)(const glow_executable *x, const char **layout);
    /*
     * Measures ways to do the instructions of `f`, which `load` takes, on numbers
     * that it draws, on this machine.  NULL: there is one way.
     */
    bool (*tune)(glow_func *f, const glow_target_options *t,
                 const glow_tune_options *how);
    const glow_artifact *artifacts; /* of `emit`; the first is the default */
    /* Options of its own, all with defaults: `-backend='acme.npu<cores=2>'`. */
    glow_field options[GLOW_MAX_FIELDS];
    const void *defaults; /* a whole options struct */
    /*
     * Pipelines that -O0 to -O3 and -Os run before `lower`, on the operators of
     * the model, and after it and the simplification of its results; NULL: none.
     * The text may name passes and pipelines: "acme.fuse,fixpoint(simplify)".
     */
    const char *before_lower;
    const char *after_lower;
    /*
     * The machine that passes count for, and its memory spaces, unless
     * -target-file names another; `t` may be NULL.  Lives in `a` or for ever; NULL
     * after a report.  NULL as a member: glow_target_default.
     */
    const struct glow_target *(*target)(glow_context *ctx, glow_arena *a,
                                        const glow_target_options *t);
    /*
     * The memory space in which the kernel of instruction `n` needs the buffer of
     * n->in[i], or of n->out[i] if `writes`; NULL: any.  `alloc` places the buffer
     * there, or copies it.  NULL as a member: kernels reach all spaces.
     */
    const char *(*space)(const glow_node *n, int i, bool writes);
    /*
     * The patterns of form-units: for each operator, a function that gives the value
     * of the unit operators which take the place of a node (glow/pass.h); in order, up
     * to a NULL operator.  NULL: there are no units.
     */
    const struct glow_rewrite_row *units;
    /* NULL: `run` works in memory of the host alone. */
    const glow_backend_memory *memory;
    /*
     * Lets `x` read the packed constants of `from`, if they are the same bytes, and frees its
     * own.  False: they differ.  NULL: each has its own.
     */
    bool (*share)(glow_executable *x, const glow_executable *from);
};

GLOW_API glow_schema glow_backend_schema(const glow_backend *b);
/* The options of `b` in `t`, which may be NULL, or its defaults. */
GLOW_API const void *glow_backend_options(const glow_backend *b,
                                          const glow_target_options *t);
/* Its target or, if it has none or is NULL, glow_target_default. */
GLOW_API const struct glow_target *
glow_backend_target(const glow_backend *b, glow_context *ctx, glow_arena *a,
                    const glow_target_options *t);
/*
 * Reads a backend with options, `cpu<winograd=off>`, in the syntax of passes;
 * *options is in `a`.  NULL after a report (E0402, E0404, E0811).
 */
GLOW_API const glow_backend *glow_backend_parse(glow_context *ctx,
                                                glow_arena *a,
                                                const glow_source *source,
                                                const void **options);

GLOW_API bool glow_register_backend(glow_context *ctx, const glow_backend *b);
GLOW_API const glow_backend *glow_find_backend(const glow_context *ctx,
                                               const char *name);
GLOW_API const glow_backend *const *glow_all_backends(const glow_context *ctx,
                                                      size_t *count);

GLOW_END

#endif
