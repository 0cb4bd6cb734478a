/*
 * The command as a RUN line, for a file that shows a fault again:
 * `// RUN: glow-opt -plugin=/p/x.so -passes='a,b' %s`.
 */

#define _XOPEN_SOURCE 700 /* realpath */

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tools/glow-opt/opt.h"

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

/* The absolute path, since the reproducer may be run in any folder. */
static const char *
absolute(glow_arena *a, const char *path)
{
    char whole[PATH_MAX];

    return realpath(path, whole) ? glow_arena_strdup(a, whole) : path;
}

/* By path or name; those of GLOW_PLUGINS too. */
static void
put_plugins(glow_buf *b, const tool_list *plugins)
{
    for (size_t i = 0; i < plugins->count; i++) {
        const char *name = plugins->items[i];

        put_option(b, "plugin",
                   strchr(name, '/') ? absolute(b->arena, name) : name);
    }
}

static bool
has_weights(const glow_module *m, const char *pair)
{
    for (const glow_weights *w = m ? m->weights : NULL; w; w = w->next)
        if (strncmp(pair, w->alias, strlen(w->alias)) == 0 &&
            pair[strlen(w->alias)] == '=')
            return true;
    return !m;
}

/* The weights of module `m`, with -weights or without. */
static void
put_weights(glow_buf *b, const glow_module *m, const tool_list *rebound)
{
    for (size_t i = 0; i < rebound->count; i++) {
        const char *path = strchr(rebound->items[i], '=') + 1;

        if (!has_weights(m, rebound->items[i]))
            continue; /* unused by a reduced test */
        put_option(b, "weights",
                   glow_arena_printf(
                       b->arena, "%.*s%s", (int)(path - rebound->items[i]),
                       rebound->items[i], absolute(b->arena, path)));
    }
    for (const glow_weights *w = m ? m->weights : NULL; w; w = w->next) {
        const char *alias = glow_arena_printf(b->arena, "%s=", w->alias);
        bool known = !w->span.source; /* from -reattach */

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
    put_option(b, "emit", opt_artifact(v));
    put_option(b, "target", v->target);
    put_option(b, "cpu", v->cpu);
    put_option(b, "features", v->features);
    if (v->threads > 1)
        put_option(b, "threads",
                   glow_arena_printf(b->arena, "%d", (int)v->threads));
    if (v->tuning.file && !v->tuning.tune)
        put_option(b, "tune-file", absolute(b->arena, v->tuning.file));
    glow_buf_puts(b, " -o %t");
}

const char *
opt_run_line(const opt *o, const glow_module *m)
{
    const opt_values *v = &o->values;
    glow_buf b = {.arena = o->tool.arena};

    glow_buf_puts(&b, "// RUN: glow-opt");
    put_plugins(&b, &o->tool.plugins);
    put_weights(&b, m, &v->weights);
    for (size_t i = 0; i < v->disable_pass.count; i++)
        put_option(&b, "disable-pass", v->disable_pass.items[i]);
    put_option(&b, "rewrite-limit", v->rewrite_limit);
    if (v->stop_after > 0)
        put_option(&b, "stop-after",
                   glow_arena_printf(b.arena, "%d", (int)v->stop_after));
    if (v->limit > 0)
        put_option(&b, "limit",
                   glow_arena_printf(b.arena, "%" PRId64, v->limit));
    put_option(&b, "backend", v->backend);
    if (v->target_file)
        put_option(&b, "target-file", absolute(o->tool.arena, v->target_file));
    put_flag(&b, "allow-unknown-ops", v->allow_unknown_ops);
    put_flag(&b, "allow-elided", v->allow_elided);
    if (v->reattach)
        put_option(&b, "reattach", absolute(o->tool.arena, v->reattach));
    put_flag(&b, "no-verify-each", !v->verify_each);
    put_flag(&b, "verify-semantics", v->verify_semantics);
    put_flag(&b, "verify-roundtrip-each", v->verify_roundtrip_each);
    put_option(&b, "passes", o->pipeline->text);
    put_option(&b, "memory-map", v->memory_map);
    put_option(&b, "simulate", v->simulate);
    put_flag(&b, "why-peak", v->why_peak);
    put_option(&b, "winograd", v->winograd);
    put_option(&b, "bundle-weights", v->bundle_weights);
    put_option(&b, "subnormals", v->subnormals);
    put_flag(&b, "exact", v->exact);
    put_emit(&b, v);
    glow_buf_puts(&b, " %s\n");
    return b.text;
}
