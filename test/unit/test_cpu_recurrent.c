/*
 * Recurrent networks on the cpu backend: drawn sizes, directions, functions and
 * operands, for vectors of several widths.
 */

#include "cpu.h"

typedef struct network {
    const glow_op *op;
    int gates, activations;
} network;

static const network networks[] = {{&glow_op_rnn, 1, 1},
                                   {&glow_op_gru, 3, 2},
                                   {&glow_op_lstm, 4, 3}};

static const char *const functions[] = {
    "Affine", "Elu",     "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh",
    "Tanh",   "Sigmoid", "Softplus",    "Softsign",  "Tanh", "ThresholdedRelu"};

/* Names of as many functions as asked for. */
static const char *
draw_functions(fixture *t, uint64_t *s, int count)
{
    glow_buf text = {.arena = t->arena};

    for (int i = 0; i < count; i++)
        glow_buf_printf(&text, "%s%s", i ? " " : "",
                        functions[draw(s, 0, COUNT(functions) - 1)]);
    return text.text;
}

static glow_recurrent
draw_attributes(fixture *t, uint64_t *s, const network *n)
{
    glow_recurrent a = {.direction = (int)draw(s, 0, 2)};
    bool own = a.direction == GLOW_BIDIRECTIONAL && draw(s, 0, 1);

    a.activations = n->gates == 1   ? "Tanh"
                    : n->gates == 3 ? "Sigmoid Tanh"
                                    : "Sigmoid Tanh Tanh";
    if (draw(s, 0, 1))
        a.activations = draw_functions(t, s, n->activations * (own ? 2 : 1));
    if (draw(s, 0, 3) == 0)
        a.clip = 0.75f;
    a.input_forget = n->gates == 4 && draw(s, 0, 2) == 0;
    a.linear_before_reset = n->gates == 3 && draw(s, 0, 1);
    return a;
}

/* Sizes around those of vectors and tiles. */
static int64_t
draw_hidden(uint64_t *s)
{
    static const int64_t some[] = {1,  2,  3,  5,  8,  9, 15,
                                   16, 17, 31, 33, 48, 70};

    return some[draw(s, 0, COUNT(some) - 1)];
}

static const char *
label(fixture *t, const network *n, glow_kind k, int64_t hidden,
      const glow_recurrent *a)
{
    return glow_arena_printf(t->arena, "%s of %lld %s, direction %d, %s",
                             n->op->name, (long long)hidden,
                             glow_kind_get(k)->name, a->direction,
                             a->activations);
}

/* Whose X has been multiplied by W; lengths are drawn from a few integers. */
static const char *
build_network(fixture *t, uint64_t *s, const network *n, glow_kind k)
{
    glow_recurrent a = draw_attributes(t, s, n);
    int64_t d = a.direction == GLOW_BIDIRECTIONAL ? 2 : 1;
    int64_t hidden = draw_hidden(s), rows = n->gates * hidden;
    int64_t steps = draw(s, 1, 4);
    int64_t batch = draw(s, 0, 2) ? draw(s, 1, 5) : draw(s, 6, 33);
    glow_dims state = GLOW_DIMS_OF(d, batch, hidden);
    glow_value *in[8] = {NULL};

    in[0] = input(t, k, GLOW_DIMS_OF(steps, batch, d * rows));
    in[2] = weights(t, k, GLOW_DIMS_OF(d, rows, hidden));
    if (draw(s, 0, 2))
        in[3] = weights(t, k, GLOW_DIMS_OF(d, 2 * rows));
    if (draw(s, 0, 2) == 0)
        in[4] = input(t, draw(s, 0, 1) ? GLOW_INDEX32 : GLOW_INDEX64,
                      GLOW_DIMS_OF(batch));
    if (draw(s, 0, 1))
        in[5] = input(t, k, state);
    if (n->gates == 4 && draw(s, 0, 1))
        in[6] = input(t, k, state);
    if (n->gates == 4 && draw(s, 0, 1))
        in[7] = weights(t, k, GLOW_DIMS_OF(d, 3 * hidden));
    save(t, glow_build(t->b, n->op, NULL, in, glow_op_operands(n->op), &a));
    return label(t, n, k, hidden, &a);
}

static void
networks_agree(void **state)
{
    static const glow_kind kinds[] = {GLOW_FLOAT, GLOW_FLOAT, GLOW_FLOAT,
                                      GLOW_FLOAT16, GLOW_BFLOAT16};
    uint64_t seed = 1;

    (void)state;
    for (int i = 0; i < 90; i++) {
        const network *n = &networks[i % (int)COUNT(networks)];
        fixture t = {.target = &targets[(size_t)(i / 3) % COUNT(targets)],
                     .constants = draw(&seed, 0, 2) > 0};

        begin(&t);

        const char *what =
            build_network(&t, &seed, n, kinds[(size_t)i % COUNT(kinds)]);

        if (runs(t.target))
            agree_on(&t, what, GLOW_FILL_RANDOM, 1e-3); /* sums grow */
        else
            end(&t);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
