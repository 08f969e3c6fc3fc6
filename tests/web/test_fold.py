"""The fold of @roomful/client, against the gateway's own."""

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import msgspec

from roomful.domain.events import (
    CallCompleted,
    CallFailed,
    CallInput,
    CallReady,
    CallStarted,
    MemberJoined,
    MemberLeft,
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
from roomful.domain.runs import Run, RunStatus, Trigger
from roomful.domain.spaces import Member
from roomful.domain.trails import Child, ChildCall
from roomful.domain.wire import Form, event_data, event_name
from tests.clients.node import NODE

FOLD = Path(__file__).parents[2] / "web" / "client" / "src" / "fold.ts"
SCRIPT = """
import { SpaceView } from "FOLD";
let input = "";
for await (const piece of process.stdin) input += piece;
const states = JSON.parse(input).map(({ messages, members, runs, events }) => {
  const view = new SpaceView();
  view.load(messages, members, runs);
  return [null, ...events].map((event) => {
    if (event) view.apply(...event);
    return structuredClone([view.list(), [...view.members.values()], [...view.runs.keys()]]);
  });
});
console.log(JSON.stringify([states, {}.polluted ?? null]));
"""
WORDS = ["Hi", "añ", "😀😀", "e\u0301", "\n", "{{x}}", "</script>"]


class Teller:
    """Makes up what could happen in a space, and some of it twice."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._texts: dict[str, str] = {}
        self._calls: dict[str, str] = {}
        self._said: dict[str, str] = {}
        self._count = 0

    def event(self) -> SpaceEvent:
        often = [self._delta, self._delta, self._input, self._settle]
        parts = [self._start_text, self._start_call, self._end, self._reset]
        return self._chance.choice(
            [*often, *often, *parts, self._message, self._run, self._member, self._trail]
        )()

    def _place(self, part_id: str) -> dict[str, Any]:
        message_id = f"msg_{part_id[-1]}"
        return {"space_id": "room", "message_id": message_id, "part_id": part_id, "run_id": "run_1"}

    def _new_id(self) -> str:
        self._count += 1
        return f"prt_{self._count % 20:02}"

    def _start_text(self) -> SpaceEvent:
        part_id = self._new_id()
        more: dict[str, Any] = {"reasoning": True} if self._chance.random() < 0.2 else {"tool_call_id": "c"}
        self._texts[part_id] = ""
        return TextStarted(
            **self._place(part_id), entity_id="shop", seq=int(part_id[-1]), created_at="t", **more
        )

    def _start_call(self) -> SpaceEvent:
        part_id = self._new_id()
        self._calls[part_id] = f"call_{part_id}"
        return CallStarted(
            **self._place(part_id),
            entity_id="shop",
            seq=int(part_id[-1]),
            created_at="t",
            tool_call_id=f"call_{part_id}",
            tool_name="draw",
            custom_ui=self._chance.choice(["ProductCard", msgspec.UNSET]),
            shows_args=self._chance.random() < 0.9,
            shows_result=self._chance.random() < 0.9,
        )

    def _some(self, ids: dict[str, str]) -> str:
        return self._chance.choice([*ids, "prt_unknown"])

    def _delta(self) -> SpaceEvent:
        part_id = self._some(self._texts)
        known, delta = self._texts.get(part_id, ""), self._chance.choice(WORDS)
        back = min(len(known), self._chance.choice([0, 0, 0, 1, 2]))
        offset = len(known) - back
        self._texts[part_id] = known + delta
        return TextDelta(part_id=part_id, delta=known[offset:] + delta, offset=offset)

    def _input(self) -> SpaceEvent:
        call_id = self._calls.get(self._some(self._calls), "call_unknown")
        key = self._chance.choice(["/a", "/b~1c", "/__proto__", "/constructor"])
        op = ("append", key, self._chance.choice(WORDS))
        return CallInput(tool_call_id=call_id, ops=[op, ("set", "/n", {"deep": [1, None]})])

    def _end(self) -> SpaceEvent:
        return TextEnded(**self._place(self._some(self._texts)))

    def _settle(self) -> SpaceEvent:
        part_id = self._some(self._calls)
        call = {"tool_call_id": f"call_{part_id}", "tool_name": "draw"}
        args = self._chance.choice([{"a": 1}, msgspec.UNSET])
        place = self._place(part_id)
        match self._chance.randrange(3):
            case 0:
                return CallReady(**place, **call, args=args)
            case 1:
                return CallCompleted(
                    **place, **call, args=args, output=self._chance.choice([1, msgspec.UNSET])
                )
            case _:
                return CallFailed(**place, **call, args=args, error="failed")

    def _reset(self) -> SpaceEvent:
        part_id = self._some(self._texts | self._calls)
        if part_id in self._texts:
            self._texts[part_id] = ""
        return PartReset(space_id="room", part_id=part_id)

    def _message(self) -> SpaceEvent:
        part_id = self._some(self._texts | self._calls)
        part: Any = TextPart(id=part_id, text="Hello", status=self._chance.choice(["complete", "streaming"]))
        if part_id in self._calls:
            part = ToolCallPart(
                id=part_id,
                tool_call_id=f"call_{part_id}",
                tool_name="draw",
                run_id="run_1",
                status="waiting",
                args={},
                result=None,
                child=self._chance.choice([_child(), msgspec.UNSET]),
            )
        else:
            self._texts[part_id] = "Hello"
        message = Message(
            id=f"msg_{part_id[-1]}",
            space_id="room",
            entity_id="shop",
            seq=ord(part_id[-1]) % 10,
            status=self._chance.choice(["open", "final"]),
            role="assistant",
            parts=[part],
            created_at="t",
            updated_at="u",
        )
        if self._chance.random() < 0.1:
            message.deleted, message.parts = True, []
        return MessageChanged(space_id="room", message=message)

    def _run(self) -> SpaceEvent:
        status: RunStatus = self._chance.choice(["running", "waiting_tool", "completed", "failed"])
        run_id = f"run_{self._chance.randrange(3)}"
        return RunChanged(space_id="room", run_id=run_id, entity_id="shop", status=status)

    def _trail(self) -> SpaceEvent:
        part_id = self._some(self._calls)
        where: dict[str, Any] = self._place(part_id) | {"tool_call_id": f"call_{part_id}"}
        del where["run_id"]
        where["path"] = self._chance.choice([[], [], ["in_1"], ["in_1", "in_2"], ["in_unknown"]])
        inner = f"in_{self._chance.randrange(3)}"
        match self._chance.randrange(3):
            case 0:
                below = Child(run_id="r", agent_id="a", name="A", status="running")
                call = ChildCall(
                    tool_call_id=inner,
                    tool_name="look",
                    status=self._chance.choice(["running", "complete"]),
                    args={"q": 1},
                    child=self._chance.choice([below, msgspec.UNSET]),
                )
                return SubagentCall(**where, call=call)
            case 1:
                return SubagentText(
                    **where, delta=self._chance.choice(WORDS), offset=self._chance.randrange(4)
                )
            case _:
                ended = Child(
                    run_id="r", agent_id="a", name="A", status="completed", text="x", calls=msgspec.UNSET
                )
                return SubagentEnded(**where, child=ended)

    def _member(self) -> SpaceEvent:
        who = self._chance.choice(["ada", "bob"])
        member = Member(entity_id=who, name=who, kind="human", role="member")
        return self._chance.choice([MemberJoined, MemberLeft])(space_id="room", member=member)


def _child() -> Child:
    return Child(run_id="r", agent_id="a", name="A", status="running", calls=[])


def _snapshot() -> tuple[list[Message], list[Member], list[Run]]:
    growing = TextPart(id="prt_00", text="Half 😀", status="streaming")
    message = Message(
        id="msg_0",
        space_id="room",
        entity_id="shop",
        seq=0,
        status="open",
        role="assistant",
        parts=[growing],
        created_at="t",
        updated_at="t",
    )
    run = Run(
        id="run_0",
        agent_id="shop",
        status="running",
        trigger=Trigger(type="message"),
        root_run_id="run_0",
        created_at="t",
    )
    return [message], [Member(entity_id="ada", name="ada", kind="human", role="owner")], [run]


def _state(view: SpaceView, runs: set[str]) -> Any:
    return msgspec.to_builtins([view.messages(), list(view.members.values()), sorted(runs)])


def _story(seed: int) -> tuple[dict[str, Any], list[Any]]:
    """What the page is told, and what the gateway's own fold makes of it after each event."""
    teller = Teller(seed)
    events = [teller.event() for _ in range(150)]
    messages, members, runs = _snapshot()
    sent = [
        (event_name(event, Form.OPS), json.loads(event_data(event, Form.OPS, "room"))) for event in events
    ]
    told = {
        "messages": msgspec.to_builtins(messages),
        "members": msgspec.to_builtins(members),
        "runs": msgspec.to_builtins(runs),
        "events": sent,
    }
    view = SpaceView()
    first = [RunChanged(space_id="room", run_id=run.id, entity_id="shop", status="running") for run in runs]
    view.load(messages, members, first)
    states = [_state(view, set(view.runs))]
    for event in events:
        view.apply(event)
        states.append(_state(view, set(view.runs)))
    return told, states


def test_the_page_folds_as_the_gateway_does_after_every_event() -> None:
    stories = [_story(seed) for seed in range(40)]
    told = subprocess.run(
        [NODE, "--input-type=module", "-e", SCRIPT.replace("FOLD", FOLD.as_uri())],
        input=json.dumps([told for told, _ in stories]).encode(),
        capture_output=True,
        check=True,
        timeout=60,
    )
    folded, polluted = json.loads(told.stdout)

    assert polluted is None
    for (_, expected), states in zip(stories, folded, strict=True):
        for number, (ours, theirs) in enumerate(zip(expected, states, strict=True)):
            theirs[2].sort()
            assert theirs == ours, number
