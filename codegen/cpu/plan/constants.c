/*
 * Layout of the constants region: only the constants that the program reads,
 * and packed constants.
 *
 * Constants that some step reads in the layout of the module keep their order
 * and their distance within a range; unread ranges between them are dropped.
 * Behind them come the constants that kernels read packed, each once for all
 * its readers: the original is dropped unless another step reads it unpacked.
 * Time: O(n log n).
 */

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/cpu/kernels/choice.h"
#include "codegen/cpu/kernels/kernel.h"
#include "codegen/cpu/plan/describe.h"
#include "codegen/cpu/plan/known.h"
#include "codegen/cpu/plan/plan.h"
#include "glow/file.h"
#include "glow/ops.h"
#include "ir/base/digest.h"

/* A maximal range of overlapping constants, read or not. */
typedef struct stretch {
    int64_t begin, end; /* offsets before the layout */
    int64_t now;        /* new offset of its first byte; -1: not read */
} stretch;

typedef struct layout {
    cpu_plan *root;
    stretch *at; /* sorted and disjoint */
    int count;
    int64_t size;
} layout;

static int
plan_count(const layout *l)
{
    return 1 + l->root->n_bodies + l->root->n_entries;
}

static cpu_plan *
plan_at(const layout *l, int i)
{
    const cpu_plan *root = l->root;

    return i == 0                ? l->root
           : i <= root->n_bodies ? root->bodies[i - 1]
                                 : root->entries[i - 1 - root->n_bodies];
}

static int
by_begin(const void *a, const void *b)
{
    const stretch *x = a, *y = b;

    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Merges overlapping constants of all plans into disjoint ranges. */
static void
find_stretches(layout *l)
{
    int most = 0, count = 0;

    for (int i = 0; i < plan_count(l); i++)
        most += plan_at(l, i)->n_constants;
    l->at = GLOW_NEW_ARRAY(l->root->arena, stretch, most + 1);
    for (int i = 0; i < plan_count(l); i++)
        for (int k = 0; k < plan_at(l, i)->n_constants; k++) {
            const cpu_constant *c = &plan_at(l, i)->constants[k];

            if (!c->kernel && c->size > 0)
                l->at[count++] = (stretch){c->offset, c->offset + c->size, -1};
        }
    glow_sort(l->at, (size_t)count, sizeof *l->at, by_begin);
    for (int i = 0; i < count; i++) {
        stretch *last = l->count ? &l->at[l->count - 1] : NULL;

        if (last && l->at[i].begin < last->end)
            last->end = l->at[i].end > last->end ? l->at[i].end : last->end;
        else
            l->at[l->count++] = l->at[i];
    }
}

/* The range that contains byte `offset`, or NULL. */
static stretch *
stretch_at(const layout *l, int64_t offset)
{
    int low = 0, high = l->count;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (l->at[middle].begin <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low && offset < l->at[low - 1].end ? &l->at[low - 1] : NULL;
}

/* Calls `visit` for each slot in the constants, with its range. */
static void
each_read(layout *l, void (*visit)(stretch *s, cpu_range *r))
{
    for (int i = 0; i < plan_count(l); i++) {
        cpu_plan *p = plan_at(l, i);

        for (int k = 0; k < p->n_steps; k++)
            for (int n = 0; n < p->steps[k].n_slots; n++) {
                cpu_range *r = &p->steps[k].slots[n].range;
                stretch *s =
                    r->base == CPU_CONSTANTS ? stretch_at(l, r->offset) : NULL;

                if (s)
                    visit(s, r);
            }
    }
}

static void
note(stretch *s, cpu_range *r)
{
    (void)r;
    s->now = 0;
}

static void
move(stretch *s, cpu_range *r)
{
    r->offset += s->now - s->begin;
}

/*
 * New offsets of the ranges that are read: equal to the old modulo CPU_ALIGN.
 */
static void
lay_stretches(layout *l)
{
    for (int i = 0; i < l->count; i++) {
        stretch *s = &l->at[i];

        if (s->now < 0)
            continue;
        s->now = l->size + s->begin % CPU_ALIGN;
        l->size = glow_cpu_aligned(s->now + s->end - s->begin);
    }
}

/* New offsets of unpacked constants; of equal ones the first is written. */
static void
move_constants(layout *l)
{
    glow_map *filled = glow_map_new(l->root->arena);

    for (int i = 0; i < plan_count(l); i++)
        for (int k = 0; k < plan_at(l, i)->n_constants; k++) {
            cpu_constant *c = &plan_at(l, i)->constants[k];
            const stretch *s = c->kernel ? NULL : stretch_at(l, c->offset);
            const char *name;

            if (!s || s->now < 0 || c->size == 0)
                continue;
            c->offset += s->now - s->begin;
            name = glow_arena_printf(l->root->arena, "%" PRId64 " %s",
                                     c->offset, c->storage->name);
            c->fills = !glow_map_get(filled, name);
            glow_map_set(filled, name, c);
        }
}

enum { MOST_SOURCES = 8 };

/* Source `i` of a constant's bytes, counted from 0, or NULL behind the last one. */
static glow_storage *
source(const cpu_constant *c, int i)
{
    int too = c->kernel ? c->kernel->packs_too : 0;

    if (i == 0)
        return c->storage;
    for (int k = 0; too >> k; k++)
        if (too >> k & 1 && c->user->in[k] && --i == 0)
            return glow_cpu_whole_constant(c->user->in[k]);
    return NULL;
}

/* The key of packed bytes: constants, kernel, instruction and choice. */
static const char *
packed_name(glow_arena *a, const cpu_constant *c)
{
    glow_buf b = {.arena = a};

    for (int i = 0; source(c, i); i++)
        glow_buf_printf(&b, "%s\n", source(c, i)->name);
    glow_buf_printf(&b, "%s\n", c->kernel->name);
    glow_cpu_describe_node(&b, c->user);
    if (c->target->choice)
        glow_buf_puts(&b, glow_cpu_choice_text(a, c->target->choice));
    return b.text;
}

static void
lay_packed(layout *l)
{
    glow_map *laid = glow_map_new(l->root->arena);

    for (int i = 0; i < plan_count(l); i++)
        for (int k = 0; k < plan_at(l, i)->n_constants; k++) {
            cpu_constant *c = &plan_at(l, i)->constants[k];
            const cpu_constant *same;
            const char *name;

            if (!c->kernel)
                continue;
            name = packed_name(l->root->arena, c);
            same = glow_map_get(laid, name);
            c->fills = !same;
            if (same) {
                c->offset = same->offset;
                continue;
            }
            glow_map_set(laid, name, c);
            c->offset = l->size;
            l->size = glow_cpu_aligned(c->offset + c->size);
        }
}

void
glow_cpu_lay_constants(cpu_plan *root)
{
    layout l = {.root = root};

    find_stretches(&l);
    each_read(&l, note);
    lay_stretches(&l);
    each_read(&l, move);
    move_constants(&l);
    lay_packed(&l);
    for (int i = 0; i < plan_count(&l); i++) {
        cpu_plan *p = plan_at(&l, i);

        for (int k = 0; k < p->n_steps; k++)
            if (p->steps[k].packed >= 0)
                p->steps[k].packed = p->constants[p->steps[k].packed].offset;
        p->size[CPU_CONSTANTS] = l.size;
    }
}

static void
put_layout(glow_buf *b, const cpu_plan *p)
{
    for (int i = 0; i < p->n_constants; i++) {
        const cpu_constant *c = &p->constants[i];

        glow_buf_printf(b, "%" PRId64 " %" PRId64 " %s\n", c->offset, c->size,
                        c->kernel ? packed_name(b->arena, c)
                                  : c->storage->name);
    }
}

const char *
glow_cpu_constants_layout(const cpu_plan *root)
{
    glow_arena *a = glow_arena_new();
    glow_buf b = {.arena = a};
    char hex[65];
    glow_digest d;

    put_layout(&b, root);
    for (int i = 0; i < root->n_bodies; i++)
        put_layout(&b, root->bodies[i]);
    glow_digest_begin(&d);
    glow_digest_add(&d, b.text, b.len);
    glow_digest_hex(&d, hex);
    glow_arena_free(a);
    return glow_cpu_with_known(root, hex);
}

/* Filling. */

typedef struct filling {
    uint8_t *to;
    const cpu_constant **at;
    const glow_tensor **from;
    /* MOST_SOURCES of each: readers left of the storage; NULL: none is freed */
    int **readers;
    int count;
    pthread_mutex_t mutex; /* guards *readers, and reference counts */
} filling;

enum { LEAST_CONSUMED = 1 << 16 }; /* bytes; less stays in the text */

/* Counts down the readers of `s`, and frees its elements after the last. */
static void
consume(filling *f, glow_storage *s, int *readers)
{
    pthread_mutex_lock(&f->mutex);
    if (--*readers == 0 && s->payload == GLOW_DATA &&
        glow_type_bytes(s->value.type) >= LEAST_CONSUMED) {
        glow_tensor_end(&s->tensor);
        s->payload = GLOW_ELIDED;
        s->key = "";
    }
    pthread_mutex_unlock(&f->mutex);
}

/* Fetching may read a file and report errors, so it happens on one thread. */
static bool
fetch(filling *f, const cpu_plan *p)
{
    for (int i = 0; i < p->n_constants; i++) {
        const cpu_constant *c = &p->constants[i];

        if (!c->fills)
            continue;
        for (int k = 1; source(c, k); k++)
            if (!glow_constant_tensor(source(c, k)))
                return false;
        f->at[f->count] = c;
        f->from[f->count] = glow_constant_tensor(c->storage);
        if (!f->from[f->count++])
            return false;
    }
    return true;
}

static void
fill_one(void *work, uintptr_t number)
{
    filling *f = work;
    const cpu_constant *c = f->at[number];
    const glow_tensor *t = f->from[number];
    uint8_t *to = f->to + c->offset;
    glow_tensor from;

    if (c->kernel) {
        from = (glow_tensor){.type = c->user->in[c->kernel->packs]->type,
                             .data = t->data};
        c->kernel->pack(c->target, c->user, &from, to);
    } else {
        memcpy(to, t->data, (size_t)c->size);
    }
    glow_file_forget(t->data, (size_t)glow_type_bytes(t->type));
    for (int i = 0; f->readers && source(c, i); i++)
        consume(f, source(c, i),
                f->readers[number * MOST_SOURCES + (uintptr_t)i]);
}

/* Counts the readers of each storage. */
static void
count_readers(filling *f, glow_arena *a)
{
    glow_map *counts = glow_map_new(a);

    f->readers = GLOW_NEW_ARRAY(a, int *, (int64_t)f->count *MOST_SOURCES);
    for (int i = 0; i < f->count; i++)
        for (int k = 0; source(f->at[i], k); k++) {
            const char *name = source(f->at[i], k)->name;
            int *count = glow_map_get(counts, name);

            if (!count) {
                count = GLOW_NEW(a, int);
                glow_map_set(counts, name, count);
            }
            f->readers[i * MOST_SOURCES + k] = count;
            ++*count;
        }
}

bool
glow_cpu_fill_constants(const cpu_plan *p, cpu_pool *pool, uint8_t *to,
                        bool consumes)
{
    filling f = {.to = to, .mutex = PTHREAD_MUTEX_INITIALIZER};
    int most = p->n_constants;
    bool ok;

    for (int i = 0; i < p->n_bodies; i++)
        most += p->bodies[i]->n_constants;
    for (int i = 0; i < p->n_entries; i++)
        most += p->entries[i]->n_constants;
    f.at = GLOW_NEW_ARRAY(p->arena, const cpu_constant *, most);
    f.from = GLOW_NEW_ARRAY(p->arena, const glow_tensor *, most);
    ok = fetch(&f, p);
    for (int i = 0; i < p->n_bodies; i++)
        ok = ok && fetch(&f, p->bodies[i]);
    for (int i = 0; i < p->n_entries; i++)
        ok = ok && fetch(&f, p->entries[i]);
    if (ok && consumes)
        count_readers(&f, p->arena);
    if (ok)
        glow_cpu_pool_run(pool, fill_one, &f, (uintptr_t)f.count);
    return ok;
}
