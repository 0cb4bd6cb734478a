/* -tune-file, -tune and -tune-budget, of two tools. */

#include <stdio.h>

#include "glow/file.h"
#include "tools/common/tool.h"

static bool
exists(const char *path)
{
    FILE *f = fopen(path, "rb");

    if (f)
        fclose(f);
    return f != NULL;
}

int
tool_check_tuning(tool *t, const tool_tuning *v)
{
    if (v->tune && !v->file)
        return tool_usage(t, "add -tune-file=FILE", "-tune writes to a file");
    if (v->budget < 0 || v->budget > TOOL_MOST_BUDGET)
        return tool_usage(t, NULL, "-tune-budget takes 0 to %d",
                          TOOL_MOST_BUDGET);
    return TOOL_GO_ON;
}

int
tool_read_tuning(tool *t, const tool_tuning *v, glow_tuning **out)
{
    const glow_source *source;

    *out = NULL;
    if (!v->file)
        return TOOL_GO_ON;
    if (v->tune && !exists(v->file)) {
        *out = glow_tuning_new(t->arena);
        return TOOL_GO_ON;
    }
    source = glow_source_read(t->ctx, v->file);
    *out = source ? glow_tuning_read(t->ctx, t->arena, source) : NULL;
    return *out ? TOOL_GO_ON : TOOL_FAILED;
}

/* The summary of all kernels. */
typedef struct report {
    double before, after;
    int kinds, measured;
} report;

static double
percent(double before, double after)
{
    return before > 0 ? 100 * (before - after) / before : 0;
}

static void
say_found(const glow_tuned *found, void *user)
{
    report *r = user;

    r->before += found->before;
    r->after += found->after;
    r->kinds++;
    r->measured += found->measured;
    tool_progress_wipe();
    fprintf(stderr, "tune: %s (x%d)\n    ", found->what, found->count);
    if (found->measured)
        fprintf(stderr, "%.1f us, by default %.1f: %.1f %%, of %d: ",
                found->after * 1e6, found->before * 1e6,
                percent(found->before, found->after), found->measured);
    fprintf(stderr, "%s\n", found->choice);
}

static int
write_tuning(tool *t, const tool_tuning *v, const glow_tuning *tuning)
{
    glow_buf b = {0};
    bool ok;

    glow_tuning_print(&b, tuning);
    ok = glow_file_write(t->ctx, v->file, b.text, b.len);
    glow_buf_free(&b);
    return ok ? TOOL_GO_ON : TOOL_FAILED;
}

int
tool_tune(tool *t, const tool_tuning *v, const glow_backend *b, glow_func *f,
          const glow_target_options *options, glow_tuning *tuning)
{
    report r = {0};
    const glow_tune_options how = {
        .to = tuning, .budget = (int)v->budget, .found = say_found, .user = &r};

    if (!v->tune)
        return TOOL_GO_ON;
    if (!b->tune)
        return tool_usage(t, "leave -tune out", "%s has nothing to tune",
                          b->name);
    tool_progress_begin(t);
    tool_progress("tune: measuring the kernels of @%s", f->name);

    bool ok = b->tune(f, options, &how);

    tool_progress_end();
    if (!ok)
        return TOOL_FAILED;
    if (r.kinds)
        fprintf(stderr,
                "tune: %d instructions, %d choices: %.3f ms, by default %.3f: "
                "%.1f %%\n",
                r.kinds, r.measured, r.after * 1e3, r.before * 1e3,
                percent(r.before, r.after));
    return write_tuning(t, v, tuning);
}
