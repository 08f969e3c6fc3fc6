"""AG-UI's face without a server: whoever begins to listen anywhere has, at the end, what everybody has."""

import copy
import itertools
import json
import random
from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from roomful.domain.events import (
    CallCompleted,
    CallFailed,
    CallInput,
    CallReady,
    CallStarted,
    MessageChanged,
    PartReset,
    RunChanged,
    SpaceEvent,
    SubagentCall,
    SubagentEnded,
    SubagentText,
    TextDelta,
    TextEnded,
    TextStarted,
)
from roomful.domain.fold import SpaceView
from roomful.domain.messages import Message, TextPart, ToolCallPart
from roomful.domain.shape import UNSET
from roomful.domain.trails import Child, ChildCall
from roomful.web.faces.ag_ui import AgUiFace, Thread
from roomful.web.faces.ag_ui_messages import history

AT = "2026-01-01T00:00:00.000Z"
THREAD = Thread(id="t", space_id="room", viewer="ada")
ENDED = RunChanged(space_id="room", run_id="run", entity_id="bot", status="completed")
ASKED = Message(
    id="msg_0", space_id="room", entity_id="ada", seq=0, status="final", role="user",
    parts=[TextPart(id="prt_0", text="go")], created_at=AT, updated_at=AT,
)  # fmt: skip
PLACE: dict[str, Any] = {"space_id": "room", "message_id": "msg_1", "run_id": "run"}
NEW: dict[str, Any] = {**PLACE, "entity_id": "bot", "seq": 1, "created_at": AT}


class Reader:
    """A client as the protocol describes it: it adds, and refuses what does not fit."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.open: set[tuple[str, str]] = set()
        self.subagents: dict[str, bool] = {}

    def read(self, frames: bytes) -> None:
        for frame in frames.decode().split("\n\n")[:-1]:
            event = json.loads(frame.removeprefix("data: "))
            self._apply(event["type"], event)

    def _apply(self, type: str, event: dict[str, Any]) -> None:
        if type.endswith(("_START", "_END")):
            kind, _, end = type.rpartition("_")
            key = (kind, event.get("messageId") or event["toolCallId"])
            assert (key in self.open) == (end == "END"), event
            self.open ^= {key}
        match type:
            case "MESSAGES_SNAPSHOT":
                self.messages = event["messages"]
            case "TEXT_MESSAGE_START" | "REASONING_MESSAGE_START":
                if self._message(event["messageId"]) is None:
                    kept = ("role", "name", "subagentRunId", "metadata")
                    fields = {key: event[key] for key in kept if key in event}
                    self.messages.append({"id": event["messageId"], "content": "", **fields})
            case "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT":
                assert (type.removesuffix("_CONTENT"), event["messageId"]) in self.open
                self._known(event["messageId"])["content"] += event["delta"]
            case "TOOL_CALL_START":
                self._begin_call(event)
            case "TOOL_CALL_ARGS":
                assert ("TOOL_CALL", event["toolCallId"]) in self.open
                self._call(event["toolCallId"])["function"]["arguments"] += event["delta"]
            case "TOOL_CALL_RESULT":
                self._add_result(event)
            case "SUBAGENT_STARTED":
                assert event["subagentRunId"] not in self.subagents
                assert event.get("parentSubagentRunId") in {None, *self.subagents}
                self.subagents[event["subagentRunId"]] = True
            case "SUBAGENT_FINISHED" | "SUBAGENT_ERROR":
                assert self.subagents[event["subagentRunId"]]
                self.subagents[event["subagentRunId"]] = False
            case "RUN_FINISHED":
                assert not self.open
                assert not any(self.subagents.values())
            case _:
                assert type.endswith("_END") or type in ("RUN_STARTED", "REASONING_START"), type

    def _begin_call(self, event: dict[str, Any]) -> None:
        if any(
            call["id"] == event["toolCallId"] for one in self.messages for call in one.get("toolCalls", [])
        ):
            return
        message = self._message(event["parentMessageId"])
        if message is None:
            tag = {"subagentRunId": event["subagentRunId"]} if "subagentRunId" in event else {}
            message = {"id": event["parentMessageId"], "role": "assistant", **tag}
            self.messages.append(message)
        about = {"metadata": event["metadata"]} if "metadata" in event else {}
        function = {"name": event["toolCallName"], "arguments": ""}
        call = {"id": event["toolCallId"], "type": "function", "function": function, **about}
        message.setdefault("toolCalls", []).append(call)

    def _add_result(self, event: dict[str, Any]) -> None:
        assert self._message(event["messageId"]) is None
        kept = ("toolCallId", "content", "role", "subagentRunId", "metadata")
        message = {"id": event["messageId"], **{key: event[key] for key in kept if key in event}}
        calls = [[call["id"] for call in one.get("toolCalls", [])] for one in self.messages]
        at = next(at for at, ids in enumerate(calls) if event["toolCallId"] in ids) + 1
        while at < len(self.messages) and self.messages[at]["role"] == "tool":
            at += 1
        self.messages.insert(at, message)

    def _message(self, id: str) -> dict[str, Any] | None:
        return next((one for one in self.messages if one["id"] == id), None)

    def _known(self, id: str) -> dict[str, Any]:
        message = self._message(id)
        assert message is not None
        return message

    def _call(self, id: str) -> dict[str, Any]:
        calls = [call for one in self.messages for call in one.get("toolCalls", [])]
        return next(call for call in calls if call["id"] == id)


class Life:
    """A run as it might happen: what is said in a step, then its calls side by side."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.view = SpaceView()
        self.numbers = itertools.count(1)
        self.events: list[SpaceEvent] = []
        for step in range(chance.randint(1, 3)):
            calls = [self._say(step) for _ in range(chance.randint(1, 4))]
            self._side_by_side([self._execute(*call) for call in calls if call is not None])

    def _happens(self, event: SpaceEvent) -> None:
        self.events.append(copy.deepcopy(event))
        self.view.apply(event)

    def _side_by_side(self, running: list[Iterator[SpaceEvent]]) -> None:
        while running:
            one = self.chance.choice(running)
            event = next(one, None)
            if event is None:
                running.remove(one)
            else:
                self._happens(event)

    def _say(self, step: int) -> tuple[str, str, bool] | None:
        number = next(self.numbers)
        part_id, at = f"prt_{number}", step or UNSET
        if self.chance.random() < 0.4:
            thinks = True if self.chance.random() < 0.3 else UNSET
            self._happens(TextStarted(**NEW, part_id=part_id, step=at, reasoning=thinks))
            for offset in range(0, 2 * self.chance.randint(0, 3), 2):
                self._happens(TextDelta(part_id=part_id, delta="ab", offset=offset))
            self._happens(TextEnded(**PLACE, part_id=part_id))
            return None
        delegates, call_id = self.chance.random() < 0.6, f"call_{number}"
        shows = delegates or self.chance.random() < 0.7
        named: dict[str, Any] = {"part_id": part_id, "tool_call_id": call_id, "tool_name": "do"}
        agent = "sub" if delegates else UNSET
        self._happens(
            CallStarted(**NEW, **named, step=at, agent_id=agent, shows_args=shows, shows_result=shows)
        )
        args: dict[str, Any] = {}
        if shows:
            self._happens(CallInput(tool_call_id=call_id, ops=[("append", "/q", "a")]))
            self._happens(CallInput(tool_call_id=call_id, ops=[("append", "/q", '"b'), ("set", "/n", 1)]))
            args = {"args": {"q": 'a"b', "n": 1}}
        self._happens(CallReady(**PLACE, **named, **args))
        return part_id, call_id, delegates

    def _execute(self, part_id: str, call_id: str, delegates: bool) -> Iterator[SpaceEvent]:
        named: dict[str, Any] = {**PLACE, "part_id": part_id, "tool_call_id": call_id, "tool_name": "do"}
        if delegates and self.chance.random() < 0.9:
            yield from self._begin_child(part_id, call_id)
            yield from self._inside(part_id, call_id, [], f"run_{call_id}")
        if self.chance.random() < 0.7:
            yield CallCompleted(**named, output={"done": True})
        else:
            yield CallFailed(**named, error="failed")

    def _begin_child(self, part_id: str, call_id: str) -> Iterator[SpaceEvent]:
        [message] = self.view.messages()
        part = next(part for part in message.parts if part.id == part_id)
        assert isinstance(part, ToolCallPart)
        begun = msgspec.structs.replace(part, status="waiting", child=child(f"run_{call_id}"))
        yield MessageChanged(space_id="room", message=msgspec.structs.replace(message, parts=[begun]))

    def _inside(self, part_id: str, call_id: str, path: list[str], run_id: str) -> Iterator[SpaceEvent]:
        at: dict[str, Any] = {
            "space_id": "room",
            "message_id": "msg_1",
            "part_id": part_id,
            "tool_call_id": call_id,
            "path": path,
        }
        said = 0
        for _ in range(self.chance.randint(0, 2)):
            yield SubagentText(**at, delta="xy", offset=said)
            said += 2
            calls = [f"call_{next(self.numbers)}" for _ in range(self.chance.randint(0, 2))]
            for inner in calls:
                yield SubagentCall(**at, call=ChildCall(inner, "look", "running", args={"id": inner}))
            running = [self._inner(at, part_id, call_id, [*path, inner]) for inner in calls]
            while running:
                one = self.chance.choice(running)
                event = next(one, None)
                if event is not None:
                    yield event
                else:
                    running.remove(one)
        end = msgspec.structs.replace(child(run_id), status="completed", text="xy" * (said // 2), calls=UNSET)
        yield SubagentEnded(**at, child=end)

    def _inner(self, at: Any, part_id: str, call_id: str, path: list[str]) -> Iterator[SpaceEvent]:
        id, args = path[-1], {"id": path[-1]}
        if len(path) < 3 and self.chance.random() < 0.5:
            begun = ChildCall(id, "look", "running", args=args, child=child(f"run_{id}"))
            yield SubagentCall(**at, call=begun)
            yield from self._inside(part_id, call_id, path, f"run_{id}")
        yield SubagentCall(**at, call=ChildCall(id, "look", "complete", args=args, result=1))


def child(run_id: str) -> Child:
    return Child(run_id=run_id, agent_id="sub", name="Sub", status="running", calls=[])


def copied(messages: list[Message]) -> list[Message]:
    return msgspec.json.decode(msgspec.json.encode(messages), type=list[Message])


class Listening:
    """Somebody who follows the run, as the feed lets them."""

    def __init__(
        self, face: AgUiFace, so_far: list[Message], has: list[dict[str, Any]] | None = None
    ) -> None:
        self.face = face
        self.reader = Reader()
        self.reader.messages = has or []
        self.view = SpaceView()
        self.view.load(so_far, [], [])
        self.reader.read(face.tell(self.view.messages()))

    def hear(self, event: SpaceEvent) -> None:
        self.view.apply(event)
        grows = isinstance(event, TextDelta | CallInput)
        self.reader.read(self.face.grow(event) if grows else self.face.tell(self.view.messages()))

    def end(self) -> list[dict[str, Any]]:
        self.reader.read(self.face.tell(self.view.messages()) + self.face.end(ENDED))
        return self.reader.messages


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_whoever_begins_anywhere_has_the_same_at_the_end(chance: random.Random) -> None:
    life = Life(chance)
    live = Listening(AgUiFace(THREAD), [])
    later: list[Listening] = []
    every = max(1, len(life.events) // 6)
    for at, event in enumerate(life.events):
        if at % every == 0:
            later += [attached(live), returned(live)]
        for one in [live, *later]:
            one.hear(copy.deepcopy(event))

    told = live.end()
    for one in later:
        assert [message for message in one.end() if message["role"] != "user"] == told
    assert history([ASKED, *live.view.messages()], "ada")[1:] == told


def attached(live: Listening) -> Listening:
    """Somebody who knows nothing of it yet."""
    face = AgUiFace(THREAD)
    face.page = [ASKED]
    return Listening(face, copied(live.view.messages()))


def returned(live: Listening) -> Listening:
    """Somebody who was cut off, and asks again with what they have."""
    has = json.loads(json.dumps(live.reader.messages))
    return Listening(AgUiFace(THREAD, known=has), copied(live.view.messages()), has)


def test_what_was_told_and_is_gone_cannot_be_taken_back() -> None:
    live = Listening(AgUiFace(THREAD), [])
    live.hear(TextStarted(**NEW, part_id="prt_1"))
    live.hear(PartReset(space_id="room", part_id="prt_1"))
    assert not live.face.is_stuck
    live.hear(TextDelta(part_id="prt_1", delta="Hello", offset=0))
    live.hear(PartReset(space_id="room", part_id="prt_1"))
    assert live.face.is_stuck
    assert b'"code":"reattach"' in live.face.end(None)
