"""Weights of which every seventh is tiny or zero, in FOLDER/tinies.npy and zeros.npy.

usage: tiny.py FOLDER
"""

import array
import pathlib
import random
import sys

ROWS, COLUMNS = 64, 40
HEAD = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({ROWS}, {COLUMNS}), }}"


def write(path, numbers):
    path.write_bytes(b"\x93NUMPY\x01\x00v\x00" + (HEAD.ljust(117) + "\n").encode()
                     + array.array("f", numbers).tobytes())


folder = pathlib.Path(sys.argv[1])
random.seed(1)
usual = [random.uniform(0.1, 1) for _ in range(ROWS * COLUMNS)]
for name, odd in ("tinies", 1e-30), ("zeros", 0.0):
    write(folder / f"{name}.npy", [odd if i % 7 == 3 else v for i, v in enumerate(usual)])
