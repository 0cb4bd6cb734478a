"""roofline.py TARGET FOLDER: cycles and bytes of ResNet-18's convolutions, held to bounds.

C2 to C12 of the usual list, each alone, as often as the network has them: of vta.core by the
report of its words, of vta.units by -simulate.  The roofline of each is the larger of
multiply-adds / 256 and least bytes / rate, as both say.
"""

import json
import pathlib
import subprocess
import sys

# Name, size, channels, results, kernel, stride, how often.
LAYERS = [
    ("C2", 56, 64, 64, 3, 1, 4), ("C4", 56, 64, 128, 3, 2, 1), ("C5", 56, 64, 128, 1, 2, 1),
    ("C6", 28, 128, 128, 3, 1, 3), ("C7", 28, 128, 256, 3, 2, 1), ("C8", 28, 128, 256, 1, 2, 1),
    ("C9", 14, 256, 256, 3, 1, 3), ("C10", 14, 256, 512, 3, 2, 1), ("C11", 14, 256, 512, 1, 2, 1),
    ("C12", 7, 512, 512, 3, 1, 3),
]
OFTEN = [layer[-1] for layer in LAYERS]
MACS = sum((size // stride) ** 2 * channels * results * kernel**2 * often
           for _, size, channels, results, kernel, stride, often in LAYERS)

PIPELINE = "form-units,lower,fold-constants,dce,schedule,irgen,propagate-copy,engines"
SIZES = {"inp": 32768, "wgt": 262144, "acc": 131072, "uop": 32768}

# Bytes a cycle, parts of the scratchpads, double buffers; then for both backends the least and
# most share of the roofline and the most bytes by the least: README.md has the figures.
CASES = [
    (8, 1, True, (0.955, 1, 1.14), (0.955, 1, 1.07)),
    (16, 1, True, (0.960, 1, 1.13), (0.960, 1, 1.06)),
    (8, 1, False, (0.750, 0.80, 1.04), (0.780, 0.80, 1.07)),
    (8, 2, True, (0.950, 1, 1.19), (0.955, 1, 1.15)),
    (8, 4, True, (0.950, 1, 1.37), (0.955, 1, 1.37)),
]


def network(path, apart):
    """All convolutions in a function, or each in one of its own."""
    storage, functions = [], []
    for name, size, channels, results, kernel, stride, _ in LAYERS:
        pad = kernel // 2
        out = (size + 2 * pad - kernel) // stride + 1
        storage += [
            f"placeholder @x.{name} : i8[S:0.5 O:0]<1 x {size} x {size} x {channels}>",
            f"placeholder @y.{name} : i8[S:16.0 O:0]<1 x {out} x {out} x {results}>",
            f"constant @w.{name} : i8[S:0.0078125 O:0]<{results} x {kernel} x {kernel} x {channels}> = splat(3)",
        ]
        functions.append(
            f"  %{name} = Convolution(@x.{name}, @w.{name}, _) {{Kernels: [{kernel}, {kernel}], "
            f"Strides: [{stride}, {stride}], Pads: [{pad}, {pad}, {pad}, {pad}], Group: 1}} "
            f": i8[S:16.0 O:0]<1 x {out} x {out} x {results}>\n"
            f"  %{name}.save = Save(%{name}, @y.{name})\n")
    functions = functions if apart else ["".join(functions)]
    functions = [f"function @f{i} {{\n{text}}}\n" for i, text in enumerate(functions)]
    path.write_text("\n".join(["gir 1", *storage, *functions]), encoding="utf-8")


def glow_opt(*arguments):
    return subprocess.run(["glow-opt", *arguments], check=True, stdout=subprocess.PIPE).stdout


def core(folder, rate, parts, doubled):
    """Multiply-adds, cycles, roofline, bytes and least bytes of each, by the words."""
    sizes = ",".join(f"{name}={size // parts}" for name, size in SIZES.items())
    report = glow_opt(f"-backend=vta.core<{sizes},bytes_per_cycle={rate},double_buffer={str(doubled).lower()}>",
                      "-O2", folder / "all.gir", "-emit=report", "-o", "-")
    return [(256 * u["gemm"], u["cycles"], u["roofline"], u["loaded"] + u["computed"] + u["stored"],
             u["least_bytes"]) for u in json.loads(report)["units"]]


def units(folder, target, rate, parts, doubled):
    """The same, by -simulate."""
    target = json.loads(target.read_text(encoding="utf-8"))
    for link in target["links"]:
        link["bytes_per_cycle"] = rate
    for space in target["spaces"]:
        if "size" in space:
            space["size"] //= parts
    (folder / "target.json").write_text(json.dumps(target), encoding="utf-8")
    common = [f"-target-file={folder / 'target.json'}", "-backend=vta.units"]
    glow_opt(*common, f"-passes={PIPELINE}", *([] if doubled else ["-disable-pass=double-buffer"]),
             folder / "each.gir", "-o", folder / "queues.gir")
    lines = glow_opt(*common, "-simulate=json", folder / "queues.gir").splitlines()
    return [(sum(u["work"] for u in p["units"] if u["op"] == "vta.Sum"), p["cycles"], p["bound"],
             sum(link["bytes"] for link in p["links"]), sum(link["least"] for link in p["links"]))
            for p in map(json.loads, lines)]


def is_within(name, layers, least, most, bytes_most):
    macs, cycles, roofline, moved, least_bytes = (
        sum(often * n for often, n in zip(OFTEN, column)) for column in zip(*layers))
    share, times = roofline / cycles, moved / least_bytes
    print(f"{name}: {cycles} cycles, {100 * share:.1f} % of the roofline, {times:.2f} times the least bytes")
    return (len(layers) == len(LAYERS) and macs == MACS and cycles >= MACS / 256 and
            least <= share <= most and times <= bytes_most)


def main():
    target, folder = map(pathlib.Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    network(folder / "all.gir", False)
    network(folder / "each.gir", True)
    good = True
    for rate, parts, doubled, core_bounds, units_bounds in CASES:
        name = f"{rate} bytes a cycle, 1 / {parts} of the scratchpads, double buffers {doubled}"
        good &= is_within(f"vta.core, {name}", core(folder, rate, parts, doubled), *core_bounds)
        good &= is_within(f"vta.units, {name}", units(folder, target, rate, parts, doubled), *units_bounds)
    sys.exit(0 if good else "a figure is out of its bounds")


main()
