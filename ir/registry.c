/*
 * The registries of operators, passes and backends, and the context that holds
 * them.  Built-in descriptors come from tables that Meson generates from the
 * lists of names in each folder; plugins add descriptors by the same functions.
 */

#include "ir/registry.h"
#include "glow/backend.h"
#include "glow/pass.h"
#include "glow/target.h"
#include "ir/base/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

glow_schema
glow_op_schema(const glow_op *op)
{
    return (glow_schema){op->attrs, op->defaults};
}

glow_schema
glow_pass_schema(const glow_pass *p)
{
    return (glow_schema){p->options, p->defaults};
}

glow_schema
glow_backend_schema(const glow_backend *b)
{
    return (glow_schema){b->options, b->defaults};
}

const void *
glow_backend_options(const glow_backend *b, const glow_target_options *t)
{
    return t && t->options ? t->options : b->defaults;
}

const glow_target *
glow_backend_target(const glow_backend *b, glow_context *ctx, glow_arena *a,
                    const glow_target_options *t)
{
    return b && b->target ? b->target(ctx, a, t) : &glow_target_default;
}

int
glow_op_operands(const glow_op *op)
{
    int n = 0;

    while (n < GLOW_MAX_OPERANDS && op->in[n].kind)
        n++;
    return n;
}

int
glow_op_results(const glow_op *op)
{
    int n = 0;

    while (n < GLOW_MAX_RESULTS && op->out[n].kind)
        n++;
    return n;
}

bool
glow_op_any_results(const glow_op *op)
{
    return op->out[0].kind == GLOW_VARIADIC;
}

void
glow_op_result_name(const glow_op *op, int i, char *out, size_t size)
{
    if (glow_op_any_results(op))
        snprintf(out, size, "%s%d", op->out[0].name, i);
    else
        snprintf(out, size, "%s", op->out[i].name);
}

int
glow_op_variadic(const glow_op *op)
{
    for (int i = 0; i < GLOW_MAX_OPERANDS && op->in[i].kind; i++)
        if (op->in[i].kind == GLOW_VARIADIC)
            return i;
    return -1;
}

/* Converts to lower case in ASCII, whatever the locale. */
void
glow_op_instr_name(const glow_op *op, char *out, size_t size)
{
    size_t n = 0;

    for (const char *c = op->name; *c && n + 1 < size; c++)
        out[n++] = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
    out[n] = 0;
}

/* The error in a definition, or NULL. */

static const char *
wrong_fields(glow_schema s)
{
    for (int i = 0; i < glow_schema_count(s); i++) {
        const glow_field *f = &s.fields[i];

        if (!f->name || !f->doc)
            return "a field without a name or a doc";
        if (f->kind == GLOW_ENUM && !f->words)
            return "an enumeration without words";
        if (f->has_default && !s.defaults)
            return "a field with a default, but no defaults";
    }
    return NULL;
}

static const char *
wrong_op(const glow_op *op)
{
    int groups = 0;

    if (!op->name || !*op->name || strlen(op->name) > 60)
        return "no name, or one of over 60 bytes";
    if (!op->summary || !op->infer)
        return "no summary or no infer";
    if (!(op->traits & GLOW_STRUCTURAL) && (!op->eval || !op->source))
        return "no eval or no source";
    for (int i = 0; i < glow_op_operands(op); i++)
        groups += op->in[i].kind == GLOW_VARIADIC;
    if (groups > 1)
        return "more than one variadic operand";
    for (int i = 0; i < glow_op_results(op); i++)
        if (op->out[i].kind == GLOW_VARIADIC && glow_op_results(op) > 1)
            return "variadic results that are not all of them";
    for (int i = 0; i < op->inplace_count; i++)
        if (op->inplace[i].out >= glow_op_results(op) ||
            op->inplace[i].in >= glow_op_operands(op))
            return "an in-place pair of operands that it does not have";
    return wrong_fields(glow_op_schema(op));
}

static const char *
wrong_options(glow_schema s)
{
    for (int i = 0; i < glow_schema_count(s); i++)
        if (!s.fields[i].has_default)
            return "an option without a default";
    return wrong_fields(s);
}

static const char *
wrong_pass(const glow_pass *p)
{
    if (!p->name || !*p->name || !p->summary)
        return "no name or no summary";
    if (!!p->run + !!p->run_module + !!p->rewrite != 1)
        return "not exactly one of run, run_module and rewrite";
    if (p->lowers && p->run_module)
        return "an operator lowered by a run over whole modules";
    if (p->rewrite && !p->lowers)
        return "a rewrite without the operator that it lowers";
    if (p->preserves == GLOW_CHANGES && !p->why)
        return "no reason why it changes the meaning";
    return wrong_options(glow_pass_schema(p));
}

static const char *
wrong_backend(const glow_backend *b)
{
    if (!b->takes || !b->summary)
        return "no summary or no takes";
    if (!b->emit != !(b->artifacts && b->artifacts->name))
        return "not both or neither of emit and artifacts";
    if (b->run && (!b->load || !b->sizes || !b->unload))
        return "run without load, sizes or unload";
    return wrong_options(glow_backend_schema(b));
}

/* Registers `item` in the list and by name. */
static bool
add(glow_context *ctx, glow_registry *r, const char *what, const char *name,
    const void *item, const char *wrong)
{
    if (wrong)
        return glow_error(ctx, "E0801", "%s %s cannot be registered: %s", what,
                          name ? name : "(unnamed)", wrong);
    if (!glow_registry_add(ctx, r, name, item))
        return glow_error(ctx, "E0802", "%s %s is registered already", what,
                          name);
    return true;
}

/* All descriptors begin with their name. */
static int
by_name(const void *a, const void *b)
{
    const char *const *const *x = a, *const *const *y = b;

    return strcmp(**x, **y);
}

static const void *
sorted(const glow_registry *r, size_t *count)
{
    if (r->count)
        glow_sort(r->items, r->count, sizeof *r->items, by_name);
    *count = r->count;
    return r->items;
}

bool
glow_register_op(glow_context *ctx, const glow_op *op)
{
    if (!add(ctx, &ctx->ops, "operator", op->name, op, wrong_op(op)))
        return false;

    char name[64];

    glow_op_instr_name(op, name, sizeof name);
    glow_map_set(ctx->instr_ops, glow_intern(ctx, name), (void *)(uintptr_t)op);
    return true;
}

const glow_op *
glow_find_op(const glow_context *ctx, const char *name)
{
    return glow_registry_find(&ctx->ops, name);
}

const glow_op *
glow_find_instr(const glow_context *ctx, const char *name)
{
    return glow_map_get(ctx->instr_ops, name);
}

const glow_op *const *
glow_all_ops(const glow_context *ctx, size_t *count)
{
    return sorted(&ctx->ops, count);
}

bool
glow_register_pass(glow_context *ctx, const glow_pass *p)
{
    return add(ctx, &ctx->passes, "pass", p->name, p, wrong_pass(p));
}

const glow_pass *
glow_find_pass(const glow_context *ctx, const char *name)
{
    return glow_registry_find(&ctx->passes, name);
}

const glow_pass *const *
glow_all_passes(const glow_context *ctx, size_t *count)
{
    return sorted(&ctx->passes, count);
}

bool
glow_register_backend(glow_context *ctx, const glow_backend *b)
{
    return add(ctx, &ctx->backends, "backend", b->name, b, wrong_backend(b));
}

const glow_backend *
glow_find_backend(const glow_context *ctx, const char *name)
{
    return glow_registry_find(&ctx->backends, name);
}

const glow_backend *const *
glow_all_backends(const glow_context *ctx, size_t *count)
{
    return sorted(&ctx->backends, count);
}

glow_context *
glow_context_new(void)
{
    glow_arena *a = glow_arena_new();
    glow_context *ctx = GLOW_NEW(a, glow_context);

    ctx->arena = a;
    ctx->strings = glow_map_new(a);
    ctx->instr_ops = glow_map_new(a);
    for (size_t i = 0; glow_builtin_ops[i]; i++)
        glow_register_op(ctx, glow_builtin_ops[i]);
    for (size_t i = 0; glow_builtin_passes[i]; i++)
        glow_register_pass(ctx, glow_builtin_passes[i]);
    for (size_t i = 0; glow_builtin_backends[i]; i++)
        glow_register_backend(ctx, glow_builtin_backends[i]);
    return ctx;
}

void
glow_context_free(glow_context *ctx)
{
    if (ctx)
        glow_arena_free(ctx->arena);
}
