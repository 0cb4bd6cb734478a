/* Places of values in memory: strides, ranges of bytes, uses. */

#ifndef CODEGEN_CPU_LAYOUT_H
#define CODEGEN_CPU_LAYOUT_H

#include "codegen/cpu/plan.h"

/* The strides of a type, dense or not. */
glow_dims glow_cpu_strides(const glow_type *t);

/*
 * Steps over `shape` turned into steps over [rows, columns], its last axis
 * being the columns; false if the other axes are not run through by one step.
 */
bool glow_cpu_as_rows(glow_dims shape, const glow_dims *step, glow_dims *out);

/*
 * The steps from row to row and from column to column of a tensor that is seen
 * as a matrix with its last axis as columns; false if rows lie at several steps.
 * An axis of one element has step 0.
 */
bool glow_cpu_rows(const glow_type *t, glow_dims *step);

/* `n` bytes, up to where the next buffer may begin. */
int64_t glow_cpu_aligned(int64_t n);

/* `count` times `bytes`, or INT64_MAX: a scratch_size. */
int64_t glow_cpu_room(int64_t count, int64_t bytes);

bool glow_cpu_same_range(cpu_range a, cpu_range b);
bool glow_cpu_overlap(cpu_range a, cpu_range b);

/* Is there anything to compute? */
bool glow_cpu_has_elements(const glow_node *n);

/* The number of the last instruction that uses buffer `v`, or -1. */
int glow_cpu_last_use(const glow_value *v);

/*
 * The constant that `v` is, of a program or a graph, whole and in its own order,
 * or NULL.
 */
glow_storage *glow_cpu_whole_constant(const glow_value *v);

/* Is `v` a constant of the program, all of it and in its own order? */
bool glow_cpu_is_whole_constant(const glow_value *v);

/* Where placeholder `s` lies, of those that the plan touches, or NULL. */
const cpu_binding *glow_cpu_binding(const cpu_plan *p, const glow_storage *s);

/* Where the placeholders and then the activations of a body lie. */
int64_t glow_cpu_body_activations(const cpu_plan *body);

#endif
