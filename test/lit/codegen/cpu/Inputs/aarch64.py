"""Runs quantized products on an emulated AArch64: the bits of the interpreter.

    aarch64.py FOLDER DRIVER FEATURES...

FEATURES are those of a bundle, for instance +dotprod,+i8mm.  Sizes are no multiples of
groups, vectors or tiles; weights have offsets or not; inputs are i8 and ui8.
"""

import pathlib
import re
import sys

import numpy as np

import qemu

random = np.random.default_rng(7)


def kind(name, scale, zero, *dims):
    return f"{name}[S:{scale} O:{zero}]<{' x '.join(map(str, dims))}>"


def constant(name, of, values):
    return f"constant @{name} : {of} = {np.ravel(values).tolist()}\n"


def drawn(name, dims):
    low, high = (0, 256) if name == "ui8" else (-128, 128)
    return random.integers(low, high, dims)


def channels(i, out):
    """Bias, scales and offsets of output channels."""
    offsets = random.integers(-9, 9, out) if i % 2 else np.zeros(out, int)
    return (constant(f"b{i}", kind("i32", 1, 0, out), random.integers(-999, 999, out))
            + constant(f"s{i}", f"float<{out}>", random.integers(1, 32, out) / 512)
            + constant(f"o{i}", f"index32<{out}>", offsets))


def convolution(i, x, zero, size, depth, out, kernel, groups=1):
    one = depth // groups
    head = (f"placeholder @x{i} : {kind(x, 0.05, zero, 2, size, size + 1, depth)}\n"
            + constant(f"w{i}", kind("i8", 1, 0, out, kernel, kernel, one),
                       drawn("i8", (out, kernel, kernel, one))) + channels(i, out))
    pad = kernel // 2
    result = kind("i8", 3.5, 5, 2, size, size + 1, out)
    return head, (f"ChannelwiseQuantizedConvolution(@x{i}, @w{i}, @b{i}, @s{i}, @o{i}, @s{i}, "
                  f"@o{i}) {{Kernels: [{kernel}, {kernel}], Strides: [1, 1], "
                  f"Pads: [{pad}, {pad}, {pad}, {pad}], Group: {groups}}}"), result


def product(i, x, zero, w, rows, depth, out):
    head = (f"placeholder @x{i} : {kind(x, 0.05, zero, rows, depth)}\n"
            + constant(f"w{i}", kind(w, 0.02, 120 if w == "ui8" else 0, depth, out),
                       drawn(w, (depth, out))))
    return head, f"MatMul(@x{i}, @w{i})", kind("ui8", 3.5, 128, rows, out)


def connection(i, rows, depth, out):
    head = (f"placeholder @x{i} : {kind('i8', 0.05, 4, rows, depth)}\n"
            + constant(f"w{i}", kind("i8", 1, 0, out, depth), drawn("i8", (out, depth)))
            + channels(i, out))
    return (head, f"RowwiseQuantizedFullyConnected(@x{i}, @w{i}, @s{i}, @o{i}, @b{i})",
            kind("i8", 3.5, 5, rows, out))


NODES = [
    convolution(0, "i8", -3, 5, 24, 19, 1),
    convolution(1, "ui8", 131, 4, 12, 40, 3),
    product(2, "i8", -3, "i8", 13, 70, 19),
    product(3, "ui8", 77, "ui8", 7, 64, 33),
    connection(4, 1, 67, 48),
    connection(5, 3, 129, 5),
    convolution(6, "ui8", 3, 5, 20, 20, 3, 20),
    convolution(7, "i8", -128, 6, 16, 17, 3),
]


def check(folder, driver, features):
    got = qemu.run_bundle(folder, driver, features,
                          {f"x{i}": np.load(folder / f"x{i}.npy") for i in range(len(NODES))})
    for i in range(len(NODES)):
        expected = np.load(folder / f"y{i}.npy").tobytes()
        off = sum(a != b for a, b in zip(expected, got(f"y{i}", len(expected))))
        if off:
            sys.exit(f"{features}: {off} of {len(expected)} bytes of y{i} differ")
    print(f"{features}: {len(NODES)} results are equal")


def main():
    folder, driver = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    text = "gir 1\n" + "".join(head for head, _, _ in NODES)
    text += "".join(f"placeholder @y{i} : {of}\n" for i, (_, _, of) in enumerate(NODES))
    text += "function @main {\n"
    for i, (_, node, of) in enumerate(NODES):
        text += f"  %y{i} = {node} : {of}\n  %save{i} = Save(%y{i}, @y{i})\n"
    (folder / "net.gir").write_text(text + "}\n")
    options = []
    for i, (head, _, _) in enumerate(NODES):
        x, dims = re.search(rf"@x{i} : (\w+)\[.*?<(.*)>", head).groups()
        values = drawn(x, [int(d) for d in dims.split(" x ")])
        np.save(folder / f"x{i}.npy", values.astype(np.uint8 if x == "ui8" else np.int8))
        options += [f"-input=x{i}={folder}/x{i}.npy", f"-output=y{i}={folder}/y{i}.npy"]
    qemu.run("glow-run", "-backend=interp", folder / "net.gir", *options)
    for features in sys.argv[3:]:
        check(folder, driver, features)


main()
