"""Who is meant, and who wakes up."""

import re
from collections.abc import Iterable, Sequence
from typing import cast

from roomful.domain.errors import Invalid
from roomful.domain.shape import Json
from roomful.domain.spaces import Member, Space

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|^[ \t]*>.*$", re.DOTALL | re.MULTILINE)


def find_mentions(text: str, members: Sequence[Member]) -> list[str]:
    """Ids of members named with `@id` or `@name`, in the order of the text.

    A name counts only when one member alone has it; code and quotes mention nobody.
    """
    plain = _CODE.sub(lambda match: " " * len(match.group()), text)
    found: dict[int, tuple[int, str]] = {}
    for label, entity_id in _labels(members).items():
        pattern = rf"(?<![\w@.])@{re.escape(label)}(?![\w-])(?!\.\w)"
        for match in re.finditer(pattern, plain, re.IGNORECASE):
            length, _ = found.get(match.start(), (0, ""))
            if len(label) > length:
                found[match.start()] = (len(label), entity_id)
    return list(dict.fromkeys(entity_id for _, (_, entity_id) in sorted(found.items())))


def _labels(members: Sequence[Member]) -> dict[str, str]:
    names: dict[str, list[str]] = {}
    for member in members:
        names.setdefault(member.name.casefold(), []).append(member.entity_id)
    labels = {member.name: member.entity_id for member in members if len(names[member.name.casefold()]) == 1}
    return {label: entity_id for label, entity_id in labels.items() if label} | {
        member.entity_id: member.entity_id for member in members
    }


def member_called(label: str, members: Sequence[Member]) -> str | None:
    """The member with this id, or the only one with this name."""
    wanted = label.casefold()
    found = {known.casefold(): entity_id for known, entity_id in _labels(members).items()}
    return found.get(wanted)


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
