"""Events by the hundred, in any order and half of them broken: the fold takes them or leaves them."""

import json
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec

from roomful.domain.answers import Snapshot, run_as_told
from roomful.domain.errors import Invalid
from roomful.domain.fold import SpaceView
from roomful.domain.messages import Message
from roomful.domain.reading import Draining, Truncated, read_event
from roomful.domain.shape import encode_json
from tests.fuzz import grammar
from tests.fuzz.engine import target

CASES = json.loads((Path(__file__).parents[1] / "data" / "fold_cases.json").read_text())
EVENTS = [event for case in CASES for event in case["events"]]
IDS = {
    "messageId": ("msg_1", "msg_2", "msg_9"),
    "partId": ("prt_0", "prt_1", "prt_2", "prt_9"),
    "toolCallId": ("call_1", "call_2", "call_9"),
    "runId": ("run_1", "run_2"),
}
NAMES = (
    "ops",
    "args",
    "delta",
    "offset",
    "path",
    "call",
    "child",
    "message",
    "parts",
    "status",
    "toolCallId",
)
_decode = msgspec.json.Decoder(list[Message]).decode


class Told(NamedTuple):
    snapshot: Any
    events: list[tuple[str, Any]]
    middle: int
    after: Any
    """What readers see in the end, where it is told as a gateway does."""


def told(chance: Random) -> Told:
    case = chance.choice(CASES)
    events = [(name, data) for name, data in case["events"]]
    after = None
    if chance.random() < 0.3:
        after = case["after"]["messages"]
        events = [each for each in events for _ in range(2 if each[0] == "text-delta" else 1)]
    else:
        events += [tuple(event) for event in chance.choices(EVENTS, k=chance.randint(0, 20))]
        chance.shuffle(events)
        events = [(name, _changed(chance, data)) for name, data in events]
    return Told(case["snapshot"], events, chance.randint(0, len(events)), after)


def _changed(chance: Random, data: Any) -> Any:
    if chance.random() < 0.6:
        return data
    if chance.random() < 0.5 or "ops" in data:
        return data | {
            name: chance.choice(IDS[name]) for name in sorted(IDS.keys() & data) if chance.random() < 0.3
        }
    return grammar.damaged_value(chance, data, NAMES)


def _view(snapshot: Any, messages: list[Message] | None = None) -> SpaceView:
    first = msgspec.json.decode(json.dumps(snapshot), type=Snapshot)
    view = SpaceView()
    runs = [run_as_told(run, "room") for run in first.runs]
    view.load(first.messages if messages is None else messages, first.members, runs)
    return view


def _apply(view: SpaceView, name: str, data: Any) -> bool:
    """Whether it could be read. A view keeps what it is given: each has its own."""
    try:
        event = read_event(name, json.dumps(data).encode())
    except Invalid:
        return False
    if event is not None and not isinstance(event, Snapshot | Draining | Truncated):
        view.apply(event)
    return True


def check_fold(given: Told) -> str:
    view, open_view, middle = _view(given.snapshot), SpaceView(open_only=True), None
    word = "mixed" if given.after is None else "plain"
    for number, (name, data) in enumerate(given.events):
        if number == given.middle:
            middle = _view(given.snapshot, _decode(encode_json(view.messages())))
        for each in (view, open_view, middle):
            if each is not None and not _apply(each, name, data):
                word = "broken"
    messages = view.messages()
    assert _decode(encode_json(messages)) == messages
    if given.after is not None:
        assert json.loads(encode_json(messages)) == given.after
        assert middle is None or middle.messages() == messages, "whoever comes in the middle sees otherwise"
    return word


TARGETS = (target("fold", told, check_fold, ("plain", "mixed", "broken"), short=500, long=40_000),)
