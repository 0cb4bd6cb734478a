/* Strides of types, byte ranges of buffers, and last uses. */

#ifndef CODEGEN_CPU_LAYOUT_H
#define CODEGEN_CPU_LAYOUT_H

#include "codegen/cpu/plan.h"

/* The strides of a type in elements, whether it is dense or not. */
glow_dims glow_cpu_strides(const glow_type *t);

/*
 * Collapses the axes of `shape` but the last: from strides over `shape` to
 * strides over [rows, columns].  False if the axes before the last do not
 * collapse into one.
 */
bool glow_cpu_as_rows(glow_dims shape, const glow_dims *step, glow_dims *out);

/*
 * The strides of rows and of columns of a tensor as a matrix whose columns are
 * its last axis; false if its rows have no common stride.  An axis of one
 * element has stride 0.
 */
bool glow_cpu_rows(const glow_type *t, glow_dims *step);

/* `n` rounded up to a multiple of CPU_ALIGN bytes. */
int64_t glow_cpu_aligned(int64_t n);

/* `count` * `bytes`, INT64_MAX on overflow: the result of a scratch_size. */
int64_t glow_cpu_room(int64_t count, int64_t bytes);

bool glow_cpu_same_range(cpu_range a, cpu_range b);
bool glow_cpu_overlap(cpu_range a, cpu_range b);

/* True if some result of `n` has elements. */
bool glow_cpu_has_elements(const glow_node *n);

/*
 * The number of the last instruction that uses buffer `v`, or one of its views;
 * -1: none.
 */
int glow_cpu_last_use(const cpu_plan *p, const glow_value *v);

/*
 * The constant of a program or a graph that `v` is, if it is all of the
 * constant in row-major order; else NULL.
 */
glow_storage *glow_cpu_whole_constant(const glow_value *v);

/* True if `v` is all of a constant of the program, in row-major order. */
bool glow_cpu_is_whole_constant(const glow_value *v);

/* The binding of placeholder `s` if the plan accesses it, or NULL. */
const cpu_binding *glow_cpu_binding(const cpu_plan *p, const glow_storage *s);

/*
 * Offset of the activations of a body in its memory: behind its placeholders.
 */
int64_t glow_cpu_body_activations(const cpu_plan *body);

#endif
