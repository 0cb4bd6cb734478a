/* Families of operators, by their traits. */

#include "glow/family.h"

const char *
glow_op_family(const glow_op *op)
{
    static const struct {
        int traits;
        const char *name;
    } families[] = {
        {GLOW_UNKNOWN, "odd"},     {GLOW_STRUCTURAL, "io"},
        {GLOW_REDUCTION, "sum"},   {GLOW_LAYOUT, "move"},
        {GLOW_ELEMENTWISE, "map"},
    };

    if (glow_op_calls(op))
        return "call";
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (op->traits & families[i].traits)
            return families[i].name;
    return "else";
}
