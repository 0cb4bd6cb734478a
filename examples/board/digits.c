/*
 * digits: classify pictures of handwritten digits on a Cortex-M.
 *
 * The network is digits.o, which glow-opt -emit-bundle wrote together with digits.h
 * and the weights.  Weights and images are constants in flash; nothing else than the
 * start code is linked in.  Prints how many images the network gets right.
 */

#include "digits.h"
#include "start.h"

enum { CLASSES = 10 };

/* data.S: weights, pixels as floats, and the digits that they show as bytes. */
extern const uint8_t weights[], images[], labels[], labels_end[];

/* The memory that the network works in. */
static uint8_t io[DIGITS_PLACEHOLDERS_SIZE]
    __attribute__((aligned(DIGITS_ALIGN)));
static uint8_t scratch[DIGITS_ACTIVATIONS_SIZE]
    __attribute__((aligned(DIGITS_ALIGN)));

static int
most_probable(const float *probability)
{
    int best = 0;

    for (int i = 1; i < CLASSES; i++)
        if (probability[i] > probability[best])
            best = i;
    return best;
}

static void
put_number(unsigned v)
{
    char text[11], *at = text + sizeof text - 1;

    *at = '\0';
    do
        *--at = (char)('0' + v % 10);
    while (v /= 10);
    put(at);
}

int
main(void)
{
    unsigned count = (unsigned)(labels_end - labels), right = 0;

    for (unsigned i = 0; i < count; i++) {
        float probability[CLASSES];

        memcpy(io + DIGITS_IMAGE_OFFSET, images + i * DIGITS_IMAGE_SIZE,
               DIGITS_IMAGE_SIZE);
        if (digits(weights, io, scratch) != 0)
            return 1;
        memcpy(probability, io + DIGITS_PROBABILITY_OFFSET, sizeof probability);
        right += most_probable(probability) == labels[i];
    }
    put_number(right);
    put(" of ");
    put_number(count);
    put(" right\n");
    return 0;
}
