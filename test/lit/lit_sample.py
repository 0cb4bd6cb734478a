"""Format of lit that runs a sample of the tests."""

import random

import lit.formats


class Sample(lit.formats.ShTest):
    """One test of each `size` in a folder, drawn by `seed`."""

    def __init__(self, size, seed):
        super().__init__(execute_external=False)
        self.size = size
        self.seed = seed

    def getTestsInDirectory(self, suite, folder, *arguments):
        tests = list(super().getTestsInDirectory(suite, folder, *arguments))
        tests.sort(key=lambda test: test.path_in_suite)
        random.Random(f"{self.seed} {'/'.join(folder)}").shuffle(tests)
        return tests[: -(-len(tests) // self.size)]
