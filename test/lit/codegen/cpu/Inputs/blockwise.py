"""Prints a product by constant weights in blocks, drawn with a seed.

    blockwise.py M K N BITS BLOCK float|float16 [zeros] [bias] [relu]
"""

import random
import sys

m, k, n, bits, block = (int(v) for v in sys.argv[1:6])
scales, words = sys.argv[6], sys.argv[7:]
blocks, size = -(-k // block), block * bits // 8
draw = random.Random(k * 1000 + n)


def constant(name, kind, shape, make):
    count = 1
    for d in shape:
        count *= d
    print(f"constant @{name} : {kind}<{' x '.join(map(str, shape))}> = "
          f"[{', '.join(str(make()) for _ in range(count))}]")


print("gir 1")
print(f"placeholder @x : float<{m} x {k}>")
print(f"placeholder @y : float<{m} x {n}>")
constant("w", "uindex8", [n, blocks, size], lambda: draw.randrange(256))
constant("s", scales, [n, blocks], lambda: draw.randint(-40, 60) / 1024)
if "zeros" in words:
    constant("z", "uindex8", [n, blocks], lambda: draw.randrange(1 << bits))
if "bias" in words:
    constant("b", "float", [n], lambda: draw.randint(-64, 64) / 8)
print("function @main {")
print(f"  %p = BlockwiseQuantizedFullyConnected(@x, @w, @s, "
      f"{'@z' if 'zeros' in words else '_'}, "
      f"{'@b' if 'bias' in words else '_'}) "
      f"{{K: {k}, Bits: {bits}, BlockSize: {block}}} : float<{m} x {n}>")
if "relu" in words:
    print(f"  %r = Relu(%p) : float<{m} x {n}>")
print(f"  %s = Save({'%r' if 'relu' in words else '%p'}, @y)")
print("}")
