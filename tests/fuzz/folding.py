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
    is_plain: bool
    """As a gateway tells it."""


def told(chance: Random) -> Told:
    case = chance.choice(CASES)
    events = [(name, data) for name, data in case["events"]]
    is_plain = chance.random() < 0.3
    if not is_plain:
        events += [tuple(event) for event in chance.choices(EVENTS, k=chance.randint(0, 20))]
        chance.shuffle(events)
        events = [(name, _changed(chance, data)) for name, data in events]
    return Told(case["snapshot"], events, chance.randint(0, len(events)), is_plain)


def _changed(chance: Random, data: Any) -> Any:
    if chance.random() < 0.6:
        return data
    if chance.random() < 0.5 or "ops" in data:
        return data | {
            name: chance.choice(IDS[name]) for name in sorted(IDS.keys() & data) if chance.random() < 0.3
        }
    return grammar.damaged_value(chance, data, NAMES)


def _view(snapshot: Any, messages: list[Message] | None = None) -> SpaceView:
    first = msgspec.convert(snapshot, Snapshot)
    view = SpaceView()
    runs = [run_as_told(run, "room") for run in first.runs]
    view.load(first.messages if messages is None else messages, first.members, runs)
    return view


def check_fold(given: Told) -> str:
    view, open_view, middle = _view(given.snapshot), SpaceView(open_only=True), None
    word = "plain" if given.is_plain else "mixed"
    for number, (name, data) in enumerate(given.events):
        if number == given.middle:
            middle = _view(given.snapshot, _decode(encode_json(view.messages())))
        try:
            event = read_event(name, json.dumps(data).encode())
        except Invalid:
            word = "broken"
            continue
        if event is None or isinstance(event, Snapshot | Draining | Truncated):
            continue
        for each in (view, open_view, middle):
            if each is not None:
                each.apply(event)
    messages = view.messages()
    assert _decode(encode_json(messages)) == messages
    if given.is_plain and middle is not None:
        assert middle.messages() == messages, "whoever comes in the middle sees something else"
    return word


TARGETS = (target("fold", told, check_fold, ("plain", "mixed", "broken"), short=500, long=40_000),)
