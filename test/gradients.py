"""Gradients of every function of floats in a set of .gir files.

usage: gradients.py GLOW-OPT FILE...

Each function is given a loss, the sum of what it saves in floats times drawn numbers,
is differentiated by all placeholders of floats that it reads, and verified by
-verify-gradients.  So the test of an operator, or of its lowering, is one of its gradient.
Functions without floats, bodies, and programs are left out; bodies count by their calls.
Operators without a gradient are listed: the tests that run this hold the list.
"""

import re
import subprocess
import sys
import tempfile

NAME = r"@[\w.$-]+"


def modules(text):
    """One module for each function of `text` that is no body, with all storage and bodies."""
    lines = [l for l in text.split("\n") if not l.lstrip().startswith("//")]
    text = "\n".join(lines)
    whole = r"^function .*?^\}\n?"
    storage = re.sub(whole, "", text, flags=re.M | re.S)
    for body in re.findall(whole, text, re.M | re.S):
        if re.match(rf"function {NAME} attributes \{{Inputs: ", body):
            storage += body
    for found in re.finditer(
        rf"^function ({NAME}) \{{\n(.*?)^\}}", text, re.M | re.S
    ):
        yield found[1], storage, found[2]


def with_loss(storage, body):
    """The module with a loss, and what it depends on; None if it has no floats."""
    types = dict(re.findall(rf"^placeholder ({NAME}) : (float<[^>]*>)", storage, re.M))
    saves = re.findall(rf"Save\(([%@][\w.#$-]+), ({NAME})\)", body)
    outputs = [(v, p) for v, p in saves if p in types and "strides" not in types[p]]
    written = {p for _, p in saves}
    inputs = [p for p in types if p not in written and re.search(re.escape(p) + r"(?![\w.$-])", body)]
    if not outputs or not inputs:
        return None
    total = None
    for i, (value, to) in enumerate(outputs):
        dims = types[to][len("float<") : -1]
        rank = dims.count(" x ") + 1 if dims.strip() else 0
        axes = ", ".join(str(k) for k in range(rank))
        storage += f"placeholder @zz.drawn{i} : {types[to]}\n"
        body += f"  %zz.{i} = Mul({value}, @zz.drawn{i}) : {types[to]}\n"
        body += f"  %zz.sum{i} = BatchedReduceAdd(%zz.{i}) {{Axes: [{axes}]}} : float<>\n"
        if total:
            body += f"  %zz.all{i} = Add({total}, %zz.sum{i}) : float<>\n"
        total = f"%zz.all{i}" if total else f"%zz.sum{i}"
    storage += "placeholder @zz.loss : float<>\n"
    body += f"  %zz.save = Save({total}, @zz.loss)\n"
    return f"{storage}\nfunction @main {{\n{body}}}\n", inputs


def verify(glow_opt, text, inputs):
    """The errors of the run."""
    of = ",".join(p[1:] for p in inputs)
    with tempfile.NamedTemporaryFile("w", suffix=".gir") as f:
        f.write(text)
        f.flush()
        run = subprocess.run(
            [glow_opt, f'-differentiate=loss=zz.loss,of="{of}"',
             "-verify-gradients=directions=2", f.name, "-o", "/dev/null"],
            capture_output=True, text=True, timeout=300,
        )
    if run.returncode == 0:
        return []
    return re.findall(r"error\[E\d+\]: .*", run.stderr) or [run.stderr[-500:]]


def main():
    glow_opt, *files = sys.argv[1:]
    right, refused, left_out, wrong = 0, set(), [], []
    for path in files:
        for name, storage, body in modules(open(path, encoding="utf-8").read()):
            made = with_loss(storage, body)
            errors = verify(glow_opt, *made) if made else []
            right += made is not None and not errors
            for e in errors:
                without = re.match(r"error\[E0442\]: no gradient of (\w+)", e)
                if without:
                    refused.add(without[1])
                elif "refuses all inputs" in e:
                    left_out.append(f"{path.split('/')[-1]} {name}")
                else:
                    wrong.append(f"{path} {name}: {e}")
    print(f"{right} functions are right")
    for one in left_out:
        print(f"left out, since no inputs serve all of it: {one}")
    for op in sorted(refused):
        print(f"no gradient: {op}")
    for w in wrong:
        print(f"wrong: {w}")
    return bool(wrong)


sys.exit(main())
