"""A MatMulNBits, or a DequantizeLinear in blocks before a MatMul, as an ONNX model, and
what numpy makes of it.

    nbits.py DIR nbits|qdq|gemm BITS BLOCK [zeros] [bias] [half] [turned]

Writes DIR/model.onnx, DIR/a.npy and DIR/y.npy.  `half`: scales are float16 in nbits, with
an input of float16; `turned`: weights [N, K] and a Transpose.
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

folder, form, bits, block = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
words = sys.argv[5:]
draw = np.random.default_rng(bits * 100 + block)
M, K, N = 3, 90, 20
blocks = -(-K // block)
q = draw.integers(0, 1 << bits, (N, blocks * block)).astype(np.uint8)
s = (draw.random((N, blocks)) / 8 + 0.01).astype(np.float16)
z = draw.integers(0, 1 << bits, (N, blocks)).astype(np.uint8)
if "zeros" not in words:
    z[:] = 1 << (bits - 1)
x = draw.standard_normal((M, K)).astype(np.float16)
b = draw.standard_normal(N).astype(np.float16)
real = np.float16 if "half" in words else np.float32


def packed(v):
    """Rows of bytes, low bits first."""
    if bits == 8:
        return v
    v = np.pad(v, ((0, 0), (0, v.shape[1] % 2)))
    return (v[:, 0::2] | v[:, 1::2] << 4).astype(np.uint8)


def tensor(name, v):
    return numpy_helper.from_array(v, name)


def integers(name, v):
    """Of uint4, which numpy lacks, or uint8."""
    if bits == 8:
        return tensor(name, v)
    raw = packed(v.reshape(1, -1)).tobytes()
    t = onnx.TensorProto(name=name, data_type=21, raw_data=raw)
    t.dims.extend(v.shape)
    return t


nodes, initializers, opsets = [], [tensor("s", s.astype(real))], [helper.make_opsetid("", 21)]
if form == "nbits":
    names = ["a", "w", "s", "z" if "zeros" in words else "", "", "b" if "bias" in words else ""]
    while not names[-1]:
        names.pop()
    initializers.append(tensor("w", packed(q).reshape(N, blocks, -1)))
    if "zeros" in words:
        initializers.append(tensor("z", packed(z).reshape(-1)))
    nodes.append(helper.make_node("MatMulNBits", names, ["y"], domain="com.microsoft", K=K, N=N, bits=bits,
                                  block_size=block, accuracy_level=4))
    opsets.append(helper.make_opsetid("com.microsoft", 1))
else:
    turned = "turned" in words
    w, scales, zeros = (v if turned else v.T.copy() for v in (q[:, :K], s.astype(real), z))
    initializers = [integers("w", w), tensor("s", scales), integers("z", zeros)]
    nodes.append(helper.make_node("DequantizeLinear", ["w", "s", "z"], ["d"], axis=int(turned), block_size=block))
    if turned:
        nodes.append(helper.make_node("Transpose", ["d"], ["t"], perm=[1, 0]))
    nodes.append(helper.make_node("MatMul", ["a", "t" if turned else "d"], ["p" if "bias" in words else "y"]))
    if "bias" in words:
        nodes.append(helper.make_node("Add", ["p", "b"], ["y"]))
if "bias" in words:
    initializers.append(tensor("b", b.astype(real)))
kind = T.FLOAT16 if "half" in words else T.FLOAT
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("a", kind, [M, K])],
                          [helper.make_tensor_value_info("y", kind, [M, N])], initializers)
model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
with open(f"{folder}/model.onnx", "wb") as f:
    f.write(model.SerializeToString())
w = (q.astype(np.float64) - np.repeat(z, block, 1)) * np.repeat(s.astype(np.float64), block, 1)
y = x.astype(np.float64) @ w[:, :K].T + (b.astype(np.float64) if "bias" in words else 0)
np.save(f"{folder}/a.npy", x.astype(real))
np.save(f"{folder}/y.npy", y.astype(real))
