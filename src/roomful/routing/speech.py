"""The model's own words, where an agent speaks by them: they stream into the space where the run is."""

from collections.abc import Callable, Collection, Sequence

import msgspec

from roomful.domain.changes import Change
from roomful.domain.events import TextDelta, TextEnded, TextStarted
from roomful.domain.runs import Place
from roomful.domain.shape import UNSET
from roomful.domain.spaces import Member
from roomful.spaces.mentions import addressed
from roomful.spaces.voice import Voice


class Spoken(msgspec.Struct, frozen=True):
    """Plain words that a space heard."""

    space_id: str
    message_id: str
    text: str
    mentions: list[str]


class Speech:
    """`spoken` is what was said to its end so far. `held` are words that may not be heard in the space that
    they were for, with that."""

    def __init__(
        self,
        step: int,
        voice: Voice,
        members: Callable[[str], Sequence[Member]],
        member_of: Collection[str],
    ) -> None:
        self._step = step
        self._voice = voice
        self._members = members
        self._member_of = member_of
        self._open: _Open | None = None
        self.spoken: list[Spoken] = []
        self.held: list[tuple[str, str]] = []

    def is_at(self, *, reasoning: bool) -> bool:
        """Whether what is said so now goes on with what was said last."""
        return self._open is not None and self._open.reasoning is reasoning

    def say(self, text: str, *, reasoning: bool) -> None:
        """More of what is said, or the begin of it: words of the other kind have ended."""
        space_id = self._voice.run.active_space_id
        if space_id is UNSET or space_id not in self._member_of:
            return
        if self._open is None:
            self._open = _Open(space_id=space_id, reasoning=reasoning)
            if not self._voice.flow.sources([space_id]):
                self._open.place = self._voice.start(
                    space_id, TextStarted, reasoning=reasoning or UNSET, step=self._step
                )
        said = self._open
        said.pieces.append(text)
        if said.place is not None:
            self._voice.say(space_id, TextDelta(part_id=said.place.part_id, delta=text, offset=said.length))
        said.length += len(text)

    def end(self) -> None:
        """The text is complete. If it mentions somebody, it closes the message it stands in, which is final
        once the step is stored: until then the step may have to be said anew."""
        said, self._open = self._open, None
        if said is None:
            return
        if said.place is None:
            if not said.reasoning:
                self.held.append((said.space_id, "".join(said.pieces)))
            return
        voice, space_id = self._voice, said.space_id
        ended = TextEnded(
            space_id=space_id,
            message_id=said.place.message_id,
            part_id=said.place.part_id,
            run_id=voice.run.id,
        )
        heard = [voice.about(space_id, ended)]
        voice.fold(heard)
        closing: list[Change] = []
        if not said.reasoning:
            spoken = self._spoken(said, ended.message_id)
            self.spoken.append(spoken)
            if spoken.mentions:
                closing, closed = voice.close(spoken.message_id, spoken.mentions, is_stored=False)
                heard += closed
        voice.keep([*closing, *voice.saved(space_id)], heard)

    def _spoken(self, said: "_Open", message_id: str) -> Spoken:
        text = "".join(said.pieces)
        mentions = addressed(text, None, self._members(said.space_id), self._voice.run.agent_id)
        return Spoken(said.space_id, message_id, text, mentions)


class _Open(msgspec.Struct):
    space_id: str
    reasoning: bool
    place: Place | None = None
    """None: it is not heard."""
    length: int = 0
    pieces: list[str] = []
