"""Graphs that grow, and how the time of each pass grows with them.

    chain       elementwise operators in a row
    fan-out     one value with a user for each node but those that add them up
    fan-in      one Concat of that many
    random      sums and products of any two values above
    constants   a constant for each node, and constants to compute
    moves       transposes, reshapes and slices among elementwise operators
    convs       1x1 convolutions with batch normalization, residuals, pooling
    blocks      layer norm, GELU and dense layers in small operators
    products    pairs of matrix products that share an operand, each behind the last

A table for each shape: processor milliseconds of each pass at a thousand nodes and
ten times more each time, the nanoseconds for each node in the end, and the growth
of the last step.  Only passes that grow by more than 12, or are too slow to be
tried at the largest size, have a row, unless --all is given.

Growth of time has a part that is none of the pass's: a graph of 100,000 nodes fits
into the third cache and one of a million does not.  With --instructions callgrind
counts what the processor executes, thousands of instructions instead of
milliseconds: that depends on nothing but the graph.
"""

import random
import re
import subprocess
import sys

HEAD = "gir 1\nplaceholder @x : float<{0}>\nplaceholder @y : float<{1}>\n"


class Writer:
    """A graph as text, with one value at a time to go on from."""

    def __init__(self, file, shape, most, out=None, storage=()):
        self.file, self.shape, self.most, self.count = file, shape, most, 0
        self.random = random.Random(most)
        self.last = "@x"
        file.write(HEAD.format(shape, out or shape))
        file.writelines(line + "\n" for line in storage)
        file.write("\nfunction @main {\n")

    @property
    def is_full(self):
        return self.count >= self.most

    def op(self, kind, *operands, shape=None, **attrs):
        name = f"%n{self.count}"
        body = " {" + ", ".join(f"{k}: {v}" for k, v in attrs.items()) + "}" if attrs else ""
        self.file.write(f"  {name} = {kind}({', '.join(operands)}){body} "
                        f": float<{shape or self.shape}>\n")
        self.count += 1
        self.last = name
        return name

    def end(self):
        self.file.write(f"  %save = Save({self.last}, @y)\n}}\n")


def chain(file, n):
    w = Writer(file, "2 x 3", n)
    while not w.is_full:
        w.op(w.random.choice(["Tanh", "Sigmoid", "Relu", "Abs", "Neg"]), w.last)
        w.op(w.random.choice(["Add", "Mul", "Max", "Sub"]), w.last, "@x")
    w.end()


def fan_out(file, n):
    w = Writer(file, "2", n)
    top = w.op("Tanh", "@x")
    level = [w.op("LeakyRelu", top, Alpha=f"{(i + 1) / n:.9f}") for i in range(n // 2)]
    while len(level) > 1:
        level = [w.op("Add", *level[i:i + 2]) if i + 1 < len(level) else level[i]
                 for i in range(0, len(level), 2)]
    w.last = level[0]
    w.end()


def fan_in(file, n):
    w = Writer(file, "2", n, 2 * (n - 1))
    parts = [w.op("LeakyRelu", "@x", Alpha=f"{(i + 1) / n:.9f}") for i in range(n - 1)]
    w.op("Concat", f"[{', '.join(parts)}]", shape=2 * (n - 1), Dim=0)
    w.end()


def any_two(file, n):
    w = Writer(file, "2 x 3", n)
    values = ["@x"]
    while not w.is_full:
        values.append(w.op(w.random.choice(["Add", "Mul", "Max", "Sub", "Min"]), w.last,
                           values[w.random.randrange(len(values))]))
    w.end()


def constants(file, n):
    size = max(1, n // 2)
    w = Writer(file, "2", n, storage=[
        f"constant @c{i} : float<2> = [{i % 97 + 0.5}, {i / size:.9f}]" for i in range(size)])
    for i in range(size):
        if i % 4 == 3:
            last = w.last
            made = w.op("Mul", f"@c{i}", f"@c{i - 1}")
            w.op("Add", last, w.op("Tanh", made))
        else:
            w.op(w.random.choice(["Add", "Mul", "Max"]), w.last, f"@c{i}")
    w.end()


def moves(file, n):
    w = Writer(file, "2 x 3 x 4", n)
    shape = [2, 3, 4]

    def text(s):
        return " x ".join(map(str, s))

    while not w.is_full:
        kind = w.random.randrange(4)
        if kind == 0:
            perm = w.random.sample(range(len(shape)), len(shape))
            shape = [shape[i] for i in perm]
            w.op("Transpose", w.last, shape=text(shape), Shuffle=perm)
        elif kind == 1:
            shape = w.random.choice([[2, 3, 4], [6, 4], [4, 6], [3, 8], [2, 2, 2, 3], [24]])
            w.op("Reshape", w.last, shape=text(shape), Dims=shape)
        elif kind == 2 and shape[0] > 1:
            whole, start = w.last, [0] * len(shape)
            low = w.op("Slice", whole, shape=text([1, *shape[1:]]), Start=start)
            start[0] = 1
            high = w.op("Slice", whole, shape=text([shape[0] - 1, *shape[1:]]), Start=start)
            w.op("Concat", f"[{high}, {low}]", shape=text(shape), Dim=0)
        else:
            w.op(w.random.choice(["Tanh", "Relu", "Sigmoid"]), w.last, shape=text(shape))
    if shape != [2, 3, 4]:
        w.op("Reshape", w.last, Dims=[2, 3, 4])
    w.end()


def convs(file, n):
    w = Writer(file, "1 x 2 x 2 x 4", n, storage=[
        "constant @f : float<4 x 1 x 1 x 4> = splat(0.25)"] + [
        f"constant @{c} : float<4> = [1, 2, 3, 4]" for c in ("b", "scale", "bias", "mean", "var")])
    one = {"Kernels": [1, 1], "Strides": [1, 1], "Pads": [0, 0, 0, 0]}
    while not w.is_full:
        x = w.last
        w.op("Convolution", x, "@f", "@b", **one, Group=1, Dilation=[1, 1])
        w.op("BatchNormalization", w.last, "@bias", "@scale", "@mean", "@var", ChannelIdx=3,
             Epsilon=0.125)
        w.op("Relu", w.last)
        w.op("Convolution", w.last, "@f", "@b", **one, Group=1, Dilation=[1, 1])
        w.op("Relu", w.op("Add", w.last, x))
        w.op("MaxPool", w.last, **one)
    w.end()


def blocks(file, n):
    w = Writer(file, "3 x 4", n, storage=[
        "constant @w : float<4 x 4> = splat(0.25)"] + [
        f"constant @{c} : float<4> = [1, 2, 3, 4]" for c in ("scale", "bias", "b")])

    def wide(v, axis=0):
        if axis == 1:
            v = w.op("Reshape", v, shape="3 x 1", Dims=[3, 1])
        return w.op("Broadcast", v, Axis=1 - axis, TargetDim=[3, 4])

    def number(v):
        return w.op("Splat", Value=v)

    while not w.is_full:
        x = w.last
        mean = wide(w.op("BatchedReduceMean", x, shape="3", Axes=[1]), 1)
        d = w.op("Sub", x, mean)
        square = w.op("Pow", d, number(2))
        var = wide(w.op("BatchedReduceMean", square, shape="3", Axes=[1]), 1)
        y = w.op("Div", d, w.op("Sqrt", w.op("Add", var, number(0.125))))
        y = w.op("Add", w.op("Mul", y, wide("@scale")), wide("@bias"))
        y = w.op("Add", w.op("MatMul", y, "@w"), wide("@b"))
        e = w.op("Add", w.op("Erf", w.op("Div", y, number(1.4142135))), number(1))
        y = w.op("Mul", w.op("Mul", y, e), number(0.5))
        w.op("Add", x, y)
    w.end()


def products(file, n):
    w = Writer(file, "4 x 4", n)
    while not w.is_full:
        x = w.last
        shared = w.op("Tanh", x)
        pair = [w.op("MatMul", w.op(kind, x), shared) for kind in ("Sigmoid", "Relu")]
        w.op("Add", *pair)
    w.end()


LIMIT = 12  # growth of a pass that is in proportion to nodes

SHAPES = {"chain": chain, "fan-out": fan_out, "fan-in": fan_in, "random": any_two,
          "constants": constants, "moves": moves, "convs": convs, "blocks": blocks,
          "products": products}


def measure(program, out, shape, sizes, passes, seconds, instructions):
    """{pass: [milliseconds, or thousands of instructions, by size]}"""
    files = []
    for n in sizes:
        files.append(out / f"{shape}-{n}.gir")
        with files[-1].open("w") as file:
            SHAPES[shape](file, n)
    dumps = out / "scale.calls"
    under = ["valgrind", "-q", "--tool=callgrind", "--combine-dumps=yes",
             f"--callgrind-out-file={dumps}"] if instructions else []
    done = subprocess.run([*under, program, str(seconds), ",".join(passes) if passes else "all",
                           *files], capture_output=True, text=True)
    if done.returncode:
        print(f"{shape}: {done.stderr[:2000]}", file=sys.stderr)
    if instructions:
        return counted(dumps)
    times = {}
    for line in done.stdout.splitlines():
        name, _, ms = line.split()
        times.setdefault(name, []).append(float(ms))
    return times


def counted(dumps):
    """Of a pipeline, the sum of its passes."""
    counts = {}
    for dump in dumps.read_text().split("desc: Trigger: ")[1:]:
        label = re.match(r"Client Request: (\S+) (\d+)\n", dump)
        if label and label[1] != "(raise)":
            sizes = counts.setdefault(label[1], {})
            total = int(re.search(r"^(?:summary|totals): (\d+)", dump, re.M)[1]) / 1e3
            sizes[int(label[2])] = sizes.get(int(label[2]), 0) + total
    return {name: [n for _, n in sorted(sizes.items())] for name, sizes in counts.items()}


def growth(ms):
    """Of the last step that is long enough to be measured."""
    return ms[-1] / ms[-2] if len(ms) > 1 and ms[-1] >= 2 and ms[-2] > 0 else 0


def report(build, include, out, shapes, most, passes, all_rows, seconds, instructions):
    program = out / "scale"
    source = include.parent / "bench" / "scale.c"
    subprocess.run(["cc", "-std=c11", "-O2", f"-I{include}", source, "-o", program, f"-L{build}",
                    "-lglow", f"-Wl,-rpath,{build}"], check=True)
    sizes = [1000]
    while sizes[-1] * 10 <= most:
        sizes.append(sizes[-1] * 10)
    worst, unit = {}, 1e3 if instructions else 1e6
    for shape in shapes or SHAPES:
        print(f"\n## {shape}\n\n| pass |" + "".join(f" {n} |" for n in sizes) +
              f" {'instructions' if instructions else 'ns'}/node | growth |\n| --- |" + " --- |" * (len(sizes) + 2), flush=True)
        for name, ms in measure(program, out, shape, sizes, passes, seconds,
                                instructions).items():
            worst[name] = max(worst.get(name, (0, "")), (growth(ms), shape))
            if not all_rows and growth(ms) <= LIMIT and len(ms) == len(sizes):
                continue
            cells = [f"{v:.2f}" for v in ms] + ["-"] * (len(sizes) - len(ms))
            print(f"| {name} | {' | '.join(cells)} | {ms[-1] * unit / sizes[len(ms) - 1]:.0f} "
                  f"| {growth(ms):.1f} |")
    slow = [f"{name} ({shape}: {g:.1f})" for name, (g, shape) in worst.items() if g > LIMIT]
    print(f"\nof {len(worst)}, these grow by more than {LIMIT}: {', '.join(slow) or 'none'}")
