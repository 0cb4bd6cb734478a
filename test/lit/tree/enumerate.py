"""Fails for what is registered and not tested, or not finished.

    enumerate.py TREE

Asks glow-opt what there is.
"""

import json
import re
import subprocess
import sys

import sources


def glow_opt(*args):
    done = subprocess.run(
        ["glow-opt", *args], capture_output=True, text=True, check=True
    )
    return done.stdout


def untested_passes(root, passes):
    """Every pass has a test of its name; lower-gemm's is lower/gemm.gir."""
    lit = root / "test" / "lit"
    tests = {p.stem for p in lit.rglob("*.gir")}
    tests |= {f"lower-{p.stem}" for p in (lit / "lower").glob("*.gir")}
    for p in passes:
        if p["name"] not in tests:
            yield f"no test/lit/**/{p['name']}.gir tests the pass {p['name']}"


def unstable_texts(passes):
    """A pipeline prints as itself, and what is printed parses."""
    listed = [line.split()[0] for line in glow_opt("-list-passes").splitlines()]
    for name in listed:
        once = glow_opt(f"-passes={name}", "-print-pipeline").strip()
        twice = glow_opt(f"-passes={once}", "-print-pipeline").strip()
        if once != twice:
            yield f"{name} prints as {once}, and that as {twice}"
        if name in {p["name"] for p in passes} and once != name:
            yield f"the pass {name} prints as {once}"


def unlowered_ops(ops, passes):
    """Every operator is primitive, structural, or lowered by a pass."""
    lowered = {p.get("lowers") for p in passes}
    for op in ops:
        if not {"primitive", "structural", "programs only"} & set(op["traits"]):
            if op["name"] not in lowered:
                yield f"{op['name']} is not primitive, and no pass lowers it"


def untested_options(root):
    """Every option of glow-opt occurs in a test of the tool."""
    folder = root / "test" / "lit"
    text = "".join(
        p.read_text(encoding="utf-8", errors="replace")
        for suffix in ("*.gir", "*.test")
        for p in sorted(folder.rglob(suffix))
    )
    options = set(re.findall(r"(?<![\w-])-[a-z][a-z-]*", glow_opt("-help")))
    for option in sorted(options):
        if not re.search(rf"(?<![\w-])(-no)?{option}(?![\w-])", text):
            yield f"no test gives the option {option}"


def main(root):
    passes = json.loads(glow_opt("-list-passes=json"))
    ops = json.loads(glow_opt("-list-ops=json"))
    complaints = [
        *untested_passes(root, passes),
        *unstable_texts(passes),
        *unlowered_ops(ops, passes),
        *untested_options(root),
    ]
    for c in complaints:
        print(f"error: {c}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sources.root_of(sys.argv[1])))
