/* What every definition of an operator must hold. */

#include "unit.h"

#include "glow/pass.h"

#include <stdio.h>

/* Says of which operator something is not so. */
#define CHECK(op, what)                                    \
    do {                                                   \
        if (!(what))                                       \
            fail_msg("%s: not so: %s", (op)->name, #what); \
    } while (0)

static bool
is_text(const char *text)
{
    return text && *text && text[0] != ' ';
}

static void
check_tables(const glow_op *op)
{
    glow_schema s = glow_op_schema(op);

    for (int i = 0; i < glow_op_operands(op); i++)
        CHECK(op, is_text(op->in[i].name) && is_text(op->in[i].doc));
    for (int i = 0; i < glow_op_results(op); i++) {
        CHECK(op, is_text(op->out[i].name) && is_text(op->out[i].doc));
        CHECK(op, op->out[i].kind == GLOW_TENSOR || glow_op_any_results(op));
    }
    for (int i = 0; i < glow_schema_count(s); i++) {
        CHECK(op, is_text(s.fields[i].doc));
        CHECK(op, !s.fields[i].has_default || s.defaults);
        CHECK(op, s.fields[i].kind != GLOW_ENUM || s.fields[i].words);
    }
    for (int i = 0; i < op->inplace_count; i++) {
        CHECK(op, op->inplace[i].out < glow_op_results(op));
        CHECK(op, op->inplace[i].in < glow_op_operands(op));
    }
}

static void
check_traits(const glow_op *op)
{
    int t = op->traits;

    if (t & (GLOW_STRUCTURAL | GLOW_PROGRAM_ONLY))
        return;
    CHECK(op, t & GLOW_PURE);
    CHECK(op, op->eval);
    CHECK(op, glow_op_results(op) > 0);
    CHECK(op, !(t & GLOW_COMMUTATIVE) || glow_op_operands(op) == 2);
    CHECK(op, !(t & GLOW_ELEMENTWISE) || glow_op_results(op) == 1);
}

static void
test_definitions(void **state)
{
    glow_context *ctx = glow_context_new();
    size_t count;
    const glow_op *const *ops = glow_all_ops(ctx, &count);

    (void)state;
    assert_true(count >= 70);
    for (size_t i = 0; i < count; i++) {
        CHECK(ops[i], is_text(ops[i]->summary) && is_text(ops[i]->source));
        CHECK(ops[i], ops[i]->infer);
        check_tables(ops[i]);
        check_traits(ops[i]);
    }
    glow_context_free(ctx);
}

/* True for a rule that lowers quantized elements of a primitive operator. */
static bool
is_of_quantized(const glow_pass *p)
{
    return p->takes_quantized && p->lowers->traits & GLOW_PRIMITIVE;
}

static bool
has_rule(glow_context *ctx, const glow_op *op)
{
    size_t count;
    const glow_pass *const *passes = glow_all_passes(ctx, &count);

    for (size_t i = 0; i < count; i++)
        if (passes[i]->lowers == op && !is_of_quantized(passes[i]))
            return true;
    return false;
}

/* What no backend need have, some pass lowers; and nothing else. */
static void
test_rules(void **state)
{
    glow_context *ctx = glow_context_new();
    size_t count;
    const glow_op *const *ops = glow_all_ops(ctx, &count);

    (void)state;
    for (size_t i = 0; i < count; i++)
        if (!(ops[i]->traits & (GLOW_STRUCTURAL | GLOW_PROGRAM_ONLY))) {
            bool is_primitive = ops[i]->traits & GLOW_PRIMITIVE;

            CHECK(ops[i], is_primitive != has_rule(ctx, ops[i]));
        }
    glow_context_free(ctx);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
