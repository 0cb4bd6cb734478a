"""Layers of well-known networks, and the module of a layer, for kernels.

A layer is what it works on and how, in any order after the first two words:

    conv 56x56x64>64 k3 s1 p1 d1 g1 b1    depth-wise where g is the channels
    deconv 4x4x512>256 k4 s2 p1
    fc 128x768x3072                       rows x depth x columns
    bmm 12x128x64x128                     batch x rows x depth x columns
    softmax 8192x10                       rows x columns, an operation for each element
"""

import math
import re
import sys

NETWORKS = {
    "resnet50": """
        conv 224x224x3>64 k7 s2 p3
        conv 56x56x64>64 k1
        conv 56x56x64>64 k3 p1
        conv 56x56x64>256 k1
        conv 56x56x256>64 k1
        conv 56x56x256>128 k1
        conv 56x56x128>128 k3 s2 p1
        conv 28x28x128>512 k1
        conv 56x56x256>512 k1 s2
        conv 28x28x512>128 k1
        conv 28x28x128>128 k3 p1
        conv 28x28x512>256 k1
        conv 28x28x256>256 k3 s2 p1
        conv 14x14x256>1024 k1
        conv 28x28x512>1024 k1 s2
        conv 14x14x1024>256 k1
        conv 14x14x256>256 k3 p1
        conv 14x14x1024>512 k1
        conv 14x14x512>512 k3 s2 p1
        conv 7x7x512>2048 k1
        conv 14x14x1024>2048 k1 s2
        conv 7x7x2048>512 k1
        conv 7x7x512>512 k3 p1
        fc 1x2048x1000""",
    "vgg": """
        conv 224x224x3>64 k3 p1
        conv 224x224x64>64 k3 p1
        conv 112x112x64>128 k3 p1
        conv 112x112x128>128 k3 p1
        conv 56x56x256>256 k3 p1
        conv 28x28x512>512 k3 p1
        conv 14x14x512>512 k3 p1
        fc 1x25088x4096
        fc 1x4096x1000""",
    "mobilenetv2": """
        conv 224x224x3>32 k3 s2 p1
        conv 112x112x32>32 k3 p1 g32
        conv 112x112x32>16 k1
        conv 112x112x16>96 k1
        conv 112x112x96>96 k3 s2 p1 g96
        conv 56x56x96>24 k1
        conv 56x56x24>144 k1
        conv 56x56x144>144 k3 p1 g144
        conv 56x56x144>24 k1
        conv 28x28x192>192 k3 p1 g192
        conv 28x28x192>32 k1
        conv 14x14x384>384 k3 p1 g384
        conv 14x14x384>64 k1
        conv 14x14x576>96 k1
        conv 14x14x576>576 k3 s2 p1 g576
        conv 7x7x160>960 k1
        conv 7x7x960>960 k3 p1 g960
        conv 7x7x960>160 k1
        conv 7x7x320>1280 k1""",
    "efficientnet": """
        conv 56x56x144>144 k5 s2 p2 g144
        conv 28x28x240>240 k5 p2 g240
        conv 14x14x480>480 k5 p2 g480
        conv 14x14x672>672 k5 p2 g672
        conv 7x7x1152>1152 k5 p2 g1152
        conv 28x28x240>40 k1
        conv 14x14x80>480 k1
        conv 14x14x672>112 k1
        conv 7x7x1152>192 k1
        fc 1x480x20
        fc 1x1280x1000""",
    "densenet": """
        conv 56x56x64>128 k1
        conv 56x56x128>32 k3 p1
        conv 28x28x128>32 k3 p1
        conv 28x28x352>128 k1
        conv 14x14x128>32 k3 p1
        conv 14x14x672>128 k1
        conv 7x7x128>32 k3 p1
        conv 7x7x992>128 k1""",
    "inception": """
        conv 149x149x32>32 k3
        conv 147x147x32>64 k3 p1
        conv 73x73x80>192 k3
        conv 35x35x192>64 k1
        conv 35x35x48>64 k5 p2
        conv 35x35x96>96 k3 p1
        conv 35x35x288>384 k3 s2
        conv 17x17x768>192 k1
        conv 17x17x192>192 k1x7 p0x3
        conv 17x17x192>192 k7x1 p3x0
        conv 8x8x1280>320 k1
        conv 8x8x448>384 k3 p1""",
    "grouped": """
        conv 56x56x128>128 k3 p1 g32
        conv 28x28x256>256 k3 p1 g32
        conv 14x14x512>512 k3 p1 g32
        conv 7x7x1024>1024 k3 p1 g32
        conv 56x56x48>48 k3 p1 g6
        conv 28x28x104>104 k3 p1 g13
        conv 14x14x208>208 k3 p1 g13
        conv 7x7x440>440 k3 p1 g55
        conv 28x28x58>58 k3 p1 g58
        conv 28x28x58>58 k1
        conv 28x28x512>512 k3 p2 d2
        conv 28x28x512>512 k3 p4 d4
        conv 56x56x64>64 k3 p1 b8
        conv 7x7x512>512 k3 p1 b8""",
    "transformer": """
        fc 128x768x768
        fc 128x768x3072
        fc 128x3072x768
        fc 197x768x768
        fc 197x768x2304
        fc 128x768x50257
        fc 1x768x768
        bmm 12x128x64x128
        bmm 12x128x128x64
        bmm 12x197x64x197
        bmm 12x197x197x64""",
    "deconv": """
        deconv 1x1x100>512 k4 p0
        deconv 4x4x512>256 k4 s2 p1
        deconv 8x8x256>128 k4 s2 p1
        deconv 16x16x128>64 k4 s2 p1
        deconv 32x32x64>3 k4 s2 p1
        deconv 28x28x512>256 k2 s2
        deconv 112x112x128>64 k2 s2""",
    "integers": """
        conv 56x56x64>64 k3 p1
        conv 28x28x128>128 k3 p1
        conv 14x14x256>256 k3 p1
        conv 7x7x512>512 k3 p1
        conv 28x28x512>256 k1
        conv 14x14x1024>512 k1
        conv 14x14x512>1024 k1
        conv 14x14x256>1024 k1
        conv 7x7x1024>512 k1
        fc 256x256x512
        fc 256x512x1024
        fc 196x1024x512
        fc 128x768x3072
        fc 1x4096x4096
        conv 112x112x32>32 k3 p1 g32
        conv 56x56x144>144 k3 p1 g144
        conv 14x14x384>384 k3 p1 g384""",
}


class Layer:
    """A node of floats, its operations, and its sizes in the order of dnnl_layer.c, which
    are None where that has no such layer."""

    def __init__(self, inputs, constants, out, body, work, sizes):
        self.inputs, self.constants, self.out = inputs, constants, out
        self.body, self.work, self.sizes = body, work, sizes

    def elements(self):
        """What it touches: inputs, constants but for the bias, and the result."""
        shapes = [*self.inputs.values(), self.constants.get("w", "0"), self.out]
        return sum(count(s) for s in shapes)

    def module(self, weights=None):
        """The text of it.  Constants are in the raw file `weights`, all from its first byte
        on, and values have the ranges of results of Relu; or they are 0.01."""
        what = 'external("w", "0")' if weights else "splat(0.01)"
        lines = [f'weights "w" = raw("{weights}")'] if weights else []
        lines += [f"placeholder @{n} : float<{s}>" for n, s in self.inputs.items()]
        lines += [f"placeholder @y : float<{self.out}>"]
        lines += [f"constant @{n} : float<{s}> = {what}" for n, s in self.constants.items()]
        lines += ["function @main {", f"  %r = {self.body} : float<{self.out}>",
                  "  %s = Save(%r, @y)", "}"]
        if weights:
            ranges = [f"@{n}: [0.0, 1.0]" for n in self.inputs] + ["@main %r: [0.0, 16.0]"]
            lines += ["ranges {", *(f"  {r}" for r in ranges), "}"]
        return "\n".join(["gir 1", *lines, ""])


def count(shape):
    return math.prod(int(n) for n in str(shape).split(" x "))


def pair(text):
    a = [int(v) for v in text.split("x")]
    return a * 2 if len(a) == 1 else a


def conv(words, transposed):
    h, w, c, o = (int(v) for v in re.split("[x>]", words[0]))
    n = {w[0]: w[1:] for w in words[1:]}
    kh, kw = pair(n.get("k", "1"))
    sh, sw = pair(n.get("s", "1"))
    ph, pw = pair(n.get("p", "0"))
    d, g, b = (int(n.get(x, "1")) for x in "dgb")
    if transposed:
        oh, ow = (h - 1) * sh - 2 * ph + kh, (w - 1) * sw - 2 * pw + kw
        work = b * h * w * kh * kw * c * o / g
    else:
        oh = (h + 2 * ph - d * (kh - 1) - 1) // sh + 1
        ow = (w + 2 * pw - d * (kw - 1) - 1) // sw + 1
        work = b * oh * ow * kh * kw * c * o / g
    attrs = (f"Kernels: [{kh}, {kw}], Strides: [{sh}, {sw}], "
             f"Pads: [{ph}, {pw}, {ph}, {pw}], Group: {g}, Dilation: [{d}, {d}]")
    name = "ConvTranspose" if transposed else "Convolution"
    return Layer({"x": f"{b} x {h} x {w} x {c}"},
                 {"w": f"{c} x {kh} x {kw} x {o // g}" if transposed else
                       f"{o} x {kh} x {kw} x {c // g}", "b": o},
                 f"{b} x {oh} x {ow} x {o}",
                 f"{name}(@x, @w, @b) {{{attrs}}}", 2 * work,
                 (b, h, w, c, oh, ow, o, kh, kw, sh, sw, ph, pw, d, g))


def product(words, batched):
    sizes = [int(v) for v in words[0].split("x")]
    b, m, k, n = sizes if batched else [1] + sizes
    work, sizes = 2 * b * m * k * n, (b, m, 1, k, m, 1, n) + 8 * (1,)
    if batched:
        return Layer({"a": f"{b} x {m} x {k}", "b": f"{b} x {k} x {n}"}, {},
                     f"{b} x {m} x {n}", "BatchMatMul(@a, @b)", work, sizes)
    return Layer({"a": f"{m} x {k}"}, {"w": f"{k} x {n}", "b": n}, f"{m} x {n}",
                 "FullyConnected(@a, @w, @b) {Axis: 1}", work, sizes)


def softmax(words):
    shape = words[0].replace("x", " x ")
    return Layer({"x": shape}, {}, shape, "SoftMax(@x) {Axis: 1}", count(shape), None)


def layer(text):
    kind, *words = text.split()
    if kind in ("conv", "deconv"):
        return conv(words, kind == "deconv")
    if kind in ("fc", "bmm"):
        return product(words, kind == "bmm")
    if kind == "softmax":
        return softmax(words)
    sys.exit(f"kernels: '{text}' is neither a network nor a layer")
