/* Convolutions and products with what follows them, worked out by hand. */

#include "ops.h"

#include "glow/ops.h"

#define DIMS(...) GLOW_DIMS_OF(__VA_ARGS__)

static const float clip[] = {0, 40}, leaky[] = {0.5f}, form[] = {1.5f};
static const float none[] = {0};

#define ARGS(list, count) {count, list}
#define CONV(group, activation, args)                                 \
    ATTRS(fusedconvolution, DIMS(1), DIMS(1), DIMS(0, 0), group, {0}, \
          activation, args)
#define FULL(axis, activation, args) \
    ATTRS(fusedfullyconnected, axis, activation, args)

/* The numbers of the words, as the list in ir/ops/fused.c has them. */
enum { CELU = 1, CLIP, ELU, GELU, LEAKY = 7, RELU = 9, TANH = 15 };

static void
test_numbers(void **state)
{
    glow_node n = {0};

    (void)state;
    assert_ptr_equal(glow_fused_activation(GLOW_FUSED_NONE), NULL);
    assert_ptr_equal(glow_fused_activation(CELU), &glow_op_celu);
    assert_ptr_equal(glow_fused_activation(CLIP), &glow_op_clip);
    assert_ptr_equal(glow_fused_activation(GELU), &glow_op_gelu);
    assert_ptr_equal(glow_fused_activation(LEAKY), &glow_op_leakyrelu);
    assert_ptr_equal(glow_fused_activation(RELU), &glow_op_relu);
    assert_ptr_equal(glow_fused_activation(TANH), &glow_op_tanh);
    n.op = &glow_op_tanh;
    assert_int_equal(glow_fused_activation_of(&n), TANH);
    n.op = &glow_op_prelu;
    assert_int_equal(glow_fused_activation_of(&n), GLOW_FUSED_NONE);
}

static void
test_convolution(void **state)
{
    const op_case cases[] = {
        /* 1 2 3 times 10, and 100 */
        GIVES(fusedconvolution, CONV(1, GLOW_FUSED_NONE, ARGS(none, 0)),
              IN("float 1 3 1: 1 2 3", "float 1 1 1: 10", "float 1: 100", "_"),
              OUT("float 1 3 1: 110 120 130")),
        GIVES(fusedconvolution, CONV(1, RELU, ARGS(none, 0)),
              IN("float 1 3 1: 1 2 3", "float 1 1 1: 10", "_",
                 "float 1 3 1: -20 -20 5"),
              OUT("float 1 3 1: 0 0 35")),
        GIVES(fusedconvolution, CONV(1, CLIP, ARGS(clip, 2)),
              IN("float64 1 3 1: 1 2 3", "float64 1 1 1: 10", "float64 1: -15",
                 "float64 1 3 1: 0 1 100"),
              OUT("float64 1 3 1: 0 6 40")),
        /* Two groups; an argument. */
        GIVES(fusedconvolution, CONV(2, LEAKY, ARGS(leaky, 1)),
              IN("float 1 1 2: 1 2", "float 2 1 1: -4 5", "float 2: 1 1",
                 "float 1 1 2: 0"),
              OUT("float 1 1 2: -1.5 11")),
        /* No rounding in between: 2048 + 1 is no half, but 2048 + 2 is. */
        GIVES(fusedconvolution, CONV(1, GLOW_FUSED_NONE, ARGS(none, 0)),
              IN("float16 1 1 1: 2048", "float16 1 1 1: 1", "float16 1: 1",
                 "float16 1 1 1: 1"),
              OUT("float16 1 1 1: 2050")),
        REFUSES(fusedconvolution, CONV(1, RELU, ARGS(leaky, 1)),
                IN("float 1 1 1: 1", "float 1 1 1: 1", "_", "_"),
                OUT("float 1 1 1"),
                "ActivationArgs has 1 elements, but Relu takes 0"),
        REFUSES(fusedconvolution, CONV(1, GELU, ARGS(form, 1)),
                IN("float 1 1 1: 1", "float 1 1 1: 1", "_", "_"),
                OUT("float 1 1 1"),
                "ActivationArgs[0] is 1.5, but must be the number of one of 2"),
        REFUSES(fusedconvolution, CONV(1, CELU, ARGS(none, 1)),
                IN("float 1 1 1: 1", "float 1 1 1: 1", "_", "_"),
                OUT("float 1 1 1"), "Alpha is 0, but must be greater than 0"),
        REFUSES(fusedconvolution, CONV(1, RELU, ARGS(none, 0)),
                IN("float 1 1 1: 1", "float 1 1 1: 1", "_", "float 1 2 1: 1"),
                OUT("float 1 1 1"), "Addend has 2 elements, but Result has 1"),
        REFUSES(fusedconvolution, CONV(1, RELU, ARGS(none, 0)),
                IN("float 1 1 1: 1", "float 1 1 1: 1", "_", "float64 1 1 1: 1"),
                OUT("float 1 1 1"), "the elements of Addend are float64"),
        REFUSES(fusedconvolution, CONV(2, RELU, ARGS(none, 0)),
                IN("float 1 1 1: 1", "float 1 1 1: 1", "_", "_"),
                OUT("float 1 1 1"), "Group is 2, but Input has 1 channels"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_fullyconnected(void **state)
{
    const op_case cases[] = {
        GIVES(fusedfullyconnected, FULL(1, RELU, ARGS(none, 0)),
              IN("float 2 2: 1 2 3 4", "float 2 1: 1 -1", "float 1: 0.5",
                 "float 2 1: 0 1"),
              OUT("float 2 1: 0 0.5")),
        GIVES(fusedfullyconnected, FULL(2, GLOW_FUSED_NONE, ARGS(none, 0)),
              IN("float 1 2 2: 1 2 3 4", "float 2 1: 1 -1", "_", "_"),
              OUT("float 2 1: -1 -1")),
        /* Elements of the addend count alone. */
        GIVES(fusedfullyconnected, FULL(2, GLOW_FUSED_NONE, ARGS(none, 0)),
              IN("float 1 2 2: 1 2 3 4", "float 2 1: 1 -1", "_",
                 "float 1 1 2: 10 20"),
              OUT("float 2 1: 9 19")),
        GIVES(fusedfullyconnected, FULL(1, ELU, ARGS(none, 1)),
              IN("float 1 1: -3", "float 1 1: 1", "_", "_"),
              OUT("float 1 1: -0")),
        GIVES(fusedfullyconnected, FULL(0, TANH, ARGS(none, 0)),
              IN("float 0:", "float 0 2:", "_", "float 1 2: 0"),
              OUT("float 1 2: 0 0")),
        REFUSES(fusedfullyconnected, FULL(3, RELU, ARGS(none, 0)),
                IN("float 2 2: 1", "float 2 1: 1", "_", "_"), OUT("float 2 1"),
                "Axis is 3, but the rank of Input is 2"),
        REFUSES(fusedfullyconnected, FULL(1, RELU, ARGS(none, 0)),
                IN("float 2 2: 1", "float 2 1: 1", "float 2: 1", "_"),
                OUT("float 2 1"),
                "the shape of Bias is <2>, but that of a row"),
        REFUSES(fusedfullyconnected, FULL(1, RELU, ARGS(none, 0)),
                IN("float 2 2: 1", "float 2 1: 1", "_", "float 1 1: 1"),
                OUT("float 2 1"), "Addend has 1 elements, but Result has 2"),
    };

    (void)state;
    CHECK_CASES(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_convolution),
        cmocka_unit_test(test_fullyconnected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
