/*
 * Calls that may end the process, made by fork.
 *
 * LLVM ends the process where a target lacks code for something: it calls abort
 * after "LLVM ERROR: Cannot select", exit after "error: ...", or accesses a null
 * pointer, as for WebAssembly in ELF files.  The caller of a library gets an
 * error instead.
 */

#include "codegen/cpu/run/child.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signals that end the child end it silently, not in a handler of the parent. */
static void
reset_signals(void)
{
    static const int fatal[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
    const struct rlimit none = {0, 0};

    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &none);
}

static void
run_child(bool (*work)(void *, FILE *), void *user, FILE *out, FILE *err)
{
    bool ok;

    reset_signals();
    dup2(fileno(err), STDERR_FILENO);
    ok = work(user, out) && fflush(out) == 0;
    _exit(ok ? 0 : 1);
}

static void
read_all(FILE *from, glow_buf *to)
{
    char some[4096];
    size_t n;

    rewind(from);
    while ((n = fread(some, 1, sizeof some, from)) > 0)
        glow_buf_add(to, some, n);
}

/* The first line of the child's standard error, or its exit status. */
static const char *
reason(glow_arena *a, FILE *err, int status)
{
    static const char prefix[] = "LLVM ERROR: ";
    glow_buf text = {.arena = a};
    const char *line;

    read_all(err, &text);
    line = glow_arena_strndup(a, text.text ? text.text : "",
                              text.text ? strcspn(text.text, "\n") : 0);
    if (strncmp(line, prefix, sizeof prefix - 1) == 0)
        line += sizeof prefix - 1;
    if (*line)
        return line;
    return WIFSIGNALED(status)
               ? glow_arena_printf(a, "signal %d", WTERMSIG(status))
               : glow_arena_printf(a, "exit code %d", WEXITSTATUS(status));
}

static const char *
in_child(glow_arena *a, bool (*work)(void *, FILE *), void *user,
         glow_buf *answer, FILE *out, FILE *err)
{
    int status = 0;
    pid_t child = fork();

    if (child < 0)
        return "no process could be made";
    if (child == 0)
        run_child(work, user, out, err);
    if (waitpid(child, &status, 0) != child)
        return "the process cannot be waited for";
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return reason(a, err, status);
    read_all(out, answer);
    return NULL;
}

const char *
glow_cpu_in_child(glow_arena *a, bool (*work)(void *user, FILE *out),
                  void *user, glow_buf *answer)
{
    FILE *out = tmpfile(), *err = tmpfile();
    const char *why = out && err ? in_child(a, work, user, answer, out, err)
                                 : "no temporary file could be made";

    if (out)
        fclose(out);
    if (err)
        fclose(err);
    return why;
}
