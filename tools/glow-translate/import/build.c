/*
 * Building Glow nodes for an ONNX node.
 *
 * A node of constants is evaluated as soon as it is built, if this is cheap:
 * shapes depend on the chains of Shape, Gather and Concat that exporters leave,
 * so these must be constants before the next node is built, and weights are
 * transposed once.  Cheap is limited by the size of a result, the sum of sizes,
 * and the flops.
 */

#include <inttypes.h>
#include <string.h>

#include "glow/eval.h"
#include "tools/glow-translate/import/state.h"

#define MAX_FOLDED_BYTES ((int64_t)256 << 20)
#define MAX_GROWN_BYTES ((int64_t)1 << 10)
#define MAX_COMPUTED_BYTES ((int64_t)1 << 18)
#define MAX_FOLDED_FLOPS ((int64_t)10 * 1000 * 1000)
#define MAX_FOLDED_WORK ((int64_t)1000 * 1000 * 1000)

static bool
moves_one_tensor(const glow_node *n)
{
    return (n->op->traits & GLOW_LAYOUT) && n->n_in == 1 &&
           n->op != &glow_op_pad;
}

/* True if evaluating `node` now is allowed, and worth it. */
static bool
is_cheap(const importer *im, const glow_node *node)
{
    int64_t out = glow_type_bytes(node->out[0]->type);
    int64_t flops = node->op->flops ? node->op->flops(node) : 0;
    int64_t in = 0;

    for (int i = 0; i < node->n_in; i++)
        if (node->in[i])
            in += glow_type_bytes(node->in[i]->type);
    if (out > MAX_FOLDED_BYTES || in > MAX_FOLDED_BYTES ||
        im->folded + out + in > im->fold_limit)
        return false;
    /* A repetition of elements is smaller as a node. */
    if (node->op->traits & GLOW_LAYOUT ? out > in && out > MAX_GROWN_BYTES
                                       : out > MAX_COMPUTED_BYTES)
        return false;
    return flops <= MAX_FOLDED_FLOPS &&
           im->fold_work + flops + out <= MAX_FOLDED_WORK;
}

/* True for a constant or a splat. */
static bool
is_known(const glow_value *v)
{
    return glow_is_constant(v) || glow_is(v->def, &glow_op_splat);
}

/* Quantized constants stay small, and passes match them. */
static bool
is_kept(const glow_node *node)
{
    return glow_is(node, &glow_op_dequantizelinear) &&
           glow_type_count(node->out[0]->type) > 1;
}

static bool
over_constants(const importer *im, const glow_node *node)
{
    if (is_kept(node))
        return false;
    for (int i = 0; i < node->n_in; i++)
        if (node->in[i] &&
            (!is_known(node->in[i]) || import_is_weight(im, node->in[i])))
            return false;
    return node->n_in > 0 && !node->pred && (node->op->traits & GLOW_PURE) &&
           node->op->eval && !glow_op_calls(node->op);
}

/* A constant for a tensor; takes over its reference. */
static glow_storage *
constant_named(import_node *n, const char *name, const glow_loc *loc,
               glow_tensor *t)
{
    glow_storage *s =
        glow_constant_wrap(n->im->module, import_storage_name(n->im, name),
                           t->type, t->data, t->owner);

    s->loc = loc;
    glow_tensor_end(t);
    return s;
}

/*
 * The constant for `t`; if `node` only moves elements of a constant, it keeps
 * that name and provenance.
 */
static glow_value *
constant_from(import_node *n, const glow_node *node, glow_tensor *t)
{
    const glow_storage *from = node->in[0]->storage;
    char op[64];

    if (!from || !moves_one_tensor(node))
        return import_constant_of(n, t);
    glow_op_instr_name(node->op, op, sizeof op);
    return &constant_named(
                n, glow_arena_printf(n->im->arena, "%s.%s", from->name, op),
                from->loc, t)
                ->value;
}

/* The elements of a known value; NULL after a report. */
static glow_tensor *
known_tensor(import_node *n, const glow_value *v)
{
    importer *im = n->im;
    glow_tensor t;

    if (!glow_is_constant(v)) {
        const glow_splat *s = GLOW_AS(splat, v->def);

        t = (glow_tensor){
            v->type,
            glow_arena_alloc(im->arena, (size_t)glow_type_bytes(v->type)),
            NULL};
        for (int64_t i = 0; i < glow_type_count(v->type); i++)
            glow_set_double(&t, i, (double)s->value);
    } else {
        const glow_tensor *whole = glow_constant_tensor(v->storage);

        if (!whole)
            return NULL;
        t = *whole;
    }
    return glow_arena_copy(im->arena, &t, sizeof t);
}

/* The results of a node over constants; false after a report. */
static bool
evaluate_all(import_node *n, const glow_node *node, glow_tensor *out)
{
    importer *im = n->im;
    glow_tensor **in = GLOW_NEW_ARRAY(im->arena, glow_tensor *, node->n_in);
    glow_tensor **outs = GLOW_NEW_ARRAY(im->arena, glow_tensor *, node->n_out);
    bool ok = true;

    im->fold_work += node->op->flops ? node->op->flops(node) : 0;
    for (int i = 0; i < node->n_in; i++) {
        in[i] = node->in[i] ? known_tensor(n, node->in[i]) : NULL;
        ok &= !node->in[i] || in[i];
    }
    for (int i = 0; i < node->n_out; i++) {
        out[i] = glow_tensor_new(node->out[i]->type);
        outs[i] = &out[i];
        im->folded += glow_type_bytes(out[i].type);
        im->fold_work += glow_type_count(out[i].type);
    }
    if (ok && glow_eval_node(node, in, outs, im->scratch))
        return true;
    for (int i = 0; i < node->n_out; i++)
        glow_tensor_end(&out[i]);
    n->failed = true;
    return false;
}

/* The value of a node of constants, as a constant; NULL on failure. */
static glow_value *
evaluate(import_node *n, const glow_node *node)
{
    glow_tensor out;

    return evaluate_all(n, node, &out) ? constant_from(n, node, &out) : NULL;
}

/* Replaces a node over constants by its value, or leaves it. */
static glow_value *
fold(import_node *n, glow_value *v)
{
    glow_node *node = v->def;
    glow_value *folded = NULL;

    if (node->n_out != 1 || !over_constants(n->im, node))
        return v;
    if (moves_one_tensor(node) && node->in[0]->storage &&
        node->in[0]->storage->payload == GLOW_SPLAT) {
        const glow_storage *s = node->in[0]->storage;

        folded = import_constant_splat(n, v->type->elem, v->type->shape,
                                       s->splat, s->splat_int);
    } else if (is_cheap(n->im, node)) {
        folded = evaluate(n, node);
    }
    if (!folded)
        return v;
    glow_node_erase(node);
    return folded;
}

glow_value *
import_build(import_node *n, const glow_op *op, const glow_type *type,
             glow_value *const *in, int n_in, const void *attrs)
{
    glow_value *v;

    if (n->failed)
        return NULL;
    v = glow_build(n->im->builder, op, type, in, n_in, attrs);
    if (!v) {
        n->failed = true;
        return NULL;
    }
    return fold(n, v);
}

bool
import_build_all(import_node *n, const glow_op *op, glow_value *const *in,
                 int n_in, const void *attrs, glow_value **out)
{
    glow_value *v = import_build(n, op, NULL, in, n_in, attrs);
    glow_node *node = v ? v->def : NULL;
    glow_tensor *t;

    for (int i = 0; node && i < node->n_out; i++)
        out[i] = node->out[i];
    if (!node || n->failed)
        return false;
    if (!over_constants(n->im, node) || !is_cheap(n->im, node))
        return true;
    t = GLOW_NEW_ARRAY(n->im->arena, glow_tensor, node->n_out);
    if (!evaluate_all(n, node, t))
        return false;
    for (int i = 0; i < node->n_out; i++)
        out[i] = import_constant_of(n, &t[i]);
    glow_node_erase(node);
    return true;
}

const glow_type *
import_type(import_node *n, glow_kind kind, glow_dims shape)
{
    glow_type t = glow_type_of(kind, shape);
    const char *wrong = glow_type_check(&t, n->im->arena);

    if (wrong) {
        import_refuse(n, "E0711", "the result would be impossible: %s", wrong);
        t = glow_type_of(GLOW_FLOAT, (glow_dims){0});
    }
    return glow_type_get(n->im->ctx, t);
}

/* Layout. */

glow_value *
import_transpose(import_node *n, glow_value *v, glow_dims shuffle)
{
    bool moves = false;

    for (int i = 0; i < shuffle.rank; i++)
        moves |= shuffle.at[i] != i;
    if (n->failed || !v || !moves)
        return v;
    return BUILD(n, transpose, GLOW_IN(v), .shuffle = shuffle);
}

glow_value *
import_reshape(import_node *n, glow_value *v, glow_dims shape)
{
    if (n->failed || !v || glow_dims_equal(v->type->shape, shape))
        return v;
    return BUILD(n, reshape, GLOW_IN(v), .dims = shape);
}

glow_value *
import_to_nhwc(import_node *n, glow_value *v)
{
    int rank = v ? v->type->shape.rank : 0;
    glow_dims p = {.rank = rank};

    for (int i = 1; i < rank - 1; i++)
        p.at[i] = i + 1;
    if (rank > 1)
        p.at[rank - 1] = 1;
    return import_transpose(n, v, p);
}

glow_value *
import_to_nchw(import_node *n, glow_value *v)
{
    int rank = v ? v->type->shape.rank : 0;
    glow_dims p = {.rank = rank};

    for (int i = 2; i < rank; i++)
        p.at[i] = i - 1;
    if (rank > 1)
        p.at[1] = rank - 1;
    return import_transpose(n, v, p);
}

glow_value *
import_cut(import_node *n, glow_value *v, int axis, int64_t start, int64_t size)
{
    if (n->failed || !v)
        return NULL;

    glow_dims shape = v->type->shape;
    glow_dims from = {.rank = shape.rank};

    if (start == 0 && size == shape.at[axis])
        return v;
    shape.at[axis] = size;
    from.at[axis] = start;
    return BUILD_STATED(n, slice, import_type(n, v->type->elem, shape),
                        GLOW_IN(v), .start = from);
}

glow_value *
import_convert(import_node *n, glow_value *v, glow_kind kind)
{
    if (n->failed || !v || v->type->elem == kind)
        return v;
    return import_build(n, &glow_op_convertto,
                        import_type(n, kind, v->type->shape), GLOW_IN(v), NULL);
}

/* Constants. */

glow_value *
import_constant_of(import_node *n, glow_tensor *t)
{
    const glow_loc *loc = glow_loc_model(n->im->module, n->im->dialect->loc,
                                         n->im->file, n->name);

    return &constant_named(n, n->name, loc, t)->value;
}

glow_value *
import_constant_ints(import_node *n, glow_dims shape, const int64_t *at)
{
    glow_tensor t = glow_tensor_new(import_type(n, GLOW_INDEX64, shape));

    memcpy(t.data, at, (size_t)glow_type_bytes(t.type));
    return import_constant_of(n, &t);
}

glow_value *
import_constant_splat(import_node *n, glow_kind kind, glow_dims shape, double v,
                      int64_t exact)
{
    glow_storage *s =
        glow_constant_splat(n->im->module, import_storage_name(n->im, n->name),
                            import_type(n, kind, shape), v);

    s->loc = glow_loc_model(n->im->module, n->im->dialect->loc, n->im->file,
                            n->name);
    if (glow_is_int(kind) || (glow_is_low(kind) && !glow_is_real(kind)))
        s->splat_int = exact;
    return &s->value;
}

glow_value *
import_splat(import_node *n, glow_kind kind, glow_dims shape, double v)
{
    bool fits = glow_is_float(kind) && (double)(float)v == v;

    if (n->failed)
        return NULL;
    if (!fits || glow_dims_count(shape) <= 1)
        return import_constant_splat(n, kind, shape, v, (int64_t)v);
    return import_build(n, &glow_op_splat, import_type(n, kind, shape), NULL, 0,
                        &(const glow_splat){.value = (float)v});
}

/* Broadcasting. */

glow_dims
import_broadcast_shape(import_node *n, glow_dims a, glow_dims b)
{
    glow_dims y = a.rank > b.rank ? a : b;

    for (int i = 0; i < y.rank; i++) {
        int at_a = i - (y.rank - a.rank), at_b = i - (y.rank - b.rank);
        int64_t x = at_a < 0 ? 1 : a.at[at_a];
        int64_t z = at_b < 0 ? 1 : b.at[at_b];

        if (x != z && x != 1 && z != 1) {
            glow_buf text = {.arena = n->im->arena};

            glow_buf_dims(&text, a);
            glow_buf_puts(&text, " and ");
            glow_buf_dims(&text, b);
            import_refuse(n, "E0711", "shapes %s cannot be broadcast together",
                          text.text);
        }
        y.at[i] = x == 1 ? z : x;
    }
    return y;
}

glow_value *
import_broadcast(import_node *n, glow_value *v, glow_dims shape)
{
    if (n->failed || !v || glow_dims_equal(v->type->shape, shape))
        return v;

    glow_dims from = v->type->shape;

    if (from.rank > shape.rank ||
        !glow_dims_equal(import_broadcast_shape(n, from, shape), shape)) {
        import_refuse(n, "E0711",
                      "a shape of rank %d cannot become one of "
                      "rank %d by broadcasting",
                      from.rank, shape.rank);
        return NULL;
    }
    /* A splat needs no memory. */
    if (glow_dims_count(from) == 1 && glow_is_constant(v) &&
        !import_is_weight(n->im, v) && glow_is_float(v->type->elem)) {
        const glow_tensor *t = glow_constant_tensor(v->storage);

        if (t)
            return import_splat(n, v->type->elem, shape, glow_get_double(t, 0));
    }
    return BUILD(n, broadcast, GLOW_IN(v), .axis = shape.rank - from.rank,
                 .target_dim = shape);
}

glow_value *
import_binary(import_node *n, const glow_op *op, glow_value *a, glow_value *b)
{
    if (n->failed || !a || !b)
        return NULL;
    if (a->type->elem != b->type->elem) {
        import_refuse(n, "E0711", "the operands are %s and %s",
                      glow_kind_get(a->type->elem)->name,
                      glow_kind_get(b->type->elem)->name);
        return NULL;
    }

    glow_dims y = import_broadcast_shape(n, a->type->shape, b->type->shape);

    a = import_broadcast(n, a, y);
    b = import_broadcast(n, b, y);
    return import_build(n, op, NULL, GLOW_IN(a, b), NULL);
}

glow_value *
import_binary_number(import_node *n, const glow_op *op, glow_value *a, double b)
{
    if (n->failed || !a)
        return NULL;
    return import_binary(n, op, a,
                         import_splat(n, a->type->elem, a->type->shape, b));
}

glow_value *
import_scale(import_node *n, glow_value *v, float by)
{
    return by == 1 ? v : import_binary_number(n, &glow_op_mul, v, (double)by);
}
