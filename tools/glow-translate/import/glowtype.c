/*
 * Types as Glow's exporter writes them where ONNX has no place for them: in the
 * documentation of an input or a tensor, `$elemKind:i8$qScale:0.5$qOffset:3`.
 */

#include <stdlib.h>
#include <string.h>

#include "tools/glow-translate/import/state.h"

/* The text behind `$key:`; NULL if there is none. */
static const char *
entry(const char *doc, const char *key)
{
    size_t size = strlen(key);

    for (const char *at = strchr(doc, '$'); at; at = strchr(at + 1, '$'))
        if (strncmp(at + 1, key, size) == 0 && at[1 + size] == ':')
            return at + 2 + size;
    return NULL;
}

/* The kind that an entry names, up to the next `$`; GLOW_NO_KIND: none is known. */
static glow_kind
kind_of(importer *im, const char *text)
{
    return glow_kind_named(
        glow_arena_strndup(im->arena, text, strcspn(text, "$")));
}

bool
import_noted_type(importer *im, const char *what, const char *doc, glow_type *t)
{
    const char *name = doc ? entry(doc, "elemKind") : NULL;
    const char *scale = name ? entry(doc, "qScale") : NULL;
    const char *offset = name ? entry(doc, "qOffset") : NULL;
    glow_kind kind = name ? kind_of(im, name) : GLOW_NO_KIND;
    const glow_kind_info *k = kind ? glow_kind_get(kind) : NULL;
    const char *wrong;

    /* Other kinds are those that ONNX states. */
    if (!k || !(k->klass & (GLOW_CLASS_QUANTIZED | GLOW_CLASS_FUSED)))
        return true;
    if (k->bytes != glow_kind_get(t->elem)->bytes)
        return glow_error(im->ctx, "E0705",
                          "%s: %s: elements of %s cannot be %s, as Glow's note "
                          "says",
                          im->path, what, glow_kind_get(t->elem)->name,
                          k->name);
    *t = glow_type_of(kind, t->shape);
    if (k->klass & GLOW_CLASS_QUANTIZED) {
        t->scale = scale ? strtof(scale, NULL) : 1;
        t->offset = offset ? (int32_t)strtol(offset, NULL, 10) : 0;
    }
    wrong = glow_type_check(t, im->arena);
    return !wrong ||
           glow_error(im->ctx, "E0709", "%s: %s: %s", im->path, what, wrong);
}
