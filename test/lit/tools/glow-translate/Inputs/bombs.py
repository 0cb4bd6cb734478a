"""Writes a small file that would take much: depth, count, name or memory."""

import sys


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def depth():
    """A graph in an attribute in a node in a graph in ..."""
    data = b""
    for _ in range(2000):
        data = field(1, field(5, field(6, data)))
    return field(7, data)


def count():
    """Nodes with a text of ten bytes each: more than the limit of messages."""
    return field(7, (b"\x0a\x0c\x32\x0a" + b"d" * 10) * (4 << 20 | 1))


def name():
    return field(7, field(2, b"n" * 65537))


def memory():
    """Tensors of two bytes each, of which each takes hundreds."""
    return field(7, b"\x2a\x00" * (4000 << 10))


sys.stdout.buffer.write(globals()[sys.argv[1]]())
