"""Convolutions of quantized elements for winograd-integer.test.

    winograd_integer.py bound FOLDER       modules whose sums are at the bounds of F(4) and
                                           F(2), and beyond, and inputs that reach them
    winograd_integer.py draw SEED FILE     a module of a drawn shape

Sums of `bound` are results of 32 bits, so that each bit of them is seen.  Those beyond the
bound of F(4) are so by their bias.
"""

import pathlib
import random
import sys

BIAS = 7

MODULE = """gir 1
placeholder @x : {x}<{batch} x {height} x {width} x {channels}>
placeholder @y : {y}<{result}>
constant @w : {w}[S:1.0 O:0]<{outputs} x 3 x 3 x {depth}> = {weights}
constant @b : i32[S:1.0 O:0]<{outputs}> = {bias}
constant @s : float<{outputs}> = {scales}
constant @o : index32<{outputs}> = splat({offset})
constant @z : index32<{outputs}> = splat(0)
function @main {{
  %y = ChannelwiseQuantizedConvolution(@x, @w, @b, @s, @o, @s, @z) {{Kernels: [3, 3], Strides: [1, 1], Pads: {pads}, Dilation: {dilation}, Group: {groups}}} : {y}<{result}>
  %save = Save(%y, @y)
}}
"""


def weights_of(depth, total):
    """The taps of a channel, whose sum is `total`, as large as there are."""
    sign, left, taps = (1 if total > 0 else -1), abs(total), []
    for _ in range(9 * depth):
        taps.append(sign * min(left, 127))
        left -= min(left, 127)
    assert left == 0
    return taps


def write_bound(folder, name, depth, total, offset):
    weights = weights_of(depth, total) + weights_of(depth, -total)
    text = MODULE.format(
        x=f"i8[S:1.0 O:{offset}]", y="i32[S:1.0 O:0]", w="i8", batch=1, height=5, width=6,
        channels=depth, depth=depth, outputs=2, result="1 x 5 x 6 x 2", weights=weights,
        bias=f"[0, {BIAS}]", scales="splat(1.0)", offset=0, pads=[1, 1, 1, 1], dilation=[1, 1],
        groups=1)
    (folder / f"{name}.gir").write_text(text)
    head = f"{{'descr': '|i1', 'fortran_order': False, 'shape': (1, 5, 6, {depth}), }}"
    head = head.ljust(117) + "\n"
    byte = bytes([127 if offset < 0 else 128])
    (folder / f"{name}.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode()
        + byte * (30 * depth))


def bound(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for form, bits, depth in (("four", 25, 120), ("two", 29, 1850)):
        most = (2**bits - 1 - BIAS) // 255
        for offset, side in ((-128, "high"), (127, "low")):
            write_bound(folder, f"{form}-{side}", depth, most, offset)
        write_bound(folder, f"{form}-beyond", depth, most + 1, -128)


def draw(seed):
    r = random.Random(seed)
    kx, ky, kw = r.choice(["i8", "ui8"]), r.choice(["i8", "ui8", "i32"]), r.choice(["i8", "ui8"])
    groups, dilation, batch = r.choice([1, 1, 2, 3]), r.choice([1, 1, 2, 3]), r.choice([1, 2])
    depth = r.choice([1, 2, 3, 5, 8, 16, 17, 32, 33, 40, 64, 96])
    outputs = groups * r.choice([1, 2, 7, 8, 9, 16, 17, 31, 32, 48, 64, 65, 80])
    pads = [r.randint(0, 2 * dilation) for _ in range(4)]
    height, width = (max(r.randint(1, 19), 2 * dilation + 1) for _ in range(2))
    rows = height + pads[0] + pads[2] - 2 * dilation
    columns = width + pads[1] + pads[3] - 2 * dilation
    least, most = (-128, 127) if kx == "i8" else (0, 255)
    zero = r.choice([least, most, r.randint(least, most)])
    low, high = (-128, 127) if kw == "i8" else (0, 255)
    extreme = r.random() < 0.5
    weights = [r.choice([low, high]) if extreme else r.randint(low, high)
               for _ in range(outputs * 9 * depth)]
    return MODULE.format(
        x=f"{kx}[S:0.05 O:{zero}]", y=f"{ky}[S:{0.06 * depth ** 0.5:.4f} O:{r.randint(0, 99)}]",
        w=kw, batch=batch, height=height, width=width, channels=groups * depth, depth=depth,
        outputs=outputs, result=f"{batch} x {rows} x {columns} x {outputs}", weights=weights,
        bias=[r.randint(-5000, 5000) for _ in range(outputs)],
        scales=[round(r.uniform(0.0005, 0.01), 6) for _ in range(outputs)],
        offset=0 if kw == "i8" else 128, pads=pads, dilation=[dilation] * 2, groups=groups)


def main():
    if sys.argv[1] == "bound":
        bound(pathlib.Path(sys.argv[2]))
    else:
        pathlib.Path(sys.argv[3]).write_text(draw(int(sys.argv[2])))


if __name__ == "__main__":
    main()
