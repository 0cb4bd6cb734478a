/*
 * The places of one program: alignment, size, capacity, banks and forbidden
 * ranges of each, and that no two buffers that live at once share bytes.  All
 * places are sorted once by region and offset, and a set of their ranks holds the
 * buffers that are alive: these are disjoint, so that a new one can meet only its
 * neighbours in that order.
 *
 * Rules: E0320 to E0327.  A placeholder occupies its place during its live
 * range (glow/lifetime.h).
 */

#include <inttypes.h>
#include <string.h>

#include "glow/lifetime.h"
#include "ir/base/ordered_set.h"
#include "ir/verify.h"

typedef struct interval { /* of a buffer that has a place */
    int region;
    int64_t begin, end;
    uint32_t number; /* of the node */
    const glow_node *node;
} interval;

struct glow_places {
    const glow_func *f;
    const glow_numbering *numbers;
    glow_arena *arena;
    const glow_node **nodes; /* by number */
    const glow_life *lives;  /* by number */
    uint32_t *begins;        /* by number of an instruction: 1 + the number of a
                          placeholder that begins with it */
    uint32_t *ends;          /* the same, that ends with it; */
    uint32_t *more;          /* by number: the next one of that list */
    interval *sorted;        /* by region and begin */
    size_t *rank;            /* by number: where in `sorted` */
    glow_ordered_set *alive; /* those that are alive now */
    bool any; /* a node has a place; else there is nothing above */
    bool *ok;
};

#define WRONG(c, ...) (*(c)->ok = glow_node_error(__VA_ARGS__))

static uint32_t
number_of(const glow_places *c, const glow_node *n)
{
    return glow_number_of(c->numbers, n);
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

static int
by_address(const void *x, const void *y)
{
    const interval *a = x, *b = y;

    if (a->region != b->region)
        return a->region < b->region ? -1 : 1;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static void
sort_places(glow_places *c)
{
    size_t count = 0;

    c->sorted = GLOW_NEW_ARRAY(c->arena, interval, c->f->count);
    c->rank = GLOW_NEW_ARRAY(c->arena, size_t, c->f->count);
    GLOW_FOR_EACH_NODE(n, c->f) {
        int64_t end;

        if (n->place &&
            !glow_add_overflow(n->place->offset, n->place->size, &end))
            c->sorted[count++] =
                (interval){region_index(c, n->place->region), n->place->offset,
                           end, number_of(c, n), n};
    }
    if (count)
        glow_sort(c->sorted, count, sizeof *c->sorted, by_address);
    for (size_t i = 0; i < count; i++)
        c->rank[c->sorted[i].number] = i;
    c->alive = glow_ordered_set_new(c->arena, count);
}

static bool
any_place(const glow_func *f)
{
    GLOW_FOR_EACH_NODE(n, f)
        if (n->place)
            return true;
    return false;
}

glow_places *
glow_places_new(glow_arena *a, glow_func *f, const glow_numbering *numbers,
                bool *ok)
{
    glow_places *c = GLOW_NEW(a, glow_places);

    *c = (glow_places){
        .f = f, .numbers = numbers, .arena = a, .ok = ok, .any = any_place(f)};
    if (!c->any)
        return c;
    c->nodes = GLOW_NEW_ARRAY(a, const glow_node *, f->count);
    c->begins = GLOW_NEW_ARRAY(a, uint32_t, f->count);
    c->ends = GLOW_NEW_ARRAY(a, uint32_t, f->count);
    c->more = GLOW_NEW_ARRAY(a, uint32_t, 2 * (size_t)f->count);
    c->lives = glow_program_lives(a, f, numbers);
    GLOW_FOR_EACH_NODE(n, f)
        c->nodes[number_of(c, n)] = n;
    sort_places(c);
    return c;
}

/* The first living buffer of which bytes are in `x`, or NULL. */
static const interval *
find_meeting(const glow_places *c, const interval *x)
{
    size_t near[] = {glow_ordered_set_below(c->alive, (size_t)(x - c->sorted)),
                     glow_ordered_set_from(c->alive, (size_t)(x - c->sorted))};

    for (int i = 0; i < 2; i++) {
        const interval *l = near[i] < SIZE_MAX ? &c->sorted[near[i]] : NULL;

        if (l && l->region == x->region && l->begin < x->end &&
            x->begin < l->end)
            return l;
    }
    return NULL;
}

/* Takes the place of `n`, which does not overflow and is in a region of the
   function. */
static void
occupy(glow_places *c, const glow_node *n)
{
    const interval *x = &c->sorted[c->rank[number_of(c, n)]], *l;

    if (x->begin == x->end)
        return;
    l = find_meeting(c, x);
    if (!l)
        glow_ordered_set_insert(c->alive, c->rank[number_of(c, n)]);
    else
        WRONG(c, n, "E0324", NULL,
              "its bytes %" PRId64 " to %" PRId64
              " of $%s are also those of %%%s (%" PRId64 " to %" PRId64
              "), which is alive",
              x->begin, x->end - 1, n->place->region->name, l->node->name,
              l->begin, l->end - 1);
}

/* A place that overflows has no rank of its own, and was not taken. */
void
glow_places_vacate(glow_places *c, const glow_node *n)
{
    if (n->place && c->sorted[c->rank[number_of(c, n)]].node == n)
        glow_ordered_set_erase(c->alive, c->rank[number_of(c, n)]);
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

/* The region is of the space that the buffer names. */
static void
check_space(glow_places *c, const glow_node *n)
{
    const char *space = glow_space_of(n);
    const glow_region *r = n->place->region;

    if (space && strcmp(space, r->space) != 0)
        WRONG(c, n, "E0334", NULL,
              "%%%s names the space '%s', but $%s is in '%s'", n->name, space,
              r->name, r->space);
}

/* Notes when a placeholder comes and goes. */
static void
expect(glow_places *c, const glow_node *n)
{
    uint32_t i = number_of(c, n);
    const glow_life *life = &c->lives[i];
    int64_t begin = life->begin > i ? life->begin : i;

    c->more[2 * i] = c->begins[begin];
    c->begins[begin] = i + 1;
    if (life->end == INT64_MAX || life->end <= i)
        return;
    c->more[2 * i + 1] = c->ends[life->end - 1];
    c->ends[life->end - 1] = i + 1;
}

void
glow_places_check(glow_places *c, const glow_node *n)
{
    const glow_place *p = n->place;
    int64_t bytes = glow_type_bytes(n->out[0]->type), end;
    int region = p ? region_index(c, p->region) : -1;

    if ((!c->f->placed || glow_is_token(n)) && !p)
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
    check_space(c, n);
    if (n->op == &glow_op_weight && !n->out[0]->storage->is_constant)
        expect(c, n);
    else
        occupy(c, n);
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
    for (uint32_t i = c->any ? c->begins[number_of(c, n)] : 0; i > 0;
         i = c->more[2 * (i - 1)])
        occupy(c, c->nodes[i - 1]);
}

void
glow_places_end(glow_places *c, const glow_node *n)
{
    for (uint32_t i = c->any ? c->ends[number_of(c, n)] : 0; i > 0;
         i = c->more[2 * (i - 1) + 1])
        glow_places_vacate(c, c->nodes[i - 1]);
}
