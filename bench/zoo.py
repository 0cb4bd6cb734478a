"""Models and networks to measure: those of ../shared/data, and of networks.py.

What is imported is what a peer is given: fix_inputs closes what a file leaves open,
and returns the options with which our importer does the same.
"""

import pathlib

import numpy as np
import onnx
from google.protobuf import text_format
from onnx import numpy_helper

import networks

DATA = pathlib.Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def fix_inputs(model, folder, out):
    """Gives all inputs a shape, that of stored data, else with 1 where it is open;
    single integers that are stored, which may decide about shapes, become
    constants.  Returns the options with which our importer does the same."""
    weights = {t.name for t in model.graph.initializer}
    options = []
    for i, value in enumerate([v for v in model.graph.input if v.name not in weights]):
        dims = value.type.tensor_type.shape.dim
        stored = folder / "test_data_set_0" / f"input_{i}.pb"
        tensor = onnx.load_tensor(str(stored)) if stored.exists() else None
        if tensor and not tensor.dims and tensor.data_type == onnx.TensorProto.INT64:
            tensor.name = value.name
            model.graph.initializer.append(tensor)
            model.graph.input.remove(value)
            bound = out / "bound.npy"
            np.save(bound, numpy_helper.to_array(tensor))
            options.append(f"-bind={value.name}={bound}")
        elif not all(d.HasField("dim_value") for d in dims):
            sizes = tensor.dims if tensor else [d.dim_value or 1 for d in dims]
            for d, size in zip(dims, sizes):
                d.dim_value = size
            options.append(f"-shape={value.name}={'x'.join(map(str, sizes))}")
    del model.graph.value_info[:]
    return options


def with_weights(model):
    """Weights that the light models make by ConstantOfShape, as weights: the peer would
    make the large ones anew in every run."""
    shapes = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    for n in [n for n in model.graph.node if n.op_type == "ConstantOfShape"]:
        if n.input[0] in shapes:
            value = [numpy_helper.to_array(a.t) for a in n.attribute] or [np.zeros(1, np.float32)]
            full = np.full(shapes[n.input[0]], value[0][0], value[0].dtype)
            model.graph.initializer.append(numpy_helper.from_array(full, n.output[0]))
            model.graph.node.remove(n)
    model.ir_version = max(model.ir_version, 4)
    return model


def tensor_for(value, i, stored, rng):
    """What input i is given: stored data, else numbers from [-1, 1), integers of 0 and 1."""
    if (path := stored / f"input_{i}.pb").exists():
        return numpy_helper.to_array(onnx.load_tensor(str(path)))
    t = value.type.tensor_type
    dims, kind = [d.dim_value for d in t.shape.dim], onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[t.elem_type]
    drawn = rng.uniform(-1, 1, dims) if kind.kind == "f" else rng.integers(0, 2, dims)
    return np.asarray(drawn).astype(kind)


def is_newer(path, *sources):
    return path.exists() and all(path.stat().st_mtime > s.stat().st_mtime for s in sources)


class Model:
    def __init__(self, group, path):
        self.name = f"{group}/{path.parent.name if path.stem == 'model' else path.stem}"
        self.file = self.name.replace("/", "-")
        self.path = path

    def load(self):
        if self.path.suffix == ".onnx":
            return onnx.load(str(self.path))
        return text_format.Parse(self.path.read_text(errors="replace"), onnx.ModelProto())


def models(out):
    for group, files in (("light", "onnx-light/*.onnx"), ("random", "onnx-random/*/model.onnx"),
                         ("real", "real/*/model.onnx"), ("glow", "glow/onnx/*.onnxtxt")):
        for path in sorted(DATA.glob(files)):
            yield Model(group, path)
    for name in networks.NETWORKS:
        yield Model("net", out / f"{name}.onnx")
