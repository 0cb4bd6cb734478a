/* Placeholders and their inputs. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/image.h"
#include "tools/common/npy.h"
#include "tools/glow-run/run.h"

/* Finding. */

/* True for the state of a profile that -dump-profile collects. */
static bool
is_profile(const run *r, const glow_storage *s)
{
    for (size_t i = 0; i < r->n_watches; i++)
        if (r->watches[i].counts == s || r->watches[i].info == s)
            return true;
    return false;
}

static void
add_port(run *r, const glow_storage *s, size_t *cap)
{
    glow_type type = *s->value.type;
    run_port p = {.storage = s,
                  .runs = 1,
                  .is_profile = is_profile(r, s),
                  .is_kept = r->values.state &&
                             (glow_is_state(s) || glow_is_trained(s)),
                  .is_read = glow_func_reads(r->func, s),
                  .is_written = glow_func_writes(r->func, s)};

    type.strides.rank = 0;
    p.type = glow_type_get(r->tool.ctx, type);
    r->ports = glow_arena_grow(r->tool.arena, r->ports, r->n_ports, cap,
                               sizeof *r->ports);
    r->ports[r->n_ports++] = p;
}

run_port *
find_port(run *r, const char *option, const char *text, const char **rest)
{
    tool_list names = {0};
    const char *first = strchr(text, '=');

    if (!first) {
        tool_usage(
            &r->tool,
            glow_arena_printf(r->tool.arena, "write -%s NAME=%s", option, text),
            "-%s '%s' names no placeholder", option, text);
        return NULL;
    }
    for (const char *at = first; at; at = strchr(at + 1, '='))
        for (size_t i = 0; i < r->n_ports; i++) {
            const char *name = r->ports[i].storage->name;

            if (strlen(name) == (size_t)(at - text) &&
                memcmp(name, text, (size_t)(at - text)) == 0) {
                *rest = at + 1;
                return &r->ports[i];
            }
        }
    for (size_t i = 0; i < r->n_ports; i++)
        tool_list_add(&r->tool, &names, r->ports[i].storage->name);
    tool_unknown(
        &r->tool, "placeholder",
        glow_arena_strndup(r->tool.arena, text, (size_t)(first - text)),
        &names);
    return NULL;
}

static int
check_missing(run *r)
{
    glow_buf b = {.arena = r->tool.arena};

    for (size_t i = 0; i < r->n_ports; i++) {
        const run_port *p = &r->ports[i];

        if (!p->is_read || p->input || p->is_profile || p->is_kept ||
            (glow_is_state(p->storage) && !glow_is_trained(p->storage)) ||
            glow_initial(p->storage))
            continue;
        glow_buf_printf(&b, "%s@%s : ", b.len ? ", " : "", p->storage->name);
        glow_buf_type(&b, p->type);
    }
    if (b.len == 0)
        return TOOL_GO_ON;
    return tool_usage(&r->tool,
                      "add -input NAME=FILE.npy, or NAME=random:1, NAME=zero, "
                      "NAME=ramp",
                      "no input is given for %s", b.text);
}

/* Filling. */

static int
word_index(const char *word, const char *const *words)
{
    for (int i = 0; word && words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return 0;
}

static bool
read_pictures(run *r, run_port *p)
{
    tool_list paths = {0};
    const char *at = p->input;

    while (*at) {
        size_t n = strcspn(at, ",");

        tool_list_add(&r->tool, &paths,
                      glow_arena_strndup(r->tool.arena, at, n));
        at += n + (at[n] == ',');
    }
    return image_read(
        r->tool.ctx, paths.items, paths.count,
        (image_mode)word_index(r->values.image_mode, image_modes),
        (image_layout)word_index(r->values.image_layout, image_layouts),
        p->type, &p->tensor);
}

/* `random` or `random:SEED`. */
static int
fill_random(run *r, run_port *p)
{
    const char *seed = p->input[6] ? p->input + 7 : "1";
    char *end;
    unsigned long long v;

    errno = 0;
    v = strtoull(seed, &end, 10);
    if (*seed < '0' || *seed > '9' || *end || errno)
        return tool_usage(&r->tool, NULL, "'%s' is no seed of 64 bits", seed);
    p->tensor = glow_tensor_new(p->type);
    glow_tensor_fill(&p->tensor, GLOW_FILL_RANDOM, v);
    return TOOL_GO_ON;
}

static int
fill_port(run *r, run_port *p)
{
    const glow_state_entry *kept = glow_state_find(r->state, p->storage->name);
    bool ok = true;

    if (kept && !p->input) {
        p->tensor = kept->tensor;
        glow_data_ref(p->tensor.owner);
        return TOOL_GO_ON;
    }
    if (takes_runs(r) && p->input && !p->is_profile &&
        (strncmp(p->input, "list:", 5) == 0 ||
         tool_ends_with(p->input, ".npy") || tool_ends_with(p->input, ".png")))
        return fill_runs(r, p);
    if (!p->input || strcmp(p->input, "zero") == 0) {
        p->tensor = glow_tensor_new(p->type);
    } else if (strcmp(p->input, "ramp") == 0) {
        p->tensor = glow_tensor_new(p->type);
        glow_tensor_fill(&p->tensor, GLOW_FILL_RAMP, 0);
    } else if (strncmp(p->input, "random", 6) == 0 &&
               (p->input[6] == 0 || p->input[6] == ':')) {
        return fill_random(r, p);
    } else if (tool_ends_with(p->input, ".npy")) {
        ok = npy_read(r->tool.ctx, p->input, p->type, &p->tensor);
    } else if (tool_ends_with(p->input, ".png")) {
        ok = read_pictures(r, p);
    } else {
        return tool_usage(&r->tool,
                          "an input is a file .npy or .png, or random:SEED, "
                          "zero, ramp",
                          "'%s' is no input for @%s", p->input,
                          p->storage->name);
    }
    return ok ? TOOL_GO_ON : TOOL_FAILED;
}

/* Drops ports that the function does not use. */
static void
drop_idle(run *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_ports; i++)
        if (r->ports[i].is_read || r->ports[i].is_written)
            r->ports[n++] = r->ports[i];
    r->n_ports = n;
}

int
open_ports(run *r)
{
    const tool_list *l = &r->values.inputs;
    size_t cap = 0;
    int code;

    GLOW_FOR_EACH_STORAGE(s, r->module)
        if (!s->is_constant)
            add_port(r, s, &cap);
    for (size_t i = 0; i < l->count; i++) {
        const char *what;
        run_port *p = find_port(r, "input", l->items[i], &what);

        if (!p)
            return TOOL_USAGE;
        p->input = what;
    }
    code = check_missing(r);
    drop_idle(r);
    if (code == TOOL_GO_ON)
        code = open_state(r);
    r->bindings = GLOW_NEW_ARRAY(r->tool.arena, glow_binding, r->n_ports);
    for (size_t i = 0; i < r->n_ports && code == TOOL_GO_ON; i++) {
        code = fill_port(r, &r->ports[i]);
        r->bindings[i] =
            (glow_binding){r->ports[i].storage, &r->ports[i].tensor};
    }
    return code;
}

void
close_ports(run *r)
{
    for (size_t i = 0; i < r->n_ports; i++) {
        glow_tensor_end(&r->ports[i].tensor);
        glow_tensor_end(&r->ports[i].want);
        glow_tensor_end(&r->ports[i].got);
        glow_tensor_end(&r->ports[i].all);
    }
}
