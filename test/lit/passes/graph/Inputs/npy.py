"""Writes .npy files: npy.py FILE KIND NUMBERS ..., KIND f (float32), q (int64) or B (uint8).

The kind may be followed by a shape, `f2x1`; numbers are separated by commas.
"""

import struct
import sys

ARGS = sys.argv[1:]
for path, kind, text in zip(ARGS[::3], ARGS[1::3], ARGS[2::3]):
    descr = {"f": "<f4", "q": "<i8", "B": "|u1"}[kind[0]]
    shape = tuple(int(d) for d in kind[1:].split("x")) if kind[1:] else ()
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    head = head.ljust(117) + "\n"
    values = [(float if kind[0] == "f" else int)(v) for v in text.split(",")]
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(struct.pack(f"<{len(values)}{kind[0]}", *values))
