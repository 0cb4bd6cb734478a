"""Writes an .npy of M x N floats, some rows of which hold a number that has no parts.

    unsafe.py M N ROW=VALUE ...
"""

import random
import struct
import sys

m, n = int(sys.argv[1]), int(sys.argv[2])
draw = random.Random(m * 1000 + n)
x = [draw.uniform(-1, 1) for _ in range(m * n)]
for word in sys.argv[3:]:
    row, value = word.split("=")
    x[int(row) * n + int(row) % n] = float(value)
header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({m}, {n}), }}"
header += " " * (63 - (10 + len(header)) % 64) + "\n"
sys.stdout.buffer.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                        header.encode() + struct.pack(f"<{m * n}f", *x))
