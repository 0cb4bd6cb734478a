"""Prints a graph of two equal chains, each as long as the argument says."""

import sys

count = int(sys.argv[1])
print("placeholder @x : float<4>\nplaceholder @y : float<4>\n\nfunction @main {")
a = b = "@x"
for i in range(count):
    print(f"  %a{i} = Relu({a}) : float<4>")
    print(f"  %b{i} = Relu({b}) : float<4>")
    a, b = f"%a{i}", f"%b{i}"
print(f"  %save = Save({a}, @y)\n}}")
