#!/usr/bin/env python3
"""check.py WORDS REPORT BYTES_PER_CYCLE [MACS]: holds reported cycles to the words.

Decodes instruction words by itself and computes multiply-adds / 256 and bytes / rate.
No program can take fewer cycles than either.  The counts of the report must be those of
the words, and those of the words no fewer than the operators of the graph ask for.  MACS
is a file with the multiply-adds of the network, of which the share is printed.
"""

import json
import struct
import sys

LOAD, STORE, GEMM, FINISH, ALU = range(5)
ELEMENT = [4, 256, 16, 64, 16, 16]  # uop, wgt, inp, acc, out, acc8


def bits(word, at, count):
    return word >> at & (1 << count) - 1


def words(path):
    data = open(path, "rb").read()
    at = 0
    while at < len(data):
        (count,) = struct.unpack_from("<Q", data, at)
        for i in range(count):
            low, high = struct.unpack_from("<QQ", data, at + 8 + 16 * i)
            yield low | high << 64
        at += 8 + 16 * count


def main():
    rate = float(sys.argv[3])
    report = json.load(open(sys.argv[2]))
    macs = moved = instructions = 0
    for word in words(sys.argv[1]):
        instructions += 1
        op = bits(word, 0, 3)
        if op in (LOAD, STORE):
            moved += bits(word, 64, 16) * bits(word, 80, 16) * ELEMENT[bits(word, 7, 3)]
        elif op == GEMM and not bits(word, 7, 1):
            steps = bits(word, 21, 14) - bits(word, 8, 13)
            macs += 256 * steps * bits(word, 35, 14) * bits(word, 49, 14)
    total = report["all"]
    cycles = total["cycles"]
    least = max(macs / 256, moved / rate)
    wanted = sum(u["macs"] for u in report["units"])
    print(f"{instructions} instructions, {macs} multiply-adds, {moved} bytes: "
          f"{cycles} cycles, at least {least:.0f}")
    if cycles < least:
        sys.exit("fewer cycles than the words allow")
    if macs != 256 * total["gemm"] or instructions != total["instructions"]:
        sys.exit("the report counts other instructions")
    if moved != total["loaded"] + total["computed"] + total["stored"]:
        sys.exit("the report counts other bytes")
    if macs < wanted:
        sys.exit("fewer multiply-adds than the operators have")
    if len(sys.argv) > 4:
        print(f"{100 * wanted / int(open(sys.argv[4]).read()):.1f} % of the multiply-adds")


main()
