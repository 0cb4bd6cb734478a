"""Operators on integers with scales and zero points."""

import numpy as np
from onnx import TensorProto
from onnx.helper import make_node as node


def whole(draw, kind, *shape):
    limits = np.iinfo(kind)
    return draw.randint(limits.min, limits.max + 1, shape).astype(kind)


def real(draw, *shape):
    return (draw.standard_normal(shape) * 40).astype(np.float32)


def scales(draw, *shape):
    return draw.uniform(0.1, 0.9, shape).astype(np.float32)


def saturate(x, kind):
    limits = np.iinfo(kind)
    return np.clip(np.rint(x), limits.min, limits.max).astype(kind)


def along(v, axis, rank):
    """A list as something to be broadcast along an axis."""
    v = np.asarray(v)
    return v.reshape([-1 if i == axis else 1 for i in range(rank)]) if v.ndim == 1 else v


def quantize(x, scale, zero, kind):
    return saturate(np.rint(x / scale) + zero.astype(np.int64), kind)


def dequantize(x, scale, zero):
    return ((x.astype(np.int64) - zero) * scale.astype(np.float64)).astype(scale.dtype)


def blocks(v, axis, block, size):
    return np.take(np.repeat(v, block, axis), np.arange(size), axis)


def scaled(draw):
    """QuantizeLinear and DequantizeLinear: of a tensor, an axis, a block."""
    for kind in (np.uint8, np.int8, np.uint16, np.int16):
        opset = 13 if kind in (np.uint8, np.int8) else 21
        text = np.dtype(kind).name
        x, s, z = real(draw, 2, 3, 4), scales(draw), whole(draw, kind)
        q = whole(draw, kind, 2, 3, 4)
        yield (f"quantize_{text}", opset, node("QuantizeLinear", ["x", "s", "z"], ["y"]),
               dict(x=x, s=s, z=z), dict(y=quantize(x, s, z, kind)))
        yield (f"dequantize_{text}", opset,
               node("DequantizeLinear", ["q", "s", "z"], ["y"]),
               dict(q=q, s=s, z=z), dict(y=dequantize(q, s, z)))
        s, z = scales(draw, 3), whole(draw, kind, 3)
        for axis in (1, -2):
            at = dict(s=along(s, 1, 3), z=along(z, 1, 3))
            yield (f"quantize_axis_{axis}_{text}", opset,
                   node("QuantizeLinear", ["x", "s", "z"], ["y"], axis=axis),
                   dict(x=x, s=s, z=z), dict(y=quantize(x, kind=kind, scale=at["s"], zero=at["z"])))
            yield (f"dequantize_axis_{axis}_{text}", opset,
                   node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=axis),
                   dict(q=q, s=s, z=z), dict(y=dequantize(q, at["s"], at["z"])))
        s, z = scales(draw, 2, 3, 2), whole(draw, kind, 2, 3, 2)
        for block in (2, 3):
            at = [blocks(v, 2, block, 4) for v in (s, z)]
            yield (f"quantize_block_{block}_{text}", 21,
                   node("QuantizeLinear", ["x", "s", "z"], ["y"], axis=2, block_size=block),
                   dict(x=x, s=s, z=z), dict(y=quantize(x, *at, kind)))
            yield (f"dequantize_block_{block}_{text}", 21,
                   node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=-1, block_size=block),
                   dict(q=q, s=s, z=z), dict(y=dequantize(q, *at)))
    x, s = real(draw, 5), np.float32(0.5)
    x[:4] = 0.25, 0.75, -0.25, 1e30  # two between whole numbers, one far out
    none = np.uint8(0)
    yield ("quantize_no_zero", 10, node("QuantizeLinear", ["x", "s"], ["y"]),
           dict(x=x, s=s), dict(y=quantize(x, s, none, np.uint8)))
    yield ("quantize_dtype", 21,
           node("QuantizeLinear", ["x", "s"], ["y"], output_dtype=TensorProto.INT16),
           dict(x=x, s=s), dict(y=quantize(x, s, none, np.int16)))
    x = np.array([-300, 17, 18, 90000], np.int32)
    yield ("quantize_int32", 13, node("QuantizeLinear", ["x", "s"], ["y"]),
           dict(x=x, s=s), dict(y=quantize(x.astype(np.float32), s, none, np.uint8)))
    yield ("dequantize_int32", 13, node("DequantizeLinear", ["x", "s"], ["y"]),
           dict(x=x, s=s), dict(y=dequantize(x, s, 0)))


def dynamic(draw):
    for name, x in (("both", real(draw, 3, 4)), ("positive", abs(real(draw, 7))),
                    ("negative", -abs(real(draw, 7))), ("zero", np.zeros(3, np.float32))):
        low, high = min(x.min(), 0), max(x.max(), 0)
        s = np.float32((np.float32(high) - np.float32(low)) / np.float32(255)) or np.float32(1)
        z = saturate(-low / s, np.uint8)
        y = quantize(x, s, z, np.uint8)
        yield (f"dynamic_{name}", 11,
               node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"]), dict(x=x),
               dict(y=y, s=s, z=z))


def products(draw):
    for a_kind, b_kind in ((np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)):
        text = f"{np.dtype(a_kind).name}_{np.dtype(b_kind).name}"
        for name, a_shape, b_shape, a_zero, b_zero in (
                ("plain", (3, 4), (4, 5), (), ()),
                ("lists", (3, 4), (4, 5), (3,), (5,)),
                ("batch", (2, 3, 4), (4, 5), (1,), (5,)),
                ("columns", (2, 3, 4), (2, 4, 5), (2, 3, 1), (2, 1, 5)),
                ("long", (2, 700), (700, 3), (), ())):
            a, b = whole(draw, a_kind, *a_shape), whole(draw, b_kind, *b_shape)
            az, bz = whole(draw, a_kind, *a_zero), whole(draw, b_kind, *b_zero)
            rows = az.reshape(-1, 1) if az.ndim == 1 else az
            y = (a.astype(np.int64) - rows) @ (b.astype(np.int64) - bz)
            yield (f"matmul_{name}_{text}", 10,
                   node("MatMulInteger", ["a", "b", "az", "bz"], ["y"]),
                   dict(a=a, b=b, az=az, bz=bz), dict(y=y.astype(np.int32)))
            s_a, s_b = scales(draw, *a_zero), scales(draw, *b_zero)
            s_y, z_y = np.float32(s_a.mean() * s_b.mean() * 300), whole(draw, a_kind)
            factor = (s_a.reshape(-1, 1) if s_a.ndim == 1 else s_a).astype(np.float64)
            yield (f"qmatmul_{name}_{text}", 10,
                   node("QLinearMatMul", ["a", "sa", "az", "b", "sb", "bz", "sy", "zy"], ["y"]),
                   dict(a=a, sa=s_a, az=az, b=b, sb=s_b, bz=bz, sy=s_y, zy=z_y),
                   dict(y=saturate(np.rint(y * (factor * s_b / s_y)) + z_y.astype(int), a_kind)))


def convolve(x, w, strides, pads, group):
    """The sums of a 2-D convolution of whole numbers."""
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    n, c, h, v = x.shape
    m, each, kh, kw = w.shape
    y = np.zeros((n, m, (h - kh) // strides[0] + 1, (v - kw) // strides[1] + 1), np.int64)
    for o in range(m):
        first = o // (m // group) * each
        for i in range(y.shape[2]):
            for j in range(y.shape[3]):
                top, left = i * strides[0], j * strides[1]
                part = x[:, first:first + each, top:top + kh, left:left + kw]
                y[:, o, i, j] = (part * w[o]).sum((1, 2, 3))
    return y


def convolutions(draw):
    for name, channels, group, w_list, kinds in (
            ("plain", 2, 1, False, (np.uint8, np.uint8)),
            ("channels", 4, 2, True, (np.uint8, np.int8)),
            ("deep", 40, 1, True, (np.int8, np.int8))):
        x = whole(draw, kinds[0], 1, channels, 5, 6)
        w = whole(draw, kinds[1], 4, channels // group, 3, 3)
        xz = whole(draw, kinds[0])
        wz = whole(draw, kinds[1], *((4,) if w_list else ()))
        how = dict(strides=[2, 1], pads=[1, 0, 1, 2], group=group)
        y = convolve(x.astype(np.int64) - xz, w.astype(np.int64) - along(wz, 0, 4), **how)
        yield (f"conv_{name}", 10, node("ConvInteger", ["x", "w", "xz", "wz"], ["y"], **how),
               dict(x=x, w=w, xz=xz, wz=wz), dict(y=y.astype(np.int32)))
        s_x, s_w = scales(draw), scales(draw, *wz.shape)
        bias = draw.randint(-90000, 90000, 4).astype(np.int32)
        s_y, z_y = np.float32(s_x * s_w.mean() * 2000), whole(draw, kinds[0])
        factor = np.float64(s_x) * along(s_w, 0, 3) / s_y
        y = saturate(np.rint((y + along(bias, 0, 3)) * factor) + z_y.astype(int), kinds[0])
        yield (f"qconv_{name}", 10,
               node("QLinearConv",
                    ["x", "sx", "xz", "w", "sw", "wz", "sy", "zy", "b"], ["y"], **how),
               dict(x=x, sx=s_x, xz=xz, w=w, sw=s_w, wz=wz, sy=s_y, zy=z_y, b=bias),
               dict(y=y))


def cases(draw):
    for part in (scaled, dynamic, products, convolutions):
        yield from part(draw)
