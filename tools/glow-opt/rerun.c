/*
 * -run-reproducer=FILE: runs the command in FILE.
 *
 * The RUN line of a reproducer, or of a test of -bisect, is split into words as
 * a shell would; `%s` becomes FILE, `%t` FILE.out.  This process then becomes
 * that command, with the other options of the command line behind it.
 */

#define _XOPEN_SOURCE 700

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tools/glow-opt/opt.h"

static const char run[] = "// RUN: ";

/* The RUN line at `c`, with lines that a backslash continues; NULL: none. */
static const char *
command_of(glow_arena *a, const glow_source *s)
{
    glow_buf b = {.arena = a};

    for (const char *line = s->text, *end; *line; line = end + (*end == '\n')) {
        end = line + strcspn(line, "\n");
        if (strncmp(line, run, sizeof run - 1) != 0)
            continue;
        line += sizeof run - 1;

        bool goes_on = end > line && end[-1] == '\\';

        glow_buf_add(&b, line, (size_t)(end - line) - goes_on);
        if (!goes_on)
            break;
    }
    return b.text;
}

/* Adds `text`; `%s` is the file, `%t` a file beside it. */
static void
put_part(glow_buf *b, const char *text, size_t n, const char *file)
{
    for (size_t i = 0; i < n; i++)
        if (i + 1 < n && text[i] == '%' && strchr("st", text[i + 1])) {
            glow_buf_printf(b, text[++i] == 's' ? "%s" : "%s.out", file);
        } else {
            glow_buf_putc(b, text[i]);
        }
}

/* The next word of *at, its quotes off; NULL at the end. */
static const char *
next_word(glow_arena *a, const char **at, const char *file)
{
    glow_buf b = {.arena = a};
    const char *c = *at + strspn(*at, " \t");

    if (!*c)
        return NULL;
    glow_buf_puts(&b, "");
    while (*c && *c != ' ' && *c != '\t') {
        bool quoted = *c == '\'' || *c == '"';
        const char end[] = {*c, '\0'};
        size_t n = quoted ? strcspn(c + 1, end) : strcspn(c, "'\"\\ \t");

        if (*c == '\\' && c[1]) {
            glow_buf_putc(&b, c[1]);
            c += 2;
            continue;
        }
        put_part(&b, c + quoted, n, file);
        c += n + quoted;
        c += quoted && *c;
        if (n == 0 && !quoted && *c == '\\')
            c++;
    }
    *at = c;
    return b.text ? b.text : "";
}

static bool
is_of_shell(const char *word)
{
    return strpbrk(word, "|<>;&") != NULL && strchr(word, '=') == NULL;
}

/* Appends the arguments of this process, except -run-reproducer. */
static void
add_others(opt *o, tool_list *words)
{
    const char *file = o->values.run_reproducer;

    for (int i = 1; i < o->tool.argc; i++) {
        const char *arg = o->tool.argv[i];
        const char *name =
            arg + (arg[0] == '-') + (arg[0] == '-' && arg[1] == '-');

        if (strncmp(name, "run-reproducer", 14) == 0 && arg[0] == '-') {
            if (name[14] == '\0')
                i++;
            continue;
        }
        if (arg != file)
            tool_list_add(&o->tool, words, arg);
    }
}

int
run_reproducer(opt *o)
{
    const char *file = o->values.run_reproducer;
    const glow_source *s = glow_source_read(o->tool.ctx, file);
    const char *at = s ? command_of(o->tool.arena, s) : NULL;
    const char *word = at ? next_word(o->tool.arena, &at, file) : NULL;
    tool_list words = {0};

    if (!s)
        return TOOL_FAILED;
    if (!word || strcmp(word, "glow-opt") != 0) {
        glow_error(o->tool.ctx, "E0601",
                   "%s has no line `// RUN: glow-opt ...` with a command",
                   file);
        return TOOL_FAILED;
    }
    tool_list_add(&o->tool, &words, o->tool.argv[0]);
    while ((word = next_word(o->tool.arena, &at, file))) {
        if (is_of_shell(word)) {
            glow_error(o->tool.ctx, "E0601",
                       "the command of %s goes on with `%s`, which is for a "
                       "shell",
                       file, word);
            return TOOL_FAILED;
        }
        tool_list_add(&o->tool, &words, word);
    }
    add_others(o, &words);
    tool_list_add(&o->tool, &words, NULL);
    execv("/proc/self/exe", (char *const *)(uintptr_t)words.items);
    execvp(o->tool.argv[0], (char *const *)(uintptr_t)words.items);
    glow_error(o->tool.ctx, "E0601", "%s cannot be run: %s", o->tool.argv[0],
               strerror(errno));
    return TOOL_FAILED;
}
