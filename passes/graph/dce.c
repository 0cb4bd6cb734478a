/*
 * dce: remove nodes, constants and bodies that no output depends on.
 *
 *     %y = Relu(%x)          nobody uses %y          =>   (nothing)
 *     constant @w            nobody uses @w          =>   (nothing)
 *     weights "net" = ...    no constant is in it    =>   (nothing)
 *     function @body         no node calls it        =>   (nothing)
 *
 * A pure node without uses of its results has no effect and is removed, and its
 * operands transitively.  Nodes with effects (Save, unknown operators) stay,
 * and so do placeholders, used or not: they are the interface of the module.  A
 * constant that state begins as stays with it.
 * The formals of a body are removed with it.
 *
 * Dead nodes come from models (branches that only training uses) and from every
 * pass that replaces uses.
 */

#include "glow/pass.h"

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    if (!glow_run_may_rewrite(pass))
        return GLOW_UNCHANGED;

    int nodes = glow_erase_unused(f);
    int functions = glow_drop_uncalled(f->module, f);
    int constants = glow_erase_unused_constants(f->module);
    bool files = glow_drop_unused_weights(f->module);

    glow_run_count(pass, "functions", functions);
    glow_run_count(pass, "nodes", nodes);
    glow_run_count(pass, "constants", constants);
    return nodes + constants + functions > 0 || files ? GLOW_CHANGED
                                                      : GLOW_UNCHANGED;
}

const glow_pass glow_pass_dce = {
    .name = "dce",
    .summary = "remove nodes, constants and bodies that no output depends on",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};
