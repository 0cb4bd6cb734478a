/*
 * merge-constants: merge equal constants.
 *
 *     constant @a : float<4> = [1, 2, 3, 4]
 *     constant @b : float<4> = [1, 2, 3, 4]
 *     %y = Add(@x, @b)                        =>   %y = Add(@x, @a)
 *
 * Two constants are equal if their types and bytes are: NaNs of the same bits
 * are equal, which a comparison of numbers would miss, and zeros of different
 * sign are not.  Splats are compared as splats.  External constants are
 * compared by file and key, and read only with the option `read`.  The first of
 * the module stays, with the provenance of both.  Afterwards all constants that
 * the function uses are different, cse can merge the nodes that use them, and
 * dce drops unused ones.
 *
 * Exporters write a constant for each use of a number, an axis or a shape, and
 * tied weights twice.
 *
 * A hash table over their bytes: all of a small constant, both ends of a large
 * one, which is hashed whole only if another has the same ends.  Glow's CSE of
 * Constants compares pairs.
 */

#include <string.h>

#include "glow/pass.h"

typedef struct merge_options {
    bool read;
} merge_options;

static const merge_options defaults = {false};

/*
 * Sizes in bytes: constants up to SMALL are hashed whole, others END bytes at
 * each end.
 */
enum { SMALL = 64 << 10, END = 256 };

/* A constant that stays. */
typedef struct entry {
    glow_storage *storage;
    const void *data; /* NULL: a splat, or in a file that is not read */
    size_t size;
    uint64_t hash, whole;
    bool is_hashed; /* `whole` is set */
    struct entry *next;
} entry;

typedef struct table {
    glow_pass_run *run;
    entry **slots;
    size_t size; /* a power of two */
    bool reads;
} table;

/* Hashes. */

static uint64_t
type_hash(const glow_type *t)
{
    uint64_t h = (uint64_t)t->elem;

    return glow_hash(t->shape.at, (size_t)t->shape.rank * sizeof *t->shape.at,
                     h);
}

static uint64_t
data_hash(const entry *e, uint64_t h)
{
    size_t part = e->size <= SMALL ? e->size : END;

    h = glow_hash(e->data, part, h);
    return glow_hash((const char *)e->data + e->size - part, part, h);
}

/* Fills `e`; false if the constant cannot be compared with others. */
static bool
describe(const table *t, glow_storage *s, entry *e)
{
    uint64_t h = type_hash(s->value.type);
    bool has_data =
        s->payload == GLOW_DATA || (s->payload == GLOW_EXTERNAL && t->reads);
    const glow_tensor *bytes = has_data ? glow_constant_tensor(s) : NULL;

    *e = (entry){.storage = s,
                 .data = bytes ? bytes->data : NULL,
                 .size = (size_t)glow_type_bytes(s->value.type)};
    if (s->value.type->strides.rank || (has_data && !bytes))
        return false;
    if (has_data) {
        e->hash = data_hash(e, h);
    } else if (s->payload == GLOW_SPLAT) {
        h = glow_hash(&s->splat, sizeof s->splat, h);
        e->hash = glow_hash(&s->splat_int, sizeof s->splat_int, h + 1);
    } else if (s->payload == GLOW_EXTERNAL) {
        h = glow_hash(s->file->alias, strlen(s->file->alias), h);
        e->hash = glow_hash(s->key, strlen(s->key), h + 2);
    } else {
        return false;
    }
    return true;
}

/* Equality. */

static uint64_t
whole_hash(entry *e)
{
    if (!e->is_hashed && e->size > SMALL)
        e->whole = glow_hash(e->data, e->size, 0);
    e->is_hashed = true;
    return e->whole;
}

static bool
is_equal(entry *a, entry *b)
{
    const glow_storage *s = a->storage, *t = b->storage;

    if (a->hash != b->hash || s->value.type != t->value.type ||
        !a->data != !b->data)
        return false;
    if (a->data)
        return whole_hash(a) == whole_hash(b) &&
               (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
    if (s->payload != t->payload)
        return false;
    if (s->payload == GLOW_SPLAT)
        return memcmp(&s->splat, &t->splat, sizeof s->splat) == 0 &&
               s->splat_int == t->splat_int;
    return s->file == t->file && strcmp(s->key, t->key) == 0;
}

/* The entry of an equal constant; inserts and returns `e` if there is none. */
static entry *
find(table *t, entry *e)
{
    entry **at = &t->slots[e->hash & (t->size - 1)];

    for (; *at; at = &(*at)->next)
        if (is_equal(*at, e))
            return *at;
    *at = GLOW_NEW(glow_run_scratch(t->run), entry);
    **at = *e;
    return *at;
}

/* Merging. */

static bool
is_used_in(const glow_storage *s, const glow_func *f)
{
    GLOW_FOR_EACH_USE(u, &s->value)
        if (u->user->func == f)
            return true;
    return false;
}

static void
merge(glow_storage *stays, glow_storage *goes, glow_func *f, const char *pass)
{
    const glow_loc *locs[2] = {stays->loc, goes->loc};

    for (glow_use *u = goes->value.uses, *next; u; u = next) {
        next = u->next;
        if (u->user->func != f)
            continue;
        if (u->index < 0)
            glow_set_pred(u->user, &stays->value);
        else
            glow_set_operand(u->user, u->index, &stays->value);
    }
    if (goes->loc && goes->loc != stays->loc)
        stays->loc = glow_loc_fused(f->module, pass, locs, 2);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const merge_options *o = glow_run_options(pass);
    table t = {.run = pass, .size = 16, .reads = o->read};
    size_t count = 0;
    int merged = 0;

    GLOW_FOR_EACH_STORAGE(s, f->module)
        count += s->is_constant;
    while (t.size < 2 * count)
        t.size *= 2;
    t.slots = GLOW_NEW_ARRAY(glow_run_scratch(pass), entry *, t.size);
    GLOW_FOR_EACH_STORAGE(s, f->module) {
        entry e;

        if (!s->is_constant || glow_is_unused(&s->value) ||
            !describe(&t, s, &e))
            continue;

        glow_storage *stays = find(&t, &e)->storage;

        if (stays == s || !is_used_in(s, f) || !glow_run_may_rewrite(pass))
            continue;
        merge(stays, s, f, glow_run_pass(pass)->name);
        merged++;
    }
    glow_run_count(pass, "constants", merged);
    return merged > 0 ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_merge_constants = {
    .name = "merge-constants",
    .summary = "merge equal constants",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(merge_options, read, GLOW_FLAG,
                                   "read weights files to compare them")},
    .defaults = &defaults,
    .run = run,
};
