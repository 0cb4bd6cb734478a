/*
 * Attention in one step on the cpu backend against the evaluator: drawn sizes,
 * masks, orders of axes and kinds, for vectors of several widths.
 */

#include "cpu.h"

static const glow_kind kinds[] = {GLOW_FLOAT, GLOW_FLOAT, GLOW_FLOAT16,
                                  GLOW_BFLOAT16};

/* What is drawn: heads, rows, keys and the lengths of rows. */
typedef struct drawn {
    glow_kind kind;
    int64_t batch, heads, group, rows, keys, depth, width;
    bool by_rows; /* heads of keys and values side by side, not drawn */
} drawn;

static glow_dims
shape(bool by_rows, int64_t batch, int64_t heads, int64_t rows, int64_t size)
{
    return by_rows ? GLOW_DIMS_OF(batch, rows, heads, size)
                   : GLOW_DIMS_OF(batch, heads, rows, size);
}

/* None, of bool, or what is added; each axis may be 1. */
static glow_value *
draw_mask(fixture *t, uint64_t *s, const drawn *d)
{
    glow_dims m = GLOW_DIMS_OF(d->batch, d->heads, d->rows, d->keys);
    int64_t which = draw(s, 0, 3);

    for (int i = 0; i < 4; i++)
        if (draw(s, 0, 1))
            m.at[i] = 1;
    if (which == 0)
        return NULL;
    return input(t, which == 1 ? GLOW_BOOL : d->kind, m);
}

/* Keys and values of float queries are of 16 bits in turn. */
static glow_kind
kept_kind(const drawn *d, size_t number)
{
    static const glow_kind kept[] = {GLOW_FLOAT, GLOW_FLOAT16, GLOW_BFLOAT16};

    return d->kind == GLOW_FLOAT ? kept[number % COUNT(kept)] : d->kind;
}

static void
build(fixture *t, uint64_t *s, const drawn *d, size_t number)
{
    int64_t groups = d->heads / d->group;
    glow_kind k = kept_kind(d, number), v = kept_kind(d, number / 3);
    glow_fusedattention a = {
        .scale = 0.25f,
        .soft_cap = draw(s, 0, 3) ? 0 : 1.5f,
        .causal = draw(s, 0, 1),
        .past = draw(s, 0, 2) * d->keys / 3,
        .nan_rows = draw(s, 0, 1),
        .q_rows = draw(s, 0, 1),
        .k_rows = draw(s, 0, 1) || d->by_rows,
        .v_rows = draw(s, 0, 1) || d->by_rows,
        .y_rows = draw(s, 0, 1),
    };
    glow_value *in[4];

    in[0] = input(t, d->kind,
                  shape(a.q_rows, d->batch, d->heads, d->rows, d->depth));
    in[1] = weights(t, k, shape(a.k_rows, d->batch, groups, d->keys, d->depth));
    in[2] = input(t, v, shape(a.v_rows, d->batch, groups, d->keys, d->width));
    in[3] = draw_mask(t, s, d);
    save(t, glow_build(t->b, &glow_op_fusedattention, NULL, in, 4, &a));
}

#define EMULATED 4 /* of `targets` */

static void
check(const drawn *d, uint64_t *seed, size_t number)
{
    fixture t = {.target = &targets[number % COUNT(targets)],
                 .constants = number % 2};

    begin(&t);
    build(&t, seed, d, number);
    if (runs(t.target))
        agree_on(&t, "attention", GLOW_FILL_RANDOM, 2e-5);
    else
        end(&t);
}

/* Around the lanes of vectors, tiles of rows and panels of keys. */
static void
small_heads_agree(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (int i = 0; i < 24; i++) {
        int64_t group = draw(&seed, 1, 3);
        drawn d = {
            .kind = kinds[draw(&seed, 0, COUNT(kinds) - 1)],
            .batch = draw(&seed, 1, 2),
            .heads = group * draw(&seed, 1, 2),
            .group = group,
            .rows = draw(&seed, 5, 60),
            .keys = draw(&seed, 1, 70),
            .depth = draw(&seed, 1, 40),
            .width = draw(&seed, 1, 70),
        };

        check(&d, &seed, (size_t)i);
    }
}

/* One row, in place: tiles of 1 to 4 heads, with keys of their own or common ones. */
static void
single_rows_agree(void **state)
{
    uint64_t seed = 4;

    (void)state;
    for (int i = 0; i < 24; i++) {
        int64_t group = i % 2 ? 1 : 1 + i / 2;
        drawn d = {
            .kind = kinds[draw(&seed, 0, COUNT(kinds) - 1)],
            .batch = draw(&seed, 1, 2),
            .heads = group * draw(&seed, 1, i % 2 ? 8 : 2),
            .group = group,
            .rows = 1,
            .keys = draw(&seed, 16, 70),
            .depth = draw(&seed, 1, 70),
            .width = draw(&seed, 1, 150),
        };

        check(&d, &seed, (size_t)i);
    }
}

/* More scores than tiles of heads have together: groups of tiles, the last one smaller. */
static void
long_rows_agree(void **state)
{
    uint64_t seed = 5;

    (void)state;
    for (int i = 0; i < 4; i++) {
        drawn d = {
            .kind = GLOW_FLOAT,
            .batch = 1,
            .heads = 16,
            .group = 1 + i % 2,
            .rows = 1,
            .keys = 10000 + i,
            .depth = draw(&seed, 1, 5),
            .width = draw(&seed, 1, 5),
            .by_rows = true,
        };

        check(&d, &seed, (size_t)i);
    }
}

/* Blocks of keys, one after the other. */
static void
long_sequences_agree(void **state)
{
    static const int64_t keys[] = {513, 1024, 1100};
    uint64_t seed = 2;

    (void)state;
    for (int i = 0; i < 6; i++) {
        drawn d = {
            .kind = GLOW_FLOAT,
            .batch = 1,
            .heads = 2,
            .group = draw(&seed, 1, 2),
            .rows = draw(&seed, 40, 110),
            .keys = keys[i / 2],
            .depth = draw(&seed, 3, 20),
            .width = draw(&seed, 3, 40),
        };

        check(&d, &seed, (size_t)i);
    }
}

/*
 * bfloat16 by registers of matrices, emulated, also of depths that they do not divide: odd
 * numbers of keys, rows fewer than they have and of one tile more than pairs, blocks of
 * keys, values of any width.
 */
static void
pairs_agree(void **state)
{
    static const int64_t keys[] = {17, 33, 64, 197, 600};
    static const int64_t rows[] = {5, 49, 70, 33, 128};
    uint64_t seed = 3;

    (void)state;
    for (int i = 0; i < 15; i++) {
        int64_t group = draw(&seed, 1, 2);
        drawn d = {
            .kind = GLOW_BFLOAT16,
            .batch = draw(&seed, 1, 2),
            .heads = group * draw(&seed, 1, 2),
            .group = group,
            .rows = i < 5 ? rows[i] : draw(&seed, 5, 70),
            .keys = keys[i % 5],
            .depth = 32 * draw(&seed, 1, 4) - (i % 3 ? 0 : draw(&seed, 1, 31)),
            .width = draw(&seed, 1, 130),
        };

        check(&d, &seed, i % 2 ? EMULATED : EMULATED + COUNT(targets));
    }
}

/* A row that sees nothing at all, among others that see all or a part. */
static void
hidden_rows_agree(void **state)
{
    (void)state;
    for (int nan = 0; nan < 2; nan++) {
        fixture t = {0};
        glow_fusedattention a = {.scale = 1, .nan_rows = nan};
        glow_storage *seen;

        begin(&t);

        glow_dims d = GLOW_DIMS_OF(1, 1, 17, 19);
        glow_value *in[4] = {input(&t, GLOW_FLOAT, d), input(&t, GLOW_FLOAT, d),
                             input(&t, GLOW_FLOAT, d)};

        seen = glow_constant_new(
            t.m, "seen", type_of(&t, GLOW_BOOL, GLOW_DIMS_OF(1, 1, 17, 17)));
        for (int64_t i = 0; i < 17 * 17; i++)
            glow_set_int(&seen->tensor, i, i / 17 % 3 != 0 && i % 17 % 4 < 2);
        in[3] = &seen->value;
        save(&t, glow_build(t.b, &glow_op_fusedattention, NULL, in, 4, &a));
        agree(&t, "rows that see nothing");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_heads_agree),
        cmocka_unit_test(single_rows_agree),
        cmocka_unit_test(long_rows_agree),
        cmocka_unit_test(long_sequences_agree),
        cmocka_unit_test(pairs_agree),
        cmocka_unit_test(hidden_rows_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
