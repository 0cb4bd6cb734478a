/*
 * bind-placeholders: replace placeholders by constants of a weights file.
 *
 *     placeholder @w : float<4 x 3>
 *  =>
 *     weights "bound" = safetensors("w.safetensors")
 *     constant @w : float<4 x 3> = external("bound", "w")
 *
 * with the option file=w.safetensors, for each placeholder that no function
 * writes and for which the file has a tensor of the same name and type.
 * Another type is an error; a placeholder that is not in the file stays an
 * input.
 *
 * Trained models have their weights as placeholders, which are known at compile
 * time; so are masks and sizes of a deployment.  Afterwards fold-constants
 * evaluates nodes that depend on them alone.
 *
 * Glow's convertPlaceholdersToConstants takes them from the bindings of a
 * running program.  Importers do the same by -bind, where sizes depend on it.
 */

#include "glow/pass.h"
#include "glow/text.h"

typedef struct bind_options {
    const char *file;
    const char *alias;
} bind_options;

static glow_result
run(glow_pass_run *pass, glow_module *m)
{
    const bind_options *o = glow_run_options(pass);
    int bound;

    if (!*o->file || !glow_run_may_rewrite(pass))
        return GLOW_UNCHANGED;
    bound = glow_bind_placeholders(m, o->alias, o->file);
    if (bound < 0)
        return GLOW_FAILED;
    glow_run_count(pass, "bound", bound);
    return bound > 0 ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_bind_placeholders = {
    .name = "bind-placeholders",
    .summary = "replace placeholders by constants of a weights file",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "what was an input is a number now",
    .options = {GLOW_FIELD_DEFAULT(bind_options, file, GLOW_STRING,
                                   "safetensors; empty: nothing is bound"),
                GLOW_FIELD_DEFAULT(bind_options, alias, GLOW_STRING,
                                   "what the text calls the file")},
    .defaults = &(const bind_options){.file = "", .alias = "bound"},
    .run_module = run,
    .source = "Glow convertPlaceholdersToConstants",
};
