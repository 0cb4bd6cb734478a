#!/usr/bin/env python3
"""Runs a test on a sample of its cases, drawn by the seed of the commit.

    sample.py N COMMAND...

The command finds N in GLOW_TEST_SAMPLE and the seed in GLOW_TEST_SEED.  Both may be in the
environment already: GLOW_TEST_SAMPLE=1 runs all cases, GLOW_TEST_SEED those of a seed that
was printed.
"""

import os
import sys

import widths


def main():
    os.environ.setdefault("GLOW_TEST_SAMPLE", sys.argv[1])
    os.environ.setdefault("GLOW_TEST_SEED", str(widths.seed_of_commit()))
    print(f"# one case of {os.environ['GLOW_TEST_SAMPLE']}: "
          f"GLOW_TEST_SEED={os.environ['GLOW_TEST_SEED']}", flush=True)
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
