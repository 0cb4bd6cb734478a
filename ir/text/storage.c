/* Resolution of weights files, placeholders and constants. */

#include <inttypes.h>
#include <string.h>

#include "ir/text/resolve.h"

bool
glow_text_define(text_resolver *r, glow_map *map, const char *what,
                 text_name name, void *item, const text_name *before)
{
    if (before) {
        glow_text_error_note(r->p, name.span, "E0109", before->span,
                             "first defined here", "%s `%s` is defined twice",
                             what, name.text);
        return false;
    }
    glow_map_set(map, name.text, item);
    return true;
}

/* Arguments of calls. */

static const text_value *
argument(const text_call *c, size_t n, glow_value_kind kind)
{
    const text_arg *a = c->args.first;

    while (a && n-- > 0)
        a = a->next;
    return a && a->kind == TEXT_ARG_VALUE && a->value->kind == kind ? a->value
                                                                    : NULL;
}

/* The folder of the source; "." if it has none, as sources in memory. */
static const char *
base_folder(const text_resolver *r)
{
    const char *folder = r->p->options->folder;

    return folder ? folder : ".";
}

static const char *
rebound(const text_resolver *r, const char *alias)
{
    const char *const(*pair)[2] = r->p->options->rebind;

    for (; pair && (*pair)[0]; pair++)
        if (strcmp((*pair)[0], alias) == 0)
            return (*pair)[1];
    return NULL;
}

static bool
is_hex(const char *text)
{
    return text[strspn(text, "0123456789abcdef")] == '\0';
}

/* `safetensors("path", sha256: "9f2c51d0")` */
void
glow_text_resolve_weights(text_resolver *r, text_item *i)
{
    static const char *const formats[] = {"safetensors", "npz", "raw"};
    const char *const format = i->call->word.text;
    const text_value *path = argument(i->call, 0, GLOW_V_STRING);
    const text_arg *hash = path ? i->call->args.first->next : NULL;
    text_item *before = glow_map_get(r->aliases, i->name.text);
    glow_weights *w;

    if (!glow_text_define(r, r->aliases, "the weights alias", i->name, i,
                          before ? &before->name : NULL))
        return;
    if (strcmp(format, "safetensors") != 0 && strcmp(format, "npz") != 0 &&
        strcmp(format, "raw") != 0) {
        glow_text_error_hint(r->p, i->call->word.span, "E0139",
                             glow_text_suggest(r->p, format, formats, 3),
                             "weights are safetensors, npz or raw, not `%s`",
                             format);
        return;
    }
    if (!path || strlen(path->name.text) != path->size ||
        (hash &&
         (hash->next || hash->kind != TEXT_ARG_KEYED ||
          strcmp(hash->key.text, "sha256") != 0 ||
          hash->value->kind != GLOW_V_STRING || hash->value->size > 64 ||
          hash->value->size == 0 || !is_hex(hash->value->name.text)))) {
        glow_text_error(
            r->p, i->call->span, "E0139",
            "write %s(\"path\") or %s(\"path\", sha256: \"hex digits\")",
            format, format);
        return;
    }
    w = GLOW_NEW(r->m->arena, glow_weights);
    w->alias = glow_arena_strdup(r->m->arena, i->name.text);
    w->format = glow_arena_strdup(r->m->arena, format);
    w->path = glow_arena_strdup(r->m->arena, path->name.text);
    w->base = glow_arena_strdup(r->m->arena, base_folder(r));
    w->sha256 =
        hash ? glow_arena_strdup(r->m->arena, hash->value->name.text) : NULL;
    w->span = glow_text_at(r->p, i->call->span);
    w->given = rebound(r, w->alias);
    w->given = w->given ? glow_arena_strdup(r->m->arena, w->given) : NULL;

    glow_weights **end = &r->m->weights;

    while (*end)
        end = &(*end)->next;
    *end = w;
    i->file = w;
}

/* Constants. */

static bool
wrong_payload(text_resolver *r, text_item *i)
{
    glow_text_error(r->p, i->call->span, "E0132",
                    "a constant is [...], splat(value), blob(key), "
                    "external(\"alias\", \"key\") or elided(\"hash\")");
    return false;
}

static bool
fill_splat(text_resolver *r, text_item *i, glow_storage **out)
{
    const text_arg *a = i->call->args.first;
    glow_type one = glow_type_of(i->type->elem, (glow_dims){.rank = 0});
    int64_t bytes = 0;
    glow_tensor t = {.type = &one, .data = &bytes};

    if (!a || a->next || a->kind != TEXT_ARG_VALUE)
        return wrong_payload(r, i);
    if (!glow_text_fill_element(r, a->value, &t, 0))
        return false;
    *out = glow_constant_splat(r->m, i->name.text, i->type,
                               glow_get_double(&t, 0));
    if (!glow_is_real(one.elem))
        (*out)->splat_int = glow_get_int(&t, 0);
    return true;
}

static bool
fill_blob(text_resolver *r, text_item *i, glow_storage **out)
{
    const text_arg *a = i->call->args.first;
    const char *key = NULL;
    text_blob *b;

    if (a && !a->next && a->kind == TEXT_ARG_VALUE)
        key =
            a->value->number.text ? a->value->number.text : a->value->name.text;
    if (!key)
        return wrong_payload(r, i);
    b = glow_map_get(r->blobs, key);
    if (!b) {
        glow_text_error(r->p, a->value->span, "E0110",
                        "no blob `%s` stands in the `data` section", key);
        return false;
    }
    b->used = true;
    if (!glow_text_blob_fits(r, b, i->type))
        return false;
    *out = glow_constant_new(r->m, i->name.text, i->type);
    return glow_text_fill_blob(r, b, &(*out)->tensor);
}

static const char *
suggest_alias(text_resolver *r, const char *wrong)
{
    const char *names[64];
    size_t n = 0;

    for (const glow_weights *w = r->m->weights; w && n < 64; w = w->next)
        names[n++] = w->alias;
    return glow_text_suggest(r->p, wrong, names, n);
}

/* A constant whose elements are in a file or in `data`. */
static glow_storage *
constant_without_data(text_resolver *r, text_item *i, glow_payload payload,
                      const char *key)
{
    glow_storage *s = glow_placeholder_new(r->m, i->name.text, i->type);

    s->is_constant = true;
    s->payload = payload;
    s->key = glow_arena_strdup(r->m->arena, key);
    return s;
}

static bool
set_external(text_resolver *r, text_item *i, glow_storage **out)
{
    const text_value *alias = argument(i->call, 0, GLOW_V_STRING);
    const text_value *key = argument(i->call, 1, GLOW_V_STRING);
    text_item *file;

    if (!alias || !key || i->call->args.count != 2 ||
        strlen(key->name.text) != key->size)
        return wrong_payload(r, i);
    file = glow_map_get(r->aliases, alias->name.text);
    if (!file) {
        glow_text_error_hint(r->p, alias->span, "E0110",
                             suggest_alias(r, alias->name.text),
                             "no weights are called \"%s\"", alias->name.text);
        return false;
    }
    if (!file->file)
        return false; /* reported */
    *out = constant_without_data(r, i, GLOW_EXTERNAL, key->name.text);
    (*out)->file = file->file;
    return true;
}

static bool
set_elided(text_resolver *r, text_item *i, glow_storage **out)
{
    const text_value *hash = argument(i->call, 0, GLOW_V_STRING);

    if (!hash || i->call->args.count != 1 ||
        strlen(hash->name.text) != hash->size)
        return wrong_payload(r, i);
    if (!r->p->options->allow_elided) {
        glow_text_error_hint(
            r->p, i->call->span, "E0134",
            "print it without elision, or give -allow-elided",
            "the value of @%s was left out when this was printed",
            i->name.text);
        return false;
    }
    *out = constant_without_data(r, i, GLOW_ELIDED, hash->name.text);
    return true;
}

static bool
fill_inline(text_resolver *r, text_item *i, glow_storage **out)
{
    /*
     * Checked before allocation, so that memory is bounded by the size of the
     * text.
     */
    if (!glow_text_list_fits(r, &i->list->items, i->list->span, i->type))
        return false;
    *out = glow_constant_new(r->m, i->name.text, i->type);
    return glow_text_fill_list(r, &i->list->items, &(*out)->tensor);
}

static const struct {
    const char *word;
    bool (*make)(text_resolver *r, text_item *i, glow_storage **out);
} payloads[] = {
    {"splat", fill_splat},
    {"blob", fill_blob},
    {"external", set_external},
    {"elided", set_elided},
};

static bool
make_constant(text_resolver *r, text_item *i, glow_storage **out)
{
    if (i->list)
        return fill_inline(r, i, out);
    for (size_t k = 0; k < sizeof payloads / sizeof *payloads; k++)
        if (strcmp(payloads[k].word, i->call->word.text) == 0)
            return payloads[k].make(r, i, out);
    return wrong_payload(r, i);
}

void
glow_text_resolve_storage(text_resolver *r, text_item *i)
{
    text_item *before = glow_map_get(r->storage, i->name.text);
    glow_storage *s = NULL;
    glow_attr_list attrs;

    if (!glow_text_define(r, r->storage, "the symbol", i->name, i,
                          before ? &before->name : NULL))
        return;
    if (!glow_text_attr_list(r, r->m->arena, i->attrs, &attrs) || !i->type)
        return;
    if (i->kind == TEXT_PLACEHOLDER)
        s = glow_placeholder_new(r->m, i->name.text, i->type);
    else if (!make_constant(r, i, &s))
        return;
    s->attrs = attrs;
    s->span = glow_text_at(r->p, i->name.span);
    i->made = s;
}
