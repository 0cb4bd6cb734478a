/* Nodes, use lists, names, order; modules and their copies. */

#include "unit.h"

#include "glow/number.h"

#include <stdlib.h>
#include <string.h>

static bool
like_first(const glow_node *n, glow_type out[])
{
    out[0] = *n->in[0]->type;
    return true;
}

static bool
no_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
        glow_arena *scratch)
{
    (void)n;
    (void)in;
    (void)out;
    (void)scratch;
    return true;
}

/* One operand, some more, one optional. */
static const glow_op op_many = {
    .name = "test.Many",
    .summary = "for this test",
    .in = {{"First", GLOW_TENSOR, ""},
           {"Rest", GLOW_VARIADIC, ""},
           {"Last", GLOW_OPTIONAL, ""}},
    .out = {{"Result", GLOW_TENSOR, ""}},
    .infer = like_first,
    .eval = no_eval,
    .source = "this test",
};

typedef struct fixture {
    glow_context *ctx;
    glow_module *m;
    glow_func *f;
    glow_value *x;
    const glow_type *type;
} fixture;

static int
setup(void **state)
{
    fixture *t = calloc(1, sizeof *t);

    t->ctx = glow_context_new();
    assert_true(glow_register_op(t->ctx, &op_many));
    t->m = glow_module_new(t->ctx);
    t->f = glow_func_new(t->m, "main");
    t->type = glow_type_get(t->ctx, glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(4)));
    t->x = &glow_placeholder_new(t->m, "x", t->type)->value;
    *state = t;
    return 0;
}

static int
teardown(void **state)
{
    fixture *t = *state;

    glow_module_free(t->m);
    glow_context_free(t->ctx);
    free(t);
    return 0;
}

/* test.Many(a, [b], _) */
static glow_node *
many(fixture *t, const char *name, glow_value *a, glow_value *b)
{
    glow_value *in[] = {a, b, NULL};

    return glow_node_new(t->f, &op_many, name, in, 3, &t->type, 1, NULL);
}

static int
uses(const glow_value *v)
{
    int n = 0;

    GLOW_FOR_EACH_USE(u, v)
        n++;
    return n;
}

static void
uses_follow_every_change(void **state)
{
    fixture *t = *state;
    glow_node *a = many(t, "a", t->x, t->x);
    glow_node *b = many(t, "b", a->out[0], a->out[0]);

    assert_int_equal(uses(t->x), 2);
    assert_int_equal(uses(a->out[0]), 2);
    glow_set_operand(b, 1, t->x);
    assert_true(glow_has_one_use(a->out[0]));
    glow_set_pred(b, a->out[0]);
    assert_int_equal(uses(a->out[0]), 2);
    glow_replace_uses(a->out[0], t->x);
    assert_true(glow_is_unused(a->out[0]));
    assert_ptr_equal(b->pred, t->x);
    assert_ptr_equal(b->in[0], t->x);
    glow_node_erase(a);
    assert_int_equal(uses(t->x), 3);
    assert_null(glow_find_node(t->f, "a"));
    assert_int_equal(t->f->count, 1);
}

static void
names_are_unique_and_numbered(void **state)
{
    fixture *t = *state;
    glow_node *a = many(t, "a", t->x, t->x), *b = many(t, "a", t->x, t->x);
    glow_node *c = many(t, NULL, t->x, t->x);

    assert_string_equal(a->name, "a");
    assert_string_equal(b->name, "a.1");
    assert_string_equal(c->name, "many");
    glow_node_erase(a);
    glow_node_rename(b, "a");
    assert_string_equal(b->name, "a");
    assert_ptr_equal(glow_find_node(t->f, "a"), b);
    assert_null(glow_find_node(t->f, "a.1"));
}

static void
order_follows_moves(void **state)
{
    fixture *t = *state;
    glow_node *a = many(t, "a", t->x, t->x), *b = many(t, "b", t->x, t->x);
    glow_node *c = many(t, "c", t->x, t->x);

    glow_node_move_before(c, a);
    assert_ptr_equal(t->f->first, c);
    glow_node_move_after(c, b);
    assert_ptr_equal(t->f->last, c);
    assert_ptr_equal(t->f->first, a);
    assert_ptr_equal(a->next, b);
    assert_ptr_equal(c->prev, b);
}

static void
operands_spread_over_the_schema(void **state)
{
    fixture *t = *state;
    glow_value *in[] = {t->x, t->x, t->x, t->x, NULL};
    glow_node *n = glow_node_new(t->f, &op_many, "n", in, 5, &t->type, 1, NULL);
    int first, count;

    glow_operand_range(n, 1, &first, &count);
    assert_int_equal(first, 1);
    assert_int_equal(count, 3);
    glow_operand_range(n, 2, &first, &count);
    assert_int_equal(first, 4);
    assert_int_equal(glow_operand_of(n, 0), 0);
    assert_int_equal(glow_operand_of(n, 3), 1);
    assert_int_equal(glow_operand_of(n, 4), 2);
}

static void
many_equal_names_stay_linear(void **state)
{
    fixture *t = *state;
    size_t before = 0, used[2];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 50000; i++)
            many(t, "n", t->x, t->x);
        used[round] = glow_arena_used(t->m->arena) - before;
        before = glow_arena_used(t->m->arena);
    }
    assert_true(used[1] < 2 * used[0]);
}

static void
a_copy_has_everything_and_shares_nothing(void **state)
{
    fixture *t = *state;
    glow_storage *w = glow_constant_splat(t->m, "w", t->type, 0.5);
    glow_node *a = many(t, "a", t->x, &w->value);
    glow_node *b = many(t, "b", a->out[0], t->x);

    glow_set_pred(a, b->out[0]);
    a->loc = glow_loc_model(t->m, GLOW_LOC_ONNX, "m.onnx", "Conv_0");

    glow_module *copy = glow_module_clone(t->m);
    glow_func *f = glow_find_func(copy, "main");
    glow_node *a2 = glow_find_node(f, "a"), *b2 = glow_find_node(f, "b");

    assert_ptr_not_equal(a2, a);
    assert_ptr_equal(b2->in[0], a2->out[0]);
    assert_ptr_equal(a2->pred, b2->out[0]);
    assert_ptr_equal(a2->in[1]->storage, glow_find_storage(copy, "w"));
    assert_string_equal(a2->loc->node, "Conv_0");
    assert_true(
        glow_get_double(glow_constant_tensor(glow_find_storage(copy, "w")),
                        3) == 0.5);
    glow_module_free(copy);
}

static void
a_function_takes_the_place_of_another(void **state)
{
    fixture *t = *state;
    glow_func *last = glow_func_new(t->m, "last");
    glow_func *p = glow_program_new(t->m, "main.new");

    many(t, "a", t->x, t->x);
    glow_func_replace(t->f, p);
    assert_ptr_equal(glow_find_func(t->m, "main"), p);
    assert_ptr_equal(t->m->funcs, p);
    assert_ptr_equal(p->next, last);
    assert_ptr_equal(t->m->last_func, last);
    assert_true(glow_is_unused(t->x));
}

/* Two numberings of one function do not meet, and new nodes can join. */
static void
numberings_stand_side_by_side(void **state)
{
    fixture *t = *state;
    glow_arena *a = glow_arena_new();
    glow_node *nodes[100];

    for (int i = 0; i < 3; i++)
        nodes[i] =
            glow_node_new(t->f, &op_many, NULL, &t->x, 1, &t->type, 1, NULL);
    glow_node_move_before(nodes[2], nodes[0]);

    glow_numbering order = glow_number_nodes(a, t->f);
    glow_numbering other = glow_numbering_new(a, t->f);

    glow_number_set(&other, nodes[0], 7);
    assert_int_equal(glow_number_of(&order, nodes[2]), 0);
    assert_int_equal(glow_number_of(&order, nodes[0]), 1);
    assert_int_equal(glow_number_of(&order, nodes[1]), 2);
    assert_int_equal(glow_number_of(&other, nodes[0]), 7);
    assert_int_equal(glow_number_of(&other, nodes[1]), GLOW_UNNUMBERED);
    for (int i = 3; i < 100; i++)
        nodes[i] =
            glow_node_new(t->f, &op_many, NULL, &t->x, 1, &t->type, 1, NULL);
    assert_int_equal(glow_number_of(&order, nodes[99]), GLOW_UNNUMBERED);
    glow_number_set(&order, nodes[99], 3);
    assert_int_equal(glow_number_of(&order, nodes[99]), 3);
    assert_int_equal(glow_number_of(&order, nodes[98]), GLOW_UNNUMBERED);
    glow_number_set(&order, nodes[1], GLOW_UNNUMBERED);
    assert_int_equal(glow_number_of(&order, nodes[1]), GLOW_UNNUMBERED);
    glow_arena_free(a);
}

static void
registering_twice_is_refused(void **state)
{
    fixture *t = *state;

    assert_false(glow_register_op(t->ctx, &op_many));
    assert_int_equal(glow_error_count(t->ctx), 1);
    assert_ptr_equal(glow_find_op(t->ctx, "test.Many"), &op_many);
    assert_ptr_equal(glow_find_instr(t->ctx, "test.many"), &op_many);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(uses_follow_every_change),
        TEST(names_are_unique_and_numbered),
        TEST(order_follows_moves),
        TEST(operands_spread_over_the_schema),
        TEST(many_equal_names_stay_linear),
        TEST(a_copy_has_everything_and_shares_nothing),
        TEST(a_function_takes_the_place_of_another),
        TEST(numberings_stand_side_by_side),
        TEST(registering_twice_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
