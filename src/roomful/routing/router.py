"""One model step on its way into spaces: deltas come in as the provider sends them, each call is followed
to where it belongs, and what became whole is stored before it is announced."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import assert_never

import msgspec

from roomful.domain.agents import AgentSpec
from roomful.domain.changes import Change
from roomful.domain.deltas import CallOpened, CallPiece, ModelDelta, ReasoningPiece, TextPiece, UsageReport
from roomful.domain.events import Announcement, SpaceEvent
from roomful.domain.grants import Granted
from roomful.domain.messages import TextPart, ToolCallPart
from roomful.domain.ports import Ids
from roomful.domain.run_changes import SaveCalls
from roomful.domain.runs import Call, Consent
from roomful.domain.shape import UNSET, clean_text, encode_json
from roomful.domain.spaces import Member
from roomful.domain.tools import Builtin, Fallback, TextShape, ToolSpec, Visibility
from roomful.domain.usage import Usage
from roomful.routing.assembly import Assembly
from roomful.routing.redact import ask_people, ready_event, settled_event, text_end, whole_event
from roomful.routing.route import Route, RouteFinder, Settled
from roomful.routing.speech import Speech, Spoken
from roomful.spaces.mentions import addressed
from roomful.spaces.voice import Voice

log = logging.getLogger("roomful.routing")
_NOBODY = "nobody can see this: there is no space to show it in; name one of your spaces"


class Surroundings(msgspec.Struct, frozen=True):
    """Where the agent may speak and who is there, as of this step."""

    member_of: Collection[str]
    members: Callable[[str], Sequence[Member]]
    has_member: Callable[[str, str], bool]
    granted: Granted
    """What people agreed to once and for all."""


class StepSaid(msgspec.Struct):
    text: str
    usage: Usage
    calls: list[Call]
    spoken: list[Spoken]


class StepRouter:
    def __init__(
        self,
        step: int,
        agent: AgentSpec,
        tools: Mapping[str, ToolSpec],
        voice: Voice,
        around: Surroundings,
        ids: Ids,
        spares: Sequence[ToolCallPart | TextPart] = (),
    ) -> None:
        self._step = step
        self._agent = agent
        self._tools = tools
        self._voice = voice
        self._around = around
        self._ids = ids
        self._begun = _calls_begun(spares)
        self._by_index: dict[int, Assembly] = {}
        self._stored: dict[int, Call] = {}
        self._thought: list[str] = []
        self._usage = Usage()
        self._plain: set[int] = set()
        self.on_first: Callable[[], None] | None = None
        """Called before the first delta."""
        self._speech = Speech(step, voice, around.members, around.member_of)

    def feed(self, deltas: Sequence[ModelDelta]) -> None:
        if self.on_first is not None:
            on_first, self.on_first = self.on_first, None
            on_first()
        for delta in deltas:
            if isinstance(delta, CallPiece):  # By far the most of what comes.
                assembly = self._by_index[delta.index]
                assembly.feed(delta.arguments)
                if assembly.closed and delta.index not in self._stored:
                    self._store(delta.index, assembly)
            else:
                self._hear(delta)

    def _hear(self, delta: CallOpened | TextPiece | ReasoningPiece | UsageReport) -> None:
        match delta:
            case TextPiece():
                self._text(clean_text(delta.text))
            case CallOpened():
                self._open(delta)
            case ReasoningPiece():
                if self._agent.show_reasoning:
                    self._say(clean_text(delta.text), reasoning=True)
            case UsageReport():
                self._usage = delta.usage
            case _:
                assert_never(delta)

    def finish(self) -> StepSaid:
        """The answer is over. Calls that never became whole have failed, and the model will be told."""
        self._end_speech()
        for index, assembly in self._by_index.items():
            if index not in self._stored:
                assembly.finish()
                self._store(index, assembly)
            elif assembly.failure is not None and self._stored[index].status == "ready":
                self._store(index, assembly)
        self._voice.drop_unfinished()
        calls = [self._stored[index] for index in self._by_index]
        return StepSaid(
            text="".join(self._thought), usage=self._usage, calls=calls, spoken=self._speech.spoken
        )

    @property
    def has_whole_calls(self) -> bool:
        return any(call.status != "error" for call in self._stored.values())

    def finish_early(self) -> StepSaid:
        """The answer was cut: the step ends with the calls that were whole, the rest is canceled."""
        self._by_index = {index: self._by_index[index] for index in self._stored}
        return self.finish()

    def let_in(self, call: Call) -> Call:
        """Shows a call that was held where it was to go, whole, and gives it as it is then."""
        assert call.held is not UNSET
        spec = self._tools[call.tool_name]
        route = Route(tuple(call.held.space_ids), call.held.target_entity_id or None)
        opened = CallOpened(call.index, call.tool_name, call.provider_id)
        finder = Settled(route, self._around.member_of)
        granted = self._around.granted
        assembly = Assembly(
            call.id, opened, spec, finder, self._voice, self._step, granted=granted, is_let_in=True
        )
        assembly.feed(encode_json(call.args).decode())
        self._store(call.index, assembly, call)
        return self._stored[call.index]

    def _open(self, opened: CallOpened) -> None:
        self._end_speech()
        spec = self._tools.get(opened.name)
        finder = None
        if spec is not None:
            finder = RouteFinder(
                spec.route,
                member_of=self._around.member_of,
                active_space=self._where(spec),
                for_whom=self._for_whom(),
                has_member=self._around.has_member,
            )
        call_id = self._call_id(opened.name, spec)
        granted = self._around.granted
        assembly = Assembly(call_id, opened, spec, finder, self._voice, self._step, granted=granted)
        if spec is None:
            assembly.failure = _no_such_tool(opened.name, self._tools)
        self._by_index[opened.index] = assembly

    def _where(self, spec: ToolSpec) -> str | None:
        """Where an unaddressed call goes. What a called run does is shown inside the call; only what it says
        and asks goes where its caller was."""
        run = self._voice.run
        asks = spec.asks or spec.approval is not None
        speaks = asks or (spec.shape_is_text and run.asks_whom is UNSET)
        return run.active_space_id or (run.asks_in if speaks else None) or None

    def _for_whom(self) -> str | None:
        """What is asked inside a call that one member alone sees is for that member."""
        run = self._voice.run
        return run.asks_whom or None if run.active_space_id is UNSET else None

    def _call_id(self, name: str, spec: ToolSpec | None) -> str:
        """A new id, or that of a call that had begun before its step had to run again."""
        begun = self._begun.get(None) if spec is not None and spec.shape_is_text else None
        begun = begun or self._begun.get(name)
        return begun.pop(0) if begun else self._ids.new("call")

    def _store(self, index: int, assembly: Assembly, before: Call | None = None) -> None:
        """The call is whole, or will never be: it is kept with its id, and its spaces are told."""
        stored = self._stored.get(index)
        call = assembly.as_call(len(self._stored) if stored is None else stored.index)
        if before is not None:
            for name in ("index", "active_space_id", "raw_args", "started_at", "is_plain", "read_spaces"):
                setattr(call, name, getattr(before, name))
            call.consent = Consent(before.places[0], before.answered_by or "", before.answered_at or "")
        if index in self._plain:
            call.is_plain = True
        if call.waits_for == "approval" and self._is_agreed(call):
            call.status, call.waits_for = "ready", UNSET
        if call.status == "waiting" and not call.places:
            call.status, call.error = "error", _NOBODY
        voice, spec = self._voice, assembly.spec
        self._stored[index] = call.settled(voice.iso())
        heard: list[Announcement] = []
        for place in call.places:
            event: SpaceEvent
            if assembly.shows_text:
                event = text_end(call, place)
            elif call.status in ("ready", "waiting"):
                event = ready_event(call, place)
            else:
                event = settled_event(call, place)
            heard.append(voice.about(place.space_id, event, assembly.audience))
        voice.fold(heard)
        changes: list[Change] = []
        if assembly.shows_text and spec is not None and call.status == "ready":
            changes, closed = self._address(call, spec)
            heard += closed
        if call.status == "waiting":
            self._set_deadline(call, spec)
        if call.status in ("error", "waiting"):
            for place in call.places:
                if (part := voice.part(place.space_id, place.part_id)) is not None:
                    part.status = call.status
                    if call.status == "waiting" and isinstance(part, ToolCallPart):
                        ask_people(part, call, spec, voice.run)
            heard += voice.changed_at(call.places, call.id)
        if voice.trail is not None:
            heard += voice.trail.call(call)
        voice.keep([SaveCalls((call,)), *changes, *voice.saved(*assembly.spaces)], heard)
        if voice.is_followed():
            voice.tell_run(whole_event(call))
        is_in_trail = voice.trail is not None and voice.trail.is_seen
        if spec is not None and not is_in_trail and _is_missed(spec, call):
            log.warning("run %s: nobody sees %s, there is no active space", call.run_id, call.tool_name)
        if spec is not None and spec.route.enters and call.status != "error":
            self._enter(call.args.get(spec.route.enters))

    def _address(self, call: Call, spec: ToolSpec) -> tuple[list[Change], list[Announcement]]:
        """A text that mentions somebody closes the message it stands in."""
        assert isinstance(spec.shape, TextShape)
        changes: list[Change] = []
        heard: list[Announcement] = []
        text = call.args.get(spec.shape.from_arg)
        named = call.args.get(spec.shape.mentions_arg) if spec.shape.mentions_arg else None
        for place in call.places:
            members = self._around.members(place.space_id)
            call.mentions = addressed(str(text), named, members, self._agent.id)
            if call.mentions:
                closing, closed = self._voice.close(place.message_id, call.mentions)
                changes += closing
                heard += closed
        return changes, heard

    def _is_agreed(self, call: Call) -> bool:
        """What was agreed to once and for all is the call, not that something comes in from elsewhere."""
        granted = self._around.granted
        return not call.held and granted.covers(call.tool_name, call.space_ids, call.args)

    def _set_deadline(self, call: Call, spec: ToolSpec | None) -> None:
        """A person's time, not a machine's."""
        seconds = (spec.answer_seconds if spec else None) or self._agent.limits.answer_seconds
        if seconds is not None:
            call.deadline = self._voice.now() + seconds

    def _enter(self, space_id: object) -> None:
        """From the next call on, unaddressed ones go there."""
        if isinstance(space_id, str) and space_id in self._around.member_of:
            self._voice.run.active_space_id = space_id

    # The model's own words.

    def _hold(self, space_id: str, words: str) -> None:
        """Words that may not be heard where the run is become a call that says them, to be asked about."""
        for spec in self._tools.values():
            if isinstance(spec.shape, TextShape) and isinstance(spec.executor, Builtin):
                index = -1 - len(self._plain)
                self._plain.add(index)
                args = {**dict.fromkeys(spec.route.args, space_id), spec.shape.from_arg: words}
                self.feed([CallOpened(index, spec.name), CallPiece(index, encode_json(args).decode())])
                return

    def _text(self, text: str) -> None:
        self._thought.append(text)
        self._voice.wrote(text)
        if self._agent.speaks != "tools":
            self._say(text, reasoning=False)

    def _say(self, text: str, *, reasoning: bool) -> None:
        if not self._speech.is_at(reasoning=reasoning):
            self._end_speech()
        self._speech.say(text, reasoning=reasoning)

    def _end_speech(self) -> None:
        self._speech.end()
        while self._speech.held:
            self._hold(*self._speech.held.pop())


def _calls_begun(spares: Sequence[ToolCallPart | TextPart]) -> dict[str | None, list[str]]:
    """Ids of the calls that these parts show, by tool; those that show as text stand under None."""
    begun: dict[str | None, list[str]] = {}
    for spare in spares:
        ids = begun.setdefault(spare.tool_name if isinstance(spare, ToolCallPart) else None, [])
        if spare.tool_call_id and spare.tool_call_id not in ids:
            ids.append(spare.tool_call_id)
    return begun


def _no_such_tool(name: str, tools: Mapping[str, ToolSpec]) -> str:
    return f"there is no tool {name[:80]!r}; yours are: {', '.join(tools)}"


def _is_missed(spec: ToolSpec, call: Call) -> bool:
    """Whether somebody would see this call if the run were in a space."""
    is_visible = spec.visibility is not Visibility.HIDDEN and spec.route.fallback is Fallback.ACTIVE
    return is_visible and not call.space_ids and call.status != "error"
