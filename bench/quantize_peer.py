"""QDQ models here and in ONNX Runtime: two rows of bench/quantize.

Elements: every operator by itself.  Quantized activations are inputs and outputs of one
model, and the inputs have the elements that ONNX Runtime computed, so that a difference
does not spread to operators behind.

Outputs: the signal over noise of the outputs of the whole model, of both, against the
outputs of the float model in ONNX Runtime, on the input of the profile and on shuffles of
its elements.
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import helper
from onnx.mapping import NP_TYPE_TO_TENSOR_TYPE

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "test" / "onnx"))
from runtime import EXACT, Runtime

LEAST_EQUAL = 0.999  # of the elements of each operator; all within a step
MOST_BELOW = 1.0  # dB of the outputs below those of ONNX Runtime
SHUFFLES = 3


def quantized(model):
    """Names of the quantized activations."""
    return [n.output[0] for n in model.graph.node if n.op_type == "QuantizeLinear"]


def peer_elements(library, model, feed):
    """The elements of each quantized activation by ONNX Runtime."""
    every = onnx.ModelProto()
    every.CopyFrom(model)
    names = quantized(model)
    every.graph.output.extend(helper.make_empty_tensor_value_info(v) for v in names)
    return dict(zip(names, Runtime(library, EXACT).run(every.SerializeToString(), feed, names)))


def split(model, elements):
    """The model whose quantized activation number i is the input `ini` and output `outi`."""
    apart = onnx.ModelProto()
    apart.CopyFrom(model)
    number = {v: i for i, v in enumerate(elements)}
    for n in apart.graph.node:
        if n.op_type == "DequantizeLinear" and n.input[0] in number:
            n.input[0] = f"in{number[n.input[0]]}"
        if n.op_type == "QuantizeLinear":
            n.output[0] = f"out{number[n.output[0]]}"
    for v, i in number.items():
        kind = NP_TYPE_TO_TENSOR_TYPE[elements[v].dtype]
        for name, to in ((f"in{i}", apart.graph.input), (f"out{i}", apart.graph.output)):
            to.append(helper.make_tensor_value_info(name, kind, elements[v].shape))
    return apart


def decibels(expected, got):
    """Least signal over noise of the outputs, each over all runs."""
    least = float("inf")
    for x, y in zip(zip(*expected), zip(*got)):
        x, y = np.concatenate(x, None).astype(float), np.concatenate(y, None).astype(float)
        noise = ((x - y) ** 2).sum()
        if noise:
            least = min(least, 10 * np.log10((x**2).sum() / noise))
    return least


def outputs_row(net, model, row):
    """The row of outputs of a quantize_speed.Network, whose float model is at `model`."""
    onnx_outputs = [o.name for o in onnx.load(model).graph.output]
    first, draw = np.load(net.input), np.random.default_rng(1)
    inputs = [first, *(draw.permutation(first.ravel()).reshape(first.shape)
                       for _ in range(SHUFFLES))]
    runtime, exact, folder = Runtime(net.ort), Runtime(net.ort, EXACT), net.tools.out / f"{net.name}.ends"
    feed = onnx.load(model).graph.input[0].name
    floats, theirs, sums, ours = [], [], [], []
    for x in inputs:
        floats.append(runtime.run(model.read_bytes(), {feed: x}, onnx_outputs))
        theirs.append(runtime.run(net.onnx.read_bytes(), {feed: x}, onnx_outputs))
        sums.append(exact.run(net.onnx.read_bytes(), {feed: x}, onnx_outputs))
        np.save(net.tools.out / f"{net.name}.x.npy", x)
        net.tools.run("glow-run", net.qdq, "-backend=cpu", "-O2", "-no-cache", "-input",
                      f"{net.feed}={net.tools.out / f'{net.name}.x.npy'}", f"-output-dir={folder}")
        ours.append([np.load(folder / f"{o}.npy") for o in onnx_outputs])
    there, best, here = (decibels(floats, y) for y in (theirs, sums, ours))
    return row(net.name, "outputs against float, QDQ", f"ORT - {MOST_BELOW:.0f} dB",
               f"{here:.1f} dB, ORT {there:.1f}, exact {best:.1f}", here >= best - MOST_BELOW)


def elements_row(net, row):
    """The row of elements of a quantize_speed.Network."""
    model = onnx.load(net.onnx)
    feed = {model.graph.input[0].name: np.load(net.input)}
    elements = peer_elements(net.ort, model, feed)
    folder = net.tools.out / f"{net.name}.apart"
    folder.mkdir(exist_ok=True)
    onnx.save(split(model, elements), folder / "model.onnx")
    net.tools.run("glow-translate", "-import-onnx", folder / "model.onnx", "-o",
                  folder / "net.gir")
    options = ["-input", f"{net.feed}={net.input}"]
    for i, a in enumerate(elements.values()):
        np.save(folder / f"in{i}.npy", a)
        options += ["-input", f"in{i}={folder / f'in{i}.npy'}"]
    net.tools.run("glow-run", folder / "net.gir", "-backend=cpu", "-O2", "-no-cache", *options,
                  f"-output-dir={folder}")
    least, most = 1.0, 0
    for i, a in enumerate(elements.values()):
        apart = np.abs(np.load(folder / f"out{i}.npy").astype(int) - a.astype(int))
        least, most = min(least, float((apart == 0).mean())), max(most, int(apart.max()))
    return row(net.name, "elements equal to ONNX Runtime's", f"{LEAST_EQUAL:.1%}, 1 step",
               f"{least:.2%} of {len(elements)} nodes, {most}", least >= LEAST_EQUAL and most <= 1)
