/* The header of a bundle. */

#ifndef CODEGEN_CPU_RUN_HEADER_H
#define CODEGEN_CPU_RUN_HEADER_H

#include "codegen/cpu/plan.h"
#include "codegen/cpu/run/spaces.h"
#include "glow/cpu.h"

/*
 * `name` as an identifier of C and C++: other characters become `_`, and a
 * keyword or a leading digit gets a `_`.
 */
const char *glow_cpu_c_name(glow_arena *a, const char *name);
/* The same in upper case: the prefix of macros. */
const char *glow_cpu_macro_prefix(glow_arena *a, const char *name);

/* True for a placeholder that the caller keeps from call to call. */
bool glow_cpu_is_state(const cpu_binding *b);

/* The state of all entry functions. */
typedef struct cpu_state {
    struct {
        const cpu_binding *binding;
        const cpu_plan *plan; /* that has it */
        cpu_location location;
    } *at;
    int count;
    bool is_one;  /* all of it is in the space of state */
    int64_t size; /* of that space; else of all tensors */
} cpu_state;

cpu_state glow_cpu_list_state(const cpu_plan *root);

typedef struct cpu_header {
    const cpu_plan *plan;
    const char *name; /* of the bundle */
    int64_t stack;    /* bound of each function, bytes */
    glow_bundle_weights weights;
    const char *file; /* of the constants, if they are in one */
    bool has_state;   /* first contents of the state are there */
} cpu_header;

void glow_cpu_put_header(glow_buf *b, const cpu_header *h);

#endif
