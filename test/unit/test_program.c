/*
 * What the verifier of programs refuses and the text form cannot say, how irgen
 * treats what only code can build, and lives of buffers by the instruction.
 */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "glow/lifetime.h"
#include "glow/memory_map.h"
#include "glow/ops.h"
#include "glow/pipeline.h"

typedef struct fixture {
    glow_context *ctx;
    glow_module *m;
    const glow_type *type;
    char ids[256]; /* of what was reported */
} fixture;

static void
note_id(const glow_diag *d, void *user)
{
    fixture *t = user;

    strncat(t->ids, d->id, sizeof t->ids - strlen(t->ids) - 1);
    strncat(t->ids, " ", sizeof t->ids - strlen(t->ids) - 1);
}

static int
setup(void **state)
{
    fixture *t = calloc(1, sizeof *t);

    assert_non_null(t);
    t->ctx = glow_context_new();
    glow_context_set_sink(t->ctx, note_id, t);
    t->m = glow_module_new(t->ctx);
    t->type = glow_type_get(t->ctx, glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(4)));
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

static glow_value *
add_weight(fixture *t, glow_func *f, const char *name)
{
    glow_storage *s = glow_placeholder_new(t->m, name, t->type);
    glow_node *n =
        glow_node_new(f, &glow_op_weight, name, NULL, 0, &t->type, 1, NULL);

    n->out[0]->storage = s;
    return n->out[0];
}

static glow_value *
add_alloc(fixture *t, glow_func *f, const char *name)
{
    return glow_node_new(f, &glow_op_alloc, name, NULL, 0, &t->type, 1, NULL)
        ->out[0];
}

static glow_node *
add_relu(glow_func *f, glow_value *to, glow_value *from)
{
    return glow_instr_new(f, &glow_op_relu, NULL, &to, 1, &from, 1, NULL);
}

static void
add_dealloc(glow_func *f, glow_value *v)
{
    glow_instr_new(f, &glow_op_dealloc, NULL, &v, 1, NULL, 0, NULL);
}

/* [E0302] */
static void
buffers_are_defined_before_use(void **state)
{
    fixture *t = *state;
    glow_func *f = glow_program_new(t->m, "main");
    glow_value *x = add_weight(t, f, "x"), *a = add_alloc(t, f, "a");
    glow_node *relu = add_relu(f, a, x);

    add_dealloc(f, a);
    assert_true(glow_verify_func(f));
    glow_node_move_before(relu, a->def);
    assert_false(glow_verify_func(f));
    assert_string_equal(t->ids, "E0302 ");
}

/* [E0303] */
static void
weights_stand_first(void **state)
{
    fixture *t = *state;
    glow_func *f = glow_program_new(t->m, "main");
    glow_value *a = add_alloc(t, f, "a"), *x = add_weight(t, f, "x");

    add_relu(f, a, x);
    add_dealloc(f, a);
    assert_false(glow_verify_func(f));
    assert_string_equal(t->ids, "E0303 ");
}

/* [E0306] */
static void
instructions_work_on_buffers(void **state)
{
    fixture *t = *state;
    glow_func *f = glow_program_new(t->m, "main");
    glow_value *x = add_weight(t, f, "x");

    add_relu(f, x, &glow_placeholder_new(t->m, "y", t->type)->value);
    assert_false(glow_verify_func(f));
    assert_string_equal(t->ids, "E0306 ");
}

/* An operator that changes a placeholder in a way of its own. */

static bool
count_infer(const glow_node *n, glow_type out[])
{
    (void)n;
    (void)out;
    return true;
}

static const glow_op op_count = {
    .name = "test.Count",
    .summary = "for this test",
    .in = {{"Input", GLOW_TENSOR, ""}, {"Histogram", GLOW_WRITTEN, ""}},
    .infer = count_infer,
    .source = "this test",
};

/* [E0301] */
static void
irgen_refuses_what_has_no_instruction(void **state)
{
    fixture *t = *state;
    glow_func *f = glow_func_new(t->m, "main");
    glow_value *in[] = {&glow_placeholder_new(t->m, "x", t->type)->value,
                        &glow_placeholder_new(t->m, "h", t->type)->value};
    glow_source text = {"-passes", "schedule,irgen", 14, 1};
    glow_arena *a = glow_arena_new();
    glow_pipeline *p = glow_pipeline_parse(t->ctx, a, &text);

    assert_non_null(p);
    glow_node_new(f, &op_count, NULL, in, 2, NULL, 0, NULL);
    assert_false(glow_pipeline_run(p, t->m, &(glow_pipeline_options){0}));
    assert_string_equal(t->ids, "E0301 ");
    assert_false(glow_find_func(t->m, "main")->is_program);
    glow_arena_free(a);
}

/* [E0326] */
static void
maps_are_of_placed_programs(void **state)
{
    fixture *t = *state;
    glow_buf b = {0};

    assert_false(
        glow_memory_map(&b, glow_program_new(t->m, "p"), GLOW_MAP_TEXT));
    assert_false(glow_memory_map(&b, glow_func_new(t->m, "f"), GLOW_MAP_TEXT));
    assert_false(glow_why_peak(&b, glow_program_new(t->m, "q")));
    assert_string_equal(t->ids, "E0326 E0326 E0326 ");
    assert_int_equal(b.len, 0);
}

/* Random programs, with lives that are longer than they have to be. */

enum { BUFFERS = 12, STEPS = 24, PROGRAMS = 200 };

typedef struct lives_test {
    glow_func *f;
    glow_value *buffers[BUFFERS];
    glow_node *steps[STEPS];
    int from[STEPS], to[STEPS];        /* buffers */
    int first[BUFFERS], last[BUFFERS]; /* steps that use them */
    bool was[STEPS][BUFFERS];          /* alive before */
    bool is_made[BUFFERS], is_freed[BUFFERS];
} lives_test;

static uint32_t
draw(uint32_t *x, uint32_t count)
{
    *x = *x * 1664525 + 1013904223;
    return (*x >> 8) % count;
}

/* Which step reads what, and writes what; each buffer is used. */
static void
draw_steps(lives_test *l, uint32_t *x)
{
    memset(l->last, -1, sizeof l->last);
    for (int k = 0; k < STEPS; k++) {
        l->to[k] = k < BUFFERS ? k : (int)draw(x, BUFFERS);
        l->from[k] =
            k ? (int)draw(x, k < BUFFERS ? (uint32_t)k : BUFFERS) : l->to[k];
        for (int i = 0; i < 2; i++) {
            int b = i ? l->to[k] : l->from[k];

            if (l->last[b] < 0)
                l->first[b] = k;
            l->last[b] = k;
        }
    }
}

/* Makes buffers before they are needed, frees them later than they could. */
static void
draw_program(fixture *t, lives_test *l, uint32_t *x, const char *name)
{
    glow_value *input;

    l->f = glow_program_new(t->m, name);
    input = add_weight(t, l->f, name);
    for (int k = 0; k < STEPS; k++) {
        for (int b = 0; b < BUFFERS; b++)
            if (!l->is_made[b] && (l->first[b] == k || draw(x, 4) == 0)) {
                l->buffers[b] = add_alloc(t, l->f, NULL);
                l->is_made[b] = true;
            }
        l->steps[k] = add_relu(l->f, l->buffers[l->to[k]],
                               k ? l->buffers[l->from[k]] : input);
        for (int b = 0; b < BUFFERS; b++)
            if (l->is_made[b] && !l->is_freed[b] && l->last[b] <= k &&
                (k == STEPS - 1 || draw(x, 4) == 0)) {
                add_dealloc(l->f, l->buffers[b]);
                l->is_freed[b] = true;
            }
    }
}

static bool
is_alive(const glow_life *lives, const glow_numbering *numbers,
         const lives_test *l, int k, int b)
{
    glow_life life = lives[glow_number_of(numbers, l->buffers[b]->def)];
    int64_t at = glow_number_of(numbers, l->steps[k]);

    return life.begin <= at && at < life.end;
}

/* No life gets longer, so no instruction has more bytes alive; each is then as
   short as the uses allow. */
static void
lives_get_no_longer(void **state)
{
    fixture *t = *state;
    glow_source text = {"-passes", "sink-alloc,hoist-dealloc", 24, 1};
    glow_arena *a = glow_arena_new();
    glow_pipeline *p = glow_pipeline_parse(t->ctx, a, &text);
    static lives_test all[PROGRAMS];
    uint32_t x = 1;
    int shorter = 0;

    assert_non_null(p);
    for (int i = 0; i < PROGRAMS; i++) {
        lives_test *l = &all[i];
        glow_numbering numbers;
        const glow_life *lives;
        char name[16];

        snprintf(name, sizeof name, "p%d", i);
        draw_steps(l, &x);
        draw_program(t, l, &x, name);
        numbers = glow_number_nodes(a, l->f);
        lives = glow_program_lives(a, l->f, &numbers);
        for (int k = 0; k < STEPS; k++)
            for (int b = 0; b < BUFFERS; b++)
                l->was[k][b] = is_alive(lives, &numbers, l, k, b);
    }
    assert_true(glow_pipeline_run(p, t->m, NULL));
    for (int i = 0; i < PROGRAMS; i++) {
        const lives_test *l = &all[i];
        glow_numbering numbers = glow_number_nodes(a, l->f);
        const glow_life *lives = glow_program_lives(a, l->f, &numbers);

        for (int k = 0; k < STEPS; k++)
            for (int b = 0; b < BUFFERS; b++) {
                bool is = is_alive(lives, &numbers, l, k, b);

                assert_true(is == (l->first[b] <= k && k <= l->last[b]));
                assert_true(l->was[k][b] || !is);
                shorter += l->was[k][b] && !is;
            }
    }
    assert_true(shorter > PROGRAMS);
    glow_arena_free(a);
}

/* A region, and an alloc that names its space before it has an offset. */
static void
regions_are_made(void **state)
{
    fixture *t = *state;
    glow_func *f = glow_program_new(t->m, "main");
    glow_value *x = add_weight(t, f, "x");
    glow_region *r = glow_region_new(f, "fast", "tcm", 128, 4096);
    glow_source text = {"-passes", "alloc", 5, 1};
    glow_arena *arena = glow_arena_new();
    glow_value *a = add_alloc(t, f, "a");

    assert_non_null(r);
    assert_null(glow_region_new(f, "fast", "dram", 64, 0));
    assert_ptr_equal(glow_find_region(f, "fast"), r);
    assert_null(glow_find_region(f, "slow"));
    assert_null(glow_space_of(a->def));
    glow_node_set_attrs(a->def, &(const glow_in_space){.space = "tcm"});
    assert_string_equal(glow_space_of(a->def), "tcm");
    add_relu(f, a, x);
    add_dealloc(f, a);
    assert_true(glow_pipeline_run(glow_pipeline_parse(t->ctx, arena, &text),
                                  t->m, NULL));
    assert_string_equal(a->def->place->region->name, "fast");
    assert_int_equal(a->def->place->region->align, 128);
    assert_int_equal(a->def->place->region->capacity, 4096);
    glow_arena_free(arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(buffers_are_defined_before_use, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(weights_stand_first, setup, teardown),
        cmocka_unit_test_setup_teardown(instructions_work_on_buffers, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(maps_are_of_placed_programs, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(lives_get_no_longer, setup, teardown),
        cmocka_unit_test_setup_teardown(regions_are_made, setup, teardown),
        cmocka_unit_test_setup_teardown(irgen_refuses_what_has_no_instruction,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
