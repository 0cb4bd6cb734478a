"""Writes scalars as .npy files: npy.py FILE KIND NUMBER ..., KIND f (float32) or q (int64)."""

import struct
import sys

ARGS = sys.argv[1:]
for path, kind, number in zip(ARGS[::3], ARGS[1::3], ARGS[2::3]):
    descr = {"f": "<f4", "q": "<i8"}[kind]
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (), }}"
    head = head.ljust(117) + "\n"
    value = float(number) if kind == "f" else int(number)
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(struct.pack("<" + kind, value))
