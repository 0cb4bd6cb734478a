/* The table of observed ranges, for the functions that change names. */

#ifndef GLOW_IR_PROFILE_H
#define GLOW_IR_PROFILE_H

#include "glow/profile.h"

/*
 * Moves the ranges of the node that was called `before` to its name of now, unless
 * that name has some already.
 */
void glow_ranges_rename(const glow_node *n, const char *before);

#endif
