#!/usr/bin/python3
"""accuracy.py PROBABILITY.npy LABELS.npy: prints how many images are right."""

import sys

import numpy as np

probability, labels = (np.load(path) for path in sys.argv[1:3])
assert len(probability) == len(labels)
right = (probability.argmax(1) == labels).sum()
print(f"{right} of {len(labels)} right: {100 * right / len(labels):.2f} %")
