"""`python -m tests.simulation SEED [SEED]`: tells one history, or those from one seed up to another."""

import sys
import tempfile
from pathlib import Path

from tests.simulation.history import tell

first, last = int(sys.argv[1]), int(sys.argv[-1])
for seed in range(first, last + 1):
    with tempfile.TemporaryDirectory() as folder:
        (own := Path(folder, "here")).mkdir()
        told = tell(seed, own)
    print(seed, told.digest, f"{told.events} events, {told.runs} runs, {told.crashes} crashes", flush=True)
    for problem in told.problems:
        print(f"  {problem}", flush=True)
