/*
 * Numbering of the nodes and values of one graph: the index of the tables of
 * scheduling and irgen.
 */

#ifndef IRGEN_VALUES_H
#define IRGEN_VALUES_H

#include "glow/number.h"
#include "glow/ops.h"

#define GLOW_NO_VALUE UINT32_MAX

typedef struct glow_values {
    glow_node **nodes;      /* in the order of the function */
    glow_numbering numbers; /* the index of a node in `nodes` */
    uint32_t n_nodes;
    uint32_t *first; /* by node: the number of its result 0 */
    uint32_t n_values;
    uint32_t *def;  /* by value: the node that defines it */
    int64_t *bytes; /* by value: bytes of its buffer; 0 for a view */
    uint32_t *base; /* by value: the value whose buffer it is in; GLOW_NO_VALUE
                       for storage */
    glow_map *writers;
} glow_values;

/* Numbers `f`.  Lives in `a`. */
glow_values *glow_values_new(glow_arena *a, glow_func *f);

/* The number of a node of the graph. */
uint32_t glow_node_number(const glow_values *v, const glow_node *n);

/* The number of a value that a node of the graph defines. */
uint32_t glow_value_number(const glow_values *v, const glow_value *value);

/* The value with this number. */
const glow_value *glow_value_numbered(const glow_values *v, uint32_t number);

/* The first node that writes this storage (Save), or NULL. */
glow_node *glow_values_writer(const glow_values *v, const glow_value *storage);

/* The storage of a value, through views, or NULL. */
glow_storage *glow_storage_under(const glow_value *v);

/* True if `n` writes its operand i, rather than reading it. */
bool glow_is_written(const glow_node *n, int i);

/* True for a node whose result is its operand's bytes under another type. */
bool glow_is_view(const glow_node *n);

/* The number of the value whose buffer `value` is in, or GLOW_NO_VALUE. */
uint32_t glow_value_base(const glow_values *v, const glow_value *value);

#endif
