/*
 * Tests of operators by tables.  A row gives operands and results as text,
 *
 *     GIVES(add, NULL, IN("float 3: 1 2 3", "float 3: 4 5 6"),
 *           OUT("float 3: 5 7 9"))
 *
 * a kind, the sizes, the elements in row-major order (the last one fills what
 * is left, so "float 2 2: 0" is all zeros).  `_` is an omitted operand.  A
 * refusal gives, instead of elements of `out`, what the message says.
 */

#ifndef GLOW_TEST_OPS_H
#define GLOW_TEST_OPS_H

#include "unit.h"

#include "glow/build.h"
#include "glow/eval.h"
#include "glow/file.h"
#include "glow/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OP_MOST_IN 8
#define OP_MOST_OUT 4

typedef struct op_case {
    const glow_op *op;
    const void *attrs;
    const char *in[OP_MOST_IN];
    const char *out[OP_MOST_OUT];
    const char *says; /* of a refusal; by infer, or by eval if `out` has data */
} op_case;

#define IN(...) {__VA_ARGS__}
#define OUT(...) {__VA_ARGS__}
#define ATTRS(opname, ...) (&(const glow_##opname){__VA_ARGS__})
#define GIVES(opname, attrs, in, out) {&glow_op_##opname, attrs, in, out, NULL}
#define REFUSES(opname, attrs, in, out, says) \
    {&glow_op_##opname, attrs, in, out, says}

typedef struct op_test {
    glow_context *ctx;
    glow_arena *arena;
    const char *bodies; /* the module that nodes stand in; NULL: empty */
    char said[512];     /* the last error */
} op_test;

static void
keep_message(const glow_diag *d, void *user)
{
    op_test *t = user;

    snprintf(t->said, sizeof(t->said), "%s %s", d->id, d->message);
}

/* Reads the type of "i8[S:0.5 O:3] 2 3: ..." and returns what is after `:`. */
static const char *
read_type(const char *text, glow_type *type)
{
    char kind[32];
    size_t n = strcspn(text, "[ :");
    float scale = 1;
    int offset = 0;
    char *end;

    snprintf(kind, sizeof(kind), "%.*s", (int)n, text);
    text += n;
    if (*text == '[') {
        assert_int_equal(sscanf(text, "[S:%f O:%d]", &scale, &offset), 2);
        text = strchr(text, ']') + 1;
    }
    *type = glow_type_of(glow_kind_named(kind), (glow_dims){0});
    assert_int_not_equal(type->elem, GLOW_NO_KIND);
    if (glow_is_quantized(type->elem)) {
        type->scale = scale;
        type->offset = offset;
    }
    while (*text && *text != ':') {
        type->shape.at[type->shape.rank++] = strtoll(text, &end, 10);
        assert_ptr_not_equal(text, end);
        text = end;
    }
    return *text ? text + 1 : text;
}

static void
read_elements(const char *text, const glow_tensor *t)
{
    double v = 0;
    int64_t v_int = 0;

    for (int64_t i = 0; i < glow_type_count(t->type); i++) {
        char *end;
        double next = strtod(text, &end);

        if (end != text) {
            v = next;
            v_int = strtoll(text, NULL, 10);
            text = end;
        }
        if (glow_is_real(t->type->elem))
            glow_set_double(t, i, v);
        else
            glow_set_int(t, i, v_int);
    }
}

/* A tensor of the text, whose kind is `as` instead of float if that is given. */
static glow_tensor
read_tensor(op_test *t, const char *text, glow_kind as, glow_type *type)
{
    glow_type made;
    const char *elements = read_type(text, type);
    glow_tensor tensor;

    made = *type;
    if (made.elem == GLOW_FLOAT && as)
        made.elem = as;
    tensor = glow_tensor_new(glow_type_get(t->ctx, made));
    read_elements(elements, &tensor);
    return tensor;
}

/* How far off a result of `kind` may be, in parts of its size. */
static double
tolerance(glow_kind kind)
{
    switch (kind) {
    case GLOW_FLOAT16:
        return 4e-3;
    case GLOW_BFLOAT16:
        return 3e-2;
    case GLOW_FLOAT64:
    case GLOW_FLOAT:
        return 1e-6;
    default:
        return 0;
    }
}

static void
compare(const op_case *c, int i, const glow_tensor *got,
        const glow_tensor *want)
{
    double most = tolerance(got->type->elem);

    for (int64_t k = 0; k < glow_type_count(want->type); k++) {
        double g = glow_get_double(got, k), w = glow_get_double(want, k);
        bool same = glow_is_real(got->type->elem)
                        ? (isnan(g) && isnan(w)) || g == w ||
                              fabs(g - w) <= most * (1 + fabs(w))
                        : glow_get_int(got, k) == glow_get_int(want, k);

        if (!same || (g == 0 && w == 0 && signbit(g) != signbit(w)))
            fail_msg("%s, %s: result %d[%lld] is %.9g, but should be %.9g",
                     c->op->name, c->in[0] ? c->in[0] : "", i, (long long)k, g,
                     w);
    }
}

/* What a row becomes: its node, its tensors. */
typedef struct op_run {
    glow_module *m;
    glow_node *n;
    glow_tensor in[OP_MOST_IN], out[OP_MOST_OUT], want[OP_MOST_OUT];
    glow_tensor *in_at[OP_MOST_IN], *out_at[OP_MOST_OUT];
    int n_in, n_out;
} op_run;

/* A module with the bodies, in which `float` means `as` if that is given. */
static glow_module *
new_module(op_test *t, glow_kind as)
{
    glow_buf text = {.arena = t->arena};
    glow_module *m;

    if (!t->bodies)
        return glow_module_new(t->ctx);
    for (const char *c = t->bodies; *c; c++)
        if (strncmp(c, "float<", 6) == 0 && as) {
            glow_buf_puts(&text, glow_kind_get(as)->name);
            c += 4;
        } else {
            glow_buf_putc(&text, *c);
        }
    m = glow_parse(
        t->ctx, glow_source_from(t->ctx, "bodies", text.text, text.len), NULL);
    if (!m)
        fail_msg("the bodies: %s", t->said);
    return m;
}

static bool
states_types(const glow_op *op, const glow_type *const *types, int count)
{
    return (op->traits & GLOW_STATED) || glow_op_any_results(op) ||
           (count && glow_is_quantized(types[0]->elem));
}

/* Builds the node; its kinds are those of the tensors unless it is a shadow. */
static void
op_run_start(op_run *r, op_test *t, const op_case *c, glow_kind as, bool shadow)
{
    *r = (op_run){.m = new_module(t, shadow ? GLOW_NO_KIND : as)};

    glow_func *f = glow_func_new(r->m, "main");
    glow_builder *b = glow_builder_new(t->arena, f, NULL);
    glow_value *in[OP_MOST_IN];
    const glow_type *stated[OP_MOST_OUT];

    for (; r->n_in < OP_MOST_IN && c->in[r->n_in]; r->n_in++) {
        int i = r->n_in;
        glow_type type;

        in[i] = NULL;
        if (strcmp(c->in[i], "_") == 0)
            continue;
        r->in[i] = read_tensor(t, c->in[i], as, &type);
        r->in_at[i] = &r->in[i];
        in[i] = &glow_placeholder_new(r->m, "x",
                                      shadow ? glow_type_get(t->ctx, type)
                                             : r->in[i].type)
                     ->value;
    }
    for (; r->n_out < OP_MOST_OUT && c->out[r->n_out]; r->n_out++) {
        int i = r->n_out;
        glow_type type;

        r->want[i] = read_tensor(t, c->out[i], as, &type);
        r->out[i] = glow_tensor_new(r->want[i].type);
        memset(r->out[i].data, 0xa5, (size_t)glow_type_bytes(r->out[i].type));
        r->out_at[i] = &r->out[i];
        stated[i] = shadow ? glow_type_get(t->ctx, type) : r->want[i].type;
    }
    r->n = glow_build_node(b, c->op, r->n_out ? stated : NULL,
                           states_types(c->op, stated, r->n_out) ? r->n_out : 0,
                           in, r->n_in, c->attrs);
}

static void
op_run_end(op_run *r)
{
    for (int i = 0; i < r->n_in; i++)
        if (r->in_at[i])
            glow_tensor_end(&r->in[i]);
    for (int i = 0; i < r->n_out; i++) {
        glow_tensor_end(&r->out[i]);
        glow_tensor_end(&r->want[i]);
    }
    glow_module_free(r->m);
}

static void
check_types(const op_test *t, const op_case *c, const op_run *r)
{
    if (!r->n)
        fail_msg("%s, %s: %s", c->op->name, c->in[0] ? c->in[0] : "", t->said);
    for (int i = 0; i < r->n_out; i++)
        if (r->n->out[i]->type != r->want[i].type)
            fail_msg("%s: result %d is %s, but should be %s", c->op->name, i,
                     glow_type_text(t->arena, r->n->out[i]->type),
                     glow_type_text(t->arena, r->want[i].type));
}

/* True if the quantized type of the result of the pair is not the operand's. */
static bool
changes_quantized(const op_case *c, const op_run *r, int pair)
{
    const glow_type *x = r->in[c->op->inplace[pair].in].type;
    const glow_type *y = r->out[c->op->inplace[pair].out].type;

    return x != y && glow_is_quantized(y->elem);
}

/* One way to run a row; `pair` < 0: no operand gives its buffer. */
static void
run_once(op_test *t, const op_case *c, glow_kind as, bool shadow, int pair)
{
    op_run r;
    glow_arena *scratch = glow_arena_new();

    op_run_start(&r, t, c, as, shadow);
    if (!shadow)
        check_types(t, c, &r);
    if (pair >= 0 && changes_quantized(c, &r, pair))
        pair = -1; /* never in place: it has another kind, scale or offset */
    if (pair >= 0) {
        int in = c->op->inplace[pair].in, out = c->op->inplace[pair].out;

        assert_int_equal(glow_type_bytes(r.in[in].type),
                         glow_type_bytes(r.out[out].type));
        r.out_at[out] = &r.in[in];
        if (r.in[in].type != r.out[out].type) { /* Reshape */
            r.out_at[out] =
                &(glow_tensor){.type = r.out[out].type, .data = r.in[in].data};
            assert_true(c->op->eval(r.n, r.in_at, r.out_at, scratch));
            compare(c, out, r.out_at[out], &r.want[out]);
            r.out_at[out] = &r.out[out];
            pair = -2;
        }
    }
    if (pair != -2) {
        assert_true(c->op->eval(r.n, r.in_at, r.out_at, scratch));
        for (int i = 0; i < r.n_out; i++)
            compare(c, i, r.out_at[i], &r.want[i]);
    }
    glow_arena_free(scratch);
    op_run_end(&r);
}

/* As it stands, in the other kinds of float, as a shadow, and in place. */
static void
check_value(op_test *t, const op_case *c)
{
    run_once(t, c, GLOW_NO_KIND, false, -1);
    run_once(t, c, GLOW_FLOAT16, false, -1);
    run_once(t, c, GLOW_BFLOAT16, false, -1);
    run_once(t, c, GLOW_FLOAT64, false, -1);
    run_once(t, c, GLOW_FLOAT64, true, -1);
    for (int i = 0; i < c->op->inplace_count; i++)
        run_once(t, c, GLOW_NO_KIND, false, i);
}

static void
check_refusal(op_test *t, const op_case *c)
{
    op_run r;
    glow_arena *scratch = glow_arena_new();

    t->said[0] = '\0';
    op_run_start(&r, t, c, GLOW_NO_KIND, false);
    if (r.n && c->op->eval(r.n, r.in_at, r.out_at, scratch))
        fail_msg("%s, %s: not refused: %s", c->op->name,
                 c->in[0] ? c->in[0] : "", c->says);
    if (strncmp(t->said, "E0203 ", 6) != 0 || !strstr(t->said, c->says))
        fail_msg("%s: says '%s', but should say '%s'", c->op->name, t->said,
                 c->says);
    glow_arena_free(scratch);
    op_run_end(&r);
}

static void
check_cases(const op_case *cases, size_t count, const char *bodies)
{
    op_test t = {
        .ctx = glow_context_new(), .arena = glow_arena_new(), .bodies = bodies};

    glow_context_set_sink(t.ctx, keep_message, &t);
    for (size_t i = 0; i < count; i++)
        if (cases[i].says)
            check_refusal(&t, &cases[i]);
        else
            check_value(&t, &cases[i]);
    glow_arena_free(t.arena);
    glow_context_free(t.ctx);
}

#define CHECK_CASES(cases) \
    check_cases((cases), sizeof(cases) / sizeof((cases)[0]), NULL)
/* Nodes that call functions of the module `bodies`, a text. */
#define CHECK_CASES_IN(bodies, cases) \
    check_cases((cases), sizeof(cases) / sizeof((cases)[0]), (bodies))

#endif
