"""Operators of ai.onnx.ml but trees and SVM, by the words of the standard."""

import math

import numpy as np
from onnx import numpy_helper
from onnx.helper import make_node

ML = {"": 17, "ai.onnx.ml": 3}


def node(op, inputs, outputs, **attributes):
    return make_node(op, inputs, outputs, domain="ai.onnx.ml", **attributes)


def f32(**arrays):
    return {k: np.asarray(v, np.float32) for k, v in arrays.items()}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax_zero(x):
    most = x.max(-1, keepdims=True)
    e = np.where(np.abs(x) > 1e-7, np.exp(x - most), x * np.exp(-most))
    return e / e.sum(-1, keepdims=True)


def probit(p):
    """Winitzki's approximation, as ONNX Runtime has it."""
    x = 2 * p - 1
    log = np.log((1 - x) * (1 + x))
    v = 2 / (3.14159 * 0.147) + log / 2
    return math.sqrt(2) * np.where(x < 0, -1, 1) * np.sqrt(
        np.sqrt(v * v - log / 0.147) - v)


TRANSFORMS = {"NONE": lambda x: x, "SOFTMAX": softmax, "LOGISTIC": sigmoid,
              "SOFTMAX_ZERO": softmax_zero, "PROBIT": probit}


def features(draw):
    x = draw.standard_normal((3, 4)).astype(np.float32)
    x[1] = -np.abs(x[1])
    x[2] = 0
    yield ("ArrayFeatureExtractor", ML, node("ArrayFeatureExtractor", ["x", "i"], ["y"]),
           dict(x=x, i=np.array([[3, 0, 0]])), dict(y=x[:, [3, 0, 0]]))
    yield ("ArrayFeatureExtractor_1d", ML, node("ArrayFeatureExtractor", ["x", "i"], ["y"]),
           dict(x=np.arange(4), i=np.array([2, 1])), dict(y=np.array([[2, 1]])))
    for kind in (np.float32, np.int64):
        yield (f"Binarizer_{kind.__name__}", ML,
               node("Binarizer", ["x"], ["y"], threshold=0.25),
               dict(x=(x * 3).astype(kind)), dict(y=((x * 3).astype(kind) > 0.25).astype(kind)))
    offset, scale = draw.standard_normal((2, 4))
    yield ("Scaler", ML,
           node("Scaler", ["x"], ["y"], offset=offset.tolist(), scale=scale.tolist()),
           dict(x=x), f32(y=(x - offset) * scale))
    yield ("Scaler_one", ML, node("Scaler", ["x"], ["y"], offset=[1.5], scale=[2.0]),
           dict(x=np.arange(6).reshape(2, 3)), f32(y=(np.arange(6).reshape(2, 3) - 1.5) * 2))

    def divided(by):
        return np.divide(x, by, out=x.copy(), where=by != 0)

    for norm, by in (("MAX", x.max(1)), ("L1", np.abs(x).sum(1)),
                     ("L2", np.sqrt((x * x).sum(1)))):
        yield (f"Normalizer_{norm}", ML, node("Normalizer", ["x"], ["y"], norm=norm),
               dict(x=x), dict(y=divided(np.broadcast_to(by[:, None], x.shape))))
    holes = x.copy()
    holes[0, 1] = holes[2, 3] = np.nan
    fill = np.array([7, 8, 9, 10], np.float32)
    yield ("Imputer_nan", ML,
           node("Imputer", ["x"], ["y"], imputed_value_floats=fill.tolist(),
                replaced_value_float=math.nan),
           dict(x=holes), dict(y=np.where(np.isnan(holes), fill, holes)))
    yield ("Imputer_int", ML,
           node("Imputer", ["x"], ["y"], imputed_value_int64s=[5], replaced_value_int64=-1),
           dict(x=np.array([[-1, 2], [3, -1]])), dict(y=np.array([[5, 2], [3, 5]])))
    yield ("FeatureVectorizer", ML,
           node("FeatureVectorizer", ["x", "z"], ["y"], inputdimensions=[4, 2]),
           dict(x=x, z=x[:, :2]), dict(y=np.concatenate((x, x[:, :2]), 1)))
    some = np.array([[1.7, 5], [2, -1]], np.float32)
    cats = np.array([1, 3, 5])
    yield ("OneHotEncoder", ML,
           node("OneHotEncoder", ["x"], ["y"], cats_int64s=cats.tolist()),
           dict(x=some), f32(y=some.astype(int)[..., None] == cats))
    yield ("ZipMap", ML, node("ZipMap", ["x"], ["y"], classlabels_int64s=[5, 6, 7, 8]),
           dict(x=x), dict(y=x))


def labels(draw):
    """Tables of keys, sparse and unsorted."""
    keys = draw.permutation(1000)[:37] * 3 - 999
    values = draw.standard_normal(37).astype(np.float32)
    x = np.concatenate((keys[:20], draw.randint(-2000, 2000, 12))).reshape(4, 8)
    table = dict(zip(keys.tolist(), values))
    look = np.vectorize(lambda k: table.get(k, -0.5))
    yield ("LabelEncoder_int_float", ML,
           node("LabelEncoder", ["x"], ["y"], keys_int64s=keys.tolist(),
                values_floats=values.tolist(), default_float=-0.5),
           dict(x=x), f32(y=look(x)))
    floats = np.array([0.5, -1.25, 3.0, math.nan], np.float32)
    yield ("LabelEncoder_float_int", {"": 17, "ai.onnx.ml": 4},
           node("LabelEncoder", ["x"], ["y"], keys_floats=floats.tolist(),
                values_int64s=[10, 2**60 + 1, 30, 40]),
           dict(x=np.array([3, math.nan, 7, -1.25, -math.inf], np.float32)),
           dict(y=np.array([30, 40, -1, 2**60 + 1, -1])))
    for version, first in ((3, True), (4, False)):
        yield (f"LabelEncoder_again_{version}", {"": 17, "ai.onnx.ml": version},
               node("LabelEncoder", ["x"], ["y"], keys_int64s=[4, 4, 2],
                    values_int64s=[1, 9, 5], default_int64=0),
               dict(x=np.array([4, 2, 3])), dict(y=np.array([1 if first else 9, 5, 0])))

    def tensor(a):
        return numpy_helper.from_array(a)

    yield ("LabelEncoder_tensor", {"": 17, "ai.onnx.ml": 4},
           node("LabelEncoder", ["x"], ["y"],
                keys_tensor=tensor(np.array([3, 1, 2], np.int64)),
                values_tensor=tensor(np.array([30, 10, 20], np.int16)),
                default_tensor=tensor(np.array([7], np.int16))),
           dict(x=np.array([1, 2, 3, 4])), dict(y=np.array([10, 20, 30, 7], np.int16)))


def linear(draw):
    x = draw.standard_normal((3, 4)) / 8
    w, b = draw.standard_normal((3, 4)) / 16, np.array([0.75, 0.2, 0.35])
    y = x @ w.T + b
    for how, f in TRANSFORMS.items():
        yield (f"LinearRegressor_{how}", ML,
               node("LinearRegressor", ["x"], ["y"], targets=3, post_transform=how,
                    coefficients=w.ravel().tolist(), intercepts=b.tolist()),
               f32(x=x), f32(y=f(y)))
        yield (f"LinearClassifier_{how}", ML,
               node("LinearClassifier", ["x"], ["y", "z"], classlabels_ints=[7, 5, 6],
                    post_transform=how, coefficients=w.ravel().tolist(),
                    intercepts=b.tolist()),
               f32(x=x), {**f32(z=f(y)), "y": np.array([7, 5, 6])[y.argmax(1)]})
    yield ("LinearRegressor_int", ML,
           node("LinearRegressor", ["x"], ["y"], coefficients=[1.0, 2.0, 3.0]),
           dict(x=np.arange(6).reshape(2, 3)), f32(y=[[8], [26]]))
    s = x @ w[:1].T * 8 + 0.25
    for how, z in (("NONE", np.concatenate((1 - s, s), 1)),
                   ("LOGISTIC", sigmoid(np.concatenate((-s, s), 1)))):
        yield (f"LinearClassifier_two_{how}", ML,
               node("LinearClassifier", ["x"], ["y", "z"], classlabels_ints=[7, 5],
                    post_transform=how, coefficients=(w[0] * 8).tolist(),
                    intercepts=[0.25]),
               f32(x=x), {**f32(z=z), "y": np.where(s[:, 0] > 0, 5, 7)})
    yield ("LinearClassifier_strings", ML,
           node("LinearClassifier", ["x"], ["y", "z"], classlabels_strings=["a", "b", "c"],
                coefficients=w.ravel().tolist(), intercepts=b.tolist()),
           f32(x=x), f32(z=y))


def cases(draw):
    for family in (features, labels, linear):
        yield from family(draw)
