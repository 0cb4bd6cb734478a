"""Random graphs that are valid, as text.

A graph is built node by node; each operator here knows how to take operands of
the right types from what there is, or to ask for new ones.  A value is exact
when only operators without rounding are above it: only such values go where a
rounding could decide (comparisons, rounding, division).
"""

import thresholds

SIZES = thresholds.sizes(65)  # around what the cpu's kernels decide by

FLOATS = ["float"] * 8 + ["float16", "bfloat16", "float64"]
INTS = ["index64", "index32", "int8", "int16", "uint8", "uint16", "uint32", "uint64"]
INTS = [k.replace("uint8", "uindex8") for k in INTS]


MOST = 100_000  # elements that an operator may make of few


class Value:
    def __init__(self, ref, kind, shape, exact):
        self.ref, self.kind, self.shape, self.exact = ref, kind, tuple(shape), exact

    @property
    def type(self):
        return f"{self.kind}<{' x '.join(map(str, self.shape))}>"


def size(shape):
    n = 1
    for d in shape:
        n *= d
    return n


class Graph:
    def __init__(self, r):
        self.r = r
        self.storage, self.nodes, self.values, self.used = [], [], [], set()
        self.inputs = []

    def shape(self, rank=None):
        r = self.r
        rank = r.choice([0, 1, 2, 2, 3, 4, 4, 5, 8]) if rank is None else rank
        most = 3 if rank > 5 else 5
        odd = [0, 1, 17, 33] if rank in (1, 2) else [1]
        shape = [r.choice([*range(1, most), *odd]) for _ in range(rank)]
        if 0 < rank <= 5 and r.random() < 0.25:
            shape[r.randrange(rank)] = r.choice(SIZES)
        return shape

    def line(self, rank):
        """Lines of few channels: the axis before the last is long."""
        r = self.r
        few = [r.randrange(1, 3) for _ in range(rank - 2)]
        return [*few, r.choice(SIZES), r.choice([1, 1, 1, 2, 3, r.choice(SIZES)])]

    def kind(self, kinds):
        return self.r.choice({"f": FLOATS, "i": INTS, "b": ["bool"],
                              "n": FLOATS + INTS, "p": FLOATS + INTS + ["bool"] * 3}[kinds])

    def fresh(self, kind, shape, constant=None):
        """A placeholder or constant."""
        r = self.r
        name = f"@s{len(self.storage)}"
        v = Value(name, kind, shape, True)
        if constant is None:
            constant = r.random() < 0.4
        if not constant:
            self.storage.append(f"placeholder {name} : {v.type}")
            self.inputs.append(v)
        else:
            one = {"bool": lambda: r.choice(["true", "false"])}.get(
                kind, (lambda: str(r.choice([0.5, 1.0, -2.0, 0.0, 0.25, 3.0])))
                if "float" in kind else (lambda: str(r.randrange(1, 5))))
            n = size(shape)
            body = ("[" + ", ".join(one() for _ in range(n)) + "]"
                    if 0 < n <= 16 and r.randrange(2) else f"splat({one()})")
            self.storage.append(f"constant {name} : {v.type} = {body}")
        return v

    def take(self, kinds="f", rank=None, exact=False, least=0):
        """Something there is, or something new."""
        r = self.r
        fits = [v for v in self.values
                if v.kind in {"f": FLOATS, "i": INTS, "b": ["bool"], "n": FLOATS + INTS,
                              "p": FLOATS + INTS + ["bool"]}[kinds]
                and (rank is None or len(v.shape) == rank) and len(v.shape) >= least
                and (v.exact or not exact)]
        if fits and r.random() < 0.85:
            v = r.choice(fits[-6:])
        else:
            shape = self.shape(rank if rank is not None else None)
            while len(shape) < least:
                shape = self.shape()
            v = self.fresh(self.kind(kinds), shape)
        self.used.add(v.ref)
        return v

    def same(self, v, exact=False, kind=None, shape=None):
        """Another of the type of v."""
        kind, shape = kind or v.kind, tuple(v.shape if shape is None else shape)
        fits = [w for w in self.values if w.kind == kind and w.shape == shape
                and (w.exact or not exact)]
        w = self.r.choice(fits) if fits and self.r.random() < 0.6 else self.fresh(kind, shape)
        self.used.add(w.ref)
        return w

    def emit(self, op, operands, attrs, *results, exact=False):
        """results: (kind, shape), or (name, kind, shape) of several."""
        name = f"%n{len(self.nodes)}"
        text = ", ".join("_" if o is None else o if isinstance(o, str) else o.ref
                         for o in operands)
        body = ", ".join(f"{k}: {v}" for k, v in attrs.items())
        exact = exact and all(o.exact for o in operands if isinstance(o, Value))
        if len(results) == 1:
            v = [Value(name, *results[0], exact)]
            types = v[0].type
        else:
            v = [Value(f"{name}#{n}", k, s, exact) for n, k, s in results]
            types = "(" + ", ".join(f"{n}: {w.type}" for (n, *_), w in zip(results, v)) + ")"
        self.nodes.append(f"{name} = {op}({text})" + (f" {{{body}}}" if body else "") + f" : {types}")
        self.values += v
        return v

    def text(self):
        saved = [v for v in self.values if v.ref not in self.used or self.r.random() < 0.15]
        lines = []
        for i, v in enumerate(saved):
            self.storage.append(f"placeholder @out{i} : {v.type}")
            lines.append(f"%save{i} = Save({v.ref}, @out{i})")
        self.saved = saved
        return "gir 1\n" + "\n".join(self.storage) + "\n\nfunction @main {\n  " + "\n  ".join(self.nodes + lines) + "\n}\n"


def unary(g):
    op, kinds, attrs, exact = g.r.choice([
        ("Abs", "n", {}, True), ("Neg", "n", {}, True), ("Relu", "n", {}, True),
        ("Ceil", "x", {}, True), ("Floor", "x", {}, True), ("Round", "x", {}, True),
        ("Cos", "f", {}, 0), ("Sin", "f", {}, 0), ("Erf", "f", {}, 0), ("Tanh", "f", {}, 0),
        ("Sigmoid", "f", {}, 0), ("Exp", "x", {}, 0), ("Log", "x", {}, 0), ("Sqrt", "x", {}, 0),
        ("HardSwish", "f", {}, 0), ("Gelu", "f", {}, 0), ("Gelu", "f", {"Approximate": "tanh"}, 0),
        ("LeakyRelu", "f", {"Alpha": 0.25}, 0),
        ("Clip", "f", {"Min": -0.5, "Max": 1.0}, True), ("HardSigmoid", "f", {"Alpha": 0.25, "Beta": 0.5}, 0),
        ("Truncate", "x", {}, True), ("Sign", "x", {}, True), ("BitwiseNot", "i", {}, True),
        ("Atan", "f", {}, 0), ("Asinh", "f", {}, 0), ("Tan", "x", {}, 0), ("Asin", "x", {}, 0),
        ("Acos", "x", {}, 0), ("Acosh", "x", {}, 0), ("Atanh", "x", {}, 0), ("Sinh", "x", {}, 0),
        ("Cosh", "x", {}, 0), ("Reciprocal", "x", {}, 0), ("Rsqrt", "x", {}, 0),
        ("SoftPlus", "f", {}, 0), ("Mish", "f", {}, 0), ("Softsign", "f", {}, 0), ("Swish", "f", {}, 0),
        ("Elu", "f", {"Alpha": 1.5}, 0), ("Celu", "f", {"Alpha": 2.0}, 0),
        ("Selu", "f", {"Alpha": 1.5, "Gamma": 1.25}, 0), ("Logit", "x", {"Epsilon": 0.125}, 0),
        ("Shrink", "x", {"Lambd": 0.25, "Bias": 0.5}, 0), ("ThresholdedRelu", "x", {"Alpha": 0.25}, True),
        ("MulConst", "n", {"Lhs": 2.5}, 0), ("RsubConst", "n", {"Lhs": 2.5}, 0),
        ("ReplaceNaN", "f", {"Value": 0.5}, True),
        ("Modulo", "i", {"Divisor": 5, "SignFollowDivisor": "true"}, True),
        ("Not", "b", {}, True), ("Copy", "p", {}, True)])
    v = g.take("f" if kinds == "x" else kinds, exact=kinds == "x")
    g.emit(op, [v], attrs, (v.kind, v.shape), exact=bool(exact))


def special(g):
    v = g.take("f")
    op, attrs = g.r.choice([("IsNaN", {}), ("IsInf", {}), ("IsInf", {"DetectPositive": "false"})])
    g.emit(op, [v], attrs, ("bool", v.shape), exact=True)


def binary(g):
    op, kinds, exact = g.r.choice([
        ("Add", "n", 0), ("Sub", "n", 0), ("Mul", "n", 0), ("Max", "n", 1), ("Min", "n", 1),
        ("And", "b", 1), ("Or", "b", 1), ("Xor", "b", 1), ("Div", "f", 0), ("PRelu", "n", 0),
        ("BitwiseAnd", "i", 1), ("BitwiseOr", "i", 1), ("BitwiseXor", "i", 1), ("BitShift", "i", 1),
        ("Fmod", "n", 1), ("Mod", "n", 0), ("FloorDiv", "n", 0)])
    decides = op in ("Div", "Fmod", "Mod", "FloorDiv")
    v = g.take(kinds, exact=decides)
    w = g.same(v, exact=decides)
    attrs = {"Direction": g.r.choice(["left", "right"])} if op == "BitShift" else {}
    g.emit(op, [v, w], attrs, (v.kind, v.shape), exact=bool(exact) or "float" not in v.kind)


def compare(g):
    v = g.take("n", exact=True)
    w = g.same(v, exact=True)
    c, = g.emit(g.r.choice(["CmpEQ", "CmpLT", "CmpLTE", "CmpNEQ"]), [v, w], {}, ("bool", v.shape), exact=True)
    if g.r.randrange(2):
        a, = [g.same(v)]
        b = g.same(v)
        g.used.add(c.ref)
        g.emit("Select", [c, a, b], {}, (v.kind, v.shape), exact=True)


def convert(g):
    v = g.take("p", exact=True)
    kind = g.kind("p")
    if "float" in v.kind and kind not in FLOATS and kind != "bool":
        kind = "index64"
    g.emit("ConvertTo", [v], {}, (kind, v.shape), exact=kind not in FLOATS or v.kind == kind)


def transpose(g):
    v = g.take("p")
    p = list(range(len(v.shape)))
    g.r.shuffle(p)
    g.emit("Transpose", [v], {"Shuffle": p}, (v.kind, [v.shape[i] for i in p]), exact=True)


def reshape(g):
    v = g.take("p")
    n, dims = size(v.shape), []
    while n > 1 and len(dims) < 7:
        d = g.r.choice([k for k in range(1, n + 1) if n % k == 0])
        dims.append(d)
        n //= d
    if n != 1 or not dims and g.r.randrange(2):
        dims.append(n)
    g.emit("Reshape", [v], {"Dims": dims}, (v.kind, dims), exact=True)


def concat(g):
    v = g.take("p", least=1)
    d = g.r.randrange(len(v.shape))
    parts = [v]
    for _ in range(g.r.randrange(3)):
        s = list(v.shape)
        s[d] = g.r.randrange(4)
        parts.append(g.same(v, shape=s))
    s = list(v.shape)
    s[d] = sum(p.shape[d] for p in parts)
    w, = g.emit("Concat", ["[" + ", ".join(p.ref for p in parts) + "]"], {"Dim": d}, (v.kind, s), exact=True)
    w.exact = all(p.exact for p in parts)


def cut(g):
    v = g.take("p", least=1)
    start, steps, shape = [], [], []
    for d in v.shape:
        step = g.r.choice([1, 1, 1, 2, -1, -2])
        n = g.r.randrange(d + 1)
        n = min(n, (d + abs(step) - 1) // abs(step))
        first = g.r.randrange(d - (n - 1) * abs(step)) if n else 0
        if step < 0 and n:
            first += (n - 1) * -step
        start.append(first), steps.append(step), shape.append(n)
    g.emit("Slice", [v], {"Start": start, "Steps": steps}, (v.kind, shape), exact=True)


def pad(g):
    v = g.take("f", least=1)
    if 0 in v.shape:
        return
    mode = g.r.choice(["constant", "constant", "edge", "reflect"])
    before = [g.r.randrange(-1 if mode == "constant" and d > 2 else 0, 1 if mode == "reflect" and d < 3 else 3) for d in v.shape]
    after = [g.r.randrange(0, 1 if mode == "reflect" and d < 3 else 2) for d in v.shape]
    if mode == "reflect":
        before = [min(b, d - 1) for b, d in zip(before, v.shape)]
    g.emit("Pad", [v], {"Mode": mode, "Pads": before + after, **({"Value": 0.5} if mode == "constant" else {})},
           (v.kind, [b + d + a for b, d, a in zip(before, v.shape, after)]), exact=True)


def tile(g):
    v = g.take("p", least=1)
    a, n = g.r.randrange(len(v.shape)), g.r.randrange(1, 4)
    s = list(v.shape)
    s[a] *= n
    g.emit("Tile", [v], {"Count": n, "Axis": a}, (v.kind, s), exact=True)


def broadcast(g):
    v = g.take("p")
    if len(v.shape) > 6:
        return
    extra = g.r.randrange(0, 3)
    target = g.shape(extra) + [g.r.choice([1, 3]) if d == 1 else d for d in v.shape]
    if size(target) > MOST:
        return
    g.emit("Broadcast", [v], {"Axis": extra, "TargetDim": target}, (v.kind, target), exact=True)


def gather(g):
    v = g.take("p", least=1)
    a = g.r.randrange(len(v.shape))
    if not v.shape[a]:
        return
    s = g.shape(g.r.randrange(0, 2))
    if len(v.shape) - 1 + len(s) > 8 or size(v.shape) * size(s) > MOST * max(v.shape[a], 1):
        return
    name = f"@s{len(g.storage)}"
    i = Value(name, g.r.choice(["index64", "index32"]), s, True)
    at = [str(g.r.randrange(-v.shape[a], v.shape[a])) for _ in range(size(s))]
    if not 0 < len(at) <= 16:
        return
    g.storage.append(f"constant {name} : {i.type} = [{', '.join(at)}]")
    g.emit("Gather", [v, i], {"Axis": a}, (v.kind, [*v.shape[:a], *s, *v.shape[a + 1:]]), exact=True)


def reduce(g):
    v = g.take("f", least=1)
    op = g.r.choice(["BatchedReduceAdd", "BatchedReduceMax", "BatchedReduceMin", "BatchedReduceMean",
                     "BatchedReduceProd", "BatchedReduceSumSquare", "ReduceL1", "ReduceL2",
                     "ReduceLogSumExp"])
    axes = sorted(g.r.sample(range(len(v.shape)), g.r.randrange(1, len(v.shape) + 1)))
    if op[-3:] in ("Max", "Min", "ean") and any(v.shape[a] == 0 for a in axes):
        return
    g.emit(op, [v], {"Axes": axes}, (v.kind, [d for i, d in enumerate(v.shape) if i not in axes]), exact=op[-3:] in ("Max", "Min"))


def along(g):
    op, exact = g.r.choice([("SoftMax", 0), ("LogSoftMax", 0), ("ArgMax", 1), ("ArgMin", 1), ("Hardmax", 1), ("TopK", 1), ("LayerNormalization", 0)])
    v = g.take("f", least=1, exact=bool(exact) or op[0] == "L")
    a = g.r.randrange(len(v.shape))
    if 0 in v.shape:
        return
    if op[:3] == "Arg":
        keep = g.r.randrange(2)
        g.emit(op, [v], {"Axis": a, "KeepDims": str(bool(keep)).lower()},
               ("index64", [1 if keep and i == a else d for i, d in enumerate(v.shape) if keep or i != a]), exact=True)
    elif op == "TopK":
        s = [*v.shape[:-1], g.r.randrange(1, v.shape[-1] + 1)]
        g.emit(op, [v], {"K": s[-1]}, ("Values", v.kind, s), ("Indices", "index64", s), exact=True)
    elif op == "LayerNormalization":
        s = g.same(v, shape=v.shape[a:]) if g.r.randrange(2) else None
        b = g.same(v, shape=v.shape[a:]) if g.r.randrange(2) else None
        g.emit(op, [v, s, b], {"Axis": a, "Epsilon": 0.125}, (v.kind, v.shape))
    else:
        g.emit(op, [v], {"Axis": a}, (v.kind, v.shape))


def product(g):
    op = g.r.choice(["MatMul", "BatchMatMul", "FullyConnected", "Gemm"])
    if op == "BatchMatMul":
        v = g.take("f", rank=3)
        n = g.r.choice([0, 1, 3, 16, 19])
        w = g.same(v, shape=[v.shape[0], v.shape[2], n])
        g.emit(op, [v, w], {}, (v.kind, [*v.shape[:2], n]))
        return
    v = g.take("f", rank=2)
    m, k = v.shape
    n = g.r.choice([0, 1, 3, 8, 16, 33])
    if op == "MatMul":
        g.emit(op, [v, g.same(v, shape=[k, n])], {}, (v.kind, [m, n]))
    elif op == "FullyConnected":
        g.emit(op, [v, g.same(v, shape=[k, n]), g.same(v, shape=[n])], {"Axis": 1}, (v.kind, [m, n]))
    else:
        ta, tb = g.r.randrange(2), g.r.randrange(2)
        m, k = (k, m) if ta else (m, k)
        w = g.same(v, shape=[n, k] if tb else [k, n])
        c = g.same(v, shape=[m, n]) if g.r.randrange(2) else None
        g.emit(op, [v, w, c], {"Alpha": 0.5, "Beta": 2.0, "TransposeA": str(bool(ta)).lower(),
                               "TransposeB": str(bool(tb)).lower()}, (v.kind, [m, n]))


def window(g):
    """Convolutions and pooling."""
    r = g.r
    rank = r.choice([4, 4, 4, 3, 5])
    if r.random() < 0.3:
        v = g.fresh(g.kind("f"), g.line(rank), False)
        g.used.add(v.ref)
    else:
        v = g.take("f", rank=rank)
    if 0 in v.shape:
        return
    spatial = v.shape[1:-1]
    k = [min(r.randrange(1, 4), n) for n in spatial]
    s = [r.randrange(1, 3) for _ in spatial]
    d = [r.choice([1, 1, 2]) for _ in spatial]
    p = [r.randrange(0, kk) for kk in k] + [r.randrange(0, kk) for kk in k]
    n = len(spatial)
    out = [(spatial[i] + p[i] + p[n + i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i in range(n)]
    if any(spatial[i] + p[i] + p[n + i] < d[i] * (k[i] - 1) + 1 for i in range(n)):
        return
    base = {"Kernels": k, "Strides": s, "Pads": p}
    op = r.choice(["Convolution", "Convolution", "Convolution", "ConvTranspose", "MaxPool", "AvgPool"])
    if op == "Convolution":
        group = r.choice([q for q in range(1, v.shape[-1] + 1) if v.shape[-1] % q == 0])
        o = group * r.choice([1, 2, 3, 16 if group < 9 else 1])
        f = g.same(v, shape=[o, *k, v.shape[-1] // group])
        b = g.same(v, shape=[o]) if r.randrange(2) else None
        c, = g.emit(op, [v, f, b], {**base, "Group": group, "Dilation": d}, (v.kind, [v.shape[0], *out, o]))
        if r.randrange(2):
            g.used.add(c.ref)
            four = [g.fresh(v.kind, [o], True) for _ in range(3)]
            var = f"@s{len(g.storage)}"
            g.storage.append(f"constant {var} : {four[0].type} = splat(1.5)")
            g.emit("BatchNormalization", [c, *four, var], {"ChannelIdx": len(v.shape) - 1, "Epsilon": 0.125}, (v.kind, c.shape))
    elif op == "ConvTranspose":
        o = r.choice([1, 2, 5])
        f = g.same(v, shape=[v.shape[-1], *k, o])
        out = [s[i] * (spatial[i] - 1) + d[i] * (k[i] - 1) + 1 - p[i] - p[n + i] for i in range(n)]
        if min(out) > 0:
            g.emit(op, [v, f, None], {**base, "Group": 1, "Dilation": d}, (v.kind, [v.shape[0], *out, o]))
    elif op == "MaxPool":
        g.emit(op, [v], {**base, "Dilation": d}, (v.kind, [v.shape[0], *out, v.shape[-1]]), exact=True)
    else:
        g.emit(op, [v], {**base, "Dilation": d, "CountIncludePads": r.choice(["true", "false"])}, (v.kind, [v.shape[0], *out, v.shape[-1]]))


MAKERS = [unary] * 4 + [binary] * 4 + [transpose] * 3 + [window] * 3 + [product] * 2 + [
    compare, convert, special, reshape, reshape, concat, concat, cut, cut, pad, tile, broadcast, gather, reduce, along]


def graph(r, most=14):
    g = Graph(r)
    while len(g.nodes) < most:
        r.choice(MAKERS)(g)
    return g
