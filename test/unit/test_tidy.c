/* Graphs laid out anew: the same text, and every list whole. */

#include "unit.h"

#include "glow/glow.h"

#include <stdlib.h>

enum { NODES = 900, CHANGES = 2000 };

static uint32_t
draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525 + 1013904223;
    return (*state >> 8) % below;
}

/* Sums of whatever stands above, in a function of its own; some with predicates. */
static glow_func *
make(glow_module *m, const char *name, glow_value *x, glow_value *bit,
     glow_value **values, uint32_t *seed)
{
    glow_func *f = glow_func_new(m, name);

    values[0] = x;
    for (int i = 1; i < NODES; i++) {
        glow_value *in[] = {values[draw(seed, (uint32_t)i)],
                            values[draw(seed, (uint32_t)i)]};
        glow_node *n =
            glow_node_new(f, &glow_op_add, "n", in, 2, &x->type, 1, NULL);

        if (draw(seed, 4) == 0)
            glow_set_pred(n, bit);
        values[i] = n->out[0];
    }
    return f;
}

static char *
text_of(glow_module *m)
{
    glow_buf b = {0};

    glow_print(&b, m, NULL);
    return b.text;
}

/* Each use is in the list of its value, and no others are. */
static void
check_uses(glow_func *f)
{
    GLOW_FOR_EACH_NODE(n, f) {
        assert_ptr_equal(n->func, f);
        assert_ptr_equal(glow_find_node(f, n->name), n);
        for (int i = 0; i < n->n_out; i++) {
            assert_ptr_equal(n->out[i]->def, n);
            GLOW_FOR_EACH_USE(u, n->out[i]) {
                assert_ptr_equal(u->value, n->out[i]);
                assert_ptr_equal(*u->link, u);
                assert_ptr_equal(u->index < 0 ? u->user->pred
                                              : u->user->in[u->index],
                                 n->out[i]);
            }
        }
    }
}

static int
count_uses(const glow_value *v)
{
    int count = 0;

    GLOW_FOR_EACH_USE(u, v)
        count++;
    return count;
}

static void
a_tidy_graph_is_the_same(void **state)
{
    glow_context *ctx = glow_context_new();
    glow_module *m = glow_module_new(ctx);
    const glow_type *t =
        glow_type_get(ctx, glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(3)));
    const glow_type *bool3 =
        glow_type_get(ctx, glow_type_of(GLOW_BOOL, GLOW_DIMS_OF(3)));
    glow_value *x = &glow_placeholder_new(m, "x", t)->value;
    glow_value *bit = &glow_placeholder_new(m, "bit", bool3)->value;
    glow_value *values[NODES];
    uint32_t seed = 7;
    glow_func *other = make(m, "other", x, bit, values, &seed);
    glow_func *f = make(m, "main", x, bit, values, &seed);
    glow_node *was = f->first;
    int uses = count_uses(x), bits = count_uses(bit);

    (void)state;
    for (int i = 0; i < CHANGES; i++) {
        glow_node *n = values[1 + draw(&seed, NODES - 1)]->def;

        glow_node_move_before(n, values[1 + draw(&seed, NODES - 1)]->def);
    }

    char *before = text_of(m);

    glow_func_tidy(f);
    assert_ptr_not_equal(f->first, was);

    char *after = text_of(m);

    assert_string_equal(before, after);
    check_uses(f);
    check_uses(other);
    assert_int_equal(count_uses(x), uses);
    assert_int_equal(count_uses(bit), bits);
    assert_true(glow_verify(m));

    /* Nothing was made since. */
    was = f->first;
    glow_func_tidy(f);
    assert_ptr_equal(f->first, was);

    /* It can still be changed, down to nothing. */
    GLOW_FOR_EACH_NODE(n, f)
        if (!glow_is_unused(n->out[0]))
            glow_replace_uses(n->out[0], x);
    GLOW_FOR_EACH_NODE(n, f)
        glow_node_erase(n);
    assert_int_equal(f->count, 0);
    check_uses(other);
    free(before);
    free(after);
    glow_module_free(m);
    glow_context_free(ctx);
}

static void
operators_are_told_without_a_look(void **state)
{
    glow_context *ctx = glow_context_new();
    glow_module *m = glow_module_new(ctx);
    const glow_type *t =
        glow_type_get(ctx, glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(3)));
    glow_value *x = &glow_placeholder_new(m, "x", t)->value;
    glow_func *f = glow_func_new(m, "main");

    (void)state;
    assert_false(glow_func_may_have(f, &glow_op_relu));
    glow_node_new(f, &glow_op_relu, NULL, &x, 1, &t, 1, NULL);
    assert_true(glow_func_may_have(f, &glow_op_relu));
    assert_false(glow_func_may_have(f, &glow_op_concat) &&
                 glow_func_may_have(f, &glow_op_tanh) &&
                 glow_func_may_have(f, &glow_op_matmul));
    glow_module_free(m);
    glow_context_free(ctx);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tidy_graph_is_the_same),
        cmocka_unit_test(operators_are_told_without_a_look),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
