/*
 * What a placed program becomes: a row of steps, each a call of one kernel.
 *
 * A step is an instruction, the element-wise instructions that are stacked on
 * it, or both.  Stacked instructions share one loop: each element of the
 * result is taken through all of them while it is in a register.  That is right
 * because the places of all buffers are known: two instructions stand in one
 * loop only if what either writes is, for the other, the same elements in the
 * same order, or not touched at all.
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

/* A stretch of memory. */
typedef struct cpu_range {
    cpu_base base;
    int64_t offset; /* bytes */
    int64_t size;
} cpu_range;

/* A stretch that a step touches: a parameter of its function. */
typedef struct cpu_slot {
    cpu_range range;
    glow_kind kind; /* of the elements */
    bool read, written;
    bool dead;   /* what a stack writes there is read by nobody later */
    bool linear; /* all touch it alike: the element at `at` and `step` */
    int64_t at;
    glow_dims step; /* over the stack's shape, as it is planned */
    bool shared;    /* overlaps another slot of the step */
    /* The buffer of the slot, if the step has it in registers only. */
    const glow_value *held;
} cpu_slot;

/* Which elements a stacked instruction reads: `at` plus index times step. */
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
    const cpu_target *target;        /* with the choice of the root, if any */
    int *in;                  /* of the root: slot, or -1 where omitted */
    int *out;                 /* of the root: slots */
    struct cpu_plan **bodies; /* that the root calls, or NULL */
    cpu_slot *slots;
    int n_slots;
    size_t cap_slots;
    glow_dims shape; /* of the stack; with a root [rows, columns] */
    cpu_item *items;
    int n_items;
    size_t cap_items;
    int64_t packed;  /* offset in the constants, or -1 */
    int64_t scratch; /* bytes, or 0 */
    int own_scratch; /* slot of the instruction's scratch, or -1: behind all */
    int64_t units;   /* of the work; see cpu_kernel */
    int parts;       /* that they are split into, or 1 */
    int crew;        /* pieces that its kernel splits work into, or 0 */
    int64_t
        part_scratch; /* bytes of `scratch` for each part, or 0: not split */
    int first, last;  /* numbers of the first and last instruction */
} cpu_step;

/* A constant in its region, as it lies there or packed for a kernel. */
typedef struct cpu_constant {
    glow_storage *storage;
    int64_t offset;
    int64_t size;
    const struct cpu_kernel *kernel; /* that packs it, or NULL */
    const cpu_target *target;        /* that it is packed for */
    const glow_node *user;           /* whose operand is packed */
    bool fills;                      /* is the one that fills its place */
} cpu_constant;

typedef struct cpu_binding {
    const glow_storage *storage;
    cpu_base base; /* placeholders, or activations if it lies among those */
    int64_t offset, size;
    bool read; /* what it held before, at least in part */
    bool written;
} cpu_binding;

/* Regions of one name and space, in all functions: one memory of constants. */
typedef struct cpu_memory {
    const glow_region *region;
    int64_t offset; /* of its first byte, in the constants */
} cpu_memory;

typedef struct cpu_plan {
    glow_func *func;
    /*
     * The plan that this one is part of, itself if none.  Plans of bodies have
     * their constants in its region, and their other memory in what the steps
     * that call them work in.
     */
    struct cpu_plan *root;
    struct cpu_plan **bodies; /* of a root: all, callees before callers */
    int n_bodies;
    size_t cap_bodies;
    int first_code;  /* failing instruction i of `func` gives this + i + 1 */
    int n_codes;     /* of a root */
    LLVMValueRef fn; /* of a body, once it is built */
    const cpu_target *target;
    glow_arena *arena;
    cpu_step *steps;
    int n_steps;
    size_t cap_steps;
    int64_t size[CPU_BASES];
    int64_t
        scratch; /* offset in the activations, for steps without their own */
    cpu_constant *constants;
    int n_constants;
    size_t cap_constants;
    cpu_binding *bindings;
    int n_bindings;
    size_t cap_bindings;
    const glow_life *lives; /* by mark */
    cpu_memory *memories;   /* of a root */
    int n_memories;
    size_t cap_memories;
    /* Where what changes of each region lies, and what is constant. */
    struct {
        const glow_region *region;
        cpu_base base;
        bool changes, keeps;
        int64_t offset;
        int64_t constants;
    } * regions;
    int n_regions;
} cpu_plan;

#endif
