"""Bundles of networks, each at all widths of vectors that this machine runs: how they keep
to the bounds of their stack.

    stack.py SRC CC FOLDER
"""

import pathlib
import subprocess
import sys

src, cc, folder = sys.argv[1], sys.argv[2].split(), pathlib.Path(sys.argv[3])
sys.path.insert(0, f"{src}/test")
import widths  # noqa: E402


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


for gir in sorted(folder.glob("*.gir")):
    for cpu in (cpu for cpu in widths.here("glow-run") if "+" not in cpu):
        to = folder / f"{gir.stem}.{cpu}"
        to.mkdir()
        run("glow-opt", "-O2", "-emit-bundle", "-bundle-weights=object",
            *widths.flags(cpu), gir, "-o", to / "net")
        run(*cc, "-std=c11", "-I", to, pathlib.Path(__file__).with_suffix(".c"),
            to / "net.o", "-lm", "-o", to / "run")
        said = run(to / "run").splitlines()
        print(f"{gir.stem}, {cpu}: {said[1]}, {said[2]}")
