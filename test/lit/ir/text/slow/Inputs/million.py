"""Prints a graph of 1,000,000 nodes, in order of use or in reverse."""

import sys

N = 1000000

nodes = ["  %n0 = Relu(@x) : float<4>"]
for i in range(1, N):
    nodes.append(f"  %n{i} = Add(%n{i - 1}, %n{(i * 2654435761 >> 7) % i}) : float<4>")
nodes.append(f"  %save = Save(%n{N - 1}, @y)")
if sys.argv[1] == "backward":
    nodes.reverse()
print("gir 1\nplaceholder @x : float<4>\nplaceholder @y : float<4>\n")
print("function @main {", *nodes, "}", sep="\n")
