"""Fails unless a page names every member of a JSON file: memory.py PAGE FILE."""

import json
import pathlib
import re
import sys


def members(value, found):
    for v in value.values() if isinstance(value, dict) else value:
        if isinstance(v, (dict, list)):
            members(v, found)
    if isinstance(value, dict):
        found.update(value)
    return found


named = set(re.findall(r"`(\w+)`", pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")))
missing = members(json.loads(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")), set()) - named
sys.exit(f"{sys.argv[1]} does not name {', '.join(sorted(missing))}" if missing else 0)
