"""How much one gateway carries. Every test counts what came and prints what it took:

pytest -m long tests/load/test_load.py -s
"""

import time
from pathlib import Path
from statistics import median

import pytest

from tests.load.crowd import Crowd, Seat
from tests.load.hall import Hall, paced
from tests.load.measuring import cpu_seconds, figure, raise_file_limit, resident, say
from tests.servers.cluster import eventually
from tests.servers.fake_openai import Answer, FakeOpenAI
from tests.servers.roomful import Roomful, openai

OPEN = "roomful_streams_open"
ACTIVE = "roomful_runs_active"


@pytest.mark.long
def test_five_thousand_idle_streams_cost_little_and_posts_still_answer(tmp_path: Path) -> None:
    spaces, members, streams, posts = 50, 5, 20, 200
    raise_file_limit()
    with Roomful(tmp_path, ROOMFUL_LIMIT_STREAMS="0") as house, Crowd() as crowd:
        people = {
            f"space{number}": [house.person(f"p{number}-{one}") for one in range(members)]
            for number in range(spaces)
        }
        for space_id, here in people.items():
            house.space(space_id, *[one.id for one in here])
        seats = [Seat(space_id, one.token) for space_id, here in people.items() for one in here * streams]
        before = resident(house.pid)
        crowd.open("idle", house.port, seats)
        assert figure(house, OPEN) == len(seats) == 5000
        each = (resident(house.pid) - before) / len(seats)
        worked, began = cpu_seconds(house.pid), time.monotonic()
        took = list[float]()
        for number in range(posts):
            sent = time.monotonic()
            people[f"space{number % spaces}"][0].say(f"space{number % spaces}", "Anybody here?")
            took.append((time.monotonic() - sent) * 1000)
        crowd.wait("idle", posts // spaces)
        share = (cpu_seconds(house.pid) - worked) / (time.monotonic() - began)
        tally = crowd.tally("idle")
        assert (tally.streams, tally.gaps, tally.fewest, tally.most) == (5000, 0, 4, 4)
    say(
        f"5000 idle streams: {each / 1024:.1f} KiB each, posts take {median(took):.1f} ms "
        f"(at most {max(took):.1f}), {share:.0%} of a core while {posts} posts go to 100 readers each"
    )
    assert each < 64 * 1024


@pytest.mark.long
def test_a_thousand_subscribers_get_twenty_thousand_events_a_second_each_once(tmp_path: Path) -> None:
    """Four agents speak at once, a fifth of the subscribers hangs up meanwhile and comes back, and what each
    of them has is complete."""
    seconds, speakers, per_second = 10, 4, 40
    with Hall(tmp_path, people=1000) as hall, Crowd() as crowd:
        start = hall.position
        crowd.open("all", hall.house.port, [seat._replace(last=start) for seat in hall.seats()])
        worked, began = cpu_seconds(hall.house.pid), time.monotonic()
        count = seconds * per_second // speakers
        runs = hall.begin(count=count, per_second=per_second / speakers, speakers=speakers)
        crowd.come_back("all", 200)
        for run_id in runs:
            eventually(lambda run_id=run_id: hall.has_ended(run_id), "the end of a run", 120)
        head, epoch = int(hall.position.rpartition(".")[2]), start.rpartition(".")[0]
        told = head - int(start.rpartition(".")[2])
        crowd.wait("all", told)
        took = time.monotonic() - began
        worked = cpu_seconds(hall.house.pid) - worked
        tally = crowd.tally("all")
        assert set(crowd.positions("all")) == {f"{epoch}.{head}"}
        assert (tally.streams, tally.gaps, tally.fewest, tally.most) == (1000, 0, told, told)
        memory, reached = resident(hall.house.pid), tally.events / took
    say(
        f"{told} events to 1000 subscribers in {took:.1f} s: {reached:.0f} deliveries a second, "
        f"p50 {tally.quantile(0.5):.0f} ms, p99 {tally.quantile(0.99):.0f} ms, "
        f"{worked / tally.events * 1e6:.1f} µs of the gateway's core each, {memory / 1e6:.0f} MB"
    )
    assert reached >= 20_000


@pytest.mark.long
def test_two_hundred_runs_live_at_once_all_end_whole(tmp_path: Path) -> None:
    words, per_second, spaces = 100, 5, [f"space{number}" for number in range(200)]
    raise_file_limit()
    with (
        FakeOpenAI(lambda _: Answer(paced(words, per_second))) as model,
        Roomful(tmp_path, ROOMFUL_LIMIT_STREAMS="0") as house,
        Crowd() as crowd,
    ):
        ada = house.person("ada")
        for space_id in spaces:
            house.agent(f"agent-of-{space_id}", openai(model.base_url), speaks="both")
            house.space(space_id, "ada", f"agent-of-{space_id}")
        crowd.open("all", house.port, [Seat(space_id, ada.token) for space_id in spaces])
        before, worked, began = resident(house.pid), cpu_seconds(house.pid), time.monotonic()
        runs = [run["runId"] for space_id in spaces for run in ada.say(space_id, "Please.")["runs"]]
        live = eventually(lambda: figure(house, ACTIVE) >= 200 and resident(house.pid), "200 runs at once")
        eventually(lambda: figure(house, ACTIVE) == 0, "all of them end", 300)
        took, worked = time.monotonic() - began, cpu_seconds(house.pid) - worked
        assert [house.admin.get(f"/api/runs/{run_id}")["status"] for run_id in runs] == ["completed"] * 200
        for space_id in spaces:
            [_, message] = ada.messages(space_id)
            [part] = message["parts"]
            assert (part["status"], part["text"].count("@")) == ("complete", 2 * words)
        heads = [ada.get(f"/api/spaces/{space_id}/messages")["position"] for space_id in spaces]
        eventually(lambda: crowd.positions("all") == heads, "every reader has every event")
        tally = crowd.tally("all")
        assert (tally.streams, tally.gaps) == (200, 0)
    say(
        f"200 live runs: all ended whole in {took:.1f} s (the model takes {words / per_second:g}), "
        f"{tally.events} events, p50 {tally.quantile(0.5):.0f} ms, p99 {tally.quantile(0.99):.0f} ms, "
        f"{worked / took:.0%} of a core, {(live - before) / 200 / 1024:.0f} KiB a run"
    )
