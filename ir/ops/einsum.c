/* Einsum: sums of products over labelled axes (Einstein summation). */

#include <string.h>

#include "ir/ops/common.h"

#define LETTERS 52

/* The label of a letter: capitals first, as they sort. */
static int
label_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

/* The parser of equations. */

typedef struct reader {
    const glow_node *n;
    glow_einsum_plan *p;
    const char *at;
    int dots; /* the most axes that an ellipsis stands for */
    int count[GLOW_EINSUM_LABELS]; /* occurrences in operands */
} reader;

/*
 * Reads one term, up to `,`, `-` or the end: its labels, with -1 for an
 * ellipsis.  Returns their number, or -1 after a report.
 */
static int
read_term(reader *r, int out[GLOW_MAX_RANK + 1])
{
    int count = 0;
    bool dots = false;

    for (; *r->at && *r->at != ',' && *r->at != '-'; r->at++) {
        int label = label_of(*r->at);

        if (*r->at == ' ')
            continue;
        if (label < 0 && (dots || strncmp(r->at, "...", 3) != 0)) {
            glow_reject(r->n, "Equation has '%c' where none can be", *r->at);
            return -1;
        }
        if (count > GLOW_MAX_RANK) {
            glow_reject(r->n, "a term of Equation has over %d axes",
                        GLOW_MAX_RANK);
            return -1;
        }
        if (label < 0) {
            dots = true;
            r->at += 2;
        }
        out[count++] = label;
    }
    return count;
}

/* Sets the size of a label; an axis of one element is broadcast. */
static bool
take_size(reader *r, int label, int64_t size)
{
    int64_t *has = &r->p->size[label];

    r->count[label]++;
    if (*has < 0 || *has == 1)
        *has = size;
    if (size == 1 || size == *has)
        return true;
    return glow_reject(r->n,
                       "an axis that Equation names twice has %" PRId64
                       " elements here and %" PRId64 " there",
                       *has, size);
}

/*
 * Reads the labels of operand i.  Labels of an ellipsis are numbered from its
 * last axis back, so that shorter ellipses are aligned at the right.
 */
static bool
read_operand(reader *r, int i)
{
    glow_dims s = r->n->in[i]->type->shape;
    int term[GLOW_MAX_RANK + 1], count = read_term(r, term), axis = 0, dots;

    if (count < 0)
        return false;
    dots = s.rank - count;
    for (int k = 0; k < count; k++) {
        if (term[k] >= 0)
            continue;
        dots++;
        r->dots = dots > r->dots ? dots : r->dots;
    }
    for (int k = 0; k < count; k++) {
        int wide = term[k] >= 0 ? 1 : dots;

        for (int j = 0; j < wide && axis < s.rank; j++, axis++) {
            int label = term[k] >= 0 ? term[k] : LETTERS + wide - 1 - j;

            r->p->label[i][axis] = label;
            if (!take_size(r, label, s.at[axis]))
                return false;
        }
    }
    r->p->rank[i] = s.rank;
    if (dots < 0 || axis != s.rank || (dots > 0 && r->dots == 0))
        return glow_reject(r->n,
                           "operand %d is of rank %d, but Equation gives it "
                           "%d axes",
                           i, s.rank, count);
    return true;
}

static bool
add_output(reader *r, int label)
{
    glow_einsum_plan *p = r->p;

    for (int i = 0; i < p->out_rank; i++)
        if (p->out[i] == label)
            return glow_reject(r->n, "the result of Equation names an axis "
                                     "twice");
    if (p->size[label] < 0)
        return glow_reject(r->n, "the result of Equation names an axis that "
                                 "no operand has");
    if (p->out_rank == GLOW_MAX_RANK)
        return glow_reject(r->n, "the result has over %d axes", GLOW_MAX_RANK);
    p->out[p->out_rank++] = label;
    return true;
}

static bool
add_dots(reader *r)
{
    for (int k = r->dots; k-- > 0;)
        if (!add_output(r, LETTERS + k))
            return false;
    return true;
}

/*
 * Reads the labels of the result; without an arrow, the labels that occur once,
 * in alphabetical order.
 */
static bool
read_result(reader *r)
{
    int term[GLOW_MAX_RANK + 1], count;

    if (!*r->at) {
        if (!add_dots(r))
            return false;
        for (int k = 0; k < LETTERS; k++)
            if (r->count[k] == 1 && !add_output(r, k))
                return false;
        return true;
    }
    if (strncmp(r->at, "->", 2) != 0)
        return glow_reject(r->n, "Equation has '%c' where none can be", *r->at);
    r->at += 2;
    count = read_term(r, term);
    if (count >= 0 && *r->at)
        return glow_reject(r->n, "Equation has '%c' where none can be", *r->at);
    for (int k = 0; k < count; k++)
        if (term[k] < 0 ? !add_dots(r) : !add_output(r, term[k]))
            return false;
    return count >= 0;
}

bool
glow_einsum_read(const glow_node *n, glow_einsum_plan *p)
{
    const glow_einsum *a = n->attrs;
    reader r = {.n = n, .p = p, .at = a->equation};

    *p = (glow_einsum_plan){.n_in = n->n_in};
    for (int k = 0; k < GLOW_EINSUM_LABELS; k++)
        p->size[k] = -1;
    if (n->n_in < 1 || n->n_in > GLOW_EINSUM_OPERANDS)
        return glow_reject(n, "there are %d Inputs, but must be 1 to %d",
                           n->n_in, GLOW_EINSUM_OPERANDS);
    for (int i = 0; i < n->n_in; i++) {
        if (i > 0 && *r.at++ != ',')
            return glow_reject(n, "Equation has fewer terms than the %d Inputs",
                               n->n_in);
        if (!read_operand(&r, i))
            return false;
    }
    if (*r.at == ',')
        return glow_reject(n, "Equation has more terms than the %d Inputs",
                           n->n_in);
    return read_result(&r);
}

static bool
einsum_infer(const glow_node *n, glow_type out[])
{
    glow_einsum_plan p;
    glow_dims y = {0};

    for (int i = 0; i < n->n_in; i++)
        if (!glow_admit(n, i, GLOW_ANY_NUMBER) || !glow_check_kinds(n, i, 0))
            return false;
    if (!glow_einsum_read(n, &p))
        return false;
    for (int k = 0; k < p.out_rank; k++)
        y.at[y.rank++] = p.size[p.out[k]];
    return glow_give(n, glow_reshaped(n->in[0]->type, y), &out[0]);
}

/* eval */

typedef struct sums {
    const glow_einsum_plan *p;
    glow_tensor *const *in;
    int count, label[GLOW_EINSUM_LABELS]; /* results' first, then summed ones */
    int64_t step[GLOW_EINSUM_OPERANDS][GLOW_EINSUM_LABELS]; /* by label */
    int64_t at[GLOW_EINSUM_OPERANDS];
    int64_t index[GLOW_EINSUM_LABELS]; /* by label */
} sums;

static void
start(sums *s)
{
    const glow_einsum_plan *p = s->p;
    bool seen[GLOW_EINSUM_LABELS] = {false};

    for (int k = 0; k < p->out_rank; k++) {
        s->label[s->count++] = p->out[k];
        seen[p->out[k]] = true;
    }
    for (int k = 0; k < GLOW_EINSUM_LABELS; k++)
        if (p->size[k] >= 0 && !seen[k])
            s->label[s->count++] = k;
    for (int i = 0; i < p->n_in; i++) {
        glow_dims shape = s->in[i]->type->shape;
        glow_dims step = glow_dims_strides(shape);

        for (int k = 0; k < p->rank[i]; k++)
            if (shape.at[k] > 1)
                s->step[i][p->label[i][k]] += step.at[k];
    }
}

/* Advances the index of labels first, ..., last - 1; false after the last. */
static bool
next(sums *s, int first, int last)
{
    for (int k = last; k-- > first;) {
        int label = s->label[k];
        bool more = ++s->index[label] < s->p->size[label];
        int64_t by = more ? 1 : 1 - s->index[label];

        if (!more)
            s->index[label] = 0;
        for (int i = 0; i < s->p->n_in; i++)
            s->at[i] += by * s->step[i][label];
        if (more)
            return true;
    }
    return false;
}

static bool
einsum_eval(const glow_node *n, glow_tensor *const in[],
            glow_tensor *const out[], glow_arena *scratch)
{
    glow_einsum_plan p;
    sums *s = GLOW_NEW(scratch, sums);
    int64_t count = glow_tensor_count(out[0]), at = 0;
    bool is_float = glow_tensor_is_float(out[0]), empty = false;

    if (!glow_einsum_read(n, &p))
        return false;
    s->p = &p;
    s->in = in;
    start(s);
    for (int k = 0; k < s->count; k++)
        empty |= p.size[s->label[k]] == 0;
    for (int64_t i = 0; empty && i < count; i++)
        glow_set_int(out[0], i, 0);
    if (empty)
        return true;
    do {
        double real = 0;
        uint64_t whole = 0;

        do {
            double x = 1;
            uint64_t y = 1;

            for (int i = 0; i < p.n_in && is_float; i++)
                x *= glow_get_double(in[i], s->at[i]);
            for (int i = 0; i < p.n_in && !is_float; i++)
                y *= (uint64_t)glow_get_int(in[i], s->at[i]);
            real += x;
            whole += y;
        } while (next(s, p.out_rank, s->count));
        if (is_float)
            glow_set_double(out[0], at++, real);
        else
            glow_set_int(out[0], at++, (int64_t)whole);
    } while (next(s, 0, p.out_rank));
    return true;
}

const glow_op glow_op_einsum = {
    .name = "Einsum",
    .summary = "sums of products, as an equation says",
    .in = {{"Inputs", GLOW_VARIADIC, "floats or integers, of one kind"}},
    .out = {{"Result", GLOW_TENSOR, "of the kind of Inputs"}},
    .attrs = {GLOW_FIELD(glow_einsum, equation, GLOW_STRING,
                         "`bij,bjk->bik`: a letter for each axis of each "
                         "operand, and of the result")},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = einsum_infer,
    .eval = einsum_eval,
    .doc = "An axis of the same letter runs through all operands that have it, "
           "twice in one is its diagonal; what the result does not name is "
           "summed.  `...` stands for any number of axes, aligned at the "
           "right.  Axes of one element are repeated.  Without `->` the result "
           "has the axes of `...` and then the letters that occur once, "
           "capitals first, in the order of the alphabet.  Integers wrap.",
    .source = "Einstein, Die Grundlage der allgemeinen Relativitätstheorie, "
              "1916; numpy.einsum; ONNX Einsum",
};
