#!/usr/bin/python3
"""Quantizes an ONNX model as QDQ, after ONNX Runtime's quantize_static.

    bench/qdq.py LIBONNXRUNTIME MODEL OUT INPUT.npy ... [--activation TYPE] [--relu HOW] [--uniform]

ONNX Runtime runs the float model on each INPUT.npy, the only input of MODEL, with every
value as an output; least and greatest elements are the ranges.  Each activation of an
operator below gets QuantizeLinear and DequantizeLinear behind it, weights are of 8 bits
within -127 and 127 with a scale for each channel, biases of 32 bits in units of the sum.

    --activation uint8|int8   the type of activations, asymmetric (uint8)
    --relu separate           a pair before each Relu and Clip, too
    --relu fused              none between a product or sum and its Relu or Clip (default)
    --relu removed            no Relu: the pair saturates, as quantize_static has it
    --uniform                 one scale for each tensor of weights
"""

import argparse
import pathlib
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "test" / "onnx"))
from runtime import NONE, Runtime

PRODUCTS = {"Conv": 0, "Gemm": None, "MatMul": 1}  # the axis of the channels of weights
SAME = {"MaxPool", "Flatten", "Reshape", "Transpose", "Squeeze", "Unsqueeze"}
OTHERS = {"Add", "Sub", "Mul", "Concat", "AveragePool", "GlobalAveragePool", "Sigmoid",
          "Softmax", "HardSwish", "HardSigmoid", "ReduceMean"}
ACTIVATIONS = {"Relu", "Clip"}


def floats(model):
    """Names of all values of floats that nodes make, and of the inputs."""
    known = onnx.shape_inference.infer_shapes(model).graph
    kinds = {v.name: v.type.tensor_type.elem_type
             for v in [*known.value_info, *known.output, *known.input]}
    made = {o for n in model.graph.node if n.op_type != "Constant" for o in n.output}
    return [v for v in kinds if kinds[v] == 1 and (v in made or v == known.input[0].name)]


def ranges(library, model, paths):
    """Least and greatest element of each value over the inputs."""
    every = onnx.ModelProto()
    every.CopyFrom(model)
    name, names = model.graph.input[0].name, floats(model)
    known = {o.name for o in every.graph.output}
    made = [v for v in names if v != name]
    every.graph.output.extend(helper.make_empty_tensor_value_info(v) for v in made
                              if v not in known)
    runtime, found = Runtime(library), {}
    for path in paths:
        x = np.load(path)
        arrays = runtime.run(every.SerializeToString(), {name: x}, made, NONE)
        for v, a in [(name, x), *zip(made, arrays)]:
            least, most = found.get(v, (0.0, 0.0))
            found[v] = min(least, float(a.min())), max(most, float(a.max()))
    return found


class Quantizer:
    def __init__(self, model, found, options):
        self.graph, self.found, self.options = model.graph, found, options
        self.weights = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        for n in model.graph.node:
            if n.op_type == "Constant" and n.attribute[0].name == "value":
                self.weights[n.output[0]] = numpy_helper.to_array(n.attribute[0].t)
        self.nodes, self.made, self.scales, self.pairs = [], {}, {}, {}
        self.kind = np.dtype(options.activation).type
        self.users = {}
        for n in model.graph.node:
            for i in n.input:
                self.users.setdefault(i, []).append(n)

    def constant(self, name, array):
        self.made[name] = np.asarray(array)
        return name

    def parameters(self, v):
        """Names of the scale and the zero point of an activation."""
        if v not in self.scales:
            info = np.iinfo(self.kind)
            least, most = self.found[v]
            scale = np.float32((most - least) / 255 or 0.1)
            zero = int(np.clip(np.rint(info.min - least / scale), info.min, info.max))
            self.scales[v] = (self.constant(v + "_scale", scale),
                              self.constant(v + "_zero_point", self.kind(zero)))
        return self.scales[v]

    def pair(self, v):
        """`v` behind QuantizeLinear and DequantizeLinear."""
        if v not in self.pairs:
            s, z = self.parameters(v)
            self.nodes.append(helper.make_node("QuantizeLinear", [v, s, z], [v + "_q"]))
            self.nodes.append(helper.make_node("DequantizeLinear", [v + "_q", s, z],
                                               [v + "_dq"]))
            self.pairs[v] = v + "_dq"
        return self.pairs[v]

    def weight(self, n):
        """The weights of a product, dequantized; their scales."""
        name, axis = n.input[1], PRODUCTS[n.op_type]
        w = self.weights[name]
        if axis is None:
            axis = 0 if any(a.name == "transB" and a.i for a in n.attribute) else 1
        others = tuple(i for i in range(w.ndim) if i != axis)
        most = np.abs(w).max(None if self.options.uniform else others)
        scales = np.maximum(most / 127, np.float32(1e-30)).astype(np.float32)
        wide = scales if self.options.uniform else np.expand_dims(scales, others)
        q = np.clip(np.rint(w / wide), -127, 127).astype(np.int8)
        zero = np.zeros(scales.shape, np.int8)
        self.nodes.append(helper.make_node(
            "DequantizeLinear",
            [self.constant(name + "_q", q), self.constant(name + "_scale", scales),
             self.constant(name + "_zero_point", zero)], [name + "_dq"], axis=axis))
        return name + "_dq", scales

    def bias(self, n, scales):
        name, b = n.input[2], self.weights[n.input[2]]
        unit = (self.made[self.parameters(n.input[0])[0]] * scales *
                np.ones(b.shape, np.float32)).astype(np.float32)
        q = np.clip(np.rint(b / unit), -2**31, 2**31 - 1).astype(np.int32)
        self.nodes.append(helper.make_node(
            "DequantizeLinear", [self.constant(name + "_q", q),
                                 self.constant(name + "_scale", unit)], [name + "_dq"], axis=0))
        return name + "_dq"

    def takes(self, n):
        if n.op_type in PRODUCTS:
            return n.input[1] in self.weights
        return n.op_type in SAME | OTHERS | ACTIVATIONS

    def only_activation(self, v):
        """The Relu or Clip that is the only user of `v`."""
        users = self.users.get(v, [])
        return users[0] if len(users) == 1 and users[0].op_type in ACTIVATIONS else None

    def add(self, n):
        """`n` on pairs, and a pair behind it unless an activation follows directly."""
        if not self.takes(n):
            self.nodes.append(n)
            return
        ins = list(n.input)
        activation = n.op_type in ACTIVATIONS
        if n.op_type in PRODUCTS:
            ins[1], scales = self.weight(n)
            if len(ins) > 2 and ins[2]:
                ins[2] = self.bias(n, scales)
        for i, v in enumerate(ins):
            direct = self.options.relu != "separate" and activation and v in self.direct
            if v in self.found and not direct:
                ins[i] = self.pair(v)
        if n.op_type in SAME:
            self.found[n.output[0]] = self.found[n.input[0]]
        after = self.only_activation(n.output[0])
        if after and self.options.relu != "separate" and n.op_type in [*PRODUCTS, "Add"]:
            self.direct.add(n.output[0])
        out = list(n.output)
        if activation and self.options.relu == "removed" and n.input[0] in self.direct:
            self.nodes[-1].output[0] = out[0]
            return
        node = helper.make_node(n.op_type, ins, out, name=n.name)
        node.attribute.extend(n.attribute)
        self.nodes.append(node)

    def run(self):
        self.direct = set()
        for n in self.graph.node:
            if n.op_type != "Constant":
                self.add(n)
        for o in self.graph.output:
            if o.name in self.found:
                dq = self.pair(o.name)
                for n in self.nodes:
                    for names in (n.input, n.output):
                        for i, v in enumerate(names):
                            names[i] = (o.name if v == dq else o.name + "_plain"
                                        if v == o.name else v)
        kept = {i for n in self.nodes for i in n.input}
        for name, a in [*self.weights.items(), *self.made.items()]:
            if name in kept:
                yield numpy_helper.from_array(np.ascontiguousarray(a).reshape(a.shape), name)


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("library")
    p.add_argument("model")
    p.add_argument("out")
    p.add_argument("inputs", nargs="+")
    p.add_argument("--activation", default="uint8", choices=["uint8", "int8"])
    p.add_argument("--relu", default="fused", choices=["fused", "separate", "removed"])
    p.add_argument("--uniform", action="store_true")
    options = p.parse_args()
    model = onnx.load(options.model)
    quantizer = Quantizer(model, ranges(options.library, model, options.inputs), options)
    weights = list(quantizer.run())
    graph = helper.make_graph(quantizer.nodes, model.graph.name, model.graph.input[:1],
                              model.graph.output, weights)
    onnx.save(helper.make_model(graph, opset_imports=model.opset_import,
                                ir_version=model.ir_version), options.out)


if __name__ == "__main__":
    main()
