"""Prints a network of integers of 8 bits: a convolution, a depthwise one and a product."""

import random

r = random.Random(5)


def constant(name, kind, shape, values):
    print(f"constant @{name} : {kind}<{shape}> = {values}")


def channels(name, count):
    constant(f"{name}s", "float", count, [r.choice([0.001, 0.003]) for _ in range(count)])
    constant(f"{name}o", "index32", count, "splat(0)")
    constant(f"{name}b", "i32[S:1 O:0]", count,
             [r.randint(-9999, 9999) for _ in range(count)])


def weights(name, shape, count):
    constant(name, "i8[S:1 O:0]", shape,
             [r.choice([-128, 127, r.randint(-128, 127)]) for _ in range(count)])


print("""placeholder @x : i8[S:0.05 O:-128]<1 x 9 x 9 x 16>
placeholder @y : i8[S:0.5 O:3]<9 x 10>""")
weights("v", "16 x 3 x 3 x 16", 2304)
weights("d", "16 x 3 x 3 x 1", 144)
weights("m", "10 x 144", 1440)
channels("v", 16)
channels("d", 16)
channels("m", 10)
print("""function @main {
  %v = ChannelwiseQuantizedConvolution(@x, @v, @vb, @vs, @vo, @vs, @vo) {Kernels: [3, 3], Strides: [1, 1], Pads: [1, 1, 1, 1], Group: 1} : i8[S:0.5 O:-3]<1 x 9 x 9 x 16>
  %d = ChannelwiseQuantizedConvolution(%v, @d, @db, @ds, @do, @ds, @do) {Kernels: [3, 3], Strides: [1, 1], Pads: [1, 1, 1, 1], Group: 16} : i8[S:0.5 O:7]<1 x 9 x 9 x 16>
  %r = Reshape(%d) {Dims: [9, 144]} : i8[S:0.5 O:7]<9 x 144>
  %m = RowwiseQuantizedFullyConnected(%r, @m, @ms, @mo, @mb) : i8[S:0.5 O:3]<9 x 10>
  %save = Save(%m, @y)
}""")
