"""Compiles and runs a network of large weights, and checks the memory of that.

    peak.py GLOW-RUN FOLDER

Each layer is a product by the transpose of a weight, so that passes make one
constant of another and the cpu backend packs it.  Fails if the process has had
more resident than 1.5 times the weights and 100 MB for libraries and code.
"""

import array
import json
import pathlib
import resource
import struct
import subprocess
import sys

LAYERS, WIDTH = 12, 2048
BYTES = 4 * WIDTH * WIDTH


def main(run, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {f"w{i}": {"dtype": "F32", "shape": [WIDTH, WIDTH],
                         "data_offsets": [i * BYTES, (i + 1) * BYTES]} for i in range(LAYERS)}
    header = json.dumps(tensors).encode()
    header += b" " * (-len(header) % 8)
    with (folder / "net.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for i in range(LAYERS):
            row = array.array("f", ((k * 37 + i) % 101 / 5000 for k in range(WIDTH + 1)))
            for r in range(WIDTH):
                row[0] = r / 1e5
                row[:WIDTH].tofile(file)
    lines = ["gir 1", 'weights "net" = safetensors("net.safetensors")',
             f"placeholder @x : float<1 x {WIDTH}>", f"placeholder @y : float<1 x {WIDTH}>"]
    lines += [f'constant @w{i} : float<{WIDTH} x {WIDTH}> = external("net", "w{i}")'
              for i in range(LAYERS)]
    lines += ["function @main {"]
    last = "@x"
    for i in range(LAYERS):
        lines += [f"  %t{i} = Transpose(@w{i}) {{Shuffle: [1, 0]}} : float<{WIDTH} x {WIDTH}>",
                  f"  %p{i} = MatMul({last}, %t{i}) : float<1 x {WIDTH}>",
                  f"  %r{i} = Tanh(%p{i}) : float<1 x {WIDTH}>"]
        last = f"%r{i}"
    lines += [f"  %save = Save({last}, @y)", "}"]
    (folder / "net.gir").write_text("\n".join(lines) + "\n")
    subprocess.run([run, "-backend=cpu", "-no-cache", "-input=x=ramp", folder / "net.gir"],
                   check=True, stdout=subprocess.DEVNULL)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    limit = 3 * LAYERS * BYTES // 2 + 100_000_000
    print(f"{peak / 1e6:.0f} MB, {peak / (LAYERS * BYTES):.2f} times the weights")
    if peak > limit:
        sys.exit(f"that is above {limit / 1e6:.0f} MB")


main(*sys.argv[1:])
