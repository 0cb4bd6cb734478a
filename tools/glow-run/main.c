/*
 * glow-run: runs a function of a .gir file on tensors.
 *
 * Graphs are compiled to the level that the backend takes; programs are run
 * unchanged, except that unplaced buffers are placed.
 */

#include <string.h>

#include "glow/devices.h"
#include "tools/common/image.h"
#include "tools/glow-run/run.h"

#define AT(member) offsetof(run_values, member)

/* Bytes between the buffers of -red-zones: of the widest vectors. */
enum { GAP = 256 };

static const char *const sensitivity_words[] = {"json", NULL};

static const tool_option options[] = {
    {"input", TOOL_LIST, AT(inputs), "NAME=WHAT", NULL, "tensors",
     "x.npy, random:SEED, zero, ramp, or x.png[,y.png...]"},
    {"output", TOOL_LIST, AT(outputs), "NAME=FILE", NULL, "tensors",
     "write an output as .npy"},
    {"output-dir", TOOL_TEXT, AT(output_dir), "DIR", NULL, "tensors",
     "write every output as DIR/NAME.npy"},
    {"state", TOOL_TEXT, AT(state), "FILE", NULL, "tensors",
     "a .safetensors of what has {State: true}: read if it is there, written "
     "after the run"},
    {"expect", TOOL_LIST, AT(expect), "NAME=FILE", NULL, "tensors",
     "compare an output with an .npy; exit with 3 if it differs"},
    {"rtol", TOOL_REAL, AT(rtol), "R", NULL, "tensors",
     "how far it may be off: atol + rtol * |expected| (1e-3)"},
    {"atol", TOOL_REAL, AT(atol), "A", NULL, "tensors", "see -rtol (1e-5)"},
    {"image-mode", TOOL_WORD, AT(image_mode), "0to1|0to255|...", image_modes,
     "tensors", "what pixels become: 0to1, 0to255, neg1to1, neg128to127"},
    {"image-layout", TOOL_WORD, AT(image_layout), "NCHW|NHWC", image_layouts,
     "tensors", "the axes of an input that takes pictures (NCHW)"},

    {"backend", TOOL_TEXT, AT(backend), "NAME", NULL, "running",
     "what runs it: cpu, interp (cpu), with options: 'cpu<winograd=off>'"},
    {"devices", TOOL_TEXT, AT(devices), "FILE", NULL, "running",
     "run it on these devices (JSON): by the backend parts, after partition if "
     "it has no Runs"},
    {"in-flight", TOOL_INT, AT(in_flight), "N", NULL, "running",
     "let so many runs of the inputs, or of -bench, go on at once, on the devices "
     "of -devices or on some of -backend; outputs of all runs are in a row"},
    {"isolate", TOOL_FLAG, AT(isolate), NULL, NULL, "running",
     "with -in-flight: give each device a process, which may crash without harm"},
    {"resident", TOOL_FLAG, AT(resident), NULL, NULL, "running",
     "with -in-flight: keep the tensors of -state in memory of the device that uses them, "
     "instead of copying them for each run"},
    {"executor", TOOL_TEXT, AT(executor), "NAME", NULL, "running",
     "with -in-flight: " TOOL_EXECUTOR_HELP},
    {"passes", TOOL_TEXT, AT(passes), "TEXT", NULL, "running",
     "run these, as glow-opt has them, instead of -O2"},
    {"function", TOOL_TEXT, AT(function), "NAME", NULL, "running",
     "which function (@main, or the only one)"},
    {"O0", TOOL_FLAG, AT(level[0]), NULL, NULL, "running", "do what must be"},
    {"O1", TOOL_FLAG, AT(level[1]), NULL, NULL, "running", "clean up as well"},
    {"O2", TOOL_FLAG, AT(level[2]), NULL, NULL, "running",
     "optimize (the default of cpu; interp runs what it gets)"},
    {"O3", TOOL_FLAG, AT(level[3]), NULL, NULL, "running",
     "take time to optimize"},
    {"Os", TOOL_FLAG, AT(level[4]), NULL, NULL, "running",
     "optimize for memory"},
    {"cpu", TOOL_TEXT, AT(cpu), "NAME", NULL, "running",
     "make code as for this processor, which this one can stand in for"},
    {"features", TOOL_TEXT, AT(features), "LIST", NULL, "running",
     "with these features and without those, as -avx2,-fma"},
    {"winograd", TOOL_WORD, AT(winograd), "auto|off|2|4", tool_winograd_words,
     "running",
     "option of cpu: convolutions of stride 1 by F(2) or F(4); off is -no-winograd "
     "(auto; with -Os off)"},
    {"exact", TOOL_FLAG, AT(exact), NULL, NULL, "running",
     "round as interp does: no FMA, Winograd, Strassen, reciprocals"},
    {"subnormals", TOOL_WORD, AT(subnormals), "ieee|flush",
     tool_subnormal_words, "running",
     "flush: numbers below the normal ones are zeros to cpu (ieee)"},
    {"convert", TOOL_TEXT, AT(convert), "[pure-]bf16|f16[,EXCEPT...]", NULL,
     "running", "compute in 16 bits, but the operators and nodes EXCEPT"},
    TOOL_TUNING_OPTIONS(AT(tuning), "running"),
    {"threads", TOOL_INT, AT(threads), "N", NULL, "running",
     "split the work for so many, at most (1); interp takes one"},
    TOOL_CACHE_OPTIONS(AT(cache), "running"),
    {"cache-bytes", TOOL_BYTES, AT(cache_bytes), "BYTES", NULL, "running",
     "what the folder may hold; what was used longest ago goes (4GiB)"},
    {"weights", TOOL_LIST, AT(weights), "ALIAS=PATH", NULL, "running",
     "take the weights of ALIAS from PATH"},

    {"dump-profile", TOOL_TEXT, AT(dump_profile), "FILE", NULL, "quantization",
     "run on all inputs, and write the ranges of all values: k times the first "
     "axis of an .npy, k times the pictures, or list:FILE of files are k runs"},
    {"profile-bins", TOOL_INT, AT(profile_bins), "N", NULL, "quantization",
     "bins of each histogram (1024)"},
    {"load-profile", TOOL_NAMES, AT(load_profile), "FILE[,FILE...]", NULL,
     "quantization", "calibrate by these profiles before all other passes"},
    {"quantize", TOOL_WORD, AT(quantize), "OPTIONS", NULL, "quantization",
     "compute in integers: options of the pass, as 'schema=symmetric'"},
    {"accuracy", TOOL_FLAG, AT(accuracy), NULL, NULL, "quantization",
     "run it without -quantize and -convert too, on all inputs, and print how "
     "far each output is off"},
    {"reference", TOOL_TEXT, AT(reference), "FILE", NULL, "quantization",
     "let -accuracy run this file instead: of a module quantized before"},
    {"expect-class", TOOL_TEXT, AT(expect_class), "FILE", NULL, "quantization",
     "let -accuracy count rows with the largest score at these places: an .npy "
     "or a text of integers"},
    {"sensitivity", TOOL_WORD, AT(sensitivity), "json", sensitivity_words,
     "quantization",
     "quantize one node at a time, and print what each costs, the worst first"},
    {"sensitivity-budget", TOOL_INT, AT(sensitivity_budget), "N", NULL,
     "quantization", "networks that are tried, at most (256)"},
    {"least-sqnr", TOOL_REAL, AT(least_sqnr), "DB", NULL, "quantization",
     "keep nodes in float until each output has this signal over noise, and "
     "print the list"},
    {"save-quantized", TOOL_TEXT, AT(save_quantized), "FILE", NULL,
     "quantization", "write the network that -least-sqnr finds"},

    {"red-zones", TOOL_FLAG, AT(red_zones), NULL, NULL, "measuring",
     "option of cpu: fail where a step changes memory that is not its own"},
    {"bench", TOOL_FLAG, AT(bench), NULL, NULL, "measuring",
     "time it: minimum and median of many runs"},
    {"warmup", TOOL_INT, AT(warmup), "N", NULL, "measuring",
     "runs that are not timed (3)"},
    {"iterations", TOOL_INT, AT(iterations), "N", NULL, "measuring",
     "runs that are, at least (20)"},
    {"seconds", TOOL_REAL, AT(seconds), "S", NULL, "measuring",
     "go on with them for so long (0)"},
    {"json", TOOL_FLAG, AT(json), NULL, NULL, "measuring",
     "print what -bench, -profile or -accuracy finds as JSON"},
    {"profile", TOOL_FLAG, AT(profile), NULL, NULL, "measuring",
     "print the time of each step, the least of as many runs"},
    {"target-file", TOOL_TEXT, AT(target_file), "FILE", NULL, "measuring",
     "the machine whose roofline -profile compares with: rates, in JSON"},
    {"trace", TOOL_TEXT, AT(trace), "FILE", NULL, "measuring",
     "write the time of each node for Chrome's trace viewer; with -in-flight of "
     "each part"},
    {0},
};

static const tool_spec spec = {
    .name = "glow-run",
    .usage = "[OPTION]... [INPUT.gir] -input NAME=WHAT...",
    .about = "Runs a function of a .gir file on tensors, compares what it "
             "gives, and measures it.",
    .options = options,
};

/* Reading. */

int
read_module(run *r)
{
    const char *const(*rebound)[2];

    if (!tool_rebind(&r->tool, &r->values.weights, &rebound))
        return TOOL_USAGE;
    if (!r->source)
        r->source = tool_read(&r->tool);
    if (!r->source)
        return TOOL_FAILED;

    const glow_parse_options how = {
        .folder = tool_folder_of(&r->tool, r->source->name),
        .rebind = rebound,
    };

    r->module = glow_parse(r->tool.ctx, r->source, &how);
    if (!r->module)
        return TOOL_FAILED;
    return tool_check_rebound(&r->tool, rebound, r->module) ? TOOL_GO_ON
                                                            : TOOL_USAGE;
}

/* The only function that is not a body, or `main`. */
static const char *
entry_name(const glow_module *m)
{
    const glow_func *entry = glow_module_entry(m);

    return entry ? entry->name : "main";
}

static int
find_function(run *r)
{
    const char *name = r->values.function;
    tool_list names = {0};

    GLOW_FOR_EACH_FUNC(f, r->module)
        tool_list_add(&r->tool, &names, f->name);
    if (names.count == 0) {
        glow_error(r->tool.ctx, "E0504", "the file has no function to run");
        return TOOL_FAILED;
    }
    if (name && *name == '@')
        name++;
    if (!name)
        name = names.count == 1 ? names.items[0] : entry_name(r->module);
    r->func = glow_find_func(r->module, name);
    return r->func ? TOOL_GO_ON
                   : tool_unknown(&r->tool, "function", name, &names);
}

/* Compiling. */

const char *
conversion(run *r)
{
    const char *all = r->values.convert, *convert = NULL;
    const char *quantize = tool_quantization(&r->tool, r->values.quantize);
    size_t n;

    if (!all)
        return quantize;
    n = strcspn(all, ",");
    convert =
        tool_conversion(&r->tool, glow_arena_strndup(r->tool.arena, all, n),
                        all[n] ? all + n + 1 : NULL);
    return quantize
               ? glow_arena_printf(r->tool.arena, "%s,%s", quantize, convert)
               : convert;
}

static const char *const level_names[] = {"O0", "O1", "O2", "O3", "Os"};

/* The pipeline that the options -O0 to -Os name, or NULL. */
const char *
level_of(const run *r)
{
    const char *name = NULL;

    for (int i = 0; i < RUN_LEVELS; i++)
        if (r->values.level[i])
            name = level_names[i];
    return name;
}

/* The backend of -devices, which runs -O0 to -O3 or -Os on each part. */
static int
find_parts(run *r)
{
    tool_list own = {0};

    tool_own_option(
        &r->tool, &own, "devices",
        glow_arena_printf(r->tool.arena, "\"%s\"", r->values.devices));
    tool_own_option(&r->tool, &own, "passes", level_of(r));
    r->backend = tool_find_backend(&r->tool, "parts", &own, &r->options);
    return r->backend ? TOOL_GO_ON : TOOL_USAGE;
}

int
find_backend(run *r)
{
    const run_values *v = &r->values;
    const char *pipeline = v->level[RUN_LEVELS - 1] ? "Os" : v->passes;
    tool_list own = {0};

    if (v->devices)
        return find_parts(r);
    tool_own_option(
        &r->tool, &own, "winograd",
        tool_size_option(&tool_winograd, v->winograd, v->backend, pipeline));
    tool_own_option(
        &r->tool, &own, "packing",
        tool_size_option(&tool_packing, NULL, v->backend, pipeline));
    tool_own_option(&r->tool, &own, "red_zones", v->red_zones ? "true" : NULL);
    r->backend = tool_find_backend(&r->tool, v->backend, &own, &r->options);
    return r->backend ? TOOL_GO_ON : TOOL_USAGE;
}

/* The passes that make Runs of a function of -devices, or NULL if it has some. */
static const char *
partition_of(const run *r)
{
    return glow_has_runs(r->func)
               ? NULL
               : glow_arena_printf(r->tool.arena,
                                   "reduce,partition<devices=\"%s\">",
                                   r->values.devices);
}

/* The passes from the level of the function to that of the backend, or NULL. */
static const char *
passes_for(run *r)
{
    const char *passes = r->backend->level == GLOW_ANY ? NULL : "O2";
    const char *first = conversion(r);

    if (r->func->is_program)
        passes = r->backend->level == GLOW_PLACED && !r->func->placed ? "alloc"
                                                                      : NULL;
    if (r->values.devices)
        passes = partition_of(r);
    else if (level_of(r) && !r->func->is_program)
        passes = level_of(r);
    if (r->values.passes)
        passes = r->values.passes;
    if (passes && r->values.red_zones)
        passes =
            glow_arena_printf(r->tool.arena, "%s,alloc<gap=%d>", passes, GAP);
    if (first && passes)
        passes = glow_arena_printf(r->tool.arena, "%s,%s", first, passes);
    return tool_calibrated(&r->tool, &r->values.load_profile,
                           passes ? passes : first);
}

/* Tunes the program that the passes build, which replaces the function. */
static int
tune(run *r, const glow_target_options *code, glow_tuning *tuning)
{
    glow_target_options alone = *code;
    const glow_network_options how = {
        .backend = r->backend,
        .code = &alone,
        .passes = passes_for(r),
    };
    glow_network n = {0};

    alone.cache = NULL; /* its entries are of another module */
    if (!glow_network_load(&n, r->func, &how))
        return TOOL_FAILED;
    r->func = n.func;
    glow_network_unload(&n);
    return tool_tune(&r->tool, &r->values.tuning, r->backend, r->func, code,
                     tuning);
}

glow_target_options
target_options(run *r)
{
    return (glow_target_options){
        .cpu = r->values.cpu,
        .features = r->values.features,
        .threads = (int)r->values.threads,
        .cache = tool_cache_folder(&r->tool, &r->values.cache),
        .cache_bytes = r->values.cache_bytes,
        .options = r->options,
        .flush_subnormals = tool_flushes(r->values.subnormals),
        .exact = r->values.exact,
    };
}

int
compile(run *r)
{
    glow_target_options code = target_options(r);
    glow_network_options how = {
        .backend = r->backend,
        .code = &code,
        .passes = passes_for(r),
    };
    double begin = now_ms(), from = processor_ms();
    int levels = 0, result;
    glow_tuning *tuning;

    for (int i = 0; i < RUN_LEVELS; i++)
        levels += r->values.level[i];
    if (levels + (r->values.passes != NULL) > 1)
        return tool_usage(&r->tool, NULL,
                          "more than one of -O0 to -O3, -Os and -passes");
    result = tool_read_tuning(&r->tool, &r->values.tuning, &tuning);
    if (result == TOOL_GO_ON && r->values.tuning.tune) {
        result = tune(r, &code, tuning);
        how.passes = NULL; /* done already */
    }
    if (result != TOOL_GO_ON)
        return result;
    code.tuning = tuning;
    code.consumes = !takes_runs(r);
    if (!glow_network_load(&r->network, r->func, &how))
        return TOOL_FAILED;
    r->func = r->network.func;
    r->compile_ms = now_ms() - begin;
    r->processor_compile_ms = processor_ms() - from;
    return TOOL_GO_ON;
}

/* Reads -target-file, else asks the backend; without either there is no roofline. */
static int
read_machine(run *r)
{
    const char *path = r->values.target_file;
    const glow_source *source =
        path ? glow_source_read(r->tool.ctx, path) : NULL;

    const glow_target_options code = {.cpu = r->values.cpu,
                                      .features = r->values.features,
                                      .options = r->options};

    if (!path && !r->backend->target)
        return TOOL_GO_ON;
    if (source)
        r->machine = glow_target_read(r->tool.ctx, r->tool.arena, source);
    else if (!path)
        r->machine = r->backend->target(r->tool.ctx, r->tool.arena, &code);
    return r->machine ? TOOL_GO_ON : TOOL_FAILED;
}

/* The run. */

static bool
is_conversion(const char *text)
{
    for (size_t i = 0; tool_convert_words[i]; i++)
        if (strlen(tool_convert_words[i]) == strcspn(text, ",") &&
            strncmp(text, tool_convert_words[i], strcspn(text, ",")) == 0)
            return true;
    return false;
}

static int
check_sensitivity(run *r)
{
    const run_values *v = &r->values;

    if (!(v->least_sqnr >= 0 && v->least_sqnr <= 300))
        return tool_usage(&r->tool, NULL, "-least-sqnr takes 0 to 300 dB");
    if (v->save_quantized && v->least_sqnr <= 0)
        return tool_usage(&r->tool, "add -least-sqnr=DB",
                          "-save-quantized writes the network that -least-sqnr "
                          "finds");
    if (v->sensitivity_budget < 16 || v->sensitivity_budget > 1 << 20)
        return tool_usage(&r->tool, NULL,
                          "-sensitivity-budget takes 16 to 1048576");
    if ((v->sensitivity || v->least_sqnr > 0) &&
        (!v->quantize || v->accuracy || v->bench || v->profile || v->trace ||
         v->expect.count || v->dump_profile))
        return tool_usage(&r->tool, "add -quantize",
                          "-sensitivity and -least-sqnr go with -quantize, and "
                          "with none of -accuracy, -bench, -profile, -trace, "
                          "-expect and -dump-profile");
    return TOOL_GO_ON;
}

static int
check_usage(run *r)
{
    const run_values *v = &r->values;

    if (r->tool.inputs.count > 1)
        return tool_usage(&r->tool, NULL, "more than one input file");
    if (v->warmup < 0 || v->iterations < 1)
        return tool_usage(&r->tool, NULL,
                          "-warmup takes 0 or more, -iterations 1 or more");
    if (!(v->seconds >= 0 && v->seconds <= 86400))
        return tool_usage(&r->tool, NULL, "-seconds takes 0 to 86400");
    if (v->threads < 1 || v->threads > TOOL_MOST_THREADS)
        return tool_usage(&r->tool, NULL, "-threads takes 1 to %d",
                          TOOL_MOST_THREADS);
    if (v->json && v->bench + v->profile + v->accuracy != 1)
        return tool_usage(&r->tool, "add one of the three",
                          "-json prints what -bench, -profile or -accuracy "
                          "finds");
    if (v->target_file && !v->profile)
        return tool_usage(&r->tool, "add -profile",
                          "-target-file says what -profile compares with");
    if (tool_check_tuning(&r->tool, &v->tuning) != TOOL_GO_ON ||
        tool_check_exact(&r->tool, v->exact, v->winograd, v->subnormals) !=
            TOOL_GO_ON)
        return TOOL_USAGE;
    if (v->state && (v->bench || v->profile || v->trace || v->accuracy ||
                     v->dump_profile || v->sensitivity || v->least_sqnr > 0))
        return tool_usage(&r->tool, NULL,
                          "-state keeps what one run writes, and goes with "
                          "none of -bench, -profile, -trace, -accuracy, "
                          "-dump-profile, -sensitivity and -least-sqnr");
    if (v->dump_profile &&
        (v->bench || v->profile || v->trace || v->convert || v->quantize ||
         v->load_profile.count || v->expect.count))
        return tool_usage(&r->tool, NULL,
                          "-dump-profile goes with none of -bench, -profile, "
                          "-trace, -convert, -quantize, -load-profile and "
                          "-expect");
    if (v->profile_bins < 2 || v->profile_bins > 1 << 20)
        return tool_usage(&r->tool, NULL, "-profile-bins takes 2 to 1048576");
    if (v->convert && !is_conversion(v->convert))
        return tool_usage(&r->tool, NULL,
                          "-convert takes bf16, f16, pure-bf16 or pure-f16, "
                          "and what to leave out "
                          "after a comma, not '%s'",
                          v->convert);
    if (v->devices && (strcmp(v->backend, "cpu") != 0 || v->winograd ||
                       v->red_zones || v->tuning.tune))
        return tool_usage(&r->tool, "the file names the backend of each device",
                          "-devices goes with none of -backend, -winograd, "
                          "-red-zones and -tune");
    if (check_requests(r) != TOOL_GO_ON)
        return TOOL_USAGE;
    if (v->accuracy && !v->convert && !v->quantize && !v->reference)
        return tool_usage(&r->tool, "add -quantize or -convert=bf16",
                          "-accuracy says what -quantize or -convert loses, or "
                          "how far off -reference is");
    if ((v->reference || v->expect_class) && !v->accuracy)
        return tool_usage(&r->tool, "add -accuracy",
                          "-reference and -expect-class say what -accuracy "
                          "compares with");
    if (check_sensitivity(r) != TOOL_GO_ON)
        return TOOL_USAGE;
    if (!(v->rtol >= 0) || !(v->atol >= 0))
        return tool_usage(&r->tool, NULL, "-rtol and -atol take 0 or more");
    return TOOL_GO_ON;
}

static int
work(run *r)
{
    int code = check_usage(r);

    if (find_backend(r) != TOOL_GO_ON)
        return TOOL_USAGE;
    if (code == TOOL_GO_ON)
        code = read_machine(r);
    if (code == TOOL_GO_ON)
        code = read_module(r);
    if (code == TOOL_GO_ON)
        code = find_function(r);
    if (code == TOOL_GO_ON && r->values.dump_profile)
        code = insert_profile(r);
    if (code == TOOL_GO_ON)
        code = open_ports(r);
    if (code == TOOL_GO_ON && r->func->is_program && conversion(r))
        code = tool_usage(
            &r->tool, NULL, "-%s takes a graph, but @%s is a program",
            r->values.convert ? "convert" : "quantize", r->func->name);
    if (code == TOOL_GO_ON && takes_runs(r))
        code = count_runs(r);
    if (code == TOOL_GO_ON &&
        (r->values.sensitivity || r->values.least_sqnr > 0))
        return find_sensitivity(r);
    if (code == TOOL_GO_ON && r->values.in_flight) {
        code = run_requests(r);
        return code == TOOL_GO_ON ? finish_outputs(r) : code;
    }
    if (code == TOOL_GO_ON && r->values.accuracy)
        code = run_reference(r);
    if (code == TOOL_GO_ON)
        code = compile(r);
    if (code == TOOL_GO_ON && r->values.accuracy)
        code = run_judged(r, &r->network, r->module);
    if (code == TOOL_GO_ON)
        code = r->values.dump_profile ? dump_profile(r) : run_or_bench(r);
    if (code == TOOL_GO_ON && r->values.accuracy)
        print_accuracy(r);
    if (code == TOOL_GO_ON)
        code = finish_outputs(r);
    return code;
}

int
main(int argc, char **argv)
{
    run r = {.values = {.rtol = 1e-3,
                        .atol = 1e-5,
                        .backend = "cpu",
                        .threads = 1,
                        .tuning = {.budget = TOOL_BUDGET},
                        .cache.on = true,
                        .profile_bins = 1024,
                        .sensitivity_budget = 256,
                        .warmup = 3,
                        .iterations = 20}};
    int code = tool_begin(&r.tool, &spec, &r.values, argc, argv);

    if (code == TOOL_GO_ON)
        code = work(&r);
    glow_network_unload(&r.network);
    close_ports(&r);
    glow_state_free(r.state);
    if (r.module)
        glow_module_free(r.module);
    return tool_end(&r.tool, code);
}
