"""A remembered approval: this agent may use this tool here without asking again."""

import hashlib

from roomful.domain.shape import UNSET, Json, Noun, Unset, encode_json


class Grant(Noun):
    id: str
    space_id: str
    agent_id: str
    tool_name: str
    granted_by: str
    created_at: str
    args_hash: str | Unset = UNSET
    """Set when only these very arguments are granted."""

    def covers(self, tool_name: str, space_id: str, args_hash: str) -> bool:
        return (
            self.tool_name == tool_name
            and self.space_id == space_id
            and (self.args_hash is UNSET or self.args_hash == args_hash)
        )


def hash_of(tool_name: str, args: Json) -> str:
    """What an approval is bound to: the tool and the exact arguments."""
    data = encode_json([tool_name, _ordered(args)])
    return hashlib.sha256(data).hexdigest()


def _ordered(value: Json) -> Json:
    if isinstance(value, dict):
        return {str(key): _ordered(value[key]) for key in sorted(value)}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, list):
        return [_ordered(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value
