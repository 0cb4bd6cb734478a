/* Actions of glow-opt: reads, runs the passes, writes. */

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "glow/memory_map.h"
#include "glow/simulate.h"
#include "tools/glow-opt/opt.h"
#include "tools/glow-opt/split_input.h"
#include "tools/glow-opt/verify_diagnostics.h"
#include "tools/glow-opt/view.h"

#define MEMO_BYTES ((size_t)1 << 30) /* of -verify-semantics */
#define SEED 1
#define INLINE_BYTES 1024 /* of constants that -externalize leaves inline */

/* Reading. */

glow_parse_options
opt_parse_options(opt *o, const glow_source *source)
{
    return (glow_parse_options){
        .allow_unknown_ops = o->values.allow_unknown_ops,
        .allow_elided = o->values.allow_elided || o->values.reattach,
        .folder = tool_folder_of(&o->tool, source->name),
        .rebind = o->rebound,
    };
}

glow_print_options
opt_print_options(const opt *o)
{
    return (glow_print_options){
        .all_attrs = o->values.print_all_attrs,
        .annotate_optypes = list_has(&o->values.annotate, "optypes"),
        .annotate_opnames = list_has(&o->values.annotate, "opnames"),
    };
}

/* Actions on one module. */

/* The level that the output needs. */
static glow_level
reach_of(const opt *o)
{
    if (o->values.memory_map || o->values.simulate)
        return GLOW_PLACED;
    return opt_emits(&o->values) ? (glow_level)o->backend->level : GLOW_ANY;
}

static bool
run_passes(opt *o, glow_module *m, bool quiet)
{
    glow_pipeline *p =
        glow_pipeline_parse_for(m->ctx, o->tool.arena, o->pipeline, o->backend);
    instruments list = {0};

    if (!p)
        return false;
    add_disable(o, &list);
    if (!quiet) {
        add_crash(o, &list);
        add_progress(o, &list);
        add_notes(o, &list);
        add_print(o, &list);
        add_ir_dir(o, &list);
        add_roundtrip(o, &list);
        add_debug(o, &list);
        add_time(o, p, &list);
        add_remarks(o, &list);
        add_report(o, p, &list);
        if (o->semantics)
            list.at[list.count++] = glow_semantics_instrument(o->semantics);
    }

    glow_pipeline_options how = {
        .verify_each = o->values.verify_each,
        .reach = reach_of(o),
        .backend = o->backend,
        .code = &o->code,
        .target = o->machine,
        .most_bytes = o->values.limit,
        .instruments = list.at,
        .n_instruments = list.count,
        .limit_pass = o->limit.pass,
        .limit = o->limit.count,
        .stop_after = (int)o->values.stop_after,
    };

    bool ok = (quiet || begin_ir_dir(o, m)) && glow_pipeline_run(p, m, &how);

    tool_progress_end();
    if (!quiet) {
        end_print(o);
        end_ir_dir(o);
        end_debug(o);
    }
    return ok;
}

/* An alias for weights: the name of their file, without its extension. */
static const char *
alias_of(const opt *o, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');

    return dot && dot > name
               ? glow_arena_strndup(o->tool.arena, name, (size_t)(dot - name))
               : name;
}

/* Reads a module, and restores elided constants with -reattach. */
static glow_module *
read_module(opt *o, glow_context *ctx, const glow_source *source)
{
    glow_parse_options parse = opt_parse_options(o, source);
    glow_module *m = glow_parse(ctx, source, &parse);
    const char *file = o->values.reattach;

    if (!m)
        return NULL;
    /* each module of a file has its own weights */
    if ((o->values.split_input_file ||
         tool_check_rebound(&o->tool, o->rebound, m)) &&
        (!file || glow_reattach(m, alias_of(o, file), file)))
        return m;
    glow_module_free(m);
    return NULL;
}

static void
quiet_sink(const glow_diag *d, void *user)
{
    (void)d, (void)user;
}

/*
 * -verify-determinism: runs again in another context, at other addresses, and
 * compares the bytes.
 */
static bool
check_determinism(opt *o, const glow_source *source, glow_module *done)
{
    glow_arena *elsewhere = glow_arena_new();
    glow_context *ctx = glow_context_new();
    glow_print_options print = opt_print_options(o);
    glow_buf first = {0}, second = {0};
    const glow_plugin *p;

    for (size_t i = 1; i < 64; i++)
        glow_arena_alloc(elsewhere, i * 1013);
    glow_context_set_sink(ctx, quiet_sink, NULL);
    for (size_t i = 0; (p = glow_plugin_at(o->tool.ctx, i)); i++)
        glow_plugin_register(ctx, p);

    glow_module *m = read_module(o, ctx, source);

    if (m && run_passes(o, m, true))
        glow_print(&second, m, &print);
    glow_print(&first, done, &print);

    bool same = first.len == second.len &&
                memcmp(first.text, second.text, first.len) == 0;

    if (m)
        glow_module_free(m);
    glow_buf_free(&first);
    glow_buf_free(&second);
    glow_context_free(ctx);
    glow_arena_free(elsewhere);
    o->differs |= !same;
    return same || glow_error(o->tool.ctx, "E0416",
                              "the same input and passes gave another output "
                              "the second time");
}

static bool
has_one_func(opt *o, const glow_module *m)
{
    return glow_module_entry(m) ||
           glow_error(o->tool.ctx, "E0809",
                      "the output is made from one function, but the module "
                      "has %s",
                      m->funcs ? "several" : "none");
}

/* The first function that no other calls; NULL after a report. */
static glow_func *
first_entry(opt *o, const glow_module *m)
{
    GLOW_FOR_EACH_FUNC(f, m)
        if (!glow_is_body(f))
            return f;
    glow_error(o->tool.ctx, "E0809", "the module has no function to compile");
    return NULL;
}

static bool
emit(opt *o, glow_module *m)
{
    const opt_values *v = &o->values;
    glow_tuning *tuning;
    glow_func *f;

    f = first_entry(o, m);
    if (!f)
        return false;
    if (tool_read_tuning(&o->tool, &v->tuning, &tuning) != TOOL_GO_ON ||
        tool_tune(&o->tool, &v->tuning, o->backend, f, &o->code, tuning) !=
            TOOL_GO_ON)
        return false;
    o->code.tuning = tuning;
    take_code_remarks(o);
    return o->backend->emit(f, opt_artifact(v), &o->code, v->output);
}

/* False for a device, such as /dev/null, whose module no tool reads. */
static bool
is_kept(const char *output)
{
    struct stat s;

    return stat(output, &s) != 0 || S_ISREG(s.st_mode);
}

/* Sets the paths of weights relative to the folder of the output. */
static bool
place_weights(const opt *o, glow_module *m)
{
    const char *output = o->values.output;
    const char *file = o->values.externalize;

    if (file && !glow_externalize(m, alias_of(o, file), file, INLINE_BYTES))
        return false;
    if (output && strcmp(output, "-") != 0 && is_kept(output) &&
        !o->values.verify_diagnostics)
        glow_rebase_weights(m, tool_folder_of(&o->tool, output));
    return true;
}

static bool
put_memory_map(opt *o, glow_module *m, glow_buf *out)
{
    const char *format = o->values.memory_map;
    glow_map_format how = strcmp(format, "svg") == 0    ? GLOW_MAP_SVG
                          : strcmp(format, "json") == 0 ? GLOW_MAP_JSON
                                                        : GLOW_MAP_TEXT;
    bool ok = how != GLOW_MAP_SVG || has_one_func(o, m);

    GLOW_FOR_EACH_FUNC(f, m)
        ok = ok && glow_memory_map(out, f, how);
    return ok;
}

static bool
put_simulation(opt *o, glow_module *m, glow_buf *out)
{
    const char *format = o->values.simulate;
    glow_simulate_format how = strcmp(format, "json") == 0  ? GLOW_SIMULATE_JSON
                               : strcmp(format, "svg") == 0 ? GLOW_SIMULATE_SVG
                               : strcmp(format, "trace") == 0
                                   ? GLOW_SIMULATE_TRACE
                                   : GLOW_SIMULATE_TEXT;
    bool ok = how < GLOW_SIMULATE_SVG || has_one_func(o, m);

    GLOW_FOR_EACH_FUNC(f, m)
        ok = ok && (glow_is_body(f) || glow_simulate(out, f, o->machine, how));
    return ok;
}

/* Runs the passes up to placement, for -memory reports of graphs. */
static bool
place_all(opt *o, glow_module *m)
{
    const char *text = "irgen,optimize-program,alloc";
    glow_pipeline_options how = {.verify_each = o->values.verify_each,
                                 .reach = GLOW_PLACED,
                                 .backend = o->backend,
                                 .code = &o->code,
                                 .target = o->machine};
    glow_pipeline *p;

    GLOW_FOR_EACH_FUNC(f, m)
        if (f->is_program)
            text = "";
    p = glow_pipeline_parse_for(
        m->ctx, o->tool.arena,
        glow_source_from(m->ctx, "<why-peak>", text, strlen(text)), o->backend);
    return p && glow_pipeline_run(p, m, &how);
}

static bool
put_why_peak(opt *o, glow_module *m, glow_buf *out)
{
    bool ok = place_all(o, m);

    GLOW_FOR_EACH_FUNC(f, m)
        ok = ok && glow_why_peak(out, f);
    return ok;
}

static bool
put_view(opt *o, glow_module *m, glow_buf *out)
{
    if (strcmp(o->values.view, "dot") == 0)
        put_dot(out, o->tool.arena, m);
    else
        put_svg(out, o->tool.arena, m);
    return true;
}

static bool
wants_report(const opt_values *v)
{
    return v->memory_map || v->simulate || v->why_peak || v->view ||
           v->explain_support || v->cost;
}

static bool
put_report_text(opt *o, glow_module *m, glow_buf *out)
{
    if (o->values.memory_map)
        return put_memory_map(o, m, out);
    if (o->values.simulate)
        return put_simulation(o, m, out);
    if (o->values.why_peak)
        return put_why_peak(o, m, out);
    if (o->values.view)
        return put_view(o, m, out);
    if (o->values.explain_support)
        return put_support(o, m, out);
    put_cost(out, m, o->machine);
    return true;
}

/* Appends reports; JSON is appended unescaped. */
static bool
put_reported(opt *o, glow_module *m, glow_buf *out)
{
    const char *map = o->values.memory_map;
    glow_buf text = {0};
    bool ok;

    if (map && strcmp(map, "json") == 0)
        return put_memory_map(o, m, out);
    if (o->values.simulate && strcmp(o->values.simulate, "text") != 0)
        return put_simulation(o, m, out);
    ok = put_report_text(o, m, &text);
    glow_buf_show(out, text.text ? text.text : "", text.len);
    glow_buf_free(&text);
    return ok;
}

/* Appends the output of a module. */
static bool
put_result(opt *o, glow_module *m, glow_buf *out)
{
    glow_print_options print = opt_print_options(o);

    if (wants_report(&o->values))
        return put_reported(o, m, out);
    if (!place_weights(o, m))
        return false;
    glow_print(out, m, &print);
    return true;
}

/* Ends -verify-semantics of one module. */
static void
end_semantics(opt *o)
{
    o->differs |= o->semantics && glow_semantics_failed(o->semantics);
    glow_semantics_free(o->semantics);
    o->semantics = NULL;
}

/* Runs -bisect; the test refers to weights relative to its folder. */
static bool
bisect(opt *o, glow_module *m, glow_buf *out)
{
    return place_weights(o, m) && put_bisection(o, m, out);
}

static bool
run_module(opt *o, const glow_source *source, glow_buf *out)
{
    crash_input(source);

    glow_module *m = read_module(o, o->tool.ctx, source);

    if (m)
        crash_module(o, m);
    if (m && o->values.bisect) {
        bool ok = bisect(o, m, out);

        glow_module_free(m);
        crash_input(NULL);
        return ok;
    }
    if (o->values.verify_semantics)
        o->semantics = glow_semantics_new(o->tool.ctx, SEED, MEMO_BYTES);

    bool passed = m && run_passes(o, m, false), ok = passed;

    if (ok && o->values.verify_determinism)
        ok = check_determinism(o, source, m);
    if (ok && opt_emits(&o->values))
        ok = emit(o, m);
    if (m)
        ok &= write_report(o, source, passed ? m : NULL);
    if (ok && !opt_emits(&o->values))
        ok = put_result(o, m, out);
    end_semantics(o);
    if (m)
        glow_module_free(m);
    crash_input(NULL);
    return ok;
}

/* Runs of one module, or of several in one file. */

/* True if the reports of `source` match the expectations in its comments. */
static bool
run_expecting(opt *o, const glow_source *source)
{
    expectations *x = expectations_read(o->tool.arena, source);
    glow_buf out = {0};
    glow_buf wrong = {0};

    glow_context_set_sink(o->tool.ctx, expectations_sink, x);
    run_module(o, source, &out);
    glow_context_set_sink(o->tool.ctx, tool_show, &o->tool);

    bool ok = expectations_check(x, &wrong);

    if (wrong.text)
        tool_put(stderr, wrong.text, wrong.len);
    glow_buf_free(&wrong);
    glow_buf_free(&out);
    return ok;
}

/* Runs every part, also after failures. */
static bool
run_parts(opt *o, const glow_source *source, glow_buf *out)
{
    const glow_source *const *parts = &source;
    size_t count = 1;
    bool ok = true;

    if (o->values.split_input_file)
        parts = split_input(o->tool.arena, source, &count);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            glow_buf_puts(out, SPLIT_LINE "\n");
        if (o->values.verify_diagnostics)
            ok &= run_expecting(o, parts[i]);
        else
            ok &= run_module(o, parts[i], out);
    }
    return ok;
}

/* -target-file, or the target of the backend. */
static bool
read_machine(opt *o)
{
    glow_context *ctx = o->tool.ctx;
    const char *path = o->values.target_file;
    const glow_source *source = path ? glow_source_read(ctx, path) : NULL;

    if (source)
        o->machine = glow_target_read(ctx, o->tool.arena, source);
    else if (!path)
        o->machine =
            glow_backend_target(o->backend, ctx, o->tool.arena, &o->code);
    if (o->machine && path && o->tool.common.verbose) {
        glow_buf b = {.arena = o->tool.arena};

        glow_target_text(&b, o->machine);
        fputs(b.text, stderr);
    }
    return o->machine;
}

static glow_target_options
code_options(const opt *o)
{
    const opt_values *v = &o->values;

    return (glow_target_options){.triple = v->target,
                                 .cpu = v->cpu,
                                 .features = v->features,
                                 .debug = true,
                                 .threads = (int)v->threads,
                                 .options = o->code.options,
                                 .flush_subnormals =
                                     tool_flushes(v->subnormals),
                                 .state = v->state,
                                 .exact = v->exact};
}

/*
 * Asks the backend for the machine if an option needs it or code is emitted;
 * otherwise the output is independent of the machine.
 */
static bool
find_machine(opt *o)
{
    const opt_values *v = &o->values;
    const glow_backend *b = o->backend;
    bool named = v->target || v->cpu || v->features || opt_emits(v);

    o->code.most_bytes = o->values.limit;
    if (!b || !b->machine || !named)
        return true;
    o->code.machine = b->machine(o->tool.ctx, o->tool.arena, &o->code);
    return o->code.machine;
}

static bool
work(opt *o)
{
    const char *output = o->values.output ? o->values.output : "-";
    const glow_source *source;
    glow_buf out = {0};

    o->code = code_options(o);
    source = read_machine(o) ? tool_read(&o->tool) : NULL;
    if (!source)
        return false;
    crash_install(o);

    bool ok = find_machine(o) && run_parts(o, source, &out);

    if (ok && !opt_emits(&o->values) && !o->values.verify_diagnostics &&
        (!o->values.bisect || out.len > 0))
        ok = glow_file_write(o->tool.ctx, output, out.text, out.len);
    glow_buf_free(&out);
    return ok;
}

int
opt_run(opt *o)
{
    bool ok;

    ok = work(o);
    print_time(o);
    print_stats(o);
    ok &= write_remarks(o);
    if (o->differs && !o->values.verify_diagnostics)
        return TOOL_DIFFERS;
    if (o->tool.bad_usage)
        return TOOL_USAGE;
    if (ok && o->bisect_code)
        return o->bisect_code;
    return ok ? TOOL_DONE : TOOL_FAILED;
}
