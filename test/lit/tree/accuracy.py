"""docs/accuracy.md names each pass that rounds differently, with the levels that run it;
each file of codegen/cpu that computes otherwise under -exact; and the bound of each
elementary function that test/unit/test_cpu_math.c holds.

    accuracy.py ROOT GLOW_OPT [--write]

--write prints the rows of passes into the page instead of comparing them.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

LEVELS = ("O0", "O1", "O2", "O3", "Os")
KEEPS = {"up to the order of additions in a sum": "additions",
         "up to the order of roundings": "roundings",
         "up to the precision of a narrower kind": "a narrower kind",
         "up to the noise of quantized elements": "quantized elements"}
HEAD = "| pass | keeps up to | levels |\n| --- | --- | --- |\n"
ROWS = re.compile(re.escape(HEAD) + r"((?:\|.*\|\n)*)")
NET = "gir 1\nplaceholder @x : float<1>\nfunction @f {\n  %s = Save(@x, @x)\n}\n"


def inexact(root):
    """Names of passes with the words of the page for what they keep."""
    text = (root / "docs/passes.md").read_text(encoding="utf-8")
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        keeps = re.search(r"^- keeps: every output, (.*)$", part, re.M)
        if keeps and keeps.group(1) in KEEPS:
            yield part.split("\n", 1)[0].strip("`"), KEEPS[keeps.group(1)]


def passes_of(opt, level):
    with tempfile.NamedTemporaryFile("w", suffix=".gir") as f:
        f.write(NET)
        f.flush()
        text = subprocess.run([opt, "-backend=cpu", "-print-pipeline", f"-{level}", f.name],
                              check=True, text=True, stderr=subprocess.STDOUT,
                              stdout=subprocess.PIPE).stdout
    return set(re.findall(r"[a-z][\w-]*", text.split("gir 1")[0]))


def rows(root, opt):
    runs = {level: passes_of(opt, level) for level in LEVELS}
    for name, keeps in inexact(root):
        at = " ".join(f"-{level}" for level in LEVELS if name in runs[level])
        yield f"| `{name}` | {keeps} | {at or 'by name only'} |\n"


def missing(root, page):
    for path in sorted((root / "codegen/cpu").rglob("*.c")):
        name = path.relative_to(root / "codegen/cpu").as_posix()
        if "->exact" in path.read_text(encoding="utf-8") and f"`{name}`" not in page:
            yield f"does not say what `{name}` does under -exact"
    text = (root / "test/unit/test_cpu_math.c").read_text(encoding="utf-8")
    for op, bound in re.findall(r"\{&glow_op_(\w+), \w+, ([\d.]+), ", text):
        if 1 < float(bound) < 1000 and not re.search(
                rf"\| {op} \|.*\b{re.escape(bound)}\b", page, re.I):
            yield f"does not say that {op} is off by {bound} ulp at most"


def main():
    root, opt = pathlib.Path(sys.argv[1]), sys.argv[2]
    path = root / "docs/accuracy.md"
    page = path.read_text(encoding="utf-8")
    want = "".join(rows(root, opt))
    if "--write" in sys.argv:
        path.write_text(ROWS.sub(lambda _: HEAD + want, page), encoding="utf-8")
        return False
    have = ROWS.search(page)
    bad = list(missing(root, page))
    for row in sorted(set(want.splitlines()) ^ set(have.group(1).splitlines() if have else [])):
        bad.append(("lacks " if row in want else "has ") + row)
    for why in bad:
        print(f"docs/accuracy.md: error: {why}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
