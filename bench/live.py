"""The largest live set of an ONNX graph that is run in the order of its file: what a
runtime needs for activations that frees each tensor after its last reader, shares
nothing, and works in place nowhere.  Inputs, outputs, weights and results that nobody
reads do not count."""

import math

import onnx
from onnx import shape_inference


def sizes(model):
    """Bytes of each value of known shape."""
    model.ir_version = max(model.ir_version, 4)  # before, initializers had no shape
    inferred = shape_inference.infer_shapes(model, data_prop=True)
    kinds = onnx.mapping.TENSOR_TYPE_TO_NP_TYPE
    out = {}
    for v in inferred.graph.value_info:
        t = v.type.tensor_type
        dims = [d.dim_value if d.HasField("dim_value") else None for d in t.shape.dim]
        if t.HasField("shape") and None not in dims and t.elem_type in kinds:
            out[v.name] = math.prod(dims) * kinds[t.elem_type].itemsize
    return out


def constants(graph):
    """Names of what does not depend on inputs."""
    known = {t.name for t in graph.initializer}
    for n in graph.node:
        if all(i in known or not i for i in n.input):
            known.update(n.output)
    return known


def largest(model):
    """Bytes, or None where a shape is not known."""
    graph, known = model.graph, sizes(model)
    apart = constants(graph) | {v.name for v in graph.output}
    last = {i: k for k, n in enumerate(graph.node) for i in n.input}
    live, most, alive = 0, 0, {}
    for k, n in enumerate(graph.node):
        for o in n.output:
            if o not in last or o in apart:
                continue
            if o not in known:
                return None
            alive[o] = known[o]
            live += known[o]
        most = max(most, live)
        for v in [*n.input, *n.output]:
            if v in alive and last[v] <= k:
                live -= alive.pop(v)
    return most
