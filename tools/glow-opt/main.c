/*
 * glow-opt: text in, passes, text out.
 *
 * The command line becomes one pipeline text; all other options are instruments
 * of its run, or actions on the result.
 */

#include <stdio.h>
#include <string.h>

#include "tools/common/describe.h"
#include "tools/glow-opt/opt.h"

static const char *const lists[] = {"json", "md", NULL};
static const char *const json_word[] = {"json", NULL};
static const char *const time_words[] = {"tree", "trace", "json", NULL};
static const char *const diff_word[] = {"diff", NULL};
static const char *const bisect_words[] = {"verify", "semantics", NULL};
static const char *const view_words[] = {"svg", "dot", NULL};
static const char *const simulate_words[] = {"text", "json", "svg", "trace",
                                             NULL};
static const char *const bundle_weights_words[] = {"file", "object", "c", NULL};
static const char *const map_words[] = {"text", "json", "svg", NULL};

#define AT(member) offsetof(opt_values, member)

static const tool_option options[] = {
    {"o", TOOL_TEXT, AT(output), "FILE", NULL, "files",
     "where the output goes; it appears whole or not at all"},
    {"weights", TOOL_LIST, AT(weights), "ALIAS=PATH", NULL, "files",
     "take the weights of ALIAS from PATH"},
    {"externalize", TOOL_TEXT, AT(externalize), "FILE.safetensors", NULL,
     "files", "write constants of over 1 KiB there, not into the text"},
    {"reattach", TOOL_TEXT, AT(reattach), "FILE.safetensors", NULL, "files",
     "find the elements of elided constants there, by their hash"},
    {"allow-unknown-ops", TOOL_FLAG, AT(allow_unknown_ops), NULL, NULL, "files",
     "keep operators of plugins that are not loaded as they are"},
    {"allow-elided", TOOL_FLAG, AT(allow_elided), NULL, NULL, "files",
     "read constants that a dump has elided; nothing can be done with them"},
    {"split-input-file", TOOL_FLAG, AT(split_input_file), NULL, NULL, "files",
     "treat what `// -----` lines part as files of their own"},
    {"verify-diagnostics", TOOL_FLAG, AT(verify_diagnostics), NULL, NULL,
     "files", "compare messages with `// expected-error@+1 [E0203] {{text}}`"},
    {"print-all-attrs", TOOL_FLAG, AT(print_all_attrs), NULL, NULL, "files",
     "print attributes that have their default too"},
    {"annotate", TOOL_NAMES, AT(annotate), "optypes,opnames", NULL, "files",
     "print the types and names of operands"},

    {"passes", TOOL_TEXT, AT(passes), "TEXT", NULL, "pipeline",
     "'optimize,lower,fixpoint<max=8>(cse,dce),@main(irgen)'"},
    {"load-profile", TOOL_NAMES, AT(load_profile), "FILE[,FILE...]", NULL,
     "pipeline",
     "calibrate by these profiles: first of all, or where -calibrate stands"},
    {"print-pipeline", TOOL_FLAG, AT(print_pipeline), NULL, NULL, "pipeline",
     "print the pipeline, named ones expanded, and stop"},
    {"disable-pass", TOOL_NAMES, AT(disable_pass), "PASS,...", NULL, "pipeline",
     "leave these out"},
    {"stop-after", TOOL_INT, AT(stop_after), "N", NULL, "pipeline",
     "run the first N passes, as dumps number them, and no more"},
    {"rewrite-limit", TOOL_TEXT, AT(rewrite_limit), "PASS:N", NULL, "pipeline",
     "let PASS do its first N rewrites and no more"},
    {"limit", TOOL_BYTES, AT(limit), "BYTES", NULL, "pipeline",
     "what activations may take at once, as 512KiB: more is an error"},
    {"backend", TOOL_TEXT, AT(backend), "NAME", NULL, "pipeline",
     "the backend that passes ask, and that emits (cpu)"},
    {"target-file", TOOL_TEXT, AT(target_file), "FILE", NULL, "pipeline",
     "the machine that passes count for: rates, in JSON"},
    {"exact", TOOL_FLAG, AT(exact), NULL, NULL, "pipeline",
     "round as interp does: no FMA, Winograd, Strassen, reciprocals"},

    {"verify-each", TOOL_FLAG, AT(verify_each), NULL, NULL, "checks",
     "verify what each pass leaves (on; -no-verify-each)"},
    {"verify-semantics", TOOL_FLAG, AT(verify_semantics), NULL, NULL, "checks",
     "run before and after each pass, and compare as the pass promises"},
    {"verify-roundtrip-each", TOOL_FLAG, AT(verify_roundtrip_each), NULL, NULL,
     "checks", "print and read back after each pass"},
    {"verify-determinism", TOOL_FLAG, AT(verify_determinism), NULL, NULL,
     "checks", "do everything twice and compare the bytes"},
    {"reproducer", TOOL_TEXT, AT(reproducer), "FILE", NULL, "checks",
     "where a crash leaves its input and command (glow-opt-crash.gir)"},
    {"run-reproducer", TOOL_TEXT, AT(run_reproducer), "FILE", NULL, "checks",
     "run the command that stands in FILE, with the other options given"},
    {"bisect", TOOL_WORD, AT(bisect), "verify|semantics", bisect_words,
     "checks",
     "find the pass and the rewrite that fail (by verify, then semantics, if "
     "neither is named), and print a small test instead of the module"},

    {"print-before", TOOL_NAMES, AT(print_before), "PASS,...", NULL, "looking",
     "dump what these passes get"},
    {"print-after", TOOL_NAMES, AT(print_after), "PASS,...", NULL, "looking",
     "dump what these passes leave"},
    {"print-before-all", TOOL_FLAG, AT(print_before_all), NULL, NULL, "looking",
     "dump what every pass gets"},
    {"print-after-all", TOOL_FLAG, AT(print_after_all), NULL, NULL, "looking",
     "dump what every pass leaves"},
    {"print-changed", TOOL_WORD, AT(print_changed), "diff", diff_word,
     "looking", "dump after passes that changed something, or what changed"},
    {"print-ir-dir", TOOL_TEXT, AT(print_ir_dir), "DIR", NULL, "looking",
     "write a file after every pass: 03-cse.main.gir"},
    {"debug", TOOL_NAMES, AT(debug), "PASS,...", NULL, "looking",
     "print the remarks and rewrites of these passes as they happen"},
    {"time", TOOL_WORD, AT(time), "tree|trace|json", time_words, "looking",
     "wall and processor time and nodes of each pass, the slowest first; "
     "trace: for Chrome"},
    {"stats", TOOL_WORD, AT(stats), "json", json_word, "looking",
     "what the passes counted"},
    {"cost", TOOL_FLAG, AT(cost), NULL, NULL, "looking",
     "print operations and bytes of each node instead of the module"},
    {"explain-support", TOOL_FLAG, AT(explain_support), NULL, NULL, "looking",
     "print whether the backend takes each node, or lowered to what, or why "
     "not"},
    {"remarks", TOOL_TEXT, AT(remarks), "FILE", NULL, "looking",
     "write why passes did something or did not; .json: for programs"},
    {"remarks-filter", TOOL_NAMES, AT(remarks_filter), "PASS,...", NULL,
     "looking", "keep the remarks of these passes, or the backend, alone"},
    {"report", TOOL_TEXT, AT(report), "FILE.html", NULL, "looking",
     "write a page of steps, differences, times, remarks and memory"},
    {"view", TOOL_WORD, AT(view), "svg|dot", view_words, "looking",
     "print a picture instead of the module"},
    {"memory-map", TOOL_WORD, AT(memory_map), "text|json|svg", map_words,
     "looking", "print where and when buffers live instead of the module"},
    {"simulate", TOOL_WORD, AT(simulate), "text|json|svg|trace", simulate_words,
     "looking", "print the cycles of a program on the queues of the target"},
    {"why-peak", TOOL_FLAG, AT(why_peak), NULL, NULL, "looking",
     "print what is in memory at the fullest moment, and why"},

    {"emit", TOOL_TEXT, AT(emit), "NAME", NULL, "emitting",
     "write an artifact of the backend: -help=BACKEND lists them"},
    {"emit-object", TOOL_FLAG, AT(emit_object), NULL, NULL, "emitting",
     "compile to an object file"},
    {"emit-asm", TOOL_FLAG, AT(emit_asm), NULL, NULL, "emitting",
     "compile to assembly"},
    {"emit-llvm", TOOL_FLAG, AT(emit_llvm), NULL, NULL, "emitting",
     "compile to LLVM's text form"},
    {"emit-bundle", TOOL_FLAG, AT(emit_bundle), NULL, NULL, "emitting",
     "compile to NAME.o, NAME.h and NAME.weights, for -o NAME"},
    {"bundle-weights", TOOL_WORD, AT(bundle_weights), "file|object|c",
     bundle_weights_words, "emitting",
     "option of cpu: weights of a bundle in NAME.weights, in NAME.o, or in "
     "NAME_weights.c (file)"},
    {"state", TOOL_TEXT, AT(state), "FILE", NULL, "emitting",
     "a .safetensors of first contents of state: -emit-bundle writes NAME.state"},
    {"target", TOOL_TEXT, AT(target), "TRIPLE", NULL, "emitting",
     "the machine (this one)"},
    {"cpu", TOOL_TEXT, AT(cpu), "NAME", NULL, "emitting",
     "the processor (this one)"},
    {"features", TOOL_TEXT, AT(features), "LIST", NULL, "emitting",
     "its features, as +avx2,-fma or sve-vector-bits=256"},
    {"threads", TOOL_INT, AT(threads), "N", NULL, "emitting",
     "split the work for so many, at most (1): the code then takes a function "
     "that runs parts"},
    {"winograd", TOOL_WORD, AT(winograd), "auto|off|2|4", tool_winograd_words,
     "emitting",
     "option of cpu: convolutions of stride 1 by F(2) or F(4); off is -no-winograd "
     "(auto; with -Os off)"},
    {"subnormals", TOOL_WORD, AT(subnormals), "ieee|flush",
     tool_subnormal_words, "emitting",
     "flush: numbers below the normal ones are zeros (ieee)"},
    TOOL_TUNING_OPTIONS(AT(tuning), "emitting"),

    {"list-passes", TOOL_WORD, AT(list_passes), "json|md", lists, "lists",
     "all passes and named pipelines"},
    {"list-ops", TOOL_WORD, AT(list_ops), "json|md", lists, "lists",
     "all operators"},
    {"list-errors", TOOL_WORD, AT(list_errors), "json|md", lists, "lists",
     "all errors and warnings"},
    {"list-plugins", TOOL_WORD, AT(list_plugins), "json", json_word, "lists",
     "the plugins that are loaded"},
    {"list-targets", TOOL_WORD, AT(list_targets), "json", json_word, "lists",
     "all backends"},
    {0},
};

/* Passes as options. */

static void
add_flag(opt *o, const char *name, const char *value)
{
    glow_buf *b = &o->values.flags;

    if (b->len > 0)
        glow_buf_putc(b, ',');
    tool_put_pass(b, name, value);
}

/* -convert=KIND[,EXCEPT...], an abbreviation of several passes. */
static bool
add_conversion(opt *o, const char *value)
{
    glow_buf *b = &o->values.flags;
    const char *all = value ? value : "";
    size_t n = strcspn(all, ",");
    const char *word = glow_arena_strndup(o->tool.arena, all, n);

    for (size_t i = 0; tool_convert_words[i]; i++)
        if (strcmp(word, tool_convert_words[i]) == 0) {
            glow_buf_puts(b, b->len > 0 ? "," : "");
            glow_buf_puts(b, tool_conversion(&o->tool, word,
                                             all[n] ? all + n + 1 : NULL));
            return true;
        }
    tool_usage(&o->tool, NULL,
               "-convert takes bf16, f16, pure-bf16 or pure-f16, and what to "
               "leave out after a "
               "comma, not '%s'",
               all);
    return true;
}

static bool
other(tool *t, const char *name, const char *value)
{
    opt *o = (opt *)t; /* its first member */

    if (strcmp(name, "convert") == 0)
        return add_conversion(o, value);
    if (!glow_find_pass(t->ctx, name) && !glow_find_pipeline(name))
        return false;
    add_flag(o, name, value);
    return true;
}

static void
names(tool *t, tool_list *list)
{
    tool_list passes = tool_pass_names(t);
    const glow_named_pipeline *named = glow_all_pipelines();

    for (size_t i = 0; i < passes.count; i++)
        tool_list_add(t, list, passes.items[i]);
    for (size_t i = 0; named[i].name; i++)
        tool_list_add(t, list, named[i].name);
    tool_list_add(t, list, "convert");
}

static const tool_spec spec = {
    .name = "glow-opt",
    .usage = "[OPTION]... [-PASS[=OPTIONS]]... [INPUT.gir]",
    .about =
        "Runs passes between text files: -PASS in the order given, or "
        "-passes=TEXT.\n-convert=[pure-]bf16|f16[,EXCEPT...] stands for passes "
        "that compute in 16 bits.\n-list-passes and -list-ops show what "
        "there is; "
        "-O0 to -O3 and -Os are pipelines.",
    .options = options,
    .other = other,
    .names = names,
    .habits = opt_habits,
};

/* The first -list-... option; TOOL_GO_ON if there is none. */
static int
print_lists(opt *o)
{
    const opt_values *v = &o->values;

    if (v->list_passes)
        return list_passes(&o->tool, v->list_passes);
    if (v->list_ops)
        return list_ops(&o->tool, v->list_ops);
    if (v->list_errors)
        return list_errors(&o->tool, v->list_errors);
    if (v->list_plugins)
        return list_plugins(&o->tool, v->list_plugins);
    if (v->list_targets)
        return list_targets(&o->tool, v->list_targets);
    return TOOL_GO_ON;
}

/* A pipeline that cannot be parsed is a wrong command line. */
static bool
make_pipeline(opt *o)
{
    const char *text = o->values.passes       ? o->values.passes
                       : o->values.flags.text ? o->values.flags.text
                                              : "";
    glow_buf b = {0};

    text = tool_calibrated(&o->tool, &o->values.load_profile, text);

    o->pipeline = glow_source_from(o->tool.ctx, "<passes>", text, strlen(text));

    glow_pipeline *p = glow_pipeline_parse_for(o->tool.ctx, o->tool.arena,
                                               o->pipeline, o->backend);

    if (p && o->values.exact && !glow_pipeline_make_exact(p))
        return false;
    if (p && o->values.print_pipeline) {
        glow_pipeline_print(&b, p);
        printf("%s\n", b.text ? b.text : "");
        glow_buf_free(&b);
    }
    return p != NULL;
}

int
main(int argc, char **argv)
{
    opt o = {.values = {.verify_each = true,
                        .threads = 1,
                        .tuning = {.budget = TOOL_BUDGET}}};
    int code = tool_begin(&o.tool, &spec, &o.values, argc, argv);

    if (code == TOOL_GO_ON)
        code = print_lists(&o);
    if (code == TOOL_GO_ON && o.values.run_reproducer)
        code = run_reproducer(&o);
    if (code == TOOL_GO_ON && (!opt_check_usage(&o) || !make_pipeline(&o)))
        code = TOOL_USAGE;
    if (code == TOOL_GO_ON)
        code = o.values.print_pipeline ? TOOL_DONE : opt_run(&o);
    glow_buf_free(&o.values.flags);
    return tool_end(&o.tool, code);
}
