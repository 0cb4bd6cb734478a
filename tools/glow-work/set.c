/* Data sets: a network and files of samples along their first axes. */

#define _XOPEN_SOURCE 700 /* realpath */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "glow/eval.h"
#include "glow/file.h"
#include "glow/graph.h"
#include "glow/state.h"
#include "glow/text.h"
#include "tools/glow-work/work.h"

bool
work_map(tool *t, const char *path, const char *name, npy_array *out)
{
    *out = (npy_array){0};
    return tool_ends_with(path, ".safetensors")
               ? glow_state_map(t->ctx, path, name, &out->elements, &out->file)
               : npy_map(t->ctx, path, out);
}

const char *
work_file_of(const char *input, const char *name)
{
    size_t n = strlen(name);

    return strncmp(input, name, n) == 0 && input[n] == '=' ? input + n + 1
                                                           : NULL;
}

const char *
work_result_path(glow_arena *a, const work_set *s, size_t output, int64_t first)
{
    return glow_arena_printf(a, "%s/%s.%012" PRId64 ".npy", s->folder,
                             s->files.items[output], first);
}

void
work_name_files(tool *t, work_set *s)
{
    glow_map *used = glow_map_new(t->arena);

    s->files = (tool_list){0};
    for (size_t i = 0; i < s->outputs.count; i++)
        tool_list_add(t, &s->files,
                      tool_file_name(t, used, s->outputs.items[i]));
}

/* The path from the root, so that workers in other folders find the file. */
static const char *
absolute(work *w, const char *path)
{
    char *real = realpath(path, NULL);
    const char *copy;

    if (!real) {
        glow_error(w->tool.ctx, "E0601", "cannot read %s: %s", path,
                   strerror(errno));
        return NULL;
    }
    copy = glow_arena_strdup(w->tool.arena, real);
    free(real);
    return copy;
}

static glow_module *
read_network(work *w, const work_set *s)
{
    const glow_source *source = glow_source_read(w->tool.ctx, s->model);
    const glow_parse_options how = {
        .folder = tool_folder_of(&w->tool, s->model),
    };

    return source ? glow_parse(w->tool.ctx, source, &how) : NULL;
}

/* Sets the batch to the first extent of a port; false after a report of another. */
static bool
take_batch(work *w, const glow_storage *p, work_set *s)
{
    const glow_dims shape = p->value.type->shape;
    int64_t first = shape.rank > 0 ? shape.at[0] : 0;

    if (s->batch == 0)
        s->batch = first;
    if (first > 0 && first == s->batch)
        return true;
    return glow_error_hint(
        w->tool.ctx, (glow_span){0}, "E1104",
        "import the model for a number of samples: -dim batch=N",
        "%s: the first axes of all inputs and outputs must "
        "count as many samples, but that of @%s has %" PRId64,
        s->model, p->name, first);
}

/* Checks that the file of an input has whole samples of its kind. */
static bool
fits(work *w, const glow_storage *p, const char *path, work_set *s)
{
    const glow_type *type = p->value.type;
    npy_array a;
    glow_dims shape;
    int64_t one, samples;
    bool ok = true;

    if (!work_map(&w->tool, path, p->name, &a))
        return false;
    shape = a.elements.type->shape;
    samples = shape.rank > 0 ? shape.at[0] : 0;
    one = samples > 0 ? glow_dims_count(shape) / samples : 0;
    if (a.swap || a.elements.type->elem != type->elem)
        ok = glow_error_hint(w->tool.ctx, (glow_span){0}, "E1104",
                             "convert it with numpy's astype",
                             "%s holds %s%s, but @%s takes %s", path,
                             glow_kind_get(a.elements.type->elem)->name,
                             a.swap ? " in the other byte order" : "", p->name,
                             glow_kind_get(type->elem)->name);
    else if (samples == 0)
        ok = glow_error(w->tool.ctx, "E1104", "%s has no samples", path);
    else if (one != glow_type_count(type) / s->batch)
        ok = glow_error(w->tool.ctx, "E1104",
                        "%s: a sample has %" PRId64
                        " elements, but one of @%s has %" PRId64,
                        path, one, p->name, glow_type_count(type) / s->batch);
    else if (s->samples != 0 && samples != s->samples)
        ok = glow_error(w->tool.ctx, "E1104",
                        "%s has %" PRId64 " samples, but another input has "
                        "%" PRId64,
                        path, samples, s->samples);
    s->samples = samples;
    glow_data_unref(a.file);
    return ok;
}

/* The file that -input names for a placeholder, made absolute. */
static int
take_input(work *w, const glow_storage *p, work_set *s)
{
    const tool_list *l = &w->values.inputs;
    const char *path = NULL;

    for (size_t i = 0; i < l->count && !path; i++)
        path = work_file_of(l->items[i], p->name);
    if (!path)
        return tool_usage(
            &w->tool,
            glow_arena_printf(w->tool.arena, "add -input %s=FILE.npy", p->name),
            "no input is given for @%s", p->name);
    path = absolute(w, path);
    if (!path || !fits(w, p, path, s))
        return TOOL_FAILED;
    tool_list_add(&w->tool, &s->inputs,
                  glow_arena_printf(w->tool.arena, "%s=%s", p->name, path));
    return TOOL_GO_ON;
}

/* Reports an -input of a name that is no input of the network. */
static int
check_names(work *w, const tool_list *names)
{
    const tool_list *l = &w->values.inputs;

    for (size_t i = 0; i < l->count; i++) {
        bool found = false;

        for (size_t k = 0; k < names->count; k++)
            found |= work_file_of(l->items[i], names->items[k]) != NULL;
        if (!found)
            return tool_unknown(&w->tool, "input",
                                glow_arena_strndup(w->tool.arena, l->items[i],
                                                   strcspn(l->items[i], "=")),
                                names);
    }
    return TOOL_GO_ON;
}

static int
take_ports(work *w, const glow_module *m, work_set *s)
{
    const glow_func *entry = glow_module_entry(m);
    tool_list names = {0};
    int code = TOOL_GO_ON;

    if (!entry) {
        glow_error(w->tool.ctx, "E0504", "%s has no function to run", s->model);
        return TOOL_FAILED;
    }
    GLOW_FOR_EACH_STORAGE(p, m) {
        bool in = glow_func_reads(entry, p), out = glow_func_writes(entry, p);

        if (p->is_constant || (!in && !out))
            continue;
        if (in && out)
            glow_error(w->tool.ctx, "E1004", "%s: @%s is read and written",
                       s->model, p->name);
        if ((in && out) || !take_batch(w, p, s))
            return TOOL_FAILED;
        if (in)
            tool_list_add(&w->tool, &names, p->name);
        if (in && code == TOOL_GO_ON)
            code = take_input(w, p, s);
        if (out)
            tool_list_add(&w->tool, &s->outputs,
                          glow_arena_strdup(w->tool.arena, p->name));
    }
    work_name_files(&w->tool, s);
    return code == TOOL_GO_ON ? check_names(w, &names) : code;
}

int
work_describe(work *w, const char *name, work_set *out)
{
    const work_values *v = &w->values;
    glow_module *m;
    int code;

    *out = (work_set){.name = name, .chunk = v->chunk};
    if (!v->model || !v->output)
        return tool_usage(&w->tool, NULL,
                          "a data set needs -model=FILE.gir, "
                          "-input NAME=FILE and -o DIR");
    out->model = absolute(w, v->model);
    m = out->model ? read_network(w, out) : NULL;
    if (!m)
        return TOOL_FAILED;
    code = take_ports(w, m, out);
    glow_module_free(m);
    if (code != TOOL_GO_ON)
        return code;
    if (out->chunk == 0)
        out->chunk = out->batch;
    if (mkdir(v->output, 0777) != 0 && errno != EEXIST) {
        glow_error(w->tool.ctx, "E0602", "cannot make the folder %s: %s",
                   v->output, strerror(errno));
        return TOOL_FAILED;
    }
    out->folder = absolute(w, v->output);
    return out->folder ? TOOL_GO_ON : TOOL_FAILED;
}
