/*
 * Parser of command lines.
 *
 * `-name`, `-name=value`, and `-name value` where the option wants one; two
 * dashes are the same as one, and `--` ends the options.  Unknown options are
 * kept until plugins are loaded, since they may be passes of plugins.
 */

#include "tools/common/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const formats[] = {"text", "json", NULL};
static const char *const colors[] = {"auto", "always", "never", NULL};

#define AT(member) offsetof(tool, common.member)

const tool_option tool_common_options[] = {
    {"plugin", TOOL_LIST, AT(plugins), "NAME|PATH", NULL, "general",
     "load a plugin; GLOW_PLUGINS may name more, apart by colons"},
    {"diag-format", TOOL_WORD, AT(diag_format), "text|json", formats, "general",
     "how messages are written"},
    {"max-errors", TOOL_INT, AT(max_errors), "N", NULL, "general",
     "show no more than N errors (20)"},
    {"color", TOOL_WORD, AT(color), "auto|always|never", colors, "general",
     "color messages; NO_COLOR in the environment is heeded"},
    {"explain", TOOL_TEXT, AT(explain), "ID", NULL, "general",
     "explain an error, such as E0203"},
    {"help", TOOL_WORD, AT(help), "NAME", NULL, "general",
     "explain a group of options, an option, pass, operator or error"},
    {"v", TOOL_FLAG, AT(verbose), NULL, NULL, "general", "say what is done"},
    {"version", TOOL_FLAG, AT(version), NULL, NULL, "general",
     "print the versions of the tool, the ABI, LLVM and the plugins"},
    {0},
};

/* The address of the value of `o`. */
static void *
slot(tool *t, const tool_option *o)
{
    bool common = false;

    for (const tool_option *c = tool_common_options; c->name; c++)
        common |= c == o;
    return (char *)(common ? (void *)t : t->values) + o->at;
}

const tool_option *
tool_find_option(const tool *t, const char *name)
{
    for (const tool_option *o = t->spec->options; o->name; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    for (const tool_option *o = tool_common_options; o->name; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

static bool
set_int(tool *t, const tool_option *o, const char *value)
{
    char *end;

    errno = 0;

    long long v = strtoll(value, &end, 10);

    if (*value == '\0' || *end != '\0' || errno)
        return tool_usage(t, NULL, "-%s wants a whole number, not '%s'",
                          o->name, value) == 0;
    *(int64_t *)slot(t, o) = v;
    return true;
}

static bool
set_real(tool *t, const tool_option *o, const char *value)
{
    char *end;
    double v = strtod(value, &end);

    if (*value == '\0' || *end != '\0')
        return tool_usage(t, NULL, "-%s wants a number, not '%s'", o->name,
                          value) == 0;
    *(double *)slot(t, o) = v;
    return true;
}

static bool
set_bytes(tool *t, const tool_option *o, const char *value)
{
    int64_t *to = slot(t, o);

    if (glow_read_bytes(value, to) && *to > 0)
        return true;
    return tool_usage(t, NULL,
                      "-%s wants bytes above 0, as 65536, 512KiB or 4MiB, not "
                      "'%s'",
                      o->name, value) == 0;
}

static void
set_names(tool *t, tool_list *l, const char *value)
{
    while (*value) {
        size_t n = strcspn(value, ",");

        if (n > 0)
            tool_list_add(t, l, glow_arena_strndup(t->arena, value, n));
        value += n + (value[n] == ',');
    }
}

static bool
set_word(tool *t, const tool_option *o, const char *value)
{
    size_t n = 0;

    while (o->words && o->words[n]) {
        if (strcmp(o->words[n], value) == 0)
            break;
        n++;
    }
    if (o->words && !o->words[n] && (*value || o->kind == TOOL_TEXT)) {
        const char *near = glow_did_you_mean(value, o->words, n);

        return tool_usage(t,
                          near ? glow_arena_printf(t->arena,
                                                   "did you mean '%s'?", near)
                               : NULL,
                          "-%s is one of %s, not '%s'", o->name, o->arg,
                          value) == 0;
    }
    *(const char **)slot(t, o) = value;
    return true;
}

static bool
set(tool *t, const tool_option *o, const char *value)
{
    void *to = slot(t, o);

    switch (o->kind) {
    case TOOL_FLAG:
        *(bool *)to = true;
        return true;
    case TOOL_TEXT:
    case TOOL_WORD:
        return set_word(t, o, value ? value : "");
    case TOOL_INT:
        return set_int(t, o, value);
    case TOOL_REAL:
        return set_real(t, o, value);
    case TOOL_BYTES:
        return set_bytes(t, o, value);
    case TOOL_LIST:
        tool_list_add(t, to, value);
        return true;
    case TOOL_NAMES:
        set_names(t, to, value);
        return true;
    }
    return false;
}

static bool
has_word(const tool_option *o, const char *word)
{
    for (size_t i = 0; o->words && o->words[i]; i++)
        if (strcmp(o->words[i], word) == 0)
            return true;
    return false;
}

/*
 * `-no-verify-each`, `-no-winograd`: true if `name` unsets a flag, or sets an
 * option with the word "off" to it.
 */
static bool
unset(tool *t, const char *name)
{
    const tool_option *o;

    if (strncmp(name, "no-", 3) != 0)
        return false;
    o = tool_find_option(t, name + 3);
    if (o && o->kind == TOOL_WORD && has_word(o, "off"))
        return set_word(t, o, "off");
    if (!o || o->kind != TOOL_FLAG)
        return false;
    *(bool *)slot(t, o) = false;
    return true;
}

/* Takes the option at argv[i]; returns how many arguments it was. */
static int
parse_option(tool *t, int i, tool_list *pending)
{
    const char *name = t->argv[i] + 1 + (t->argv[i][1] == '-');
    const char *value = strchr(name, '=');
    const tool_option *o;

    if (value)
        name = glow_arena_strndup(t->arena, name, (size_t)(value++ - name));
    o = tool_find_option(t, name);
    if (!o) {
        if (value || !unset(t, name))
            tool_list_add(t, pending, t->argv[i]);
        return 1;
    }
    if (o->kind == TOOL_FLAG && value) {
        tool_usage(t, NULL, "-%s takes no value", name);
        return 1;
    }
    if (o->kind == TOOL_FLAG || o->kind == TOOL_WORD || value) {
        set(t, o, value);
        return 1;
    }
    if (i + 1 >= t->argc) {
        tool_usage(t, NULL, "-%s wants a value: -%s=%s", name, name, o->arg);
        return 1;
    }
    set(t, o, t->argv[i + 1]);
    return 2;
}

void
tool_parse(tool *t, tool_list *pending)
{
    bool options = true;

    for (int i = 1; i < t->argc;) {
        const char *arg = t->argv[i];

        if (options && strcmp(arg, "--") == 0) {
            options = false;
            i++;
        } else if (options && arg[0] == '-' && arg[1] != '\0') {
            i += parse_option(t, i, pending);
        } else {
            tool_list_add(t, &t->inputs, arg);
            i++;
        }
    }
}

static const tool_habit *
find_habit(const tool *t, const char *name)
{
    for (const tool_habit *h = t->spec->habits; h && h->name; h++)
        if (strcmp(h->name, name) == 0)
            return h;
    return NULL;
}

static void
unknown_option(tool *t, const char *name)
{
    const tool_habit *h = find_habit(t, name);
    tool_list names = {0};

    if (h) {
        tool_usage(t, glow_arena_printf(t->arena, "here it is %s", h->ours),
                   "there is no option '-%s'", name);
        return;
    }
    for (const tool_option *o = t->spec->options; o->name; o++)
        tool_list_add(t, &names, o->name);
    for (const tool_option *o = tool_common_options; o->name; o++)
        tool_list_add(t, &names, o->name);
    if (t->spec->names)
        t->spec->names(t, &names);

    const char *near = glow_did_you_mean(name, names.items, names.count);

    tool_usage(t,
               near ? glow_arena_printf(t->arena, "did you mean '-%s'?", near)
                    : glow_arena_printf(t->arena, "%s -help shows all options",
                                        t->spec->name),
               "there is no option '-%s'", name);
}

void
tool_parse_pending(tool *t, const tool_list *pending)
{
    for (size_t i = 0; i < pending->count; i++) {
        const char *arg = pending->items[i];
        const char *name = arg + 1 + (arg[1] == '-');
        const char *value = strchr(name, '=');

        if (value)
            name = glow_arena_strndup(t->arena, name, (size_t)(value++ - name));
        if (!t->spec->other || !t->spec->other(t, name, value))
            unknown_option(t, name);
    }
}
