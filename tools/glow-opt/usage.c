/* Checks of the command line, before the input is read. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/glow-opt/opt.h"

static bool
check_passes(opt *o, const tool_list *l)
{
    bool ok = true;

    for (size_t i = 0; i < l->count; i++)
        ok &= tool_find_pass(&o->tool, l->items[i]) != NULL;
    return ok;
}

/* -remarks-filter: passes and backends. */
static bool
check_filter(opt *o)
{
    const tool_list *l = &o->values.remarks_filter;
    bool ok = true;

    for (size_t i = 0; i < l->count; i++)
        ok &= glow_find_backend(o->tool.ctx, l->items[i]) ||
              tool_find_pass(&o->tool, l->items[i]);
    return ok;
}

static bool
check_limit(opt *o)
{
    const char *text = o->values.rewrite_limit;
    const char *colon = text ? strrchr(text, ':') : NULL;
    char *end;

    if (!text)
        return true;
    if (colon) {
        o->limit.pass =
            glow_arena_strndup(o->tool.arena, text, (size_t)(colon - text));
        o->limit.count = strtoll(colon + 1, &end, 10);
        if (colon[1] != '\0' && *end == '\0' && o->limit.count >= 0)
            return tool_find_pass(&o->tool, o->limit.pass) != NULL;
    }
    return tool_usage(&o->tool, NULL, "-rewrite-limit wants PASS:N, not '%s'",
                      text) == TOOL_DONE;
}

static bool
check_annotations(opt *o)
{
    static const char *const known[] = {"optypes", "opnames"};
    tool_list all = {.items = (const char *[]){known[0], known[1]}, .count = 2};

    for (size_t i = 0; i < o->values.annotate.count; i++)
        if (!list_has(&all, o->values.annotate.items[i]))
            return tool_unknown(&o->tool, "annotation",
                                o->values.annotate.items[i], &all) == TOOL_DONE;
    return true;
}

/* -remarks writes text, or JSON to a file that ends in .json. */
static bool
check_remarks(opt *o)
{
    static const char *const others[] = {".yaml", ".yml", ".xml", ".html",
                                         ".csv",  ".md",  ".gir"};
    const char *path = o->values.remarks;
    const char *end = path ? strrchr(path, '.') : NULL;

    for (size_t i = 0; end && i < sizeof others / sizeof *others; i++)
        if (strcmp(end, others[i]) == 0)
            return tool_usage(&o->tool,
                              strcmp(end, ".html") == 0
                                  ? "-report=FILE.html shows remarks on a page"
                                  : "name it .json, or .txt",
                              "-remarks writes text, or JSON to a file whose "
                              "name ends in .json: not %s",
                              end) == TOOL_DONE;
    return true;
}

bool
opt_emits(const opt_values *v)
{
    return opt_artifact(v) != NULL;
}

const char *
opt_artifact(const opt_values *v)
{
    return v->emit          ? v->emit
           : v->emit_object ? "object"
           : v->emit_asm    ? "asm"
           : v->emit_llvm   ? "llvm"
           : v->emit_bundle ? "bundle"
                            : NULL;
}

static bool
check_outputs(opt *o)
{
    const opt_values *v = &o->values;
    int count = (v->emit != NULL) + v->emit_object + v->emit_asm +
                v->emit_llvm + v->emit_bundle + v->cost + v->explain_support +
                (v->memory_map != NULL) + (v->simulate != NULL) + v->why_peak +
                (v->bisect != NULL) + (v->view != NULL);

    if (count > 1)
        return tool_usage(
                   &o->tool, NULL,
                   "-emit-..., -cost, -explain-support, -memory-map, "
                   "-simulate, -why-peak, -view and -bisect each take the place of the "
                   "output: give one") == TOOL_DONE;
    if (v->state && (!opt_emits(v) || strcmp(opt_artifact(v), "bundle") != 0))
        return tool_usage(&o->tool, "add -emit-bundle",
                          "-state is for bundles") == TOOL_DONE;
    if (opt_emits(v) && !v->output)
        return tool_usage(&o->tool, NULL, "-emit-... needs -o FILE") ==
               TOOL_DONE;
    if (v->externalize && (count > 0 || v->split_input_file))
        return tool_usage(&o->tool, NULL,
                          "-externalize is for one module that is printed: it "
                          "does not go with %s",
                          v->split_input_file ? "-split-input-file"
                                              : "other outputs") == TOOL_DONE;
    if (v->report && v->split_input_file)
        return tool_usage(&o->tool, NULL,
                          "-report is of one module: it does not go with "
                          "-split-input-file") == TOOL_DONE;
    if (o->tool.inputs.count > 1)
        return tool_usage(&o->tool, NULL,
                          "there is one input, but '%s' and '%s' are given",
                          o->tool.inputs.items[0],
                          o->tool.inputs.items[1]) == TOOL_DONE;
    return true;
}

static bool
check_threads(opt *o)
{
    int64_t threads = o->values.threads;

    return (threads >= 1 && threads <= TOOL_MOST_THREADS) ||
           tool_usage(&o->tool, NULL, "-threads takes 1 to %d, not %" PRId64,
                      TOOL_MOST_THREADS, threads) == TOOL_DONE;
}

/*
 * -bisect runs the pipeline repeatedly and prints a test, so other outputs are
 * refused.
 */
static bool
check_bisect(opt *o)
{
    const opt_values *v = &o->values;
    const char *clash = v->rewrite_limit        ? "rewrite-limit"
                        : v->split_input_file   ? "split-input-file"
                        : v->verify_diagnostics ? "verify-diagnostics"
                        : v->verify_determinism ? "verify-determinism"
                        : v->externalize        ? "externalize"
                        : v->remarks            ? "remarks"
                        : v->report             ? "report"
                                                : NULL;

    if (!v->bisect)
        return true;
    return !clash || tool_usage(&o->tool, NULL, "-bisect does not go with -%s",
                                clash) == TOOL_DONE;
}

static bool
check_tuning(opt *o)
{
    const opt_values *v = &o->values;

    if (!opt_emits(v) && (v->tuning.file || v->tuning.tune))
        return tool_usage(&o->tool, "add -emit-object, or another",
                          "-tune and -tune-file are of what is emitted") ==
               TOOL_DONE;
    return tool_check_tuning(&o->tool, &v->tuning) == TOOL_GO_ON;
}

/* The artifact of -emit is one of the backend. */
static bool
check_artifact(opt *o)
{
    const glow_backend *b = o->backend;
    const char *name = opt_artifact(&o->values);
    tool_list names = {0};

    if (!name)
        return true;
    if (!b->emit)
        return tool_usage(&o->tool, NULL, "the backend %s emits no files",
                          b->name) == TOOL_DONE;
    for (const glow_artifact *a = b->artifacts; a->name; a++) {
        if (strcmp(a->name, name) == 0)
            return true;
        tool_list_add(&o->tool, &names, a->name);
    }
    return tool_unknown(&o->tool,
                        glow_arena_printf(o->tool.arena,
                                          "artifact of %s called", b->name),
                        name, &names) == TOOL_DONE;
}

static bool
check_backend(opt *o)
{
    const char *name = o->values.backend;
    const char *pipeline =
        o->values.passes ? o->values.passes : o->values.flags.text;
    tool_list own = {0};

    if (!name && (opt_emits(&o->values) || o->values.explain_support))
        name = "cpu";
    if (!name)
        return true;
    tool_own_option(
        &o->tool, &own, "winograd",
        tool_size_option(&tool_winograd, o->values.winograd, name, pipeline));
    tool_own_option(&o->tool, &own, "packing",
                    tool_size_option(&tool_packing, NULL, name, pipeline));
    tool_own_option(&o->tool, &own, "weights", o->values.bundle_weights);
    o->backend = tool_find_backend(&o->tool, name, &own, &o->code.options);
    return o->backend && check_artifact(o);
}

/*
 * -stop-after cannot be combined with -emit options, which need the whole
 * pipeline.
 */
static bool
check_stop(opt *o)
{
    int64_t n = o->values.stop_after;

    if (n < 0 || n > INT32_MAX)
        return tool_usage(&o->tool, NULL,
                          "-stop-after takes a number of passes, not %" PRId64,
                          n) == TOOL_DONE;
    return n == 0 || !opt_emits(&o->values) ||
           tool_usage(&o->tool, NULL,
                      "-stop-after does not go with -emit-...") == TOOL_DONE;
}

bool
opt_check_usage(opt *o)
{
    const opt_values *v = &o->values;

    if (v->passes && v->flags.len > 0)
        return tool_usage(&o->tool, NULL,
                          "passes are given as options ('%s') and by -passes: "
                          "use one of the two",
                          v->flags.text) == TOOL_DONE;

    bool ok = check_passes(o, &v->print_before);

    ok &= check_passes(o, &v->print_after);
    ok &= check_passes(o, &v->disable_pass);
    ok &= check_passes(o, &v->debug);
    ok &= check_stop(o);
    ok &= check_filter(o);
    ok &= check_limit(o);
    ok &= check_annotations(o);
    ok &= tool_rebind(&o->tool, &v->weights, &o->rebound);
    ok &= check_remarks(o);
    ok &= check_outputs(o);
    ok &= check_threads(o);
    ok &= check_tuning(o);
    ok &= check_bisect(o);
    ok &= tool_check_exact(&o->tool, v->exact, v->winograd, v->subnormals) ==
          TOOL_GO_ON;
    ok &= check_backend(o);
    return ok;
}
