"""Holds products of bfloat16, and of floats by parts, on an emulated AArch64 to their bounds.

    bfmmla.py FOLDER DRIVER FEATURES [BACKEND]

Sizes are no multiples of tiles, of squares of 2 x 2, or of four of the depth.  Rows 0 and 1
of the left operands of floats have numbers of which no parts are taken: a subnormal one, and
an infinity.
"""

import pathlib
import sys

import numpy as np

import qemu

random = np.random.default_rng(11)
SIZES = [(64, 256, 64), (47, 500, 94), (63, 388, 128)]


def bfloat(x):
    """The nearest bfloat16, as its bits."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def value(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def tensor(kind, shape):
    return f"{kind}<{' x '.join(map(str, shape))}>"


def write(folder, kind, left, right, image, filters):
    """Products of placeholders by constants and by placeholders, and a convolution."""
    text, body = "gir 1\n", ""
    for i, (x, w) in enumerate(zip(left, right)):
        y = (x.shape[0], w.shape[1])
        text += f"placeholder @x{i} : {tensor(kind, x.shape)}\n"
        text += f"placeholder @v{i} : {tensor(kind, w.shape)}\n"
        text += f"placeholder @y{i} : {tensor(kind, y)}\nplaceholder @z{i} : {tensor(kind, y)}\n"
        text += f"constant @w{i} : {tensor(kind, w.shape)} = {np.ravel(w).tolist()}\n"
        body += f"  %y{i} = MatMul(@x{i}, @w{i}) : {tensor(kind, y)}\n"
        body += f"  %z{i} = MatMul(@x{i}, @v{i}) : {tensor(kind, y)}\n"
        body += f"  %s{i} = Save(%y{i}, @y{i})\n  %t{i} = Save(%z{i}, @z{i})\n"
    y = (1, (image.shape[1] + 1) // 2, (image.shape[2] + 1) // 2, filters.shape[0])
    text += f"placeholder @p : {tensor(kind, image.shape)}\nplaceholder @c : {tensor(kind, y)}\n"
    text += f"constant @f : {tensor(kind, filters.shape)} = {np.ravel(filters).tolist()}\n"
    body += (f"  %c = Convolution(@p, @f, _) {{Kernels: [3, 3], Strides: [2, 2], "
             f"Pads: [1, 1, 1, 1], Group: 1}} : {tensor(kind, y)}\n  %sc = Save(%c, @c)\n")
    (folder / "net.gir").write_text(text + "function @main {\n" + body + "}\n")


def convolve(image, filters):
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1), (0, 0))).astype(np.float64)
    height, width = image.shape[1:3]
    return sum(padded[:, i:i + height:2, j:j + width:2] @ filters[:, i, j].T.astype(np.float64)
               for i in range(3) for j in range(3))


def check(name, got, want, bound):
    """The largest difference by the largest finite result of a row; equal where not finite."""
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        sys.exit(f"{name}: numbers that are not finite differ")
    off = np.abs(got[finite] - want[finite]).max() / np.abs(want[finite]).max()
    if not off <= bound:
        sys.exit(f"{name}: off by {off:.2g} of the largest result, bound {bound:.2g}")


def main():
    folder, driver = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    features, backend = sys.argv[3], sys.argv[4] if len(sys.argv) > 4 else None
    folder.mkdir(parents=True, exist_ok=True)
    left = [random.standard_normal((m, k), np.float32) for m, k, _ in SIZES]
    right = [random.standard_normal((k, n), np.float32) for _, k, n in SIZES]
    image = random.standard_normal((1, 31, 32, 64), np.float32)
    filters = random.standard_normal((128, 3, 3, 64), np.float32)
    if backend:
        left[1][0, 3], left[1][1, 2] = 1e-42, np.inf
        kind, bound = "float", 1e-5
        to, back = (lambda x: x), (lambda b: np.frombuffer(b, np.float32))
    else:
        left, right = ([value(bfloat(x)) for x in all_of] for all_of in (left, right))
        image, filters = value(bfloat(image)), value(bfloat(filters))
        kind, bound = "bfloat16", 2**-8
        to, back = bfloat, (lambda b: value(np.frombuffer(b, np.uint16)))
    write(folder, kind, left, right, image, filters)
    inputs = {f"x{i}": to(x) for i, x in enumerate(left)}
    inputs |= {f"v{i}": to(w) for i, w in enumerate(right)} | {"p": to(image)}
    got = qemu.run_bundle(folder, driver, features, inputs, backend or "cpu")
    for i, (x, w) in enumerate(zip(left, right)):
        want = x.astype(np.float64) @ w.astype(np.float64)
        for name in (f"y{i}", f"z{i}"):
            size = want.size * (4 if backend else 2)
            check(name, back(got(name, size)).reshape(want.shape), want, bound)
    want = convolve(image, filters)
    check("c", back(got("c", want.size * (4 if backend else 2))).reshape(want.shape), want, bound)
    print(f"{features}, {kind}: {2 * len(SIZES) + 1} results are within {bound:g}")


main()
