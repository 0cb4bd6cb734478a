"""Wall and processor time of passes, as -time=json has them: both add up."""

import json
import sys

times = json.load(sys.stdin)
for one, all_ in (("ms", "total_ms"), ("cpu_ms", "total_cpu_ms")):
    parts = [p[one] for p in times["passes"]]
    assert all(0 <= p < 1e6 for p in parts), times
    assert times[all_] > 0 and abs(sum(parts) - times[all_]) <= 1e-6 * times[all_], times
