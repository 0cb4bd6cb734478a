/*
 * free-constants: make placeholders of constants, to train them.
 *
 *     constant @w : float<4 x 3> = external("net", "w")
 *  =>
 *     placeholder @w : float<4 x 3> {State: true, Trained: true}
 *
 * and @w is a tensor of the safetensors file `file`.  `only` lists constants by name or
 * pattern, in quotes (`only="fc*,head.w"`); default: all of floats.  Constants of other
 * kinds stay, and those that no function reads.  Means and variances that a normalization
 * reads are state, but not trained, and so are the weights of the classes of a loss.
 *
 * The inverse of bind-placeholders, which makes constants of the file again after
 * training.  Names and types are those of the constants, so this is done before passes
 * that transpose or split weights.
 */

#include "glow/pass.h"
#include "glow/text.h"
#include "passes/graph/common/names.h"

typedef struct free_options {
    const char *file, *only;
} free_options;

static bool
is_chosen(glow_arena *a, const char *only, const glow_storage *s)
{
    return s->is_constant && s->value.uses &&
           glow_is_float(s->value.type->elem) && glow_may_externalize(s, 0) &&
           (!*only || glow_names_match(a, only, s->name));
}

static glow_result
run(glow_pass_run *pass, glow_module *m)
{
    const free_options *o = glow_run_options(pass);
    glow_arena *a = glow_run_scratch(pass);
    glow_storage **chosen;
    size_t count = 0;
    int freed;

    if (!*o->file) {
        glow_error(glow_run_context(pass), "E0420",
                   "free-constants: `file` names no file for the weights");
        return GLOW_FAILED;
    }
    GLOW_FOR_EACH_STORAGE(s, m)
        count += is_chosen(a, o->only, s);
    if (count == 0) {
        glow_error(glow_run_context(pass), "E0420",
                   "free-constants: no constant of floats that is read is "
                   "named %s",
                   *o->only ? o->only : "so");
        return GLOW_FAILED;
    }
    if (!glow_run_may_rewrite(pass))
        return GLOW_UNCHANGED;
    chosen = GLOW_NEW_ARRAY(a, glow_storage *, count);
    count = 0;
    GLOW_FOR_EACH_STORAGE(s, m)
        if (is_chosen(a, o->only, s))
            chosen[count++] = s;
    freed = glow_free_constants(m, o->file, chosen, count);
    if (freed < 0)
        return GLOW_FAILED;
    glow_run_count(pass, "freed", freed);
    return GLOW_CHANGED;
}

const glow_pass glow_pass_free_constants = {
    .name = "free-constants",
    .summary = "make placeholders of constants, to train them",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "what was a number is an input now",
    .options = {GLOW_FIELD_DEFAULT(free_options, file, GLOW_STRING,
                                   "the safetensors file for their elements"),
                GLOW_FIELD_DEFAULT(free_options, only, GLOW_STRING,
                                   "these, by name or pattern")},
    .defaults = &(const free_options){.file = "", .only = ""},
    .run_module = run,
    .source = "Glow, prepareFunctionForTraining",
};
