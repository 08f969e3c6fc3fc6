"""What a member saw in a space while something went on there."""

import dataclasses
from collections.abc import Mapping, Sequence

from roomful.domain.errors import NotFound
from roomful.domain.events import SpaceEvent
from roomful.domain.messages import Message, Part, TextPart, ToolCallPart
from roomful.domain.runs import Run


@dataclasses.dataclass(frozen=True)
class Seen:
    """One space, as one member has it over HTTP."""

    messages: Sequence[Message]
    """Those that came or changed, whole and in their order."""
    parts: Sequence[Part]
    """What came or changed in them, but for what the member said."""
    events: Sequence[SpaceEvent]
    """What the member's stream told."""

    @property
    def texts(self) -> list[str]:
        return [part.text for part in self.parts if isinstance(part, TextPart)]

    @property
    def calls(self) -> list[ToolCallPart]:
        return [part for part in self.parts if isinstance(part, ToolCallPart)]

    @property
    def waiting(self) -> list[ToolCallPart]:
        """Cards that people have to answer."""
        return [one for one in self.calls if one.status == "waiting" and (one.asks or one.question)]


@dataclasses.dataclass(frozen=True)
class Said(Seen):
    """What came of something that a member did, in the space where they did it and as they saw it."""

    runs: Sequence[Run]
    """Those that it started or let go on, as they are now."""
    by_member: Mapping[tuple[str, str], Seen]
    member_id: str

    def seen_in(self, space_id: str, *, by: str | None = None) -> Seen:
        """What was seen in a space, by the one who spoke or by another member."""
        member_id = by or self.member_id
        if (seen := self.by_member.get((space_id, member_id))) is None:
            raise NotFound(f"{member_id!r} is in no space {space_id!r}")
        return seen
