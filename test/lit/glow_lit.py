"""How a plugin's tests are run by lit.  Installed; see examples/plugin/test."""

import os

import lit.formats


def configure(config, name, source, build, path, plugins):
    """Fills `config` for a folder of tests that use glow's tools.

    Tests end in .gir or .test.  They find the folders of `path` (glow-opt,
    FileCheck and so on) first, and every tool loads `plugins`.  `%{plugin}` is
    the first of these.
    """
    config.name = name
    config.test_format = lit.formats.ShTest(execute_external=False)
    config.suffixes = [".gir", ".test"]
    config.excludes = ["Inputs"]
    config.test_source_root = source
    config.test_exec_root = build
    config.environment["PATH"] = os.pathsep.join(path + [os.environ["PATH"]])
    config.environment["LC_ALL"] = "C.UTF-8"
    config.environment["GLOW_PLUGINS"] = ":".join(plugins)
    config.substitutions.append(("%{plugin}", plugins[0]))
