"""A remembered approval: this agent may use this tool here without asking again."""

from collections.abc import Sequence

from roomful.domain.audit import digest_of
from roomful.domain.shape import UNSET, Json, Noun, Unset


class Grant(Noun):
    id: str
    space_id: str
    agent_id: str
    tool_name: str
    granted_by: str
    created_at: str
    args_hash: str | Unset = UNSET
    """Set when only these very arguments are granted."""


class Granted:
    """What an agent was granted, by tool."""

    def __init__(self, grants: Sequence[Grant] = ()) -> None:
        self._by_tool: dict[str, list[Grant]] = {}
        for grant in grants:
            self._by_tool.setdefault(grant.tool_name, []).append(grant)

    def whatever(self, tool_name: str, space_ids: Sequence[str]) -> bool:
        """Whether every one of these spaces granted the tool with any arguments."""
        of_tool = self._by_tool.get(tool_name, ())
        granted = {grant.space_id for grant in of_tool if grant.args_hash is UNSET}
        return bool(space_ids) and granted.issuperset(space_ids)

    def covers(self, tool_name: str, space_ids: Sequence[str], args: Json) -> bool:
        """Whether every one of these spaces granted this very call."""
        digest = hash_of(tool_name, args)
        granted = {
            grant.space_id
            for grant in self._by_tool.get(tool_name, ())
            if grant.args_hash is UNSET or grant.args_hash == digest
        }
        return bool(space_ids) and granted.issuperset(space_ids)


def hash_of(tool_name: str, args: Json) -> str:
    """What an approval is bound to: the tool and the exact arguments."""
    return digest_of([tool_name, args])
