/*
 * Which results of a graph lie in one buffer, and where.
 *
 * A class is a set of results that one buffer holds: an alloc, a placeholder
 * that is read or written, or a constant.  At first each result is a class of
 * its own, but for views, which lie where their operand does.  Classes are put
 * together; they are never taken apart.
 */

#ifndef IRGEN_SHARING_CLASSES_H
#define IRGEN_SHARING_CLASSES_H

#include "glow/layout.h"
#include "glow/pass.h"
#include "irgen/values.h"

/* Of more users than these nothing is asked: programs are not either. */
#define GLOW_MOST_USERS 1000

typedef struct glow_classes {
    glow_pass_run *run;
    glow_arena *arena;
    glow_func *f;
    const glow_values *v;
    bool *gone; /* by node: it only names bytes, and is no instruction */
    uint32_t *starts, *users; /* by value: the nodes that use it or its views,
                                 each once, in the order of the function */
    uint32_t *parent, *next;  /* by value: of its class, in which it is one */
    int64_t *first;           /* by value: where in its class, in elements */
    const glow_type **lies;   /* and in what layout */
    const glow_type **whole;  /* by class: dense */
    glow_storage **storage;   /* by class: the buffer, unless it is an alloc */
    uint32_t *latest;         /* by class: what defines it runs after all that
                                 touch the others; GLOW_NO_VALUE: none does */
} glow_classes;

/* Where a value of a graph lies. */
typedef struct glow_lying {
    uint32_t class; /* GLOW_NO_VALUE: in storage that no class stands for */
    glow_storage *storage; /* NULL: in an alloc */
    int64_t first;
    glow_type type;
} glow_lying;

glow_classes *glow_classes_new(glow_pass_run *run, glow_func *f,
                               const glow_values *v);

/* The class of a value by its number; that value's number stands for all. */
uint32_t glow_class_of(glow_classes *c, uint32_t value);

/* False if that cannot be said, as of a view of strides that do not fit. */
bool glow_classes_find(glow_classes *c, const glow_value *v, glow_lying *out);

/* Is it all of an alloc? */
bool glow_lying_is_all(const glow_classes *c, const glow_lying *s);

/*
 * Calls `fn` for each instruction that touches the class, some twice, until it
 * returns false; false if it did, or if there are more than GLOW_MOST_USERS.
 */
typedef bool (*glow_toucher_fn)(void *user, uint32_t node);
bool glow_class_each(const glow_classes *c, uint32_t class, glow_toucher_fn fn,
                     void *user);

/*
 * Could the class lie at `to`, which has as many elements?  The backend decides
 * who can work on elements that do not lie side by side; `but` is not asked.
 */
bool glow_class_can_lie(glow_classes *c, uint32_t class, const glow_lying *to,
                        const glow_node *but);

/* The same, but what only moves elements, and may go, is not asked. */
bool glow_class_could_lie(glow_classes *c, uint32_t class,
                          const glow_lying *to);

/*
 * Calls `fn` for those that no other is known to run after, as above.
 */
bool glow_class_each_late(const glow_classes *c, uint32_t class,
                          glow_toucher_fn fn, void *user);

/* Lays it there; can_lie, or `to` is dense. */
void glow_class_lie(glow_classes *c, uint32_t class, const glow_lying *to);

#endif
