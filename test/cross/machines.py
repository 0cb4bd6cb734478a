"""Machines that bundles are tried on: how code is made, linked and run.

A machine has the options of glow-opt and of Clang, the command that runs its
programs, and a pattern of instructions that its float code must have.  A machine with
`refuses` has registers of another length, and its code must say so.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Machine:
    name: str
    glow: tuple
    clang: tuple
    run: tuple
    has: str = ""
    board: bool = False
    refuses: bool = False


def linux(name, triple, run, features="", cpu="", clang=(), has="", refuses=False):
    glow = ["-target=" + triple]
    if features:
        glow.append("-features=" + features)
    if cpu:
        glow.append("-cpu=" + cpu)
    return Machine(name, tuple(glow), ("--target=" + triple, *clang), tuple(run), has,
                   refuses=refuses)


def board(name, triple, cpu, machine, clang=(), has=""):
    return Machine(
        name, ("-target=" + triple, "-cpu=" + cpu),
        ("--target=" + triple, "-mcpu=" + cpu, *clang),
        ("qemu-system-arm", "-M", machine, "-display", "none", "-monitor", "none",
         "-serial", "none", "-semihosting-config", "enable=on,target=native",
         "-kernel"), has, board=True)


def sve(bits):
    return ["qemu-aarch64", "-cpu", f"max,sve-default-vector-length={bits // 8}"]


def rvv(bits):
    return ["qemu-riscv64", "-cpu", f"rv64,v=true,vext_spec=v1.0,vlen={bits}"]


A64, RV64 = "aarch64-linux-gnu", "riscv64-linux-gnu"
MACHINES = (
    linux("x86-64", "x86_64-linux-gnu", (), has=r"\bmulps\b"),
    linux("neon", A64, ["qemu-aarch64", "-cpu", "cortex-a57"], has=r"fmla\s+v"),
    linux("neon-dot", A64, ["qemu-aarch64", "-cpu", "max"], features="+dotprod"),
    linux("neon-i8mm", A64, ["qemu-aarch64", "-cpu", "max"],
          features="+dotprod,+i8mm"),
    linux("sve-256", A64, sve(256), features="sve-vector-bits=256", has=r"fmla\s+z"),
    linux("sve-512", A64, sve(512), features="sve-vector-bits=512", has=r"fmla\s+z"),
    linux("sve-256-on-512", A64, sve(512), features="sve-vector-bits=256",
          refuses=True),
    linux("rv64gc", RV64, ["qemu-riscv64"], has=r"fmadd\.s"),
    linux("rvv-128", RV64, rvv(128), features="+v", has=r"vfmacc"),
    linux("rvv-128-on-256", RV64, rvv(256), features="+v", has=r"vfmacc"),
    linux("rvv-256", RV64, rvv(256), features="+v,+zvl256b", has=r"vfmacc"),
    linux("rvv-256-on-128", RV64, rvv(128), features="+v,+zvl256b", refuses=True),
    linux("armv7", "armv7a-linux-gnueabihf", ["qemu-arm"], has=r"vmla\.f32|vmul\.f32"),
    linux("ppc64le", "powerpc64le-linux-gnu", ["qemu-ppc64le"],
          has=r"xvmaddasp|xvmaddmsp|vmaddfp"),
    board("cortex-m3", "thumbv7m-none-eabi", "cortex-m3", "mps2-an385",
          has=r"__aeabi_fmul"),
    board("cortex-m4f", "thumbv7em-none-eabihf", "cortex-m4", "mps2-an386",
          has=r"vmul\.f32"),
    board("cortex-m55", "thumbv8.1m.main-none-eabihf", "cortex-m55", "mps3-an547",
          has=r"vfma\.f32\s+q"),
    Machine("wasm", ("-target=wasm32-unknown-unknown",), (), ("node",)),
    Machine("wasm-simd", ("-target=wasm32-unknown-unknown", "-features=+simd128"), (),
            ("node",), has=r"f32x4\.mul"),
)
