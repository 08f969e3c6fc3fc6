"""A gateway that is busy for long keeps no more than one that is busy for a moment.

`pytest -m long tests/load/test_soak.py -s` takes half an hour; SOAK_SECONDS sets another time.
"""

import contextlib
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import linear_regression, mean
from typing import Any

import pytest

from tests.http.test_delegation import same
from tests.load.bustle import PATIENCE, Bustle, answer
from tests.load.measuring import cpu_seconds, figure, files_named, open_files, resident, say, threads
from tests.servers.cluster import Reader, eventually
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.roomful import Roomful

QUIET = 180.0
"""How long they are busy before they pause, and what they have read is compared with what is stored."""
EVERY = 10.0


@dataclass
class Sample:
    at: float
    memory: int
    log: int
    """Bytes of the write-ahead log."""


@dataclass(frozen=True)
class Left:
    """What a gateway holds when nobody does anything."""

    files: int
    connections: int
    """To the database."""
    threads: int
    tasks: float


@dataclass
class Watch:
    """Looks at a gateway again and again, from a thread of its own."""

    house: Roomful
    samples: list[Sample] = field(default_factory=list[Sample])
    _stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "Watch":
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        log = self.house.folder / "roomful.db-wal"
        while not self._stop.wait(EVERY):
            self.samples.append(Sample(time.monotonic(), resident(self.house.pid), log.stat().st_size))


def left(house: Roomful) -> Left:
    return Left(
        files=open_files(house.pid),
        connections=files_named(house.pid, "roomful.db"),
        threads=threads(house.pid),
        tasks=figure(house, "roomful_tasks"),
    )


def busy(bustle: Bustle, seconds: float, seed: int) -> None:
    """Everybody is busy, and somebody in each space reads all the time; what each made of it is what is
    stored."""
    readers = [Reader(here[0], space_id, [bustle.house]) for space_id, here in bustle.people.items()]
    for reader in readers:
        reader.__enter__()
    try:
        bustle.go(seconds, seed, listeners=len(readers))
        for reader in readers:
            compare(reader)
    finally:
        for reader in readers:
            reader.__exit__()


def compare(reader: Reader) -> None:
    stored = reader.caller.messages(reader.space_id, limit=200)
    ids = {message["id"] for message in stored}

    def seen() -> list[dict[str, Any]]:
        return [message for message in reader.state() if message["id"] in ids]

    with contextlib.suppress(AssertionError):
        eventually(lambda: seen() == stored[-len(seen()) :], "all that was said", PATIENCE)
    same(seen(), stored[-len(seen()) :], f"{reader.space_id}: read and stored")
    assert len(seen()) >= min(50, len(stored))
    assert {message["status"] for message in stored} == {"final"}


def examine(house: Roomful) -> None:
    command = [sys.executable, "-m", "roomful.cli", "doctor", "--database", house.database]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
    assert (said.returncode, said.stdout[-14:]) == (0, "nothing wrong\n"), said.stdout


def soak(folder: Path, rounds: int, seconds: float) -> tuple[Watch, list[Left], Bustle, float]:
    with FakeOpenAI(answer) as model, Roomful(folder) as house, Watch(house) as watch:
        bustle = Bustle(house, model)
        lefts, began = list[Left](), cpu_seconds(house.pid)
        for number in range(rounds):
            busy(bustle, seconds, seed=number)
            eventually(lambda: figure(house, "roomful_streams_open") == 0, "nobody reads", PATIENCE)
            lefts.append(left(house))
            say(f"round {number + 1}: {lefts[-1]}, {resident(house.pid) / 1e6:.1f} MB")
        examine(house)
        return watch, lefts, bustle, cpu_seconds(house.pid) - began


def test_a_busy_moment_leaves_nothing_behind(tmp_path: Path) -> None:
    _, [first, second], bustle, _ = soak(tmp_path, rounds=2, seconds=3)
    assert min(bustle.done.values()) > 0
    assert second.tasks <= first.tasks
    assert second.connections <= first.connections + 2
    assert second.files <= first.files + 4


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_half_an_hour_is_flat(tmp_path: Path) -> None:
    whole = float(os.environ.get("SOAK_SECONDS", "1800"))
    rounds = max(3, round(whole / QUIET))
    watch, lefts, bustle, worked = soak(tmp_path, rounds, whole / rounds)
    samples = watch.samples[len(watch.samples) // 3 :]
    memory = [sample.memory for sample in samples]
    log = max(sample.log for sample in samples)
    slope, _ = linear_regression([sample.at for sample in samples], memory)
    growth = slope * (samples[-1].at - samples[0].at) / mean(memory)
    settled = lefts[len(lefts) // 3 :]
    say(f"{whole:g} s, {worked / whole:.0%} of a core, done: {dict(bustle.done)}")
    say(
        f"memory {mean(memory) / 1e6:.1f} MB ({min(memory) / 1e6:.1f} to {max(memory) / 1e6:.1f}), "
        f"over the last two thirds {growth:+.2%}; log {log / 1e6:.1f} MB at most"
    )
    assert growth < 0.05
    assert log < 64 * 1024 * 1024
    for one in settled:
        assert one.tasks <= settled[0].tasks
        assert one.connections <= settled[0].connections + 2
        assert one.files <= settled[0].files + 4
        assert one.threads <= settled[0].threads + 2
