"""Prints a program of 2^16 weights, each of 2^47 bytes."""

TYPE = "float<35184372088832>"
NAMES = [f"p{i}" for i in range(1 << 16)]

for name in NAMES:
    print(f"placeholder @{name} : {TYPE}")
print("program @main {\n  declare {")
for name in NAMES:
    print(f"    %{name} = weight {TYPE} @{name} mutable")
print("  }\n  code {\n  }\n}")
