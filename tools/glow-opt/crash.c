/*
 * The crash reproducer, always on.
 *
 * Passes are deterministic, so input and command reproduce a crash.  The signal
 * handler writes both to a `.gir` with the command in its RUN line, with
 * async-signal-safe calls, and raises the signal again.
 */

#define _XOPEN_SOURCE 700 /* sigaltstack */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tools/glow-opt/opt.h"

#define DEFAULT_PATH "glow-opt-crash.gir"

static struct {
    const char *command; /* the RUN line, whole */
    const char *path;
    const char *text; /* the input */
    size_t size;
    const char *volatile pass; /* current pass, or NULL */
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
handle(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    if (signal_number == SIGBUS)
        tool_end_if_shorter(info->si_addr);
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

/* Ctrl-C is not a crash; removes temporary files. */
static void
interrupted(int signal_number)
{
    glow_output_cleanup();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Before. */

void
crash_install(opt *o)
{
    static const int fatal[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
    static const int gentle[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction a = {.sa_sigaction = handle,
                          .sa_flags = SA_ONSTACK | SA_SIGINFO};
    struct sigaction g = {.sa_handler = interrupted};

    state.command = opt_run_line(o, NULL);
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
    state.command = opt_run_line(o, m);
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
