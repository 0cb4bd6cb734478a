/* Modules: storage, functions, unknown operators, provenance. */

#include "glow/graph.h"
#include "ir/weights.h"

#include <assert.h>
#include <string.h>

glow_module *
glow_module_new(glow_context *ctx)
{
    glow_arena *a = glow_arena_new();
    glow_module *m = GLOW_NEW(a, glow_module);

    m->ctx = ctx;
    m->arena = a;
    m->storage_names = glow_map_new(a);
    m->func_names = glow_map_new(a);
    m->counters = glow_map_new(a);
    m->unknown_ops = glow_map_new(a);
    return m;
}

void
glow_module_free(glow_module *m)
{
    if (!m)
        return;
    GLOW_FOR_EACH_STORAGE(s, m)
        glow_data_unref(s->tensor.owner);
    for (glow_weights *w = m->weights; w; w = w->next)
        glow_weights_close(w);
    glow_arena_free(m->arena);
}

/* A name that `names` does not have yet: `name`, `name.1`, ... */
static const char *
unique_name(glow_module *m, const glow_map *names, const char *name)
{
    if (!glow_map_get(names, name))
        return glow_arena_strdup(m->arena, name);

    uintptr_t i = (uintptr_t)glow_map_get(m->counters, name);
    const char *numbered;

    do
        numbered = glow_arena_printf(m->arena, "%s.%zu", name, (size_t)++i);
    while (glow_map_get(names, numbered));
    glow_map_set(m->counters, glow_arena_strdup(m->arena, name), (void *)i);
    return numbered;
}

/* Storage. */

static glow_storage *
storage_new(glow_module *m, const char *name, const glow_type *type)
{
    glow_storage *s = GLOW_NEW(m->arena, glow_storage);

    s->value = (glow_value){.type = type, .storage = s};
    s->module = m;
    s->name = unique_name(m, m->storage_names, name);
    s->prev = m->last_storage;
    *(s->prev ? &s->prev->next : &m->storage) = s;
    m->last_storage = s;
    glow_map_set(m->storage_names, s->name, s);
    return s;
}

glow_storage *
glow_placeholder_new(glow_module *m, const char *name, const glow_type *type)
{
    return storage_new(m, name, type);
}

glow_storage *
glow_constant_wrap(glow_module *m, const char *name, const glow_type *type,
                   void *data, glow_data *owner)
{
    glow_storage *s = storage_new(m, name, type);

    s->is_constant = true;
    s->payload = GLOW_DATA;
    s->tensor = (glow_tensor){type, data, glow_data_ref(owner)};
    return s;
}

glow_storage *
glow_constant_new(glow_module *m, const char *name, const glow_type *type)
{
    glow_tensor t = glow_tensor_new(type);
    glow_storage *s = glow_constant_wrap(m, name, type, t.data, t.owner);

    glow_tensor_end(&t);
    return s;
}

glow_storage *
glow_constant_splat(glow_module *m, const char *name, const glow_type *type,
                    double v)
{
    glow_storage *s = storage_new(m, name, type);

    s->is_constant = true;
    s->payload = GLOW_SPLAT;
    s->splat = v;

    /*
     * The converted value, for element kinds that doubles are too narrow for.
     */
    glow_type one = glow_type_of(type->elem, (glow_dims){.rank = 0});
    int64_t bytes = 0;
    glow_tensor t = {.type = &one, .data = &bytes};

    glow_set_double(&t, 0, v);
    if (!glow_is_real(type->elem))
        s->splat_int = glow_get_int(&t, 0);
    return s;
}

static void
fill_splat(glow_storage *s)
{
    glow_type one = glow_type_of(s->value.type->elem, (glow_dims){.rank = 0});
    int64_t bytes = 0;
    glow_tensor t = {.type = &one, .data = &bytes};
    size_t size = (size_t)glow_kind_get(one.elem)->bytes;
    size_t whole = (size_t)glow_type_bytes(s->value.type);

    if (glow_is_real(one.elem))
        glow_set_double(&t, 0, s->splat);
    else
        glow_set_int(&t, 0, s->splat_int);
    s->tensor = glow_tensor_new(s->value.type);
    for (size_t at = 0; at + size <= whole; at += size)
        memcpy((char *)s->tensor.data + at, &bytes, size);
}

const glow_tensor *
glow_constant_tensor(glow_storage *s)
{
    assert(s->is_constant);
    if (s->tensor.owner)
        return &s->tensor;
    if (s->payload == GLOW_SPLAT)
        fill_splat(s);
    else if (!glow_weights_load(s))
        return NULL;
    return &s->tensor;
}

glow_storage *
glow_find_storage(const glow_module *m, const char *name)
{
    return glow_map_get(m->storage_names, name);
}

void
glow_storage_erase(glow_storage *s)
{
    glow_module *m = s->module;

    assert(!s->value.uses);
    glow_data_unref(s->tensor.owner);
    glow_map_set(m->storage_names, s->name, NULL);
    *(s->prev ? &s->prev->next : &m->storage) = s->next;
    *(s->next ? &s->next->prev : &m->last_storage) = s->prev;
}

/* Functions. */

glow_func *
glow_func_new(glow_module *m, const char *name)
{
    glow_func *f = GLOW_NEW(m->arena, glow_func);

    f->module = m;
    f->name = unique_name(m, m->func_names, name);
    f->names = glow_map_new(m->arena);
    f->counters = glow_map_new(m->arena);
    f->prev = m->last_func;
    *(f->prev ? &f->prev->next : &m->funcs) = f;
    m->last_func = f;
    glow_map_set(m->func_names, f->name, f);
    return f;
}

glow_func *
glow_program_new(glow_module *m, const char *name)
{
    glow_func *f = glow_func_new(m, name);

    f->is_program = true;
    return f;
}

glow_func *
glow_find_func(const glow_module *m, const char *name)
{
    return glow_map_get(m->func_names, name);
}

/* Drops every use, so that the nodes can go in any order. */
static void
clear_uses(glow_func *f)
{
    GLOW_FOR_EACH_NODE(n, f) {
        for (int i = 0; i < n->n_in; i++)
            glow_set_operand(n, i, NULL);
        if (!glow_defines(n))
            for (int i = 0; i < n->n_out; i++)
                glow_set_result(n, i, NULL);
        glow_set_pred(n, NULL);
    }
}

static void
unlink_func(glow_func *f)
{
    glow_module *m = f->module;

    *(f->prev ? &f->prev->next : &m->funcs) = f->next;
    *(f->next ? &f->next->prev : &m->last_func) = f->prev;
    glow_map_set(m->func_names, f->name, NULL);
}

void
glow_func_erase(glow_func *f)
{
    clear_uses(f);
    unlink_func(f);
}

void
glow_func_replace(glow_func *f, glow_func *with)
{
    glow_module *m = f->module;
    glow_func *after = f->next == with ? with->next : f->next;

    unlink_func(with);
    glow_func_erase(f);
    with->next = after;
    with->prev = after ? after->prev : m->last_func;
    *(with->prev ? &with->prev->next : &m->funcs) = with;
    *(after ? &after->prev : &m->last_func) = with;
    with->name = f->name;
    glow_map_set(m->func_names, with->name, with);
}

/* Unknown operators. */

static void
add_signature(glow_buf *b, const glow_operand *list, int n)
{
    for (int i = 0; i < n; i++)
        glow_buf_printf(b, "%s:%d,", list[i].name ? list[i].name : "",
                        (int)list[i].kind);
    glow_buf_putc(b, '/');
}

const glow_op *
glow_unknown_op(glow_module *m, const char *name, const glow_operand *in,
                int n_in, const glow_operand *out, int n_out)
{
    glow_buf key = {.arena = m->arena};

    glow_buf_printf(&key, "%s/", name);
    add_signature(&key, in, n_in);
    add_signature(&key, out, n_out);

    glow_op *op = glow_map_get(m->unknown_ops, key.text);

    if (op || n_in > GLOW_MAX_OPERANDS || n_out > GLOW_MAX_RESULTS)
        return op;
    op = GLOW_NEW(m->arena, glow_op);
    op->name = glow_arena_strdup(m->arena, name);
    op->summary = "not registered";
    op->traits = GLOW_UNKNOWN | GLOW_STATED;
    for (int i = 0; i < n_in; i++) {
        op->in[i] = in[i];
        op->in[i].name = glow_arena_strdup(m->arena, in[i].name);
    }
    for (int i = 0; i < n_out; i++) {
        op->out[i] = out[i];
        op->out[i].name = glow_arena_strdup(m->arena, out[i].name);
    }
    glow_map_set(m->unknown_ops, key.text, op);
    return op;
}

/* Provenance. */

const glow_loc *
glow_loc_model(glow_module *m, glow_loc_kind kind, const char *file,
               const char *node)
{
    glow_loc *l = GLOW_NEW(m->arena, glow_loc);

    l->kind = kind;
    l->text = glow_intern(m->ctx, file);
    l->node = node ? glow_arena_strdup(m->arena, node) : NULL;
    return l;
}

static bool
loc_equal(const glow_loc *a, const glow_loc *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || a->n_parts != b->n_parts || a->line != b->line ||
        a->column != b->column || strcmp(a->text, b->text) != 0 ||
        strcmp(a->node ? a->node : "", b->node ? b->node : "") != 0)
        return false;
    for (int i = 0; i < a->n_parts; i++)
        if (!loc_equal(a->parts[i], b->parts[i]))
            return false;
    return true;
}

/* Adds `l` to `parts` unless it is there. */
static int
add_part(const glow_loc **parts, int n, const glow_loc *l)
{
    for (int i = 0; i < n; i++)
        if (loc_equal(parts[i], l))
            return n;
    parts[n] = l;
    return n + 1;
}

/*
 * Limit of parts: more say nothing to a reader, and cost time in every rewrite.
 */
enum { MOST_PARTS = 16 };

const glow_loc *
glow_loc_fused(glow_module *m, const char *pass, const glow_loc *const *parts,
               int n)
{
    const glow_loc *flat[MOST_PARTS];
    int count = 0;

    for (int i = 0; i < n; i++) {
        bool same = parts[i] && parts[i]->kind == GLOW_LOC_FUSED &&
                    strcmp(parts[i]->text, pass) == 0;

        /* fused(p, fused(p, a, b), c) says no more than fused(p, a, b, c). */
        for (int j = 0; same && j < parts[i]->n_parts; j++)
            if (count < MOST_PARTS)
                count = add_part(flat, count, parts[i]->parts[j]);
        if (parts[i] && !same && count < MOST_PARTS)
            count = add_part(flat, count, parts[i]);
    }
    if (count <= 1)
        return count ? flat[0] : NULL;

    glow_loc *l = GLOW_NEW(m->arena, glow_loc);

    l->kind = GLOW_LOC_FUSED;
    l->text = glow_intern(m->ctx, pass);
    l->parts = glow_arena_copy(m->arena, flat, (size_t)count * sizeof *flat);
    l->n_parts = count;
    return l;
}

const glow_loc *
glow_loc_derived(glow_module *m, const char *pass, const glow_loc *from)
{
    if (!from)
        return NULL;
    if (from->kind == GLOW_LOC_DERIVED && strcmp(from->text, pass) == 0)
        return from;

    glow_loc *l = GLOW_NEW(m->arena, glow_loc);

    l->kind = GLOW_LOC_DERIVED;
    l->text = glow_intern(m->ctx, pass);
    l->parts = glow_arena_copy(m->arena, &from, sizeof from);
    l->n_parts = 1;
    return l;
}
