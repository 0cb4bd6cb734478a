/*
 * Sizes as data: integers that follow from the counts of bounded values.
 *
 *     Shape(x)  =>  [count, 4], at most [100, 4]
 *
 * Models compute shapes from such vectors by Gather, Concat, Min and the like.
 * Each element is tracked with its greatest value.  An operator that needs its
 * sizes at import is built for the greatest ones, and its result is bounded.
 */

#include <string.h>

#include "tools/glow-translate/import/follow.h"

/* Sizes that a vector may have. */
#define MAX_SIZES GLOW_MAX_RANK
/* The greatest size that an interval may give. */
#define MAX_MEASURE 65536

/*
 * Records the elements of a result, which is a constant if none is dynamic.  Rows of sizes,
 * of which a rule has one element each, are not followed.
 */
static void
record(import_node *n, glow_value **out, const import_extent *at, int count)
{
    import_extents *e;
    glow_value *v = *out;
    int64_t most[2 * MAX_SIZES];
    bool dynamic = false;

    for (int i = 0; i < count; i++) {
        dynamic |= at[i].count != NULL;
        most[i] = at[i].most;
    }
    if (!v || glow_is_constant(v) || glow_type_count(v->type) != count)
        return;
    if (!dynamic) {
        if (v->type->elem == GLOW_INDEX64)
            *out = import_constant_ints(n, v->type->shape, most);
        return;
    }
    e = GLOW_NEW(n->im->arena, import_extents);
    *e = (import_extents){
        v, count, glow_arena_copy(n->im->arena, at, (size_t)count * sizeof *at),
        n->im->extents};
    n->im->extents = e;
}

const import_extents *
import_find_extents(const importer *im, const glow_value *v)
{
    for (const import_extents *e = im->extents; e; e = e->next)
        if (e->value == v)
            return e;
    return NULL;
}

const import_extents *
import_extents_of(import_node *n, const glow_value *v)
{
    return import_find_extents(n->im, v);
}

/* Reads the elements of operand i, constant or tracked; their number, or -1. */
static int
read_sizes(import_node *n, const import_following *f, int i, import_extent *at)
{
    const glow_value *v = i < n->n_in ? f->in[i] : NULL;
    const import_extents *e = v ? import_extents_of(n, v) : NULL;
    const glow_tensor *t;
    int64_t count = v ? glow_type_count(v->type) : 0;

    if (!e && v && count == 1 && !glow_is_constant(v))
        e = import_measure(n, v);
    if (e) {
        memcpy(at, e->at, (size_t)e->count * sizeof *at);
        return e->count;
    }
    if (!v || !glow_is_constant(v) || !glow_is_int(v->type->elem) ||
        count > MAX_SIZES || !(t = glow_constant_tensor(v->storage)))
        return -1;
    for (int64_t k = 0; k < count; k++)
        at[k] = (import_extent){glow_get_int(t, k), NULL};
    return (int)count;
}

/* The count of element k of `v`, index64<>. */
static glow_value *
element(import_node *n, glow_value *v)
{
    return import_reshape(n, import_convert(n, v, GLOW_INDEX64),
                          (glow_dims){0});
}

/*
 * Appends the elements of `v`, made by Concat of others, to at[0, count); of floats, what
 * they are as integers.
 */
static bool
measure_parts(import_node *n, glow_value *v, import_extent *at, int *count)
{
    const import_extents *e = import_extents_of(n, v);
    const glow_tensor *t =
        glow_is_constant(v) ? glow_constant_tensor(v->storage) : NULL;
    int64_t more = glow_type_count(v->type);
    const glow_node *d = v->def;
    import_interval of;

    if (more + *count > MAX_SIZES || (glow_is_constant(v) && !t))
        return false;
    if ((e || t) && glow_is_int(v->type->elem)) {
        for (int64_t k = 0; k < more; k++)
            at[(*count)++] =
                e ? e->at[k] : (import_extent){glow_get_int(t, k), NULL};
        return true;
    }
    if (d && more > 1 &&
        (d->op == &glow_op_reshape || d->op == &glow_op_convertto))
        return measure_parts(n, d->in[0], at, count);
    if (d && more > 1 && d->op == &glow_op_concat) {
        for (int i = 0; i < d->n_in; i++)
            if (!measure_parts(n, d->in[i], at, count))
                return false;
        return true;
    }
    of = import_interval_of(n->im, v);
    if (more != 1 || !(of.lo >= 0) || !(of.hi <= MAX_MEASURE))
        return false;
    at[(*count)++] = (import_extent){(int64_t)of.hi, element(n, v)};
    return true;
}

const import_extents *
import_measure(import_node *n, const glow_value *v)
{
    import_extent at[MAX_SIZES];
    import_extents *e;
    int count = 0;

    if (!n->im->options->allow_bounded || glow_is_constant(v) ||
        !glow_is_int(v->type->elem) ||
        !measure_parts(n, (glow_value *)v, at, &count))
        return NULL;
    e = GLOW_NEW(n->im->arena, import_extents);
    *e = (import_extents){
        v, count, glow_arena_copy(n->im->arena, at, (size_t)count * sizeof *at),
        n->im->extents};
    n->im->extents = e;
    return e;
}

static void
follow_same(import_node *n, const import_following *f)
{
    import_extent at[MAX_SIZES];
    int count = read_sizes(n, f, 0, at);

    if (count >= 0 && glow_is_int(n->out[0]->type->elem))
        record(n, &n->out[0], at, count);
}

static void
follow_concat(import_node *n, const import_following *f)
{
    import_extent at[2 * MAX_SIZES];
    int count = 0;

    for (int i = 0; i < n->n_in; i++) {
        int more = read_sizes(n, f, i, at + count);

        if (more < 0 || count + more > MAX_SIZES)
            return;
        count += more;
    }
    if (n->out[0]->type->shape.rank == 1)
        record(n, &n->out[0], at, count);
}

static void
follow_gather(import_node *n, const import_following *f)
{
    import_extent at[MAX_SIZES], which[MAX_SIZES], out[MAX_SIZES];
    int count = read_sizes(n, f, 0, at), picked = read_sizes(n, f, 1, which);

    if (picked < 0)
        return;
    for (int k = 0; k < picked; k++) {
        int64_t i = which[k].most + (which[k].most < 0 ? count : 0);

        if (which[k].count || i < 0 || i >= count)
            return;
        out[k] = at[i];
    }
    record(n, &n->out[0], out, picked);
}

static void
follow_slice(import_node *n, const import_following *f)
{
    import_extent at[MAX_SIZES];
    int count = read_sizes(n, f, 0, at);
    const glow_node *d = n->out[0]->def;
    const glow_slice *s = d ? glow_attrs_if(d, &glow_op_slice) : NULL;
    int64_t size = glow_type_count(n->out[0]->type);

    if (s && n->out[0]->type->shape.rank == 1 && !s->steps.rank &&
        s->start.at[0] + size <= count)
        record(n, &n->out[0], at + s->start.at[0], (int)size);
    else if (!s)
        follow_same(n, f);
}

/* The least of all elements, of one operand or of several. */
static void
follow_min(import_node *n, const import_following *f)
{
    import_extent at[MAX_SIZES], least = {INT64_MAX, NULL};

    if (glow_type_count(n->out[0]->type) != 1)
        return;
    for (int i = 0; i < n->n_in; i++) {
        int count = read_sizes(n, f, i, at);

        if (count < 0)
            return;
        for (int k = 0; k < count; k++)
            least.most = at[k].most < least.most ? at[k].most : least.most;
    }
    least.count = element(n, n->out[0]);
    record(n, &n->out[0], &least, 1);
}

/* Sums and products of two sizes. */
static void
follow_arithmetic(import_node *n, const import_following *f)
{
    import_extent a[MAX_SIZES], b[MAX_SIZES], to;

    if (read_sizes(n, f, 0, a) != 1 || read_sizes(n, f, 1, b) != 1 ||
        a[0].most < 0 || b[0].most < 0 || a[0].most > INT32_MAX ||
        b[0].most > INT32_MAX)
        return;
    to.most = strcmp(n->row->name, "Add") == 0 ? a[0].most + b[0].most
                                               : a[0].most * b[0].most;
    to.count = element(n, n->out[0]);
    record(n, &n->out[0], &to, 1);
}

/* True if `a` and `b` are known to be equal, or not to be; a size is not below 0. */
static bool
decided(import_extent a, import_extent b, bool *equal)
{
    if (a.count && b.count)
        *equal = a.count == b.count;
    else
        *equal = !a.count && !b.count && a.most == b.most;
    if (*equal || (!a.count && !b.count))
        return true;
    return (!a.count && (a.most < 0 || a.most > b.most)) ||
           (!b.count && (b.most < 0 || b.most > a.most));
}

/* Equal: exporters compare shapes with -1. */
static void
follow_equal(import_node *n, const import_following *f)
{
    import_extent a[MAX_SIZES], b[MAX_SIZES];
    int count = read_sizes(n, f, 0, a), others = read_sizes(n, f, 1, b);
    glow_tensor t;
    bool all = count >= 0 && count == others &&
               glow_type_count(n->out[0]->type) == count;
    bool equal[MAX_SIZES];

    for (int k = 0; all && k < count; k++)
        all = decided(a[k], b[k], &equal[k]);
    if (!all || glow_is_constant(n->out[0]))
        return;
    t = glow_tensor_new(n->out[0]->type);
    for (int k = 0; k < count; k++)
        glow_set_int(&t, k, equal[k]);
    n->out[0] = import_constant_of(n, &t);
}

static void
follow_where(import_node *n, const import_following *f)
{
    import_extent a[MAX_SIZES], b[MAX_SIZES];
    int count = read_sizes(n, f, 1, a);
    const glow_value *c = f->in[0];
    const glow_tensor *t;

    if (count < 0 || read_sizes(n, f, 2, b) != count || !glow_is_constant(c) ||
        glow_type_count(c->type) != count ||
        !(t = glow_constant_tensor(c->storage)))
        return;
    for (int k = 0; k < count; k++)
        a[k] = glow_get_int(t, k) ? a[k] : b[k];
    record(n, &n->out[0], a, count);
}

static const struct {
    const char *name;
    void (*follow)(import_node *n, const import_following *f);
} tracked[] = {
    {"Add", follow_arithmetic}, {"Cast", follow_same},
    {"Concat", follow_concat},  {"Equal", follow_equal},
    {"Gather", follow_gather},  {"Identity", follow_same},
    {"Min", follow_min},        {"Mul", follow_arithmetic},
    {"ReduceMin", follow_min},  {"Reshape", follow_same},
    {"Slice", follow_slice},    {"Squeeze", follow_same},
    {"Unsqueeze", follow_same}, {"Where", follow_where},
};

void
import_follow_extents(import_node *n, const import_following *f)
{
    bool any = false;

    if (!n->im->extents || n->failed || !n->out[0])
        return;
    for (int i = 0; i < n->n_in; i++)
        any |= f->in[i] && import_extents_of(n, f->in[i]);
    for (size_t k = 0; any && k < sizeof tracked / sizeof *tracked; k++)
        if (strcmp(tracked[k].name, n->row->name) == 0)
            tracked[k].follow(n, f);
}

/* Operators that need the sizes of an operand at import. */
static const struct {
    const char *name;
    int operand;
} sized[] = {
    {"ConstantOfShape", 0}, {"Expand", 1}, {"Range", 1}, {"Reshape", 1},
    {"Resize", 3},          {"Slice", 2},  {"TopK", 1},
};

void
import_take_sizes(import_node *n, import_following *f)
{
    for (size_t k = 0; k < sizeof sized / sizeof *sized; k++) {
        int i = sized[k].operand;
        const import_extents *e;
        int64_t most[MAX_SIZES];

        if (strcmp(sized[k].name, n->row->name) != 0 || i >= n->n_in ||
            !f->in[i] || f->in[i]->type->shape.rank > 1)
            continue;
        e = import_extents_of(n, f->in[i]);
        if (!e && (f->bound || strcmp(sized[k].name, "Reshape") != 0))
            e = import_measure(n, f->in[i]);
        if (!e)
            continue;
        f->sizes = e;
        for (int j = 0; j < e->count; j++)
            most[j] = e->at[j].most;
        n->in = glow_arena_copy(n->im->arena, f->in,
                                (size_t)n->n_in * sizeof *n->in);
        n->in[i] = import_constant_ints(n, f->in[i]->type->shape, most);
    }
}

/* Shape: constants and the count. */
bool
import_bounded_shape(import_node *n, import_following *f)
{
    glow_dims x = f->bound->value->type->shape;
    import_extent at[GLOW_MAX_RANK];
    glow_value *parts[GLOW_MAX_RANK], *v;
    int64_t start = 0, end = x.rank;

    if (n->opset >= 15) {
        start = import_int(n, "start", 0, -x.rank, x.rank);
        end = import_int(n, "end", x.rank, INT64_MIN, INT64_MAX);
    }
    start += start < 0 ? x.rank : 0;
    end += end < 0 ? x.rank : 0;
    end = end > x.rank ? x.rank : end;
    if (n->failed || end <= start)
        return import_refuse(n, "E0711", "an empty part of a shape");
    for (int64_t i = start; i < end; i++) {
        const import_bound *b = import_bound_at(n->im, f->bound->value, (int)i);

        at[i] = (import_extent){x.at[i], b ? b->count : NULL};
        parts[i] = b ? import_reshape(n, b->count, GLOW_DIMS_OF(1))
                     : import_constant_ints(n, GLOW_DIMS_OF(1), &x.at[i]);
    }
    v = parts[start];
    if (end - start > 1)
        v = import_build(n, &glow_op_concat, NULL, parts + start,
                         (int)(end - start), &(const glow_concat){.dim = 0});
    record(n, &v, at + start, (int)(end - start));
    return import_done(n, v);
}

/* Size: the count by the sizes of the other axes. */
bool
import_bounded_size(import_node *n, import_following *f)
{
    glow_dims x = f->bound->value->type->shape;
    int64_t most = glow_dims_count(x), others = most / x.at[f->bound->axis];
    glow_value *v =
        import_binary(n, &glow_op_mul, f->count,
                      import_constant_ints(n, (glow_dims){0}, &others));
    import_extent at = {most, v};

    record(n, &v, &at, 1);
    return import_done(n, v);
}
