"""What optimizers look for, as parts of random graphs: whole, and nearly so.

Each maker writes the small operators of one pattern over values of the graph, with
shapes, axes and numbers drawn.  With some chance a value in the middle is saved
too, or a number is not the one that the pattern has: then a rewrite has to keep
something, or not to fire at all.
"""

import graphs
from graphs import Value


class Pattern:
    """Writes the nodes of one pattern."""

    def __init__(self, g):
        self.g, self.r = g, g.r

    def op(self, name, *operands, shape=None, kind=None, **attrs):
        """One result, of the type of the first operand unless it is given."""
        like = operands[0][0] if isinstance(operands[0], list) else operands[0]
        for o in operands:
            for v in o if isinstance(o, list) else [o]:
                if v:
                    self.g.used.add(v.ref)
        operands = ["[" + ", ".join(v.ref for v in o) + "]" if isinstance(o, list) else o
                    for o in operands]
        out, = self.g.emit(name, operands, attrs,
                           (kind or like.kind, like.shape if shape is None else tuple(shape)))
        return out

    def number(self, x, like, near=True):
        """x of the type of `like`, as splat or constant; seldom another number."""
        if near and self.r.random() < 0.08:
            x = self.r.choice([x * 1.25, -x, x + 1])
        if self.r.randrange(3):
            out, = self.g.emit("Splat", [], {"Value": repr(float(x))}, (like.kind, like.shape))
            return out
        name = f"@s{len(self.g.storage)}"
        shape = like.shape
        self.g.storage.append(f"constant {name} : {Value(name, like.kind, shape, True).type} "
                              f"= splat({float(x)!r})")
        return Value(name, like.kind, shape, True)

    def weight(self, like, shape):
        return self.g.fresh(like.kind, shape, self.r.random() < 0.8)

    def either(self, name, a, b, **attrs):
        """A commutative operator, its operands in any order."""
        a, b = self.r.choice([(a, b), (b, a)])
        return self.op(name, a, b, **attrs)

    def wide(self, v, shape):
        """v repeated along leading axes, or those where it has 1."""
        if v.shape == tuple(shape):
            return v
        return self.op("Broadcast", v, shape=shape, Axis=len(shape) - len(v.shape),
                       TargetDim=list(shape))

    def value(self, rank):
        return self.g.take("f", rank=rank)


def layer_norm(p):
    v = p.value(p.r.choice([2, 3]))
    if 0 in v.shape:
        return
    last = len(v.shape) - 1

    def mean(x):
        m = p.op("BatchedReduceMean", x, shape=v.shape[:-1], Axes=[last])
        m = p.op("Reshape", m, shape=[*v.shape[:-1], 1], Dims=[*v.shape[:-1], 1])
        return p.wide(m, v.shape)

    is_rms = p.r.randrange(4) == 0
    d = v if is_rms else p.op("Sub", v, mean(v))
    square = p.either("Mul", d, d) if p.r.randrange(2) else p.op("Pow", d, p.number(2, d))
    std = p.op("Sqrt", p.either("Add", mean(square), p.number(0.125, v)))
    if p.r.randrange(3):
        y = p.op("Div", d, std)
    else:
        y = p.either("Mul", d, p.op("Div", p.number(1, v), std))
    if p.r.randrange(4):
        y = p.either("Mul", y, p.wide(p.weight(v, [v.shape[-1]]), v.shape))
    if p.r.randrange(4) and not is_rms:
        p.either("Add", y, p.wide(p.weight(v, [v.shape[-1]]), v.shape))


def gelu(p):
    v = p.value(p.r.choice([1, 2, 3]))
    if p.r.randrange(2):
        e = p.op("Erf", p.op("Div", v, p.number(2 ** 0.5, v)) if p.r.randrange(2)
                 else p.either("Mul", v, p.number(0.5 ** 0.5, v)))
    else:
        cube = p.op("Pow", v, p.number(3, v)) if p.r.randrange(2) else p.either(
            "Mul", v, p.either("Mul", v, v))
        inner = p.either("Add", v, p.either("Mul", cube, p.number(0.044715, v)))
        e = p.op("Tanh", p.either("Mul", inner, p.number(0.7978845608, v)))
    one = p.either("Add", e, p.number(1, v))
    if p.r.randrange(2):
        p.either("Mul", p.either("Mul", v, p.number(0.5, v)), one)
    else:
        p.either("Mul", p.either("Mul", v, one), p.number(0.5, v))


def gate(p):
    v = p.value(p.r.choice([1, 2, 4]))
    kind = p.r.randrange(5)
    if kind == 0:
        p.either("Mul", v, p.op("Sigmoid", v))
    elif kind == 1:
        p.either("Mul", v, p.op("Tanh", p.op("SoftPlus", v)))
    elif kind == 2:
        low = p.op("Max", v, p.either("Mul", v, p.number(0.25, v)))
        p.op("Neg", low)
    elif kind == 3:
        c = p.either("Min", p.either("Max", p.either("Add", v, p.number(3, v)), p.number(0, v)),
                     p.number(6, v))
        c = p.op("Div", c, p.number(6, v))
        if p.r.randrange(2):
            p.either("Mul", v, c)
    else:
        c = p.op("Clip", p.either("Add", v, p.number(3, v)), Min=0.0, Max=6.0)
        p.op("Div", p.either("Mul", v, c), p.number(6, v))


def softmax(p):
    v = p.value(2)
    if 0 in v.shape:
        return
    n, m = v.shape

    def column(op, x):
        return p.wide(p.op("Reshape", p.op(op, x, shape=[n], Axes=[1]), shape=[n, 1], Dims=[n, 1]),
                      v.shape)

    t = p.op("Tanh", v)
    e = p.op("Exp", p.op("Sub", t, column("BatchedReduceMax", t)) if p.r.randrange(2) else t)
    p.op("Div", e, column("BatchedReduceAdd", e))


def attention(p):
    r = p.r
    b, s, h, d = r.choice([1, 2]), r.choice([1, 3, 4]), r.choice([1, 2]), r.choice([2, 4])
    x = p.g.fresh("float", [b * s, h * d], False)

    def heads(perm, shape):
        y = p.op("MatMul", x, p.weight(x, [h * d, h * d]))
        if r.randrange(2):
            y = p.either("Add", y, p.wide(p.weight(x, [h * d]), y.shape))
        y = p.op("Reshape", y, shape=[b, s, h, d], Dims=[b, s, h, d])
        y = p.op("Transpose", y, shape=[[b, s, h, d][i] for i in perm], Shuffle=perm)
        return p.op("Reshape", y, shape=shape, Dims=shape)

    q, v = (heads([0, 2, 1, 3], [b * h, s, d]) for _ in range(2))
    k = heads([0, 2, 3, 1], [b * h, d, s])
    scores = p.op("BatchMatMul", q, k, shape=[b * h, s, s])
    if r.randrange(3):
        scores = r.choice([lambda: p.op("Div", scores, p.number(d ** 0.5, scores)),
                           lambda: p.either("Mul", scores, p.number(d ** -0.5, scores))])()
    if r.randrange(2):
        mask = p.g.fresh("float", r.choice([[s, s], [b * h, s, s]]), False)
        scores = p.either("Add", scores, p.wide(mask, scores.shape))
    a = p.op("BatchMatMul", p.op("SoftMax", scores, Axis=2), v, shape=[b * h, s, d])
    a = p.op("Reshape", a, shape=[b, h, s, d], Dims=[b, h, s, d])
    a = p.op("Transpose", a, shape=[b, s, h, d], Shuffle=[0, 2, 1, 3])
    p.op("Reshape", a, shape=[b * s, h * d], Dims=[b * s, h * d])


def shuffle(p):
    """Channel shuffle, or another way there and back."""
    r = p.r
    n, c, g = r.choice([1, 2]), r.choice([2, 3]), r.choice([2, 4])
    v = p.g.fresh("float", [n, 2, c * g], r.random() < 0.1)
    y = p.op("Reshape", v, shape=[n, 2, g, c], Dims=[n, 2, g, c])
    perm = [0, 1, 3, 2] if r.random() < 0.9 else [0, 2, 3, 1]
    y = p.op("Transpose", y, shape=[[n, 2, g, c][i] for i in perm], Shuffle=perm)
    p.op("Reshape", y, shape=[n, 2, c * g], Dims=[n, 2, c * g])


def there_and_back(p):
    """Elementwise operators between a transpose and its inverse."""
    v = p.value(p.r.choice([3, 4]))
    rank = len(v.shape)
    perm = p.r.sample(range(rank), rank)
    back = [perm.index(i) for i in range(rank)]

    def turn(x, perm):
        return p.op("Transpose", x, shape=[x.shape[i] for i in perm], Shuffle=perm)

    y = turn(v, perm)
    for _ in range(p.r.randrange(4)):
        kind = p.r.randrange(6)
        if kind < 2:
            y = p.op(p.r.choice(["Relu", "Tanh", "Abs"]), y)
        elif kind == 2:
            y = p.either("Add", y, p.weight(y, y.shape))
        elif kind == 3:
            y = p.either("Mul", y, p.number(0.5, y))
        elif kind == 4:
            y = p.either("Max", y, turn(p.g.same(v, shape=[y.shape[i] for i in back]), perm))
        else:
            a = p.r.randrange(rank)
            s = list(y.shape)
            s[a] *= 2
            y = p.op("Concat", [y, p.op("Neg", y)], shape=s, Dim=a)
    turn(y, back if p.r.random() < 0.9 else perm)


def pieces(p):
    """Slices of a value, joined again."""
    v = p.value(p.r.choice([1, 2, 3, 4]))
    axis = p.r.randrange(len(v.shape))
    size = v.shape[axis]
    if size < 2:
        return
    cuts = sorted(p.r.sample(range(1, size), p.r.randrange(1, min(size, 4))))
    parts = []
    for a, b in zip([0, *cuts], [*cuts, size]):
        s, start = list(v.shape), [0] * len(v.shape)
        s[axis], start[axis] = b - a, a
        parts.append(p.op("Slice", v, shape=s, Start=start))
    if p.r.randrange(3) == 0:
        parts = [p.op("Relu", x) for x in parts]
    if p.r.random() < 0.2:
        p.r.shuffle(parts)
    if p.r.random() < 0.2:
        parts.pop()
    s = list(v.shape)
    s[axis] = sum(x.shape[axis] for x in parts)
    p.op("Concat", parts, shape=s, Dim=axis)


def same_operand(p):
    """Products of one value with several weights, and of several with one."""
    r = p.r
    k = r.choice([2, 4])
    x = p.g.fresh("float", [r.choice([1, 3]), k], False)
    out = []
    for _ in range(r.randrange(2, 4)):
        if r.randrange(2):
            n = r.choice([2, 3])
            y = p.op("MatMul", x, p.weight(x, [k, n]), shape=[x.shape[0], n])
        else:
            n, w = r.choice([1, 2]), out[0][1] if out else p.weight(x, [k, 2])
            y = p.op("MatMul", p.g.fresh("float", [n, k], False), w, shape=[n, w.shape[1]])
            out.append((y, w))
            continue
        if r.randrange(2):
            y = p.either("Add", y, p.wide(p.weight(x, [y.shape[1]]), y.shape))
        p.op("Relu", y)


def conv_chain(p):
    """A convolution with scale, bias, normalization, residual, activation, padding."""
    r = p.r
    c, o = r.choice([1, 2, 4]), r.choice([1, 2, 4])
    v = p.g.fresh("float", [r.choice([1, 2]), r.choice([3, 5]), r.choice([3, 4]), c], False)
    k = r.choice([1, 2, 3])
    if r.randrange(3) == 0:
        pads = [0, r.randrange(2), r.randrange(2), 0, 0, r.randrange(2), r.randrange(2), 0]
        v = p.op("Pad", v, shape=[v.shape[i] + pads[i] + pads[4 + i] for i in range(4)],
                 Mode="constant", Pads=pads, Value=0.0 if r.random() < 0.9 else 1.0)
    if r.randrange(4) == 0:
        v = p.either("Mul", v, p.wide(p.weight(v, [c]), v.shape))
    out = [v.shape[0], v.shape[1] - k + 1, v.shape[2] - k + 1, o]
    group = o if o == c and r.randrange(2) else 1
    y = p.op("Convolution", v, p.weight(v, [o, k, k, c // group]),
             p.weight(v, [o]) if r.randrange(2) else None, shape=out, Kernels=[k, k],
             Strides=[1, 1], Pads=[0] * 4, Group=group, Dilation=[1, 1])
    for _ in range(r.randrange(1, 4)):
        kind = r.randrange(5)
        if kind == 0:
            y = p.either("Mul", y, p.wide(p.weight(v, [o]), y.shape))
        elif kind == 1:
            y = p.either("Add", y, p.wide(p.weight(v, [o]), y.shape))
        elif kind == 2:
            y = p.either("Add", y, p.g.fresh("float", y.shape, False))
        elif kind == 3:
            y = p.op(r.choice(["Relu", "Sigmoid", "Tanh"]), y)
        else:
            var = f"@s{len(p.g.storage)}"
            p.g.storage.append(f"constant {var} : float<{o}> = splat(1.5)")
            y = p.op("BatchNormalization", y, *(p.g.fresh("float", [o], True) for _ in range(3)),
                     Value(var, "float", [o], True), ChannelIdx=3, Epsilon=0.125)


def identities(p):
    """What changes nothing, or nearly."""
    v = p.value(p.r.choice([0, 1, 2, 4]))
    y = v
    for _ in range(p.r.randrange(1, 4)):
        y = p.r.choice([
            lambda: p.op("Add", y, p.number(0, y)), lambda: p.op("Sub", y, p.number(0, y)),
            lambda: p.either("Mul", y, p.number(1, y)), lambda: p.op("Div", y, p.number(1, y)),
            lambda: p.op("Max", y, y), lambda: p.op("Neg", p.op("Neg", y)),
            lambda: p.op("Relu", p.op("Relu", y)), lambda: p.op("Abs", p.op("Neg", y)),
            lambda: p.op("Clip", p.op("Clip", y, Min=-1.0, Max=1.0), Min=-0.5, Max=2.0),
            lambda: p.either("Mul", p.either("Mul", y, p.number(2, y)), p.number(0.25, y)),
            lambda: p.either("Add", p.either("Add", y, p.number(2, y)), p.number(-1, y)),
            lambda: p.op("Div", y, p.number(4, y)),
            lambda: p.op("Reshape", p.op("Reshape", y, shape=[1, *y.shape], Dims=[1, *y.shape]),
                         shape=y.shape, Dims=list(y.shape))])()


def weights(p):
    """Operators over constants alone, which one that is not then uses."""
    v = p.value(2)
    rows, columns = v.shape
    a, b = p.g.fresh(v.kind, [columns, rows], True), p.g.fresh(v.kind, [rows, columns], True)
    t = p.op("Transpose", a, shape=[rows, columns], Shuffle=[1, 0])
    w = p.either(p.r.choice(["Add", "Mul", "Max"]), t, b)
    for _ in range(p.r.randrange(3)):
        w = p.op(p.r.choice(["Relu", "Neg", "Abs"]), w)
    p.either("Add", v, w)
    if p.r.randrange(3) == 0:
        p.op("Sub", p.g.same(v), b)


def lstm_gates(p):
    r = p.r
    w, n = r.choice([1, 3]), r.choice([1, 2])
    s = p.g.fresh("float", [n, 4 * w], False)
    s = p.either("Add", s, p.wide(p.weight(s, [4 * w]), s.shape))
    i, f, c, o = (p.op("Slice", s, shape=[n, w], Start=[0, j * w]) for j in range(4))
    i, f, o = (p.op("Sigmoid", x) for x in (i, f, o))
    c = p.either("Add", p.either("Mul", f, p.g.fresh("float", [n, w], False)),
                 p.either("Mul", i, p.op("Tanh", c)))
    p.either("Mul", o, p.op("Tanh", c))


MAKERS = [layer_norm, gelu, gate, softmax, attention, shuffle, there_and_back, there_and_back,
          pieces, pieces, same_operand, conv_chain, conv_chain, identities, identities, weights,
          lstm_gates]


def graph(r):
    """A random graph, from none to most of it patterns."""
    g = graphs.Graph(r)
    share = r.choice([0, 0.3, 0.8])
    most = r.choice([4, 8, 14, 30])
    while len(g.nodes) < most:
        if r.random() < share:
            r.choice(MAKERS)(Pattern(g))
        else:
            r.choice(graphs.MAKERS)(g)
    return g
