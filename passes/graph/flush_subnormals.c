/*
 * flush-subnormals: set subnormal weights of sums to zero.
 *
 *     constant @w : float<2 x 3> = [0.5, 1e-40, 0.25, -3e-41, 1e-42, 0.0]
 *     %y = MatMul(@x, @w)                    =>   [0.5, 0.0, 0.25, -0.0, 0.0, 0.0]
 *
 * Processors multiply subnormal numbers with a microcode assist, which on many
 * takes as long as a hundred products of normal numbers.  Training with weight
 * decay, or pruning, leaves many subnormal weights.
 *
 * The greatest weight must be at least 2^-80.  Flushed weights are less than
 * 2^-126, so that 2^22 of them change a sum by less than 2^-24 of the product
 * of the greatest weight and the greatest input: by a rounding.  If all weights
 * are smaller they stay, since they may be scaled up later.  This applies to
 * float and bfloat16; subnormal float16 numbers are as large as 6e-5, and are
 * normal as floats.
 *
 * Other users of the constant keep the original.  Afterwards no weights of
 * convolutions, products and recurrent networks are subnormal, unless all are
 * tiny.
 */

#include <math.h>
#include <string.h>

#include "glow/build.h"
#include "glow/ops.h"
#include "glow/pass.h"

/* Bit patterns without sign: of the least normal number, and of 2^-80. */
typedef struct format {
    uint32_t normal, enough;
} format;

static const format floats = {0x00800000, 0x17800000};
static const format bfloats = {0x0080, 0x1780};

/* Elements per block: loops of constant length are vectorized. */
enum { BLOCK = 512 };

typedef struct census {
    uint32_t greatest;
    int64_t subnormal;
} census;

/* Operators that sum products, and their weight operands. */
static const struct row {
    const glow_op *op;
    unsigned operands; /* bit i: operand i */
} rows[] = {
    {&glow_op_batchmatmul, 3},   {&glow_op_convolution, 2},
    {&glow_op_convtranspose, 2}, {&glow_op_fullyconnected, 2},
    {&glow_op_gemm, 3},          {&glow_op_gru, 6},
    {&glow_op_lstm, 6},          {&glow_op_matmul, 3},
    {&glow_op_rnn, 6},
};

static bool
is_weight(const glow_use *u)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].op == u->user->op)
            return u->index >= 0 && (rows[i].operands >> u->index & 1);
    return false;
}

static void
count_floats(const uint32_t *x, int64_t count, census *c)
{
    uint32_t greatest = 0, subnormal = 0;

    for (int64_t i = 0; i < count; i++) {
        uint32_t v = x[i] & 0x7fffffff;

        greatest = v > greatest ? v : greatest;
        subnormal += v - 1 < floats.normal - 1;
    }
    c->greatest = greatest > c->greatest ? greatest : c->greatest;
    c->subnormal += subnormal;
}

static void
count_bfloats(const uint16_t *x, int64_t count, census *c)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t v = x[i] & 0x7fffu;

        c->greatest = v > c->greatest ? v : c->greatest;
        c->subnormal += v - 1 < bfloats.normal - 1;
    }
}

/* The number of weights to flush. */
static int64_t
count_subnormals(const glow_tensor *t)
{
    bool is_float = t->type->elem == GLOW_FLOAT;
    int64_t count = glow_type_count(t->type), i = 0;
    census c = {0};

    if (is_float) {
        const uint32_t *x = t->data;

        for (; count - i >= BLOCK; i += BLOCK)
            count_floats(x + i, BLOCK, &c);
        count_floats(x + i, count - i, &c);
    } else {
        count_bfloats(t->data, count, &c);
    }
    return c.greatest >= (is_float ? floats : bfloats).enough ? c.subnormal : 0;
}

/* Copies the numbers, and zeros of the same sign for the subnormal ones. */
static void
flush(const glow_tensor *from, const glow_tensor *to)
{
    int64_t count = glow_type_count(from->type);

    if (from->type->elem == GLOW_FLOAT) {
        const uint32_t *x = from->data;
        uint32_t *y = to->data;

        for (int64_t i = 0; i < count; i++)
            y[i] =
                (x[i] & 0x7fffffff) < floats.normal ? x[i] & 0x80000000 : x[i];
    } else {
        const uint16_t *x = from->data;
        uint16_t *y = to->data;

        for (int64_t i = 0; i < count; i++)
            y[i] = (x[i] & 0x7fff) < bfloats.normal ? x[i] & 0x8000 : x[i];
    }
}

/* A use of `s` as weights in `f`, or NULL. */
static const glow_use *
weight_use(const glow_storage *s, const glow_func *f)
{
    GLOW_FOR_EACH_USE(u, &s->value)
        if (u->user->func == f && is_weight(u))
            return u;
    return NULL;
}

/* The elements of constant `s` if they may have to be flushed, else NULL. */
static const glow_tensor *
weights_of(glow_storage *s, const glow_func *f)
{
    glow_kind kind = s->value.type->elem;

    if (!s->is_constant || s->payload == GLOW_SPLAT ||
        (kind != GLOW_FLOAT && kind != GLOW_BFLOAT16) ||
        s->value.type->strides.rank || !weight_use(s, f))
        return NULL;
    return glow_constant_tensor(s);
}

static void
replace(glow_builder *b, glow_storage *s, const glow_tensor *t)
{
    const glow_func *f = glow_builder_func(b);
    glow_value *v;

    glow_builder_named(b, s->name, s->loc);
    v = glow_build_constant(b, "flushed", s->value.type);
    flush(t, &v->storage->tensor);
    for (glow_use *u = s->value.uses, *next; u; u = next) {
        next = u->next;
        if (u->user->func == f && is_weight(u))
            glow_set_operand(u->user, u->index, v);
    }
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_builder *b =
        glow_builder_new(glow_run_scratch(pass), f, glow_run_pass(pass)->name);
    glow_result result = GLOW_UNCHANGED;

    GLOW_FOR_EACH_STORAGE(s, f->module) {
        const glow_tensor *t = weights_of(s, f);
        int64_t count = t ? count_subnormals(t) : 0;

        if (!count || !glow_run_may_rewrite(pass))
            continue;
        glow_run_remark(pass, weight_use(s, f)->user, true,
                        "%lld of %lld weights are subnormal, and now 0",
                        (long long)count, (long long)glow_type_count(t->type));
        replace(b, s, t);
        result = GLOW_CHANGED;
    }
    return result;
}

const glow_pass glow_pass_flush_subnormals = {
    .name = "flush-subnormals",
    .summary = "set subnormal weights of sums to zero",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
};
