"""The collector walks through everything while nobody is at work, and leaves those at work alone."""

import asyncio
import gc
import weakref
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from roomful.app.collecting import WALKS_BEFORE_ALL, collect_in_quiet
from roomful.runs.worker import Worker


class Ring:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def old_ring() -> Iterator[weakref.ref[Ring]]:
    """Garbage that only a walk through everything finds, and as many walks since the last such one as it
    takes."""
    gc.collect()
    gc.disable()
    ring = Ring()
    for _ in range(WALKS_BEFORE_ALL // 10 + 1):
        gc.collect(1)
    left = weakref.ref(ring)
    del ring
    yield left
    gc.enable()


def quiet(*, is_idle: bool) -> None:
    asyncio.run(collect_in_quiet(cast(Worker, SimpleNamespace(is_idle=is_idle))))


def test_what_is_left_goes_when_no_run_is_driven(old_ring: weakref.ref[Ring]) -> None:
    quiet(is_idle=False)
    assert old_ring() is not None
    quiet(is_idle=True)
    assert old_ring() is None


def test_where_nothing_happened_nothing_is_looked_for(old_ring: weakref.ref[Ring]) -> None:
    quiet(is_idle=True)
    ring = weakref.ref(Ring())
    quiet(is_idle=True)
    assert ring() is not None
