"""Files of numpy for npy.test.

    npy.py good DIR             writes files that must be read
    npy.py same DIR OUT         compares what came out with them
    npy.py bad DIR TOOL MODEL   writes bad files, runs the tool on each, and
                                prints `case: exit code: first line`
"""

import io
import subprocess
import sys

import numpy as np

GOOD = {
    "f": np.array([[1.5, -0.0, 3], [4, 5, 6]], np.float32),
    "h": np.array([[1, 2, 3], [4, 5, 6]], ">f2"),
    "d": np.asfortranarray(np.arange(6, dtype=np.float64).reshape(2, 3)),
    "b": np.array([True, False, True, True]),
    "i": np.asfortranarray(np.array([[1, -2], [3, 1 << 40]], ">i8")),
    "u": np.array([0, 1, 2, 254, 255], np.uint8),
    "q": np.array([-128, -1, 0, 1, 127], np.int8),
    "s": np.float32(2.5),
    "e": np.zeros((2, 0), np.float32),
}


def good(folder):
    for name, array in GOOD.items():
        np.save(f"{folder}/{name}.npy", array)


def same(_, out):
    for name, want in GOOD.items():
        got = np.load(f"{out}/{name}.out.npy")
        native = want.dtype.newbyteorder("=")
        assert got.dtype == native and got.shape == want.shape, name
        assert got.tobytes() == np.ascontiguousarray(want, native).tobytes(), name


def npy(header, data=b"\0" * 24, version=1, length=None):
    size = 2 if version == 1 else 4
    n = len(header) if length is None else length
    return (b"\x93NUMPY" + bytes([version, 0]) + n.to_bytes(size, "little")
            + header.encode() + data)


def header(descr="'<f4'", order="False", shape="(2, 3)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


def saved(array):
    f = io.BytesIO()
    np.save(f, array)
    return f.getvalue()


BAD = {
    "empty": b"",
    "magic": b"PK\3\4" + b"\0" * 100,
    "version": npy(header(), version=9),
    "header": npy(header(), length=65535),
    "long_header": npy(header(), version=2, length=(1 << 32) - 1),
    "no_dict": npy("[1, 2]"),
    "no_shape": npy("{'descr': '<f4', 'fortran_order': False, }"),
    "key": npy(header()[:-1] + "'color': 3}"),
    "twice": npy(header()[:-1] + "'shape': (9,)}"),
    "order": npy(header(order="Maybe")),
    "fields": npy(header(descr="[('a', '<f4'), ('b', '<i4')]")),
    "strings": saved(np.array(["a long string, h"])),
    "huge": npy(header(shape="(9223372036854775807, 9223372036854775807)")),
    "wraps": npy(header(shape="(4294967296, 4294967296)")),
    "digits": npy(header(shape="(99999999999999999999999, 1)")),
    "negative": npy(header(shape="(-2, 3)")),
    "rank": npy(header(shape="(1, 1, 1, 1, 1, 1, 1, 1, 6)")),
    "short": npy(header(), b"\0" * 20),
    "long": npy(header(), b"\0" * 28),
    "kind": saved(np.zeros((2, 3))),
    "shape": saved(np.zeros((3, 2), np.float32)),
    "missing": None,
}


def bad(folder, tool, model):
    for name, data in BAD.items():
        path = f"{folder}/{name}.npy"
        if data is not None:
            with open(path, "wb") as f:
                f.write(data)
        run = subprocess.run([tool, model, "-backend=interp", f"-input=x={path}"],
                             capture_output=True, text=True)
        print(f"{name}: {run.returncode}: {run.stderr.splitlines()[0]}")


{"good": good, "same": same, "bad": bad}[sys.argv[1]](*sys.argv[2:])
