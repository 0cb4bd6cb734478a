/*
 * Ensembles of decision trees.  The nodes of all trees are one array, leaves last; a leaf
 * leads to itself.
 */

#ifndef GLOW_TRANSLATE_IMPORT_FOREST_H
#define GLOW_TRANSLATE_IMPORT_FOREST_H

#include "tools/glow-translate/import/ml/ml.h"

/* Comparisons of a node, and membership of a set, which is read as comparisons. */
enum { LEQ, LT, GTE, GT, EQ, NEQ, MODES, MEMBER = MODES, LEAF };

/* Aggregates of the weights of leaves. */
enum { AVERAGE, SUM, MIN, MAX };

typedef struct branch {
    int mode; /* LEAF: none of the rest */
    int64_t feature;
    double value;
    bool nan_is_true;
    int64_t yes, no; /* of nodes, by number */
} branch;

typedef struct vote {
    int64_t node, target;
    double weight;
} vote;

typedef struct forest {
    import_node *n;
    branch *nodes;
    int64_t count, leaves, levels;
    int64_t *roots, n_roots;
    vote *votes;
    int64_t n_votes, targets;
    bool *voted;    /* targets that have votes */
    glow_kind kind; /* of comparisons and weights */
} forest;

/* The list of integers `name`, one for each node; NULL after a report. */
const int64_t *forest_column(forest *f, const char *name);

/* Attributes that list nodes by tree and node id; and the votes of their leaves. */
bool forest_read_pairs(forest *f);
bool forest_read_votes(forest *f, const char *what, const char *ids);
/* Attributes that list branches and leaves by position, with votes. */
bool forest_read_positions(forest *f);

/* Sets the levels; fails at a cycle. */
bool forest_measure(forest *f);
/* Checks numbers and shape, sets the levels, and moves leaves to the end. */
bool forest_check(forest *f);

/*
 * The aggregate of all trees, [N, E].  Sets *present to 1 where a reached leaf has a
 * weight for a target, else 0; NULL if all leaves have all weights.
 */
glow_value *forest_aggregated(forest *f, int how, glow_value **present);

#endif
