"""Runs a command and succeeds if it ends with the given code.

    exits.py CODE COMMAND...
"""

import subprocess
import sys

code = subprocess.run(sys.argv[2:]).returncode
if code != int(sys.argv[1]):
    sys.exit(f"{sys.argv[2]}: exit code {code}, not {sys.argv[1]}")
