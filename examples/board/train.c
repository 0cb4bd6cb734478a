/*
 * train: steps of training on a Cortex-M, one picture each, and inference.
 *
 * The bundle `digits` has the functions digits_step and digits_run, the constants and the
 * first weights.  Those are copied from flash to memory, where steps change them in place
 * and inference reads them.  Prints the mean loss of the first and of the last quarter of
 * the steps, in thousandths, how many of the last pictures are right before and after,
 * and a hash of the weights.
 */

#include "digits.h"
#include "start.h"

/* train.S: pixels as floats, and labels as bytes. */
extern const uint8_t images[], labels[], labels_end[];

enum { STEPS = 60, CLASSES = DIGITS_RUN_PROBABILITY_COUNT };

static uint8_t state[DIGITS_STATE_SIZE] __attribute__((aligned(DIGITS_ALIGN)));
/* Work of both functions, one after the other. */
static uint8_t io[DIGITS_PLACEHOLDERS_SIZE]
    __attribute__((aligned(DIGITS_ALIGN)));
static uint8_t work[DIGITS_ACTIVATIONS_SIZE]
    __attribute__((aligned(DIGITS_ALIGN)));

static void
put_number(uint32_t v)
{
    char text[11], *at = text + sizeof text - 1;

    *at = '\0';
    do
        *--at = (char)('0' + v % 10);
    while (v /= 10);
    put(at);
}

/* FNV-1a, 32 bits. */
static uint32_t
hash_state(void)
{
    uint32_t hash = 2166136261u;

    for (uint32_t k = 0; k < DIGITS_STATE_BUSY_OFFSET; k++)
        hash = (hash ^ state[k]) * 16777619u;
    return hash;
}

/* A step along picture `i`; its loss in thousandths, or 0xffffffff. */
static uint32_t
train(uint32_t i)
{
    const float rate = 0.003f;
    const int64_t label = labels[i];
    float loss;

    memcpy(io + DIGITS_STEP_IMAGE_OFFSET, images + i * DIGITS_STEP_IMAGE_SIZE,
           DIGITS_STEP_IMAGE_SIZE);
    memcpy(io + DIGITS_STEP_LABEL_OFFSET, &label, sizeof label);
    memcpy(io + DIGITS_STEP_RATE_OFFSET, &rate, sizeof rate);
    if (digits_step(digits_weights, io, work, state) != 0)
        return UINT32_MAX;
    memcpy(&loss, io + DIGITS_STEP_LOSS_OFFSET, sizeof loss);
    return (uint32_t)(loss * 1000.0f);
}

/* The number of pictures from `begin` on that get their label. */
static uint32_t
count_right(uint32_t begin, uint32_t end)
{
    uint32_t right = 0;

    for (uint32_t i = begin; i < end; i++) {
        float p[CLASSES];
        int best = 0;

        memcpy(io + DIGITS_RUN_IMAGE_OFFSET, images + i * DIGITS_RUN_IMAGE_SIZE,
               DIGITS_RUN_IMAGE_SIZE);
        if (digits_run(digits_weights, io, work, state) != 0)
            return UINT32_MAX;
        memcpy(p, io + DIGITS_RUN_PROBABILITY_OFFSET, sizeof p);
        for (int k = 1; k < CLASSES; k++)
            best = p[k] > p[best] ? k : best;
        right += best == labels[i];
    }
    return right;
}

/* True if a call refuses state that another left half changed. */
static int
is_refused(void)
{
    uint32_t busy = 1;
    int code;

    memcpy(state + DIGITS_STATE_BUSY_OFFSET, &busy, sizeof busy);
    code = digits_run(digits_weights, io, work, state);
    busy = 0;
    memcpy(state + DIGITS_STATE_BUSY_OFFSET, &busy, sizeof busy);
    return code == -4;
}

int
main(void)
{
    uint32_t count = (uint32_t)(labels_end - labels), quarter = STEPS / 4;
    uint32_t first = 0, last = 0, right;

    memcpy(state, digits_state, sizeof state);
    right = count_right(STEPS, count);
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t loss = train(i);

        if (loss == UINT32_MAX)
            return 1;
        if (i < quarter)
            first += loss;
        if (i >= STEPS - quarter)
            last += loss;
    }
    put_number(first / quarter);
    put(", then ");
    put_number(last / quarter);
    put(" thousandths; ");
    put_number(right);
    put(", then ");
    put_number(count_right(STEPS, count));
    put(" right; weights ");
    put_number(hash_state());
    put(is_refused() ? "\n" : "; half an update is taken\n");
    return 0;
}
