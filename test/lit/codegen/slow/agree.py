"""Fails if interpreter and CPU differ on primitive operators drawn at random.

    agree.py SEED ROUNDS

A round is one function with a node of each kind: shapes, attributes and element
kinds are drawn, inputs are a ramp or random, and each node's result is saved.
The function of a failure is printed.
"""

import pathlib
import random
import subprocess
import sys
import tempfile

import numpy

FLOATS = ["float", "float", "float", "float16", "bfloat16", "float64"]
INTS = "index64 index32 int8 uindex8 int16 uint16 uint32 uint64".split()
NUMBERS = FLOATS + INTS
TOLERANCE = {"float": 2e-5, "float16": 4e-3, "bfloat16": 4e-2, "float64": 1e-12}

FLOAT_UNARY = "Ceil Cos Erf Exp Floor Log Round Sigmoid Sin Sqrt Tanh".split()
NUMBER_UNARY = "Abs Neg Relu Copy".split()
BINARY = "Add Sub Mul Div Max Min Pow".split()
COMPARE = "CmpEQ CmpLT CmpLTE CmpNEQ".split()
REDUCE = "Add Max Min Prod".split()
COORDINATES = "asymmetric half_pixel pytorch_half_pixel align_corners".split()
ROUNDINGS = "floor ceil round_prefer_floor round_prefer_ceil".split()

pick = random.choice


def of(kind, shape):
    return f"{kind}<{' x '.join(map(str, shape))}>"


def sizes(rank):
    return [pick([1, 2, 3, 4, 5, 7, 8, 9, 16, 17]) for _ in range(rank)]


# Each draws one node: the types of its operands, the node with a place for each
# of them, and the type of its result.


def element_wise():
    kind, shape = pick(NUMBERS), sizes(random.randint(0, 3))
    x, flag, real = of(kind, shape), of("bool", shape), of(pick(FLOATS), shape)
    yield [real], pick(FLOAT_UNARY) + "({})", real
    yield [x], pick(NUMBER_UNARY) + "({})", x
    yield [x, x], pick(BINARY) + "({}, {})", x
    yield [x, x], pick(COMPARE) + "({}, {})", flag
    yield [flag, flag], pick(["And", "Or", "Xor"]) + "({}, {})", flag
    yield [flag, x, x], "Select({}, {}, {})", x
    yield [x], "ConvertTo({})", of(pick(NUMBERS + ["bool"]), shape)
    yield [], "Splat() {{Value: 3.5}}", x


def strided(size):
    """Draws start, step and count of a slice of an axis."""
    step = pick([1, 1, 1, 2, -1, -2])
    count = random.randint(1, (size - 1) // abs(step) + 1)
    span = (count - 1) * abs(step)
    low = random.randint(0, size - 1 - span)
    return low if step > 0 else low + span, step, count


def layout():
    kind, shape = pick(NUMBERS), sizes(random.randint(1, 4))
    rank, x = len(shape), of(kind, shape)
    axis = random.randrange(rank)

    order = random.sample(range(rank), rank)
    yield [x], f"Transpose({{}}) {{{{Shuffle: {order}}}}}", of(kind, [shape[i] for i in order])

    other, both = list(shape), list(shape)
    other[axis] = pick([1, 2, 5])
    both[axis] += other[axis]
    yield [x, of(kind, other)], f"Concat([{{}}, {{}}]) {{{{Dim: {axis}}}}}", of(kind, both)

    start, steps, count = map(list, zip(*map(strided, shape)))
    yield [x], f"Slice({{}}) {{{{Start: {start}, Steps: {steps}}}}}", of(kind, count)

    room = [random.randint(0, 3) for _ in shape]
    start = [random.randint(0, r) for r in room]
    big = of(kind, [s + r for s, r in zip(shape, room)])
    yield [big, x], f"InsertTensor({{}}, {{}}) {{{{Start: {start}}}}}", big

    before = sizes(random.randint(0, 2))
    wide = before + [pick([1, 3]) if s == 1 else s for s in shape] + sizes(random.randint(0, 1))
    yield [x], f"Broadcast({{}}) {{{{Axis: {len(before)}, TargetDim: {wide}}}}}", of(kind, wide)

    picked = of(kind, [3] + shape[1:])
    yield [x, of("index64", [3])], "Gather({}, {}) {{Axis: 0}}", picked


def reductions():
    kind, shape = pick(NUMBERS), sizes(random.randint(1, 4))
    axis, real = random.randrange(len(shape)), of(pick(FLOATS), shape)
    axes = sorted(random.sample(range(len(shape)), random.randint(0, len(shape))))
    left = [s for i, s in enumerate(shape) if i not in axes]
    yield ([of(kind, shape)], f"BatchedReduce{pick(REDUCE)}({{}}) {{{{Axes: {axes}}}}}",
           of(kind, left))

    last = pick(["true", "false"])
    yield ([of(kind, shape)], f"{pick(['ArgMax', 'ArgMin'])}({{}}) "
           f"{{{{Axis: {axis}, KeepDims: false, SelectLast: {last}}}}}",
           of("index64", shape[:axis] + shape[axis + 1:]))
    yield [real], f"SoftMax({{}}) {{{{Axis: {axis}}}}}", real
    yield ([real], f"LocalResponseNormalization({{}}) {{{{HalfWindowSize: {random.randint(0, 3)}, "
           "Alpha: 0.01, Beta: 0.75, K: 1.0}}", real)


def products():
    kind = pick(FLOATS)
    b, m, k, n = sizes(4)
    yield [of(kind, [m, k]), of(kind, [k, n])], "MatMul({}, {})", of(kind, [m, n])
    yield ([of(kind, [b, m, k]), of(kind, [b, k, n])], "BatchMatMul({}, {})",
           of(kind, [b, m, n]))
    kind = pick(NUMBERS)
    yield ([of(kind, [b, m, n]), of(kind, [m, n])], "BatchedAdd({}, {})",
           of(kind, [b, m, n]))


def windows():
    rank, kind = random.randint(1, 3), pick(FLOATS)
    x = [random.randint(5, 9) for _ in range(rank)]
    k, s = ([random.randint(1, 3) for _ in x] for _ in "ks")
    d = [random.randint(1, 2) for _ in x]
    low, high = ([random.randint(0, 2) for _ in x] for _ in "lh")
    reach = [(a - 1) * b + 1 for a, b in zip(k, d)]
    out = [(n + p + q - r) // t + 1 for n, p, q, r, t in zip(x, low, high, reach, s)]
    back = [(n - 1) * t + r - p - q for n, p, q, r, t in zip(x, low, high, reach, s)]
    group, batch = pick([1, 1, 2, 3]), random.randint(1, 2)
    c, o = group * pick([1, 2, 4]), group * pick([1, 2, 5, 8])
    text = f"Kernels: {k}, Strides: {s}, Pads: {low + high}, "
    tail = f"Dilation: {d}}}}}"
    image = of(kind, [batch] + x + [c])

    yield ([image, of(kind, [o] + k + [c // group]), of(kind, [o])],
           f"Convolution({{}}, {{}}, {{}}) {{{{{text}Group: {group}, {tail}",
           of(kind, [batch] + out + [o]))
    if min(back) > 0:
        yield ([image, of(kind, [c] + k + [o // group])],
               f"ConvTranspose({{}}, {{}}, _) {{{{{text}Group: {group}, {tail}",
               of(kind, [batch] + back + [o]))
    yield ([image], f"AvgPool({{}}) {{{{{text}CountIncludePads: {pick(['true', 'false'])}, {tail}",
           of(kind, [batch] + out + [c]))
    kind = pick(NUMBERS)
    yield ([of(kind, [batch] + x + [c])], f"MaxPool({{}}) {{{{{text}{tail}",
           of(kind, [batch] + out + [c]))


def resizing():
    x, y = ([random.randint(1, 9) for _ in "hw"] for _ in "xy")
    scale = [1.0] + [float(numpy.float32(b / a)) for a, b in zip(x, y)] + [1.0]
    text = f"{{{{Scale: {scale}, Coordinates: {pick(COORDINATES)}"
    kind = pick(NUMBERS)
    yield ([of(kind, [1] + x + [2])], f"ResizeNearest({{}}) {text}, Rounding: {pick(ROUNDINGS)}}}}}",
           of(kind, [1] + y + [2]))
    kind = pick(FLOATS)
    yield [of(kind, [1] + x + [2])], f"ResizeBilinear({{}}) {text}}}}}", of(kind, [1] + y + [2])


FAMILIES = (element_wise, layout, reductions, products, windows, resizing)


def draw():
    """Returns the text of a function, the names and kinds of what it writes, and its inputs."""
    storage, nodes, outputs, inputs = [], [], {}, []
    for i, (operands, node, result) in enumerate(c for f in FAMILIES for c in f()):
        names = [f"x{i}.{j}" for j in range(len(operands))]
        is_index = node.startswith("Gather")
        for name, type_ in zip(names, operands):
            storage.append(f"placeholder @{name} : {type_}")
            fill = "zero" if is_index and name.endswith(".1") else pick(["ramp", "random:7"])
            inputs.append(f"-input={name}={fill}")
        storage.append(f"placeholder @y{i} : {result}")
        nodes.append(f"  %n{i} = {node.format(*('@' + n for n in names))} : {result}")
        nodes.append(f"  %s{i} = Save(%n{i}, @y{i})")
        outputs[f"y{i}"] = (result.split("<")[0], nodes[-2])
    text = "\n".join(storage + ["function @main {"] + nodes + ["}"])
    return text + "\n", outputs, inputs


def load(path, kind):
    value = numpy.atleast_1d(numpy.load(path))
    if kind == "bfloat16" and value.dtype.itemsize == 2:
        value = (value.view(numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32)
    return value


def agree(a, b, kind):
    if kind not in TOLERANCE:
        return numpy.array_equal(a, b)
    t = TOLERANCE[kind]
    return numpy.allclose(a.astype(float), b.astype(float), rtol=t, atol=t, equal_nan=True)


def round_fails(folder):
    text, outputs, inputs = draw()
    (folder / "t.gir").write_text(text)
    for backend in ("interp", "cpu"):
        (folder / backend).mkdir(exist_ok=True)
        command = ["glow-run", f"{folder}/t.gir", f"-backend={backend}",
                   f"-output-dir={folder}/{backend}", *inputs]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(text, f"{backend}: {done.stderr}")
            return 1
    bad = 0
    for name, (kind, node) in outputs.items():
        a, b = (load(folder / backend / f"{name}.npy", kind) for backend in ("interp", "cpu"))
        if not agree(a, b, kind):
            print(f"{node}\n  interp {a.ravel()[:8]}\n  cpu    {b.ravel()[:8]}")
            bad += 1
    return bad


def main(seed, rounds):
    random.seed(seed)
    with tempfile.TemporaryDirectory() as folder:
        return sum(round_fails(pathlib.Path(folder)) for _ in range(rounds))


if __name__ == "__main__":
    sys.exit(1 if main(int(sys.argv[1]), int(sys.argv[2])) else 0)
