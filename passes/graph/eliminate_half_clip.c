/*
 * eliminate-half-clip: drop bounds that float16 has anyway.
 *
 *     Clip(x, -65504, 65504)     =>  x
 *     Clip(x, -1e6, 1e6)         =>  x
 *
 * convert-precision puts such bounds in front of float16.  A machine whose
 * conversions saturate does not need them; others give infinity where the bound
 * would have given 65504, which is why no pipeline has this pass.  Glow's
 * EliminateClipsOutsideFP16Range also removes one bound of a Clip whose other
 * bound is effective; here such a Clip stays, since it costs the same.
 */

#include "glow/ops.h"
#include "glow/rules.h"

static bool
is_outside(glow_match *m)
{
    return glow_match_number(m, 'a') <= -65504 &&
           glow_match_number(m, 'b') >= 65504;
}

static const glow_rule rules[] = {
    GLOW_RULE("(Clip{Min a, Max b} x)", "x", .when = is_outside,
              .where = "a <= -65504 and b >= 65504",
              .inexact = "numbers beyond float16 are not held",
              .example = "(Clip{Min -65504, Max 65504} x)"),
    {0},
};

const glow_pass glow_pass_eliminate_half_clip = {
    .name = "eliminate-half-clip",
    .summary = "drop bounds that float16 has anyway",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .rules = rules,
    .run = glow_run_rules,
    .doc = "No pipeline has it: numbers that large become infinite.",
};
