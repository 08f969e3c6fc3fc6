"""However many do the same at the same moment, at whichever gateway, it is done once and all are told so.

`pytest -m long tests/load/test_races.py -s` runs a thousand races; RACES sets another number.
"""

import os
import random
from collections.abc import Iterator

import pytest

from tests.load.measuring import say
from tests.load.racing import Race, asks_and_repeats, heard, winner_of
from tests.requirements import requirement
from tests.servers.cluster import Cluster
from tests.servers.fake_openai import FakeOpenAI

SUBMITTERS = 50
ROOMFUL_OF_RACES = 25
"""In one space: as many as one page shows."""


@pytest.fixture
def model() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(asks_and_repeats) as server:
        yield server


def race_to_answer(cluster: Cluster, model: FakeOpenAI, count: int) -> int:
    """Gives how many races were won at the first gateway."""
    won_at_first = 0
    with Race(cluster, model, submitters=SUBMITTERS) as race:
        for _ in range(count):
            asked = len(model.requests)
            run_id, call_id = race.card()
            winner = winner_of(race.answers(run_id, call_id))
            assert race.ends(run_id) == {"run.completed"}
            for told in race.told(run_id):
                assert told == ["tool-call", "run.waiting_tool", "tool-call.complete", "run.completed"]
            card, words = race.parts(run_id)
            assert (card["status"], card["result"], card["answeredBy"]) == (
                "complete",
                {"by": winner},
                winner,
            )
            assert heard(words) == {"by": winner}
            assert len(model.requests) - asked == 2, "the run went on more than once"
            won_at_first += next(one for one in race.people if one.id == winner).house is cluster.one
    return won_at_first


@requirement("X-08", "C-14")
def test_of_fifty_who_answer_at_two_gateways_one_wins(cluster: Cluster, model: FakeOpenAI) -> None:
    race_to_answer(cluster, model, 10)


@pytest.mark.long
@requirement("X-08", "C-14")
def test_a_thousand_races_of_fifty_have_one_winner_each(cluster: Cluster, model: FakeOpenAI) -> None:
    races, won_at_first = int(os.environ.get("RACES", "1000")), 0
    for first in range(0, races, ROOMFUL_OF_RACES):
        won_at_first += race_to_answer(cluster, model, min(ROOMFUL_OF_RACES, races - first))
    say(f"{races} races of {SUBMITTERS}: one winner each, {won_at_first} of them at the first gateway")


def race_to_end(cluster: Cluster, model: FakeOpenAI, count: int, seed: int) -> list[str]:
    """People answer, others cancel, and time runs out. Gives how the runs ended."""
    dice, endings = random.Random(seed), list[str]()
    with Race(cluster, model, submitters=20, answerSeconds=0.2) as race:
        for _ in range(count):
            run_id, call_id = race.card()
            acts = [race.answering(one, run_id, call_id) for one in race.people[:16]]
            acts += [race.canceling(one, run_id) for one in race.people[16 : 16 + dice.choice((0, 2, 4))]]
            dice.shuffle(acts)
            said = race.at_once(acts)
            answers = [one for one in said if "id" not in one.body]
            cancels = [one for one in said if "id" in one.body]
            [ending] = race.ends(run_id)
            assert all(told.count(ending) <= 1 for told in race.told(run_id))
            card = race.parts(run_id)[0]
            taken = [one.who for one in answers if one.status == 200]
            assert taken == ([card["answeredBy"]] if card["status"] == "complete" else [])
            assert {one.status for one in answers} <= {200, 409}
            for one in answers:
                if "outcome" in one.body:
                    assert one.body["outcome"]["status"] == card["status"]
            for one in cancels:
                assert (one.status, one.body["status"]) == (200, ending.removeprefix("run.")), one
            endings.append(f"{card['status']}, {ending.removeprefix('run.')}")
    return endings


@requirement("X-08", "C-14")
def test_answers_cancels_and_a_deadline_agree_on_one_end(cluster: Cluster, model: FakeOpenAI) -> None:
    race_to_end(cluster, model, 10, seed=1)


@pytest.mark.long
@requirement("X-08", "C-14")
def test_answers_cancels_and_deadlines_agree_two_hundred_times(cluster: Cluster, model: FakeOpenAI) -> None:
    endings = [end for seed in range(8) for end in race_to_end(cluster, model, ROOMFUL_OF_RACES, seed)]
    counted = {end: endings.count(end) for end in sorted(set(endings))}
    say(f"{len(endings)} races of answers, cancels and a deadline: {counted}")


def race_to_post(cluster: Cluster, model: FakeOpenAI, count: int) -> None:
    with Race(cluster, model, submitters=SUBMITTERS) as race:
        ada = race.people[0]
        path = f"/api/spaces/{race.room.id}/messages"
        for number in range(count):
            body = {"text": f"message {number}", "clientMessageId": race.new_key()}
            at = [ada.at(gateway) for gateway in cluster.gateways] * (SUBMITTERS // 2)
            said = race.at_once([lambda one=one, body=body: race.post(one, path, body) for one in at])
            assert {one.status for one in said} == {201}
            assert len({one.body["message"]["id"] for one in said}) == 1
            [[run_id]] = {tuple(run["runId"] for run in one.body["runs"]) for one in said}
            race.room.ada.post(f"/api/runs/{run_id}/cancel")
            race.ends(run_id)
        stored = race.room.alike(*race.readers)
        texts = [one["parts"][0]["text"] for one in stored if one["entityId"] == ada.id]
        assert texts == [f"message {number}" for number in range(count)]
        assert [one["seq"] for one in stored] == list(range(1, len(stored) + 1))


@requirement("X-08")
def test_fifty_posts_with_one_key_are_one_message(cluster: Cluster, model: FakeOpenAI) -> None:
    race_to_post(cluster, model, 5)


@pytest.mark.long
@requirement("X-08")
def test_two_hundred_races_of_posts_with_one_key_are_one_message_each(
    cluster: Cluster, model: FakeOpenAI
) -> None:
    for _ in range(10):
        race_to_post(cluster, model, 20)
    say(f"200 races of {SUBMITTERS} posts with one key: one message and one run each")
