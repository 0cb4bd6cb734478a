"""Models in the text form of ONNX, and inputs for those whose sizes depend on data."""
import pathlib

import numpy as np

KINDS = {np.dtype(np.float32): (1, "float_data"), np.dtype(np.int64): (7, "int64_data"),
         np.dtype(bool): (9, "int32_data")}


class Graph:
    """A graph in text form, with the operators as methods."""

    def __init__(self):
        self.nodes, self.weights, self.count = [], [], 0

    def constant(self, value):
        value = np.asarray(value)
        if value.dtype == np.float64:
            value = value.astype(np.float32)
        name = f"c{len(self.weights)}"
        kind, field = KINDS[value.dtype]
        dims = " ".join(f"dims: {d}" for d in value.shape)
        data = " ".join(f"{field}: {v}" for v in value.astype(
            int if value.dtype == bool else value.dtype).ravel())
        self.weights.append(f'initializer {{ name: "{name}" data_type: {kind} {dims} {data} }}')
        return name

    def __call__(self, op, *inputs, out=None, outputs=1, **attributes):
        inputs = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        self.count += 1
        name = out or f"t{self.count}"
        names = [name] + [f"{name}.{k}" for k in range(1, outputs)]
        text = [f'node {{ name: "{name}" op_type: "{op}"']
        text += [f'input: "{i}"' for i in inputs] + [f'output: "{o}"' for o in names]
        for key, value in attributes.items():
            if isinstance(value, Graph):
                said = f"type: GRAPH g {{ {value.text()} }}"
            elif isinstance(value, list):
                said = "type: INTS " + " ".join(f"ints: {v}" for v in value)
            elif isinstance(value, str):
                said = f'type: STRING s: "{value}"'
            else:
                said = f"type: INT i: {value}"
            text.append(f'attribute {{ name: "{key}" {said} }}')
        self.nodes.append(" ".join(text) + " }")
        return names[0] if outputs == 1 else names

    def text(self, *outputs):
        return "\n".join(self.nodes + self.weights
                         + [f'output {{ name: "{o}" }}' for o in outputs or self.outputs])

    def write(self, path, *outputs):
        dims = "dim { dim_value: 6 } dim { dim_value: 4 }"
        pathlib.Path(f"{path}.onnxtxt").write_text(
            "ir_version: 8\nopset_import { version: 13 }\ngraph {\n" + self.text(*outputs)
            + f'\ninput {{ name: "x" type {{ tensor_type {{ elem_type: 1 shape {{ {dims} }} }} }} }}'
            + "\n}\n")


def positive(g, column=0):
    """The numbers of rows whose element of a column is above 0."""
    mask = g("Greater", g("Gather", "x", np.array(column), axis=1), np.float32(0))
    return g("Squeeze", g("Transpose", g("NonZero", mask), perm=[1, 0]), np.array([1]))


def save_inputs(folder, rng):
    """[6, 4], by whether some, no or all elements of column 0 are above 0; saved."""
    some = rng.standard_normal((6, 4)).astype(np.float32)
    some[:, 0] = [1, -1, 2, -2, -3, 3]
    inputs = {"some": some, "none": -abs(some), "all": abs(some)}
    for case, x in inputs.items():
        np.save(f"{folder}/{case}.npy", x)
    return inputs
