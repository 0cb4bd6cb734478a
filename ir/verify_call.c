/*
 * The verifier of calls and bodies.
 *
 * Calls terminate: there is no recursion, direct or indirect, and they are at
 * most MOST_DEEP deep, because each takes stack of its caller.  A body accesses
 * its formals alone, so that a call has no other effects.
 */

#include "ir/eval_run.h"
#include "ir/verify.h"

enum { MOST_DEEP = 64 };

/* Calls: depth first, each function once. */

typedef struct calls {
    glow_arena *scratch;
    glow_map *height; /* by name: deepest chain of calls below, 1 + */
    int depth;
} calls;

static int call_height(calls *c, glow_func *f);

/* The greatest height of the functions that `n` calls; -1 after a report. */
static int
height_of(calls *c, const glow_node *n)
{
    int height = 0;

    for (int k = 0; k < glow_call_count(n); k++) {
        glow_func *g = glow_called(n, k);
        int one = g ? call_height(c, g) : 0; /* no function: infer reports it */

        if (one < 0 && c->depth >= 0) {
            c->depth = -1;
            glow_node_error(n, "E0216", NULL,
                            "@%s calls itself, or calls are more than %d deep",
                            n->func->name, MOST_DEEP);
        }
        if (one < 0)
            return -1;
        height = one > height ? one : height;
    }
    return height;
}

static int
call_height(calls *c, glow_func *f)
{
    int known = (int)(intptr_t)glow_map_get(c->height, f->name), height = 0;

    if (known)
        return known;
    if (++c->depth > MOST_DEEP)
        return -1;
    GLOW_FOR_EACH_NODE(n, f) {
        int one = glow_op_calls(n->op) ? height_of(c, n) : 0;

        if (one < 0)
            return -1;
        height = one > height ? one : height;
    }
    c->depth--;
    glow_map_set(c->height, f->name, (void *)(intptr_t)(height + 1));
    return height < MOST_DEEP ? height + 1 : -1;
}

static bool
has_calls(const glow_func *f)
{
    GLOW_FOR_EACH_NODE(n, f)
        if (glow_op_calls(n->op))
            return true;
    return false;
}

bool
glow_verify_calls(glow_func *f)
{
    calls c = {.depth = 0};
    bool ok;

    if (!has_calls(f))
        return true;
    c.scratch = glow_arena_new();
    c.height = glow_map_new(c.scratch);
    ok = call_height(&c, f) >= 0;
    glow_arena_free(c.scratch);
    return ok;
}

/* Bodies. */

static bool
wrong_body(const glow_func *f, const char *what, const char *name)
{
    return glow_error_at(f->module->ctx, f->span, "E0215", "@%s: %s%s%s",
                         f->name, what, name ? " @" : "", name ? name : "");
}

/* Adds the formals to `seen`; each must be a placeholder, and listed once. */
static bool
check_formals(const glow_func *f, glow_formals which, const char *list,
              glow_map *seen, const glow_map *others)
{
    const glow_attr_value *v = glow_attr_find(f->attrs, list);

    if (!v || v->kind != GLOW_V_LIST)
        return glow_error_at(f->module->ctx, f->span, "E0215",
                             "@%s: a body has the attributes Inputs and "
                             "Outputs, lists of placeholders",
                             f->name);
    for (int i = 0; i < glow_formal_count(f, which); i++) {
        glow_storage *s = glow_formal(f, which, i);

        if (!s)
            return glow_error_at(f->module->ctx, f->span, "E0215",
                                 "@%s: entry %d of %s is no placeholder",
                                 f->name, i, list);
        if (glow_map_get(seen, s->name) || glow_map_get(others, s->name))
            return wrong_body(f, "a formal is listed twice:", s->name);
        glow_map_set(seen, s->name, s);
    }
    return true;
}

typedef struct formals {
    const glow_map *in, *out; /* by name */
} formals;

static bool
check_read(const glow_func *f, const formals *l, const glow_storage *s)
{
    return s->is_constant || glow_map_get(l->in, s->name) ||
           wrong_body(f, "a body reads what is none of its Inputs:", s->name);
}

static bool
check_write(const glow_func *f, const formals *l, const glow_storage *s)
{
    return glow_map_get(l->out, s->name) ||
           wrong_body(f, "a body writes what is none of its Outputs:", s->name);
}

static bool
check_program(const glow_func *f, const formals *l)
{
    bool ok = true;

    GLOW_FOR_EACH_NODE(n, f) {
        const glow_storage *s =
            n->op == &glow_op_weight ? n->out[0]->storage : NULL;

        if (!s || s->is_constant)
            continue;
        if (glow_func_reads(f, s))
            ok = check_read(f, l, s) && ok;
        if (glow_func_writes(f, s))
            ok = check_write(f, l, s) && ok;
    }
    return ok;
}

static bool
check_graph(const glow_func *f, const formals *l)
{
    bool ok = true;

    GLOW_FOR_EACH_NODE(n, f)
        for (int i = -1; i < n->n_in; i++) {
            const glow_value *v = i < 0 ? n->pred : n->in[i];

            if (!v || !v->storage)
                continue;
            if (i >= 0 && glow_operand_is_written(n, i))
                ok = check_write(f, l, v->storage) && ok;
            else
                ok = check_read(f, l, v->storage) && ok;
        }
    return ok;
}

static bool
check_written(glow_func *f)
{
    bool ok = true;

    for (int i = 0; i < glow_formal_count(f, GLOW_OUTPUTS); i++) {
        glow_storage *s = glow_formal(f, GLOW_OUTPUTS, i);
        int64_t count = 0;

        GLOW_FOR_EACH_USE(u, &s->value)
            count += u->user->func == f;
        if (f->is_program ? !glow_func_writes(f, s) : count != 1)
            ok = wrong_body(f, "a body writes each of its Outputs once, not",
                            s->name);
    }
    return ok;
}

bool
glow_verify_body(glow_func *f)
{
    glow_arena *scratch;
    glow_map *in, *out;
    bool ok;

    if (!glow_is_body(f))
        return true;
    scratch = glow_arena_new();
    in = glow_map_new(scratch);
    out = glow_map_new(scratch);
    ok = check_formals(f, GLOW_INPUTS, "Inputs", in, out) &&
         check_formals(f, GLOW_OUTPUTS, "Outputs", out, in) &&
         (f->is_program ? check_program(f, &(formals){in, out})
                        : check_graph(f, &(formals){in, out})) &&
         check_written(f);
    glow_arena_free(scratch);
    return ok;
}
