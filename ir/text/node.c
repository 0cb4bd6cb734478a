/*
 * Resolution of names, operators and attributes, for nodes of graphs and
 * instructions of programs.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ir/base/context.h"
#include "ir/text/resolve.h"

bool
glow_text_define_node(text_scope *s, text_node *n)
{
    text_node *before = glow_map_get(s->item->nodes_by_name, n->name.text);

    return glow_text_define(s->r, s->item->nodes_by_name, "the name", n->name,
                            n, before ? &before->name : NULL);
}

/* Operators. */

/*
 * Names are suggested up to this number of candidates, since each takes time.
 */
enum { MOST_NAMES = 8192 };

static const char *
suggest_op(text_scope *s, const char *wrong)
{
    glow_arena *a = s->r->p->arena;
    const char *names[1024];
    size_t count, n = 0;
    const glow_op *const *ops = glow_all_ops(s->r->ctx, &count);

    for (size_t i = 0; i < count && n < 1024; i++) {
        char instr[64];

        glow_op_instr_name(ops[i], instr, sizeof instr);
        names[n++] =
            s->f->is_program ? glow_arena_strdup(a, instr) : ops[i]->name;
    }
    return glow_text_suggest(s->r->p, wrong, names, n);
}

static void
unknown_op(text_scope *s, const text_node *n)
{
    const char *name = n->op.text;
    const char *dot = strchr(name, '.');
    glow_arena *a = s->r->p->arena;

    if (dot && dot > name) {
        const char *plugin = glow_arena_strndup(a, name, (size_t)(dot - name));

        if (!glow_registry_find(&s->r->ctx->plugins, plugin)) {
            glow_text_error_hint(
                s->r->p, n->op.span, "E0108",
                glow_arena_printf(a,
                                  "load it: -plugin=%s; or keep "
                                  "its nodes as they are: "
                                  "-allow-unknown-ops",
                                  plugin),
                "`%s` belongs to the plugin `%s`, which is not "
                "loaded",
                name, plugin);
            return;
        }
    }
    glow_text_error_hint(s->r->p, n->op.span, "E0112", suggest_op(s, name),
                         "no %s is called `%s`",
                         s->f->is_program ? "instruction" : "operator", name);
}

const glow_op *
glow_text_known_op(text_scope *s, const text_node *n)
{
    const glow_op *op = s->f->is_program
                            ? glow_find_instr(s->r->ctx, n->op.text)
                            : glow_find_op(s->r->ctx, n->op.text);

    if (!op && !s->r->p->options->allow_unknown_ops)
        unknown_op(s, n);
    return op;
}

/* References. */

static const char *
suggest_value(text_scope *s, const char *wrong)
{
    const char **names;
    size_t n = 0;
    size_t count = s->item->nodes.count + s->item->weights.count;

    if (count > MOST_NAMES)
        return NULL;
    names = GLOW_NEW_ARRAY(s->r->p->arena, const char *, count + 1);
    for (const text_node *i = s->item->weights.first; i; i = i->next)
        names[n++] = i->name.text;
    for (const text_node *i = s->item->nodes.first; i; i = i->next)
        names[n++] = i->name.text;
    return glow_text_suggest(s->r->p, wrong, names, n);
}

const char *
glow_text_suggest_storage(text_resolver *r, const char *wrong)
{
    const char **names = GLOW_NEW_ARRAY(r->p->arena, const char *, MOST_NAMES);
    size_t n = 0;

    for (const text_item *i = r->p->file.items.first; i; i = i->next)
        if (i->kind == TEXT_PLACEHOLDER || i->kind == TEXT_CONSTANT) {
            if (n == MOST_NAMES)
                return NULL;
            names[n++] = i->name.text;
        }
    return glow_text_suggest(r->p, wrong, names, n);
}

static bool
resolve_symbol(text_scope *s, const text_operand *o, glow_value **out)
{
    text_item *i = glow_map_get(s->r->storage, o->name.text);

    if (s->f->is_program) {
        glow_text_error_hint(
            s->r->p, o->span, "E0110",
            "declare a buffer for it, `%name = weight ...`, and "
            "use that",
            "instructions take buffers, not the symbol @%s", o->name.text);
        return false;
    }
    if (!i && glow_map_get(s->r->p->symbols, o->name.text))
        return true;
    if (!i) {
        glow_text_error_hint(s->r->p, o->span, "E0110",
                             glow_text_suggest_storage(s->r, o->name.text),
                             "no placeholder or constant is called @%s",
                             o->name.text);
        return false;
    }
    *out = i->made ? &i->made->value : NULL;
    return true;
}

static const char *
result_name(text_scope *s, const glow_op *op, int i)
{
    char name[80];

    glow_op_result_name(op, i, name, sizeof name);
    return glow_arena_strdup(s->r->p->arena, name);
}

/* The results of a node, for a message: `Values, Indices`. */
static const char *
result_names(text_scope *s, const glow_op *op, int count)
{
    glow_buf b = {.arena = s->r->p->arena};

    for (int i = 0; i < count; i++)
        glow_buf_printf(&b, "%s%s", i ? ", " : "", result_name(s, op, i));
    return b.text;
}

static bool
select_result(text_scope *s, const text_operand *o, const glow_node *n,
              glow_value **out)
{
    const char **names =
        GLOW_NEW_ARRAY(s->r->p->arena, const char *, n->n_out + 1);
    const char *want = o->select ? o->select->text : NULL;

    if (n->n_out == 0 || (!want && n->n_out > 1)) {
        glow_text_error_hint(
            s->r->p, o->span, "E0113",
            n->n_out ? glow_arena_printf(s->r->p->arena, "select one: %%%s#%s",
                                         n->name, result_name(s, n->op, 0))
                     : NULL,
            n->n_out ? "%%%s has several results: %s" : "%%%s has no result%s",
            n->name, n->n_out ? result_names(s, n->op, n->n_out) : "");
        return false;
    }
    *out = n->out[0];
    if (!want)
        return true;
    for (int i = 0; i < n->n_out; i++) {
        char number[12];

        snprintf(number, sizeof number, "%d", i);
        names[i] = result_name(s, n->op, i);
        *out = n->out[i];
        if (strcmp(want, names[i]) == 0 || strcmp(want, number) == 0)
            return true;
    }
    glow_text_error_hint(
        s->r->p, o->select->span, "E0113",
        glow_text_suggest(s->r->p, want, names, (size_t)n->n_out),
        "%%%s has no result `%s`, but %s", n->name, want,
        result_names(s, n->op, n->n_out));
    return false;
}

/* Reports `x` in place of `@x` or `%x`. */
static bool
bare_name(text_scope *s, const text_operand *o)
{
    const char *name = o->name.text;
    bool is_value = glow_map_get(s->item->nodes_by_name, name);
    bool is_symbol = !s->f->is_program && glow_map_get(s->r->storage, name);
    const char *hint =
        is_value || is_symbol
            ? glow_arena_printf(s->r->p->arena, "did you mean `%c%s`?",
                                is_value ? '%' : '@', name)
        : s->f->is_program
            ? "buffers are written `%name`"
            : "values are written `%name`, placeholders and constants `@name`";

    glow_text_error_hint(
        s->r->p, o->span, "E0110", hint,
        "an operand is a value or a symbol, but `%s` is a word", name);
    return false;
}

/* Reports an undefined name; in programs its definition may follow. */
static bool
undefined(text_scope *s, const text_operand *o)
{
    const text_node *n = s->f->is_program ? s->item->nodes.first : NULL;

    if (s->r->p->errors >= TEXT_MAX_ERRORS)
        return false; /* the search below takes time for each error */
    if (glow_map_get(s->r->p->broken, o->name.text))
        return true;
    while (n && strcmp(n->name.text, o->name.text) != 0)
        n = n->next;
    if (n)
        glow_text_error_note(
            s->r->p, o->span, "E0111", n->name.span, "defined here",
            "%%%s is used before its definition", o->name.text);
    else
        glow_text_error_hint(s->r->p, o->span, "E0110",
                             suggest_value(s, o->name.text),
                             "no value is called %%%s", o->name.text);
    return false;
}

bool
glow_text_resolve_ref(text_scope *s, const text_operand *o, glow_value **out)
{
    text_node *def;

    *out = NULL;
    if (o->kind == TEXT_BARE)
        return bare_name(s, o);
    if (o->kind == TEXT_SYMBOL)
        return resolve_symbol(s, o, out);
    def = glow_map_get(s->item->nodes_by_name, o->name.text);
    if (!def)
        return undefined(s, o);
    if (!def->node)
        return true;
    if (s->f->is_program && !glow_defines(def->node)) {
        glow_text_error(s->r->p, o->span, "E0110",
                        "%%%s is an instruction: it names no buffer",
                        o->name.text);
        return false;
    }
    return select_result(s, o, def->node, out);
}

/* Attributes and the rest. */

bool
glow_text_node_attrs(text_scope *s, const text_node *n, const glow_op *op,
                     text_attributes *out)
{
    *out = (text_attributes){0};
    if (op->traits & GLOW_UNKNOWN)
        return glow_text_attr_list(s->r, s->r->m->arena, n->attrs,
                                   &out->unknown);
    out->known = glow_text_attr_struct(s->r, glow_op_schema(op), n->attrs,
                                       op->name, n->op.span);
    return out->known != NULL;
}

void
glow_text_dress_node(text_scope *s, text_node *n, glow_node *made,
                     text_attributes attrs)
{
    n->node = made;
    made->span = glow_text_at(s->r->p, n->op.span);
    made->unknown_attrs = attrs.unknown;
}

bool
glow_text_set_pred(text_scope *s, text_node *n)
{
    glow_value *pred;

    if (!n->pred)
        return true;
    if (!glow_text_resolve_ref(s, n->pred, &pred) || !pred)
        return false;
    glow_set_pred(n->node, pred);
    return true;
}

bool
glow_text_set_scratch(text_scope *s, text_node *n)
{
    glow_value *scratch;

    if (!n->scratch)
        return true;
    if (!glow_text_resolve_ref(s, n->scratch, &scratch) || !scratch)
        return false;
    glow_set_scratch(n->node, scratch);
    return true;
}
