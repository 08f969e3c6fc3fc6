"""A model's step with several calls at once, their pieces mixed: each call is seen where its own arguments
say, as much as its tool shows, and nowhere else."""

import asyncio
import logging
from random import Random
from typing import Any, NamedTuple

from roomful.domain.arguments import apply_ops
from roomful.domain.deltas import CallOpened, CallPiece, ModelDelta, TextPiece
from roomful.domain.events import Announcement, CallInput, SpaceEvent, TextDelta
from roomful.domain.fold import SpaceView
from roomful.domain.runs import Call
from roomful.domain.shape import UNSET
from roomful.domain.tools import TextShape, ToolSpec, Visibility
from roomful.routing.route import Route
from tests.fuzz import grammar
from tests.fuzz.arguments import routing_pairs
from tests.fuzz.engine import target
from tests.routing.second_opinion import (
    FAILS,
    SPACES,
    judged,
    parsed,
)
from tests.routing.stepping import TOOLS, told


class Asked(NamedTuple):
    tool: str
    text: str


class Step(NamedTuple):
    calls: list[Asked]
    deltas: list[ModelDelta]
    active: str | None


def step(chance: Random) -> Step:
    calls = [Asked(chance.choice([*TOOLS, "none"]), _arguments(chance)) for _ in range(chance.randint(1, 4))]
    pieces = {index: grammar.cut(chance, call.text) or [""] for index, call in enumerate(calls)}
    deltas: list[ModelDelta] = []
    opened = 0
    while pieces:
        if opened < len(calls) and (chance.random() < 0.2 or not any(index < opened for index in pieces)):
            deltas.append(CallOpened(opened, calls[opened].tool, f"p{opened}"))
            opened += 1
            continue
        index = chance.choice([index for index in pieces if index < opened])
        deltas.append(CallPiece(index, pieces[index].pop(0)))
        if not pieces[index]:
            del pieces[index]
        if chance.random() < 0.1:
            deltas.append(TextPiece("thinking"))
    return Step(calls, deltas, chance.choice(["space-1", "a", "left", None]))


def _arguments(chance: Random) -> str:
    text = routing_pairs(chance)
    return grammar.damaged(chance, text) if chance.random() < 0.2 else text


def check_step(given: Step) -> str:
    _log.disabled = True  # of calls that nobody sees there are thousands
    try:
        said, heard = _runner.run(told(given.deltas, given.active))
    finally:
        _log.disabled = False
    assert sorted(call.index for call in said.calls) == list(range(len(given.calls))), "calls share a place"
    for asked, call in zip(given.calls, said.calls, strict=True):
        _check_call(given, asked, call, [one for one in heard if _is_of(one.event, call)])
    _check_views(heard)
    return "shown" if heard else "unseen"


def _check_call(given: Step, asked: Asked, call: Call, heard: list[Announcement]) -> None:
    assert call.tool_name == asked.tool
    assert {one.space_id for one in heard} <= set(call.space_ids), "heard in another space"
    assert {place.space_id for place in call.places} <= set(call.space_ids)
    tool = TOOLS.get(asked.tool)
    if tool is None:
        assert (call.status, heard) == ("error", [])
        return
    verdict = judged(asked.text, tool.route, SPACES, given.active)
    _check_route(verdict, call, asked)
    assert {one.audience for one in heard} <= {call.target_entity_id or None}
    if tool.visibility is not Visibility.FULL:
        assert not any(isinstance(one.event, CallInput) for one in heard), "arguments that nobody may see"
        assert all(getattr(one.event, "args", UNSET) is UNSET for one in heard)
    if tool.visibility in (Visibility.HIDDEN, Visibility.RESULT):
        assert heard == []
    if verdict != FAILS:
        _check_words(tool, call, asked, heard)


def _check_route(verdict: Route | str, call: Call, asked: Asked) -> None:
    """A call that closed may be a card already, which somebody answers, when more text follows it."""
    assert set(call.space_ids) <= set(SPACES), "a space that the agent is not in"
    if verdict == FAILS:
        assert call.status == "error" or (call.status == "waiting" and parsed(asked.text) is None)
    else:
        assert isinstance(verdict, Route)
        assert tuple(call.space_ids) == verdict.spaces, "another space"
        assert call.target_entity_id == (verdict.entity or UNSET)
        wanted = "waiting" if asked.tool == "card" and verdict.spaces else "ready"
        assert call.status == wanted or (asked.tool == "card" and call.status == "error")


def _check_words(tool: ToolSpec, call: Call, asked: Asked, heard: list[Announcement]) -> None:
    """What each space read while the call was written is what the whole of it says."""
    pairs = parsed(asked.text)
    assert pairs is not None
    routing = {*tool.route.args, tool.route.entity_arg} if tool.route.injected else set()
    args = {key: value for key, value in pairs if key not in routing}
    assert repr(call.args) == repr(args)
    for space in call.space_ids:
        here = [one.event for one in heard if one.space_id == space]
        if isinstance(tool.shape, TextShape):
            text = args.get(tool.shape.from_arg)
            written = "".join(event.delta for event in here if isinstance(event, TextDelta))
            assert written == (text if isinstance(text, str) else "") or len(pairs) > len(dict(pairs))
        elif tool.visibility is Visibility.FULL:
            grown: dict[str, Any] = {}
            for event in here:
                if isinstance(event, CallInput):
                    grown = apply_ops(grown, event.ops)
            assert grown == args


def _is_of(event: SpaceEvent, call: Call) -> bool:
    if isinstance(event, TextDelta):
        return event.part_id in {place.part_id for place in call.places}
    return getattr(event, "tool_call_id", None) == call.id


def _check_views(heard: list[Announcement]) -> None:
    views = {space: SpaceView() for space in SPACES}
    for announcement in heard:
        assert announcement.space_id in views, "somewhere else"
        views[announcement.space_id].apply(announcement.event)
    for view in views.values():
        for message in view.messages():
            assert not any(part.status == "streaming" for part in message.parts), "left streaming"


_log = logging.getLogger("roomful.routing")
_runner = asyncio.Runner()
TARGETS = (target("step", step, check_step, ("shown", "unseen"), short=300, long=30_000),)
