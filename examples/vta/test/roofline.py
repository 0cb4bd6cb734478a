"""roofline.py FOLDER: cycles and bytes of ResNet-18's convolutions, held to bounds.

C2 to C12 of the usual list, as often as the network has them.  The roofline of each is
the larger of multiply-adds / 256 and least bytes / rate, as the report says.
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

HALVED = "inp=16384,wgt=131072,acc=65536,uop=16384"
QUARTERED = "inp=8192,wgt=65536,acc=32768,uop=8192"

# Options, least and most share of the roofline, most bytes by the least.
CASES = [
    ("bytes_per_cycle=8", 0.90, 1, 1.5),
    ("bytes_per_cycle=16", 0.90, 1, 1.5),
    ("bytes_per_cycle=8,double_buffer=false", 0.5, 0.80, 1.5),
    ("bytes_per_cycle=8," + HALVED, 0.90, 1, 1.5),
    ("bytes_per_cycle=8," + QUARTERED, 0.88, 1, 1.5),
]


def network(path):
    storage, nodes = [], []
    for name, size, channels, results, kernel, stride, _ in LAYERS:
        pad = kernel // 2
        out = (size + 2 * pad - kernel) // stride + 1
        storage += [
            f"placeholder @x.{name} : i8[S:0.5 O:0]<1 x {size} x {size} x {channels}>",
            f"placeholder @y.{name} : i8[S:16.0 O:0]<1 x {out} x {out} x {results}>",
            f"constant @w.{name} : i8[S:0.0078125 O:0]<{results} x {kernel} x {kernel} x {channels}> = splat(3)",
        ]
        nodes += [
            f"  %{name} = Convolution(@x.{name}, @w.{name}, _) {{Kernels: [{kernel}, {kernel}], "
            f"Strides: [{stride}, {stride}], Pads: [{pad}, {pad}, {pad}, {pad}], Group: 1}} "
            f": i8[S:16.0 O:0]<1 x {out} x {out} x {results}>",
            f"  %{name}.save = Save(%{name}, @y.{name})",
        ]
    path.write_text("\n".join(["gir 1", *storage, "function @main {", *nodes, "}", ""]), encoding="utf-8")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    network(folder / "net.gir")
    often = {layer[0]: layer[-1] for layer in LAYERS}
    good = True
    for options, least, most, bytes_most in CASES:
        subprocess.run(["glow-opt", f"-backend=vta.core<{options}>", "-O2", folder / "net.gir",
                        "-emit=report", "-o", folder / "report"], check=True)
        units = json.loads((folder / "report").read_text(encoding="utf-8"))["units"]
        times = [often[u["name"].split(".")[0]] for u in units]
        cycles = sum(n * u["cycles"] for n, u in zip(times, units))
        share = sum(n * u["roofline"] for n, u in zip(times, units)) / cycles
        moved = (sum(n * (u["loaded"] + u["computed"] + u["stored"]) for n, u in zip(times, units))
                 / sum(n * u["least_bytes"] for n, u in zip(times, units)))
        good &= len(units) == len(LAYERS) and least <= share <= most and moved <= bytes_most
        print(f"{options}: {cycles} cycles, {100 * share:.1f} % of the roofline, "
              f"{moved:.2f} times the least bytes")
    sys.exit(0 if good else "a figure is out of its bounds")


main()
