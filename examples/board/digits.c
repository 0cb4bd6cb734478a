/*
 * digits: classify pictures of handwritten digits on a Cortex-M.
 *
 * The network is digits.o, which glow-opt -emit-bundle wrote together with digits.h; it
 * has the weights as a constant.  Weights and images are in flash; nothing else than the
 * start code is linked in.  Prints how many images the network gets right.
 */

#include "digits.h"
#include "start.h"

enum { CLASSES = DIGITS_PROBABILITY_COUNT };

/* data.S: pixels as floats, and the digits that they show as bytes. */
extern const uint8_t images[], labels[], labels_end[];

/* board.ld: the memory that is left for the stack. */
extern uint8_t bss_end[], stack_top[];

/* Bytes of stack for this program and the functions of float.c. */
enum { RESERVE = 1024 };

/* The memory that the network works in. */
static uint8_t io[DIGITS_PLACEHOLDERS_SIZE]
    __attribute__((aligned(DIGITS_ALIGN)));
static uint8_t scratch[DIGITS_ACTIVATIONS_SIZE]
    __attribute__((aligned(DIGITS_ALIGN)));

static int
most_probable(const DIGITS_PROBABILITY_TYPE *probability)
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

    if (stack_top - bss_end < DIGITS_STACK_SIZE + RESERVE) {
        put("the stack is too small\n");
        return 1;
    }
    for (unsigned i = 0; i < count; i++) {
        DIGITS_PROBABILITY_TYPE probability[CLASSES];

        memcpy(io + DIGITS_IMAGE_OFFSET, images + i * DIGITS_IMAGE_SIZE,
               DIGITS_IMAGE_SIZE);
        if (digits(digits_weights, io, scratch) != 0)
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
