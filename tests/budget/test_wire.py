"""What a run is on the wire for one who reads it as operations."""

from collections.abc import Iterator

import pytest

from tests.budget.counted import CARD
from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.roomful import Caller, Roomful, openai

KILOBYTES = 40
"""Each of 200 deltas has its id, its event's name, its call's id, a path and eight characters: 36.1 KB."""


def _arguments_in(deltas: int) -> Answer:
    arguments = {"title": "x" * (8 * deltas - len('{"title": ""}'))}
    return Answer(call("card", arguments, size=8), held=True)


def _bytes_of_a_run(ada: Caller, model: FakeOpenAI, space_id: str, deltas: int) -> int:
    """From its first message to its end. The model goes on when what it said is read: so that no two deltas
    come as one."""
    model.answer(_arguments_in(deltas), Answer(text("So.")))
    headers = {"authorization": f"Bearer {ada.token}"}
    url = f"{ada.house.url}/api/spaces/{space_id}/stream?args=ops"
    with ada.house.client.stream("GET", url, headers=headers) as stream:
        frames = _frames(stream.iter_raw())
        next(frames)
        ada.say(space_id, "go")
        model.release(times=4)
        told = seen = 0
        for frame in frames:
            told += len(frame)
            if b"event: tool-input-delta\n" in frame:
                seen += 1
                model.release(times=1 if seen < deltas - 5 else 20)
            if b"event: run.completed\n" in frame:
                assert seen >= deltas - 10, f"{deltas} deltas came as {seen}"
                return told
    pytest.fail("the stream ended before the run")


def _frames(pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n\n")
        yield from (frame + b"\n\n" for frame in whole)


def test_the_bytes_of_a_run_whose_call_comes_in_200_deltas(house: Roomful) -> None:
    ada = house.person("ada")
    sizes: list[int] = []
    for deltas in (200, 400):
        with FakeOpenAI() as model:
            agent = house.agent(f"helper-{deltas}", openai(model.base_url), CARD, speaks="both")
            sizes.append(_bytes_of_a_run(ada, model, house.space(f"room-{deltas}", "ada", agent), deltas))
    assert sizes[0] <= KILOBYTES * 1000, f"{sizes[0] / 1000:.1f} KB"
    assert sizes[1] <= 2 * sizes[0], f"twice the deltas are {sizes[1] / sizes[0]:.2f} times the bytes"
