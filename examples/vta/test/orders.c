/*
 * orders IMAGE SEEDS DELETIONS: runs an image in random orders of its queues, and with
 * tokens deleted.
 *
 * No order may change a bit of DRAM.  Without one of its tokens the program must stop
 * with a fault or leave a token behind.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../image.h"

static uint64_t
draw(uint64_t *s)
{
    *s = *s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *s >> 33;
}

static bool
run_all(const vta_image *x, vta_machine *m, uint8_t *dram, uint64_t seed,
        vta_report *r)
{
    memset(r, 0, sizeof *r);
    memcpy(dram, x->dram, (size_t)x->bytes);
    vta_machine_poison(m);
    for (int64_t i = 0; i < x->segments; i++)
        if (!vta_machine_run(m, dram, x->bytes, x->words[i], x->count[i], seed,
                             r))
            return false;
    return true;
}

static int
fail(const char *what, uint64_t seed, const char *why)
{
    fprintf(stderr, "orders: %s, seed %" PRIu64 ": %s\n", what, seed, why);
    return 1;
}

/* Clears one of the four token bits of an instruction; false: it has none. */
static bool
delete_token(vta_image *x, uint64_t *state, vta_word **word, vta_word *before)
{
    int64_t segment = (int64_t)(draw(state) % (uint64_t)x->segments);
    int64_t i = (int64_t)(draw(state) % (uint64_t)x->count[segment]);
    uint64_t bit = UINT64_C(8) << draw(state) % 4;

    *word = &x->words[segment][i];
    *before = **word;
    (*word)->low &= ~bit;
    return before->low & bit;
}

static int
check(vta_image *x, vta_machine *m, uint64_t seeds, uint64_t deletions,
      uint8_t *first, uint8_t *dram)
{
    uint64_t state = 1;
    vta_report r;

    for (int64_t i = 0; i < x->inputs; i++)
        for (int64_t k = 0; k < x->input_bytes[i]; k++)
            x->dram[x->input_at[i] + k] = (uint8_t)draw(&state);
    if (!run_all(x, m, first, 0, &r))
        return fail("timed", 0, r.fault);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        if (!run_all(x, m, dram, seed, &r))
            return fail("order", seed, r.fault);
        if (memcmp(first, dram, (size_t)x->bytes))
            return fail("order", seed, "another result");
    }
    for (uint64_t k = 0; k < deletions;) {
        vta_word *word, before;

        if (delete_token(x, &state, &word, &before)) {
            k++;
            if (run_all(x, m, dram, k, &r))
                return fail("deletion", k, "no fault");
        }
        *word = before;
    }
    printf("%" PRIu64 " orders, %" PRIu64 " deletions\n", seeds, deletions);
    return 0;
}

int
main(int argc, char **argv)
{
    vta_image *x = argc == 4 ? vta_image_read(argv[1]) : NULL;
    vta_machine *m = x ? vta_machine_new(&x->config) : NULL;
    uint8_t *first, *dram;
    int status;

    if (!m)
        return fail("image", 0, "not readable, or sizes that are not possible");
    first = malloc((size_t)x->bytes + 1);
    dram = malloc((size_t)x->bytes + 1);
    status = check(x, m, strtoull(argv[2], NULL, 10),
                   strtoull(argv[3], NULL, 10), first, dram);
    free(first);
    free(dram);
    vta_machine_free(m);
    vta_image_free(x);
    return status;
}
