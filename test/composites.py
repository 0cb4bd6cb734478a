"""Rules of composite operators against the gradients of what they are lowered to.

usage: composites.py GLOW-OPT FOLDER OPERATOR...

Each function of FOLDER/*.gir that uses an operator is differentiated in float64 as it
is, and after the operator was lowered.  Both are evaluated on the same drawn numbers;
all gradients must agree to 1e-10 of the largest element.
"""

import base64
import glob
import random
import re
import struct
import subprocess
import sys

TOLERANCE = 1e-10
NUMBER = r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|nan|inf)"


def run(glow_opt, text, *passes):
    done = subprocess.run([glow_opt, *passes, "-"], input=text,
                          capture_output=True, text=True, timeout=60)
    if done.returncode:
        sys.exit(f"glow-opt {' '.join(passes)}: {done.stderr}")
    return done.stdout


def drawn(text):
    """`text` with constants for the placeholders that it reads."""
    draw = random.Random(7)
    outputs = set(re.findall(r"Save\([^,]+, @([\w.$-]+)\)", text))

    def constant(found):
        if found[1] in outputs:
            return found[0]
        dims = found[2]
        count = 1
        for d in dims.split(" x ") if dims else []:
            count *= int(d)
        numbers = ", ".join(repr(draw.uniform(0.3, 1.7)) for _ in range(count))
        return f"constant @{found[1]} : float64<{dims}> = [{numbers}]"

    return re.sub(r"^placeholder @([\w.$-]+) : float64<([^>]*)>.*$", constant, text, flags=re.M)


def differentiated(glow_opt, text, *passes):
    """A function without its comments, in float64, with gradients."""
    text = "\n".join(l for l in text.split("\n") if not l.startswith("//"))
    text = re.sub(r"\bfloat<", "float64<", text)
    return run(glow_opt, text, *passes, "-differentiate")


def evaluated(glow_opt, text):
    """By placeholder: the elements of its gradient, in a function of constants."""
    text = run(glow_opt, text, "-fold-constants")
    blobs = dict(re.findall(r'^  ([\w.$-]+): base64<\d+> "([^"]*)"', text, re.M))
    values = {}
    for name, dims, data in re.findall(
        r"^constant @([\w.$-]+) : float64<([^>]*)> = (.*)$", text, re.M
    ):
        count = 1
        for d in dims.split(" x ") if dims else []:
            count *= int(d)
        if "blob" in data:
            raw = base64.b64decode(blobs[re.search(r"blob\(([^)]*)\)", data)[1]])
            numbers = list(struct.unpack(f"<{len(raw) // 8}d", raw))
        else:
            numbers = [float(x) for x in re.findall(NUMBER, data)]
        values[name] = numbers * count if "splat" in data else numbers
    saves = re.findall(r"Save\(@([\w.$-]+), @grad\.([\w.$-]+)\)", text)
    return {of: values[v] for v, of in saves}


def main():
    glow_opt, folder, *ops = sys.argv[1:]
    pieces = []
    for path in sorted(glob.glob(f"{folder}/*.gir")):
        pieces += re.split(r"^// -----\n", open(path, encoding="utf-8").read(), flags=re.M)
    for op in ops:
        functions = [p for p in pieces if f" = {op}(" in p]
        compared, off = 0, 0.0
        for p in functions:
            own, lowered = (
                evaluated(glow_opt, drawn(differentiated(glow_opt, p, *passes)))
                for passes in ((), (f"-lower-{op.lower()}",))
            )
            if own.keys() != lowered.keys() or not own:
                sys.exit(f"{op}: gradients by {sorted(own)}, lowered by {sorted(lowered)}")
            for of, g in own.items():
                largest = max(map(abs, lowered[of]))
                if len(g) != len(lowered[of]) or not largest < float("inf"):
                    sys.exit(f"{op}: @{of} is {g}, lowered {lowered[of]}")
                off = max([off] + [abs(x - y) / (largest or 1) for x, y in zip(g, lowered[of])])
                compared += len(g)
        agree = "agree" if compared and off <= TOLERANCE else f"are {off:.2g} off"
        print(f"{op}: {compared} elements {agree}")


if __name__ == "__main__":
    main()
