/*
 * -print-ir-dir: a self-contained folder of modules, one after each pass.
 *
 *     00-input.gir  00-input.safetensors  01-cse.main.gir  ...
 *
 * The text of a module does not contain its large constants, and may not refer
 * to files outside of its folder.  So each step writes the constants that are
 * new in it to a separate safetensors file; constants are identified by the
 * address of their elements, which stay referenced until the end.  The folder
 * then has each constant once.
 */

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "glow/text.h"
#include "tools/glow-opt/opt.h"

#define LEAST_BYTES 1024 /* of constants that are external */

/* A constant that is in a file of the folder. */
typedef struct written {
    const char *stem; /* of the file: "03-fold-constants.main" */
    const char *key;
    glow_data *owner;
} written;

struct ir_dir {
    glow_map *by_address;
    written **all;
    size_t count, cap;
};

/* Letters, digits and `-_.` of `name`, and `_` for everything else. */
static void
put_file_name(glow_buf *b, const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

    for (const char *c = name; *c; c++)
        glow_buf_putc(b, strchr(plain, *c) ? *c : '_');
}

static const char *
stem_of(glow_arena *a, const char *pass, const glow_func *f, int number)
{
    glow_buf b = {.arena = a};

    glow_buf_printf(&b, "%02d-", number);
    put_file_name(&b, pass);
    if (f) {
        glow_buf_putc(&b, '.');
        put_file_name(&b, f->name);
    }
    return b.text;
}

static const char *
address_of(glow_arena *a, const glow_storage *s)
{
    return glow_arena_printf(a, "%p %s", s->tensor.data,
                             glow_type_text(a, s->value.type));
}

static void
remember(opt *o, const glow_storage *s, const char *stem)
{
    struct ir_dir *d = o->ir_dir;
    glow_arena *a = o->tool.arena;
    written *w = GLOW_NEW(a, written);

    *w = (written){stem, glow_arena_strdup(a, s->key),
                   glow_data_ref(s->tensor.owner)};
    glow_map_set(d->by_address, address_of(a, s), w);
    d->all = glow_arena_grow(a, d->all, d->count, &d->cap, sizeof *d->all);
    d->all[d->count++] = w;
}

static glow_weights *
file_of(glow_module *m, const char *dir, const char *stem)
{
    for (glow_weights *w = m->weights; w; w = w->next)
        if (strcmp(w->alias, stem) == 0)
            return w;
    return glow_weights_new(
        m, stem, glow_arena_printf(m->arena, "%s/%s.safetensors", dir, stem));
}

/* Makes the large constants of `m`, a copy, external to files of the folder. */
static bool
place_constants(opt *o, glow_module *m, const char *stem)
{
    const char *dir = o->values.print_ir_dir;
    glow_storage **new = NULL;
    size_t count = 0, cap = 0;

    GLOW_FOR_EACH_STORAGE(s, m) {
        const written *w;

        if (!glow_may_externalize(s, LEAST_BYTES))
            continue;
        if (!glow_constant_tensor(s))
            return false;
        w = glow_map_get(o->ir_dir->by_address, address_of(m->arena, s));
        if (w) {
            s->payload = GLOW_EXTERNAL;
            s->file = file_of(m, dir, w->stem);
            s->key = w->key;
        } else {
            new = glow_arena_grow(m->arena, new, count, &cap, sizeof *new);
            new[count++] = s;
        }
    }
    if (!glow_externalize_chosen(
            m, stem,
            glow_arena_printf(m->arena, "%s/%s.safetensors", dir, stem), new,
            count))
        return false;
    for (size_t i = 0; i < count; i++)
        remember(o, new[i], stem);
    glow_drop_unused_weights(m);
    return true;
}

static bool
write_step(opt *o, const char *pass, glow_module *m, const glow_func *f,
           int number)
{
    const char *stem = stem_of(o->tool.arena, pass, f, number);
    glow_module *copy = glow_module_clone(m);
    glow_print_options how = opt_print_options(o);
    glow_buf path = {0}, text = {0};
    bool ok = place_constants(o, copy, stem);

    if (ok) {
        glow_buf_printf(&path, "%s/%s.gir", o->values.print_ir_dir, stem);
        glow_print(&text, copy, &how);
        ok = glow_file_write(o->tool.ctx, path.text, text.text, text.len);
    }
    glow_buf_free(&text);
    glow_buf_free(&path);
    glow_module_free(copy);
    return ok;
}

static bool
after(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number,
      glow_result result, double seconds)
{
    (void)seconds;
    return result == GLOW_FAILED || write_step(user, p->name, m, f, number);
}

bool
begin_ir_dir(opt *o, glow_module *m)
{
    const char *dir = o->values.print_ir_dir;

    if (!dir)
        return true;
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return glow_error(o->tool.ctx, "E0602", "%s: cannot be made: %s", dir,
                          strerror(errno));
    o->ir_dir = GLOW_NEW(o->tool.arena, struct ir_dir);
    o->ir_dir->by_address = glow_map_new(o->tool.arena);
    return write_step(o, "input", m, NULL, 0);
}

void
end_ir_dir(opt *o)
{
    struct ir_dir *d = o->ir_dir;

    for (size_t i = 0; d && i < d->count; i++)
        glow_data_unref(d->all[i]->owner);
    o->ir_dir = NULL;
}

void
add_ir_dir(opt *o, instruments *list)
{
    if (o->values.print_ir_dir)
        list->at[list->count++] = (glow_instrument){.user = o, .after = after};
}
