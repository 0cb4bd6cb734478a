"""Operators and forms of opset 24 to 26."""

import numpy as np
from onnx.helper import make_node as node


def real(draw, *shape):
    return draw.standard_normal(shape).astype(np.float32)


def swish(draw):
    x = real(draw, 3, 5) * 4
    for alpha in (1, 0.5):
        yield (f"swish_{alpha}", 24, node("Swish", ["x"], ["y"], alpha=float(alpha)),
               dict(x=x), dict(y=x / (1 + np.exp(-alpha * x))))


def scattered(cache, update, at, axis, circular):
    """Row s of each sample's update goes to row at + s of its cache."""
    y = np.moveaxis(cache.copy(), axis, 1)
    u = np.moveaxis(update, axis, 1)
    for b in range(y.shape[0]):
        for s in range(u.shape[1]):
            row = at[b] + s
            y[b, row % y.shape[1] if circular else row] = u[b, s]
    return np.moveaxis(y, 1, axis)


def tensor_scatter(draw):
    cases = [("rows", -2, "linear", (2, 3, 6, 4), (2, 3, 2, 4), [1, 4]),
             ("rank_3", 1, "linear", (2, 5, 3), (2, 4, 3), [0, 1]),
             ("last_axis", 2, "linear", (2, 3, 6), (2, 3, 1), [5, 0]),
             ("circular", -2, "circular", (2, 3, 6, 4), (2, 3, 4, 4), [5, 9]),
             ("no_indices", -2, "linear", (2, 3, 6, 4), (2, 3, 2, 4), None)]
    for name, axis, mode, shape, part, at in cases:
        c, u = real(draw, *shape), real(draw, *part)
        x, names = dict(c=c, u=u), ["c", "u"]
        if at:
            x["i"] = np.array(at, np.int64)
            names.append("i")
        y = scattered(c, u, at or [0] * len(c), axis % len(shape), mode == "circular")
        yield (f"tensor_scatter_{name}", 24,
               node("TensorScatter", names, ["y"], axis=axis, mode=mode), x, dict(y=y))


def attended(q, k, v, bias):
    """Softmax(Q K / sqrt(D) + bias) V; rows that see nothing are 0."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    s = q.astype(np.float64) @ np.swapaxes(k, 2, 3) / np.sqrt(q.shape[3]) + bias
    most = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(np.isinf(most), 0, most))
    total = e.sum(-1, keepdims=True)
    return (e / np.where(total == 0, 1, total) @ v).astype(np.float32)


def hidden(seen):
    return np.where(seen, 0, -np.inf)


def attention(draw):
    """nonpad_kv_seqlen: how many keys of each sample exist."""
    q, k, v = real(draw, 2, 4, 3, 8), real(draw, 2, 2, 6, 8), real(draw, 2, 2, 6, 5)
    lengths = np.array([4, 6], np.int64)
    j, i = np.arange(6), np.arange(3)[:, None]
    exist = (j < lengths[:, None])[:, None, None]
    causal = (j <= i + lengths[:, None, None] - 3)[:, None]
    masks = {"none": None, "bool": draw.randint(0, 2, (3, 6)) > 0,
             "bool_batch": draw.randint(0, 2, (2, 1, 3, 6)) > 0,
             "float": real(draw, 4, 3, 6), "double": real(draw, 3, 6).astype(np.float64)}
    for name, mask in masks.items():
        x = dict(q=q, k=k, v=v, n=lengths)
        bias = 0
        if mask is not None:
            x["m"] = mask
            bias = hidden(mask) if mask.dtype == bool else mask
        inputs = ["q", "k", "v", "m" if "m" in x else "", "", "", "n"]
        for is_causal, seen in ((0, exist), (1, exist & causal)):
            yield (f"attention_nonpad_{name}_{is_causal}", 24,
                   node("Attention", inputs, ["y"], is_causal=is_causal), x,
                   dict(y=attended(q, k, v, bias + hidden(seen))))

    def rows(t):
        return np.swapaxes(t, 1, 2).reshape(t.shape[0], t.shape[2], -1)

    y = attended(q, k, v, hidden(exist))
    yield ("attention_nonpad_rank_3", 24,
           node("Attention", ["q", "k", "v", "", "", "", "n"], ["y"], q_num_heads=4,
                kv_num_heads=2),
           dict(q=rows(q), k=rows(k), v=rows(v), n=lengths), dict(y=rows(y)))
    # More queries than keys: the first rows see nothing.
    few = np.array([1, 2], np.int64)
    seen = (j <= i + few[:, None, None] - 3)[:, None]
    yield ("attention_nonpad_few", 24,
           node("Attention", ["q", "k", "v", "", "", "", "n"], ["y"], is_causal=1),
           dict(q=q, k=k, v=v, n=few), dict(y=attended(q, k, v, hidden(seen))))


def products(draw):
    """CumProd: forwards and backwards, with and without the element itself."""
    real_x = draw.uniform(0.5, 1.5, (3, 4)).astype(np.float32)
    for kind, x in ((np.float32, real_x), (np.int32, draw.randint(-3, 4, (3, 4)).astype(np.int32))):
        for axis in (0, -1):
            for exclusive in (0, 1):
                for reverse in (0, 1):
                    v = np.flip(x, axis) if reverse else x
                    if exclusive:
                        v = np.roll(v, 1, axis)
                        np.moveaxis(v, axis, 0)[0] = 1
                    y = np.cumprod(v, axis, dtype=np.float64).astype(kind)
                    y = np.flip(y, axis) if reverse else y
                    yield (f"cumprod_{np.dtype(kind).name}_{axis}_{exclusive}{reverse}", 26,
                           [node("Constant", [], ["a"], value_int=axis),
                            node("CumProd", ["x", "a"], ["y"], exclusive=exclusive,
                                 reverse=reverse)], dict(x=x), dict(y=y))


def bits(draw):
    """BitCast between kinds of one size."""
    pairs = [(np.float32, np.int32), (np.float32, np.uint32), (np.int32, np.float32),
             (np.float64, np.int64), (np.uint64, np.float64), (np.float16, np.uint16),
             (np.int16, np.float16), (np.uint8, np.int8), (np.int64, np.uint64)]
    for a, b in pairs:
        # Without exponents of all ones: which NaN it is could change on the way.
        x = draw.randint(0, 128, (3, 5, np.dtype(a).itemsize)).astype(np.uint8)
        x[..., -1] &= 0x3F
        x = x.view(a)[..., 0]
        to = {np.int32: 6, np.uint32: 12, np.float32: 1, np.int64: 7, np.float64: 11,
              np.uint16: 4, np.float16: 10, np.int8: 3, np.uint64: 13}[b]
        yield (f"bitcast_{np.dtype(a).name}_{np.dtype(b).name}", 26,
               node("BitCast", ["x"], ["y"], to=to), dict(x=x), dict(y=x.view(b)))
    # Floats of 8 bits as bytes, and integers of 4 bits as others.
    x = np.array([1, -1, 448, 0.5, -0.0, 2**-9], np.float32)
    y = np.array([0x38, 0xB8, 0x7E, 0x30, 0x80, 0x01], np.uint8)
    yield ("bitcast_float8", 26,
           [node("Cast", ["x"], ["l"], to=17), node("BitCast", ["l"], ["y"], to=2)],
           dict(x=x), dict(y=y))
    x = np.array([-8, -1, 0, 7], np.int8)
    yield ("bitcast_int4", 26,
           [node("Cast", ["x"], ["l"], to=22), node("BitCast", ["l"], ["u"], to=21),
            node("Cast", ["u"], ["y"], to=2), node("BitCast", ["l"], ["f"], to=23),
            node("Cast", ["f"], ["z"], to=1)],
           dict(x=x), dict(y=np.array([8, 15, 0, 7], np.uint8),
                           z=np.array([-0.0, -6, 0, 6], np.float32)))


def cases(draw):
    yield from swish(draw)
    yield from bits(draw)
    yield from products(draw)
    yield from tensor_scatter(draw)
    yield from attention(draw)
