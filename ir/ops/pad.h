/* What a frame around a tensor is made of. */

#ifndef IR_OPS_PAD_H
#define IR_OPS_PAD_H

#include <stdint.h>

/*
 * Where element `i` of an axis comes from that has `low` more, or fewer, than its
 * `dim` before them; -1: it is Value.  `mode` is that of glow_pad.
 */
int64_t glow_pad_source(int mode, int64_t i, int64_t low, int64_t dim);

#endif
