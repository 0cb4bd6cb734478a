/* Values that a profile can have. */

#include "passes/graph/common/profiled.h"

#include "glow/ops.h"

bool
glow_profiles_results(const glow_node *n)
{
    return !(n->op->traits & (GLOW_STRUCTURAL | GLOW_UNKNOWN)) && !n->pred &&
           n->op != &glow_op_quantizationprofile;
}

bool
glow_profiles_storage(const glow_func *f, const glow_storage *s)
{
    GLOW_FOR_EACH_USE(u, &s->value)
        if (u->user->func == f && u->index >= 0 && !u->writes &&
            !(glow_is(u->user, &glow_op_quantizationprofile) && u->index) &&
            u->user->op->in[glow_operand_of(u->user, u->index)].kind !=
                GLOW_WRITTEN)
            return true;
    return false;
}
