"""Kinds of low precision: the values of each format, and conversions to them."""

import copy

import numpy as np
from onnx import TensorProto
from onnx.helper import make_node as node

# Type in ONNX; bits of exponent and fraction, bias, codes of the largest number,
# infinity and NaN, and which of infinities is NaN for saturating conversions too.
FLOATS = {
    "e4m3fn": (17, 4, 3, 7, 0x7E, None, 0x7F),
    "e4m3fnuz": (18, 4, 3, 8, 0x7F, None, 0x80),
    "e5m2": (19, 5, 2, 15, 0x7B, 0x7C, 0x7F),
    "e5m2fnuz": (20, 5, 2, 16, 0x7F, None, 0x80),
    "e2m1": (23, 2, 1, 1, 0x7, None, None),
}
INTS = {"uint4": (21, 0, 15), "int4": (22, -8, 7), "uint2": (25, 0, 3), "int2": (26, -2, 1)}
E8M0 = 24


def magnitudes(form):
    """The finite numbers from 0 on, in the order of their codes."""
    _, e, m, bias, largest, _, _ = form
    codes = np.arange(largest + 1)
    exponent, fraction = codes >> m, codes & ((1 << m) - 1)
    return np.where(exponent == 0, fraction * 2.0 ** (1 - bias - m),
                    (1 + fraction * 2.0**-m) * 2.0 ** (exponent - bias))


def rounded(x, form, saturate=True):
    """The number nearest to each of x, by search; the even code of two."""
    _, _, m, bias, _, infinity, nan = form
    v = magnitudes(form)
    # One more number, which those out of range become, has the next exponent's ulp.
    past = v[-1] + (v[-1] - v[-2])
    all_v = np.append(v, past)
    y = []
    for a in np.asarray(x, np.float64):
        if np.isnan(a):
            y.append(v[-1] if nan is None else np.nan)
            continue
        if np.isinf(a):
            if nan == 0x80:
                y.append(np.nan)
            elif saturate or nan is None:
                y.append(np.copysign(v[-1], a))
            else:
                y.append(np.copysign(np.inf, a) if infinity else np.nan)
            continue
        d = np.abs(all_v - abs(a))
        near = np.flatnonzero(d == d.min())
        code = near[0] if len(near) == 1 or near[0] % 2 == 0 else near[1]
        if code == len(v) or abs(a) > past:
            if saturate or nan is None:
                y.append(np.copysign(v[-1], a))
            else:
                y.append(np.copysign(np.inf, a) if infinity else np.nan)
        else:
            y.append(np.copysign(v[code], a))
    return np.array(y)


def samples(draw, v):
    """Numbers, their middles and what is beside those, and what is far out."""
    middle = (v[1:] + v[:-1]) / 2
    past = v[-1] + (v[-1] - v[-2]) / 2
    x = np.concatenate([
        v, middle, middle * (1 + 2.0**-20), middle * (1 - 2.0**-20),
        [past, past * (1 + 2.0**-20), v[-1] * 3, 1e30, np.inf, np.nan, v[1] / 4],
        draw.uniform(0, v[-1], 40), 2.0 ** draw.uniform(-20, 16, 40)])
    return np.concatenate([x, -x])


def there_and_back(to, kind=TensorProto.FLOAT, **how):
    return [node("Cast", ["x"], ["l"], to=to, **how), node("Cast", ["l"], ["y"], to=kind)]


def floats(draw):
    for name, form in FLOATS.items():
        x = samples(draw, magnitudes(form))
        for kind, opset in ((np.float32, 24), (np.float64, 25), (np.float16, 26)):
            with np.errstate(over="ignore"):
                a = x.astype(kind)
            for saturate in (1, 0):
                text = f"{name}_{np.dtype(kind).name}_{saturate}"
                y = rounded(a, form, saturate).astype(np.float32)
                # Of zeros, which one it is.
                few = np.array([0.0, -0.0, 1e-7, -1e-7], kind)
                with np.errstate(divide="ignore"):
                    zero = np.array([0.0, 0.0 if form[6] == 0x80 else -0.0] * 2)
                    inverse = 1 / zero.astype(np.float32)
                yield (f"cast_{text}", opset,
                       there_and_back(form[0], saturate=saturate) +
                       [node("Cast", ["z"], ["lz"], to=form[0], saturate=saturate),
                        node("Cast", ["lz"], ["fz"], to=1), node("Reciprocal", ["fz"], ["i"])],
                       dict(x=a, z=few), dict(y=y, i=inverse))
        n = draw.randint(-1000, 1000, 50).astype(np.int64)
        yield (f"cast_{name}_int64", 24, there_and_back(form[0]), dict(x=n),
               dict(y=rounded(n, form).astype(np.float32)))
        x = x[np.isfinite(x)].astype(np.float32)
        q = rounded(x / np.float32(0.3), form).astype(np.float32)
        scale = np.float32(0.3)
        yield (f"quantize_{name}", 25,
               [node("QuantizeLinear", ["x", "s"], ["q"], output_dtype=form[0]),
                node("DequantizeLinear", ["q", "s"], ["y"])],
               dict(x=x, s=scale), dict(y=q * scale))


def powers(draw):
    """float8e8m0, the exponents as logarithms."""
    x = np.concatenate([2.0 ** np.arange(-20, 20), draw.uniform(0.1, 100, 60),
                        [1.5, 3, 6, 0.75, np.nan]]).astype(np.float32)
    log = np.log2(x.astype(np.float64))
    for how, y in (("up", np.ceil(log)), ("down", np.floor(log)),
                   ("nearest", np.floor(log) + (x / 2 ** np.floor(log) >= 1.5))):
        for saturate in (1, 0):
            yield (f"e8m0_{how}_{saturate}", 24,
                   there_and_back(E8M0, round_mode=how, saturate=saturate), dict(x=x),
                   dict(y=(2.0**y).astype(np.float32)))
    # Beyond the range: halves of the largest and twice the least number.
    far = np.array([np.inf, 3e38, 1e-45, 0, -1, -np.inf], np.float32)
    for saturate in (1, 0):
        nan = np.nan
        y = [2.0**127, 2.0**127, 2.0**-127, 2.0**-127, nan, nan] if saturate else [nan] * 6
        y = np.log2(np.array(y)).astype(np.float32)
        yield (f"e8m0_far_{saturate}", 24,
               [node("Cast", ["x"], ["l"], to=E8M0, saturate=saturate),
                node("Cast", ["l"], ["d"], to=TensorProto.DOUBLE),
                node("Log", ["d"], ["e"]),
                node("Constant", [], ["two"], value_float=float(np.log(2))),
                node("Cast", ["e"], ["f"], to=1), node("Div", ["f", "two"], ["y"])],
               dict(x=far), dict(y=y))


def integers(draw):
    for name, (to, low, high) in INTS.items():
        x = np.concatenate([np.arange(-20, 20) / 2, [np.nan, 1e30, -1e30, np.inf],
                            draw.uniform(low - 2, high + 2, 40)]).astype(np.float32)
        y = np.clip(np.rint(np.nan_to_num(x)), low, high)
        yield (f"cast_{name}", 25, there_and_back(to), dict(x=x), dict(y=y.astype(np.float32)))
        n = np.arange(-40, 40)
        span = high - low + 1
        yield (f"cast_{name}_int16", 25, there_and_back(to, TensorProto.INT32),
               dict(x=n.astype(np.int16)), dict(y=((n - low) % span + low).astype(np.int32)))
        yield (f"cast_{name}_bool", 25, there_and_back(to, TensorProto.BOOL),
               dict(x=n.astype(np.int8)), dict(y=n % span != 0))
        s, z = np.float32(0.3), 1
        x = draw.standard_normal((3, 5)).astype(np.float32)
        q = np.clip(np.rint(x / s) + z, low, high)
        yield (f"quantize_{name}", 25,
               [node("Constant", [], ["z"], value=tensor(to, [], [z])),
                node("QuantizeLinear", ["x", "s", "z"], ["q"]),
                node("DequantizeLinear", ["q", "s", "z"], ["y"])],
               dict(x=x, s=s), dict(y=((q - z) * s).astype(np.float32)))


def tensor(to, shape, values, raw=True):
    """A constant of a packed kind, in raw_data or in int32_data."""
    bits = 2 if to in (25, 26) else 8 if to in (17, 18, 19, 20, 24) else 4
    each = 8 // bits
    data = []
    for i in range(0, len(values), each):
        data.append(sum((int(v) & ((1 << bits) - 1)) << (k * bits)
                        for k, v in enumerate(values[i:i + each])))
    t = TensorProto(data_type=to, dims=shape)
    if raw:
        t.raw_data = bytes(data)
    else:
        t.int32_data.extend(data)
    return t


def constants(draw):
    """What is packed, moved and converted."""
    for name, (to, low, high) in INTS.items():
        v = draw.randint(low, high + 1, 15)
        for raw in (True, False):
            yield (f"constant_{name}_{'raw' if raw else 'list'}", 25,
                   [node("Constant", [], ["c"], value=tensor(to, [3, 5], v, raw)),
                    node("Transpose", ["c"], ["t"]), node("Cast", ["t"], ["f"], to=1),
                    node("Add", ["f", "x"], ["y"])],
                   dict(x=np.zeros((5, 3), np.float32)),
                   dict(y=v.reshape(3, 5).T.astype(np.float32)))
    for name, form in FLOATS.items():
        codes = np.arange(len(magnitudes(form)))
        for raw in (True, False):
            yield (f"constant_{name}_{'raw' if raw else 'list'}", 25,
                   [node("Constant", [], ["c"], value=tensor(form[0], [len(codes)], codes, raw)),
                    node("Cast", ["c"], ["f"], to=1), node("Add", ["f", "x"], ["y"])],
                   dict(x=np.zeros(len(codes), np.float32)),
                   dict(y=magnitudes(form).astype(np.float32)))


def moves(draw):
    """Operators that only move elements, of values that each kind holds."""
    x = draw.randint(0, 2, (2, 3, 4)).astype(np.float32)
    pads = np.array([0, 1, 0, 0, 0, 2], np.int64)
    index = np.array([2, 0], np.int64)
    chains = {
        "reshape": ([node("Constant", [], ["to"], value_ints=[4, 6]),
                     node("Reshape", ["l", "to"], ["m"])], x.reshape(4, 6)),
        "transpose": ([node("Transpose", ["l"], ["m"], perm=[2, 0, 1])], x.transpose(2, 0, 1)),
        "slice": ([node("Constant", [], ["b"], value_ints=[1]),
                   node("Constant", [], ["e"], value_ints=[3]),
                   node("Constant", [], ["a"], value_ints=[2]),
                   node("Slice", ["l", "b", "e", "a"], ["m"])], x[:, :, 1:3]),
        "concat": ([node("Concat", ["l", "l"], ["m"], axis=1)], np.concatenate([x, x], 1)),
        "gather": ([node("Constant", [], ["i"], value_ints=index.tolist()),
                    node("Gather", ["l", "i"], ["m"], axis=1)], x[:, index]),
        "pad": ([node("Constant", [], ["p"], value_ints=pads.tolist()),
                 node("Pad", ["l", "p"], ["m"])], np.pad(x, ((0, 0), (1, 0), (0, 2)))),
        "split": ([node("Split", ["l"], ["s", "m"], axis=0, num_outputs=2)], x[1:]),
        "squeeze": ([node("Constant", [], ["a"], value_ints=[0]),
                     node("Unsqueeze", ["l", "a"], ["u"]), node("Squeeze", ["u", "a"], ["m"])],
                    x),
        "expand": ([node("Constant", [], ["to"], value_ints=[2, 2, 3, 4]),
                    node("Expand", ["l", "to"], ["m"])], np.broadcast_to(x, (2, 2, 3, 4))),
        "where": ([node("Cast", ["x"], ["c"], to=9), node("Where", ["c", "l", "l"], ["m"])], x),
        "like": ([node("CastLike", ["x", "l"], ["m"])], x),
    }
    kinds = {**{k: v[0] for k, v in INTS.items()}, **{k: v[0] for k, v in FLOATS.items()},
             "e8m0": E8M0}
    for name, to in kinds.items():
        nodes, outputs = [node("Cast", ["x"], ["l"], to=to)], {}
        for chain, (steps, y) in chains.items():
            for step in steps:
                step = copy.deepcopy(step)
                for names in (step.input, step.output):
                    names[:] = [n if n in ("x", "l") else f"{chain}_{n}" for n in names]
                nodes.append(step)
            nodes.append(node("Cast", [f"{chain}_m"], [chain], to=1))
            outputs[chain] = y
        # float8e8m0 has no 0: the least number is near enough.
        yield f"moves_{name}", 25, nodes, dict(x=x), outputs


def cases(draw):
    yield from floats(draw)
    yield from powers(draw)
    yield from integers(draw)
    yield from constants(draw)
    yield from moves(draw)
