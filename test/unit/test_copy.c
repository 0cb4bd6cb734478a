/* Copies of blocks in any order of axes, against element by element. */

#include "unit.h"

#include <string.h>

#include "glow/tensor.h"
#include "ir/ops/common.h"

static uint32_t state = 1;

static int
draw(int most)
{
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 8) % (uint32_t)most);
}

static glow_dims
draw_shape(void)
{
    glow_dims shape = {.rank = 1 + draw(4)};

    for (int i = 0; i < shape.rank; i++)
        shape.at[i] = 1 + draw(shape.rank > 2 && draw(4) ? 9 : 70);
    return shape;
}

/* The steps of a dense tensor whose axes stand in an order drawn at random. */
static glow_dims
draw_steps(glow_dims shape)
{
    int order[GLOW_MAX_RANK];
    glow_dims step = shape;
    int64_t size = 1;

    for (int i = 0; i < shape.rank; i++) {
        int k = draw(i + 1);

        order[i] = order[k];
        order[k] = i;
    }
    for (int i = shape.rank - 1; i >= 0; i--) {
        step.at[order[i]] = size;
        size *= shape.at[order[i]];
    }
    return step;
}

static void
blocks_agree(void **state_)
{
    static const glow_kind kinds[] = {GLOW_FLOAT, GLOW_FLOAT64, GLOW_BOOL,
                                      GLOW_FLOAT16};

    (void)state_;
    for (int round = 0; round < 1000; round++) {
        glow_dims shape = draw_shape(), to = draw_steps(shape);
        glow_dims from = draw_steps(shape);
        int64_t count = glow_dims_count(shape);
        glow_type t = glow_type_of(kinds[round % 4], GLOW_DIMS_OF(count));
        size_t bytes = (size_t)glow_kind_get(t.elem)->bytes;
        glow_tensor x = glow_tensor_new(&t), y = glow_tensor_new(&t);
        unsigned char *a = x.data, *b = y.data;

        for (size_t i = 0; i < (size_t)count * bytes; i++)
            a[i] = (unsigned char)draw(256);
        glow_copy_block(&y, 0, to, &x, 0, from, shape);
        GLOW_FOR_EACH_INDEX(i, shape) {
            size_t at = 0, source = 0;

            for (int d = 0; d < shape.rank; d++) {
                at += (size_t)(i.at[d] * to.at[d]);
                source += (size_t)(i.at[d] * from.at[d]);
            }
            if (memcmp(b + at * bytes, a + source * bytes, bytes))
                fail_msg("round %d: other bytes", round);
        }
        glow_tensor_end(&x);
        glow_tensor_end(&y);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_agree)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
