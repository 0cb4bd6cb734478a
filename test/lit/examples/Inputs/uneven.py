"""uneven.py WEIGHTS.safetensors: multiplies channels of two convolutions by 10^-1 to 10^1.

The next convolution is divided by the same numbers, so that the network computes the
same floats; but integers with one scale for all channels lose most of them.
"""

import json
import struct
import sys

import numpy as np

PAIRS = [("conv1.weight.transpose", "conv1.bias", "conv2.weights"),
         ("conv2.weights", "conv2.bias", "conv3.weights")]

with open(sys.argv[1], "r+b") as file:
    size = struct.unpack("<Q", file.read(8))[0]
    head = json.loads(file.read(size))
    body = bytearray(file.read())
    tensor = {}
    for name, t in head.items():
        if name != "__metadata__":
            first, end = t["data_offsets"]
            tensor[name] = np.frombuffer(body, np.float32, (end - first) // 4, first).reshape(t["shape"])
    rng = np.random.default_rng(3)
    for weight, bias, after in PAIRS:
        scale = (10 ** rng.uniform(-1, 1, len(tensor[bias]))).astype(np.float32)
        tensor[weight] *= scale[:, None, None, None]
        tensor[bias] *= scale
        tensor[after] /= scale
    file.seek(8 + size)
    file.write(body)
