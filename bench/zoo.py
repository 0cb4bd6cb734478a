"""Models and networks to measure: those of ../shared/data, and of networks.py.

What is imported is what a peer is given: fix_inputs closes what a file leaves open,
and returns the options with which our importer does the same.
"""

import pathlib

import numpy as np
import onnx
from google.protobuf import text_format

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
            np.save(bound, onnx.numpy_helper.to_array(tensor))
            options.append(f"-bind={value.name}={bound}")
        elif not all(d.HasField("dim_value") for d in dims):
            sizes = tensor.dims if tensor else [d.dim_value or 1 for d in dims]
            for d, size in zip(dims, sizes):
                d.dim_value = size
            options.append(f"-shape={value.name}={'x'.join(map(str, sizes))}")
    del model.graph.value_info[:]
    return options


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
