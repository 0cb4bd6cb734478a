/*
 * parallel: table of operators that can be combined.
 *
 * The columns of a product depend on the columns of its right operand alone,
 * and its rows on the rows of the left one.  In the same way the channels of a
 * convolution with one group depend on the filters, and its batches on those of
 * Input.  The table has for each operator the shared operands and the axis
 * along which the others are concatenated.  Attributes, shared operands, and
 * the types of the others except for that axis must be equal.
 */

#include <string.h>

#include "glow/ops.h"
#include "passes/graph/common/parallel.h"

enum { SHARED = PARALLEL_SHARED, LAST = PARALLEL_LAST };

static bool
has_rows(const glow_node *n)
{
    return ((const glow_fullyconnected *)n->attrs)->axis > 0;
}

static bool
is_one_group(const glow_node *n)
{
    return ((const glow_convolution *)n->attrs)->group == 1;
}

static bool
keeps_a(const glow_node *n)
{
    return !((const glow_gemm *)n->attrs)->transpose_a;
}

static bool
turns_a(const glow_node *n)
{
    return ((const glow_gemm *)n->attrs)->transpose_a;
}

static bool
keeps_b(const glow_node *n)
{
    return !((const glow_gemm *)n->attrs)->transpose_b;
}

static bool
turns_b(const glow_node *n)
{
    return ((const glow_gemm *)n->attrs)->transpose_b;
}

static const parallel_rule rules[] = {
    {&glow_op_matmul, {0, SHARED}, 0, NULL},
    {&glow_op_matmul, {SHARED, 1}, 1, NULL},
    {&glow_op_batchmatmul, {1, SHARED}, 1, NULL},
    {&glow_op_batchmatmul, {SHARED, 2}, 2, NULL},
    {&glow_op_fullyconnected, {0, SHARED, SHARED}, 0, has_rows},
    {&glow_op_fullyconnected, {SHARED, 1, 0}, 1, NULL},
    {&glow_op_gemm, {0, SHARED, 0}, 0, keeps_a},
    {&glow_op_gemm, {1, SHARED, 0}, 0, turns_a},
    {&glow_op_gemm, {SHARED, 1, 1}, 1, keeps_b},
    {&glow_op_gemm, {SHARED, 0, 1}, 1, turns_b},
    {&glow_op_convolution, {0, SHARED, SHARED}, 0, NULL},
    {&glow_op_convolution, {SHARED, 0, 0}, LAST, is_one_group},
};

#define N_RULES (sizeof rules / sizeof rules[0])

const parallel_rule *
glow_parallel_next_rule(const parallel_rule *r, const glow_node *n)
{
    if (n->pred)
        return NULL;
    for (r = r ? r + 1 : rules; r < rules + N_RULES; r++)
        if (r->op == n->op && (!r->fits || r->fits(n)))
            return r;
    return NULL;
}

int
glow_parallel_axis(const parallel_rule *r, const glow_node *n)
{
    return r->out == LAST ? n->out[0]->type->shape.rank - 1 : r->out;
}

/* A hash of a value that does not depend on addresses. */
static uint64_t
number_of(const glow_value *v)
{
    if (v->def)
        return (uint64_t)v->def->id * GLOW_MAX_RESULTS + (uint64_t)v->index;
    return glow_hash(v->storage->name, strlen(v->storage->name), 1);
}

/* `t` without its size along `axis`. */
static glow_type
common(const glow_type *t, int axis)
{
    glow_type c = *t;

    c.shape.at[axis] = 0;
    return c;
}

static uint64_t
hash_type(glow_type t, uint64_t seed)
{
    int64_t facts[GLOW_MAX_RANK + 2] = {(int64_t)t.elem, t.shape.rank};

    for (int i = 0; i < t.shape.rank; i++)
        facts[i + 2] = t.shape.at[i];
    return glow_hash(facts, sizeof facts, seed);
}

uint64_t
glow_parallel_key(const parallel_rule *r, const glow_node *n)
{
    uint64_t h = (uint64_t)(r - rules);

    h = glow_attrs_hash(glow_op_schema(n->op), n->attrs, h);
    for (int i = 0; i < n->n_in; i++) {
        uint64_t given = n->in[i] != NULL;

        h = glow_hash(&given, sizeof given, h);
        if (n->in[i] && r->axis[i] == SHARED) {
            uint64_t number = number_of(n->in[i]);

            h = glow_hash(&number, sizeof number, h);
        } else if (n->in[i]) {
            h = hash_type(common(n->in[i]->type, r->axis[i]), h);
        }
    }
    return h;
}

bool
glow_parallel_alike(const parallel_rule *r, const glow_node *x,
                    const glow_node *y)
{
    glow_type a = common(x->out[0]->type, glow_parallel_axis(r, x));
    glow_type c = common(y->out[0]->type, glow_parallel_axis(r, y));

    if (x->op != y->op ||
        !glow_attrs_equal(glow_op_schema(x->op), x->attrs, y->attrs) ||
        !glow_type_equal(&a, &c))
        return false;
    for (int i = 0; i < x->n_in; i++) {
        if (r->axis[i] == SHARED || !x->in[i] || !y->in[i]) {
            if (x->in[i] != y->in[i])
                return false;
            continue;
        }
        a = common(x->in[i]->type, r->axis[i]);
        c = common(y->in[i]->type, r->axis[i]);
        if (a.strides.rank || c.strides.rank || !glow_type_equal(&a, &c))
            return false;
    }
    return true;
}
