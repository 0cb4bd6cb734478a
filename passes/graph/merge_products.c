/*
 * merge-products: one product instead of a sum of products of parts.
 *
 *     %x = Concat([%x0, %x1, %x2]) {Dim: 0}
 *     %y = Concat([%y0, %y1, %y2]) {Dim: 0}
 *     %p0 = MatMul(Transpose(%x0), %y0)
 *     %p1 = MatMul(Transpose(%x1), %y1)       %p = MatMul(Transpose(%x), %y)
 *     %p2 = MatMul(Transpose(%x2), %y2)   =>
 *     %s1 = Add(%p0, %p1)
 *     %s2 = Add(%s1, %p2)
 *
 * The operands are parts of two Concats along the axis that the products sum over,
 * and stand there in the same order.  Parts that follow each other but are not all
 * of the Concat are a Slice of it.  Other terms of the sum stay.
 *
 * Such sums are the gradients of weights that each step of an unrolled recurrent
 * network reads: x has the states of all steps, which the layer returns, and y the
 * gradients of all gates, which the weights of the inputs need.  One product over
 * all steps has the same operations; the results of the steps, each as large as the
 * weights, are not written, added and kept, and neither are operands of a step
 * apart from the Concats.  The order of roundings changes.
 *
 * Neither Concat may depend on the sum: a walk over operands for each sum, at most
 * MOST_WALKS.  The Concats exist already and no product is made that was not there,
 * so each rewrite leaves fewer nodes.
 */

#include "glow/match.h"
#include "glow/number.h"
#include "glow/ops.h"
#include "glow/pass.h"

/* Sums that are searched, and users of an operand. */
enum { MOST_WALKS = 32, LOOKS = 1000 };

/* Operand `index` of a Concat, for an operand of a product. */
typedef struct part {
    glow_node *concat;
    uint32_t number; /* of the Concat in the function */
    int index;
    bool turned; /* there is a Transpose between */
} part;

/* A term of a sum. */
typedef struct term {
    glow_value *value;
    part side[2]; /* of a product of two parts; else without a Concat */
    int place;    /* in the sum */
} term;

typedef struct merger {
    glow_pass_run *run;
    glow_arena *arena;
    glow_func *func;
    glow_builder *builder;
    glow_numbering numbers;
    glow_numbering seen; /* the walk that came to a node last */
    uint32_t walks;
    glow_node **stack;
    size_t cap_stack;
    term *terms;
    size_t count, cap;
} merger;

/* Parts. */

/* The Concat along `axis` with the most operands that `v` is one of. */
static part
find_part(const merger *m, const glow_value *v, int axis)
{
    part best = {0};
    int looks = LOOKS;

    GLOW_FOR_EACH_USE(u, v) {
        glow_node *n = u->user;
        const glow_concat *c = GLOW_AS(concat, n);

        if (looks-- == 0)
            break;
        if (!c || c->dim != axis || n->pred || n->func != m->func)
            continue;

        part p = {n, glow_number_of(&m->numbers, n), u->index, false};

        if (p.number != GLOW_UNNUMBERED &&
            (!best.concat || n->n_in > best.concat->n_in ||
             (n->n_in == best.concat->n_in &&
              (p.number < best.number ||
               (p.number == best.number && p.index < best.index)))))
            best = p;
    }
    return best;
}

/* Operand `k` of a product as a part along the axis that is summed over. */
static part
part_of(const merger *m, const glow_node *product, int k)
{
    glow_value *v = product->in[k];
    const glow_node *turn = glow_def(v, &glow_op_transpose);
    part p = find_part(m, v, 1 - k);

    if (!p.concat && turn) {
        p = find_part(m, turn->in[0], k);
        p.turned = true;
    }
    return p;
}

static term
term_of(const merger *m, glow_value *v, int place)
{
    const glow_node *product = glow_only_def(v, &glow_op_matmul);
    term t = {.value = v, .place = place};

    if (!product || product->out[0]->type->shape.rank != 2)
        return t;
    for (int k = 0; k < 2; k++)
        t.side[k] = part_of(m, product, k);
    if (!t.side[0].concat || !t.side[1].concat)
        t.side[0].concat = t.side[1].concat = NULL;
    return t;
}

/* Sums. */

/* The Add of which `v` is a partial sum that nothing else reads, or NULL. */
static glow_node *
partial(const glow_value *v, const glow_node *sum)
{
    glow_node *add = glow_only_def(v, &glow_op_add);

    return add && add->out[0]->type == sum->out[0]->type ? add : NULL;
}

/* True if `n` is an Add whose result is no partial sum of another. */
static bool
is_sum(const glow_node *n)
{
    const glow_value *v = glow_is(n, &glow_op_add) ? n->out[0] : NULL;

    if (!v || n->pred || !v->uses || !glow_is_float(v->type->elem))
        return false;
    return !glow_has_one_use(v) || !glow_is(v->uses->user, &glow_op_add) ||
           v->uses->user->pred || v->uses->user->out[0]->type != v->type;
}

static void
push(merger *m, size_t *count, glow_node *n)
{
    m->stack = glow_arena_grow(m->arena, m->stack, *count, &m->cap_stack,
                               sizeof(glow_node *));
    m->stack[(*count)++] = n;
}

static void
add_term(merger *m, glow_value *v)
{
    m->terms = glow_arena_grow(m->arena, m->terms, m->count, &m->cap,
                               sizeof *m->terms);
    m->terms[m->count] = term_of(m, v, -(int)m->count);
    m->count++;
}

/* Collects the terms of the sum. */
static void
collect(merger *m, glow_node *sum)
{
    size_t count = 0;

    m->count = 0;
    push(m, &count, sum);
    while (count > 0) {
        glow_node *n = m->stack[--count];

        for (int k = 0; k < 2; k++) {
            glow_node *inner = partial(n->in[k], sum);

            if (inner)
                push(m, &count, inner);
            else
                add_term(m, n->in[k]);
        }
    }
}

/* Runs. */

static int
compare(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

/* Terms of the same Concats come together, in the order of their parts. */
static int
by_parts(const void *a, const void *b)
{
    const term *x = a, *y = b;
    int c = compare(!x->side[0].concat, !y->side[0].concat);

    for (int k = 0; k < 2 && c == 0 && x->side[0].concat; k++) {
        c = compare(x->side[k].number, y->side[k].number);
        c = c ? c : compare(x->side[k].turned, y->side[k].turned);
    }
    if (c == 0 && x->side[0].concat) {
        c = compare(x->side[0].index - x->side[1].index,
                    y->side[0].index - y->side[1].index);
        c = c ? c : compare(x->side[0].index, y->side[0].index);
    }
    return c ? c : compare(x->place, y->place);
}

static bool
follows(const term *x, const term *y)
{
    for (int k = 0; k < 2; k++)
        if (!x->side[k].concat || x->side[k].concat != y->side[k].concat ||
            x->side[k].turned != y->side[k].turned ||
            y->side[k].index != x->side[k].index + 1)
            return false;
    return true;
}

/* The number of terms from `t` on whose parts follow each other. */
static size_t
run_of(const merger *m, const term *t)
{
    size_t count = 1;

    while (t + count < m->terms + m->count && follows(&t[count - 1], &t[count]))
        count++;
    return count;
}

/* True if the node depends on `sum`. */
static bool
depends_on(merger *m, glow_node *n, const glow_node *sum)
{
    size_t count = 0;
    uint32_t walk = m->walks++;

    push(m, &count, n);
    while (count > 0) {
        n = m->stack[--count];
        if (n == sum)
            return true;
        if (glow_number_of(&m->seen, n) == walk)
            continue;
        glow_number_set(&m->seen, n, walk);
        if (n->pred && n->pred->def)
            push(m, &count, n->pred->def);
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] && n->in[k]->def)
                push(m, &count, n->in[k]->def);
    }
    return false;
}

/* Rewriting. */

/* The parts `p` and the `count - 1` after it, turned as the product takes them. */
static glow_value *
build_side(glow_builder *b, const part *p, size_t count)
{
    const glow_node *concat = p->concat;
    const glow_concat *c = concat->attrs;
    glow_value *v = concat->out[0];
    glow_type type = *v->type;
    glow_slice s = {.start.rank = type.shape.rank};

    type.shape.at[c->dim] = 0;
    for (int i = 0; i < p->index + (int)count; i++)
        if (i < p->index)
            s.start.at[c->dim] += concat->in[i]->type->shape.at[c->dim];
        else
            type.shape.at[c->dim] += concat->in[i]->type->shape.at[c->dim];
    if ((int)count < concat->n_in)
        v = glow_build(b, &glow_op_slice,
                       glow_type_get(glow_builder_context(b), type), GLOW_IN(v),
                       &s);
    if (p->turned)
        v = GLOW_BUILD(b, transpose, GLOW_IN(v), .shuffle = {2, {1, 0}});
    return v;
}

/* Puts one product in the place of `count` terms; the first keeps its place. */
static bool
merge(merger *m, term *t, size_t count)
{
    glow_value *side[2], *product;

    for (int k = 0; k < 2; k++)
        side[k] = build_side(m->builder, &t->side[k], count);
    product = GLOW_BUILD_PLAIN(m->builder, matmul, GLOW_IN(side[0], side[1]));
    if (!product)
        return false;
    for (size_t i = 1; i < count; i++) {
        if (t[i].place < t->place)
            t->place = t[i].place;
        t[i].value = NULL;
    }
    t->value = product;
    return true;
}

static int
by_place(const void *a, const void *b)
{
    const term *x = a, *y = b;

    return compare(x->place, y->place);
}

/* Adds up what is left of the terms. */
static glow_value *
add_up(merger *m)
{
    glow_value *sum = NULL;

    glow_sort(m->terms, m->count, sizeof *m->terms, by_place);
    for (size_t i = 0; i < m->count; i++)
        if (m->terms[i].value)
            sum = sum ? GLOW_BUILD_PLAIN(m->builder, add,
                                         GLOW_IN(sum, m->terms[i].value))
                      : m->terms[i].value;
    return sum;
}

/* Merges each run; the number of products that are gone, or -1. */
static int
merge_runs(merger *m, const glow_node *sum)
{
    int gone = 0;

    for (size_t i = 0, count; i < m->count; i += count) {
        term *t = &m->terms[i];

        count = run_of(m, t);
        if (count < 2 || m->walks + 2 > MOST_WALKS ||
            depends_on(m, t->side[0].concat, sum) ||
            depends_on(m, t->side[1].concat, sum) ||
            !glow_run_may_rewrite(m->run))
            continue;
        glow_run_remark(m->run, sum, true,
                        "%zu products of parts of %%%s and %%%s are one", count,
                        t->side[0].concat->name, t->side[1].concat->name);
        if (!merge(m, t, count))
            return -1;
        gone += (int)count - 1;
    }
    return gone;
}

static glow_result
merge_sum(merger *m, glow_node *sum)
{
    const char *name = sum->name;
    glow_value *v;
    int gone;

    collect(m, sum);
    glow_sort(m->terms, m->count, sizeof *m->terms, by_parts);
    glow_builder_at(m->builder, sum);
    gone = merge_runs(m, sum);
    if (gone <= 0)
        return gone < 0 ? GLOW_FAILED : GLOW_UNCHANGED;
    v = add_up(m);
    if (!v)
        return GLOW_FAILED;
    glow_replace_uses(sum->out[0], v);
    glow_node_erase(sum);
    glow_node_rename(v->def, name);
    glow_run_count(m->run, "products merged", gone);
    return GLOW_CHANGED;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_arena *a = glow_run_scratch(pass);
    glow_result result = GLOW_UNCHANGED;

    if (f->scheduled || !glow_func_may_have(f, &glow_op_matmul) ||
        !glow_func_may_have(f, &glow_op_concat))
        return GLOW_UNCHANGED;

    merger m = {.run = pass,
                .arena = a,
                .func = f,
                .builder = glow_builder_new(a, f, glow_run_pass(pass)->name),
                .numbers = glow_number_nodes(a, f),
                .seen = glow_numbering_new(a, f)};
    glow_node **sums = GLOW_NEW_ARRAY(a, glow_node *, f->count);
    size_t count = 0;

    GLOW_FOR_EACH_NODE(n, f)
        if (is_sum(n))
            sums[count++] = n;
    for (size_t i = 0; i < count; i++) {
        glow_result one = merge_sum(&m, sums[i]);

        if (one == GLOW_FAILED)
            return one;
        result = one == GLOW_CHANGED ? one : result;
    }
    return result;
}

const glow_pass glow_pass_merge_products = {
    .name = "merge-products",
    .summary = "one product instead of a sum of products of parts",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .source = "gradients of recurrent weights in cuDNN (Appleyard et al., "
              "arXiv:1604.01946)",
};
