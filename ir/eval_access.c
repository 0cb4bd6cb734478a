/* Placeholders that a function reads and writes. */

#include <string.h>

#include "ir/eval_run.h"

static bool
graph_uses(const glow_func *f, const glow_storage *s, bool writes)
{
    GLOW_FOR_EACH_USE(u, &s->value) {
        if (u->user->func != f)
            continue;
        if (u->index < 0 ? !writes
                         : glow_operand_is_written(u->user, u->index) == writes)
            return true;
    }
    return false;
}

/* The elements of `s` that the program has written so far. */
typedef struct access {
    const glow_storage *s;
    uint8_t *written; /* one for each element of the buffer */
} access;

static bool
is_of(const glow_value *v, const glow_storage *s)
{
    const glow_node *base = v ? glow_extent_of(v).base : NULL;

    return base && base->out[0]->storage == s;
}

static void
note_write(access *a, const glow_value *v)
{
    glow_strips runs = glow_extent_strips(glow_extent_of(v));

    for (int64_t k = 0; k < runs.count; k++)
        memset(a->written + glow_strip_at(&runs, k), 1, (size_t)runs.length);
}

static bool
reads_unwritten(const access *a, const glow_value *v)
{
    glow_strips runs = glow_extent_strips(glow_extent_of(v));

    for (int64_t k = 0; k < runs.count; k++)
        if (memchr(a->written + glow_strip_at(&runs, k), 0,
                   (size_t)runs.length))
            return true;
    return false;
}

static bool
program_reads(const glow_func *f, const glow_storage *s, access *a)
{
    GLOW_FOR_EACH_NODE(n, f) {
        if (n->op->traits & GLOW_STRUCTURAL)
            continue;
        for (int i = 0; i < n->n_in; i++)
            if (is_of(n->in[i], s) && reads_unwritten(a, n->in[i]))
                return true;
        if (n->pred && is_of(n->pred, s) && reads_unwritten(a, n->pred))
            return true;
        for (int i = 0; i < n->n_out; i++)
            if (is_of(n->out[i], s))
                note_write(a, n->out[i]);
    }
    return false;
}

bool
glow_func_reads(const glow_func *f, const glow_storage *s)
{
    if (!f->is_program)
        return graph_uses(f, s, false);

    const glow_type *t = s->value.type;
    size_t count = (size_t)(glow_type_bytes(t) / glow_kind_get(t->elem)->bytes);
    glow_data *marks = glow_data_new(count);
    access a = {.s = s, .written = glow_data_bytes(marks)};
    bool reads = program_reads(f, s, &a);

    glow_data_unref(marks);
    return reads;
}

bool
glow_func_writes(const glow_func *f, const glow_storage *s)
{
    if (!f->is_program)
        return graph_uses(f, s, true);
    GLOW_FOR_EACH_NODE(n, f) {
        if (n->op->traits & GLOW_STRUCTURAL)
            continue;
        for (int i = 0; i < n->n_out; i++)
            if (is_of(n->out[i], s))
                return true;
    }
    return false;
}
