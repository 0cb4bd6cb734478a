/*
 * The places of one program: alignment, size, capacity, banks and forbidden
 * ranges of each, and that no two buffers that live at once share bytes.  What
 * lives is kept in order of where it lies, so that each question is a search.
 *
 * Rules: E0320 to E0327.  A placeholder has its place while it is needed
 * (glow/lifetime.h).
 */

#include <inttypes.h>
#include <string.h>

#include "glow/lifetime.h"
#include "ir/verify.h"

typedef struct live { /* a placed buffer that lives */
    int region;
    int64_t begin, end;
    const glow_node *node;
} live;

struct glow_places {
    const glow_func *f;
    glow_arena *arena;
    const glow_node **nodes; /* by mark */
    const glow_life *lives;  /* by mark */
    uint32_t *begins;        /* by number of an instruction: 1 + the mark of a
                          placeholder that begins with it */
    uint32_t *ends;          /* the same, that ends with it; */
    uint32_t *more;          /* by mark: the next one of that list */
    live *live;              /* in order of region and begin */
    size_t n_live, cap_live;
    bool *ok;
};

#define WRONG(c, ...) (*(c)->ok = glow_node_error(__VA_ARGS__))

glow_places *
glow_places_new(glow_arena *a, glow_func *f, bool *ok)
{
    glow_places *c = GLOW_NEW(a, glow_places);

    *c = (glow_places){.f = f, .arena = a, .ok = ok};
    c->nodes = GLOW_NEW_ARRAY(a, const glow_node *, f->count);
    c->begins = GLOW_NEW_ARRAY(a, uint32_t, f->count);
    c->ends = GLOW_NEW_ARRAY(a, uint32_t, f->count);
    c->more = GLOW_NEW_ARRAY(a, uint32_t, 2 * (size_t)f->count);
    c->lives = glow_program_lives(a, f);
    GLOW_FOR_EACH_NODE(n, f)
        c->nodes[n->mark] = n;
    return c;
}

static int
region_index(const glow_places *c, const glow_region *region)
{
    int i = 0;

    for (const glow_region *r = c->f->regions; r; r = r->next, i++)
        if (r == region)
            return i;
    return -1;
}

/* The first living buffer that is not wholly below `begin`. */
static size_t
live_at(const glow_places *c, int region, int64_t begin)
{
    size_t from = 0, to = c->n_live;

    while (from < to) {
        size_t mid = from + (to - from) / 2;
        const live *l = &c->live[mid];

        if (l->region < region || (l->region == region && l->end <= begin))
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static void
occupy(glow_places *c, const glow_node *n, int region)
{
    int64_t begin = n->place->offset, end = begin + n->place->size;
    size_t at = live_at(c, region, begin);

    if (begin == end)
        return;
    if (at < c->n_live && c->live[at].region == region &&
        c->live[at].begin < end) {
        const live *l = &c->live[at];

        WRONG(c, n, "E0324", NULL,
              "its bytes %" PRId64 " to %" PRId64
              " of $%s are also those of %%%s (%" PRId64 " to %" PRId64
              "), which is alive",
              begin, end - 1, n->place->region->name, l->node->name, l->begin,
              l->end - 1);
        return;
    }
    c->live = glow_arena_grow(c->arena, c->live, c->n_live, &c->cap_live,
                              sizeof(live));
    memmove(&c->live[at + 1], &c->live[at], (c->n_live++ - at) * sizeof(live));
    c->live[at] = (live){region, begin, end, n};
}

void
glow_places_vacate(glow_places *c, const glow_node *n)
{
    if (!n->place)
        return;
    size_t at = live_at(c, region_index(c, n->place->region), n->place->offset);

    if (at == c->n_live || c->live[at].node != n)
        return;
    c->n_live--;
    memmove(&c->live[at], &c->live[at + 1], (c->n_live - at) * sizeof(live));
}

/* Banks and forbidden ranges. */
static void
check_within(glow_places *c, const glow_node *n)
{
    const glow_region *r = n->place->region;
    int64_t begin = n->place->offset, size = n->place->size;

    for (size_t i = 0; i < r->n_forbidden && size > 0; i++)
        if (begin < r->forbidden[i].end && r->forbidden[i].begin < begin + size)
            WRONG(c, n, "E0327", NULL,
                  "%%%s has bytes %" PRId64 " to %" PRId64
                  " of $%s, where %" PRId64 " to %" PRId64 " are forbidden",
                  n->name, begin, begin + size - 1, r->name,
                  r->forbidden[i].begin, r->forbidden[i].end - 1);
    if (r->bank && size > 0 && size <= r->bank &&
        begin / r->bank != (begin + size - 1) / r->bank)
        WRONG(c, n, "E0327", NULL,
              "%%%s has bytes %" PRId64 " to %" PRId64
              " of $%s, on both sides of a bank's end at %" PRId64,
              n->name, begin, begin + size - 1, r->name,
              (begin / r->bank + 1) * r->bank);
}

/* Notes when a placeholder comes and goes. */
static void
expect(glow_places *c, const glow_node *n)
{
    const glow_life *life = &c->lives[n->mark];
    int64_t begin = life->begin > n->mark ? life->begin : n->mark;

    c->more[2 * n->mark] = c->begins[begin];
    c->begins[begin] = n->mark + 1;
    if (life->end == INT64_MAX || life->end <= n->mark)
        return;
    c->more[2 * n->mark + 1] = c->ends[life->end - 1];
    c->ends[life->end - 1] = n->mark + 1;
}

void
glow_places_check(glow_places *c, const glow_node *n)
{
    const glow_place *p = n->place;
    int64_t bytes = glow_type_bytes(n->out[0]->type), end;
    int region = p ? region_index(c, p->region) : -1;

    if (!c->f->placed && !p)
        return;
    if ((!c->f->placed && !p->is_fixed) || !p || region < 0) {
        WRONG(c, n, "E0320", NULL, "%%%s has %s, but the program is %s",
              n->name,
              !p           ? "no place"
              : region < 0 ? "an unknown region"
                           : "a place",
              c->f->placed ? "placed" : "not");
        return;
    }
    if (p->offset < 0 || p->offset % p->region->align != 0)
        WRONG(c, n, "E0321", NULL,
              "%%%s lies at $%s + %" PRId64
              ", which is no multiple of its alignment %" PRId64,
              n->name, p->region->name, p->offset, p->region->align);
    if (p->size < bytes)
        WRONG(c, n, "E0325", NULL,
              "%%%s has %" PRId64 " bytes there, but its type takes %" PRId64,
              n->name, p->size, bytes);
    if (p->offset < 0 || p->size < 0)
        return;
    if (glow_add_overflow(p->offset, p->size, &end) ||
        (c->f->placed && end > p->region->size)) {
        WRONG(c, n, "E0322", NULL,
              "%%%s lies at %" PRId64 " and has %" PRId64
              " bytes, but $%s has %" PRId64,
              n->name, p->offset, p->size, p->region->name, p->region->size);
        return;
    }
    check_within(c, n);
    if (n->op == &glow_op_weight && !n->out[0]->storage->is_constant)
        expect(c, n);
    else
        occupy(c, n, region);
}

static bool
is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

bool
glow_check_regions(const glow_func *f)
{
    glow_context *ctx = f->module->ctx;
    bool ok = true;

    for (const glow_region *r = f->regions; r; r = r->next) {
        if (!is_power_of_two(r->align) || r->size < 0 || r->capacity < 0)
            ok = glow_error_at(ctx, f->span, "E0321",
                               "@%s: $%s has alignment %" PRId64
                               ", which is no power of two, or a size or "
                               "capacity below 0",
                               f->name, r->name, r->align);
        if (r->capacity > 0 && r->size > r->capacity)
            ok = glow_error_at(ctx, f->span, "E0323",
                               "@%s: $%s takes %" PRId64
                               " bytes, but its capacity is %" PRId64,
                               f->name, r->name, r->size, r->capacity);
    }
    return ok;
}

void
glow_places_begin(glow_places *c, const glow_node *n)
{
    for (uint32_t i = c->begins[n->mark]; i > 0; i = c->more[2 * (i - 1)]) {
        const glow_node *w = c->nodes[i - 1];

        occupy(c, w, region_index(c, w->place->region));
    }
}

void
glow_places_end(glow_places *c, const glow_node *n)
{
    for (uint32_t i = c->ends[n->mark]; i > 0; i = c->more[2 * (i - 1) + 1])
        glow_places_vacate(c, c->nodes[i - 1]);
}
