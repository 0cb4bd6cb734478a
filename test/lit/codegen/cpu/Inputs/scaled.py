"""Writes an .npy of 1 x N floats, small integers times 2 to the power of E."""

import struct
import sys

n, e = int(sys.argv[1]), int(sys.argv[2])
header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (1, {n}), }}"
header += " " * (63 - (10 + len(header)) % 64) + "\n"
x = [(i * 37 % 61 - 20) * 2.0**e for i in range(n)]
sys.stdout.buffer.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                        header.encode() + struct.pack(f"<{n}f", *x))
