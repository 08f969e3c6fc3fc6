"""Who does not read is cut, and the others do not notice.

`pytest -m long tests/load/test_slow_readers.py -s` compares a thousand readers with nine hundred and a
hundred that never read.
"""

import time
from pathlib import Path
from statistics import median

import pytest

from tests.load.crowd import Crowd, Tally
from tests.load.hall import Hall
from tests.load.measuring import figure, resident, say
from tests.servers.cluster import eventually

OPEN = "roomful_streams_open"


def test_readers_that_never_read_are_cut_and_the_others_get_every_event(tmp_path: Path) -> None:
    with Hall(tmp_path, people=10) as hall, Crowd() as crowd:
        crowd.open("readers", hall.house.port, hall.seats(0, 5))
        deaf = hall.deaf(5, hall.position)
        eventually(lambda: figure(hall.house, OPEN) == 10, "all ten streams")
        posted = 0
        while figure(hall.house, OPEN) > 5:
            assert posted < 500, "they were never cut"
            hall.say(90_000)
            posted += 1
        crowd.wait("readers", posted)
        tally = crowd.tally("readers")
        assert (tally.streams, tally.fewest, tally.most, tally.gaps) == (5, posted, posted, 0)
        for sock in deaf:
            sock.close()


def traffic(hall: Hall, seconds: int) -> None:
    """Ten words and ten messages of 16 KB a second: a reader who takes nothing is cut before the end."""
    hall.begin(count=10 * seconds, per_second=10)
    began = time.monotonic()
    for number in range(10 * seconds):
        time.sleep(max(0.0, began + number / 10 - time.monotonic()))
        hall.say(16_000)


def phase(hall: Hall, crowd: Crowd, seconds: int) -> Tally:
    """What the system keeps for a reader is filled first: what is measured waits in the gateway."""
    for _ in range(30):
        hall.say(90_000)
    all_told(hall, crowd)
    traffic(hall, seconds)
    return all_told(hall, crowd)


def all_told(hall: Hall, crowd: Crowd) -> Tally:
    last = int(hall.position.rpartition(".")[2])
    eventually(lambda: min(_numbers(crowd)) >= last, "everybody has everything", 120)
    return crowd.tally("readers")


def _numbers(crowd: Crowd) -> list[int]:
    return [int(position.rpartition(".")[2]) for position in crowd.positions("readers")]


@pytest.mark.long
def test_a_hundred_that_never_read_do_not_slow_nine_hundred(tmp_path: Path) -> None:
    rounds, seconds = 5, 15
    with Hall(tmp_path, people=1000) as hall, Crowd() as crowd:
        crowd.open("readers", hall.house.port, hall.seats(0, 900))
        phase(hall, crowd, seconds)
        before = resident(hall.house.pid)
        all_read, some_deaf, most = list[Tally](), list[Tally](), before
        for _ in range(rounds):
            crowd.open("others", hall.house.port, hall.seats(900))
            all_read.append(phase(hall, crowd, seconds))
            crowd.close("others")
            deaf = hall.deaf(100, hall.position)
            some_deaf.append(phase(hall, crowd, seconds))
            most = max(most, resident(hall.house.pid))
            assert figure(hall.house, OPEN) <= 901, "who never read was not cut"
            for sock in deaf:
                sock.close()
        for tally in (*all_read, *some_deaf):
            assert (tally.streams, tally.gaps, tally.ends) == (900, 0, 0)
            assert tally.fewest == tally.most
    ninety_nine = [[tally.quantile(0.99) for tally in each] for each in (all_read, some_deaf)]
    ratio = median(ninety_nine[1]) / median(ninety_nine[0])
    say(f"p99 with all reading {ninety_nine[0]} ms, with 100 deaf {ninety_nine[1]} ms: ratio {ratio:.3f}")
    say(f"memory {before / 1e6:.0f} MB before, {most / 1e6:.0f} MB at most")
    assert ratio < 1.1
    assert most - before < 100 * 2 * 1024 * 1024
