"""Fails unless a command fails with a sentence: finds.py SENTENCE COMMAND..."""

import subprocess
import sys

done = subprocess.run(sys.argv[2:], capture_output=True, text=True, check=False)
sys.exit(0 if done.returncode and sys.argv[1] in done.stdout else done.stdout or 1)
