/* -expect-class: labels, the index of the right class of each row of scores. */

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "glow/file.h"
#include "tools/common/npy.h"
#include "tools/glow-run/run.h"

/* Integers that a file .npy may hold. */
static const glow_kind kinds[] = {GLOW_INDEX64, GLOW_INDEX32, GLOW_UINDEX8,
                                  GLOW_INT16, GLOW_INT8};

/* Reads an .npy of one axis. */
static int
read_npy(run *r, const char *path)
{
    size_t n = sizeof kinds / sizeof kinds[0];
    glow_tensor t = {0};
    int64_t count = 0;
    bool ok = false;

    for (size_t i = 0; i <= n && !ok; i++) {
        const glow_type one = {.elem = kinds[i % n],
                               .shape = {.rank = 1, .at = {1}}};
        const glow_type *want = glow_type_get(r->tool.ctx, one);
        glow_quiet quiet;

        /* Without any fitting kind, the first one is asked for aloud. */
        if (i < n)
            glow_quiet_begin(r->tool.ctx, &quiet);
        ok = npy_read_runs(r->tool.ctx, path, want, &count, &t);
        if (i < n)
            glow_quiet_end(r->tool.ctx, &quiet);
    }
    if (!ok)
        return TOOL_FAILED;
    r->labels = GLOW_NEW_ARRAY(r->tool.arena, int64_t, count + 1);
    r->n_labels = (size_t)count;
    for (int64_t i = 0; i < count; i++)
        r->labels[i] = glow_get_int(&t, i);
    glow_tensor_end(&t);
    return TOOL_GO_ON;
}

/* Reads integers between blanks or commas. */
static int
read_text(run *r, const char *path)
{
    const glow_source *s = glow_source_read(r->tool.ctx, path);
    size_t cap = 0;

    if (!s)
        return TOOL_FAILED;
    for (const char *at = s->text;;) {
        char *end;
        long long x;

        while (isspace((unsigned char)*at) || *at == ',')
            at++;
        if (!*at)
            return TOOL_GO_ON;
        errno = 0;
        x = strtoll(at, &end, 10);
        if (end == at || errno)
            return tool_usage(
                &r->tool, NULL, "%s: label %zu is no integer: '%.*s'", path,
                r->n_labels + 1, (int)strcspn(at, " ,\r\n\t"), at);
        r->labels = glow_arena_grow(r->tool.arena, r->labels, r->n_labels, &cap,
                                    sizeof *r->labels);
        r->labels[r->n_labels++] = x;
        at = end;
    }
}

int
read_labels(run *r)
{
    const char *path = r->values.expect_class;
    size_t n = strlen(path);
    bool is_npy = n >= 4 && strcmp(path + n - 4, ".npy") == 0;
    int code = is_npy ? read_npy(r, path) : read_text(r, path);

    if (code != TOOL_GO_ON)
        return code;
    for (size_t i = 0; i < r->n_ports; i++)
        if (rows_of(r, &r->ports[i]) == (int64_t)r->n_labels && r->n_labels > 0)
            return TOOL_GO_ON;
    for (size_t i = 0; i < r->n_ports; i++)
        if (rows_of(r, &r->ports[i]) > 0)
            return tool_usage(&r->tool, NULL,
                              "%s has %zu labels, but @%s has %" PRId64
                              " rows of scores",
                              path, r->n_labels, r->ports[i].storage->name,
                              rows_of(r, &r->ports[i]));
    return tool_usage(&r->tool, NULL,
                      "-expect-class needs an output of two axes, rows and "
                      "scores, and @%s writes none",
                      r->func->name);
}
