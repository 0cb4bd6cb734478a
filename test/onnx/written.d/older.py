"""Operators and forms that newer opsets dropped, or that came before theirs."""

import math

import numpy as np
from onnx.helper import make_node as node

erf = np.vectorize(math.erf)


def real(draw, *shape):
    return draw.standard_normal(shape).astype(np.float32)


def experimental(draw):
    x = real(draw, 2, 3, 6, 5)
    one = dict(x=x)
    bias = [0.5, -1.0, 2.0]
    yield ("affine", 6, node("Affine", ["x"], ["y"], alpha=2.0, beta=0.5), one,
           dict(y=2 * x + np.float32(0.5)))
    yield "scale", 6, node("Scale", ["x"], ["y"], scale=3.0), one, dict(y=3 * x)
    yield ("scaled_tanh", 6, node("ScaledTanh", ["x"], ["y"], alpha=2.0, beta=0.5), one,
           dict(y=2 * np.tanh(x / 2)))
    yield ("parametric_softplus", 6,
           node("ParametricSoftplus", ["x"], ["y"], alpha=0.5, beta=2.0), one,
           dict(y=np.log1p(np.exp(2 * x)) / 2))
    yield ("image_scaler", 6, node("ImageScaler", ["x"], ["y"], scale=0.5, bias=bias), one,
           dict(y=x / 2 + np.array(bias, np.float32)[:, None, None]))
    yield ("crop", 6, node("Crop", ["x"], ["y"], border=[1, 2, 2, 1]), one,
           dict(y=x[:, :, 2:5, 1:3]))
    yield ("crop_scale", 6, node("Crop", ["x"], ["y"], border=[1, 2, 0, 0], scale=[3, 2]),
           one, dict(y=x[:, :, 2:5, 1:3]))
    filled = np.full((2, 3, 6, 5, 2), 1.5, np.float32)
    yield ("constant_fill", 6,
           [node("ConstantFill", ["x"], ["c"], value=1.5, extra_shape=[2]),
            node("Neg", ["c"], ["y"])], one, dict(y=-filled))
    yield ("given_tensor_fill", 6,
           [node("GivenTensorFill", [], ["c"], values=[1.0, 2.0, 3.0, 4.0, 5.0],
                 shape=[1, 5]), node("Add", ["x", "c"], ["y"], broadcast=1)], one,
           dict(y=x + np.arange(1, 6, dtype=np.float32)))
    yield ("dynamic_slice", 9,
           [node("ConstantFill", [], ["s"], value=1.0, shape=[2], dtype=7),
            node("ConstantFill", [], ["e"], value=4.0, shape=[2], dtype=7),
            node("DynamicSlice", ["x", "s", "e"], ["y"])], one, dict(y=x[1:4, 1:4]))


def forms(draw):
    x = real(draw, 2, 3, 4, 5)
    one = dict(x=x)
    yield ("thresholded_relu_6", 6, node("ThresholdedRelu", ["x"], ["y"], alpha=0.5), one,
           dict(y=np.where(x > 0.5, x, 0)))
    for across, axes in ((0, (2, 3)), (1, (1, 2, 3))):
        d = x - x.mean(axes, keepdims=True)
        s = np.sqrt((d * d).mean(axes, keepdims=True))
        for divides, y in ((0, d), (1, d / (s + 1e-9))):
            yield (f"mean_variance_8_{across}_{divides}", 8,
                   node("MeanVarianceNormalization", ["x"], ["y"], across_channels=across,
                        normalize_variance=divides), one, dict(y=y.astype(np.float32)))
    yield ("split_1", 1,
           [node("ConstantFill", [], ["s"], shape=[2], value=2.0, dtype=7),
            node("Split", ["x", "s"], ["a", "b"], axis=2), node("Neg", ["b"], ["y"])], one,
           dict(y=-x[:, :, 2:]))
    yield ("tile_1", 5,
           [node("ConstantFill", [], ["t"], shape=[1], value=2.0, dtype=7),
            node("ConstantFill", [], ["a"], shape=[1], value=1.0, dtype=7),
            node("Tile", ["x", "t", "a"], ["y"])], one, dict(y=np.tile(x, (1, 2, 1, 1))))
    gamma, beta = real(draw, 5), real(draw, 5)
    d = x - x.mean(-1, keepdims=True)
    y = d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * gamma + beta
    yield ("layer_normalization_11", 11,
           node("LayerNormalization", ["x", "g", "b"], ["y"], axis=-1),
           dict(x=x, g=gamma, b=beta), dict(y=y.astype(np.float32)))
    y = x * (1 + erf(x.astype(np.float64) / math.sqrt(2))) / 2
    yield ("gelu_13", 13, node("Gelu", ["x"], ["y"]), one, dict(y=y.astype(np.float32)))


def cases(draw):
    yield from experimental(draw)
    yield from forms(draw)
