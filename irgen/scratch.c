/*
 * Scratch buffers of instructions; see scratch.h.
 *
 * A scratch buffer is live during its one instruction, and is placed like any
 * other buffer.
 */

#include "irgen/scratch.h"

#include <inttypes.h>

#include "glow/backend.h"

/* The most bytes of a type: see glow_type_check. */
#define MOST_BYTES ((int64_t)1 << 47)

static bool
works(const glow_node *n)
{
    return !(n->op->traits & (GLOW_STRUCTURAL | GLOW_UNKNOWN));
}

static glow_node *
dealloc_of(const glow_value *buffer)
{
    GLOW_FOR_EACH_USE(u, buffer)
        if (u->user->op == &glow_op_dealloc)
            return u->user;
    return NULL;
}

/* Erases the alloc if only its dealloc is left. */
static void
erase_idle(glow_value *buffer)
{
    glow_node *end = dealloc_of(buffer);

    if (buffer->def->op != &glow_op_alloc || !end || !glow_has_one_use(buffer))
        return;
    glow_node_erase(end);
    glow_node_erase(buffer->def);
}

static void
take_away(glow_node *n)
{
    glow_value *had = n->scratch;

    if (!had)
        return;
    glow_set_scratch(n, NULL);
    erase_idle(had);
}

static void
give(glow_node *n, int64_t bytes)
{
    glow_func *f = n->func;
    glow_type type = {.elem = GLOW_INT8, .shape = GLOW_DIMS_OF(bytes)};
    const glow_type *t = glow_type_get(f->module->ctx, type);
    glow_node *alloc = glow_node_new(f, &glow_op_alloc,
                                     glow_derived_name(f, n->name, "scratch"),
                                     NULL, 0, &t, 1, NULL);
    glow_node *end = glow_instr_new(f, &glow_op_dealloc,
                                    glow_derived_name(f, alloc->name, "free"),
                                    &alloc->out[0], 1, NULL, 0, NULL);

    glow_node_move_before(alloc, n);
    glow_node_move_after(end, n);
    glow_set_scratch(n, alloc->out[0]);
}

static bool
has_too_much(const glow_node *n, int64_t bytes)
{
    if (bytes <= MOST_BYTES)
        return false;
    if (bytes == INT64_MAX)
        glow_error_at(n->func->module->ctx, n->span, "E0331",
                      "%s: %%%s works in more bytes than 64 bits can count",
                      n->op->name, n->name);
    else
        glow_error_at(n->func->module->ctx, n->span, "E0331",
                      "%s: %%%s works in %" PRId64
                      " bytes, but a buffer has at most %" PRId64,
                      n->op->name, n->name, bytes, MOST_BYTES);
    return true;
}

bool
glow_give_scratch(glow_pass_run *run, glow_func *f, bool *changed)
{
    const glow_backend *b = glow_run_backend(run);
    bool ok = true;

    for (glow_node *n = f->first; n && b; n = n->next) {
        int64_t bytes = works(n) ? glow_node_scratch(run, n) : 0;
        int64_t has = n->scratch ? glow_type_bytes(n->scratch->type) : 0;

        if (!works(n) || bytes == has)
            continue;
        if (has_too_much(n, bytes)) {
            ok = false;
            continue;
        }
        take_away(n);
        if (bytes > 0)
            give(n, bytes);
        *changed = true;
    }
    return ok;
}
