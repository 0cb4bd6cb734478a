#!/usr/bin/python3
"""Trains the network of this folder and writes model.onnx and the test images.

    train.py [FOLDER]

Needs Debian's python3-numpy, python3-onnx and python3-sklearn; the last one
only for the data set that it carries.  Everything random comes from one seed,
so that two runs on one machine write the same files.
"""

import pathlib
import struct
import sys
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

SEED = 1805
HELD_BACK = 360
EPOCHS = 60
BATCH = 32
RATE = 2e-3
DECAY = 1e-4
EPSILON = 1e-5
MOMENTUM = 0.9


# Layers.  `forward` keeps what `backward` needs; `parameters` lists pairs of a
# value and its gradient, both changed in place.


class Conv:
    """A convolution of 3 x 3 with padding 1; weights [out, in, 3, 3]."""

    def __init__(self, rng, inputs, outputs, bias):
        scale = np.sqrt(2 / (9 * inputs))
        self.w = rng.normal(0, scale, (outputs, inputs, 3, 3))
        self.b = np.zeros(outputs) if bias else None
        self.dw = np.zeros_like(self.w)
        self.db = np.zeros(outputs)

    def forward(self, x, training):
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
        self.columns = windows.transpose(0, 2, 3, 1, 4, 5).reshape(
            x.shape[0], x.shape[2], x.shape[3], -1
        )
        y = self.columns @ self.w.reshape(len(self.w), -1).T
        if self.b is not None:
            y = y + self.b
        return y.transpose(0, 3, 1, 2)

    def backward(self, dy):
        n, channels, height, width = dy.shape
        dy = dy.transpose(0, 2, 3, 1)
        flat = dy.reshape(-1, channels)
        self.dw[:] = (flat.T @ self.columns.reshape(len(flat), -1)).reshape(
            self.w.shape
        )
        self.db[:] = flat.sum(0)
        columns = dy @ self.w.reshape(channels, -1)
        columns = columns.reshape(n, height, width, -1, 3, 3)
        dx = np.zeros((n, columns.shape[3], height + 2, width + 2))
        for i in range(3):
            for j in range(3):
                dx[:, :, i : i + height, j : j + width] += columns[
                    ..., i, j
                ].transpose(0, 3, 1, 2)
        return dx[:, :, 1:-1, 1:-1]

    def parameters(self):
        yield self.w, self.dw
        if self.b is not None:
            yield self.b, self.db


class BatchNorm:
    def __init__(self, channels):
        self.scale = np.ones(channels)
        self.shift = np.zeros(channels)
        self.mean = np.zeros(channels)
        self.var = np.ones(channels)
        self.dscale = np.zeros(channels)
        self.dshift = np.zeros(channels)

    @staticmethod
    def wide(v):
        return v[None, :, None, None]

    def forward(self, x, training):
        mean, var = self.mean, self.var
        if training:
            mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
            self.mean = MOMENTUM * self.mean + (1 - MOMENTUM) * mean
            self.var = MOMENTUM * self.var + (1 - MOMENTUM) * var
        self.inverse = 1 / np.sqrt(var + EPSILON)
        self.normal = (x - self.wide(mean)) * self.wide(self.inverse)
        return self.normal * self.wide(self.scale) + self.wide(self.shift)

    def backward(self, dy):
        axes = (0, 2, 3)
        count = dy.size / dy.shape[1]
        self.dscale[:] = (dy * self.normal).sum(axes)
        self.dshift[:] = dy.sum(axes)
        inner = (
            dy
            - self.wide(self.dshift / count)
            - self.normal * self.wide(self.dscale / count)
        )
        return inner * self.wide(self.scale * self.inverse)

    def parameters(self):
        yield self.scale, self.dscale
        yield self.shift, self.dshift


class Relu:
    def forward(self, x, training):
        self.mask = x > 0
        return x * self.mask

    def backward(self, dy):
        return dy * self.mask

    def parameters(self):
        return ()


class MaxPool:
    """The maximum of each 2 x 2 square."""

    def forward(self, x, training):
        n, c, h, w = x.shape
        squares = x.reshape(n, c, h // 2, 2, w // 2, 2)
        y = squares.max((3, 5))
        self.mask = squares == y[:, :, :, None, :, None]
        self.mask = self.mask / self.mask.sum((3, 5), keepdims=True)
        return y

    def backward(self, dy):
        dx = self.mask * dy[:, :, :, None, :, None]
        n, c, h, _, w, _ = dx.shape
        return dx.reshape(n, c, h * 2, w * 2)

    def parameters(self):
        return ()


class Flatten:
    def forward(self, x, training):
        self.shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, dy):
        return dy.reshape(self.shape)

    def parameters(self):
        return ()


class Gemm:
    """x w^T + b; weights [out, in]."""

    def __init__(self, rng, inputs, outputs):
        self.w = rng.normal(0, np.sqrt(2 / inputs), (outputs, inputs))
        self.b = np.zeros(outputs)
        self.dw = np.zeros_like(self.w)
        self.db = np.zeros(outputs)

    def forward(self, x, training):
        self.x = x
        return x @ self.w.T + self.b

    def backward(self, dy):
        self.dw[:] = dy.T @ self.x
        self.db[:] = dy.sum(0)
        return dy @ self.w

    def parameters(self):
        yield self.w, self.dw
        yield self.b, self.db


def network(rng):
    return [
        Conv(rng, 1, 16, bias=True), Relu(),
        Conv(rng, 16, 32, bias=False), BatchNorm(32), Relu(), MaxPool(),
        Conv(rng, 32, 32, bias=False), BatchNorm(32), Relu(), MaxPool(),
        Flatten(), Gemm(rng, 128, 64), Relu(), Gemm(rng, 64, 10),
    ]


def forward(layers, x, training=False):
    for layer in layers:
        x = layer.forward(x, training)
    return x


def shifted(rng, images):
    """Returns a copy with each image moved by at most one pixel."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    moved = np.empty_like(images)
    for k, (i, j) in enumerate(rng.integers(0, 3, (len(images), 2))):
        moved[k] = padded[k, :, i : i + 8, j : j + 8]
    return moved


def train(layers, rng, images, labels):
    """Adam on the cross entropy, with a rate that falls to 0 as a cosine."""
    pairs = [p for layer in layers for p in layer.parameters()]
    moments = [(np.zeros_like(p), np.zeros_like(p)) for p, _ in pairs]
    steps = EPOCHS * (len(images) // BATCH)
    step = 0
    for epoch in range(EPOCHS):
        order = rng.permutation(len(images))
        loss = 0.0
        for start in range(0, len(order) - BATCH + 1, BATCH):
            batch = order[start : start + BATCH]
            scores = forward(layers, shifted(rng, images[batch]), training=True)
            scores -= scores.max(1, keepdims=True)
            p = np.exp(scores)
            p /= p.sum(1, keepdims=True)
            rows = np.arange(BATCH)
            loss -= np.log(p[rows, labels[batch]]).mean()
            p[rows, labels[batch]] -= 1
            gradient = p / BATCH
            for layer in reversed(layers):
                gradient = layer.backward(gradient)
            step += 1
            rate = RATE * (1 + np.cos(np.pi * step / steps)) / 2
            for (value, slope), (m, v) in zip(pairs, moments):
                slope = slope + DECAY * value
                m += 0.1 * (slope - m)
                v += 0.001 * (slope**2 - v)
                unbiased = m / (1 - 0.9**step)
                spread = np.sqrt(v / (1 - 0.999**step))
                value -= rate * unbiased / (spread + 1e-8)
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {loss / (len(order) // BATCH):.4f}")


def export(layers):
    """Returns the network as an exporter would write it, softmax at its end."""
    nodes, weights, counts = [], [], {}
    value = "image"

    def weight(name, array):
        weights.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def node(op, operands, **attributes):
        nonlocal value
        name = f"{op.lower()}{counts[op]}"
        value = f"{name}.out" if op != "Softmax" else "probability"
        nodes.append(helper.make_node(op, operands, [value], name, **attributes))

    for layer in layers:
        op = {"BatchNorm": "BatchNormalization"}.get(
            type(layer).__name__, type(layer).__name__
        )
        counts[op] = counts.get(op, 0) + 1
        name = f"{op.lower()}{counts[op]}"
        if op == "Conv":
            operands = [value, weight(f"{name}.weight", layer.w)]
            if layer.b is not None:
                operands.append(weight(f"{name}.bias", layer.b))
            node(op, operands, kernel_shape=[3, 3], strides=[1, 1],
                 pads=[1, 1, 1, 1], dilations=[1, 1], group=1)
        elif op == "BatchNormalization":
            operands = [
                weight(f"{name}.{part}", array)
                for part, array in (("scale", layer.scale), ("shift", layer.shift),
                                    ("mean", layer.mean), ("var", layer.var))
            ]
            node(op, [value] + operands, epsilon=EPSILON, momentum=MOMENTUM)
        elif op == "MaxPool":
            node(op, [value], kernel_shape=[2, 2], strides=[2, 2])
        elif op == "Flatten":
            node(op, [value], axis=1)
        elif op == "Gemm":
            node(op, [value, weight(f"{name}.weight", layer.w),
                      weight(f"{name}.bias", layer.b)], transB=1)
        else:
            node(op, [value])
    counts["Softmax"] = 1
    node("Softmax", [value], axis=1)

    def tensor(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    graph = helper.make_graph(
        nodes, "digits", [tensor("image", ["batch", 1, 8, 8])],
        [tensor("probability", ["batch", 10])], weights,
    )
    model = helper.make_model(
        graph, producer_name="examples/digits/train.py",
        opset_imports=[helper.make_opsetid("", 13)],
    )
    model.ir_version = 7
    onnx.checker.check_model(model)
    return model


def write_png(path, pixels):
    """Writes a matrix of bytes as a grey picture."""
    def chunk(kind, data):
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    height, width = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    )


def main(folder):
    rng = np.random.default_rng(SEED)
    digits = load_digits()
    images = (digits.images / 16)[:, None]  # pixels are 0 to 16
    labels = digits.target
    order = rng.permutation(len(images))
    test, rest = order[:HELD_BACK], order[HELD_BACK:]

    layers = network(rng)
    train(layers, rng, images[rest], labels[rest])

    right = (forward(layers, images[test]).argmax(1) == labels[test]).sum()
    print(f"right: {right} of {len(test)}, {100 * right / len(test):.2f} %")

    onnx.save(export(layers), str(folder / "model.onnx"))
    np.save(folder / "images.npy", images[test].astype(np.float32))
    np.save(folder / "labels.npy", labels[test].astype(np.int64))
    for digit in (3, 7):
        first = test[labels[test] == digit][0]
        pixels = np.round(images[first, 0] * 255).astype(np.uint8)
        write_png(folder / f"{digit}.png", pixels)


if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here)
