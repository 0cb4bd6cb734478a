"""Writes 40 x 3072 floats to plain.npy of a folder, and to wild.npy with others among them."""

import array
import math
import random
import sys

ROWS, DEPTH = 40, 3072


def write(name, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (ROWS, DEPTH)
    head += " " * (117 - len(head)) + "\n"
    with open(f"{sys.argv[1]}/{name}.npy", "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode())
        array.array("f", values).tofile(f)


random.seed(2)
plain = [random.gauss(0, 1) for _ in range(ROWS * DEPTH)]
write("plain", plain)
for row, at, value in ((1, 5, math.inf), (17, 3000, math.nan), (20, 700, 1e30),
                       (39, 1600, 1e-40)):
    plain[row * DEPTH + at] = value
write("wild", plain)
