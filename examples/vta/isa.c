/* Encoder and decoder of instructions, by one table of bit fields. */

#include <inttypes.h>
#include <stdio.h>

#include "isa.h"

static bool
put(vta_word *w, int at, int bits, int64_t v)
{
    uint64_t u = (uint64_t)v;

    if (v < 0 || u >> bits)
        return false;
    if (at < 64)
        w->low |= u << at;
    else
        w->high |= u << (at - 64);
    return true;
}

static int64_t
get(vta_word w, int at, int bits)
{
    uint64_t u = at < 64 ? w.low >> at : w.high >> (at - 64);

    return (int64_t)(u & ((UINT64_C(1) << bits) - 1));
}

static bool
encode_move(const vta_instruction *i, vta_word *w)
{
    return put(w, 7, 3, (int64_t)i->memory) && put(w, 10, 16, i->scratchpad) &&
           put(w, 26, 32, i->dram) && put(w, 58, 1, i->pad_least) &&
           put(w, 64, 16, i->rows) && put(w, 80, 16, i->columns) &&
           put(w, 96, 16, i->stride) && put(w, 112, 4, i->above) &&
           put(w, 116, 4, i->below) && put(w, 120, 4, i->left) &&
           put(w, 124, 4, i->right);
}

static bool
encode_loop(const vta_instruction *i, vta_word *w)
{
    if (!(put(w, 7, 1, i->reset) && put(w, 8, 13, i->first) &&
          put(w, 21, 14, i->end) && put(w, 35, 14, i->outer) &&
          put(w, 49, 14, i->inner) && put(w, 64, 11, i->dst_outer) &&
          put(w, 75, 11, i->dst_inner) && put(w, 86, 11, i->src_outer) &&
          put(w, 97, 11, i->src_inner)))
        return false;
    if (i->opcode == VTA_GEMM)
        return put(w, 108, 10, i->wgt_outer) && put(w, 118, 10, i->wgt_inner);
    if (i->immediate < INT16_MIN || i->immediate > INT16_MAX)
        return false;
    return put(w, 108, 3, (int64_t)i->function) &&
           put(w, 111, 1, i->has_immediate) &&
           put(w, 112, 16, (uint16_t)i->immediate);
}

bool
vta_encode(const vta_instruction *i, vta_word *w)
{
    *w = (vta_word){0, 0};
    if (!(put(w, 0, 3, (int64_t)i->opcode) && put(w, 3, 1, i->pop_previous) &&
          put(w, 4, 1, i->pop_next) && put(w, 5, 1, i->push_previous) &&
          put(w, 6, 1, i->push_next)))
        return false;
    if (i->opcode == VTA_LOAD || i->opcode == VTA_STORE)
        return encode_move(i, w);
    return i->opcode == VTA_FINISH || encode_loop(i, w);
}

bool
vta_decode(vta_word w, vta_instruction *i)
{
    bool gemm;

    *i = (vta_instruction){
        .opcode = (vta_opcode)get(w, 0, 3),
        .pop_previous = get(w, 3, 1),
        .pop_next = get(w, 4, 1),
        .push_previous = get(w, 5, 1),
        .push_next = get(w, 6, 1),
    };
    if (i->opcode > VTA_ALU)
        return false;
    if (i->opcode == VTA_FINISH)
        return true;
    if (i->opcode == VTA_LOAD || i->opcode == VTA_STORE) {
        i->memory = (vta_memory)get(w, 7, 3);
        i->scratchpad = get(w, 10, 16);
        i->dram = get(w, 26, 32);
        i->pad_least = get(w, 58, 1);
        i->rows = get(w, 64, 16);
        i->columns = get(w, 80, 16);
        i->stride = get(w, 96, 16);
        i->above = (int)get(w, 112, 4);
        i->below = (int)get(w, 116, 4);
        i->left = (int)get(w, 120, 4);
        i->right = (int)get(w, 124, 4);
        return i->memory < VTA_MEMORIES &&
               (i->opcode == VTA_STORE) == (i->memory == VTA_OUT);
    }
    gemm = i->opcode == VTA_GEMM;
    i->reset = get(w, 7, 1);
    i->first = get(w, 8, 13);
    i->end = get(w, 21, 14);
    i->outer = get(w, 35, 14);
    i->inner = get(w, 49, 14);
    i->dst_outer = get(w, 64, 11);
    i->dst_inner = get(w, 75, 11);
    i->src_outer = get(w, 86, 11);
    i->src_inner = get(w, 97, 11);
    i->wgt_outer = gemm ? get(w, 108, 10) : 0;
    i->wgt_inner = gemm ? get(w, 118, 10) : 0;
    i->function = gemm ? VTA_MIN : (vta_function)get(w, 108, 3);
    i->has_immediate = !gemm && get(w, 111, 1);
    i->immediate = gemm ? 0 : (int16_t)get(w, 112, 16);
    return i->function < VTA_FUNCTIONS;
}

bool
vta_encode_uop(vta_uop u, uint32_t *w)
{
    *w = (uint32_t)u.dst | (uint32_t)u.src << 11 | (uint32_t)u.wgt << 22;
    return u.dst >> 11 == 0 && u.src >> 11 == 0 && u.wgt >> 10 == 0;
}

vta_uop
vta_decode_uop(uint32_t w)
{
    return (vta_uop){w & 2047, w >> 11 & 2047, w >> 22};
}

vta_unit
vta_unit_of(const vta_instruction *i)
{
    if (i->opcode == VTA_STORE)
        return VTA_STORER;
    return i->opcode == VTA_LOAD &&
                   (i->memory == VTA_WGT || i->memory == VTA_INP)
               ? VTA_LOADER
               : VTA_COMPUTER;
}

int
vta_element_bytes(vta_memory m)
{
    static const int bytes[VTA_MEMORIES] = {
        [VTA_UOP] = 4,  [VTA_WGT] = 256, [VTA_INP] = 16,
        [VTA_ACC] = 64, [VTA_OUT] = 16,  [VTA_ACC8] = 16,
    };

    return bytes[m];
}

int64_t
vta_moved_bytes(const vta_instruction *i)
{
    return i->opcode == VTA_LOAD || i->opcode == VTA_STORE
               ? i->rows * i->columns * vta_element_bytes(i->memory)
               : 0;
}

int64_t
vta_steps(const vta_instruction *i)
{
    return i->opcode == VTA_GEMM || i->opcode == VTA_ALU
               ? i->outer * i->inner * (i->end - i->first)
               : 0;
}

int
vta_print(const vta_instruction *i, char *out, size_t size)
{
    static const char *const opcodes[] = {"load", "store", "gemm", "finish",
                                          "alu"};
    static const char *const memories[] = {"uop", "wgt", "inp",
                                           "acc", "out", "acc8"};
    static const char *const functions[] = {"min", "max",   "add", "shift",
                                            "mul", "round", "move"};
    char tokens[8], *t = tokens;

    *t++ = i->pop_previous ? '<' : '.';
    *t++ = i->pop_next ? '>' : '.';
    *t++ = i->push_previous ? '<' : '.';
    *t++ = i->push_next ? '>' : '.';
    *t = 0;
    if (i->opcode == VTA_FINISH)
        return snprintf(out, size, "%s finish", tokens);
    if (i->opcode == VTA_LOAD || i->opcode == VTA_STORE)
        return snprintf(out, size,
                        "%s %s %s[%" PRId64 "] dram[%" PRId64 "] %" PRId64
                        " x %" PRId64 " stride %" PRId64 " pad %d %d %d %d%s",
                        tokens, opcodes[i->opcode], memories[i->memory],
                        i->scratchpad, i->dram, i->rows, i->columns, i->stride,
                        i->above, i->below, i->left, i->right,
                        i->pad_least ? " least" : "");
    return snprintf(out, size,
                    "%s %s%s%s uop[%" PRId64 ":%" PRId64 "] %" PRId64
                    " x %" PRId64 " dst %" PRId64 " %" PRId64 " src %" PRId64
                    " %" PRId64 " %s %" PRId64 " %" PRId64,
                    tokens, opcodes[i->opcode], i->opcode == VTA_ALU ? "." : "",
                    i->opcode == VTA_ALU ? functions[i->function]
                    : i->reset           ? " reset"
                                         : "",
                    i->first, i->end, i->outer, i->inner, i->dst_outer,
                    i->dst_inner, i->src_outer, i->src_inner,
                    i->opcode == VTA_GEMM ? "wgt"
                    : i->has_immediate    ? "imm"
                                          : "",
                    i->opcode == VTA_GEMM ? i->wgt_outer : i->immediate,
                    i->opcode == VTA_GEMM ? i->wgt_inner : 0);
}

int
vta_round_immediate(int shift, int least)
{
    return (int16_t)(uint16_t)((unsigned)shift | (unsigned)(uint8_t)least << 8);
}

int32_t
vta_round(int32_t x, int immediate)
{
    int shift = immediate & 31, least = (int8_t)(immediate >> 8);
    int64_t half = shift ? INT64_C(1) << (shift - 1) : 0;
    int64_t floor = x >> shift, rest = x - (int64_t)((uint64_t)floor << shift);
    int64_t q =
        floor + (shift && (rest > half || (rest == half && (floor & 1))));

    return (int32_t)(q < least ? least : q > 127 ? 127 : q);
}
