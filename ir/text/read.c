/*
 * Reading: text to tree (parser.y), tree to module (the rest of this folder),
 * and the verifier on the result.  Each stage continues after an error as long
 * as further errors are independent of it.
 */

#include <inttypes.h>
#include <locale.h>
#include <string.h>

#include "glow/plugin.h"
#include "ir/base/context.h"
#include "ir/text/order.h"
#include "ir/text/resolve.h"
#include "ir/verify.h"

/* `gir 1 "acme" 3` */
static void
check_plugins(text_resolver *r)
{
    text_parser *p = r->p;
    glow_namespace **end = &r->m->namespaces;

    for (const text_plugin *t = p->file.plugins.first; t; t = t->next) {
        const glow_plugin *g =
            glow_registry_find(&r->ctx->plugins, t->name.text);
        glow_namespace *n = GLOW_NEW(r->m->arena, glow_namespace);
        int64_t version;

        if (!glow_text_size(p, t->version, &version))
            continue;
        if (!g && !p->options->allow_unknown_ops)
            glow_text_error_hint(
                p, t->name.span, "E0108",
                glow_arena_printf(p->arena,
                                  "load it: -plugin=%s; or keep "
                                  "its nodes as they are: "
                                  "-allow-unknown-ops",
                                  t->name.text),
                "the file needs the plugin `%s`, which is not "
                "loaded",
                t->name.text);
        else if (g && g->gir_version < version)
            glow_text_error(p, t->version.span, "E0106",
                            "the file has version %" PRId64
                            " of `%s`, but the plugin reads %d",
                            version, t->name.text, g->gir_version);
        n->name = glow_arena_strdup(r->m->arena, t->name.text);
        n->version = version;
        *end = n;
        end = &n->next;
    }
}

/* Functions. */

static void
resolve_func(text_resolver *r, text_item *i)
{
    text_item *before = glow_map_get(r->funcs, i->name.text);
    bool is_program = i->kind == TEXT_PROGRAM;
    text_scope s = {.r = r, .item = i};

    i->nodes_by_name = glow_map_new(r->p->arena);
    if (!glow_text_define(r, r->funcs, "the function", i->name, i,
                          before ? &before->name : NULL))
        return;
    s.f = is_program ? glow_program_new(r->m, i->name.text)
                     : glow_func_new(r->m, i->name.text);
    s.f->span = glow_text_at(r->p, i->name.span);
    s.regions = glow_map_new(r->p->arena);
    glow_text_attr_list(r, r->m->arena, i->attrs, &s.f->attrs);
    i->func = s.f;
    if (is_program)
        glow_text_resolve_program(&s);
    else
        glow_text_resolve_graph(&s);
}

static void
resolve_items(text_resolver *r, text_item_kind kind,
              void (*resolve)(text_resolver *r, text_item *i))
{
    for (text_item *i = r->p->file.items.first; i; i = i->next)
        if (i->kind == kind)
            resolve(r, i);
}

/* Blobs. */

static void
define_blobs(text_resolver *r, text_item *i)
{
    for (text_blob *b = i->blobs.first; b; b = b->next) {
        text_blob *before = glow_map_get(r->blobs, b->key.text);

        b->used = !glow_text_define(r, r->blobs, "the blob", b->key, b,
                                    before ? &before->key : NULL);
        if (before)
            before->used = true;
    }
}

static void
check_blobs_used(text_resolver *r, text_item *i)
{
    for (const text_blob *b = i->blobs.first; b; b = b->next)
        if (!b->used)
            glow_text_error(r->p, b->key.span, "E0133",
                            "no constant takes the blob `%s`", b->key.text);
}

static void
resolve(text_resolver *r)
{
    check_plugins(r);
    resolve_items(r, TEXT_WEIGHTS, glow_text_resolve_weights);
    resolve_items(r, TEXT_DATA, define_blobs);
    for (text_item *i = r->p->file.items.first; i; i = i->next)
        if (i->kind == TEXT_PLACEHOLDER || i->kind == TEXT_CONSTANT)
            glow_text_resolve_storage(r, i);
    resolve_items(r, TEXT_DATA, check_blobs_used);
    for (text_item *i = r->p->file.items.first; i; i = i->next)
        if (i->kind == TEXT_FUNCTION || i->kind == TEXT_PROGRAM)
            resolve_func(r, i);
    resolve_items(r, TEXT_LOCATIONS, glow_text_resolve_locations);
    resolve_items(r, TEXT_RANGES, glow_text_resolve_ranges);
}

/*
 * True if the stated type of an operand is wrong, so that errors of `n` follow
 * from it.
 */
static bool
reads_wrong_type(const text_item *i, const glow_node *n)
{
    for (int k = 0; k < n->n_in; k++) {
        const glow_node *def = n->in[k] ? n->in[k]->def : NULL;
        const text_node *t =
            def ? glow_map_get(i->nodes_by_name, def->name) : NULL;

        if (t && t->wrong_type)
            return true;
    }
    return false;
}

static glow_span *
type_spans(text_resolver *r, const text_node *n)
{
    glow_span *spans;
    int count = 0;

    if (n->kind != TEXT_NODE || !n->results)
        return NULL;
    spans = GLOW_NEW_ARRAY(r->p->arena, glow_span, n->node->n_out + 1);
    for (const text_result *t = n->results; t && count < n->node->n_out;
         t = t->next)
        spans[count++] = glow_text_at(r->p, t->span);
    return spans;
}

static bool
verify_nodes(text_resolver *r, const text_item *i, text_node *first, int errors)
{
    bool ok = true;

    for (text_node *n = first; n; n = n->next)
        if (n->complete &&
            glow_error_count(r->ctx) - errors < TEXT_MAX_ERRORS &&
            !reads_wrong_type(i, n->node))
            ok &= glow_verify_stated(n->node, type_spans(r, n), &n->wrong_type);
    return ok;
}

/*
 * Runs the verifier again, to report positions in the text; after errors, only
 * on nodes that are complete.
 */
static void
report_wrong(text_resolver *r, int errors)
{
    bool whole = glow_error_count(r->ctx) == errors, all = true;

    for (text_item *i = r->p->file.items.first; i; i = i->next) {
        if (!i->func)
            continue;

        bool ok = verify_nodes(r, i, i->weights.first, errors);

        ok &= verify_nodes(r, i, i->nodes.first, errors);
        if (whole)
            all &= glow_verify_order(i->func, ok);
    }
    if (whole && all)
        glow_verify_memory(r->m);
}

static bool
verify_quietly(glow_module *m)
{
    glow_quiet q;
    bool ok;

    glow_quiet_begin(m->ctx, &q);
    ok = glow_verify(m);
    glow_quiet_end(m->ctx, &q);
    return ok;
}

static glow_module *
read_module(text_parser *p)
{
    int errors = glow_error_count(p->ctx);
    text_resolver r = {.p = p, .ctx = p->ctx};

    p->broken = glow_map_new(p->arena);
    p->symbols = glow_map_new(p->arena);
    glow_text_parse(p);
    r.m = glow_module_new(p->ctx);
    r.storage = glow_map_new(p->arena);
    r.funcs = glow_map_new(p->arena);
    r.aliases = glow_map_new(p->arena);
    r.blobs = glow_map_new(p->arena);
    resolve(&r);
    if (glow_error_count(p->ctx) == errors && verify_quietly(r.m))
        return r.m;
    report_wrong(&r, errors);
    if (glow_error_count(p->ctx) == errors)
        glow_verify(r.m);
    glow_module_free(r.m);
    return NULL;
}

glow_module *
glow_parse(glow_context *ctx, const glow_source *source,
           const glow_parse_options *options)
{
    static const glow_parse_options plain = {0};
    text_parser *p;
    glow_arena *a = glow_arena_new();
    text_order *order;
    glow_module *m;
    /* strtod depends on the locale; the text form uses the C locale. */
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = uselocale(c);

    p = GLOW_NEW(a, text_parser);
    p->ctx = ctx;
    p->source = source;
    p->options = options ? options : &plain;
    p->arena = a;
    p->statements = 1;
    order = glow_text_order_begin(ctx, a);
    m = read_module(p);
    glow_text_order_end(order);
    uselocale(before);
    freelocale(c);
    glow_arena_free(a);
    return m;
}
