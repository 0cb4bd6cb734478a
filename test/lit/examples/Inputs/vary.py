"""vary.py IMAGES.npy OUT.npy: each image, moved to the right by a pixel, and dim with
noise: three times as many.

vary.py --same A.npy B.npy...: how many rows have their greatest number in the
same place in all files."""

import sys

import numpy as np

if sys.argv[1] == "--same":
    first, *others = (np.load(path).argmax(1) for path in sys.argv[2:])
    same = np.all([first == other for other in others], axis=0)
    print(f"{same.sum()} of {len(first)} the same, {len(set(first))} classes")
else:
    images = np.load(sys.argv[1])
    noise = np.random.default_rng(1).random(images.shape, np.float32)
    np.save(sys.argv[2], np.concatenate(
        [images, np.roll(images, 1, axis=3), 0.7 * images + 0.3 * noise]).astype(np.float32))
