"""What an agent remembers across its runs, and where it learned it."""

from roomful.domain.errors import Invalid
from roomful.domain.shape import UNSET, Json, Noun, Unset, encode_json

MOST_MEMORIES = 500
"""Of one agent."""
KEY_LIMIT = 200
VALUE_LIMIT = 8 * 1024
"""Bytes of JSON."""
UNREADABLE = "\ufffd"
"""Stands for what could not be decoded: two keys with it may have been different ones."""


class Memory(Noun):
    """One agent has one memory per space and key; what was learned in no space is a place of its own."""

    agent_id: str
    key: str
    value: Json
    created_at: str
    updated_at: str
    space_id: str | Unset = UNSET
    """Where it was learned. Unset: in no space, or the agent's owner wrote it."""
    run_id: str | Unset = UNSET
    message_id: str | Unset = UNSET
    """The message that started the run which wrote it."""
    entity_id: str | Unset = UNSET
    """Who sent that message, or wrote this memory by hand."""
    read_spaces: list[str] | Unset = UNSET
    """The spaces whose content the run knew that wrote it."""


def check_memory(key: str, value: Json) -> None:
    """A key can stand in an address as one segment, whatever else it holds."""
    if not 0 < len(key) <= KEY_LIMIT:
        raise Invalid(f"the key {key[:80]!r} has {len(key)} characters: use 1 to {KEY_LIMIT}")
    if not key.isprintable() or "/" in key or UNREADABLE in key or key in (".", ".."):
        raise Invalid(f"the key {key[:80]!r} cannot be used: use printable characters other than /")
    size = len(encode_json(value))
    if size > VALUE_LIMIT:
        raise Invalid(f"the value of {key[:80]!r} has {size} bytes of JSON: the limit is {VALUE_LIMIT}")
