/*
 * Errors of modules that no text leads to, and the forms in which diagnostics are shown.
 */

#include "random_module.h"

#include "glow/file.h"

static void
an_elided_constant_has_no_tensor(void **state)
{
    fixture *t = *state;
    static const char text[] = "constant @c : float<2> = elided(\"sha256:00\")";
    const glow_source *s =
        glow_source_from(t->ctx, "test.gir", text, sizeof text - 1);
    glow_module *m =
        glow_parse(t->ctx, s, &(glow_parse_options){.allow_elided = true});

    assert_non_null(m);
    assert_null(glow_constant_tensor(glow_find_storage(m, "c")));
    assert_string_equal(t->id, "E0608");
    glow_module_free(m);
}

static void
a_node_has_all_its_operands(void **state)
{
    fixture *t = *state;
    glow_module *m = glow_module_new(t->ctx);
    glow_func *f = glow_func_new(m, "main");
    const glow_type *y =
        glow_type_get(t->ctx, glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(4)));
    glow_value *none[1] = {NULL};

    glow_node_new(f, &op_some, "few", none, 0, &y, 1, NULL);
    assert_false(glow_verify(m));
    assert_string_equal(t->id, "E0202");
    glow_module_free(m);
}

static void
a_span_knows_its_line(void **state)
{
    fixture *t = *state;
    static const char text[] = "a\nbc\n\nd";
    const glow_source *s = glow_source_from(t->ctx, "f", text, 7);
    int line, column;

    glow_span_line((glow_span){s, 3, 4}, &line, &column);
    assert_int_equal(line, 2);
    assert_int_equal(column, 2);
    glow_span_line((glow_span){s, 7, 7}, &line, &column);
    assert_int_equal(line, 4);
    assert_int_equal(column, 2);
}

/* Control characters of a file do not reach the terminal that shows a message. */
static void
diagnostics_escape(void **state)
{
    fixture *t = *state;
    static const char text[] = "x \x1b[31m\xff\xc2\x9b y\n";
    const glow_source *s =
        glow_source_from(t->ctx, "a\tb", text, sizeof text - 1);
    glow_diag d = {.id = "E0101",
                   .message = "bad \x1b",
                   .span = {s, 2, 4},
                   .label = "here",
                   .hint = "remove it"};
    glow_buf b = {0};

    glow_diag_text(&b, &d, false);
    assert_string_equal(b.text, "a b:1:3: error[E0101]: bad \\x1b\n"
                                "   1 | x \\x1b[31m\\xff\\xc2\\x9b y\n"
                                "     |   ^~~~~ here\n"
                                "help: remove it\n");
    glow_buf_free(&b);
    b = (glow_buf){0};
    glow_diag_json(&b, &d);
    assert_string_equal(
        b.text, "{\"severity\": \"error\", \"id\": \"E0101\", \"message\": "
                "\"bad \\u001b\", \"file\": \"a\\u0009b\", \"line\": 1, "
                "\"column\": 3, \"end_line\": 1, \"end_column\": 5, \"label\": "
                "\"here\", \"hint\": \"remove it\"}\n");
    glow_buf_free(&b);
}

static void
ids_are_in_order(void **state)
{
    const glow_diag_info *d = glow_diag_all();

    (void)state;
    for (; d->id; d++) {
        assert_true(d->summary[0] && d->explain[0]);
        assert_ptr_equal(glow_diag_find(d->id), d);
        if (d[1].id && d[0].id[0] == d[1].id[0])
            assert_true(strcmp(d[0].id, d[1].id) < 0);
    }
    assert_null(glow_diag_find("E9999"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_elided_constant_has_no_tensor, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_node_has_all_its_operands, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_span_knows_its_line, setup, teardown),
        cmocka_unit_test_setup_teardown(diagnostics_escape, setup, teardown),
        cmocka_unit_test(ids_are_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
