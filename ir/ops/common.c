#include "ir/ops/common.h"

#include "glow/quantize.h"

#include <math.h>
#include <string.h>

/* No tensor is larger; glow_type_check says the same. */
#define MOST_BYTES (INT64_C(1) << 47)

/* Checks */

static const char *
operand_name(const glow_node *n, int i)
{
    return n->op->in[glow_operand_of(n, i)].name;
}

static const char *
class_words(int classes)
{
    static const struct {
        int classes;
        const char *words;
    } table[] = {
        {GLOW_ANY_FLOAT, "float"},
        {GLOW_ANY_INT, "integer"},
        {GLOW_ANY_BOOL, "bool"},
        {GLOW_ANY_NUMBER, "float and integer"},
        {GLOW_ANY_PLAIN, "float, integer and bool"},
        {GLOW_ANY_NUMERIC, "float, integer, bool and low-precision"},
        {GLOW_ANY_UNFUSED, "element-wise (not fused)"},
        {GLOW_CLASS_QUANTIZED, "quantized"},
        {GLOW_ANY_FLOAT | GLOW_CLASS_QUANTIZED, "float and quantized"},
        {GLOW_ANY_NUMBER | GLOW_CLASS_QUANTIZED,
         "float, integer and quantized"},
        {GLOW_ANY_PLAIN | GLOW_CLASS_QUANTIZED,
         "float, integer, bool and quantized"},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].classes == classes)
            return table[i].words;
    return "other";
}

bool
glow_admit(const glow_node *n, int i, int classes)
{
    const glow_kind_info *kind = glow_kind_get(n->in[i]->type->elem);

    if ((int)kind->klass & classes)
        return true;
    return glow_reject(n,
                       "the elements of %s are %s, but only %s kinds are taken",
                       operand_name(n, i), kind->name, class_words(classes));
}

bool
glow_check_rank(const glow_node *n, int i, int rank)
{
    int has = n->in[i]->type->shape.rank;

    return has == rank || glow_reject(n, "the rank of %s is %d, but must be %d",
                                      operand_name(n, i), has, rank);
}

bool
glow_check_rank_from(const glow_node *n, int i, int rank)
{
    int has = n->in[i]->type->shape.rank;

    return has >= rank ||
           glow_reject(n, "the rank of %s is %d, but must be at least %d",
                       operand_name(n, i), has, rank);
}

/* Rejects shape `has` of operand `i`. */
static bool
reject_shape(const glow_node *n, int i, glow_dims has, glow_dims want,
             const char *why)
{
    glow_buf a = {0}, b = {0};

    glow_buf_dims(&a, has);
    glow_buf_dims(&b, want);
    glow_reject(n, "the shape of %s is <%s>, but %s is <%s>",
                operand_name(n, i), a.text ? a.text : "", why,
                b.text ? b.text : "");
    glow_buf_free(&a);
    glow_buf_free(&b);
    return false;
}

bool
glow_check_shape(const glow_node *n, int i, glow_dims shape, const char *why)
{
    glow_dims has = n->in[i]->type->shape;

    return glow_dims_equal(has, shape) || reject_shape(n, i, has, shape, why);
}

bool
glow_check_shapes(const glow_node *n, int i, int j)
{
    char why[64] = "that of ";

    strncat(why, operand_name(n, j), sizeof(why) - sizeof("that of "));
    return glow_check_shape(n, i, n->in[j]->type->shape, why);
}

bool
glow_check_kinds(const glow_node *n, int i, int j)
{
    const glow_type *x = n->in[i]->type, *y = n->in[j]->type;

    if (x->elem != y->elem)
        return glow_reject(n,
                           "the elements of %s are %s, but those of %s are %s",
                           operand_name(n, i), glow_kind_get(x->elem)->name,
                           operand_name(n, j), glow_kind_get(y->elem)->name);
    if (x->scale != y->scale || x->offset != y->offset)
        return glow_reject(n,
                           "scale and offset of %s are %g and %d, but those of "
                           "%s are %g and %d",
                           operand_name(n, i), (double)x->scale, (int)x->offset,
                           operand_name(n, j), (double)y->scale,
                           (int)y->offset);
    return true;
}

bool
glow_check_types(const glow_node *n, int i, int j)
{
    return glow_check_kinds(n, i, j) && glow_check_shapes(n, i, j);
}

bool
glow_check_axis(const glow_node *n, const char *name, int64_t axis, int i)
{
    int rank = n->in[i]->type->shape.rank;

    return (axis >= 0 && axis < rank) ||
           glow_reject(n, "%s is %" PRId64 ", but the rank of %s is %d", name,
                       axis, operand_name(n, i), rank);
}

bool
glow_check_stated(const glow_node *n, const glow_type *stated)
{
    return stated->elem != GLOW_NO_KIND ||
           glow_reject(n, "the type of %s must be stated, but is not",
                       n->op->out[0].name);
}

bool
glow_give(const glow_node *n, glow_type y, glow_type *out)
{
    int64_t count, bytes;

    if (!glow_dims_checked_count(y.shape, &count) ||
        glow_mul_overflow(count, glow_kind_get(y.elem)->bytes, &bytes) ||
        bytes > MOST_BYTES) {
        glow_buf b = {0};

        glow_buf_dims(&b, y.shape);
        glow_reject(n,
                    "a result of <%s> is larger than the 2^47 bytes that a "
                    "tensor can have",
                    b.text ? b.text : "");
        glow_buf_free(&b);
        return false;
    }
    *out = y;
    return true;
}

bool
glow_admit_real(const glow_node *n, int i, int classes)
{
    return glow_admit(
        n, i,
        classes & GLOW_CLASS_FLOAT ? classes | GLOW_CLASS_QUANTIZED : classes);
}

bool
glow_takes_quantized(const glow_node *n)
{
    return n->in[0] && glow_is_quantized(n->in[0]->type->elem);
}

bool
glow_give_real(const glow_node *n, glow_dims shape, glow_type *out)
{
    return glow_takes_quantized(n)
               ? glow_give_quantized(n, shape, out)
               : glow_give(n, glow_reshaped(n->in[0]->type, shape), out);
}

bool
glow_give_quantized(const glow_node *n, glow_dims shape, glow_type *out)
{
    if (!glow_check_stated(n, out))
        return false;
    if (!glow_is_quantized(out->elem))
        return glow_reject(n,
                           "the elements of %s are %s, but must be quantized, "
                           "as those of the operands are",
                           n->op->out[0].name, glow_kind_get(out->elem)->name);
    return glow_give(n, glow_reshaped(out, shape), out);
}

/* Types */

glow_type
glow_dense(const glow_type *x)
{
    glow_type y = *x;

    y.strides = (glow_dims){0};
    return y;
}

glow_type
glow_reshaped(const glow_type *x, glow_dims shape)
{
    glow_type y = glow_dense(x);

    y.shape = shape;
    return y;
}

glow_type
glow_rekinded(const glow_type *x, glow_kind kind)
{
    return glow_type_of(kind, x->shape);
}

int64_t
glow_multiply_adds(const glow_value *v, int64_t terms)
{
    int64_t flops;

    if (glow_mul_overflow(glow_type_count(v->type), terms, &flops) ||
        glow_mul_overflow(flops, 2, &flops))
        return INT64_MAX;
    return flops;
}

/* Elements */

void
glow_load(const glow_tensor *t, int64_t first, int64_t count, double *v)
{
    if (t->type->elem == GLOW_FLOAT) {
        const float *x = (const float *)t->data + first;

        for (int64_t i = 0; i < count; i++)
            v[i] = (double)x[i];
    } else if (t->type->elem == GLOW_FLOAT64) {
        memcpy(v, (const double *)t->data + first,
               (size_t)count * sizeof(double));
    } else if (glow_is_quantized(t->type->elem)) {
        for (int64_t i = 0; i < count; i++)
            v[i] = glow_dequantize(t->type, glow_get_int(t, first + i));
    } else {
        for (int64_t i = 0; i < count; i++)
            v[i] = glow_get_double(t, first + i);
    }
}

void
glow_store(const glow_tensor *t, int64_t first, int64_t count, const double *v)
{
    if (t->type->elem == GLOW_FLOAT) {
        float *y = (float *)t->data + first;

        for (int64_t i = 0; i < count; i++)
            y[i] = (float)v[i];
    } else if (t->type->elem == GLOW_FLOAT64) {
        memcpy((double *)t->data + first, v, (size_t)count * sizeof(double));
    } else if (glow_is_quantized(t->type->elem)) {
        for (int64_t i = 0; i < count; i++)
            glow_set_int(t, first + i, glow_quantize(t->type, v[i]));
    } else {
        for (int64_t i = 0; i < count; i++)
            glow_set_double(t, first + i, v[i]);
    }
}

double *
glow_load_all(const glow_tensor *t, glow_arena *scratch)
{
    int64_t count = glow_tensor_count(t);
    double *v = GLOW_NEW_ARRAY(scratch, double, count);

    glow_load(t, 0, count, v);
    return v;
}

int64_t
glow_tensor_count(const glow_tensor *t)
{
    return glow_type_count(t->type);
}

bool
glow_tensor_is_float(const glow_tensor *t)
{
    return glow_is_float(t->type->elem);
}

bool
glow_tensor_is_real(const glow_tensor *t)
{
    return glow_tensor_is_float(t) || glow_is_quantized(t->type->elem);
}

bool
glow_tensor_is_signed(const glow_tensor *t)
{
    return glow_kind_get(t->type->elem)->is_signed;
}

/* `t` as a tensor of float64 with the reals of its elements; integers stay. */
static glow_tensor *
real_copy(glow_tensor *t, glow_arena *scratch)
{
    glow_tensor *copy;
    glow_type *type;

    if (!t || !glow_tensor_is_real(t))
        return t;
    type = GLOW_NEW(scratch, glow_type);
    *type = glow_rekinded(t->type, GLOW_FLOAT64);
    copy = GLOW_NEW(scratch, glow_tensor);
    *copy = (glow_tensor){.type = type, .data = glow_load_all(t, scratch)};
    return copy;
}

void
glow_set_mean(const glow_tensor *out, int64_t i, const glow_type *from,
              double sum, double count)
{
    const glow_type *to = out->type;
    double ratio = (double)from->scale / ((double)to->scale * count);

    if (!glow_is_quantized(from->elem))
        glow_set_double(out, i, sum / count);
    else if (glow_quantized_values(from->elem) &&
             glow_quantized_values(to->elem))
        glow_set_int(
            out, i,
            glow_quantized_round(to, (double)((float)sum * (float)ratio)));
    else
        glow_set_int(out, i, glow_quantized_round(to, sum * ratio));
}

static bool
has_quantized(glow_tensor *const t[], int count)
{
    for (int i = 0; i < count; i++)
        if (t[i] && glow_is_quantized(t[i]->type->elem))
            return true;
    return false;
}

bool
glow_eval_reals(const glow_node *n, glow_tensor *const in[],
                glow_tensor *const out[], glow_arena *scratch,
                glow_eval_fn eval)
{
    glow_tensor **from, **to;

    if (!has_quantized(in, n->n_in) && !has_quantized(out, n->n_out))
        return eval(n, in, out, scratch);
    from = GLOW_NEW_ARRAY(scratch, glow_tensor *, n->n_in);
    to = GLOW_NEW_ARRAY(scratch, glow_tensor *, n->n_out);
    for (int i = 0; i < n->n_in; i++)
        from[i] = real_copy(in[i], scratch);
    for (int i = 0; i < n->n_out; i++)
        to[i] = real_copy(out[i], scratch);
    if (!eval(n, from, to, scratch))
        return false;
    for (int i = 0; i < n->n_out; i++)
        if (to[i] != out[i])
            glow_store(out[i], 0, glow_tensor_count(out[i]), to[i]->data);
    return true;
}

double
glow_real_as(const glow_type *t, double v)
{
    uint64_t bits = 0;
    glow_tensor one = {.type = t, .data = &bits};

    if (glow_is_quantized(t->elem))
        return v;
    glow_set_double(&one, 0, v);
    return glow_get_double(&one, 0);
}

int64_t
glow_int_as(const glow_type *t, double v)
{
    uint64_t bits = 0;
    glow_tensor one = {.type = t, .data = &bits};

    glow_set_double(&one, 0, v);
    return glow_get_int(&one, 0);
}

double
glow_maximum(double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    if (a == b)
        return signbit(a) ? b : a;
    return a > b ? a : b;
}

double
glow_minimum(double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    if (a == b)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}

bool
glow_beats(double a, double b)
{
    return a > b || (isnan(a) && !isnan(b));
}

bool
glow_loses(double a, double b)
{
    return a < b || (isnan(a) && !isnan(b));
}

bool
glow_int_less(int64_t a, int64_t b, bool is_signed)
{
    return is_signed ? a < b : (uint64_t)a < (uint64_t)b;
}

/* Blocks */

typedef struct block {
    glow_dims shape, to_step, from_step;
} block;

/*
 * Drops axes of one element, and merges neighbouring axes that are contiguous
 * in both tensors.
 */
static block
simplify(glow_dims shape, glow_dims to_step, glow_dims from_step)
{
    block b = {0};
    int r = 0;

    for (int i = 0; i < shape.rank; i++) {
        if (shape.at[i] == 1)
            continue;
        if (r > 0 && b.to_step.at[r - 1] == shape.at[i] * to_step.at[i] &&
            b.from_step.at[r - 1] == shape.at[i] * from_step.at[i]) {
            b.shape.at[r - 1] *= shape.at[i];
            r--;
        } else {
            b.shape.at[r] = shape.at[i];
        }
        b.to_step.at[r] = to_step.at[i];
        b.from_step.at[r] = from_step.at[i];
        r++;
    }
    b.shape.rank = b.to_step.rank = b.from_step.rank = r;
    return b;
}

#define COPY_ROW(type)                                      \
    do {                                                    \
        type *y = (type *)to->data + to_at;                 \
        const type *x = (const type *)from->data + from_at; \
        for (int64_t i = 0; i < count; i++)                 \
            y[i * to_step] = x[i * from_step];              \
    } while (0)

static void
copy_row(const glow_tensor *to, int64_t to_at, int64_t to_step,
         const glow_tensor *from, int64_t from_at, int64_t from_step,
         int64_t count)
{
    int size = glow_kind_get(to->type->elem)->bytes;

    if (to_step == 1 && from_step == 1)
        memmove((char *)to->data + to_at * size,
                (const char *)from->data + from_at * size,
                (size_t)(count * size));
    else if (size == 8)
        COPY_ROW(uint64_t);
    else if (size == 4)
        COPY_ROW(uint32_t);
    else if (size == 2)
        COPY_ROW(uint16_t);
    else
        COPY_ROW(uint8_t);
}

/*
 * A 2-D transpose: rows of the result are contiguous, and so are columns of the
 * operand.
 */
typedef struct plane {
    int64_t rows, to_row, columns, from_column;
} plane;

/* Tiled transpose: squares of SQUARE x SQUARE elements stay in the cache. */
#define COPY_PLANE(type)                                                      \
    do {                                                                      \
        type *y = (type *)to->data + to_at;                                   \
        const type *x = (const type *)from->data + from_at;                   \
        for (int64_t r = 0; r < p.rows; r += SQUARE)                          \
            for (int64_t c = 0; c < p.columns; c += SQUARE)                   \
                for (int64_t i = r; i < r + SQUARE && i < p.rows; i++)        \
                    for (int64_t k = c; k < c + SQUARE && k < p.columns; k++) \
                        y[i * p.to_row + k] = x[i + k * p.from_column];       \
    } while (0)

static void
copy_plane(const glow_tensor *to, int64_t to_at, const glow_tensor *from,
           int64_t from_at, plane p)
{
    enum { SQUARE = 32 };
    int size = glow_kind_get(to->type->elem)->bytes;

    if (size == 8)
        COPY_PLANE(uint64_t);
    else if (size == 4)
        COPY_PLANE(uint32_t);
    else if (size == 2)
        COPY_PLANE(uint16_t);
    else
        COPY_PLANE(uint8_t);
}

/* The axis that is contiguous in the operand and not in the result, or -1. */
static int
turned_axis(const block *b)
{
    int inner = b->shape.rank - 1;

    if (inner < 1 || b->to_step.at[inner] != 1 || b->from_step.at[inner] == 1)
        return -1;
    for (int a = 0; a < inner; a++)
        if (b->from_step.at[a] == 1)
            return a;
    return -1;
}

void
glow_copy_block(const glow_tensor *to, int64_t to_at, glow_dims to_step,
                const glow_tensor *from, int64_t from_at, glow_dims from_step,
                glow_dims shape)
{
    block b = simplify(shape, to_step, from_step);
    int inner = b.shape.rank - 1, turned = turned_axis(&b);
    glow_dims rows = b.shape;
    int64_t count = 1, to_inner = 1, from_inner = 1;
    plane p = {0};

    if (glow_dims_count(shape) == 0)
        return;
    if (inner >= 0) {
        rows.rank = inner;
        count = b.shape.at[inner];
        to_inner = b.to_step.at[inner];
        from_inner = b.from_step.at[inner];
    }
    if (turned >= 0) {
        p = (plane){rows.at[turned], b.to_step.at[turned], count, from_inner};
        rows.at[turned] = 1;
    }
    GLOW_FOR_EACH_INDEX(i, rows) {
        int64_t t = to_at, f = from_at;

        for (int a = 0; a < i.rank; a++) {
            t += i.at[a] * b.to_step.at[a];
            f += i.at[a] * b.from_step.at[a];
        }
        if (turned >= 0)
            copy_plane(to, t, from, f, p);
        else
            copy_row(to, t, to_inner, from, f, from_inner, count);
    }
}
