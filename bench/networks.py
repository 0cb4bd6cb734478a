#!/usr/bin/python3
"""Writes networks as exporters write them, in small operators, as ONNX.

    networks.py OUT [NAME ...] [--layers N] [--width N]

        bert gpt2 vit mobilenetv3 efficientnet unet lstm

What bench/optimizer looks at is the graph: layer norms are ReduceMean, Sub, Pow,
...; shapes are computed by Shape, Gather, Unsqueeze and Concat though they are
known; batch normalizations and activations stand for themselves.  So exporters
for PyTorch (opset 14) and TensorFlow write them.  Weights are drawn from a fixed
seed.  Depth and width are less than the papers', to keep files small: each layer
gives the same nodes.

    bert          Devlin et al., arXiv 1810.04805, base; masked, GELU by erf
    gpt2          Radford et al., 2019; causal mask, GELU by tanh
    vit           Dosovitskiy et al., arXiv 2010.11929, patches of 16
    mobilenetv3   Howard et al., arXiv 1905.02244, large
    efficientnet  Tan and Le, arXiv 1905.11946, B0; as TensorFlow writes it
    unet          Ronneberger et al., arXiv 1505.04597, with padding by shape
    lstm          Hochreiter and Schmidhuber, 1997; a cell for each of 16 steps
"""

import argparse
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 14
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class Graph:
    """Nodes, weights and the seeded generator of one model, with what exporters write
    in the place of one operator."""

    def __init__(self, name, width, layers):
        self.name, self.nodes, self.weights = name, [], []
        self.rng = np.random.default_rng(1)
        self.width, self.layers = width, layers
        self.heads = max(1, width // 64)

    def weight(self, name, shape, scale):
        values = self.rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)
        return self.constant(name, values)

    def constant(self, name, values):
        name = f"{name}_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def op(self, kind, *inputs, **attributes):
        out = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [out], name=out, **attributes))
        return out

    def batchnorm(self, x, channels):
        scale = self.constant("bn.scale", self.rng.uniform(0.5, 1.5, channels).astype(np.float32))
        var = self.constant("bn.var", self.rng.uniform(0.5, 1.5, channels).astype(np.float32))
        shift = self.weight("bn.bias", (channels,), 0.1)
        mean = self.weight("bn.mean", (channels,), 0.1)
        return self.op("BatchNormalization", x, scale, shift, mean, var)

    def linear(self, x, inputs, outputs):
        w = self.weight("fc.w", (outputs, inputs), inputs ** -0.5)
        return self.op("Gemm", x, w, self.weight("fc.b", (outputs,), 0.1), transB=1)
    # Numbers and shapes.

    def number(self, value, dtype=np.float32):
        return self.op("Constant", value=numpy_helper.from_array(np.array(value, dtype)))

    def ints(self, *values):
        return self.number(values, np.int64)

    def size(self, x, axis):
        """One size of x, as tensor of no axis."""
        return self.op("Gather", self.op("Shape", x), self.number(axis, np.int64), axis=0)

    def dims(self, *parts):
        """A shape of sizes that are known, and of those that are computed."""
        ends = [self.ints(p) if isinstance(p, int) else
                self.op("Unsqueeze", p, self.ints(0)) for p in parts]
        return self.op("Concat", *ends, axis=0)

    def reshape(self, x, *parts):
        return self.op("Reshape", x, self.dims(*parts))

    def transpose(self, x, *perm):
        return self.op("Transpose", x, perm=perm)

    def split(self, op, x, parts, axis, sizes=None):
        """Several results; sizes as an operand, as since opset 13."""
        outs = [f"{op.lower()}_{len(self.nodes)}.{i}" for i in range(parts)]
        operands = [x] + ([sizes] if sizes else [])
        self.nodes.append(helper.make_node(op, operands, outs, axis=axis))
        return outs

    # Activations and norms.

    def norm(self, x, width, epsilon=1e-5):
        d = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1], keepdims=1))
        square = self.op("Pow", d, self.number(2.0))
        var = self.op("ReduceMean", square, axes=[-1], keepdims=1)
        std = self.op("Sqrt", self.op("Add", var, self.number(epsilon)))
        scale = self.constant("ln.scale", self.rng.uniform(0.5, 1.5, width).astype(np.float32))
        y = self.op("Mul", self.op("Div", d, std), scale)
        return self.op("Add", y, self.weight("ln.bias", (width,), 0.1))

    def gelu(self, x):
        e = self.op("Erf", self.op("Div", x, self.number(2 ** 0.5)))
        y = self.op("Mul", x, self.op("Add", e, self.number(1.0)))
        return self.op("Mul", y, self.number(0.5))

    def gelu_tanh(self, x):
        half = self.op("Mul", x, self.number(0.5))
        cube = self.op("Mul", self.op("Pow", x, self.number(3.0)), self.number(0.044715))
        inner = self.op("Mul", self.op("Add", x, cube), self.number((2 / np.pi) ** 0.5))
        return self.op("Mul", half, self.op("Add", self.op("Tanh", inner), self.number(1.0)))

    def hard_sigmoid(self, x):
        y = self.op("Clip", self.op("Add", x, self.number(3.0)), self.number(0.0), self.number(6.0))
        return self.op("Div", y, self.number(6.0))

    def hard_swish(self, x):
        y = self.op("Clip", self.op("Add", x, self.number(3.0)), self.number(0.0), self.number(6.0))
        return self.op("Div", self.op("Mul", x, y), self.number(6.0))

    def swish(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    # Layers.

    def dense(self, x, inputs, outputs, bias=True):
        y = self.op("MatMul", x, self.weight("w", (inputs, outputs), inputs ** -0.5))
        return self.op("Add", self.weight("b", (outputs,), 0.1), y) if bias else y

    def addmm(self, x, inputs, outputs):
        """A dense layer over the rows of x, as GPT-2's Conv1D is written."""
        rows = self.op("Reshape", x, self.ints(-1, inputs))
        y = self.op("Gemm", rows, self.weight("w", (inputs, outputs), inputs ** -0.5),
                    self.weight("b", (outputs,), 0.1), alpha=1.0, beta=1.0)
        return self.reshape(y, self.size(x, 0), self.size(x, 1), outputs)

    def conv2(self, x, inputs, outputs, kernel, stride=1, group=1, norm=True, act=None):
        fan = inputs // group * kernel * kernel
        w = self.weight("conv.w", (outputs, inputs // group, kernel, kernel), (2 / fan) ** 0.5)
        operands = [x, w] + ([] if norm else [self.weight("conv.b", (outputs,), 0.1)])
        y = self.op("Conv", *operands, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                    pads=[kernel // 2] * 4, dilations=[1, 1], group=group)
        if norm:
            y = self.batchnorm(y, outputs)
        return act(y) if act else y

    def relu(self, x):
        return self.op("Relu", x)

    def finish(self, inputs, outputs):
        """inputs and outputs: (name, element kind, shape)."""
        def infos(values):
            return [helper.make_tensor_value_info(*v) for v in values]
        graph = helper.make_graph(self.nodes, self.name, infos(inputs), infos(outputs),
                                  self.weights)
        return helper.make_model(graph, ir_version=8,
                                 opset_imports=[helper.make_opsetid("", OPSET)])

    def result(self, y, name="y"):
        """Gives a value the name of an output."""
        for n in self.nodes:
            n.output[:] = [name if o == y else o for o in n.output]
            n.input[:] = [name if i == y else i for i in n.input]
        return name


# Transformers.

def bert(g, tokens=128, vocabulary=1000):
    def heads(x, perm):
        x = g.reshape(x, g.size(x, 0), g.size(x, 1), g.heads, w // g.heads)
        return g.transpose(x, *perm)

    def layer(x, mask):
        q, k, v = (g.dense(x, w, w) for _ in range(3))
        k, v, q = heads(k, (0, 2, 3, 1)), heads(v, (0, 2, 1, 3)), heads(q, (0, 2, 1, 3))
        scores = g.op("Div", g.op("MatMul", q, k), g.number((w / g.heads) ** 0.5))
        p = g.op("Softmax", g.op("Add", scores, mask), axis=-1)
        a = g.transpose(g.op("MatMul", p, v), 0, 2, 1, 3)
        a = g.reshape(a, g.size(a, 0), g.size(a, 1), w)
        x = g.norm(g.op("Add", g.dense(a, w, w), x), w, 1e-12)
        h = g.dense(g.gelu(g.dense(x, w, 4 * w)), 4 * w, w)
        return g.norm(g.op("Add", h, x), w, 1e-12)

    w = g.width
    mask = g.op("Unsqueeze", g.op("Unsqueeze", "mask", g.ints(1)), g.ints(2))
    mask = g.op("Sub", g.number(1.0), g.op("Cast", mask, to=FLOAT))
    mask = g.op("Mul", mask, g.number(-10000.0))
    x = g.op("Gather", g.weight("words", (vocabulary, w), 0.1), "ids")
    t = g.op("Gather", g.weight("types", (2, w), 0.1), "types")
    places = g.constant("places", np.arange(512, dtype=np.int64)[None])
    until = g.op("Unsqueeze", g.size("ids", 1), g.ints(0))
    places = g.op("Slice", places, g.ints(0), until, g.ints(1), g.ints(1))
    p = g.op("Gather", g.weight("positions", (512, w), 0.1), places)
    x = g.norm(g.op("Add", g.op("Add", x, t), p), w, 1e-12)
    for _ in range(g.layers):
        x = layer(x, mask)
    first = g.op("Gather", x, g.number(0, np.int64), axis=1)
    pooled = g.op("Tanh", g.linear(first, w, w))
    outputs = [(g.result(x), FLOAT, [1, tokens, w]), (g.result(pooled, "pooled"), FLOAT, [1, w])]
    return g.finish([(n, INT64, [1, tokens]) for n in ("ids", "types", "mask")], outputs)


def gpt2(g, tokens=64, vocabulary=1000):
    def heads(x, perm):
        x = g.reshape(x, g.size(x, 0), g.size(x, 1), g.heads, w // g.heads)
        return g.transpose(x, *perm)

    def causal(scores, k):
        """The rows and columns of the mask that there are tokens for."""
        to = g.size(k, 3)
        since = g.op("Unsqueeze", g.op("Sub", to, g.size(scores, 2)), g.ints(0))
        to = g.op("Unsqueeze", to, g.ints(0))
        m = g.op("Slice", triangle, since, to, g.ints(2), g.ints(1))
        m = g.op("Slice", m, g.ints(0), to, g.ints(3), g.ints(1))
        return g.op("Where", g.op("Cast", m, to=TensorProto.BOOL), scores, g.number(-3.4028235e38))

    def layer(x):
        h = g.addmm(g.norm(x, w), w, 3 * w)
        q, k, v = g.split("Split", h, 3, 2, g.ints(w, w, w))
        q, k, v = heads(q, (0, 2, 1, 3)), heads(k, (0, 2, 3, 1)), heads(v, (0, 2, 1, 3))
        scores = g.op("Div", g.op("MatMul", q, k), g.number((w / g.heads) ** 0.5))
        p = g.op("Softmax", causal(scores, k), axis=-1)
        a = g.transpose(g.op("MatMul", p, v), 0, 2, 1, 3)
        a = g.reshape(a, g.size(a, 0), g.size(a, 1), w)
        x = g.op("Add", g.addmm(a, w, w), x)
        h = g.addmm(g.gelu_tanh(g.addmm(g.norm(x, w), w, 4 * w)), 4 * w, w)
        return g.op("Add", x, h)

    w = g.width
    triangle = g.constant("triangle", np.tri(256, dtype=np.uint8)[None, None])
    ids = g.op("Reshape", "ids", g.dims(-1, g.size("ids", 1)))
    x = g.op("Gather", g.weight("words", (vocabulary, w), 0.1), ids)
    until = g.op("Cast", g.size("ids", 1), to=INT64)
    places = g.op("Range", g.number(0, np.int64), until, g.number(1, np.int64))
    places = g.op("Reshape", g.op("Unsqueeze", places, g.ints(0)), g.dims(-1, g.size("ids", 1)))
    x = g.op("Add", x, g.op("Gather", g.weight("positions", (256, w), 0.1), places))
    for _ in range(g.layers):
        x = layer(x)
    x = g.norm(x, w)
    x = g.reshape(x, -1, g.size("ids", 1), g.size(x, 2))
    y = g.op("MatMul", x, g.weight("head", (w, vocabulary), w ** -0.5))
    return g.finish([("ids", INT64, [1, tokens])], [(g.result(y), FLOAT, [1, tokens, vocabulary])])


def vit(g, image=224, patch=16):
    def layer(x):
        h = g.dense(g.norm(x, w, 1e-6), w, 3 * w)
        h = g.reshape(h, g.size(h, 0), g.size(h, 1), 3, g.heads, w // g.heads)
        h = g.transpose(h, 2, 0, 3, 1, 4)
        q, k, v = (g.op("Gather", h, g.number(i, np.int64), axis=0) for i in range(3))
        scores = g.op("MatMul", q, g.transpose(k, 0, 1, 3, 2))
        p = g.op("Softmax", g.op("Mul", scores, g.number((w / g.heads) ** -0.5)), axis=-1)
        a = g.transpose(g.op("MatMul", p, v), 0, 2, 1, 3)
        a = g.reshape(a, g.size(x, 0), g.size(x, 1), g.size(x, 2))
        x = g.op("Add", x, g.dense(a, w, w))
        h = g.gelu(g.dense(g.norm(x, w, 1e-6), w, 4 * w))
        return g.op("Add", x, g.dense(h, 4 * w, w))

    w = g.width
    x = g.op("Conv", "x", g.weight("patch.w", (w, 3, patch, patch), 0.05),
             g.weight("patch.b", (w,), 0.1), kernel_shape=[patch] * 2, strides=[patch] * 2)
    front = g.op("Slice", g.op("Shape", x), g.ints(0), g.ints(2), g.ints(0))
    x = g.op("Reshape", x, g.op("Concat", front, g.ints(-1), axis=0))
    x = g.transpose(x, 0, 2, 1)
    token = g.weight("class", (1, 1, w), 0.1)
    size = g.dims(g.size(x, 0), -1, -1)
    ones = g.op("ConstantOfShape", g.ints(3),
                value=helper.make_tensor("one", INT64, [1], [1]))
    minus = g.op("Mul", ones, g.ints(-1))
    size = g.op("Where", g.op("Equal", size, minus), ones, size)
    x = g.op("Concat", g.op("Expand", token, size), x, axis=1)
    x = g.op("Add", x, g.weight("positions", (1, (image // patch) ** 2 + 1, w), 0.1))
    for _ in range(g.layers):
        x = layer(x)
    first = g.op("Gather", g.norm(x, w, 1e-6), g.number(0, np.int64), axis=1)
    y = g.linear(first, w, 1000)
    return g.finish([("x", FLOAT, [1, 3, image, image])], [(g.result(y), FLOAT, [1, 1000])])


# Convolutional networks.

def squeeze(g, x, channels, inner, act, gate, pool):
    s = g.conv2(pool(x), channels, inner, 1, norm=False, act=act)
    return g.op("Mul", gate(g.conv2(s, inner, channels, 1, norm=False)), x)


def mobilenetv3(g):
    def divisible(n):
        return max(8, int(n + 4) // 8 * 8)

    def pool(x):
        return g.op("GlobalAveragePool", x)

    x, inputs = g.conv2("x", 3, 16, 3, 2, act=g.hard_swish), 16
    for kernel, inner, outputs, has_gate, is_hard, stride in [
            (3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1),
            (5, 72, 40, 1, 0, 2), (5, 120, 40, 1, 0, 1), (5, 120, 40, 1, 0, 1),
            (3, 240, 80, 0, 1, 2), (3, 200, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1),
            (3, 184, 80, 0, 1, 1), (3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1),
            (5, 672, 160, 1, 1, 2), (5, 960, 160, 1, 1, 1), (5, 960, 160, 1, 1, 1)]:
        act = g.hard_swish if is_hard else g.relu
        y = x if inner == inputs else g.conv2(x, inputs, inner, 1, act=act)
        y = g.conv2(y, inner, inner, kernel, stride, inner, act=act)
        if has_gate:
            y = squeeze(g, y, inner, divisible(inner / 4), g.relu, g.hard_sigmoid, pool)
        y = g.conv2(y, inner, outputs, 1)
        x = g.op("Add", y, x) if stride == 1 and inputs == outputs else y
        inputs = outputs
    x = g.op("Flatten", pool(g.conv2(x, inputs, 960, 1, act=g.hard_swish)), axis=1)
    y = g.linear(g.hard_swish(g.linear(x, 960, 1280)), 1280, 1000)
    return g.finish([("x", FLOAT, [1, 3, 224, 224])], [(g.result(y), FLOAT, [1, 1000])])


def efficientnet(g):
    def pool(x):
        return g.op("ReduceMean", x, axes=[2, 3], keepdims=1)

    def sigmoid(x):
        return g.op("Sigmoid", x)

    # tf2onnx feeds NHWC tensors through transposes.
    x, inputs = g.conv2(g.transpose("x", 0, 3, 1, 2), 3, 32, 3, 2, act=g.swish), 32
    for times, outputs, blocks, stride, kernel in [
            (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3),
            (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)]:
        for block in range(blocks):
            inner, step = inputs * times, stride if block == 0 else 1
            y = x if times == 1 else g.conv2(x, inputs, inner, 1, act=g.swish)
            y = g.conv2(y, inner, inner, kernel, step, inner, act=g.swish)
            y = squeeze(g, y, inner, max(1, inputs // 4), g.swish, sigmoid, pool)
            y = g.conv2(y, inner, outputs, 1)
            x = g.op("Add", y, x) if step == 1 and inputs == outputs else y
            inputs = outputs
    x = g.conv2(x, inputs, 1280, 1, act=g.swish)
    x = g.op("ReduceMean", g.transpose(x, 0, 2, 3, 1), axes=[1, 2], keepdims=0)
    y = g.op("Softmax", g.dense(x, 1280, 1000), axis=-1)
    return g.finish([("x", FLOAT, [1, 224, 224, 3])], [(g.result(y), FLOAT, [1, 1000])])


def unet(g, image=128, base=16):
    def twice(x, inputs, outputs):
        x = g.conv2(x, inputs, outputs, 3, act=g.relu)
        return g.conv2(x, outputs, outputs, 3, act=g.relu)

    def pads(x, like):
        """What x lacks of `like`, half before and half behind."""
        ends = []
        for axis in (2, 3):
            d = g.op("Sub", g.size(like, axis), g.size(x, axis))
            half = g.op("Div", d, g.number(2, np.int64))
            ends += [(half, g.op("Sub", d, half))]
        (top, bottom), (left, right) = ends
        return g.dims(0, 0, top, left, 0, 0, bottom, right)

    def up(x, skip, inputs):
        half = inputs // 2
        x = g.op("ConvTranspose", x, g.weight("up.w", (inputs, half, 2, 2), inputs ** -0.5),
                 g.weight("up.b", (half,), 0.1), kernel_shape=[2, 2], strides=[2, 2])
        x = g.op("Pad", x, pads(x, skip), g.number(0.0), mode="constant")
        return twice(g.op("Concat", skip, x, axis=1), inputs, half)

    skips, x, channels = [], twice("x", 3, base), base
    for _ in range(4):
        skips.append(x)
        x = g.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
        x, channels = twice(x, channels, 2 * channels), 2 * channels
    for skip in reversed(skips):
        x, channels = up(x, skip, channels), channels // 2
    y = g.conv2(x, channels, 2, 1, norm=False)
    return g.finish([("x", FLOAT, [1, 3, image, image])], [(g.result(y), FLOAT, [1, 2, image, image])])


# Recurrence.

def lstm(g, steps=16, inputs=64):
    def cell(x, h, c, weights):
        """The gates of all in one product, taken apart."""
        wx, wh, b = weights
        s = g.op("Add", g.op("Add", g.op("MatMul", x, wx), g.op("MatMul", h, wh)), b)
        i, f, n, o = g.split("Split", s, 4, 1, g.ints(*[w] * 4))
        i, f, o = (g.op("Sigmoid", v) for v in (i, f, o))
        c = g.op("Add", g.op("Mul", f, c), g.op("Mul", i, g.op("Tanh", n)))
        return g.op("Mul", o, g.op("Tanh", c)), c

    w = g.width
    size, rows = inputs, [g.op("Gather", "x", g.number(t, np.int64), axis=0) for t in range(steps)]
    for _ in range(g.layers):
        weights = (g.weight("wx", (size, 4 * w), size ** -0.5),
                   g.weight("wh", (w, 4 * w), w ** -0.5), g.weight("b", (4 * w,), 0.1))
        batch = g.size("x", 1)
        h = c = g.op("ConstantOfShape", g.dims(batch, w),
                     value=helper.make_tensor("zero", FLOAT, [1], [0.0]))
        out = []
        for x in rows:
            h, c = cell(x, h, c, weights)
            out.append(h)
        size, rows = w, out
    y = g.op("Concat", *(g.op("Unsqueeze", r, g.ints(0)) for r in rows), axis=0)
    return g.finish([("x", FLOAT, [steps, 4, inputs])],
                    [(g.result(y), FLOAT, [steps, 4, w])])


NETWORKS = {f.__name__: f for f in (bert, gpt2, vit, mobilenetv3, efficientnet, unet, lstm)}


def write(name, path, layers=2, width=256):
    onnx.save(NETWORKS[name](Graph(name, width, layers)), str(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--layers", type=int, default=2, help="2; BERT-base has 12")
    parser.add_argument("--width", type=int, default=256, help="256; BERT-base has 768")
    a = parser.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    for name in a.names or NETWORKS:
        if name not in NETWORKS:
            parser.error(f"no network {name}; there are {', '.join(NETWORKS)}")
        path = a.out / (name + ".onnx")
        write(name, path, a.layers, a.width)
        print(path)


if __name__ == "__main__":
    main()
