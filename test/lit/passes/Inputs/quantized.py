"""Prints two convolutions with ranges; the numbers are drawn from a fixed seed."""

import random

rng = random.Random(5)


def numbers(count, size):
    return ", ".join(repr(round(rng.uniform(-size, size), 4)) for _ in range(count))


print("""gir 1
placeholder @x : float<1 x 6 x 6 x 3>
placeholder @y : float<1 x 6 x 6 x 4>""")
for name, shape, count, size in (("v", "5 x 3 x 3 x 3", 135, 0.5), ("c", "5", 5, 0.3),
                                 ("w", "4 x 3 x 3 x 5", 180, 0.4), ("b", "4", 4, 0.2)):
    print(f"constant @{name} : float<{shape}> = [{numbers(count, size)}]")
print("""function @main {
  %a = Convolution(@x, @v, @c) {Kernels: [3, 3], Strides: [1, 1], Pads: [1, 1, 1, 1], Group: 1, Dilation: [1, 1]} : float<1 x 6 x 6 x 5>
  %r = Relu(%a) : float<1 x 6 x 6 x 5>
  %b = Convolution(%r, @w, @b) {Kernels: [3, 3], Strides: [1, 1], Pads: [1, 1, 1, 1], Group: 1, Dilation: [1, 1]} : float<1 x 6 x 6 x 4>
  %save = Save(%b, @y)
}
ranges {
  @x: [-0.5, 1.5]
  @main %a: [-6.0, 8.0]
  @main %r: [0.0, 8.0]
  @main %b: [-30.0, 25.0]
}""")
