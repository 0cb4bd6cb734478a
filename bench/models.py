#!/usr/bin/python3
"""Writes the networks that bench/run measures, as ONNX with random weights.

    models.py OUT [NAME ...]        resnet50 vgg19 squeezenet transformer

The graphs have the shapes of the papers and the form in which exporters write
them.  Weights are drawn from a fixed seed with the variance that keeps the
signal alive, so that no layer computes with zeros or infinities.

    resnet50     He et al., arXiv 1512.03385, table 1; stride in the 3x3
    vgg19        Simonyan and Zisserman, arXiv 1409.1556, column E
    squeezenet   Iandola et al., arXiv 1602.07360, version 1.1
    transformer  one encoder block of BERT-base, arXiv 1810.04805: 128 tokens,
                 width 768, 12 heads; GELU and layer norm in single operators
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20


class Graph:
    """Nodes, weights and the seeded generator of one model."""

    def __init__(self, name):
        self.name = name
        self.nodes = []
        self.weights = []
        self.rng = np.random.default_rng(1)

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

    def conv(self, x, inputs, outputs, kernel, stride=1, pad=0, relu=True, bias=True):
        fan = inputs * kernel * kernel
        w = self.weight("conv.w", (outputs, inputs, kernel, kernel), (2 / fan) ** 0.5)
        operands = [x, w] + ([self.weight("conv.b", (outputs,), 0.1)] if bias else [])
        y = self.op("Conv", *operands, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                    pads=[pad] * 4)
        if not bias:
            y = self.batchnorm(y, outputs)
        return self.op("Relu", y) if relu else y

    def batchnorm(self, x, channels):
        scale = self.constant("bn.scale", self.rng.uniform(0.5, 1.5, channels).astype(np.float32))
        var = self.constant("bn.var", self.rng.uniform(0.5, 1.5, channels).astype(np.float32))
        shift = self.weight("bn.bias", (channels,), 0.1)
        mean = self.weight("bn.mean", (channels,), 0.1)
        return self.op("BatchNormalization", x, scale, shift, mean, var)

    def linear(self, x, inputs, outputs):
        w = self.weight("fc.w", (outputs, inputs), inputs ** -0.5)
        return self.op("Gemm", x, w, self.weight("fc.b", (outputs,), 0.1), transB=1)

    def model(self, y, input_shape, output_shape):
        assert self.nodes[-1].output[0] == y
        self.nodes[-1].output[0] = "y"
        graph = helper.make_graph(
            self.nodes, self.name,
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, input_shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, output_shape)],
            self.weights)
        return helper.make_model(graph, ir_version=8,
                                 opset_imports=[helper.make_opsetid("", OPSET)])


def resnet50():
    g = Graph("resnet50")
    x = g.conv("x", 3, 64, 7, 2, 3, bias=False)
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for stage, blocks in enumerate([3, 4, 6, 3]):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            y = g.conv(x, channels, width, 1, bias=False)
            y = g.conv(y, width, width, 3, stride, 1, bias=False)
            y = g.conv(y, width, 4 * width, 1, relu=False, bias=False)
            if not block:
                x = g.conv(x, channels, 4 * width, 1, stride, relu=False, bias=False)
            channels = 4 * width
            x = g.op("Relu", g.op("Add", y, x))
    x = g.op("Flatten", g.op("GlobalAveragePool", x))
    return g.model(g.linear(x, 2048, 1000), [1, 3, 224, 224], [1, 1000])


def vgg19():
    g = Graph("vgg19")
    x, channels = "x", 3
    for width, count in ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4)):
        for _ in range(count):
            x = g.conv(x, channels, width, 3, 1, 1)
            channels = width
        x = g.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = g.op("Flatten", x)
    for inputs, outputs in ((25088, 4096), (4096, 4096)):
        x = g.op("Relu", g.linear(x, inputs, outputs))
    return g.model(g.linear(x, 4096, 1000), [1, 3, 224, 224], [1, 1000])


def squeezenet():
    g = Graph("squeezenet")

    def pool(x):
        return g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)

    def fire(x, inputs, squeeze, expand):
        s = g.conv(x, inputs, squeeze, 1)
        return g.op("Concat", g.conv(s, squeeze, expand, 1),
                    g.conv(s, squeeze, expand, 3, 1, 1), axis=1)

    x = pool(g.conv("x", 3, 64, 3, 2))
    x = pool(fire(fire(x, 64, 16, 64), 128, 16, 64))
    x = pool(fire(fire(x, 128, 32, 128), 256, 32, 128))
    x = fire(fire(x, 256, 48, 192), 384, 48, 192)
    x = fire(fire(x, 384, 64, 256), 512, 64, 256)
    x = g.op("GlobalAveragePool", g.conv(x, 512, 1000, 1))
    return g.model(g.op("Flatten", x), [1, 3, 224, 224], [1, 1000])


def transformer(tokens=128, width=768, heads=12):
    g = Graph("transformer")

    def dense(x, inputs, outputs):
        w = g.weight("w", (inputs, outputs), inputs ** -0.5)
        return g.op("Add", g.op("MatMul", x, w), g.weight("b", (outputs,), 0.1))

    def split(x):
        shape = g.constant("shape", np.array([1, tokens, heads, width // heads], np.int64))
        return g.op("Transpose", g.op("Reshape", x, shape), perm=[0, 2, 1, 3])

    def norm(x):
        scale = g.constant("ln.scale", g.rng.uniform(0.5, 1.5, width).astype(np.float32))
        return g.op("LayerNormalization", x, scale, g.weight("ln.bias", (width,), 0.1), axis=-1)

    q, k, v = (split(dense("x", width, width)) for _ in range(3))
    scores = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2]))
    scale = g.constant("scale", np.float32((width // heads) ** -0.5))
    p = g.op("Softmax", g.op("Mul", scores, scale), axis=-1)
    a = g.op("Transpose", g.op("MatMul", p, v), perm=[0, 2, 1, 3])
    a = g.op("Reshape", a, g.constant("shape", np.array([1, tokens, width], np.int64)))
    x = norm(g.op("Add", dense(a, width, width), "x"))
    h = g.op("Gelu", dense(x, width, 4 * width))
    y = norm(g.op("Add", dense(h, 4 * width, width), x))
    return g.model(y, [1, tokens, width], [1, tokens, width])


MODELS = {f.__name__: f for f in (resnet50, vgg19, squeezenet, transformer)}


def main(out, names):
    for name in names or MODELS:
        if name not in MODELS:
            sys.exit(f"models.py: no model {name}; there are {', '.join(MODELS)}")
        path = pathlib.Path(out, name + ".onnx")
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(MODELS[name](), str(path))
        print(path)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
