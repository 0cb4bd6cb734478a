"""Quantized products and a convolution of drawn weights, of many and of few tiles."""

import random

random.seed(4)


def constant(name, kind, sizes, least, most):
    count = 1
    for n in sizes:
        count *= n
    values = ", ".join(str(random.randint(least, most)) for _ in range(count))
    return f"constant @{name} : {kind}<{' x '.join(map(str, sizes))}> = [{values}]"


print(f"""gir 1
placeholder @a : ui8[S:0.05 O:3]<130 x 192>
placeholder @b : i8[S:0.05 O:-5]<37 x 64>
placeholder @x : ui8[S:0.05 O:7]<1 x 9 x 18 x 32>
placeholder @c : i8[S:0.9 O:-3]<130 x 70>
placeholder @d : ui8[S:0.5 O:120]<37 x 70>
placeholder @y : i8[S:0.9 O:-3]<1 x 9 x 18 x 40>
{constant("w", "i8[S:0.01 O:0]", (192, 70), -128, 127)}
{constant("v", "i8[S:0.01 O:0]", (64, 70), -128, 127)}
{constant("f", "i8[S:0.01 O:0]", (40, 3, 3, 32), -128, 127)}
{constant("e", "i32[S:0.0005 O:0]", (40,), -5000, 5000)}
function @main {{
  %y = Convolution(@x, @f, @e) {{Kernels: [3, 3], Strides: [1, 1], Pads: [1, 1, 1, 1], Group: 1}} : i8[S:0.9 O:-3]<1 x 9 x 18 x 40>
  %c = MatMul(@a, @w) : i8[S:0.9 O:-3]<130 x 70>
  %d = MatMul(@b, @v) : ui8[S:0.5 O:120]<37 x 70>
  %s0 = Save(%c, @c)
  %s1 = Save(%d, @d)
  %s2 = Save(%y, @y)
}}""")
