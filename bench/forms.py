"""Forms of a network beside plain float, for bench/models, and processors to pretend."""


from zoo import is_newer

# What `--forms` takes: options of glow-run, and how its text is made.
FORMS = {
    "vectors": (["-backend=cpu<parts=off>"], None),
    "bf16": (["-convert=bf16"], None),
    "int8": ([], "calibrated"),
    "int4": ([], "small_weights"),
}

# What `--cpu` takes: options of ours for it.
CPUS = {
    "avx512": ["-features=-amx-tile,-amx-bf16,-amx-int8"],
    "avx2": ["-cpu=haswell"],
}


class Maker:
    """Writes the texts of forms with the tools of a build; `run` runs a command."""

    def __init__(self, build, run):
        self.build, self.run = build, run

    def tool(self, name, *options):
        self.run(self.build / "tools" / name / name, *options)

    def prepared(self, network):
        ready = network.folder / "ready.gir"
        self.tool("glow-opt", "-prepare", network.gir, "-o", ready)
        return ready

    def calibrated(self, network, path):
        """All in 8 bits, by the ranges that the network's own inputs give."""
        ready, profile = self.prepared(network), network.folder / "ranges.prof"
        self.tool("glow-run", ready, "-backend=cpu", *network.bound(),
                  f"-dump-profile={profile}")
        self.tool("glow-opt", f"-load-profile={profile}", "-quantize", ready, "-o", path)

    def small_weights(self, network, path):
        """Weights in 4 bits."""
        self.tool("glow-opt", "-quantize-weights=bits=4 block=32 scales=float16",
                  self.prepared(network), "-o", path)

    def text(self, form, network):
        """The .gir file of a network in a form, made where it is old."""
        how = FORMS[form][1]
        if not how:
            return network.gir
        path = network.folder / f"{form}.gir"
        if not is_newer(path, network.gir, self.build / "tools/glow-opt/glow-opt"):
            getattr(self, how)(network, path)
        return path
