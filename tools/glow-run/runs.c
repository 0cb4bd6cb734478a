/*
 * Inputs of several runs, for profiles and comparisons: an .npy with a multiple of the first axis,
 * a multiple of the pictures, or list:FILE, which names such inputs line by line.
 */

#include <inttypes.h>
#include <string.h>

#include "glow/file.h"
#include "tools/common/image.h"
#include "tools/common/npy.h"
#include "tools/glow-run/run.h"

/* The tensors of an input, in the order of the runs. */
typedef struct parts {
    glow_tensor *at;
    size_t count, cap;
} parts;

static int
word_index(const char *word, const char *const *words)
{
    for (int i = 0; word && words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return 0;
}

/* `p->type` with the first axis as for `count` pictures, if it can be. */
static const glow_type *
type_of_pictures(const run *r, const run_port *p, size_t count)
{
    glow_type t = *p->type;
    int64_t first = t.shape.rank > 0 ? t.shape.at[0] : 0;

    if (first < 1 || (int64_t)count % first != 0)
        return p->type;
    t.shape.at[0] = (int64_t)count;
    return glow_type_get(r->tool.ctx, t);
}

static bool
read_pictures(run *r, const run_port *p, const char *text, glow_tensor *out)
{
    tool_list paths = {0};

    for (const char *at = text; *at;) {
        size_t n = strcspn(at, ",");

        tool_list_add(&r->tool, &paths,
                      glow_arena_strndup(r->tool.arena, at, n));
        at += n + (at[n] == ',');
    }
    return image_read(
        r->tool.ctx, paths.items, paths.count,
        (image_mode)word_index(r->values.image_mode, image_modes),
        (image_layout)word_index(r->values.image_layout, image_layouts),
        type_of_pictures(r, p, paths.count), out);
}

/* Adds the tensor of the file or pictures `text`. */
static int
add_part(run *r, const run_port *p, const char *text, parts *all)
{
    glow_tensor t = {0};
    int64_t runs;
    bool ok;

    if (!tool_ends_with(text, ".npy") && !tool_ends_with(text, ".png"))
        return tool_usage(&r->tool, NULL,
                          "a list has files .npy and .png, not '%s'", text);
    ok = tool_ends_with(text, ".npy")
             ? npy_read_runs(r->tool.ctx, text, p->type, &runs, &t)
             : read_pictures(r, p, text, &t);
    if (!ok)
        return TOOL_FAILED;
    all->at = glow_arena_grow(r->tool.arena, all->at, all->count, &all->cap,
                              sizeof *all->at);
    all->at[all->count++] = t;
    return TOOL_GO_ON;
}

static int
add_list(run *r, const run_port *p, const char *path, parts *all)
{
    const glow_source *s = glow_source_read(r->tool.ctx, path);
    int code = s ? TOOL_GO_ON : TOOL_FAILED;
    const char *at = s ? s->text : "";

    while (code == TOOL_GO_ON && *at) {
        size_t n = strcspn(at, "\r\n");

        if (n > 0)
            code =
                add_part(r, p, glow_arena_strndup(r->tool.arena, at, n), all);
        at += n;
        at += strspn(at, "\r\n");
    }
    if (code == TOOL_GO_ON && all->count == 0)
        return tool_usage(&r->tool, NULL, "%s names no file", path);
    return code;
}

/* One tensor of all parts, whose first axes add up. */
static int
join(run *r, run_port *p, const parts *all)
{
    size_t bytes = (size_t)glow_type_bytes(p->type), at = 0;
    glow_type t = *p->type;
    int64_t count = 0;

    for (size_t i = 0; i < all->count; i++)
        count += glow_type_count(all->at[i].type);
    p->runs = bytes ? count / glow_type_count(p->type) : 1;
    if (p->runs > 1)
        t.shape.at[0] *= p->runs;
    p->all = glow_tensor_new(glow_type_get(r->tool.ctx, t));
    for (size_t i = 0; i < all->count && bytes; i++) {
        size_t n = (size_t)glow_type_bytes(all->at[i].type);

        memcpy((char *)p->all.data + at, all->at[i].data, n);
        at += n;
    }
    p->tensor = glow_tensor_new(p->type);
    if (bytes)
        memcpy(p->tensor.data, p->all.data, bytes);
    return TOOL_GO_ON;
}

int
fill_runs(run *r, run_port *p)
{
    parts all = {0};
    int code;

    if (strncmp(p->input, "list:", 5) == 0)
        code = add_list(r, p, p->input + 5, &all);
    else
        code = add_part(r, p, p->input, &all);
    if (code == TOOL_GO_ON && p->type->shape.rank == 0 && all.count > 1)
        code = tool_usage(&r->tool, NULL, "@%s has no axis for several runs",
                          p->storage->name);
    if (code == TOOL_GO_ON)
        code = join(r, p, &all);
    for (size_t i = 0; i < all.count; i++)
        glow_tensor_end(&all.at[i]);
    return code;
}

bool
takes_runs(const run *r)
{
    const run_values *v = &r->values;

    return v->in_flight || v->dump_profile || v->accuracy || v->sensitivity ||
           v->least_sqnr > 0;
}

/* The number of runs is that of every input with more than one.  Keeps all inputs. */
int
count_runs(run *r)
{
    const run_port *first = NULL;

    r->runs = 1;
    for (size_t i = 0; i < r->n_ports; i++) {
        run_port *p = &r->ports[i];

        if (p->is_read && !p->is_profile && !p->all.data) {
            p->all = glow_tensor_new(p->type);
            glow_tensor_copy(&p->all, &p->tensor);
        }
        if (p->runs == 1)
            continue;
        if (first && p->runs != first->runs)
            return tool_usage(
                &r->tool, NULL,
                "@%s has inputs of %" PRId64 " runs, but @%s of %" PRId64,
                first->storage->name, first->runs, p->storage->name, p->runs);
        first = p;
        r->runs = p->runs;
    }
    return TOOL_GO_ON;
}

void
begin_run(run *r, int64_t k)
{
    for (size_t i = 0; i < r->n_ports; i++) {
        run_port *p = &r->ports[i];
        size_t bytes = (size_t)glow_type_bytes(p->type);

        if (p->all.data && bytes)
            memcpy(p->tensor.data,
                   (char *)p->all.data + (p->runs > 1 ? (size_t)k * bytes : 0),
                   bytes);
    }
}
