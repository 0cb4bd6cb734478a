/* State: placeholders that are kept from run to run, and their files. */

#include "glow/state.h"

#include <string.h>

#include "ir/verify.h"
#include "ir/weights.h"

bool
glow_placeholder_is(const glow_storage *s, const char *name)
{
    const glow_attr_value *v =
        s->is_constant ? NULL : glow_attr_find(s->attrs, name);

    return v && v->kind == GLOW_V_BOOL && v->i;
}

bool
glow_is_state(const glow_storage *s)
{
    return glow_placeholder_is(s, "State");
}

bool
glow_is_trained(const glow_storage *s)
{
    return glow_placeholder_is(s, "Trained");
}

glow_storage *
glow_initial(const glow_storage *s)
{
    const glow_attr_value *v =
        s->is_constant ? NULL : glow_attr_find(s->attrs, "Initial");
    glow_storage *c = v && v->kind == GLOW_V_SYMBOL
                          ? glow_find_storage(s->module, v->text)
                          : NULL;

    return c && c->is_constant ? c : NULL;
}

bool
glow_is_initial(const glow_storage *s)
{
    GLOW_FOR_EACH_STORAGE(p, s->module)
        if (!p->is_constant && p->attrs.count > 0 && glow_initial(p) == s)
            return true;
    return false;
}

/* Verifying. */

static bool
check_flag(const glow_storage *s, const char *name)
{
    const glow_attr_value *v = glow_attr_find(s->attrs, name);

    return !v || v->kind == GLOW_V_BOOL ||
           glow_error_at(s->module->ctx, s->span, "E0217",
                         "@%s: %s is true or false", s->name, name);
}

/* The function of a graph that saves to `s` for the second time, or NULL. */
static const glow_node *
second_save(const glow_storage *s)
{
    GLOW_FOR_EACH_USE(u, &s->value)
        GLOW_FOR_EACH_USE(v, &s->value)
            if (u != v && u->user->op == &glow_op_save && u->index == 1 &&
                v->user->op == &glow_op_save && v->index == 1 &&
                u->user->func == v->user->func && u->user->id > v->user->id)
                return u->user;
    return NULL;
}

/* True if the type of `s` is that of its Initial `c`, wherever the elements lie. */
static bool
is_alike(const glow_storage *s, const glow_storage *c)
{
    glow_type a = *s->value.type, b = *c->value.type;

    a.strides.rank = b.strides.rank = 0;
    return glow_type_get(s->module->ctx, a) == glow_type_get(s->module->ctx, b);
}

static bool
check_initial(const glow_storage *s)
{
    const glow_attr_value *v = glow_attr_find(s->attrs, "Initial");
    const glow_storage *c = glow_initial(s);
    glow_context *ctx = s->module->ctx;

    if (!v)
        return true;
    if (!c)
        return glow_error_at(ctx, s->span, "E0217",
                             "@%s: Initial is no constant, such as @zero",
                             s->name);
    if (!glow_is_state(s) && !glow_is_trained(s))
        return glow_error_at(ctx, s->span, "E0217",
                             "@%s has an Initial, but is no state", s->name);
    return is_alike(s, c) ||
           glow_error_at(ctx, s->span, "E0217",
                         "@%s begins as @%s, whose type is %s and not %s",
                         s->name, c->name,
                         glow_type_text(s->module->arena, c->value.type),
                         glow_type_text(s->module->arena, s->value.type));
}

static bool
verify_placeholder(const glow_storage *s)
{
    const glow_node *second;

    if (!check_flag(s, "State") || !check_flag(s, "Trained") ||
        !check_initial(s))
        return false;
    if (!glow_is_state(s))
        return true;
    if (glow_is_formal(s))
        return glow_error_at(s->module->ctx, s->span, "E0217",
                             "@%s is state, and cannot be a formal of a body",
                             s->name);
    second = second_save(s);
    return !second || glow_error_at(s->module->ctx, second->span, "E0217",
                                    "@%s is state, and @%s saves to it twice",
                                    s->name, second->func->name);
}

bool
glow_verify_state(const glow_module *m)
{
    bool ok = true;

    GLOW_FOR_EACH_STORAGE(s, m)
        if (!s->is_constant && s->attrs.count > 0)
            ok = verify_placeholder(s) && ok;
    return ok;
}

struct glow_state {
    glow_context *ctx;
    glow_arena *arena;
    glow_state_entry *entries;
    size_t count;
    glow_map *index; /* entries by name */
    glow_map *notes;
    const char **keys; /* of all notes that there ever were */
    size_t n_keys, cap_keys;
};

static glow_state *
new_state(glow_context *ctx)
{
    glow_arena *a = glow_arena_new();
    glow_state *s = GLOW_NEW(a, glow_state);

    s->ctx = ctx;
    s->arena = a;
    s->index = glow_map_new(a);
    s->notes = glow_map_new(a);
    return s;
}

/* Bytes of a tensor in a block, in which each begins a cache line. */
static int64_t
bytes_in_lines(const glow_type *t)
{
    int64_t line = 64;

    return (glow_type_bytes(t) + line - 1) / line * line;
}

/*
 * Makes the tensors of the entries, zeroed, one behind the other in one block: large ones
 * have huge pages, but many tensors that are smaller than such a page would have none.
 */
static void
make_tensors(glow_state *s)
{
    int64_t size = 0;
    glow_data *block;
    char *at;

    for (size_t i = 0; i < s->count; i++)
        if (glow_add_overflow(size, bytes_in_lines(s->entries[i].tensor.type),
                              &size))
            size = INT64_MAX; /* more than there is */
    block = glow_data_new((size_t)size);
    at = glow_data_bytes(block);
    for (size_t i = 0; i < s->count; i++) {
        glow_tensor *t = &s->entries[i].tensor;

        t->data = at;
        t->owner = glow_data_ref(block);
        at += bytes_in_lines(t->type);
    }
    glow_data_unref(block);
}

static bool
is_kept(const glow_storage *p)
{
    return glow_is_state(p) || glow_is_trained(p);
}

/* Sets the first contents of `e`, of placeholder `p`; false after a report. */
static bool
begin_entry(glow_state_entry *e, const glow_storage *p)
{
    glow_storage *c = glow_initial(p);
    const glow_tensor *from = c ? glow_constant_tensor(c) : NULL;

    e->is_set = from != NULL;
    if (from)
        glow_tensor_copy(&e->tensor, from);
    return from || !c;
}

glow_state *
glow_state_new(glow_context *ctx, const glow_module *m)
{
    bool ok = true;
    glow_state *s = new_state(ctx);
    glow_arena *a = s->arena;
    size_t cap = 0, i = 0;

    GLOW_FOR_EACH_STORAGE(p, m) {
        glow_type type = *p->value.type;

        if (!is_kept(p))
            continue;
        type.strides.rank = 0;
        s->entries =
            glow_arena_grow(a, s->entries, s->count, &cap, sizeof *s->entries);
        s->entries[s->count++] = (glow_state_entry){
            .name = glow_arena_strdup(a, p->name),
            .tensor = {.type = glow_type_get(ctx, type)},
            .is_trained = glow_is_trained(p),
        };
    }
    make_tensors(s);
    GLOW_FOR_EACH_STORAGE(p, m)
        if (is_kept(p))
            ok = begin_entry(&s->entries[i++], p) && ok;
    if (!ok) {
        glow_state_free(s);
        return NULL;
    }
    for (i = 0; i < s->count; i++)
        glow_map_set(s->index, s->entries[i].name, &s->entries[i]);
    return s;
}

glow_state *
glow_state_clone(glow_context *ctx, const glow_state *from)
{
    glow_state *s = new_state(ctx);

    s->count = from->count;
    s->entries = GLOW_NEW_ARRAY(s->arena, glow_state_entry, s->count + 1);
    for (size_t i = 0; i < s->count; i++) {
        const glow_state_entry *e = &from->entries[i];

        s->entries[i] = *e;
        s->entries[i].name = glow_arena_strdup(s->arena, e->name);
        s->entries[i].tensor =
            (glow_tensor){.type = glow_type_get(ctx, *e->tensor.type)};
        glow_map_set(s->index, s->entries[i].name, &s->entries[i]);
    }
    make_tensors(s);
    for (size_t i = 0; i < s->count; i++)
        glow_tensor_copy(&s->entries[i].tensor, &from->entries[i].tensor);
    for (size_t i = 0; i < from->n_keys; i++)
        glow_state_set_note(s, from->keys[i],
                            glow_state_note(from, from->keys[i]));
    return s;
}

void
glow_state_free(glow_state *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        glow_tensor_end(&s->entries[i].tensor);
    glow_arena_free(s->arena);
}

glow_state_entry *
glow_state_entries(glow_state *s, size_t *count)
{
    *count = s->count;
    return s->entries;
}

glow_state_entry *
glow_state_find(glow_state *s, const char *name)
{
    return glow_map_get(s->index, name);
}

const char *
glow_state_note(const glow_state *s, const char *key)
{
    return glow_map_get(s->notes, key);
}

void
glow_state_set_note(glow_state *s, const char *key, const char *value)
{
    size_t i = 0;

    while (i < s->n_keys && strcmp(s->keys[i], key) != 0)
        i++;
    if (i == s->n_keys) {
        s->keys = glow_arena_grow(s->arena, s->keys, s->n_keys, &s->cap_keys,
                                  sizeof *s->keys);
        s->keys[s->n_keys++] = glow_arena_strdup(s->arena, key);
    }
    glow_map_set(s->notes, s->keys[i],
                 value ? glow_arena_strdup(s->arena, value) : NULL);
}

/* Files. */

static bool
check_entry(const glow_state *s, const glow_state_entry *e,
            const glow_weights_entry *found, const char *path)
{
    const glow_type *t = e->tensor.type;
    glow_arena *a;
    glow_buf b = {0};

    if (strcmp(found->dtype, glow_safetensors_dtype(t->elem)) == 0 &&
        glow_dims_equal(found->shape, t->shape))
        return true;
    a = glow_arena_new();
    b.arena = a;
    for (int i = 0; i < found->shape.rank; i++)
        glow_buf_printf(&b, "%s%lld", i ? " x " : "",
                        (long long)found->shape.at[i]);
    glow_error(s->ctx, "E0610",
               "%s: the tensor `%s` is %s<%s>, but the placeholder is %s", path,
               e->name, found->dtype, b.len ? b.text : "",
               glow_type_text(a, t));
    glow_arena_free(a);
    return false;
}

static void
take(glow_state *s, const glow_weights_reader *r)
{
    const char *bytes = glow_data_bytes(r->file);

    for (size_t i = 0; i < s->count; i++) {
        glow_state_entry *e = &s->entries[i];
        const glow_weights_entry *found = glow_map_get(r->entries, e->name);

        if (!found)
            continue;
        memcpy(e->tensor.data, bytes + found->begin, found->end - found->begin);
        e->is_set = true;
    }
    for (size_t i = 0; i < r->n_notes; i++)
        glow_state_set_note(s, r->notes[i][0], r->notes[i][1]);
}

/* Reads the open file of `w`, and closes it. */
static bool
load(glow_state *s, glow_weights *w, const glow_weights_reader *r)
{
    bool ok = !r->bad;

    for (size_t i = 0; i < s->count && !r->bad; i++) {
        const glow_weights_entry *found =
            glow_map_get(r->entries, s->entries[i].name);

        ok = (!found || check_entry(s, &s->entries[i], found, w->path)) && ok;
    }
    if (ok)
        take(s, r);
    glow_weights_close(w);
    return ok;
}

bool
glow_state_load(glow_state *s, const char *path)
{
    glow_weights w = {.format = "safetensors", .path = path, .given = path};

    return load(s, &w, glow_weights_open(s->ctx, &w));
}

static void
leave(void *user)
{
    (void)user; /* the caller's bytes */
}

bool
glow_state_read(glow_state *s, const char *name, const void *bytes, size_t size)
{
    glow_weights w = {.format = "safetensors", .path = name, .given = name};
    glow_data *file =
        glow_data_wrap((void *)(uintptr_t)bytes, size, leave, NULL);

    return load(s, &w, glow_weights_open_data(s->ctx, &w, file));
}

bool
glow_state_check(const glow_state *s, const char *path)
{
    bool ok = true;

    for (size_t i = 0; i < s->count; i++)
        if (s->entries[i].is_trained && !s->entries[i].is_set)
            ok = glow_error(s->ctx, "E0611",
                            "%s: there is no tensor `%s`, which is trained "
                            "and has no other first value",
                            path, s->entries[i].name);
    return ok;
}

static bool
is_named(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Writes `path`, or to `b`.  NULL names: all, and the notes. */
static bool
save(const glow_state *s, const char *path, glow_buf *b,
     const char *const *names, size_t n_names)
{
    glow_arena *a = glow_arena_new();
    glow_safetensor *chosen = GLOW_NEW_ARRAY(a, glow_safetensor, s->count + 1);
    const char *(*notes)[2] =
        glow_arena_alloc_array(a, s->n_keys + 1, sizeof *notes);
    size_t count = 0, n_notes = 0;
    bool ok = true;

    for (size_t i = 0; i < s->count; i++) {
        const glow_state_entry *e = &s->entries[i];

        if (!names || is_named(e->name, names, n_names))
            chosen[count++] =
                (glow_safetensor){e->name, e->tensor.type, e->tensor.data};
    }
    for (size_t i = 0; i < s->n_keys && !names; i++) {
        notes[n_notes][0] = s->keys[i];
        notes[n_notes][1] = glow_state_note(s, s->keys[i]);
        n_notes += notes[n_notes][1] != NULL;
    }
    if (b)
        glow_safetensors_put(b, chosen, count, (const char *const(*)[2])notes,
                             n_notes);
    else
        ok = glow_safetensors_write(s->ctx, path, chosen, count,
                                    (const char *const(*)[2])notes, n_notes);
    glow_arena_free(a);
    return ok;
}

bool
glow_state_save(const glow_state *s, const char *path)
{
    return save(s, path, NULL, NULL, 0);
}

void
glow_state_write(const glow_state *s, glow_buf *b)
{
    save(s, NULL, b, NULL, 0);
}

bool
glow_state_save_some(const glow_state *s, const char *path,
                     const char *const *names, size_t count)
{
    return save(s, path, NULL, names, count);
}

bool
glow_state_map(glow_context *ctx, const char *path, const char *name,
               glow_tensor *out, glow_data **owner)
{
    glow_weights w = {.format = "safetensors", .path = path, .given = path};
    glow_weights_reader *r = glow_weights_open(ctx, &w);
    const glow_weights_entry *e = NULL;
    glow_kind kind = GLOW_NO_KIND;
    bool ok = !r->bad;

    if (ok) {
        e = glow_map_get(r->entries, r->count == 1 ? r->keys[0] : name);
        ok = e ||
             glow_error(ctx, "E0605", "`%s` has no tensor `%s`", path, name);
    }
    for (int k = 1; ok && k < GLOW_KIND_COUNT && kind == GLOW_NO_KIND; k++)
        if (!glow_is_quantized((glow_kind)k) &&
            strcmp(glow_safetensors_dtype((glow_kind)k), e->dtype) == 0)
            kind = (glow_kind)k;
    if (ok) {
        out->type = glow_type_get(ctx, glow_type_of(kind, e->shape));
        out->data = (char *)glow_data_bytes(r->file) + e->begin;
        out->owner = NULL;
        *owner = glow_data_ref(r->file);
    }
    glow_weights_close(&w);
    return ok;
}
