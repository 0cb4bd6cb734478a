/*
 * Snapshots of functions and their diffs, for -print-changed=diff and -report.
 */

#ifndef GLOW_TOOLS_GLOW_OPT_SHOT_H
#define GLOW_TOOLS_GLOW_OPT_SHOT_H

#include "glow/graph.h"

typedef struct shot_func shot_func;
struct shot_func {
    glow_func func;   /* a copy without its nodes */
    glow_node *nodes; /* copies in order, whose operands are copies as well */
    int count;
    glow_map *by_name;
    shot_func *next;
};

typedef struct shot {
    shot_func *funcs;
    glow_storage *storage; /* copies */
    size_t n_storage;
    glow_map *by_name; /* of the storage */
} shot;

/*
 * Takes a snapshot of `only` (NULL: all functions) and the storage of `m`,
 * allocated in `a`.
 */
shot *shot_take(glow_arena *a, glow_module *m, const glow_func *only);

/* "Shuffle: [0, 2, 3, 1] -> [0, 3, 1, 2]" */
typedef struct change_detail change_detail;
struct change_detail {
    const char *what;
    const char *before, *after;
    change_detail *next;
};

typedef struct change {
    char sign;        /* '-' removed, '+' added, '~' changed, '>' moved */
    const char *func; /* NULL: of the module */
    const char *name; /* of the node, the old name if it has one; or NULL */
    const char *text; /* the line, as it is or was */
    change_detail *details;
    const char *note; /* "from %fc", "now in %conv", or NULL */
} change;

typedef struct changes {
    change *items;
    size_t count, cap;
    int gone, come, other, moved; /* how many of each sign */
} changes;

/* Appends to `list`; `after` NULL: no change of value. */
void change_note(glow_arena *a, change_detail **list, const char *what,
                 const char *before, const char *after);
/* The differences of `x` and `y`, nodes of snapshots; NULL: none. */
change_detail *shot_compare_nodes(glow_arena *a, const glow_node *x,
                                  const glow_node *y);
/* The changes from `old` to `now`, in the order of the current functions. */
changes shot_diff(glow_arena *a, const shot *old, const shot *now);

/* "2 removed, 1 added"; nothing if there are none. */
void put_change_counts(glow_buf *b, const changes *c);
void put_changes(glow_buf *b, const changes *c);

#endif
