"""Random graphs with quantized islands, as text.

Floats are quantized to drawn types, half of which saturate, pass through operators
on quantized elements and those that move them, and come back as floats.  Float
operators before an island would let a rounding decide, so each island begins at
placeholders and constants.
"""

import graphs

KINDS = {"i8": (-128, 127), "ui8": (0, 255), "i16": (-32768, 32767)}
SCALES = [1.0, 0.5, 0.25, 0.0078125, 0.1, 0.037, 0.003, 3.0]


def typed(r, like=None):
    """A kind with scale and offset, as the text form has it."""
    if like and r.random() < 0.4:
        return like
    kind = r.choice(["i8", "i8", "i8", "ui8", "ui8", "i16"])
    low, high = KINDS[kind]
    offset = r.choice([0, 0, low, high, r.randrange(low, high + 1)])
    return f"{kind}[S:{r.choice(SCALES)} O:{offset}]"


class Graph(graphs.Graph):
    def __init__(self, r):
        super().__init__(r)
        self.quantized = []

    def emit(self, *a, **k):
        made = super().emit(*a, **k)
        self.quantized += [v for v in made if "[S:" in v.kind]
        return made

    def start(self, shape):
        """A quantized value of nothing quantized."""
        kind = typed(self.r)
        if self.r.random() < 0.3:
            self.storage.append(f"placeholder @s{len(self.storage)} : {graphs.Value('', kind, shape, True).type}")
            v = graphs.Value(f"@s{len(self.storage) - 1}", kind, shape, True)
            self.inputs.append(v)
            return v
        if self.r.random() < 0.2:
            return self.constant(kind, shape)
        x = self.fresh("float", shape)
        self.used.add(x.ref)
        return self.emit("Quantize", [x], {}, (kind, shape))[0]

    def constant(self, kind, shape):
        r, n = self.r, graphs.size(shape)
        low, high = KINDS[kind.split("[")[0]]
        v = graphs.Value(f"@s{len(self.storage)}", kind, shape, True)
        one = lambda: str(r.randrange(low, high + 1))
        body = ("[" + ", ".join(one() for _ in range(n)) + "]" if 0 < n <= 16 and r.randrange(2)
                else f"splat({one()})")
        self.storage.append(f"constant {v.ref} : {v.type} = {body}")
        return v

    def splat(self, kind, shape):
        return self.emit("Splat", [], {"Value": self.r.choice([0.0, 1.0, -0.75, 9.5])}, (kind, shape))[0]

    def pick(self, rank=None, least=0):
        r = self.r
        fits = [v for v in self.quantized if (rank is None or len(v.shape) == rank) and len(v.shape) >= least]
        if fits and r.random() < 0.85:
            v = r.choice(fits[-6:])
        else:
            shape = self.shape(rank)
            while len(shape) < least:
                shape = self.shape()
            v = self.start(shape)
        self.used.add(v.ref)
        return v

    def beside(self, shape, kind=None):
        """Another quantized value of this shape, and of `kind` if that is given."""
        r, shape = self.r, tuple(shape)
        fits = [v for v in self.quantized if v.shape == shape and kind in (None, v.kind)]
        if fits and r.random() < 0.6:
            v = r.choice(fits)
        elif kind:
            v = r.choice([self.constant, self.splat])(kind, shape)
        else:
            v = self.start(shape) if r.random() < 0.7 else self.splat(typed(r), shape)
        self.used.add(v.ref)
        return v


UNARY = [("Relu", {}), ("Relu", {}), ("Neg", {}), ("Abs", {}), ("Floor", {}), ("Ceil", {}), ("Sqrt", {}),
         ("Sigmoid", {}), ("Tanh", {}), ("Exp", {}), ("Log", {}), ("Sin", {}), ("Erf", {}), ("Sign", {}),
         ("Clip", {"Min": -0.5, "Max": 1.0}), ("Clip", {"Min": 0.0, "Max": 6.0}), ("LeakyRelu", {"Alpha": 0.25}),
         ("HardSwish", {}), ("Gelu", {}), ("Swish", {}), ("Reciprocal", {}), ("Rsqrt", {}),
         ("MulConst", {"Lhs": 2.5}), ("HardSigmoid", {"Alpha": 0.25, "Beta": 0.5}),
         ("RescaleQuantized", {}), ("RescaleQuantized", {})]
BINARY = ["Add", "Add", "Add", "Sub", "Mul", "Mul", "Max", "Min", "Div", "Fmod", "Pow", "PRelu", "FloorDiv"]


def unary(g):
    op, attrs = g.r.choice(UNARY)
    v = g.pick()
    g.emit(op, [v], attrs, (typed(g.r, v.kind), v.shape))


def binary(g):
    v = g.pick()
    two = [v, g.beside(v.shape)]
    g.r.shuffle(two)
    g.emit(g.r.choice(BINARY), two, {}, (typed(g.r, v.kind), v.shape))


def compare(g):
    v = g.pick()
    c, = g.emit(g.r.choice(["CmpEQ", "CmpLT", "CmpLTE", "CmpNEQ"]), [v, g.beside(v.shape)], {}, ("bool", v.shape))
    if g.r.randrange(2):
        g.used.add(c.ref)
        g.emit("Select", [c, g.beside(v.shape), v], {}, (typed(g.r, v.kind), v.shape))


def batched(g):
    v = g.pick(least=1)
    g.emit(g.r.choice(["BatchedAdd", "BatchedMul"]), [v, g.beside(v.shape[1:])], {}, (typed(g.r, v.kind), v.shape))


def reduce(g):
    v = g.pick(least=1)
    op = g.r.choice(["BatchedReduceAdd", "BatchedReduceMean", "BatchedReduceMax", "BatchedReduceMin"])
    axes = sorted(g.r.sample(range(len(v.shape)), g.r.randrange(1, len(v.shape) + 1)))
    g.emit(op, [v], {"Axes": axes}, (typed(g.r, v.kind), [d for i, d in enumerate(v.shape) if i not in axes]))


def along(g):
    op = g.r.choice(["SoftMax", "CumSum", "ArgMax", "ArgMin", "TopK", "LayerNormalization"])
    v = g.pick(least=1)
    a = g.r.randrange(len(v.shape))
    if 0 in v.shape:
        return
    if op[:3] == "Arg":
        g.emit(op, [v], {"Axis": a, "KeepDims": "true"}, ("index64", [1 if i == a else d for i, d in enumerate(v.shape)]))
    elif op == "TopK":
        s = [*v.shape[:-1], g.r.randrange(1, v.shape[-1] + 1)]
        g.emit(op, [v], {"K": s[-1]}, ("Values", v.kind, s), ("Indices", "index64", s))
    elif op == "LayerNormalization":
        g.emit(op, [v, g.beside(v.shape[a:]), None], {"Axis": a, "Epsilon": 0.125}, (typed(g.r), v.shape))
    elif op == "CumSum":
        g.emit(op, [v], {"Dim": a}, (typed(g.r, v.kind), v.shape))
    else:
        g.emit(op, [v], {"Axis": a}, (typed(g.r), v.shape))


def pool(g):
    r, v = g.r, g.pick(rank=4)
    if 0 in v.shape:
        return
    k = [min(r.randrange(1, 4), n) for n in v.shape[1:3]]
    s = [r.randrange(1, 3) for _ in k]
    p = [r.randrange(0, kk) for kk in k] * 2
    out = [(v.shape[1 + i] + p[i] + p[2 + i] - k[i]) // s[i] + 1 for i in range(2)]
    attrs, shape = {"Kernels": k, "Strides": s, "Pads": p}, [v.shape[0], *out, v.shape[3]]
    op = r.choice(["MaxPool", "MaxPool", "AvgPool", "AdaptiveAvgPool", "BatchNormalization"])
    if op == "MaxPool":
        g.emit(op, [v], attrs, (v.kind, shape))
    elif op == "AvgPool":
        g.emit(op, [v], {**attrs, "CountIncludePads": r.choice(["true", "false"])}, (typed(r, v.kind), shape))
    elif op == "AdaptiveAvgPool":
        g.emit(op, [v], {}, (typed(r, v.kind), [v.shape[0], r.randrange(1, 4), r.randrange(1, 4), v.shape[3]]))
    else:
        four = [g.fresh("float", [v.shape[3]], True) for _ in range(3)]
        var = f"@s{len(g.storage)}"
        g.storage.append(f"constant {var} : {four[0].type} = splat(1.5)")
        g.emit(op, [v, *four, var], {"ChannelIdx": 3, "Epsilon": 0.125}, (typed(r), v.shape))


def transpose(g):
    v = g.pick()
    p = list(range(len(v.shape)))
    g.r.shuffle(p)
    g.emit("Transpose", [v], {"Shuffle": p}, (v.kind, [v.shape[i] for i in p]))


def reshape(g):
    v = g.pick()
    n, dims = graphs.size(v.shape), []
    while n > 1 and len(dims) < 5:
        d = g.r.choice([k for k in range(1, n + 1) if n % k == 0])
        dims.append(d)
        n //= d
    g.emit("Reshape", [v], {"Dims": dims if n == 1 else [*dims, n]}, (v.kind, dims if n == 1 else [*dims, n]))


def concat(g):
    v = g.pick(least=1)
    d = g.r.randrange(len(v.shape))
    parts = [v]
    for _ in range(g.r.randrange(1, 3)):
        s = list(v.shape)
        s[d] = g.r.randrange(1, 4)
        parts.append(g.beside(s, v.kind))
    g.r.shuffle(parts)
    s = list(v.shape)
    s[d] = sum(p.shape[d] for p in parts)
    g.emit("Concat", ["[" + ", ".join(p.ref for p in parts) + "]"], {"Dim": d}, (v.kind, s))


def cut(g):
    v = g.pick(least=1)
    shape = [g.r.randrange(1, d + 1) if d else 0 for d in v.shape]
    start = [g.r.randrange(d - n + 1) for d, n in zip(v.shape, shape)]
    g.emit("Slice", [v], {"Start": start}, (v.kind, shape))


def move(g):
    """Pad, Flip, InsertTensor and Gather."""
    r, v = g.r, g.pick(least=1)
    if 0 in v.shape or graphs.size(v.shape) > 20000:
        return
    a, kind = r.randrange(len(v.shape)), v.kind
    op = r.choice(["Pad", "Flip", "InsertTensor", "Gather"])
    if op == "Pad":
        before, after = ([r.randrange(3) for _ in v.shape] for _ in range(2))
        g.emit(op, [v], {"Mode": "constant", "Pads": before + after, "Value": r.choice([0.0, 1.5])},
               (kind, [b + d + c for b, d, c in zip(before, v.shape, after)]))
    elif op == "Flip":
        g.emit(op, [v], {"Axis": a}, (kind, v.shape))
    elif op == "InsertTensor":
        shape = [r.randrange(1, d + 1) for d in v.shape]
        g.emit(op, [v, g.beside(shape, kind)], {"Start": [r.randrange(d - n + 1) for d, n in zip(v.shape, shape)]},
               (kind, v.shape))
    else:
        at = [str(r.randrange(v.shape[a])) for _ in range(r.randrange(1, 4))]
        i = f"@s{len(g.storage)}"
        g.storage.append(f"constant {i} : index64<{len(at)}> = [{', '.join(at)}]")
        g.emit(op, [v, i], {"Axis": a}, (kind, [*v.shape[:a], len(at), *v.shape[a + 1:]]))


def repeat(g):
    v = g.pick(least=1)
    if len(v.shape) > 5 or graphs.size(v.shape) > 20000:
        return
    if g.r.randrange(2):
        a, n = g.r.randrange(len(v.shape)), g.r.randrange(1, 4)
        g.emit("Tile", [v], {"Count": n, "Axis": a}, (v.kind, [d * n if i == a else d for i, d in enumerate(v.shape)]))
    else:
        s = [2, *(3 if d == 1 else d for d in v.shape)]
        g.emit("Broadcast", [v], {"Axis": 1, "TargetDim": s}, (v.kind, s))


def dequantize(g):
    v = g.pick()
    x, = g.emit("Dequantize", [v], {}, (g.r.choice(["float", "float", "float64"]), v.shape))
    if g.r.randrange(2):
        g.used.add(x.ref)
        g.emit("Quantize", [x], {}, (typed(g.r, v.kind), v.shape))


MAKERS = [unary] * 5 + [binary] * 5 + [compare, batched, reduce, along, pool, pool, transpose, transpose, reshape,
                                       reshape, concat, concat, cut, cut, cut, move, move, repeat, repeat, dequantize, dequantize]


def graph(r, most=14):
    g = Graph(r)
    while len(g.nodes) < most:
        r.choice(MAKERS)(g)
    return g
