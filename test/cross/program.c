/*
 * Runs a bundle `net` on the inputs that are linked in, one after the other, and
 * prints the bits of its results in hexadecimal: a line for each input.
 *
 * The placeholders of the bundle are the inputs, of INPUT_BYTES, then the results,
 * at RESULT_OFFSET.
 */

#include "net.h"
#include "start.h"

extern const uint8_t weights[], inputs[], inputs_end[];

static uint8_t io[NET_PLACEHOLDERS_SIZE + 1]
    __attribute__((aligned(NET_ALIGN)));
static uint8_t scratch[NET_ACTIVATIONS_SIZE + 1]
    __attribute__((aligned(NET_ALIGN)));

static void
put_bytes(const uint8_t *bytes, int size)
{
    static const char digits[] = "0123456789abcdef";
    char text[129];
    int n = 0;

    for (int i = 0; i < size; i++) {
        text[n++] = digits[bytes[i] >> 4];
        text[n++] = digits[bytes[i] & 15];
        text[n] = '\0';
        if (n == 128) {
            put(text);
            n = 0;
        }
    }
    if (n)
        put(text);
    put("\n");
}

int
main(void)
{
    for (const uint8_t *in = inputs; in < inputs_end; in += INPUT_BYTES) {
        memcpy(io, in, INPUT_BYTES);
        if (net(weights, io, scratch) != 0) {
            put("the code is not for this machine\n");
            return 3;
        }
        put_bytes(io + RESULT_OFFSET, RESULT_BYTES);
    }
    return 0;
}
