/*
 * The crash reproducer, always on.
 *
 * Passes are deterministic, so what leads to a crash is the input and the
 * command.  Both are at hand all the time and cost nothing to keep: the handler
 * writes them as one `.gir` with the command in its RUN line, with calls that
 * are safe in a handler, and raises the signal again.
 */

#define _XOPEN_SOURCE 700 /* realpath, sigaltstack */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/glow-opt/opt.h"

#define DEFAULT_PATH "glow-opt-crash.gir"

static struct {
    const char *command; /* the RUN line, whole */
    const char *path;
    const char *text; /* the input */
    size_t size;
    const char *volatile pass; /* at work, or NULL */
    volatile sig_atomic_t handling;
} state;

static char stack[65536];

/* In the handler. */

static void
put(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, text, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return;
        text += done;
        n -= (size_t)done;
    }
}

static void
puts_to(int fd, const char *text)
{
    put(fd, text, strlen(text));
}

/* The input without RUN lines of its own. */
static void
put_input(int fd)
{
    const char *at = state.text;
    const char *end = at + state.size;

    while (at < end) {
        const char *line = at;
        const char *stop = memchr(at, '\n', (size_t)(end - at));

        at = stop ? stop + 1 : end;
        if ((size_t)(at - line) >= 7 && memcmp(line, "// RUN:", 7) == 0)
            continue;
        put(fd, line, (size_t)(at - line));
    }
}

static void
write_reproducer(void)
{
    int fd = open(state.path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0666);

    if (fd < 0) {
        puts_to(STDERR_FILENO, "glow-opt: the reproducer cannot be written\n");
        return;
    }
    puts_to(fd, state.command);
    if (state.pass) {
        puts_to(fd, "// crashed in pass ");
        puts_to(fd, state.pass);
        puts_to(fd, "\n");
    }
    put_input(fd);
    close(fd);
    puts_to(STDERR_FILENO, "glow-opt: to reproduce this: ");
    puts_to(STDERR_FILENO, state.path);
    puts_to(STDERR_FILENO, "\n");
}

static void
handle(int signal_number)
{
    if (!state.handling) {
        state.handling = 1;
        puts_to(STDERR_FILENO, "glow-opt: crashed");
        if (state.pass) {
            puts_to(STDERR_FILENO, " in pass ");
            puts_to(STDERR_FILENO, state.pass);
        }
        puts_to(STDERR_FILENO, "; this is a bug\n");
        glow_output_cleanup();
        if (state.text)
            write_reproducer();
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Ctrl-C is no crash: it only leaves nothing behind. */
static void
interrupted(int signal_number)
{
    glow_output_cleanup();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Before. */

static void
put_argument(glow_buf *b, const char *arg)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,:";

    glow_buf_putc(b, ' ');
    if (*arg && strspn(arg, plain) == strlen(arg)) {
        glow_buf_puts(b, arg);
        return;
    }
    glow_buf_putc(b, '\'');
    for (const char *c = arg; *c; c++)
        if (*c == '\'')
            glow_buf_puts(b, "'\\''");
        else if (*c == '\n')
            glow_buf_putc(b, ' ');
        else
            glow_buf_putc(b, *c);
    glow_buf_putc(b, '\'');
}

/* `-name=value`, if there is a value. */
static void
put_option(glow_buf *b, const char *name, const char *value)
{
    if (value)
        put_argument(b, glow_arena_printf(b->arena, "-%s=%s", name, value));
}

static void
put_flag(glow_buf *b, const char *name, bool given)
{
    if (given)
        glow_buf_printf(b, " -%s", name);
}

/* Paths from anywhere, since the reproducer may be run anywhere. */
static const char *
absolute(glow_arena *a, const char *path)
{
    char whole[PATH_MAX];

    return realpath(path, whole) ? glow_arena_strdup(a, whole) : path;
}

/* Plugins by path or name; those of GLOW_PLUGINS have to be there again. */
static void
put_plugins(glow_buf *b, const tool_list *plugins)
{
    for (size_t i = 0; i < plugins->count; i++) {
        const char *name = plugins->items[i];

        put_option(b, "plugin",
                   strchr(name, '/') ? absolute(b->arena, name) : name);
    }
}

/* What the module at hand reads: it may have been told where, or not. */
static void
put_weights(glow_buf *b, const glow_module *m, const tool_list *rebound)
{
    for (size_t i = 0; i < rebound->count; i++) {
        const char *path = strchr(rebound->items[i], '=') + 1;

        put_option(b, "weights",
                   glow_arena_printf(
                       b->arena, "%.*s%s", (int)(path - rebound->items[i]),
                       rebound->items[i], absolute(b->arena, path)));
    }
    for (const glow_weights *w = m ? m->weights : NULL; w; w = w->next) {
        const char *alias = glow_arena_printf(b->arena, "%s=", w->alias);
        bool known = !w->span.source; /* -reattach says where */

        for (size_t i = 0; i < rebound->count; i++)
            known |= strncmp(rebound->items[i], alias, strlen(alias)) == 0;
        if (!known)
            put_option(b, "weights",
                       glow_arena_printf(
                           b->arena, "%s%s", alias,
                           absolute(b->arena,
                                    glow_arena_printf(b->arena, "%s/%s",
                                                      w->base ? w->base : ".",
                                                      w->path))));
    }
}

static void
put_emit(glow_buf *b, const opt_values *v)
{
    if (!opt_emits(v))
        return;
    put_flag(b, "emit-object", v->emit_object);
    put_flag(b, "emit-asm", v->emit_asm);
    put_flag(b, "emit-llvm", v->emit_llvm);
    put_flag(b, "emit-bundle", v->emit_bundle);
    put_option(b, "target", v->target);
    put_option(b, "cpu", v->cpu);
    put_option(b, "features", v->features);
    glow_buf_puts(b, " -o %t");
}

/* `// RUN: glow-opt -plugin=/p/x.so -passes='a,b' %s` */
static const char *
command_line(const opt *o, const glow_module *m)
{
    const opt_values *v = &o->values;
    glow_buf b = {.arena = o->tool.arena};

    glow_buf_puts(&b, "// RUN: glow-opt");
    put_plugins(&b, &o->tool.common.plugins);
    put_weights(&b, m, &v->weights);
    for (size_t i = 0; i < v->disable_pass.count; i++)
        put_option(&b, "disable-pass", v->disable_pass.items[i]);
    put_option(&b, "rewrite-limit", v->rewrite_limit);
    put_option(&b, "backend", v->backend);
    put_flag(&b, "allow-unknown-ops", v->allow_unknown_ops);
    put_flag(&b, "allow-elided", v->allow_elided);
    if (v->reattach)
        put_option(&b, "reattach", absolute(o->tool.arena, v->reattach));
    put_flag(&b, "no-verify-each", !v->verify_each);
    put_flag(&b, "verify-semantics", v->verify_semantics);
    put_flag(&b, "verify-roundtrip-each", v->verify_roundtrip_each);
    put_option(&b, "passes", o->pipeline->text);
    put_option(&b, "memory-map", v->memory_map);
    put_emit(&b, v);
    glow_buf_puts(&b, " %s\n");
    return b.text;
}

void
crash_install(opt *o)
{
    static const int fatal[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
    static const int gentle[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction a = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    struct sigaction g = {.sa_handler = interrupted};

    state.command = command_line(o, NULL);
    state.path = o->values.reproducer ? o->values.reproducer : DEFAULT_PATH;
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    sigemptyset(&a.sa_mask);
    sigemptyset(&g.sa_mask);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        sigaction(fatal[i], &a, NULL);
    for (size_t i = 0; i < sizeof gentle / sizeof *gentle; i++)
        sigaction(gentle[i], &g, NULL);
}

void
crash_input(const glow_source *source)
{
    state.text = source ? source->text : NULL;
    state.size = source ? source->size : 0;
    state.pass = NULL;
}

void
crash_module(const opt *o, const glow_module *m)
{
    state.command = command_line(o, m);
}

static bool
before(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number)
{
    (void)user, (void)m, (void)f, (void)number;
    state.pass = p->name;
    return true;
}

static bool
after(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number,
      glow_result result, double seconds)
{
    (void)user, (void)p, (void)m, (void)f, (void)number, (void)result;
    (void)seconds;
    state.pass = NULL;
    return true;
}

void
add_crash(opt *o, instruments *list)
{
    list->at[list->count++] =
        (glow_instrument){.user = o, .before = before, .after = after};
}
