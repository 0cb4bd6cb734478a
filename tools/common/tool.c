/* Common parts of tools: context, diagnostics, plugins, input. */

#include "tools/common/tool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/describe.h"
#include "tools/common/options.h"

/* Diagnostics. */

static bool
use_color(const tool *t)
{
    const char *when = t->common.color;

    if (when && strcmp(when, "always") == 0)
        return true;
    if (when && strcmp(when, "never") == 0)
        return false;
    return isatty(STDERR_FILENO) && !getenv("NO_COLOR");
}

void
tool_show(const glow_diag *d, void *user)
{
    tool *t = user;
    glow_buf b = {0};

    tool_progress_wipe();
    if (d->severity == GLOW_ERROR &&
        t->errors_shown++ >= t->common.max_errors) {
        if (t->errors_shown == t->common.max_errors + 1)
            fprintf(stderr,
                    "%s: further errors are not shown, see -max-errors\n",
                    t->spec->name);
        return;
    }
    if (t->common.diag_format && strcmp(t->common.diag_format, "json") == 0)
        glow_diag_json(&b, d);
    else
        glow_diag_text(&b, d, use_color(t));
    fwrite(b.text, 1, b.len, stderr);
    glow_buf_free(&b);
}

void
tool_put(FILE *to, const char *text, size_t n)
{
    glow_buf b = {0};

    glow_buf_show(&b, text, n);
    if (b.len > 0)
        fwrite(b.text, 1, b.len, to);
    glow_buf_free(&b);
}

void
tool_print(FILE *to, const char *fmt, ...)
{
    glow_arena *a = glow_arena_new();
    const char *text;
    va_list ap;

    va_start(ap, fmt);
    text = glow_arena_vprintf(a, fmt, ap);
    va_end(ap);
    tool_put(to, text, strlen(text));
    glow_arena_free(a);
}

int
tool_usage(tool *t, const char *hint, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);

    const char *text = glow_arena_vprintf(t->arena, fmt, ap);

    va_end(ap);
    t->bad_usage = true;
    if (t->common.diag_format && strcmp(t->common.diag_format, "json") == 0) {
        glow_report(t->ctx,
                    &(glow_diag){.id = "E0900", .message = text, .hint = hint});
        return TOOL_USAGE;
    }
    tool_print(stderr, "%s: error: %s\n", t->spec->name, text);
    if (hint)
        tool_print(stderr, "help: %s\n", hint);
    return TOOL_USAGE;
}

int
tool_unknown(tool *t, const char *what, const char *name,
             const tool_list *names)
{
    const char *near = glow_did_you_mean(name, names->items, names->count);
    const char *hint =
        near ? glow_arena_printf(t->arena, "did you mean '%s'?", near) : NULL;

    return tool_usage(t, hint, "there is no %s '%s'", what, name);
}

void
tool_list_add(tool *t, tool_list *l, const char *item)
{
    l->items = glow_arena_grow(t->arena, l->items, l->count, &l->cap,
                               sizeof *l->items);
    l->items[l->count++] = item;
}

/* Names in the registries. */

tool_list
tool_pass_names(tool *t)
{
    tool_list l = {0};
    size_t n;
    const glow_pass *const *passes = glow_all_passes(t->ctx, &n);

    for (size_t i = 0; i < n; i++)
        tool_list_add(t, &l, passes[i]->name);
    return l;
}

const glow_pass *
tool_find_pass(tool *t, const char *name)
{
    const glow_pass *p = glow_find_pass(t->ctx, name);
    tool_list names = tool_pass_names(t);

    if (!p)
        tool_unknown(t, "pass", name, &names);
    return p;
}

static const glow_backend *
unknown_backend(tool *t, const char *name)
{
    tool_list names = {0};
    size_t n;
    const glow_backend *const *all = glow_all_backends(t->ctx, &n);

    for (size_t i = 0; i < n; i++)
        tool_list_add(t, &names, all[i]->name);
    tool_unknown(t, "backend", name, &names);
    return NULL;
}

/* True if the backend has each option of `own`; else after tool_usage. */
static bool
check_own(tool *t, const glow_backend *b, const tool_list *own)
{
    for (size_t i = 0; i < own->count; i++) {
        size_t n = strcspn(own->items[i], "=");
        const char *name = glow_arena_strndup(t->arena, own->items[i], n);

        if (!glow_schema_find(glow_backend_schema(b), name)) {
            tool_usage(t, NULL, "the backend %s has no option '%s'", b->name,
                       name);
            return false;
        }
    }
    return true;
}

/* "cpu<threads=2>" with more options in its brackets. */
static const char *
add_own(tool *t, const char *text, const tool_list *own)
{
    size_t n = strlen(text);
    bool has = n > 0 && text[n - 1] == '>';
    glow_buf b = {.arena = t->arena};

    if (own->count == 0)
        return text;
    glow_buf_printf(&b, "%.*s", (int)(n - has), text);
    for (size_t i = 0; i < own->count; i++)
        glow_buf_printf(&b, "%s%s", i == 0 && !has ? "<" : ",", own->items[i]);
    glow_buf_putc(&b, '>');
    return b.text;
}

void
tool_own_option(tool *t, tool_list *own, const char *name, const char *value)
{
    if (value)
        tool_list_add(t, own,
                      glow_arena_printf(t->arena, "%s=%s", name, value));
}

const glow_backend *
tool_find_backend(tool *t, const char *text, const tool_list *own,
                  const void **options)
{
    const char *name = glow_arena_strndup(t->arena, text, strcspn(text, " <"));
    const glow_backend *b = glow_find_backend(t->ctx, name);

    if (!b)
        return unknown_backend(t, name);
    if (!check_own(t, b, own))
        return NULL;
    text = add_own(t, text, own);
    b = glow_backend_parse(
        t->ctx, t->arena,
        glow_source_from(t->ctx, "<backend>", text, strlen(text)), options);
    t->bad_usage |= !b;
    return b;
}

const char *const tool_convert_words[] = {"bf16", "f16", "pure-bf16",
                                          "pure-f16", NULL};

/*
 * The passes of -convert: scales are folded into weights before these are
 * rounded, and constants are folded right after.
 */
const char *
tool_conversion(tool *t, const char *word, const char *except)
{
    bool is_pure = strncmp(word, "pure-", 5) == 0;
    const char *kind =
        strcmp(is_pure ? word + 5 : word, "f16") == 0 ? "float16" : "bfloat16";

    return glow_arena_printf(t->arena,
                             "reduce,convert-precision<to=%s%s%s%s%s>,"
                             "fixpoint(fold-convert,fold-constants,cse,dce)",
                             kind, is_pure ? ",policy=pure" : "",
                             except ? ",except=\"" : "", except ? except : "",
                             except ? "\"" : "");
}

void
tool_put_pass(glow_buf *b, const char *name, const char *options)
{
    char last = ',';

    glow_buf_puts(b, name);
    if (!options || *options == '\0')
        return;
    glow_buf_putc(b, '<');
    for (const char *c = options; *c; c++) {
        bool gap = *c == ' ' || *c == ',';

        if (!gap || last != ',')
            glow_buf_putc(b, gap ? ',' : *c);
        last = gap ? ',' : *c;
    }
    glow_buf_putc(b, '>');
}

const char *
tool_quantization(tool *t, const char *options)
{
    glow_buf b = {.arena = t->arena};

    if (!options)
        return NULL;
    tool_put_pass(&b, "quantize", options);
    return b.text;
}

/* The first place of the pass `name` in the text of a pipeline, or NULL. */
static const char *
find_pass(const char *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = text; (at = strstr(at, name)); at += n) {
        bool begins = at == text || strchr(",(", at[-1]);

        if (begins && strchr("<,)", at[n])) /* or the end */
            return at;
    }
    return NULL;
}

/* `passes` with an equalize before their first quantize, unless they have one. */
static const char *
equalized(tool *t, const char *passes)
{
    const char *at = find_pass(passes, "quantize");

    return at && !find_pass(passes, "equalize")
               ? glow_arena_printf(t->arena, "%.*s" TOOL_EQUALIZE ",%s",
                                   (int)(at - passes), passes, at)
               : passes;
}

const char *
tool_calibrated(tool *t, const tool_list *files, const char *passes)
{
    static const char name[] = "calibrate";
    glow_buf list = {.arena = t->arena}, b = {.arena = t->arena};
    const char *at;

    if (files->count == 0)
        return passes;
    passes = passes ? equalized(t, passes) : "";
    at = find_pass(passes, name);
    for (size_t i = 0; i < files->count; i++)
        glow_buf_printf(&list, "%s%s", i ? "," : "", files->items[i]);
    glow_buf_add(&b, passes, at ? (size_t)(at - passes) : 0);
    glow_buf_printf(&b, "%s<profile=", name);
    glow_buf_quoted(&b, list.text, list.len);
    if (!at)
        glow_buf_printf(&b, ">%s%s", *passes ? "," : "", passes);
    else if (at[strlen(name)] == '<')
        glow_buf_printf(&b, ",%s", at + strlen(name) + 1);
    else
        glow_buf_printf(&b, ">%s", at + strlen(name));
    return b.text;
}

const char *const tool_subnormal_words[] = {"ieee", "flush", NULL};

bool
tool_flushes(const char *word)
{
    return word && strcmp(word, "flush") == 0;
}

const char *const tool_winograd_words[] = {"auto", "off", "2", "4", NULL};
const tool_size tool_winograd = {"winograd", "off"};
const tool_size tool_packing = {"packing", "small"};

const char *
tool_size_option(const tool_size *o, const char *given, const char *backend,
                 const char *pipeline)
{
    size_t length = strcspn(backend, "<");
    bool is_free = length == 3 && strncmp(backend, "cpu", length) == 0 &&
                   !strstr(backend, o->name);

    while (is_free && !given && pipeline && *pipeline) {
        size_t n = strcspn(pipeline, ",<>()");

        if (n == 2 && strncmp(pipeline, "Os", n) == 0)
            return o->small;
        pipeline += n + (pipeline[n] != '\0');
    }
    return given;
}

int
tool_check_exact(tool *t, bool exact, const char *winograd,
                 const char *subnormals)
{
    bool forced =
        winograd && (strcmp(winograd, "2") == 0 || strcmp(winograd, "4") == 0);

    if (exact && (forced || tool_flushes(subnormals)))
        return tool_usage(t, "leave out one of the two",
                          "-exact does not go with -%s=%s, which rounds "
                          "differently",
                          forced ? "winograd" : "subnormals",
                          forced ? winograd : subnormals);
    return TOOL_GO_ON;
}

/* Plugins. */

static bool
load_plugins(tool *t)
{
    const char *list = getenv("GLOW_PLUGINS");
    bool ok = true;

    while (list && *list) {
        size_t n = strcspn(list, ":");

        if (n > 0)
            tool_list_add(t, &t->plugins,
                          glow_arena_strndup(t->arena, list, n));
        list += n + (list[n] == ':');
    }
    for (size_t i = 0; i < t->common.plugins.count; i++)
        tool_list_add(t, &t->plugins, t->common.plugins.items[i]);
    for (size_t i = 0; i < t->plugins.count; i++)
        ok &= glow_plugin_load(t->ctx, t->plugins.items[i]);
    return ok;
}

/* Beginning and end. */

/* _exit, because other threads may be running, without memory either. */
static void
out_of_memory(size_t size, void *user)
{
    (void)user;
    if (size > 0)
        fprintf(stderr, "error: out of memory, asked for %zu bytes\n", size);
    else
        fprintf(stderr, "error: out of memory\n");
    glow_output_cleanup();
    _exit(TOOL_FAILED);
}

/* In a handler. */
static void
put(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(TOOL_FAILED);
}

void
tool_end_if_shorter(const void *address)
{
    const char *path = glow_file_mapped_at(address);

    if (!path)
        return;
    put("error: `");
    put(path);
    put("` became shorter while it was in use\n"
        "help: write another file, and give it this name when it is whole\n");
    glow_output_cleanup();
    _exit(TOOL_FAILED);
}

static void
bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    tool_end_if_shorter(info->si_addr);
    signal(number, SIG_DFL);
    raise(number);
}

static void
install_handlers(void)
{
    struct sigaction a = {.sa_sigaction = bus_error, .sa_flags = SA_SIGINFO};

    sigemptyset(&a.sa_mask);
    sigaction(SIGBUS, &a, NULL);
    glow_on_out_of_memory(out_of_memory, NULL);
}

static int
print_version(tool *t)
{
    const glow_plugin *p;

    printf("%s %s\nABI %d.%d\nLLVM %s\n", t->spec->name, glow_version(),
           GLOW_ABI_MAJOR, GLOW_ABI_MINOR, GLOW_LLVM_VERSION);
    for (size_t i = 0; (p = glow_plugin_at(t->ctx, i)); i++)
        printf("plugin %s %s (%s)\n", p->name, p->version ? p->version : "?",
               p->licence ? p->licence : "no licence stated");
    return TOOL_DONE;
}

int
tool_begin(tool *t, const tool_spec *spec, void *values, int argc, char **argv)
{
    install_handlers();
    *t = (tool){.spec = spec,
                .values = values,
                .ctx = glow_context_new(),
                .arena = glow_arena_new(),
                .argc = argc,
                .argv = argv,
                .common = {.max_errors = 20}};
    glow_context_set_sink(t->ctx, tool_show, t);

    tool_list pending = {0};

    tool_parse(t, &pending);
    if (t->bad_usage)
        return TOOL_USAGE;
    if (!load_plugins(t))
        return TOOL_FAILED;
    tool_parse_pending(t, &pending);
    if (t->bad_usage)
        return TOOL_USAGE;
    if (t->common.version)
        return print_version(t);
    if (t->common.help)
        return tool_help(t, t->common.help);
    if (t->common.explain)
        return tool_explain(t, t->common.explain);
    return TOOL_GO_ON;
}

int
tool_end(tool *t, int code)
{
    tool_progress_end();
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == TOOL_DONE) {
        fprintf(stderr, "%s: error: the output could not be written\n",
                t->spec->name);
        code = TOOL_FAILED;
    }
    glow_context_free(t->ctx);
    glow_arena_free(t->arena);
    return code;
}

static bool
ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n > m && strcmp(name + n - m, end) == 0;
}

/* The command that reads the binary file `s`, or NULL. */
static const char *
reader_of(tool *t, const glow_source *s)
{
    static const struct {
        const char *end, *hint;
    } kinds[] = {
        {".onnx", "glow-translate -import-onnx %s -o model.gir"},
        {".pb", "glow-translate -import-caffe2 %s -init init_net.pb -o "
                "model.gir"},
        {".safetensors", "weights: a module names them, weights \"w\" = "
                         "safetensors(\"%s\")"},
        {".npy", "glow-run takes it: -input NAME=%s"},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (ends_in(s->name, kinds[i].end)) {
            const char *at = strstr(kinds[i].hint, "%s");

            return glow_arena_printf(t->arena, "%.*s%s%s",
                                     (int)(at - kinds[i].hint), kinds[i].hint,
                                     s->name, at + 2);
        }
    return s->size > 2 && s->text[0] == 8 && (unsigned char)s->text[1] < 64
               ? "it may be an ONNX model: glow-translate -import-onnx"
               : NULL;
}

/* True if `s` has bytes near its beginning that no text has. */
static bool
is_binary(const glow_source *s)
{
    for (size_t i = 0; i < s->size && i < 512; i++) {
        unsigned char c = (unsigned char)s->text[i];

        if (c < 0x20 && !strchr("\t\n\v\f\r\x1b", c))
            return true;
        if (c == '\0')
            return true;
    }
    return false;
}

const glow_source *
tool_read(tool *t)
{
    const char *path = t->inputs.count > 0 ? t->inputs.items[0] : "-";

    const glow_source *s = glow_source_read(t->ctx, path);

    if (s && strspn(s->text, " \t\r\n") == s->size) {
        glow_error(t->ctx, "E0601", "%s is empty", s->name);
        return NULL;
    }
    if (s && is_binary(s)) {
        glow_error_hint(t->ctx, (glow_span){0}, "E0601", reader_of(t, s),
                        "%s is binary, not text", s->name);
        return NULL;
    }
    return s;
}
