/*
 * Modules, functions and nodes: both levels.
 *
 * A module holds storage (placeholders and constants, `@name`) and functions.
 * A function is a graph or a program.
 *
 * In a graph, a node's operands are values and its results are new values.
 * The order of the nodes means nothing until the function is `scheduled`; then
 * every operand stands before its user.
 *
 * In a program, nodes are instructions in order.  `weight`, `alloc` and
 * `tensorview` define a value (a buffer: out[0]->def is the node itself); the
 * results of every other instruction are buffers that it writes, defined by
 * others (out[0]->def is the alloc).  An instruction whose in[j] and out[i] are
 * the same buffer, where (i, j) is an in-place pair of the operator, works in
 * place and is printed with @inout.
 *
 * Everything here may be read freely.  Changes go through the functions below,
 * which keep use lists, names and order.
 */

#ifndef GLOW_GRAPH_H
#define GLOW_GRAPH_H

#include "glow/op.h"
#include "glow/place.h"

GLOW_BEGIN

typedef struct glow_module glow_module;
typedef struct glow_func glow_func;
typedef struct glow_value glow_value;
typedef struct glow_use glow_use;
typedef struct glow_storage glow_storage;
typedef struct glow_region glow_region;
typedef struct glow_loc glow_loc;
typedef struct glow_weights glow_weights;

struct glow_value {
    const glow_type *type;
    glow_node *def;        /* NULL: the storage itself */
    glow_storage *storage; /* of storage and of weight instructions */
    glow_use *uses;        /* in no order that means anything */
    int index;             /* which result of def */
};

/* One operand (or written buffer, predicate, scratch) of one node. */
struct glow_use {
    glow_value *value;
    glow_node *user;
    glow_use *next;
    glow_use **link;
    int index;   /* into user->in, or user->out if `writes`; -1: predicate, or
                    scratch if `writes` */
    bool writes; /* a program's instruction writes it as result `index` */
};

/* Place of a buffer: ` at $region + offset size size fixed`. */
typedef struct glow_place {
    const glow_region *region;
    int64_t offset; /* bytes */
    int64_t size;   /* bytes */
    bool is_fixed;  /* alloc leaves it there, and passes leave the buffer */
} glow_place;

struct glow_node {
    /* The members that traversals read, within one cache line of 64 bytes. */
    const glow_op *op;
    glow_node *prev, *next; /* within the function */
    glow_value **in; /* operands in order, the variadic group spread out; NULL
                        where an optional one is omitted */
    glow_value **out;
    int n_in;
    int n_out;
    uint32_t id;      /* counts up within the function: a map key */
    uint32_t mark;    /* state in the worklist of glow_rewrite; private */
    glow_value *pred; /* predicate or NULL */
    /* The rest. */
    glow_func *func;
    const char *name;  /* unique in its function */
    const void *attrs; /* the struct that op->attrs describes; NULL if none */
    glow_attr_list unknown_attrs; /* of GLOW_UNKNOWN operators instead */
    glow_value *scratch; /* of an instruction: the buffer that its kernel works
                            in, or NULL */
    const glow_loc *loc; /* provenance or NULL */
    glow_span span;      /* where the text has it; may have no source */
    const glow_place *place; /* of placed alloc and weight instructions */
    glow_use *uses;          /* its own use records; private */
    const char *queue; /* of an instruction: the engine that runs it; NULL: the
                          host, which issues all instructions in order */
};

typedef enum glow_payload {
    GLOW_NO_PAYLOAD, /* placeholder */
    GLOW_DATA,       /* bytes at hand */
    GLOW_SPLAT,      /* one value for all elements */
    GLOW_EXTERNAL,   /* in a weights file, by key */
    GLOW_ELIDED,     /* only a hash is known */
} glow_payload;

struct glow_storage {
    glow_value value; /* first; value.storage is this */
    glow_module *module;
    const char *name;     /* unique among the storage of its module */
    bool is_constant;     /* else placeholder */
    glow_attr_list attrs; /* of a placeholder: {Layout: "NHWC"} */
    glow_payload payload;
    glow_tensor tensor; /* GLOW_DATA and loaded EXTERNAL: see
                             glow_constant_tensor */
    double splat;       /* GLOW_SPLAT, as glow_set_double takes it */
    int64_t splat_int;  /* the same for integer kinds, exact */
    glow_weights *file; /* GLOW_EXTERNAL */
    const char *key;    /* EXTERNAL: in the file; ELIDED: the hash */
    const glow_loc *loc;
    glow_span span;
    glow_storage *prev, *next; /* within the module */
};

/* `weights "lenet" = safetensors("lenet.safetensors", sha256: "9f2c51d0")` */
struct glow_weights {
    const char *alias;
    const char *format; /* "safetensors", "npz", "raw" */
    const char *path;   /* as written */
    const char *base;   /* the folder it is relative to; not printed */
    const char *given;  /* -weights ALIAS=PATH, trusted; NULL; not printed */
    const char *sha256; /* or a prefix of it; NULL */
    void *reader;       /* opened lazily; private */
    glow_span span;
    glow_weights *next;
};

/* `$act = region {Space: "sram", Align: 64, Size: 1024, Capacity: 65536}` */
struct glow_region {
    const char *name;
    const char *space;
    int64_t align;
    int64_t size;     /* bytes used */
    int64_t capacity; /* 0: no limit */
    int64_t bank;     /* as in glow_place_space, like the next two */
    const glow_place_range *forbidden; /* in order, apart from one another */
    size_t n_forbidden;
    glow_region *next;
};

struct glow_func {
    glow_module *module;
    const char *name; /* unique among the functions of its module */
    bool is_program;
    bool scheduled; /* graphs: the order is the schedule */
    bool placed;    /* programs: every buffer has a place; if false, only fixed
                       ones may have */
    glow_attr_list attrs;
    glow_node *first, *last; /* programs: weights first, then the code */
    int count;               /* nodes */
    glow_region *regions;    /* of placed programs, in order */
    glow_span span;
    glow_func *prev, *next;
    uint32_t next_id;    /* past the ids of all nodes */
    glow_map *names;     /* node by name; private */
    glow_map *counters;  /* last number given to a base name; private */
    unsigned char *room; /* for nodes to come; private */
    int n_room;          /* how many; private */
    uint32_t tidy_id;    /* nodes from here on stand in no order; private */
    uint64_t ops[4];     /* a bit for each operator there may be; private */
};

struct glow_module {
    glow_context *ctx;
    glow_arena *arena;
    glow_storage *storage, *last_storage;
    glow_func *funcs, *last_func;
    glow_weights *weights;
    glow_map *storage_names; /* private, like the next five */
    glow_map *func_names;
    glow_map *counters;
    glow_map *unknown_ops;
    struct glow_ranges *ranges; /* NULL: no value has one; see profile.h */
    struct glow_namespace *namespaces;
};

/* `"acme" 3` in the header: a plugin that the text names, and its version. */
typedef struct glow_namespace glow_namespace;
struct glow_namespace {
    const char *name;
    int64_t version;
    glow_namespace *next;
};

/* `for` over lists; the node at hand may be erased in the body. */
#define GLOW_FOR_EACH_NODE(n, f)                                       \
    for (glow_node *n = (f)->first, *n##_next = n ? n->next : NULL; n; \
         n = n##_next, n##_next = n ? n->next : NULL)
#define GLOW_FOR_EACH_FUNC(f, m) for (glow_func *f = (m)->funcs; f; f = f->next)
#define GLOW_FOR_EACH_STORAGE(s, m)                                         \
    for (glow_storage *s = (m)->storage, *s##_next = s ? s->next : NULL; s; \
         s = s##_next, s##_next = s ? s->next : NULL)
#define GLOW_FOR_EACH_USE(u, v) for (glow_use *u = (v)->uses; u; u = u->next)

/* Modules and storage. */

GLOW_API glow_module *glow_module_new(glow_context *ctx);
GLOW_API void glow_module_free(glow_module *m);
/* A deep copy; constants share their bytes.  Spans and locations are kept. */
GLOW_API glow_module *glow_module_clone(const glow_module *m);

/*
 * Storage with the name `name`, or `name.1`, ... if it is taken.  The type must
 * have passed glow_type_check.
 */
GLOW_API glow_storage *glow_placeholder_new(glow_module *m, const char *name,
                                            const glow_type *type);
/* A constant with zeroed bytes (GLOW_DATA), to be filled by the caller. */
GLOW_API glow_storage *glow_constant_new(glow_module *m, const char *name,
                                         const glow_type *type);
GLOW_API glow_storage *glow_constant_splat(glow_module *m, const char *name,
                                           const glow_type *type, double v);
/* A constant over `owner`'s bytes; takes one more reference. */
GLOW_API glow_storage *glow_constant_wrap(glow_module *m, const char *name,
                                          const glow_type *type, void *data,
                                          glow_data *owner);
/*
 * The elements of a constant: fills a splat, loads an external one (checked
 * and mapped).  NULL after an error (missing file, wrong size, elided).
 * Owned by the constant; its form in the text stays as it was.
 */
GLOW_API const glow_tensor *glow_constant_tensor(glow_storage *s);
GLOW_API glow_storage *glow_find_storage(const glow_module *m,
                                         const char *name);
/* Removes unused storage. */
GLOW_API void glow_storage_erase(glow_storage *s);
/* Forgets weights files that no constant names; true if there was one. */
GLOW_API bool glow_drop_unused_weights(glow_module *m);

/* Functions. */

GLOW_API glow_func *glow_func_new(glow_module *m, const char *name);
GLOW_API glow_func *glow_program_new(glow_module *m, const char *name);
GLOW_API glow_func *glow_find_func(const glow_module *m, const char *name);
GLOW_API void glow_func_erase(glow_func *f);
/* A copy of `f` in its module, which has no function `name` yet. */
GLOW_API glow_func *glow_func_clone(const glow_func *f, const char *name);
/* Lets `with` (of another name) take the place and the name of `f`. */
GLOW_API void glow_func_replace(glow_func *f, glow_func *with);

/*
 * Bodies: functions that nodes call.  The attributes Inputs and Outputs of a
 * body list its formals, which are placeholders: it reads and writes no others,
 * and writes each of its Outputs.
 */

typedef enum glow_formals { GLOW_INPUTS, GLOW_OUTPUTS } glow_formals;

GLOW_API bool glow_is_body(const glow_func *f); /* has formals */
GLOW_API int glow_formal_count(const glow_func *f, glow_formals which);
/* NULL if the name is that of no placeholder. */
GLOW_API glow_storage *glow_formal(const glow_func *f, glow_formals which,
                                   int i);
/* Sets Inputs and Outputs; other attributes stay. */
GLOW_API void glow_func_set_formals(glow_func *f, glow_storage *const *in,
                                    int n_in, glow_storage *const *out,
                                    int n_out);
/* Removes Inputs and Outputs: the function is no body any more. */
GLOW_API void glow_func_clear_formals(glow_func *f);
/* The function that the k-th of the attributes that name one names, or NULL. */
GLOW_API glow_func *glow_called(const glow_node *n, int k);
/* Number of attributes of `n` that name functions. */
GLOW_API int glow_call_count(const glow_node *n);
/*
 * `f`, and then the functions that it calls, directly or not, each once: in the order of
 * a walk of the calls, in the arena `a`; *count is their number.
 */
GLOW_API glow_func **glow_callees(glow_arena *a, glow_func *f, int *count);
/*
 * The operand of call `n` that is Input `i` of `body`, and the Output of `body` that is
 * result `k` of `n`.  Below 0: an operand that the call makes itself.
 */
GLOW_API int glow_operand_of_input(const glow_node *n, const glow_func *body,
                                   int i);
GLOW_API int glow_output_of_result(const glow_node *n, const glow_func *body,
                                   int k);
/* True if `f` calls `g`, directly or not. */
GLOW_API bool glow_calls(const glow_func *f, const glow_func *g);
/* True for a formal of a body. */
GLOW_API bool glow_is_formal(const glow_storage *s);
/*
 * Puts copies of the nodes of `body` before `at`, with names and operands after
 * those of the call: `in` are its Inputs, and its Outputs are then `out`.  Both
 * functions are graphs, and `body` is scheduled if that of `at` is.
 */
GLOW_API void glow_inline(glow_node *at, const glow_func *body,
                          glow_value *const *in, glow_value **out);
/* The only function that is no body; NULL if there are none or several. */
GLOW_API glow_func *glow_module_entry(const glow_module *m);
/* Erases bodies that no node calls, except `keep`, and their formals; returns their number. */
GLOW_API int glow_drop_uncalled(glow_module *m, const glow_func *keep);

/* Nodes: finding. */

/* False if no node is one; true may be wrong.  Does not look at the nodes. */
GLOW_API bool glow_func_may_have(const glow_func *f, const glow_op *op);
GLOW_API glow_node *glow_find_node(const glow_func *f, const char *name);
/* The values at schema operand `k`: n->in[*first] and *count - 1 more. */
GLOW_API void glow_operand_range(const glow_node *n, int k, int *first,
                                 int *count);
/* The schema operand that n->in[i] belongs to. */
GLOW_API int glow_operand_of(const glow_node *n, int i);
/* True if result `out` of `n` may be computed in place of operand n->in[i]. */
GLOW_API bool glow_may_be_inplace(const glow_node *n, int out, int i);
/*
 * Iterates over the in-place pairs of a node, in the order of the definition; *at
 * begins as {0}.  False after the last pair.
 */
typedef struct glow_inplace_at {
    int out, in; /* n->out[out], n->in[in] */
    int pair, value;
} glow_inplace_at;
GLOW_API bool glow_next_inplace(const glow_node *n, glow_inplace_at *at);
/* True if operand n->in[i] and result `out` of an instruction are one buffer, or views of
   it at one place, of types that fit. */
GLOW_API bool glow_is_inplace(const glow_node *n, int out, int i);
GLOW_API bool glow_has_one_use(const glow_value *v);
GLOW_API bool glow_is_unused(const glow_value *v);
GLOW_API bool glow_is_constant(const glow_value *v); /* constant storage */
/* True for an alloc or weight with a fixed place. */
GLOW_API bool glow_is_fixed(const glow_node *n);
/* The memory space that an alloc or weight names; NULL: none. */
GLOW_API const char *glow_space_of(const glow_node *n);
/*
 * Adds a region to a program: memory in the space `space`, whose offsets are
 * multiples of `align`, a power of two, and which holds `capacity` bytes, 0: any
 * number.  NULL if the program has a region of that name.
 */
GLOW_API glow_region *glow_region_new(glow_func *f, const char *name,
                                      const char *space, int64_t align,
                                      int64_t capacity);
GLOW_API glow_region *glow_find_region(const glow_func *f, const char *name);
/* The constraints of placement in a region. */
GLOW_API glow_place_space glow_region_space(const glow_region *r);
/* True if `n` is its own result's definition: nodes; weight, alloc, view. */
GLOW_API bool glow_defines(const glow_node *n);
/* The alloc or weight under any number of tensorviews. */
GLOW_API glow_value *glow_base_buffer(glow_value *v);

/* Location of a value of a program, through tensorviews. */
typedef struct glow_extent {
    const glow_node *base;   /* the alloc or weight */
    const glow_type *layout; /* of the value */
    int64_t first;           /* its first element, from that of the base */
} glow_extent;

GLOW_API glow_extent glow_extent_of(const glow_value *v);
/*
 * True if the two extents may have a common element.  Exact for dense layouts and
 * for boxes of the same tensor; true where that is undecided.
 */
GLOW_API bool glow_extents_meet(glow_extent a, glow_extent b);

/* The attributes of `n` if it is a `op` (without glow_op_), else NULL. */
#define GLOW_AS(opname, n) \
    ((const glow_##opname *)glow_attrs_if((n), &glow_op_##opname))
GLOW_API const void *glow_attrs_if(const glow_node *n, const glow_op *op);
GLOW_API bool glow_is(const glow_node *n, const glow_op *op); /* NULL: no */
/* True if `n` computes on quantized elements: an operand or a result is quantized,
   and the operator does more than move elements. */
GLOW_API bool glow_computes_quantized(const glow_node *n);
/* True if the types of the results of `n` are stated where it is built again: its
   operator is GLOW_STATED, or a result is computed in quantized elements. */
GLOW_API bool glow_states_type(const glow_node *n);

/* Nodes: changing. */

GLOW_API void glow_set_operand(glow_node *n, int i, glow_value *v);
/* Programs: the buffer that `n` writes as result `i`. */
GLOW_API void glow_set_result(glow_node *n, int i, glow_value *v);
GLOW_API void glow_set_pred(glow_node *n, glow_value *v);
/* Programs: the buffer that the kernel of `n` works in. */
GLOW_API void glow_set_scratch(glow_node *n, glow_value *v);
/* Programs: the queue of an instruction, by name; NULL: the host. */
GLOW_API void glow_set_queue(glow_node *n, const char *queue);
/* True if `n` defines a token. */
GLOW_API bool glow_is_token(const glow_node *n);
/* True if an instruction of the program has a queue. */
GLOW_API bool glow_has_queues(const glow_func *f);
/* Every user of `v` uses `with` instead; both have the same type. */
GLOW_API void glow_replace_uses(glow_value *v, glow_value *with);
/* Removes a node without uses. */
GLOW_API void glow_node_erase(glow_node *n);
GLOW_API void glow_node_move_before(glow_node *n, glow_node *where);
GLOW_API void glow_node_move_after(glow_node *n, glow_node *where);
/* Renames; `name.1` and so on if it is taken. */
GLOW_API void glow_node_rename(glow_node *n, const char *name);
GLOW_API void glow_node_set_attrs(glow_node *n, const void *attrs);
GLOW_API void glow_node_set_place(glow_node *n, glow_place place);
/*
 * Lays a graph out in order in memory again, if most of it was made since that
 * was last done.  Nodes and values are elsewhere then; names and ids stay.  The
 * manager does it between passes.
 */
GLOW_API void glow_func_tidy(glow_func *f);
/* Bytes of a node: whole cache lines. */
#define GLOW_NODE_ROOM ((sizeof(glow_node) + 63) / 64 * 64)
/* Removes the places of a program except fixed ones. */
GLOW_API void glow_func_unplace(glow_func *f);

/*
 * The lowest layer of making nodes: no inference, no checks.  For the parser,
 * irgen and the builder.  `attrs` is copied.  Types of new results are given
 * (graphs, and instructions that define a buffer: glow_node_new); other
 * instructions name the buffers that they write (glow_instr_new).
 * Appended to the function.  A NULL name takes the operator's.
 */
GLOW_API glow_node *glow_node_new(glow_func *f, const glow_op *op,
                                  const char *name, glow_value *const *in,
                                  int n_in, const glow_type *const *types,
                                  int n_out, const void *attrs);
GLOW_API glow_node *glow_instr_new(glow_func *f, const glow_op *op,
                                   const char *name, glow_value *const *out,
                                   int n_out, glow_value *const *in, int n_in,
                                   const void *attrs);

/*
 * A name made of `base`, a dot and `suffix` (or just `base` if NULL), made
 * unique in `f` by a number.  In the arena of the module.
 */
GLOW_API const char *glow_derived_name(glow_func *f, const char *base,
                                       const char *suffix);

/*
 * An operator that nobody registered, as its first occurrence shows it; one
 * for each name and signature.  Traits: GLOW_UNKNOWN.
 */
GLOW_API const glow_op *glow_unknown_op(glow_module *m, const char *name,
                                        const glow_operand *in, int n_in,
                                        const glow_operand *out, int n_out);

/* Provenance: see gir.md, locations. */

typedef enum glow_loc_kind {
    GLOW_LOC_FILE,    /* file("f", line, column) */
    GLOW_LOC_ONNX,    /* onnx("f", "node") */
    GLOW_LOC_CAFFE2,  /* caffe2("f", "node") */
    GLOW_LOC_NAME,    /* name("...") */
    GLOW_LOC_FUSED,   /* fused("pass", loc, ...) */
    GLOW_LOC_DERIVED, /* derived("pass", loc) */
} glow_loc_kind;

struct glow_loc {
    glow_loc_kind kind;
    const char *text;             /* file, name or pass */
    const char *node;             /* ONNX, CAFFE2 */
    int line, column;             /* FILE */
    const glow_loc *const *parts; /* FUSED, DERIVED */
    int n_parts;
};

GLOW_API const glow_loc *glow_loc_model(glow_module *m, glow_loc_kind kind,
                                        const char *file, const char *node);
/* NULL parts are left out; none left: NULL; duplicates are left out. */
GLOW_API const glow_loc *glow_loc_fused(glow_module *m, const char *pass,
                                        const glow_loc *const *parts, int n);
GLOW_API const glow_loc *glow_loc_derived(glow_module *m, const char *pass,
                                          const glow_loc *from);

/* Checking. */

/*
 * Verifies a node, a function or all of a module: operand counts, inference
 * against stated types, order, names, uses; for programs: qualifiers, writes
 * before reads, lifetimes, views, overlaps, alignment, capacity.  Reports every
 * independent error; false if there was one.
 */
GLOW_API bool glow_verify_node(const glow_node *n);
GLOW_API bool glow_verify_func(glow_func *f);
GLOW_API bool glow_verify(glow_module *m);

/* Runs op->infer with the stated types as `out` holds them. */
GLOW_API bool glow_infer(const glow_node *n, glow_type out[]);

/* The structural operators. */

extern GLOW_API const glow_op glow_op_save;
extern GLOW_API const glow_op glow_op_weight;
extern GLOW_API const glow_op glow_op_alloc;
extern GLOW_API const glow_op glow_op_dealloc;
extern GLOW_API const glow_op glow_op_tensorview;

/*
 * Order between queues: a token is signalled once, when all instructions before
 * the signal in its queue are done, and what stands behind a wait in its queue runs
 * after that.
 *
 *     %t = alloc token<>
 *     %s = signal @out %t queue("load")
 *     %w = wait @in %t queue("compute")
 */
extern GLOW_API const glow_op glow_op_signal;
extern GLOW_API const glow_op glow_op_wait;

/* The attributes of alloc and weight: the memory space that alloc places it in. */
typedef struct glow_in_space {
    const char *space; /* "": any that its class may be in */
} glow_in_space;

/* The attributes of tensorview: where in its base, per axis. */
typedef struct glow_tensorview {
    glow_dims offsets;
} glow_tensorview;

GLOW_END

#endif
