"""Writes small pictures for picture.test: png.py DIR"""

import struct
import sys
import zlib

GREY, COLOUR = 0, 2


def chunk(name, data):
    body = name + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def png(width, height, kind, rows):
    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    data = b"".join(b"\0" + bytes(row) for row in rows)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
            + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))


colour = png(2, 2, COLOUR, [[255, 0, 0, 0, 255, 0], [0, 0, 255, 51, 102, 153]])
files = {
    "colour": colour,
    "grey": png(2, 1, GREY, [[0, 255]]),
    "black": png(2, 1, GREY, [[0, 0]]),
    "cut": colour[:50],
    "text": b"this is no picture",
}
for name, data in files.items():
    with open(f"{sys.argv[1]}/{name}.png", "wb") as f:
        f.write(data)
