"""Operators of ONNX Runtime but attention, by its definitions of them."""

import math

import numpy as np
from onnx.helper import make_node

MS = {"": 17, "com.microsoft": 1}
ERF = np.vectorize(math.erf)


def node(op, inputs, outputs, **attributes):
    return make_node(op, inputs, outputs, domain="com.microsoft", **attributes)


def gelu(x):
    return x / 2 * (1 + ERF(x / math.sqrt(2)))


def fast_gelu(x):
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gate(x, alpha=1.0):
    return x / (1 + np.exp(-alpha * x))


def f32(**arrays):
    return {k: np.asarray(v, np.float32) for k, v in arrays.items()}


def activations(draw):
    x, b = draw.standard_normal((2, 3, 8)) * 3, draw.standard_normal(8)
    yield "Gelu", MS, node("Gelu", ["x"], ["y"]), f32(x=x), f32(y=gelu(x))
    yield ("BiasGelu", MS, node("BiasGelu", ["x", "b"], ["y"]), f32(x=x, b=b),
           f32(y=gelu(x + b)))
    yield "FastGelu", MS, node("FastGelu", ["x"], ["y"]), f32(x=x), f32(y=fast_gelu(x))
    yield ("FastGelu_bias", MS, node("FastGelu", ["x", "b"], ["y"]), f32(x=x, b=b),
           f32(y=fast_gelu(x + b)))
    yield "QuickGelu", MS, node("QuickGelu", ["x"], ["y"]), f32(x=x), f32(y=gate(x, 1.702))
    yield ("QuickGelu_silu", MS, node("QuickGelu", ["x"], ["y"], alpha=1.0), f32(x=x),
           f32(y=gate(x)))
    yield ("BiasAdd", MS, node("BiasAdd", ["x", "b", "s"], ["y"]), f32(x=x, b=b, s=x[::-1]),
           f32(y=x + b + x[::-1]))
    y = x + b
    yield ("BiasSplitGelu", MS, node("BiasSplitGelu", ["x", "b"], ["y"]), f32(x=x, b=b),
           f32(y=y[..., :4] * gelu(y[..., 4:])))


def by_root(x, scale, epsilon):
    inverse = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon)
    return x * inverse * scale, inverse


def layer(x, scale, bias, epsilon):
    mean = x.mean(-1, keepdims=True)
    y, inverse = by_root(x - mean, scale, epsilon)
    return y + bias, mean, inverse


def norms(draw):
    x, s = draw.standard_normal((2, 2, 3, 8))
    g, b, c = draw.standard_normal((3, 8))
    y, inverse = by_root(x, g, 1e-5)
    yield ("SimplifiedLayerNormalization", 17,
           make_node("SimplifiedLayerNormalization", ["x", "g"], ["y", "i"], axis=-1),
           f32(x=x, g=g), f32(y=y, i=inverse))
    y, inverse = by_root(x + s, g, 1e-3)
    yield ("SkipSimplified", MS,
           node("SkipSimplifiedLayerNormalization", ["x", "s", "g"], ["y", "", "", "t"],
                epsilon=1e-3),
           f32(x=x, s=s, g=g), f32(y=y, t=x + s))
    y, inverse = by_root(x[0] + s[0] + c, g, 1e-5)
    yield ("SkipSimplified_bias", MS,
           node("SkipSimplifiedLayerNormalization", ["x", "s", "g", "c"], ["y", "", "", "t"],
                epsilon=1e-5),
           f32(x=x[0], s=s[0], g=g, c=c), f32(y=y, t=x[0] + s[0] + c))
    y, mean, inverse = layer(x + s, g, b, 1e-5)
    yield ("SkipLayer", MS,
           node("SkipLayerNormalization", ["x", "s", "g", "b"], ["y", "m", "i"],
                epsilon=1e-5),
           f32(x=x, s=s, g=g, b=b), f32(y=y, m=mean, i=inverse))
    y, mean, inverse = layer(x + s[0] + c, g, 0, 1e-12)
    yield ("SkipLayer_bias", MS,
           node("SkipLayerNormalization", ["x", "s", "g", "", "c"], ["y", "", "", "t"],
                epsilon=1e-12),
           f32(x=x, s=s[0], g=g, c=c), f32(y=y, t=x + s[0] + c))
    yield from embeddings(draw)
    yield from groups(draw)


def embeddings(draw):
    word, place, segment = (draw.standard_normal((n, 8)) for n in (11, 5, 2))
    g, b = draw.standard_normal((2, 8))
    ids, kinds = draw.randint(0, 11, (2, 4)), draw.randint(0, 2, (2, 4))
    mask = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], np.int32)
    where = np.array([[4, 0, 1, 2]], np.int32)
    total = word[ids] + place[:4] + segment[kinds]
    tables = f32(w=word, p=place, s=segment, g=g, b=b)
    ints = dict(i=ids.astype(np.int32), k=kinds.astype(np.int32))
    yield ("EmbedLayer", MS,
           node("EmbedLayerNormalization", ["i", "k", "w", "p", "s", "g", "b", "m"],
                ["y", "n", "e"], epsilon=1e-5),
           {**ints, **tables, "m": mask},
           {**f32(y=layer(total, g, b, 1e-5)[0], e=total), "n": np.array([3, 4], np.int32)})
    total = word[ids] + place[where]
    del tables["s"], ints["k"]
    yield ("EmbedLayer_distil", MS,
           node("EmbedLayerNormalization", ["i", "", "w", "p", "", "g", "b", "", "q"],
                ["y", "n"]),
           {**ints, **tables, "q": where},
           {**f32(y=layer(total, g, b, 1e-12)[0]), "n": np.zeros(2, np.int32)})


def groups(draw):
    x, s = draw.standard_normal((2, 2, 3, 2, 4))
    g, b, c = draw.standard_normal((3, 4))

    def norm(v):
        flat = v.reshape(2, 6, 2, 2)
        mean, var = (f((1, 3), keepdims=True) for f in (flat.mean, flat.var))
        return ((flat - mean) / np.sqrt(var + 1e-5)).reshape(v.shape) * g + b

    yield ("GroupNorm", MS,
           node("GroupNorm", ["x", "g", "b"], ["y"], groups=2, activation=1),
           f32(x=x, g=g, b=b), f32(y=gate(norm(x))))
    yield ("GroupNorm_first", MS,
           node("GroupNorm", ["x", "g", "b"], ["y"], groups=2, activation=0,
                channels_last=0),
           f32(x=x.transpose(0, 3, 1, 2), g=g, b=b), f32(y=norm(x).transpose(0, 3, 1, 2)))
    skip = s[:, 0, 0]
    total = x + skip[:, None, None] + c
    yield ("SkipGroupNorm", MS,
           node("SkipGroupNorm", ["x", "g", "b", "s", "c"], ["y", "t"], groups=2,
                activation=0),
           f32(x=x, g=g, b=b, s=skip, c=c), f32(y=norm(total), t=total))


def products(draw):
    a, b = draw.standard_normal((2, 5, 3, 4)), draw.standard_normal((2, 5, 6, 4))
    yield ("FusedMatMul", MS,
           node("FusedMatMul", ["a", "b"], ["y"], transB=1, alpha=0.5),
           f32(a=a, b=b), f32(y=a @ b.swapaxes(-1, -2) * 0.5))
    # Rows in front: [rows, batch, columns].
    front = np.moveaxis(a, -2, 0)
    yield ("FusedMatMul_batch", MS,
           node("FusedMatMul", ["a", "b"], ["y"], transBatchA=1, transB=1),
           f32(a=front, b=b), f32(y=a @ b.swapaxes(-1, -2)))
    front = np.moveaxis(b.swapaxes(-1, -2), -1, 0)
    yield ("FusedMatMul_both", MS,
           node("FusedMatMul", ["a", "b"], ["y"], transBatchB=1, transB=1, transA=1),
           f32(a=a.swapaxes(-1, -2), b=front), f32(y=a @ b.swapaxes(-1, -2)))
    yield ("TransposeMatMul", MS,
           node("TransposeMatMul", ["a", "b"], ["y"], transA=1, transB=1),
           f32(a=a.swapaxes(-1, -2), b=b), f32(y=a @ b.swapaxes(-1, -2)))
    yield ("FusedMatMulActivation", MS,
           node("FusedMatMulActivation", ["a", "b"], ["y"], transB=1,
                activation="LeakyRelu", activation_alpha=0.25),
           f32(a=a, b=b), f32(y=leaky(a @ b.swapaxes(-1, -2), 0.25)))
    m, w, c = a[0, 0], b[0, 0].T, draw.standard_normal(6)
    y = m @ w * 2 + c
    yield ("FusedGemm", MS,
           node("FusedGemm", ["a", "b", "c"], ["y"], alpha=2.0, activation="Relu"),
           f32(a=m, b=w, c=c), f32(y=np.maximum(y, 0)))
    yield ("FusedGemm_sigmoid", MS,
           node("FusedGemm", ["a", "b", "c"], ["y"], alpha=2.0, transB=1,
                activation="HardSigmoid", activation_alpha=0.3, activation_beta=0.4),
           f32(a=m, b=w.T, c=c), f32(y=np.clip(0.3 * y + 0.4, 0, 1)))
    yield ("GemmFastGelu", MS, node("GemmFastGelu", ["a", "b", "c"], ["y"]),
           f32(a=a, b=w, c=c), f32(y=fast_gelu(a @ w + c)))
    x, k = draw.standard_normal((1, 3, 5, 5)), draw.standard_normal((4, 3, 3, 3))
    bias, z = draw.standard_normal(4), draw.standard_normal((1, 4, 3, 3))
    y = conv(x, k) + bias[:, None, None] + z
    yield ("FusedConv", MS,
           node("FusedConv", ["x", "k", "b", "z"], ["y"], activation="Relu"),
           f32(x=x, k=k, b=bias, z=z), f32(y=np.maximum(y, 0)))
    yield ("FusedConv_clip", MS,
           node("FusedConv", ["x", "k"], ["y"], activation="Clip",
                activation_params=[-1.0, 2.0]),
           f32(x=x, k=k), f32(y=np.clip(conv(x, k), -1, 2)))
    rows = (0, 2, 3, 1)
    yield ("NhwcConv", MS, node("NhwcConv", ["x", "k", "b"], ["y"]),
           f32(x=x.transpose(rows), k=k, b=bias),
           f32(y=(conv(x, k) + bias[:, None, None]).transpose(rows)))


def leaky(x, alpha):
    return np.where(x < 0, alpha * x, x)


def conv(x, k):
    windows = np.lib.stride_tricks.sliding_window_view(x, k.shape[2:], (2, 3))
    return np.einsum("nchwij,mcij->nmhw", windows, k)


def cases(draw):
    for family in (activations, norms, products):
        yield from family(draw)
