"""Rows of .npy files, by Python's standard library."""

import ast
import struct


def read(path):
    """The description of the elements, the shape, and the bytes of each row."""
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack("<H", data[8:10])
    head = ast.literal_eval(data[10 : 10 + size].decode())
    body, rows = data[10 + size :], head["shape"][0]
    one = len(body) // rows
    return head["descr"], head["shape"], [body[i * one : (i + 1) * one] for i in range(rows)]


def write(path, descr, shape, rows):
    head = repr({"descr": descr, "fortran_order": False, "shape": (len(rows), *shape[1:])})
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode())
        file.write(b"".join(rows))
