/*
 * Every rule of every registered pass: read, and held to what it says.
 *
 * The left side is built on random operands, of each element kind that its
 * operators take; where the rule fires, both sides are evaluated on random
 * numbers, on small integers and, if the rule is exact, on special values.
 */

#include "unit.h"

#include "glow/eval.h"
#include "glow/file.h"
#include "glow/ops.h"
#include "glow/pipeline.h"
#include "glow/text.h"
#include "passes/rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_INPUTS 8
#define TRIES 64

static const glow_dims shape = {.rank = 2, .at = {3, 3}};

static const double numbers[] = {0,    -0.0, 1,  -1,  2,    0.5, -3,
                                 0.25, 4,    -2, 0.1, -0.5, 6,   100};

/* One left side, built on operands of its own. */
typedef struct trial {
    glow_context *ctx;
    glow_module *m;
    glow_builder *b;
    glow_arena *arena;
    glow_kind kind;
    unsigned is_bool; /* a bit for each letter, and one for numbers */
    unsigned random;
    glow_value *value[26];
    double number[26];
    bool has_number[26];
    glow_storage *inputs[MOST_INPUTS];
    int n_inputs;
} trial;

static unsigned
draw(trial *t)
{
    t->random = t->random * 1664525u + 1013904223u;
    return t->random >> 8;
}

static double
number_of(trial *t, int letter)
{
    size_t count = sizeof numbers / sizeof numbers[0];

    if (!t->has_number[letter])
        t->number[letter] = numbers[draw(t) % count];
    t->has_number[letter] = true;
    return t->number[letter];
}

static const glow_type *
type_of(trial *t, int bit)
{
    glow_kind kind = t->is_bool >> bit & 1 ? GLOW_BOOL : t->kind;

    return glow_type_get(t->ctx, glow_type_of(kind, shape));
}

static glow_value *
build_letter(trial *t, const term *x)
{
    const glow_type *type = type_of(t, x->letter);
    glow_value **v = &t->value[x->letter];

    if (*v)
        return *v;
    if (x->kind == TERM_SCALAR) {
        *v = glow_build_splat(t->b, "k", type, number_of(t, x->letter));
    } else if (x->kind == TERM_CONSTANT) {
        *v = glow_build_constant(t->b, "c", type);
        glow_tensor_fill(&(*v)->storage->tensor, GLOW_FILL_SMALL, draw(t));
    } else {
        char name[2] = {(char)('a' + x->letter), 0};
        glow_storage *s = glow_placeholder_new(t->m, name, type);

        *v = &s->value;
        t->inputs[t->n_inputs++] = s;
    }
    return *v;
}

static void
set_number(const glow_field *f, void *attrs, double v)
{
    char *at = (char *)attrs + f->at;

    if (f->kind == GLOW_FLOAT32)
        *(float *)(void *)at = (float)v;
    else if (f->kind == GLOW_INT64)
        *(int64_t *)(void *)at = (int64_t)v;
    else if (f->kind == GLOW_FLAG)
        *(bool *)(void *)at = v != 0;
    else
        *(int *)(void *)at = (int)v;
}

static glow_value *
build_term(trial *t, const term *x)
{
    glow_value *in[RULE_OPERANDS];
    glow_schema s;
    char attrs[256] = {0};

    if (x->kind == TERM_NUMBER)
        return glow_build_splat(t->b, "number", type_of(t, 26), x->number);
    if (x->kind != TERM_NODE)
        return build_letter(t, x);
    s = glow_op_schema(x->op);
    for (int i = 0; i < x->n_in; i++)
        in[i] = build_term(t, x->in[i]);
    if (glow_schema_count(s) > 0 && s.defaults)
        memcpy(attrs, s.defaults, glow_schema_size(s));
    for (int i = 0; i < x->n_attrs; i++)
        set_number(x->attrs[i].field, attrs,
                   x->attrs[i].letter < 0
                       ? x->attrs[i].number
                       : (double)(float)number_of(t, x->attrs[i].letter));
    return glow_build(t->b, x->op, NULL, in, x->n_in,
                      glow_schema_count(s) > 0 ? attrs : NULL);
}

static void
trial_start(trial *t, glow_context *ctx, glow_kind kind, unsigned is_bool,
            unsigned seed)
{
    *t = (trial){.ctx = ctx,
                 .m = glow_module_new(ctx),
                 .arena = glow_arena_new(),
                 .kind = kind,
                 .is_bool = is_bool,
                 .random = seed};
    t->b = glow_builder_new(t->arena, glow_func_new(t->m, "main"), NULL);
}

static void
trial_end(trial *t)
{
    glow_module_free(t->m);
    glow_arena_free(t->arena);
}

/* Comparing. */

static bool
is_close(const glow_rule *r, const glow_tensor *a, const glow_tensor *b)
{
    double most = 0, eps = glow_kind_get(a->type->elem)->epsilon;
    int64_t count = glow_type_count(a->type);

    for (int64_t i = 0; i < count; i++)
        if (isfinite(glow_get_double(a, i)))
            most = fmax(most, fabs(glow_get_double(a, i)));
    for (int64_t i = 0; i < count; i++) {
        double x = glow_get_double(a, i), y = glow_get_double(b, i);
        bool same = isnan(x) ? isnan(y) : x == y && !signbit(x) == !signbit(y);

        if (!glow_is_float(a->type->elem))
            same = glow_get_int(a, i) == glow_get_int(b, i);
        if (!same && (!r->inexact || !(fabs(x - y) <= 64 * eps * most)))
            return false;
    }
    return true;
}

static glow_storage *
save(trial *t, const char *name, glow_value *v)
{
    glow_storage *s = glow_placeholder_new(t->m, name, v->type);
    glow_value *in[] = {v, &s->value};

    glow_builder_named(t->b, name, NULL);
    glow_build_node(t->b, &glow_op_save, NULL, 0, in, 2, NULL);
    return s;
}

/* Both sides give the same on operands filled `how`; true if they ran. */
static bool
compare(trial *t, const glow_rule *r, glow_storage *before, glow_storage *after,
        glow_fill how)
{
    glow_tensor tensors[MOST_INPUTS + 2];
    glow_binding bindings[MOST_INPUTS + 2];
    int n = 0;
    bool ok;

    for (int i = 0; i < t->n_inputs + 2; i++, n++) {
        glow_storage *s = i < t->n_inputs    ? t->inputs[i]
                          : i == t->n_inputs ? before
                                             : after;

        tensors[n] = glow_tensor_new(s->value.type);
        if (i < t->n_inputs)
            glow_tensor_fill(&tensors[n], how, draw(t));
        bindings[n] = (glow_binding){s, &tensors[n]};
    }
    ok = glow_eval(t->m->funcs, bindings, n, NULL);
    if (ok && !is_close(r, &tensors[n - 2], &tensors[n - 1])) {
        for (int64_t i = 0; i < 9; i++)
            print_message("# %.9g %.9g\n", glow_get_double(&tensors[n - 2], i),
                          glow_get_double(&tensors[n - 1], i));
        fail_msg("'%s' to '%s' changes the meaning for %s", r->from, r->to,
                 glow_kind_get(t->kind)->name);
    }
    for (int i = 0; i < n; i++)
        glow_tensor_end(&tensors[i]);
    return ok;
}

/* The whole pass comes to rest on both sides, and finds nothing more then. */
static void
settle(trial *t, const glow_pass *p, const glow_rule *r)
{
    glow_buf text[2] = {{.arena = t->arena}, {.arena = t->arena}};

    for (int i = 0; i < 2; i++) {
        const glow_source *s =
            glow_source_from(t->ctx, "rules", p->name, strlen(p->name));
        glow_pipeline *pipeline = glow_pipeline_parse(t->ctx, t->arena, s);

        assert_non_null(pipeline);
        if (!glow_pipeline_run(pipeline, t->m, NULL))
            fail_msg("%s does not end after '%s'", p->name, r->from);
        glow_print(&text[i], t->m, NULL);
    }
    if (strcmp(text[0].text, text[1].text) != 0)
        fail_msg("%s finds more after '%s':\n%s\n%s", p->name, r->from,
                 text[0].text, text[1].text);
}

enum { NOT_BUILT, NOT_FIRED, FIRED };

static int
try_rule(trial *t, const glow_pass *p, const rule *r, const term *left)
{
    glow_value *before = build_term(t, left), *after;
    glow_storage *stored[2];
    glow_match m;

    if (!before || glow_builder_failed(t->b))
        return NOT_BUILT;
    if (!before->def || !glow_rule_matches(r, before->def, &m))
        return NOT_FIRED;
    after = glow_rule_build(r, t->b, &m);
    if (glow_builder_failed(t->b))
        fail_msg("'%s' to '%s' builds what is refused for %s", r->from->from,
                 r->from->to, glow_kind_get(t->kind)->name);
    if (!after)
        return NOT_FIRED; /* the type would be another */
    stored[0] = save(t, "before", before);
    stored[1] = save(t, "after", after);
    assert_true(glow_verify(t->m));

    bool ran = compare(t, r->from, stored[0], stored[1], GLOW_FILL_RANDOM);

    ran |= compare(t, r->from, stored[0], stored[1], GLOW_FILL_SMALL);
    if (!r->from->inexact)
        ran |= compare(t, r->from, stored[0], stored[1], GLOW_FILL_SPECIAL);
    settle(t, p, r->from);
    return ran ? FIRED : NOT_FIRED;
}

static uint32_t
letters_of(const term *t)
{
    uint32_t letters = 0;

    if (t->kind == TERM_NUMBER)
        return UINT32_C(1) << 26;
    if (t->kind != TERM_NODE)
        return UINT32_C(1) << t->letter;
    for (int i = 0; i < t->n_in; i++)
        letters |= letters_of(t->in[i]);
    return letters;
}

static bool
has_scalar(const term *t)
{
    bool has = t->kind == TERM_SCALAR || t->n_attrs > 0;

    for (int i = 0; i < t->n_in; i++)
        has |= has_scalar(t->in[i]);
    return has;
}

/* Tries a rule on `kind`, with any of its operands being bool. */
static bool
fires_on(glow_context *ctx, const glow_pass *p, const rule *r, const term *left,
         glow_kind kind)
{
    uint32_t letters = letters_of(left), bools = 0;
    int tries = has_scalar(left) ? TRIES : 2;
    bool fired = false;

    do {
        for (int i = 0; i < tries; i++) {
            trial t;
            int result;

            trial_start(&t, ctx, kind, bools, 77 * (unsigned)i + 1);
            result = try_rule(&t, p, r, left);
            trial_end(&t);
            fired |= result == FIRED;
            if (result == NOT_BUILT)
                break;
        }
        bools = (bools - letters) & letters; /* the next subset */
    } while (bools != 0);
    return fired;
}

static void
check_rule(glow_context *ctx, const glow_pass *p, const rule *r)
{
    const glow_rule *from = r->from;
    const term *left =
        from->example ? glow_rule_read(ctx, from->example, NULL) : r->left;
    int classes = 0;

    assert_non_null(left);
    if (from->inexact && p->preserves == GLOW_EXACT)
        fail_msg("'%s' is inexact, but %s is not", from->from, p->name);
    for (glow_kind k = GLOW_FLOAT; k < GLOW_KIND_COUNT; k++) {
        const glow_kind_info *info = glow_kind_get(k);

        if (!(info->klass &
              (GLOW_CLASS_QUANTIZED | GLOW_CLASS_FUSED | GLOW_CLASS_LOW)) &&
            fires_on(ctx, p, r, left, k))
            classes |= (int)info->klass;
    }
    if (classes == 0 || (from->kinds & ~classes))
        fail_msg("%s: '%s' to '%s' never fired for a kind that it is for",
                 p->name, from->from, from->to);
}

static void
be_quiet(const glow_diag *d, void *user)
{
    char *said = user;

    snprintf(said, 256, "%s %s", d->id, d->message);
}

static void
test_all(void **state)
{
    char said[256] = "";
    glow_context *ctx = glow_context_new();
    size_t n;
    const glow_pass *const *passes = glow_all_passes(ctx, &n);
    int rules = 0;

    (void)state;
    glow_context_set_sink(ctx, be_quiet, said);
    for (size_t i = 0; i < n; i++) {
        const rule_set *s;

        if (!passes[i]->rules)
            continue;
        s = glow_rules_of(ctx, passes[i]);
        if (!s)
            fail_msg("%s", said);
        for (int k = 0; k < s->count; k++, rules++)
            check_rule(ctx, passes[i], &s->rules[k]);
    }
    assert_true(rules > 0);
    glow_context_free(ctx);
}

/* What the reader refuses, and how. */
static void
test_wrong(void **state)
{
    static const struct {
        glow_rule rule;
        const char *says;
    } wrong[] = {
        {GLOW_RULE("(Gulp x)", "x"), "no operator has this name"},
        {GLOW_RULE("(Add x)", "x"), "the operator has more or less operands"},
        {GLOW_RULE("(Relu x y)", "x"),
         "the operator has more or less operands"},
        {GLOW_RULE("(Relu x", "x"), "a number, a letter or `(` was expected"},
        {GLOW_RULE("(Relu x) y", "x"), "something stands behind the term"},
        {GLOW_RULE("x", "x"), "the left side is no operator"},
        {GLOW_RULE("(Relu x)", "y"),
         "the right side has a letter that the left one has not"},
        {GLOW_RULE("(Relu x)", "(Abs x)"),
         "the right side is not smaller, and nothing says why it ends"},
        {GLOW_RULE("(Clip{Low 0} x)", "x"),
         "the operator has no such number as attribute"},
        {GLOW_RULE("(Clip{Min x} y)", "y"),
         "the letter of an attribute stands for a value"},
        {GLOW_RULE("(Clip{Min 0 x)", "x"), "`}` was expected"},
        {GLOW_RULE("(Relu (Relu x))", "(Clip{Min 0} x)"),
         "the right side leaves out an attribute that has no default"},
        {GLOW_RULE("(Relu (Relu x))", "(ConvertTo x)"),
         "the right side has an operator whose type must be stated"},
        {GLOW_RULE("(Relu x)", "x", .where = "x is nice"),
         "not exactly both of when and where"},
        {GLOW_RULE("(Relu y)", "y", .kinds = GLOW_CLASS_INT),
         "kinds are those of x, which the left side has not"},
    };
    char said[256];
    glow_context *ctx = glow_context_new();

    (void)state;
    glow_context_set_sink(ctx, be_quiet, said);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const glow_rule rules[2] = {wrong[i].rule};
        const glow_pass pass = {.name = "faulty", .rules = rules};

        assert_null(glow_rules_of(ctx, &pass));
        if (strncmp(said, "E0410", 5) != 0 || !strstr(said, wrong[i].says))
            fail_msg("says '%s', but should say '%s'", said, wrong[i].says);
    }
    glow_context_free(ctx);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
