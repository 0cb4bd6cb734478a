/*
 * Variables of a module: state that graphs and the bodies that they call read and write.
 *
 * A body accesses its formals alone, so a variable of a body is one more of its Inputs
 * and of its Outputs, which each call passes on; of a Loop it is carried.  In the
 * functions that nobody calls it is a placeholder.
 *
 *     placeholder @n                      function @f {Inputs: [@n.in, @x], Outputs: [@n.out, @y]}
 *     %r = Loop(@3, _, [@n, @x])            %m = ...(@n.in)
 *     Save(%r#0, @n)                        Save(%m, @n.out)
 */

#ifndef PASSES_GRAPH_COMMON_VARIABLES_H
#define PASSES_GRAPH_COMMON_VARIABLES_H

#include "glow/build.h"

typedef struct variables variables;

/* For the functions of `m`; `pass` is written into locations. */
variables *glow_variables_new(glow_arena *a, glow_module *m, const char *pass);
/*
 * True if `f` may have variables: a graph that is no body, or a body that If, Loop and
 * Run without a predicate call, and nothing else does.
 */
bool glow_variables_may(const variables *l, const glow_func *f);
/* Declares a variable that `f` updates; returns its number. */
int glow_variables_add(variables *l, glow_func *f, const char *name,
                       const glow_type *type);
/* Gives functions the placeholders and formals of all variables. */
void glow_variables_open(variables *l);
/* The variable as `f`, which updates it, finds it. */
glow_value *glow_variables_read(const variables *l, const glow_func *f, int v);
/* The storage that `f` saves the variable to. */
glow_value *glow_variables_written(const variables *l, const glow_func *f,
                                   int v);
/* Lets calls pass the variables on.  False after a report. */
bool glow_variables_close(variables *l);

#endif
