"""A page read at any gateway is the fold of that gateway's stream up to the page's position, at every moment:
also while runs of both gateways write in the same space, and others read it all the time."""

import contextlib
import random
import threading
from collections.abc import Iterator
from typing import Any

from tests.http.pairing import Room
from tests.http.test_together import CARD
from tests.requirements import requirement
from tests.servers.cluster import Cluster
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, call, text
from tests.servers.roomful import Caller, Event, Listener, fold

RUNS = 6


@requirement("X-08", "X-05")
def test_every_page_at_every_gateway_is_the_fold_of_its_stream(cluster: Cluster) -> None:
    rng = random.Random(4)

    def answer(asked: Asked) -> Answer:
        if asked.messages[-1]["role"] == "tool":
            return Answer(text("That is all there is to say.", size=2))
        words = "".join(rng.choice("abc déf 😀") for _ in range(60))
        said = text(words, size=rng.randint(1, 9))
        return Answer([*said, *call("card", {"text": words}, size=rng.randint(1, 9))])

    with FakeOpenAI(answer) as model:
        room = Room(cluster, model, CARD)
        with room.ada.listen(room.id) as ada, room.bob.listen(room.id, args="ops") as bob:
            with _reading(room.ada, room.id) as at_one, _reading(room.bob, room.id) as at_two:
                for number in range(RUNS):
                    (room.ada, room.bob)[number % 2].say(room.id, f"go {number}")
                for listener in (ada, bob):
                    listener.wait_for("run.completed", count=RUNS)
            compared = _compare(ada, at_one) + _compare(bob, at_two)
        assert compared > 2 * RUNS


@contextlib.contextmanager
def _reading(caller: Caller, space_id: str) -> Iterator[list[dict[str, Any]]]:
    """Reads the page again and again meanwhile."""
    pages: list[dict[str, Any]] = []
    enough = threading.Event()

    def read() -> None:
        while not enough.is_set():
            pages.append(caller.get(f"/api/spaces/{space_id}/messages"))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield pages
    finally:
        enough.set()
        reader.join()


def _compare(listener: Listener, pages: list[dict[str, Any]]) -> int:
    """How many pages were as of a moment that the listener heard of."""
    compared = 0
    for page in pages:
        until = [event for event in listener.events if _is_by(event, page["position"])]
        if until and until[0].name == "snapshot":
            assert fold(until) == page["messages"], page["position"]
            compared += 1
    return compared


def _is_by(event: Event, position: str) -> bool:
    epoch, _, offset = (event.id or "").rpartition(".")
    last_epoch, _, last = position.rpartition(".")
    return epoch == last_epoch and int(offset) <= int(last)
