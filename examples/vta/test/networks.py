"""Writes quantized networks of drawn weights, as text.

    networks.py shapes SEED FILE     a convolution of an odd shape, perhaps a chain
    networks.py resnet FILE          ResNet-18 with fewer channels and pixels
"""

import base64
import random
import sys


class Network:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.storage, self.nodes, self.data = [], [], []
        self.macs = self.count = 0

    def name(self, base):
        self.count += 1
        return f"{base}{self.count}"

    def constant(self, kind, scale, shape, values, size):
        name = self.name("c")
        raw = b"".join(v.to_bytes(size, "little", signed=True) for v in values)
        self.storage.append(f"constant @{name} : {kind}[S:{scale!r} O:0]<{dims(shape)}> = blob({name})")
        self.data.append(f'  {name}: base64<{len(raw)}> "{base64.b64encode(raw).decode()}"')
        return "@" + name

    def numbers(self, kind, values):
        name = self.name("c")
        self.storage.append(f"constant @{name} : {kind}<{len(values)}> = [{', '.join(map(repr, values))}]")
        return "@" + name

    def node(self, op, operands, attributes, scale, shape):
        name = self.name("n")
        self.nodes.append(f"  %{name} = {op}({', '.join(operands)}) {attributes}: {kind(scale, shape)}")
        return "%" + name, scale, shape

    def draw(self, count, most):
        return [self.random.randint(-most, most) for _ in range(count)]

    def conv(self, x, outputs, kernel, stride, pads, group=1, dilation=(1, 1), factor=1,
             channelwise=False):
        value, scale, (n, h, w, c) = x
        shape = (outputs, *kernel, c // group)
        depth = kernel[0] * kernel[1] * (c // group)
        # The results fill the range of Input: sums of `depth` products of about 60 x 60.
        unit = 2.0 ** -(5 + (depth.bit_length() + 1) // 2)
        weights = self.constant("i8", unit, shape, self.draw(outputs * depth, 127), 1)
        bias = self.constant("i32", scale * unit, (outputs,), self.draw(outputs, 1 << 12), 4)
        out = [(v + pads[i] + pads[i + 2] - (kernel[i] - 1) * dilation[i] - 1) // stride[i] + 1
               for i, v in enumerate((h, w))]
        result = (n, *out, outputs)
        self.macs += n * out[0] * out[1] * outputs * depth
        operands = [value, weights, bias]
        if channelwise:
            scales = [unit * self.random.choice([0.5, 1, 1, 2]) for _ in range(outputs)]
            zeros = self.numbers("index32", [0] * outputs)
            operands += [self.numbers("float", scales), zeros,
                         self.numbers("float", [scale * u for u in scales]), zeros]
        return self.node(
            "ChannelwiseQuantizedConvolution" if channelwise else "Convolution", operands,
            f"{{Kernels: {list(kernel)}, Strides: {list(stride)}, Pads: {list(pads)}, "
            f"Group: {group}, Dilation: {list(dilation)}}} ", scale * factor, result)

    def relu(self, x):
        return self.node("Relu", (x[0],), "", x[1], x[2])

    def write(self, path, x, y, inputs):
        self.nodes.append(f"  %save = Save({y[0]}, @y)")
        self.storage += [f"placeholder {x[0]} : {kind(x[1], x[2])}" for x in inputs]
        self.storage.append(f"placeholder @y : {kind(y[1], y[2])}")
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(["gir 1", *self.storage, "function @main {", *self.nodes, "}",
                               "data {", *self.data, "}", ""]))


def dims(shape):
    return " x ".join(map(str, shape))


def kind(scale, shape):
    return f"i8[S:{scale!r} O:0]<{dims(shape)}>"


def shapes(seed, path):
    net = Network(seed)
    r = net.random
    group = r.choice([1, 1, 1, 2, 3, 5])
    x = ("@x", 0.5, (r.choice([1, 1, 2]), r.randint(1, 19), r.randint(1, 19),
                     group * r.randint(1, 40 // group)))
    y = x
    for _ in range(r.choice([1, 1, 2])):
        n, h, w, c = y[2]
        group = group if c % group == 0 else 1
        kernel = [r.choice([1, 2, 3, 3, 5]), r.choice([1, 2, 3, 3, 4])]
        dilation = [r.choice([1, 1, 2]), r.choice([1, 1, 3])]
        pads = [r.randint(0, 3) for _ in range(4)]
        for i, v in enumerate((h, w)):
            while (kernel[i] - 1) * dilation[i] + 1 > v + pads[i] + pads[i + 2]:
                kernel[i], dilation[i] = kernel[i] - 1, 1
        y = net.conv(y, group * r.randint(1, 40 // group), kernel,
                     [r.randint(1, 3), r.randint(1, 3)], pads, group, dilation,
                     r.choice([0.5, 1, 1, 2, 8]), r.random() < 0.3)
        if r.random() < 0.6:
            y = net.relu(y)
    if r.random() < 0.5:
        other = ("@z", y[1] * r.choice([0.5, 1, 2, 8]), y[2])
        y = net.node("Add", (y[0], other[0]), "", y[1] * r.choice([1, 2]), y[2])
        net.write(path, x, y, [x, other])
    else:
        net.write(path, x, y, [x])
    print(net.macs)


def block(net, x, channels, stride):
    ones = [1, 1, 1, 1]
    y = net.relu(net.conv(x, channels, (3, 3), (stride, stride), ones))
    y = net.conv(y, channels, (3, 3), (1, 1), ones)
    if stride != 1:
        x = net.conv(x, channels, (1, 1), (2, 2), [0] * 4)
    return net.relu(net.node("Add", (y[0], x[0]), "", net.random.choice([1, 2]) * y[1], y[2]))


def resnet(path):
    net = Network(18)
    x = ("@x", 0.03125, (1, 40, 40, 3))
    y = net.relu(net.conv(x, 16, (7, 7), (2, 2), [3] * 4))
    y = net.node("MaxPool", (y[0],), "{Kernels: [3, 3], Strides: [2, 2], Pads: [1, 1, 1, 1]} ",
                 y[1], (1, 10, 10, 16))
    for channels, stride in (16, 1), (16, 1), (32, 2), (32, 1), (48, 2), (48, 1), (64, 2), (64, 1):
        y = block(net, y, channels, stride)
    size = y[2][1]
    y = net.node("AvgPool", (y[0],), f"{{Kernels: [{size}, {size}], Strides: [1, 1], Pads: [0, 0, 0, 0], "
                 "CountIncludePads: false} ", y[1], (1, 1, 1, 64))
    weights = net.constant("i8", 2**-7, (64, 10), net.draw(640, 127), 1)
    bias = net.constant("i32", y[1] * 2**-7, (10,), net.draw(10, 1 << 12), 4)
    net.macs += 640
    y = net.node("FullyConnected", (y[0], weights, bias), "{Axis: 3} ", y[1] * 2, (1, 10))
    net.write(path, x, y, [x])
    print(net.macs)


if sys.argv[1] == "shapes":
    shapes(int(sys.argv[2]), sys.argv[3])
else:
    resnet(sys.argv[2])
