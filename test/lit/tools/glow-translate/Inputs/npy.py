"""Writes a list of integers: npy.py FILE KIND COUNT ELEMENT..."""

import struct
import sys

path, kind, count = sys.argv[1:4]
code, form = {"int64": ("<i8", "q"), "int32": ("<i4", "i")}[kind]
head = f"{{'descr': '{code}', 'fortran_order': False, 'shape': ({count},), }}"
head += " " * (63 - (10 + len(head)) % 64) + "\n"
with open(path, "wb") as out:
    out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
    out.write(struct.pack(f"<{count}{form}", *map(int, sys.argv[4:])))
