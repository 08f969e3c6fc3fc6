"""The file: one line of JSON for each thing, the first with the version, the last with how many there are."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

import msgspec

from roomful.domain.agents import Agent
from roomful.domain.entities import Entity
from roomful.domain.errors import Invalid
from roomful.domain.messages import Message, Part
from roomful.domain.runs import Call, Handed, Run
from roomful.domain.shape import UNSET, Json, Noun, Unset, decode_json, encode_json
from roomful.domain.spaces import Member, Space
from roomful.domain.usage import Usage

VERSION: Final = 1
_TIME = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z")


class Opening(Noun, forbid_unknown_fields=True):
    roomful: int
    space_id: str


class Words(Noun, tag_field="type", tag="text"):
    text: str
    part_id: str | Unset = UNSET
    """The part that shows them in the space."""


class Thought(Noun, tag_field="type", tag="reasoning"):
    text: str
    part_id: str


class Asked(Noun, tag_field="type", tag="call"):
    call_id: str


class CutOff(Noun, tag_field="type", tag="cut"):
    """Something that the model began and never ended, as the space saw it last."""

    part: Part


Said: TypeAlias = Words | Thought | Asked | CutOff


class ToldStep(Noun):
    """One answer of the model, in the order in which it said things."""

    number: int
    said: list[Said]
    usage: Usage = Usage()
    is_whole: bool = True
    """Whether the answer came to its end."""
    is_repeated: bool = False
    """Whether the space saw words of it twice, because it had to be asked for again."""


class ToldRun(Noun):
    run: Run
    steps: list[ToldStep] = []
    calls: list[Call] = []
    handed: list[Handed] = []


class ToldSpace(Noun):
    space: Space
    members: list[Member]
    joined: dict[str, str] = {}
    """When each agent came, where that makes a difference: in the space whose story it is."""


class Story(msgspec.Struct):
    space_id: str
    entities: list[Entity] = []
    agents: list[Agent] = []
    spaces: list[ToldSpace] = []
    runs: list[ToldRun] = []
    messages: list[Message] = []

    @property
    def place(self) -> ToldSpace:
        """The space whose story it is."""
        return next(told for told in self.spaces if told.space.id == self.space_id)


_LISTS: Mapping[str, tuple[str, type]] = {
    "entity": ("entities", Entity),
    "agent": ("agents", Agent),
    "space": ("spaces", ToldSpace),
    "run": ("runs", ToldRun),
    "message": ("messages", Message),
}


def write_story(story: Story) -> bytes:
    lines: list[Json] = [Opening(roomful=VERSION, space_id=story.space_id)]
    lines += [{kind: one} for kind, (name, _) in _LISTS.items() for one in getattr(story, name)]
    return b"".join(encode_json(line) + b"\n" for line in [*lines, {"end": len(lines)}])


def read_story(data: bytes, source: str) -> Story:
    """Raises Invalid, which names the line."""
    lines = data.splitlines()
    story = Story(_opening(lines[0] if lines else b"", source).space_id)
    ended = False
    for number, line in enumerate(lines[1:], 2):
        where = f"{source}, line {number}"
        if ended:
            raise Invalid(f"{where}: the story has ended before this line")
        [(kind, value)] = _pairs(line, where)
        if kind == "end":
            ended = value == number - 1
            if not ended:
                raise Invalid(f"{where}: lines are missing or were added: {value} were written")
        else:
            _add(story, kind, value, where)
    if not ended:
        raise Invalid(f"{source}: the story breaks off after line {len(lines)}: its end is missing")
    check_whole(story, source)
    return story


def _opening(line: bytes, source: str) -> Opening:
    try:
        first = cast("dict[str, Json]", decode_json(line))
        version = first["roomful"]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
        raise Invalid(f"{source}: is not a story: roomful export writes them") from None
    if not isinstance(version, int) or version > VERSION:
        raise Invalid(f"{source}: is a story of version {version!r}, and this Roomful reads up to {VERSION}")
    try:
        return msgspec.convert(first, Opening)
    except msgspec.ValidationError as error:
        raise Invalid(f"{source}, line 1: {error}") from None


def _pairs(line: bytes, where: str) -> list[tuple[str, Json]]:
    try:
        value: Any = decode_json(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Invalid(f"{where}: is no JSON: {error}") from None
    pairs = list(cast("dict[str, Json]", value).items()) if isinstance(value, dict) else []
    if len(pairs) != 1 or not (pairs[0][0] in _LISTS or pairs[0][0] == "end"):
        raise Invalid(f"{where}: is not one of {', '.join(_LISTS)}, end")
    return pairs


def _add(story: Story, kind: str, value: Json, where: str) -> None:
    name, noun = _LISTS[kind]
    try:
        getattr(story, name).append(msgspec.convert(value, noun))
    except (msgspec.ValidationError, RecursionError) as error:
        raise Invalid(f"{where}: this {kind} cannot be read: {error}") from None


def check_whole(story: Story, source: str) -> None:
    """Everything that a thing refers to is there. Raises Invalid."""
    for problem in _missing(story):
        raise Invalid(f"{source}: {problem}")


def _times(story: Story) -> Iterator[str]:
    for message in story.messages:
        yield message.created_at
    for told in story.runs:
        yield from (told.run.created_at, told.run.ended_at or "")
        for call in told.calls:
            yield from (call.answered_at or "", *(vote.at for vote in call.answers or ()))
    for told in story.spaces:
        yield from told.joined.values()


def _missing(story: Story) -> Iterator[str]:
    for time in _times(story):
        if time and not _TIME.fullmatch(time):
            yield f"{time[:80]!r} is no time"
    entities = {entity.id for entity in story.entities}
    spaces = {told.space.id for told in story.spaces}
    if story.space_id not in spaces:
        yield f"the space {story.space_id!r} itself is missing"
    for told in story.spaces:
        for member in told.members:
            if member.entity_id not in entities:
                yield f"{told.space.id}: its member {member.entity_id!r} is missing"
    for message in story.messages:
        if message.entity_id not in entities or message.space_id != story.space_id:
            yield f"message {message.id}: its author or its space is missing"
    for told in story.runs:
        made = {call.id for call in told.calls}
        for step in told.steps:
            for said in step.said:
                if isinstance(said, Asked) and said.call_id not in made:
                    yield f"run {told.run.id}: its call {said.call_id!r} is missing"
