"""Attention of ONNX Runtime, by its definitions of it."""

import math

import numpy as np
from onnx import numpy_helper
from onnx.helper import make_node

MS = {"": 17, "com.microsoft": 1}
FILTER = -10000.0
ERF = np.vectorize(math.erf)


def node(op, inputs, outputs, **attributes):
    return make_node(op, inputs, outputs, domain="com.microsoft", **attributes)


def f32(**arrays):
    return {k: np.asarray(v, np.float32) for k, v in arrays.items()}


def i32(**arrays):
    return {k: np.asarray(v, np.int32) for k, v in arrays.items()}


def split(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def join(x):
    x = x.transpose(0, 2, 1, 3)
    return x.reshape(*x.shape[:2], -1)


def attend(q, k, v, added=0.0, cap=0.0, scale=None, sink=None):
    s = q @ k.swapaxes(-1, -2) * (scale or 1 / np.sqrt(q.shape[-1]))
    s = (cap * np.tanh(s / cap) if cap else s) + added
    e = np.exp(s - s.max(-1, keepdims=True))
    total = e.sum(-1, keepdims=True)
    if sink is not None:
        total = total + np.exp(sink[:, None, None] - s.max(-1, keepdims=True))
    return e / total @ v


def later(queries, keys):
    """-inf where a key comes after the query, the last of each together."""
    q, k = np.arange(queries)[:, None] + keys - queries, np.arange(keys)
    return np.where(k > q, -np.inf, 0)


def hidden(seen):
    return np.where(seen, 0, FILTER)


def one_projection(draw):
    x, w = draw.standard_normal((2, 4, 6)), draw.standard_normal((6, 24))
    b = draw.standard_normal(24)
    q, k, v = (split(t, 2) for t in np.split(x @ w + b, 3, -1))
    masks = {
        "none": (None, 0), "end": ([3, 4], hidden(np.arange(4) < np.array([[3], [4]]))),
        "start": ([3, 4, 1, 0],
                  hidden((np.arange(4) < [[3], [4]]) & (np.arange(4) >= [[1], [0]]))),
        "raw": (m := draw.randint(0, 2, (2, 4)) | [1, 0, 0, 0], hidden(m > 0)),
    }
    for name, (mask, added) in masks.items():
        added = np.reshape(added, (-1, 1, 1, np.size(added) // 2)) if mask is not None else 0
        ins = f32(x=x, w=w, b=b)
        if mask is not None:
            ins.update(i32(m=mask))
        yield (f"Attention_{name}", MS,
               node("Attention", ["x", "w", "b"] + ["m"] * (mask is not None), ["y"],
                    num_heads=2),
               ins, f32(y=join(attend(q, k, v, added))))
    m = draw.randint(0, 2, (2, 4, 4)) | np.eye(4, dtype=int)
    bias = draw.standard_normal((1, 2, 4, 4))
    yield ("Attention_3d", MS,
           node("Attention", ["x", "w", "b", "m", "", "a"], ["y"], num_heads=2,
                unidirectional=1, scale=0.5),
           {**f32(x=x, w=w, b=b, a=bias), **i32(m=m)},
           f32(y=join(attend(q, k, v, hidden(m > 0)[:, None] + later(4, 4) + bias,
                             scale=0.5))))
    past = draw.standard_normal((2, 2, 2, 3, 4))
    k, v = (np.concatenate(t, 2) for t in ((past[0], k), (past[1], v)))
    yield ("Attention_past", MS,
           node("Attention", ["x", "w", "b", "", "p"], ["y", "t"], num_heads=2,
                unidirectional=1),
           f32(x=x, w=w, b=b, p=past),
           f32(y=join(attend(q, k, v, later(4, 7))), t=np.stack((k, v))))
    wide = draw.standard_normal((6, 8 + 8 + 6))
    y = x @ wide
    q, k, v = split(y[..., :8], 2), split(y[..., 8:16], 2), split(y[..., 16:], 2)
    yield ("Attention_sizes", MS,
           node("Attention", ["x", "w", ""], ["y"], num_heads=2,
                qkv_hidden_sizes=[8, 8, 6]),
           f32(x=x, w=wide), f32(y=join(attend(q, k, v))))


def three_projections(draw):
    q, k, v = (draw.standard_normal((2, s, 8)) for s in (3, 5, 5))
    b = draw.standard_normal(24)
    hq, hk, hv = (split(t, 2) for t in (q + b[:8], k + b[8:16], v + b[16:]))
    mask, added = draw.randint(0, 2, (2, 5)) | [0, 0, 0, 0, 1], draw.standard_normal((2, 1, 3, 5))
    yield ("MultiHead", MS,
           node("MultiHeadAttention", ["q", "k", "v", "b", "m", "a"], ["y"], num_heads=2),
           {**f32(q=q, k=k, v=v, b=b, a=added), **i32(m=mask)},
           f32(y=join(attend(hq, hk, hv, hidden(mask > 0)[:, None, None] + added))))
    yield ("MultiHead_end", MS,
           node("MultiHeadAttention", ["q", "k", "v", "", "m"], ["y"], num_heads=2,
                mask_filter_value=-50.0),
           {**f32(q=q, k=k, v=v), **i32(m=[2, 5])},
           f32(y=join(attend(*(split(t, 2) for t in (q, k, v)),
                             np.where(np.arange(5) < [[[[2]]], [[[5]]]], 0, -50.0)))))
    past = draw.standard_normal((2, 2, 2, 4, 4))
    k, v = draw.standard_normal((2, 2, 3, 8))
    tk, tv = (np.concatenate((p, split(t, 2)), 2) for p, t in zip(past, (k, v)))
    yield ("MultiHead_past", MS,
           node("MultiHeadAttention", ["q", "k", "v", "", "", "", "pk", "pv"],
                ["y", "tk", "tv"], num_heads=2, unidirectional=1),
           f32(q=q, k=k, v=v, pk=past[0], pv=past[1]),
           f32(y=join(attend(split(q, 2), tk, tv, later(3, 7))), tk=tk, tv=tv))
    yield ("MultiHead_cross", MS,
           node("MultiHeadAttention", ["q", "k", "v"], ["y"], num_heads=2),
           f32(q=q, k=past[0], v=past[1]),
           f32(y=join(attend(split(q, 2), past[0], past[1]))))
    all3 = draw.standard_normal((2, 4, 2, 3, 4))
    q, k, v = all3.transpose(3, 0, 2, 1, 4)
    yield ("MultiHead_packed", MS,
           node("MultiHeadAttention", ["q"], ["y"], num_heads=2),
           f32(q=all3), f32(y=join(attend(q, k, v))))
    yield ("MultiHead_packed_kv", MS,
           node("MultiHeadAttention", ["q", "k"], ["y"], num_heads=2),
           f32(q=join(q), k=all3[..., 1:, :]), f32(y=join(attend(q, k, v))))


def rotate(x, cos, sin, at, interleaved=False):
    """x is [B, H, S, D], at [B, S]."""
    c, s = cos[at][:, None], sin[at][:, None]
    n = cos.shape[1]
    y = x.copy()
    if interleaved:
        a, b = x[..., 0 : 2 * n : 2], x[..., 1 : 2 * n : 2]
        y[..., 0 : 2 * n : 2], y[..., 1 : 2 * n : 2] = a * c - b * s, b * c + a * s
    else:
        a, b = x[..., :n], x[..., n : 2 * n]
        y[..., :n], y[..., n : 2 * n] = a * c - b * s, b * c + a * s
    return y


def angles(draw, n):
    a = draw.uniform(0, 6, (16, n))
    return np.cos(a), np.sin(a)


def rotary(draw):
    x = draw.standard_normal((2, 3, 16))
    cos, sin = angles(draw, 4)
    at = draw.randint(0, 16, (2, 3))
    for turned in (0, 1):
        yield (f"Rotary_{turned}", MS,
               node("RotaryEmbedding", ["x", "i", "c", "s"], ["y"], interleaved=turned),
               {**f32(x=x, c=cos, s=sin), "i": at},
               f32(y=join(rotate(split(x, 2), cos, sin, at, turned))))
    yield ("Rotary_offset", MS,
           node("RotaryEmbedding", ["x", "i", "c", "s"], ["y"]),
           {**f32(x=split(x, 2), c=cos, s=sin), "i": np.array([5])},
           f32(y=rotate(split(x, 2), cos, sin, np.arange(5, 8)[None])))
    cos, sin = angles(draw, 2)
    yield ("Rotary_partial", MS,
           node("RotaryEmbedding", ["x", "i", "c", "s"], ["y"], num_heads=2,
                rotary_embedding_dim=4),
           {**f32(x=x, c=cos, s=sin), "i": at},
           f32(y=join(rotate(split(x, 2), cos, sin, at))))


def groups(draw):
    """Four heads of queries, two of keys."""

    def case(name, batch, queries, total, rows, lengths=None, window=0, turns=False,
             packed=False, cap=0.0, sink=None, smooth=False, **more):
        q, k, v = (draw.standard_normal((batch, queries, h * 16)) for h in (4, 2, 2))
        past = draw.standard_normal((2, batch, 2, rows, 16))
        cos, sin = angles(draw, 8)
        lengths = np.array(lengths or [total - 1] * batch, np.int32)
        before = np.zeros(batch, int) if queries == total else lengths + 1 - queries
        hq, hk, hv = split(q, 4), split(k, 2), split(v, 2)
        at = before[:, None] + np.arange(queries)
        if turns:
            hq, hk = rotate(hq, cos, sin, at), rotate(hk, cos, sin, at)
        size = max(rows, total)
        present = np.zeros((2, batch, 2, size, 16))
        present[..., :rows, :] = past
        y = np.zeros((batch, 4, queries, 16))
        for b, start in enumerate(before):
            present[0, b, :, start : start + queries] = hk[b]
            present[1, b, :, start : start + queries] = hv[b]
            count = start + queries
            keys, values = present[:, b, :, :count].repeat(2, 1)
            added = later(queries, count)
            if window:
                near = np.arange(count) > np.arange(queries)[:, None] + start - window
                added = np.where(near, added, -np.inf)
            y[b] = attend(hq[b], keys, values, added, cap,
                          sink=np.zeros(4) if smooth else sink)
        ins = dict(q=np.concatenate((q, k, v), -1)) if packed else dict(q=q, k=k, v=v)
        names = ["q", "", ""] if packed else ["q", "k", "v"]
        ins = f32(**ins, **(dict(pk=past[0], pv=past[1]) if rows else {}))
        names += ["pk", "pv"] if rows else ["", ""]
        names += ["n", "t"]
        if turns:
            ins.update(f32(c=cos, s=sin))
            names += ["c", "s"]
        if sink is not None:
            ins.update(f32(sink=sink))
            names += [""] * (11 - len(names)) + ["sink"]
        ins.update(i32(n=lengths, t=total))
        outs = f32(y=join(y))
        if len(set(lengths)) == 1 and size == total:
            outs.update(f32(tk=present[0], tv=present[1]))
        return (f"GroupQuery_{name}", MS,
                node("GroupQueryAttention", names, ["y", "tk", "tv"], num_heads=4, kv_num_heads=2,
                     do_rotary=int(turns), **more,
                     **(dict(local_window_size=window) if window else {})), ins, outs)

    yield case("prompt", 2, 5, 5, 0)
    yield case("prompt_packed", 1, 4, 4, 0, turns=True, packed=True)
    yield case("decode", 1, 1, 7, 6, turns=True)
    yield case("decode_batch", 2, 1, 7, 6, lengths=[6, 3], turns=True)
    yield case("chunk", 1, 3, 7, 4, turns=True)
    yield case("window", 1, 6, 6, 0, window=2)
    yield case("window_decode", 2, 1, 7, 6, lengths=[6, 5], window=3)
    yield case("window_decode_one", 1, 1, 7, 6, window=3)
    yield case("window_chunk", 1, 3, 7, 4, window=3)
    yield case("softcap", 1, 4, 4, 0, cap=2.0, softcap=2.0)
    yield case("sink", 1, 4, 4, 0, sink=draw.standard_normal(4))
    yield case("smooth", 1, 1, 5, 4, smooth=True, smooth_softmax=1)


def layers(draw):
    """A layer of an encoder, as it is optimized and as it was before."""
    shapes = dict(w=(8, 24), wb=(24,), o=(8, 8), ob=(8,), g1=(8,), b1=(8,), u=(8, 16),
                  ub=(16,), d=(16, 8), db=(8,), g2=(8,), b2=(8,))
    p = f32(**{k: draw.standard_normal(s) for k, s in shapes.items()})
    x, mask = draw.standard_normal((2, 5, 8)), np.array([[1, 1, 1, 0, 0], [1] * 5])
    q, k, v = (split(t, 2) for t in np.split(x @ p["w"] + p["wb"], 3, -1))
    y = join(attend(q, k, v, hidden(mask > 0)[:, None, None])) @ p["o"]
    y = normalized(y + x + p["ob"]) * p["g1"] + p["b1"]
    up = y @ p["u"] + p["ub"]
    z = up / 2 * (1 + ERF(up / math.sqrt(2))) @ p["d"]
    z = normalized(z + y + p["db"]) * p["g2"] + p["b2"]
    ins, outs = {**f32(x=x, **p), **i32(m=mask)}, f32(z=z)
    yield ("layer_optimized", MS, [
        node("Attention", ["x", "w", "wb", "m"], ["a"], num_heads=2),
        make_node("MatMul", ["a", "o"], ["ao"]),
        node("SkipLayerNormalization", ["ao", "x", "g1", "b1", "ob"], ["y"], epsilon=1e-5),
        make_node("MatMul", ["y", "u"], ["yu"]),
        node("BiasGelu", ["yu", "ub"], ["up"]),
        make_node("MatMul", ["up", "d"], ["down"]),
        node("SkipLayerNormalization", ["down", "y", "g2", "b2", "db"], ["z"],
             epsilon=1e-5),
    ], ins, outs)
    plain = [constant("heads", np.array([0, 0, 2, 4])), constant("rows", np.array([0, 0, 8])),
             constant("half", np.float32(0.5)), constant("one", np.float32(1)),
             constant("zero", np.int32(0)), constant("filter", np.float32(FILTER)),
             constant("nothing", np.float32(0)), constant("axes", np.array([1, 2])),
             constant("root", np.float32(math.sqrt(2)))]

    def op(name, ins, out, **attributes):
        plain.append(make_node(name, ins.split(), out.split(), **attributes))

    op("MatMul", "x w", "p0")
    op("Add", "p0 wb", "p1")
    op("Split", "p1", "q0 k0 v0", axis=-1)
    for t, turn in (("q", (0, 2, 1, 3)), ("k", (0, 2, 3, 1)), ("v", (0, 2, 1, 3))):
        op("Reshape", f"{t}0 heads", f"{t}1")
        op("Transpose", f"{t}1", t, perm=turn)
    op("MatMul", "q k", "s0")
    op("Mul", "s0 half", "s1")
    op("Greater", "m zero", "seen")
    op("Unsqueeze", "seen axes", "seen4")
    op("Where", "seen4 nothing filter", "added")
    op("Add", "s1 added", "s2")
    op("Softmax", "s2", "s3", axis=-1)
    op("MatMul", "s3 v", "a0")
    op("Transpose", "a0", "a1", perm=(0, 2, 1, 3))
    op("Reshape", "a1 rows", "a2")
    op("MatMul", "a2 o", "a3")
    op("Add", "a3 ob", "a4")
    op("Add", "a4 x", "a5")
    op("LayerNormalization", "a5 g1 b1", "y", epsilon=1e-5)
    op("MatMul", "y u", "u0")
    op("Add", "u0 ub", "u1")
    op("Div", "u1 root", "u2")
    op("Erf", "u2", "u3")
    op("Add", "u3 one", "u4")
    op("Mul", "u1 u4", "u5")
    op("Mul", "u5 half", "up")
    op("MatMul", "up d", "d0")
    op("Add", "d0 db", "d1")
    op("Add", "d1 y", "d2")
    op("LayerNormalization", "d2 g2 b2", "z", epsilon=1e-5)
    yield "layer_plain", 17, plain, ins, outs


def normalized(x):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def constant(name, value):
    return make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value)))


def cases(draw):
    for family in (one_projection, three_projections, rotary, groups, layers):
        yield from family(draw)
