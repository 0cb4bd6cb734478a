/*
 * Printing modules in their canonical form: items in the order of docs/gir.md,
 * each node on a line of its own; the text is a function of the module alone,
 * and the parser reads it back to the same module.
 */

#include <inttypes.h>
#include <string.h>

#include "glow/plugin.h"
#include "glow/profile.h"
#include "ir/base/context.h"
#include "ir/text/print.h"

/*
 * The items that are printed: all of them, or (glow_print_options.only_func)
 * the items reachable from one function, so that its dump is a module that
 * parses.
 */
typedef struct scope {
    glow_map *funcs, *storage, *weights; /* by name; NULL: all */
} scope;

static bool
prints_func(const scope *s, const glow_func *f)
{
    return !s->funcs || glow_map_get(s->funcs, f->name);
}

static bool
prints_storage(const scope *s, const glow_storage *t)
{
    return !s->storage || glow_map_get(s->storage, t->name);
}

static bool
prints_weights(const scope *s, const glow_weights *w)
{
    return !s->weights || glow_map_get(s->weights, w->alias);
}

static void
reach_value(scope *s, const glow_value *v)
{
    const glow_storage *t = v ? v->storage : NULL;

    if (!t)
        return;
    glow_map_set(s->storage, t->name, s);
    if (t->payload == GLOW_EXTERNAL)
        glow_map_set(s->weights, t->file->alias, s);
}

/* Adds `f`, the functions that it calls, and their storage. */
static void
reach_func(scope *s, const glow_func *f)
{
    if (glow_map_get(s->funcs, f->name))
        return;
    glow_map_set(s->funcs, f->name, s);
    for (int which = GLOW_INPUTS; which <= GLOW_OUTPUTS; which++)
        for (int i = 0; i < glow_formal_count(f, (glow_formals)which); i++) {
            glow_storage *t = glow_formal(f, (glow_formals)which, i);

            if (t)
                reach_value(s, &t->value);
        }
    GLOW_FOR_EACH_NODE(n, f) {
        for (int i = 0; i < n->n_in; i++)
            reach_value(s, n->in[i]);
        for (int i = 0; i < n->n_out; i++)
            reach_value(s, n->out[i]);
        reach_value(s, n->pred);
        for (int k = 0; k < glow_call_count(n); k++)
            if (glow_called(n, k))
                reach_func(s, glow_called(n, k));
    }
}

static scope
scope_of(glow_arena *a, const glow_module *m, const char *only)
{
    scope s = {0};

    if (!only)
        return s;
    s = (scope){glow_map_new(a), glow_map_new(a), glow_map_new(a)};
    GLOW_FOR_EACH_FUNC(f, m)
        if (strcmp(f->name, only) == 0)
            reach_func(&s, f);
    return s;
}

/* The header: the namespaces of all operators and kinds, by name. */

/*
 * The version of namespace `name`: of the plugin, else of the text that was
 * read; -1: unknown.
 */
static int64_t
version_of(const glow_module *m, const char *name)
{
    const glow_plugin *g = glow_registry_find(&m->ctx->plugins, name);
    const glow_namespace *n = m->namespaces;

    if (g)
        return g->gir_version;
    while (n && strcmp(n->name, name) != 0)
        n = n->next;
    return n ? n->version : -1;
}

static void
add_namespace(glow_arena *a, const glow_module *m, const char *op,
              glow_namespace **first)
{
    const char *dot = strchr(op, '.');
    glow_namespace **at = first, *made;
    const char *name;
    int64_t version;

    if (!dot || dot == op)
        return;
    name = glow_arena_strndup(a, op, (size_t)(dot - op));
    while (*at && strcmp((*at)->name, name) < 0)
        at = &(*at)->next;
    if (*at && strcmp((*at)->name, name) == 0)
        return;
    version = version_of(m, name);
    if (version < 0)
        return;
    made = GLOW_NEW(a, glow_namespace);
    *made = (glow_namespace){name, version, *at};
    *at = made;
}

static void
add_kind(glow_arena *a, const glow_module *m, const glow_value *v,
         glow_namespace **first)
{
    if (v && v->type->elem >= GLOW_KIND_COUNT)
        add_namespace(a, m, glow_kind_get(v->type->elem)->name, first);
}

static void
add_func(glow_arena *a, const glow_module *m, const glow_func *f,
         glow_namespace **first)
{
    const glow_op *last = NULL;

    GLOW_FOR_EACH_NODE(n, f) {
        if (n->op != last)
            add_namespace(a, m, n->op->name, first);
        last = n->op;
        for (int i = 0; i < n->n_out; i++)
            add_kind(a, m, n->out[i], first);
    }
}

static void
put_header(glow_buf *b, const glow_module *m, const scope *in)
{
    glow_arena *a = glow_arena_new();
    glow_namespace *first = NULL;

    GLOW_FOR_EACH_FUNC(f, m)
        if (prints_func(in, f))
            add_func(a, m, f, &first);
    GLOW_FOR_EACH_STORAGE(s, m)
        if (prints_storage(in, s))
            add_kind(a, m, &s->value, &first);
    glow_buf_puts(b, "gir 1");
    for (const glow_namespace *n = first; n; n = n->next) {
        glow_buf_putc(b, ' ');
        glow_buf_quoted(b, n->name, strlen(n->name));
        glow_buf_printf(b, " %" PRId64, n->version);
    }
    glow_buf_putc(b, '\n');
    glow_arena_free(a);
}

/* Weights and storage. */

static void
put_weights(glow_buf *b, const glow_module *m, const scope *in)
{
    bool any = false;

    for (const glow_weights *w = m->weights; w; w = w->next) {
        if (!prints_weights(in, w))
            continue;
        any = true;
        glow_buf_puts(b, "weights ");
        glow_buf_quoted(b, w->alias, strlen(w->alias));
        glow_buf_printf(b, " = %s(", w->format);
        glow_buf_quoted(b, w->path, strlen(w->path));
        if (w->sha256)
            glow_buf_printf(b, ", sha256: \"%s\"", w->sha256);
        glow_buf_puts(b, ")\n");
    }
    if (any && m->storage)
        glow_buf_putc(b, '\n');
}

static void
put_storage(glow_buf *b, const glow_storage *s, const glow_print_options *o)
{
    glow_buf_puts(b, s->is_constant ? "constant " : "placeholder ");
    glow_text_put_name(b, '@', s->name);
    glow_buf_puts(b, " : ");
    glow_buf_type(b, s->value.type);
    glow_buf_attr_list(b, s->attrs);
    if (s->is_constant) {
        glow_buf_puts(b, " = ");
        glow_text_put_payload(b, s, o);
    }
    glow_buf_putc(b, '\n');
}

/* Functions. */

static void
put_nodes(glow_buf *b, const glow_func *f, const char *indent,
          bool (*is_shown)(const glow_node *n), const glow_print_options *o)
{
    GLOW_FOR_EACH_NODE(n, f) {
        if (is_shown && !is_shown(n))
            continue;
        glow_buf_puts(b, indent);
        glow_print_node(b, n, o);
        glow_buf_putc(b, '\n');
    }
}

static bool
is_weight(const glow_node *n)
{
    return n->op == &glow_op_weight;
}

static bool
is_code(const glow_node *n)
{
    return n->op != &glow_op_weight;
}

static void
put_forbidden(glow_buf *b, const glow_region *g)
{
    for (size_t i = 0; i < g->n_forbidden; i++)
        glow_buf_printf(b, "%s%" PRId64 ", %" PRId64,
                        i ? ", " : ", Forbidden: [", g->forbidden[i].begin,
                        g->forbidden[i].end);
    if (g->n_forbidden)
        glow_buf_puts(b, "]");
}

static void
put_regions(glow_buf *b, const glow_func *f)
{
    glow_buf_puts(b, "  memory {\n");
    for (const glow_region *g = f->regions; g; g = g->next) {
        glow_buf_puts(b, "    ");
        glow_text_put_name(b, '$', g->name);
        glow_buf_puts(b, " = region {Space: ");
        glow_buf_quoted(b, g->space, strlen(g->space));
        glow_buf_printf(b, ", Align: %" PRId64 ", Size: %" PRId64, g->align,
                        g->size);
        if (g->capacity)
            glow_buf_printf(b, ", Capacity: %" PRId64, g->capacity);
        if (g->bank)
            glow_buf_printf(b, ", Bank: %" PRId64, g->bank);
        put_forbidden(b, g);
        glow_buf_puts(b, "}\n");
    }
    glow_buf_puts(b, "  }\n");
}

static void
put_func(glow_buf *b, const glow_func *f, const glow_print_options *o)
{
    glow_buf_puts(b, f->is_program ? "program " : "function ");
    glow_text_put_name(b, '@', f->name);
    if (f->scheduled && !f->is_program)
        glow_buf_puts(b, " scheduled");
    if (f->attrs.count > 0)
        glow_buf_puts(b, " attributes");
    glow_buf_attr_list(b, f->attrs);
    glow_buf_puts(b, " {\n");
    if (!f->is_program) {
        put_nodes(b, f, "  ", NULL, o);
    } else {
        if (f->placed || f->regions)
            put_regions(b, f);
        glow_buf_puts(b, "  declare {\n");
        put_nodes(b, f, "    ", is_weight, o);
        glow_buf_puts(b, "  }\n  code {\n");
        put_nodes(b, f, "    ", is_code, o);
        glow_buf_puts(b, "  }\n");
    }
    glow_buf_puts(b, "}\n");
}

/* The sections at the end: data, locations and ranges. */

static void
put_data(glow_buf *b, const glow_module *m, const scope *in,
         const glow_print_options *o)
{
    bool any = false;

    GLOW_FOR_EACH_STORAGE(s, m) {
        if (!prints_storage(in, s) || !glow_text_is_blob(s, o))
            continue;
        if (!any)
            glow_buf_puts(b, "\ndata {\n");
        any = true;
        glow_text_put_blob(b, s);
    }
    if (any)
        glow_buf_puts(b, "}\n");
}

static void
put_loc(glow_buf *b, const glow_loc *l)
{
    static const char *const words[] = {
        [GLOW_LOC_FILE] = "file",     [GLOW_LOC_ONNX] = "onnx",
        [GLOW_LOC_CAFFE2] = "caffe2", [GLOW_LOC_NAME] = "name",
        [GLOW_LOC_FUSED] = "fused",   [GLOW_LOC_DERIVED] = "derived",
    };

    glow_buf_printf(b, "%s(", words[l->kind]);
    glow_buf_quoted(b, l->text, strlen(l->text));
    if (l->kind == GLOW_LOC_FILE)
        glow_buf_printf(b, ", %d, %d", l->line, l->column);
    if (l->node) {
        glow_buf_puts(b, ", ");
        glow_buf_quoted(b, l->node, strlen(l->node));
    }
    for (int i = 0; i < l->n_parts; i++) {
        glow_buf_puts(b, ", ");
        put_loc(b, l->parts[i]);
    }
    glow_buf_putc(b, ')');
}

static void
put_location(glow_buf *b, bool *any, const char *symbol, const char *value,
             const glow_loc *l)
{
    if (!l)
        return;
    if (!*any)
        glow_buf_puts(b, "\nlocations {\n");
    *any = true;
    glow_buf_puts(b, "  ");
    glow_text_put_name(b, '@', symbol);
    if (value) {
        glow_buf_putc(b, ' ');
        glow_text_put_name(b, '%', value);
    }
    glow_buf_puts(b, ": ");
    put_loc(b, l);
    glow_buf_putc(b, '\n');
}

static void
put_locations(glow_buf *b, const glow_module *m, const scope *in)
{
    bool any = false;

    for (int constants = 0; constants < 2; constants++)
        GLOW_FOR_EACH_STORAGE(s, m)
            if (s->is_constant == (constants == 1) && prints_storage(in, s))
                put_location(b, &any, s->name, NULL, s->loc);
    for (int programs = 0; programs < 2; programs++)
        GLOW_FOR_EACH_FUNC(f, m)
            if (f->is_program == (programs == 1) && prints_func(in, f))
                GLOW_FOR_EACH_NODE(n, f)
                    put_location(b, &any, f->name, n->name, n->loc);
    if (any)
        glow_buf_puts(b, "}\n");
}

static void
put_floats(glow_buf *b, const char *before, const float *at, int64_t count)
{
    glow_buf_puts(b, before);
    for (int64_t i = 0; i < count; i++) {
        glow_buf_puts(b, i ? ", " : "");
        glow_buf_float(b, at[i]);
    }
    glow_buf_putc(b, ']');
}

/* The line of `v`, a value of function `func`, or storage if that is NULL. */
static void
put_range(glow_buf *b, bool *any, const char *func, const glow_value *v)
{
    const glow_value_range *r = glow_get_value_range(v);

    if (!r)
        return;
    glow_buf_puts(b, *any ? "  " : "\nranges {\n  ");
    *any = true;
    if (func) {
        glow_text_put_name(b, '@', func);
        glow_buf_putc(b, ' ');
    }
    glow_print_value(b, v);
    put_floats(b, ": [", (const float[]){r->min, r->max}, 2);
    if (r->channels > 0) {
        glow_buf_printf(b, " per(%d)", r->axis);
        put_floats(b, " {min: [", r->channel_min, r->channels);
        put_floats(b, ", max: [", r->channel_max, r->channels);
        put_floats(b, ", mean: [", r->channel_mean, r->channels);
        glow_buf_putc(b, '}');
    }
    glow_buf_putc(b, '\n');
}

static void
put_ranges(glow_buf *b, const glow_module *m, const scope *in)
{
    bool any = false;

    if (!m->ranges)
        return;
    for (int constants = 0; constants < 2; constants++)
        GLOW_FOR_EACH_STORAGE(s, m)
            if (s->is_constant == (constants == 1) && prints_storage(in, s))
                put_range(b, &any, NULL, &s->value);
    GLOW_FOR_EACH_FUNC(f, m)
        if (!f->is_program && prints_func(in, f))
            GLOW_FOR_EACH_NODE(n, f)
                for (int i = 0; i < n->n_out; i++)
                    put_range(b, &any, f->name, n->out[i]);
    if (any)
        glow_buf_puts(b, "}\n");
}

void
glow_print(glow_buf *b, glow_module *m, const glow_print_options *options)
{
    static const glow_print_options plain = {0};
    const glow_print_options *o = options ? options : &plain;
    glow_arena *a = glow_arena_new();
    scope in = scope_of(a, m, o->only_func);

    put_header(b, m, &in);
    put_weights(b, m, &in);
    for (int constants = 0; constants < 2; constants++)
        GLOW_FOR_EACH_STORAGE(s, m)
            if (s->is_constant == (constants == 1) && prints_storage(&in, s))
                put_storage(b, s, o);
    for (int programs = 0; programs < 2; programs++)
        GLOW_FOR_EACH_FUNC(f, m)
            if (f->is_program == (programs == 1) && prints_func(&in, f)) {
                glow_buf_putc(b, '\n');
                put_func(b, f, o);
            }
    put_data(b, m, &in, o);
    put_locations(b, m, &in);
    put_ranges(b, m, &in);
    glow_arena_free(a);
}
