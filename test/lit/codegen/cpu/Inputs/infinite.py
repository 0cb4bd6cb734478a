"""Writes an .npy of 1 x N floats, of which one is infinite and one is negative."""

import struct
import sys

n = int(sys.argv[1])
header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (1, {n}), }}"
header += " " * (63 - (10 + len(header)) % 64) + "\n"
x = [0.5] * n
x[7] = float("inf")
x[40] = -2.0
sys.stdout.buffer.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                        header.encode() + struct.pack(f"<{n}f", *x))
