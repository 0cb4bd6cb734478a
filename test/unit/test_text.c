/*
 * The text form: random modules are printed, read back and compared, broken
 * text is reported and no more, and the time grows as the text does.
 */

#include "random_module.h"

#include "glow/file.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Equality of what was read with what was printed (R2). */

static void
assert_same_storage(const glow_storage *a, const glow_storage *b)
{
    assert_string_equal(a->name, b->name);
    assert_ptr_equal(a->value.type, b->value.type);
    assert_int_equal(a->payload, b->payload);
    assert_int_equal(a->splat_int, b->splat_int);
    if (glow_is_float(a->value.type->elem))
        assert_memory_equal(&a->splat, &b->splat, sizeof a->splat);
    if (a->payload == GLOW_DATA && glow_type_bytes(a->value.type) > 0)
        assert_memory_equal(a->tensor.data, b->tensor.data,
                            (size_t)glow_type_bytes(a->value.type));
}

static void
assert_same_value(const glow_value *a, const glow_value *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (!a)
        return;
    assert_ptr_equal(a->type, b->type);
    assert_int_equal(a->index, b->index);
    assert_string_equal(a->def ? a->def->name : a->storage->name,
                        b->def ? b->def->name : b->storage->name);
}

static void
assert_same_node(const glow_node *a, const glow_node *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->op->name, b->op->name);
    assert_int_equal(a->n_in, b->n_in);
    assert_int_equal(a->n_out, b->n_out);
    for (int i = 0; i < a->n_in; i++)
        assert_same_value(a->in[i], b->in[i]);
    for (int i = 0; i < a->n_out; i++)
        assert_same_value(a->out[i], b->out[i]);
    assert_true(!a->attrs ||
                glow_attrs_equal(glow_op_schema(a->op), a->attrs, b->attrs));
    assert_int_equal(a->place == NULL, b->place == NULL);
    assert_true(!a->place || (a->place->offset == b->place->offset &&
                              a->place->size == b->place->size));
}

static void
assert_same_func(const glow_func *a, const glow_func *b)
{
    const glow_node *n = b->first;

    assert_int_equal(a->is_program, b->is_program);
    assert_int_equal(a->placed, b->placed);
    assert_int_equal(a->scheduled, b->scheduled);
    assert_int_equal(a->count, b->count);
    for (const glow_node *i = a->first; i; i = i->next, n = n->next)
        assert_same_node(i, n);
}

static void
assert_same_module(const glow_module *a, const glow_module *b)
{
    for (const glow_storage *s = a->storage; s; s = s->next) {
        assert_non_null(glow_find_storage(b, s->name));
        assert_same_storage(s, glow_find_storage(b, s->name));
    }
    for (const glow_func *f = a->funcs; f; f = f->next) {
        assert_non_null(glow_find_func(b, f->name));
        assert_same_func(f, glow_find_func(b, f->name));
    }
}

static glow_module *
read_text(fixture *t, const char *text, size_t size)
{
    const glow_source *s = glow_source_from(t->ctx, "test.gir", text, size);

    return glow_parse(t->ctx, s,
                      &(glow_parse_options){.allow_unknown_ops = true});
}

static void
random_modules_survive(void **state)
{
    fixture *t = *state;

    for (int i = 0; i < 500; i++) {
        glow_buf first = {0}, second = {0};
        glow_module *back;

        seed = (uint64_t)i;
        draw_module(t);
        glow_print(&first, t->m, NULL);
        assert_null(strstr(first.text, "[["));
        assert_null(strstr(first.text, "{{"));
        back = read_text(t, first.text, first.len);
        if (!back)
            fail_msg("seed %d: %s\n%s", i, t->said, first.text);
        glow_print(&second, back, NULL);
        assert_string_equal(first.text, second.text);
        assert_same_module(t->m, back);
        glow_module_free(back);
        glow_module_free(t->m);
        glow_buf_free(&first);
        glow_buf_free(&second);
        glow_arena_reset(t->arena);
    }
}

/* Constants that go to a weights file come back from it. */

static void
assert_same_elements(glow_module *a, glow_module *b)
{
    GLOW_FOR_EACH_STORAGE(s, a) {
        glow_storage *other = glow_find_storage(b, s->name);
        int64_t size = glow_type_bytes(s->value.type);
        const glow_tensor *t;

        if (!s->is_constant)
            continue;
        t = glow_constant_tensor(other);
        assert_non_null(t);
        assert_int_equal((uintptr_t)t->data %
                             (size_t)glow_kind_get(t->type->elem)->bytes,
                         0);
        if (size > 0)
            assert_memory_equal(t->data, glow_constant_tensor(s)->data,
                                (size_t)size);
    }
}

static void
weights_files_hold_constants(void **state)
{
    fixture *t = *state;
    char folder[] = "/tmp/glow-test-XXXXXX";
    char path[sizeof folder + 16];
    bool any = false;

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/w.safetensors", folder);
    for (int i = 0; i < 50; i++) {
        glow_parse_options o = {.allow_unknown_ops = true, .folder = folder};
        glow_buf b = {0};
        glow_module *back;

        seed = (uint64_t)i;
        draw_module(t);
        assert_true(glow_externalize(t->m, "w", path, 4));
        any |= t->m->weights != NULL;
        glow_print(&b, t->m, NULL);
        back = glow_parse(
            t->ctx, glow_source_from(t->ctx, "test.gir", b.text, b.len), &o);
        assert_non_null(back);
        assert_same_elements(t->m, back);
        glow_module_free(back);
        glow_module_free(t->m);
        glow_buf_free(&b);
        glow_arena_reset(t->arena);
        remove(path);
    }
    assert_true(any);
    assert_int_equal(rmdir(folder), 0);
}

/* Bytes change, go, come and are repeated. */
static void
damage(char *text, size_t *size, size_t room)
{
    static const char signs[] = "(){}[]<>,:=@%$#\"\\+?-_x0 \n/";

    for (int i = 1 + draw(4); i > 0 && *size > 0; i--) {
        size_t at = (size_t)draw((int)*size), n = (size_t)draw(20);

        if (n > *size - at)
            n = *size - at;
        switch (draw(4)) {
        case 0:
            text[at] = (char)draw(256);
            break;
        case 1:
            text[at] = signs[draw((int)sizeof signs - 1)];
            break;
        case 2:
            memmove(text + at, text + at + n, *size - at - n);
            *size -= n;
            break;
        default:
            if (*size + n > room)
                break;
            memmove(text + at + n, text + at, *size - at);
            *size += n;
        }
    }
}

/* Under sanitizers this says more. */
static void
broken_text_is_reported(void **state)
{
    fixture *t = *state;
    int wrong = 0;

    for (int i = 0; i < 3000; i++) {
        glow_buf b = {0};
        glow_module *back;
        size_t size;
        char *text;

        seed = (uint64_t)i % 50;
        draw_module(t);
        glow_print(&b, t->m, NULL);
        seed = (uint64_t)i + 1000000;
        size = b.len;
        text = calloc(size + 101, 1);
        memcpy(text, b.text, size);
        damage(text, &size, size + 100);
        text[size] = '\0';
        t->said[0] = '\0';
        back = read_text(t, text, size);
        assert_true(back || t->said[0]);
        wrong += !back;
        glow_module_free(back);
        glow_module_free(t->m);
        glow_buf_free(&b);
        free(text);
        glow_arena_reset(t->arena);
    }
    assert_true(wrong > 1000);
}

static void
any_bytes_are_reported(void **state)
{
    fixture *t = *state;
    char text[256];

    seed = 1;
    for (int i = 0; i < 2000; i++) {
        size_t size = (size_t)draw(sizeof text);
        glow_module *m;

        for (size_t j = 0; j < size; j++)
            text[j] = (char)draw(256);
        text[size < sizeof text ? size : sizeof text - 1] = '\0';
        m = read_text(t, text, size);
        glow_module_free(m);
    }
}

/* Processor time that a graph of `n` nodes, in reverse order, takes. */
static double
time_of(fixture *t, int n)
{
    glow_buf b = {0}, again = {0};
    clock_t begin;
    glow_module *m;
    double seconds;

    glow_buf_puts(&b, "placeholder @x : float<4>\nfunction @main {\n");
    for (int i = n; i > 0; i--)
        glow_buf_printf(&b, "  %%n%d = Add(%%n%d, @x) : float<4>\n", i, i - 1);
    glow_buf_puts(&b, "  %n0 = Relu(@x) : float<4>\n}\n");
    begin = clock();
    m = read_text(t, b.text, b.len);
    assert_non_null(m);
    glow_print(&again, m, NULL);
    seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    glow_module_free(m);
    glow_buf_free(&b);
    glow_buf_free(&again);
    return seconds;
}

/* Eight times the text: about 8 times the time, where squares take 64. */
static void
time_grows_with_the_text(void **state)
{
    double small = time_of(*state, 10000), large;

    if (small < 0.01)
        small = 0.01;
    large = time_of(*state, 80000);
    assert_true(large < 24 * small);
}

static void
a_text_has_less_than_two_gib(void **state)
{
    fixture *t = *state;

    assert_null(read_text(t, "gir 1", (size_t)1 << 31));
    assert_string_equal(t->id, "E0138");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_modules_survive, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(weights_files_hold_constants, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(broken_text_is_reported, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(any_bytes_are_reported, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(time_grows_with_the_text, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_text_has_less_than_two_gib, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
