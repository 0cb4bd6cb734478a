/*
 * train: steps of training on a Cortex-M, one picture each.
 *
 * The step is step.o, which glow-opt -emit-bundle -state wrote together with step.h, the
 * constants, and the first weights.  Those are copied from flash to memory, where the
 * steps change them in place.  Prints the mean loss of the first and of the last
 * quarter of the steps, in thousandths, and a hash of the weights.
 */

#include "start.h"
#include "step.h"

/* train.S: constants, first state, pixels as floats, and labels as bytes. */
extern const uint8_t constants[], first_state[], images[], labels[],
    labels_end[];

/* The memory that a step works in; weights are in the placeholders. */
static uint8_t io[STEP_PLACEHOLDERS_SIZE] __attribute__((aligned(STEP_ALIGN)));
static uint8_t work[STEP_ACTIVATIONS_SIZE] __attribute__((aligned(STEP_ALIGN)));

/* All of the state is in the placeholders. */
#define ENTRY(memory, offset, size) {offset, size},
static const uint32_t state[][2] = {STEP_STATE(ENTRY)};
enum { ENTRIES = sizeof state / sizeof *state };

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

static void
set_state(const uint8_t *from)
{
    for (int i = 0; i < ENTRIES; i++) {
        memcpy(io + state[i][0], from, state[i][1]);
        from += state[i][1];
    }
}

/* FNV-1a, 32 bits. */
static uint32_t
hash_state(void)
{
    uint32_t hash = 2166136261u;

    for (int i = 0; i < ENTRIES; i++)
        for (uint32_t k = 0; k < state[i][1]; k++)
            hash = (hash ^ io[state[i][0] + k]) * 16777619u;
    return hash;
}

/* A step along picture `i`; its loss in thousandths, or 0xffffffff. */
static uint32_t
train(uint32_t i)
{
    const float rate = 0.003f;
    const int64_t label = labels[i];
    float loss;

    memcpy(io + STEP_IMAGE_OFFSET, images + i * STEP_IMAGE_SIZE,
           STEP_IMAGE_SIZE);
    memcpy(io + STEP_LABEL_OFFSET, &label, sizeof label);
    memcpy(io + STEP_RATE_OFFSET, &rate, sizeof rate);
    if (step(constants, io, work) != 0)
        return UINT32_MAX;
    memcpy(&loss, io + STEP_LOSS_OFFSET, sizeof loss);
    return (uint32_t)(loss * 1000.0f);
}

int
main(void)
{
    uint32_t count = (uint32_t)(labels_end - labels), quarter = count / 4;
    uint32_t first = 0, last = 0;

    set_state(first_state);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t loss = train(i);

        if (loss == UINT32_MAX)
            return 1;
        if (i < quarter)
            first += loss;
        if (i >= count - quarter)
            last += loss;
    }
    put_number(first / quarter);
    put(", then ");
    put_number(last / quarter);
    put(" thousandths; weights ");
    put_number(hash_state());
    put("\n");
    return 0;
}
