"""Random arithmetic: trees that share parts, over numbers that tables of rules
look for and those at the ends of what a kind holds.

What may round is only added, multiplied and bounded: a comparison or a quotient
by what may be next to 0 would make much of a rounding.  Integers wrap, and so
anything goes.
"""

import graphs
from graphs import Value
from patterns import Pattern

KINDS = {  # bits, signed
    "int8": (8, True), "int16": (16, True), "index32": (32, True), "index64": (64, True),
    "uindex8": (8, False), "uint16": (16, False), "uint32": (32, False), "uint64": (64, False)}
FLOATS = ["float"] * 6 + ["float16", "bfloat16", "float64"]
REALS = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 3.0, 0.25, 4.0, -2.0, 6.0, 1 / 3, 0.1, 1e-3, 7.0]


def corners(kind):
    bits, signed = KINDS[kind]
    most = 2 ** (bits - signed) - 1
    some = [0, 1, 2, 3, 4, 5, 8, most, most - 1, most // 2]
    return some + [-1, -2, -3, -most, -most - 1] if signed else some


class Tree(Pattern):
    def __init__(self, g):
        super().__init__(g)
        self.kind = self.r.choice(FLOATS + list(KINDS))
        self.shape = tuple(self.r.choice([[], [1], [5], [2, 3], [2, 1, 3]]))
        self.is_float = self.kind not in KINDS
        self.inputs = [g.fresh(self.kind, self.shape, False) for _ in range(self.r.randrange(1, 4))]
        self.made = []

    def numbers(self, pick, form):
        """A Splat, a constant of one number, or one of a number for each element."""
        if form == 0:
            out, = self.g.emit("Splat", [], {"Value": float(pick())}, (self.kind, self.shape))
            return out
        name = f"@s{len(self.g.storage)}"
        v = Value(name, self.kind, self.shape, True)
        body = f"splat({pick()})" if form < 3 else str([pick() for _ in range(graphs.size(self.shape))])
        self.g.storage.append(f"constant {name} : {v.type} = {body}")
        return v

    def constant(self):
        pick = (lambda: self.r.choice(REALS)) if self.is_float else lambda: self.r.choice(corners(self.kind))
        return self.numbers(pick, self.r.randrange(not self.is_float, 4))

    def exactly(self, *choice):
        x = self.r.choice(choice)
        return self.numbers(lambda: float(x) if self.is_float else x, self.r.randrange(3))

    def past_one(self, x):
        return self.either("Add", self.op("Abs", x), self.exactly(1))

    def divisor(self):
        """At least 1, however it rounds; a constant is never 0."""
        if self.r.randrange(2):
            return self.past_one(self.leaf())
        return self.exactly(1, -1, 2, 4, 0.5, 3, -0.125)

    def leaf(self):
        if self.made and self.r.randrange(3) == 0:
            return self.r.choice(self.made)
        return self.r.choice(self.inputs) if self.r.randrange(5) < 3 else self.constant()

    def clip(self, x):
        low, high = sorted([self.r.choice(REALS), self.r.choice(REALS)])
        return self.op("Clip", x, Min=low, Max=high)

    def float_node(self, x, y):
        r, op = self.r, self.op
        return r.choice([
            lambda: op("Add", x(), y()), lambda: op("Add", x(), y()), lambda: op("Sub", x(), y()),
            lambda: op("Sub", x(), y()), lambda: op("Mul", x(), y()), lambda: op("Mul", x(), y()),
            lambda: op("Max", x(), y()), lambda: op("Min", x(), y()), lambda: op("Neg", x()),
            lambda: op("Abs", x()), lambda: op("Relu", x()), lambda: self.clip(x()),
            lambda: op("Div", x(), self.divisor()), lambda: op("Reciprocal", self.divisor()),
            lambda: op("Div", self.exactly(1), self.divisor()),
            lambda: op("Exp", op("Neg", op("Abs", x()))), lambda: op("Sqrt", self.past_one(x())),
            lambda: op("LeakyRelu", x(), Alpha=0.25), lambda: op("PRelu", x(), self.leaf())])()

    def integer_node(self, x, y):
        op = self.op
        choices = [lambda n=n: op(n, x(), y()) for n in
                   ("Add", "Add", "Sub", "Sub", "Mul", "Mul", "Max", "Min", "BitwiseAnd", "BitwiseOr",
                    "BitwiseXor", "PRelu")]
        choices += [lambda n=n: op(n, x()) for n in ("Neg", "Abs", "Relu", "BitwiseNot", "Sign")]
        choices += [lambda: op("Select", self.truth(x), x(), y(), kind=self.kind),
                    lambda: op("BitShift", x(), self.constant(), Direction=self.r.choice(["left", "right"])),
                    lambda: op("Modulo", x(), Divisor=5, SignFollowDivisor="true")]
        choices += [lambda n=n: op(n, x(), self.exactly(1, 2, 3, 5, 8))
                    for n in ("FloorDiv", "Div", "Mod", "Fmod")]
        return self.r.choice(choices)()

    def truth(self, x):
        c = self.op(self.r.choice(["CmpEQ", "CmpLT", "CmpLTE", "CmpNEQ"]), x(), x(), kind="bool")
        if self.r.randrange(3) == 0:
            c = self.op("Not", c)
        if self.r.randrange(3) == 0:
            c = self.op(self.r.choice(["And", "Or", "Xor"]), c,
                        self.op("CmpLT", x(), x(), kind="bool"))
        return c

    def node(self, depth):
        if depth == 0 or self.r.random() < 0.15:
            return self.leaf()
        v = (self.float_node if self.is_float else self.integer_node)(
            lambda: self.node(depth - 1), lambda: self.node(depth - 1))
        self.made.append(v)
        return v


def graph(r):
    """A few trees of one kind."""
    g = graphs.Graph(r)
    tree = Tree(g)
    while len(g.nodes) < r.choice([2, 6, 12, 24]):
        tree.node(r.randrange(1, 5))
    return g
