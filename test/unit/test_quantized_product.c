/*
 * Products of matrices of quantized elements, held to loops over int64, and sums that 32
 * bits do not hold.
 */

#include "quantized_sums.h"

/* The sum of a row of `x` and row `j` of `w`, or column `j`. */
static int64_t
dot(const glow_tensor *x, const glow_tensor *w, int64_t depth, int64_t columns,
    int64_t offset, int64_t i, int64_t j, bool by_row)
{
    int64_t sum = 0;

    for (int64_t k = 0; k < depth; k++)
        sum += (glow_get_int(x, i * depth + k) - x->type->offset) *
               (glow_get_int(w, by_row ? j * depth + k : k * columns + j) -
                offset);
    return sum;
}

static void
check_matrix(const operands *p, int64_t depth, bool by_row,
             const glow_tensor *y, const char *what)
{
    glow_dims shape = y->type->shape;
    int64_t columns = shape.at[shape.rank - 1];
    int64_t rows = glow_type_count(y->type) / columns;

    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            check(y, i * columns + j,
                  dot(&p->x, &p->w, depth, columns, p->channels[j].offset, i, j,
                      by_row),
                  &p->channels[j], what);
}

static void
check_fullyconnected(test *t, operands *p, glow_dims y, int64_t depth,
                     int round)
{
    glow_tensor in[] = {p->x, p->w, p->bias};
    const glow_type *type =
        result_type(t, round % RESULTS, p->channels[0].unit, y);
    glow_tensor got = run(t, &glow_op_fullyconnected,
                          &(const glow_fullyconnected){.axis = 1}, in, 3, type);

    check_matrix(p, depth, false, &got, "FullyConnected");
    glow_tensor_end(&got);
    for (int64_t j = 0; j < y.at[1]; j++)
        p->channels[j].bias = 0;
    got = run(t, &glow_op_matmul, NULL, in, 2, type);
    check_matrix(p, depth, false, &got, "MatMul");
    glow_tensor_end(&got);
}

static void
check_rowwise(test *t, operands *p, glow_dims y, int64_t depth, int round)
{
    int64_t columns = y.at[1];
    glow_tensor in[] = {p->x, p->w, scales_of(t, p, columns, false),
                        offsets_of(t, p, columns, false), p->bias};
    const glow_type *type =
        result_type(t, round % RESULTS, (double)p->x.type->scale * 0.25, y);
    glow_tensor got;

    rescale_bias(p, columns, NULL, p->bias.type->offset);
    got = run(t, &glow_op_rowwisequantizedfullyconnected, NULL, in, 5, type);
    check_matrix(p, depth, true, &got, "RowwiseQuantizedFullyConnected");
    glow_tensor_end(&got);
    glow_tensor_end(&in[2]);
    glow_tensor_end(&in[3]);
}

static void
test_matrices(void **state)
{
    static const int64_t depths[] = {1, 3, 63, 64, 65, 4609};
    static const int64_t rows[] = {1, 2, 3, 4, 5, 9};
    static const glow_kind kinds[] = {GLOW_INT8Q, GLOW_UINT8Q, GLOW_INT16Q};
    test *t = *state;
    int round = 0;

    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 9; k++) {
            int64_t m = rows[(i + k) % 6], n = 1 + (i * 7 + k) % 11;
            glow_dims y = GLOW_DIMS_OF(m, n);
            operands p = draw_operands(t, kinds[k % 3], GLOW_INT8Q,
                                       GLOW_DIMS_OF(m, depths[i]),
                                       GLOW_DIMS_OF(depths[i], n), n, round);

            check_fullyconnected(t, &p, y, depths[i], round);
            end_operands(&p);
            p = draw_operands(t, kinds[k % 3], GLOW_INT8Q,
                              GLOW_DIMS_OF(m, depths[i]),
                              GLOW_DIMS_OF(n, depths[i]), n, round++);
            check_rowwise(t, &p, y, depths[i], round);
            end_operands(&p);
        }
}

static void
test_batches(void **state)
{
    test *t = *state;

    for (int round = 0; round < 12; round++) {
        int64_t batch = 3, m = 1 + round % 5, depth = 17, n = 6;
        operands p = draw_operands(t, round % 2 ? GLOW_INT8Q : GLOW_UINT8Q,
                                   GLOW_INT8Q, GLOW_DIMS_OF(batch, m, depth),
                                   GLOW_DIMS_OF(batch, depth, n), n, round);
        glow_tensor in[] = {p.x, p.w};
        glow_tensor y = run(t, &glow_op_batchmatmul, NULL, in, 2,
                            result_type(t, round % RESULTS, p.channels[0].unit,
                                        GLOW_DIMS_OF(batch, m, n)));

        for (int64_t i = 0; i < glow_type_count(y.type); i++) {
            channel none = {.unit = p.channels[0].unit};
            glow_tensor w = p.w;

            w.data = (char *)p.w.data + i / (m * n) * depth * n;
            check(
                &y, i,
                dot(&p.x, &w, depth, n, p.w.type->offset, i / n, i % n, false),
                &none, "BatchMatMul");
        }
        glow_tensor_end(&y);
        end_operands(&p);
    }
}

/* A sum that 32 bits do not hold wraps; so does a bias on top of one. */
static void
test_wrapping(void **state)
{
    test *t = *state;
    glow_type x = glow_type_of(GLOW_INT8Q, GLOW_DIMS_OF(1, 1));
    const glow_type *unit = glow_type_get(t->ctx, x);
    const glow_type *wide = quantized(t, GLOW_INT32Q, 1, 0, GLOW_DIMS_OF(1));
    glow_tensor in[] = {glow_tensor_new(unit), glow_tensor_new(unit),
                        glow_tensor_new(wide)};

    glow_set_int(&in[0], 0, 127);
    glow_set_int(&in[1], 0, 127);
    glow_set_int(&in[2], 0, INT32_MAX);

    glow_tensor y =
        run(t, &glow_op_fullyconnected, &(const glow_fullyconnected){.axis = 1},
            in, 3, quantized(t, GLOW_INT32Q, 1, 0, GLOW_DIMS_OF(1, 1)));

    assert_true(glow_get_int(&y, 0) == (int64_t)INT32_MIN + 127 * 127 - 1);
    glow_tensor_end(&y);
    for (int i = 0; i < 3; i++)
        glow_tensor_end(&in[i]);
}

/* A drawn float operand of a dynamic product. */
static glow_tensor
drawn_floats(test *t, glow_dims shape, int round)
{
    glow_tensor x =
        glow_tensor_new(glow_type_get(t->ctx, glow_type_of(GLOW_FLOAT, shape)));

    for (int64_t i = 0; i < glow_type_count(x.type); i++) {
        double v = ((double)draw(t) / 0x1p31 - (round % 3) * 0.5) * 3;

        glow_set_double(&x, i, round % 5 == 4 && i % 2 ? 0 : v);
    }
    return x;
}

/* One number of a row, whose ends are `low` and `high`, quantized. */
static int64_t
dynamic_element(float v, float low, float high, bool symmetric, float *scale)
{
    volatile float range = symmetric ? fmaxf(-low, high) : high - low;
    volatile float s = range / (symmetric ? 127 : 255);
    volatile float at, zero = 0;
    int64_t q;

    if (s == 0)
        s = 1;
    *scale = s;
    at = v / s;
    if (!symmetric) {
        volatile float below = low / s;

        zero = rintf(-128 - below);
    }
    q = (int64_t)rintf(at) + (int64_t)zero;
    return (q < -128 ? -128 : q > 127 ? 127 : q) - (int64_t)zero;
}

static void
check_dynamic(test *t, int round)
{
    bool symmetric = round % 2, each = round / 2 % 2, rowwise = round / 4 % 2;
    int64_t m = 3, depth = 37, n = 5;
    glow_dynamicquantizedfullyconnected how = {symmetric, each};
    operands p = draw_operands(t, GLOW_INT8Q, GLOW_INT8Q, GLOW_DIMS_OF(1, 1),
                               GLOW_DIMS_OF(depth, n), n, round);
    glow_tensor in[] = {drawn_floats(t, GLOW_DIMS_OF(m, depth), round), p.w,
                        drawn_floats(t, GLOW_DIMS_OF(n), 1),
                        scales_of(t, &p, n, false),
                        offsets_of(t, &p, n, false)};
    glow_tensor y = run(
        t,
        rowwise ? &glow_op_dynamicrowwisequantizedfullyconnected
                : &glow_op_dynamicquantizedfullyconnected,
        &how, in, rowwise ? 5 : 3,
        glow_type_get(t->ctx, glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(m, n))));
    const float *x = in[0].data;

    for (int64_t i = 0; i < m * n; i++) {
        int64_t row = i / n, j = i % n, sum = 0;
        float low = 0, high = 0, scale = 0;
        int64_t offset = rowwise ? glow_get_int(&in[4], j) : p.w.type->offset;
        volatile float v;

        for (int64_t k = each ? row * depth : 0;
             k < (each ? (row + 1) * depth : m * depth); k++) {
            low = fminf(low, x[k]);
            high = fmaxf(high, x[k]);
        }
        for (int64_t k = 0; k < depth; k++)
            sum += dynamic_element(x[row * depth + k], low, high, symmetric,
                                   &scale) *
                   (glow_get_int(&p.w, k * n + j) - offset);
        v = (float)sum *
            (rowwise ? (float)glow_get_double(&in[3], j) : p.w.type->scale);
        v = v * scale;
        v = v + (float)glow_get_double(&in[2], j);
        if (glow_get_double(&y, i) != (double)v)
            fail_msg("round %d: element %lld is %.9g, but should be %.9g",
                     round, (long long)i, glow_get_double(&y, i), (double)v);
    }
    glow_tensor_end(&y);
    glow_tensor_end(&in[0]);
    for (int i = 2; i < 5; i++)
        glow_tensor_end(&in[i]);
    end_operands(&p);
}

static void
test_dynamic(void **state)
{
    for (int round = 0; round < 40; round++)
        check_dynamic(*state, round);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_matrices),
        TEST(test_batches),
        TEST(test_wrapping),
        TEST(test_dynamic),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
