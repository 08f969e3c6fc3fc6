"""How many functions a delta goes through, from the model's bytes to the reader's socket.

Each is some microseconds of the one core that all streams share: when many stream, that is what it has time
for, and what is late is late because of it.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

import roomful
from tests.budget.counted import CARD
from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.inhouse import InHouse
from tests.servers.roomful import openai

DELTAS = 200
FIRST = 20
"""From here on they are counted, for so many."""
COUNTED = 150
MOST = 14
"""For who posted and watches what comes of it, and for who follows the space. What is not called for most
deltas, as when what grew is saved, does not count."""
PACKAGE = str(Path(roomful.__file__).parent)


class Calls:
    """Those of functions of the package, in threads that begin after this one is made."""

    def __init__(self) -> None:
        self.is_counting = False
        self.made: Counter[str] = Counter()
        threading.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and self.is_counting and frame.f_code.co_filename.startswith(PACKAGE):
            self.made[frame.f_code.co_qualname] += 1


@pytest.fixture
def calls() -> Iterator[Calls]:
    yield Calls()
    threading.setprofile(None)


@pytest.mark.parametrize("by", ["post", "space"])
def test_a_delta_goes_through_few_functions(tmp_path: Path, calls: Calls, by: str) -> None:
    arguments = {"title": "x" * (8 * DELTAS)}
    with FakeOpenAI() as model, InHouse(tmp_path) as house:
        ada = house.person("ada")
        space_id = house.space("room", "ada", house.agent("helper", openai(model.base_url), CARD))
        model.answer(Answer(call("card", arguments, size=8), held=True), Answer(text("So.")))
        headers = {"authorization": f"Bearer {ada.token}", "accept": "text/event-stream"}
        url = f"{house.url}/api/spaces/{space_id}/"
        if by == "post":
            asked = house.client.stream(
                "POST", f"{url}messages?args=ops", headers=headers, json={"text": "go"}
            )
        else:
            asked = house.client.stream("GET", f"{url}stream?args=ops", headers=headers)
        with asked as stream:
            if by == "space":
                ada.say(space_id, "go")
            model.release(times=4)
            seen = 0
            for line in stream.iter_lines():
                if line == "event: tool-input-delta":
                    seen += 1
                    calls.is_counting = FIRST <= seen < FIRST + COUNTED
                    model.release(times=1 if seen < DELTAS - 5 else 20)
                if line == "event: run.completed":
                    break
    assert seen >= DELTAS - 10, f"{DELTAS} deltas came as {seen}"
    for_each = {name: round(count / COUNTED) for name, count in calls.made.items() if count > COUNTED / 2}
    assert for_each
    assert sum(for_each.values()) <= MOST, for_each
