"""Writes an .npy of 2 x 1 x 1 x N booleans: every third is true, and none of the second."""

import struct
import sys

n = int(sys.argv[1])
header = f"{{'descr': '|b1', 'fortran_order': False, 'shape': (2, 1, 1, {n}), }}"
header += " " * (63 - (10 + len(header)) % 64) + "\n"
sys.stdout.buffer.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                        bytes(i % 3 == 0 for i in range(n)) + bytes(n))
