/* The layout of packed weights. */

#ifndef VTA_PACK_H
#define VTA_PACK_H

#include "isa.h"

/* `together` groups of the operator make a group here. */
typedef struct vta_packing {
    int64_t together, groups;
    int64_t channels, results; /* of a group here, multiples of 16 */
    int64_t group_channels, group_results; /* of one of the operator's */
} vta_packing;

vta_packing vta_packing_of(int64_t groups, int64_t channels, int64_t results);
/* Of the weight of `tap` and `channel` of the operator's group, for `result`. */
int64_t vta_packed_index(const vta_packing *p, int64_t taps, int64_t result,
                         int64_t tap, int64_t channel);

#endif
