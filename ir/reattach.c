/*
 * Restores the elements of elided constants from a weights file: a tensor
 * matches if its element kind, its shape and the hash of its bytes do.  The
 * constant is then external, and the text refers to the file.
 */

#include <string.h>

#include "glow/text.h"
#include "ir/base/sha256.h"
#include "ir/weights.h"

#define HASH_PREFIX "sha256:"
#define FEWEST_DIGITS 8 /* of a hash that tells tensors apart */

typedef struct candidates {
    glow_arena *arena;
    const glow_weights_reader *file;
    char (*hashes)[65]; /* by number of the key; "" until computed */
} candidates;

static const char *
hash_of(const candidates *c, size_t i, const glow_weights_entry *e)
{
    if (!*c->hashes[i])
        glow_sha256_hex((const char *)glow_data_bytes(c->file->file) + e->begin,
                        e->end - e->begin, c->hashes[i]);
    return c->hashes[i];
}

/*
 * The key of the tensor in the file that matches the elided constant `s`, or
 * NULL.
 */
static const char *
find_elided(const candidates *c, const glow_storage *s)
{
    const glow_type *t = s->value.type;
    size_t prefix = strlen(HASH_PREFIX);
    const char *digits = s->key + prefix;

    if (strncmp(s->key, HASH_PREFIX, prefix) != 0 ||
        strlen(digits) < FEWEST_DIGITS || t->strides.rank)
        return NULL;
    for (size_t i = 0; i < c->file->count; i++) {
        const char *key = c->file->keys[i];
        const glow_weights_entry *e = glow_map_get(c->file->entries, key);

        if (strcmp(e->dtype, glow_safetensors_dtype(t->elem)) == 0 &&
            glow_dims_equal(e->shape, t->shape) &&
            strncmp(hash_of(c, i, e), digits, strlen(digits)) == 0)
            return key;
    }
    return NULL;
}

static bool
reattach_all(glow_module *m, glow_weights *w, const candidates *c)
{
    bool ok = true;

    GLOW_FOR_EACH_STORAGE(s, m) {
        const char *key = s->payload == GLOW_ELIDED ? find_elided(c, s) : NULL;

        if (key) {
            s->payload = GLOW_EXTERNAL;
            s->file = w;
            s->key = glow_arena_strdup(m->arena, key);
        } else if (s->payload == GLOW_ELIDED) {
            ok = glow_error_at(m->ctx, s->span, "E0609",
                               "@%s was %s with the hash %s, but none of the "
                               "%zu tensors of `%s` is",
                               s->name, glow_type_text(c->arena, s->value.type),
                               s->key, c->file->count, w->path);
        }
    }
    return ok;
}

bool
glow_reattach(glow_module *m, const char *alias, const char *path)
{
    glow_weights *w = glow_weights_declare(m, alias, path);
    candidates c = {.arena = glow_arena_new()};
    bool ok;

    w->given = glow_arena_strdup(m->arena, path);
    c.file = glow_weights_open(m->ctx, w);
    ok = !c.file->bad;
    glow_weights_add_file(m, w);
    if (ok) {
        c.hashes = glow_arena_alloc_array(c.arena, c.file->count + 1,
                                          sizeof *c.hashes);
        ok = reattach_all(m, w, &c);
    }
    glow_arena_free(c.arena);
    return ok;
}
