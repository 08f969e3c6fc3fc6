"""When Python's collector walks: nearly everything goes without it, and while it walks everybody waits."""

import gc

from roomful.runs.worker import Worker

YOUNG = 1_000
"""So many more objects than before, and the newest are looked at."""
WALKS_BEFORE_OLDER = 5
WALKS_BEFORE_ALL = 100
"""Through everything it walks so rarely while runs are driven, and ten times as often while none is."""


def collect_rarely() -> None:
    """What is there now stays for good."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, WALKS_BEFORE_OLDER, WALKS_BEFORE_ALL)


async def collect_in_quiet(worker: Worker) -> None:
    if worker.is_idle and gc.get_count()[2] >= WALKS_BEFORE_ALL // 10:
        gc.collect()
