/*
 * split-product: compute a product in bands of rows, as slices need them.
 *
 *     %p = MatMul(%x, @w) : float<1600 x 1024>
 *     %s0 = Slice(%p) {Start: [0, 0]} : float<32 x 1024>
 *     %s1 = Slice(%p) {Start: [32, 0]} : float<32 x 1024>
 *     ...
 *  =>
 *     %x0 = Slice(%x) {Start: [0, 0]} : float<256 x 128>
 *     %p0 = MatMul(%x0, @w) : float<256 x 1024>
 *     %s0 = Slice(%p0) {Start: [0, 0]} : float<32 x 1024>
 *     %s1 = Slice(%p0) {Start: [32, 0]} : float<32 x 1024>
 *     ...
 *
 * for MatMul and FullyConnected whose result is read by Slices of whole rows alone,
 * which have no row in common, or is a matrix of rows for each step and is read by
 * Slices of steps.  An unrolled recurrent network multiplies the inputs
 * of all steps by one matrix at once, and takes the rows of a step at each: whole,
 * the result waits in memory for the last step.  A schedule now computes a band
 * right before the first of its steps, or all at once as before, and the operand's
 * bands are views.  Rows that no slice reads are not computed.
 *
 * The matrix is read again for each band, so a band has LEAST_ROWS rows or more,
 * and a band is no less than a slice.  Each row is summed up as before.
 *
 * Belongs behind the passes that make one node of several.  A scheduled graph is left
 * alone.
 */

#include <inttypes.h>

#include "glow/ops.h"
#include "glow/pass.h"

enum { LEAST_ROWS = 256 };

typedef struct rows {
    glow_node *slice;
    int64_t start, count;
} rows;

typedef struct splitter {
    glow_pass_run *run;
    glow_arena *arena;
    glow_builder *builder;
    rows *at; /* by row */
    size_t count, cap;
} splitter;

/* Finding slices. */

static bool
is_product(const glow_node *n)
{
    return (glow_is(n, &glow_op_matmul) ||
            glow_is(n, &glow_op_fullyconnected)) &&
           !n->pred && n->out[0]->type->shape.rank == 2;
}

/*
 * True, and *r set, if `n` takes whole rows of `v`, one after the other; an index of
 * axis 0 is `each` rows of the product.
 */
static bool
takes_rows(glow_node *n, const glow_value *v, int64_t each, rows *r)
{
    const glow_slice *s = GLOW_AS(slice, n);
    glow_dims shape = v->type->shape;

    if (!s || n->pred)
        return false;
    for (int i = 1; i < shape.rank; i++)
        if (s->start.at[i] != 0 || n->out[0]->type->shape.at[i] != shape.at[i])
            return false;
    for (int i = 0; i < s->steps.rank; i++)
        if (s->steps.at[i] != 1)
            return false;
    *r = (rows){n, each * s->start.at[0], each * n->out[0]->type->shape.at[0]};
    return true;
}

static int
by_start(const void *a, const void *b)
{
    const rows *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->count > y->count) - (x->count < y->count);
}

/* Collects the slices of `v`, of which an index of axis 0 is `each` rows; false if
   another node reads it. */
static bool
collect(splitter *s, const glow_value *v, int64_t each)
{
    GLOW_FOR_EACH_USE(u, v) {
        s->at =
            glow_arena_grow(s->arena, s->at, s->count, &s->cap, sizeof *s->at);
        if (!takes_rows(u->user, v, each, &s->at[s->count++]))
            return false;
    }
    return true;
}

/* The reshape of a product of `total` rows to blocks of whole rows, or NULL. */
static const glow_value *
blocks_of(const glow_node *n, int64_t total)
{
    const glow_value *v = glow_is(n, &glow_op_reshape) ? n->out[0] : NULL;

    return v && !n->pred && v->type->shape.rank > 0 &&
                   v->type->shape.at[0] > 0 && total % v->type->shape.at[0] == 0
               ? v
               : NULL;
}

/* Collects the slices of `v` and of its reshapes, by row; false if another node reads
   one of them, or slices overlap. */
static bool
find_slices(splitter *s, const glow_value *v)
{
    int64_t total = v->type->shape.at[0];

    s->count = 0;
    GLOW_FOR_EACH_USE(u, v) {
        const glow_value *blocks = blocks_of(u->user, total);

        if (blocks && !collect(s, blocks, total / blocks->type->shape.at[0]))
            return false;
        if (blocks)
            continue;
        s->at =
            glow_arena_grow(s->arena, s->at, s->count, &s->cap, sizeof *s->at);
        if (!takes_rows(u->user, v, 1, &s->at[s->count++]))
            return false;
    }
    if (s->count > 0)
        glow_sort(s->at, s->count, sizeof *s->at, by_start);
    for (size_t i = 1; i < s->count; i++)
        if (s->at[i - 1].start + s->at[i - 1].count > s->at[i].start)
            return false;
    return s->count > 1;
}

/* Bands. */

/* The number of slices from `r` on, of `count`, that have `most` rows at most, or one. */
static size_t
band_of(const rows *r, size_t count, int64_t most)
{
    size_t n = 1;

    while (n < count && r[n].start + r[n].count - r->start <= most)
        n++;
    return n;
}

static const glow_type *
with_rows(glow_builder *b, const glow_value *v, int64_t count)
{
    glow_type type = *v->type;

    type.shape.at[0] = count;
    return glow_type_get(glow_builder_context(b), type);
}

/* Operand 0 of the product as a matrix. */
static glow_value *
flatten(glow_builder *b, const glow_node *n)
{
    glow_value *x = n->in[0];
    int64_t m = n->out[0]->type->shape.at[0];
    int64_t k = glow_type_count(x->type) / m;

    return x->type->shape.rank == 2
               ? x
               : GLOW_BUILD(b, reshape, GLOW_IN(x), .dims = {2, {m, k}});
}

/* The product for `count` rows from `start` on of `x`. */
static glow_value *
build_band(glow_builder *b, const glow_node *n, glow_value *x, int64_t start,
           int64_t count)
{
    glow_slice s = {.start = {2, {start, 0}}};
    glow_value *in[3];
    const glow_type *type =
        glow_states_type(n) ? with_rows(b, n->out[0], count) : NULL;

    for (int k = 1; k < n->n_in; k++)
        in[k] = n->in[k];
    in[0] =
        glow_build(b, &glow_op_slice, with_rows(b, x, count), GLOW_IN(x), &s);
    return glow_build(
        b, n->op, type, in, n->n_in,
        glow_is(n, &glow_op_fullyconnected)
            ? (const void *)&(const glow_fullyconnected){.axis = 1}
            : n->attrs);
}

/* Has the users of the slice read `band`, whose first row is `start`. */
static bool
move_slice(glow_builder *b, const rows *r, glow_value *band, int64_t start)
{
    glow_value *old = r->slice->out[0];
    const glow_type *part = with_rows(b, band, r->count);
    const char *name = r->slice->name;
    glow_slice s = {.start = {2, {r->start - start, 0}}};
    bool whole = band->type == part;

    glow_builder_at(b, r->slice);
    if (!whole)
        band = glow_build(b, &glow_op_slice, part, GLOW_IN(band), &s);
    if (part != old->type) {
        band = GLOW_BUILD(b, reshape, GLOW_IN(band), .dims = old->type->shape);
        whole = false;
    }
    if (!band)
        return false;
    glow_replace_uses(old, band);
    glow_node_erase(r->slice);
    if (!whole)
        glow_node_rename(band->def, name);
    return true;
}

static glow_result
split(splitter *s, glow_node *n)
{
    int64_t total = n->out[0]->type->shape.at[0];
    int64_t bands = total / LEAST_ROWS;
    glow_value *x;

    if (bands < 2 || !find_slices(s, n->out[0]))
        return GLOW_UNCHANGED;

    int64_t most = (total + bands - 1) / bands;
    size_t first = band_of(s->at, s->count, most);

    if (first == s->count || !glow_run_may_rewrite(s->run))
        return GLOW_UNCHANGED;
    glow_run_remark(s->run, n, true,
                    "%zu slices read %" PRId64 " rows; bands have %" PRId64
                    " at most",
                    s->count, total, most);
    glow_builder_at(s->builder, n);
    x = flatten(s->builder, n);
    for (size_t i = 0, count; i < s->count; i += count) {
        const rows *r = &s->at[i], *end;

        count = band_of(r, s->count - i, most);
        end = &r[count - 1];
        glow_builder_at(s->builder, n);

        glow_value *band = build_band(s->builder, n, x, r->start,
                                      end->start + end->count - r->start);

        for (size_t k = 0; k < count; k++)
            if (!band || !move_slice(s->builder, &r[k], band, r->start))
                return GLOW_FAILED;
        glow_run_count(s->run, "bands", 1);
    }
    while (n->out[0]->uses)
        glow_node_erase(n->out[0]->uses->user); /* a reshape without slices */
    glow_node_erase(n);
    return GLOW_CHANGED;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_arena *a = glow_run_scratch(pass);
    glow_result result = GLOW_UNCHANGED;

    if (f->scheduled)
        return GLOW_UNCHANGED;

    splitter s = {.run = pass,
                  .arena = a,
                  .builder = glow_builder_new(a, f, glow_run_pass(pass)->name)};
    glow_node **products = GLOW_NEW_ARRAY(a, glow_node *, f->count);
    size_t count = 0;

    GLOW_FOR_EACH_NODE(n, f)
        if (is_product(n))
            products[count++] = n;
    for (size_t i = 0; i < count; i++) {
        glow_result one = split(&s, products[i]);

        if (one == GLOW_FAILED)
            return one;
        result = one == GLOW_CHANGED ? one : result;
    }
    return result;
}

const glow_pass glow_pass_split_product = {
    .name = "split-product",
    .summary = "compute a product in bands of rows, as slices need them",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};
