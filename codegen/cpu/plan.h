/*
 * The plan of a placed program: a list of steps, each a call of one kernel.
 *
 * A step is an instruction with a kernel of its own, its root; or a fused
 * element-wise chain, the stack; or a root with a stack as its epilogue.  The
 * instructions of a stack share one loop: each element of the result passes
 * through all of them in a register.  Fusion is legal because the places of all
 * buffers are known: two instructions share a loop only if each range that one
 * of them writes is, for the other, accessed by the same elements in the same
 * order, or not at all.
 */

#ifndef CODEGEN_CPU_PLAN_H
#define CODEGEN_CPU_PLAN_H

#include "codegen/cpu/pool.h"
#include "codegen/cpu/target.h"
#include "glow/lifetime.h"

#define CPU_ALIGN 64 /* bytes: of buffers and regions */

struct cpu_kernel;

/* The arguments of the entry function. */
typedef enum cpu_base {
    CPU_CONSTANTS,
    CPU_PLACEHOLDERS,
    CPU_ACTIVATIONS,
    CPU_BASES
} cpu_base;

/* A range of bytes in one base. */
typedef struct cpu_range {
    cpu_base base;
    int64_t offset; /* bytes */
    int64_t size;
} cpu_range;

/* A range that a step accesses: a parameter of its function. */
typedef struct cpu_slot {
    cpu_range range;
    glow_kind kind; /* of the elements */
    bool read, written;
    bool dead;   /* a stack's stores to it have no later reader */
    bool linear; /* all accesses are affine with this `at` and `step` */
    int64_t at;
    glow_dims step; /* over the stack's shape, before axes are joined */
    bool shared;    /* overlaps another slot of the step */
    /* The buffer whose value the step keeps in registers, never stored; or
       NULL. */
    const glow_value *held;
} cpu_slot;

/* The access function of an item: element `at` + index * `step`. */
typedef struct cpu_access {
    int slot;
    int64_t at;
    glow_dims step; /* over the stack's shape */
} cpu_access;

typedef struct cpu_item {
    const glow_node *n;
    cpu_access in[3];
    int n_in;
    cpu_access out;
} cpu_item;

typedef struct cpu_step {
    const glow_node *root;           /* or NULL */
    const struct cpu_kernel *kernel; /* of the root */
    const cpu_target *target;        /* with the root's choice, if any */
    int *in;                  /* of the root: slot, or -1 where omitted */
    int *out;                 /* of the root: slots */
    struct cpu_plan **bodies; /* of the root's callees, or NULL */
    cpu_slot *slots;
    int n_slots;
    size_t cap_slots;
    glow_dims shape; /* of the stack; with a root [rows, columns] */
    cpu_item *items;
    int n_items;
    size_t cap_items;
    int64_t packed;       /* offset in the constants, or -1 */
    int64_t scratch;      /* bytes, or 0 */
    int own_scratch;      /* slot of its scratch buffer, or -1: shared */
    int64_t units;        /* iteration space; see cpu_kernel */
    int parts;            /* chunks of the iteration space; 1: not split */
    int team;             /* chunks of each fork inside its kernel, or 0 */
    int64_t part_scratch; /* bytes of `scratch` for each part; 0: not split */
    int first, last;      /* numbers of the first and last instruction */
} cpu_step;

/*
 * A constant in the constants region, as in the module or packed for a kernel.
 */
typedef struct cpu_constant {
    glow_storage *storage;
    int64_t offset;
    int64_t size;
    const struct cpu_kernel *kernel; /* that packs it, or NULL */
    const cpu_target *target;        /* for which it is packed */
    const glow_node *user;           /* whose operand is packed */
    bool fills; /* the first at its offset, which is written */
} cpu_constant;

typedef struct cpu_binding {
    const glow_storage *storage;
    cpu_base base; /* placeholders, or activations if alloc placed it there */
    int64_t offset, size;
    bool read; /* its content at entry, at least in part */
    bool written;
} cpu_binding;

/* Constants of all regions with the same name and space, in all functions. */
typedef struct cpu_memory {
    const glow_region *region;
    int64_t offset; /* of byte 0 of the region, in the constants */
} cpu_memory;

/*
 * A range of a base with a pointer of its own: a region in bundles, a placeholder in this
 * process.
 */
typedef struct cpu_space {
    const char *name; /* of the pointer, or of the placeholder */
    cpu_base base;
    int64_t begin, size; /* in the base */
} cpu_space;

typedef struct cpu_plan {
    glow_func *func;
    /*
     * The plan of the entry function; the plan itself if it is that.  Plans of
     * bodies have their constants in the root's region, and their placeholders
     * and activations in the scratch of the steps that call them.
     */
    struct cpu_plan *root;
    struct cpu_plan **bodies; /* of a root: callees before callers */
    int n_bodies;
    size_t cap_bodies;
    /*
     * Of a root: plans of more entry functions, whose constants are in the root's region,
     * while placeholders and activations are those of each.
     */
    struct cpu_plan **entries;
    int n_entries;
    bool is_entry;      /* no body */
    const char *symbol; /* of an entry function, where it is emitted to files */
    int first_code;     /* instruction i of `func` fails with this + i + 1 */
    int n_codes;        /* of a root */
    /*
     * Of a root: kernels of instructions that have several by the elements of constants, in
     * order, NULL for none; and the rest of the names of such a list, which was made
     * where the elements were known, or NULL.
     */
    const struct cpu_kernel **by_elements;
    int n_by_elements;
    size_t cap_by_elements;
    const char *known_kernels;
    LLVMValueRef fn; /* function of a body, once it is built */
    const cpu_target *target;
    glow_arena *arena;
    cpu_step *steps;
    int n_steps;
    size_t cap_steps;
    int64_t size[CPU_BASES];
    int64_t scratch; /* offset of the shared scratch in the activations */
    cpu_constant *constants;
    int n_constants;
    size_t cap_constants;
    cpu_binding *bindings;
    int n_bindings;
    size_t cap_bindings;
    glow_numbering numbers; /* of the instructions */
    const glow_life *lives; /* by number */
    cpu_memory *memories;   /* of a root */
    int n_memories;
    size_t cap_memories;
    /* By region of `func`: base and offset of its placeholders and
       activations, and the offset of its constants. */
    struct {
        const glow_region *region;
        cpu_base base;
        bool changes, keeps;
        int64_t offset;
        int64_t constants;
    } *regions;
    int n_regions;
    cpu_space *spaces; /* of an entry function */
    int n_spaces;
    /*
     * The pointers of the spaces are elements of a table, the last parameter; the bases
     * keep the ranges of the spaces.
     */
    bool has_table;
    int state_space; /* number of the space of state, or -1 */
    /*
     * Offset in that space of a number that is not 0 while a call changes the state; -1:
     * there is none.
     */
    int64_t busy;
} cpu_plan;

#endif
