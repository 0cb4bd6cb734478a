/* Observed ranges, for the functions that change names; the formats of profiles. */

#ifndef GLOW_IR_PROFILE_H
#define GLOW_IR_PROFILE_H

#include "glow/profile.h"

/*
 * Moves the ranges of the node that was called `before` to its name of now, unless
 * that name has some already.
 */
void glow_ranges_rename(const glow_node *n, const char *before);

/* The hint of E0520. */
#define GLOW_PROFILE_HINT \
    "write the profile anew (glow-run -dump-profile=FILE), or correct this place"

/* A profile of Glow, in YAML; NULL after E0520. */
glow_profile *glow_profile_read_yaml(glow_context *ctx, glow_arena *a,
                                     const glow_source *source);

#endif
