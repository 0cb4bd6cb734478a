/* Users of values with a dynamic count: see bounded.c. */

#ifndef GLOW_TRANSLATE_IMPORT_FOLLOW_H
#define GLOW_TRANSLATE_IMPORT_FOLLOW_H

#include "tools/glow-translate/import/state.h"

/* Results of a rule that are no axis. */
enum {
    IMPORT_REFUSED = -1, /* the operator needs the real size */
    IMPORT_WHOLE = -2    /* all elements of the result are valid */
};

enum {
    IMPORT_SAME = 1 << 0,   /* several operands may be bounded by one count */
    IMPORT_MIXED = 1 << 1,  /* or by counts of their own */
    IMPORT_CLEARS = 1 << 2, /* zeros are to be written behind the count */
    IMPORT_SEVERAL =
        1 << 3 /* the first bounded operand may be so along several axes,
                             * which `follow` gives one by one */
};

/* Axes that are bounded, and by how many. */
typedef struct import_axes_bounded {
    int n;
    int axis[GLOW_MAX_RANK];
    glow_value *count[GLOW_MAX_RANK];
} import_axes_bounded;

typedef struct import_following import_following;

typedef struct import_rule {
    const char *name;  /* of the ONNX operator */
    uint32_t operands; /* bits of those that may be bounded */
    int flags;
    /* Replaces operands before the node is built; may be NULL. */
    bool (*prepare)(import_node *n, import_following *f);
    /* Builds the node in place of its row; may be NULL. */
    bool (*build)(import_node *n, import_following *f);
    /* The axis along which the results are bounded by f->count; or NULL. */
    int (*follow)(import_node *n, import_following *f);
} import_rule;

/* A node with operands that are bounded or hold sizes. */
struct import_following {
    const import_rule *rule;   /* NULL: neither */
    glow_value **in;           /* the operands before preparation */
    const import_bound *bound; /* of the first bounded operand; or NULL */
    int first;                 /* its number */
    glow_value *count;
    const import_extents
        *sizes; /* of the operand that gives a shape; or NULL */
    int size;   /* without `bound`: number of the dynamic size to follow */
};

/* Ended by one without a name. */
extern const import_rule import_layout_rules[];
extern const import_rule import_select_rules[];

/* NULL: no rule. */
const import_rule *import_find_rule(const char *name);

/* Rules of many operators: the same axis, and the same if all sizes are kept. */
int import_follow_same(import_node *n, import_following *f);
int import_follow_kept(import_node *n, import_following *f);

/* `v` with `other`, repeated, behind the valid elements. */
glow_value *import_with_behind(import_node *n, glow_value *v, int axis,
                               glow_value *count, glow_value *other);
/* Replaces operand i so, by a number; false if its kind does not hold this. */
bool import_fill(import_node *n, int i, double by);

/*
 * import_check_bounds, before a node is built: E0714 if it has a bounded operand
 * without a rule.  import_run_row builds it; import_follow_bounds, after: marks
 * the results.
 */
bool import_check_bounds(import_node *n, import_following *f);
bool import_run_row(import_node *n, import_following *f);
bool import_follow_bounds(import_node *n, import_following *f);

/* Records that the first `count` elements of `v` along `axis` are valid. */
void import_mark_bound(import_node *n, glow_value *v, int axis,
                       glow_value *count);
/* True if two counts are known to be equal. */
bool import_same_count(const glow_value *a, const glow_value *b);

/*
 * Sizes as data: see extent.c.  import_extents_of returns the elements of `v`, NULL
 * if none of them is a dynamic size.  import_take_sizes replaces an operand of
 * sizes that must be known by the greatest; import_follow_extents records what is
 * computed of sizes.
 */
const import_extents *import_extents_of(import_node *n, const glow_value *v);
const import_extents *import_find_extents(const importer *im,
                                          const glow_value *v);
void import_take_sizes(import_node *n, import_following *f);
void import_follow_extents(import_node *n, const import_following *f);
/*
 * The elements of integers `v` by what they can be at most, where all of them have such a
 * bound; NULL otherwise.
 */
const import_extents *import_measure(import_node *n, const glow_value *v);
/* The numbers that the elements of `v` can be: see interval.c. */
typedef struct import_interval {
    double lo, hi;
} import_interval;
import_interval import_interval_of(importer *im, const glow_value *v);

glow_value *import_bounded_along(import_node *n, glow_value *v,
                                 const import_axes_bounded *by, bool clears);
/* Slice whose starts or ends are data, and Resize whose sizes are: see slice_data.c. */
bool import_slices_by_data(import_node *n, const import_following *f);
bool import_bounded_slice(import_node *n, import_following *f);
bool import_bounded_resize(import_node *n, import_following *f);
/* Reshape that merges several bounded axes: see compact.c. */
bool import_bounded_reshape(import_node *n, import_following *f);
/* Shape and Size of a bounded operand. */
bool import_bounded_shape(import_node *n, import_following *f);
bool import_bounded_size(import_node *n, import_following *f);
/* Concat along the bounded axis, which moves valid elements together. */
bool import_bounded_concat(import_node *n, import_following *f);

#endif
