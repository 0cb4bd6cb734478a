"""Fails on an operator whose meaning no test of test/unit/test_ops_*.c checks.

    ops.py TREE

Each name in the list of ir/ops/meson.build needs a row GIVES(name, ...); and a
row REFUSES(name, ...) unless it takes whatever it is given.  The structural
ones, and tokens, have no meaning of their own: their tests are those of the verifier.
"""

import re
import sys

import sources

STRUCTURAL = {"alloc", "dealloc", "save", "signal", "tensorview", "wait", "weight"}
TAKE_ALL = {"copy"}
# One `infer` serves each of these groups: one refusal stands for the group.
GROUPS = (
    "abs ceil cos erf exp floor log neg relu round sigmoid sin sqrt tanh",
    "add cmpeq cmplt cmplte cmpneq div max min mul pow sub",
    "and or xor",
)


def main(root):
    text = (root / "ir" / "ops" / "meson.build").read_text()
    names = re.findall(r"'(\w+)'", re.search(r"^ops = \[(.*?)\]", text, re.M | re.S)[1])
    rows = {"GIVES": set(), "REFUSES": set()}
    for path in (root / "test" / "unit").glob("test_ops_*.c"):
        for kind, name in re.findall(r"\b(GIVES|REFUSES)\(\s*(\w+)", path.read_text()):
            rows[kind].add(name)
    for group in map(str.split, GROUPS):
        if rows["REFUSES"] & set(group):
            rows["REFUSES"].update(group)

    bad = 0
    for name in names:
        if name in STRUCTURAL:
            continue
        for kind in ("GIVES", "REFUSES"):
            if name not in rows[kind] and not (kind == "REFUSES" and name in TAKE_ALL):
                print(f"ir/ops/meson.build: error: {name}: no test {kind}({name}, ...)")
                bad += 1
    return 1 if bad or not names else 0


if __name__ == "__main__":
    sys.exit(main(sources.root_of(sys.argv[1])))
