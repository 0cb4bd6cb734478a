/*
 * The encoder and the machine, against loops over plain arrays.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../machine.h"

enum { UOPS = 64, WGTS = 16, INPS = 64, ACCS = 64, DRAM = 1 << 16 };

static const vta_config config = {
    .elements = {UOPS, WGTS, INPS, ACCS},
    .depth = 4,
    .outstanding = 2,
    .setup = 10,
    .bytes_per_cycle = 8,
};

static uint64_t state = 7;

static int64_t
draw(int64_t below)
{
    state =
        state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((state >> 33) % (uint64_t)below);
}

#define CHECK(x) ((x) ? (void)0 : fail(__LINE__, #x))

static void
fail(int line, const char *what)
{
    fprintf(stderr, "test_machine.c:%d: %s\n", line, what);
    exit(1);
}

/* Words. */

static vta_instruction
random_instruction(void)
{
    vta_instruction i = {.opcode = (vta_opcode)draw(5)};

    i.pop_previous = draw(2);
    i.pop_next = draw(2);
    i.push_previous = draw(2);
    i.push_next = draw(2);
    if (i.opcode == VTA_LOAD || i.opcode == VTA_STORE) {
        static const vta_memory loads[] = {VTA_UOP, VTA_WGT, VTA_INP, VTA_ACC,
                                           VTA_ACC8};

        i.memory = i.opcode == VTA_STORE ? VTA_OUT : loads[draw(5)];
        i.scratchpad = draw(1 << 16);
        i.dram = draw(INT64_C(1) << 32);
        i.rows = draw(1 << 16);
        i.columns = draw(1 << 16);
        i.stride = draw(1 << 16);
        i.above = (int)draw(16);
        i.below = (int)draw(16);
        i.left = (int)draw(16);
        i.right = (int)draw(16);
        i.pad_least = draw(2);
    } else if (i.opcode != VTA_FINISH) {
        i.reset = draw(2);
        i.first = draw(1 << 13);
        i.end = draw(1 << 14);
        i.outer = draw(1 << 14);
        i.inner = draw(1 << 14);
        i.dst_outer = draw(1 << 11);
        i.dst_inner = draw(1 << 11);
        i.src_outer = draw(1 << 11);
        i.src_inner = draw(1 << 11);
        if (i.opcode == VTA_GEMM) {
            i.wgt_outer = draw(1 << 10);
            i.wgt_inner = draw(1 << 10);
        } else {
            i.function = (vta_function)draw(VTA_FUNCTIONS);
            i.has_immediate = draw(2);
            i.immediate = (int)draw(1 << 16) - (1 << 15);
        }
    }
    return i;
}

static void
test_words(void)
{
    vta_word w;
    vta_instruction back, wide = {.opcode = VTA_GEMM, .src_outer = 1 << 11};

    for (int k = 0; k < 10000; k++) {
        vta_instruction i = random_instruction();

        CHECK(vta_encode(&i, &w) && vta_decode(w, &back));
        CHECK(memcmp(&i, &back, sizeof i) == 0);
    }
    CHECK(!vta_encode(&wide, &w));
    wide = (vta_instruction){.opcode = VTA_ALU, .immediate = 1 << 15};
    CHECK(!vta_encode(&wide, &w));
    CHECK(!vta_decode((vta_word){7, 0}, &back));
    CHECK(!vta_decode((vta_word){VTA_ALU, UINT64_C(7) << 44}, &back));
    /* By hand: a load of 3 rows of 5 inputs, that pops next and pushes next. */
    wide = (vta_instruction){.opcode = VTA_LOAD,
                             .pop_next = true,
                             .push_next = true,
                             .memory = VTA_INP,
                             .scratchpad = 9,
                             .dram = 6,
                             .rows = 3,
                             .columns = 5,
                             .stride = 7,
                             .right = 1};
    CHECK(vta_encode(&wide, &w));
    CHECK(w.low == (UINT64_C(6) << 26 | 9 << 10 | 2 << 7 | 8 << 3 | 2 << 3));
    CHECK(w.high == (UINT64_C(1) << 60 | UINT64_C(7) << 32 | 5 << 16 | 3));
}

static void
test_round(void)
{
    /* shift, least, x, result */
    static const int cases[][4] = {
        {1, -128, 1, 0},           {1, -128, 3, 2},
        {1, -128, -1, 0},          {1, -128, -3, -2},
        {2, -128, 5, 1},           {2, -128, 7, 2},
        {0, -128, 130, 127},       {0, -128, -130, -128},
        {4, 0, -100, 0},           {4, 3, 0, 3},
        {31, -128, INT32_MAX, 1},  {31, -128, 1 << 30, 0},
        {30, -128, INT32_MIN, -2},
    };

    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        CHECK(vta_round(cases[k][2],
                        vta_round_immediate(cases[k][0], cases[k][1])) ==
              cases[k][3]);
}

/* Programs. */

static bool
run(uint8_t *dram, const vta_instruction *program, int64_t n, vta_report *r)
{
    vta_machine *m = vta_machine_new(&config);
    vta_word words[32];
    bool ok;

    memset(r, 0, sizeof *r);
    for (int64_t k = 0; k < n; k++)
        CHECK(vta_encode(&program[k], &words[k]));
    ok = vta_machine_run(m, dram, DRAM, words, n, 0, r);
    vta_machine_free(m);
    return ok;
}

static void
put_uop(uint8_t *dram, int64_t at, int64_t dst, int64_t src, int64_t wgt)
{
    uint32_t w;

    CHECK(vta_encode_uop((vta_uop){dst, src, wgt}, &w));
    memcpy(dram + 4 * at, &w, 4);
}

static vta_instruction
load(vta_memory m, int64_t to, int64_t from, int64_t n)
{
    return (vta_instruction){.opcode = VTA_LOAD,
                             .memory = m,
                             .scratchpad = to,
                             .dram = from,
                             .rows = 1,
                             .columns = n,
                             .stride = n};
}

static vta_instruction
store(int64_t from, int64_t to, int64_t n)
{
    return (vta_instruction){.opcode = VTA_STORE,
                             .memory = VTA_OUT,
                             .scratchpad = from,
                             .dram = to,
                             .rows = 1,
                             .columns = n,
                             .stride = n};
}

/*
 * acc[2 + 3y + x] = bias + inp[x + 4y] w[1] + inp[1 + x + 4y] w[2], for 2 rows of 3, then
 * stored.  Bias is at 0x1000, inputs at 0x2000, weights at 0x3000, results at 0x4000.
 */
static void
test_gemm(void)
{
    static uint8_t dram[DRAM];
    const int8_t *inp = (int8_t *)dram + 0x2000, *wgt = (int8_t *)dram + 0x3000;
    const int8_t *out = (int8_t *)dram + 0x4000;
    vta_report r;
    vta_instruction p[] = {
        load(VTA_INP, 0, 0x2000 / 16, 12),
        load(VTA_WGT, 1, 0x3000 / 256, 2),
        load(VTA_UOP, 0, 0, 3),
        load(VTA_ACC, 0, 0x1000 / 64, 1),
        {.opcode = VTA_ALU,
         .first = 2,
         .end = 3,
         .outer = 2,
         .inner = 3,
         .dst_outer = 3,
         .dst_inner = 1,
         .function = VTA_MOVE},
        {.opcode = VTA_GEMM,
         .first = 0,
         .end = 2,
         .outer = 2,
         .inner = 3,
         .dst_outer = 3,
         .dst_inner = 1,
         .src_outer = 4,
         .src_inner = 1},
        store(2, 0x4000 / 16, 6),
        {.opcode = VTA_FINISH},
    };

    for (int k = 0x1000; k < 0x4000; k++)
        dram[k] = (uint8_t)draw(256);
    put_uop(dram, 0, 2, 0, 1);
    put_uop(dram, 1, 2, 1, 2);
    put_uop(dram, 2, 2, 0, 0);
    p[1].push_next = p[5].pop_previous = true; /* loads, then the product */
    p[5].push_next = p[6].pop_previous = true; /* then the store */
    p[6].push_previous = p[7].pop_next = true;
    CHECK(run(dram, p, 8, &r));
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < 3; x++)
            for (int j = 0; j < 16; j++) {
                int32_t sum;

                memcpy(&sum, dram + 0x1000 + 4 * j, 4);
                for (int t = 0; t < 2; t++)
                    for (int k = 0; k < 16; k++)
                        sum =
                            (int32_t)((uint32_t)sum +
                                      (uint32_t)(inp[(4 * y + x + t) * 16 + k] *
                                                 wgt[256 * t + 16 * j + k]));
                CHECK(out[(3 * y + x) * 16 + j] == (int8_t)(uint8_t)sum);
            }
    CHECK(r.gemm_steps == 12 && r.alu_steps == 6 && r.instructions == 8);
    CHECK(r.bytes[VTA_LOADER] == 12 * 16 + 2 * 256);
    CHECK(r.bytes[VTA_COMPUTER] == 3 * 4 + 64 && r.bytes[VTA_STORER] == 96);
    /* Inputs, weights, product, store: none overlaps another. */
    CHECK(r.cycles >= 10 + (12 * 16 + 2 * 256) / 8 + 12 + 10 + 96 / 8);

    p[5].pop_previous = false;
    CHECK(!run(dram, p, 8, &r)); /* a token is left */
    p[5].pop_previous = true;
    p[1].push_next = false;
    CHECK(!run(dram, p, 8, &r) && strstr(r.fault, "never comes"));
    p[1].push_next = true;
    p[0].columns = INPS + 1;
    CHECK(!run(dram, p, 8, &r) && strstr(r.fault, "ends at element"));
    p[0].columns = 7;
    CHECK(!run(dram, p, 8, &r) && strstr(r.fault, "nothing wrote it"));
    p[0].columns = 12;
    p[0].dram = DRAM / 16;
    CHECK(!run(dram, p, 8, &r) && strstr(r.fault, "ends at byte"));
    CHECK(!run(dram, p, 7, &r) && strstr(r.fault, "does not finish"));
}

/* Two rows of three columns of a wider tensor, with padding on all sides. */
static void
test_padding(void)
{
    static uint8_t dram[DRAM];
    vta_report r;
    vta_instruction p[] = {
        {.opcode = VTA_LOAD,
         .memory = VTA_ACC8,
         .dram = 0x1000 / 16 + 2,
         .rows = 2,
         .columns = 3,
         .stride = 7,
         .above = 1,
         .below = 2,
         .left = 3,
         .right = 1,
         .pad_least = true},
        store(0, 0x4000 / 16, 35),
        {.opcode = VTA_FINISH},
    };

    for (int k = 0x1000; k < 0x2000; k++)
        dram[k] = (uint8_t)draw(256);
    for (int least = 0; least < 2; least++) {
        p[0].pad_least = least;
        p[0].push_next = p[1].pop_previous = true;
        p[1].push_previous = p[2].pop_next = true;
        CHECK(run(dram, p, 3, &r));
        for (int k = 0; k < 35 * 16; k++) {
            int row = k / 16 / 7 - 1, column = k / 16 % 7 - 3;
            bool pad = row < 0 || row > 1 || column < 0 || column > 2;

            CHECK(dram[0x4000 + k] ==
                  (pad ? (least ? 128 : 0)
                       : dram[0x1000 + (2 + row * 7 + column) * 16 + k % 16]));
        }
    }
    p[1].above = 1;
    CHECK(!run(dram, p, 3, &r) && strstr(r.fault, "padding"));
}

static int32_t
expected(vta_function f, int32_t a, int32_t b)
{
    switch (f) {
    case VTA_MIN:
        return a < b ? a : b;
    case VTA_MAX:
        return a > b ? a : b;
    case VTA_ADD:
        return a + b;
    case VTA_SHIFT:
        return b < 0 ? a * (1 << -b) : a >> b;
    case VTA_MUL:
        return a * b;
    case VTA_ROUND:
        return vta_round(a, b);
    default:
        return b;
    }
}

static void
test_alu(void)
{
    for (int f = 0; f < VTA_FUNCTIONS; f++)
        for (int immediate = 0; immediate < 2; immediate++) {
            static uint8_t dram[DRAM];
            vta_report r;
            int value =
                f == VTA_SHIFT && draw(2) ? -(int)draw(4) : (int)draw(8);
            vta_instruction p[] = {
                load(VTA_UOP, 0, 0, 1),
                load(VTA_ACC8, 0, 0x1000 / 16, 8),
                {.opcode = VTA_ALU,
                 .first = 0,
                 .end = 1,
                 .outer = 1,
                 .inner = 4,
                 .dst_inner = 1,
                 .src_inner = 1,
                 .function = (vta_function)f,
                 .has_immediate = immediate,
                 .immediate = value,
                 .push_next = true},
                store(0, 0x4000 / 16, 4),
                {.opcode = VTA_FINISH, .pop_next = true},
            };

            for (int k = 0x1000; k < 0x1040; k++)
                dram[k] = (uint8_t)draw(256);
            for (int k = 0x1040; k < 0x1080; k++)
                dram[k] = (uint8_t)draw(8);
            put_uop(dram, 0, 0, 4, 0);
            p[3].pop_previous = p[3].push_previous = true;
            CHECK(run(dram, p, 5, &r));
            for (int k = 0; k < 64; k++)
                CHECK(dram[0x4000 + k] ==
                      (uint8_t)expected(
                          (vta_function)f, (int8_t)dram[0x1000 + k],
                          immediate ? value : (int8_t)dram[0x1040 + k]));
        }
}

int
main(void)
{
    vta_config wide = config;

    wide.elements[VTA_WGT] = 1025; /* more than 10 bits address */
    CHECK(vta_machine_new(&wide) == NULL);
    test_words();
    test_round();
    test_gemm();
    test_padding();
    test_alu();
    return 0;
}
