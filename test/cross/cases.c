/*
 * Runs the bundles of the table `cases`, each on its own input, and prints the bytes
 * of its result in hexadecimal: a line for each.
 */

#include "cases.h"
#include "start.h"

static uint8_t io[MOST_IO] __attribute__((aligned(64)));
static uint8_t scratch[MOST_SCRATCH] __attribute__((aligned(64)));

static void
put_byte(uint8_t byte)
{
    static const char digits[] = "0123456789abcdef";
    const char text[] = {digits[byte >> 4], digits[byte & 15], '\0'};

    put(text);
}

int
main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bundle *b = &cases[i];

        memset(io, 0x5a, sizeof io);
        memset(scratch, 0x5a, sizeof scratch);
        memcpy(io + b->input_offset, b->input, b->input_size);
        if (b->run(b->weights, io, scratch) != 0)
            return 3;
        for (uint32_t k = 0; k < b->result_size; k++)
            put_byte(io[b->result_offset + k]);
        put("\n");
    }
    return 0;
}
