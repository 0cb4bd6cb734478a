/* Sources of the elements of a padded axis. */

#ifndef IR_OPS_PAD_H
#define IR_OPS_PAD_H

#include <stdint.h>

/*
 * The source of element `i` of an axis of `dim` elements padded with `low`
 * elements before them (cropped if negative); -1: Value.  `mode` as in
 * glow_pad.
 */
int64_t glow_pad_source(int mode, int64_t i, int64_t low, int64_t dim);

#endif
