"""AG-UI 1.0: what a run shows in a space as AG-UI events, told as the difference to what the reader has."""

from collections.abc import Iterable

import msgspec

from roomful.domain.events import CallInput, RunChanged, TextDelta
from roomful.domain.messages import Message, ToolCallPart
from roomful.domain.runs import Run
from roomful.domain.shape import UNSET, Json, decode_json
from roomful.web.faces import ag_ui_events as events
from roomful.web.faces.ag_ui_messages import Called, Result, Said, Subagent, history, shown


class Thread(msgspec.Struct, frozen=True):
    """What a client wants to hear of, in its own words."""

    id: str
    space_id: str
    run_id: str = ""
    """As the client calls what it asked for; else the run has its own id."""
    viewer: str | None = None
    tools: frozenset[str] = frozenset()
    """Tools that the client answers by itself, with a message of role `tool`."""


class _Grown:
    """A text that the reader has so far, and whether it was opened or ended in this stream."""

    __slots__ = ("_length", "_pieces", "call", "is_done", "is_open", "said")

    def __init__(self, text: str = "") -> None:
        self._pieces = [text]
        self._length = len(text)
        self.is_open = False
        self.is_done = False
        self.said: Said | None = None
        self.call: Called | None = None

    def add(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def rest_of(self, whole: str) -> str | None:
        """What is still to be added; None when this does not begin like the whole."""
        self._pieces = ["".join(self._pieces)]
        return whole[self._length :] if whole.startswith(self._pieces[0]) else None

    def beyond(self, delta: str, offset: int) -> str:
        known = self._length - offset
        return delta[known:] if known >= 0 else ""


class AgUiFace:
    """`known` are the messages that the client has already, `page` what is to be told of the space first."""

    def __init__(self, thread: Thread, *, known: Iterable[Json] = ()) -> None:
        self.is_stuck = False
        self.run: Run | None = None
        self.page: list[Message] | None = None
        self._thread = thread
        self._has_begun = False
        self._messages: list[Message] = []
        self._words: dict[str, _Grown] = {}
        self._arguments: dict[str, _Grown] = {}
        self._results: dict[str, tuple[str, str]] = {}
        """By call: the id and the content of the message that has it."""
        self._at_work: dict[str, Subagent] = {}
        self._begun: set[str] = set()
        """Sub-agents that were told of in this stream."""
        self._know(known)

    def tell(self, messages: list[Message]) -> bytes:
        self._messages = messages
        frames = [self._begin()]
        seen: dict[str, Subagent] = {}
        for item in shown(messages):
            if item.by is not None:
                seen[item.by.id] = item.by
            frames.append(self._result(item) if isinstance(item, Result) else self._said(item))
        self._at_work = {id: seen.get(id, one) for id, one in self._at_work.items()}
        return b"".join([*frames, self._end_subagents()])

    def grow(self, event: TextDelta | CallInput) -> bytes:
        if isinstance(event, TextDelta):
            words = self._words.get(event.part_id)
            if words is None or words.said is None:
                return b""
            return self._add_words(words, words.said, words.beyond(event.delta, event.offset))
        grown = self._arguments.get(event.tool_call_id)
        if grown is None or grown.call is None or grown.call.growing is None:
            return b""
        return self._add_arguments(grown, grown.call, grown.call.growing.grow(event.ops))

    def can_answer(self, part: ToolCallPart) -> bool:
        return part.asks is not UNSET or part.question is not UNSET

    def end(self, run: RunChanged | None) -> bytes:
        begun = self._begin()
        if self.is_stuck:
            why = "What was told has changed: replay the thread to see it as it is."
            return begun + events.error(events.REATTACH, why)
        if run is not None and run.status == "failed":
            code, why = (run.error.code, run.error.message) if run.error else ("failed", "The agent failed.")
            return begun + events.error(code, why)
        return begun + self._close() + self._finish(self._outcome(run))

    def _outcome(self, run: RunChanged | None) -> Json:
        if run is None or run.status == "completed":
            return {"type": "success"}
        if run.status == "canceled":
            return {"type": "cancelled"}
        asked = self._asked({call.tool_call_id for call in run.pending_tool_calls or ()})
        if all(part.asks == "answer" and part.tool_name in self._thread.tools for part in asked):
            return {"type": "success", "pendingToolCallIds": [part.tool_call_id for part in asked]}
        return events.interrupts(asked)

    def _asked(self, pending: set[str]) -> list[ToolCallPart]:
        """The cards for which the run waits here. What is meant for one member is in no list."""
        parts = [part for message in self._messages for part in message.parts]
        return [
            part
            for part in parts
            if isinstance(part, ToolCallPart)
            and part.status == "waiting"
            and self.can_answer(part)
            and (part.tool_call_id in pending or part.target_entity_id is not UNSET)
        ]

    def _begin(self) -> bytes:
        if self._has_begun:
            return b""
        self._has_begun = True
        thread = self._thread
        about = {"spaceId": thread.space_id}
        if self.run is not None:
            about |= {"runId": self.run.id, "agentId": self.run.agent_id}
        started = events.event(
            "RUN_STARTED",
            threadId=thread.id,
            runId=self._run_id(),
            protocolVersion=events.PROTOCOL_VERSION,
            metadata={"roomful": about},
        )
        return started + self._snapshot()

    def _snapshot(self) -> bytes:
        if self.page is None:
            return b""
        by_id = {message.id: message for message in [*self.page, *self._messages]}
        messages = history(sorted(by_id.values(), key=lambda one: one.seq), self._thread.viewer)
        self._know(messages)
        return events.event("MESSAGES_SNAPSHOT", messages=messages)

    def _finish(self, outcome: Json) -> bytes:
        return events.event("RUN_FINISHED", threadId=self._thread.id, runId=self._run_id(), outcome=outcome)

    def _run_id(self) -> str:
        return self._thread.run_id or (self.run.id if self.run is not None else self._thread.space_id)

    def _said(self, said: Said) -> bytes:
        frames: list[bytes] = []
        if said.by is not None and said.is_open:
            frames.append(self._begin_subagent(said.by))
        if said.content is not None:
            frames.append(self._tell_words(said, said.content))
        frames += [self._call(call, said) for call in said.calls]
        return b"".join(frames)

    def _tell_words(self, said: Said, content: str) -> bytes:
        words = self._words.get(said.id)
        frames = b""
        if words is None:
            words = self._words[said.id] = _Grown()
            frames = self._open_words(words, said)
        words.said = said
        rest = words.rest_of(content)
        if rest is None:
            self.is_stuck = True
            return frames
        frames += self._add_words(words, said, rest)
        if words.is_open and not said.is_open:
            words.is_open = False
            frames += events.end_words(said)
        return frames

    def _add_words(self, words: _Grown, said: Said, delta: str) -> bytes:
        if not delta:
            return b""
        opening = b"" if words.is_open else self._open_words(words, said)
        words.add(delta)
        return opening + events.more_words(said, delta)

    def _open_words(self, words: _Grown, said: Said) -> bytes:
        words.is_open = True
        return self._begin_subagent(said.by) + events.begin_words(said)

    def _call(self, call: Called, said: Said) -> bytes:
        grown = self._arguments.get(call.id)
        is_new = grown is None
        if grown is None:
            grown = self._arguments[call.id] = _Grown()
        if grown.is_done:
            return b""  # Arguments that somebody edits afterwards are seen in the next replay.
        grown.call, grown.said = call, said
        frames = self._open_call(grown, call) if is_new else b""
        rest = grown.rest_of(call.arguments)
        if rest is not None:
            frames += self._add_arguments(grown, call, rest)
        elif grown.is_open or call.is_open:
            self.is_stuck = True
            return frames
        grown.is_done = not call.is_open
        if grown.is_done and grown.is_open:
            grown.is_open = False
            frames += events.end_call(call.id)
        return frames

    def _add_arguments(self, grown: _Grown, call: Called, delta: str) -> bytes:
        if not delta:
            return b""
        opening = b"" if grown.is_open else self._open_call(grown, call)
        grown.add(delta)
        return opening + events.more_arguments(call.id, delta)

    def _open_call(self, grown: _Grown, call: Called) -> bytes:
        assert grown.said is not None
        grown.is_open = True
        return self._begin_subagent(grown.said.by) + events.begin_call(call, grown.said)

    def _result(self, result: Result) -> bytes:
        id, content = self._results.get(result.call_id, ("", None))
        if id == result.id or (content is not None and _is_same(content, result.content)):
            return b""
        self._results[result.call_id] = (result.id, result.content)
        return self._begin_subagent(result.by) + events.result_came(result)

    def _begin_subagent(self, one: Subagent | None) -> bytes:
        if one is None or one.id in self._begun:
            return b""
        self._begun.add(one.id)
        self._at_work[one.id] = one
        return self._begin_subagent(one.parent) + events.begin_subagent(one)

    def _end_subagents(self) -> bytes:
        """The inner ones first. What they said was told before."""
        ended = [one for one in self._at_work.values() if one.status != "running"]
        for one in ended:
            del self._at_work[one.id]
        return b"".join([events.end_subagent(one) for one in reversed(ended)])

    def _close(self) -> bytes:
        """What is still open goes on in a later stream."""
        words = [events.end_words(one.said) for one in self._words.values() if one.is_open and one.said]
        calls = [events.end_call(id) for id, one in self._arguments.items() if one.is_open]
        subagents = [events.end_subagent(one) for one in reversed(self._at_work.values())]
        return b"".join([*words, *calls, *subagents])

    def _know(self, messages: Iterable[Json]) -> None:
        """What the reader has of this, however it got it."""
        for message in messages:
            if message.get("role") in ("assistant", "reasoning"):
                self._words[message["id"]] = _Grown(_text(message.get("content")))
                for call in message.get("toolCalls") or ():
                    self._arguments[call["id"]] = _Grown(call["function"]["arguments"])
            elif message.get("role") == "tool":
                self._results[message["toolCallId"]] = (message["id"], _text(message.get("content")))


def _text(content: Json) -> str:
    return content if isinstance(content, str) else ""


def _is_same(told: str, content: str) -> bool:
    """Whoever answered a card may have written it otherwise."""
    try:
        return told == content or decode_json(told) == decode_json(content)
    except msgspec.DecodeError:
        return False
