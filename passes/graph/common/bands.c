/* Row bands of chains: needed slabs, memory and construction; see bands.h. */

#include "passes/graph/common/bands.h"

#include "glow/cost.h"
#include "glow/number.h"
#include "glow/ops.h"

enum {
    UNUSED = -2,  /* the axis of a slab without users */
    LONGEST = 512 /* nodes of a chain */
};

typedef struct row { /* a node of the order */
    glow_node *node;
    uint32_t last;  /* the last node that uses its result */
    bool can_cut;   /* by a rule */
    bool whole;     /* of the current chain: computed once */
    slab need;      /* of its result, in the current band */
    slab *in;       /* of its operands, for `need` */
    void *attrs;    /* of the part */
    uint32_t owner; /* the node that owns the slab's buffer */
    uint32_t death; /* of an owner: the last user of the buffer */
    int64_t bytes;  /* of an owner: the size of the buffer */
    glow_value *part;
    slab cut; /* the last slab that the band has cut out of it, and its value;
               * or NULL */
    glow_value *cutting;
} row;

struct bands {
    glow_numbering numbers; /* of the nodes that have a row */
    row *rows;
    uint32_t count;
};

static uint32_t
last_use(const bands *b, const glow_node *n)
{
    uint32_t last = glow_number_of(&b->numbers, n);

    for (int i = 0; i < n->n_out; i++)
        GLOW_FOR_EACH_USE(u, n->out[i]) {
            uint32_t at = glow_number_of(&b->numbers, u->user);

            last = at > last ? at : last;
        }
    return last;
}

bands *
glow_bands_new(glow_arena *a, const glow_func *f, glow_node *const *nodes,
               uint32_t count)
{
    bands *b = GLOW_NEW(a, bands);

    b->numbers = glow_numbering_new(a, f);
    b->rows = GLOW_NEW_ARRAY(a, row, count);
    b->count = count;
    for (uint32_t i = 0; i < count; i++)
        glow_number_set(&b->numbers, nodes[i], i);
    for (uint32_t i = 0; i < count; i++)
        b->rows[i] = (row){
            .node = nodes[i],
            .last = last_use(b, nodes[i]),
            .can_cut = glow_slab_can_cut(nodes[i]),
            .in = GLOW_NEW_ARRAY(a, slab, nodes[i]->n_in + SLAB_ROOM),
            .attrs = glow_slab_attrs(a, nodes[i]),
        };
    return b;
}

static bool
is_view(const glow_node *n)
{
    return n->op == &glow_op_reshape && n->in[0]->type->strides.rank == 0;
}

/* True if `n` can be part of a chain. */
static bool
can_stand(const glow_node *n)
{
    return n->op->traits & GLOW_PURE && n->n_out == 1 && !n->pred &&
           glow_call_count(n) == 0;
}

uint32_t
glow_bands_begin(const bands *b, uint32_t end)
{
    uint32_t first = end - 1;
    const row *last = &b->rows[first];

    if (!last->can_cut || !can_stand(last->node) || is_view(last->node))
        return end;
    while (first > 0 && end - first < LONGEST &&
           can_stand(b->rows[first - 1].node) && b->rows[first - 1].last < end)
        first--;
    return first;
}

/* The first axis of more than one element: slabs along it are contiguous. */
static int
outer_axis(const glow_type *t)
{
    int axis = 0;

    while (axis + 1 < t->shape.rank && t->shape.at[axis] == 1)
        axis++;
    return axis;
}

int64_t
glow_bands_rows(const bands *b, chain c, int *axis)
{
    const glow_type *t = b->rows[c.end - 1].node->out[0]->type;

    *axis = outer_axis(t);
    return t->shape.rank ? t->shape.at[*axis] : 1;
}

static slab
band_at(const bands *b, chain c, int64_t start, int64_t size)
{
    int axis;
    int64_t rest = glow_bands_rows(b, c, &axis) - start;

    return (slab){axis, start, rest < size ? rest : size};
}

/* Needed slabs. */

/* The row of the node that computes `v`, or NULL. */
static row *
row_of(const bands *b, const glow_value *v)
{
    uint32_t at =
        v && v->def ? glow_number_of(&b->numbers, v->def) : GLOW_UNNUMBERED;

    return at == GLOW_UNNUMBERED ? NULL : &b->rows[at];
}

/* The row of the node that computes `v` if it is in the chain, else NULL. */
static row *
inside(const bands *b, chain c, const glow_value *v)
{
    row *r = row_of(b, v);

    return r && r >= &b->rows[c.first] && r < &b->rows[c.end] ? r : NULL;
}

static slab
hull(slab a, slab b)
{
    int64_t end = a.start + a.size;

    if (a.axis == UNUSED)
        return b;
    if (a.axis == WHOLE || a.axis != b.axis)
        return (slab){.axis = WHOLE};
    if (b.start + b.size > end)
        end = b.start + b.size;
    if (b.start < a.start)
        a.start = b.start;
    a.size = end - a.start;
    return a;
}

/*
 * Backward pass: finds the slabs that a band needs; true if more results are
 * needed whole than before.
 */
static bool
find_needs(bands *b, chain c, slab band)
{
    bool grew = false;

    for (uint32_t k = c.first; k < c.end; k++)
        b->rows[k].need.axis = b->rows[k].whole ? WHOLE : UNUSED;
    b->rows[c.end - 1].need = band;
    for (uint32_t k = c.end; k-- > c.first;) {
        row *r = &b->rows[k];

        if (r->need.axis == UNUSED)
            continue;
        if (r->need.axis == WHOLE || !r->can_cut ||
            !glow_slab_needs(r->node, r->need, r->in, r->attrs)) {
            r->need.axis = WHOLE;
            grew |= !r->whole;
            r->whole = true;
            for (int i = 0; i < r->node->n_in; i++)
                r->in[i].axis = WHOLE;
        }
        for (int i = 0; i < r->node->n_in; i++) {
            row *def = inside(b, c, r->node->in[i]);

            if (def)
                def->need = hull(def->need, r->in[i]);
        }
    }
    return grew;
}

/* Memory of a band. */

/* The row that owns the buffer of operand `i`, if it is a slab, else NULL. */
static row *
owner_of(bands *b, chain c, const row *r, int i)
{
    const row *def = inside(b, c, r->node->in[i]);

    return def && !def->whole ? &b->rows[def->owner] : NULL;
}

/*
 * True if the result may overwrite operand `i`: it is a whole slab of the
 * result's size, and this is its last use.
 */
static bool
is_free(bands *b, chain c, const row *r, int i)
{
    const row *def = inside(b, c, r->node->in[i]);
    const row *owner = owner_of(b, c, r, i);

    return owner && owner->death == glow_number_of(&b->numbers, r->node) &&
           owner->bytes == glow_slab_bytes(r->node->out[0]->type, r->need) &&
           def->need.start == r->in[i].start && def->need.size == r->in[i].size;
}

/*
 * The row whose buffer the result shares, as a view or updated in place; NULL
 * if it has its own.
 */
static row *
shares_with(bands *b, chain c, const row *r)
{
    const glow_op *op = r->node->op;

    if (is_view(r->node))
        return owner_of(b, c, r, 0);
    for (int k = 0; k < op->inplace_count; k++) {
        int first, count;

        glow_operand_range(r->node, op->inplace[k].in, &first, &count);
        if (count > 0 && is_free(b, c, r, first))
            return owner_of(b, c, r, first);
    }
    return NULL;
}

/* Bytes of slabs that are copied, because they are not contiguous. */
static int64_t
copied(const row *r)
{
    int64_t bytes = 0;

    for (int i = 0; i < r->node->n_in; i++)
        if (r->node->in[i] && r->in[i].axis > outer_axis(r->node->in[i]->type))
            bytes += glow_slab_bytes(r->node->in[i]->type, r->in[i]);
    return bytes;
}

static int64_t
release(bands *b, chain c, const row *r)
{
    int64_t bytes = 0;

    for (int i = 0; i < r->node->n_in; i++) {
        row *owner = owner_of(b, c, r, i);

        if (owner && owner->death == glow_number_of(&b->numbers, r->node)) {
            bytes += owner->bytes;
            owner->bytes = 0;
        }
    }
    return bytes;
}

/*
 * The peak of live bytes of slabs; the last slab is in the buffer of the joined
 * result.
 */
static int64_t
bytes_of_band(bands *b, chain c)
{
    int64_t live = 0, most = 0;

    for (uint32_t k = c.first; k < c.end; k++) {
        row *r = &b->rows[k], *owner;
        bool is_end = k + 1 == c.end;

        r->owner = k;
        r->death = r->last;
        r->bytes = 0;
        if (r->whole || r->need.axis == UNUSED)
            continue;
        owner = is_end ? NULL : shares_with(b, c, r);
        if (owner) {
            r->owner = owner->owner;
            if (r->last > owner->death)
                owner->death = r->last;
        } else if (!is_end && !is_view(r->node)) {
            r->bytes = glow_slab_bytes(r->node->out[0]->type, r->need);
            live += r->bytes;
        }
        if (live + copied(r) > most)
            most = live + copied(r);
        live -= release(b, c, r);
    }
    return most;
}

/*
 * Bytes live during all bands: the last result and the results that are
 * computed whole.
 */
static int64_t
bytes_around(const bands *b, chain c)
{
    int64_t bytes = glow_type_bytes(b->rows[c.end - 1].node->out[0]->type);

    for (uint32_t k = c.first; k < c.end; k++)
        if (b->rows[k].whole && !is_view(b->rows[k].node))
            bytes += glow_type_bytes(b->rows[k].node->out[0]->type);
    return bytes;
}

/* Flops of the slabs, or of the whole results. */
static double
flops(const bands *b, chain c, bool of_parts)
{
    double sum = 0;

    for (uint32_t k = c.first; k < c.end; k++) {
        const row *r = &b->rows[k];
        double f = (double)glow_node_cost(r->node).flops;

        if (r->whole || r->need.axis == UNUSED)
            continue;
        if (of_parts)
            f = f / (double)r->node->out[0]->type->shape.at[r->need.axis] *
                (double)r->need.size;
        sum += f;
    }
    return sum;
}

/*
 * One pass over the bands, or over a sample of `looks` bands; true if it must
 * be repeated.  The first and the last band are always in the sample, with
 * weight 1.
 */
static bool
measure_bands(bands *b, chain c, int64_t size, const band_limits *l,
              band_cost *out)
{
    int axis;
    int64_t rows = glow_bands_rows(b, c, &axis), count = (rows - 1) / size + 1;
    int64_t looks = l->looks < count ? l->looks : count;
    int64_t around = bytes_around(b, c);
    double between = 0;

    out->count = count;
    out->bytes = around;
    out->flops = -flops(b, c, false);
    for (int64_t k = 0; k < looks && out->bytes <= l->bytes; k++) {
        int64_t at = looks == count ? k : k * (count - 1) / (looks - 1);

        out->steps += c.end - c.first;
        if (find_needs(b, c, band_at(b, c, at * size, size)))
            return true;
        int64_t parts = bytes_of_band(b, c), bytes = around + parts;
        double f = flops(b, c, true);

        out->parts = parts > out->parts ? parts : out->parts;
        out->bytes = bytes > out->bytes ? bytes : out->bytes;
        if (at == 0 || at == count - 1)
            out->flops += f;
        else
            between += f;
    }
    if (count > 2)
        out->flops += between * (double)(count - 2) / (double)(looks - 2);
    return false;
}

bool
glow_bands_measure(bands *b, chain c, int64_t size, band_limits limits,
                   band_cost *out)
{
    *out = (band_cost){0};
    for (uint32_t k = c.first; k < c.end; k++)
        b->rows[k].whole = false;
    while (measure_bands(b, c, size, &limits, out))
        if (b->rows[c.end - 1].whole)
            return false;
    return out->bytes <= limits.bytes && !b->rows[c.end - 1].whole;
}

bool
glow_bands_has_parts(const bands *b, uint32_t k)
{
    return !b->rows[k].whole && b->rows[k].need.axis != UNUSED;
}

bool
glow_bands_cut_channels(const bands *b, chain c)
{
    for (uint32_t k = c.first; k < c.end; k++) {
        const row *r = &b->rows[k];

        if (!glow_bands_has_parts(b, k) ||
            r->need.axis + 1 < r->node->out[0]->type->shape.rank)
            continue;
        for (int i = 0; i < r->node->n_in; i++)
            if (r->node->in[i] && !glow_is_constant(r->node->in[i]) &&
                r->in[i].axis == WHOLE)
                return true;
    }
    return false;
}

/* Building. */

/* Builds the slab of operand `i` that a slab of node `r` reads. */
static glow_value *
take(bands *b, chain c, const row *r, int i, glow_builder *builder)
{
    glow_value *v = r->node->in[i];
    const row *in = inside(b, c, v);
    row *def = row_of(b, v);
    slab s = r->in[i];

    if (in && !in->whole) {
        s.start -= in->need.start;
        v = in->part;
    }
    if (!def || s.axis == WHOLE)
        return glow_slab_take(builder, v, s);
    if (!def->cutting || def->cut.axis != s.axis || def->cut.size != s.size ||
        def->cut.start != s.start)
        def->cutting = glow_slab_take(builder, v, s);
    def->cut = s;
    return def->cutting;
}

/*
 * Forgets slices at the end of a band: they are shared only within it, so that
 * live ranges stay short.
 */
static void
forget_cuts(bands *b, chain c)
{
    for (uint32_t k = c.first; k < c.end; k++) {
        row *r = &b->rows[k];

        for (int i = 0; i < r->node->n_in; i++) {
            row *def = row_of(b, r->node->in[i]);

            if (def)
                def->cutting = NULL;
        }
    }
}

/* Moves the nodes built before `r` to before the chain's last node. */
static void
move_down(const row *r, const glow_node *before, glow_node *last)
{
    glow_node *n = before ? before->next : r->node->func->first;

    while (r->node != last && n != r->node) {
        glow_node *next = n->next;

        glow_node_move_before(n, last);
        n = next;
    }
}

static bool
build_band(bands *b, chain c, slab band, glow_builder *builder)
{
    glow_node *last = b->rows[c.end - 1].node;

    find_needs(b, c, band);
    forget_cuts(b, c);
    for (uint32_t k = c.first; k < c.end; k++) {
        row *r = &b->rows[k];
        const glow_node *before = r->node->prev;

        if (r->whole || r->need.axis == UNUSED)
            continue;
        glow_builder_at(builder, r->node);
        glow_value **in = GLOW_NEW_ARRAY(glow_builder_scratch(builder),
                                         glow_value *, r->node->n_in);

        for (int i = 0; i < r->node->n_in; i++)
            in[i] = take(b, c, r, i, builder);
        r->part = glow_slab_build(builder, r->node, r->need, in, r->attrs);
        if (!r->part)
            return false;
        move_down(r, before, last);
    }
    return true;
}

/* Erases the nodes that the bands replace, users first. */
static void
erase_chain(bands *b, chain c)
{
    for (uint32_t k = c.end; k-- > c.first;) {
        row *r = &b->rows[k];

        if (!r->whole)
            glow_node_erase(r->node);
    }
}

bool
glow_bands_build(bands *b, chain c, int64_t size, glow_builder *builder)
{
    glow_node *last = b->rows[c.end - 1].node;
    const char *name = last->name;
    int axis, count = 0;
    int64_t rows = glow_bands_rows(b, c, &axis);
    glow_value **parts = GLOW_NEW_ARRAY(glow_builder_scratch(builder),
                                        glow_value *, (rows - 1) / size + 1);

    for (int64_t at = 0; at < rows; at += size) {
        if (!build_band(b, c, band_at(b, c, at, size), builder))
            return false;
        parts[count++] = b->rows[c.end - 1].part;
    }
    glow_builder_at(builder, last);
    glow_value *y = glow_build(builder, &glow_op_concat, NULL, parts, count,
                               &(const glow_concat){.dim = axis});

    if (!y)
        return false;
    glow_replace_uses(last->out[0], y);
    erase_chain(b, c);
    glow_node_rename(y->def, name);
    return true;
}
