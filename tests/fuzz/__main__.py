"""One input again: `python -m tests.fuzz NAME SEED NUMBER`, or so many of them: `… NAME SEED FIRST:LAST`."""

import sys
import time
from collections import Counter

from tests.fuzz.engine import try_one
from tests.fuzz.targets import TARGETS

name, seed, numbers = sys.argv[1:]
first, _, last = numbers.partition(":")
began = time.process_time()
chosen = range(int(first), int(last or int(first) + 1))
tally = Counter(try_one(TARGETS[name], int(seed), number) for number in chosen)
print(f"{dict(tally)} in {time.process_time() - began:.1f} s of the processor")
