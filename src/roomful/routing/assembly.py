"""One tool call while the model writes it: where it goes, what of it may be seen, when it is whole."""

from collections.abc import Sequence
from typing import assert_never

from roomful.domain.arguments import Arguments, Op, pointer
from roomful.domain.deltas import CallOpened
from roomful.domain.events import CallInput, CallStarted, TextDelta, TextStarted
from roomful.domain.grants import Granted
from roomful.domain.messages import Asks
from roomful.domain.runs import Call, CallStatus, Held, Place, WaitsFor
from roomful.domain.shape import UNSET, Json, Unset, clean_text
from roomful.domain.tools import TextShape, ToolCallShape, ToolSpec, Visibility
from roomful.routing.route import Route, RouteFinder, Settled
from roomful.routing.scanner import ArgumentScanner, Broken, Closed, Key, Piece, TextEnd, Token, Value
from roomful.spaces.flow import refusal
from roomful.spaces.lane import CallLane
from roomful.spaces.voice import Voice
from roomful.tools import check_arguments, strip_routing

LOOK_AFTER = 16
"""After so many words that had no straight way to their reader it is looked for another."""


class Assembly:
    """Made when a call opens. From then on its space, its visibility and its id do not change."""

    def __init__(
        self,
        call_id: str,
        opened: CallOpened,
        spec: ToolSpec | None,
        finder: RouteFinder | Settled | None,
        voice: Voice,
        step: int,
        *,
        granted: Granted,
        is_let_in: bool = False,
    ) -> None:
        """`is_let_in`: a person agreed that it is shown where it goes."""
        self.call_id = call_id
        self.opened = opened
        self.spec = spec
        self.failure: str | None = None
        self.closed = False
        self.places: list[Place] = []
        self.needs_approval = spec is not None and spec.approval is not None
        self.visibility = _visibility(spec, asks=self.needs_approval)
        self.held: Held | None = None
        """Where it goes it may not be shown without consent, which is asked for elsewhere."""
        self._is_let_in = is_let_in
        self._granted = granted
        self.args: dict[str, Json] = {}
        self._finder = finder
        self._voice = voice
        self._step = step
        self._began = voice.iso()
        self._scanner = ArgumentScanner()
        self._raw: list[str] = []
        self._so_far = Arguments()
        self._writing: str | None = None
        self._path = ""
        """Of what is being written."""
        self._seen: set[str] = set()
        self._is_open = False
        self._shows_args = False
        """While they are written, and not as a text."""
        self._text_arg = (
            spec.shape.from_arg if spec is not None and isinstance(spec.shape, TextShape) else None
        )
        self._has_text = False
        self._lane: CallLane | None = None
        """For more of what is being written."""
        self._looks = 0
        self._is_judged = False
        self._is_judged_here = False
        self._length = 0
        self._shown_in: list[str] = []
        self._audience: str | None = None
        self._hidden: frozenset[str | None] = frozenset()
        if spec is not None and spec.route.injected:
            self._hidden = frozenset({*spec.route.args, spec.route.entity_arg})
        self._tell_start()
        self._open_when_known()

    @property
    def route(self) -> Route | None:
        return self._finder.route if self._finder is not None else None

    @property
    def audience(self) -> str | None:
        if self.held is not None:
            return self.held.asked_of or None
        return self.route.entity if self.route is not None else None

    @property
    def spaces(self) -> list[str]:
        return [place.space_id for place in self.places]

    @property
    def raw_arguments(self) -> str:
        return clean_text("".join(self._raw))

    @property
    def shows_text(self) -> bool:
        return self.spec is not None and self.spec.shape_is_text and self.held is None

    def feed(self, text: str) -> None:
        self._raw.append(text)
        if not self._scanner.more(text):
            self._follow(self._scanner.feed(text))
            return
        if self._writing is None:  # Of a value that is told when it is whole, or of one that nobody sees.
            return
        if not self._is_open:
            self._follow([Piece(self._writing, text)])
            return
        so_far = self._so_far  # More of what is being written and seen: there is nothing to decide.
        so_far.append(text)
        is_followed = self._voice.is_followed()
        if self._lane is not None and not is_followed and self._lane.say(text, so_far):
            return
        ops: tuple[Op] = (("append", self._path, text),)
        if is_followed:
            self._tell_run(ops)
        if not self._shows_args:
            self._show(ops)
            return
        event = CallInput(self.call_id, ops, so_far, so_far.mark)
        self._voice.say_more(self._shown_in, event, self._audience)
        self._looks -= 1
        if self._looks <= 0 and not is_followed:
            self._look_for_lane()

    def _look_for_lane(self) -> None:
        """Not at every word: often there is none, and one that was found is good for most of them."""
        self._lane = self._voice.lane(self._shown_in, self.call_id, self._path, self._audience)
        self._looks = LOOK_AFTER

    def finish(self) -> None:
        """The model has moved on: whatever is not whole by now never will be."""
        self._follow(self._scanner.finish())
        if not self.closed and self.failure is None:
            self.failure = "the arguments ended before they were complete: send the whole JSON object"

    def _follow(self, tokens: list[Token]) -> None:
        ops: list[Op] = []
        for token in tokens:
            if self._finder is not None:
                self._finder.see(token)
            self._take(token, ops)
        if self._finder is not None and self._finder.failure is not None:
            self.failure = self.failure or self._finder.failure
        if ops and self._voice.is_followed():
            self._tell_run(ops)
        if ops and self._is_open:
            self._show(ops)
        if not self._is_open:
            self._open_when_known()
        if self.closed and self.failure is None and not self._is_judged:
            self._judge()

    def _tell_run(self, ops: Sequence[Op]) -> None:
        self._voice.tell_run(CallInput(tool_call_id=self.call_id, ops=ops))

    def _take(self, token: Token, ops: list[Op]) -> None:
        match token:
            case Piece():
                if token.key not in self._hidden:
                    if self._writing != token.key:
                        self._note_text(token.key, is_said=True)
                        self._begin(token.key, ops)
                    self._so_far.append(token.text)
                    ops.append(("append", self._path, token.text))
            case TextEnd():
                if token.key not in self._hidden:
                    self._note_text(token.key, is_said=token.text != "")
                    if self._writing != token.key:
                        self._begin(token.key, ops)
                        ops.append(("append", self._path, ""))
                    self._so_far.end_text()
                    self._writing = None
            case Value():
                if token.key not in self._hidden:
                    self._note_text(token.key, is_said=False)
                    self._seen.add(token.key)
                    self._so_far.put(token.key, token.value)
                    ops.append(("set", pointer(token.key), token.value))
            case Closed():
                self.closed = True
            case Broken():
                self.failure = f"the arguments are not valid JSON: {token.reason}"
            case Key():
                pass
            case _:
                assert_never(token)

    def _note_text(self, key: str, *, is_said: bool) -> None:
        if key == self._text_arg:
            self._has_text = is_said

    def _begin(self, key: str, ops: list[Op]) -> None:
        self._writing, self._path = key, pointer(key)
        self._lane, self._looks = None, 0
        self._so_far.begin_text(key)
        if key in self._seen:
            ops.append(("set", self._path, ""))
        self._seen.add(key)

    def _judge(self) -> None:
        self._is_judged = True
        self.args = self._scanner.result()
        if self.spec is not None:
            self.args = strip_routing(self.spec, self.args)
            self.failure = check_arguments(self.spec, self.args)

    # What spaces see of it while it is written.

    def _open_when_known(self) -> None:
        route, spec = self.route, self.spec
        if self._is_open or route is None or spec is None or self.failure is not None or not route.spaces:
            return
        if not self._is_judged_here:
            self._judge_route(spec, route)
        if self.failure is not None:
            return
        if not self.shows_text and self.visibility in (Visibility.HIDDEN, Visibility.RESULT):
            return
        if self.shows_text and not self._has_text:
            return
        so_far = self._so_far.at(self._so_far.mark)
        self._is_open = True
        self._shows_args = not self.shows_text and self.visibility is Visibility.FULL
        self._shown_in, self._audience = self._shown_spaces(route), self.audience
        for space_id in self._shown_in:
            self.places.append(self._start_in(space_id, spec))
        if so_far:
            self._show([("set", pointer(key), value) for key, value in so_far.items()])

    def _judge_route(self, spec: ToolSpec, route: Route) -> None:
        """Once, before anything of it is shown: whether people there agreed to it already, and whether it may
        come in with what it may carry."""
        self._is_judged_here = True
        if spec.approval is not None and self._granted.whatever(spec.name, route.spaces):
            self.needs_approval, self.visibility = False, spec.visibility
        if not self._is_let_in:
            self._ask_to_come_in(route)

    def _ask_to_come_in(self, route: Route) -> None:
        """If nothing but its name will be seen, it passes."""
        if not self.shows_text and self.visibility not in (Visibility.FULL, Visibility.RESULT):
            return
        self.held = self._voice.flow.hold(route.spaces, route.entity)
        if self.held is None:
            return
        if self.held.asked_in is UNSET:
            self.failure = refusal(self.held)
        else:
            self.needs_approval, self.visibility = True, Visibility.FULL

    def _shown_spaces(self, route: Route) -> list[str]:
        if self.held is None:
            return list(route.spaces)
        return [self.held.asked_in] if self.held.asked_in else []

    def _start_in(self, space_id: str, spec: ToolSpec) -> Place:
        if not self.shows_text:
            component = spec.shape.component if isinstance(spec.shape, ToolCallShape) else None
            full = self.visibility is Visibility.FULL
            return self._voice.start(
                space_id,
                CallStarted,
                tool_call_id=self.call_id,
                tool_name=spec.name,
                custom_ui=component or UNSET,
                target_entity_id=self.audience or UNSET,
                asks=self._asks(spec),
                agent_id=spec.delegate_id if full else UNSET,
                step=self._step or UNSET,
                shows_args=full,
                shows_result=full,
            )
        return self._voice.start(space_id, TextStarted, tool_call_id=self.call_id, step=self._step or UNSET)

    def _asks(self, spec: ToolSpec) -> Asks | Unset:
        if self.needs_approval:
            return "approval"
        return "answer" if spec.asks else UNSET

    def _show(self, ops: Sequence[Op]) -> None:
        if self._text_arg is not None and self.held is None:
            self._show_text(pointer(self._text_arg), ops)
        elif self._shows_args:
            event = CallInput(tool_call_id=self.call_id, ops=ops, so_far=self._so_far, mark=self._so_far.mark)
            self._voice.say_in(self._shown_in, event, self._audience)

    def _show_text(self, path: str, ops: Sequence[Op]) -> None:
        text = "".join(value for _, where, value in ops if where == path and isinstance(value, str))
        if text:
            for place in self.places:
                delta = TextDelta(part_id=place.part_id, delta=text, offset=self._length)
                self._voice.say(place.space_id, delta)
            self._length += len(text)

    def _tell_start(self) -> None:
        if self._voice.is_followed():
            event = CallStarted(
                space_id="",
                message_id="",
                part_id="",
                run_id=self._voice.run.id,
                entity_id=self._voice.run.agent_id,
                seq=0,
                created_at="",
                tool_call_id=self.call_id,
                tool_name=self.opened.name,
            )
            self._voice.tell_run(event)

    def _status(self) -> CallStatus:
        if self.failure is not None:
            return "error"
        asks = self.spec is not None and self.spec.asks
        return "waiting" if asks or self.needs_approval else "ready"

    def _waits_for(self) -> WaitsFor | Unset:
        if self._status() != "waiting":
            return UNSET
        return "approval" if self.needs_approval else "answer"

    def _seen_inside(self) -> Visibility:
        if self._voice.trail is None:
            return Visibility.HIDDEN
        seen = self.spec.seen_inside if self.spec is not None else Visibility.FULL
        elsewhere = self.route is not None and set(self.route.spaces) - {self._voice.run.asks_in}
        less = elsewhere or self.held is not None or self._voice.trail.is_withheld
        return Visibility.STATUS if less and seen is not Visibility.HIDDEN else seen

    def as_call(self, index: int) -> Call:
        """The record of this call, ready to be executed or failed."""
        spec = self.spec
        keeps_raw = spec is None or spec.route.injected or self.failure is not None
        return Call(
            id=self.call_id,
            run_id=self._voice.run.id,
            step=self._step,
            index=index,
            tool_name=self.opened.name,
            args=self.args,
            status=self._status(),
            provider_id=self.opened.provider_id,
            raw_args=self.raw_arguments if keeps_raw else UNSET,
            error=self.failure if self.failure is not None else UNSET,
            visibility=self.visibility,
            active_space_id=self._voice.run.active_space_id,
            target_entity_id=self.audience or UNSET,
            places=self.places,
            space_ids=self._shown_spaces(self.route) if self.route else [],
            told=self._told_at_once(),
            waits_for=self._waits_for(),
            seen_inside=self._seen_inside(),
            started_at=self._began,
            held=self.held or UNSET,
        )

    def _told_at_once(self) -> Json | Unset:
        if self.spec is None or self.failure is not None or self.held is not None:
            return UNSET
        return self.spec.told_at_once


def _visibility(spec: ToolSpec | None, *, asks: bool) -> Visibility:
    """Whoever is asked to agree must see what to."""
    if spec is None:
        return Visibility.HIDDEN
    return Visibility.FULL if asks else spec.visibility
