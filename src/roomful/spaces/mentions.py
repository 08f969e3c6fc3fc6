"""Who is meant, and who wakes up."""

import re
from collections.abc import Iterable, Sequence
from typing import cast

from roomful.domain.errors import Invalid
from roomful.domain.shape import Json
from roomful.domain.spaces import Member, Space

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|^[ \t]*>[^\n]*", re.DOTALL | re.MULTILINE)
_MARK = re.compile(r"(?<![\w@.])@")
_END = re.compile(r"(?![\w-])(?!\.\w)")


class _Labels:
    """What members are called: by their ids, in any case unless two ids differ in it alone, else by a name
    that is no id and that one member alone has."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._ids = {member.entity_id for member in members}
        names = _folded((member.name, member.entity_id) for member in members if member.name)
        self._by_label = names | _folded((entity_id, entity_id) for entity_id in self._ids)
        labels = {label for member in members for label in (member.entity_id, member.name) if label}
        forms = (form for label in labels for form in (label, label.casefold()))
        self.lengths = sorted({len(form) for form in forms}, reverse=True)

    def find(self, label: str) -> str | None:
        return label if label in self._ids else self._by_label.get(label.casefold())


def _folded(labels: Iterable[tuple[str, str]]) -> dict[str, str | None]:
    """None for what several are called."""
    found: dict[str, str | None] = {}
    for label, entity_id in labels:
        key = label.casefold()
        found[key] = None if key in found else entity_id
    return found


def find_mentions(text: str, members: Sequence[Member]) -> list[str]:
    """Ids of members named with `@id` or `@name`, in the order of the text.

    A name counts only when one member alone has it; code and quotes mention nobody.
    """
    if "@" not in text:
        return []
    plain = _CODE.sub(lambda match: " " * len(match.group()), text)
    labels = _Labels(members)
    found = (_named_at(plain, mark.end(), labels) for mark in _MARK.finditer(plain))
    return list(dict.fromkeys(entity_id for entity_id in found if entity_id is not None))


def _named_at(text: str, begin: int, labels: _Labels) -> str | None:
    """By the longest label that stands there."""
    for length in labels.lengths:
        end = begin + length
        if end <= len(text) and _END.match(text, end) and (found := labels.find(text[begin:end])):
            return found
    return None


def member_called(label: str, members: Sequence[Member]) -> str | None:
    """The member with this id, or the only one with this name."""
    return _Labels(members).find(label)


def named_in(mentions: Json) -> list[str]:
    """The ids in an argument that holds one or a list of them."""
    if isinstance(mentions, str):
        return [mentions.removeprefix("@")] if mentions else []
    listed = cast("list[Json]", mentions) if isinstance(mentions, list) else []
    return [one.removeprefix("@") for one in listed if isinstance(one, str)]


def addressed(text: str, mentions: Json, members: Sequence[Member], author: str) -> list[str]:
    """The members whom a text is meant for: as an argument says, and as the text does."""
    ids = {member.entity_id for member in members}
    found = [one for one in named_in(mentions) if one in ids] + find_mentions(text, members)
    return [one for one in dict.fromkeys(found) if one != author]


def check_mentions(mentioned: Iterable[str], members: Sequence[Member]) -> list[str]:
    ids = {member.entity_id for member in members}
    wanted = list(dict.fromkeys(mentioned))
    for entity_id in wanted:
        if entity_id not in ids:
            raise Invalid(f"mentions: {entity_id!r} is not a member of this space")
    return wanted


def who_wakes(space: Space, members: Sequence[Member], author: str, mentions: Sequence[str]) -> list[str]:
    """The agents that a message wakes. Another agent's message wakes only those it mentions."""
    agents = [member.entity_id for member in members if member.kind == "agent" and member.entity_id != author]
    mentioned = [entity_id for entity_id in mentions if entity_id in agents]
    if mentioned or any(member.entity_id == author and member.kind == "agent" for member in members):
        return mentioned
    if len(agents) == 1:
        return agents
    if space.admin_agent_id and space.admin_agent_id in agents:
        return [space.admin_agent_id]
    return agents if space.wake == "all" else []
