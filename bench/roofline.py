"""What an ONNX model must compute and read, from its graph alone.

Multiply-adds are those of convolutions, products and recurrences: taps that fall into
padding do not count, as no kernel has to do them; neither does what depends on no
input.  The least time is the sum over these operators of the larger of their arithmetic
at the peak of a core and of their weights at the rate at which as many bytes can be
read; all else is free.  Winograd's algorithm does with fewer multiplications, so more
than 100 % of this roofline is possible where it serves.
"""

import math

import onnx
from onnx import shape_inference

from live import constants

LARGE = 4096


def without_weights(model):
    """The model with large weights as inputs: inference of shapes copies them."""
    slim = onnx.ModelProto(ir_version=max(model.ir_version, 4), opset_import=model.opset_import)
    for field in ("node", "input", "output", "value_info"):
        getattr(slim.graph, field).extend(getattr(model.graph, field))
    slim.graph.name = "slim"
    given = {v.name for v in model.graph.input}
    for t in model.graph.initializer:
        if math.prod(t.dims) <= LARGE:
            slim.graph.initializer.append(t)
        elif t.name not in given:
            slim.graph.input.append(onnx.helper.make_tensor_value_info(t.name, t.data_type, t.dims))
    return slim


def shapes(model):
    """The shape of each value that has one, weights as well."""
    slim = without_weights(model)
    try:
        inferred = shape_inference.infer_shapes(slim, data_prop=True).graph
    except shape_inference.InferenceError:  # declared otherwise than its operators give
        inferred = slim.graph
    out = {t.name: list(t.dims) for t in model.graph.initializer}
    for v in [*inferred.value_info, *inferred.input, *inferred.output]:
        t = v.type.tensor_type
        if t.HasField("shape") and all(d.HasField("dim_value") for d in t.shape.dim):
            out.setdefault(v.name, [d.dim_value for d in t.shape.dim])
    return out


def taps(size, out, kernel, stride, dilation, pad):
    """Pairs of output and tap of one axis that read inside of the input."""
    return sum(0 <= o * stride - pad + t * dilation < size
               for o in range(out) for t in range(kernel))


def convolution(n, shape):
    how = {a.name: onnx.helper.get_attribute_value(a) for a in n.attribute}
    x, w, y = shape[n.input[0]], shape[n.input[1]], shape[n.output[0]]
    axes = len(w) - 2
    pads, ones = how.get("pads", [0] * 2 * axes), [1] * axes
    if how.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        return math.prod(y) * math.prod(w[1:])
    return y[0] * y[1] * w[1] * math.prod(
        taps(x[2 + i], y[2 + i], w[2 + i], how.get("strides", ones)[i],
             how.get("dilations", ones)[i], pads[i]) for i in range(axes))


def gemm(n, shape):
    transposed = any(a.name == "transA" and a.i for a in n.attribute)
    return math.prod(shape[n.output[0]]) * shape[n.input[0]][0 if transposed else 1]


def recurrence(n, shape):
    x, w, r = (shape[n.input[i]] for i in range(3))
    return x[0] * x[1] * w[0] * w[1] * (w[2] + r[2])


MULTIPLY_ADDS = {
    "Conv": convolution,
    "ConvTranspose": lambda n, s: math.prod(s[n.input[0]]) * math.prod(s[n.input[1]][1:]),
    "Gemm": gemm,
    "MatMul": lambda n, s: math.prod(s[n.output[0]]) * s[n.input[0]][-1],
    "LSTM": recurrence, "GRU": recurrence, "RNN": recurrence,
}


class Work:
    """Multiply-adds and bytes of weights of each product, and of all together; `whole` if
    the shapes of all are known."""

    def __init__(self, model):
        shape, known = shapes(model), constants(model.graph)
        self.products, self.whole = [], True
        for n in model.graph.node:
            if n.op_type in MULTIPLY_ADDS and n.output[0] not in known:
                if any(v and v not in shape for v in [*n.input, n.output[0]]):
                    self.whole = False  # of a shape that only running tells
                    continue
                weights = sum(4 * math.prod(shape[v]) for v in n.input if v in known)
                self.products.append((MULTIPLY_ADDS[n.op_type](n, shape), weights))
        self.weights = sum(w for _, w in self.products)
        self.multiply_adds = sum(m for m, _ in self.products)

    def least_ms(self, gflops, gbytes):
        return sum(max(2e-6 * m / gflops, 1e-6 * w / gbytes) for m, w in self.products)
